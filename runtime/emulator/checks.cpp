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
  return static_cast<u8>(((w.pending[row] & 0xffU) != 0 ? counts_vm : 0) |
                         ((w.pending[row] >> 8) != 0 ? counts_lgkm : 0));
}

/// The first of the rows that an outstanding load fills; their end when there is none.
unsigned first_pending(const Wave& w, const RowRange& r, unsigned from) {
  const unsigned end = unsigned{r.first} + r.count;
  while (from < end && w.pending[from] == 0) ++from;
  return from;
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
      w.pending[k] = 0;
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
      w.pending[k] = 0;
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
  --(counter == counts_vm ? w.vm_counted : w.lgkm_counted);
  if ((o.counters & (counts_vm | counts_lgkm)) == 0) ++w.uncounted;
  for (const RowRange& r : o.op->writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      const u16 pending = w.pending[k]; // 0 where something was said about the row
      if (counter == counts_vm && (pending & 0xffU) != 0) w.pending[k] = static_cast<u16>(pending - 1U);
      if (counter == counts_lgkm && (pending >> 8) != 0) w.pending[k] = static_cast<u16>(pending - 256U);
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
  --w.uncounted;
}

bool is_done(const Outstanding& o) { return (o.counters & (counts_vm | counts_lgkm)) == 0; }

/// Lands and forgets what no counter holds any more.
void release_landed(Wave& w) {
  for (OutstandingQueue& q : w.outstanding) {
    while (!q.empty() && is_done(q[0])) { // in order, as a rule
      land(w, q[0]);
      q.drop_first();
    }
  }
  if (w.uncounted != 0) {
    for (OutstandingQueue& q : w.outstanding) {
      u32 kept = 0;
      for (u32 i = 0; i < q.size(); ++i) {
        if (is_done(q[i])) {
          land(w, q[i]);
        } else {
          if (kept != i) q[kept] = std::move(q[i]);
          ++kept;
        }
      }
      q.shrink(kept);
    }
  }
  if ((w.scalar_pending[0] | w.scalar_pending[1]) == 0) return;
  w.scalar_pending[0] = w.scalar_pending[1] = 0;
  for (u32 i = 0; i < w.outstanding[1].size(); ++i) {
    const Outstanding& o = w.outstanding[1][i];
    if ((o.counters & is_scalar_load) == 0) continue;
    w.scalar_pending[0] |= o.op->scalar_writes[0];
    w.scalar_pending[1] |= o.op->scalar_writes[1];
  }
}

/// A counter holds 63 (vmcnt) or 15 (lgkmcnt): an instruction that it cannot count waits until the oldest of those counted is
/// done. Which one finishes first where the order is not fixed (scalar loads, flat) no document says; the oldest is taken, of
/// those that lgkmcnt counts the oldest that lands in order, if there is one.
void stall(Wave& w, u8 counters) {
  const auto oldest = [](OutstandingQueue& q, u8 counter, u8 none_of) -> Outstanding* {
    for (u32 i = 0; i < q.size(); ++i)
      if ((q[i].counters & counter) != 0 && (q[i].counters & none_of) == 0) return &q[i];
    return nullptr;
  };
  if ((counters & counts_vm) != 0 && w.vm_counted >= 63) {
    uncount(w, *oldest(w.outstanding[0], counts_vm, 0), counts_vm);
    release_landed(w);
  }
  if ((counters & counts_lgkm) != 0 && w.lgkm_counted >= 15) {
    Outstanding* first = oldest(w.outstanding[1], counts_lgkm, is_scalar_load);
    if (first == nullptr) {
      OutstandingQueue& memory = w.outstanding[0];
      u32 at = memory.cleared();
      while (at < memory.size() && (memory[at].counters & counts_lgkm) == 0) ++at;
      memory.set_cleared(at);
      Outstanding* const flat = at < memory.size() ? &memory[at] : nullptr;
      first = oldest(w.outstanding[1], counts_lgkm, 0);
      if (first == nullptr || (flat != nullptr && flat->id < first->id)) first = flat;
    }
    uncount(w, *first, counts_lgkm);
    release_landed(w);
  }
}

} // namespace

