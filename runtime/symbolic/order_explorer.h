/// All waves of a workgroup along every path, what each has in flight, and which accesses meet: what the files of it share.
///
///     order.cpp             the paths, and where the waves meet
///     order_wave.cpp        one wave, as far as what has been decided takes it
///     order_conditions.cpp  what a path has decided, and what follows from it
///     order_memory.cpp      one memory instruction: what is in flight, its footprint, its record
///     order_loops.cpp       a loop's invariant
#pragma once

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

namespace inlay::runtime::symbolic::exploring {

using emulator::Class;
using emulator::exec_lo;
using emulator::m0;
using emulator::MemoryFields;
using emulator::RowRange;
using FieldKind = MemoryFields::Kind;
using Space = MemoryFields::Space;

inline constexpr u32 open_end = 0xffffffffU;

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
  bool full = false;   ///< so many that the counter was at its maximum
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
  bool growing = false; ///< see repeats
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
  bool repeats(const WaveRun& from, const WaveRun& to, u32 slack, bool growing);
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

/// An instruction of a wave, a copy of a wave at a fork, pairs of accesses that are compared: by the clock on an idle machine.
inline constexpr u64 step_instruction = 10, step_copy = 200, step_witness = 20'000, pairs_a_step = 16;
inline constexpr unsigned most_witnesses = 20; ///< looked for, of one finding

} // namespace inlay::runtime::symbolic::exploring
