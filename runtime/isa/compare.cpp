// Side by side, criteria, difference of the hot loops.
#include <inlay/runtime/isa/compare.h>
#include <inlay/runtime/names.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace inlay::runtime::isa {

namespace {

std::string number(double v, int digits = 2) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, v);
  return text;
}
std::string number(unsigned v) { return std::to_string(v); }

std::string tally(const Tally& t) {
  std::string out;
  for (const auto& [name, n] : t) out += (out.empty() ? "" : " ") + name + ":" + std::to_string(n);
  return out.empty() ? "-" : out;
}

std::string triplet(const Cover& c) {
  if (c.loads == 0) return "-";
  const auto one = [](const Distance& d) {
    return std::to_string(d.instructions) + "/" + std::to_string(d.matrix) + "/" + std::to_string(d.clocks);
  };
  return one(c.least) + "; " + one(c.median);
}

/// Per 1000 matrix clocks.
double rate(const LoopReport& h, double v) { return h.matrix_clocks == 0 ? 0 : 1000.0 * v / h.matrix_clocks; }

// --- criteria --------------------------------------------------------------------------------------------------

/// What a criterion looks at, and the tools to judge.
struct Judge {
  const KernelReport& a;
  const KernelReport& b;
  double tolerance;
  std::vector<Criterion>& out;

  [[nodiscard]] bool no_more(double ours, double theirs) const {
    return ours <= theirs * (1 + tolerance) + 1e-9;
  }
  [[nodiscard]] bool no_less(double ours, double theirs) const {
    return ours >= theirs * (1 - tolerance) - 1e-9;
  }

  void add(unsigned n, std::string name, std::string ours, std::string theirs, Verdict v,
           std::string why = {}) const {
    out.push_back({n, std::move(name), std::move(ours), std::move(theirs), v, std::move(why)});
  }
  void decide(unsigned n, std::string name, std::string ours, std::string theirs, bool pass,
              std::string why) const {
    add(n, std::move(name), std::move(ours), std::move(theirs), pass ? Verdict::passes : Verdict::fails,
        pass ? std::string() : std::move(why));
  }
};

unsigned widest(const Tally& t) {
  unsigned most = 0;
  for (const auto& [name, n] : t)
    most = std::max(most, static_cast<unsigned>(
                              std::strtoul(name.c_str() + name.find_first_of("0123456789"), nullptr, 10)));
  return most;
}

/// Bytes an instruction on average, for one lane.
double mean_width(const Tally& t) {
  double bits = 0, n = 0;
  for (const auto& [name, count] : t) {
    bits += std::strtod(name.c_str() + name.find_first_of("0123456789"), nullptr) * count;
    n += count;
  }
  return n == 0 ? 0 : bits / 8 / n;
}

double least_vmcnt_share(const LoopReport& h) {
  double least = 1;
  for (const auto& w : h.waits)
    if (w.vmcnt != 63 && h.vm_outstanding != 0)
      least = std::min(least, static_cast<double>(w.vmcnt) / h.vm_outstanding);
  return least;
}
bool drains(const LoopReport& h) {
  return std::any_of(h.waits.begin(), h.waits.end(), [](const WaitCounts& w) { return w.vmcnt == 0; });
}

