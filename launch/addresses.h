/// Where the buffers of a launch lie, where their bytes are known.
#pragma once

#include <inlay/launch/manifest.h>

namespace inlay::launch {

/// Manifest::check_addresses without its formulas. `bytes`: of each argument that is a buffer; 0 of others. Errors: LaunchError.
void check_addresses(const Manifest& manifest, const std::vector<std::uint64_t>& addresses,
                     const std::vector<std::int64_t>& bytes);

} // namespace inlay::launch
