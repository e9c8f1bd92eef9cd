// `inlay time`: how many clocks a kernel takes, on what, and what would help.
#include "time_kernel.h"

#include "exec_report.h"
#include "isa_json.h"
#include "launch_input.h"
#include "progress.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <inlay/machine/target.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/names.h>
#include <inlay/runtime/timing/thread_trace.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

namespace inlay::cli {

using namespace runtime;

namespace {

/// "0,256,512-515": in that order. Empty: none were chosen.
std::vector<std::uint64_t> parse_workgroups(const std::string& text, std::uint64_t count) {
  std::vector<std::uint64_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, comma - at);
    const auto dash = part.find('-');
    const auto first = parse_number<std::uint64_t>(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_number<std::uint64_t>(part.substr(dash + 1));
    if (!first || !last || *first > *last)
      refuse("--workgroups " + text + ": '" + std::string(part) + "' is no workgroup and no range",
             "--workgroups 0,256,512-515");
    if (*last >= count)
      refuse("--workgroups " + text + ": the launch has " + std::to_string(count) + " workgroups",
             "numbers from 0 to " + std::to_string(count - 1) + ", x fastest");
    if (*last - *first >= 4096 || out.size() >= 4096)
      refuse("--workgroups " + text + ": more than 4096 workgroups", "the ones that one compute unit gets");
    for (std::uint64_t i = *first; i <= *last; ++i) {
      if (std::find(out.begin(), out.end(), i) != out.end())
        refuse("--workgroups " + text + ": " + std::to_string(i) + " twice", "each of them once");
      out.push_back(i);
    }
    at = comma + 1;
  }
  return out;
}

/// Workgroups of which only the work is counted, to see whether those of one launch differ: evenly over the launch, first and last
/// among them, at least eight and as many as cost little.
std::vector<std::uint64_t> spread_over(std::uint64_t workgroups, std::uint64_t each) {
  const std::uint64_t n =
      std::min<std::uint64_t>(workgroups, std::clamp<std::uint64_t>(2'000'000 / each, 8, 256));
  std::vector<std::uint64_t> out;
  for (std::uint64_t k = 0; k < n; ++k) out.push_back(n == 1 ? 0 : k * (workgroups - 1) / (n - 1));
  return out;
}

/// The modelled workgroups once more, their accesses to scratch without anything to fetch.
TimeResult::Scratch time_scratch(const TimeResult& t, const timing::UnitOptions& unit, const Kernel& kernel) {
  TimeResult::Scratch s{.accesses = 0,
                        .bytes = kernel.descriptor.scratch_bytes,
                        .spilled_vgprs = kernel.spilled_vgprs,
                        .spilled_sgprs = kernel.spilled_sgprs,
                        .text = scratch_text(kernel),
                        .clocks = t.report.clocks,
                        .without = t.report.clocks,
                        .instructions = {}};
  const auto of_scratch = [](const timing::Request& r) { return r.space == ObservedAccess::Space::scratch; };
  if (std::none_of(t.trace.requests.begin(), t.trace.requests.end(), of_scratch)) return s;
  timing::Trace without = t.trace;
  for (timing::WorkgroupTrace& g : without.workgroups)
    for (timing::WaveStream& w : g.waves)
      for (timing::Step& step : w.steps) {
        if (step.request == 0 || !of_scratch(without.requests[step.request - 1])) continue;
        step.request = 0;
        ++s.accesses;
      }
  if (s.accesses != 0) s.without = timing::simulate(without, t.parameters, unit).clocks;
  return s;
}

} // namespace