void judge_loops(const Judge& j) {
  const LoopReport &a = *j.a.hot, &b = *j.b.hot;
  {
    const double wa = static_cast<double>(a.work) / a.matrix_clocks,
                 wb = static_cast<double>(b.work) / b.matrix_clocks;
    j.decide(1, "work per MFMA clock", tally(a.matrix) + ", " + number(wa, 0),
             tally(b.matrix) + ", " + number(wb, 0), wa >= wb * (1 - 1e-9),
             "slower matrix instructions for the same work");
  }
  j.decide(2, "issue clocks / MFMA clocks", number(a.issue_per_matrix(), 3), number(b.issue_per_matrix(), 3),
           j.no_more(a.issue_per_matrix(), b.issue_per_matrix()), "more issue slots for the same work");
  {
    const auto extra = [](const LoopReport& h) {
      return rate(h, h.count(Kind::valu) + h.count(Kind::nop) + h.accvgpr_moves + h.scratch_accesses);
    };
    j.decide(3, "VALU, nops, moves, scratch", number(extra(a)), number(extra(b)),
             j.no_more(extra(a), extra(b)), "instructions that do no matrix work");
  }
  {
    const double wa = rate(a, a.count(Kind::wait)), wb = rate(b, b.count(Kind::wait));
    const bool drained = drains(a) && !drains(b);
    const bool shallow = least_vmcnt_share(a) < std::min(0.4, least_vmcnt_share(b)) - 1e-9;
    j.decide(4, "waits", waits_text(a.waits), waits_text(b.waits), j.no_more(wa, wb) && !drained && !shallow,
             drained   ? "vmcnt(0) drains the loads in flight"
             : shallow ? "waits for loads too early in their flight"
                       : number(wa) + " against " + number(wb) + " waits per 1000 MFMA clocks");
  }
  j.decide(5, "barriers", number(rate(a, a.count(Kind::barrier))), number(rate(b, b.count(Kind::barrier))),
           j.no_more(rate(a, a.count(Kind::barrier)), rate(b, b.count(Kind::barrier))),
           "more barriers for the same work");
  {
    std::string why;
    const auto shorter = [&](const Cover& x, const Cover& y, const char* what) {
      if (x.loads == 0 || y.loads == 0 ||
          j.no_less(static_cast<double>(x.median.clocks), static_cast<double>(y.median.clocks)))
        return false;
      why += (why.empty() ? "" : ", ") + std::string(what) + " " + std::to_string(x.median.clocks) + " < " +
             std::to_string(y.median.clocks);
      return true;
    };
    bool bad = shorter(a.load_to_lds_cover, b.load_to_lds_cover, "load to LDS");
    bad = shorter(a.load_use, b.load_use, "load") || bad;
    bad = shorter(a.lds_use, b.lds_use, "LDS read") || bad;
    const auto clocks = [](const LoopReport& h) {
      const auto one = [](const Cover& c) {
        return c.loads == 0 ? std::string("-") : std::to_string(c.median.clocks);
      };
      return one(h.load_to_lds_cover) + " / " + one(h.load_use) + " / " + one(h.lds_use);
    };
    j.decide(6, "cover, MFMA clocks (median)", clocks(a), clocks(b), !bad, why);
  }
  j.decide(7, "longest memory run", number(a.longest_memory_run), number(b.longest_memory_run),
           a.longest_memory_run <= b.longest_memory_run, "memory instructions back to back");
  j.add(8, "LDS bank phases", "?", "?", Verdict::undecided,
        "depends on addresses: `inlay exec --stats` counts them");
  {
    std::string why;
    const auto narrower = [&](const Tally& x, const Tally& y, const char* what) {
      if (x.empty() || y.empty() || mean_width(x) >= mean_width(y) * (1 - j.tolerance)) return;
      why += (why.empty() ? "" : ", ") + std::string(what);
    };
    narrower(a.loads_to_lds, b.loads_to_lds, "loads to LDS");
    narrower(a.loads, b.loads, "loads");
    narrower(a.lds_reads, b.lds_reads, "LDS reads");
    const auto widths = [](const LoopReport& h) {
      return number(widest(h.loads_to_lds)) + " / " + number(widest(h.loads)) + " / " +
             number(widest(h.lds_reads));
    };
    j.decide(9, "widest to LDS / load / LDS read", widths(a), widths(b), why.empty(), "narrower " + why);
  }
}

