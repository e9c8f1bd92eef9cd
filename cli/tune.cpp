// `inlay tune KERNEL [options]`: which values of its options make the shortest launch, by the cycle model.
#include "kernel_options.h"
#include "launch.h"
#include "progress.h"

#include <inlay/runtime/isa/report.h>

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

struct TuneOptions {
  std::string kernel;
  std::vector<std::string> vary;
  unsigned top = 10;
  std::uint64_t seed = 1;
  bool json = false, full = false;
  kernels::BuildOptions build;
};

struct Candidate {
  kernels::Flags varied;
  double clocks = 0;
  unsigned vgprs = 0, agprs = 0, lds_bytes = 0, waves = 0;
};

/// `tile=64x64x64|128x128x64` as a name and its values. Errors: std::invalid_argument.
kernels::Variation parse_variation(const std::string& text) {
  const std::size_t equals = text.find('=');
  kernels::Variation v{text.substr(0, equals), {}};
  for (std::size_t begin = equals == std::string::npos ? text.size() : equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    v.values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (equals == std::string::npos || v.name.empty() || v.values.size() < 2)
    throw std::invalid_argument(
        fmt::format("--vary '{}' is not of the form NAME=VALUE|VALUE\n"
                    "  hint   --vary 'tile=64x64x64|128x128x64' --vary 'transfer=no|yes'",
                    text));
  return v;
}

/// All combinations, the last name fastest. Errors: std::invalid_argument for a name that is fixed, or varied twice.
std::vector<kernels::Flags> combinations(const std::vector<kernels::Variation>& vary,
                                         const kernels::Flags& fixed) {
  std::vector<kernels::Flags> all = {{}};
  for (const kernels::Variation& v : vary) {
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

std::string words(const kernels::Flags& flags) {
  std::string out;
  for (const auto& [name, value] : flags)
    out += fmt::format("{}--{} {}", out.empty() ? "" : " ", name,
                       value.find(' ') == std::string::npos ? value : "'" + value + "'");
  return out;
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

private:
  static runtime::EmulatorOptions unchecked() {
    runtime::EmulatorOptions options;
    options.checks = runtime::Checks::none();
    return options;
  }
};

Candidate time_one(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags) {
  Ready r(kernel, o, flags);
  TimeOptions time;
  time.quick = !o.full;
  const TimeResult timed =
      time_problem(time, dynamic_cast<runtime::EmulatorDevice&>(*r.device), r.artifact, r.loaded);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(r.artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + r.artifact.hsaco.size()}, r.artifact.arch);
  const auto used = runtime::isa::report(object, object.kernel(r.artifact.kernel)).resources;
  return {{}, timed.chip.clocks, used.vgprs_used, used.agprs_used, used.lds_bytes, used.waves_per_simd};
}

/// What the kernel computes, as text. Errors: std::runtime_error where the emulator's result is another.
std::string check_one(const kernels::Kernel& kernel, const TuneOptions& o, const kernels::Flags& flags) {
  Ready r(kernel, o, flags);
  r.loaded.launch();
  if (const kernels::Check c = r.problem.check(r.loaded.read()); !c.ok)
    throw std::runtime_error(
        fmt::format("{}: the result is wrong with {}\n  {}", o.kernel, words(flags), c.message));
  return r.problem.text;
}

int tune(Session& session, const TuneOptions& o, const kernels::Flags& fixed) {
  const auto kernel = kernels::find_kernel(o.kernel);
  std::vector<kernels::Variation> vary;
  for (const std::string& text : o.vary) vary.push_back(parse_variation(text));
  if (vary.empty())
    for (kernels::Variation& v : kernel->variations(fixed))
      if (!fixed.contains(v.name)) vary.push_back(std::move(v));
  if (vary.empty())
    throw std::invalid_argument(
        fmt::format("{} proposes nothing to vary\n  hint   --vary 'NAME=VALUE|VALUE', with "
                    "options that `inlay kernels {}` lists",
                    o.kernel, o.kernel));
  std::vector<Candidate> found;
  std::vector<std::pair<kernels::Flags, std::string>> refused;
  std::vector<kernels::Flags> all = combinations(vary, fixed);
  ProgressBar bar(session, o.kernel);
  for (kernels::Flags& varied : all) {
    const std::size_t done = found.size() + refused.size();
    bar.show(static_cast<double>(done) / static_cast<double>(all.size()),
             fmt::format("{} of {}: {}", done, all.size(), words(varied)));
    try {
      Candidate c = time_one(*kernel, o, joined(fixed, varied));
      c.varied = std::move(varied);
      found.push_back(std::move(c));
    } catch (const std::invalid_argument& e) {
      refused.emplace_back(std::move(varied), e.what());
    }
  }
  bar.erase();
  if (found.empty())
    throw std::invalid_argument(fmt::format("none of {} can be built; the first: {}\n{}", refused.size(),
                                            words(refused[0].first), refused[0].second));
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.clocks < b.clocks; });
  // What is proposed is right.
  const std::string problem = check_one(*kernel, o, joined(fixed, found[0].varied));
  if (o.json) {
    nlohmann::ordered_json out = {{"kernel", o.kernel}, {"problem", problem}};
    for (const Candidate& c : found)
      out["candidates"].push_back({{"options", c.varied},
                                   {"clocks", c.clocks},
                                   {"vgprs", c.vgprs},
                                   {"agprs", c.agprs},
                                   {"lds_bytes", c.lds_bytes},
                                   {"waves_per_simd", c.waves}});
    out["refused"] = nlohmann::ordered_json::array();
    for (const auto& [flags, why] : refused) out["refused"].push_back({{"options", flags}, {"why", why}});
    session.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return Exit::yes;
  }
  session.out << fmt::format("{}: {}\n\n  clocks    VGPR + AGPR    LDS  waves a SIMD\n", o.kernel, problem);
  for (std::size_t n = 0; n < found.size() && n < o.top; ++n) {
    const Candidate& c = found[n];
    session.out << fmt::format("{:>8.0f} {:>7} + {:<4} {:>6} {:>13}   {}\n", c.clocks, c.vgprs, c.agprs,
                               c.lds_bytes, c.waves, words(c.varied));
  }
  session.out << fmt::format(
      "\n  {} modelled, {} refused{}; the first one's result is right on the emulator\n", found.size(),
      refused.size(),
      refused.empty() ? ""
                      : fmt::format(" ({}: {})", words(refused[0].first),
                                    refused[0].second.substr(0, refused[0].second.find('\n'))));
  return Exit::yes;
}

} // namespace

void add_tune(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "tune", "Build a kernel with several values of its options, and model a launch of each");
  auto o = std::make_shared<TuneOptions>();
  command->add_option("KERNEL", o->kernel, "A name that `inlay kernels` lists; its options follow")
      ->required();
  command->add_option(
      "--vary", o->vary,
      "NAME=VALUE|VALUE, any number of times: all combinations; without it what the kernel proposes");
  command->add_option("--top", o->top, "How many are shown")->check(CLI::Range(1U, 100'000U));
  command->add_option("--seed", o->seed, "Of the random operands");
  command->add_flag("--full", o->full, "Model each launch in full, not a sample of its workgroups");
  add_order_options(*command, o->build);
  command->add_flag("--json", o->json, "As JSON");
  command->allow_extras();
  command->callback([=, &session] { session.exit = tune(session, *o, read_flags(command->remaining())); });
}

} // namespace inlay::cli
