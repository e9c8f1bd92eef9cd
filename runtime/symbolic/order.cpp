// All waves of a workgroup along every path, what each has in flight, and which accesses meet.
#include "symbolic/machine.h"

#include <inlay/runtime/symbolic/order.h>
#include <inlay/runtime/symbolic/witness.h>

#include <inlay/runtime/isa/control_flow.h>
#include <inlay/runtime/isa/instruction_facts.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

namespace inlay::runtime::symbolic {

using emulator::Class;
using emulator::exec_lo;
using emulator::m0;
using emulator::MemoryFields;
using emulator::RowRange;
using FieldKind = MemoryFields::Kind;
using Space = MemoryFields::Space;

namespace {

constexpr u32 open_end = 0xffffffffU;

std::string hex(u64 v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

// ---- what an LDS access touches -------------------------------------------------------------------------------------

struct Footprint {
  u64 mask = 0;
  u8 bytes = 0;
  bool two = false;
  std::array<u32, lanes> first{}, second{};
  std::vector<std::pair<u32, u32>> ranges; ///< [begin, end), ascending, merged
  bool operator==(const Footprint& o) const {
    if (mask != o.mask || bytes != o.bytes || two != o.two) return false;
    for (u64 m = mask; m != 0; m &= m - 1) {
      const auto l = static_cast<std::size_t>(std::countr_zero(m));
      if (first[l] != o.first[l] || (two && second[l] != o.second[l])) return false;
    }
    return true;
  }
};

struct Access {
  u32 site = 0;
  u32 footprint = 0;
  bool write = false, read = false, atomic = false, dma = false, maybe = false;
  u32 issue = 0;       ///< barriers before
  u32 done = open_end; ///< barriers before what covers it
};

enum : u8 { on_vm = 1, on_lgkm = 2 };

/// A memory instruction that no wait has covered.
struct Pending {
  const Operation* op = nullptr;
  u32 access = open_end; ///< in the trace, when it touches LDS
  u8 counters = 0;
  bool ordered = true; ///< in an in-order queue; else only 0 covers it
  u32 after = 0;       ///< later ones of that queue, at least
};

/// A stretch that is skipped when no lane is active.
struct Optional {
  u32 end = 0; ///< index of the first instruction after it
  Term taken = 0;
  std::vector<Pending> pending;
  std::array<Term, 130> scalar{};
};

struct Snapshot;

/// The state that a loop comes back to.
struct Home {
  u32 head = 0;
  u32 visit = 0; ///< of the arrival at which the state must be of the same form
  u32 period = 0;
};

struct WaveRun {
  Machine machine;
  std::vector<Access> trace;
  std::vector<Pending> pending;
  std::vector<Optional> optional;
  u32 barriers = 0;
  u32 choices = 0;
  std::map<u32, u32> visits;                              ///< arrivals at heads of loops
  std::map<u32, u32> open_at_visit;                       ///< conditions decided by then
  std::map<u32, u32> numbered;                            ///< trips in a row that numbers decided
  u32 opened = 0;                                         ///< conditions that were not numbers
  std::map<u32, u32> executed;                            ///< per memory instruction
  std::vector<std::pair<Term, std::map<u32, u32>>> steps; ///< how many more a period of a loop
  std::map<u32, std::vector<std::shared_ptr<const Snapshot>>> snapshots;
  bool ended = false, cut = false, looped = false;
  u32 cut_head = 0;
  std::optional<Home> home;
  std::shared_ptr<const Snapshot> start; ///< of the abstract run
  explicit WaveRun(Machine m) : machine(std::move(m)) {}
};

struct Snapshot {
  WaveRun run;
};

/// Values that a word may have, as disjoint ranges: what conditions against constants leave.
using Ranges = std::vector<std::pair<u32, u32>>; // inclusive

struct State {
  std::vector<WaveRun> waves;
  std::vector<std::pair<Term, bool>> path;
  std::map<Term, bool> decided;
  std::map<Term, Ranges> ranges;
  unsigned depth = 0; ///< of abstraction
  u32 checked = 0;    ///< intervals between barriers of which all accesses have been compared
};

struct Refine {}; ///< an abstract run did not come back to its form: the set of what varies has grown
struct NoInvariant {
  std::string why;
};
struct Budget {
  std::string why;
};
struct Enough {}; ///< one violation was asked for

/// How the registers of a wave change from one period of a loop to the next; what is not here stays.
struct Varying {
  std::map<u32, std::optional<u32>> scalar; ///< register -> step; none: anything
  std::map<u32, u64> scalar_pair;           ///< register -> step of the wide number in it and the next
  struct Row {
    u64 varies = 0, any = 0, pair = 0; ///< lanes; `pair`: low word of a wide number
    std::array<u64, lanes> step{};
  };
  std::map<u32, Row> row;
  bool scc = false;

  /// Everything that may be anything in `other` may be here.
  void widen(const Varying& other) {
    for (const auto& [r, step] : other.scalar)
      if (!step) {
        scalar[r] = std::nullopt;
        scalar_pair.erase(r);
        if (r > 0) scalar_pair.erase(r - 1);
      }
    for (const auto& [r, o] : other.row) {
      if (o.any == 0) continue;
      Row& mine = row[r];
      mine.varies |= o.any;
      mine.any |= o.any;
    }
    scc = scc || other.scc;
  }
};

class Explorer {
public:
  Explorer(const CodeObject& object, const Kernel& kernel, const OrderOptions& options, bool record)
      : options_(options), record_(record), setting_(object, kernel, options.block, options.dynamic_lds),
        flow_(isa::control_flow(setting_.program, setting_.program.instructions[setting_.entry].address)) {
    setting_.terms.at_most(options.max_bytes);
    setting_.segment = options.arguments;
    for (const isa::Loop& l : flow_.loops) heads_.insert(static_cast<u32>(flow_.blocks[l.header].first));
    // From where a wave may still meet others: after that, its paths are nobody else's business.
    shared_.assign(flow_.blocks.size(), false);
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b)
      for (std::size_t k = flow_.blocks[b].first; k <= flow_.blocks[b].last; ++k) {
        const Operation& op = operation(static_cast<u32>(k));
        shared_[b] = shared_[b] || op.cls == Class::lds || op.memory.kind == FieldKind::to_lds ||
                     (op.cls == Class::memory && op.memory.space == Space::flat) ||
                     op.instruction->mnemonic == "s_barrier";
      }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < flow_.blocks.size(); ++b)
        for (const std::size_t next : flow_.blocks[b].successors)
          if (shared_[next] && !shared_[b]) shared_[b] = changed = true;
    }
  }

