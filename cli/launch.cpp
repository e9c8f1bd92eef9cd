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

std::vector<kernels::Bytes> launch_problem(runtime::Device& device, const kernels::Artifact& artifact,
                                           const kernels::Problem& problem) {
  const auto code = bytes_of(artifact.hsaco);
  const auto object = runtime::CodeObject::parse({code.begin(), code.end()}, artifact.arch);
  const runtime::Module module = device.load(object);
  const runtime::Function function = device.function(module, artifact.kernel);

  std::vector<runtime::Buffer> buffers;
  for (const auto& b : problem.buffers) {
    buffers.emplace_back(device, b.data.size());
    device.copy_in(buffers.back().address(), bytes_of(b.data));
  }
  std::vector<runtime::Argument> arguments;
  for (const kernels::LaunchArgument& a : problem.launch.arguments) {
    if (a.buffer >= 0) {
      arguments.push_back(
          runtime::Argument::pointer(buffers.at(static_cast<std::size_t>(a.buffer)).address()));
    } else {
      const auto scalar = bytes_of(a.scalar);
      arguments.push_back({"scalar", {scalar.begin(), scalar.end()}, false});
    }
  }
  const auto extent = [](const std::array<std::uint32_t, 3>& e) {
    return runtime::Extent3{e[0], e[1], e[2]};
  };
  const runtime::LaunchGeometry geometry{extent(problem.launch.grid), extent(problem.launch.block),
                                         problem.launch.dynamic_lds};
  device.launch(function, geometry,
                runtime::pack_arguments(object.kernel(artifact.kernel), arguments, geometry));
  device.synchronize();

  std::vector<kernels::Bytes> after;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    kernels::Bytes bytes(problem.buffers[i].data.size());
    device.copy_out({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, buffers[i].address());
    after.push_back(std::move(bytes));
  }
  device.release(module);
  return after;
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
