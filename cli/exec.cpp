// `inlay exec`: runs any code object on the emulator or through HIP.
#include "colour.h"
#include "exec_debug.h"
#include "exec_findings.h"
#include "exec_report.h"
#include "isa_json.h"
#include "launch_input.h"
#include "output_bytes.h"
#include "progress.h"
#include "values.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <inlay/runtime/benchmark.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/hip.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/kernarg.h>
#include <inlay/runtime/names.h>
#include <inlay/runtime/places.h>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

namespace inlay::cli {
namespace {

using namespace runtime;

struct ExecOptions : LaunchOptions {
  std::string device = "emulator", checks = "all", trace, matrix = "sequential", print;
  std::vector<std::string> breaks, dumps, watches, buffers, uncached;
  std::optional<std::uint32_t> hits;
  unsigned stack = EmulatorOptions{}.dynamic_stack, threads = 0, repeat = 0, values = 8,
           devices = 0; // 0: what a manifest says, or one
  std::uint64_t max_instructions = 20'000'000'000, seed = 1, limit = 1'000'000;
  bool stats = false, json = false, stress = false, dry_run = false, fidelity = false, host_waits = false;
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
  std::vector<ArgumentSpec> specs; ///< of all devices, one after the other
  unsigned devices = 1;
  std::size_t buffers =
      0; ///< the last so many of each device are no arguments: what tables of addresses point to
  std::set<std::string> uncached;
  DebugRequest debug;

