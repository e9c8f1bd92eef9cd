/// The command-line faces of the prebuilt kernels, one function each; registry.cpp lists them.
#pragma once

#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

[[nodiscard]] std::unique_ptr<Kernel> gemm_kernel();
[[nodiscard]] std::unique_ptr<Kernel> preshuffle_gemm_kernel();
[[nodiscard]] std::unique_ptr<Kernel> softmax_kernel();
[[nodiscard]] std::unique_ptr<Kernel> rmsnorm_kernel();
[[nodiscard]] std::unique_ptr<Kernel> layernorm_kernel();
[[nodiscard]] std::unique_ptr<Kernel> silu_and_mul_kernel();
[[nodiscard]] std::unique_ptr<Kernel> block_scale_gemm_kernel();
[[nodiscard]] std::unique_ptr<Kernel> weight_only_gemm_kernel();
[[nodiscard]] std::unique_ptr<Kernel> flash_attention_kernel();
[[nodiscard]] std::unique_ptr<Kernel> moe_stage1_kernel();
[[nodiscard]] std::unique_ptr<Kernel> moe_stage2_kernel();
[[nodiscard]] std::unique_ptr<Kernel> rope_kernel();
[[nodiscard]] std::unique_ptr<Kernel> cumsum_kernel();
[[nodiscard]] std::unique_ptr<Kernel> vector_add_kernel();

} // namespace inlay::kernels