void judge_kernels(const Judge& j) {
  const Resources &a = j.a.resources, &b = j.b.resources;
  {
    // Of a workgroup: kernels may share a tile between four waves or eight. LDS that a launch asks for is in no code object.
    constexpr unsigned wave = 64, simds = 4;
    const auto waves = [](const Resources& r) { return std::max(1U, (r.workgroup + wave - 1) / wave); };
    const auto registers = [&](const Resources& r) { return waves(r) * (r.vgprs_used + r.agprs_used); };
    const auto workgroups = [&](const Resources& r) { return r.waves_per_simd * simds / waves(r); };
    const bool at_launch = b.lds_bytes == 0 && !j.b.hot->lds_reads.empty();
    std::string why;
    const auto add = [&](bool bad, const char* what) {
      if (bad) why += (why.empty() ? "" : ", ") + std::string(what);
    };
    add(!j.no_more(registers(a), registers(b)), "more registers");
    add(!at_launch && a.lds_bytes > b.lds_bytes, "more LDS");
    add(!at_launch && workgroups(a) < workgroups(b), "fewer workgroups");
    const auto text = [&](const Resources& r, bool dynamic) {
      return number(waves(r)) + " x (" + number(r.vgprs_used) + "+" + number(r.agprs_used) + ") / " +
             (dynamic ? std::string("by launch") : number(r.lds_bytes)) + " / " + number(r.waves_per_simd);
    };
    j.decide(10, "waves x registers / LDS / waves a SIMD", text(a, false), text(b, at_launch), why.empty(),
             why);
  }
  const LoopReport &ha = *j.a.hot, &hb = *j.b.hot;
  if (hb.copies < 2)
    j.add(11, "staggered loop copies", std::to_string(ha.copies), std::to_string(hb.copies),
          Verdict::does_not_apply, "the anchor has one loop");
  else
    j.decide(11, "staggered loop copies", std::to_string(ha.copies), std::to_string(hb.copies),
             ha.copies >= 2, "all waves reach LDS and memory in the same slot");
  {
    const double la = ha.lds_bytes_per_clock(), lb = hb.lds_bytes_per_clock();
    const double ma = ha.memory_bytes_per_clock(), mb = hb.memory_bytes_per_clock();
    j.decide(12, "bytes a clock, CU: LDS / memory", number(la, 1) + " / " + number(ma, 1),
             number(lb, 1) + " / " + number(mb, 1), j.no_more(la, lb) && j.no_more(ma, mb),
             "more traffic for the same work");
  }
  j.decide(13, "divergent branches in the loop", number(ha.divergent_branches), number(hb.divergent_branches),
           ha.divergent_branches <= hb.divergent_branches,
           "the tail is handled by branches, not by descriptor bounds");
  j.add(14, "tile order for the L2 caches", "?", "?", Verdict::undecided,
        "a matter of the grid, not of the loop");
  j.add(15, "measured time", "?", "?", Verdict::undecided, "needs a device");
}

// --- difference ------------------------------------------------------------------------------------------------

/// What two instructions must share to count as the same: everything but registers and offsets.
std::string shape_of(const Instruction& i) {
  std::string s(i.mnemonic);
  const Modifiers& m = i.modifiers;
  if (i.form == Form::dpp) s += "_dpp";
  if (i.form == Form::sdwa) s += "_sdwa";
  if (m.lds) s += " lds";
  if (i.wait) {
    if (i.wait->vmcnt != 63) s += " vmcnt(" + std::to_string(i.wait->vmcnt) + ")";
    if (i.wait->lgkmcnt != 15) s += " lgkmcnt(" + std::to_string(i.wait->lgkmcnt) + ")";
  }
  if (i.format == Format::mfma && (m.cbsz != 0 || m.blgp != 0))
    s += " cbsz:" + std::to_string(m.cbsz) + " blgp:" + std::to_string(m.blgp);
  return s;
}

std::vector<std::string> shapes(const KernelReport& r) {
  std::vector<std::string> out;
  if (r.hot)
    for (const std::size_t i : r.hot->trip) out.push_back(shape_of(r.program.instructions[i]));
  return out;
}

