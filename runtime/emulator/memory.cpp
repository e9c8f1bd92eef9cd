// Memory instructions: DS, buffer, flat, global, scratch, atomics and loads straight to LDS. memory.h names the files.
//
// Every instruction works in two steps: addresses and data are taken from the registers, then the access is performed.
// Normally the second follows at once; under stress it waits for the s_waitcnt that covers it.
//
// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapters "Vector Memory Operations", "Flat Memory
// Instructions", "Data Share Operations"; LLVM "User Guide for AMDGPU Backend", the memory model of CDNA3. Where the manual and LLVM differ on
// whether soffset takes part in the range check of a raw buffer, it does here.
#include "memory.h"
#include "buffer_format.h"
#include "debug.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace inlay::runtime::emulator {
namespace {

using Kind = MemoryFields::Kind;
using Space = MemoryFields::Space;

void buffer_addresses(Wave& w, const MemoryFields& f, const isa::Modifiers& m, Access& a) {
  const u32* d = &w.scalar[static_cast<unsigned>(f.srsrc)];
  const u64 base = d[0] | (u64{d[1] & 0xffffU} << 32);
  const bool swizzled = (d[1] >> 31) != 0;
  const u64 records = d[2];
  const bool add_tid = ((d[3] >> 23) & 1U) != 0;
  // With ADD_TID the data format is the top of an 18-bit stride, unless the instruction needs the format.
  const u32 more = add_tid && f.format_count == 0 ? ((d[3] >> 15) & 15U) << 14 : 0U;
  const u32 stride = ((d[1] >> 16) & 0x3fffU) | more;
  const u64 soffset = read_scalar(w, f.soffset);
  if (f.format_count != 0) {
    a.format = f.typed
                   ? BufferFormat{static_cast<u8>(m.format & 15U), static_cast<u8>(m.format >> 4)}
                   : BufferFormat{static_cast<u8>((d[3] >> 15) & 15U), static_cast<u8>((d[3] >> 12) & 7U)};
    if (a.format.components() != 0 && !a.format.exists()) {
      fail(w, "has data format " + std::to_string(a.format.data) + " with number format " +
                  std::to_string(a.format.number) + ", which the manual does not define");
    }
    for (unsigned c = 0; c < 4; ++c) a.selects[c] = static_cast<u8>(f.typed ? 4 + c : (d[3] >> (3 * c)) & 7U);
  }
  const unsigned bytes = f.format_count != 0 ? a.format.bytes() : f.bytes;
  const u32* rows = f.vaddr >= 0 ? w.row(static_cast<unsigned>(f.vaddr)) : nullptr;
  const u32* index_row = m.idxen ? rows : nullptr;
  const u32* offset_row = m.offen ? (m.idxen ? rows + lanes : rows) : nullptr;
  const bool of_scratch = base >> 32 == scratch_window && !machine::target(w.arch).architected_scratch;
  if (!of_scratch && !m.idxen && !add_tid) { // offsets alone: most are wholly within the buffer
    const u64 least = std::max(bytes, 1U);
    u32 furthest = 0;
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 part = (offset_row != nullptr ? offset_row[l] : 0U) + static_cast<u32>(f.offset);
      a.address[l] = base + soffset + part;
      furthest = std::max(furthest, part);
    }
    if (u64{furthest} + soffset + least <= records) return;
    u64 beyond = 0;
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 part = (offset_row != nullptr ? offset_row[l] : 0U) + static_cast<u32>(f.offset);
      beyond |= u64{u64{part} + soffset + least > records} << l;
    }
    if ((beyond & a.mask) == 0) return;
  }
  for (unsigned l = 0; l < lanes; ++l) {
    if (((a.mask >> l) & 1U) == 0) continue;
    const u64 index = (index_row != nullptr ? u64{index_row[l]} : 0) + (add_tid ? l : 0);
    const u32 part = (offset_row != nullptr ? offset_row[l] : 0U) + static_cast<u32>(f.offset);
    const u64 offset = u64{part} + soffset;
    u64 at = 0;
    if (of_scratch) {
      // The scalar offset, a stack pointer, counts the bytes of all lanes (LLVM "User Guide for AMDGPU Backend", "Private Segment Buffer").
      at = base + part + soffset / lanes;
    } else if (swizzled && stride != 0 && (m.idxen || add_tid)) {
      const u64 group = u64{8} << ((d[3] >> 21) & 3U);
      at = base + soffset + ((index / group) * stride + (u64{part} / 4) * 4) * group + (index % group) * 4 +
           part % 4;
    } else {
      at = base + offset + index * stride;
    }
    a.address[l] = at;
    const bool whole_only = f.kind == Kind::atomic || f.bytes < 4 || f.format_count != 0;
    if (stride == 0 || !m.idxen) {
      if (add_tid && !m.idxen) {
        a.limit[l] = 255;
      } else if (offset >= records) {
        a.limit[l] = 0;
      } else {
        const u64 left = records - offset;
        a.limit[l] = left >= bytes ? 255 : whole_only ? 0 : static_cast<u8>(left / 4 * 4);
      }
    } else {
      a.limit[l] = index < records ? 255 : 0;
    }
    a.whole = a.whole && a.limit[l] == 255;
  }
}

