// The compute unit. Every shared thing is a queue that serves in order of request, so that when an instruction issues, the
// clock at which it is done is known at once, and a wave that waits knows until when; only barriers wait for the unknown. The
// loop goes from slot to slot in order of time and skips slots in which no wave can do anything.
#include "unit_memory.h"
#include "unit_op.h"

#include <cmath>

namespace inlay::runtime::timing {
namespace {

using Space = ObservedAccess::Space;
using AccessKind = ObservedAccess::Kind;
using unit::Clock, unit::never, unit::Numbers, unit::Op, unit::Unit;

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
      : trace_(t), options_(o), n_(p, o), memory_(t, p, o, n_, result_), simds_(n_.simds) {
    const auto line_bytes = static_cast<std::uint64_t>(p["icache_line_bytes"]);
    std::uint64_t line = never;
    for (const auto& i : t.program.instructions) {
      ops_.push_back(unit::op_of(i, t.arch, p, o.without));
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
  void slot(unsigned simd, Clock t);
  bool has(Limit l) const { return options_.without == l; }

  const Trace& trace_;
  const UnitOptions& options_;
  Numbers n_;
  UnitResult result_;
  unit::Memory memory_;
  std::vector<Op> ops_;
  std::vector<bool> marked_;
  std::vector<Simd> simds_;
  std::deque<Wave> waves_;
  std::deque<Group> groups_;
  std::vector<Wave*> order_; ///< of one slot
  std::size_t next_group_ = 0, ended_ = 0;
  std::uint64_t launched_ = 0;

  std::vector<std::uint8_t> code_lines_; ///< whether somebody has fetched it
};

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
      if (const Clock until = memory_.lds_full(w.simd / 2 % 2, op.kind == isa::Kind::lds_write, t))
        return Block{until, Cause::lds_queue};
    } else if (!to_lds) {
      if (const Clock until = memory_.address_full(t)) return Block{until, Cause::address_unit};
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
      const Clock done = memory_.lds(w.simd / 2 % 2, r, t, w.lds_last);
      if (r.kind == AccessKind::store && s.pipe_free > t && !has(Limit::lds) && !has(Limit::issue)) {
        // The registers that are stored are read in the pipe's stead.
        const auto stall = static_cast<Clock>(n_.write_stall * r.total_bytes() / 1024);
        s.pipe_free += stall;
      }
      if (op.lds || op.flat) w.lgkm.push_back(done);
      if (!op.lds) w.vm.push_back(w.vm_last = std::max(w.vm_last, done));
    } else {
      Clock done = memory_.vector(op.address_clocks, r, t);
      if (r.kind == AccessKind::store || r.kind == AccessKind::atomic) w.stored = std::max(w.stored, done);
      if (r.kind == AccessKind::to_lds) {
        // Lanes write side by side from one base: no conflicts.
        const auto writes = static_cast<unsigned>(std::ceil(r.total_bytes() / n_.dma_bytes));
        memory_.to_lds(done, writes);
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
      w.lgkm.push_back(
          t + (step.request == 0 ? n_.scalar_hit : memory_.scalar(trace_.requests[step.request - 1], t)));
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
  result_.drained = std::max(result_.clocks, static_cast<std::uint64_t>(std::ceil(memory_.free_at())));
  return std::move(result_);
}

} // namespace

UnitResult simulate(const Trace& trace, const Parameters& parameters, const UnitOptions& options) {
  return Machine(trace, parameters, options).run();
}

} // namespace inlay::runtime::timing
