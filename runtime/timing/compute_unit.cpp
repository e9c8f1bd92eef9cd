// The compute unit. Every shared thing is a queue that serves in order of request, so that when an instruction issues, the
// clock at which it is done is known at once, and a wave that waits knows until when; only barriers wait for the unknown. The
// loop goes from slot to slot in order of time and skips slots in which no wave can do anything.
#include <inlay/machine/matrix.h>
#include <inlay/runtime/timing/compute_unit.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>
#include <unordered_set>

namespace inlay::runtime::timing {
namespace {

using Space = ObservedAccess::Space;
using AccessKind = ObservedAccess::Kind;
using Clock = std::uint64_t;
constexpr Clock never = std::numeric_limits<Clock>::max() / 4;

enum class Unit : std::uint8_t { vector, matrix, scalar, memory, branch, internal };

/// What the model needs to know of an instruction of the program.
struct Op {
  Unit unit = Unit::internal;
  Cause cause = Cause::control;
  isa::Kind kind = isa::Kind::salu;
  bool transcendental = false, packed_f32 = false, lds = false, smem = false, memtime = false;
  bool ends = false, sleeps = false, coexecutes = true, flat = false;
  std::uint16_t issue = 4;
  std::uint16_t matrix_clocks = 0;
  std::uint16_t result_slots = 0; ///< wait states from D to another reader
  std::uint16_t address_clocks = 0;
  std::uint8_t priority = 0;
  int accumulator = -1; ///< first register of SrcC, of accumulator_count
  std::uint16_t accumulator_count = 0;
  isa::WaitCounts wait;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> reads, writes; ///< first, count
  std::uint32_t line = 0; ///< of the instruction cache, counted over those that the program has
  std::uint64_t first_block = 0, last_block = 0; ///< that the instruction lies in, of fetch_bytes
};

std::vector<std::pair<std::uint16_t, std::uint16_t>> ranges(const isa::RegisterSet& set) {
  std::vector<std::pair<std::uint16_t, std::uint16_t>> out;
  for (std::uint16_t i = 0; i < set.size(); ++i) {
    if (!set.test(i)) continue;
    if (!out.empty() && out.back().first + out.back().second == i) {
      ++out.back().second;
    } else {
      out.emplace_back(i, std::uint16_t{1});
    }
  }
  return out;
}

/// An instruction buffer is filled by so many bytes at a time: in thread traces of MI350X what is waited for after a branch begins at a
/// multiple of it.
constexpr std::uint64_t fetch_bytes = 32;

/// The numbers that the loop asks for, looked up once.
struct Numbers {
  explicit Numbers(const Parameters& p, const UnitOptions& o)
      : simds(static_cast<unsigned>(p["simds"])), slot(static_cast<Clock>(p["slot_clk"])),
        valu_result(static_cast<Clock>(p["valu_result_clk"])),
        coissue_from(static_cast<Clock>(p["mfma_coissue_from_clk"])),
        packed_coissues(p["mfma_packed_f32_coissues"] != 0),
        packed_hazard(static_cast<Clock>(p["mfma_packed_f32_hazard_clk"])),
        forward(static_cast<Clock>(p["mfma_srcc_forward_clk"])),
        lds_entries(static_cast<std::size_t>(p["lds_fifo_entries"])),
        lds_latency(static_cast<Clock>(p["lds_latency_clk"])), dma_bytes(p["lds_dma_bytes"]),
        read_port(p["lds_read_port_bytes"]), write_port(p["lds_write_port_bytes"]),
        misaligned(static_cast<Clock>(p["lds_misaligned_b128_clk"])),
        write_stall(p["lds_write_pipe_stall_clk"]), crossbar(static_cast<Clock>(p["lds_crossbar_clk"])),
        queue_entries(static_cast<std::size_t>(p["vmem_queue_entries"])),
        inflight_bytes(static_cast<std::uint64_t>(p["vmem_inflight_bytes"])), line_clk(p["vmem_line_clk"]),
        line_bytes(p["line_bytes"]), l1_latency(static_cast<Clock>(p["l1_latency_clk"])),
        l2_latency(static_cast<Clock>(p["l2_latency_clk"])), has_mall(p["mall_bytes"] > 0),
        mall_latency(static_cast<Clock>(p["mall_latency_clk"])),
        hbm_latency(static_cast<Clock>(p["hbm_latency_clk"])), l1_rate(p["l1_bytes_per_clk"]),
        l2_rate(p["l2_bytes_per_clk"]), store_latency(static_cast<Clock>(p["store_latency_clk"])),
        scalar_hit(static_cast<Clock>(p["scalar_hit_clk"])),
        scalar_miss(static_cast<Clock>(p["scalar_miss_clk"])),
        scalar_interval(static_cast<Clock>(p["scalar_miss_interval_clk"])),
        scalar_line(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(p["scalar_line_bytes"]) / 64)),
        valu_to_memory(static_cast<Clock>(p["valu_to_memory_clk"])),
        mfma_to_memory(static_cast<Clock>(p["mfma_to_memory_clk"])),
        salu_to_memory(static_cast<Clock>(p["salu_to_memory_clk"])),
        salu_to_branch(static_cast<Clock>(p["salu_to_branch_clk"])),
        valu_sgpr(static_cast<Clock>(p["valu_sgpr_clk"])), spread(p["latency_spread"]),
        stagger(p["unit_stagger_clk"]), drift(p["unit_drift"]), mall_write_cost(p["mall_write_cost"]),

