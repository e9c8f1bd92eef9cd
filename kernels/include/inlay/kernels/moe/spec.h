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
/// In 8 bits, fp8 or i8, both operands have f32 scales, SX[T,1] and SW[E,2,I,1] of rows and channels or SX[T,K/128] and
/// SW[E,2,I/128,K/128] of blocks, and likewise SY[P,..] and SV[E,D,..]:
///
///     Y[p,i] = silu(g(0)) g(1),   g(j) = sum_k sx[ids[p],b] sw[e,j,i,b] X[ids[p],k] W[e,j,i,k]
///
/// with b = 0, or i / 128 and b = k / 128. Y is bf16 then; `quantise` makes it 8 bits again. In 4 bits (mxfp4, CDNA4) each 32 k share a scale,
/// a power of two in e8m0: of sorted positions, SX[P,K/32], as of channels, SW[E,2,I,K/32], both in AITER's order, whole blocks of 32 rows
/// (gemm/spec.h, `shuffled_scales`).
///
/// Weights alone may have 4 bits (W4A16): words of 8, two's complement, W[E,2,I,K/8] and V[E,D,I/8] of i32, with f32 scales for each `group`
/// of k, SW[E,2,I,K/group] and SV[E,D,I/group]; a weight times its scale is rounded to `type`.
///
/// Source of the sorted order: AITER, `moe_sorting`; the layout of the weights is that of its `fused_moe`, not shuffled.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

using codegen::Element;

/// Which elements share a scale: none, a row or a channel, 128 k of a row and 128 x 128 of the weights, or 32 k (mxfp4).
enum class Scales : std::uint8_t { none, row, block, mx };
[[nodiscard]] std::string to_string(Scales scales);

struct MoeSpec {
  explicit MoeSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::bf16; ///< f16, bf16, i8, the target's fp8, or e2m1
  Element out = Element::f32;   ///< of the second product; the first one's is `type`, of 8 and 4 bits bf16
  Scales scales = Scales::none; ///< of 8 and 4 bits
  int group =
      0; ///< k that share a scale of weights of 4 bits: 32, 64 or 128, which a tile has; 0: weights are of `type`
  int tile_m = 64, tile_n = 64, tile_k = 64; ///< tile_m: sorted rows of one expert
  int waves_m = 2, waves_n = 2;
  std::source_location where;
  [[nodiscard]] bool narrow() const { return codegen::bits(type) <= 8; }
  [[nodiscard]] Element narrow_out() const { return narrow() ? Element::bf16 : type; }
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program moe_stage1_program(const MoeSpec& spec);
[[nodiscard]] codegen::Program moe_stage2_program(const MoeSpec& spec);

struct MoeSizes {
  std::int64_t tokens = 1, k = 8, inter = 8, experts = 1, ///< k: of the model, columns of X and of Z
      rows = 1;                                           ///< rows: sorted positions, padding included
};
/// Seeded data: each token goes to two experts, positions sorted by expert and padded to blocks. `rows` of the sizes is an
/// upper bound on what the routing may need and is filled with padding. The reference is plain loops in double.
[[nodiscard]] Problem moe_stage1_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed);
[[nodiscard]] Problem moe_stage2_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed);

} // namespace inlay::kernels
