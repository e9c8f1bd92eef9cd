/// A kernel's problem on a device: buffers in, launches, buffers out. What `run`, `bench` and tests share.
#pragma once

#include "time_kernel.h"

#include <inlay/kernels/artifact.h>
#include <inlay/runtime/emulator.h>

#include <memory>

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
  ~LoadedProblem();

  /// Enqueues one launch.
  void launch(runtime::Stream stream = runtime::Stream::standard);
  [[nodiscard]] const runtime::LaunchGeometry& geometry() const { return geometry_; }
  /// Waits, and copies out the contents of the outputs; in order, buffers that are no output being empty.
  [[nodiscard]] std::vector<kernels::Bytes> read();

private:
  runtime::Device& device_;
  runtime::Module module_;
  runtime::Function function_;
  std::vector<runtime::Buffer> buffers_;
  std::vector<bool> is_output_;
  runtime::LaunchGeometry geometry_;
  std::vector<std::uint8_t> arguments_;
};

/// What the model says of a launch of `loaded`, which is on `device`.
[[nodiscard]] TimeResult time_problem(const TimeOptions& o, runtime::EmulatorDevice& device,
                                      const kernels::Artifact& artifact, LoadedProblem& loaded);

/// `emulator` for that architecture, or `hip`: the first AMD GPU, which must be of it.
/// Errors: std::invalid_argument naming the devices there are; std::runtime_error when there is no AMD GPU.
[[nodiscard]] std::unique_ptr<runtime::Device> open_device(const std::string& kind, const std::string& arch,
                                                           const runtime::EmulatorOptions& options);

} // namespace inlay::cli