        atomic_latency(static_cast<Clock>(p["atomic_latency_clk"])),
        place_free(static_cast<Clock>(p["workgroup_launch_clk"])),
        icache_miss(static_cast<Clock>(p["icache_miss_clk"])),
        branch_taken(static_cast<Clock>(p["branch_taken_clk"])),
        next_fetch(static_cast<Clock>(p["branch_next_fetch_clk"])),
        barrier(static_cast<Clock>(p["barrier_clk"])), wave_launch(static_cast<Clock>(p["wave_launch_clk"])),
        first_issue(static_cast<Clock>(p["first_issue_clk"])) {
    const double hz = p["clock_mhz"] * 1e6;
    const double units = std::clamp(o.active_units, 1.0, p["compute_units"]);
    l2_sharers = std::max(1.0, o.l2_sharers);
    mall_sharers = std::max(1.0, o.mall_sharers);
    // What is stored is shared by nobody.
    hbm_store_rate = p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] / hz / units;
    mall_store_rate = p["mall_tbytes"] * 1e12 / hz / units / mall_write_cost;
    hbm_rate = hbm_store_rate * mall_sharers;
    mall_rate = p["mall_tbytes"] * 1e12 / hz / units * l2_sharers;
    // One unit alone is bound by its own port.
    for (double* rate : {&hbm_rate, &mall_rate, &hbm_store_rate, &mall_store_rate})
      *rate = std::min(*rate, l2_rate);
    switch (o.without) {
    case Limit::lds_latency: lds_latency = 0; break;
    case Limit::memory_latency:
      l2_latency = mall_latency = hbm_latency = scalar_miss = l1_latency, scalar_interval = 0;
      break;
    case Limit::memory_bandwidth:
      l1_rate = l2_rate = mall_rate = hbm_rate = hbm_store_rate = mall_store_rate = 1e12;
      break;
    case Limit::launch: wave_launch = first_issue = place_free = 0; break;
    case Limit::issue:
      valu_to_memory = mfma_to_memory = salu_to_memory = salu_to_branch = valu_sgpr = 0;
      break;
    default: break;
    }
  }
  unsigned simds;
  Clock slot, valu_result, coissue_from;
  bool packed_coissues;
  Clock packed_hazard, forward;
  std::size_t lds_entries;
  Clock lds_latency;
  double dma_bytes, read_port, write_port;
  Clock misaligned;
  double write_stall;
  Clock crossbar;
  std::size_t queue_entries;
  std::uint64_t inflight_bytes;
  double line_clk, line_bytes;
  Clock l1_latency, l2_latency;
  bool has_mall;
  Clock mall_latency, hbm_latency;
  double l1_rate, l2_rate, mall_rate = 0, hbm_rate = 0, hbm_store_rate = 0, mall_store_rate = 0;
  double l2_sharers = 1, mall_sharers = 1;
  Clock store_latency, scalar_hit, scalar_miss, scalar_interval;
  std::uint64_t scalar_line; ///< in units of 64 bytes
  Clock valu_to_memory, mfma_to_memory, salu_to_memory, salu_to_branch, valu_sgpr;
  double spread, stagger, drift, mall_write_cost;
  Clock atomic_latency, place_free, icache_miss, branch_taken, next_fetch, barrier, wave_launch, first_issue;
};

/// Tags of a set-associative cache with the clock at which a line is there; the least recently used way is replaced.
class Cache {
public:
  Cache(double bytes, double line, double ways)
      : ways_(static_cast<std::size_t>(ways)),
        sets_(std::max<std::size_t>(1, static_cast<std::size_t>(bytes / line) / ways_)),
        tags_(ways_ * sets_, ~std::uint64_t{0}), used_(ways_ * sets_, 0), ready_(ways_ * sets_, 0) {}
  /// The clock at which the line is (or will be) there; nullptr when it is not.
  Clock* find(std::uint64_t line) {
    const std::size_t base = set_of(line);
    for (std::size_t w = 0; w < ways_; ++w) {
      if (tags_[base + w] != line) continue;
      used_[base + w] = ++time_;
      return &ready_[base + w];
    }
    return nullptr;
  }
  void put(std::uint64_t line, Clock ready) {
    const std::size_t base = set_of(line);
    std::size_t best = base;
    for (std::size_t w = 0; w < ways_; ++w)
      if (used_[base + w] < used_[best]) best = base + w;
    tags_[best] = line;
    used_[best] = ++time_;
    ready_[best] = ready;
  }

private:
  std::size_t set_of(std::uint64_t line) const {
    // Folded, so that powers of two between rows do not all meet in one set: the hash of the hardware is not published.
    return ((line ^ (line >> 7) ^ (line >> 15)) % sets_) * ways_;
  }
  std::size_t ways_, sets_;
  std::uint64_t time_ = 0;
  std::vector<std::uint64_t> tags_, used_;
  std::vector<Clock> ready_;
};

struct Group;

struct Wave {
  const WaveStream* stream = nullptr;
  Group* group = nullptr;
  WaveTimeline* line = nullptr;
  std::size_t at = 0;
  Clock ready = 0, accounted = 0;
  Cause blocked = Cause::launch;
  std::uint32_t blocked_on = 0;
  std::uint64_t age = 0;
  std::uint8_t priority = 0;
  unsigned simd = 0;
  bool ended = false, at_barrier = false, jumped = false;
  Clock branched = 0; ///< when it jumped
  std::uint64_t target =
      never;            ///< block of instructions that it jumped to, until the one after it is there too
  std::deque<Clock> vm; ///< completions in order
  std::vector<Clock> lgkm;
  Clock vm_last = 0, lds_last = 0;
  Clock stored = 0; ///< when the last of its stores is back
  Unit last = Unit::internal;
  Clock last_issue = 0;
  std::vector<Clock> usable = std::vector<Clock>(640, 0);  ///< by any reader
  std::vector<Clock> forward = std::vector<Clock>(512, 0); ///< as SrcC
};

struct Group {
  std::vector<Wave*> waves;
  std::size_t arrived = 0, ended = 0;
};

struct Simd {
  std::vector<Wave*> waves; ///< by age
  Clock next = never;
  Clock pipe_free = 0, pipe_issued = 0, vector_free = 0;
  bool pipe_coexecutes = true;
};

class Machine {
public:
  Machine(const Trace& t, const Parameters& p, const UnitOptions& o)
      : trace_(t), options_(o), n_(p, o), l1_(p["l1_bytes"], p["line_bytes"], p["l1_ways"]),
        l2_(p["l2_bytes"], p["line_bytes"], p["l2_ways"]), simds_(n_.simds) {
    const auto line_bytes = static_cast<std::uint64_t>(p["icache_line_bytes"]);
    std::uint64_t line = never;
    for (const auto& i : t.program.instructions) {
      ops_.push_back(make_op(i, p));
      if (i.address / line_bytes != line) code_lines_.push_back(0);
      line = i.address / line_bytes;
      ops_.back().line = static_cast<std::uint32_t>(code_lines_.size() - 1);
    }
    marked_.assign(ops_.size(), false);
    for (const auto m : o.marks)
      if (m < marked_.size()) marked_[m] = true;
  }

  UnitResult run();

private:
  struct Block {
    Clock until;
    Cause cause;
  };