namespace {

/// What most scalar instructions need of the check of definedness: nothing undefined is read or decided. False when it needs more.
bool track_defined_scalar(Definedness& d, const Operation& op) {
  if (op.cls != Class::scalar || op.decision != Decision::none || d.scc ||
      ((d.scalars[0] & op.scalar_reads[0]) | (d.scalars[1] & op.scalar_reads[1])) != 0)
    return false;
  d.scalars[0] &= ~op.scalar_writes[0];
  d.scalars[1] &= ~op.scalar_writes[1];
  return true;
}

} // namespace

void check_registers(Wave& w, const Operation& op) {
  if (w.vskip && op.cls != Class::scalar && op.cls != Class::branch) return;
  if (w.checks_waits && w.vm_counted + w.lgkm_counted != 0) check_waits(w, op);
  if (w.defined != nullptr && !track_defined_scalar(*w.defined, op)) track_definedness(w, op);
  if (w.hazards == nullptr) return;
  HazardState& h = *w.hazards;
  if (op.hazard.scalar && h.clock >= h.last_valu_scalar + 8) {
    h.clock += op.hazard.states; // a scalar instruction asks for nothing, and there is nothing to erase
  } else {
    check_hazards(w, op);
  }
}

namespace {

Outstanding& issue(Wave& w, const Operation& op, u8 counters) {
  stall(w, counters);
  const u64 id = w.next_id++;
  if (op.cls == Class::lds) w.last_lds_id = id;
  if (op.cls == Class::memory) w.last_vm_id = id;
  Outstanding& o = w.outstanding[(counters & counts_vm) != 0 ? 0 : 1].append();
  o.op = &op;
  o.id = id;
  o.counters = counters;
  const u16 one =
      static_cast<u16>(((counters & counts_vm) != 0 ? 1U : 0U) + ((counters & counts_lgkm) != 0 ? 256U : 0U));
  w.vm_counted += one & 1U;
  w.lgkm_counted += one >> 8;
  for (const RowRange& r : op.writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k)
      w.pending[k] = static_cast<u16>(w.pending[k] + one);
  }
  if ((counters & is_scalar_load) != 0) {
    w.scalar_pending[0] |= op.scalar_writes[0];
    w.scalar_pending[1] |= op.scalar_writes[1];
  }
  return o;
}

} // namespace

void note_issue(Wave& w, const Operation& op, u8 counters) {
  if ((w.tracking || w.deferring) && counters != 0) issue(w, op, counters);
}

void note_issue(Wave& w, const Operation& op, u8 counters, std::function<void()> land) {
  issue(w, op, counters).land = std::move(land);
}

void wait_for(Wave& w, unsigned vmcnt, unsigned lgkmcnt) {
  if (w.vm_counted + w.lgkm_counted == 0) return;
  // Newest first: how many later ones of the same kind may still be outstanding. Of flat instructions and scalar loads only
  // lgkmcnt(0) says that they are done.
  unsigned later = 0;
  OutstandingQueue& memory = w.outstanding[0];
  for (u32 i = memory.size(); i-- > 0;) {
    Outstanding& o = memory[i];
    if ((o.counters & counts_lgkm) != 0 && lgkmcnt == 0) uncount(w, o, counts_lgkm);
    if ((o.counters & counts_vm) != 0 && later++ >= vmcnt) uncount(w, o, counts_vm);
  }
  later = 0;
  OutstandingQueue& others = w.outstanding[1];
  for (u32 i = others.size(); i-- > 0;) {
    Outstanding& o = others[i];
    const bool ordered = (o.counters & is_scalar_load) == 0;
    if (lgkmcnt == 0 || (ordered && lgkmcnt < 15 && later >= lgkmcnt)) uncount(w, o, counts_lgkm);
    later += ordered ? 1 : 0;
  }
  if (w.uncounted != 0) release_landed(w);
}