TimeResult time_launch(const TimeOptions& o, isa::Arch arch, const Kernel& kernel,
                       const LaunchGeometry& geometry, const std::function<void(LaunchObserver&)>& launch) {
  TimeResult t;
  t.parameters = timing_parameters(o, arch);
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t processor = std::clock();
  const auto threads = static_cast<unsigned>(geometry.block.count());
  const unsigned waves = (threads + 63) / 64;
  const auto& d = kernel.descriptor;
  t.resident = timing::resident_workgroups(d.vgprs, d.lds_bytes + geometry.dynamic_lds, threads, arch);
  t.plan = timing::plan(t.parameters, geometry.grid.count(), t.resident, waves);
  const auto record = [&](const std::vector<std::uint64_t>& workgroups) {
    timing::TraceRecorder recorder(arch, workgroups, o.max_instructions);
    launch(recorder);
    timing::Trace trace = recorder.take();
    t.effort.executed += trace.steps();
    return trace;
  };
  const auto simulate = [&](const timing::Trace& trace, const timing::Parameters& p,
                            const timing::UnitOptions& options) {
    timing::UnitResult result = timing::simulate(trace, p, options);
    t.effort.simulated += result.steps;
    return result;
  };
  const auto count_executed = [&](const timing::Sharing& s) {
    for (const auto& [id, instructions] : s.work) t.effort.executed += instructions;
  };
  std::vector<std::uint64_t> ids = parse_workgroups(o.workgroups, t.plan.workgroups);
  const bool chosen = !ids.empty();
  // One round of the first unit says what a workgroup takes.
  if (!chosen) ids = t.plan.of_first_unit(o.sample != 0 ? o.sample : t.resident);
  t.trace = record(ids);
  const auto each = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(t.trace.steps_each()));

  timing::UnitOptions unit;
  unit.resident = t.resident;
  unit.active_units = t.plan.active_units;
  if (o.data_in == "mall") unit.data_in = timing::UnitOptions::Start::mall;
  if (o.data_in == "l2") unit.data_in = timing::UnitOptions::Start::l2;
  timing::Work work;
  // The neighbours' lines, as far as the budget of instructions goes: all XCDs, else one.
  if (t.plan.workgroups > 1 && o.neighbours) {
    std::vector<std::uint64_t> others;
    const std::uint64_t all =
        std::min<std::uint64_t>(t.plan.workgroups, std::uint64_t{t.plan.units} * t.resident);
    const unsigned xcds = all * each <= neighbour_budget ? t.plan.xcds : 1;
    const std::size_t most = static_cast<std::size_t>(std::max<std::uint64_t>(2, neighbour_budget / each));
    for (unsigned x = 0; x < xcds; ++x)
      for (const std::uint64_t i : t.plan.first_round(x, most)) others.push_back(i);
    timing::SharingRecorder neighbours(others, t.plan.xcds, t.plan.units,
                                       spread_over(t.plan.workgroups, each));
    launch(neighbours);
    t.sharing = neighbours.result();
    count_executed(t.sharing);
    // With one XCD looked at, what the others fetch of the same lines is not known: none is assumed to be shared.
    unit.l2_sharers = t.sharing.l2;
    unit.mall_sharers = t.sharing.mall;
    work = timing::Work(t.sharing.work, t.plan.workgroups);
    if (o.data_in == "auto") {
      // What all workgroups touch, if those not looked at touch as much again.
      const double times = static_cast<double>(t.plan.workgroups) /
                           static_cast<double>(std::max<std::size_t>(1, t.sharing.workgroups));
      const double of_xcd = t.sharing.xcd_bytes * times *
                            static_cast<double>(std::max<std::size_t>(1, t.sharing.xcds)) / t.plan.xcds;
      t.l2_share = unit.l2_share = timing::held(of_xcd, t.parameters["l2_bytes"]);
      t.mall_share = unit.mall_share = timing::held(t.sharing.bytes * times, t.parameters["mall_bytes"]);
      if (t.mall_share >= 1) unit.data_in = timing::UnitOptions::Start::mall;
      if (t.l2_share >= 1) unit.data_in = timing::UnitOptions::Start::l2;
    }
    if (!work.even() && !work.complete() &&
        static_cast<double>(t.plan.workgroups) * work.mean() <= static_cast<double>(neighbour_budget)) {
      std::vector<std::uint64_t> rest(t.plan.workgroups);
      std::iota(rest.begin(), rest.end(), std::uint64_t{0});
      timing::SharingRecorder count({}, t.plan.xcds, t.plan.units, rest);
      launch(count);
      const timing::Sharing all_of_them = count.result();
      count_executed(all_of_them);
      work = timing::Work(all_of_them.work, t.plan.workgroups);
    }
  }
  t.most_work = work.most(), t.mean_work = work.mean();

  // The unit with most to do; where workgroups differ, most instructions need not be most clocks.
  std::vector<timing::UnitQueue> queues;
  if (chosen) {
    queues.push_back({ids, 0, 0});
    for (const std::uint64_t i : ids) queues[0].work += work.of(i);
  } else {
    queues = timing::heaviest(t.plan, work);
  }
  timing::UnitQueue modelled;
  double longest = -1;
  std::vector<std::uint64_t> before = ids;
  for (timing::UnitQueue& q : queues) {
    std::vector<std::uint64_t> these = q.workgroups;
    if (!chosen) {
      // As many rounds as a budget allows: four, or more where they cost little.
      const std::uint64_t of_queue =
          work.mean() > 0 ? static_cast<std::uint64_t>(q.work / static_cast<double>(q.workgroups.size()))
                          : each;
      const std::uint64_t cost = std::max<std::uint64_t>(1, of_queue);
      const std::uint64_t most =
          o.sample != 0
              ? o.sample
              : std::max<std::uint64_t>(std::min<std::uint64_t>(4 * t.resident, sample_budget / cost),
                                        whole_budget / cost);
      these = timing::sample_of(q, t.resident, static_cast<std::size_t>(most));
      if (o.sample != 0 && these.size() > o.sample) these.resize(std::max<std::size_t>(1, o.sample));
    }
    timing::Trace trace = these == before ? std::move(t.trace) : record(these);
    const bool only = queues.size() == 1;
    const double clocks =
        only ? 0 : timing::extrapolate(t.plan, q, these, simulate(trace, t.parameters, unit), work).clocks;
    before.clear();
    if (clocks <= longest) continue;
    longest = clocks;
    t.trace = std::move(trace);
    modelled = std::move(q);
    ids = std::move(these);
  }
  t.report = timing::analyse(t.trace, kernel.address + (d.preload_length != 0 ? 256 : 0), t.parameters, unit,
                             !o.quick);
  t.effort.simulated += t.report.steps * (o.quick ? 1 : timing::limits);
  t.report.kernel = runtime::demangled(kernel.name);
  t.scratch = time_scratch(t, unit, kernel);
  t.chip = timing::extrapolate(t.plan, modelled, ids, t.report.unit, work);
  // What the matrix pipes do in the launch, from what they do for the workgroups modelled.
  double sampled = 0, pipe = 0, products = 0, vector = 0;
  std::vector<double> flops_of, products_of, vector_of;
  for (const isa::Instruction& i : t.trace.program.instructions) {
    flops_of.push_back(static_cast<double>(isa::matrix_work(i)));
    products_of.push_back(timing::share_of_products(i, arch) * isa::matrix_clocks(i, arch));
    vector_of.push_back(isa::kind_of(i) == isa::Kind::valu ? t.parameters.issue_clocks(i.mnemonic) : 0);
  }
  for (const auto& g : t.trace.workgroups)
    for (const auto& w : g.waves) {
      sampled += static_cast<double>(w.steps.size());
      for (const auto& s : w.steps) {
        t.flops += flops_of[s.instruction];
        products += products_of[s.instruction];
        vector += vector_of[s.instruction];
      }
    }
  for (const auto c : t.report.unit.matrix_clocks) pipe += static_cast<double>(c);
  // Of the units that ask for a line of HBM one fetches it; what is stored there nobody shares.
  const bool stores = unit.data_in == timing::UnitOptions::Start::hbm && unit.mall_share < 0.5;
  const double moved = static_cast<double>(stores ? t.report.unit.stored_bytes : 0) +
                       static_cast<double>(t.report.unit.hbm_lines) * 128 / std::max(1.0, unit.mall_sharers);
  const double mean = work.mean() > 0 ? work.mean() : static_cast<double>(each);
  const double scale = sampled > 0 ? mean * static_cast<double>(t.plan.workgroups) / sampled : 0;
  t.flops *= scale;
  const double clocks = std::max(1.0, t.chip.clocks);
  const double simds = clocks * t.parameters["simds"] * t.plan.units;
  t.pipes_busy = pipe * scale / simds;
  t.activity.matrix = products * scale / simds;
  t.activity.vector = vector * scale / simds;
  t.activity.memory =
      moved * scale / clocks * t.parameters["clock_mhz"] * 1e6 / (t.parameters["hbm_tbytes"] * 1e12);
  t.load = o.clock != 0 ? timing::LoadClock{o.clock, 0} : timing::load_clock(t.parameters, t.activity);
  t.at_load = t.chip;
  if (o.clock == 0 && t.load.mhz != t.parameters["clock_mhz"]) {
    // Memory does not slow down with the compute units: in their clocks it is nearer.
    unit.keep_segments = false;
    const timing::Parameters p = timing::at_clock(t.parameters, t.load.mhz, "under load");
    t.at_load = timing::extrapolate(t.plan, modelled, ids, simulate(t.trace, p, unit), work);
  }
  t.effort.seconds = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
  t.modelled = std::move(ids);
  t.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return t;
}