/// `offset` bytes after `v`. Which memory a flat access reaches is decided by the register's high half alone, before the
/// offset is added (LLVM, SelectFlatOffsetImpl): in an aperture the offset wraps at 32 bits, and nothing carries into one.
u64 flat_address(u64 v, u64 offset) {
  const auto aperture = [](u64 at) { return at >> 32 == shared_aperture || at >> 32 == private_aperture; };
  if (aperture(v)) return (v >> 32 << 32) | static_cast<u32>(v + offset);
  return aperture(v + offset) ? v : v + offset;
}

void flat_addresses(Wave& w, const MemoryFields& f, Access& a) {
  const u32* rows = f.vaddr >= 0 ? w.row(static_cast<unsigned>(f.vaddr)) : nullptr;
  const u64 base = f.saddr >= 0 ? w.scalar64(static_cast<unsigned>(f.saddr)) : 0;
  const u64 offset = static_cast<u64>(i64{f.offset});
  for (unsigned l = 0; l < lanes; ++l) {
    u64 v = 0;
    if (rows != nullptr) {
      v = f.saddr >= 0 ? u64{rows[l]} : rows[l] | (u64{rows[l + lanes]} << 32);
    }
    a.address[l] = f.space == Space::flat ? flat_address(v, offset) : base + v + offset;
  }
}

void scratch_addresses(Wave& w, const MemoryFields& f, Access& a) {
  const u32* rows = f.vaddr >= 0 ? w.row(static_cast<unsigned>(f.vaddr)) : nullptr;
  const u32 base = f.saddr >= 0 ? w.scalar[static_cast<unsigned>(f.saddr)] : 0;
  for (unsigned l = 0; l < lanes; ++l) {
    a.address[l] = u32{base + (rows != nullptr ? rows[l] : 0) + static_cast<u32>(f.offset)};
  }
}

void lds_addresses(Wave& w, const MemoryFields& f, Access& a) {
  if (f.kind == Kind::add_tid) {
    for (unsigned l = 0; l < lanes; ++l) {
      a.address[l] = (w.scalar[m0] & 0xffffU) + static_cast<u32>(f.offset) + 4 * l;
    }
    return;
  }
  const u32* row = f.vaddr >= 0 ? w.row(static_cast<unsigned>(f.vaddr)) : nullptr;
  for (unsigned l = 0; l < lanes; ++l) {
    a.address[l] = u32{(row != nullptr ? row[l] : 0) + static_cast<u32>(f.offset)};
  }
}

/// Some lane does.
bool reaches_scratch(const Wave& w, const MemoryFields& f, const Access& a) {
  if (f.space == Space::scratch) return true;
  bool any = false;
  each_lane(a.mask, [&](unsigned l) {
    any = any || in_scratch(w, f.space, a.address[l]) ||
          (f.space == Space::flat && a.address[l] >> 32 == private_aperture);
  });
  return any;
}

void count_traffic(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  const EmulatorOptions& options = *w.group->launch->options;
  const u64 each = f.format_count != 0 ? a.format.bytes() : f.bytes;
  const u64 bytes = each * count_lanes(a.mask) * (f.two ? 2 : 1);
  if (f.space != Space::lds) {
    if (f.kind == Kind::load || f.kind == Kind::to_lds || f.kind == Kind::atomic) w.stats.bytes_read += bytes;
    if (f.kind == Kind::store || f.kind == Kind::atomic) w.stats.bytes_written += bytes;
    if (options.bank_model && a.mask != 0 && reaches_scratch(w, f, a)) ++w.group->scratch[w.current];
    return;
  }
  w.stats.lds_bytes += bytes;
  if (!options.bank_model && !(options.checks.races && f.kind == Kind::store)) return;
  u32 addresses[lanes];
  for (unsigned half = 0; half < (f.two ? 2U : 1U); ++half) {
    const u32 shift = half == 0 ? 0 : static_cast<u32>(f.offset1 - f.offset);
    for (unsigned l = 0; l < lanes; ++l) addresses[l] = static_cast<u32>(a.address[l]) + shift;
    if (options.bank_model && (f.kind == Kind::load || f.kind == Kind::store || f.kind == Kind::transpose))
      count_banks(w, addresses, a.mask, f.bytes, f.kind == Kind::store);
    if (f.kind == Kind::store)
      check_lds_lanes(w, op, addresses, a.mask, f.bytes, half == 0 ? a.data : a.data2);
  }
}

