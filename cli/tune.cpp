// `inlay tune KERNEL [options]`: which values of its options make the shortest launch, by the cycle model.
#include "kernel_options.h"
#include "launch.h"
#include "progress.h"
#include "resources.h"

#include <inlay/kernels/claims.h>
#include <inlay/kernels/model_form.h>
#include <inlay/kernels/workers.h>
#include <inlay/runtime/benchmark.h>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>
#include <tuple>

namespace inlay::cli {
namespace {

struct TuneOptions {
  std::string kernel, measure;
  std::vector<std::string> vary;
  unsigned top = 10, most = 64, processes = 0;
  double within = 1.6;
  std::uint64_t seed = 1;
  bool json = false, full = false;
  kernels::BuildOptions build;
};

/// Values of an option to try.
struct Variation {
  std::string name;
  std::vector<std::string> values;
};

struct Candidate {
  kernels::Form form; ///< what is varied, and clocks by its bounds; 0: not known
  std::optional<kernels::Modelled> modelled;
  std::string refused;
  std::optional<double> microseconds; ///< measured, the median
  nlohmann::json load;                ///< of the shown ones: what `time` says of the clock under load
};

volatile std::sig_atomic_t interrupted = 0;

/// While it lives, an interrupt is noted and ends nothing.
class Interrupts {
public:
  Interrupts() {
    interrupted = 0;
    struct sigaction note = {};
    note.sa_handler = [](int) { interrupted = 1; };
    ::sigaction(SIGINT, &note, &before_);
  }
  ~Interrupts() { ::sigaction(SIGINT, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

private:
  struct sigaction before_ = {};
};

/// `tile=64x64x64|128x128x64` as a name and its values. Errors: std::invalid_argument.
Variation parse_variation(const std::string& text) {
  const std::size_t equals = text.find('=');
  Variation v{text.substr(0, equals), {}};
  for (std::size_t begin = equals == std::string::npos ? text.size() : equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    v.values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (equals == std::string::npos || v.name.empty() || v.values.empty() || v.values[0].empty())
    throw std::invalid_argument(
        fmt::format("--vary '{}' is not of the form NAME=VALUE|VALUE\n"
                    "  hint   --vary 'tile=64x64x64|128x128x64' --vary 'direct-to-lds=no|yes'",
                    text));
  return v;
}

/// All combinations, the last name fastest. Errors: std::invalid_argument for a name that is fixed, or varied twice.
std::vector<kernels::Flags> combinations(const std::vector<Variation>& vary, const kernels::Flags& fixed) {
  std::vector<kernels::Flags> all = {{}};
  for (const Variation& v : vary) {
    if (fixed.contains(v.name))
      throw std::invalid_argument(fmt::format("option '--{}' is fixed and varied", v.name));
    std::vector<kernels::Flags> next;
    for (const kernels::Flags& flags : all)
      for (const std::string& value : v.values) {
        kernels::Flags one = flags;
        if (!one.emplace(v.name, value).second)
          throw std::invalid_argument(fmt::format("option '--{}' is varied twice", v.name));
        next.push_back(std::move(one));
      }
    all = std::move(next);
  }
  return all;
}

kernels::Flags joined(kernels::Flags flags, const kernels::Flags& more) {
  flags.insert(more.begin(), more.end());
  return flags;
}

/// A kernel built, on an emulator, with its operands.
struct Ready {
  kernels::Problem problem;
  kernels::Artifact artifact;
  std::unique_ptr<runtime::Device> device;
  LoadedProblem loaded;

  Ready(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags)
      : problem(kernel.problem(flags, o.seed)), artifact(kernel.build(flags, o.build)),
        device(open_device("emulator", artifact.arch, unchecked())), loaded(*device, artifact, problem) {}
  /// Of zeros: operands of large problems take longer to make than the model does.
  Ready(kernels::Artifact built, const std::vector<std::int64_t>& sizes)
      : problem(kernels::zeros(built.contract, sizes)), artifact(std::move(built)),
        device(open_device("emulator", artifact.arch, unchecked())), loaded(*device, artifact, problem) {}

private:
  static runtime::EmulatorOptions unchecked() {
    runtime::EmulatorOptions options;
    options.checks = runtime::Checks::none();
    return options;
  }
};

/// Whether a launch is modelled by its sizes; otherwise with the problem's data, as `run --time` does it.
bool by_sizes(const kernels::Kernel& kernel, const TuneOptions& o) {
  return !o.full && !kernel.size_names().empty();
}

TimeResult time_ready(Ready& r) {
  TimeOptions time;
  time.quick = true;
  return time_problem(time, dynamic_cast<runtime::EmulatorDevice&>(*r.device), r.artifact, r.loaded);
}

/// Microseconds, TFLOP/s and the share of the peak, as `time` has them.
std::string load_of(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags) {
  const kernels::WithoutClaims none;
  Ready r = by_sizes(kernel, o) ? Ready(kernel.build(flags, o.build), kernel.sizes(flags))
                                : Ready(kernel, o, flags);
  return time_json(time_ready(r))["chip"]["load"].dump();
}

kernels::Modelled time_one(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags) {
  Ready r(kernel, o, flags);
  const TimeResult timed = time_ready(r);
  const Resources used = resources_of(r.artifact);
  kernels::Modelled m;
  m.clocks = timed.chip.clocks, m.resident = timed.resident;
  m.vgprs = used.vgpr, m.agprs = used.agpr, m.lds_bytes = used.lds_bytes,
  m.waves_per_simd = used.waves_per_simd;
  return m;
}

/// Sizes above 767 as 512 to 767 with the same remainder by 256: the emulator computes what they say in seconds.
kernels::Flags smaller(const kernels::Kernel& kernel, kernels::Flags flags) {
  for (const std::string& name : kernel.size_names())
    if (const auto found = flags.find(name); found != flags.end())
      if (const auto value = parse_number<std::uint64_t>(found->second); value && *value > 767)
        found->second = std::to_string(512 + *value % 256);
  return flags;
}

/// What the kernel computes, as text. Errors: std::runtime_error where the emulator's result is another.
std::string check_one(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags) {
  Ready r(kernel, o, flags);
  r.loaded.launch();
  if (const kernels::Check c = r.problem.check(r.loaded.read()); !c.ok)
    throw std::runtime_error(
        fmt::format("{}: the result is wrong with {}\n  {}", o.kernel, kernels::words(flags), c.message));
  return r.problem.text;
}

/// What one candidate takes, as a line; `refused WHY` where it cannot be built.
std::string answer(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags) {
  try {
    const kernels::Modelled m =
        by_sizes(kernel, o) ? kernels::model_form(kernel, flags, o.build) : time_one(kernel, o, flags);
    return fmt::format("{} {} {} {} {}", m.clocks, m.vgprs, m.agprs, m.lds_bytes, m.waves_per_simd);
  } catch (const std::invalid_argument& e) {
    return fmt::format("refused {}", e.what());
  }
}

void put(Candidate& c, const std::optional<std::string>& answer) {
  if (!answer || answer->starts_with("refused ")) {
    c.refused = answer ? answer->substr(8) : "its process died";
    return;
  }
  kernels::Modelled m;
  std::istringstream(*answer) >> m.clocks >> m.vgprs >> m.agprs >> m.lds_bytes >> m.waves_per_simd;
  c.modelled = m;
}

/// Everything that is tried, and how many forms were left out for their bounds: the form that `auto` takes, so that what is found is never worse,
/// then the most promising first.
std::vector<Candidate> candidates(const kernels::Kernel& kernel, const TuneOptions& o,
                                  const kernels::Flags& fixed, std::size_t& pruned) {
  std::vector<Candidate> out;
  if (!o.vary.empty()) {
    std::vector<Variation> vary;
    for (const std::string& text : o.vary) {
      Variation v = parse_variation(text);
      const std::string named = v.name;
      for (std::string& value : v.values) std::tie(v.name, value) = *kernel.renamed({{named, value}}).begin();
      vary.push_back(std::move(v));
    }
    for (kernels::Flags& flags : combinations(vary, fixed))
      out.push_back({{std::move(flags), 0}, {}, {}, {}, {}});
    return out;
  }
  const auto open = [&](kernels::Flags options) {
    std::erase_if(options, [&](const auto& f) { return fixed.contains(f.first); });
    return options;
  };
  std::vector<kernels::Form> forms = kernel.forms(fixed);
  const double least = forms.empty() ? 0 : forms.front().clocks;
  if (const kernels::Choice first = kernels::choose(kernel, fixed, choose_options(o.build));
      first.from != kernels::Choice::From::nothing)
    out.push_back({{open(first.options), 0}, {}, {}, {}, {}});
  std::size_t tried = 0;
  for (kernels::Form& form : forms) {
    form.options = open(std::move(form.options));
    const bool first = !out.empty() && out.front().form.options == form.options;
    if (first) out.front().form.clocks = form.clocks;
    if (tried >= o.most || form.clocks > o.within * least)
      pruned += first ? 0 : 1;
    else if (++tried, !first)
      out.push_back({std::move(form), {}, {}, {}, {}});
  }
  if (out.empty())
    throw std::invalid_argument(fmt::format(
        "{} has one form for these options: nothing to vary\n  hint   --vary 'NAME=VALUE|VALUE', with "
        "options that `inlay kernels {}` lists",
        o.kernel, o.kernel));
  return out;
}

/// The median time of a launch on the device, for the first ones.
void measure(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& fixed,
             std::vector<Candidate>& found) {
  for (std::size_t n = 0; n < found.size() && n < o.top && interrupted == 0; ++n) {
    const kernels::Flags flags = joined(fixed, found[n].form.options);
    const kernels::Problem problem = kernel.problem(flags, o.seed);
    const kernels::Artifact artifact = kernel.build(flags, o.build);
    runtime::EmulatorOptions unchecked;
    unchecked.checks = runtime::Checks::none();
    const auto device = open_device(o.measure, artifact.arch, unchecked);
    LoadedProblem loaded(*device, artifact, problem);
    const runtime::BenchmarkResult timing = runtime::benchmark(
        *device, [&](runtime::Stream s) { loaded.launch(s); }, {.warm_up = 2, .repetitions = 10});
    found[n].microseconds = timing.median() * 1e3;
  }
}

/// What `time` says of the shown ones, where there is time for it.
void add_loads(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& fixed,
               std::vector<Candidate>& found, ProgressBar& bar) {
  const std::size_t shown = std::min<std::size_t>(found.size(), o.top);
  std::size_t done = 0;
  kernels::in_processes(
      shown, o.processes != 0 ? o.processes : kernels::processors(),
      [&](std::size_t i) { return load_of(kernel, o, joined(fixed, found[i].form.options)); },
      [&](std::size_t i, std::optional<std::string> text) {
        if (text) found[i].load = nlohmann::json::parse(*text);
        bar.show(static_cast<double>(++done) / static_cast<double>(shown), "the shown ones under load");
        return interrupted == 0;
      },
      [] { return interrupted == 0; });
}

/// `    106.2   1294.7   92.8 %`, with `-` for what is not known.
std::string load_text(const nlohmann::json& load) {
  const bool products = load.contains("tflops") && !load["tflops"].is_null();
  return fmt::format("{:>9}{:>9}{:>9}",
                     load.is_null() ? "-" : fmt::format("{:.1f}", load["microseconds"].get<double>()),
                     products ? fmt::format("{:.1f}", load["tflops"].get<double>()) : "-",
                     products ? fmt::format("{:.1f} %", load["peak_percent"].get<double>()) : "-");
}

void print_tuned(Session& session, const TuneOptions& o, const std::vector<Candidate>& found,
                 const std::vector<Candidate>& refused, const std::string& problem, const std::string& tail) {
  session.out << fmt::format(
      "{}: {}\n\n  clocks       us  TFLOP/s  of peak   VGPR + AGPR    LDS  waves a SIMD{}\n", o.kernel,
      problem, o.measure.empty() ? "" : "  measured us");
  std::vector<kernels::Flags> shown;
  for (std::size_t n = 0; n < found.size() && n < o.top; ++n) shown.push_back(found[n].form.options);
  const Rows rows = rows_of(shown);
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const kernels::Modelled& m = *found[n].modelled;
    session.out << fmt::format("{:>8.0f}{} {:>6} + {:<4} {:>6} {:>13}{}   {}\n", m.clocks,
                               load_text(found[n].load), m.vgprs, m.agprs, m.lds_bytes, m.waves_per_simd,
                               o.measure.empty()       ? ""
                               : found[n].microseconds ? fmt::format(" {:>12.1f}", *found[n].microseconds)
                                                       : fmt::format(" {:>12}", "-"),
                               rows.each[n]);
  }
  if (!rows.shared.empty()) session.out << "\n  all of them " << rows.shared << "\n";
  session.out << fmt::format("\n  {} modelled, {} refused{}{}\n", found.size(), refused.size(),
                             refused.empty()
                                 ? ""
                                 : fmt::format(" ({}: {})", kernels::words(refused[0].form.options),
                                               refused[0].refused.substr(0, refused[0].refused.find('\n'))),
                             tail);
}

int tune(Session& session, const TuneOptions& o, kernels::Flags fixed) {
  const auto kernel = kernels::find_kernel(o.kernel);
  fixed = kernel->renamed(fixed);
  std::erase_if(fixed, [](const auto& f) { return f.second == "auto"; });
  std::size_t pruned = 0;
  std::vector<Candidate> all = candidates(*kernel, o, fixed, pruned);
  ProgressBar bar(session, o.kernel);
  const Interrupts interrupts;
  std::size_t done = 0;
  const Candidate* best = nullptr;
  kernels::in_processes(
      all.size(), o.processes != 0 ? o.processes : kernels::processors(),
      [&](std::size_t i) { return answer(*kernel, o, joined(fixed, all[i].form.options)); },
      [&](std::size_t i, std::optional<std::string> text) {
        put(all[i], text);
        ++done;
        if (all[i].modelled && (best == nullptr || all[i].modelled->clocks < best->modelled->clocks))
          best = &all[i];
        bar.show(static_cast<double>(done) / static_cast<double>(all.size()),
                 fmt::format("{} of {}{}", done, all.size(),
                             best == nullptr
                                 ? ""
                                 : fmt::format(", best {:.0f}: {}", best->modelled->clocks,
                                               kernels::words_that_tell(*kernel, best->form.options))));
        return interrupted == 0;
      },
      [] { return interrupted == 0; });
  bar.erase();
  const bool cut = interrupted != 0;
  std::vector<Candidate> found, refused;
  for (Candidate& c : all)
    if (c.modelled)
      found.push_back(std::move(c));
    else if (!c.refused.empty())
      refused.push_back(std::move(c));
  if (found.empty() && cut) {
    session.err << "interrupted before anything was modelled\n";
    return Exit::undecided;
  }
  if (found.empty())
    throw std::invalid_argument(fmt::format("none of {} can be built; the first: {}\n{}", refused.size(),
                                            kernels::words(refused[0].form.options), refused[0].refused));
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.modelled->clocks < b.modelled->clocks;
  });
  // What is proposed holds its claims and is right.
  std::string checked;
  while (!cut) {
    try {
      const kernels::Flags asked = joined(fixed, found[0].form.options);
      checked = check_one(*kernel, o, smaller(*kernel, asked));
      if (smaller(*kernel, asked) != asked) (void)kernel->build(asked, o.build);
      break;
    } catch (const kernels::ObligationError& e) {
      found[0].refused = e.what();
      refused.push_back(std::move(found[0]));
      found.erase(found.begin());
      if (found.empty()) throw;
    }
  }
  const kernels::Flags all_of_first = joined(fixed, found[0].form.options);
  // Operands of large problems take longer than the model.
  const std::string problem = smaller(*kernel, all_of_first) == all_of_first
                                  ? kernel->problem(all_of_first, o.seed).text
                                  : kernels::words(fixed);
  add_loads(*kernel, o, fixed, found, bar);
  bar.erase();
  if (!o.measure.empty()) measure(*kernel, o, fixed, found);
  std::string tail = cut ? fmt::format("; interrupted, {} of {} were tried", done, all.size())
                     : checked == problem
                         ? "; the first one's result is right on the emulator"
                         : "; the first one's result is right on the emulator, for " + checked;
  if (pruned > 0) tail += fmt::format("; {} forms were left out for their bounds", pruned);
  // `auto` finds it from now on.
  if (o.vary.empty()) {
    kernels::Choice choice;
    choice.from = kernels::Choice::From::model;
    choice.options = joined(fixed, found[0].form.options);
    std::erase_if(choice.options, [&](const auto& f) { return fixed.contains(f.first); });
    choice.clocks = found[0].modelled->clocks;
    choice.considered = all.size() + pruned, choice.modelled = found.size();
    choice.why = fmt::format("{}: {:.0f} modelled clocks, the fewest of {} of {} forms{}",
                             kernels::words_that_tell(*kernel, choice.options), choice.clocks, found.size(),
                             choice.considered, cut ? ", tuning interrupted" : ", tuned");
    kernels::ChooseOptions how;
    how.build = o.build;
    kernels::remember(*kernel, fixed, choice, how);
  }
  if (o.json) {
    nlohmann::ordered_json out = {
        {"kernel", o.kernel}, {"problem", problem}, {"interrupted", cut}, {"pruned", pruned}};
    for (const Candidate& c : found) {
      nlohmann::ordered_json one = {
          {"options", c.form.options},          {"clocks", c.modelled->clocks},
          {"vgprs", c.modelled->vgprs},         {"agprs", c.modelled->agprs},
          {"lds_bytes", c.modelled->lds_bytes}, {"waves_per_simd", c.modelled->waves_per_simd}};
      if (c.form.clocks > 0) one["bound"] = c.form.clocks;
      if (!c.load.is_null()) one["load"] = c.load;
      if (c.microseconds) one["microseconds"] = *c.microseconds;
      out["candidates"].push_back(std::move(one));
    }
    out["refused"] = nlohmann::ordered_json::array();
    for (const Candidate& c : refused)
      out["refused"].push_back({{"options", c.form.options}, {"why", c.refused}});
    session.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    print_tuned(session, o, found, refused, problem, tail);
  }
  return cut ? Exit::undecided : Exit::yes;
}

} // namespace

void add_tune(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "tune", "Build a kernel with several values of its options, and model a launch of each");
  auto o = std::make_shared<TuneOptions>();
  add_kernel(*command, o->kernel);
  command->add_option("--vary", o->vary,
                      "NAME=VALUE|VALUE, any number of times: all combinations; without it all forms of the "
                      "kernel that their bounds do not exclude");
  command
      ->add_option("--most", o->most,
                   "Forms that are modelled, the first by their bounds, beside the one that auto takes (64)")
      ->check(CLI::Range(1U, 100'000U));
  command
      ->add_option("--within", o->within, "Forms whose bound is at most so many times the first one's (1.6)")
      ->check(CLI::Range(1.0, 100.0));
  command->add_option("--processes", o->processes,
                      "That build and model side by side; as many as there are processors");
  command->add_option("--measure", o->measure, "Also time the shown ones on this device: hip, emulator")
      ->check(CLI::IsMember({"hip", "emulator"}));
  command->add_option("--top", o->top, "How many are shown")->check(CLI::Range(1U, 100'000U));
  command->add_option("--seed", o->seed, "Seed of the random operands");
  command->add_flag("--full", o->full, "Model each launch as `run --time` does, with the problem's data");
  add_order_options(*command, o->build);
  command->add_flag("--json", o->json, "As JSON");
  command->allow_extras();
  command->callback([=, &session] { session.exit = tune(session, *o, read_flags(command->remaining())); });
}

} // namespace inlay::cli