  Op make_op(const isa::Instruction& i, const Parameters& p) const;
  void launch(std::size_t index, Clock at);
  void wake(Wave& w, Clock at) {
    w.ready = at;
    Simd& s = simds_[w.simd];
    s.next = std::min(s.next, slot_at(w.simd, at));
  }
  /// The first slot of the SIMD at or after `at`: SIMD s has those at s modulo 4.
  [[nodiscard]] Clock slot_at(unsigned simd, Clock at) const {
    const Clock phase = simd % n_.slot;
    if (at <= phase) return phase;
    return phase + (at - phase + n_.slot - 1) / n_.slot * n_.slot;
  }
  void account(Wave& w, Clock until, Cause cause, std::uint32_t instruction);
  std::optional<Block> blocked(Wave& w, const Op& op, const Step& step, Clock t, std::uint8_t used);
  void issue(Wave& w, const Op& op, const Step& step, Clock t);
  Clock issue_lds(Wave& w, const Op& op, const Request& r, Clock t);
  Clock issue_memory(Wave& w, const Op& op, const Request& r, Clock t);
  void slot(unsigned simd, Clock t);
  bool has(Limit l) const { return options_.without == l; }
  /// Takes `clocks` of this unit's share of a bandwidth at `now` or when it is free; the clock at which that is over. The others do not ask at the same moment: what a
  /// unit has left unused while a request is on its way, and for as long as units are apart, is there for it afterwards.
  [[nodiscard]] double take(double& free, double now, Clock latency, double clocks) const {
    free = std::max(free, now - static_cast<double>(latency) - apart(now)) + clocks;
    return std::max(free, now);
  }
  /// How far apart units are that began together: more, the longer they have run.
  [[nodiscard]] double apart(double now) const { return n_.stagger + n_.drift * now; }
  /// A number from 0 to 1 that belongs to the line: chance that is the same in every run.
  [[nodiscard]] static double chance(std::uint64_t line, std::uint64_t of) {
    std::uint64_t x = (line + of * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
  }
  /// Latencies spread around their mean: channels are near and far, banks are busy.
  [[nodiscard]] double spread_of(std::uint64_t line) const {
    return 1 + n_.spread * (2 * chance(line, 1) - 1);
  }
  /// Of the units that ask for a line together one fetches it. The others ask later, by as much as units are apart; a line that is still on its way is waited for, one that is there
  /// is a hit in L2. Who comes first is decided once for the lines of an instruction, by its `first` line: the units ask for all of them at once.
  [[nodiscard]] double on_its_way(std::uint64_t line, std::uint64_t first, double now, double latency,
                                  double sharers) const {
    const double full = latency * spread_of(line);
    if (chance(first, 2) * sharers < 1) return full;
    const double later = chance(first, 3) * apart(now);
    return std::max(std::min(full, static_cast<double>(n_.l2_latency)), full - later);
  }

  const Trace& trace_;
  const UnitOptions& options_;
  Numbers n_;
  std::vector<Op> ops_;
  std::vector<bool> marked_;
  Cache l1_, l2_;
  std::vector<Simd> simds_;
  std::deque<Wave> waves_;
  std::deque<Group> groups_;
  std::vector<Wave*> order_; ///< of one slot
  std::size_t next_group_ = 0, ended_ = 0;
  std::uint64_t launched_ = 0;
  UnitResult result_;

  // LDS
  std::array<std::deque<Clock>, 2> lds_queue_; ///< completions of what is queued, by SIMD pair
  double array_free_ = 0;
  std::array<double, 2> read_free_{}, write_free_{};
  std::priority_queue<std::pair<Clock, unsigned>, std::vector<std::pair<Clock, unsigned>>, std::greater<>>
      dma_;
  // vector memory
  std::deque<Clock> address_queue_; ///< when each entry leaves
  double address_free_ = 0, return_free_ = 0, l2_free_ = 0, mall_free_ = 0, hbm_free_ = 0;
  std::deque<std::pair<Clock, std::uint64_t>> inflight_;
  std::uint64_t inflight_sum_ = 0;
  std::unordered_map<std::uint64_t, Clock> scalar_lines_; ///< when each is there
  Clock scalar_filled_ = 0;                               ///< when the last of them comes
  std::vector<std::uint8_t> code_lines_;                  ///< whether somebody has fetched it
  std::unordered_set<std::uint64_t> mall_lines_;
};

Op Machine::make_op(const isa::Instruction& i, const Parameters& p) const {
  using isa::Kind;
  Op op;
  op.kind = isa::kind_of(i);
  op.issue = static_cast<std::uint16_t>(std::max(1U, p.issue_clocks(i.mnemonic)));
  op.first_block = i.address / fetch_bytes;
  op.last_block = (i.address + i.size - 1) / fetch_bytes;
  const std::string_view m = i.mnemonic;
  switch (op.kind) {
  case Kind::mfma: {
    op.unit = Unit::matrix;
    op.cause = Cause::matrix;
    op.matrix_clocks = static_cast<std::uint16_t>(std::max(4U, isa::matrix_clocks(i, trace_.arch)));
    const unsigned passes = op.matrix_clocks / 4U;
    const auto* row = machine::find_matrix_instruction(m);
    const bool f64 = row != nullptr && row->a == machine::Operand::f64,
               f32 = row != nullptr && row->a == machine::Operand::f32 &&
                     machine::target(trace_.arch).f32_products_apart;
    op.coexecutes = !f64 && !f32;
    const double extra = passes == 2  ? p["mfma_two_pass_wait_states"] - 2
                         : f64 || f32 ? p["mfma_f32_extra_wait_states"]
                                      : p["mfma_xdl_extra_wait_states"];
    op.result_slots = static_cast<std::uint16_t>(std::max(0.0, passes + extra));
    if (i.operands.size() > 3 && i.operands[3].is_vector()) {
      const auto& c = i.operands[3];
      op.accumulator = c.index + (c.kind == isa::OperandKind::agpr ? 256 : 0);
      op.accumulator_count = c.width;
    } else if (m.starts_with("v_smfmac") && !i.operands.empty() && i.operands[0].is_vector()) {
      const auto& c = i.operands[0];
      op.accumulator = c.index + (c.kind == isa::OperandKind::agpr ? 256 : 0);
      op.accumulator_count = c.width;
    }
    break;
  }
  case Kind::valu:
    op.unit = Unit::vector;
    op.cause = Cause::vector;
    op.packed_f32 = m.starts_with("v_pk_") && m.ends_with("_f32");
    break;
  case Kind::smem:
    op.unit = Unit::scalar;
    op.cause = Cause::scalar;
    op.smem = true;
    op.memtime = m.find("time") != m.npos;
    break;
  case Kind::lds_read:
  case Kind::lds_write:
  case Kind::lds_other:
    op.unit = Unit::memory;
    op.cause = Cause::lds;
    op.lds = true;
    break;
  case Kind::load_to_lds:
  case Kind::load:
  case Kind::store:
  case Kind::atomic: {
    op.unit = Unit::memory;
    op.cause = Cause::memory;
    op.flat = i.format == isa::Format::flat;
    const unsigned bits = std::max(32U, isa::memory_bits(i));
    const char* width = bits <= 32   ? "vmem_dword_clk"
                        : bits <= 64 ? "vmem_dwordx2_clk"
                        : bits <= 96 ? "vmem_dwordx3_clk"
                                     : "vmem_dwordx4_clk";
    op.address_clocks = static_cast<std::uint16_t>(p[width]);
    break;
  }
  case Kind::wait:
    if (i.wait) op.wait = *i.wait;
    break;
  case Kind::nop: {
    const std::uint64_t n = i.operands.empty() ? 0 : i.operands[0].value & 0xf;
    op.issue = static_cast<std::uint16_t>(n_.slot * (n + 1));
    break;
  }
  case Kind::priority:
    op.priority = i.operands.empty() ? 0 : static_cast<std::uint8_t>(i.operands[0].value & 3);
    break;
  case Kind::branch: op.unit = Unit::branch; break;
  case Kind::barrier:
  case Kind::unknown: break;
  default:
    op.unit = Unit::scalar;
    op.cause = Cause::scalar;
    if (m == "s_sleep") {
      op.unit = Unit::internal;
      op.cause = Cause::control;
      const std::uint64_t n = i.operands.empty() ? 0 : i.operands[0].value & 0x7f;
      op.issue = static_cast<std::uint16_t>(std::max<std::uint64_t>(n_.slot, 64 * n)); // ISA: 64 clocks each
    } else if (m == "s_endpgm") {
      op.unit = Unit::internal;
      op.cause = Cause::control;
      op.ends = true;
    } else if (m == "s_setpc_b64" || m == "s_swappc_b64") {
      op.unit = Unit::branch;
      op.cause = Cause::control;
    }
    break;
  }
  op.transcendental = op.kind == Kind::valu && op.issue > 4;
  if (op.unit == Unit::vector || op.unit == Unit::matrix || op.unit == Unit::memory) {
    isa::RegisterSet reads = isa::registers_read(i);
    if (op.accumulator >= 0)
      for (int r = op.accumulator; r < op.accumulator + op.accumulator_count; ++r)
        reads.reset(static_cast<std::size_t>(r));
    // A register that is both source and accumulator stays a source.
    if (op.unit == Unit::matrix)
      for (std::size_t n = 1; n < std::min<std::size_t>(3, i.operands.size()); ++n)
        if (i.operands[n].is_vector())
          for (unsigned r = 0; r < i.operands[n].width; ++r)
            reads.set(i.operands[n].index + r + (i.operands[n].kind == isa::OperandKind::agpr ? 256U : 0U));
    for (std::size_t r = 512; r < 640; ++r) reads.reset(r); // scalar results are ready with the next slot
    op.reads = ranges(reads);
    if (op.unit != Unit::memory) op.writes = ranges(isa::registers_written(i));
  } else if (op.unit == Unit::scalar || op.unit == Unit::branch) {
    isa::RegisterSet reads = isa::registers_read(i), writes = isa::registers_written(i);
    if (m.starts_with("s_cbranch_vcc")) reads.set(512 + 106).set(512 + 107);
    for (std::size_t r = 0; r < 512; ++r) reads.reset(r), writes.reset(r);
    op.reads = ranges(reads);
    if (!op.smem) op.writes = ranges(writes);
  }
  if (has(Limit::issue) && op.unit != Unit::matrix) op.issue = 0;
  if (has(Limit::matrix) && op.unit == Unit::matrix) {
    op.matrix_clocks = static_cast<std::uint16_t>(n_.slot);
    op.result_slots = 0;
  }
  return op;
}

void Machine::launch(std::size_t index, Clock at) {
  const WorkgroupTrace& g = trace_.workgroups[index];
  Group& group = groups_.emplace_back();
  for (std::uint32_t k = 0; k < g.waves.size(); ++k) {
    // To the SIMD with the fewest waves, the first of them after the one served last.
    unsigned best = static_cast<unsigned>(launched_ % simds_.size());
    for (unsigned s = 0; s < simds_.size(); ++s) {
      const unsigned c = static_cast<unsigned>((launched_ + s) % simds_.size());
      if (simds_[c].waves.size() < simds_[best].waves.size()) best = c;
    }
    Wave& w = waves_.emplace_back();
    w.stream = &g.waves[k];
    w.group = &group;
    w.simd = best;
    w.age = launched_++;
    group.waves.push_back(&w);
    result_.waves.push_back({.workgroup = static_cast<std::uint32_t>(index),
                             .wave = k,
                             .simd = best,
                             .launched = 0,
                             .ended = 0,
                             .segments = {},
                             .marks = {}});
    simds_[best].waves.push_back(&w);
    const Clock start = at + k * n_.wave_launch + n_.first_issue;
    w.accounted = at;
    w.blocked = Cause::launch;
    wake(w, start);
  }
}

void Machine::account(Wave& w, Clock until, Cause cause, std::uint32_t instruction) {
  if (until <= w.accounted) return;
  if (options_.keep_segments) {
    auto& segments = w.line->segments;
    if (!segments.empty() && segments.back().cause == cause && segments.back().instruction == instruction) {
      segments.back().end = static_cast<std::uint32_t>(until);
    } else {
      segments.push_back(
          {static_cast<std::uint32_t>(w.accounted), static_cast<std::uint32_t>(until), instruction, cause});
    }
  }
  w.accounted = until;
}

std::optional<Machine::Block> Machine::blocked(Wave& w, const Op& op, const Step& step, Clock t,
                                               std::uint8_t used) {
  Simd& s = simds_[w.simd];
  if (w.jumped) {
    w.jumped = false;
    w.target = op.first_block;
    // The first to come brings the line; its successors are prefetched.
    if (n_.icache_miss != 0 && code_lines_[op.line] == 0)
      w.branched = std::max(w.branched, t - std::min(t, n_.branch_taken)) + n_.icache_miss;
  }
  if (w.target != never && !has(Limit::issue)) {
    const Clock there = w.branched + n_.branch_taken + (op.last_block == w.target ? 0 : n_.next_fetch);
    if (there > t) return Block{there, Cause::fetch};
    if (op.last_block != w.target) w.target = never;
  }
  code_lines_[op.line] = 1;
  if (!has(Limit::dependencies)) {
    Clock usable = 0;
    for (const auto& [first, count] : op.reads)
      for (unsigned r = first; r < unsigned{first} + count; ++r) usable = std::max(usable, w.usable[r]);
    if (op.accumulator >= 0)
      for (int r = op.accumulator; r < op.accumulator + op.accumulator_count; ++r)
        usable = std::max(usable, w.forward[static_cast<std::size_t>(r)]);
    if (usable > t) {
      const bool pipe = op.unit == Unit::matrix && usable <= s.pipe_free;
      return Block{usable, pipe ? Cause::matrix : Cause::dependency};
    }
  }
  // What one wave issues after another unit's instruction comes later than the next slot.
  const Clock gap = op.unit == Unit::memory ? w.last == Unit::vector   ? n_.valu_to_memory
                                              : w.last == Unit::matrix ? n_.mfma_to_memory
                                              : w.last == Unit::scalar ? n_.salu_to_memory
                                                                       : 0
                    : op.unit == Unit::branch && w.last == Unit::scalar ? n_.salu_to_branch
                                                                        : 0;
  if (gap != 0 && w.last_issue + gap > t) return Block{w.last_issue + gap, Cause::dependency};
  if (op.ends && w.stored > t) return Block{w.stored, Cause::vmcnt};
  const auto taken = [&](unsigned port) { return ((used >> port) & 1U) != 0; };
  switch (op.unit) {
  case Unit::matrix:
    if (s.pipe_free > t) return Block{s.pipe_free, Cause::matrix};
    if (s.vector_free > t) return Block{s.vector_free, Cause::arbitration};
    if (taken(0)) return Block{t + n_.slot, Cause::arbitration};
    break;
  case Unit::vector:
    if (s.pipe_free > t) {
      if (!s.pipe_coexecutes) return Block{s.pipe_free, Cause::coissue};
      if (op.packed_f32 && !n_.packed_coissues) return Block{s.pipe_free + n_.packed_hazard, Cause::coissue};
      if (t < s.pipe_issued + n_.coissue_from) return Block{s.pipe_issued + n_.coissue_from, Cause::coissue};
    } else if (op.packed_f32 && s.pipe_free != 0 && t < s.pipe_free + n_.packed_hazard) {
      return Block{s.pipe_free + n_.packed_hazard, Cause::coissue};
    }
    if (s.vector_free > t) return Block{s.vector_free, Cause::arbitration};
    if (taken(0)) return Block{t + n_.slot, Cause::arbitration};
    break;
  case Unit::memory: {
    if (taken(1)) return Block{t + n_.slot, Cause::arbitration};
    const bool to_lds =
        op.lds || (step.request != 0 && trace_.requests[step.request - 1].space == Space::lds);
    if (to_lds && !has(Limit::lds)) {
      auto& queue = lds_queue_[w.simd / 2 % 2];
      while (!queue.empty() && queue.front() <= t) queue.pop_front();
      if (queue.size() >= n_.lds_entries) return Block{queue.front(), Cause::lds_queue};
      if (op.kind == isa::Kind::lds_write) {
        const double free = write_free_[w.simd / 2 % 2];
        if (free > static_cast<double>(t))
          return Block{static_cast<Clock>(std::ceil(free)), Cause::lds_queue};
      }
    } else if (!to_lds) {
      while (!address_queue_.empty() && address_queue_.front() <= t) address_queue_.pop_front();
      if (address_queue_.size() >= n_.queue_entries)
        return Block{address_queue_[address_queue_.size() - n_.queue_entries], Cause::address_unit};
      while (!w.vm.empty() && w.vm.front() <= t) w.vm.pop_front();
      if (w.vm.size() >= 63) return Block{w.vm[w.vm.size() - 63], Cause::vmcnt};
    }
    break;
  }
  case Unit::scalar:
    if (taken(2)) return Block{t + n_.slot, Cause::arbitration};
    break;
  case Unit::branch:
    if (taken(3)) return Block{t + n_.slot, Cause::arbitration};
    break;
  case Unit::internal:
    if (op.kind == isa::Kind::wait) {
      while (!w.vm.empty() && w.vm.front() <= t) w.vm.pop_front();
      if (op.wait.vmcnt < 63 && w.vm.size() > op.wait.vmcnt)
        return Block{w.vm[w.vm.size() - op.wait.vmcnt - 1], Cause::vmcnt};
      if (op.wait.lgkmcnt < 15) {
        std::erase_if(w.lgkm, [t](Clock c) { return c <= t; });
        if (w.lgkm.size() > op.wait.lgkmcnt) {
          std::sort(w.lgkm.begin(), w.lgkm.end());
          return Block{w.lgkm[w.lgkm.size() - op.wait.lgkmcnt - 1], Cause::lgkmcnt};
        }
      }
    }
    break;
  }
  return std::nullopt;
}

Clock Machine::issue_lds(Wave& w, const Op&, const Request& r, Clock t) {
  const std::size_t pair = w.simd / 2 % 2;
  if (has(Limit::lds)) return t + n_.lds_latency;
  double clocks = r.lds_clocks;
  if (r.space == Space::crossbar) clocks = static_cast<double>(n_.crossbar);
  if (has(Limit::bank_conflicts)) {
    clocks -= r.lds_conflicts;
  } else if (r.misaligned && r.kind == AccessKind::load) {
    clocks = std::max(clocks, static_cast<double>(n_.misaligned));
  }
  if (r.kind == AccessKind::atomic) clocks *= 2; // reads and writes
  double& port = r.kind == AccessKind::store ? write_free_[pair] : read_free_[pair];
  const double port_clocks =
      r.kind == AccessKind::store ? 4 + r.total_bytes() / n_.write_port : r.total_bytes() / n_.read_port;
  double start = std::max(static_cast<double>(t), array_free_);
  // What is read waits for its port behind the memory, which goes on with the other pair's.
  // Data that arrived from memory before this access writes first.
  while (!dma_.empty() && static_cast<double>(dma_.top().first) <= start) {
    array_free_ = std::max(array_free_, static_cast<double>(dma_.top().first)) + dma_.top().second;
    start = std::max(start, array_free_);
    dma_.pop();
  }
  array_free_ = start + clocks;
  port = std::max(port, r.kind == AccessKind::store ? static_cast<double>(t) : start) + port_clocks;
  result_.lds_clocks += static_cast<std::uint64_t>(clocks);
  result_.lds_conflict_clocks += has(Limit::bank_conflicts) ? 0 : r.lds_conflicts;
  const double done = std::max(array_free_, port) + static_cast<double>(n_.lds_latency);
  auto complete = static_cast<Clock>(std::ceil(done));
  complete = std::max(complete, w.lds_last);
  w.lds_last = complete;
  auto& queue = lds_queue_[pair];
  queue.insert(std::upper_bound(queue.begin(), queue.end(), complete), complete);
  return complete;
}

Clock Machine::issue_memory(Wave& w, const Op& op, const Request& r, Clock t) {
  double start = std::max(static_cast<double>(t), address_free_);
  const bool load = r.kind == AccessKind::load || r.kind == AccessKind::to_lds;
  // Loads hold their lines' place in L1 until they return.
  if (load) {
    while (!inflight_.empty() && (static_cast<double>(inflight_.front().first) <= start ||
                                  inflight_sum_ + r.total_bytes() > n_.inflight_bytes)) {
      if (!has(Limit::address_unit)) start = std::max(start, static_cast<double>(inflight_.front().first));
      inflight_sum_ -= inflight_.front().second;
      inflight_.pop_front();
    }
  }
  double clocks = std::max<double>(op.address_clocks, n_.line_clk * r.lines);
  if (has(Limit::address_unit)) clocks = 0;
  address_free_ = start + clocks;
  result_.address_clocks += static_cast<std::uint64_t>(clocks);
  address_queue_.push_back(static_cast<Clock>(std::ceil(address_free_)));
  double done = address_free_;
  for (unsigned k = 0; k < r.lines; ++k) {
    const std::uint64_t line = trace_.lines[r.first_line + k];
    ++result_.lines;
    if (!load) {
      // Written through to L2; the line stays in L1 only if it was there.
      l2_free_ = std::max(l2_free_, address_free_) + n_.line_bytes / n_.l2_rate;
      done = std::max(done, l2_free_);
      // What L2 passes on takes its turn with what is loaded from there.
      const double bytes =
          std::min(n_.line_bytes, static_cast<double>(r.total_bytes()) / std::max<unsigned>(1, r.lines));
      if (options_.l2_share > 0 && chance(line, 4) < options_.l2_share) {
        // stays in L2
      } else if ((options_.data_in == UnitOptions::Start::hbm && options_.mall_share < 0.5) ||
                 (options_.data_in == UnitOptions::Start::mall && !n_.has_mall)) {
        done = std::max(done, take(hbm_free_, address_free_, n_.hbm_latency, bytes / n_.hbm_store_rate));
      } else if (options_.data_in != UnitOptions::Start::l2) {
        done = std::max(done, take(mall_free_, address_free_, n_.mall_latency, bytes / n_.mall_store_rate));
      }
      if (l2_.find(line) == nullptr) l2_.put(line, static_cast<Clock>(address_free_));
      continue;
    }
    if (Clock* there = l1_.find(line)) {
      ++result_.l1_hits;
      done = std::max(done, std::max(address_free_ + static_cast<double>(n_.l1_latency),
                                     has(Limit::memory_latency) ? 0.0 : static_cast<double>(*there)));
      continue;
    }
    double at = std::max(address_free_, l2_free_);
    l2_free_ = at + n_.line_bytes / n_.l2_rate;
    double arrives = 0;
    if (Clock* there = l2_.find(line); there != nullptr || options_.data_in == UnitOptions::Start::l2 ||
                                       (options_.l2_share > 0 && chance(line, 4) < options_.l2_share)) {
      ++result_.l2_hits;
      arrives = std::max(at + static_cast<double>(n_.l2_latency) * spread_of(line),
                         there == nullptr || has(Limit::memory_latency) ? 0.0 : static_cast<double>(*there));
    } else {
      const bool mall =
          n_.has_mall && (mall_lines_.contains(line) || options_.data_in == UnitOptions::Start::mall ||
                          (options_.mall_share > 0 && chance(line, 5) < options_.mall_share));
      double& free = mall ? mall_free_ : hbm_free_;
      at = std::max(at, take(free, at, mall ? n_.mall_latency : n_.hbm_latency,
                             n_.line_bytes / (mall ? n_.mall_rate : n_.hbm_rate)));
      arrives = at + on_its_way(line, trace_.lines[r.first_line], at,
                                static_cast<double>(mall ? n_.mall_latency : n_.hbm_latency),
                                mall ? n_.l2_sharers : n_.mall_sharers);
      ++(mall ? result_.mall_hits : result_.hbm_lines);
      mall_lines_.insert(line);
      l2_.put(line, static_cast<Clock>(std::ceil(arrives)));
    }
    l1_.put(line, static_cast<Clock>(std::ceil(arrives)));
    done = std::max(done, arrives);
  }
  if (!load) {
    result_.stored_bytes += r.total_bytes();
    const auto back = static_cast<Clock>(std::ceil(done)) +
                      (r.kind == AccessKind::atomic ? n_.atomic_latency : n_.store_latency);
    w.stored = std::max(w.stored, back);
    return back;
  }
  // The way back is as wide as L1.
  return_free_ = std::max(return_free_, done) + r.total_bytes() / n_.l1_rate;
  done = std::max(done, return_free_);
  const auto complete = static_cast<Clock>(std::ceil(done));
  inflight_.emplace_back(complete, r.total_bytes());
  inflight_sum_ += r.total_bytes();
  return complete;
}

void Machine::issue(Wave& w, const Op& op, const Step& step, Clock t) {
  Simd& s = simds_[w.simd];
  if (marked_[step.instruction]) w.line->marks.push_back({step.instruction, static_cast<std::uint32_t>(t)});
  account(w, t, w.blocked, w.blocked_on);
  Clock busy = op.issue;
  switch (op.unit) {
  case Unit::matrix: {
    const Clock begin = t + busy - std::min<Clock>(busy, n_.slot); // scales are loaded first
    s.pipe_issued = begin;
    s.pipe_free = begin + op.matrix_clocks;
    s.pipe_coexecutes = op.coexecutes;
    s.vector_free = t + busy;
    result_.matrix_clocks[w.simd] += op.matrix_clocks;
    auto& spans = result_.matrix_busy[w.simd];
    if (options_.keep_segments) {
      const auto from = static_cast<std::uint32_t>(t), to = static_cast<std::uint32_t>(s.pipe_free);
      if (!spans.empty() && spans.back().second >= from) {
        spans.back().second = to;
      } else {
        spans.emplace_back(from, to);
      }
    }
    const Clock forwarded = begin + op.matrix_clocks + n_.forward;
    const Clock usable = std::max(forwarded, begin + n_.slot * (op.result_slots + 1U));
    for (const auto& [first, count] : op.writes)
      for (unsigned r = first; r < std::min(512U, unsigned{first} + count); ++r) {
        w.usable[r] = usable;
        w.forward[r] = forwarded;
      }
    break;
  }
  case Unit::vector:
    s.vector_free = t + busy;
    for (const auto& [first, count] : op.writes)
      for (unsigned r = first; r < unsigned{first} + count; ++r) {
        if (r >= 512) {
          w.usable[r] = t + n_.valu_sgpr; // for scalar readers
        } else {
          w.usable[r] = w.forward[r] = t + std::max(busy, n_.valu_result);
        }
      }
    break;
  case Unit::memory: {
    if (step.request == 0) break;
    const Request& r = trace_.requests[step.request - 1];
    if (r.lanes == 0) break; // nothing is asked for: done at once
    if (r.space == Space::lds || r.space == Space::crossbar) {
      const Clock done = issue_lds(w, op, r, t);
      if (r.kind == AccessKind::store && s.pipe_free > t && !has(Limit::lds) && !has(Limit::issue)) {
        // The registers that are stored are read in the pipe's stead.
        const auto stall = static_cast<Clock>(n_.write_stall * r.total_bytes() / 1024);
        s.pipe_free += stall;
      }
      if (op.lds || op.flat) w.lgkm.push_back(done);
      if (!op.lds) w.vm.push_back(w.vm_last = std::max(w.vm_last, done));
    } else {
      Clock done = issue_memory(w, op, r, t);
      if (r.kind == AccessKind::to_lds) {
        // Lanes write side by side from one base: no conflicts.
        const auto writes = static_cast<unsigned>(std::ceil(r.total_bytes() / n_.dma_bytes));
        dma_.emplace(done, writes);
        done += writes;
      }
      w.vm_last = std::max(w.vm_last, done);
      w.vm.push_back(w.vm_last);
      if (op.flat) w.lgkm.push_back(done);
    }
    break;
  }
  case Unit::scalar:
    for (const auto& [first, count] : op.writes)
      for (unsigned r = first; r < unsigned{first} + count; ++r) w.usable[r] = t;
    if (op.smem) {
      Clock latency = n_.scalar_hit;
      if (step.request != 0) {
        const Request& r = trace_.requests[step.request - 1];
        for (unsigned k = 0; k < r.lines; ++k) {
          // Who asks while the line is on its way waits for it too.
          const std::uint64_t line = trace_.lines[r.first_line + k] / n_.scalar_line;
          const auto [at, fresh] = scalar_lines_.emplace(line, 0);
          // Lines that miss come one after the other.
          if (fresh) {
            scalar_filled_ = std::max(t + n_.scalar_miss, scalar_filled_ + n_.scalar_interval);
            at->second = scalar_filled_;
          }
          if (at->second > t) latency = std::max(latency, at->second - t);
        }
      }
      w.lgkm.push_back(t + latency);
    }
    break;
  case Unit::branch: {
    const bool jumps =
        w.at + 1 < w.stream->steps.size() && w.stream->steps[w.at + 1].instruction != step.instruction + 1;
    if (jumps) {
      w.jumped = true;
      w.branched = t;
    }
    break;
  }
  case Unit::internal:
    if (op.kind == isa::Kind::priority) w.priority = op.priority;
    break;
  }
  account(w, t + busy, op.cause, step.instruction);
  w.ready = t + busy;
  w.last = op.unit;
  w.last_issue = t;
  ++w.at;
  ++result_.steps;
  if (op.kind == isa::Kind::barrier && !has(Limit::barriers)) {
    Group& g = *w.group;
    w.at_barrier = true;
    w.blocked = Cause::barrier;
    w.blocked_on = step.instruction;
    w.ready = never;
    if (++g.arrived + g.ended == g.waves.size()) {
      g.arrived = 0;
      for (Wave* o : g.waves) {
        if (!o->at_barrier) continue;
        o->at_barrier = false;
        wake(*o, std::max(t + n_.barrier, o->accounted));
      }
    }
  } else {
    w.blocked = Cause::arbitration;
    w.blocked_on = step.instruction;
  }
  if (op.ends || w.at == w.stream->steps.size()) {
    w.ended = true;
    w.ready = never;
    w.line->ended = static_cast<std::uint32_t>(t + busy);
    result_.clocks = std::max(result_.clocks, t + busy);
    std::erase(s.waves, &w);
    Group& g = *w.group;
    ++ended_;
    if (++g.ended == g.waves.size()) {
      if (next_group_ < trace_.workgroups.size()) launch(next_group_++, t + busy + n_.place_free);
    } else if (g.arrived != 0 && g.arrived + g.ended == g.waves.size()) {
      g.arrived = 0; // the hardware lets ended waves count as arrived
      for (Wave* o : g.waves) {
        if (!o->at_barrier) continue;
        o->at_barrier = false;
        wake(*o, std::max(t + n_.barrier, o->accounted));
      }
    }
  }
}

void Machine::slot(unsigned simd, Clock t) {
  Simd& s = simds_[simd];
  std::uint8_t used = 0;
  // Issue changes the list when a wave ends or a workgroup follows, so go over a copy in order of priority, then age.
  order_.clear();
  for (Wave* w : s.waves) {
    if (w->ready > t) continue;
    order_.push_back(w);
    const auto before = [](const Wave* a, const Wave* b) {
      return a->priority != b->priority ? a->priority > b->priority : a->age < b->age;
    };
    for (std::size_t i = order_.size() - 1; i > 0 && before(order_[i], order_[i - 1]); --i)
      std::swap(order_[i], order_[i - 1]);
  }
  for (Wave* w : order_) {
    // Without the cost of issue, a wave goes on in the same slot.
    for (int guard = 0; guard < 4096; ++guard) {
      const Step& step = w->stream->steps[w->at];
      const Op& op = ops_[step.instruction];
      const auto block = blocked(*w, op, step, t, has(Limit::issue) && op.unit != Unit::matrix ? 0 : used);
      if (block) {
        account(*w, t, w->blocked, w->blocked_on);
        w->blocked = block->cause;
        w->blocked_on = step.instruction;
        w->ready = std::max(block->until, t + 1);
        break;
      }
      if (op.unit != Unit::internal) {
        const unsigned port = op.unit == Unit::vector || op.unit == Unit::matrix ? 0
                              : op.unit == Unit::memory                          ? 1
                              : op.unit == Unit::scalar                          ? 2
                                                                                 : 3;
        used = static_cast<std::uint8_t>(used | (1U << port));
      }
      issue(*w, op, step, t);
      if (w->ended || w->ready > t) break;
    }
  }
  Clock next = never;
  for (const Wave* w : s.waves) next = std::min(next, w->ready);
  s.next = next >= never ? never : slot_at(simd, std::max(next, t + 1));
}

UnitResult Machine::run() {
  std::size_t total = 0;
  for (const auto& g : trace_.workgroups) total += g.waves.size();
  result_.waves.reserve(total); // waves point into it
  for (std::size_t g = 0; g < std::max(1U, options_.resident) && g < trace_.workgroups.size(); ++g) {
    launch(next_group_, 0);
    ++next_group_;
  }
  std::size_t connected = 0;
  const auto connect = [&] {
    for (; connected < waves_.size(); ++connected) {
      const std::size_t i = connected;
      waves_[i].line = &result_.waves[i];
      waves_[i].line->launched = static_cast<std::uint32_t>(waves_[i].ready);
      if (waves_[i].stream->steps.empty()) {
        waves_[i].ended = true;
        waves_[i].ready = never;
        ++waves_[i].group->ended;
        ++ended_;
        std::erase(simds_[waves_[i].simd].waves, &waves_[i]);
      }
    }
  };
  connect();
  while (ended_ < total) {
    unsigned best = 0;
    for (unsigned i = 1; i < simds_.size(); ++i)
      if (simds_[i].next < simds_[best].next) best = i;
    if (simds_[best].next >= never)
      throw std::runtime_error("waves wait at a barrier that the others of their workgroup never reach");
    if (simds_[best].next > 4'000'000'000)
      throw std::runtime_error(
          "more than 4 billion clocks to model\n  hint   a smaller problem, or --sample 1");
    slot(best, simds_[best].next);
    connect();
  }
  const double busy = std::max({l2_free_, mall_free_, hbm_free_});
  result_.drained = std::max(result_.clocks, static_cast<std::uint64_t>(std::ceil(busy)));
  return std::move(result_);
}

} // namespace

std::string_view to_string(Cause cause) {
  static constexpr std::string_view names[] = {
      "matrix",     "vector",      "scalar",    "lds",          "memory", "control",
      "dependency", "coissue",     "lds_queue", "address_unit", "vmcnt",  "lgkmcnt",
      "barrier",    "arbitration", "fetch",     "launch",       "idle"};
  return names[static_cast<std::size_t>(cause)];
}

std::string_view to_string(Limit limit) {
  static constexpr std::string_view names[] = {"none",
                                               "bank_conflicts",
                                               "lds",
                                               "lds_latency",
                                               "address_unit",
                                               "memory_latency",
                                               "memory_bandwidth",
                                               "barriers",
                                               "issue",
                                               "matrix",
                                               "dependencies",
                                               "launch"};
  return names[static_cast<std::size_t>(limit)];
}

std::array<double, causes> UnitResult::spent() const { return spent(0, static_cast<std::uint32_t>(clocks)); }

std::array<double, causes> UnitResult::spent(std::uint32_t begin, std::uint32_t end) const {
  std::array<double, causes> total{};
  for (unsigned simd = 0; simd < 4; ++simd) {
    // Where something changes: ends of segments and of the pipe's work.
    struct Edge {
      std::uint32_t at;
      std::uint8_t kind; ///< cause, or 255 for the pipe
      int delta;
    };
    std::vector<Edge> edges;
    for (const WaveTimeline& w : waves) {
      if (w.simd != simd) continue;
      for (const Segment& s : w.segments) {
        if (s.end <= begin || s.begin >= end) continue;
        edges.push_back({std::max(begin, s.begin), static_cast<std::uint8_t>(s.cause), 1});
        edges.push_back({std::min(end, s.end), static_cast<std::uint8_t>(s.cause), -1});
      }
    }
    for (const auto& [from, to] : matrix_busy[simd]) {
      if (to <= begin || from >= end) continue;
      edges.push_back({std::max(begin, from), 255, 1});
      edges.push_back({std::min(end, to), 255, -1});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    std::array<int, causes> active{};
    int pipe = 0;
    std::uint32_t at = begin;
    const auto put = [&](std::uint32_t until) {
      const double clocks_here = until - at;
      at = until;
      if (clocks_here <= 0) return;
      if (pipe > 0) {
        total[static_cast<std::size_t>(Cause::matrix)] += clocks_here;
        return;
      }
      int issuing = 0, waiting = 0;
      for (std::size_t c = 0; c < causes; ++c)
        (c <= static_cast<std::size_t>(Cause::control) ? issuing : waiting) += active[c];
      if (issuing + waiting == 0) {
        total[static_cast<std::size_t>(Cause::idle)] += clocks_here;
        return;
      }
      for (std::size_t c = 0; c < causes; ++c) {
        const bool issues = c <= static_cast<std::size_t>(Cause::control);
        if (issuing != 0 && !issues) continue;
        total[c] += clocks_here * active[c] / (issuing != 0 ? issuing : waiting);
      }
    };
    for (const Edge& e : edges) {
      put(e.at);
      if (e.kind == 255) {
        pipe += e.delta;
      } else {
        active[e.kind] += e.delta;
      }
    }
    put(end);
  }
  for (double& c : total) c /= 4;
  return total;
}

UnitResult simulate(const Trace& trace, const Parameters& parameters, const UnitOptions& options) {
  return Machine(trace, parameters, options).run();
}

} // namespace inlay::runtime::timing