/// For LaunchObserver.
void note_observed(const Wave& w, const MemoryFields& f, const Access& a, ObservedAccess& to) {
  to.space = f.space == Space::lds       ? ObservedAccess::Space::lds
             : f.space == Space::scratch ? ObservedAccess::Space::scratch
                                         : ObservedAccess::Space::global;
  to.kind = f.kind == Kind::store    ? ObservedAccess::Kind::store
            : f.kind == Kind::atomic ? ObservedAccess::Kind::atomic
            : f.kind == Kind::to_lds ? ObservedAccess::Kind::to_lds
                                     : ObservedAccess::Kind::load;
  if (f.kind == Kind::add_tid && f.dest < 0) to.kind = ObservedAccess::Kind::store;
  if (f.kind == Kind::swizzle || f.kind == Kind::permute || f.kind == Kind::bpermute)
    to.space = ObservedAccess::Space::crossbar;
  to.mask = a.mask;
  to.bytes = f.format_count != 0 ? a.format.bytes() : f.bytes;
  to.two = f.two;
  to.lds_base = a.lds_base;
  to.address = a.address;
  // Lanes differ where an address has a second one, an aperture or a window of its own, or lies beyond the buffer.
  const bool windowed = f.space == Space::buffer && !machine::target(w.arch).architected_scratch;
  if (!f.two && f.space != Space::flat && !windowed && a.whole) return;
  each_lane(a.mask, [&](unsigned l) {
    if (a.limit[l] == 0) to.mask &= ~lane_bit(l);
    if (f.two) to.second[l] = a.address[l] + static_cast<u64>(i64{f.offset1 - f.offset});
    if (in_scratch(w, f.space, a.address[l]))
      to.space = ObservedAccess::Space::scratch, to.address[l] &= 0xffffffffU;
    if (f.space != Space::flat) return;
    const u32 aperture = static_cast<u32>(a.address[l] >> 32);
    if (aperture != shared_aperture && aperture != private_aperture) return;
    to.space = aperture == shared_aperture ? ObservedAccess::Space::lds : ObservedAccess::Space::scratch;
    to.address[l] &= 0xffffffffU;
  });
}

/// Notes the LDS that an instruction reads or writes; false when its lanes have to be checked one by one.
bool note_lds_access(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  u32 addresses[lanes];
  if (f.kind == Kind::to_lds) {
    const unsigned slot = f.bytes < 4 ? 4 : f.bytes;
    for (unsigned l = 0; l < lanes; ++l) addresses[l] = a.lds_base + l * slot;
    return note_lds(w, op, addresses, a.mask, slot, LdsUse::dma);
  }
  const bool plain = f.kind == Kind::load || f.kind == Kind::store || f.kind == Kind::transpose;
  if (f.space != Space::lds || !plain) return false;
  bool noted = true;
  for (unsigned half = 0; half < (f.two ? 2U : 1U); ++half) {
    const u32 shift = half == 0 ? 0 : static_cast<u32>(f.offset1 - f.offset);
    for (unsigned l = 0; l < lanes; ++l) addresses[l] = static_cast<u32>(a.address[l]) + shift;
    noted =
        note_lds(w, op, addresses, a.mask, f.bytes, f.kind == Kind::store ? LdsUse::write : LdsUse::read) &&
        noted;
  }
  return noted;
}