  /// Of one device.
  [[nodiscard]] std::size_t count() const { return specs.size() / devices; }
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
  std::vector<OutputBytes> outputs; ///< in order of the specs that are outputs
  std::vector<ArgumentRange> ranges;
  double seconds = 0;
  std::optional<BenchmarkResult> timing;
};

/// One of the emulator, which runs them all, or HIP's, of each number one.
using Devices = std::vector<std::unique_ptr<Device>>;
/// The one that runs number `r`.
Device& device_of(const Devices& devices, std::size_t r) { return *devices[std::min(r, devices.size() - 1)]; }

/// Buffers of all devices and the arguments that each is launched with.
struct Placed {
  std::vector<std::unique_ptr<Buffer>> buffers, tables; ///< by spec
  std::vector<std::vector<std::uint8_t>> segments;      ///< by device
};

/// What `--arg` `i` of the kernel is, where its metadata says; nullptr otherwise.
const KernelArgument* visible(const std::vector<KernelArgument>& all, std::size_t i) {
  return i < all.size() ? &all[i] : nullptr;
}

/// Of `peers:NAME`: a table of one address a device, in memory or in the argument itself where that is a structure of enough bytes.
bool is_structure(const KernelArgument* a, const Plan& plan) {
  return a != nullptr && !a->pointer() && a->size >= 8 * plan.devices;
}

/// Which of a device's arguments `s` names, by name or by number. Errors: ArgumentError.
std::size_t named_argument(const Plan& plan, const ArgumentSpec& s, const std::string& option = "--arg ") {
  const auto number = parse_number<std::uint32_t>(std::string_view(s.peers));
  for (std::size_t i = 0; i < plan.count(); ++i) {
    const ArgumentSpec& other = plan.specs[i];
    if ((number ? *number != i : other.name != s.peers) || other.value || !other.peers.empty()) continue;
    return i;
  }
  refuse(option + s.spelled + ": no buffer is '" + s.peers + "'",
         "the name or the number, from 0, of an --arg given as in:, out:, inout: or zeros:, or a --buffer");
}

Placed place_arguments(const Devices& devices, const Plan& plan, EmulatorDevice* emulator) {
  Placed out;
  const std::size_t count = plan.count();
  std::vector<std::vector<Argument>> arguments(plan.devices);
  for (unsigned r = 0; r < plan.devices; ++r) {
    const auto begin = plan.specs.begin() + static_cast<std::ptrdiff_t>(r * count);
    for (auto& b : make_buffers(device_of(devices, r), {begin, begin + static_cast<std::ptrdiff_t>(count)},
                                arguments[r])) {
      const std::size_t i = out.buffers.size() % count;
      if (emulator != nullptr && plan.devices > 1 && b != nullptr)
        emulator->place(b->address(), r,
                        plan.uncached.contains(plan.specs[i].name) ||
                            plan.uncached.contains(std::to_string(i)));
      out.buffers.push_back(std::move(b));
    }
  }
  const auto kernel_arguments = visible_arguments(*plan.kernel, count - plan.buffers);
  for (unsigned r = 0; r < plan.devices; ++r) {
    for (std::size_t i = 0; i < count; ++i) {
      const ArgumentSpec& s = plan.specs[r * count + i];
      if (s.peers.empty()) continue;
      const std::size_t of = named_argument(plan, s);
      std::vector<std::uint64_t> table;
      for (unsigned k = 0; k < plan.devices; ++k) {
        std::uint64_t at = 0;
        std::memcpy(&at, arguments[k][of].bytes.data(), 8);
        table.push_back(at);
      }
      Argument& a = arguments[r][i];
      std::vector<std::uint8_t> bytes(8 * table.size());
      std::memcpy(bytes.data(), table.data(), bytes.size());
      if (s.peer) {
        a = Argument::pointer(table.at(*s.peer));
      } else if (const KernelArgument* k = visible(kernel_arguments, i); is_structure(k, plan)) {
        bytes.resize(k->size);
        a = Argument{.spelled = s.spelled, .bytes = bytes};
      } else {
        Device& own = device_of(devices, r);
        out.tables.push_back(std::make_unique<Buffer>(own, bytes.size()));
        own.copy_in(out.tables.back()->address(), bytes);
        a = Argument::pointer(out.tables.back()->address());
      }
      a.spelled = s.spelled;
    }
    const auto end = arguments[r].end() - static_cast<std::ptrdiff_t>(plan.buffers);
    out.segments.push_back(pack_arguments(*plan.kernel, {arguments[r].begin(), end}, plan.geometry));
  }
  return out;
}

/// The buffers by the names that people know them by: of the kernel's arguments, else those of the command line.
std::vector<ArgumentRange> ranges_of(const Plan& plan, const Placed& placed) {
  std::vector<ArgumentRange> out;
  if (plan.devices > 1) {
    for (std::size_t i = 0; i < plan.specs.size(); ++i) {
      const auto& b = placed.buffers[i];
      const std::string name =
          plan.specs[i].name.empty()
              ? fmt::format("argument {} of device {}", i % plan.count(), i / plan.count())
              : fmt::format("{} of device {}", plan.specs[i].name, i / plan.count());
      if (b != nullptr) out.push_back({name, b->address() + plan.specs[i].offset, b->address(), b->size()});
    }
    return out;
  }
  out = argument_ranges(*plan.kernel, placed.segments.front(), [&](std::uint64_t at) {
    for (const auto& b : placed.buffers)
      if (b != nullptr && at >= b->address() && at - b->address() < b->size())
        return std::pair{b->address(), b->size()};
    return std::pair<std::uint64_t, std::uint64_t>();
  });
  for (ArgumentRange& r : out)
    for (std::size_t i = 0; i < plan.specs.size(); ++i)
      if (r.name == "argument " + std::to_string(i) && !plan.specs[i].name.empty())
        r.name = plan.specs[i].name;
  return out;
}

/// `observe`: report what `plan.debug` asks for; the launches that follow the first are not looked into. `result` is filled as far as
/// the launch comes.
void run_once(const Devices& devices, const Plan& plan, unsigned repeat, const DebugOptions* observe,
              Run& result) {
  Device& device = *devices.front();
  auto* emulator = dynamic_cast<EmulatorDevice*>(&device);
  Placed placed = place_arguments(devices, plan, emulator);
  const auto& buffers = placed.buffers;
  const auto& segment = placed.segments.front();
  result.ranges = ranges_of(plan, placed);
  const Module module = device.load(*plan.object);
  const Function function = device.function(module, plan.kernel->name);
  if (emulator != nullptr && observe != nullptr) {
    std::vector<std::uint64_t> addresses;
    for (const auto& b : buffers) addresses.push_back(b == nullptr ? 0 : b->address());
    emulator->options().debug = debug_options(plan.debug, addresses);
    emulator->options().debug.on_break = observe->on_break;
    emulator->options().debug.on_watch = observe->on_watch;
  }
  std::vector<Function> functions = {function}; // loaded before the first launch, which waits for the others
  for (std::size_t r = 1; r < devices.size(); ++r)
    functions.push_back(devices[r]->function(devices[r]->load(*plan.object), plan.kernel->name));
  const auto begin = std::chrono::steady_clock::now();
  if (plan.devices == 1) {
    device.launch(function, plan.geometry, segment);
  } else if (emulator != nullptr) {
    emulator->launch_on_devices(function, plan.geometry, placed.segments);
  } else {
    for (std::size_t r = 0; r < devices.size(); ++r)
      devices[r]->launch(functions[r], plan.geometry, placed.segments[r]);
    for (const auto& d : devices) d->synchronize();
  }
  if (emulator != nullptr) {
    emulator->options().debug = {};
    emulator->options().trace.enabled = false;
  }
  device.synchronize();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < plan.specs.size(); ++i) {
    if (!plan.specs[i].output()) continue;
    result.outputs.push_back(OutputBytes::read(device_of(devices, i / plan.count()), buffers[i]->address(),
                                               plan.specs[i].bytes()));
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
      if (!s.output_file.empty()) run.outputs[n].write(s.output_file, s.contents.header);
      ++n;
    }
}

/// The first byte in which two runs differ, as text; nothing when they are the same.
std::optional<std::string> first_difference(const Plan& plan, const Run& a, const Run& b) {
  std::size_t n = 0;
  for (const ArgumentSpec& s : plan.specs) {
    if (!s.output()) continue;
    const auto d = a.outputs[n].difference(b.outputs[n]);
    ++n;
    if (d)
      return fmt::format("{}: byte {} is {:#04x} in a plain run and {:#04x} under stress", s.label(), d->at,
                         d->mine, d->other);
  }
  return std::nullopt;
}

/// The element's type of an output: as asked, as the manifest says, f32.
std::string type_of(const ArgumentSpec& s, const std::string& asked) {
  return !asked.empty() ? asked : s.type.empty() ? "f32" : s.type;
}

/// What is shown of an output: at least as many values, of 8 bytes at most.
std::vector<std::uint8_t> shown(const OutputBytes& output, unsigned values) {
  return output.first(8 * std::uint64_t{values});
}

bool is_defect(const Finding& f) { return !f.note; }

/// `emulator`, `hip` or `hip:1`.
std::unique_ptr<Device> open_device(const ExecOptions& o, const isa::Arch arch, Session& session,
                                    Observations& seen) {
  if (o.device == "emulator") {
    EmulatorOptions options;
    options.threads = o.threads;
    options.checks = Checks::parse(o.checks);
    options.matrix = parse_matrix_arithmetic(o.matrix);
    options.bank_model = o.stats || o.json;
    options.max_wave_instructions = o.max_instructions;
    options.streams = !o.host_waits;
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

/// All of them: of the emulator one, which runs them; else HIP's, each of which may access the memory of the others.
Devices open_devices(const ExecOptions& o, const isa::Arch arch, Session& session, Observations& seen) {
  Devices out;
  out.push_back(open_device(o, arch, session, seen));
  if (o.device == "emulator" || o.devices == 1) return out;
  for (unsigned r = 1; r < o.devices; ++r) out.push_back(open_hip(static_cast<int>(r)));
  for (unsigned r = 0; r < o.devices; ++r) {
    for (unsigned other = 0; other < o.devices; ++other) {
      if (other == r) continue;
      if (!out[r]->can_access_peer(static_cast<int>(other)))
        refuse(
            fmt::format("--devices {}: device {} cannot access the memory of device {}", o.devices, r, other),
            "devices that are linked (rocm-smi --showtopo)");
      out[r]->enable_peer(static_cast<int>(other));
    }
  }
  return out;
}

void describe_plan(Session& session, const ExecOptions& o, const Plan& plan) {
  session.out << fmt::format("{} {} on {}\n  signature {}\n  arguments {} bytes\n", plan.kernel->name,
                             to_string(plan.geometry), o.device, signature(*plan.kernel),
                             plan.kernel->kernarg_bytes);
  for (const ArgumentSpec& s : plan.specs)
    session.out << fmt::format("  {}{}\n", s.spelled.empty() ? s.name : s.spelled,
                               s.value || !s.peers.empty() ? "" : fmt::format(" ({} bytes)", s.bytes()));
}

/// `{rank}` and `{devices}` in every `--arg` and `--buffer`.
ExecOptions of_device(const ExecOptions& o, unsigned rank) {
  ExecOptions out = o;
  out.rank = rank;
  const auto put = [](std::string& text, std::string_view what, unsigned value) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what))
      text.replace(at, what.size(), std::to_string(value));
  };
  for (std::vector<std::string>* texts : {&out.arguments, &out.buffers})
    for (std::string& text : *texts) {
      put(text, "{rank}", rank);
      put(text, "{devices}", o.devices);
    }
  return out;
}

