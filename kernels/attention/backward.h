/// Attention, backward: what can be asked for, and its three programs.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::kernels {

using codegen::Element;

///     P[q,k]         = exp(scale sum_d Q[b,q,h,d] K[b,k,h / group,d] - lse[b,h,q]),   scale = 1 / sqrt(head_dim)
///     delta[b,h,q]   = sum_d dO[b,q,h,d] O[b,q,h,d],   lse2 = lse log2(e)
///     dS[q,k]        = P[q,k] (sum_d dO[b,q,h,d] V[b,k,h / group,d] - delta[b,h,q])
///     dQ[b,q,h,d]    = scale sum_k dS[q,k] K[b,k,h / group,d]
///     dK[b,k,h',d]   = scale sum over h with h / group = h' and q of dS[q,k] Q[b,q,h,d]
///     dV[b,k,h',d]   = sum over the same of P[q,k] dO[b,q,h,d]
///
/// with k <= q only where `causal`; tensors and sizes as in spec.h, whose kernel gives O and lse. Three launches: delta and lse2, both
/// [B,H/group,Sq,group]; dQ by a workgroup
/// for each block of queries, which goes through the keys; dK and dV by one for each block of keys, which goes through the queries of
/// all heads of its group. Each sum is one workgroup's, in one order: no atomics, and the same bits in every launch.
/// Source: Dao, "FlashAttention-2", arXiv 2307.08691, algorithm 2, as two loops.
struct AttentionBackward {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int head_dim = 128, group = 1; ///< heads of Q that share one of K and V
  bool causal = false;
  int tile = 64, step = 32, waves = 4; ///< rows of the result, and what they go through at a time
  std::int64_t batch = 1, queries = 200, keys = 300, heads = 2;
};

inline constexpr double log2_e = 1.4426950408889634;

/// Errors: std::invalid_argument naming the option.
void check_backward(const std::string& kernel, const AttentionBackward& s);
/// delta and lse2. Errors of both programs: those of check_backward.
[[nodiscard]] codegen::Program attention_delta_program(const AttentionBackward& s);
/// dQ; `of_keys`: dK and dV, whose queries of a group count as one axis, [queries, heads of the group].
[[nodiscard]] codegen::Program attention_backward_program(const AttentionBackward& s, bool of_keys);

} // namespace inlay::kernels
