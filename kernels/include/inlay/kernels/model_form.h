/// `model_form`: modelled clocks of one form of a kernel, kept like choices.
///
///     const auto kernel = find_kernel("gemm");
///     model_form(*kernel, {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"tile", "256x256x64"}}, {}).clocks
///
/// Claims of the form are not decided: its clocks are compared with others', and what is launched is built again.
#pragma once

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/model.h>

namespace inlay::kernels {

/// A launch of the kernel with these flags, for the sizes that they say; with `cache` from the directory of choices where it is there
/// already, by the same library. Errors: std::invalid_argument with why it cannot be built, in one line.
[[nodiscard]] Modelled model_form(const Kernel& kernel, const Flags& flags, const BuildOptions& options,
                                  bool cache = true);

} // namespace inlay::kernels
