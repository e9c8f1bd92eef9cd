// Numbers of the model from thread traces: what is seen most often.
#include <inlay/runtime/timing/thread_trace.h>

#include <algorithm>

namespace inlay::runtime::timing {
namespace {

enum class Class : std::uint8_t { vector, matrix, scalar, scalar_load, lds, memory, branch, other };

Class class_of(const std::string& m) {
  const auto is = [&](const char* prefix) { return m.starts_with(prefix); };
  if (is("v_mfma") || is("v_smfmac")) return Class::matrix;
  if (is("v_")) return Class::vector;
  if (is("ds_")) return Class::lds;
  if (is("buffer_") || is("global_") || is("flat_")) return Class::memory;
  if (is("s_load") || is("s_buffer_load")) return Class::scalar_load;
  if (is("s_cbranch") || m == "s_branch") return Class::branch;
  if (is("s_waitcnt") || is("s_nop") || is("s_barrier") || is("s_setprio") || is("s_sleep") || is("s_endpgm"))
    return Class::other;
  return is("s_") ? Class::scalar : Class::other;
}

using Counts = std::map<std::uint32_t, std::size_t>;

std::size_t total(const Counts& c) {
  std::size_t n = 0;
  for (const auto& [value, times] : c) n += times;
  return n;
}

std::uint32_t commonest(const Counts& c) {
  std::uint32_t best = 0;
  std::size_t most = 0;
  for (const auto& [value, times] : c)
    if (times > most) most = times, best = value;
  return best;
}

/// How far apart two instructions are, which other waves only add to: what was known, if less, unless hardly any are so near.
double nearest(const Counts& c, double known) {
  const double seen = commonest(c);
  const auto near = c.find(static_cast<std::uint32_t>(known));
  return known < seen && near != c.end() && 10 * near->second >= total(c) ? known : seen;
}

struct Seen {
  Counts valu_memory, mfma_memory, salu_memory, salu_branch, taken, begins, hit;
  std::map<std::string, Counts> issue; ///< by mnemonic
};

void look_at(const ThreadTrace& t, Seen& seen) {
  for (std::size_t k = 1; k < t.begins.size(); ++k)
    if (t.begins[k] > t.begins[k - 1]) ++seen.begins[t.begins[k] - t.begins[k - 1]];
  std::vector<std::string> mnemonic;
  for (const TracedCode& c : t.code) mnemonic.push_back(c.text.substr(0, c.text.find(' ')));
  for (const TracedWave& w : t.waves) {
    std::size_t loads = 0;
    bool others = false;
    std::uint32_t load_issued = 0;
    for (std::size_t k = 0; k < w.instructions.size(); ++k) {
      const TracedInstruction& i = w.instructions[k];
      const std::string& m = mnemonic[i.line];
      const Class c = class_of(m);
      const std::uint32_t issued = i.at + i.stall;
      if (c != Class::other && c != Class::branch && c != Class::matrix && i.duration > i.stall)
        ++seen.issue[m][i.duration - i.stall];
      if (k > 0) {
        const TracedInstruction& b = w.instructions[k - 1];
        const Class before = class_of(mnemonic[b.line]);
        const std::uint32_t apart = issued - (b.at + b.stall);
        const bool memory = c == Class::lds || c == Class::memory;
        const bool jumped = i.line != b.line + 1;
        if (before == Class::vector && memory) ++seen.valu_memory[apart];
        if (before == Class::matrix && memory) ++seen.mfma_memory[apart];
        if (before == Class::scalar && memory) ++seen.salu_memory[apart];
        if (before == Class::scalar && c == Class::branch) ++seen.salu_branch[apart];
        if (before == Class::branch && jumped && (c == Class::scalar || c == Class::vector))
          ++seen.taken[apart];
      }
      // A scalar load alone, and the wait for it.
      if (c == Class::scalar_load) {
        ++loads;
        load_issued = issued;
      } else if (c == Class::lds) {
        others = true;
      } else if (m == "s_waitcnt") {
        const std::string& text = t.code[i.line].text;
        if (text.find("lgkmcnt(0)") == text.npos) continue;
        const std::uint32_t took = i.at + i.duration - load_issued;
        // One that misses takes as long as the line is away, and that a trace does not tell.
        if (loads == 1 && !others && text.find("vmcnt") == text.npos && i.stall > 0 && took < 100)
          ++seen.hit[took - std::min(took, i.duration - i.stall)];
        loads = 0, others = false;
      }
    }
  }
}

} // namespace

Parameters calibrate_from_traces(const Parameters& from, const std::vector<ThreadTrace>& traces,
                                 std::vector<TracedNumber>& fitted, std::size_t least) {
  Seen seen;
  std::string names;
  for (const ThreadTrace& t : traces) {
    look_at(t, seen);
    names += (names.empty() ? "" : ", ") + t.kernel;
  }
  Parameters p = from;
  const std::string source = "inlay calibrate --from-att: " + names;
  const auto put = [&](const std::string& parameter, double before, const Counts& c, double value,
                       const std::string& what) {
    const std::size_t n = total(c);
    if (n < least || value <= 0) return;
    if (value != before) p = p.with(parameter, value, source);
    fitted.push_back({parameter, what, before, value, n});
  };
  const auto apart = [&](const char* parameter, const Counts& c, const char* what) {
    put(parameter, from[parameter], c, nearest(c, from[parameter]), what);
  };
  const auto number = [&](const char* parameter, const Counts& c, const char* what) {
    put(parameter, from[parameter], c, commonest(c), what);
  };
  apart("valu_to_memory_clk", seen.valu_memory, "vector, then LDS or memory instruction");
  apart("mfma_to_memory_clk", seen.mfma_memory, "matrix, then LDS or memory instruction");
  apart("salu_to_memory_clk", seen.salu_memory, "scalar, then LDS or memory instruction");
  apart("salu_to_branch_clk", seen.salu_branch, "scalar instruction, then branch");
  apart("branch_taken_clk", seen.taken, "branch taken, then vector or scalar instruction");
  number("wave_launch_clk", seen.begins, "begin of a wave, then of the next");
  number("scalar_hit_clk", seen.hit, "a scalar load alone, and its wait");
  // Issue costs: of a rule, or a rule of its own where no rule is so.
  std::map<std::string, Counts> rules;
  for (const auto& [mnemonic, counts] : seen.issue) {
    std::string prefix;
    for (const IssueRule& r : from.issue_rules())
      if (mnemonic.starts_with(r.prefix) && r.prefix.size() > prefix.size()) prefix = r.prefix;
    if (prefix.empty()) continue; // the rule for everything else is not one instruction's
    for (const auto& [value, times] : counts) rules[prefix][value] += times;
  }
  for (const auto& [prefix, counts] : rules)
    put("issue:" + prefix, from.issue_clocks(prefix), counts, commonest(counts), "what it takes to issue");
  return p;
}

} // namespace inlay::runtime::timing
