// `inlay calibrate`: the numbers of the cycle model from microbenchmarks on a device.
#include "command.h"
#include "isa_json.h"
#include "time_kernel.h"

#include <algorithm>
#include <fmt/format.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/hip.h>
#include <inlay/runtime/timing/calibrate.h>
#include <inlay/runtime/timing/thread_trace.h>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

using namespace runtime;

struct CalibrateOptions {
  std::string device = "emulator", arch{machine::usual_target}, output;
  std::vector<std::string> set, traces;
  bool json = false;
};

/// Clocks of one microbenchmark on a device that keeps time: the least of several launches.
double measure(Device& device, const timing::Microbenchmark& b, unsigned n, isa::Arch arch) {
  const Buffer result(device, 64), zeros(device, 1U << 20);
  device.fill(zeros.address(), 0, 1U << 20);
  const CodeObject object = CodeObject::parse(timing::microbenchmark_kernel(b, n, arch));
  const LaunchGeometry geometry{{1}, {b.block}, 0};
  const auto arguments = pack_arguments(
      object.kernel("k"),
      std::vector<Argument>{Argument::pointer(result.address()), Argument::pointer(zeros.address())},
      geometry);
  const Module module = device.load(object);
  const Function function = device.function(module, "k");
  std::uint64_t best = ~std::uint64_t{0};
  for (int round = 0; round < 5; ++round) {
    device.launch(function, geometry, arguments);
    device.synchronize();
    std::uint64_t clocks = 0;
    device.copy_out({reinterpret_cast<std::uint8_t*>(&clocks), sizeof clocks}, result.address());
    device.synchronize();
    best = std::min(best, clocks);
  }
  device.release(module);
  return static_cast<double>(best);
}

int from_traces(Session& session, const CalibrateOptions& o, isa::Arch arch) {
  if (o.device != "emulator")
    refuse("calibrate --from-att reads traces, and --device " + o.device + " measures", "one of the two");
  TimeOptions changed;
  changed.set = o.set;
  std::vector<timing::ThreadTrace> traces;
  for (const std::string& folder : o.traces) traces.push_back(timing::read_thread_trace(folder));
  std::vector<timing::TracedNumber> fitted;
  const timing::Parameters p =
      timing::calibrate_from_traces(timing_parameters(changed, arch), traces, fitted);
  if (!o.output.empty()) write_text(session, o.output, p.to_json());
  if (o.json) {
    nlohmann::ordered_json j = {{"arch", std::string(isa::to_string(arch))}, {"traces", o.traces}};
    j["fitted"] = nlohmann::ordered_json::array();
    for (const auto& f : fitted)
      j["fitted"].push_back({{"parameter", f.parameter},
                             {"what", f.what},
                             {"before", f.before},
                             {"after", f.after},
                             {"seen", f.seen}});
    j["parameters"] = nlohmann::ordered_json::parse(p.to_json());
    session.out << dump(j) << "\n";
    return Exit::yes;
  }
  session.out << fmt::format("{}: {} trace{}\n\n  {:<30}{:>10}{:>10}{:>10}   {}\n", isa::to_string(arch),
                             traces.size(), traces.size() == 1 ? "" : "s", "number", "built in", "traces",
                             "seen", "what");
  for (const auto& f : fitted)
    session.out << fmt::format("  {:<30}{:>10}{:>10}{:>10}   {}\n", f.parameter, f.before, f.after, f.seen,
                               f.what);
  if (fitted.empty()) session.out << "  nothing was seen often enough\n";
  return Exit::yes;
}

int calibrate(Session& session, const CalibrateOptions& o) {
  isa::Arch arch = isa::parse_arch(o.arch);
  if (!o.traces.empty()) return from_traces(session, o, arch);
  std::unique_ptr<Device> device;
  if (o.device == "hip") {
    if (!o.set.empty())
      refuse("calibrate --set says what the model on the emulator runs with, and --device is hip",
             "leave --set out");
    device = open_hip(0);
    arch = isa::parse_arch(device->info().arch);
  }
  TimeOptions changed;
  changed.set = o.set;
  const timing::Parameters truth = timing_parameters(changed, arch);
  timing::ModelDevice model(arch);
  const std::string name = device == nullptr ? "the emulator with the model" : device->info().name;
  const timing::Calibration c = timing::calibrate(
      arch,
      [&](const timing::Microbenchmark& b, unsigned n) {
        return device == nullptr ? model.clocks(b, n, truth) : measure(*device, b, n, arch);
      },
      "inlay calibrate on " + name, model);
  if (!o.output.empty()) write_text(session, o.output, c.parameters.to_json());
  if (o.json) {
    nlohmann::ordered_json j = {{"arch", std::string(isa::to_string(arch))}, {"device", name}};
    j["fitted"] = nlohmann::ordered_json::array();
    for (const auto& f : c.fitted)
      j["fitted"].push_back({{"parameter", f.parameter},
                             {"what", f.what},
                             {"before", f.before},
                             {"after", f.after},
                             {"measured", f.measured},
                             {"explained", f.explained}});
    j["parameters"] = nlohmann::ordered_json::parse(c.parameters.to_json());
    session.out << dump(j) << "\n";
    return Exit::yes;
  }
  session.out << fmt::format("{}: {} microbenchmarks on {}\n\n  {:<30}{:>10}{:>10}   {}\n",
                             isa::to_string(arch), c.fitted.size(), name, "number", "built in", "here",
                             "measured as");
  std::size_t moved = 0;
  for (const auto& f : c.fitted) {
    const bool unexplained = std::abs(f.explained - f.measured) > 4 + 0.02 * f.measured;
    moved += f.after != f.before ? 1 : 0;
    session.out << fmt::format("  {:<30}{:>10}{:>10}   {}{}\n", f.parameter, f.before, f.after, f.what,
                               unexplained
                                   ? fmt::format(": {:.0f} clocks, and the model makes {:.0f} of it at best",
                                                 f.measured, f.explained)
                                   : "");
  }
  session.out << fmt::format("\n  {} of {} differ{}\n", moved, c.fitted.size(),
                             o.output.empty() ? "" : "; " + o.output + " is for `inlay time --parameters`");
  return Exit::yes;
}

} // namespace

void add_calibrate(CLI::App& app, Session& session) {
  auto* c =
      app.add_subcommand("calibrate", "Fit the numbers of the cycle model by microbenchmarks on a device");
  auto o = std::make_shared<CalibrateOptions>();
  c->add_option("--device", o->device, "emulator (default: gives back what the model runs with) or hip")
      ->check(CLI::IsMember({"emulator", "hip"}));
  c->add_option("--arch", o->arch, machine::names(" or ") + ", on the emulator");
  c->add_option("--set", o->set, "Another number for the model on the emulator: NAME=VALUE")
      ->allow_extra_args(false);
  c->add_option(
      "--from-att", o->traces,
      "Thread traces of rocprofv3 (ui_output_* or folders of *.att): the numbers that they show, instead of "
      "microbenchmarks");
  c->add_option("-o,--output", o->output, "Writes all numbers, for `inlay time --parameters`");
  c->add_flag("--json", o->json, "As JSON");
  c->callback([=, &session] { session.exit = calibrate(session, *o); });
}

} // namespace inlay::cli
