#include <inlay/kernels/launch.h>

#include <inlay/kernels/build.h>

#include <inlay/runtime/guarded_copies.h>
#include <inlay/runtime/hip.h>
#include <inlay/runtime/kernarg.h>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace inlay::kernels {
namespace {

std::span<const std::uint8_t> bytes_of(const Bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.data()), b.size()};
}

runtime::CodeObject object_of(const Artifact& artifact) {
  const auto code = bytes_of(artifact.hsaco);
  return runtime::CodeObject::parse({code.begin(), code.end()}, artifact.arch);
}

void check_count(const LaunchContract& contract, std::size_t given) {
  if (given == contract.buffers.size()) return;
  std::string names;
  for (const auto& b : contract.buffers) names += (names.empty() ? "" : ", ") + b.name;
  throw std::invalid_argument(
      fmt::format("{}: {} buffers were given\n  hint   {}, in this order", contract.kernel, given, names));
}

/// One set of buffers, or one for each device.
void check_sets(const LaunchContract& contract, const std::vector<Bytes>& buffers) {
  const std::size_t count = contract.buffers.size();
  if (contract.devices == 1 || buffers.size() != count * static_cast<std::size_t>(contract.devices))
    return check_count(contract, buffers.size());
  for (std::size_t i = count; i < buffers.size(); ++i)
    if (buffers[i].size() != buffers[i % count].size())
      throw std::invalid_argument(fmt::format(
          "{}: {} of device {} has {} bytes, and that of device 0 has {}\n  hint   as many on all devices",
          contract.kernel, contract.buffers[i % count].name, i / count, buffers[i].size(),
          buffers[i % count].size()));
}

/// Each buffer holds what a kernel of these sizes touches, as far as that is known.
template <class Buffers> // of Bytes, or of memory of somebody else
void check_large_enough(const LaunchContract& contract, const Buffers& buffers,
                        const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const LaunchContract::Buffer& b = contract.buffers[i % contract.buffers.size()];
    const auto needed = static_cast<std::size_t>(b.bytes(sizes));
    if (!b.bits || b.empty(sizes) || buffers[i].size() >= needed) continue; // of nothing nothing is touched
    std::string values;
    for (std::size_t k = 0; k < sizes.size(); ++k)
      values += fmt::format("{}{} = {}", k == 0 ? "" : ", ", contract.sizes[k].name, sizes[k]);
    throw std::invalid_argument(fmt::format("{}: {} has {} bytes\n  hint   {} needs {}", contract.kernel,
                                            b.name, buffers[i].size(), values, needed));
  }
}

/// The sizes that a plan launches with. Errors: std::invalid_argument for a plan that is not the contract's for them; fewer workgroups
/// leave out what is theirs.
std::vector<std::int64_t> sizes_of(const LaunchContract& contract, const LaunchPlan& plan) {
  std::vector<std::int64_t> values(contract.sizes.size(), 0);
  for (std::size_t i = 0; i < std::min(contract.arguments.size(), plan.arguments.size()); ++i)
    if (const Bytes& bytes = plan.arguments[i].scalar; !contract.arguments[i].buffer && bytes.size() == 4) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data(), sizeof value);
      values[contract.arguments[i].number] = value;
    }
  const LaunchPlan wanted = contract.plan(values);
  const auto same = [](const LaunchArgument& a, const LaunchArgument& b) {
    return a.buffer == b.buffer && a.scalar == b.scalar;
  };
  bool more = false;
  for (std::size_t axis = 0; axis < plan.grid.size(); ++axis)
    more = more || plan.grid[axis] > wanted.grid[axis];
  if (more || plan.block != wanted.block || plan.dynamic_lds != wanted.dynamic_lds ||
      !std::equal(plan.arguments.begin(), plan.arguments.end(), wanted.arguments.begin(),
                  wanted.arguments.end(), same))
    throw std::invalid_argument(
        fmt::format("{}: the plan is not the one for its sizes, {} x {} x {} workgroups of {}\n  hint   "
                    "{} x {} x {} of {}: contract.plan(sizes)",
                    contract.kernel, plan.grid[0], plan.grid[1], plan.grid[2], plan.block[0], wanted.grid[0],
                    wanted.grid[1], wanted.grid[2], wanted.block[0]));
  return values;
}