TimeResult time_code_object(const TimeOptions& o, const CodeObject& object, isa::Arch arch,
                            const Kernel& kernel, const LaunchGeometry& geometry,
                            const std::vector<ArgumentSpec>& specs) {
  for (const ArgumentSpec& s : specs)
    if (!s.peers.empty())
      refuse("--arg " + s.spelled + ": the cycle model has one device", "inlay exec --devices runs several");
  // Each launch has a device of its own: what the last one left in memory, a count of workgroups that have passed, say, is not
  // what the kernel starts from.
  std::vector<LdsConflict> conflicts;
  std::vector<ScratchUse> scratch;
  TimeResult t = time_launch(o, arch, kernel, geometry, [&](LaunchObserver& observer) {
    EmulatorOptions options;
    options.bank_model = true;
    options.checks = Checks::none();
    options.max_wave_instructions = neighbour_budget * 4;
    options.observer = &observer;
    EmulatorDevice device(arch, std::move(options));
    std::vector<Argument> arguments;
    const auto buffers = make_buffers(device, specs, arguments, false);
    const auto segment = pack_arguments(kernel, arguments, geometry);
    const Module module = device.load(object);
    device.launch(device.function(module, kernel.name), geometry, segment);
    conflicts = device.last_launch().conflicts;
    scratch = device.last_launch().scratch;
  });
  t.conflicts = std::move(conflicts);
  t.scratch.instructions = std::move(scratch);
  return t;
}

