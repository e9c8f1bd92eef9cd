/// Linear layouts in Triton's text: `#ttg.linear<{register = [[1, 0]], lane = [[0, 1], [2, 0]], warp = [], block = []}>`.
///
/// Every input (register, lane, warp, block) has one basis a bit, smallest first: where that bit of the input moves
/// in the outputs, which are the dimensions of a tile. A thread-value layout onto the same tile says it with
/// extents and strides: the threads are the lanes and then the warps, the values are the registers, and an offset
/// is the index in the tile, first dimension fastest. The running example, C of a 32x32 MFMA:
///
///     register = [[1, 0], [2, 0], [8, 0], [16, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [4, 0]]
///     ((32,2),(4,4)):((32,4),(1,8))  onto (32,32)
///
/// Source: `LinearEncodingAttr` of Triton's TritonGPU dialect; "Linear Layouts", arXiv 2505.23819.
#pragma once

#include <inlay/algebra/bit_matrix.h>

#include <string>
#include <vector>

namespace inlay {

struct LinearLayout {
  struct Input {
    std::string name;
    std::vector<std::vector<std::int64_t>> bases; ///< bases[k][j]: bit k in output j; all of one length
    friend bool operator==(const Input&, const Input&) = default;
  };
  std::vector<Input> inputs;
  friend bool operator==(const LinearLayout&, const LinearLayout&) = default;
};

/// Errors: `syntax`; `linear` (bases of different lengths, negative entries); `limit` (63 bits on either side).
[[nodiscard]] LinearLayout parse_linear_layout(std::string_view text);
/// As Triton prints the attribute. Law: parse(print(L)) = L.
[[nodiscard]] std::string to_string(const LinearLayout& layout);

/// The tile that the outputs span: per output the smallest power of two above every coordinate.
[[nodiscard]] IntTuple tile_of(const LinearLayout& layout);
/// The columns of all inputs in their order, as indices into the tile.
[[nodiscard]] BitMatrix bit_matrix(const LinearLayout& layout);

/// ((lane, warp, block), register) as a layout onto `tile_of`. Errors: `linear`, when no layout does it (two bases
/// share a bit of an output: a swizzle) or an input has another name.
[[nodiscard]] Layout thread_value_layout(const LinearLayout& layout);
/// The other way: (thread, value) onto `tile`, `lanes` threads a warp. Errors: `rank` (two modes); `linear`, when the layout is
/// not linear over bits (BitMatrix::of has the exact condition) or leaves the tile.
[[nodiscard]] LinearLayout linear_layout(const Layout& thread_value, const IntTuple& tile, Int lanes = 64);

} // namespace inlay