/// The check of the program (Program::check) that ended a launch, by the line that the emulator names; nothing where it was none.
std::string failed_check(const Artifact& artifact, const std::string& message) {
  if (message.find("s_trap") == std::string::npos) return {};
  for (const DeviceCheck& c : artifact.checks) {
    const std::size_t at = message.find(c.place), end = at + c.place.size();
    const bool longer = end < message.size() && message[end] >= '0' && message[end] <= '9'; // another number
    if (at != std::string::npos && !longer)
      return fmt::format("{}: check failed: {}\n  at     {}", artifact.kernel, c.text, c.place);
  }
  return {};
}

runtime::LaunchGeometry geometry_of(const LaunchPlan& plan) {
  const auto extent = [](const std::array<std::uint32_t, 3>& e) {
    return runtime::Extent3{e[0], e[1], e[2]};
  };
  return {extent(plan.grid), extent(plan.block), plan.dynamic_lds};
}

} // namespace

FindingsError::FindingsError(const std::string& kernel, std::vector<runtime::Finding> found)
    : std::runtime_error([&] {
        constexpr std::size_t shown = 3;
        std::string text = fmt::format("{}: the emulator's sanitizers found {} defect{}", kernel,
                                       found.size(), found.size() == 1 ? "" : "s");
        for (std::size_t i = 0; i < std::min(shown, found.size()); ++i) text += "\n" + to_string(found[i]);
        if (found.size() > shown) text += fmt::format("\nand {} more\n", found.size() - shown);
        return text;
      }()),
      findings(std::move(found)) {}

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
  launch(contract_.plan(sizes), buffers, stream);
}

std::vector<std::uint8_t> LoadedKernel::arguments_of(const LaunchPlan& plan,
                                                     const std::vector<std::uint64_t>& buffers) const {
  check_count(contract_, buffers.size());
  contract_.check_addresses(buffers, sizes_of(contract_, plan));
  std::vector<runtime::Argument> arguments;
  for (const LaunchArgument& a : plan.arguments) {
    if (a.buffer >= 0) {
      arguments.push_back(runtime::Argument::pointer(buffers.at(static_cast<std::size_t>(a.buffer))));
    } else {
      const auto scalar = bytes_of(a.scalar);
      arguments.push_back({"scalar", {scalar.begin(), scalar.end()}, false});
    }
  }
  return runtime::pack_arguments(object_.kernel(name_), arguments, geometry_of(plan));
}

void LoadedKernel::launch(const LaunchPlan& plan, const std::vector<std::uint64_t>& buffers,
                          runtime::Stream stream) {
  if (contract_.devices > 1)
    throw std::invalid_argument(fmt::format(
        "{}: {} devices run it together, and this launches it on one\n  hint   `inlay run {}`, or "
        "`inlay exec` with the manifest that `inlay build` writes",
        contract_.kernel, contract_.devices, contract_.kernel));
  check_count(contract_, buffers.size());
  if (plan.grid[0] == 0) return; // nothing to write
  device_.launch(function_, geometry_of(plan), arguments_of(plan, buffers), stream);
}

void LoadedKernel::launch_on_devices(const LaunchPlan& plan,
                                     const std::vector<std::vector<std::uint64_t>>& buffers) {
  auto* emulator = dynamic_cast<runtime::EmulatorDevice*>(&device_);
  if (emulator == nullptr)
    throw std::invalid_argument(fmt::format(
        "{}: {} devices run it together\n  hint   the emulator, or `inlay exec --device hip` with "
        "the manifest that `inlay build` writes",
        contract_.kernel, contract_.devices));
  if (plan.grid[0] == 0) return;
  std::vector<std::vector<std::uint8_t>> arguments;
  for (int r = 0; r < contract_.devices; ++r)
    arguments.push_back(arguments_of(contract_.of_device(plan, r), buffers.at(static_cast<std::size_t>(r))));
  emulator->launch_on_devices(function_, geometry_of(plan), arguments);
}