/// Shortest edit script by a longest common subsequence. Trips have at most a few thousand instructions; beyond that
/// the table would be larger than it is worth, and the two are said to share nothing but their common ends.
std::vector<DiffLine> difference(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                 std::size_t& common) {
  constexpr std::size_t most_cells = std::size_t{1} << 25;
  std::vector<DiffLine> out;
  const auto emit = [&](char side, const std::string& text) {
    if (!out.empty() && out.back().side == side && out.back().text == text)
      ++out.back().count;
    else
      out.push_back({side, text, 1});
  };
  std::size_t head = 0, ta = a.size(), tb = b.size();
  common = 0;
  while (head < ta && head < tb && a[head] == b[head]) emit(' ', a[head++]);
  while (ta > head && tb > head && a[ta - 1] == b[tb - 1]) --ta, --tb;
  common = head + (a.size() - ta);
  const std::size_t n = ta - head, m = tb - head;
  if ((n + 1) * (m + 1) <= most_cells) {
    std::vector<std::uint16_t> table((n + 1) * (m + 1), 0);
    const auto at = [&](std::size_t i, std::size_t k) -> std::uint16_t& { return table[i * (m + 1) + k]; };
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t k = m; k-- > 0;)
        at(i, k) = a[head + i] == b[head + k] ? static_cast<std::uint16_t>(at(i + 1, k + 1) + 1)
                                              : std::max(at(i + 1, k), at(i, k + 1));
    std::size_t i = 0, k = 0;
    common += at(0, 0);
    while (i < n || k < m) {
      if (i < n && k < m && a[head + i] == b[head + k]) {
        emit(' ', a[head + i]);
        ++i, ++k;
      } else if (k == m || (i < n && at(i + 1, k) >= at(i, k + 1))) {
        emit('-', a[head + i++]);
      } else {
        emit('+', b[head + k++]);
      }
    }
  } else {
    for (std::size_t i = head; i < ta; ++i) emit('-', a[i]);
    for (std::size_t k = head; k < tb; ++k) emit('+', b[k]);
  }
  for (std::size_t i = ta; i < a.size(); ++i) emit(' ', a[i]);
  return out;
}

// --- the schedule ----------------------------------------------------------------------------------------------

/// A page: more lines than that, and only longer waits cut the loop.
constexpr std::size_t page = 32;

bool syncs(Kind k) { return k == Kind::wait || k == Kind::barrier; }

/// Cuts the trip before instructions that `level` counts as a cut: 0 every wait, 1 waits for vector memory, 2 barriers.
std::vector<Stretch> stretches(const KernelReport& r, unsigned level) {
  std::vector<Stretch> out;
  if (!r.hot) return out;
  const auto cuts = [&](const Instruction& i, Kind k) {
    if (k == Kind::barrier) return true;
    if (k != Kind::wait || level == 2) return false;
    return level == 0 || (i.wait && i.wait->vmcnt != 63);
  };
  std::string letters, waits;
  bool working = false; // something other than waiting has come since the cut
  const auto close = [&] {
    if (out.empty()) return;
    // A stretch that no line holds: how many of each, the most first.
    std::string ops = fold(letters);
    if (ops.size() > 40) {
      std::vector<std::pair<unsigned, char>> many;
      for (const auto& [l, n] : out.back().letters)
        if (l != letter(Kind::wait) && l != letter(Kind::barrier)) many.emplace_back(n, l);
      std::stable_sort(many.begin(), many.end(),
                       [](const auto& x, const auto& y) { return x.first > y.first; });
      ops = "mixed";
      for (const auto& [n, l] : many) ops += std::string(" ") + l + std::to_string(n);
    }
    out.back().text = waits + (waits.empty() || ops.empty() ? "" : " ") + ops;
    letters.clear(), waits.clear();
  };
  for (const std::size_t n : r.hot->trip) {
    const Instruction& i = r.program.instructions[n];
    const Kind k = kind_of(i);
    if (out.empty() || (working && cuts(i, k))) {
      close();
      out.push_back({n, {}, 0, {}, {}});
      working = false;
    }
    Stretch& s = out.back();
    const bool shown = k != Kind::salu && k != Kind::nop && k != Kind::branch;
    working = working || (shown && !syncs(k));
    if (k == Kind::mfma) s.matrix_clocks += matrix_clocks(i, r.arch);
    if (!shown) continue;
    ++s.letters[letter(k)];
    if (letters.empty() && syncs(k)) {
      const std::string what = k == Kind::barrier ? "B"
                               : i.wait           ? waits_text(std::span(&*i.wait, 1))
                                                  : std::string("w");
      waits += (waits.empty() ? "" : " ") + what;
    } else {
      letters += letter(k);
    }
  }
  close();
  return out;
}

