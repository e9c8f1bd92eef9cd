/// 2-D and 3-D convolution: what can be asked for, and their program. Private.
#pragma once

#include "../program_names.h"

#include <algorithm>

namespace inlay::kernels {

/// An axis along which a filter moves: `taps` of it, `dilation` apart, at every `stride`th place of `extent` elements with `pad` zeros on each side.
struct Slide {
  const char *in, *out; ///< names of the extents of X and Y
  std::int64_t extent = 1;
  int taps = 1, stride = 1, dilation = 1, pad = 0;
  std::int64_t least = 64; ///< up to so many elements in any case, and up to the next power of two
  /// Elements from the first tap to the last, without that.
  [[nodiscard]] std::int64_t span() const { return std::int64_t{dilation} * (taps - 1); }
  [[nodiscard]] std::int64_t results() const { return (extent + 2 * pad - span() - 1) / stride + 1; }
};

struct Convolution {
  std::string arch{codegen::usual_target};
  codegen::Element type = codegen::Element::bf16, out = codegen::Element::bf16;
  bool volume = false; ///< 3-D
  std::int64_t n = 2, d = 6, h = 14, w = 14, c = 64, k = 64;
  int t = 3, r = 3, s = 3, stride = 1, dilation = 1, pad = 1, stride_d = 1, dilation_d = 1, pad_d = 1,
      tile_m = 64, tile_n = 64;

  [[nodiscard]] const char* name() const { return volume ? "conv3d" : "conv2d"; }
  [[nodiscard]] Slide deep_axis() const { return {"d", "o", d, t, stride_d, dilation_d, pad_d, 32}; }
  [[nodiscard]] Slide high() const { return {"h", "p", h, r, stride, dilation, pad}; }
  [[nodiscard]] Slide wide() const { return {"w", "q", w, s, stride, dilation, pad}; }
  /// The outermost first.
  [[nodiscard]] std::vector<Slide> axes() const {
    return volume ? std::vector{deep_axis(), high(), wide()} : std::vector{high(), wide()};
  }
  [[nodiscard]] std::int64_t taps() const { return std::int64_t{volume ? t : 1} * r * s; }
  [[nodiscard]] std::int64_t pixels() const {
    return n * (volume ? deep_axis().results() : 1) * high().results() * wide().results();
  }
  [[nodiscard]] bool narrow() const { return codegen::bits(type) == 8; } ///< fp8, whose sums a number scales
  /// Channels that are loaded at once, 16 bytes.
  [[nodiscard]] int vector() const { return 128 / codegen::bits(type); }
  /// Channels of a trip; 256 threads bring 64 rows of 64 bytes at a time.
  [[nodiscard]] int deep() const {
    return c % (8 * vector()) == 0 || std::min(tile_m, tile_n) < 64 ? 8 * vector() : 4 * vector();
  }
  /// With zeros after the last.
  [[nodiscard]] std::int64_t channels() const { return (c + deep() - 1) / deep() * deep(); }
};

/// y(n,[o,]p,q,k) = sum over [t,] r, s, c of x(n, [stride_d o + dilation_d t - pad_d,] stride p + dilation r - pad, .., c) f(k,[t,]r,s,c),
/// of fp8 times a number, the product of the scales of x and f.
/// Errors: std::invalid_argument naming the option.
[[nodiscard]] Program convolution_program(const Convolution& s);

} // namespace inlay::kernels
