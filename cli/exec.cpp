// `inlay exec`: runs any code object on the emulator or through HIP.
#include "colour.h"
#include "exec_debug.h"
#include "exec_findings.h"
#include "exec_report.h"
#include "isa_json.h"
#include "launch_input.h"
#include "progress.h"
#include "values.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <inlay/runtime/benchmark.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/hip.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/kernarg.h>
#include <inlay/runtime/places.h>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

namespace inlay::cli {
namespace {

using namespace runtime;

struct Options : LaunchOptions {
  std::string device = "emulator", checks = "all", trace, matrix = "sequential", print;
  std::vector<std::string> breaks, dumps, watches;
  std::optional<std::uint32_t> hits;
  unsigned stack = EmulatorOptions{}.dynamic_stack, threads = 0, repeat = 0, values = 8;
  std::uint64_t max_instructions = 20'000'000'000, seed = 1, limit = 1'000'000;
  bool stats = false, json = false, stress = false, dry_run = false, fidelity = false;
};

// --- reading the command line ---------------------------------------------------------------------------------

/// `wave=1,lane=3,workgroup=0`
TraceOptions parse_trace(const std::string& text) {
  TraceOptions t;
  t.enabled = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const auto equals = std::min(item.find('='), item.size());
    const std::string name = item.substr(0, equals);
    const auto v =
        parse_number<std::uint32_t>(std::string_view(item).substr(std::min(equals + 1, item.size())));
    std::uint32_t* field = name == "wave"        ? &t.wave
                           : name == "lane"      ? &t.lane
                           : name == "workgroup" ? &t.workgroup
                                                 : nullptr;
    if (!v || field == nullptr || (name == "lane" && v.value() > 63))
      refuse("--trace " + text + ": '" + item + "' is not understood",
             "--trace wave=0,lane=0 or --trace workgroup=3,wave=1,lane=63");
    *field = v.value();
    begin = end + 1;
  }
  return t;
}

// --- running ---------------------------------------------------------------------------------------------------

/// Everything that one run needs, checked.
struct Plan {
  const CodeObject* object = nullptr;
  const Kernel* kernel = nullptr;
  LaunchGeometry geometry;
  std::vector<ArgumentSpec> specs;
  DebugRequest debug;
};

/// What a launch is looked into for, as it happens or kept for JSON.
struct Observations {
  std::set<std::uint64_t> reached; ///< breakpoints
  std::set<std::string> touched;   ///< watches
  std::string printed;             ///< by the kernel
  std::vector<std::string> trace;
  nlohmann::ordered_json breaks = nlohmann::ordered_json::array(), watches = nlohmann::ordered_json::array();
};

/// Buffers for the plan on `device`, the arguments that point to them, one launch, and what the outputs hold then.
struct Run {
  std::vector<std::vector<std::uint8_t>> outputs; ///< in order of the specs that are outputs
  std::vector<ArgumentRange> ranges;
  double seconds = 0;
  std::optional<BenchmarkResult> timing;
};

/// `observe`: report what `plan.debug` asks for; the launches that follow the first are not looked into. `result` is filled as far as
/// the launch comes.
void run_once(Device& device, const Plan& plan, unsigned repeat, const DebugOptions* observe, Run& result) {
  std::vector<Argument> arguments;
  const auto buffers = make_buffers(device, plan.specs, arguments);
  const auto segment = pack_arguments(*plan.kernel, arguments, plan.geometry);
  result.ranges = argument_ranges(*plan.kernel, segment, [&](std::uint64_t at) {
    for (const auto& b : buffers)
      if (b != nullptr && at >= b->address() && at - b->address() < b->size())
        return std::pair{b->address(), b->size()};
    return std::pair<std::uint64_t, std::uint64_t>();
  });
  // Kernels whose arguments have no names: those of the command line, where it has them.
  for (ArgumentRange& r : result.ranges)
    for (std::size_t i = 0; i < plan.specs.size(); ++i)
      if (r.name == "argument " + std::to_string(i) && !plan.specs[i].name.empty())
        r.name = plan.specs[i].name;
  const Module module = device.load(*plan.object);
  const Function function = device.function(module, plan.kernel->name);
  auto* emulator = dynamic_cast<EmulatorDevice*>(&device);
  if (emulator != nullptr && observe != nullptr) {
    std::vector<std::uint64_t> addresses;
    for (const auto& b : buffers) addresses.push_back(b == nullptr ? 0 : b->address());
    emulator->options().debug = debug_options(plan.debug, addresses);
    emulator->options().debug.on_break = observe->on_break;
    emulator->options().debug.on_watch = observe->on_watch;
  }
  const auto begin = std::chrono::steady_clock::now();
  device.launch(function, plan.geometry, segment);
  if (emulator != nullptr) {
    emulator->options().debug = {};
    emulator->options().trace.enabled = false;
  }
  device.synchronize();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < plan.specs.size(); ++i) {
    if (!plan.specs[i].output()) continue;
    result.outputs.emplace_back(plan.specs[i].contents.data.size());
    if (!result.outputs.back().empty()) device.copy_out(result.outputs.back(), buffers[i]->address());
  }
  if (repeat != 0)
    result.timing = benchmark(device, [&](Stream s) { device.launch(function, plan.geometry, segment, s); },
                              {.repetitions = repeat});
  device.release(module);
}

