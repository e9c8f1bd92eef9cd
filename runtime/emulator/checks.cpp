// The sanitizers: registers written before they are read, results waited for, LDS words synchronised.
//
// Counters: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", section "S_WAITCNT";
// vector memory returns in order, LDS in order, scalar loads in any order (so only lgkmcnt(0) covers them).
#include "engine.h"

#include <algorithm>
#include <bit>
#include <cstring>

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

unsigned first_lane(u64 mask) { return mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask)); }

/// Whether an outstanding load into a row that this instruction overwrites lands before it anyway.
bool lands_in_order(const Operation& op, u8 pending) {
  if (op.cls == Class::memory) return pending == counts_vm;
  if (op.cls == Class::lds) return pending == counts_lgkm;
  return false;
}

u8 pending_of(const Wave& w, unsigned row) {
  return static_cast<u8>((w.pending_vm[row] != 0 ? counts_vm : 0) |
                         (w.pending_lgkm[row] != 0 ? counts_lgkm : 0));
}

void check_waits(Wave& w, const Operation& op) {
  each_read(w, op, [&](const RowRange& r) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      const u8 pending = pending_of(w, k);
      if (pending == 0) continue;
      report(w, FindingKind::waits,
             row_name(w, k) + " is read while the " +
                 ((pending & counts_vm) != 0 ? "load (vmcnt)" : "LDS read (lgkmcnt)") +
                 " that fills it is in flight",
             first_lane(w.exec()));
      w.pending_vm[k] = w.pending_lgkm[k] = 0;
    }
  });
  each_write(w, op, [&](const RowRange& r) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      const u8 pending = pending_of(w, k);
      if (pending == 0) continue;
      if (!lands_in_order(op, pending)) {
        report(w, FindingKind::waits,
               row_name(w, k) +
                   " is overwritten while a load into it is in flight: the load lands later and wins",
               first_lane(w.exec()));
      }
      w.pending_vm[k] = w.pending_lgkm[k] = 0;
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

/// The counter no longer counts `o`: nor do the rows that it writes.
void uncount(Wave& w, Outstanding& o, u8 counter) {
  o.counters &= static_cast<u8>(~counter);
  auto& pending = counter == counts_vm ? w.pending_vm : w.pending_lgkm;
  for (const RowRange& r : o.op->writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      if (pending[k] != 0) --pending[k];
    }
  }
}

void land(Wave& w, Outstanding& o) {
  if (o.land) {
    o.land();
    o.land = nullptr;
  }
  if (o.op->cls == Class::lds) w.lds_landed = std::max(w.lds_landed, o.id);
  if (o.op->cls == Class::memory) w.vm_landed = std::max(w.vm_landed, o.id);
}

/// Lands and forgets what no counter holds any more.
void release_landed(Wave& w) {
  const auto is_done = [](const Outstanding& o) { return (o.counters & (counts_vm | counts_lgkm)) == 0; };
  while (!w.outstanding.empty() && is_done(w.outstanding.front())) { // in order, as a rule
    land(w, w.outstanding.front());
    w.outstanding.pop_front();
  }
  bool others = false;
  for (Outstanding& o : w.outstanding) {
    if (!is_done(o)) continue;
    land(w, o);
    others = true;
  }
  if (others) std::erase_if(w.outstanding, is_done);
  if ((w.scalar_pending[0] | w.scalar_pending[1]) == 0) return;
  w.scalar_pending[0] = w.scalar_pending[1] = 0;
  for (const Outstanding& o : w.outstanding) {
    if ((o.counters & is_scalar_load) == 0) continue;
    w.scalar_pending[0] |= o.op->scalar_writes[0];
    w.scalar_pending[1] |= o.op->scalar_writes[1];
  }
}

/// A counter holds 63 (vmcnt) or 15 (lgkmcnt): an instruction that it cannot count waits until the oldest of those counted is
/// done. Which one finishes first where the order is not fixed (scalar loads, flat) no document says; the oldest is taken.
void stall(Wave& w, u8 counters) {
  constexpr struct {
    u8 counter;
    std::size_t most;
  } limits[] = {{counts_vm, 63}, {counts_lgkm, 15}};
  for (const auto& limit : limits) {
    if ((counters & limit.counter) == 0 || w.outstanding.size() < limit.most) continue;
    const auto counted = static_cast<std::size_t>(
        std::count_if(w.outstanding.begin(), w.outstanding.end(),
                      [&](const Outstanding& o) { return (o.counters & limit.counter) != 0; }));
    if (counted < limit.most) continue;
    const auto ordered = [&](const Outstanding& o) {
      return (o.counters & limit.counter) != 0 && (o.counters & (is_scalar_load | is_flat)) == 0;
    };
    auto oldest = std::find_if(w.outstanding.begin(), w.outstanding.end(), ordered);
    if (oldest == w.outstanding.end() || limit.counter == counts_vm) {
      oldest = std::find_if(w.outstanding.begin(), w.outstanding.end(),
                            [&](const Outstanding& o) { return (o.counters & limit.counter) != 0; });
    }
    uncount(w, *oldest, limit.counter);
    release_landed(w);
  }
}

} // namespace

void check_registers(Wave& w, const Operation& op) {
  const Checks& checks = w.group->launch->options->checks;
  if (w.vskip && op.cls != Class::scalar && op.cls != Class::branch) return;
  if (checks.waits && !w.outstanding.empty()) check_waits(w, op);
  if (w.defined != nullptr) track_definedness(w, op);
  if (w.hazards != nullptr) check_hazards(w, op);
}