PlacedBuffers::PlacedBuffers(runtime::Device& device, const LaunchContract& contract,
                             const std::vector<std::span<const std::byte>>& data)
    : device_(device), addresses_(static_cast<std::size_t>(contract.devices)),
      arguments_(contract.buffers.size()) {
  auto* emulator = dynamic_cast<runtime::EmulatorDevice*>(&device);
  for (const auto& d : data) bytes_.push_back(d.size());
  for (int r = 0; r < contract.devices; ++r)
    for (std::size_t i = 0; i < data.size(); ++i) {
      const int home = i < contract.buffers.size() ? contract.buffers[i].device : -1;
      auto& own = addresses_[static_cast<std::size_t>(r)];
      if (home >= 0 && r > 0) {
        own.push_back(addresses_[0][i]);
        continue;
      }
      buffers_.emplace_back(device, data[i].size());
      own.push_back(buffers_.back().address());
      device.copy_in(own.back(), {reinterpret_cast<const std::uint8_t*>(data[i].data()), data[i].size()});
      if (emulator != nullptr && contract.devices > 1)
        emulator->place(own.back(), static_cast<std::uint32_t>(home >= 0 ? home : r));
    }
}

namespace {
std::vector<std::span<const std::byte>> data_of(const std::vector<Problem::Buffer>& buffers) {
  std::vector<std::span<const std::byte>> out;
  for (const auto& b : buffers) out.emplace_back(b.data);
  return out;
}
} // namespace

