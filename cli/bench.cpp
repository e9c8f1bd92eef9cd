// `inlay bench KERNEL [options]`: build, check once, then time. On the emulator the time says how fast the emulator is;
// what bears on hardware there are the counts: instructions, bytes, LDS clocks, and the clocks of the hot loop.
#include "kernel_options.h"
#include "launch.h"

#include <inlay/runtime/benchmark.h>
#include <inlay/runtime/isa/report.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace inlay::cli {
namespace {

struct BenchOptions {
  std::string kernel, device = "emulator", timer = "events";
  std::uint64_t seed = 1, flush_bytes = 0;
  unsigned warm_up = 3, repetitions = 20;
  bool json = false;
  kernels::BuildOptions build;
  AutoOptions automatic;
};

int bench(Session& session, const BenchOptions& o, const kernels::Flags& given) {
  const auto kernel = kernels::find_kernel(o.kernel);
  const Chosen form = chosen(*kernel, given, o.automatic, o.build);
  const kernels::Flags& flags = form.flags;
  const kernels::Problem problem = kernel->problem(flags, o.seed);
  const kernels::Artifact artifact = kernels::build(*kernel, flags, form.choice, o.build);
  runtime::EmulatorOptions emulator;
  emulator.checks = runtime::Checks::none(); // `run` is for finding faults
  emulator.bank_model = true;
  const auto device = open_device(o.device, artifact.arch, emulator);
  LoadedProblem loaded(*device, artifact, problem);
  loaded.launch();
  const kernels::Check check = problem.check(loaded.read());
  if (!check.ok) {
    session.err << "error: " << o.kernel << ": the result is wrong, so its time means nothing\n  "
                << check.message << "\n  hint   inlay run " << o.kernel << " with the same options\n";
    return Exit::no;
  }
  const runtime::BenchmarkResult timing =
      runtime::benchmark(*device, [&](runtime::Stream s) { loaded.launch(s); },
                         {.warm_up = o.warm_up,
                          .repetitions = o.repetitions,
                          .flush_bytes = o.flush_bytes,
                          .timer = o.timer == "wall" ? runtime::Timer::wall : runtime::Timer::events});
  const double gflops = problem.flops / (timing.median() * 1e6);

  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()}, artifact.arch);
  const auto report = runtime::isa::report(object, object.kernel(artifact.kernel));
  auto* emulated = dynamic_cast<runtime::EmulatorDevice*>(device.get());
  runtime::LaunchStatistics counts;
  std::optional<TimeResult> modelled;
  if (emulated != nullptr) {
    counts = emulated->last_launch().statistics;
    modelled = time_problem(TimeOptions{}, *emulated, artifact, loaded);
  }
  if (o.json) {
    nlohmann::ordered_json out = {
        {"kernel", artifact.kernel}, {"arch", artifact.arch},
        {"problem", problem.text},   {"flops", problem.flops},
        {"gflops", gflops},          {"timing", nlohmann::ordered_json::parse(to_json(timing))}};
    if (form.any()) out["choice"] = choice_json(form.choice);
    if (report.hot)
      out["hot_loop"] = {{"matrix_clocks", report.hot->matrix_clocks},
                         {"issue_clocks", report.hot->issue_clocks}};
    if (emulated != nullptr) {
      const auto& s = counts;
      out["per_launch"] = {{"instructions", s.instructions}, {"multiply_adds", s.multiply_adds},
                           {"bytes_read", s.bytes_read},     {"bytes_written", s.bytes_written},
                           {"lds_cycles", s.lds_cycles},     {"lds_conflict_cycles", s.lds_conflict_cycles}};
      out["modelled"] = time_json(*modelled);
    }
    session.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return Exit::yes;
  }
  session.out << fmt::format("{}: {} on {}\n\n", artifact.kernel, problem.text, artifact.arch);
  if (!form.choice.why.empty()) session.out << "  auto       " << form.choice.why << "\n";
  if (form.any() && o.automatic.why) session.out << "\n" << ranking_text(form.choice) << "\n";
  session.out << "  time       " << to_text(timing);
  if (emulated == nullptr) session.out << fmt::format("  rate       {:.4g} Gflop/s at the median\n", gflops);
  if (emulated != nullptr) {
    const auto& s = counts;
    session.out << fmt::format("  launch     {} wave instructions, {} multiply-adds of the matrix units\n"
                               "  memory     {} bytes read, {} written, as the lanes asked for them\n"
                               "  LDS        {} clocks, of which {} by bank conflicts\n",
                               s.instructions, s.multiply_adds, s.bytes_read, s.bytes_written, s.lds_cycles,
                               s.lds_conflict_cycles);
    const auto& m = *modelled;
    session.out << fmt::format("  modelled   {:.0f} clocks on {}, give or take {:.0f}{}; bottleneck: {}{}\n",
                               m.chip.clocks, artifact.arch, m.chip.uncertainty,
                               m.report.hot() == nullptr ? std::string()
                                                         : fmt::format(", {:.0f} a trip of the hot loop",
                                                                       m.report.hot()->clocks_per_trip),
                               runtime::timing::to_string(m.report.bottleneck()),
                               m.turns ? "; waits for turns are not in it" : "");
  }
  if (report.hot)
    session.out << fmt::format("  hot loop   {} clocks of issue and {} of the matrix unit a trip and wave\n",
                               report.hot->issue_clocks, report.hot->matrix_clocks);
  return Exit::yes;
}

} // namespace

void add_bench(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("bench", "Build a kernel, check it once, and time its launches");
  auto o = std::make_shared<BenchOptions>();
  add_kernel(*command, o->kernel);
  command->add_option("--device", o->device, "emulator (default) or hip")
      ->check(CLI::IsMember({"emulator", "hip"}));
  command->add_option("--repetitions", o->repetitions, "Launches that are timed")
      ->check(CLI::Range(1U, 1'000'000U));
  command->add_option("--warm-up", o->warm_up, "Launches before them");
  command->add_option("--flush", o->flush_bytes,
                      "Bytes written before each launch; 536870912 evicts a last-level cache of 256 MiB");
  command->add_option("--timer", o->timer, "events of the stream (default) or wall")
      ->check(CLI::IsMember({"events", "wall"}));
  command->add_option("--seed", o->seed, "Seed of the random operands");
  add_order_options(*command, o->build);
  add_auto_options(*command, o->automatic);
  command->add_flag("--json", o->json, "As JSON");
  command->allow_extras();
  command->callback([=, &session] { session.exit = bench(session, *o, read_flags(command->remaining())); });
}

} // namespace inlay::cli