void write_outputs(const Plan& plan, const Run& run) {
  std::size_t n = 0;
  for (const ArgumentSpec& s : plan.specs)
    if (s.output()) {
      if (!s.output_file.empty()) write_buffer(s.output_file, {s.contents.header, run.outputs[n]});
      ++n;
    }
}

/// The first byte in which two runs differ, as text; nothing when they are the same.
std::optional<std::string> first_difference(const Plan& plan, const Run& a, const Run& b) {
  std::size_t n = 0;
  for (const ArgumentSpec& s : plan.specs) {
    if (!s.output()) continue;
    const auto &x = a.outputs[n], &y = b.outputs[n];
    ++n;
    const auto at = std::mismatch(x.begin(), x.end(), y.begin());
    if (at.first != x.end())
      return fmt::format("{}: byte {} is {:#04x} in a plain run and {:#04x} under stress", s.label(),
                         at.first - x.begin(), *at.first, *at.second);
  }
  return std::nullopt;
}

/// The element's type of an output: as asked, as the manifest says, f32.
std::string type_of(const ArgumentSpec& s, const std::string& asked) {
  return !asked.empty() ? asked : s.type.empty() ? "f32" : s.type;
}

bool is_defect(const Finding& f) { return !f.note; }

/// `emulator`, `hip` or `hip:1`.
std::unique_ptr<Device> open_device(const Options& o, const isa::Arch arch, Session& session,
                                    Observations& seen) {
  if (o.device == "emulator") {
    EmulatorOptions options;
    options.threads = o.threads;
    options.checks = Checks::parse(o.checks);
    options.matrix = parse_matrix_arithmetic(o.matrix);
    options.bank_model = o.stats || o.json;
    options.max_wave_instructions = o.max_instructions;
    options.dynamic_stack = o.stack;
    options.fidelity = o.fidelity;
    options.max_findings = o.limit;
    options.interrupt = Interruptible::flag();
    options.print = [&session, &seen, json = o.json](std::string_view text, bool to_stderr) {
      if (json)
        seen.printed += text;
      else
        (to_stderr ? session.err : session.out) << text << std::flush;
    };
    if (!o.trace.empty()) {
      options.trace = parse_trace(o.trace);
      options.trace.line = [&session, &seen, json = o.json](std::string_view line) {
        if (json) {
          seen.trace.emplace_back(line);
        } else {
          session.out << line << "\n";
        }
      };
    }
    return std::make_unique<EmulatorDevice>(arch, std::move(options));
  }
  int ordinal = 0;
  if (o.device != "hip") {
    const auto n = o.device.starts_with("hip:")
                       ? parse_number<std::int32_t>(std::string_view(o.device).substr(4))
                       : std::nullopt;
    if (!n || *n < 0) refuse("--device " + o.device + ": no such device", "emulator, hip or hip:1");
    ordinal = *n;
  }
  return open_hip(ordinal);
}

