// The paths of a workgroup's waves, and where they meet.
#include "symbolic/order_explorer.h"

namespace inlay::runtime::symbolic::exploring {
namespace {

constexpr std::size_t most_waiting = 1000;

} // namespace

void Explorer::spend(u64 steps) {
  report_.steps += steps;
  told_ += steps;
  if (options_.progress && told_ >= 10'000) options_.progress(std::exchange(told_, 0));
  if (options_.budget != 0 && report_.steps > options_.budget)
    throw Budget{"more than " + std::to_string(options_.budget) + " steps (--budget)"};
}

void Explorer::leaf(State& state) {
  const std::size_t n = state.waves.size();
  u32 most = 0;
  for (const WaveRun& r : state.waves) most = std::max(most, r.barriers);
  for (std::size_t a = 1; a < n; ++a) {
    const WaveRun& x = state.waves[0];
    const WaveRun& y = state.waves[a];
    if (x.barriers == y.barriers) continue;
    OrderFinding f;
    f.kind = OrderKind::barrier;
    f.wave = 0;
    f.other_wave = static_cast<u32>(a);
    f.message = "wave 0 executes " + std::to_string(x.barriers) + " barriers, wave " + std::to_string(a) +
                " " + std::to_string(y.barriers);
    find(state, f, x.machine.wave().current, y.machine.wave().current);
    break;
  }
  meet(state, most + 1);
}

/// Compares the accesses of intervals [checked, end) of all waves. An interval that every wave has left gets no more of them.
void Explorer::meet(State& state, u32 end) {
  if (state.checked >= end) return;
  const std::size_t n = state.waves.size();
  const u32 most = end - 1;
  const u32 base = state.checked;
  // Accesses by the intervals in which they may happen.
  std::vector<std::vector<std::vector<u32>>> live(n, std::vector<std::vector<u32>>(end - base));
  for (std::size_t a = 0; a < n; ++a) {
    const WaveRun& r = state.waves[a];
    for (u32 k = 0; k < r.trace.size(); ++k) {
      const u32 last = std::min(r.trace[k].done, most);
      for (u32 i = std::max(r.trace[k].issue, base); i <= last; ++i) live[a][i - base].push_back(k);
    }
  }
  state.checked = end;
  for (u32 i = 0; i < end - base; ++i) {
    for (std::size_t a = 0; a + 1 < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        for (const u32 p : live[a][i]) {
          const Access& x = state.waves[a].trace[p];
          for (const u32 q : live[b][i]) {
            const Access& y = state.waves[b].trace[q];
            if ((!x.write && !y.write) || (x.atomic && y.atomic)) continue;
            ++report_.pairs;
            if (!overlap(x.footprint, y.footprint)) continue;
            // The one that began later is the one that is wrong.
            const bool x_later = x.issue != y.issue ? x.issue > y.issue : x.site > y.site;
            const Access& late = x_later ? x : y;
            const Access& early = x_later ? y : x;
            OrderFinding f;
            f.kind = OrderKind::race;
            f.wave = static_cast<u32>(x_later ? a : b);
            f.other_wave = static_cast<u32>(x_later ? b : a);
            // One instruction that several waves execute may write the same value twice: Triton has waves that hold a tensor twice
            // write it twice. What is written is not compared here.
            const bool twice = x.write && y.write && x.site == y.site && !x.atomic;
            f.conditional = x.maybe || y.maybe || twice;
            const auto key = findings_.find({f.kind, late.site, early.site});
            if (key != findings_.end() && (!key->second.conditional || f.conditional)) continue;
            const Footprint& fl = footprints_[late.footprint];
            const Footprint& fe = footprints_[early.footprint];
            [&] {
              for (u64 m = fl.mask; m != 0; m &= m - 1) {
                const auto l = static_cast<unsigned>(std::countr_zero(m));
                for (u64 k = fe.mask; k != 0; k &= k - 1) {
                  const auto e = static_cast<unsigned>(std::countr_zero(k));
                  for (unsigned s = 0; s < (fl.two ? 2U : 1U); ++s)
                    for (unsigned v = 0; v < (fe.two ? 2U : 1U); ++v) {
                      const u32 lo =
                          std::max(s == 0 ? fl.first[l] : fl.second[l], v == 0 ? fe.first[e] : fe.second[e]);
                      const u32 hi = std::min((s == 0 ? fl.first[l] : fl.second[l]) + fl.bytes,
                                              (v == 0 ? fe.first[e] : fe.second[e]) + fe.bytes);
                      if (lo < hi) {
                        f.lane = l;
                        f.other_lane = e;
                        f.byte = lo;
                        return;
                      }
                    }
                }
              }
            }();
            const std::string how = early.issue == late.issue ? "no barrier between"
                                    : early.done == open_end
                                        ? "which nothing covers before the barrier between them"
                                        : "whose wait comes after the barrier between them";
            f.message =
                std::string("wave ") + std::to_string(f.wave) + " " + (late.write ? "writes" : "reads") +
                " LDS byte " + std::to_string(f.byte) + ", which wave " + std::to_string(f.other_wave) + " " +
                (early.write ? "writes" : "reads") + " with '" + instruction(early.site).text + "', " + how +
                (twice ? "; no race where both write the same, which is not known" : "");
            find(state, f, late.site, early.site);
          }
        }
      }
    }
  }
}

void Explorer::explore(State first) {
  std::vector<State> stack;
  stack.push_back(std::move(first));
  while (!stack.empty()) {
    State state = std::move(stack.back());
    stack.pop_back();
    // All waves go as far as what has been decided takes them, so that what they share is executed once.
    Term question = 0;
    u32 left = open_end;
    for (std::size_t k = 0; k < state.waves.size(); ++k) {
      WaveRun& run = state.waves[k];
      Term asked = 0;
      if (!run.ended && !run.cut && !run.looped && advance(state, k, asked) == Stop::fork) {
        if (state.waves.size() > 1 && run.optional.empty() && !shared_ahead(run.machine.wave().at)) {
          State alone;
          alone.path = state.path;
          alone.decided = state.decided;
          alone.ranges = state.ranges;
          alone.depth = state.depth;
          alone.checked = open_end;
          alone.waves.push_back(run);
          alone.waves[0].home.reset();
          alone.waves[0].start.reset();
          alone.waves[0].trace.clear();
          for (Pending& p : alone.waves[0].pending) p.access = open_end;
          stack.push_back(std::move(alone));
          run.ended = true;
        } else if (question == 0) {
          question = asked;
        }
      }
      left = std::min(left, run.barriers);
    }
    const u64 before = report_.pairs;
    meet(state, left);
    spend((report_.pairs - before) / pairs_a_step);
    if (question != 0) {
      spend(step_copy * state.waves.size());
      State other = state;
      assume(other, question, false);
      assume(state, question, true);
      stack.push_back(std::move(other));
      stack.push_back(std::move(state));
      // Each holds the registers of its waves, some megabytes: a loop that is entered in its middle has no head to stop at.
      if (stack.size() * stack.back().waves.size() > most_waiting)
        throw Budget{"more than " + std::to_string(most_waiting) + " waves wait at forks"};
      continue;
    }
    if (state.waves.size() == 1 && state.checked == open_end &&
        std::none_of(state.waves.begin(), state.waves.end(), [](const WaveRun& r) { return r.cut; }))
      continue; // a wave by itself has nothing to be compared with
    if (++report_.paths > options_.max_paths)
      throw Budget{"more than " + std::to_string(options_.max_paths) + " paths"};
    const auto count = [&](bool WaveRun::*what) {
      return static_cast<std::size_t>(
          std::count_if(state.waves.begin(), state.waves.end(), [&](const WaveRun& r) { return r.*what; }));
    };
    const std::size_t cut = count(&WaveRun::cut);
    const std::size_t looped = count(&WaveRun::looped);
    if (cut != 0) {
      if (looped != 0) {
        undecided("waves leave a loop at different trips");
      } else {
        abstract(state);
      }
    } else if (looped != 0) {
      // Around once more: all of them, with as many barriers each.
      std::optional<u32> barriers;
      for (const WaveRun& r : state.waves) {
        if (!r.looped) {
          if (r.start) undecided("some waves stay in a loop that others leave");
          continue;
        }
        const u32 e = r.barriers - r.start->run.barriers;
        if (barriers && *barriers != e) undecided("waves execute different numbers of barriers in a trip");
        barriers = e;
      }
    } else {
      leaf(state);
    }
  }
}

OrderReport Explorer::run() {
  const u32 threads = static_cast<u32>(options_.block.count());
  report_.waves = (threads + lanes - 1) / lanes;
  if (flow_.leaves_program) undecided("the code jumps to an address that is computed");
  State first;
  try {
    for (u32 k = 0; k < report_.waves; ++k) {
      first.waves.emplace_back(Machine(setting_, k));
      if (shared_from_the_start() && k + 1 < report_.waves) continue;
      // Where no wave meets another each has its own paths; with all of them in one state their numbers would multiply.
      if (!shared_from_the_start()) first.checked = open_end;
      explore(std::exchange(first, State()));
    }
  } catch (const Budget& b) {
    undecided(b.why);
  } catch (const Enough&) {
    undecided("stopped at the first violation");
  } catch (const ExecutionError& e) {
    undecided(e.what());
  } catch (const TooLarge& e) {
    undecided(e.what());
  }
  for (const u32 at : stores_)
    if (told_by_read_only_)
      undecided("the store at " + place(at) +
                " may write memory that is taken as unchanged: it is by no other argument");
  for (auto& [key, f] : findings_) report_.findings.push_back(std::move(f));
  for (const auto& [key, f] : setting_.launch.findings) {
    OrderFinding note;
    note.kind = OrderKind::hazard;
    note.address = note.other_address = f.address;
    note.text = f.disassembly;
    note.wave = f.wave;
    note.message = f.message;
    report_.notes.push_back(std::move(note));
  }
  for (const auto& [why, more] : reasons_) report_.undecided.push_back(why + more);
  report_.global_sites = global_sites_.size();
  report_.lds_sites = lds_sites_.size();
  const bool sure = std::any_of(report_.findings.begin(), report_.findings.end(),
                                [](const OrderFinding& f) { return !f.conditional; });
  report_.verdict = sure                                                    ? Verdict::refuted
                    : report_.undecided.empty() && report_.findings.empty() ? Verdict::validated
                                                                            : Verdict::undecided;
  report_.rounds_to_nearest = setting_.rounds_to_nearest();
  report_.terms = std::make_shared<Terms>(std::move(setting_.terms));
  return std::move(report_);
}

} // namespace inlay::runtime::symbolic::exploring