PlacedBuffers::PlacedBuffers(runtime::Device& device, const LaunchContract& contract, const Problem& problem)
    : PlacedBuffers(device, contract, data_of(problem.buffers)) {
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    std::vector<std::uint64_t> table;
    for (const int to : problem.buffers[i].points_to)
      table.push_back(to < 0 ? 0 : addresses_[0].at(static_cast<std::size_t>(to)));
    if (table.empty()) continue;
    const auto bytes = std::as_bytes(std::span(table));
    device_.copy_in(addresses_[0][i], {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
}

std::vector<std::vector<std::uint64_t>> PlacedBuffers::addresses() const {
  std::vector<std::vector<std::uint64_t>> out = addresses_;
  for (auto& of_device : out) of_device.resize(std::min(of_device.size(), arguments_));
  return out;
}

std::vector<Bytes> PlacedBuffers::read(const std::function<bool(std::size_t)>& wanted) const {
  std::vector<Bytes> out;
  for (const auto& addresses : addresses_)
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      Bytes& bytes = out.emplace_back(wanted(i) ? bytes_[i] : 0);
      if (!bytes.empty())
        device_.copy_out({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, addresses[i]);
    }
  return out;
}

void PlacedBuffers::write(std::span<const Bytes> all) {
  std::size_t n = 0;
  for (const auto& addresses : addresses_)
    for (const std::uint64_t at : addresses) device_.copy_in(at, bytes_of(all[n++]));
}

namespace {
/// One launch on data that is there, its end, and what was found in it.
void launch_once(runtime::Device& device, const Artifact& artifact, const LaunchPlan& plan,
                 const std::vector<std::vector<std::uint64_t>>& addresses, OnFinding on_finding) {
  LoadedKernel kernel(device, artifact);
  try {
    if (artifact.contract.devices > 1)
      kernel.launch_on_devices(plan, addresses);
    else
      kernel.launch(plan, addresses[0]);
    device.synchronize();
  } catch (const runtime::ExecutionError& e) {
    if (const std::string failed = failed_check(artifact, e.what()); !failed.empty())
      throw runtime::ExecutionError(failed + "\n" + e.what());
    throw;
  }
  if (const auto* emulator = dynamic_cast<const runtime::EmulatorDevice*>(&device);
      emulator != nullptr && on_finding == OnFinding::fail) {
    std::vector<runtime::Finding> defects;
    for (const runtime::Finding& f : emulator->last_launch().findings)
      if (!f.note) defects.push_back(f);
    if (!defects.empty()) throw FindingsError(artifact.kernel, std::move(defects));
  }
}

std::vector<Bytes> run_plan(runtime::Device& device, const Artifact& artifact, const std::vector<Bytes>& data,
                            const LaunchPlan& plan, OnFinding on_finding) {
  const std::size_t count = std::min(data.size(), artifact.contract.buffers.size());
  PlacedBuffers placed(device, artifact.contract,
                       {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count)});
  if (data.size() > count) placed.write(data);
  launch_once(device, artifact, plan, placed.addresses(), on_finding);
  return placed.read([](std::size_t) { return true; });
}
} // namespace

std::vector<Bytes> run(runtime::Device& device, const Artifact& artifact, const std::vector<Bytes>& buffers,
                       const std::vector<std::int64_t>& sizes, OnFinding on_finding) {
  const LaunchPlan plan = artifact.contract.plan(sizes);
  check_sets(artifact.contract, buffers);
  check_large_enough(artifact.contract, buffers, sizes);
  return run_plan(device, artifact, buffers, plan, on_finding);
}

std::vector<Bytes> run(runtime::Device& device, const Artifact& artifact, const Problem& problem,
                       OnFinding on_finding) {
  const PlacedBuffers placed(device, artifact.contract, problem);
  launch_once(device, artifact, problem.launch, placed.addresses(), on_finding);
  return placed.read([](std::size_t) { return true; });
}

void run_in_place(runtime::EmulatorDevice& device, const Artifact& artifact, const HostBuffers& buffers,
                  const LaunchPlan& plan) {
  // Inputs may share memory; the emulator knows each byte once.
  std::map<std::uint64_t, std::uint64_t> ranges;
  std::vector<std::uint64_t> addresses;
  std::vector<runtime::Buffer> nothing;
  for (const auto& b : buffers) {
    if (b.empty()) nothing.emplace_back(device, 0);
    addresses.push_back(b.empty() ? nothing.back().address() : reinterpret_cast<std::uint64_t>(b.data()));
    if (!b.empty())
      ranges[addresses.back()] = std::max(ranges[addresses.back()], addresses.back() + b.size());
  }
  std::vector<runtime::MemoryRange> shared;
  for (const auto& [begin, end] : ranges)
    if (!shared.empty() && begin < shared.back().second)
      shared.back().second = std::max(shared.back().second, end);
    else
      shared.emplace_back(begin, end);
  struct Held {
    runtime::EmulatorDevice& device;
    std::vector<std::uint64_t> begins = {};
    ~Held() {
      for (const std::uint64_t b : begins) device.release(b);
    }
  } held{device};
  for (const auto& [begin, end] : shared) {
    device.share(begin, end - begin);
    held.begins.push_back(begin);
  }
  // Between arrays that are neighbours an overrun is an access of the other one.
  runtime::GuardedCopies copies(device);
  if (device.options().checks.bounds)
    for (const auto& array : runtime::without_gaps(shared, shared)) copies.add(array);
  for (std::uint64_t& a : addresses) a = copies.address(a);
  try {
    launch_once(device, artifact, plan, {addresses}, OnFinding::fail);
  } catch (...) {
    copies.write_back();
    throw;
  }
  copies.write_back();
}

void run_in_place(runtime::EmulatorDevice& device, const Artifact& artifact, const HostBuffers& buffers,
                  const std::vector<std::int64_t>& sizes) {
  const LaunchPlan plan = artifact.contract.plan(sizes);
  check_count(artifact.contract, buffers.size());
  check_large_enough(artifact.contract, buffers, sizes);
  run_in_place(device, artifact, buffers, plan);
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