  OrderReport run();

private:
  enum class Stop { ended, cut, looped, fork };

  Terms& t() { return setting_.terms; }
  const Operation& operation(u32 index) const { return setting_.code->operations[index]; }
  const isa::Instruction& instruction(u32 site) const { return *operation(site).instruction; }

  void explore(State state);
  Stop advance(State& state, std::size_t wave, Term& question);
  [[nodiscard]] bool is_plain_stretch(u32 at, u32 target) const;
  std::optional<bool> decide(State& state, Term condition);
  using Answers = std::unordered_map<Term, std::optional<bool>>;
  std::optional<bool> decide(State& state, Term condition, Answers& answers);
  bool narrow(State& state, Term condition, bool value, bool commit);
  void assume(State& state, Term condition, bool value);
  void memory(State& state, WaveRun& run, const Operation& op, u32 at);
  Term descriptor_base(Machine& m, unsigned s);
  Term word_for_all(Machine& m, const Operation& op);
  [[nodiscard]] bool read_only(const KernelArgument& a) const {
    const std::string name = a.label();
    return a.size == 8 &&
           std::find(options_.read_only.begin(), options_.read_only.end(), name) != options_.read_only.end();
  }
  std::optional<bool> read_only_base(Term address);
  void check_store(Term address, u32 at);
  void check_bounds(State& state, const WaveRun& run, u32 at, u32 address, unsigned bytes, unsigned lane,
                    bool conditional);
  void scalar_memory(State& state, WaveRun& run, const Operation& op, u32 at);
  AccessRecord new_record(const WaveRun& run, u32 at);
  void keep(const State& state, AccessRecord record);
  void issue(WaveRun& run, const Operation& op, u8 counters, bool ordered, u32 access);
  void wait(WaveRun& run, unsigned vmcnt, unsigned lgkmcnt);
  void cover(WaveRun& run, const Pending& p);
  void check_registers(State& state, WaveRun& run, const Operation& op, u32 at);
  void leaf(State& state);
  void meet(State& state, u32 end);
  void abstract(State& state);
  void compare(const WaveRun& a, const WaveRun& b, Varying& varying, bool first);
  void check_home(State& state, WaveRun& run, std::size_t wave);
  std::string signature(const WaveRun& run, u32 slack);
  bool overlap(u32 a, u32 b);
  u32 footprint(Footprint f);
  void find(State& state, OrderFinding f, u32 site, u32 other_site);
  void spend(u64 steps);
  void undecided(const std::string& why) { reasons_.try_emplace(why, ""); }
  std::string place(u32 site) const { return located(instruction(site)); }

  OrderOptions options_;
  bool record_;
  Setting setting_;
  isa::ControlFlow flow_;
  /// Whether the wave, at the branch `at`, may still execute a barrier or touch LDS.
  bool shared_ahead(u32 at) const {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b)
      if (flow_.blocks[b].last == at)
        return flow_.leaves_program ||
               std::any_of(flow_.blocks[b].successors.begin(), flow_.blocks[b].successors.end(),
                           [&](std::size_t next) { return shared_[next]; });
    return true;
  }

  [[nodiscard]] bool shared_from_the_start() const {
    return flow_.leaves_program ||
           std::any_of(shared_.begin(), shared_.end(), [](bool shared) { return shared; });
  }

  std::set<u32> heads_;
  std::vector<bool> shared_; ///< by block
  std::vector<Footprint> footprints_;
  std::unordered_map<u64, std::vector<u32>> footprint_index_;
  std::unordered_map<u64, bool> overlaps_;
  std::map<std::tuple<OrderKind, u32, u32>, OrderFinding> findings_;
  std::map<std::tuple<OrderKind, u32, u32>, unsigned> witnesses_; ///< that were looked for
  std::map<std::string, std::string> reasons_;                    ///< and what else is said of the first
  std::set<u32> global_sites_, lds_sites_;
  std::map<std::tuple<u32, u32, u64>, std::size_t> recorded_; ///< -> index in the report
  std::set<u64> checked_;
  std::vector<Varying>* varying_ = nullptr; ///< of the abstract run under way
  bool refined_ = false;
  bool infeasible_mix_ = false;
  std::set<u32> invariants_;
  std::map<Term, std::optional<bool>> bases_; ///< see read_only_base
  bool told_by_read_only_ = false;
  u64 told_ = 0;         ///< steps that nobody heard of yet
  std::set<u32> stores_; ///< that may write what is read-only
  OrderReport report_;
};

// ---- conditions -----------------------------------------------------------------------------------------------------

/// The values of x for which a comparison of x + c with a constant holds; nothing when it is not of that form.
std::optional<std::pair<Term, Ranges>> constraint(Terms& t, Term condition, bool value) {
  const TermKind k = t.kind(condition);
  if (k != TermKind::less_signed && k != TermKind::less_unsigned && k != TermKind::equal) return std::nullopt;
  const Term a = t.children(condition)[0];
  const Term b = t.children(condition)[1];
  if (t.is_wide(a)) return std::nullopt;
  const auto ka = t.value(a);
  const auto kb = t.value(b);
  if (ka.has_value() == kb.has_value()) return std::nullopt;
  const Term variable = ka ? b : a;
  const auto constant = static_cast<u32>(ka ? *ka : *kb);
  u32 lo = 0; // of variable, as an arc that may wrap
  u32 hi = 0;
  constexpr u32 least = 0x80000000U;
  constexpr u32 most = 0x7fffffffU;
  bool empty = false;
  if (k == TermKind::equal) {
    lo = hi = constant;
  } else if (k == TermKind::less_unsigned) {
    empty = ka ? constant == 0xffffffffU : constant == 0;
    lo = ka ? constant + 1 : 0;
    hi = ka ? 0xffffffffU : constant - 1;
  } else {
    empty = ka ? constant == most : constant == least;
    lo = ka ? constant + 1 : least;
    hi = ka ? most : constant - 1;
  }
  if (!value) { // the rest of the circle
    if (empty) {
      empty = false;
      lo = 0;
      hi = 0xffffffffU;
    } else if (lo == hi + 1) {
      empty = true;
    } else {
      const u32 old = lo;
      lo = hi + 1;
      hi = old - 1;
    }
  }
  const auto [base, shift] = t.split(variable);
  Ranges r;
  if (!empty) {
    const auto c = static_cast<u32>(shift);
    lo -= c;
    hi -= c;
    if (lo <= hi) {
      r = {{lo, hi}};
    } else {
      r = {{0, hi}, {lo, 0xffffffffU}};
    }
  }
  return std::pair{base, r};
}

