// What is asked of the registers of each instruction: written before they are read, waited for, the wait states kept.
//
// Counters: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", section "S_WAITCNT";
// vector memory returns in order, LDS in order, scalar loads in any order (so only lgkmcnt(0) covers them).
#include "engine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <inlay/machine/target.h>

namespace inlay::runtime::emulator {

std::string row_name(const Wave& w, unsigned row) {
  return row >= w.accum_offset ? "a" + std::to_string(row - w.accum_offset) : "v" + std::to_string(row);
}
std::string scalar_name(unsigned r) {
  switch (r) {
  case 106:
  case 107: return "vcc";
  case 124: return "m0";
  case 126:
  case 127: return "exec";
  default: return r >= 108 && r < 124 ? "ttmp" + std::to_string(r - 108) : "s" + std::to_string(r);
  }
}

namespace {

/// Whether an outstanding load into a row that this instruction overwrites lands before it anyway.
bool lands_in_order(const Operation& op, u8 pending) {
  if (op.cls == Class::memory) return pending == counts_vm;
  if (op.cls == Class::lds) return pending == counts_lgkm;
  return false;
}

/// The counters that hold the load that filled the row last.
u8 pending_of(const Wave& w, unsigned row) {
  const u64 id = w.filled_by[row] >> 2;
  switch (static_cast<Filled>(w.filled_by[row] & 3U)) {
  case Filled::by_nothing: return 0;
  case Filled::by_memory: return id > w.vm_landed ? counts_vm : 0;
  case Filled::by_lds: return id > w.lds_landed ? counts_lgkm : 0;
  case Filled::by_flat: break;
  }
  return id > w.flat_landed ? u8{counts_vm | counts_lgkm} : u8{0};
}

/// The first of the rows that an outstanding load fills; their end when there is none.
unsigned first_pending(const Wave& w, const RowRange& r, unsigned from) {
  const unsigned end = unsigned{r.first} + r.count;
  while (from < end && (w.filled_by[from] < w.oldest_load || pending_of(w, from) == 0)) ++from;
  return from;
}

/// False when no register of `op` can be one that an outstanding load fills, or only in ways that are in order: no need for check_waits.
bool may_wait(const Wave& w, const Operation& op) {
  if (w.oldest_load == Wave::none_outstanding) return false;
  if (w.gpr_idx_mode != 0) return true;
  bool some = ((w.scalar_pending[0] & (op.scalar_reads[0] | op.scalar_writes[0])) |
               (w.scalar_pending[1] & (op.scalar_reads[1] | op.scalar_writes[1]))) != 0;
  for (const RowRange& r : op.reads) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) some |= w.filled_by[k] >= w.oldest_load;
  }
  const bool ordered = op.fills == Filled::by_memory || op.fills == Filled::by_lds; // among their like
  for (const RowRange& r : op.writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      const u64 f = w.filled_by[k];
      some |= f >= w.oldest_load && !(ordered && (f & 3U) == static_cast<u64>(op.fills));
    }
  }
  return some;
}

void check_waits(Wave& w, const Operation& op) {
  each_read(w, op, [&](const RowRange& r) {
    const unsigned end = unsigned{r.first} + r.count;
    for (unsigned k = first_pending(w, r, r.first); k < end; k = first_pending(w, r, k + 1)) {
      if (!report_again(w, FindingKind::waits))
        report(w, FindingKind::waits,
               row_name(w, k) + " is read while the " +
                   ((pending_of(w, k) & counts_vm) != 0 ? "load (vmcnt)" : "LDS read (lgkmcnt)") +
                   " that fills it is in flight",
               first_lane(w.exec()));
      w.filled_by[k] = 0;
    }
  });
  each_write(w, op, [&](const RowRange& r) {
    const unsigned end = unsigned{r.first} + r.count;
    for (unsigned k = first_pending(w, r, r.first); k < end; k = first_pending(w, r, k + 1)) {
      if (!lands_in_order(op, pending_of(w, k)) && !report_again(w, FindingKind::waits)) {
        report(w, FindingKind::waits,
               row_name(w, k) +
                   " is overwritten while a load into it is in flight: the load lands later and wins",
               first_lane(w.exec()));
      }
      w.filled_by[k] = 0;
    }
  });
  for (unsigned half = 0; half < 2; ++half) {
    const u64 clash = w.scalar_pending[half] & (op.scalar_reads[half] | op.scalar_writes[half]);
    if (clash == 0) continue;
    const unsigned r = half * 64 + first_lane(clash);
    const bool read = (clash & op.scalar_reads[half]) != 0;
    report(w, FindingKind::waits,
           scalar_name(r) +
               (read ? " is read while the scalar load that fills it is in flight (only lgkmcnt(0) covers it)"
                     : " is overwritten while a scalar load into it is in flight"));
    w.scalar_pending[half] &= ~clash;
  }
}

