// Loops: the state at a head, relative to now, and what of it changes in a period.
#include "symbolic/order_explorer.h"

namespace inlay::runtime::symbolic::exploring {

/// What is in flight and what other waves may still meet, relative to now.
std::string Explorer::signature(const WaveRun& run, u32 slack) {
  std::string s;
  const auto put = [&](u64 v) { s += std::to_string(v) + ","; };
  for (const Pending& p : run.pending) {
    put(static_cast<u64>(p.op - setting_.code->operations.data()));
    put(p.counters);
    put(p.access == open_end ? 0 : u64{run.barriers} - run.trace[p.access].issue + 1);
  }
  // What is done is met or not met by others whatever its number and order.
  std::set<std::array<u64, 4>> met;
  for (const Access& a : run.trace) {
    if (a.done != open_end && a.done + slack + 1 < run.barriers) continue;
    met.insert({a.site, a.footprint, u64{run.barriers} - a.issue,
                a.done == open_end ? open_end : u64{run.barriers} - a.done});
  }
  s += "|";
  for (const auto& m : met)
    for (const u64 v : m) put(v);
  return s;
}

/// Whether a head is as the other one, but for registers. `growing`: of what is in flight more may have come after it: where that is taken for
/// as little as at the first head, a wait covers no more than it does in any trip.
bool Explorer::repeats(const WaveRun& from, const WaveRun& to, u32 slack, bool growing) {
  if (signature(from, slack) != signature(to, slack)) return false;
  for (std::size_t k = 0; k < from.pending.size(); ++k) {
    const u32 a = std::min(from.pending[k].after, 64U), b = std::min(to.pending[k].after, 64U);
    if (growing ? b < a : a != b) return false;
  }
  return true;
}

void Explorer::compare(const WaveRun& from, const WaveRun& to, Varying& v, bool first) {
  // Copies, because reading a register may add a term.
  Machine a = from.machine;
  Machine b = to.machine;
  const auto difference = [&](Term x, Term y) -> std::optional<u64> {
    const Term d = t().subtract(y, x);
    return d == Terms::unknown ? std::nullopt : t().value(d);
  };
  const auto free_scalar = [&](u32 r) {
    v.scalar[r] = std::nullopt;
    refined_ = true;
  };
  if (first) {
    for (u32 r = 0; r < 128; ++r) {
      const Term x = a.scalar(r);
      const Term y = b.scalar(r);
      if (x == y) continue; // unknown on both sides stays unknown
      const auto step = difference(x, y);
      v.scalar[r] = step ? std::optional<u32>(static_cast<u32>(*step)) : std::nullopt;
      const auto low = r == 0 ? v.scalar.end() : v.scalar.find(r - 1);
      if (low != v.scalar.end() && !step && !v.scalar_pair.contains(r - 2)) {
        if (const auto wide = difference(a.scalar64(r - 1), b.scalar64(r - 1))) v.scalar_pair[r - 1] = *wide;
      }
    }
    v.scc = a.scc() != b.scc();
    for (u32 row = 0; row < vector_rows; ++row) {
      if (a.surely_same(b, row)) continue;
      for (unsigned l = 0; l < lanes; ++l) {
        const Term x = a.vector(row, l);
        const Term y = b.vector(row, l);
        if (x == y) continue;
        const u64 bit = u64{1} << l;
        Varying::Row& r = v.row[row];
        r.varies |= bit;
        if (const auto step = difference(x, y)) {
          r.step[l] = *step;
          continue;
        }
        r.any |= bit;
        const auto low = row == 0 ? v.row.end() : v.row.find(row - 1);
        if (low == v.row.end() || (low->second.varies & bit) == 0) continue;
        if (const auto wide =
                difference(t().join(a.vector(row - 1, l), x), t().join(b.vector(row - 1, l), y))) {
          low->second.pair |= bit;
          low->second.any &= ~bit;
          low->second.step[l] = *wide;
          r.any &= ~bit;
          r.step[l] = 0;
        }
      }
    }
    return;
  }
  for (u32 r = 0; r < 128; ++r) {
    if (v.scalar_pair.contains(r)) {
      if (difference(a.scalar64(r), b.scalar64(r)) != v.scalar_pair[r]) {
        v.scalar_pair.erase(r);
        free_scalar(r);
        free_scalar(r + 1);
      }
      ++r; // both words
      continue;
    }
    const Term x = a.scalar(r);
    const Term y = b.scalar(r);
    const auto old = v.scalar.find(r);
    if (old == v.scalar.end()) {
      if (x != y) free_scalar(r);
    } else if (old->second && difference(x, y) != u64{*old->second}) {
      free_scalar(r);
    }
  }
  if (!v.scc && a.scc() != b.scc()) v.scc = refined_ = true;
  for (u32 row = 0; row < vector_rows; ++row) { // the wide numbers of the row before are looked at there
    const auto at = v.row.find(row);
    if (at == v.row.end() && a.surely_same(b, row)) continue;
    const auto before = row == 0 ? v.row.end() : v.row.find(row - 1);
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 bit = u64{1} << l;
      if (at != v.row.end() && (at->second.any & bit) != 0) continue;
      if (before != v.row.end() && (before->second.pair & bit) != 0 && (before->second.any & bit) == 0)
        continue; // its high word
      const Term x = a.vector(row, l);
      const Term y = b.vector(row, l);
      const bool varies = at != v.row.end() && (at->second.varies & bit) != 0;
      bool same = false;
      if (!varies) {
        same = x == y;
      } else if ((at->second.pair & bit) != 0) {
        same = difference(t().join(x, a.vector(row + 1, l)), t().join(y, b.vector(row + 1, l))) ==
               at->second.step[l];
        if (!same) {
          v.row[row + 1].any |= bit;
          v.row[row + 1].varies |= bit;
        }
      } else {
        same = difference(x, y) == (at->second.step[l] & 0xffffffffU);
      }
      if (!same) {
        v.row[row].varies |= bit;
        v.row[row].any |= bit;
        refined_ = true;
      }
    }
  }
}