Ranges intersect(const Ranges& a, const Ranges& b) {
  Ranges out;
  for (const auto& x : a)
    for (const auto& y : b) {
      const u32 lo = std::max(x.first, y.first);
      const u32 hi = std::min(x.second, y.second);
      if (lo <= hi) out.emplace_back(lo, hi);
    }
  std::sort(out.begin(), out.end());
  return out;
}

/// Whether the condition may have that value on this path; with `commit`, it has.
bool Explorer::narrow(State& state, Term condition, bool value, bool commit) {
  const auto c = constraint(t(), condition, value);
  if (!c) return true;
  const auto at = state.ranges.find(c->first);
  const Ranges all = {{0, static_cast<u32>(std::min<u64>(t().bound(c->first), 0xffffffffU))}};
  Ranges left = intersect(at == state.ranges.end() ? all : at->second, c->second);
  const bool possible = !left.empty();
  if (commit) state.ranges[c->first] = std::move(left);
  return possible;
}

std::optional<bool> Explorer::decide(State& state, Term condition) {
  Answers answers;
  const auto r = decide(state, condition, answers);
  spend(answers.size() / 16);
  return r;
}

/// Each part of the condition once: masks of one trip are made of those of the trips before, and share most of them.
std::optional<bool> Explorer::decide(State& state, Term condition, Answers& answers) {
  if (const auto v = t().value(condition); v && condition != Terms::unknown) return *v != 0;
  if (t().kind(condition) == TermKind::invert) {
    const auto r = decide(state, t().children(condition)[0], answers);
    return r ? std::optional<bool>(!*r) : std::nullopt;
  }
  if (const auto at = state.decided.find(condition); at != state.decided.end()) return at->second;
  const TermKind k = t().kind(condition);
  if (k == TermKind::all || k == TermKind::any) {
    if (const auto at = answers.find(condition); at != answers.end()) return at->second;
    bool open = false;
    const std::vector<Term> c(t().children(condition).begin(), t().children(condition).end());
    for (const Term child : c) {
      const auto r = decide(state, child, answers);
      if (!r) open = true;
      if (r && *r != (k == TermKind::all)) return answers[condition] = *r;
    }
    return answers[condition] = open ? std::nullopt : std::optional(k == TermKind::all);
  }
  if (!narrow(state, condition, true, false)) return false;
  if (!narrow(state, condition, false, false)) return true;
  return std::nullopt;
}

void Explorer::assume(State& state, Term condition, bool value) {
  while (t().kind(condition) == TermKind::invert) {
    condition = t().children(condition)[0];
    value = !value;
  }
  state.path.emplace_back(condition, value);
  state.decided[condition] = value;
  narrow(state, condition, value, true);
  const TermKind k = t().kind(condition);
  if ((k == TermKind::all && value) || (k == TermKind::any && !value)) {
    const std::vector<Term> c(t().children(condition).begin(), t().children(condition).end());
    for (const Term child : c) {
      Term x = child;
      bool v = value;
      if (t().kind(x) == TermKind::invert) {
        x = t().children(x)[0];
        v = !v;
      }
      state.decided[x] = v;
      narrow(state, x, v, true);
    }
  }
}

/// An instruction of a wave, a copy of a wave at a fork, pairs of accesses that are compared: by the clock on an idle machine.
constexpr u64 step_instruction = 10, step_copy = 200, step_witness = 20'000, pairs_a_step = 16;
constexpr unsigned most_witnesses = 20; ///< looked for, of one finding

void Explorer::spend(u64 steps) {
  report_.steps += steps;
  told_ += steps;
  if (options_.progress && told_ >= 10'000) options_.progress(std::exchange(told_, 0));
  if (options_.budget != 0 && report_.steps > options_.budget)
    throw Budget{"more than " + std::to_string(options_.budget) + " steps (--budget)"};
}

// ---- memory ---------------------------------------------------------------------------------------------------------

u32 Explorer::footprint(Footprint f) {
  u64 h = f.mask * 31 + f.bytes;
  for (u64 m = f.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<std::size_t>(std::countr_zero(m));
    h = (h ^ f.first[l] ^ (u64{f.second[l]} << 20)) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  }
  for (const u32 id : footprint_index_[h])
    if (footprints_[id] == f) return id;
  std::vector<std::pair<u32, u32>> all;
  for (u64 m = f.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<std::size_t>(std::countr_zero(m));
    all.emplace_back(f.first[l], f.first[l] + f.bytes);
    if (f.two) all.emplace_back(f.second[l], f.second[l] + f.bytes);
  }
  std::sort(all.begin(), all.end());
  for (const auto& r : all) {
    if (!f.ranges.empty() && r.first <= f.ranges.back().second) {
      f.ranges.back().second = std::max(f.ranges.back().second, r.second);
    } else {
      f.ranges.push_back(r);
    }
  }
  footprints_.push_back(std::move(f));
  footprint_index_[h].push_back(static_cast<u32>(footprints_.size() - 1));
  return static_cast<u32>(footprints_.size() - 1);
}

bool Explorer::overlap(u32 a, u32 b) {
  if (a > b) std::swap(a, b);
  const auto [at, fresh] = overlaps_.try_emplace((u64{a} << 32) | b, false);
  if (!fresh) return at->second;
  const auto& x = footprints_[a].ranges;
  const auto& y = footprints_[b].ranges;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].second <= y[j].first) {
      ++i;
    } else if (y[j].second <= x[i].first) {
      ++j;
    } else {
      return at->second = true;
    }
  }
  return false;
}

