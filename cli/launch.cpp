#include "launch.h"

namespace inlay::cli {
namespace {

std::span<const std::uint8_t> bytes_of(const kernels::Bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.data()), b.size()};
}

} // namespace

LoadedProblem::LoadedProblem(runtime::Device& device, const kernels::Artifact& artifact,
                             const kernels::Problem& problem)
    : device_(device), kernel_(device, artifact), plan_(problem.launch),
      buffers_(device, artifact.contract, problem) {
  for (const auto& b : problem.buffers) is_output_.push_back(b.output);
  const auto extent = [](const std::array<std::uint32_t, 3>& e) {
    return runtime::Extent3{e[0], e[1], e[2]};
  };
  geometry_ = {extent(plan_.grid), extent(plan_.block), plan_.dynamic_lds};
}

void LoadedProblem::launch(runtime::Stream stream) {
  if (buffers_.addresses().size() > 1)
    kernel_.launch_on_devices(plan_, buffers_.addresses());
  else
    kernel_.launch(plan_, buffers_.addresses()[0], stream);
}

std::vector<kernels::Bytes> LoadedProblem::read(bool inputs_too) {
  device_.synchronize();
  return buffers_.read([&](std::size_t i) { return is_output_[i] || inputs_too; });
}

void LoadedProblem::write(std::span<const kernels::Bytes> all) { buffers_.write(all); }

TimeResult time_problem(const TimeOptions& o, runtime::EmulatorDevice& device,
                        const kernels::Artifact& artifact, LoadedProblem& loaded) {
  const auto code = bytes_of(artifact.hsaco);
  const auto object = runtime::CodeObject::parse({code.begin(), code.end()}, artifact.arch);
  runtime::EmulatorOptions before = device.options();
  device.options().checks = runtime::Checks::none();
  device.options().progress = {};
  device.options().stress = false;
  device.options().max_wave_instructions = neighbour_budget * 4;
  const runtime::Kernel& kernel = object.kernel(artifact.kernel);
  const auto arch = runtime::isa::parse_arch(artifact.arch);
  // What workgroups tell each other, whose turn it is, say, is for each launch what it was before the first: one that ends with
  // the last workgroup asked for leaves something else.
  std::vector<kernels::Bytes> memory;
  if (runtime::timing::sees_other_workgroups(runtime::isa::decode(object.code(kernel), kernel.address, arch)))
    memory = loaded.read(true);
  TimeResult t = time_launch(o, arch, kernel, loaded.geometry(), [&](runtime::LaunchObserver& observer) {
    if (!memory.empty()) loaded.write(memory);
    device.options().observer = &observer;
    loaded.launch();
    device.options().observer = nullptr;
  });
  device.options() = std::move(before);
  t.turns = artifact.turns;
  return t;
}

} // namespace inlay::cli
