/// Kernels that work on the rows of a matrix, one workgroup a row: softmax and RMS normalisation.
///
///     softmax   Y[m,n] = exp(X[m,n] - max_n X[m,.]) / sum_n exp(X[m,n] - max_n X[m,.])
///     rmsnorm   Y[m,n] = X[m,n] / sqrt(mean_n X[m,.]^2 + epsilon) * W[n]
///
/// X, Y row-major, f16 or bf16; W of the same type; everything inside is f32. M and N are arguments of the launch, N a
/// multiple of 8 up to the capacity of the specification:
///
///     RowSpec spec;                                  // gfx942, f16, 256 work-items, 4 vectors each: N <= 8192
///     Artifact kernel = build_softmax(spec);         // proofs first
///     Problem problem = softmax_problem(spec, 64, 1000, /*seed*/ 1);
///
/// A row is read once: work-item t holds the vectors t, t + threads, ... of 8 elements in registers. The descriptor of
/// the row cuts off what lies beyond N. A fold joins a work-item's values, then the lanes of a wave (partner l ^ 1, l ^ 2,
/// ..., l ^ 32), then the waves through one LDS word each; that each element is joined once is derived.
#pragma once

#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

struct RowSpec {
  explicit RowSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch = "gfx942";
  Element type = Element::f16;
  int threads = 256;     ///< work-items of a row: 64, 128, 256, 512 or 1024
  int vectors = 4;       ///< of 8 elements, for each work-item: 1 to 16
  double epsilon = 1e-5; ///< rmsnorm only
  std::source_location where;

  [[nodiscard]] int capacity() const { return threads * vectors * 8; } ///< the longest row
};

/// The kernels as programs. Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program softmax_program(const RowSpec& spec);
[[nodiscard]] codegen::Program rmsnorm_program(const RowSpec& spec);

/// @name Building. Arguments of the kernels: softmax (Y, X, M, N), rmsnorm (Y, X, W, M, N).
/// Errors: std::invalid_argument naming the field that is not supported; ObligationError.
/// @{
[[nodiscard]] Artifact build_softmax(const RowSpec& spec, const BuildOptions& options = {});
[[nodiscard]] Artifact build_rmsnorm(const RowSpec& spec, const BuildOptions& options = {});
/// @}

/// @name Problems with seeded data and a reference in double precision
/// The bounds are those of f32 arithmetic, element by element: softmax (4 + N + 4 |x - max|) 2^-24 y + u y, where the N
/// is the sum's, rmsnorm (6 + N) 2^-24 |y| + u |y|; u is the unit roundoff of the type.
/// Errors: std::invalid_argument for sizes that the specification does not cover.
/// @{
[[nodiscard]] Problem softmax_problem(const RowSpec& spec, std::int64_t m, std::int64_t n,
                                      std::uint64_t seed);
[[nodiscard]] Problem rmsnorm_problem(const RowSpec& spec, std::int64_t m, std::int64_t n,
                                      std::uint64_t seed);
/// @}

} // namespace inlay::kernels