/// Stress: the bytes that an access touches, LDS and each lane's scratch as addresses of their own.
std::vector<std::pair<u64, u64>> touched_bytes(const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  constexpr u64 in_lds = u64{1} << 62, in_scratch = u64{1} << 63;
  std::vector<std::pair<u64, u64>> all;
  const bool moves_lanes =
      f.kind == Kind::swizzle || f.kind == Kind::permute || f.kind == Kind::bpermute || f.kind == Kind::none;
  each_lane(moves_lanes ? 0 : a.mask, [&](unsigned l) {
    const unsigned bytes = std::min<unsigned>(f.format_count != 0 ? a.format.bytes() : f.bytes, a.limit[l]);
    for (unsigned half = 0; half < (f.two ? 2U : 1U) && bytes != 0; ++half) {
      u64 at = half == 0 ? a.address[l] : shifted(f, a.address[l], f.offset1 - f.offset);
      const u32 aperture = static_cast<u32>(at >> 32);
      if (f.space == Space::lds || (f.space == Space::flat && aperture == shared_aperture)) {
        at = in_lds | (at & 0xffffffffU);
      } else if (f.space == Space::scratch || (f.space == Space::flat && aperture == private_aperture)) {
        at = in_scratch | u64{l} << 32 | (at & 0xffffffffU);
      }
      all.emplace_back(at, at + bytes);
    }
  });
  std::sort(all.begin(), all.end());
  std::size_t out = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].first <= all[out].second) {
      all[out].second = std::max(all[out].second, all[i].second);
    } else {
      all[++out] = all[i];
    }
  }
  if (!all.empty()) all.resize(out + 1);
  return all;
}

/// Whether it is about a request to the host, which orders no other wave.
bool asks_host(const Wave& w, const Access& a) {
  const Launch& launch = *w.group->launch;
  if (launch.host_calls == nullptr || a.mask == 0) return false;
  const Allocation* const home =
      launch.memory->find(a.address[static_cast<unsigned>(std::countr_zero(a.mask))]);
  return home != nullptr && home->of_host;
}

/// Stress: the registers that an instruction writes, one row after the other.
std::vector<u32> written_rows(Wave& w, const Operation& op) {
  std::vector<u32> all;
  for (const RowRange& r : op.writes) {
    const u32* const rows = w.row(r.first);
    all.insert(all.end(), rows, rows + std::size_t{r.count} * lanes);
  }
  return all;
}

void put_rows(Wave& w, const Operation& op, const std::vector<u32>& values, u64 mask) {
  const u32* from = values.data();
  for (const RowRange& r : op.writes) {
    for (unsigned k = 0; k < r.count; ++k, from += lanes) {
      u32* const row = w.row(r.first + k);
      each_lane(mask, [&](unsigned l) { row[l] = from[l]; });
    }
  }
}

/// Whether it touches registers and global memory, and no LDS. `order`: the bytes that a flat instruction touches.
bool touches_global_alone(const MemoryFields& f, const Deferred& order) {
  if (f.kind == Kind::to_lds) return false;
  if (f.space != Space::flat) return f.space == Space::global || f.space == Space::buffer;
  return std::none_of(order.touched.begin(), order.touched.end(),
                      [](const auto& bytes) { return bytes.first >> 62 == 1; });
}

/// The address of each lane, and what of it lies within a buffer.
void find_addresses(Wave& w, const Operation& op, Access& a) {
  const MemoryFields& f = op.memory;
  a.mask = w.exec();
  a.limit.fill(255);
  switch (f.space) {
  case Space::buffer: buffer_addresses(w, f, op.instruction->modifiers, a); break;
  case Space::flat:
  case Space::global: flat_addresses(w, f, a); break;
  case Space::scratch: scratch_addresses(w, f, a); break;
  case Space::lds: lds_addresses(w, f, a); break;
  }
  if (f.kind == Kind::to_lds) a.lds_base = (w.scalar[m0] & 0x3ffffU) + static_cast<u32>(f.offset);
}

/// run_near under an observer, who is told first: a load may write the registers that its addresses were in. An atomic says whether it changes memory, lane by lane.
bool run_near_observed(Wave& w, const Operation& op) {
  const MemoryFields& f = op.memory;
  if (w.addresses_alone || (f.kind != Kind::load && f.kind != Kind::store && f.kind != Kind::to_lds))
    return false;
  Access a;
  find_addresses(w, op, a);
  note_observed(w, f, a, *w.observed);
  ObservedAccess* const observed = std::exchange(w.observed, nullptr);
  const bool done = run_near(w, op);
  w.observed = observed;
  return done;
}

} // namespace