timing::Parameters timing_parameters(const TimeOptions& o, isa::Arch arch) {
  timing::Parameters p = timing::Parameters::of(arch);
  if (!o.parameters.empty()) {
    std::ifstream in(o.parameters, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + o.parameters);
    p = timing::Parameters::parse(std::string(std::istreambuf_iterator<char>(in), {}), o.parameters);
    if (p.arch() != arch)
      refuse(o.parameters + " is for " + std::string(isa::to_string(p.arch())) + ", the kernel for " +
                 std::string(isa::to_string(arch)),
             "--parameters with a file for that processor");
  }
  if (o.clock != 0) p = timing::at_clock(p, o.clock, "--clock");
  for (const std::string& s : o.set) {
    const auto equals = s.rfind('=');
    const auto v = equals == std::string::npos ? std::nullopt
                                               : parse_number<double>(std::string_view(s).substr(equals + 1));
    if (!v)
      refuse("--set " + s + ": not NAME=NUMBER", "--set lds_fifo_entries=16, --set issue:ds_write_b128=16");
    p = p.with(s.substr(0, equals), *v, "--set");
  }
  return p;
}

namespace {

/// Of what the matrix pipes could do at the clock under load, in the time that `tflops` is of: with its launch.
double peak_share(const TimeResult& t) {
  return t.pipes_busy * t.chip.clocks / std::max(1.0, microseconds(t) * t.load.mhz);
}

std::string workgroups_text(const std::vector<std::uint64_t>& ids) {
  std::string out;
  for (std::size_t k = 0; k < ids.size() && k < 6; ++k)
    out += fmt::format("{}{}", k == 0 ? "" : ", ", ids[k]);
  return ids.size() > 6 ? out + " ..." : out;
}

} // namespace

