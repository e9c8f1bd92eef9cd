/// C[M,N] = sum over blocks of 128 k of (scales of A and B) * (sum of A[M,k] B[N,k] in the block), fp8 inputs.
///
///     C[m,n] = sum_k SA[m,k/128] A[m,k] SB[n/128,k/128] B[n,k]
///
/// A[M,K] row-major, B[N,K] preshuffled (blocks of 16 rows x 32 k, 16 bytes a lane), both fp8: e4m3 as the target has it
/// (FNUZ on CDNA3, OCP on CDNA4). SA[M,K/128] and SB[N/128,K/128] are f32, SA column by column and SB row-major, C is bf16, f16 or f32. M, N and K
/// are arguments of the launch; 128 divides K, 16 divides N.
///
///     BlockScaleSpec spec;                                   // bf16, tiles of 128 x 128
///     Artifact kernel = build(block_scale_gemm_program(spec));
///
/// Source of the format: DeepSeek-V3 technical report, section 3.3.2; the order of B is AITER's `shuffle_weight` with 16x16.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

using codegen::Element;

struct BlockScaleSpec {
  explicit BlockScaleSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element out = Element::bf16;
  int tile_m = 128;             ///< tile_n is 128, the columns that share a scale, and so is tile_k
  int waves_m = 1, waves_n = 4; ///< B once a workgroup: its waves have columns of their own
  std::source_location where;

  /// e4m3 as the matrix unit of the target has it.
  [[nodiscard]] Element in() const { return codegen::fp8(codegen::Target::named(arch)); }
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program block_scale_gemm_program(const BlockScaleSpec& spec);

/// Seeded data. The reference is the specification, evaluated in double; the bound for each element is
/// 2 K 2^-24 sum |s a b| + u |c|.
[[nodiscard]] Problem block_scale_gemm_problem(const BlockScaleSpec& spec, std::int64_t m, std::int64_t n,
                                               std::int64_t k, std::uint64_t seed);

} // namespace inlay::kernels