namespace inlay::runtime::symbolic {

std::string_view to_string(OrderKind kind) {
  static constexpr std::string_view names[] = {"race", "own", "wait", "barrier", "bounds", "hazard"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Verdict verdict) {
  static constexpr std::string_view names[] = {"validated", "refuted", "undecided"};
  return names[static_cast<std::size_t>(verdict)];
}

Extent3 default_block(const Kernel& kernel) {
  if (kernel.required_workgroup.size() == 3)
    return {kernel.required_workgroup[0], kernel.required_workgroup[1], kernel.required_workgroup[2]};
  return {kernel.max_flat_workgroup_size, 1, 1};
}

OrderReport check_order(const CodeObject& object, const Kernel& kernel, const OrderOptions& options,
                        bool record) {
  OrderOptions o = options;
  if (o.block.x == 0) o.block = default_block(kernel);
  if (o.trips < 5)
    throw std::invalid_argument("validate: " + std::to_string(o.trips) +
                                " trips are too few for an invariant; at least 5");
  if (o.block.count() == 0 || o.block.count() > kernel.max_flat_workgroup_size)
    throw std::invalid_argument("validate: a block of " + std::to_string(o.block.count()) + " work-items; " +
                                kernel.name + " allows 1 to " +
                                std::to_string(kernel.max_flat_workgroup_size));
  // Deep pipelines take more trips to forget how they began.
  for (;;) {
    exploring::Explorer explorer(object, kernel, o, record);
    OrderReport report = explorer.run();
    const bool loops =
        std::any_of(report.undecided.begin(), report.undecided.end(),
                    [](const std::string& why) { return why.starts_with("loop: no invariant"); });
    if (!loops || report.verdict == Verdict::refuted || o.trips >= 2 * options.trips) return report;
    if (o.budget != 0 && report.steps >= o.budget) return report;
    if (o.budget != 0) o.budget -= report.steps;
    o.trips *= 2;
  }
}

} // namespace inlay::runtime::symbolic
