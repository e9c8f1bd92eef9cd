#include "exec_report.h"

#include "exec_debug.h"
#include "isa_json.h"

#include <algorithm>
#include <fmt/format.h>

namespace inlay::cli {

using namespace runtime;

nlohmann::ordered_json to_json(const LaunchStatistics& s) {
  return {{"instructions", s.instructions},
          {"scalar", s.scalar},
          {"vector", s.vector},
          {"matrix", s.matrix},
          {"lds", s.lds},
          {"memory", s.memory},
          {"scalar_memory", s.scalar_memory},
          {"branches", s.branches},
          {"waits", s.waits},
          {"other", s.other},
          {"multiply_adds", s.multiply_adds},
          {"bytes_read", s.bytes_read},
          {"bytes_written", s.bytes_written},
          {"lds_bytes", s.lds_bytes},
          {"lds_cycles", s.lds_cycles},
          {"lds_conflict_cycles", s.lds_conflict_cycles},
          {"waves", s.waves},
          {"workgroups", s.workgroups}};
}

nlohmann::ordered_json to_json(const Finding& f) {
  nlohmann::ordered_json j = {{"kind", std::string(to_string(f.kind))},
                              {"message", f.message},
                              {"kernel", f.kernel},
                              {"address", f.address},
                              {"disassembly", f.disassembly},
                              {"workgroup", {f.workgroup.x, f.workgroup.y, f.workgroup.z}},
                              {"wave", f.wave},
                              {"lane", f.lane},
                              {"memory_address", f.memory_address},
                              {"count", f.count},
                              {"note", f.note}};
  if (f.device) j["device"] = *f.device;
  if (f.source) j["source"] = cli::to_json(*f.source);
  return j;
}

std::string stats_text(const LaunchStatistics& s) {
  std::string out;
  const auto line = [&](const char* name, const std::string& text) {
    out += fmt::format("  {:<22}{}\n", name, text);
  };
  line("instructions", fmt::format("{} in {} waves of {} workgroups", s.instructions, s.waves, s.workgroups));
  line("by class", fmt::format("scalar {}  vector {}  matrix {}  LDS {}  memory {}  scalar memory {}  "
                               "branches {}  waits {}  other {}",
                               s.scalar, s.vector, s.matrix, s.lds, s.memory, s.scalar_memory, s.branches,
                               s.waits, s.other));
  line("matrix multiply-adds", std::to_string(s.multiply_adds));
  line("memory bytes", fmt::format("{} read, {} written", s.bytes_read, s.bytes_written));
  line("LDS", fmt::format("{} bytes, {} cycles, {} of them conflicts", s.lds_bytes, s.lds_cycles,
                          s.lds_conflict_cycles));
  return out;
}

namespace {

/// The first ones, each on its line.
template <class T>
std::string first_of(const std::vector<T>& all, const char* what) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i)
    out += fmt::format("  {} at {}", what, to_string(all[i]));
  if (all.size() > most) out += fmt::format("  and {} more; --json has them all\n", all.size() - most);
  return out;
}

} // namespace

std::string conflicts_text(const std::vector<LdsConflict>& all) { return first_of(all, "conflict"); }
std::string scratch_text(const std::vector<ScratchUse>& all) { return first_of(all, "scratch"); }

std::string scratch_text(const Kernel& k) {
  return fmt::format("{} bytes a lane", k.descriptor.scratch_bytes) +
         (k.spilled_vgprs + k.spilled_sgprs == 0
              ? ""
              : fmt::format(", {} VGPR and {} SGPR spilled", k.spilled_vgprs, k.spilled_sgprs));
}

nlohmann::ordered_json scratch_json(const std::vector<ScratchUse>& all) {
  auto out = nlohmann::ordered_json::array();
  for (const ScratchUse& s : all) {
    out.push_back({{"address", s.address},
                   {"disassembly", s.disassembly},
                   {"accesses", s.accesses},
                   {"bytes_a_lane", s.bytes},
                   {"store", s.store}});
    if (s.source) out.back()["source"] = cli::to_json(*s.source);
  }
  return out;
}

nlohmann::ordered_json conflicts_json(const std::vector<LdsConflict>& all) {
  auto out = nlohmann::ordered_json::array();
  for (const LdsConflict& c : all) {
    out.push_back({{"address", c.address},
                   {"disassembly", c.disassembly},
                   {"accesses", c.accesses},
                   {"extra_clocks", c.extra_clocks},
                   {"ways", c.ways},
                   {"remedies", c.remedies}});
    if (c.source) out.back()["source"] = cli::to_json(*c.source);
  }
  return out;
}

std::string fidelity_text(const std::vector<InstructionFidelity>& all) {
  std::uint64_t exact = 0, total = 0;
  std::string out;
  for (const InstructionFidelity& f : all) {
    total += f.count;
    if (f.fidelity == Fidelity::exact) exact += f.count;
    if (f.fidelity != Fidelity::exact)
      out +=
          fmt::format("  {:<9}{:<34} {:>10} times: {}\n", to_string(f.fidelity), f.mnemonic, f.count, f.why);
  }
  return fmt::format("  fidelity              {} of {} executed instructions are exact, of {} mnemonics\n",
                     exact, total, all.size()) +
         out;
}

nlohmann::ordered_json fidelity_json(const std::vector<InstructionFidelity>& all) {
  auto out = nlohmann::ordered_json::array();
  for (const InstructionFidelity& f : all)
    out.push_back(
        {{"mnemonic", f.mnemonic}, {"fidelity", to_string(f.fidelity)}, {"count", f.count}, {"why", f.why}});
  return out;
}

} // namespace inlay::cli