/// 0 to 1: instructions in common.
double likeness(const Stretch& a, const Stretch& b) {
  double both = 0, all = 0;
  for (const auto& [l, n] : a.letters) {
    all += n;
    if (const auto at = b.letters.find(l); at != b.letters.end()) both += 2.0 * std::min(n, at->second);
  }
  for (const auto& [l, n] : b.letters) all += n;
  return all == 0 ? 1 : both / all;
}

/// The pairing, in order, with the most in common.
std::vector<StretchPair> align(const KernelReport& ra, const KernelReport& rb) {
  std::vector<Stretch> a, b;
  for (unsigned level = 0; level < 3; ++level) {
    a = stretches(ra, level), b = stretches(rb, level);
    if (std::max(a.size(), b.size()) <= page) break;
  }
  const std::size_t n = a.size(), m = b.size();
  std::vector<double> best((n + 1) * (m + 1), 0);
  const auto at = [&](std::size_t i, std::size_t k) -> double& { return best[i * (m + 1) + k]; };
  // Half of what they hold is enough to stand side by side.
  const auto worth = [&](std::size_t i, std::size_t k) { return likeness(a[i], b[k]) - 0.5; };
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t k = m; k-- > 0;)
      at(i, k) = std::max({at(i + 1, k), at(i, k + 1), at(i + 1, k + 1) + worth(i, k)});
  std::vector<StretchPair> out;
  for (std::size_t i = 0, k = 0; i < n || k < m;) {
    if (i < n && k < m && worth(i, k) >= 0 && at(i, k) == at(i + 1, k + 1) + worth(i, k))
      out.push_back({std::move(a[i++]), std::move(b[k++])});
    else if (k == m || (i < n && at(i, k) == at(i + 1, k)))
      out.push_back({std::move(a[i++]), {}});
    else
      out.push_back({{}, std::move(b[k++])});
  }
  return out;
}

// --- the table -------------------------------------------------------------------------------------------------

