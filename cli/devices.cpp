// `inlay devices`: what kernels can run on here.
#include "command.h"

#include <fmt/format.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/hip.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

using runtime::DeviceInfo;

nlohmann::ordered_json device_json(const DeviceInfo& d) {
  return {{"kind", d.kind},
          {"name", d.name},
          {"arch", d.arch},
          {"compute_units", d.compute_units},
          {"clock_mhz", d.clock_mhz},
          {"lds_bytes", d.lds_bytes},
          {"memory_bytes", d.memory_bytes},
          {"runtime", d.runtime}};
}

int devices(Session& session, bool json) {
  // The emulator is always there, for every processor.
  std::vector<DeviceInfo> all;
  for (const machine::Target& t : machine::targets) {
    DeviceInfo d;
    d.kind = "emulator", d.name = "inlay emulator", d.arch = t.name;
    d.lds_bytes = static_cast<unsigned>(t.lds_bytes);
    d.runtime = std::string("inlay ") + INLAY_VERSION;
    all.push_back(d);
  }
  const runtime::HipProbe hip = runtime::probe_hip();
  all.insert(all.end(), hip.devices.begin(), hip.devices.end());
  if (json) {
    nlohmann::ordered_json out = {{"devices", nlohmann::json::array()}};
    for (const auto& d : all) out["devices"].push_back(device_json(d));
    out["hip"] = {{"library", hip.library}, {"version", hip.version}, {"why_not", hip.why_not}};
    session.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return Exit::yes;
  }
  for (const auto& d : all) {
    session.out << fmt::format("{:<9} {:<7} {}", d.kind, d.arch, d.name);
    if (d.compute_units != 0)
      session.out << fmt::format(", {} compute units at {} MHz, {:.0f} GB", d.compute_units, d.clock_mhz,
                                 static_cast<double>(d.memory_bytes) / 1e9);
    session.out << fmt::format(", {} KiB LDS, {}\n", d.lds_bytes / 1024, d.runtime);
  }
  if (hip.devices.empty()) session.out << "hip       -       " << hip.why_not << "\n";
  return Exit::yes;
}

} // namespace

void add_devices(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("devices", "What kernels can run on here: the emulator, and AMD GPUs through HIP");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->callback([=, &session] { session.exit = devices(session, *json); });
}

} // namespace inlay::cli