/// `--buffer NAME=...`: no value, and no name twice; and those of the manifest that are not given. Errors: ArgumentError.
std::vector<ArgumentSpec> parse_buffers(const ExecOptions& o, const std::vector<ArgumentSpec>& arguments,
                                        const std::vector<ArgumentSpec>& known) {
  std::vector<ArgumentSpec> out;
  for (const std::string& text : o.buffers) {
    ArgumentSpec s = parse_argument(text);
    if (s.name.empty() || s.value || !s.peers.empty())
      refuse("--buffer " + text +
                 ": not NAME=in:FILE, NAME=out:BYTES, NAME=inout:FILE:FILE or NAME=zeros:BYTES",
             "--buffer x=zeros:4096");
    const auto same = [&](const ArgumentSpec& other) { return other.name == s.name; };
    if (std::any_of(arguments.begin(), arguments.end(), same) || std::any_of(out.begin(), out.end(), same))
      refuse("--buffer " + text + ": '" + s.name + "' is there already", "another name");
    if (const auto k = std::find_if(known.begin(), known.end(), same); k != known.end()) {
      s.type = k->type;
      refuse_other_array(*k, s, "--buffer " + text);
      if (s.bytes() < k->zero_bytes)
        refuse(fmt::format("--buffer {}: {} bytes", text, s.bytes()),
               fmt::format("{} bytes, by the manifest", k->zero_bytes));
    } else if (!known.empty()) {
      std::string names;
      for (const ArgumentSpec& b : known) names += (names.empty() ? "" : ", ") + b.name;
      refuse(fmt::format("--buffer {}: the manifest has no memory '{}' that all devices see", text, s.name),
             "its memory of that kind: " + names);
    }
    out.push_back(std::move(s));
  }
  for (const ArgumentSpec& k : known)
    if (std::none_of(out.begin(), out.end(), [&](const ArgumentSpec& s) { return s.name == k.name; }))
      out.push_back(k);
  return out;
}