std::vector<Row> table(const KernelReport& a, const KernelReport& b) {
  std::vector<Row> rows;
  const auto add = [&](const char* name, const std::string& x, const std::string& y) {
    rows.push_back({name, x, y, x == y});
  };
  const auto each = [&](const char* name, auto value) { add(name, value(a), value(b)); };
  each("arch", [](const KernelReport& r) { return std::string(to_string(r.arch)); });
  each("workgroup", [](const KernelReport& r) { return number(r.resources.workgroup); });
  each("VGPR + AGPR used", [](const KernelReport& r) {
    return number(r.resources.vgprs_used) + " + " + number(r.resources.agprs_used);
  });
  each("vector registers reserved", [](const KernelReport& r) { return number(r.resources.vgprs_reserved); });
  each("SGPR used", [](const KernelReport& r) { return number(r.resources.sgprs_used); });
  each("LDS bytes", [](const KernelReport& r) { return number(r.resources.lds_bytes); });
  each("scratch bytes", [](const KernelReport& r) { return number(r.resources.scratch_bytes); });
  each("waves a SIMD", [](const KernelReport& r) { return number(r.resources.waves_per_simd); });
  each("instructions, bytes", [](const KernelReport& r) {
    return std::to_string(r.resources.instructions) + ", " + std::to_string(r.resources.code_bytes);
  });
  each("loops (with MFMA)", [](const KernelReport& r) {
    return std::to_string(r.loops) + " (" + std::to_string(r.matrix_loops) + ")";
  });
  const auto loop = [&](const char* name, auto value) {
    const auto text = [&](const KernelReport& r) { return r.hot ? value(*r.hot) : std::string("-"); };
    add(name, text(a), text(b));
  };
  loop("hot loop, instructions", [](const LoopReport& h) { return std::to_string(h.total()); });
  loop("  MFMA", [](const LoopReport& h) { return tally(h.matrix); });
  for (const auto& [name, kind] :
       {std::pair{"  VALU", Kind::valu}, {"  SALU", Kind::salu}, {"  scalar memory", Kind::smem}})
    loop(name, [k = kind](const LoopReport& h) { return number(h.count(k)); });
  loop("  LDS read", [](const LoopReport& h) { return tally(h.lds_reads); });
  loop("  LDS write", [](const LoopReport& h) { return tally(h.lds_writes); });
  loop("  load to LDS", [](const LoopReport& h) { return tally(h.loads_to_lds); });
  loop("  load", [](const LoopReport& h) { return tally(h.loads); });
  loop("  store", [](const LoopReport& h) { return tally(h.stores); });
  for (const auto& [name, kind] : {std::pair{"  waits", Kind::wait},
                                   {"  barriers", Kind::barrier},
                                   {"  setprio", Kind::priority},
                                   {"  nops", Kind::nop},
                                   {"  branches", Kind::branch}})
    loop(name, [k = kind](const LoopReport& h) { return number(h.count(k)); });
  loop("  MFMA clocks", [](const LoopReport& h) { return number(h.matrix_clocks); });
  loop("  issue clocks", [](const LoopReport& h) { return number(h.issue_clocks); });
  loop("  issue / MFMA", [](const LoopReport& h) { return number(h.issue_per_matrix(), 3); });
  loop("  outstanding vm, lgkm",
       [](const LoopReport& h) { return number(h.vm_outstanding) + ", " + number(h.lgkm_outstanding); });
  loop("  load to LDS, wait", [](const LoopReport& h) { return triplet(h.load_to_lds_cover); });
  loop("  load, first use", [](const LoopReport& h) { return triplet(h.load_use); });
  loop("  LDS read, use", [](const LoopReport& h) { return triplet(h.lds_use); });
  loop("  AGPR acc, src", [](const LoopReport& h) {
    return number(h.accumulators_in_agprs) + ", " + number(h.sources_in_agprs);
  });
  loop("  memory, LDS B/clk/CU", [](const LoopReport& h) {
    return number(h.memory_bytes_per_clock(), 1) + ", " + number(h.lds_bytes_per_clock(), 1);
  });
  return rows;
}

std::string padded(std::string s, std::size_t width) {
  s.resize(std::max(s.size() + 2, width), ' ');
  return s;
}

std::string shortened(const std::string& s, std::size_t most) {
  return s.size() <= most ? s : s.substr(0, most - 3) + "...";
}

} // namespace

std::string_view to_string(Verdict v) {
  static constexpr std::string_view names[] = {"pass", "FAIL", "?", "-"};
  return names[static_cast<std::size_t>(v)];
}

bool Comparison::passes() const {
  return std::none_of(criteria.begin(), criteria.end(),
                      [](const Criterion& c) { return c.verdict == Verdict::fails; });
}

