// `inlay run KERNEL [options]`: build, launch, compare with the reference.
#include "built.h"
#include "colour.h"
#include "exec_findings.h"
#include "kernel_options.h"
#include "launch.h"
#include "orders.h"
#include "progress.h"
#include "resources.h"

#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace inlay::cli {
namespace {

struct RunOptions {
  std::string kernel, device = "emulator", checks, matrix = "sequential";
  std::uint64_t seed = 1;
  bool json = false, stress = false, proofs = false, time = false;
  TimeOptions timing;
  kernels::BuildOptions build;
  AutoOptions automatic;
  ValidateOptions validate;
};

std::string count(std::uint64_t n) {
  if (n < 10'000) return std::to_string(n);
  if (n < 1'000'000) return fmt::format("{:.1f} k", static_cast<double>(n) / 1e3);
  return fmt::format("{:.2f} M", static_cast<double>(n) / 1e6);
}

/// Everything that a run found out: both outputs are made of this.
struct Outcome {
  kernels::Artifact artifact;
  codegen::SumOrders orders;
  kernels::Choice choice;
  Validated validated;
  std::string problem, device;
  kernels::LaunchPlan launch;
  kernels::Check check;
  Resources resources{};
  runtime::LaunchResult emulated;
  std::optional<TimeResult> timing;
  double seconds = 0, flops = 0;
};

Outcome run_kernel(Session& session, const RunOptions& options, const kernels::Flags& given) {
  const auto kernel = kernels::find_kernel(options.kernel);
  Outcome out;
  runtime::EmulatorOptions emulator;
  emulator.checks = options.checks.empty() ? runtime::Checks::all() : runtime::Checks::parse(options.checks);
  emulator.stress = options.stress;
  emulator.matrix = runtime::parse_matrix_arithmetic(options.matrix);
  emulator.seed = options.seed;
  emulator.bank_model = true; // the report says how many clocks bank conflicts cost
  Chosen form = chosen(*kernel, given, options.automatic, options.build);
  out.choice = std::move(form.choice);
  const kernels::Flags& flags = form.flags;
  // The problem first: sizes that the kernel refuses need no compilation.
  kernels::Problem problem = kernel->problem(flags, options.seed);
  out.artifact = kernels::build(*kernel, flags, out.choice, options.build);
  out.orders = orders_of(out.artifact);
  out.validated = validate_built(session, out.artifact, options.validate);
  out.problem = problem.text;
  out.launch = problem.launch;
  out.flops = problem.flops;
  out.resources = resources_of(out.artifact);
  ProgressBar bar(session, options.kernel);
  emulator.progress = launch_progress(bar);
  const auto device = open_device(options.device, out.artifact.arch, emulator);
  out.device = device->info().kind;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<kernels::Bytes> after = [&] {
    LoadedProblem loaded(*device, out.artifact, problem);
    problem.buffers.clear(); // the device has them now; a large problem need not be held twice
    loaded.launch();
    std::vector<kernels::Bytes> result = loaded.read();
    if (auto* e = dynamic_cast<runtime::EmulatorDevice*>(device.get())) {
      out.emulated = e->last_launch();
      if (options.time) out.timing = time_problem(options.timing, *e, out.artifact, loaded);
    }
    return result;
  }();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.check = problem.check(after);
  return out;
}

void print_json(Session& session, const Outcome& o, bool ok) {
  const Resources& r = o.resources;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const runtime::Finding& f : o.emulated.findings)
    findings.push_back({{"kind", std::string(runtime::to_string(f.kind))}, {"text", runtime::to_string(f)}});
  nlohmann::ordered_json out = {
      {"ok", ok},
      {"kernel", o.artifact.kernel},
      {"arch", o.artifact.arch},
      {"device", o.device},
      {"problem", o.problem},
      {"choice", o.choice.why.empty() ? nlohmann::ordered_json() : choice_json(o.choice)},
      {"max_abs_error", o.check.max_abs_error},
      {"max_rel_error", o.check.max_rel_error},
      {"worst_of_bound", o.check.worst_of_bound},
      {"bound", o.check.bound},
      {"message", o.check.message},
      {"proofs",
       {{"proved", o.artifact.proofs.proved()},
        {"refuted", 0}, // a refuted claim stops the build, so nothing is run
        {"runtime_checked", o.artifact.proofs.at_launch_count()}}},
      {"order", orders_json(o.orders)},
      {"validation", to_json(o.validated)},
      {"resources", resources_json(r)},
      {"instructions_executed", o.emulated.statistics.instructions},
      {"lds_cycles", o.emulated.statistics.lds_cycles},
      {"lds_conflict_cycles", o.emulated.statistics.lds_conflict_cycles},
      {"findings", findings},
      {"seconds", o.seconds}};
  if (o.timing) out["timing"] = time_json(*o.timing);
  session.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void print_text(Session& session, const Outcome& o, bool ok, bool proofs, bool why,
                const TimeOptions& timing) {
  const kernels::BuildTimes& t = o.artifact.times;
  const auto& s = o.emulated.statistics;
  const auto line = [&](const char* what, const std::string& text) {
    session.out << fmt::format("  {:<10} {}\n", what, text);
  };
  session.out << o.artifact.kernel << ": " << o.problem << " on " << o.artifact.arch << "\n\n";
  if (!o.choice.why.empty()) line("auto", o.choice.why);
  if (!o.choice.ranking.empty() && why) session.out << "\n" << ranking_text(o.choice) << "\n";
  line("proofs", fmt::format("{} claims proved, {} checked at launch", o.artifact.proofs.proved(),
                             o.artifact.proofs.at_launch_count()));
  if (!o.orders.claims.empty()) line("order", orders_text(o.orders, 13));
  if (proofs) session.out << "\n" << o.artifact.proofs.text() << orders_table(o.orders) << "\n";
  line("code",
       fmt::format("{} bytes in {:.0f} ms (proofs {:.0f}, IR {:.1f}, optimisation {:.0f}, code generation "
                   "{:.0f}, link {:.1f})",
                   o.artifact.hsaco.size(), t.total(), t.layouts_and_proofs, t.ir, t.opt, t.codegen, t.link));
  line("validation", to_text(o.validated));
  line("resources", resources_text(o.resources));
  const auto& g = o.launch.grid;
  line("launch",
       fmt::format("{} x {} x {} workgroups of {} work-items", g[0], g[1], g[2], o.launch.block[0]));
  if (s.instructions > 0) {
    line(
        "executed",
        fmt::format("{} wave instructions in {:.2f} s on the emulator: {} MFMA, {} vector, {} LDS, {} memory",
                    count(s.instructions), o.seconds, count(s.matrix), count(s.vector), count(s.lds),
                    count(s.memory)));
    line("LDS", fmt::format("{} clocks, of which {} by bank conflicts", count(s.lds_cycles),
                            count(s.lds_conflict_cycles)));
  } else {
    line("executed", fmt::format("in {:.2f} s on {}", o.seconds, o.device));
  }
  line("result",
       fmt::format("max error {:.3g} absolute, {:.3g} relative; at most {:.3f} of the bound {}",
                   o.check.max_abs_error, o.check.max_rel_error, o.check.worst_of_bound, o.check.bound));
  for (const runtime::Finding& f : o.emulated.findings) session.out << "\n" << painted(session, f) << "\n";
  if (o.timing) session.out << "\n" << time_text(*o.timing, timing);
  session.out << "\n  "
              << (ok ? painted(session, Colour::green, "ok") + ": every element is within its bound\n"
                     : painted(session, Colour::red, "WRONG") + "\n");
  if (!o.check.message.empty()) session.out << "  " << o.check.message << "\n";
}

int run_command(Session& session, const RunOptions& options, const std::vector<std::string>& rest) {
  if (options.time && options.device != "emulator")
    throw std::invalid_argument("run --time models what the emulator executed, and --device is " +
                                options.device +
                                "\n  hint   leave --device out; `inlay bench --device hip` measures");
  const Outcome outcome = run_kernel(session, options, read_flags(rest));
  if (outcome.timing) write_timelines(session, *outcome.timing, options.timing);
  // Missing wait states are a note: hardware interlocks them, or a hand-written kernel counts on it.
  bool clean = true;
  for (const runtime::Finding& f : outcome.emulated.findings) clean = clean && f.note;
  const bool ok = outcome.check.ok && clean;
  if (options.json) {
    print_json(session, outcome, ok);
  } else {
    print_text(session, outcome, ok, options.proofs, options.automatic.why, options.timing);
  }
  return ok ? Exit::yes : Exit::no;
}

} // namespace

void add_run(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("run", "Build a kernel, run it, and check the result against its reference");
  auto options = std::make_shared<RunOptions>();
  add_kernel(*command, options->kernel);
  command->add_option("--device", options->device, "emulator (default) or hip")
      ->check(CLI::IsMember({"emulator", "hip"}));
  command->add_option("--seed", options->seed, "Seed of the random operands");
  command->add_option(
      "--check", options->checks,
      "Sanitizers of the emulator: bounds,uninit,races,waits,barrier,align,hazard; all (default) or none");
  command->add_option(
      "--matrix", options->matrix,
      "Sums of the emulator's matrix instructions: sequential (default), or cdna3, as measured");
  command->add_flag("--stress", options->stress, "Also run under hostile schedules and demand the same bits");
  command->add_flag("--proofs", options->proofs, "Print every claim");
  command->add_flag("--time", options->time, "Also model the clocks on hardware, as `inlay time` does");
  add_time_options(*command, options->timing);
  add_order_options(*command, options->build);
  add_auto_options(*command, options->automatic);
  add_validate_options(*command, options->validate);
  command->add_flag("--json", options->json, "As JSON");
  command->allow_extras();
  command->callback([=, &session] { session.exit = run_command(session, *options, command->remaining()); });
}

} // namespace inlay::cli
