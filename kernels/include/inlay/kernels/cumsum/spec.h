/// Running sums down the columns of a matrix, in one launch:
///
///     Y[n,m] = sum over i <= n of X[i,m]
///
/// X, Y row-major, f16, bf16 or f32, sums in f32, rounded once; N and M are arguments of the launch, M a multiple of a vector's
/// elements. A workgroup has some rows of some columns in registers. What it adds to them is the sum of all rows before, which
/// the workgroup before it stores in a buffer of the launch (`turns`, docs/decisions/0010-turns.md): loads and sums of all
/// workgroups run at the same time, and that one row one after the other.
///
///     CumsumSpec spec;                                   // f16, 16 rows of 512 columns each
///     Artifact kernel = build_cumsum(spec);              // (Y, CARRY, X, N, M, TURN)
///     Problem problem = cumsum_problem(spec, 1000, 4096, /*seed*/ 1);
///
/// Source: S. Yan, G. Long, Y. Zhang, "StreamScan: Fast Scan Algorithms for GPUs without Global Barrier Synchronization", 2013:
/// the chained scan.
#pragma once

#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

struct CumsumSpec {
  explicit CumsumSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::f16; ///< of X and Y: f16, bf16, f32
  int threads = 64;            ///< work-items of a workgroup: 64, 128 or 256, each with a vector of columns
  int rows = 16;               ///< of a workgroup: 1 to 32
  int vector = 0;              ///< elements that one instruction moves, of which M is a multiple; 0: 16 bytes
  std::source_location where;

  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
  /// Columns of a workgroup.
  [[nodiscard]] int columns() const { return threads * vector_length(); }
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program cumsum_program(const CumsumSpec& spec);
[[nodiscard]] Artifact build_cumsum(const CumsumSpec& spec, const BuildOptions& options = {});
/// The bound of an element in row n is (n + 1) 2^-24 times the sum of |X[i,m]|, + u |y|. Errors: std::invalid_argument for sizes that the
/// specification does not cover.
[[nodiscard]] Problem cumsum_problem(const CumsumSpec& spec, std::int64_t n, std::int64_t m,
                                     std::uint64_t seed);

} // namespace inlay::kernels