Comparison compare(const KernelReport& candidate, const KernelReport& anchor, double tolerance) {
  Comparison c;
  c.candidate = short_name(candidate.name), c.anchor = short_name(anchor.name);
  c.rows = table(candidate, anchor);
  const Judge judge{candidate, anchor, tolerance, c.criteria};
  const auto matrix = [](const KernelReport& r) { return r.hot && r.hot->matrix_clocks != 0; };
  if (matrix(candidate) && matrix(anchor)) {
    judge_loops(judge);
    judge_kernels(judge);
  } else {
    const bool both = !matrix(candidate) && !matrix(anchor);
    judge.add(1, "work per MFMA clock", matrix(candidate) ? "loop" : "no loop with MFMA",
              matrix(anchor) ? "loop" : "no loop with MFMA", both ? Verdict::does_not_apply : Verdict::fails,
              both ? "no matrix instructions in a loop of either"
                   : "only one of them has a loop with matrix instructions");
  }
  std::size_t common = 0;
  const auto a = shapes(candidate), b = shapes(anchor);
  c.difference = difference(a, b, common);
  c.schedule = align(candidate, anchor);
  if (!a.empty() || !b.empty())
    c.similarity = 2.0 * static_cast<double>(common) / static_cast<double>(a.size() + b.size());
  return c;
}

std::string to_text(const Comparison& c) {
  constexpr std::size_t names = 32, column = 36;
  std::string out = padded("", names) + padded(shortened(c.candidate, column - 2), column) +
                    shortened(c.anchor, column - 2) + "\n";
  for (const Row& r : c.rows)
    out += padded(r.name, names) + padded(r.candidate, column) + r.anchor + (r.same ? "" : "  *") + "\n";
  out += "\ncriteria (per 1000 MFMA clocks where counted)\n";
  for (const Criterion& k : c.criteria) {
    out += padded((k.number < 10 ? " " : "") + std::to_string(k.number) + " " + k.name, names + 4) +
           padded(std::string(to_string(k.verdict)), 6) + k.candidate + "  |  " + k.anchor;
    out += k.why.empty() ? "\n" : "  (" + k.why + ")\n";
  }
  out += "\nhot loops share " + number(100 * c.similarity, 1) +
         " % of their instructions (registers left out)\n";
  const auto differs = [](const DiffLine& d) { return d.side != ' '; };
  if (std::count_if(c.difference.begin(), c.difference.end(), differs) <= static_cast<std::ptrdiff_t>(page)) {
    for (const DiffLine& d : c.difference)
      if (differs(d))
        out += std::string(1, d.side) + " " + d.text + (d.count > 1 ? " x" + std::to_string(d.count) : "") +
               "\n";
  }
  return out + schedule_text(c);
}

std::string schedule_text(const Comparison& c) {
  if (c.schedule.empty()) return {};
  constexpr std::size_t width = 58;
  const bool timed = std::any_of(c.schedule.begin(), c.schedule.end(), [](const StretchPair& p) {
    return (p.candidate && p.candidate->clocks) || (p.anchor && p.anchor->clocks);
  });
  const auto side = [&](const std::optional<Stretch>& s) {
    if (!s) return std::string();
    const std::string clocks = s->clocks ? number(*s->clocks, 0) : timed ? "-" : number(s->matrix_clocks);
    return std::string(clocks.size() < 5 ? 5 - clocks.size() : 0, ' ') + clocks + "  " + s->text;
  };
  std::string out = std::string("\nhot loops, cut at waits and barriers; ") +
                    (timed ? "modelled clocks" : "MFMA clocks") + " of each stretch\n";
  for (const StretchPair& p : c.schedule) {
    // The letters of a long stretch say little; its beginning says what it is.
    const std::string left = shortened(side(p.candidate), width), right = shortened(side(p.anchor), width);
    out += right.empty() ? left + "\n" : padded(left, width + 3) + right + "\n";
  }
  return out;
}

} // namespace inlay::runtime::isa
