#include <inlay/kernels/model.h>

#include <inlay/kernels/launch.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/timing/chip.h>
#include <inlay/runtime/timing/report.h>
#include <inlay/runtime/timing/trace.h>

#include <algorithm>
#include <map>

namespace inlay::kernels {
namespace {

using namespace runtime;

/// Wave instructions that are executed for the lines of other workgroups, and that one unit is modelled for.
constexpr std::uint64_t neighbours = 3'000'000, modelled = 400'000;
/// The same for all workgroups of a unit, when they cost no more than this.
constexpr std::uint64_t whole_unit = 200'000;

/// Zeros on an emulator of its own for each launch: counters that one leaves behind are not what the next one starts from.
class Launcher {
public:
  Launcher(const Artifact& artifact, const std::vector<std::int64_t>& sizes)
      : artifact_(artifact), plan_(artifact.contract.plan(sizes)), sizes_(sizes) {}
  [[nodiscard]] const LaunchPlan& plan() const { return plan_; }

  void operator()(LaunchObserver& observer) const {
    EmulatorOptions options;
    options.checks = Checks::none();
    options.observer = &observer;
    EmulatorDevice device(isa::parse_arch(artifact_.arch), std::move(options));
    LoadedKernel kernel(device, artifact_);
    const auto& asked = artifact_.contract.buffers;
    if (std::any_of(asked.begin(), asked.end(),
                    [](const auto& b) { return static_cast<bool>(b.points_to); })) {
      const PlacedBuffers buffers(device, artifact_.contract, zeros(artifact_.contract, sizes_));
      return kernel.launch(plan_, buffers.addresses()[0]);
    }
    // Memory that nobody has written takes no room, however large the sizes are.
    std::vector<Buffer> buffers;
    std::vector<std::uint64_t> addresses;
    for (const LaunchContract::Buffer& b : asked) {
      buffers.emplace_back(device, static_cast<std::size_t>(std::max<std::int64_t>(b.bytes(sizes_), 16)));
      addresses.push_back(buffers.back().address());
    }
    kernel.launch(plan_, addresses);
  }

private:
  const Artifact& artifact_;
  LaunchPlan plan_;
  std::vector<std::int64_t> sizes_;
};

/// Several observers of one launch: each sees what it would see of a launch of its own.
class Observers : public LaunchObserver {
public:
  void add(LaunchObserver& one) { all_.emplace_back(&one, false); }
  void begin(const isa::Program& program) override {
    for (const auto& [one, sees] : all_) one->begin(program);
  }
  [[nodiscard]] bool wants(std::uint64_t workgroup) override {
    return std::any_of(all_.begin(), all_.end(), [&](const auto& o) { return o.first->wants(workgroup); });
  }
  [[nodiscard]] bool needs_matrix_values() const override { return false; }
  [[nodiscard]] bool needs_results() const override { return false; }
  [[nodiscard]] bool needs_lds(std::uint64_t workgroup) override {
    return std::any_of(all_.begin(), all_.end(), [&](const auto& o) {
      return o.first->wants(workgroup) && o.first->needs_lds(workgroup);
    });
  }
  void executed(const ExecutedInstruction& e) override {
    if (e.workgroup != group_) {
      group_ = e.workgroup;
      for (auto& [one, sees] : all_) sees = one->wants(group_);
    }
    for (const auto& [one, sees] : all_)
      if (sees) one->executed(e);
  }

private:
  std::vector<std::pair<LaunchObserver*, bool>> all_; ///< and whether it wants the workgroup that runs
  std::uint64_t group_ = ~std::uint64_t{0};
};

/// Traces of workgroups by their numbers; those that are wanted before a launch are recorded in it.
class Traces {
public:
  using Ids = std::vector<std::uint64_t>;
  Traces(const Launcher& launcher, isa::Arch arch) : launcher_(launcher), arch_(arch) {}
  void want(const Ids& ids) {
    if (!known_.contains(ids)) wanted_.try_emplace(ids, arch_, ids, 60'000'000);
  }
  void launch(LaunchObserver* beside = nullptr) {
    Observers all;
    if (beside != nullptr) all.add(*beside);
    for (auto& [ids, recorder] : wanted_) all.add(recorder);
    launcher_(all);
    for (auto& [ids, recorder] : wanted_) known_.emplace(ids, recorder.take());
    wanted_.clear();
  }
  const timing::Trace& of(const Ids& ids) {
    if (!known_.contains(ids)) want(ids), launch();
    return known_.at(ids);
  }

private:
  const Launcher& launcher_;
  isa::Arch arch_;
  std::map<Ids, timing::TraceRecorder> wanted_;
  std::map<Ids, timing::Trace> known_;
};

/// The queues that are the heaviest if the last workgroups along z have more to do: those add up what the others left, where any do.
std::vector<timing::UnitQueue> heaviest_if_last_add(const timing::ChipPlan& plan, const LaunchPlan& launch) {
  const std::uint64_t last = std::uint64_t{launch.grid[0]} * launch.grid[1];
  std::map<std::uint64_t, std::uint64_t> work;
  for (std::uint64_t i = 0; i < plan.workgroups; ++i) work[i] = i + last >= plan.workgroups ? 2 : 1;
  return timing::heaviest(plan, timing::Work(work, plan.workgroups));
}

/// The same sizes with a K of a few trips, where there is one that no grid counts.
std::vector<std::int64_t> short_sum(const LaunchContract& contract, std::vector<std::int64_t> sizes) {
  for (std::size_t i = 0; i < contract.sizes.size(); ++i) {
    const LaunchContract::Size& s = contract.sizes[i];
    const bool counted = contract.workers > 0 ||
                         std::any_of(contract.grid.begin(), contract.grid.end(), [&](const auto& axis) {
                           return axis.formula || axis.size == static_cast<int>(i);
                         });
    if (s.name != "k" || counted) continue;
    const std::int64_t few = std::max<std::int64_t>(s.multiple, 128 / s.multiple * s.multiple);
    sizes[i] = std::min(sizes[i], few);
  }
  return sizes;
}

/// The same with twice as long a K, and how many such steps more the whole of it is, where an input as large as a result has nothing of K: it
/// is loaded once, a C that is added, and in a short sum counts as if it were loaded all the time.
std::optional<std::pair<std::vector<std::int64_t>, double>>
longer_sum(const LaunchContract& contract, const std::vector<std::int64_t>& few,
           const std::vector<std::int64_t>& sizes) {
  std::int64_t beside = 0, result = 0;
  for (const LaunchContract::Buffer& b : contract.buffers) {
    if (b.output) result = std::max(result, b.bytes(sizes));
    if (!b.output && b.bytes(few) == b.bytes(sizes)) beside = std::max(beside, b.bytes(sizes));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (beside > 0 && beside >= result && 2 * few[i] <= sizes[i]) {
      std::vector<std::int64_t> longer = few;
      longer[i] *= 2;
      return std::pair(longer, static_cast<double>(sizes[i] - few[i]) / static_cast<double>(few[i]));
    }
  return {};
}

} // namespace

Modelled model(const Artifact& artifact, const std::vector<std::int64_t>& sizes) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const CodeObject object = CodeObject::parse({bytes, bytes + artifact.hsaco.size()}, artifact.arch);
  const isa::Arch arch = isa::parse_arch(artifact.arch);
  const runtime::Kernel& kernel = object.kernel(artifact.kernel);
  const timing::Parameters parameters = timing::Parameters::of(arch);
  const Launcher launch(artifact, sizes);
  const auto& g = launch.plan().grid;
  const std::uint64_t workgroups = std::uint64_t{g[0]} * g[1] * g[2];
  const unsigned threads = launch.plan().block[0] * launch.plan().block[1] * launch.plan().block[2];
  const auto used = isa::report(object, kernel).resources;