void Explorer::find(State& state, OrderFinding f, u32 site, u32 other_site) {
  auto [at, fresh] = findings_.try_emplace({f.kind, site, other_site});
  f.conditional = f.conditional || state.depth != 0;
  if (!fresh && (!at->second.conditional || f.conditional)) return;
  f.address = instruction(site).address;
  f.text = instruction(site).text;
  f.other_address = instruction(other_site).address;
  f.other_text = instruction(other_site).text;
  f.path = state.path;
  if (!f.conditional) {
    f.conditional = std::any_of(f.path.begin(), f.path.end(), [&](const auto& c) {
      return t().kind(c.first) == TermKind::symbol && t().name(c.first).starts_with("choice.");
    });
  }
  if (!f.conditional) {
    // A path behind many trips has long formulas, and the next one asks again.
    spend(step_witness);
    const bool again = ++witnesses_[{f.kind, site, other_site}] <= most_witnesses;
    if (const auto numbers = again ? find_witness(t(), f.path) : std::nullopt) {
      f.witness = *numbers;
    } else {
      f.conditional = true;
    }
  }
  at->second = std::move(f);
  if (options_.first && !at->second.conditional) throw Enough{};
}

void Explorer::cover(WaveRun& run, const Pending& p) {
  if (p.access != open_end && p.counters == 0) run.trace[p.access].done = run.barriers;
}

void Explorer::wait(WaveRun& run, unsigned vmcnt, unsigned lgkmcnt) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < run.pending.size(); ++i) {
    Pending p = run.pending[i];
    if ((p.counters & on_vm) != 0 && (vmcnt == 0 || (p.ordered && vmcnt < 63 && p.after >= vmcnt)))
      p.counters &= static_cast<u8>(~on_vm);
    if ((p.counters & on_lgkm) != 0 && (lgkmcnt == 0 || (p.ordered && lgkmcnt < 15 && p.after >= lgkmcnt)))
      p.counters &= static_cast<u8>(~on_lgkm);
    if (p.counters == 0) {
      cover(run, p);
    } else {
      run.pending[out++] = p;
    }
  }
  run.pending.resize(out);
}

void Explorer::issue(WaveRun& run, const Operation& op, u8 counters, bool ordered, u32 access) {
  // Issue stalls while a counter is at its maximum, so what has that many after it is done.
  std::size_t out = 0;
  for (std::size_t i = 0; i < run.pending.size(); ++i) {
    Pending p = run.pending[i];
    if (ordered && p.ordered && p.counters == counters) {
      ++p.after;
      if (p.after >= (counters == on_vm ? 63U : 15U)) {
        p.counters = 0;
        cover(run, p);
        continue;
      }
    }
    run.pending[out++] = p;
  }
  run.pending.resize(out);
  run.pending.push_back({&op, access, counters, ordered, 0});
}

void Explorer::check_registers(State& state, WaveRun& run, const Operation& op, u32 at) {
  if (run.pending.empty()) return;
  const auto meets = [](const RowRange& a, const RowRange& b) {
    return a.first < b.first + b.count && b.first < a.first + a.count;
  };
  std::vector<RowRange> reads; // registers by number are those that m0 says now
  std::vector<RowRange> writes;
  emulator::each_read(run.machine.wave(), op, [&](const RowRange& r) { reads.push_back(r); });
  emulator::each_write(run.machine.wave(), op, [&](const RowRange& r) { writes.push_back(r); });
  const u8 own = op.cls == Class::lds                                        ? u8{on_lgkm}
                 : op.cls == Class::memory && op.memory.space != Space::flat ? u8{on_vm}
                                                                             : u8{0};
  for (const Pending& p : run.pending) {
    const u32 other = static_cast<u32>(p.op - setting_.code->operations.data());
    for (const RowRange& w : p.op->writes) {
      for (const RowRange& r : reads) {
        if (!meets(w, r)) continue;
        OrderFinding f;
        f.kind = OrderKind::wait;
        f.wave = f.other_wave = run.machine.wave().id;
        f.message = emulator::row_name(run.machine.wave(), std::max(w.first, r.first)) +
                    " is read before a wait covers what fills it";
        find(state, f, at, other);
      }
      for (const RowRange& x : writes) {
        if (!meets(w, x) || (p.ordered && p.counters == own)) continue; // the same queue lands in order
        OrderFinding f;
        f.kind = OrderKind::wait;
        f.wave = f.other_wave = run.machine.wave().id;
        f.message = emulator::row_name(run.machine.wave(), std::max(w.first, x.first)) +
                    " is overwritten before a wait covers what fills it: that lands later and wins";
        find(state, f, at, other);
      }
    }
    if (p.op->cls != Class::scalar_memory) continue;
    for (unsigned half = 0; half < 2; ++half) {
      const u64 clash = p.op->scalar_writes[half] & (op.scalar_reads[half] | op.scalar_writes[half]);
      if (clash == 0) continue;
      OrderFinding f;
      f.kind = OrderKind::wait;
      f.wave = f.other_wave = run.machine.wave().id;
      f.message = emulator::scalar_name(half * 64 + static_cast<unsigned>(std::countr_zero(clash))) +
                  " is used before lgkmcnt(0) covers the scalar load that fills it";
      find(state, f, at, other);
    }
  }
}

AccessRecord Explorer::new_record(const WaveRun& run, u32 at) {
  AccessRecord r;
  r.instruction = at;
  r.wave = run.machine.wave().id;
  const auto before = run.executed.find(at);
  r.visit = before == run.executed.end() ? 0 : before->second;
  for (const auto& [u, steps] : run.steps)
    if (const auto step = steps.find(at); step != steps.end() && step->second != 0)
      r.visit_steps.emplace_back(u, step->second);
  r.lanes.resize(lanes);
  return r;
}