namespace {

/// Who stored to global memory in this launch (Allocation::writers). An entry: bytes 4 bits, atomic 1, instruction 19, epoch 12,
/// wave of the launch + 1: 28. Whoever stores whole lines of 64 bytes, as a wave often does, leaves one entry a line; once a line is
/// `divided` its words have theirs. Threads that store to one place at one moment may miss each other, as with one entry a word.
class Writers {
public:
  Writers(const Wave& w, Allocation& home, bool is_atomic)
      : lines_(home.writer_entries()), words_(lines_ + home.writer_lines()),
        me_((w.group->writer * w.group->waves.size() + w.id + 1) & 0xfffffffU),
        mine_(me_ << 36 | u64{w.group->epoch % writer_epochs} << 24 | u64{w.current & 0x7ffffU} << 5 |
              (is_atomic ? atomic : 0)),
        is_atomic_(is_atomic) {}

  static constexpr u64 atomic = 16;
  [[nodiscard]] u64 me() const { return me_; }
  /// This wave, at this instruction.
  [[nodiscard]] u64 mine() const { return mine_; }
  std::atomic<u64>& word(u64 index) {
    std::atomic<u64>& line = lines_[index / line_words];
    const u64 whole = line.load(std::memory_order_relaxed);
    if (whole != divided) {
      for (u64 k = 0; whole != 0 && k < line_words; ++k)
        words_[index / line_words * line_words + k].store(whole, std::memory_order_relaxed);
      line.store(divided, std::memory_order_relaxed);
    }
    return words_[index];
  }
  /// As free and take, of the bytes of one line, counted from the allocation's first.
  [[nodiscard]] bool free_line(u64 line, u64 bytes) const {
    const u64 whole = lines_[line].load(std::memory_order_relaxed);
    if (whole != divided) return !in_the_way(whole);
    bool others = false;
    for (u64 k = 0; k < line_words; ++k) {
      const bool touched = (bytes >> (4 * k) & 15U) != 0;
      others |= touched && in_the_way(words_[line * line_words + k].load(std::memory_order_relaxed));
    }
    return !others;
  }
  void take_line(u64 line, u64 bytes) {
    if (bytes == ~u64{0}) {
      lines_[line].store(mine_ | 15U, std::memory_order_relaxed);
      return;
    }
    if (lines_[line].load(std::memory_order_relaxed) == (mine_ | 15U)) return;
    word(line * line_words);
    for (u64 k = 0; k < line_words; ++k) {
      const u64 touched = bytes >> (4 * k) & 15U;
      std::atomic<u64>& entry = words_[line * line_words + k];
      const u64 old = entry.load(std::memory_order_relaxed);
      if (touched != 0)
        entry.store(mine_ | touched | (old >> 36 == me_ ? old & 15U : 0), std::memory_order_relaxed);
    }
  }
  /// Whether nobody else has stored to the words that `bytes` bytes from `first` on touch; beside atomics, atomics may have.
  [[nodiscard]] bool free(u64 first, u64 bytes) const {
    const u64 end = (first + bytes + 3) / 4;
    for (u64 d = first / 4; d < end;) {
      const u64 whole = lines_[d / line_words].load(std::memory_order_relaxed);
      const u64 next = std::min(end, d / line_words * line_words + line_words);
      if (whole != divided) {
        if (in_the_way(whole)) return false;
      } else {
        bool others = false;
        for (; d < next; ++d) others |= in_the_way(words_[d].load(std::memory_order_relaxed));
        if (others) return false;
      }
      d = next;
    }
    return true;
  }
  void take(u64 first, u64 bytes) {
    const u64 end = first + bytes;
    u64 d = first / 4;
    if (first % 4 != 0 || bytes < 4) { // not the whole of the first word
      take_part(d, part(first, end, d));
      ++d;
    }
    for (; d < end / 4;) {
      std::atomic<u64>& line = lines_[d / line_words];
      const u64 next = std::min(end / 4, d / line_words * line_words + line_words);
      if (next - d == line_words) {
        line.store(mine_ | 15U, std::memory_order_relaxed);
      } else if (line.load(std::memory_order_relaxed) != (mine_ | 15U)) {
        word(d);
        for (u64 k = d; k < next; ++k) words_[k].store(mine_ | 15U, std::memory_order_relaxed);
      }
      d = next;
    }
    if (d * 4 < end) take_part(d, part(first, end, d)); // not the whole of the last one
  }

private:
  /// Which bytes of word `d` lie in [first, end).
  static u64 part(u64 first, u64 end, u64 d) {
    const u64 low = first > d * 4 ? first - d * 4 : 0, high = std::min<u64>(4, end - d * 4);
    return ((u64{1} << high) - 1) & ~((u64{1} << low) - 1);
  }
  void take_part(u64 index, u64 touched) {
    std::atomic<u64>& entry = word(index);
    const u64 old = entry.load(std::memory_order_relaxed);
    entry.store(mine_ | touched | (old >> 36 == me_ ? old & 15U : 0), std::memory_order_relaxed);
  }
  [[nodiscard]] bool in_the_way(u64 entry) const {
    return entry != 0 && entry >> 36 != me_ && !(is_atomic_ && (entry & atomic) != 0);
  }

