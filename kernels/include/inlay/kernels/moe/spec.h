/// The two products of a mixture of experts. The first: rows gathered by token, gate and up projection, SwiGLU.
///
///     Y[p,i] = silu(sum_k X[ids[p],k] W[e,0,i,k]) * sum_k X[ids[p],k] W[e,1,i,k],   e = experts[p / tile_m]
///
/// Sorted positions p come in blocks of tile_m rows of one expert, the last block of an expert padded: an id that is no
/// token (the number of tokens, by custom) reads as a row of zeros and gives zeros, and so does an expert that does not
/// exist. Nothing is assumed about either table. X[T,K], W[E,2,I,K] (gate, then up) and Y[P,I] are row-major, bf16 or f16;
/// ids[P] and experts[P / tile_m] are i32; T, K, I, E, P are arguments of the launch.
///
///     MoeSpec spec;                                       // bf16, blocks of 64 rows, tiles of 64 x 64
///     Artifact kernel = build(moe_stage1_program(spec));
///
/// The second: the down projection, weighted by the routing and added up at the tokens.
///
///     Z[t,d] = sum over p with ids[p] = t of weights[p] sum_i Y[p,i] V[e,d,i],   e = experts[p / tile_m]
///
/// Z[T,D] is f32, or f16 or bf16 where the target adds pairs of them (bf16: CDNA4), and holds 0 before the launch; the order
/// in which the experts of a token are added is not fixed. V[E,D,I] is row-major; P a multiple of tile_m, as the sorted order
/// has it. What stands at a position whose id is no token is added nowhere, whatever its weight.
///
/// Source of the sorted order: AITER, `moe_sorting`; the layout of the weights is that of its `fused_moe`, not shuffled.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

using codegen::Element;

struct MoeSpec {
  explicit MoeSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  Element out = Element::f32;                ///< of the second product; the first one's is `type`
  int tile_m = 64, tile_n = 64, tile_k = 64; ///< tile_m: sorted rows of one expert
  int waves_m = 2, waves_n = 2;
  std::source_location where;
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program moe_stage1_program(const MoeSpec& spec);
[[nodiscard]] codegen::Program moe_stage2_program(const MoeSpec& spec);

struct MoeSizes {
  std::int64_t tokens = 1, k = 8, inter = 8, experts = 1, ///< k: of the model, columns of X and of Z
      rows = 1;                                           ///< rows: sorted positions, padding included
};
/// Seeded data: each token goes to two experts, positions sorted by expert and padded to blocks. `rows` of the sizes is an
/// upper bound on what the routing may need and is filled with padding. The reference is the program's specification,
/// evaluated in double (codegen/evaluate.h).
[[nodiscard]] Problem moe_stage1_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed);
[[nodiscard]] Problem moe_stage2_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed);

} // namespace inlay::kernels