/// Stress: `counter` holds instruction `id` no more.
void let_go(Wave& w, u64 id, u8 counter) {
  for (Deferred& d : w.deferred) {
    if (d.id == id) d.counters &= static_cast<u8>(~counter);
  }
}

/// Whether a wave's accesses to one place go different ways there, one of them flat, and one of them changes what is there. lgkmcnt
/// may hold the flat one long after its memory has been reached: a count for its other way says nothing about the order.
bool keeps_order(const Deferred& a, const Deferred& b) {
  if ((!a.flat && !b.flat) || (!a.writes && !b.writes)) return false;
  for (std::size_t i = 0, k = 0; i < a.touched.size() && k < b.touched.size();) {
    if (a.touched[i].second <= b.touched[k].first) {
      ++i;
    } else if (b.touched[k].second <= a.touched[i].first) {
      ++k;
    } else {
      return true;
    }
  }
  return false;
}

void land_one(Wave& w, std::size_t i) {
  if (!w.deferred[i].land) return;
  for (std::size_t k = 0; k < i; ++k)
    if (w.deferred[k].land && keeps_order(w.deferred[k], w.deferred[i])) land_one(w, k);
  const auto land = std::move(w.deferred[i].land);
  w.deferred[i].land = w.deferred[i].reach = nullptr;
  land();
}

/// Stress: does what nothing holds any more, vector memory first.
void land_deferred(Wave& w) {
  const auto done = [](const Deferred& d) { return (d.counters & (counts_vm | counts_lgkm)) == 0; };
  for (const u8 kind : {u8{is_memory}, u8{0}}) {
    for (std::size_t i = 0; i < w.deferred.size(); ++i)
      if (done(w.deferred[i]) && (w.deferred[i].counters & is_memory) == kind) land_one(w, i);
  }
  std::erase_if(w.deferred, done);
}

inline void note_oldest(Wave& w) {
  const u64 vm = w.vm_queue.empty() ? Wave::none_outstanding : w.vm_queue[0].id << 2;
  const u64 lgkm = w.lgkm_queue.empty() ? Wave::none_outstanding : w.lgkm_queue[0].id << 2;
  w.oldest_load = std::min(vm, lgkm);
}

/// A flat instruction is done when neither counter holds it.
template <class Queue>
void flat_left(Wave& w, u64 id, const Queue& other) {
  for (u32 i = 0; i < other.size(); ++i)
    if (other[i].id == id) return;
  w.flat_landed = std::max(w.flat_landed, id);
}

/// The same where flat instructions are: memory and LDS answer them in no common order, so that of those that vmcnt still counts they
/// may all be the ones that are done.
void wait_beside_flat(Wave& w, u32 vmcnt) {
  u32 later = 0;
  for (u32 i = w.vm_queue.size(); i-- > 0;) {
    const auto e = w.vm_queue[i];
    const bool flat = (e.counters & counts_lgkm) != 0;
    if (vmcnt != 0 && (flat || later++ < vmcnt)) continue;
    if (w.deferring) let_go(w, e.id, counts_vm);
    w.vm_queue.erase(i);
    if (flat) {
      flat_left(w, e.id, w.lgkm_queue);
    } else {
      w.vm_landed = std::max(w.vm_landed, e.id);
    }
  }
}

/// vmcnt holds the oldest `count` no more.
void release_memory(Wave& w, u32 count) {
  if (w.deferring) {
    for (u32 i = 0; i < count; ++i) let_go(w, w.vm_queue[i].id, counts_vm);
  }
  const auto last = w.vm_queue[count - 1];
  w.vm_queue.drop_first(count);
  if ((last.counters & counts_lgkm) != 0) return flat_left(w, last.id, w.lgkm_queue); // one, of a full queue
  w.vm_landed = last.id;
}

