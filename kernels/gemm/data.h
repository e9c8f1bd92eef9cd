/// The data of a GEMM as a launch has them, and the judge of its results. Private.
#pragma once

#include "../data.h"
#include "../map/language.h"

#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

/// A row-major matrix in the order of preshuffled_offset.
[[nodiscard]] Bytes preshuffle(const Bytes& b, std::int64_t rows, std::int64_t columns, Element type);
/// Rows so many bytes apart, with `between` between them, and back.
[[nodiscard]] Bytes spread(const Bytes& dense, std::int64_t rows, std::int64_t gap, std::byte between);
[[nodiscard]] Bytes dense(const Bytes& apart, std::int64_t rows, std::int64_t gap);

/// Scales of 32 k each, 2^-6 to 2^1, and where a kernel has them; padding is NaN.
struct BlockScales {
  Matrix values;
  Bytes shuffled;

  BlockScales() = default;
  BlockScales(std::int64_t rows, std::int64_t k, std::uint64_t seed);
  /// Rows [first, ..) of a matrix, scaled.
  void apply(Matrix& of, std::int64_t first) const;
};

/// What a launch is judged by: Eigen in double precision, an error bound for every element (gemm/spec.h).
struct GemmJudge {
  Bytes a, b;                    ///< as they are multiplied, row-major
  Matrix sa, sb, bias, row_bias; ///< sa has alpha in it
  BlockScales block_a, block_b;
  Matrix added, residual;          ///< C and the residual, where there are
  double beta = 0, operations = 0; ///< operations: roundings of f32 after a sum
  std::int64_t m = 0, n = 0, k = 0;
  double parts = 0, sums = 0; ///< roundings of parts that are added, and of their sums
  Element in, out;
  std::int64_t gap_of_d = 0; ///< bytes between rows of the result
  std::byte between{};       ///< what lies there
  bool activated = false;
  Formulas act;
  bool amax = false;
  std::size_t amax_at = 0; ///< its buffer
  std::int64_t tiles = 0;  ///< along n, of `tile_n` columns
  int tile_n = 0;

  [[nodiscard]] Check operator()(std::span<const Bytes> buffers) const;
};

} // namespace inlay::kernels
