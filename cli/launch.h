/// A kernel's problem on a device: buffers in, launches, buffers out. What `run`, `bench` and tests share.
#pragma once

#include "time_kernel.h"

#include <inlay/kernels/launch.h>

namespace inlay::cli {

/// `problem` in the memory of `device` with `artifact` loaded, ready to be launched any number of times:
///
///     LoadedProblem loaded(device, artifact, problem);
///     loaded.launch();
///     problem.check(loaded.read())
///
/// Everything it holds on the device goes with it. Errors: those of the device (DeviceError, ExecutionError,
/// ArgumentError).
class LoadedProblem {
public:
  LoadedProblem(runtime::Device& device, const kernels::Artifact& artifact, const kernels::Problem& problem);
  LoadedProblem(const LoadedProblem&) = delete;
  LoadedProblem& operator=(const LoadedProblem&) = delete;

  /// Enqueues one launch.
  void launch(runtime::Stream stream = runtime::Stream::standard);
  [[nodiscard]] const runtime::LaunchGeometry& geometry() const { return geometry_; }
  /// Waits, and copies out the contents of the outputs; in order, buffers that are no output being empty, unless they are wanted. Of
  /// several devices one after the other.
  [[nodiscard]] std::vector<kernels::Bytes> read(bool inputs_too = false);
  /// All buffers, in order.
  void write(std::span<const kernels::Bytes> all);

private:
  runtime::Device& device_;
  kernels::LoadedKernel kernel_;
  kernels::LaunchPlan plan_;
  kernels::PlacedBuffers buffers_;
  std::vector<bool> is_output_;
  runtime::LaunchGeometry geometry_;
};

/// What the model says of a launch of `loaded`, which is on `device`.
[[nodiscard]] TimeResult time_problem(const TimeOptions& o, runtime::EmulatorDevice& device,
                                      const kernels::Artifact& artifact, LoadedProblem& loaded);

using kernels::open_device;

} // namespace inlay::cli
