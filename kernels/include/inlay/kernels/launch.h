/// Kernels on a device: load once, bind buffers, check the contract, launch.
///
///     Artifact artifact = build(program);
///     auto device = open_device("emulator", artifact.arch);           // or "hip": the first AMD GPU
///     LoadedKernel kernel(*device, artifact);
///     runtime::Buffer y(*device, bytes), x(*device, bytes);
///     kernel.launch({y.address(), x.address()}, {rows, columns});     // buffers and sizes in the program's order
///     device->synchronize();
///
/// or, for host data and one launch, `run(*device, artifact, {y, x}, {rows, columns})`. The sizes are checked against the
/// launch contract before anything is enqueued, so that no kernel runs on sizes its proofs do not cover; `run` also checks
/// that the buffers are large enough, and what the emulator's sanitizers find is an error.
#pragma once

#include <inlay/kernels/artifact.h>
#include <inlay/runtime/emulator.h>

#include <memory>

namespace inlay::kernels {

/// A code object on a device. It goes with the object. Errors of all members: those of the device (DeviceError,
/// ExecutionError), std::invalid_argument of the contract.
class LoadedKernel {
public:
  LoadedKernel(runtime::Device& device, const Artifact& artifact);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel();

  /// Enqueues a launch. `buffers`: device addresses, outputs and inputs in the order in which the program declares them.
  void launch(const std::vector<std::uint64_t>& buffers, const std::vector<std::int64_t>& sizes,
              runtime::Stream stream = runtime::Stream::standard);
  /// The same with a plan that was made before, `buffers` being what its arguments refer to.
  void launch(const LaunchPlan& plan, const std::vector<std::uint64_t>& buffers,
              runtime::Stream stream = runtime::Stream::standard);
  /// On all devices of the contract at once, each with its rank and with what `buffers` has for it (LaunchContract::devices).
  /// Errors: std::invalid_argument on hardware, where each device is launched by itself (`inlay exec --devices --device hip`).
  void launch_on_devices(const LaunchPlan& plan, const std::vector<std::vector<std::uint64_t>>& buffers);

private:
  [[nodiscard]] std::vector<std::uint8_t> arguments_of(const LaunchPlan& plan,
                                                       const std::vector<std::uint64_t>& buffers) const;
  runtime::Device& device_;
  LaunchContract contract_;
  runtime::CodeObject object_;
  std::string name_;
  runtime::Module module_;
  runtime::Function function_;
};

/// Buffers on a device, and of several that launch together on each of them: those of peers (LaunchContract::Buffer::device) once, the
/// others one for each. Goes with the device.
class PlacedBuffers {
public:
  /// `data`: what each holds at the start, in the order of the contract.
  PlacedBuffers(runtime::Device& device, const LaunchContract& contract,
                const std::vector<std::span<const std::byte>>& data);
  /// Those of a problem, and what its tables of pointers point to behind the contract's.
  PlacedBuffers(runtime::Device& device, const LaunchContract& contract, const Problem& problem);
  /// The contract's, by device, then by buffer.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> addresses() const;
  /// What they hold, in that order; those that are not wanted empty.
  [[nodiscard]] std::vector<Bytes> read(const std::function<bool(std::size_t buffer)>& wanted) const;
  void write(std::span<const Bytes> all);

private:
  runtime::Device& device_;
  std::vector<runtime::Buffer> buffers_;
  std::vector<std::size_t> bytes_;
  std::vector<std::vector<std::uint64_t>> addresses_; ///< of all
  std::size_t arguments_;                             ///< how many of them are the contract's
};

/// What the emulator's sanitizers found in a launch, notes left out; the message has the first ones, each with its source line.
struct FindingsError : std::runtime_error {
  FindingsError(const std::string& kernel, std::vector<runtime::Finding> found);
  std::vector<runtime::Finding> findings;
};

/// What `run` does when the emulator found a defect: throw FindingsError, or leave it to the caller, who looks into
/// EmulatorDevice::last_launch.
enum class OnFinding : std::uint8_t { fail, keep };

/// Copies `buffers` in, launches once, waits, and hands out what all of them hold afterwards: of several devices that launch together
/// those of device 0, then those of device 1 and so on. They begin with the same buffers, or with those of their own where `buffers` has
/// a set for each, in that order; a peer's buffer is then the same in all sets.
/// Errors: std::invalid_argument for a buffer that is smaller than the sizes ask for, with its name and both numbers of bytes;
/// FindingsError; those of LoadedKernel.
[[nodiscard]] std::vector<Bytes> run(runtime::Device& device, const Artifact& artifact,
                                     const std::vector<Bytes>& buffers,
                                     const std::vector<std::int64_t>& sizes,
                                     OnFinding on_finding = OnFinding::fail);
/// The same for a problem: its buffers, its plan.
[[nodiscard]] std::vector<Bytes> run(runtime::Device& device, const Artifact& artifact,
                                     const Problem& problem, OnFinding on_finding = OnFinding::fail);

using HostBuffers = std::vector<std::span<std::byte>>;
/// One launch on one device of the emulator, on data where it lies: nothing is copied but, where bounds are checked, buffers that lie too near to
/// one another for the check to tell them apart. Outputs are written when this returns, also by a launch in which something is found. What the buffers hold counts as written. Inputs may share memory. Each buffer begins at a multiple of 4 bytes.
/// Errors: as of `run`; std::invalid_argument for an output that shares memory, and for a kernel of several devices.
void run_in_place(runtime::EmulatorDevice& device, const Artifact& artifact, const HostBuffers& buffers,
                  const std::vector<std::int64_t>& sizes);
/// The same with a plan.
void run_in_place(runtime::EmulatorDevice& device, const Artifact& artifact, const HostBuffers& buffers,
                  const LaunchPlan& plan);

/// `emulator` for that architecture, or `hip`: the first AMD GPU, which must be of it.
/// Errors: std::invalid_argument naming the devices there are; std::runtime_error when there is no AMD GPU.
[[nodiscard]] std::unique_ptr<runtime::Device> open_device(const std::string& kind, const std::string& arch,
                                                           const runtime::EmulatorOptions& options = {});

} // namespace inlay::kernels
