/// A GEMM as hipBLASLt's Tensile keeps a kernel that somebody else wrote: a `.s` whose metadata begin with `custom.config`.
#pragma once

#include <inlay/kernels/artifact.h>

#include <string>
#include <utility>
#include <vector>

namespace inlay::cli {

/// `gemm` with alpha, beta, C and rows that are apart, with the library's arguments in the place of its own: D, A, B, C, I, J, K, their
/// strides, alpha and beta by value. Only the entry differs: the rest of the machine code is generated from the same IR. The library
/// counts columns: its I, J, A, B are n, m, B, A of the kernel. Name of the function, and the file's contents. `tile`, `waves`: along
/// m, n (and k) of the kernel.
/// Requires: `artifact.source`. Errors: std::invalid_argument for a launch that the library cannot make, with what is in the way.
[[nodiscard]] std::pair<std::string, std::string> hipblaslt_file(const kernels::Artifact& artifact,
                                                                 const std::vector<int>& tile,
                                                                 const std::vector<int>& waves);

/// The options of `gemm` that it needs.
[[nodiscard]] kernels::Flags hipblaslt_flags();

} // namespace inlay::cli