void run_memory(Wave& w, const Operation& op) {
  if (w.vskip || (w.observed == nullptr ? run_near(w, op) : run_near_observed(w, op))) return;
  const MemoryFields& f = op.memory;
  Access a;
  if (f.data >= 0) a.data = w.row(static_cast<unsigned>(f.data));
  if (f.data2 >= 0) a.data2 = w.row(static_cast<unsigned>(f.data2));
  if (w.defined != nullptr) demand_addresses(w, op, w.exec());
  if (f.space != Space::lds && (f.kind == Kind::atomic || (f.kind == Kind::store && f.device_scope)))
    release_stores(w);
  find_addresses(w, op, a);
  if (f.space != Space::lds && f.space != Space::scratch && tells_devices(w) &&
      (f.kind == Kind::atomic || f.device_scope))
    note_flags(w, op, a.address.data(), a.mask);
  if (w.group->tracks_global && (f.kind == Kind::load || f.kind == Kind::to_lds) &&
      (f.space == Space::buffer || f.space == Space::global || f.space == Space::flat)) {
    each_lane(a.mask, [&](unsigned l) {
      const unsigned bytes = std::min<unsigned>(f.format_count != 0 ? a.format.bytes() : f.bytes, a.limit[l]);
      Allocation* const home = bytes == 0 ? nullptr : w.group->launch->memory->find(a.address[l], bytes);
      if (wants_order(w, f, home)) check_global_reads(w, *home, a.address.data(), lane_bit(l), bytes);
      if (home != nullptr && !home->of_host && is_scoped_load(w, f))
        check_scoped_read(w, *home, a.address[l], bytes, l);
    });
  }
  if (f.space != Space::lds &&
      ((f.kind == Kind::atomic && f.returns) || (f.kind == Kind::load && f.device_scope)) && !asks_host(w, a))
    synchronize(w);
  count_traffic(w, op, a);
  if (w.observed != nullptr) note_observed(w, f, a, *w.observed);
  if (!w.deferring) {
    note_issue(w, op, op.counters);
    if (w.addresses_alone) return;
    if (!w.group->shadow.empty()) w.lds_noted = note_lds_access(w, op, a);
    perform(w, op, a);
    w.lds_noted = false;
    return;
  }
  auto late = std::make_shared<Access>(a);
  const auto keep = [&](const u32* rows, unsigned count) {
    if (rows != nullptr) late->copy.insert(late->copy.end(), rows, rows + count * lanes);
  };
  const unsigned data_rows =
      f.atomic == AtomicOp::cmpswap && f.space != Space::lds ? f.bytes / 2U : std::max(1U, f.bytes / 4U);
  keep(a.data, data_rows);
  keep(a.data2, data_rows);
  late->data = a.data == nullptr ? nullptr : late->copy.data();
  late->data2 = a.data2 == nullptr ? nullptr : late->copy.data() + data_rows * lanes;
  // Until the result lands its registers hold a NaN pattern, except where the instruction keeps part of them.
  if (f.dest >= 0 && !f.d16 && (f.kind != Kind::atomic || f.returns)) {
    for (const RowRange& r : op.writes) {
      for (unsigned k = 0; k < r.count; ++k) {
        u32* row = w.row(r.first + k);
        each_lane(a.mask, [&](unsigned l) { row[l] = 0x7ff4dead; });
      }
    }
  }
  Deferred order;
  if (w.group->launch->code->flat) {
    order.flat = f.space == Space::flat;
    order.writes = f.kind == Kind::store || f.kind == Kind::atomic || (f.kind == Kind::add_tid && f.dest < 0);
    order.touched = touched_bytes(op, a);
  }
  // Loads to LDS land at once or at the wait: what they overwrite may still be read, or what they bring not be there yet.
  if (f.kind == Kind::to_lds && w.group->random() % 2 == 0) {
    land_before(w, order);
    perform(w, op, *late);
    note_issue(w, op, op.counters, [] {});
    return;
  }
  Wave* wave = &w;
  const Operation* o = &op;
  const u32 at = w.current;
  note_issue(w, op, op.counters, [wave, o, late, at] {
    if (late->reached) return put_rows(*wave, *o, late->brought, late->mask);
    const u32 now = wave->current;
    wave->current = at;
    perform(*wave, *o, *late);
    wave->current = now;
  });
  Deferred& mine = w.deferred.back();
  if (touches_global_alone(f, order)) {
    mine.reach = [wave, o, late, land = mine.land] {
      const std::vector<u32> before = written_rows(*wave, *o);
      land();
      late->brought = written_rows(*wave, *o);
      put_rows(*wave, *o, before, ~u64{0});
      late->reached = true;
    };
  }
  mine.flat = order.flat;
  mine.writes = order.writes;
  mine.touched = std::move(order.touched);
}
} // namespace inlay::runtime::emulator
