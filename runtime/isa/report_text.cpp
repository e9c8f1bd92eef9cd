// The report as text.
#include <inlay/machine/target.h>
#include <inlay/runtime/hex.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/names.h>

#include <algorithm>
#include <cstdio>

namespace inlay::runtime::isa {

namespace {

std::string number(double v, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, v);
  return text;
}

/// Tokens with equal neighbours joined: {"a","a","b"} -> "a2 b".
template <class Join>
std::string runs(const std::vector<std::string>& tokens, std::size_t from, std::size_t to, Join join) {
  std::string out;
  for (std::size_t i = from; i < to;) {
    std::size_t n = 1;
    while (i + n < to && tokens[i + n] == tokens[i]) ++n;
    if (!out.empty()) out += ' ';
    out += join(tokens[i], n);
    i += n;
  }
  return out;
}

/// The shortest p so that the tokens are a whole number of repeats of the first p, with at most one token
/// left over. Where it takes more than one token to be worth it, a run of one is no period.
struct Period {
  std::size_t length, repeats;
};
Period period_of(const std::vector<std::string>& t, std::size_t least) {
  for (std::size_t p = least; p <= t.size() / 2; ++p) {
    const std::size_t k = t.size() / p;
    if (t.size() - k * p > 1) continue;
    bool same = true;
    for (std::size_t i = p; i < k * p && same; ++i) same = t[i] == t[i - p];
    const bool run = least > 1 && std::count(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(p), t[0]) ==
                                      static_cast<std::ptrdiff_t>(p);
    if (same && !run) return {p, k};
  }
  return {t.size(), 1};
}

template <class Join>
std::string folded(const std::vector<std::string>& t, const char* open, const char* close, std::size_t least,
                   Join join) {
  const auto [length, repeats] = period_of(t, least);
  std::string out = runs(t, 0, length, join);
  if (repeats > 1) {
    out = open + out + close + "x" + std::to_string(repeats);
    if (const auto rest = runs(t, length * repeats, t.size(), join); !rest.empty()) out += " " + rest;
  }
  return out;
}

std::string tally(const Tally& t) {
  std::string out;
  for (const auto& [name, n] : t) out += (out.empty() ? "" : " ") + name + ":" + std::to_string(n);
  return out.empty() ? "0" : out;
}

std::string cover(const Cover& c) {
  if (c.loads == 0) return "-";
  const auto one = [](const Distance& d) {
    return std::to_string(d.instructions) + "/" + std::to_string(d.matrix) + "/" + std::to_string(d.clocks);
  };
  return one(c.least) + "; " + one(c.median);
}

std::string line(const std::string& name, const std::string& value) {
  std::string out = "  " + name;
  out.resize(std::max<std::size_t>(out.size() + 1, 22), ' ');
  return out + value + "\n";
}

std::string mix(const std::array<unsigned, 17>& counts) {
  std::string out;
  for (std::size_t k = 0; k < counts.size(); ++k)
    if (counts[k] != 0)
      out += (out.empty() ? "" : "  ") + std::string(to_string(static_cast<Kind>(k))) + " " +
             std::to_string(counts[k]);
  return out;
}

} // namespace

std::string fold(std::string_view letters) {
  std::vector<std::string> tokens;
  for (const char c : letters) tokens.emplace_back(1, c);
  return folded(tokens, "(", ")", 2,
                [](const std::string& t, std::size_t n) { return n == 1 ? t : t + std::to_string(n); });
}

std::string waits_text(std::span<const WaitCounts> waits) {
  std::vector<std::string> tokens;
  for (const WaitCounts& w : waits) {
    std::string t;
    const auto field = [&](const char* name, unsigned v, unsigned none) {
      if (v != none) t += (t.empty() ? "" : ",") + std::string(name) + std::to_string(v);
    };
    field("v", w.vmcnt, 63), field("e", w.expcnt, 7), field("l", w.lgkmcnt, 15);
    tokens.push_back(t.empty() ? "none" : t);
  }
  return folded(tokens, "[", "]", 1,
                [](const std::string& t, std::size_t n) { return n == 1 ? t : t + "*" + std::to_string(n); });
}