  static constexpr u64 line_words = 16;
  static constexpr u64 divided = 1; // no entry: those have a wave
  std::atomic<u64>* lines_;
  std::atomic<u64>* words_;
  u64 me_, mine_;
  bool is_atomic_;
};

u64 writer_group(Launch& launch, u64 writer) {
  const std::lock_guard lock(launch.mutex);
  return launch.writers[writer];
}

} // namespace

void name_writer(Workgroup& g) {
  const std::lock_guard lock(g.launch->mutex);
  g.writer = g.launch->writers.size();
  g.launch->writers.push_back(g.linear);
}

void check_global_write(Wave& w, Allocation& home, u64 address, const u8* value, unsigned bytes,
                        unsigned lane, bool is_atomic) {
  Workgroup& g = *w.group;
  const u64 count = g.waves.size();
  Writers writers(w, home, is_atomic);
  const u64 me = writers.me(), mine = writers.mine();
  const u64 first = address - home.begin;
  for (u64 d = first / 4; d <= (first + bytes - 1) / 4; ++d) {
    const u64 low = d * 4 < first ? first - d * 4 : 0;
    const u64 high = std::min<u64>(4, first + bytes - d * 4);
    const u64 touched = ((u64{1} << high) - 1) & ~((u64{1} << low) - 1);
    std::atomic<u64>& entry = writers.word(d);
    const u64 old = entry.load(std::memory_order_relaxed);
    if (old == 0 || (old >> 36) == me) {
      entry.store(mine | touched | ((old >> 36) == me ? old & 15U : 0), std::memory_order_relaxed);
      continue;
    }
    const u64 other = (old >> 36) - 1;
    const u64 group = writer_group(*g.launch, other / count);
    const bool same_group = group == g.linear;
    const bool ordered =
        same_group && (other / count != g.writer || (old >> 24) % writer_epochs != g.epoch % writer_epochs);
    entry.store(mine | touched, std::memory_order_relaxed);
    if ((old & touched & 15U) == 0 || ordered || (is_atomic && (old & Writers::atomic) != 0)) continue;
    const u64 at = home.begin + d * 4 + low;
    const bool same =
        !is_atomic && std::memcmp(reinterpret_cast<const u8*>(at), value + (at - address), high - low) == 0;
    const isa::Instruction& i = *g.launch->code->operations[(old >> 5) & 0x7ffffU].instruction;
    std::string message = "writes byte " + std::to_string(at - home.begin) + " of a buffer of " +
                          std::to_string(home.end - home.begin) + " bytes, which wave " +
                          std::to_string(other % count) + " of " +
                          (same_group ? "this workgroup" : "workgroup " + std::to_string(group)) +
                          " writes with '" + i.text + "'" + (same_group ? " and no barrier between" : "");
    if (same) message += "; the value is the same";
    if (g.synchronizes && !same_group) message += "; only the atomics that it reads can order them";
    report(w, FindingKind::races, message, lane, at, same || (g.synchronizes && !same_group));
  }
}

