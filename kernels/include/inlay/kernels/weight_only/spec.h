/// C[M,N] = A[M,K] x (W[N,K] with scales)^T: weights of 8 or 4 bits, activations and products of 16.
///
///     C[m,n] = sum_k A[m,k] W[n,k] S[n,k/group]
///
/// A[M,K] is bf16 or f16, W[N,K] is i8, the target's e4m3 (FNUZ on CDNA3, OCP on CDNA4), or i32, words
/// [N,K/8] of 8 weights of 4 bits, two's complement, the first one in the lowest bits; S[N,K/group] f32, C bf16, f16 or
/// f32, all row-major. M, N and K are arguments of the launch; `group` divides K, 4 divides N.
///
///     WeightOnlySpec spec;                               // bf16, i8, groups of 64
///     Artifact kernel = build(weight_only_gemm_program(spec));
///
/// A tile of W is loaded as it is, a half or a quarter of the bytes of 16-bit weights, multiplied by its scales in registers, rounded to A's type
/// and written to LDS, a trip ahead of the products. The sum of a group needs no accumulator of its own.
///
/// Source of the scheme: weight-only quantisation by groups, "GPTQ" (Frantar et al., 2023), section 4.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

using codegen::Element;

struct WeightOnlySpec {
  explicit WeightOnlySpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::bf16, weights = Element::i8, out = Element::bf16;
  int group = 64; ///< k that share a scale: 32, 64 or 128; a tile has that many
  int tile_m = 64, tile_n = 64;
  int waves_m = 2, waves_n = 2;
  std::source_location where;
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program weight_only_gemm_program(const WeightOnlySpec& spec);

/// Seeded data. The reference is plain loops in double; the bound for each element is
/// (2 (K + 4) 2^-24 + u of A's type) sum |a w s| + u |c|: each scaled weight is rounded once.
[[nodiscard]] Problem weight_only_gemm_problem(const WeightOnlySpec& spec, std::int64_t m, std::int64_t n,
                                               std::int64_t k, std::uint64_t seed);

} // namespace inlay::kernels