std::string time_text(const TimeResult& t, const TimeOptions& o) {
  const double mhz = t.parameters["clock_mhz"], launch_us = t.parameters["kernel_launch_us"];
  std::string out = fmt::format("{} on {}\n\n", t.report.kernel, isa::to_string(t.report.arch));
  out += timing::to_text(t.report, t.trace.program);
  out += fmt::format(
      "\n  chip        {} workgroups on {} compute units, {} at a time each: {} round{}, {} in the last\n",
      t.plan.workgroups, t.plan.units, t.resident, t.plan.rounds, t.plan.rounds == 1 ? "" : "s",
      t.plan.last_round);
  if (t.sharing.workgroups != 0)
    out += fmt::format("              each cache line is reused by {:.1f} CUs per XCD, {:.1f} of the chip, "
                       "seen from {} workgroups of "
                       "{} XCD{}\n",
                       t.sharing.l2, t.sharing.mall, t.sharing.workgroups, t.sharing.xcds,
                       t.sharing.xcds == 1 ? "" : "s");
  out += fmt::format("              {:.0f} clocks, give or take {:.0f} ({})\n", t.chip.clocks,
                     t.chip.uncertainty,
                     t.chip.exact() ? fmt::format("all {} workgroup{} of its unit modelled", t.chip.of_unit,
                                                  t.chip.of_unit == 1 ? "" : "s")
                                    : fmt::format("{} of its unit's {} workgroups modelled, the rest by them",
                                                  t.chip.modelled, t.chip.of_unit));
  if (t.most_work > 1.02 * t.mean_work)
    out += fmt::format("              workgroups differ: {:.0f} wave instructions on average, {:.0f} at "
                       "most; modelled is the unit with most "
                       "to do, workgroup{} {}: {:.2f} times an average unit's work\n",
                       t.mean_work, t.most_work, t.modelled.size() == 1 ? "" : "s",
                       workgroups_text(t.modelled), t.chip.uneven);
  out += fmt::format("              {:.1f} us at {:.0f} MHz{} with {:.1f} us of launch; {:.0f} clocks of the "
                     "last round's are idle\n",
                     t.chip.microseconds(mhz, launch_us), mhz, o.clock != 0 ? "" : ", the peak clock,",
                     launch_us, t.chip.tail);
  if (o.clock == 0)
    out +=
        fmt::format("              {:.1f} us at {:.0f} MHz, the clock under load, give or take {:.0f} MHz\n",
                    microseconds(t), t.load.mhz, t.load.uncertainty);
  if (t.flops > 0)
    out += fmt::format("              {:.1f} TFLOP/s, {:.1f} % of the peak of the matrix pipes at that "
                       "clock, both with the launch\n",
                       tflops(t), 100 * peak_share(t));
  if (o.data_in == "auto")
    out += fmt::format(
        "              inputs as a launch before left them: {:.0f} % in L2, {:.0f} % of the rest in MALL\n",
        100 * t.l2_share, 100 * t.mall_share);
  if (t.scratch.accesses != 0)
    out +=
        fmt::format("  scratch     {} of {} modelled wave instructions, {}: {} clocks, {} without\n",
                    t.scratch.accesses, t.trace.steps(), t.scratch.text, t.scratch.clocks, t.scratch.without);
  out += scratch_text(t.scratch.instructions);
  if (!t.conflicts.empty()) out += "\n" + conflicts_text(t.conflicts);
  if (t.turns)
    out += "              not in these clocks: workgroups wait for their turn, and one follows the other "
           "from its wait to its "
           "signal\n";
  return out;
}