const StoreLines* store_lines(const Wave& w, u64 base, const LaneOffsets& at, u64 mask, unsigned bytes) {
  static const RowFunctions& host = row_functions();
  thread_local std::array<StoreLines, 64> known;
  StoreLines& k = known[w.current % known.size()];
  const u64 start = base + at.at[0];
  const u32 phase = start % 64;
  const bool same = k.width == bytes && k.mask == mask && k.phase == phase && k.rising == at.rising;
  if (!same || (!at.rising && !host.follows(at.at, k.pattern.data()))) {
    k.rising = at.rising;
    k.width = bytes;
    k.mask = mask;
    k.phase = phase;
    k.lines.clear();
    for (unsigned l = 0; l < lanes; ++l) k.pattern[l] = at.at[l] - at.at[0];
    return nullptr;
  }
  if (k.lines.empty()) {
    std::map<i64, u64> found;
    for (const u32 offset : at.at) {
      for (u64 byte = base + offset; byte < base + offset + bytes; ++byte)
        found[static_cast<i64>(byte / 64) - static_cast<i64>(start / 64)] |= u64{1} << (byte % 64);
    }
    unsigned count = 0;
    for (const auto& [line, touched] : found) {
      k.lines.push_back({static_cast<i32>(line), touched});
      count += static_cast<unsigned>(std::popcount(touched));
    }
    k.shared = count != bytes * static_cast<unsigned>(std::popcount(mask));
  }
  return &k;
}

void check_global_lanes(Wave& w, const Allocation& home, const u64* address, u64 mask, unsigned bytes,
                        const u32* data) {
  std::array<u8, lanes> order;
  unsigned count = 0;
  bool sorted = true, apart = true;
  for (u64 m = mask; m != 0; m &= m - 1) {
    const unsigned l = first_lane(m);
    if (count != 0) {
      const u64 before = address[order[count - 1]];
      sorted = sorted && address[l] >= before;
      apart = apart && address[l] >= before + bytes;
    }
    order[count++] = static_cast<u8>(l);
  }
  if (sorted && apart) return;
  if (!sorted)
    std::stable_sort(order.begin(), order.begin() + count,
                     [&](u8 a, u8 b) { return address[a] < address[b]; });
  const auto value = [&](unsigned l) {
    std::array<u8, 16> v{};
    for (unsigned k = 0; k < std::max(1U, bytes / 4); ++k) std::memcpy(&v[4 * k], &data[l + k * lanes], 4);
    return v;
  };
  // Of equal width and in order of address: what two of them share, those between share too, so that neighbours say it all.
  for (unsigned n = 1; n < count; ++n) {
    const unsigned a = order[n - 1], b = order[n];
    const u64 shift = address[b] - address[a];
    if (shift >= bytes) continue;
    const auto left = value(a), right = value(b);
    if (std::memcmp(&left[shift], right.data(), bytes - shift) == 0) continue;
    report(w, FindingKind::races,
           "lanes " + std::to_string(std::min(a, b)) + " and " + std::to_string(std::max(a, b)) +
               " write different values to byte " + std::to_string(address[b] - home.begin) +
               " of a buffer of " + std::to_string(home.end - home.begin) + " bytes",
           std::max(a, b), address[b]);
    return;
  }
}

bool note_global_writes(Wave& w, Allocation& home, u64 base, const LaneOffsets& at, const StoreLines* lines,
                        u64 mask, unsigned bytes, bool is_atomic) {
  Writers writers(w, home, is_atomic);
  const u64 begin = base - home.begin;
  if (lines != nullptr) {
    const u64 first = (begin + at.at[0]) / 64;
    bool free = true;
    for (const StoreLines::Line& l : lines->lines)
      free &= writers.free_line(first + static_cast<u64>(i64{l.at}), l.bytes);
    if (!free) return false;
    for (const StoreLines::Line& l : lines->lines)
      writers.take_line(first + static_cast<u64>(i64{l.at}), l.bytes);
    return true;
  }
  if (at.rising) {
    if (!writers.free(begin + at.low, u64{bytes} * lanes)) return false;
    writers.take(begin + at.low, u64{bytes} * lanes);
    return true;
  }
  for (u64 m = mask; m != 0; m &= m - 1)
    if (!writers.free(begin + at.at[first_lane(m)], bytes)) return false;
  for (u64 m = mask; m != 0; m &= m - 1) writers.take(begin + at.at[first_lane(m)], bytes);
  return true;
}

} // namespace inlay::runtime::emulator
