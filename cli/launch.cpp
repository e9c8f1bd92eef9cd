#include "launch.h"

#include <inlay/runtime/hip.h>
#include <inlay/runtime/kernarg.h>

#include <fmt/format.h>

namespace inlay::cli {
namespace {

std::span<const std::uint8_t> bytes_of(const kernels::Bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.data()), b.size()};
}

} // namespace

LoadedProblem::LoadedProblem(runtime::Device& device, const kernels::Artifact& artifact,
                             const kernels::Problem& problem)
    : device_(device) {
  for (const auto& b : problem.buffers) {
    buffers_.emplace_back(device, b.data.size());
    is_output_.push_back(b.output);
    device.copy_in(buffers_.back().address(), bytes_of(b.data));
  }
  std::vector<runtime::Argument> arguments;
  for (const kernels::LaunchArgument& a : problem.launch.arguments) {
    if (a.buffer >= 0) {
      arguments.push_back(
          runtime::Argument::pointer(buffers_.at(static_cast<std::size_t>(a.buffer)).address()));
    } else {
      const auto scalar = bytes_of(a.scalar);
      arguments.push_back({"scalar", {scalar.begin(), scalar.end()}, false});
    }
  }
  const auto extent = [](const std::array<std::uint32_t, 3>& e) {
    return runtime::Extent3{e[0], e[1], e[2]};
  };
  geometry_ = {extent(problem.launch.grid), extent(problem.launch.block), problem.launch.dynamic_lds};
  const auto code = bytes_of(artifact.hsaco);
  const auto object = runtime::CodeObject::parse({code.begin(), code.end()}, artifact.arch);
  arguments_ = runtime::pack_arguments(object.kernel(artifact.kernel), arguments, geometry_);
  module_ =
      device.load(object); // last: what throws before it leaves nothing but buffers, which free themselves
  try {
    function_ = device.function(module_, artifact.kernel);
  } catch (...) {
    device.release(module_);
    throw;
  }
}

LoadedProblem::~LoadedProblem() {
  try {
    device_.release(module_);
  } catch (const runtime::DeviceError&) { // nothing can be done about a module that does not want to go
  }
}

void LoadedProblem::launch(runtime::Stream stream) {
  device_.launch(function_, geometry_, arguments_, stream);
}

std::vector<kernels::Bytes> LoadedProblem::read() {
  device_.synchronize();
  std::vector<kernels::Bytes> after;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    kernels::Bytes bytes(is_output_[i] ? buffers_[i].size() : 0);
    if (!bytes.empty())
      device_.copy_out({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, buffers_[i].address());
    after.push_back(std::move(bytes));
  }
  return after;
}

TimeResult time_problem(const TimeOptions& o, runtime::EmulatorDevice& device,
                        const kernels::Artifact& artifact, LoadedProblem& loaded) {
  const auto code = bytes_of(artifact.hsaco);
  const auto object = runtime::CodeObject::parse({code.begin(), code.end()}, artifact.arch);
  runtime::EmulatorOptions before = device.options();
  device.options().checks = runtime::Checks::none();
  device.options().progress = {};
  device.options().stress = false;
  device.options().max_wave_instructions = neighbour_budget * 4;
  TimeResult t = time_launch(o, runtime::isa::parse_arch(artifact.arch), object.kernel(artifact.kernel),
                             loaded.geometry(), [&](runtime::LaunchObserver& observer) {
                               device.options().observer = &observer;
                               loaded.launch();
                               device.options().observer = nullptr;
                             });
  device.options() = std::move(before);
  return t;
}

std::unique_ptr<runtime::Device> open_device(const std::string& kind, const std::string& arch,
                                             const runtime::EmulatorOptions& options) {
  if (kind == "emulator")
    return std::make_unique<runtime::EmulatorDevice>(runtime::isa::parse_arch(arch), options);
  if (kind != "hip")
    throw std::invalid_argument(fmt::format("unknown device '{}'\n  hint   emulator, hip", kind));
  auto device = runtime::open_hip();
  if (const std::string found = device->info().arch; found.rfind(arch, 0) != 0)
    throw std::invalid_argument(fmt::format("the kernel is for {}, the device is a {}\n  hint   --arch {}",
                                            arch, found, found.substr(0, found.find(':'))));
  return device;
}

} // namespace inlay::cli
