/// The prebuilt kernels, a line each: NAME, whose face on the command line NAME_kernel() is (options.h).
#pragma once

#include <inlay/kernels/artifact.h>

// clang-format off
#define INLAY_KERNELS(kernel) \
  kernel(gemm) \
  kernel(preshuffle_gemm) \
  kernel(block_scale_gemm) \
  kernel(weight_only_gemm) \
  kernel(moe_stage1) \
  kernel(moe_stage2) \
  kernel(flash_attention) \
  kernel(softmax) \
  kernel(rmsnorm) \
  kernel(layernorm) \
  kernel(silu_and_mul) \
  kernel(rope) \
  kernel(cumsum) \
  kernel(vector_add)
// clang-format on

namespace inlay::kernels {

#define INLAY_DECLARE(name) [[nodiscard]] std::unique_ptr<Kernel> name##_kernel();
INLAY_KERNELS(INLAY_DECLARE)
#undef INLAY_DECLARE

} // namespace inlay::kernels
