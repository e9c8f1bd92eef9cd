// 2-D convolution as an implicit GEMM: the pixels of all images by the taps of their window, times the filters.
#include "../lds_swizzle.h"
#include "../page.h"

#include <fmt/format.h>

#include <bit>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::MmaTiling;

struct Asked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, out = Element::bf16;
  std::int64_t n = 2, h = 14, w = 14, c = 64, k = 64;
  int r = 3, s = 3, stride = 1, dilation = 1, pad = 1, tile_m = 64, tile_n = 64;
  [[nodiscard]] std::int64_t along(std::int64_t extent, int taps) const {
    return (extent + 2 * pad - dilation * (taps - 1) - 1) / stride + 1;
  }
  [[nodiscard]] std::int64_t p() const { return along(h, r); }
  [[nodiscard]] std::int64_t q() const { return along(w, s); }
  /// Of a trip; 256 threads bring 64 rows of 32 elements at a time.
  [[nodiscard]] int deep() const { return c % 64 == 0 || std::min(tile_m, tile_n) < 64 ? 64 : 32; }
  [[nodiscard]] std::int64_t channels() const {
    return up(c, deep()) * deep();
  } ///< with zeros after the last
};

// [conv2d]
Program program(const Asked& s) {
  if (s.type != Element::f16 && s.type != Element::bf16)
    throw std::invalid_argument(fmt::format("conv2d: --dtype {}\n  hint   f16 or bf16", to_string(s.type)));
  if (s.c % 8 != 0)
    throw std::invalid_argument(
        fmt::format("conv2d: --c {}\n  hint   a multiple of 8: 16 bytes of a pixel are loaded at once", s.c));
  if (s.h + 2 * s.pad <= s.dilation * (s.r - 1) || s.w + 2 * s.pad <= s.dilation * (s.s - 1))
    throw std::invalid_argument(
        fmt::format("conv2d: {} x {} taps, {} apart, do not fit into {} x {} pixels with {} around them", s.r,
                    s.s, s.dilation, s.h, s.w, s.pad));
  const Target& target = Target::named(s.arch);
  const int deep = s.deep();
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), 2, 2,
                                      s.tile_m, s.tile_n, deep, 8);
  Program k("conv2d", target, mma.threads());
  // Offsets into X have 31 bits: of images as large as these there are as many as fit.
  const auto side = [](std::int64_t n) {
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 64))));
  };
  const std::int64_t image = (side(s.h) + 2 * s.pad) * (side(s.w) + 2 * s.pad) * s.c * 2;
  const Sym N = k.size("n", {.most = std::max<std::int64_t>(1, (INT32_MAX - 2 * image) / image)}),
            H = k.size("h", {.most = side(s.h)}), W = k.size("w", {.most = side(s.w)}),
            P = k.size("p", {.most = 2 * side(s.h)}), Q = k.size("q", {.most = 2 * side(s.w)}),
            M = k.size("pixels", {.most = 1 << 26}), K = k.size("k", {.most = 1 << 16, .multiple = 4});
  const Sym C = s.c, CP = s.channels(), RS = s.r * s.s, all = CP * RS;
  const Tensor Y = k.output("y", s.out, {M, K}), X = k.input("x", s.type, {N, H, W, C}),
               F = k.input("f", s.type, {K, RS, C});
  const Tensor taps = k.window("taps", X,
                               {{M, {{Q, 2, s.stride}, {P, 1, s.stride}, {N, 0}}},
                                {all, {{CP, 3}, {s.s, 2, s.dilation}, {s.r, 1, s.dilation}}}},
                               {0, -s.pad, -s.pad, 0}),
               filters = k.window("filters", F, {{K, {{K, 0}}}, {all, {{CP, 2}, {RS, 1}}}}, {0, 0, 0});
  k.computes(Y, [&](const auto& c) {
    return k.sum(all, [&](Sym i) { return k(taps, {c[0], i}) * k(filters, {c[1], i}); });
  });

  const Sym bn = k.workgroups(0, K, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  const Layout rows = codegen::rows_tv(s.tile_m, deep, 8, mma.threads()),
               rows_f = codegen::rows_tv(s.tile_n, deep, 8, mma.threads());
  const Tensor a = conflict_free_tile(k, "lds_taps", s.type, s.tile_m, deep, 8, rows, mma.a()),
               b = conflict_free_tile(k, "lds_filters", s.type, s.tile_n, deep, 8, rows_f, mma.b());
  const Fragment acc = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
  k.loop(all, deep, {.distance = 2, .ring = 2}, [&](Sym t) {
    k.copy(k.tile(taps, {s.tile_m, deep}, {bm, t}), a, rows, 8);
    k.copy(k.tile(filters, {s.tile_n, deep}, {bn, t}), b, rows_f, 8);
    const Fragment of_a = k.read(a, mma.a(), 8), of_b = k.read(b, mma.b(), 8);
    k.mma(acc, of_a, of_b, mma);
  });
  k.store(acc, k.tile(Y, {s.tile_m, s.tile_n}, {bm, bn}), 4);
  return k;
}
// [conv2d end]