double microseconds(const TimeResult& t) {
  return t.at_load.microseconds(t.load.mhz, t.parameters["kernel_launch_us"]);
}

double tflops(const TimeResult& t) { return t.flops / microseconds(t) / 1e6; }

nlohmann::ordered_json time_json(const TimeResult& t) {
  auto j = nlohmann::ordered_json::parse(timing::to_json(t.report, t.trace.program));
  j["chip"] = {
      {"workgroups", t.plan.workgroups},
      {"units", t.plan.units},
      {"rounds", t.plan.rounds},
      {"last_round", t.plan.last_round},
      {"clocks", t.chip.clocks},
      {"uncertainty", t.chip.uncertainty},
      {"modelled", t.modelled},
      {"of_unit", t.chip.of_unit},
      {"exact", t.chip.exact()},
      {"uneven", t.chip.uneven},
      {"dispatch", t.chip.dispatch},
      {"drain", t.chip.drain},
      {"tail", t.chip.tail},
      {"clock_mhz", t.parameters["clock_mhz"]},
      {"microseconds", t.chip.microseconds(t.parameters["clock_mhz"], t.parameters["kernel_launch_us"])},
      {"load",
       {{"clocks", t.at_load.clocks},
        {"clock_mhz", t.load.mhz},
        {"uncertainty_mhz", t.load.uncertainty},
        {"microseconds", microseconds(t)},
        {"tflops", t.flops > 0 ? nlohmann::ordered_json(tflops(t)) : nlohmann::ordered_json(nullptr)},
        {"peak_percent", 100 * peak_share(t)},
        {"activity",
         {{"matrix", t.activity.matrix}, {"vector", t.activity.vector}, {"memory", t.activity.memory}}}}},
      {"data_in", {{"l2", t.l2_share}, {"mall", t.mall_share}}},
      {"sharing",
       {{"l2", t.sharing.l2},
        {"mall", t.sharing.mall},
        {"workgroups", t.sharing.workgroups},
        {"xcds", t.sharing.xcds}}}};
  if (t.scratch.accesses != 0)
    j["scratch"] = {{"accesses", t.scratch.accesses},
                    {"bytes_a_lane", t.scratch.bytes},
                    {"spilled_vgprs", t.scratch.spilled_vgprs},
                    {"spilled_sgprs", t.scratch.spilled_sgprs},
                    {"clocks", t.scratch.clocks},
                    {"clocks_without", t.scratch.without},
                    {"instructions", scratch_json(t.scratch.instructions)}};
  if (!t.conflicts.empty()) j["conflicts"] = conflicts_json(t.conflicts);
  if (t.turns) j["not_modelled"] = "waits for a turn";
  j["seconds"] = t.seconds;
  j["effort"] = {{"executed", t.effort.executed},
                 {"simulated", t.effort.simulated},
                 {"processor_seconds", t.effort.seconds}};
  return j;
}