/// lgkmcnt no longer holds its `i`-th.
void release_other(Wave& w, u32 i) {
  const auto e = w.lgkm_queue[i];
  if (w.deferring) let_go(w, e.id, counts_lgkm);
  if (e.op->cls == Class::lds) {
    w.lds_landed = std::max(w.lds_landed, e.id);
    --w.lgkm_in_order;
  }
  const bool scalar = (e.counters & is_scalar_load) != 0;
  if (i == 0) {
    w.lgkm_queue.drop_first(1);
  } else {
    w.lgkm_queue.erase(i);
  }
  if (e.op->cls == Class::memory) flat_left(w, e.id, w.vm_queue);
  if (!scalar) return;
  w.scalar_pending[0] = w.scalar_pending[1] = 0;
  for (u32 k = 0; k < w.lgkm_queue.size(); ++k) {
    if ((w.lgkm_queue[k].counters & is_scalar_load) == 0) continue;
    w.scalar_pending[0] |= w.lgkm_queue[k].op->scalar_writes[0];
    w.scalar_pending[1] |= w.lgkm_queue[k].op->scalar_writes[1];
  }
}

/// A counter holds 63 (vmcnt) or 15 (lgkmcnt): an instruction that it cannot count waits until the oldest of those counted is
/// done. Which one finishes first where the order is not fixed (scalar loads, flat) no document says; the oldest is taken, of
/// those that lgkmcnt counts the oldest that lands in order, if there is one.
void stall(Wave& w, u8 counters) {
  if ((counters & counts_vm) != 0 && w.vm_queue.size() == w.vm_queue.most) release_memory(w, 1);
  if ((counters & counts_lgkm) != 0 && w.lgkm_queue.size() == w.lgkm_queue.most) {
    u32 oldest = 0;
    while (w.lgkm_in_order != 0 && w.lgkm_queue[oldest].op->cls != Class::lds) ++oldest;
    release_other(w, oldest);
  }
  if (w.deferring) land_deferred(w);
}

void issue(Wave& w, const Operation& op, u8 counters) {
  stall(w, counters);
  const u64 id = w.next_id++;
  if (op.cls == Class::lds) {
    w.last_lds_id = id;
    ++w.lgkm_in_order;
  }
  if (op.cls == Class::memory) w.last_vm_id = id;
  if ((counters & counts_vm) != 0) w.vm_queue.append({id, &op, counters});
  if ((counters & counts_lgkm) != 0) w.lgkm_queue.append({id, &op, counters});
  note_oldest(w);
  for (const RowRange& r : op.writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k)
      w.filled_by[k] = id << 2 | static_cast<u64>(op.fills);
  }
  if ((counters & is_scalar_load) != 0) {
    w.scalar_pending[0] |= op.scalar_writes[0];
    w.scalar_pending[1] |= op.scalar_writes[1];
  }
}

} // namespace

void note_issue(Wave& w, const Operation& op, u8 counters) {
  if ((w.tracking || w.deferring) && counters != 0) issue(w, op, counters);
}

void note_issue(Wave& w, const Operation& op, u8 counters, std::function<void()> land) {
  issue(w, op, counters);
  Deferred& late = w.deferred.emplace_back();
  late.id = w.next_id - 1;
  late.counters = static_cast<u8>(counters | (op.cls == Class::memory ? is_memory : 0));
  late.land = std::move(land);
}

void land_before(Wave& w, const Deferred& next) {
  for (std::size_t k = 0; k < w.deferred.size(); ++k)
    if (keeps_order(w.deferred[k], next)) land_one(w, k);
}

void reach_memory(Wave& w) {
  for (Deferred& d : w.deferred) {
    if (!d.reach) continue;
    const auto reach = std::move(d.reach);
    d.reach = nullptr;
    reach();
  }
}