/// Each device's arguments, and what they cannot be. Errors: ArgumentError.
/// `known`: buffers of a manifest.
void add_devices(Session& session, const ExecOptions& o, const std::vector<ArgumentSpec>& known, Plan& plan) {
  plan.devices = o.devices;
  for (unsigned r = 0; r < o.devices; ++r) {
    const ExecOptions own = of_device(o, r);
    std::vector<ArgumentSpec> arguments =
        r == 0 && known.empty() ? std::move(plan.specs) : read_launch(session, own).specs;
    std::vector<ArgumentSpec> buffers = parse_buffers(own, arguments, known);
    plan.buffers = buffers.size();
    if (r == 0) plan.specs.clear();
    for (std::vector<ArgumentSpec>* list : {&arguments, &buffers})
      for (ArgumentSpec& s : *list) plan.specs.push_back(std::move(s));
  }
  std::set<std::string> files;
  for (std::size_t i = 0; i < plan.specs.size(); ++i) {
    ArgumentSpec& s = plan.specs[i];
    if (!s.peers.empty()) (void)named_argument(plan, s);
    if (s.peer && *s.peer >= o.devices)
      refuse(fmt::format("--arg {}: of {} devices, counted from 0", s.spelled, o.devices),
             fmt::format("peer:{}:{}", s.peers, o.devices - 1));
    if (o.devices == 1) continue;
    s.device = static_cast<std::uint32_t>(i / plan.count());
    if (!s.output_file.empty() && !files.insert(s.output_file).second)
      refuse("--arg " + s.spelled + ": several devices write to " + s.output_file,
             "a name with {rank} in it");
  }
  for (const std::string& name : o.uncached) {
    ArgumentSpec asked;
    asked.peers = name, asked.spelled = name;
    const ArgumentSpec& s = plan.specs[named_argument(plan, asked, "--uncached ")];
    plan.uncached.insert(s.name.empty() ? name : s.name);
  }
  if (o.device != "emulator" && !o.uncached.empty())
    refuse("--uncached says what memory the emulator's devices have, not those of " + o.device,
           "leave --uncached out");
  if (o.devices == 1) return;
  if (!(o.breaks.empty() && o.watches.empty() && o.trace.empty()))
    refuse("--break, --watch and --trace look into a launch on one device", "leave --devices out");
  if (o.repeat != 0) refuse("--repeat times a launch on one device", "leave --repeat out");
  if (o.device.starts_with("hip:"))
    refuse("--device " + o.device + " names one device, and --devices takes several", "--device hip");
}