void note_issue(Wave& w, const Operation& op, u8 counters, std::function<void()> action) {
  if ((!w.tracking && !w.deferring) || counters == 0) {
    return;
  }
  stall(w, counters);
  const u64 id = w.next_id++;
  if (op.cls == Class::lds) w.last_lds_id = id;
  if (op.cls == Class::memory) w.last_vm_id = id;
  w.outstanding.push_back({&op, id, counters, std::move(action)});
  for (const RowRange& r : op.writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      if ((counters & counts_vm) != 0) ++w.pending_vm[k];
      if ((counters & counts_lgkm) != 0) ++w.pending_lgkm[k];
    }
  }
  if ((counters & is_scalar_load) != 0) {
    w.scalar_pending[0] |= op.scalar_writes[0];
    w.scalar_pending[1] |= op.scalar_writes[1];
  }
}

void wait_for(Wave& w, unsigned vmcnt, unsigned lgkmcnt) {
  if (w.outstanding.empty()) {
    return;
  }
  bool changed = false;
  // Newest first: how many later ones of the same kind may still be outstanding.
  unsigned vm_after = 0;
  unsigned lds_after = 0;
  for (auto o = w.outstanding.rbegin(); o != w.outstanding.rend(); ++o) {
    if ((o->counters & counts_vm) != 0) {
      if (vm_after >= vmcnt) {
        uncount(w, *o, counts_vm);
        changed = true;
      }
      ++vm_after;
    }
    if ((o->counters & counts_lgkm) != 0) {
      const bool unordered = (o->counters & (is_scalar_load | is_flat)) != 0;
      const bool done = lgkmcnt == 0 || (!unordered && lds_after >= lgkmcnt && lgkmcnt < 15);
      if (!unordered) ++lds_after;
      if (done) {
        uncount(w, *o, counts_lgkm);
        changed = true;
      }
    }
  }
  if (changed) release_landed(w);
}

/// An entry of Allocation::writers: bytes 4 bits, atomic 1, instruction 19, epoch 12, wave of the launch + 1: 28.
void check_global_write(Wave& w, Allocation& home, u64 address, const u8* value, unsigned bytes,
                        unsigned lane, bool is_atomic) {
  Workgroup& g = *w.group;
  const u64 count = g.waves.size();
  const u64 me = (g.linear * count + w.id + 1) & 0xfffffffU;
  const u64 mine =
      me << 36 | u64{g.epoch & 0xfffU} << 24 | u64{w.current & 0x7ffffU} << 5 | (is_atomic ? 16U : 0U);
  std::atomic<u64>* const entries = home.writer_entries();
  const u64 first = address - home.begin;
  for (u64 d = first / 4; d <= (first + bytes - 1) / 4; ++d) {
    const u64 low = d * 4 < first ? first - d * 4 : 0;
    const u64 high = std::min<u64>(4, first + bytes - d * 4);
    const u64 touched = ((u64{1} << high) - 1) & ~((u64{1} << low) - 1);
    const u64 old = entries[d].load(std::memory_order_relaxed);
    if (old == 0 || (old >> 36) == me) {
      entries[d].store(mine | touched | ((old >> 36) == me ? old & 15U : 0), std::memory_order_relaxed);
      continue;
    }
    const u64 other = (old >> 36) - 1;
    const bool same_group = other / count == g.linear;
    const bool ordered = same_group && ((old >> 24) & 0xfffU) != (g.epoch & 0xfffU);
    entries[d].store(mine | touched, std::memory_order_relaxed);
    if ((old & touched & 15U) == 0 || ordered || (is_atomic && (old & 16U) != 0)) continue;
    const u64 at = home.begin + d * 4 + low;
    const bool same =
        !is_atomic && std::memcmp(reinterpret_cast<const u8*>(at), value + (at - address), high - low) == 0;
    const isa::Instruction& i = *g.launch->code->operations[(old >> 5) & 0x7ffffU].instruction;
    std::string message = "writes byte " + std::to_string(at - home.begin) + " of a buffer of " +
                          std::to_string(home.end - home.begin) + " bytes, which wave " +
                          std::to_string(other % count) + " of " +
                          (same_group ? "this workgroup" : "workgroup " + std::to_string(other / count)) +
                          " writes with '" + i.text + "'" + (same_group ? " and no barrier between" : "");
    if (same) message += "; the value is the same";
    if (g.synchronizes && !same_group) message += "; only the atomics that it reads can order them";
    report(w, FindingKind::races, message, lane, at, same || (g.synchronizes && !same_group));
  }
}

bool note_global_writes(Wave& w, Allocation& home, u64 low, u64 high) {
  if ((low - home.begin) % 4 != 0 || (high - low) % 4 != 0) return false;
  Workgroup& g = *w.group;
  const u64 me = (g.linear * g.waves.size() + w.id + 1) & 0xfffffffU;
  const u64 mine = me << 36 | u64{g.epoch & 0xfffU} << 24 | u64{w.current & 0x7ffffU} << 5 | 15U;
  std::atomic<u64>* const entries = home.writer_entries() + (low - home.begin) / 4;
  const u64 count = (high - low) / 4;
  for (u64 d = 0; d < count; ++d) {
    const u64 old = entries[d].load(std::memory_order_relaxed);
    if (old != 0 && (old >> 36) != me) return false;
  }
  for (u64 d = 0; d < count; ++d) entries[d].store(mine, std::memory_order_relaxed);
  return true;
}

} // namespace inlay::runtime::emulator