/// The record, or one more path of one that is the same.
void Explorer::keep(const State& state, AccessRecord record) {
  constexpr std::size_t most_paths = 32;
  u64 h = record.visit;
  const auto mix = [&](u64 v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 31;
  };
  for (const auto& [u, step] : record.visit_steps) mix((u64{u} << 32) | step);
  for (const LaneAddress& a : record.lanes) {
    mix(a.address | (u64{a.guard} << 32));
    mix(a.lds | (u64{a.offset} << 32));
    mix(a.records);
  }
  const auto [found, fresh] =
      recorded_.try_emplace({static_cast<u32>(record.instruction), record.wave, h}, report_.accesses.size());
  if (fresh) {
    record.paths = {state.path};
    report_.accesses.push_back(std::move(record));
    return;
  }
  AccessRecord& r = report_.accesses[found->second];
  PathConditions path = state.path;
  for (bool changed = true; changed && !r.merged;) { // both ways of the last question: without it
    changed = false;
    for (auto p = r.paths.begin(); p != r.paths.end(); ++p) {
      if (path.size() >= p->size() && std::equal(p->begin(), p->end(), path.begin())) return;
      if (path.empty() || p->size() != path.size() || p->back().first != path.back().first ||
          !std::equal(path.begin(), path.end() - 1, p->begin()))
        continue;
      r.paths.erase(p);
      path.pop_back();
      changed = true;
      break;
    }
  }
  if (!r.merged && r.paths.size() < most_paths) {
    r.paths.push_back(std::move(path));
    return;
  }
  r.merged = true;
  std::erase_if(r.paths.back(),
                [&](const auto& c) { return std::find(path.begin(), path.end(), c) == path.end(); });
}

void Explorer::scalar_memory(State& state, WaveRun& run, const Operation& op, u32 at) {
  const auto place_of = run.machine.scalar_place(op);
  if (!place_of) return;
  if (op.instruction->mnemonic.find("load") == std::string::npos) check_store(place_of->address, at);
  if (record_ && !run.machine.in_launch(place_of->address)) {
    AccessRecord r = new_record(run, at);
    r.bytes = place_of->bytes;
    r.atomic = op.instruction->mnemonic.find("atomic") != std::string::npos;
    r.write = r.atomic || op.instruction->mnemonic.find("store") != std::string::npos;
    LaneAddress& a = r.lanes[0];
    a.guard = t().constant(1);
    for (const Optional& o : run.optional) a.guard = t().both(a.guard, o.taken); // EXEC does not hold it back
    a.address = place_of->exact ? place_of->address : Terms::unknown;
    a.offset = place_of->offset;
    a.records = place_of->records;
    keep(state, std::move(r));
  }
  ++run.executed[at];
}

/// The base is 48 bits wide and so are addresses: what the mask cuts off a sum is cut off anyway.
Term Explorer::descriptor_base(Machine& m, unsigned s) {
  Term high = m.scalar(s + 1);
  if (t().kind(high) == TermKind::bit_and && t().value(t().children(high)[1]) == 0xffff)
    high = t().children(high)[0];
  const Term base = t().join(m.scalar(s), high);
  return t().kind(base) == TermKind::pair
             ? t().join(m.scalar(s), t().bit_and(m.scalar(s + 1), t().constant(0xffff)))
             : base;
}

