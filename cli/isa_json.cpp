#include "isa_json.h"

#include <inlay/runtime/names.h>

namespace inlay::cli {

namespace {

using nlohmann::ordered_json;
namespace isa = runtime::isa;

ordered_json counts(const std::array<unsigned, 17>& c) {
  ordered_json j = ordered_json::object();
  for (std::size_t k = 0; k < c.size(); ++k)
    if (c[k] != 0) j[std::string(isa::to_string(static_cast<isa::Kind>(k)))] = c[k];
  return j;
}

ordered_json tally(const isa::Tally& t) {
  ordered_json j = ordered_json::object();
  for (const auto& [name, n] : t) j[name] = n;
  return j;
}

ordered_json cover(const isa::Cover& c) {
  if (c.loads == 0) return nullptr;
  const auto one = [](const isa::Distance& d) {
    return ordered_json{{"instructions", d.instructions}, {"mfma", d.matrix}, {"clocks", d.clocks}};
  };
  return {{"loads", c.loads}, {"least", one(c.least)}, {"median", one(c.median)}};
}

ordered_json not_reserved(const isa::KernelReport& r) {
  ordered_json j = ordered_json::array();
  for (const auto& n : r.not_reserved)
    j.push_back({{"address", n.address}, {"text", n.text}, {"why", n.why}});
  return j;
}

ordered_json loop(const isa::LoopReport& h) {
  ordered_json waits = ordered_json::array();
  for (const auto& w : h.waits) {
    ordered_json j = ordered_json::object();
    if (w.vmcnt != 63) j["vmcnt"] = w.vmcnt;
    if (w.expcnt != 7) j["expcnt"] = w.expcnt;
    if (w.lgkmcnt != 15) j["lgkmcnt"] = w.lgkmcnt;
    waits.push_back(j);
  }
  return {{"begin", h.begin},
          {"end", h.end},
          {"copies", h.copies},
          {"instructions", h.total()},
          {"counts", counts(h.counts)},
          {"mfma", tally(h.matrix)},
          {"lds_reads", tally(h.lds_reads)},
          {"lds_writes", tally(h.lds_writes)},
          {"loads_to_lds", tally(h.loads_to_lds)},
          {"loads", tally(h.loads)},
          {"stores", tally(h.stores)},
          {"mfma_clocks", h.matrix_clocks},
          {"issue_clocks", h.issue_clocks},
          {"valu_clocks", h.valu_clocks},
          {"issue_per_mfma", h.issue_per_matrix()},
          {"mfma_per_other", h.matrix_per_other()},
          {"work_per_wave", h.work},
          {"memory_bytes_per_clock_cu", h.memory_bytes_per_clock()},
          {"lds_read_bytes_per_clock_cu", h.lds_bytes_per_clock()},
          {"vmcnt_outstanding", h.vm_outstanding},
          {"lgkmcnt_outstanding", h.lgkm_outstanding},
          {"waits", waits},
          {"cover",
           {{"load_to_lds", cover(h.load_to_lds_cover)},
            {"load", cover(h.load_cover)},
            {"load_first_use", cover(h.load_use)},
            {"lds_read", cover(h.lds_cover)},
            {"lds_read_first_use", cover(h.lds_use)}}},
          {"agpr_accumulators", h.accumulators_in_agprs},
          {"agpr_sources", h.sources_in_agprs},
          {"accvgpr_moves", h.accvgpr_moves},
          {"scratch_accesses", h.scratch_accesses},
          {"scratch_bytes", h.scratch_bits / 8},
          {"divergent_branches", h.divergent_branches},
          {"longest_memory_run", h.longest_memory_run},
          {"interleave", h.interleave}};
}

} // namespace

ordered_json to_json(const isa::KernelReport& r) {
  const auto& s = r.resources;
  ordered_json j = kernel_json(r.name);
  j.update({{"arch", std::string(isa::to_string(r.arch))},
            {"resources",
             {{"workgroup", s.workgroup},
              {"vgpr", s.vgprs_used},
              {"agpr", s.agprs_used},
              {"sgpr", s.sgprs_used},
              {"vector_registers_reserved", s.vgprs_reserved},
              {"accum_offset", s.accum_offset},
              {"sgpr_reserved", s.sgprs_reserved},
              {"lds_bytes", s.lds_bytes},
              {"scratch_bytes", s.scratch_bytes},
              {"spilled_vgprs", s.spilled_vgprs},
              {"spilled_sgprs", s.spilled_sgprs},
              {"waves_per_simd", s.waves_per_simd},
              {"limited_by", s.limited_by}}},
            {"not_reserved", not_reserved(r)},
            {"instructions", s.instructions},
            {"code_bytes", s.code_bytes},
            {"counts", counts(r.counts)},
            {"loops", r.loops},
            {"loops_with_mfma", r.matrix_loops},
            {"leaves_program", r.leaves_program},
            {"hot_loop", r.hot ? loop(*r.hot) : ordered_json(nullptr)}});
  return j;
}

ordered_json kernel_json(const std::string& symbol) {
  ordered_json out = {{"kernel", symbol}};
  if (std::string text = runtime::demangled(symbol); text != symbol) out["demangled"] = std::move(text);
  return out;
}

std::string dump(const ordered_json& j) {
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace inlay::cli
