/// Whether the buffers of a launch lie apart, where their bytes are known.
#pragma once

#include <inlay/launch/manifest.h>

namespace inlay::launch {

/// Manifest::check_apart without its formulas. `extents`: bytes of each argument that is a buffer. Errors: LaunchError naming both buffers.
void check_apart(const Manifest& manifest, const std::vector<std::uint64_t>& addresses,
                 const std::vector<std::uint64_t>& extents);

} // namespace inlay::launch