void Explorer::memory(State& state, WaveRun& run, const Operation& op, u32 at) {
  Machine& m = run.machine;
  const MemoryFields& f = op.memory;
  const isa::Modifiers& mod = op.instruction->modifiers;
  const isa::Counted counted = isa::counted(*op.instruction);
  const u8 counters = static_cast<u8>((counted.vm ? on_vm : 0) | (counted.lgkm ? on_lgkm : 0));
  if (f.kind == FieldKind::none) { // of the caches
    if (counters != 0) issue(run, op, counters, counted.in_order, open_end);
    return;
  }
  const bool in_lds = f.space == Space::lds && f.kind != FieldKind::swizzle && f.kind != FieldKind::permute &&
                      f.kind != FieldKind::bpermute;
  const bool dma = f.kind == FieldKind::to_lds;
  const bool is_store = f.kind == FieldKind::store || (f.kind == FieldKind::add_tid && f.dest < 0);
  const u64 active = m.may();
  if (f.space == Space::flat) undecided("flat access at " + place(at) + ": it may go to LDS");

  // ---- addresses
  AccessRecord record;
  const bool wanted = record_ && f.space != Space::scratch && (f.space != Space::lds || in_lds);
  Footprint print;
  bool known = true;
  bool maybe = !run.optional.empty();
  Term culprit = 0;
  if (in_lds || dma) {
    print.bytes = f.bytes;
    print.two = f.two && in_lds;
    const unsigned slot = std::max<unsigned>(f.bytes, 4);
    if (dma) print.bytes = static_cast<u8>(slot);
    const Term base = dma || f.kind == FieldKind::add_tid ? m.scalar(m0) : 0;
    for (u64 left = active; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const Term g = m.guard(l);
      const auto decided = decide(state, g);
      if (decided && !*decided) continue;
      if (!decided) maybe = true;
      Term place_of = 0;
      if (dma) {
        place_of = t().add(t().bit_and(base, t().constant(0x3ffff)),
                           t().constant(static_cast<u32>(f.offset) + slot * l));
      } else if (f.kind == FieldKind::add_tid) {
        place_of = t().add(t().bit_and(base, t().constant(0xffff)),
                           t().constant(static_cast<u32>(f.offset) + 4 * l));
      } else if (f.vaddr < 0) { // append, consume
        place_of = t().add(t().bit_and(m.scalar(m0), t().constant(0xffff)),
                           t().constant(static_cast<u32>(f.offset)));
      } else {
        place_of = t().add(m.under(g, m.vector(static_cast<unsigned>(f.vaddr), l)),
                           t().constant(static_cast<u32>(f.offset)));
      }
      const auto v = t().value(place_of);
      if (!v || place_of == Terms::unknown) {
        known = false;
        culprit = place_of;
        break;
      }
      print.mask |= u64{1} << l;
      print.first[l] = static_cast<u32>(*v);
      if (print.two) print.second[l] = static_cast<u32>(*v) + static_cast<u32>(f.offset1 - f.offset);
      check_bounds(state, run, at, std::max(print.first[l], print.two ? print.second[l] : 0U), print.bytes, l,
                   !decided || !run.optional.empty());
    }
    if (!known) {
      // One reason an instruction: in the next trip the formula is another one.
      const auto [reason, fresh] =
          reasons_.try_emplace("LDS address of " + place(at) + " is not a number", "");
      if (fresh)
        reason->second = culprit == Terms::unknown
                             ? ": it comes from memory or from an instruction without formula"
                             : ": " + t().text(culprit, 5);
    }
    lds_sites_.insert(at);
    ++report_.lds_accesses;
  }
  if (f.space == Space::buffer || f.space == Space::global) global_sites_.insert(at);
  if (options_.check_stores && (is_store || f.kind == FieldKind::atomic)) {
    if (f.space == Space::buffer) check_store(descriptor_base(m, static_cast<unsigned>(f.srsrc)), at);
    const Term base = f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
    for (u64 left = f.space == Space::global ? active : 0; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const auto row = [&](unsigned k) {
        return m.under(m.guard(l), m.vector(static_cast<unsigned>(f.vaddr) + k, l));
      };
      check_store(
          f.vaddr < 0 ? base : t().add(base, f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1))), at);
    }
  }
  if (wanted) {
    record = new_record(run, at);
    // A typed access has as many bytes as its format, at most four words.
    record.bytes = f.format_count != 0 ? 16U : f.bytes;
    record.write = is_store || f.kind == FieldKind::atomic;
    record.atomic = f.kind == FieldKind::atomic;
    record.lds = in_lds;
    record.to_lds = dma;
    Term buffer_base = 0;
    Term soffset = 0;
    Term records = 0;
    bool by_lane = false; // the descriptor adds the lane's number to the index: no formula
    if (f.space == Space::buffer) {
      const auto s = static_cast<unsigned>(f.srsrc);
      buffer_base = descriptor_base(m, s);
      soffset = t().zext(m.scalar_operand(f.soffset));
      records = m.scalar(s + 2);
      const Term add_tid = t().bit(m.scalar(s + 3), 23);
      by_lane = add_tid == Terms::unknown || t().value(add_tid) != 0;
    }
    const Term saddr = f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
    for (u64 left = active; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      LaneAddress& a = record.lanes[l];
      a.guard = m.guard(l);
      const auto row = [&](unsigned k) {
        return m.under(a.guard, m.vector(static_cast<unsigned>(f.vaddr) + k, l));
      };
      if (in_lds) {
        a.address = t().constant(print.first[l]);
      } else if (f.space == Space::buffer) {
        Term part = t().constant(static_cast<u32>(f.offset));
        if (f.vaddr >= 0 && mod.offen) part = t().add(part, row(mod.idxen ? 1 : 0));
        a.offset = t().add(t().zext(part), soffset);
        a.records = records;
        a.address = mod.idxen || by_lane ? Terms::unknown : t().add(buffer_base, a.offset);
      } else if (f.space == Space::global || f.space == Space::flat) {
        Term v = t().wide_constant(0);
        if (f.vaddr >= 0) v = f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1));
        a.address = t().add(t().add(saddr, v), t().wide_constant(static_cast<u64>(std::int64_t{f.offset})));
      }
      if (dma) a.lds = t().constant(print.first[l]);
    }
    keep(state, std::move(record));
  }
  ++run.executed[at];

  // ---- order
  u32 access = open_end;
  const bool atomic = f.kind == FieldKind::atomic;
  if ((in_lds || dma) && known && print.mask != 0) {
    Access a;
    a.site = at;
    a.write = dma || is_store || atomic;
    a.read = !dma && !is_store;
    a.atomic = atomic;
    a.dma = dma;
    a.maybe = maybe;
    a.issue = run.barriers;
    a.footprint = footprint(print);
    for (const Pending& p : run.pending) { // in this wave: the queues of LDS and of vector memory
      if (p.access == open_end) continue;
      const Access& other = run.trace[p.access];
      if (other.dma == dma || (!other.write && !a.write) || !overlap(other.footprint, a.footprint)) continue;
      OrderFinding finding;
      finding.kind = OrderKind::own;
      finding.wave = finding.other_wave = m.wave().id;
      finding.conditional = a.maybe || other.maybe;
      finding.message = dma ? "a load to LDS may land before an earlier LDS instruction of the same wave is "
                              "done: no lgkmcnt wait between"
                            : "LDS is accessed before a vmcnt wait covers the wave's own load to LDS";
      find(state, finding, at, other.site);
    }
    access = static_cast<u32>(run.trace.size());
    run.trace.push_back(a);
  }
  issue(run, op, counters, counted.in_order, access);
  for (const RowRange& r : op.writes)
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) m.forget(k, active);
  if (const Term word = word_for_all(m, op); word != Terms::unknown)
    for (u64 left = active; left != 0; left &= left - 1)
      m.set_vector(op.writes[0].first, static_cast<unsigned>(std::countr_zero(left)), word);
}

void Explorer::check_bounds(State& state, const WaveRun& run, u32 at, u32 address, unsigned bytes,
                            unsigned lane, bool conditional) {
  const u32 size = setting_.kernel.descriptor.lds_bytes + options_.dynamic_lds;
  if (size == 0 || u64{address} + bytes <= size) return;
  OrderFinding f;
  f.kind = OrderKind::bounds;
  f.wave = f.other_wave = run.machine.wave().id;
  f.lane = f.other_lane = lane;
  f.byte = address;
  f.conditional = conditional;
  f.message = "lane " + std::to_string(lane) + " reaches LDS byte " +
              std::to_string(u64{address} + bytes - 1) + " of " + std::to_string(size);
  find(state, f, at, at);
}