void write_timelines(Session& session, const TimeResult& t, const TimeOptions& o) {
  if (!o.exported.empty()) {
    const auto colon = o.exported.find(':');
    const std::string form = o.exported.substr(0, colon);
    if (colon == std::string::npos || colon + 1 == o.exported.size() || (form != "att" && form != "perfetto"))
      refuse("--export " + o.exported + ": not FORM:PATH",
             "--export att:FOLDER or --export perfetto:FILE.json");
    if (form == "att") {
      timing::write_thread_trace(t.report, t.trace.program, o.exported.substr(colon + 1), t.load.mhz);
    } else {
      write_text(session, o.exported.substr(colon + 1), timing::to_perfetto(t.report, t.trace.program));
    }
  }
  if (!o.against.empty() && !o.svg.empty())
    refuse("--svg: a comparison with --against has no picture", "--html, a page with two lanes a wave");
  if (!o.timeline.empty() && ((o.html.empty() && o.svg.empty()) || !o.against.empty()))
    refuse("--timeline " + o.timeline + ": says what --svg and --html show, without --against",
           "--html FILE");
  if (!o.against.empty()) return; // --html is the page of the comparison
  if (o.svg.empty() && o.html.empty()) return;
  std::uint32_t begin = 0, end = static_cast<std::uint32_t>(t.report.clocks);
  if (!o.timeline.empty()) {
    const auto colon = o.timeline.find(':');
    const auto b = parse_number<std::uint32_t>(std::string_view(o.timeline).substr(0, colon));
    const auto e = colon == std::string::npos
                       ? std::nullopt
                       : parse_number<std::uint32_t>(std::string_view(o.timeline).substr(colon + 1));
    if (!b || !e || *b >= *e)
      refuse("--timeline " + o.timeline + ": not START:END in clocks", "--timeline 2000:8000");
    begin = *b;
    end = *e;
  } else if (const auto* hot = t.report.hot(); !o.svg.empty() && hot != nullptr && hot->trips > 4) {
    // A page shows two trips of the hot loop; the whole is for the page that zooms.
    begin = static_cast<std::uint32_t>(t.report.prologue + 2 * hot->clocks_per_trip);
    end = begin + static_cast<std::uint32_t>(2 * hot->clocks_per_trip);
  }
  if (!o.svg.empty()) write_text(session, o.svg, timing::timeline_svg(t.report, t.trace.program, begin, end));
  if (!o.html.empty())
    write_text(session, o.html,
               o.timeline.empty() ? timing::timeline_html(t.report, t.trace.program, 0,
                                                          static_cast<std::uint32_t>(t.report.clocks))
                                  : timing::timeline_html(t.report, t.trace.program, begin, end));
}

void add_time_options(CLI::App& c, TimeOptions& o) {
  c.add_option("--sample", o.sample,
               "Workgroups that are modelled in full; 0: up to four rounds of a compute unit");
  c.add_option("--workgroups", o.workgroups,
               "Workgroups of the compute unit that is modelled, in their order: 0,256 or 0-3; otherwise "
               "those of the unit with most to do");
  c.add_option("--clock", o.clock, "MHz for the conversion of clocks to time and of bandwidths to clocks")
      ->check(CLI::Range(1.0, 10000.0));
  c.add_option("--parameters", o.parameters, "Numbers of the model from a file, as `inlay calibrate` writes");
  c.add_option("--set", o.set, "One number of the model: NAME=VALUE")->allow_extra_args(false);
  c.add_option(
       "--data-in", o.data_in,
       "Where inputs are before their first use: hbm (default, fresh ones), mall, l2, or auto: as the same "
       "launch before left them, by what it touches")
      ->check(CLI::IsMember({"hbm", "mall", "l2", "auto"}));
  c.add_flag("--quick", o.quick, "Skip what-if analysis");
  c.add_flag_callback(
      "--alone", [&o] { o.neighbours = false; },
      "Model one compute unit in isolation: no lines shared with others");
  c.add_option("--svg", o.svg, "Writes the timeline of the waves as a picture");
  c.add_option("--html", o.html, "Writes it as a page that zooms");
  c.add_option("--export", o.exported,
               "Writes the modelled unit as a trace: att:FOLDER for ROCprof Compute Viewer, perfetto:FILE");
  c.add_option("--timeline", o.timeline, "Clocks that --svg and --html show: START:END");
}