void describe_plan(Session& session, const Options& o, const Plan& plan) {
  session.out << fmt::format("{} {} on {}\n  signature {}\n  arguments {} bytes\n", plan.kernel->name,
                             to_string(plan.geometry), o.device, signature(*plan.kernel),
                             plan.kernel->kernarg_bytes);
  for (const ArgumentSpec& s : plan.specs)
    session.out << fmt::format(
        "  {}{}\n", s.spelled.empty() ? s.name : s.spelled,
        s.value ? ""
                : fmt::format(" ({} bytes)", std::max<std::uint64_t>(s.contents.data.size(), s.zero_bytes)));
}

int exec(Session& session, const Options& o) {
  const LaunchInput in = read_launch(session, o);
  const CodeObject& object = in.object;
  const isa::Arch arch = in.arch;
  if (!o.print.empty()) (void)value_bytes(o.print);
  Plan plan;
  plan.object = &object;
  plan.kernel = &in.kernel();
  plan.geometry = in.geometry;
  plan.specs = in.specs;
  // Values and their number are checked before files are read into buffers and before anything is allocated.
  std::vector<Argument> shapes;
  for (const auto& s : plan.specs) {
    shapes.push_back(s.value ? *s.value : Argument::pointer(0));
    shapes.back().spelled = s.spelled.empty() ? s.name : s.spelled;
  }
  (void)pack_arguments(*plan.kernel, shapes, plan.geometry);
  std::vector<std::optional<std::uint64_t>> buffer_bytes;
  for (const ArgumentSpec& s : plan.specs)
    buffer_bytes.push_back(s.value ? std::nullopt
                                   : std::optional<std::uint64_t>(
                                         std::max<std::uint64_t>(s.contents.data.size(), s.zero_bytes)));
  plan.debug = parse_debug(o.breaks, o.dumps, o.watches, o.hits, object, buffer_bytes);
  if (o.device != "emulator" && !(o.breaks.empty() && o.watches.empty() && o.trace.empty()))
    refuse("--break, --watch and --trace look into the emulator, not into " + o.device, "leave --device out");
  if (o.dry_run) {
    (void)Checks::parse(o.checks);
    (void)parse_matrix_arithmetic(o.matrix);
    if (!o.trace.empty()) (void)parse_trace(o.trace);
    describe_plan(session, o, plan);
    session.out << in.said_text();
    return Exit::yes;
  }
  Observations seen;
  const auto device = open_device(o, arch, session, seen);
  auto* emulator = dynamic_cast<EmulatorDevice*>(device.get());

  nlohmann::ordered_json json = {{"ok", true},
                                 {"kernel", plan.kernel->name},
                                 {"arch", device->info().arch},
                                 {"device", device->info().kind},
                                 {"geometry", to_string(plan.geometry)},
                                 {"geometry_from", in.said}};
  if (demangled(plan.kernel->name) != plan.kernel->name) json["demangled"] = demangled(plan.kernel->name);
  std::vector<Finding> findings;
  LaunchStatistics statistics;
  std::vector<LdsConflict> conflicts;
  std::vector<InstructionFidelity> fidelity;
  std::string failure;
  Run run;
  ProgressBar bar(session, plan.kernel->name);
  if (emulator != nullptr && o.trace.empty() && o.breaks.empty() && o.watches.empty())
    emulator->options().progress = launch_progress(bar);
  const Interruptible interruptible;
  LiveFindings live(session, bar);
  if (emulator != nullptr && !o.json) emulator->options().on_finding = [&](const Finding& f) { live.add(f); };
  DebugOptions observe;
  observe.on_break = [&](const BreakHit& hit) {
    seen.reached.insert(hit.site.address);
    if (o.json) {
      seen.breaks.push_back(cli::to_json(hit));
    } else {
      session.out << to_string(hit) << "\n";
    }
  };
  observe.on_watch = [&](const WatchHit& hit) {
    seen.touched.insert(hit.watch);
    if (o.json) {
      seen.watches.push_back(cli::to_json(hit));
    } else {
      session.out << to_string(hit) << "\n";
    }
  };
  try {
    run_once(*device, plan, o.repeat, &observe, run);
    write_outputs(plan, run);
  } catch (const ExecutionError& e) {
    failure = e.what();
  }
  if (emulator != nullptr) {
    statistics = emulator->last_launch().statistics;
    findings = with_places(emulator->last_launch().findings, run.ranges);
    conflicts = emulator->last_launch().conflicts;
    fidelity = emulator->last_launch().fidelity;
    emulator->options().on_finding = {};
    emulator->options().fidelity = false;
  }
  live.end();
  std::string difference;
  // A wave that waits for another may have to wait longer than before; one that goes round for ever is nothing to wait for.
  const std::uint64_t bound = 4 * statistics.instructions + 1'000'000;
  if (o.stress && emulator != nullptr)
    emulator->options().max_wave_instructions = std::min(o.max_instructions, bound);
  if (o.stress && emulator != nullptr && failure.empty()) {
    for (std::uint64_t round = 0; round < 3 && difference.empty(); ++round) {
      emulator->options().stress = true;
      emulator->options().seed = o.seed + round;
      try {
        Run again;
        run_once(*device, plan, 0, nullptr, again);
        if (const auto d = first_difference(plan, run, again))
          difference = fmt::format("{} (seed {})", *d, o.seed + round);
      } catch (const ExecutionError& e) {
        difference = fmt::format("under stress, seed {}: {}", o.seed + round, e.what());
      }
    }
  }
  bar.erase();
  const bool defects = std::any_of(findings.begin(), findings.end(), is_defect);
  const bool ok = failure.empty() && difference.empty() && !defects;
  if (o.json) {
    json["ok"] = ok;
    json["seconds"] = run.seconds;
    if (!failure.empty()) json["error"] = failure;
    if (const std::string signal = Interruptible::signal_name(); !signal.empty())
      json["interrupted"] = signal;
    if (o.stress) json["stress"] = {{"same", difference.empty()}, {"difference", difference}};
    json["findings"] = nlohmann::ordered_json::array();
    for (const auto& f : findings) json["findings"].push_back(to_json(f));
    if (!seen.printed.empty()) json["printed"] = seen.printed;
    if (!o.trace.empty()) json["trace"] = seen.trace;
    if (!o.breaks.empty()) json["breaks"] = seen.breaks;
    if (!o.watches.empty()) json["watches"] = seen.watches;
    if (emulator != nullptr) json["stats"] = to_json(statistics);
    if (!conflicts.empty()) json["conflicts"] = conflicts_json(conflicts);
    if (o.fidelity) json["fidelity"] = fidelity_json(fidelity);
    if (run.timing) json["timing"] = nlohmann::ordered_json::parse(to_json(*run.timing));
    json["outputs"] = nlohmann::ordered_json::array();
    std::size_t n = 0;
    for (const auto& s : plan.specs) {
      if (!s.output()) continue;
      json["outputs"].push_back({{"file", s.output_file}, {"bytes", s.contents.data.size()}});
      auto& j = json["outputs"].back();
      if (!s.name.empty()) j["name"] = s.name;
      if (s.printed && n < run.outputs.size()) {
        const std::string type = type_of(s, o.print);
        j["type"] = type;
        j["values"] = values_json(run.outputs[n], type, o.values);
      }
      ++n;
    }
    session.out << dump(json) << "\n";
  } else {
    for (std::size_t i = 0; i < o.breaks.size(); ++i)
      if (!seen.reached.contains(plan.debug.breakpoints[i].address))
        session.out << "break " << o.breaks[i] << ": no wave came there\n";
    for (const auto& w : plan.debug.watches)
      if (!seen.touched.contains(w.watch.name)) session.out << "watch " << w.watch.name << ": no access\n";
    for (const auto& f : findings) {
      // The kind stands first, in colour.
      const std::string text = live.rest_of(f), kind(to_string(f.kind));
      if (text.empty()) continue;
      session.out << painted(session, f.note ? Colour::yellow : Colour::red, kind)
                  << text.substr(kind.size());
    }
    if (!failure.empty()) session.out << failure << "\n";
    if (const std::string signal = Interruptible::signal_name(); !signal.empty())
      session.out << "  signal " << signal << "\n";
    if (!difference.empty()) session.out << "stress: " << difference << "\n";
    session.out << fmt::format("{} {} on {} {}: {} in {:.3f} s\n", demangled(plan.kernel->name),
                               to_string(plan.geometry), device->info().kind, device->info().arch,
                               ok ? painted(session, Colour::green, "done")
                                  : painted(session, Colour::red, "FAILED"),
                               run.seconds)
                << in.said_text();
    if (o.stats && emulator != nullptr) session.out << stats_text(statistics) << conflicts_text(conflicts);
    if (o.fidelity && emulator != nullptr) session.out << fidelity_text(fidelity);
    if (run.timing) session.out << to_text(*run.timing);
    std::size_t n = 0;
    for (const auto& s : plan.specs) {
      if (!s.output() || !failure.empty()) continue;
      session.out << fmt::format("  {:<22}{} bytes{}\n", s.label(), s.contents.data.size(),
                                 s.printed ? ": " + values_text(run.outputs[n], type_of(s, o.print), o.values)
                                           : "");
      ++n;
    }
  }
  return ok ? Exit::yes : Exit::no;
}

} // namespace

