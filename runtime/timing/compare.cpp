// Criteria of a comparison that need addresses and time.
#include <inlay/runtime/timing/compare.h>

#include <algorithm>
#include <cstdio>

namespace inlay::runtime::timing {
namespace {

/// Per 1000 matrix clocks: differences below a hundredth of the pipe are the model's noise.
constexpr double noise = 10;

std::string number(double v, int digits = 0) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, v);
  return text;
}

std::string mib(double bytes) { return number(bytes / 1048576, 1) + " MiB"; }

double at(const std::array<double, causes>& spent, Cause c) { return spent[static_cast<std::size_t>(c)]; }

/// Clocks of each stretch, from the clocks at which they begin. Which of several copies of the loop the machine code was
/// compared by is found by its instructions.
void put_clocks(isa::Comparison& c, bool candidate, const Modelled& m) {
  for (const LoopTime& loop : m.report.loops) {
    const auto begins = issue_clocks_of_trip(m, loop);
    std::vector<isa::Stretch*> known;
    for (auto& pair : c.schedule) {
      auto& s = candidate ? pair.candidate : pair.anchor;
      if (s && begins.contains(static_cast<std::uint32_t>(s->first))) known.push_back(&*s);
    }
    if (known.empty()) continue;
    const auto begin = [&](const isa::Stretch* s) { return begins.at(static_cast<std::uint32_t>(s->first)); };
    for (std::size_t i = 0; i < known.size(); ++i)
      known[i]->clocks =
          (i + 1 < known.size() ? begin(known[i + 1]) : loop.clocks_per_trip + begin(known[0])) -
          begin(known[i]);
    return;
  }
}

} // namespace

LaunchFigures figures(const Modelled& m) {
  LaunchFigures f;
  const UnitResult& u = m.report.unit;
  const double scale = m.report.workgroups == 0 ? 0
                                                : static_cast<double>(m.plan.workgroups) /
                                                      static_cast<double>(m.report.workgroups);
  double matrix = 0;
  for (const std::uint64_t clocks : u.matrix_clocks) matrix += static_cast<double>(clocks);
  f.matrix_clocks = matrix * scale;
  f.clocks = m.chip.clocks;
  f.lds_clocks = static_cast<double>(u.lds_clocks) * scale;
  f.l1_bytes = static_cast<double>(u.lines - u.l1_hits) * 128 * scale;
  f.l2_bytes = static_cast<double>(u.mall_hits + u.hbm_lines) * 128 * scale / std::max(1.0, m.sharing.l2);
  if (matrix > 0) f.conflicts = 1000 * static_cast<double>(u.lds_conflict_clocks) / matrix;
  if (const LoopTime* hot = m.report.hot(); hot != nullptr && hot->matrix_clocks > 0) {
    const double per = 1000 / hot->matrix_clocks;
    f.wait_memory = at(hot->spent, Cause::vmcnt) * per;
    f.wait_lds = at(hot->spent, Cause::lgkmcnt) * per;
    f.queued = (at(hot->spent, Cause::lds_queue) + at(hot->spent, Cause::address_unit) +
                at(hot->spent, Cause::arbitration)) *
               per;
  }
  return f;
}

std::map<std::uint32_t, double> issue_clocks_of_trip(const Modelled& m, const LoopTime& loop) {
  std::map<std::uint32_t, double> out;
  for (const WaveTimeline& w : m.report.unit.waves) {
    std::vector<std::uint32_t> begins;
    for (const Mark& k : w.marks)
      if (k.instruction == loop.header) begins.push_back(k.clock);
    if (begins.size() < 2) continue;
    // The last trip has no end to be measured by.
    const std::uint32_t first = begins[begins.size() > 4 ? 1 : 0], last = begins.back();
    std::map<std::uint32_t, std::pair<double, double>> sums;
    std::size_t trip = 0;
    for (const Segment& s : w.segments) {
      if (s.begin < first || s.begin >= last || s.cause > Cause::control) continue;
      while (trip + 1 < begins.size() && begins[trip + 1] <= s.begin) ++trip;
      auto& sum = sums[s.instruction];
      sum.first += s.begin - begins[trip];
      ++sum.second;
    }
    for (const auto& [instruction, sum] : sums) out[instruction] = sum.first / sum.second;
    return out;
  }
  return out;
}

void judge(isa::Comparison& c, const Modelled& candidate, const Modelled& anchor, double tolerance) {
  const LaunchFigures a = figures(candidate), b = figures(anchor);
  const auto criterion = [&](unsigned n) -> isa::Criterion* {
    const auto k = std::find_if(c.criteria.begin(), c.criteria.end(),
                                [n](const isa::Criterion& x) { return x.number == n; });
    return k == c.criteria.end() ? nullptr : &*k;
  };
  const auto decide = [](isa::Criterion& k, bool pass, const std::string& why) {
    k.verdict = pass ? isa::Verdict::passes : isa::Verdict::fails;
    k.why = pass ? std::string() : why;
  };
  const auto no_more = [&](double ours, double theirs, double slack) {
    return ours <= theirs * (1 + tolerance) + slack;
  };
  if (isa::Criterion* k = criterion(6)) {
    const auto text = [](const LaunchFigures& f) {
      return "; waits " + number(f.wait_memory) + " memory, " + number(f.wait_lds) + " LDS";
    };
    k->candidate += text(a), k->anchor += text(b);
    decide(*k, no_more(a.wait_memory + a.wait_lds, b.wait_memory + b.wait_lds, noise),
           "more clocks wait with an idle matrix pipe");
  }
  if (isa::Criterion* k = criterion(8)) {
    k->candidate = number(a.conflicts) + " clocks of conflicts", k->anchor = number(b.conflicts);
    decide(*k, no_more(a.conflicts, b.conflicts, 1), "more bank conflicts");
  }
  if (isa::Criterion* k = criterion(11)) {
    k->candidate += ", " + number(a.queued) + " clocks queued", k->anchor += ", " + number(b.queued);
    if (k->verdict != isa::Verdict::does_not_apply)
      decide(*k, no_more(a.queued, b.queued, noise), "waves reach LDS and memory at the same time");
  }
  if (isa::Criterion* k = criterion(12)) {
    const auto text = [](const LaunchFigures& f) {
      return "; launch: LDS " + number(f.lds_clocks) + " clk, " + mib(f.l1_bytes) + " from L1 on";
    };
    k->candidate += text(a), k->anchor += text(b);
    decide(*k, no_more(a.lds_clocks, b.lds_clocks, 0) && no_more(a.l1_bytes, b.l1_bytes, 0),
           "more traffic for the same work");
  }
  if (isa::Criterion* k = criterion(14)) {
    k->candidate = mib(a.l2_bytes), k->anchor = mib(b.l2_bytes);
    decide(*k, no_more(a.l2_bytes, b.l2_bytes, 0), "the L2 caches fetch more");
  }
  isa::Criterion* time = criterion(15);
  if (time == nullptr) time = &c.criteria.emplace_back(); // kernels without matrix instructions
  time->number = 15;
  time->name = "time, modelled";
  time->candidate = number(a.clocks) + " clocks", time->anchor = number(b.clocks);
  decide(*time, no_more(a.clocks, b.clocks, 0), "more clocks for the launch");
  put_clocks(c, true, candidate);
  put_clocks(c, false, anchor);
}

} // namespace inlay::runtime::timing