  Modelled out;
  out.vgprs = used.vgprs_used, out.agprs = used.agprs_used, out.lds_bytes = used.lds_bytes;
  out.waves_per_simd = used.waves_per_simd;
  out.resident =
      timing::resident_workgroups(kernel.descriptor.vgprs, kernel.descriptor.lds_bytes, threads, arch);
  const timing::ChipPlan plan = timing::plan(parameters, workgroups, out.resident, (threads + 63) / 64);

  const std::vector<std::int64_t> few = short_sum(artifact.contract, sizes);
  const bool whole = few == sizes;
  // Where workgroups see one another, those before the last one looked at are executed in any case: all that is looked at is seen in one launch.
  const bool before_too =
      timing::sees_other_workgroups(isa::decode(object.code(kernel), kernel.address, arch));
  const bool in_one = before_too && whole && workgroups > 1;
  Traces traces(launch, arch);
  const std::vector<std::uint64_t> first = plan.of_first_unit(out.resident);
  const double each = in_one ? 1 : std::max(1.0, traces.of(first).steps_each());

  timing::UnitOptions unit;
  unit.resident = out.resident;
  unit.active_units = plan.active_units;
  timing::Work work; // even, where a short K stands for all of it
  if (workgroups > 1) {
    double of_few = each;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      of_few *= static_cast<double>(few[i]) / static_cast<double>(sizes[i]);
    const auto most =
        static_cast<std::size_t>(std::max(8.0, static_cast<double>(neighbours) / std::max(1.0, of_few)));
    const std::uint64_t all =
        std::min<std::uint64_t>(plan.workgroups, std::uint64_t{plan.units} * out.resident);
    const unsigned xcds = all <= most || before_too ? plan.xcds : 1;
    const std::size_t of_each = before_too ? all : most;
    std::vector<std::uint64_t> others, counted;
    for (unsigned x = 0; x < xcds; ++x)
      for (const std::uint64_t i : plan.first_round(x, of_each)) others.push_back(i);
    if (whole) { // whether workgroups differ: some of them, evenly over the launch
      const std::uint64_t n = std::min<std::uint64_t>(
          workgroups, std::clamp<std::uint64_t>(static_cast<std::uint64_t>(8e5 / each), 8, 256));
      for (std::uint64_t k = 0; k < n; ++k) counted.push_back(n == 1 ? 0 : k * (workgroups - 1) / (n - 1));
    }
    timing::SharingRecorder recorder(others, plan.xcds, plan.units, counted);
    if (in_one) {
      traces.want(first);
      for (const timing::UnitQueue& queue : heaviest_if_last_add(plan, launch.plan()))
        if (queue.workgroups.size() <= 2 * out.resident) traces.want(queue.workgroups);
      traces.launch(&recorder);
    } else {
      const Launcher look(artifact, few);
      look(recorder);
    }
    timing::Sharing sharing = recorder.result();
    if (const auto longer = in_one ? std::nullopt : longer_sum(artifact.contract, few, sizes)) {
      timing::SharingRecorder again(others, plan.xcds, plan.units);
      Launcher(artifact, longer->first)(again);
      sharing = again.result().continued(sharing, longer->second);
    }
    unit.l2_sharers = sharing.l2, unit.mall_sharers = sharing.mall;
    if (whole) work = timing::Work(sharing.work, workgroups);
  }

  timing::TimingReport report;
  double longest = -1;
  for (const timing::UnitQueue& queue : timing::heaviest(plan, work)) {
    const double of_queue =
        std::max(1.0, work.mean() > 0 ? queue.work / static_cast<double>(queue.workgroups.size()) : each);
    const auto most = static_cast<std::size_t>(std::max(
        std::min(2.0 * out.resident, static_cast<double>(modelled) / of_queue), whole_unit / of_queue));
    const std::vector<std::uint64_t> ids = timing::sample_of(queue, out.resident, most);
    timing::TimingReport one =
        timing::analyse(traces.of(ids), kernel.address + (kernel.descriptor.preload_length != 0 ? 256 : 0),
                        parameters, unit, false);
    const double clocks = timing::extrapolate(plan, queue, ids, one.unit, work).clocks;
    if (clocks <= longest) continue;
    longest = clocks;
    report = std::move(one);
  }
  out.clocks = longest;
  if (report.hot() != nullptr) {
    out.trip = report.hot()->clocks_per_trip;
    if (!report.hot()->bounds.empty()) out.bound = report.hot()->bounds.front().name;
  }
  return out;
}

} // namespace inlay::kernels