/// Whether an address is that of a read-only argument and something that no pointer is in; nothing: of no argument, or of
/// several.
std::optional<bool> Explorer::read_only_base(Term address) {
  if (address == Terms::unknown) return std::nullopt;
  const auto [at, fresh] = bases_.try_emplace(address);
  if (!fresh) return at->second;
  std::vector<TermPart> parts(t().parts(address).begin(), t().parts(address).end());
  if (t().kind(address) != TermKind::linear) parts = {{address, 1}};
  std::optional<bool> found;
  for (const KernelArgument& a : setting_.kernel.arguments) {
    if (!a.pointer() || a.size != 8) continue;
    const Term low = setting_.argument_word(a.offset), high = setting_.argument_word(a.offset + 4);
    const Term base = t().join(low, high);
    for (const TermPart& p : parts) {
      if (p.atom == base && p.coefficient == 1 && !found) {
        found = read_only(a);
      } else if (t().mentions(p.atom, low) || t().mentions(p.atom, high)) {
        return bases_[address] = std::nullopt;
      }
    }
  }
  return bases_[address] = found;
}

void Explorer::check_store(Term address, u32 at) {
  if (options_.check_stores && read_only_base(address) != false) stores_.insert(at);
}

/// What a load of one word at one place brings to all lanes, where nobody writes; unknown otherwise.
Term Explorer::word_for_all(Machine& m, const Operation& op) {
  const MemoryFields& f = op.memory;
  const isa::Modifiers& mod = op.instruction->modifiers;
  if (options_.read_only.empty() || f.kind != FieldKind::load || f.bytes != 4 || f.format_count != 0 ||
      op.writes.size() != 1 || op.writes[0].count != 1)
    return Terms::unknown;
  if (f.space == Space::global && m.exec_is_number()) {
    Term address = 0;
    const Term saddr = f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
    for (u64 left = m.may(); left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const auto row = [&](unsigned k) { return m.vector(static_cast<unsigned>(f.vaddr) + k, l); };
      Term v = t().wide_constant(0);
      if (f.vaddr >= 0) v = f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1));
      const Term here =
          t().add(t().add(saddr, v), t().wide_constant(static_cast<u64>(std::int64_t{f.offset})));
      if (here == Terms::unknown || (address != 0 && here != address)) return Terms::unknown;
      address = here;
    }
    if (address == 0 || read_only_base(address) != true) return Terms::unknown;
    told_by_read_only_ = true;
    return t().load(address);
  }
  if (f.space != Space::buffer || mod.offen || mod.idxen) return Terms::unknown;
  const auto s = static_cast<unsigned>(f.srsrc);
  if (t().value(t().bit(m.scalar(s + 3), 23)) != 0)
    return Terms::unknown; // the lane's number would be in the address
  const Term base = descriptor_base(m, s);
  for (const KernelArgument& a : setting_.kernel.arguments)
    if (read_only(a) &&
        base == t().join(setting_.argument_word(a.offset), setting_.argument_word(a.offset + 4))) {
      told_by_read_only_ = true;
      const Term last = t().add(m.scalar_operand(f.soffset), t().constant(static_cast<u32>(f.offset) + 3));
      const Term there = t().load(t().add(base, t().add(t().zext(m.scalar_operand(f.soffset)),
                                                        t().wide_constant(static_cast<u64>(f.offset)))));
      return t().select(t().less(last, m.scalar(s + 2), false), there, t().constant(0));
    }
  return Terms::unknown;
}

// ---- a wave ---------------------------------------------------------------------------------------------------------

/// Whether a wave that does not jump from the branch `at` to `target` comes there, too, whatever it finds, and by no barrier: up to
/// it, or by a stretch that stands behind the loop, without a branch but the last one, which goes there.
bool Explorer::is_plain_stretch(u32 at, u32 target) const {
  for (u32 k = at + 1; k != target; ++k) {
    if (k >= setting_.code->operations.size()) return false;
    const Operation& inside = operation(k);
    const std::string_view n = inside.instruction->mnemonic;
    if (n == "s_barrier" || n == "s_endpgm" || n.starts_with("s_setpc")) return false;
    if (target < at && inside.cls == Class::branch) return n == "s_branch" && inside.target == target;
    if (inside.cls == Class::branch && (inside.target <= at || inside.target > target)) return false;
  }
  return true;
}

