#include <inlay/kernels/launch.h>

#include <inlay/runtime/hip.h>
#include <inlay/runtime/kernarg.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

std::span<const std::uint8_t> bytes_of(const Bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.data()), b.size()};
}

runtime::CodeObject object_of(const Artifact& artifact) {
  const auto code = bytes_of(artifact.hsaco);
  return runtime::CodeObject::parse({code.begin(), code.end()}, artifact.arch);
}

} // namespace

LoadedKernel::LoadedKernel(runtime::Device& device, const Artifact& artifact)
    : device_(device), contract_(artifact.contract), object_(object_of(artifact)), name_(artifact.kernel),
      module_(device.load(object_)) {
  try {
    function_ = device.function(module_, name_);
  } catch (...) {
    device.release(module_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  try {
    device_.release(module_);
  } catch (const runtime::DeviceError&) { // nothing can be done about a module that does not want to go
  }
}

void LoadedKernel::launch(const std::vector<std::uint64_t>& buffers, const std::vector<std::int64_t>& sizes,
                          runtime::Stream stream) {
  if (buffers.size() != contract_.buffers.size()) {
    std::string names;
    for (const auto& b : contract_.buffers) names += (names.empty() ? "" : ", ") + b.name;
    throw std::invalid_argument(
        fmt::format("{}: {} buffers were given\n  hint   {}, in this order", name_, buffers.size(), names));
  }
  const LaunchPlan plan = contract_.plan(sizes);
  contract_.check_apart(buffers, sizes);
  launch(plan, buffers, stream);
}

void LoadedKernel::launch(const LaunchPlan& plan, const std::vector<std::uint64_t>& buffers,
                          runtime::Stream stream) {
  std::vector<runtime::Argument> arguments;
  for (const LaunchArgument& a : plan.arguments) {
    if (a.buffer >= 0) {
      arguments.push_back(runtime::Argument::pointer(buffers.at(static_cast<std::size_t>(a.buffer))));
    } else {
      const auto scalar = bytes_of(a.scalar);
      arguments.push_back({"scalar", {scalar.begin(), scalar.end()}, false});
    }
  }
  const auto extent = [](const std::array<std::uint32_t, 3>& e) {
    return runtime::Extent3{e[0], e[1], e[2]};
  };
  const runtime::LaunchGeometry geometry{extent(plan.grid), extent(plan.block), plan.dynamic_lds};
  device_.launch(function_, geometry, runtime::pack_arguments(object_.kernel(name_), arguments, geometry),
                 stream);
}

namespace {
std::vector<Bytes> run_plan(runtime::Device& device, const Artifact& artifact, const std::vector<Bytes>& data,
                            const LaunchPlan& plan) {
  LoadedKernel kernel(device, artifact);
  std::vector<runtime::Buffer> buffers;
  std::vector<std::uint64_t> addresses;
  for (const Bytes& b : data) {
    buffers.emplace_back(device, b.size());
    device.copy_in(buffers.back().address(), bytes_of(b));
    addresses.push_back(buffers.back().address());
  }
  kernel.launch(plan, addresses);
  device.synchronize();
  std::vector<Bytes> after;
  for (std::size_t i = 0; i < data.size(); ++i) {
    after.emplace_back(data[i].size());
    device.copy_out({reinterpret_cast<std::uint8_t*>(after.back().data()), after.back().size()},
                    addresses[i]);
  }
  return after;
}
} // namespace

std::vector<Bytes> run(runtime::Device& device, const Artifact& artifact, const std::vector<Bytes>& buffers,
                       const std::vector<std::int64_t>& sizes) {
  return run_plan(device, artifact, buffers, artifact.contract.plan(sizes));
}

std::vector<Bytes> run(runtime::Device& device, const Artifact& artifact, const Problem& problem) {
  std::vector<Bytes> data;
  for (const auto& b : problem.buffers) data.push_back(b.data);
  return run_plan(device, artifact, data, problem.launch);
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

} // namespace inlay::kernels
