/// The prebuilt kernels by what people look for.
#pragma once

#include <string>
#include <vector>

namespace inlay::kernels {

struct KernelGroup {
  std::string title; ///< `Mixture of experts`
  std::vector<std::string> kernels;
};

/// All of them, in the order of the registry.
[[nodiscard]] std::vector<KernelGroup> kernel_groups();

} // namespace inlay::kernels