std::string to_text(const KernelReport& r) {
  const Resources& s = r.resources;
  const std::string name = demangled(r.name);
  std::string out = name + " (" + std::string(to_string(r.arch)) + ")\n";
  if (name != r.name) out += line("symbol", r.name);
  out += line("registers", std::to_string(s.vgprs_used) + " VGPR + " + std::to_string(s.agprs_used) +
                               " AGPR + " + std::to_string(s.sgprs_used) + " SGPR used; " +
                               std::to_string(s.vgprs_reserved) + " vector registers reserved, AGPRs from " +
                               std::to_string(s.accum_offset));
  if (!r.not_reserved.empty()) {
    const auto& first = r.not_reserved.front();
    const std::size_t more = r.not_reserved.size() - 1;
    out += line("WARNING", first.why + ", at " + hex(first.address) + " '" + first.text + "'" +
                               (more == 0 ? "" : " and in " + std::to_string(more) + " more instructions"));
  }
  out += line("LDS, scratch", std::to_string(s.lds_bytes) + " bytes a workgroup, " +
                                  std::to_string(s.scratch_bytes) + " bytes a lane" +
                                  (s.spilled_vgprs + s.spilled_sgprs != 0
                                       ? ", spilled " + std::to_string(s.spilled_vgprs) + " VGPR " +
                                             std::to_string(s.spilled_sgprs) + " SGPR"
                                       : ""));
  out += line("occupancy", std::to_string(s.waves_per_simd) + " waves a SIMD (limit: " + s.limited_by +
                               "), workgroup " + std::to_string(s.workgroup));
  out += line("code", std::to_string(s.instructions) + " instructions, " + std::to_string(s.code_bytes) +
                          " bytes, " + std::to_string(r.loops) + " loops (" + std::to_string(r.matrix_loops) +
                          " with MFMA)" + (r.leaves_program ? ", calls or jumps elsewhere" : ""));
  out += line("mix", mix(r.counts));
  if (!r.hot) return out + "  no loop\n";
  const LoopReport& h = *r.hot;
  out += "hot loop " + hex(h.begin) + " .. " + hex(h.end) + ", per wave and trip" +
         (h.copies > 1 ? " (" + std::to_string(h.copies) + " copies)" : "") + "\n";
  out += line("instructions", std::to_string(h.total()) + ": " + mix(h.counts));
  out += line("MFMA", tally(h.matrix));
  out += line("LDS read, write", tally(h.lds_reads) + " | " + tally(h.lds_writes));
  out += line("load to LDS", tally(h.loads_to_lds));
  out += line("load, store", tally(h.loads) + " | " + tally(h.stores));
  // Spilled registers look like any other traffic in the lines above; a wave's 64 lanes are all there.
  if (h.scratch_accesses != 0)
    out += line("of these scratch",
                std::to_string(h.scratch_accesses) + " accesses, " + std::to_string(h.scratch_bits / 8) +
                    " bytes a lane and trip, " + std::to_string(h.scratch_bits * 8) +
                    " a wave through the vector cache" + (s.spilled_vgprs != 0 ? ": spilled registers" : ""));
  out +=
      line("clocks", "MFMA " + std::to_string(h.matrix_clocks) + ", issue " + std::to_string(h.issue_clocks) +
                         ", VALU " + std::to_string(h.valu_clocks) + "; issue/MFMA " +
                         number(h.issue_per_matrix(), 3) + ", MFMA/other " + number(h.matrix_per_other(), 3));
  const auto waves = static_cast<double>((s.workgroup + 63) / 64);
  out +=
      line("work", number(static_cast<double>(h.work) * waves / 1e6, 2) + " M multiply and add a workgroup");
  out += line("bytes a clock, CU", "memory " + number(h.memory_bytes_per_clock(), 1) + ", LDS read " +
                                       number(h.lds_bytes_per_clock(), 1) + " of " +
                                       std::to_string(machine::target(r.arch).lds_read_bytes_per_clock));
  out += line("outstanding", "vmcnt " + std::to_string(h.vm_outstanding) + ", lgkmcnt " +
                                 std::to_string(h.lgkm_outstanding));
  out += line("waits", waits_text(h.waits));
  out += "  cover: instructions/MFMA/clocks, least; median\n";
  out += line("  load to LDS, wait", cover(h.load_to_lds_cover));
  out += line("  load, wait", cover(h.load_cover));
  out += line("  load, first use", cover(h.load_use));
  out += line("  LDS read, wait", cover(h.lds_cover));
  out += line("  LDS read, use", cover(h.lds_use));
  out += line("AGPR", "accumulators " + number(h.accumulators_in_agprs, 2) + ", sources " +
                          number(h.sources_in_agprs, 2) + ", moves " + std::to_string(h.accvgpr_moves));
  out += line("memory run", std::to_string(h.longest_memory_run));
  out += line("interleave", h.interleave);
  return out;
}

std::string loop_text(const KernelReport& r, const std::function<std::string(const Instruction&)>& before) {
  if (!r.hot) return "no loop\n";
  std::string out;
  unsigned clocks = 0;
  for (const std::size_t index : r.hot->trip) {
    const Instruction& i = r.program.instructions[index];
    char head[48];
    std::snprintf(head, sizeof head, "%8llx %c %6u  ", static_cast<unsigned long long>(i.address),
                  letter(kind_of(i)), clocks);
    if (before) out += before(i);
    out += head + i.text + "\n";
    clocks += matrix_clocks(i, r.arch);
  }
  return out;
}

} // namespace inlay::runtime::isa
