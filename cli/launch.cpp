#include "launch.h"

namespace inlay::cli {
namespace {

std::span<const std::uint8_t> bytes_of(const kernels::Bytes& b) {
  return {reinterpret_cast<const std::uint8_t*>(b.data()), b.size()};
}

} // namespace

LoadedProblem::LoadedProblem(runtime::Device& device, const kernels::Artifact& artifact,
                             const kernels::Problem& problem)
    : device_(device), kernel_(device, artifact), plan_(problem.launch) {
  for (const auto& b : problem.buffers) {
    buffers_.emplace_back(device, b.data.size());
    addresses_.push_back(buffers_.back().address());
    is_output_.push_back(b.output);
    device.copy_in(addresses_.back(), bytes_of(b.data));
  }
  const auto extent = [](const std::array<std::uint32_t, 3>& e) {
    return runtime::Extent3{e[0], e[1], e[2]};
  };
  geometry_ = {extent(plan_.grid), extent(plan_.block), plan_.dynamic_lds};
}

void LoadedProblem::launch(runtime::Stream stream) { kernel_.launch(plan_, addresses_, stream); }

std::vector<kernels::Bytes> LoadedProblem::read(bool inputs_too) {
  device_.synchronize();
  std::vector<kernels::Bytes> after;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    kernels::Bytes bytes(is_output_[i] || inputs_too ? buffers_[i].size() : 0);
    if (!bytes.empty())
      device_.copy_out({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, addresses_[i]);
    after.push_back(std::move(bytes));
  }
  return after;
}

void LoadedProblem::write(std::span<const kernels::Bytes> all) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) device_.copy_in(addresses_[i], bytes_of(all[i]));
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