void wait_for(Wave& w, unsigned vmcnt, unsigned lgkmcnt) {
  if (w.oldest_load != Wave::none_outstanding && w.vm_queue.size() > vmcnt) {
    if (w.group->launch->code->flat) {
      wait_beside_flat(w, vmcnt);
    } else {
      release_memory(w, w.vm_queue.size() - vmcnt);
    }
  }
  // Without scopes there is nothing to write back: what the L2 has taken, the device sees.
  const bool stored = vmcnt == 0 && w.group->tracks_global && !machine::target(w.arch).scopes;
  if (stored || (w.writes_back != 0 && w.vm_landed >= w.writes_back)) write_back(w, w.writes_back_system);
  if (w.oldest_load == Wave::none_outstanding) return;
  if (lgkmcnt == 0) {
    while (!w.lgkm_queue.empty()) release_other(w, 0);
  } else if (lgkmcnt < w.lgkm_queue.most) {
    // Newest first: how many later LDS instructions may still be outstanding. Of flat instructions and scalar loads only lgkmcnt(0)
    // says that they are done.
    u32 later = 0;
    for (u32 i = w.lgkm_queue.size(); i-- > 0;) {
      if (w.lgkm_queue[i].op->cls == Class::lds && later++ >= lgkmcnt) release_other(w, i);
    }
  }
  note_oldest(w);
  if (w.deferring) land_deferred(w);
}

namespace {

/// What nearly every instruction needs of the check of definedness: it reads nothing undefined. False when it needs more.
bool track_defined(Wave& w, const Operation& op) {
  Definedness& d = *w.defined;
  u64 undefined = (d.scalars[0] & op.scalar_reads[0]) | (d.scalars[1] & op.scalar_reads[1]);
  switch (op.cls) {
  case Class::scalar:
  case Class::branch:
  case Class::scalar_memory:
    if (undefined != 0 || d.scc) return false;
    break;
  case Class::vector:
  case Class::matrix: {
    if ((op.reads_lanes != LaneReads::active && op.reads_lanes != LaneReads::all) || w.gpr_idx_mode != 0)
      return false;
    const u64 exec = w.exec(), read = op.reads_lanes == LaneReads::all ? ~u64{0} : exec;
    for (const RowRange& r : op.reads) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) undefined |= d.lanes_of[k] & read;
    }
    if (op.keeps_part) {
      for (const RowRange& r : op.writes) {
        for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) undefined |= d.lanes_of[k];
      }
    }
    if (undefined != 0) return false;
    if (op.keeps_part) break; // defined before, defined after
    const u64 kept = op.whole_wave ? 0 : ~exec;
    for (const RowRange& r : op.writes) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) d.lanes_of[k] &= kept;
    }
    break;
  }
  default: return true; // LDS and memory know their addresses
  }
  d.scalars[0] &= ~op.scalar_writes[0];
  d.scalars[1] &= ~op.scalar_writes[1];
  return true;
}

/// The same of the notes about wait states: what most scalar and memory instructions leave behind. A memory instruction is asked about
/// by rules after matrix instructions, vector instructions that write scalars, and v_dot*; while none of them is near, it only
/// takes the place of what vector instructions wrote to its result.
bool pass_hazards(HazardState& h, const Operation& op) {
  const u64 now = h.clock;
  const bool scalars_quiet = now >= h.last_valu_scalar + 8;
  if (op.hazard.scalar && scalars_quiet) {
    h.clock += op.hazard.states;
    return true;
  }
  if (!op.hazard.memory || !scalars_quiet || now < h.last_special + 8 ||
      (op.hazard.needs_m0 && h.m0_write == now) ||
      (now < h.last_matrix + matrix_reach && !far_from_matrix(h, op)))
    return false;
  if (op.hazard.wide_store >= 0) h.store_wide(op.hazard, stored_rows(op), now);
  if (now < h.last_valu + 8) {
    for (const RowRange& r : op.writes) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) h.valu_write[k] = 0;
    }
  }
  h.clock += op.hazard.states;
  return true;
}

} // namespace

void check_registers(Wave& w, const Operation& op) {
  if (w.vskip && op.cls != Class::scalar && op.cls != Class::branch) return;
  if (w.checks_waits && may_wait(w, op)) check_waits(w, op);
  if (w.defined != nullptr && !track_defined(w, op)) track_definedness(w, op);
  if (w.hazards != nullptr && !pass_hazards(*w.hazards, op)) check_hazards(w, op);
}

} // namespace inlay::runtime::emulator