int exec(Session& session, const ExecOptions& asked) {
  ExecOptions o = asked;
  o.devices = std::max(1U, asked.devices);
  const LaunchInput in = read_launch(session, of_device(o, 0));
  if (in.devices > 1 && asked.devices != 0 && asked.devices != in.devices)
    refuse(fmt::format("--devices {}: the kernel was built for {}", asked.devices, in.devices),
           "leave --devices out");
  if (in.devices > 1) o.devices = in.devices;
  const CodeObject& object = in.object;
  const isa::Arch arch = in.arch;
  if (!o.print.empty()) (void)value_bytes(o.print);
  Plan plan;
  plan.object = &object;
  plan.kernel = &in.kernel();
  plan.geometry = in.geometry;
  plan.specs = in.specs;
  add_devices(session, o, in.buffers, plan);
  // Values and their number are checked before files are read into buffers and before anything is allocated.
  const auto kernel_arguments = visible_arguments(*plan.kernel, plan.count() - plan.buffers);
  for (unsigned r = 0; r < plan.devices; ++r) {
    std::vector<Argument> shapes;
    for (std::size_t i = 0; i < plan.count() - plan.buffers; ++i) {
      const ArgumentSpec& s = plan.specs[r * plan.count() + i];
      const KernelArgument* const k = visible(kernel_arguments, i);
      shapes.push_back(s.value ? *s.value
                       : !s.peers.empty() && !s.peer && is_structure(k, plan)
                           ? Argument{.spelled = s.spelled, .bytes = std::vector<std::uint8_t>(k->size)}
                           : Argument::pointer(0));
      shapes.back().spelled = s.spelled.empty() ? s.name : s.spelled;
    }
    (void)pack_arguments(*plan.kernel, shapes, plan.geometry);
  }
  std::vector<std::optional<std::uint64_t>> buffer_bytes;
  for (const ArgumentSpec& s : plan.specs)
    buffer_bytes.push_back(s.value ? std::nullopt : std::optional(s.bytes()));
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
  const Devices devices = open_devices(o, arch, session, seen);
  Device* const device = devices.front().get();
  auto* emulator = dynamic_cast<EmulatorDevice*>(device);

  nlohmann::ordered_json json = {{"ok", true}};
  json.update(kernel_json(plan.kernel->name));
  json.update({{"arch", device->info().arch},
               {"device", device->info().kind},
               {"geometry", to_string(plan.geometry)},
               {"geometry_from", in.said}});
  if (plan.devices > 1) json["devices"] = plan.devices;
  std::vector<Finding> findings;
  LaunchStatistics statistics;
  std::vector<LdsConflict> conflicts;
  std::vector<ScratchUse> scratch;
  std::vector<InstructionFidelity> fidelity;
  std::string failure;
  Run run;
  ProgressBar bar(session, runtime::short_name(plan.kernel->name));
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
    run_once(devices, plan, o.repeat, &observe, run);
    write_outputs(plan, run);
  } catch (const ExecutionError& e) {
    failure = e.what();
  }
  if (emulator != nullptr) {
    statistics = emulator->last_launch().statistics;
    if (!failure.empty()) run.seconds = statistics.seconds;
    findings = with_places(emulator->last_launch().findings, run.ranges);
    conflicts = emulator->last_launch().conflicts;
    scratch = emulator->last_launch().scratch;
    fidelity = emulator->last_launch().fidelity;
    emulator->options().on_finding = {};
    emulator->options().fidelity = false;
  }
  live.end();
  std::string difference;
  // A wave that waits for another may have to wait longer than before; one that goes round for ever is nothing to wait for.
  // Of several devices any workgroup has the next turn, however often those that wait have had theirs.
  const std::uint64_t bound = 4 * statistics.instructions + (plan.devices > 1 ? 64'000'000 : 1'000'000);
  if (o.stress && emulator != nullptr)
    emulator->options().max_wave_instructions = std::min(o.max_instructions, bound);
  if (o.stress && emulator != nullptr && failure.empty()) {
    for (std::uint64_t round = 0; round < 3 && difference.empty(); ++round) {
      emulator->options().stress = true;
      emulator->options().seed = o.seed + round;
      try {
        Run again;
        run_once(devices, plan, 0, nullptr, again);
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
    if (!scratch.empty())
      json["scratch"] = {{"bytes_a_lane", plan.kernel->descriptor.scratch_bytes},
                         {"spilled_vgprs", plan.kernel->spilled_vgprs},
                         {"spilled_sgprs", plan.kernel->spilled_sgprs},
                         {"instructions", scratch_json(scratch)}};
    if (o.fidelity) json["fidelity"] = fidelity_json(fidelity);
    if (run.timing) json["timing"] = nlohmann::ordered_json::parse(to_json(*run.timing));
    json["outputs"] = nlohmann::ordered_json::array();
    std::size_t n = 0;
    for (const auto& s : plan.specs) {
      if (!s.output()) continue;
      json["outputs"].push_back({{"file", s.output_file}, {"bytes", s.bytes()}});
      auto& j = json["outputs"].back();
      if (!s.name.empty()) j["name"] = s.name;
      if (s.device) j["device"] = *s.device;
      if (s.printed && n < run.outputs.size()) {
        const std::string type = type_of(s, o.print);
        j["type"] = type;
        j["values"] = values_json(shown(run.outputs[n], o.values), type, o.values);
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
    for (const auto& f : findings) session.out << live.rest_of(f);
    if (!failure.empty()) session.out << failure << "\n";
    if (const std::string signal = Interruptible::signal_name(); !signal.empty())
      session.out << "  signal " << signal << "\n";
    if (!difference.empty()) session.out << "stress: " << difference << "\n";
    session.out << fmt::format("{} {} on {}{} {}: {} in {:.3f} s\n", demangled(plan.kernel->name),
                               to_string(plan.geometry),
                               plan.devices > 1 ? fmt::format("{} devices, ", plan.devices) : "",
                               device->info().kind, device->info().arch,
                               ok ? painted(session, Colour::green, "done")
                                  : painted(session, Colour::red, "FAILED"),
                               run.seconds)
                << in.said_text();
    if (o.stats && emulator != nullptr) {
      session.out << stats_text(statistics) << conflicts_text(conflicts);
      if (!scratch.empty())
        session.out << fmt::format("  {:<22}{}\n", "scratch", scratch_text(*plan.kernel))
                    << scratch_text(scratch);
    }
    if (o.fidelity && emulator != nullptr) session.out << fidelity_text(fidelity);
    if (run.timing) session.out << to_text(*run.timing);
    std::size_t n = 0;
    for (const auto& s : plan.specs) {
      if (!s.output() || !failure.empty()) continue;
      session.out << fmt::format("  {:<22}{} bytes{}\n", s.label(), s.bytes(),
                                 s.printed ? ": " + values_text(shown(run.outputs[n], o.values),
                                                                type_of(s, o.print), o.values,
                                                                run.outputs[n].size())
                                           : "");
      ++n;
    }
  }
  return ok ? Exit::yes : Exit::no;
}

} // namespace

void add_exec(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand("exec", "Run a kernel of any code object on the emulator or through HIP");
  auto o = std::make_shared<ExecOptions>();
  add_launch_options(*c, *o);
  c->add_option("--stack", o->stack,
                "Bytes of stack a lane for a kernel that recurses or has arrays of variable length")
      ->check(CLI::Range(0, 131072));
  c->add_option("--device", o->device, "emulator (default), hip or hip:N");
  c->add_option("--devices", o->devices,
                "One launch on each of so many devices at once, peers; {rank} in an --arg is each one's "
                "number; a manifest may say it")
      ->check(CLI::Range(1, 64));
  c->add_option(
      "--buffer", o->buffers,
      "NAME=in:FILE, NAME=zeros:BYTES, ...: memory of each device that is no argument, for peers:NAME");
  c->add_option(
      "--uncached", o->uncached,
      "NAME: memory that no L2 keeps (hipDeviceMallocUncached), in which device scope reaches other devices");
  c->add_flag("--host-waits", o->host_waits,
              "With --devices: the host waits for all of them before and after the launch, not each stream "
              "for its own");
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
  c->add_flag("--stats", o->stats,
              "Instruction counts, bytes, LDS conflicts and accesses to scratch, and where they are");
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
