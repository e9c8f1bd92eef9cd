/// A kernel's problem on a device: buffers in, one launch, buffers out. What `run`, tests and benchmarks share.
#pragma once

#include <inlay/kernels/artifact.h>
#include <inlay/runtime/emulator.h>

#include <memory>

namespace inlay::cli {

/// The contents of all buffers of `problem` after one launch of `artifact`, in order.
/// Errors: those of the device (DeviceError, ExecutionError, ArgumentError).
[[nodiscard]] std::vector<kernels::Bytes>
launch_problem(runtime::Device& device, const kernels::Artifact& artifact, const kernels::Problem& problem);

/// `emulator` for that architecture, or `hip`: the first AMD GPU, which must be of it.
/// Errors: std::invalid_argument naming the devices there are; std::runtime_error when there is no AMD GPU.
[[nodiscard]] std::unique_ptr<runtime::Device> open_device(const std::string& kind, const std::string& arch,
                                                           const runtime::EmulatorOptions& options);

} // namespace inlay::cli
