// Memory instructions for all lanes of a wave at once: what lies inside of one allocation, wholly defined.
#include "atomics.h"
#include "memory.h"
#include "vector_functions.h"

#include <algorithm>
#include <cstring>

namespace inlay::runtime::emulator {
namespace {

using Kind = MemoryFields::Kind;
using Space = MemoryFields::Space;

/// The lanes of one element of a load or store, by 32-bit offsets from one place that holds them all.
struct Near {
  LaneOffsets at;
  u8* base = nullptr;
  Allocation* home = nullptr; ///< of memory of the device
  u8* undefined = nullptr;    ///< what lies beside `base` where LDS or scratch is tracked
  LdsPages pages;             ///< of LDS
};

LdsPages pages_of(const LaneOffsets& at, unsigned bytes) {
  static const RowFunctions& host = row_functions();
  const u32 first = at.low / 256;
  if (at.rising) {
    const u32 more = (at.high + bytes - 1) / 256 - first;
    return {first, more < 63 ? (u64{2} << more) - 1 : 0};
  }
  if ((at.high + bytes - 1) / 256 == first) return {first, 1};
  // Elements that lie on multiples of their size lie in one page each.
  if (bytes == 12 || at.all % bytes != 0 || at.high / 256 - first >= 64) return {first, 0};
  return {first, host.pages(at)};
}

/// False when the access is not of that kind.
bool find_near(Wave& w, const Operation& op, u64 mask, i32 offset, Near& near) {
  static const RowFunctions& host = row_functions();
  const MemoryFields& f = op.memory;
  const u32* const row = f.vaddr >= 0 ? w.row(static_cast<unsigned>(f.vaddr)) : nullptr;
  LaneOffsets& at = near.at;
  u64 from = 0;
  const auto in_own_scratch = [&](const u32* offsets, u32 add) {
    const u32 size = static_cast<u32>(w.scratch.size() / lanes);
    if (w.scratch.size() > 0xffffffffU) return false;
    host.offsets(at, offsets, add, mask, f.bytes);
    if (u64{at.high} + f.bytes > size) return false;
    host.apart(at.at, size);
    at.rising = false;
    near.base = w.scratch.data();
    if (w.defined != nullptr) near.undefined = w.defined->scratch.data();
    return true;
  };
  switch (f.space) {
  case Space::lds:
    host.offsets(at, row, static_cast<u32>(offset), mask, f.bytes);
    if (u64{at.high} + f.bytes > w.group->lds.size()) return false;
    if (w.group->launch->options->checks.align && at.all % (f.bytes == 12 ? 4U : f.bytes) != 0) return false;
    near.base = w.group->lds.data();
    if (w.defined != nullptr) near.undefined = w.group->lds_undefined.data();
    if (w.defined != nullptr || !w.group->shadow.empty()) near.pages = pages_of(at, f.bytes);
    return true;
  case Space::scratch: {
    const u32 base = f.saddr >= 0 ? w.scalar[static_cast<unsigned>(f.saddr)] : 0;
    return in_own_scratch(row, base + static_cast<u32>(offset));
  }
  case Space::global:
  case Space::flat:
    if (row == nullptr) return false;
    if (f.saddr >= 0) {
      from = w.scalar64(static_cast<unsigned>(f.saddr));
    } else { // 64-bit addresses whose upper halves are the same
      if (!host.uniform(row + lanes, mask)) return false;
      const u32 high = row[lanes + static_cast<unsigned>(std::countr_zero(mask))];
      if (f.space == Space::flat && (high == shared_aperture || high == private_aperture)) return false;
      from = u64{high} << 32;
    }
    host.offsets(at, row, 0, mask, f.bytes);
    from += static_cast<u64>(i64{offset});
    break;
  case Space::buffer: {
    if (f.idxen) return false;
    const u32* d = &w.scalar[static_cast<unsigned>(f.srsrc)];
    if (((d[3] >> 23) & 1U) != 0) return false; // ADD_TID
    const u64 soffset = read_scalar(w, f.soffset);
    if (in_scratch(w, f.space, u64{d[1] & 0xffffU} << 32))
      return d[0] == 0 && in_own_scratch(f.offen ? row : nullptr,
                                         static_cast<u32>(offset) + static_cast<u32>(soffset) / lanes);
    host.offsets(at, f.offen ? row : nullptr, static_cast<u32>(offset), mask, f.bytes);
    if (at.high + soffset + f.bytes > d[2]) return false;
    from = (d[0] | (u64{d[1] & 0xffffU} << 32)) + soffset;
    break;
  }
  default: return false;
  }
  const u64 low = from + at.low, end = from + at.high + f.bytes;
  Allocation* home = w.recent;
  if (home == nullptr || low < home->begin || end > home->end || end < low) {
    home = w.group->launch->memory->find(low);
    if (home == nullptr || end > home->end || end < low) return false;
    w.recent = home;
  }
  near.home = home;
  near.base = reinterpret_cast<u8*>(from);
  return true;
}

/// Whether all bits that a load brings are known to be defined.
bool near_is_defined(Wave& w, const Near& near, unsigned bytes) {
  static const RowFunctions& host = row_functions();
  if (near.home == nullptr) {
    if (lds_pages_defined(*w.group, near.pages)) return true;
    if (bytes >= 4) {
      if (host.any_near(near.undefined, near.at, bytes / 4) != 0) return false;
    } else {
      u32 row[lanes], any = 0;
      host.gather_small(row, near.undefined, near.at.at, bytes, false);
      for (const u32 bits : row) any |= bits;
      if (any != 0) return false;
    }
    settle_lds_pages(*w.group, near.pages);
    return true;
  }
  const Allocation& home = *near.home;
  if (home.written.empty()) return true;
  const u64 from = reinterpret_cast<u64>(near.base);
  const u64 span = u64{near.at.high} - near.at.low + bytes;
  if (span <= 4096 && home.is_written(from + near.at.low, static_cast<unsigned>(span))) return true;
  if (near.at.rising) return false;
  for (unsigned l = 0; l < lanes; ++l)
    if (!home.is_written(from + near.at.at[l], bytes)) return false;
  return true;
}

/// `bytes` bytes of each lane, from rows.
void scatter_lanes(u8* base, const LaneOffsets& at, const u32* rows, unsigned bytes, u64 mask) {
  static const RowFunctions& host = row_functions();
  if (bytes < 4) {
    host.scatter_small(base, at.at, rows, bytes, mask);
  } else if (bytes == 4 && at.rising) {
    std::memcpy(base + at.low, rows, 4 * lanes);
  } else {
    host.scatter_near(base, at.at, rows, bytes / 4, mask);
  }
}

/// A store of defined values.
void store_near(Wave& w, const Near& near, const u32* data, unsigned bytes, u64 mask, const StoreLines* lines,
                bool written_before) {
  scatter_lanes(near.base, near.at, data, bytes, mask);
  if (near.undefined != nullptr && !lds_pages_defined(*w.group, near.pages)) {
    static constexpr u32 defined[4 * lanes] = {};
    scatter_lanes(near.undefined, near.at, defined, bytes, mask);
    settle_lds_pages(*w.group, near.pages);
  }
  if (written_before || near.home == nullptr || near.home->written.empty()) return;
  const u64 from = reinterpret_cast<u64>(near.base);
  if (lines != nullptr) {
    const u64 first = (from + near.at.at[0] - near.home->begin) / 64;
    for (const StoreLines::Line& l : lines->lines)
      near.home->mark_bits(first + static_cast<u64>(i64{l.at}), l.bytes);
  } else if (near.at.rising) {
    near.home->mark_written(from + near.at.low, near.at.high - near.at.low + bytes);
  } else {
    each_lane(mask, [&](unsigned l) { near.home->mark_written(from + near.at.at[l], bytes); });
  }
}

/// Lanes of one store to global memory that disagree.
void check_near_lanes(Wave& w, const Near& near, const u32* data, unsigned bytes, u64 mask) {
  std::array<u64, lanes> address;
  for (unsigned l = 0; l < lanes; ++l) address[l] = reinterpret_cast<u64>(near.base) + near.at.at[l];
  check_global_lanes(w, *near.home, address.data(), mask, bytes, data);
}

/// What the lanes find, a row a word; small elements extended. All lanes have an address, active or not.
void gather_lanes(const Near& near, const MemoryFields& f, u32* rows) {
  static const RowFunctions& host = row_functions();
  if (f.bytes < 4) {
    host.gather_small(rows, near.base, near.at.at, f.bytes, f.is_signed);
  } else if (f.bytes == 4 && near.at.rising) {
    std::memcpy(rows, near.base + near.at.low, 4 * lanes);
  } else {
    host.gather_near(rows, near.base, near.at.at, f.bytes / 4);
  }
}

void load_near(Wave& w, const Near& near, const MemoryFields& f, unsigned row, u64 mask) {
  static const RowFunctions& host = row_functions();
  const unsigned words = std::max(1U, f.bytes / 4U);
  u32* const to = w.row(row);
  if (mask == ~u64{0} && !f.d16) {
    gather_lanes(near, f, to);
  } else {
    alignas(64) u32 loaded[4 * lanes];
    gather_lanes(near, f, loaded);
    if (f.d16) {
      for (unsigned l = 0; l < lanes; ++l)
        loaded[l] =
            f.high ? (to[l] & 0xffffU) | (loaded[l] << 16) : (to[l] & 0xffff0000U) | (loaded[l] & 0xffffU);
    }
    for (unsigned k = 0; k < words; ++k) host.merge(to + k * lanes, loaded + k * lanes, mask);
  }
  if (w.defined == nullptr) return;
  for (unsigned k = 0; k < words; ++k) w.defined->lanes_of[row + k] &= ~mask;
}

void check_near_reads(Wave& w, const MemoryFields& f, const Near& near, u64 mask) {
  if (!wants_order(w, f, near.home)) return;
  if (near.home->writers.load(std::memory_order_relaxed) == nullptr)
    return note_global_reads(w, *near.home, reinterpret_cast<u64>(near.base), near.at, mask, f.bytes);
  std::array<u64, lanes> address;
  for (unsigned l = 0; l < lanes; ++l) address[l] = reinterpret_cast<u64>(near.base) + near.at.at[l];
  check_global_reads(w, *near.home, address.data(), mask, f.bytes);
}

/// Whether an instruction can be performed for all lanes at once.
bool is_near(const Wave& w, const MemoryFields& f, u64 mask) {
  return f.format_count == 0 && mask != 0 && !w.deferring && !w.watching && w.observed == nullptr;
}

/// Loads from memory straight to LDS, as run_near.
bool run_near_to_lds(Wave& w, const Operation& op) {
  const MemoryFields& f = op.memory;
  const u64 mask = w.exec();
  if (!is_near(w, f, mask) || f.bytes < 4) return false;
  static const RowFunctions& host = row_functions();
  const u32 lds_base = (w.scalar[m0] & 0x3ffffU) + static_cast<u32>(f.offset);
  if (u64{lds_base} + u64{lanes} * f.bytes > w.group->lds.size()) return false;
  Near from, to;
  if (mask == ~u64{0}) { // lane after lane: no need to look at each
    for (unsigned l = 0; l < lanes; ++l) to.at.at[l] = lds_base + l * f.bytes;
    to.at.rising = true;
    to.at.low = to.at.all = lds_base;
    to.at.high = lds_base + (lanes - 1) * f.bytes;
  } else {
    u32 behind[lanes];
    for (unsigned l = 0; l < lanes; ++l) behind[l] = l * f.bytes;
    host.offsets(to.at, behind, lds_base, mask, f.bytes);
  }
  if (!find_near(w, op, mask, f.offset, from)) return false;
  to.base = w.group->lds.data();
  if (w.defined != nullptr) {
    if (!near_is_defined(w, from, f.bytes)) return false;
    to.undefined = w.group->lds_undefined.data();
    demand_addresses(w, op, mask);
  }
  check_near_reads(w, f, from, mask);
  to.pages = pages_of(to.at, f.bytes);
  w.stats.bytes_read += u64{f.bytes} * count_lanes(mask);
  note_issue(w, op, op.counters);
  if (!w.group->shadow.empty() && !note_lds(w, op, to.at, to.pages, mask, f.bytes, LdsUse::dma)) {
    Access a;
    a.mask = mask;
    a.limit.fill(255);
    a.lds_base = lds_base;
    for (unsigned l = 0; l < lanes; ++l) a.address[l] = reinterpret_cast<u64>(from.base) + from.at.at[l];
    perform(w, op, a);
    return true;
  }
  alignas(64) u32 loaded[4 * lanes];
  gather_lanes(from, f, loaded);
  store_near(w, to, loaded, f.bytes, mask, nullptr, false);
  return true;
}

/// ds_bpermute_b32 of whole waves.
bool run_near_permute(Wave& w, const Operation& op) {
  const MemoryFields& f = op.memory;
  const u64 mask = w.exec();
  if (!is_near(w, f, mask) || f.kind != Kind::bpermute || mask != ~u64{0} || f.vaddr < 0 || f.data < 0 ||
      f.dest < 0)
    return false;
  if (w.defined != nullptr) {
    if (w.defined->lanes_of[static_cast<unsigned>(f.data)] != 0) return false;
    demand_addresses(w, op, mask);
    w.defined->lanes_of[static_cast<unsigned>(f.dest)] = 0;
  }
  static const RowFunctions& host = row_functions();
  w.stats.lds_bytes += u64{f.bytes} * lanes;
  note_issue(w, op, op.counters);
  alignas(64) u32 index[lanes], picked[lanes];
  const u32* const row = w.row(static_cast<unsigned>(f.vaddr));
  for (unsigned l = 0; l < lanes; ++l) index[l] = (row[l] + static_cast<u32>(f.offset)) / 4;
  host.pick(picked, w.row(static_cast<unsigned>(f.data)), index);
  std::memcpy(w.row(static_cast<unsigned>(f.dest)), picked, sizeof picked);
  return true;
}

/// LDS that others touch, lane by lane.
void perform_near(Wave& w, const Operation& op, const Near& near, u64 mask) {
  const MemoryFields& f = op.memory;
  Access a;
  a.mask = mask;
  a.limit.fill(255);
  if (f.data >= 0) a.data = w.row(static_cast<unsigned>(f.data));
  if (f.data2 >= 0) a.data2 = w.row(static_cast<unsigned>(f.data2));
  for (unsigned l = 0; l < lanes; ++l) a.address[l] = near.at.at[l];
  perform(w, op, a);
}

/// Atomics, as run_near.
bool run_near_atomic(Wave& w, const Operation& op) {
  const MemoryFields& f = op.memory;
  const u64 mask = w.exec();
  if (f.rows == nullptr || !is_near(w, f, mask)) return false;
  if (f.space != Space::lds && tells_devices(w)) return false; // lane by lane
  static const RowFunctions& host = row_functions();
  Near near;
  if (!find_near(w, op, mask, f.offset, near)) return false;
  if (near.at.all % f.bytes != 0 || reinterpret_cast<u64>(near.base) % f.bytes != 0) return false;
  const unsigned words = f.bytes / 4U;
  const bool pair =
      f.space != Space::lds && f.atomic == AtomicOp::cmpswap; // the new value, then what it is compared with
  const auto data = static_cast<unsigned>(f.data);
  if (w.defined != nullptr) {
    u64 undefined = 0;
    for (unsigned k = 0; k < words * (pair ? 2 : 1); ++k) undefined |= w.defined->lanes_of[data + k];
    for (unsigned k = 0; f.data2 >= 0 && k < words; ++k)
      undefined |= w.defined->lanes_of[static_cast<unsigned>(f.data2) + k];
    if ((undefined & mask) != 0 || !near_is_defined(w, near, f.bytes)) return false;
  }
  const bool lds = f.space == Space::lds;
  if (near.home != nullptr && w.group->tracks_global &&
      note_global_writes(w, *near.home, reinterpret_cast<u64>(near.base), near.at, nullptr, mask, f.bytes,
                         true) == GlobalNote::conflict)
    return false;
  if (w.defined != nullptr) demand_addresses(w, op, mask);
  if (!lds && f.returns && !near.home->of_host) synchronize(w);
  if (!lds) release_stores(w);
  const u64 moved = u64{f.bytes} * count_lanes(mask);
  if (lds) {
    w.stats.lds_bytes += moved;
  } else {
    w.stats.bytes_read += moved;
    w.stats.bytes_written += moved;
  }
  note_issue(w, op, op.counters);
  if (lds && !w.group->shadow.empty() &&
      !note_lds(w, op, near.at, near.pages, mask, f.bytes, LdsUse::atomic)) {
    perform_near(w, op, near, mask);
    return true;
  }
  const u32* value = w.row(data);
  const u32* compare = f.data2 >= 0 ? w.row(static_cast<unsigned>(f.data2)) : nullptr;
  if (pair) {
    compare = value + words * lanes;
  } else if (f.atomic == AtomicOp::cmpswap ||
             f.atomic == AtomicOp::cmpswap_f) { // ds_cmpst: the other way round
    std::swap(value, compare);
  }
  // The result may go to its rows at once unless a lane's operands still come from there.
  const auto dest = static_cast<unsigned>(f.dest);
  const auto apart = [&](int from, unsigned count) {
    return from < 0 || static_cast<unsigned>(from) + count <= dest ||
           dest + words <= static_cast<unsigned>(from);
  };
  const bool direct = apart(f.data, words * (pair ? 2 : 1)) && apart(f.data2, words);
  alignas(64) u32 old[2 * lanes];
  u32* const to = !f.returns ? nullptr : direct ? w.row(dest) : old;
  (near.home == nullptr || w.group->launch->alone ? f.rows : f.shared_rows)(near.base, near.at, value,
                                                                            compare, to, mask);
  if (!f.returns) return true;
  for (unsigned k = 0; k < words; ++k) {
    if (!direct) host.merge(w.row(dest + k), old + k * lanes, mask);
    if (w.defined != nullptr) w.defined->lanes_of[dest + k] &= ~mask;
  }
  return true;
}

} // namespace

bool run_near(Wave& w, const Operation& op) {
  const MemoryFields& f = op.memory;
  const u64 mask = w.exec();
  if (f.kind == Kind::to_lds) return run_near_to_lds(w, op);
  if (f.kind == Kind::bpermute) return run_near_permute(w, op);
  if (f.kind == Kind::atomic) return run_near_atomic(w, op);
  const bool transpose = f.kind == Kind::transpose && mask == ~u64{0};
  if ((f.kind != Kind::load && f.kind != Kind::store && !transpose) || !is_near(w, f, mask)) return false;
  if (f.device_scope && f.space != Space::lds && tells_devices(w)) return false; // lane by lane
  const EmulatorOptions& options = *w.group->launch->options;
  const bool store = f.kind == Kind::store;
  const bool lds = f.space == Space::lds;
  const unsigned words = std::max(1U, f.bytes / 4U);
  const unsigned count = f.two ? 2 : 1;
  const auto row_of = [&](unsigned n) {
    return static_cast<unsigned>(!store ? f.dest + static_cast<int>(n * words) : n == 0 ? f.data : f.data2);
  };
  Near near[2];
  for (unsigned n = 0; n < count; ++n)
    if (!find_near(w, op, mask, n == 0 ? f.offset : f.offset1, near[n])) return false;
  if (w.defined != nullptr) {
    if (!store && f.d16 && (w.defined->lanes_of[row_of(0)] & mask) != 0) return false; // keeps a part of it
    for (unsigned n = 0; n < count; ++n) {
      if (!store && !near_is_defined(w, near[n], f.bytes)) return false;
      for (unsigned k = 0; store && k < words; ++k)
        if ((w.defined->lanes_of[row_of(n) + k] & mask) != 0) return false;
    }
  }
  if (!lds && store && f.device_scope) release_stores(w); // of what comes before this
  const StoreLines* lines = nullptr;
  bool written_before = false; // so are its bytes of the shadow
  const bool asks_lanes = store && near[0].home != nullptr && options.checks.races && !near[0].at.rising;
  if (store && near[0].home != nullptr &&
      (w.group->tracks_global || asks_lanes || !near[0].home->written.empty())) {
    const u64 base = reinterpret_cast<u64>(near[0].base);
    lines = store_lines(w, base - near[0].home->begin, near[0].at, mask, f.bytes);
    if (w.group->tracks_global) {
      const GlobalNote note =
          note_global_writes(w, *near[0].home, base, near[0].at, lines, mask, f.bytes, false);
      if (note == GlobalNote::conflict) return false;
      written_before = note == GlobalNote::again;
    }
  }
  if (w.defined != nullptr) demand_addresses(w, op, mask);
  if (!lds && is_scoped_load(w, f) && near[0].home != nullptr && !near[0].home->of_host)
    each_lane(mask, [&](unsigned l) {
      check_scoped_read(w, *near[0].home, reinterpret_cast<u64>(near[0].base) + near[0].at.at[l], f.bytes, l);
    });
  if (!lds && !store && f.device_scope && !near[0].home->of_host) synchronize(w);
  if (!lds && !store) check_near_reads(w, f, near[0], mask);
  const u64 moved = u64{f.bytes} * count_lanes(mask) * count;
  if (!lds) {
    (store ? w.stats.bytes_written : w.stats.bytes_read) += moved;
    if (options.bank_model && near[0].base == w.scratch.data()) ++w.group->scratch[w.current];
  } else {
    w.stats.lds_bytes += moved;
    for (unsigned n = 0; n < count; ++n) {
      if (options.bank_model) count_banks(w, near[n].at.at, mask, f.bytes, store);
      if (store && options.checks.races && !near[n].at.rising)
        check_lds_lanes(w, op, near[n].at.at, mask, f.bytes, w.row(row_of(n)));
    }
  }
  note_issue(w, op, op.counters);
  if (lds && !w.group->shadow.empty()) {
    bool noted = true;
    for (unsigned n = 0; n < count; ++n)
      noted =
          note_lds(w, op, near[n].at, near[n].pages, mask, f.bytes, store ? LdsUse::write : LdsUse::read) &&
          noted;
    if (!noted) { // somebody else touches these words: lane by lane
      perform_near(w, op, near[0], mask);
      return true;
    }
  }
  for (unsigned n = 0; n < count; ++n) {
    if (transpose) {
      LaneBytes read;
      for (unsigned l = 0; l < lanes; ++l)
        std::memcpy(read[l].data(), near[n].base + near[n].at.at[l], f.bytes);
      transpose_lanes(read, f.transpose_bits, w.row(row_of(n)), mask);
      for (unsigned k = 0; k < words && w.defined != nullptr; ++k) w.defined->lanes_of[row_of(n) + k] = 0;
    } else if (!store) {
      load_near(w, near[n], f, row_of(n), mask);
    } else if (f.bytes < 4 && f.high) {
      u32 upper[lanes];
      for (unsigned l = 0; l < lanes; ++l) upper[l] = w.row(row_of(n))[l] >> 16;
      if (asks_lanes && (lines == nullptr || lines->shared))
        check_near_lanes(w, near[n], upper, f.bytes, mask);
      store_near(w, near[n], upper, f.bytes, mask, lines, written_before);
    } else {
      if (asks_lanes && (lines == nullptr || lines->shared))
        check_near_lanes(w, near[n], w.row(row_of(n)), f.bytes, mask);
      store_near(w, near[n], w.row(row_of(n)), f.bytes, mask, lines, written_before);
    }
  }
  return true;
}

} // namespace inlay::runtime::emulator
