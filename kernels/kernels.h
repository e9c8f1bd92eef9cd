/// The prebuilt kernels, a line each: NAME, whose face on the command line NAME_kernel() is (options.h); grouped by what people look for.
#pragma once

#include <inlay/kernels/artifact.h>

// clang-format off
#define INLAY_KERNELS(kernel, group) \
  group("GEMM") \
  kernel(gemm) \
  kernel(preshuffle_gemm) \
  kernel(block_scale_gemm) \
  kernel(weight_only_gemm) \
  kernel(batched_gemm) \
  kernel(grouped_gemm) \
  kernel(dual_gemm) \
  kernel(gemv) \
  group("Mixture of experts") \
  kernel(topk_gating) \
  kernel(grouped_gating) \
  kernel(moe_starts) \
  kernel(moe_blocks) \
  kernel(moe_places) \
  kernel(moe_sort) \
  kernel(moe_stage1) \
  kernel(moe_stage2) \
  kernel(weighted_combine) \
  group("Attention") \
  kernel(flash_attention) \
  kernel(varlen_attention) \
  kernel(attention_blocks) \
  kernel(attention_backward_delta) \
  kernel(attention_backward_dq) \
  kernel(attention_backward_dkv) \
  kernel(paged_decode) \
  kernel(mla_decode) \
  kernel(mla_reduce) \
  kernel(kv_write) \
  kernel(rope) \
  group("Normalisations") \
  kernel(rmsnorm) \
  kernel(layernorm) \
  kernel(group_norm) \
  kernel(rmsnorm_backward) \
  kernel(layernorm_backward) \
  group("Softmax and losses") \
  kernel(softmax) \
  kernel(log_softmax) \
  kernel(softmax_backward) \
  kernel(log_softmax_backward) \
  kernel(cross_entropy) \
  kernel(cross_entropy_backward) \
  group("Activations and elements") \
  kernel(map) \
  kernel(silu_and_mul) \
  kernel(gate_and_mul) \
  kernel(vector_add) \
  kernel(dropout) \
  group("Convolution") \
  kernel(conv2d) \
  kernel(conv3d) \
  kernel(causal_conv1d) \
  kernel(causal_conv1d_update) \
  group("Linear attention") \
  kernel(gated_delta_step) \
  kernel(gated_delta_gates) \
  kernel(gated_delta_keys) \
  kernel(gated_delta_inverse) \
  kernel(gated_delta_rows) \
  kernel(gated_delta_state) \
  kernel(gated_delta_out) \
  group("Quantisation") \
  kernel(quantise) \
  group("Reductions and scans") \
  kernel(row_reduce) \
  kernel(argmax) \
  kernel(cumsum) \
  group("Communication") \
  kernel(all_reduce) \
  kernel(all_reduce_rmsnorm) \
  kernel(reduce_scatter) \
  kernel(all_gather) \
  kernel(moe_dispatch) \
  kernel(moe_combine) \
  group("Movement") \
  kernel(transpose) \
  kernel(swap_axes) \
  kernel(pad) \
  kernel(concat) \
  kernel(gather_rows) \
  kernel(scatter_rows) \
  kernel(scatter_add)
// clang-format on

namespace inlay::kernels {

#define INLAY_DECLARE(name) [[nodiscard]] std::unique_ptr<Kernel> name##_kernel();
#define INLAY_NO_GROUP(title)
INLAY_KERNELS(INLAY_DECLARE, INLAY_NO_GROUP)
#undef INLAY_NO_GROUP
#undef INLAY_DECLARE

} // namespace inlay::kernels
