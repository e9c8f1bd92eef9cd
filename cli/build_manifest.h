/// The launch manifest of a kernel that was built.
#pragma once

#include <inlay/kernels/artifact.h>
#include <inlay/launch/manifest.h>

namespace inlay::cli {

/// From the artifact's program and contract. `code`: the code object's file; `values`: what the sizes were built for, as options of the
/// kernel. Requires: the artifact keeps its source.
[[nodiscard]] launch::Manifest manifest_of(const kernels::Artifact& artifact, const std::string& code,
                                           const kernels::Flags& values);

/// What `made` of a manifest says of this build: what was given and what was chosen.
[[nodiscard]] launch::Made made_from(const kernels::Kernel& kernel, const kernels::Flags& flags,
                                     const kernels::BuildOptions& options);

/// The options of a kernel with the fallbacks of those that were not given.
[[nodiscard]] kernels::Flags with_fallbacks(const kernels::Kernel& kernel, kernels::Flags given);

} // namespace inlay::cli