namespace {

struct TimeCommandOptions : TimeOptions, LaunchOptions {
  bool json = false, list = false;
};

int list_parameters(Session& session, const TimeCommandOptions& o) {
  const timing::Parameters p = timing_parameters(
      o, isa::parse_arch(o.arch.empty() ? machine::usual_target : std::string_view(o.arch)));
  if (o.json) {
    session.out << p.to_json();
    return Exit::yes;
  }
  for (const auto& [name, v] : p.all())
    session.out << fmt::format("{:<28}{:>14} {:<22}{:<11} {}\n", name, v.value, v.unit,
                               timing::to_string(v.status), v.source);
  for (const auto& r : p.issue_rules())
    session.out << fmt::format("issue:{:<22}{:>14} {:<22}{:<11} {}\n", r.prefix, r.clocks.value, "clk",
                               timing::to_string(r.clocks.status), r.clocks.source);
  return Exit::yes;
}

int time(Session& session, const TimeCommandOptions& o) {
  if (o.list) return list_parameters(session, o);
  if (o.file.empty())
    refuse("time: no FILE", "inlay time kernel.hsaco --grid 4 --block 256 --arg zeros:4096");
  const LaunchInput in = read_launch(session, o);
  if (in.devices > 1)
    refuse(in.name + ": " + std::to_string(in.devices) + " devices run it together, and time models one",
           "inlay exec runs it");
  const Kernel& kernel = in.kernel();
  (void)timing_parameters(o, in.arch); // before anything is run

  // A folder that is none is said before anything is run.
  const timing::ThreadTrace measured =
      o.against.empty() ? timing::ThreadTrace{} : timing::read_thread_trace(o.against);
  const TimeResult t = time_code_object(o, in.object, in.arch, kernel, in.geometry, in.specs);
  write_timelines(session, t, o);
  if (!o.against.empty()) {
    const timing::AgainstTrace a = timing::compare_with_trace(t.report, t.trace, t.chip, measured);
    if (!o.html.empty()) write_text(session, o.html, timing::to_html(a, t.report, t.trace, measured));
    if (o.json) {
      auto json = kernel_json(kernel.name);
      json.update({{"arch", std::string(isa::to_string(in.arch))},
                   {"against", nlohmann::ordered_json::parse(timing::to_json(a))},
                   {"timing", time_json(t)}});
      session.out << dump(json) << "\n";
    } else {
      session.out << fmt::format(
                         "{} on {} against {}{}\n\n", t.report.kernel, isa::to_string(in.arch), o.against,
                         a.mhz > 0 && o.clock == 0
                             ? fmt::format("; the trace ran at {:.0f} MHz: --clock {:.0f}", a.mhz, a.mhz)
                             : "")
                  << timing::to_text(a);
    }
    return Exit::yes;
  }
  if (o.json) {
    session.out << dump({{"kernel", kernel.name},
                         {"arch", std::string(isa::to_string(in.arch))},
                         {"geometry", to_string(in.geometry)},
                         {"geometry_from", in.said},
                         {"timing", time_json(t)}})
                << "\n";
  } else {
    session.out << time_text(t, o) << in.said_text();
  }
  return Exit::yes;
}

} // namespace

void add_time(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand(
      "time", "Model the clocks of a kernel on hardware: how many, what they go to, what would help");
  auto o = std::make_shared<TimeCommandOptions>();
  add_launch_options(*c, *o);
  c->add_option("--max-instructions", o->max_instructions,
                "Give up after so many modelled wave instructions");
  add_time_options(*c, *o);
  c->add_option(
      "--against", o->against,
      "A thread trace of this launch (rocprofv3, ui_output_* or a folder of *.att): measured and modelled "
      "clocks side by side");
  c->add_flag("--list-parameters", o->list, "Print the numbers of the model for --arch with their sources");
  c->add_flag("--json", o->json, "As JSON");
  c->callback([=, &session] {
    if (o->file.empty())
      take_file(o->arguments, o->file); // none is left when --list-parameters is all that is asked
    session.exit = time(session, *o);
  });
}

} // namespace inlay::cli
