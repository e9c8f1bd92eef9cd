/// Launches whose data are made here: whether there is memory for them is asked before anything is allocated.
#pragma once

#include <inlay/kernels/artifact.h>

namespace inlay::codegen {
class Program;
}

namespace inlay::kernels {

/// The launch of a program for these sizes, for whose data there is memory. Errors: std::invalid_argument of the contract; of data that take
/// more memory than is free, with both: each buffer on the host and on the device, its elements as doubles, results once more to compare with.
[[nodiscard]] LaunchPlan plan_with_data(const codegen::Program& program,
                                        const std::vector<std::int64_t>& sizes);

} // namespace inlay::kernels