std::vector<Judged> reference(const Asked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "2 RSC 2^-24 sum |x f| + u |y|"};
  const std::vector<double>&x = w.values("x"), &f = w.values("f");
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t p = 0; p < s.p(); ++p)
      for (std::int64_t q = 0; q < s.q(); ++q)
        for (std::int64_t k = 0; k < s.k; ++k) {
          double sum = 0, size = 0;
          for (int r = 0; r < s.r; ++r)
            for (int t = 0; t < s.s; ++t) {
              const std::int64_t i = p * s.stride + r * s.dilation - s.pad,
                                 j = q * s.stride + t * s.dilation - s.pad;
              if (i < 0 || i >= s.h || j < 0 || j >= s.w) continue;
              const double* pixel = &x[static_cast<std::size_t>(((n * s.h + i) * s.w + j) * s.c)];
              const double* filter = &f[static_cast<std::size_t>(((k * s.r + r) * s.s + t) * s.c)];
              for (std::int64_t c = 0; c < s.c; ++c)
                sum += pixel[c] * filter[c], size += std::abs(pixel[c] * filter[c]);
            }
          y.value.push_back(sum);
          y.bound.push_back(2.0 * s.r * s.s * static_cast<double>(s.c) * u32 * size + rounding(s.out, sum));
        }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> conv2d_kernel() {
  using Read = Reads<Asked>;
  Page<Asked> page{
      .summary =
          "Y[n,p,q,k] = sum_rsc X[n, stride p + dilation r - pad, stride q + dilation s - pad, c] F[k,r,s,c]",
      .options = {"conv2d",
                  {arch_option<Asked>(),
                   {"dtype", Read::element(&Asked::type, "f16, bf16"), "bf16", "element type of X and F"},
                   {"out", Read::element(&Asked::out, "f16, bf16, f32"), "bf16", "element type of Y"},
                   {"n", Read::number(&Asked::n, 1, 1 << 16), "2", "images"},
                   {"h", Read::number(&Asked::h, 1, 1 << 13), "14", "rows of an image"},
                   {"w", Read::number(&Asked::w, 1, 1 << 13), "14", "pixels of a row"},
                   {"c", Read::number(&Asked::c, 1, 1 << 14), "64", "channels, a multiple of 8"},
                   {"k", Read::number(&Asked::k, 1, 1 << 16), "64", "filters, a multiple of 4"},
                   {"r", Read::number(&Asked::r, 1, 15), "3", "rows of a filter"},
                   {"s", Read::number(&Asked::s, 1, 15), "3", "columns of it"},
                   {"stride", Read::number(&Asked::stride, 1, 8), "1", "pixels from one result to the next"},
                   {"dilation", Read::number(&Asked::dilation, 1, 32), "1",
                    "pixels from one tap to the next"},
                   {"pad", Read::number(&Asked::pad, 0, 64), "1", "zeros on each side"},
                   {"tile", Read::product("64x64", &Asked::tile_m, &Asked::tile_n), "auto",
                    "pixels and filters of a workgroup: of 32, 64, 128", "64x64"}}},
      .program = program,
      .sizes =
          [](const Asked& s) { return std::vector{s.n, s.h, s.w, s.p(), s.q(), s.n * s.p() * s.q(), s.k}; },
      .size_names = {"n", "h", "w", "p", "q", "pixels", "k"},
      .reference = reference,
      .text =
          [](const Asked& s) {
            return fmt::format("Y[{},{},{},{}] = X[{},{},{},{}] * F[{},{},{},{}], {} -> {}", s.n, s.p(),
                               s.q(), s.k, s.n, s.h, s.w, s.c, s.k, s.r, s.s, s.c, to_string(s.type),
                               to_string(s.out));
          },
      .candidates =
          [](const Asked&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* tile : {"64x64", "128x64", "128x128"})
              add_candidate(all, {{"tile", tile}}, fixed);
            return all;
          },
      .bound =
          [](const Asked& s) {
            const double trips = static_cast<double>(s.r * s.s * s.channels()) / s.deep(),
                         trip = 300 + s.tile_m * s.tile_n * s.deep() /
                                          products_per_clock(s.arch, machine::Operand::f16);
            return rounds(s.arch, up(s.n * s.p() * s.q(), s.tile_m) * up(s.k, s.tile_n), 2) *
                   (3000 + trips * trip);
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