/// The wave is back at its loop's head: the state must be of the form that it started from, one period on.
void Explorer::check_home(State& state, WaveRun& run, std::size_t wave) {
  compare(run.start->run, run, (*varying_)[wave], false);
  if (refined_) throw Refine{};
  u32 slack = 0;
  for (const WaveRun& o : state.waves)
    if (o.start)
      slack = std::max(slack, std::max(o.start->run.barriers, run.start->run.barriers) -
                                  std::min(o.start->run.barriers, run.start->run.barriers));
  if (!repeats(run.start->run, run, slack, run.home->growing))
    throw NoInvariant{"what is in flight at the head of the loop at " + place(run.home->head) +
                      " does not repeat"};
}

void Explorer::abstract(State& state) {
  if (state.depth >= 8) {
    undecided("loops inside loops deeper than are followed");
    return;
  }
  // One abstract run a loop and what is fixed there is enough for all paths that reach the loop in the same form; which
  // form it is, is seen from the heads and from what is in flight.
  std::string why = "the state at the loop's head does not repeat";
  for (u32 way = 0; way < 8; ++way) {
    const u32 period = way % 4 + 1;
    const bool growing = way >= 4;
    std::vector<Varying> varying(state.waves.size());
    bool possible = true;
    for (std::size_t k = 0; k < state.waves.size() && possible; ++k) {
      const WaveRun& r = state.waves[k];
      if (!r.cut) continue;
      const auto& kept = r.snapshots.at(r.cut_head);
      possible = kept.size() > period;
      if (!possible) break;
      const WaveRun& from = kept[kept.size() - 1 - period]->run;
      const WaveRun& to = kept.back()->run;
      if (!repeats(from, to, 2, growing)) {
        why = "what is in flight at the head of the loop at " + place(r.cut_head) + " does not repeat";
        possible = false;
        break;
      }
      compare(from, to, varying[k], true);
    }
    if (!possible) continue;
    for (unsigned attempt = 0; attempt < 16; ++attempt) {
      State next;
      next.path = state.path;
      next.decided = state.decided;
      next.ranges = state.ranges;
      next.depth = state.depth + 1;
      const Term u = t().symbol(
          "periods." + std::to_string(state.depth) + "." + std::to_string(report_.loops), 0x7fffffffU);
      for (std::size_t k = 0; k < state.waves.size(); ++k) {
        const WaveRun& r = state.waves[k];
        if (!r.cut) {
          next.waves.push_back(r);
          continue;
        }
        const auto& kept = r.snapshots.at(r.cut_head);
        WaveRun copy = kept[kept.size() - 1 - period]->run;
        copy.machine.wave().at = r.cut_head;
        const Varying& v = varying[k];
        const std::string tag =
            "." + std::to_string(k) + "." + std::to_string(state.depth) + "." + std::to_string(report_.loops);
        for (const auto& [reg, step] : v.scalar) {
          if (v.scalar_pair.contains(reg) || (reg > 0 && v.scalar_pair.contains(reg - 1))) continue;
          copy.machine.set_scalar(
              reg, step ? t().add(copy.machine.scalar(reg), t().multiply(u, t().constant(*step)))
                        : t().symbol("any.s" + std::to_string(reg) + tag));
        }
        for (const auto& [reg, step] : v.scalar_pair) {
          const Term now =
              t().add(copy.machine.scalar64(reg), t().multiply(t().zext(u), t().wide_constant(step)));
          copy.machine.set_scalar(reg, t().low(now));
          copy.machine.set_scalar(reg + 1, t().high(now));
        }
        if (v.scc) copy.machine.set_scc(t().symbol("any.scc" + tag, 1));
        u64 high_words = 0; // lanes that the row before has made
        for (const auto& [row, rows] : v.row) {
          const auto before = row == 0 ? v.row.end() : v.row.find(row - 1);
          high_words = before == v.row.end() ? 0 : before->second.pair & ~before->second.any;
          for (u64 m = rows.varies & ~high_words; m != 0; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            const u64 bit = u64{1} << l;
            if ((rows.any & bit) != 0) {
              copy.machine.set_vector(row, l, Terms::unknown);
            } else if ((rows.pair & bit) != 0) {
              const Term wide = t().join(copy.machine.vector(row, l), copy.machine.vector(row + 1, l));
              const Term now = t().add(wide, t().multiply(t().zext(u), t().wide_constant(rows.step[l])));
              copy.machine.set_vector(row, l, t().low(now));
              copy.machine.set_vector(row + 1, l, t().high(now));
            } else {
              const Term step = t().constant(static_cast<u32>(rows.step[l]));
              copy.machine.set_vector(row, l, t().add(copy.machine.vector(row, l), t().multiply(u, step)));
            }
          }
        }
        std::map<u32, u32> steps;
        for (const auto& [site, times] : kept.back()->run.executed) {
          const auto before = copy.executed.find(site);
          steps[site] = times - (before == copy.executed.end() ? 0 : before->second);
        }
        copy.steps.emplace_back(u, std::move(steps));
        copy.cut = false;
        copy.visits[r.cut_head] = 0;
        copy.home = Home{r.cut_head, period + 1, period, growing};
        copy.snapshots.clear();
        copy.start = std::make_shared<const Snapshot>(Snapshot{copy});
        next.waves.push_back(std::move(copy));
      }
      next.checked = open_end;
      if (state.checked != open_end)
        for (const WaveRun& r : next.waves) next.checked = std::min(next.checked, r.barriers);
      std::vector<Varying>* outer = varying_;
      varying_ = &varying;
      refined_ = false;
      const auto kept_reasons = reasons_;
      const auto kept_findings = findings_;
      try {
        explore(std::move(next));
        varying_ = outer;
        ++report_.loops;
        return;
      } catch (const Refine&) {
        varying_ = outer;
        reasons_ = kept_reasons;
        findings_ = kept_findings;
        for (std::size_t k = 1; k < varying.size(); ++k) varying[0].widen(varying[k]);
        for (std::size_t k = 1; k < varying.size(); ++k) varying[k].widen(varying[0]);
        continue;
      } catch (const NoInvariant& e) {
        varying_ = outer;
        reasons_ = kept_reasons;
        findings_ = kept_findings;
        why = e.why;
        break;
      }
    }
  }
  undecided("loop: no invariant with a period of 1 to 4 trips: " + why);
}

} // namespace inlay::runtime::symbolic::exploring