Explorer::Stop Explorer::advance(State& state, std::size_t index, Term& question) {
  WaveRun& run = state.waves[index];
  emulator::Wave& w = run.machine.wave();
  for (;;) {
    const u32 at = w.at;
    while (!run.optional.empty() &&
           run.optional.back().end == at) { // both ways meet: with the stretch, without it
      Optional o = std::move(run.optional.back());
      run.optional.pop_back();
      const Term taken = o.taken;
      for (unsigned r = 0; r < 128; ++r) {
        const Term now = run.machine.scalar(r);
        if (now != o.scalar[r] && r != exec_lo && r != exec_lo + 1)
          run.machine.set_scalar(r, now == Terms::unknown ? now : t().select(taken, now, o.scalar[r]));
      }
      const Term scc_now = run.machine.scc();
      if (scc_now != o.scalar[128]) run.machine.set_scc(t().select(taken, scc_now, o.scalar[128]));
      std::vector<Pending> merged = std::move(o.pending);
      for (const Pending& p : merged)
        if (p.access != open_end) run.trace[p.access].done = open_end;
      for (const Pending& p : run.pending) {
        const bool older = std::any_of(merged.begin(), merged.end(), [&](const Pending& q) {
          return q.op == p.op && q.access == p.access && q.after <= p.after;
        });
        if (!older) merged.push_back(p);
      }
      run.pending = std::move(merged);
    }
    if (at >= setting_.code->operations.size()) throw Budget{"no instruction at the end of a jump"};
    const Operation& op = operation(at);
    if (++report_.instructions > options_.max_instructions)
      throw Budget{"more than " + std::to_string(options_.max_instructions) + " wave instructions"};
    spend(step_instruction);
    if (const auto why = setting_.not_reserved.find(at); why != setting_.not_reserved.end())
      throw Budget{why->second};
    w.current = at;
    if (heads_.contains(at)) {
      const u32 visit = ++run.visits[at];
      const u32 before = run.open_at_visit.contains(at) ? run.open_at_visit[at] : 0;
      run.open_at_visit[at] = run.opened;
      if (run.home && run.home->head == at && visit == run.home->visit) {
        check_home(state, run, index);
        run.looped = true;
        return Stop::looped;
      }
      if (!run.home || run.home->head != at) {
        auto& kept = run.snapshots[at];
        const bool by_number = run.opened == before && visit > 1; // a loop whose trips are a number
        u32& numbered = run.numbered[at];
        numbered = by_number ? numbered + 1 : 0;
        if (by_number) kept.clear();
        // After many such trips no more copies of the state are kept: of a loop of 2^32 trips they are all there is time for.
        if (visit + 5 > options_.trips && numbered < 100) {
          WaveRun copy = run;
          copy.snapshots.clear();
          kept.push_back(std::make_shared<const Snapshot>(Snapshot{std::move(copy)}));
          if (kept.size() > 6) kept.erase(kept.begin());
        }
        if (visit > options_.trips && run.opened != before && kept.size() > 1) {
          run.cut = true;
          run.cut_head = at;
          return Stop::cut;
        }
      }
    }
    if (op.execute == nullptr || op.instruction->is_unknown())
      throw Budget{"no instruction at " + hex(op.instruction->address)};
    check_registers(state, run, op, at);
    if (w.hazards != nullptr) emulator::check_hazards(w, op);
    w.at = op.next;
    const isa::Instruction& i = *op.instruction;
    switch (op.cls) {
    case Class::wait: wait(run, i.wait->vmcnt, i.wait->lgkmcnt); break;
    case Class::lds:
      // A stage that is chosen by a condition: each of them by itself, as after a branch.
      while (const Term condition = run.optional.empty() ? run.machine.lds_choice(op) : 0) {
        const auto chosen = decide(state, condition);
        if (!chosen) {
          w.at = at;
          question = condition;
          if (heads_.contains(at)) --run.visits[at];
          return Stop::fork;
        }
        run.machine.choose(op, condition, *chosen);
      }
      memory(state, run, op, at);
      break;
    case Class::memory: memory(state, run, op, at); break;
    case Class::scalar_memory:
      scalar_memory(state, run, op, at);
      if (i.mnemonic.starts_with("s_load") || i.mnemonic.starts_with("s_buffer_load") ||
          op.scalar_writes[0] != 0 || op.scalar_writes[1] != 0) {
        run.machine.scalar_load(op);
        issue(run, op, on_lgkm, false, open_end);
      } else if (i.mnemonic.find("store") != std::string_view::npos ||
                 i.mnemonic.find("atomic") != std::string_view::npos) {
        issue(run, op, on_lgkm, false, open_end);
      }
      break;
    case Class::branch: {
      if (i.mnemonic == "s_branch") {
        w.at = op.target;
        break;
      }
      if (i.mnemonic.starts_with("s_cbranch_cdbg")) break; // no debugger
      Term condition = run.machine.branch_condition(op);
      // A stretch that a wave without active lanes jumps over: executed, and nothing in it counted on.
      if (i.mnemonic == "s_cbranch_execz" && !t().value(condition)) {
        const bool plain = is_plain_stretch(at, op.target);
        if (plain && condition != Terms::unknown && !decide(state, condition)) {
          Optional o;
          o.end = op.target;
          o.taken = t().invert(condition);
          o.pending = run.pending;
          for (unsigned r = 0; r < 128; ++r) o.scalar[r] = run.machine.scalar(r);
          o.scalar[128] = run.machine.scc();
          run.optional.push_back(std::move(o));
          break;
        }
      }
      if (condition == Terms::unknown) {
        condition = t().symbol("choice." + std::to_string(w.id) + "." + std::to_string(run.choices), 1);
        if (!decide(state, condition)) {
          w.at = at;
          question = condition;
          return Stop::fork;
        }
        ++run.choices;
      }
      const bool number = t().value(condition).has_value();
      const auto taken = decide(state, condition);
      if (!taken) {
        w.at = at;
        question = condition;
        if (heads_.contains(at)) { // the head will be entered again
          --run.visits[at];
        }
        return Stop::fork;
      }
      if (!number) ++run.opened;
      if (*taken) w.at = op.target;
      break;
    }
    case Class::other:
      if (i.mnemonic == "s_barrier") {
        if (!run.optional.empty()) throw Budget{"barrier in a stretch that may be skipped at " + place(at)};
        ++run.barriers;
      } else if (i.mnemonic.starts_with("s_endpgm")) {
        run.ended = true;
        return Stop::ended;
      } else if (i.mnemonic == "s_trap") {
        run.ended = true;
        return Stop::ended;
      } else if (i.mnemonic.starts_with("s_set_gpr_idx")) {
        op.execute(w, op);
      }
      break;
    default:
      if (!run.machine.execute(op)) throw Budget{"instruction without formula: " + place(at)};
      break;
    }
  }
}

// ---- ends of paths --------------------------------------------------------------------------------------------------

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

// ---- loops ----------------------------------------------------------------------------------------------------------

/// What is in flight and what other waves may still meet, relative to now.
std::string Explorer::signature(const WaveRun& run, u32 slack) {
  std::string s;
  const auto put = [&](u64 v) { s += std::to_string(v) + ","; };
  for (const Pending& p : run.pending) {
    put(static_cast<u64>(p.op - setting_.code->operations.data()));
    put(p.counters);
    put(std::min(p.after, 64U));
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
  if (signature(run.start->run, slack) != signature(run, slack))
    throw NoInvariant{"what is in flight at the head of the loop at " + place(run.home->head) +
                      " does not repeat"};
}

void Explorer::abstract(State& state) {
  if (state.depth >= 3) {
    undecided("loops inside loops deeper than are followed");
    return;
  }
  // One abstract run a loop and what is fixed there is enough for all paths that reach the loop in the same form; which
  // form it is, is seen from the heads and from what is in flight.
  std::string why = "the state at the loop's head does not repeat";
  for (u32 period = 1; period <= 4; ++period) {
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
      if (signature(from, 2) != signature(to, 2)) {
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
        copy.home = Home{r.cut_head, period + 1, period};
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

constexpr std::size_t most_waiting = 1000;

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

} // namespace

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
    Explorer explorer(object, kernel, o, record);
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
