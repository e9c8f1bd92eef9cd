/// Kernels that work on the rows of a matrix: softmax, RMS and layer normalisation, and a gated activation.
///
///     softmax        Y[m,n] = exp(X[m,n] - max_n X[m,.]) / sum_n exp(X[m,n] - max_n X[m,.])
///     rmsnorm        Y[m,n] = X[m,n] / sqrt(mean_n X[m,.]^2 + epsilon) * W[n]
///     layernorm      Y[m,n] = (X[m,n] - mean) / sqrt(mean_n (X[m,.] - mean)^2 + epsilon) * W[n] + B[n]
///     silu_and_mul   Y[m,d] = silu(X[m,d]) * X[m,D+d],  silu(x) = x / (1 + exp(-x))
///
/// X, Y row-major, f16, bf16 or f32; W and B of the same type; everything inside is f32. M and N are arguments of the
/// launch, N a multiple of a vector's elements up to the capacity of the specification:
///
///     RowSpec spec;                                  // f16, 256 work-items, 4 vectors each: N <= 8192
///     Artifact kernel = build_softmax(spec);         // proofs first
///     Problem problem = softmax_problem(spec, 64, 1000, /*seed*/ 1);
///
/// A row is read once, by one workgroup: work-item t holds the vectors t, t + threads, ... in registers. The descriptor of
/// the row cuts off what lies beyond N. A fold joins a work-item's values, then the lanes of a wave (partner l ^ 1, l ^ 2,
/// ..., l ^ 32), then the waves through one LDS word each; that each element is joined once is derived. The variance is
/// a second fold, of (x - mean)^2, so that a large mean costs no digits of it. silu_and_mul folds nothing: a row may be
/// of any length, and a workgroup has a capacity of its columns.
///
/// Two things may be fused with a normalisation:
/// * `residual`: H = X + R, rounded to the type and stored, is what is normalised;
/// * `quantised`: scale[m] = max(max_n |v[m,.]|, 2^-100) / largest, f32, where v is the normalised row before it is rounded
///   and `largest` the type's largest number, and Y = v / scale rounded to nearest even. No |v / scale| is above the
///   largest number but by the rounding of f32, which the conversion rounds away, so nothing saturates.
///
/// `in_place`: Y takes the place of X where it has its type, and H that of R, as inference servers call them. A row is read
/// whole before it is written, by the work-item that writes it.
#pragma once

#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

struct RowSpec {
  explicit RowSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::f16;
  int threads = 256; ///< work-items of a row: 64, 128, 256, 512 or 1024
  int vectors = 4;   ///< for each work-item
  int vector =
      0; ///< elements that one instruction moves, of which N is a multiple: 1 takes any row; 0: 16 bytes
  double epsilon = 1e-5;            ///< normalisations only
  bool residual = false;            ///< normalisations only
  std::optional<Element> quantised; ///< normalisations only: i8, or the target's fp8
  bool in_place = false;            ///< but silu_and_mul, whose Y is half of X
  bool streamed = false;            ///< rows of any length, a capacity at a time; folds only
  std::source_location where;

  /// Y is where X was.
  [[nodiscard]] bool over_input() const { return in_place && !quantised; }
  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
  /// The longest row; streamed, what a trip takes of it.
  [[nodiscard]] int capacity() const { return threads * vectors * vector_length(); }
};

/// The kernels as programs. Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program softmax_program(const RowSpec& spec);
[[nodiscard]] codegen::Program rmsnorm_program(const RowSpec& spec);
[[nodiscard]] codegen::Program layernorm_program(const RowSpec& spec);
[[nodiscard]] codegen::Program silu_and_mul_program(const RowSpec& spec);

/// @name Building. Arguments of the kernels: softmax (Y, X, M, N), rmsnorm (Y, [H], [scale], X, [R], W, M, N),
/// layernorm (Y, [H], [scale], X, [R], W, B, M, N), silu_and_mul (Y, X, M, D). In place X (and R) stands where Y (and H)
/// does: rmsnorm (X, [R], W, M, N).
/// Errors: std::invalid_argument naming the field that is not supported; ObligationError.
/// @{
[[nodiscard]] Artifact build_softmax(const RowSpec& spec, const BuildOptions& options = {});
[[nodiscard]] Artifact build_rmsnorm(const RowSpec& spec, const BuildOptions& options = {});
[[nodiscard]] Artifact build_layernorm(const RowSpec& spec, const BuildOptions& options = {});
[[nodiscard]] Artifact build_silu_and_mul(const RowSpec& spec, const BuildOptions& options = {});
/// @}

/// @name Problems with seeded data and a reference in double precision
/// The bounds are those of f32 arithmetic, element by element, with u the unit roundoff of the type and D the additions
/// that a term of a sum goes through, a work-item's values + 6 + waves: softmax (4 + N + 4 |x - max|) 2^-24 y + u y, where
/// the N is the sum's; rmsnorm (6 + D) 2^-24 |y| + u |y|; layernorm (10 + D) 2^-24 (|w| mean|x| / s + |y - b|) + |y - b| t
/// + 2^-24 |y| + u |y|, with s = sqrt(variance + epsilon) and t = ((4 + D) 2^-24 mean|x| / s)^2 / 2, what the error of the
/// mean adds to the variance; silu_and_mul (8 + 4 |x|) 2^-24 |y| + u |y|. Some rows of layernorm have means of 16 and 1000.
/// A sum with a residual is judged by itself, and the normalisation by the sum that was stored; a quantised row by
/// its scale, and its elements by the scale that was stored.
/// Errors: std::invalid_argument for sizes that the specification does not cover.
/// @{
[[nodiscard]] Problem softmax_problem(const RowSpec& spec, std::int64_t m, std::int64_t n,
                                      std::uint64_t seed);
[[nodiscard]] Problem rmsnorm_problem(const RowSpec& spec, std::int64_t m, std::int64_t n,
                                      std::uint64_t seed);
[[nodiscard]] Problem layernorm_problem(const RowSpec& spec, std::int64_t m, std::int64_t n,
                                        std::uint64_t seed);
[[nodiscard]] Problem silu_and_mul_problem(const RowSpec& spec, std::int64_t m, std::int64_t d,
                                           std::uint64_t seed);
/// @}

} // namespace inlay::kernels