void add_exec(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand("exec", "Run a kernel of any code object on the emulator or through HIP");
  auto o = std::make_shared<Options>();
  add_launch_options(*c, *o);
  c->add_option("--stack", o->stack,
                "Bytes of stack a lane for a kernel that recurses or has arrays of variable length")
      ->check(CLI::Range(0, 131072));
  c->add_option("--device", o->device, "emulator (default), hip or hip:N");
  c->add_option("--check", o->checks,
                "Sanitizers: bounds,uninit,races,waits,barrier,align,hazard; all (default) or none");
  c->add_flag("--stress", o->stress, "Also run under hostile schedules and demand the same bits");
  c->add_option("--seed", o->seed, "Seed of the first hostile schedule");
  c->add_option("--trace", o->trace, "Print executed instructions: wave=0,lane=0,workgroup=0");
  c->add_option(
       "--break", o->breaks,
       "Report the waves that come to an instruction: ADDRESS or FUNCTION+OFFSET, in hexadecimal, and "
       ",wave=0,workgroup=0")
      ->allow_extra_args(false);
  c->add_option("--dump", o->dumps, "With these registers: v[0:3],a0,s[4:7],vcc,exec,scc,m0,pc,mode")
      ->allow_extra_args(false);
  c->add_option(
       "--watch", o->watches,
       "Report accesses to arg1+0x40, lds:0x40 or an address, 4 bytes or /BYTES, and ,wave=0,workgroup=0")
      ->allow_extra_args(false);
  c->add_option("--hits", o->hits, "Reports of each breakpoint (1) and watch (all) for each wave; 0: all");
  c->add_option("--matrix", o->matrix,
                "Sums of matrix instructions: sequential (default), or cdna3, as measured on MI300X");
  c->add_option("--threads", o->threads, "Of the emulator; 0: all");
  c->add_option(
      "--limit", o->limit,
      "Stop when so many findings that are no notes were made, one again counts again (1000000); 0: never");
  c->add_option("--max-instructions", o->max_instructions, "Give up after so many wave instructions");
  c->add_option("--repeat", o->repeat, "Also time so many launches");
  c->add_option("--print", o->print,
                "Type of the values that are printed of outputs without a file: f32 (default), f64, f16, "
                "bf16, i8 to i64, u8 to "
                "u64, hex");
  c->add_option("--values", o->values, "How many of them: 8");
  c->add_flag("--stats", o->stats, "Instruction counts, bytes, LDS conflicts and where they are");
  c->add_flag(
      "--fidelity", o->fidelity,
      "Say which executed instructions are exact, within an ulp, or assumed where documents are silent");
  c->add_flag("--json", o->json, "As JSON");
  c->add_flag("--dry-run", o->dry_run, "Check file, arguments and geometry; run nothing");
  c->callback([=, &session] {
    if (o->file.empty()) take_file(o->arguments, o->file);
    if (o->file.empty()) throw CLI::RequiredError("FILE");
    session.exit = exec(session, *o);
  });
}

} // namespace inlay::cli
