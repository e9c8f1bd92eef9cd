// Memory instructions: DS, buffer, flat, global, scratch, atomics and loads straight to LDS.
//
// Every instruction works in two steps: addresses and data are taken from the registers, then the access is performed.
// Normally the second follows at once; under stress it waits for the s_waitcnt that covers it.
//
// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapters "Vector Memory Operations", "Flat Memory
// Instructions", "Data Share Operations"; LLVM "User Guide for AMDGPU Backend", the memory model of CDNA3. Where the manual and LLVM differ on
// whether soffset takes part in the range check of a raw buffer, it does here.
#include "atomics.h"
#include "buffer_format.h"
#include "debug.h"
#include "vector_functions.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/instruction_facts.h>

namespace inlay::runtime::emulator {
namespace {

using Kind = MemoryFields::Kind;
using Space = MemoryFields::Space;

/// What an instruction took from the registers.
struct Access {
  u64 mask = 0;
  std::array<u64, lanes> address;
  std::array<u8, lanes> limit; ///< bytes of the element inside the buffer's range; 255: all
  bool whole = true;           ///< every limit is 255
  const u32* data = nullptr;
  const u32* data2 = nullptr;
  u32 lds_base = 0;                      ///< of a load to LDS
  BufferFormat format;                   ///< of typed buffer accesses
  std::array<u8, 4> selects{4, 5, 6, 7}; ///< DST_SEL: 0 and 1 are constants, 4 + n is component n
  std::vector<u32> copy;                 ///< owns the data when the access is deferred
  bool reached = false;                  ///< memory has been read and written: see reach_memory
  std::vector<u32> brought;              ///< what the registers get then
};

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
  for (unsigned l = 0; l < lanes; ++l) {
    if (((a.mask >> l) & 1U) == 0) continue;
    const u64 index = (index_row != nullptr ? u64{index_row[l]} : 0) + (add_tid ? l : 0);
    const u32 part = (offset_row != nullptr ? offset_row[l] : 0U) + static_cast<u32>(f.offset);
    const u64 offset = u64{part} + soffset;
    u64 at = 0;
    if (base >> 32 == scratch_window && !machine::target(w.arch).architected_scratch) {
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

void flat_addresses(Wave& w, const MemoryFields& f, Access& a) {
  const u32* rows = f.vaddr >= 0 ? w.row(static_cast<unsigned>(f.vaddr)) : nullptr;
  const u64 base = f.saddr >= 0 ? w.scalar64(static_cast<unsigned>(f.saddr)) : 0;
  const u64 offset = static_cast<u64>(i64{f.offset});
  for (unsigned l = 0; l < lanes; ++l) {
    u64 v = 0;
    if (rows != nullptr) {
      v = f.saddr >= 0 ? u64{rows[l]} : rows[l] | (u64{rows[l + lanes]} << 32);
    }
    a.address[l] = base + v + offset;
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

/// `shift` bytes further, which the second element of ds_read2 is: LDS addresses have 32 bits and wrap, so that a negative
/// base register with a positive offset is an address like any other (LLVM makes them of `lds[255 - i]`).
u64 shifted(const MemoryFields& f, u64 address, i32 shift) {
  const u64 moved = address + static_cast<u64>(i64{shift});
  return f.space == Space::lds ? static_cast<u32>(moved) : moved;
}

/// Where the bytes of one lane are; `bytes` is nullptr when nowhere (reported).
struct Place {
  u8* bytes = nullptr;
  u8* undefined = nullptr;    ///< the bits of LDS and scratch that nothing gave a value, when that is tracked
  u32* origin = nullptr;      ///< of the first of these bytes; nullptr: never anything but "not written"
  Allocation* home = nullptr; ///< global memory
  bool unwritten = false; ///< global memory: nothing had written a byte before this access, an atomic, did
  explicit operator bool() const { return bytes != nullptr; }
};

/// Whether a buffer instruction reaches scratch, by the descriptor that the wave began with.
bool in_scratch(const Wave& w, Space space, u64 address) {
  return space == Space::buffer && address >> 32 == scratch_window &&
         !machine::target(w.arch).architected_scratch;
}

/// Where `bytes` bytes of one lane are; `value`: what a store puts there.
Place locate(Wave& w, const Operation& op, Space space, u64 address, unsigned bytes, unsigned lane,
             bool is_write, bool is_atomic, const u8* value = nullptr) {
  if (space == Space::flat) {
    const u32 high = static_cast<u32>(address >> 32);
    if (high == shared_aperture) {
      space = Space::lds;
      address &= 0xffffffffU;
    } else if (high == private_aperture) {
      space = Space::scratch;
      address &= 0xffffffffU;
    }
  }
  if (in_scratch(w, space, address)) {
    space = Space::scratch;
    address &= 0xffffffffU;
  }
  const Checks& checks = w.group->launch->options->checks;
  if (checks.align && (is_atomic || space == Space::lds) &&
      address % std::min(bytes, is_atomic ? bytes : 16U) != 0) {
    const unsigned need = bytes == 12 ? 4 : bytes;
    if (address % need != 0) {
      const std::string text = "the address is not a multiple of " + std::to_string(need) + " bytes";
      // Plain LDS accesses may lie anywhere where the driver sets SH_MEM_CONFIG to unaligned, as ROCm's does, and compilers use it.
      report(w, FindingKind::align, is_atomic ? text : text + ": it takes longer", lane, address, !is_atomic);
    }
  }
  switch (space) {
  case Space::lds: {
    std::vector<u8>& lds = w.group->lds;
    if (address + bytes > lds.size()) {
      report_lds_bounds(w, address, is_write, lane);
      return {};
    }
    if (w.watching) note_access(w, true, address, bytes, lane, is_write, lds.data() + address);
    if (!w.lds_noted)
      check_lds(w, op, static_cast<u32>(address), bytes, lane, is_write, is_atomic, false, value);
    if (w.defined == nullptr) return {.bytes = lds.data() + address};
    return {.bytes = lds.data() + address,
            .undefined = w.group->lds_undefined.data() + address,
            .origin = w.group->lds_origin.data() + address / 4};
  }
  case Space::scratch: {
    const u64 size = w.scratch.size() / lanes;
    if (address + bytes > size) {
      report(w, FindingKind::bounds,
             std::string(is_write ? "writes" : "reads") + " scratch byte " + std::to_string(address) +
                 " of " + std::to_string(size) + " a lane" +
                 (w.group->launch->kernel->descriptor.dynamic_stack ? "; --stack BYTES gives more" : ""),
             lane, address);
      return {};
    }
    const u64 at = lane * size + address;
    if (w.defined == nullptr) return {.bytes = w.scratch.data() + at};
    Definedness& d = *w.defined;
    return {.bytes = w.scratch.data() + at,
            .undefined = d.scratch.data() + at,
            .origin = d.scratch_origin.empty() ? nullptr : d.scratch_origin.data() + at / 4};
  }
  default: {
    Place place;
    if (is_atomic && w.defined != nullptr) {
      const Allocation* const home = w.group->launch->memory->find(address, bytes);
      place.unwritten = home != nullptr && !home->is_written(address, bytes);
    }
    place.bytes = global_bytes(w, address, bytes, lane, is_write, &place.home);
    return place;
  }
  }
}

/// The part of a read that is still inside its allocation, which was reported already: hardware faults by pages, so that a
/// kernel that reads a vector over the end of an array gets the elements that there are. `bytes`: how many, out.
Place beginning_of(Wave& w, Space space, u64 address, unsigned& bytes) {
  if (space == Space::lds || space == Space::scratch) return {};
  Allocation* const home = w.group->launch->memory->find(address);
  if (home == nullptr || address >= home->end) return {};
  bytes = static_cast<unsigned>(std::min<u64>(bytes, home->end - address));
  return {.bytes = reinterpret_cast<u8*>(address), .home = home};
}

// ---- definedness ----------------------------------------------------------------------------------------------------

/// The undefined bits of `count` bytes as they are read; false when all are defined. `origin` gets where they came from.
bool read_undefined(Wave& w, const Place& place, u64 address, unsigned count, u8* undefined, u32& origin) {
  if (place.undefined != nullptr) {
    std::memcpy(undefined, place.undefined, count);
    if (std::all_of(undefined, undefined + count, [](u8 b) { return b == 0; })) return false;
    const u32 here = place.origin == nullptr ? 0 : *place.origin;
    if (origin == 0) {
      origin = here;
    } else if (here != 0) {
      origin &= here | ~copied; // of several lanes
    }
    if (origin == 0) {
      const bool lds = place.undefined >= w.group->lds_undefined.data() &&
                       place.undefined < w.group->lds_undefined.data() + w.group->lds_undefined.size();
      origin = new_origin(w, std::string(lds ? "LDS" : "scratch") + " byte " +
                                 std::to_string(static_cast<u32>(address)) + ", which nothing has written") |
               copied;
    }
    return true;
  }
  if (place.home == nullptr || place.home->is_written(reinterpret_cast<u64>(place.bytes), count))
    return false;
  bool any = false;
  for (unsigned b = 0; b < count; ++b) {
    const bool written = place.home->is_written(reinterpret_cast<u64>(place.bytes) + b, 1);
    undefined[b] = written ? 0 : 0xff;
    any = any || !written;
  }
  if (any && origin == 0)
    origin = new_origin(w, unwritten_byte(*place.home, reinterpret_cast<u64>(place.bytes))) | copied;
  return any;
}

/// Whether undefined bits that are stored can be the padding of a structure: whole bytes as memory had them, in each word (an element,
/// if that is smaller) beside a byte that has a value.
bool is_padding(const u8* undefined, unsigned count, u32 origin) {
  if ((origin & copied) == 0) return false;
  for (unsigned b = 0; b < count; b += 4) {
    const u8* const end = undefined + std::min(count, b + 4);
    if (!std::all_of(undefined + b, end, [](u8 bits) { return bits == 0 || bits == 0xff; }) ||
        std::find(undefined + b, end, 0) == end)
      return false;
  }
  return true;
}

/// Bytes of LDS or scratch get the undefined bits of what is stored there; undefined bits do not leave for global memory.
void write_undefined(Wave& w, const Place& place, const u8* undefined, unsigned count, u32 origin,
                     unsigned lane, const std::string& name) {
  if (place.undefined == nullptr) {
    for (unsigned b = 0; undefined != nullptr && b < count; ++b) {
      if (undefined[b] == 0) continue;
      u32 bits = 0;
      for (unsigned k = b & ~3U; k < count && k < (b & ~3U) + 4; ++k)
        bits |= u32{undefined[k]} << (8 * (k & 3U));
      const bool padding = is_padding(undefined, count, origin);
      report_undefined(
          w, name, bits, origin,
          padding ? "is stored, bytes beside others of the same word, as the padding of a structure is"
                  : "is stored",
          lane, padding);
      return;
    }
    return;
  }
  if (undefined == nullptr) {
    std::memset(place.undefined, 0, count);
    return;
  }
  std::memcpy(place.undefined, undefined, count);
  std::vector<u8>& lds = w.group->lds_undefined;
  if (place.undefined >= lds.data() && place.undefined < lds.data() + lds.size())
    undefine_lds(*w.group, static_cast<u64>(place.undefined - lds.data()), count);
  u32* at = place.origin;
  Definedness& d = *w.defined;
  if (at == nullptr) { // scratch, the first time
    d.scratch_origin.assign(d.scratch.size() / 4 + 4, 0);
    at = d.scratch_origin.data() + (place.undefined - d.scratch.data()) / 4;
  }
  for (unsigned k = 0; k < (count + 3) / 4; ++k) at[k] = origin;
}

[[gnu::noinline]] void demand_undefined_addresses(Wave& w, const Operation& op, u64 mask) {
  const MemoryFields& f = op.memory;
  const bool permutes = f.kind == Kind::permute || f.kind == Kind::bpermute;
  if (f.vaddr >= 0 && f.kind != Kind::swizzle) {
    for (unsigned k = 0; k < f.vaddr_words; ++k)
      demand_row(w, static_cast<unsigned>(f.vaddr) + k, mask, permutes ? "names a lane" : "is an address",
                 permutes ? 0xffU : ~0U);
  }
  const Definedness& d = *w.defined;
  for (unsigned half = 0; half < 2; ++half) {
    for (u64 set = op.scalar_reads[half] & d.scalars[half]; set != 0; set &= set - 1)
      demand_scalar(w, half * 64 + static_cast<unsigned>(std::countr_zero(set)), "is an address");
  }
}

/// What a memory instruction takes from registers to know where to go.
inline void demand_addresses(Wave& w, const Operation& op, u64 mask) {
  const MemoryFields& f = op.memory;
  const Definedness& d = *w.defined;
  u64 undefined = (op.scalar_reads[0] & d.scalars[0]) | (op.scalar_reads[1] & d.scalars[1]);
  for (unsigned k = 0; f.vaddr >= 0 && k < f.vaddr_words; ++k)
    undefined |= d.lanes_of[static_cast<unsigned>(f.vaddr) + k] & mask;
  if (undefined != 0 && mask != 0) demand_undefined_addresses(w, op, mask);
}

/// The lanes of a result with an undefined bit, collected while it is loaded.
class LoadedBits {
public:
  LoadedBits(Wave& w, u64 mask, int dest, unsigned count)
      : w_(w), mask_(mask), dest_(static_cast<unsigned>(dest)), count_(count) {}
  [[nodiscard]] bool tracked() const { return w_.defined != nullptr; }
  /// `undefined`: whole words.
  void put(unsigned lane, const u8* undefined) {
    for (unsigned k = 0; k < count_; ++k) {
      u32 bits = 0;
      std::memcpy(&bits, undefined + 4 * k, 4);
      put_word(lane, k, bits);
    }
  }
  void put_word(unsigned lane, unsigned k, u32 bits) {
    if (bits == 0) return;
    w_.defined->bits[(dest_ + k) * lanes + lane] = bits;
    some_[k] |= lane_bit(lane);
  }
  u32 origin = 0;
  void finish() {
    if (!tracked()) return;
    for (unsigned k = 0; k < count_; ++k) {
      u64& of = w_.defined->lanes_of[dest_ + k];
      of = (of & ~mask_) | some_[k];
      u32& from = w_.defined->origin[dest_ + k];
      if (some_[k] != 0) from = (of & ~mask_) == 0 ? origin : origin & (from | ~copied); // of other lanes
    }
  }

private:
  Wave& w_;
  u64 mask_;
  unsigned dest_, count_;
  u64 some_[4] = {};
};

/// Without a call where the host's instruction for it cannot be taken for granted.
u64 count_lanes(u64 mask) { return mask == ~u64{0} ? lanes : static_cast<u64>(std::popcount(mask)); }

template <class F>
void each_lane(u64 mask, F f) {
  if (mask == ~u64{0}) {
    for (unsigned l = 0; l < lanes; ++l) f(l);
    return;
  }
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

u32 extend(const u8* p, const MemoryFields& f) {
  if (f.bytes == 1) return f.is_signed ? static_cast<u32>(i32{static_cast<i8>(*p)}) : *p;
  u16 h = 0;
  std::memcpy(&h, p, 2);
  return f.is_signed ? static_cast<u32>(i32{static_cast<i16>(h)}) : h;
}

void put_small(u32& to, u32 value, const MemoryFields& f) {
  if (!f.d16) {
    to = value;
  } else if (f.high) {
    to = (to & 0xffffU) | (value << 16);
  } else {
    to = (to & 0xffff0000U) | (value & 0xffffU);
  }
}

/// Where the lanes of an access lie when one place holds them all and nothing has to be said about any of them.
struct Span {
  u8* base = nullptr;         ///< what the addresses count from: LDS, or nullptr for memory of the device
  u64 address[lanes];         ///< those of inactive lanes are an active one's
  u64 low = 0, high = 0;      ///< of all bytes
  Allocation* home = nullptr; ///< of memory of the device
  bool rising = false;        ///< each lane after the one before it, without gaps; all lanes active
};

bool find_span(Wave& w, const Operation& op, const Access& a, i32 shift, Span& span) {
  const MemoryFields& f = op.memory;
  if (a.mask == 0 || f.bytes < 4 || f.space == Space::scratch || f.space == Space::flat || !a.whole ||
      w.watching)
    return false;
  const bool lds = f.space == Space::lds;
  const u64 first = shifted(f, a.address[static_cast<unsigned>(std::countr_zero(a.mask))], shift);
  u64 low = ~u64{0}, high = 0, all = 0, breaks = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    const u64 moved = a.address[l] + static_cast<u64>(i64{shift});
    const u64 at = ((a.mask >> l) & 1U) == 0 ? first : lds ? u64{static_cast<u32>(moved)} : moved;
    span.address[l] = at;
    low = std::min(low, at);
    high = std::max(high, at);
    all |= at;
    breaks |= at ^ (first + l * u64{f.bytes});
  }
  span.low = low;
  span.high = high + f.bytes;
  span.rising = breaks == 0 && a.mask == ~u64{0};
  const EmulatorOptions& options = *w.group->launch->options;
  if (lds) {
    if (span.high > w.group->lds.size() || (!w.group->shadow.empty() && !w.lds_noted)) return false;
    if (options.checks.align && all % (f.bytes == 12 ? 4U : f.bytes) != 0) return false;
    span.base = w.group->lds.data();
    return true;
  }
  Allocation* home = w.recent;
  if (home == nullptr || span.low < home->begin || span.high > home->end || span.high < span.low) {
    home = w.group->launch->memory->find(span.low);
    if (home == nullptr || span.high > home->end || span.high < span.low) return false;
    w.recent = home;
  }
  span.home = home;
  return true;
}

/// Loads of whole words of which all bits are defined.
bool load_quickly(Wave& w, const Operation& op, const Access& a, i32 shift, u32* rows) {
  Span span;
  if (!find_span(w, op, a, shift, span)) return false;
  static const RowFunctions& host = row_functions();
  const unsigned words_each = op.memory.bytes / 4U;
  alignas(64) u32 loaded[4 * lanes];
  if (w.defined != nullptr && span.home == nullptr) {
    host.gather(loaded, w.group->lds_undefined.data(), span.address, words_each);
    u32 any = 0;
    for (unsigned k = 0; k < words_each * lanes; ++k) any |= loaded[k];
    if (any != 0) return false;
  } else if (w.defined != nullptr && !span.home->written.empty()) {
    if (span.rising) {
      if (!span.home->is_written(span.low, static_cast<unsigned>(span.high - span.low))) return false;
    } else {
      for (unsigned l = 0; l < lanes; ++l) {
        if (!span.home->is_written(span.address[l], op.memory.bytes)) return false;
      }
    }
  }
  if (a.mask == ~u64{0}) {
    host.gather(rows, span.base, span.address, words_each);
    return true;
  }
  host.gather(loaded, span.base, span.address, words_each);
  for (unsigned k = 0; k < words_each; ++k) host.merge(rows + k * lanes, loaded + k * lanes, a.mask);
  return true;
}

/// Stores of whole words of which all bits are defined.
bool store_quickly(Wave& w, const Operation& op, const Access& a, i32 shift, const u32* rows) {
  Span span;
  if (!find_span(w, op, a, shift, span)) return false;
  static const RowFunctions& host = row_functions();
  const unsigned words_each = op.memory.bytes / 4U;
  if (span.home == nullptr) {
    host.scatter(span.base, span.address, rows, words_each, a.mask);
    if (w.defined != nullptr) {
      static constexpr u32 defined[4 * lanes] = {};
      host.scatter(w.group->lds_undefined.data(), span.address, defined, words_each, a.mask);
    }
    return true;
  }
  if (w.group->tracks_global) {
    LaneOffsets row{};
    row.rising = true; // the rest of it is not asked for then
    if (!span.rising || note_global_writes(w, *span.home, span.low, row, nullptr, a.mask, op.memory.bytes,
                                           false) == GlobalNote::conflict)
      return false;
  }
  if (!span.rising && !w.deferring && w.group->launch->options->checks.races)
    check_global_lanes(w, *span.home, span.address, a.mask, op.memory.bytes, rows);
  if (span.rising) {
    span.home->mark_written(span.low, span.high - span.low);
  } else if (!span.home->written.empty()) {
    each_lane(a.mask, [&](unsigned l) { span.home->mark_written(span.address[l], op.memory.bytes); });
  }
  host.scatter(nullptr, span.address, rows, words_each, a.mask);
  return true;
}

void perform_load(Wave& w, const Operation& op, const Access& a, i32 shift, int dest) {
  const MemoryFields& f = op.memory;
  u32* rows = w.row(static_cast<unsigned>(dest));
  LoadedBits bits(w, a.mask, dest, std::max(1U, f.bytes / 4U));
  if (load_quickly(w, op, a, shift, rows)) {
    bits.finish();
    return;
  }
  each_lane(a.mask, [&](unsigned l) {
    alignas(16) u8 bytes[16] = {};
    alignas(16) u8 undefined[16] = {};
    bool some = false;
    const unsigned want = std::min<unsigned>(f.bytes, a.limit[l]);
    if (want != 0) {
      const u64 address = shifted(f, a.address[l], shift);
      unsigned count = want;
      Place p = locate(w, op, f.space, address, want, l, false, false);
      if (!p) p = beginning_of(w, f.space, address, count);
      if (p) {
        std::memcpy(bytes, p.bytes, count);
        some = bits.tracked() && read_undefined(w, p, address, count, undefined, bits.origin);
      }
    }
    if (f.bytes < 4) {
      put_small(rows[l], extend(bytes, f), f);
      if (!bits.tracked()) return;
      u32 word = f.d16 ? w.defined->row_bits(static_cast<unsigned>(dest), l) : 0;
      if (word != 0 && bits.origin == 0) bits.origin = origin_of_row(w, static_cast<unsigned>(dest));
      if (some || word != 0) {
        put_small(word, extend(undefined, f), f);
        bits.put_word(l, 0, word);
      }
    } else {
      for (unsigned k = 0; k < f.bytes / 4U; ++k) std::memcpy(&rows[l + k * lanes], bytes + 4 * k, 4);
      if (some) bits.put(l, undefined);
    }
  });
  bits.finish();
}

/// The undefined bits of the data that a lane stores; nullptr: none.
const u8* stored_bits(Wave& w, const MemoryFields& f, unsigned row, unsigned l, u8* buffer) {
  u32 all = 0;
  for (unsigned k = 0; k < std::max(1U, f.bytes / 4U); ++k) {
    u32 bits = w.defined->row_bits(row + k, l);
    if (f.bytes < 4 && f.high) bits >>= 16;
    if (f.bytes < 4) bits &= f.bytes == 1 ? 0xffU : 0xffffU;
    std::memcpy(buffer + 4 * k, &bits, 4);
    all |= bits;
  }
  return all == 0 ? nullptr : buffer;
}

void perform_store(Wave& w, const Operation& op, const Access& a, i32 shift, const u32* data, int data_row) {
  const MemoryFields& f = op.memory;
  u64 undefined_lanes = 0;
  if (w.defined != nullptr) {
    for (unsigned k = 0; k < std::max(1U, f.bytes / 4U); ++k)
      undefined_lanes |= w.defined->lanes_of[static_cast<unsigned>(data_row) + k];
  }
  if ((undefined_lanes & a.mask) == 0 && store_quickly(w, op, a, shift, data)) return;
  const bool asks_lanes = !w.deferring && w.group->launch->options->checks.races;
  const Allocation* home = nullptr; // of the lanes that store the whole element to one allocation
  u64 whole = 0;
  std::array<u64, lanes> address;
  std::array<u32, 4 * lanes> given;
  each_lane(a.mask, [&](unsigned l) {
    const unsigned want = std::min<unsigned>(f.bytes, a.limit[l]);
    if (want == 0) return;
    alignas(16) u8 value[16];
    if (f.bytes < 4) {
      const u32 word = f.high ? data[l] >> 16 : data[l];
      std::memcpy(value, &word, 4);
    } else {
      for (unsigned k = 0; k < want / 4U; ++k) std::memcpy(value + 4 * k, &data[l + k * lanes], 4);
    }
    const Place p = locate(w, op, f.space, shifted(f, a.address[l], shift), want, l, true, false, value);
    if (!p) return;
    if (p.home != nullptr && w.group->tracks_global)
      check_global_write(w, *p.home, reinterpret_cast<u64>(p.bytes), value, want, l, false);
    if (asks_lanes && p.home != nullptr && want == f.bytes && (home == nullptr || home == p.home)) {
      home = p.home;
      whole |= lane_bit(l);
      address[l] = reinterpret_cast<u64>(p.bytes);
      for (unsigned k = 0; k < std::max(1U, f.bytes / 4U); ++k)
        std::memcpy(&given[l + k * lanes], value + 4 * k, 4);
    }
    std::memcpy(p.bytes, value, want);
    if (w.defined == nullptr) return;
    if (((undefined_lanes >> l) & 1U) == 0) {
      if (p.undefined != nullptr) std::memset(p.undefined, 0, want);
      return;
    }
    u8 buffer[16];
    const u8* const undefined = stored_bits(w, f, static_cast<unsigned>(data_row), l, buffer);
    unsigned from = static_cast<unsigned>(data_row);
    while (undefined != nullptr && w.defined->row_bits(from, l) == 0) ++from;
    u32 origin = undefined == nullptr ? 0 : origin_of_row(w, from);
    for (unsigned row = from; undefined != nullptr && row < static_cast<unsigned>(data_row) + (want + 3) / 4;
         ++row)
      if (w.defined->row_bits(row, l) != 0) origin &= origin_of_row(w, row) | ~copied;
    write_undefined(w, p, undefined, want, origin, l, row_name(w, from));
  });
  if (whole != 0) check_global_lanes(w, *home, address.data(), whole, f.bytes, given.data());
}

/// One register a component, or two components a register with d16. DST_SEL picks what each receives: a component of
/// the element, 0 or 1; components that the element lacks are 0. Out of range, only a selected 1 remains.
void perform_format_load(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  u32* rows = w.row(static_cast<unsigned>(f.dest));
  LoadedBits undefined(w, a.mask, f.dest, std::max(1U, f.bytes / 4U));
  const u32 one = a.format.is_integer() ? 1U : f.d16 ? 0x3c00U : 0x3f800000U;
  each_lane(a.mask, [&](unsigned l) {
    BufferComponents read{};
    if (a.limit[l] != 0 && a.format.bytes() != 0) {
      if (const Place p = locate(w, op, f.space, a.address[l], a.format.bytes(), l, false, false)) {
        read = read_components(a.format, p.bytes, f.d16);
        u8 bits[16] = {};
        if (undefined.tracked() &&
            read_undefined(w, p, a.address[l], a.format.bytes(), bits, undefined.origin)) {
          std::memset(bits, 0xff, sizeof bits); // the whole element: components do not lie on bytes
          undefined.put(l, bits);
        }
      }
    }
    for (unsigned c = 0; c < f.format_count; ++c) {
      const unsigned select = a.selects[c];
      const u32 value = select >= 4 ? read[select - 4] : select == 1 ? one : 0;
      if (!f.d16) {
        rows[l + c * lanes] = value;
      } else if (f.format_count == 1) {
        put_small(rows[l], value, f);
      } else {
        u32& pair = rows[l + c / 2 * lanes];
        pair = c % 2 == 0 ? value & 0xffffU : (pair & 0xffffU) | (value << 16);
      }
    }
  });
  undefined.finish();
}

/// Data that leave a lane for global memory and are not simply stored: of atomics, of converted elements.
void demand_stored(Wave& w, const Operation& op, unsigned lane) {
  const MemoryFields& f = op.memory;
  const bool pair = f.atomic == AtomicOp::cmpswap && f.space != Space::lds;
  for (const int row : {f.data, f.data2}) {
    if (row < 0) continue;
    for (unsigned k = 0; k < std::max(1U, f.bytes / 4U) * (pair ? 2 : 1); ++k)
      demand_row(w, static_cast<unsigned>(row) + k, lane_bit(lane), "is stored");
  }
}

/// Component n of the element is the first register component whose selection names it, else zero.
void perform_format_store(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  each_lane(a.mask, [&](unsigned l) {
    if (a.limit[l] == 0 || a.format.bytes() == 0) return;
    const Place p = locate(w, op, f.space, a.address[l], a.format.bytes(), l, true, false);
    if (!p) return;
    if (w.defined != nullptr) demand_stored(w, op, l);
    BufferComponents values{};
    for (unsigned c = f.format_count; c-- > 0;) {
      if (a.selects[c] < 4) continue;
      values[a.selects[c] - 4U] = !f.d16                 ? a.data[l + c * lanes]
                                  : f.high || c % 2 == 1 ? a.data[l + c / 2 * lanes] >> 16
                                                         : a.data[l + c / 2 * lanes] & 0xffffU;
    }
    write_components(a.format, values, f.d16, p.bytes);
  });
}

// ---- atomics --------------------------------------------------------------------------------------------------------

void perform_atomic(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  const bool wide = f.bytes == 8;
  const bool lds = f.space == Space::lds;
  u32* dest = f.returns ? w.row(static_cast<unsigned>(f.dest)) : nullptr;
  const auto get = [&](const u32* rows, unsigned l) {
    return rows == nullptr ? u64{0} : wide ? rows[l] | (u64{rows[l + lanes]} << 32) : u64{rows[l]};
  };
  if (f.atomic == AtomicOp::append || f.atomic == AtomicOp::consume) {
    if (a.mask == 0) return;
    const u64 at = u32{(w.scalar[m0] & 0xffffU) + static_cast<u32>(f.offset)};
    const u64 count = static_cast<u64>(std::popcount(a.mask));
    const Place p = locate(w, op, f.space, at, 4, 0, true, true);
    const u64 old =
        !p ? 0
           : atomic_at(p.bytes, 4, f.atomic == AtomicOp::append ? AtomicOp::add : AtomicOp::sub, count, 0);
    LoadedBits bits(w, a.mask, f.dest, 1);
    alignas(4) u8 undefined[16] = {};
    const bool some = p && bits.tracked() && read_undefined(w, p, at, 4, undefined, bits.origin);
    each_lane(a.mask, [&](unsigned l) {
      dest[l] = static_cast<u32>(old);
      if (some) bits.put(l, undefined);
    });
    bits.finish();
    return;
  }
  LoadedBits loaded(w, a.mask, f.returns ? f.dest : 0, f.returns ? f.bytes / 4U * (f.two ? 2U : 1U) : 0U);
  /// The memory's undefined bits go to the result; those of memory and data decide what is left in memory.
  const auto note_undefined = [&](unsigned l, const Place& p, u64 address, int data_row, unsigned result) {
    alignas(8) u8 old[16] = {};
    bool was = p.unwritten;
    if (was) {
      std::memset(old, 0xff, sizeof old);
      loaded.origin = new_origin(w, unwritten_byte(*p.home, address));
    } else {
      was = p.undefined != nullptr && read_undefined(w, p, address, f.bytes, old, loaded.origin);
    }
    if (was && f.returns) {
      for (unsigned k = 0; k < f.bytes / 4U; ++k) {
        u32 bits = 0;
        std::memcpy(&bits, old + 4 * k, 4);
        loaded.put_word(l, result + k, bits);
      }
    }
    if (p.undefined == nullptr) {
      demand_stored(w, op, l);
      if (was && f.atomic != AtomicOp::swap)
        report_undefined(w, "what it combines with", ~0U, loaded.origin, "is stored", l);
      return;
    }
    u32 given = 0;
    u32 origin = loaded.origin;
    for (const int row : {data_row, f.data2}) {
      for (unsigned k = 0; row >= 0 && k < f.bytes / 4U; ++k) {
        const unsigned r = static_cast<unsigned>(row) + k;
        given |= w.defined->row_bits(r, l);
        if (origin == 0 && given != 0) origin = origin_of_row(w, r);
      }
    }
    if (f.atomic == AtomicOp::swap) {
      u8 buffer[16];
      const u8* bits = stored_bits(w, f, static_cast<unsigned>(data_row), l, buffer);
      write_undefined(w, p, bits, f.bytes, origin, l, "");
    } else if (was || given != 0) {
      u8 buffer[16];
      std::memset(buffer, 0xff, sizeof buffer);
      write_undefined(w, p, buffer, f.bytes, origin, l, "");
    }
  };
  const auto exchange = [&](unsigned l, const u32* data, int data_row, u64 address, u32* to,
                            unsigned result) {
    u64 value = get(data, l);
    u64 compare = 0;
    if (f.atomic == AtomicOp::cmpswap || f.atomic == AtomicOp::cmpswap_f) {
      if (lds) { // ds_cmpst: compare first, then the new value
        compare = value;
        value = get(a.data2, l);
      } else {
        compare = get(data + (wide ? 2 * lanes : lanes), l);
      }
    } else if (f.atomic == AtomicOp::mskor || f.atomic == AtomicOp::wrap) {
      compare = get(a.data2, l);
    }
    u64 old = 0;
    if (a.limit[l] != 0) {
      if (const Place p = locate(w, op, f.space, address, f.bytes, l, true, true)) {
        if (w.defined != nullptr) note_undefined(l, p, address, data_row, result);
        if (p.home != nullptr && w.group->tracks_global)
          check_global_write(w, *p.home, address, nullptr, f.bytes, l, true);
        old = atomic_at(p.bytes, f.bytes, f.atomic, value, compare);
        if (w.observed != nullptr) w.group->launch->changed |= std::memcmp(p.bytes, &old, f.bytes) != 0;
      }
    }
    if (to != nullptr) {
      to[l] = static_cast<u32>(old);
      if (wide) to[l + lanes] = static_cast<u32>(old >> 32);
    }
  };
  each_lane(a.mask, [&](unsigned l) {
    const u64 address = f.atomic == AtomicOp::condxchg32 ? a.address[l] & 0xfff8U : a.address[l];
    if (!f.two) {
      exchange(l, a.data, f.data, address, dest, 0);
      return;
    }
    u32 old[4 * lanes]; // both are read from the registers before one of them is written
    exchange(l, a.data, f.data, address, old, 0);
    exchange(l, a.data2, f.data2, shifted(f, address, f.offset1 - f.offset), old + f.bytes / 4 * lanes,
             f.bytes / 4U);
    for (unsigned k = 0; k < f.bytes / 2U; ++k) dest[l + k * lanes] = old[l + k * lanes];
  });
  if (f.returns) loaded.finish();
}

// ---- lanes exchanging data ------------------------------------------------------------------------------------------

void swizzle_row(const Operation& op, const Access& a, const u32* data, u32* dest) {
  const u32 pattern = static_cast<u32>(op.memory.offset);
  u32 out[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    unsigned from = 0;
    const unsigned in = l & 31U;
    if (pattern >= 0xe000U) { // FFT order: reversed bits, shifted by the number of mask bits
      const unsigned mask = pattern & 31U;
      unsigned reversed = 0;
      for (unsigned b = 0; b < 5; ++b) reversed |= ((in >> b) & 1U) << (4 - b);
      from = (l & 32U) | (reversed >> std::popcount(mask)) | (in & mask);
    } else if (pattern >= 0xc000U) { // rotate within the lanes that the mask leaves free
      const unsigned rotate = (pattern >> 5) & 31U;
      const unsigned mask = pattern & 31U;
      const unsigned shifted = ((pattern >> 10) & 1U) != 0 ? (in - rotate) & 31U : (in + rotate) & 31U;
      from = (l & 32U) | (in & mask) | (shifted & ~mask & 31U);
    } else if ((pattern & 0x8000U) != 0) { // quad permute
      from = (l & ~3U) | ((pattern >> (2 * (l & 3U))) & 3U);
    } else {
      from = (l & 32U) | (((in & pattern & 31U) | ((pattern >> 5) & 31U)) ^ ((pattern >> 10) & 31U));
    }
    out[l] = ((a.mask >> from) & 1U) != 0 ? data[from] : 0;
  }
  each_lane(a.mask, [&](unsigned l) { dest[l] = out[l]; });
}

void permute_row(const Operation& op, const Access& a, const u32* data, u32* dest) {
  u32 out[lanes] = {};
  if (op.memory.kind == Kind::bpermute) {
    for (unsigned l = 0; l < lanes; ++l) {
      const unsigned from = static_cast<unsigned>(a.address[l] / 4) & 63U;
      out[l] = ((a.mask >> from) & 1U) != 0 ? data[from] : 0;
    }
  } else { // the highest lane that names a destination wins
    each_lane(a.mask, [&](unsigned l) { out[static_cast<unsigned>(a.address[l] / 4) & 63U] = data[l]; });
  }
  each_lane(a.mask, [&](unsigned l) { dest[l] = out[l]; });
}

/// Words change lanes, and their undefined bits with them.
void perform_exchange(Wave& w, const Operation& op, const Access& a) {
  const auto move = op.memory.kind == Kind::swizzle ? swizzle_row : permute_row;
  if (w.defined != nullptr) {
    Definedness& d = *w.defined;
    const auto from = static_cast<unsigned>(op.memory.data), to = static_cast<unsigned>(op.memory.dest);
    if ((d.lanes_of[from] & a.mask) == 0) {
      d.lanes_of[to] &= ~a.mask;
    } else {
      u32 bits[lanes], moved[lanes];
      for (unsigned l = 0; l < lanes; ++l) bits[l] = d.row_bits(from, l);
      const u32 origin = origin_of_row(w, from);
      move(op, a, bits, moved);
      each_lane(a.mask, [&](unsigned l) { d.set_row_bits(to, l, moved[l]); });
      d.origin[to] = origin;
    }
  }
  move(op, a, a.data, w.row(static_cast<unsigned>(op.memory.dest)));
}

/// The bytes that each lane reads for a transpose, in room for a whole word at any of them.
using LaneBytes = std::array<std::array<u8, 16>, lanes>;

/// What lane `l` receives of a block of E rows with 16 columns, which 16 lanes read, 16/E of them a row: column l.
template <unsigned bits, unsigned bytes>
std::array<u32, 3> column(const LaneBytes& read, unsigned l) {
  constexpr unsigned elements = bytes * 8 / bits, per_row = 16 / elements;
  std::array<u32, 3> out{};
  const unsigned at = l % 16 % elements * bits, from = (l & ~15U) + l % 16 / elements;
  for (unsigned k = 0; k < elements; ++k) {
    u32 word = 0;
    std::memcpy(&word, &read[from + k * per_row][at / 8], 4);
    const u32 v = (word >> (at % 8)) & ((1U << bits) - 1);
    const unsigned to = k * bits;
    out[to / 32] |= v << (to % 32);
    if (to % 32 + bits > 32) out[to / 32 + 1] |= v >> (32 - to % 32);
  }
  return out;
}
template <unsigned bits, unsigned bytes>
void transpose_lanes(const LaneBytes& read, u32* rows, u64 mask) {
  each_lane(mask, [&](unsigned l) {
    const std::array<u32, 3> out = column<bits, bytes>(read, l);
    for (unsigned k = 0; k < bytes / 4; ++k) rows[l + k * lanes] = out[k];
  });
}

/// DS_READ_B64_TR_B16, _B8, _B4, DS_READ_B96_TR_B6.
void transpose_lanes(const LaneBytes& read, unsigned bits, u32* rows, u64 mask) {
  switch (bits) {
  case 16: transpose_lanes<16, 8>(read, rows, mask); break;
  case 8: transpose_lanes<8, 8>(read, rows, mask); break;
  case 4: transpose_lanes<4, 8>(read, rows, mask); break;
  default: transpose_lanes<6, 12>(read, rows, mask); break;
  }
}

void perform_transpose(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  LaneBytes raw{}, undefined{};
  LoadedBits bits_of(w, a.mask, f.dest, f.bytes / 4U);
  bool some = false;
  each_lane(a.mask, [&](unsigned l) {
    if (const Place p = locate(w, op, Space::lds, a.address[l], f.bytes, l, false, false)) {
      std::memcpy(raw[l].data(), p.bytes, f.bytes);
      if (bits_of.tracked())
        some = read_undefined(w, p, a.address[l], f.bytes, undefined[l].data(), bits_of.origin) || some;
    }
  });
  transpose_lanes(raw, f.transpose_bits, w.row(static_cast<unsigned>(f.dest)), a.mask);
  if (some) {
    u32 unknown[3 * lanes];
    transpose_lanes(undefined, f.transpose_bits, unknown, a.mask);
    each_lane(a.mask, [&](unsigned l) {
      for (unsigned k = 0; k < f.bytes / 4U; ++k) bits_of.put_word(l, k, unknown[l + k * lanes]);
    });
  }
  bits_of.finish();
}

void perform_to_lds(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  std::vector<u8>& lds = w.group->lds;
  const unsigned slot = f.bytes < 4 ? 4 : f.bytes;
  each_lane(a.mask, [&](unsigned l) {
    u8 bytes[16] = {};
    u8 undefined[16] = {};
    u32 origin = 0;
    const unsigned want = std::min<unsigned>(f.bytes, a.limit[l]);
    if (want != 0) {
      if (const Place p = locate(w, op, f.space, a.address[l], want, l, false, false)) {
        std::memcpy(bytes, p.bytes, want);
        if (w.defined != nullptr) read_undefined(w, p, a.address[l], want, undefined, origin);
      }
    }
    if (f.bytes < 4) {
      const u32 v = extend(bytes, f);
      std::memcpy(bytes, &v, 4);
      const u32 u = extend(undefined, f);
      std::memcpy(undefined, &u, 4);
    }
    const u64 to = u64{a.lds_base} + l * slot;
    if (to + slot > lds.size()) {
      report_lds_bounds(w, to, true, l);
      return;
    }
    if (w.watching) note_access(w, true, to, slot, l, true, lds.data() + to);
    if (!w.lds_noted) check_lds(w, op, static_cast<u32>(to), slot, l, true, false, true, bytes);
    std::memcpy(lds.data() + to, bytes, slot);
    if (w.defined != nullptr) {
      Workgroup& g = *w.group;
      std::memcpy(g.lds_undefined.data() + to, undefined, slot);
      if (std::any_of(undefined, undefined + slot, [](u8 b) { return b != 0; })) undefine_lds(g, to, slot);
      for (unsigned k = 0; k < slot / 4; ++k) g.lds_origin[to / 4 + k] = origin;
    }
  });
}

void perform(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  switch (f.kind) {
  case Kind::load:
    if (f.format_count != 0) {
      perform_format_load(w, op, a);
      break;
    }
    perform_load(w, op, a, 0, f.dest);
    if (f.two) perform_load(w, op, a, f.offset1 - f.offset, f.dest + f.bytes / 4);
    break;
  case Kind::store:
    if (f.format_count != 0) {
      perform_format_store(w, op, a);
      break;
    }
    perform_store(w, op, a, 0, a.data, f.data);
    if (f.two) perform_store(w, op, a, f.offset1 - f.offset, a.data2, f.data2);
    break;
  case Kind::add_tid:
    if (f.dest >= 0) {
      perform_load(w, op, a, 0, f.dest);
    } else {
      perform_store(w, op, a, 0, a.data, f.data);
    }
    break;
  case Kind::atomic: perform_atomic(w, op, a); break;
  case Kind::swizzle:
  case Kind::permute:
  case Kind::bpermute: perform_exchange(w, op, a); break;
  case Kind::transpose: perform_transpose(w, op, a); break;
  case Kind::to_lds: perform_to_lds(w, op, a); break;
  case Kind::none: break;
  }
}

void count_traffic(Wave& w, const Operation& op, const Access& a) {
  const MemoryFields& f = op.memory;
  const u64 each = f.format_count != 0 ? a.format.bytes() : f.bytes;
  const u64 bytes = each * count_lanes(a.mask) * (f.two ? 2 : 1);
  if (f.space != Space::lds) {
    if (f.kind == Kind::load || f.kind == Kind::to_lds || f.kind == Kind::atomic) w.stats.bytes_read += bytes;
    if (f.kind == Kind::store || f.kind == Kind::atomic) w.stats.bytes_written += bytes;
    return;
  }
  w.stats.lds_bytes += bytes;
  const EmulatorOptions& options = *w.group->launch->options;
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

/// A plain load. One of device scope is how waves find out about each other.
bool wants_order(const Wave& w, const MemoryFields& f, const Allocation* home) {
  return home != nullptr && !f.device_scope && w.group->tracks_global;
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

/// Whether an atomic, or an access with a scope, may tell another device something.
bool tells_devices(const Wave& w) { return w.group->launch->devices > 1 && w.group->tracks_global; }

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

/// Loads and stores by 32-bit offsets from one place that lie wholly inside it, all their bits defined: what kernels
/// do nearly always. False, and nothing done, when it is not that; run_memory then looks at each lane.
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
  const StoreLines* lines = nullptr;
  bool written_before = false; // so are its bytes of the shadow
  const bool asks_lanes = store && near[0].home != nullptr && options.checks.races && !near[0].at.rising;
  if (store && near[0].home != nullptr &&
      (w.group->tracks_global || asks_lanes || !near[0].home->written.empty())) {
    const u64 base = reinterpret_cast<u64>(near[0].base);
    lines = store_lines(w, base, near[0].at, mask, f.bytes);
    if (w.group->tracks_global) {
      const GlobalNote note =
          note_global_writes(w, *near[0].home, base, near[0].at, lines, mask, f.bytes, false);
      if (note == GlobalNote::conflict) return false;
      written_before = note == GlobalNote::again;
    }
  }
  if (w.defined != nullptr) demand_addresses(w, op, mask);
  if (!lds && !store && f.device_scope && !near[0].home->of_host) synchronize(w);
  if (!lds && !store) check_near_reads(w, f, near[0], mask);
  if (!lds && store && f.device_scope) release_stores(w);
  const u64 moved = u64{f.bytes} * count_lanes(mask) * count;
  if (!lds) {
    (store ? w.stats.bytes_written : w.stats.bytes_read) += moved;
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

void run_memory(Wave& w, const Operation& op) {
  if (w.vskip || run_near(w, op)) return;
  const MemoryFields& f = op.memory;
  const isa::Modifiers& m = op.instruction->modifiers;
  Access a;
  a.mask = w.exec();
  a.limit.fill(255);
  if (f.data >= 0) a.data = w.row(static_cast<unsigned>(f.data));
  if (f.data2 >= 0) a.data2 = w.row(static_cast<unsigned>(f.data2));
  if (w.defined != nullptr) demand_addresses(w, op, a.mask);
  if (f.space != Space::lds && (f.kind == Kind::atomic || (f.kind == Kind::store && f.device_scope)))
    release_stores(w);
  switch (f.space) {
  case Space::buffer: buffer_addresses(w, f, m, a); break;
  case Space::flat:
  case Space::global: flat_addresses(w, f, a); break;
  case Space::scratch: scratch_addresses(w, f, a); break;
  case Space::lds: lds_addresses(w, f, a); break;
  }
  if (f.space != Space::lds &&
      ((f.kind == Kind::atomic && f.returns) || (f.kind == Kind::load && f.device_scope)) && !asks_host(w, a))
    synchronize(w);
  if (f.space != Space::lds && f.space != Space::scratch && tells_devices(w) &&
      (f.kind == Kind::atomic || f.device_scope))
    note_flags(w, op, a.address.data(), a.mask);
  if (f.kind == Kind::to_lds) {
    a.lds_base = (w.scalar[m0] & 0x3ffffU) + static_cast<u32>(f.offset);
  }
  if (w.group->tracks_global && (f.kind == Kind::load || f.kind == Kind::to_lds) &&
      (f.space == Space::buffer || f.space == Space::global || f.space == Space::flat)) {
    each_lane(a.mask, [&](unsigned l) {
      const unsigned bytes = std::min<unsigned>(f.format_count != 0 ? a.format.bytes() : f.bytes, a.limit[l]);
      Allocation* const home = bytes == 0 ? nullptr : w.group->launch->memory->find(a.address[l], bytes);
      if (wants_order(w, f, home)) check_global_reads(w, *home, a.address.data(), lane_bit(l), bytes);
    });
  }
  count_traffic(w, op, a);
  if (w.observed != nullptr) note_observed(w, f, a, *w.observed);
  if (!w.deferring) {
    note_issue(w, op, op.counters);
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

// ---- mnemonics ------------------------------------------------------------------------------------------------------

bool strip(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}
bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Size and extension of `dwordx4`, `ubyte`, `sbyte_d16_hi`, `short`, `b96`, `u16_d16`, ...
bool read_size(std::string_view name, MemoryFields& f) {
  if (strip(name, "_d16_hi")) {
    f.d16 = f.high = true;
  } else if (strip(name, "_d16")) {
    f.d16 = true;
  }
  struct Entry {
    std::string_view name;
    u8 bytes;
    bool is_signed;
  };
  static constexpr Entry entries[] = {
      {"dword", 4, false}, {"dwordx2", 8, false}, {"dwordx3", 12, false}, {"dwordx4", 16, false},
      {"ubyte", 1, false}, {"sbyte", 1, true},    {"byte", 1, false},     {"ushort", 2, false},
      {"sshort", 2, true}, {"short", 2, false},   {"b8", 1, false},       {"u8", 1, false},
      {"i8", 1, true},     {"b16", 2, false},     {"u16", 2, false},      {"i16", 2, true},
      {"b32", 4, false},   {"b64", 8, false},     {"b96", 12, false},     {"b128", 16, false}};
  for (const Entry& e : entries) {
    if (name == e.name) {
      f.bytes = e.bytes;
      f.is_signed = e.is_signed;
      return true;
    }
  }
  return false;
}

/// `x`, `xyzw`, `d16_xy`, `d16_hi_x`, ... after `format_`. The registers, not the element in memory, give `bytes`.
bool read_format(std::string_view name, MemoryFields& f) {
  f.d16 = skip(name, "d16_");
  f.high = f.d16 && skip(name, "hi_");
  if (name.empty() || name != std::string_view("xyzw").substr(0, name.size())) return false;
  f.format_count = static_cast<u8>(name.size());
  f.bytes = static_cast<u8>(4 * (f.d16 ? (name.size() + 1) / 2 : name.size()));
  return true;
}

bool read_atomic(std::string_view name, MemoryFields& f, bool lds) {
  struct Entry {
    std::string_view name;
    AtomicOp op;
    u8 bytes;
    bool floating;
  };
  static constexpr Entry floats[] = {
      {"add_f32", AtomicOp::add_f, 4, true},         {"add_f64", AtomicOp::add_f, 8, true},
      {"min_f64", AtomicOp::min_f, 8, true},         {"max_f64", AtomicOp::max_f, 8, true},
      {"min_f32", AtomicOp::min_f, 4, true},         {"max_f32", AtomicOp::max_f, 4, true},
      {"pk_add_f16", AtomicOp::pk_add_f16, 4, true}, {"pk_add_bf16", AtomicOp::pk_add_bf16, 4, true},
  };
  for (const Entry& e : floats) {
    if (name == e.name) {
      f.atomic = e.op;
      f.bytes = e.bytes;
      f.floating = true;
      return true;
    }
  }
  static constexpr Entry vector_memory[] = {
      {"add", AtomicOp::add, 4, false},     {"sub", AtomicOp::sub, 4, false},
      {"swap", AtomicOp::swap, 4, false},   {"cmpswap", AtomicOp::cmpswap, 4, false},
      {"smin", AtomicOp::smin, 4, false},   {"umin", AtomicOp::umin, 4, false},
      {"smax", AtomicOp::smax, 4, false},   {"umax", AtomicOp::umax, 4, false},
      {"and", AtomicOp::bit_and, 4, false}, {"or", AtomicOp::bit_or, 4, false},
      {"xor", AtomicOp::bit_xor, 4, false}, {"inc", AtomicOp::inc, 4, false},
      {"dec", AtomicOp::dec, 4, false}};
  static constexpr Entry data_share[] = {
      {"add_u", AtomicOp::add, 0, false},         {"sub_u", AtomicOp::sub, 0, false},
      {"rsub_u", AtomicOp::rsub, 0, false},       {"inc_u", AtomicOp::inc, 0, false},
      {"dec_u", AtomicOp::dec, 0, false},         {"min_i", AtomicOp::smin, 0, false},
      {"max_i", AtomicOp::smax, 0, false},        {"min_u", AtomicOp::umin, 0, false},
      {"max_u", AtomicOp::umax, 0, false},        {"and_b", AtomicOp::bit_and, 0, false},
      {"or_b", AtomicOp::bit_or, 0, false},       {"xor_b", AtomicOp::bit_xor, 0, false},
      {"mskor_b", AtomicOp::mskor, 0, false},     {"wrxchg_b", AtomicOp::swap, 0, false},
      {"wrxchg_rtn_b", AtomicOp::swap, 0, false}, {"cmpst_b", AtomicOp::cmpswap, 0, false},
      {"cmpst_f", AtomicOp::cmpswap_f, 0, false}};
  if (lds) {
    const u8 bytes = strip(name, "32") ? 4 : strip(name, "64") ? 8 : 0;
    for (const Entry& e : data_share) {
      if (bytes != 0 && name == e.name) {
        f.atomic = e.op;
        f.bytes = bytes;
        return true;
      }
    }
    return false;
  }
  const bool wide = strip(name, "_x2");
  for (const Entry& e : vector_memory) {
    if (name == e.name) {
      f.atomic = e.op;
      f.bytes = wide ? 8 : 4;
      return true;
    }
  }
  return false;
}

bool read_lds_mnemonic(std::string_view name, MemoryFields& f) {
  f.space = Space::lds;
  if (name == "nop") {
    f.kind = Kind::none;
    return true;
  }
  if (name == "swizzle_b32" || name == "permute_b32" || name == "bpermute_b32") {
    f.kind = name[0] == 's' ? Kind::swizzle : name[0] == 'p' ? Kind::permute : Kind::bpermute;
    return true;
  }
  if (name == "read_addtid_b32" || name == "write_addtid_b32") {
    f.kind = Kind::add_tid;
    return true;
  }
  if (name == "append" || name == "consume") {
    f.kind = Kind::atomic;
    f.atomic = name == "append" ? AtomicOp::append : AtomicOp::consume;
    f.returns = true;
    return true;
  }
  struct Transpose {
    std::string_view name;
    u8 bytes, bits;
  };
  static constexpr Transpose transposes[] = {{"read_b64_tr_b16", 8, 16},
                                             {"read_b64_tr_b8", 8, 8},
                                             {"read_b64_tr_b4", 8, 4},
                                             {"read_b96_tr_b6", 12, 6}};
  for (const Transpose& t : transposes) {
    if (name == t.name) {
      f.kind = Kind::transpose;
      f.bytes = t.bytes;
      f.transpose_bits = t.bits;
      return true;
    }
  }
  if (skip(name, "read2st64_") || skip(name, "read2_")) {
    f.kind = Kind::load;
    f.two = true;
    return read_size(name, f);
  }
  if (skip(name, "write2st64_") || skip(name, "write2_")) {
    f.kind = Kind::store;
    f.two = true;
    return read_size(name, f);
  }
  if (skip(name, "read_")) {
    f.kind = Kind::load;
    return read_size(name, f);
  }
  if (skip(name, "write_")) {
    f.kind = Kind::store;
    return read_size(name, f);
  }
  f.kind = Kind::atomic;
  if (skip(name, "wrxchg2st64_rtn_b") || skip(name, "wrxchg2_rtn_b")) {
    f.two = f.returns = true;
    f.atomic = AtomicOp::swap;
    f.bytes = name == "64" ? 8 : 4;
    return true;
  }
  if (name == "wrap_rtn_b32" || name == "condxchg32_rtn_b64") {
    f.returns = true;
    f.atomic = name[0] == 'w' ? AtomicOp::wrap : AtomicOp::condxchg32;
    f.bytes = name[0] == 'w' ? 4 : 8;
    return true;
  }
  std::string plain(name);
  if (const std::size_t at = plain.find("_rtn"); at != std::string::npos) {
    f.returns = true;
    plain.erase(at, 4);
  }
  return read_atomic(plain, f, true);
}

bool read_mnemonic(std::string_view name, MemoryFields& f) {
  if (skip(name, "ds_")) return read_lds_mnemonic(name, f);
  if (skip(name, "buffer_") || skip(name, "tbuffer_")) {
    f.space = Space::buffer;
  } else if (skip(name, "global_")) {
    f.space = Space::global;
  } else if (skip(name, "flat_")) {
    f.space = Space::flat;
  } else if (skip(name, "scratch_")) {
    f.space = Space::scratch;
  } else {
    return false;
  }
  if (name == "wbl2" || name == "inv" || name == "wbinvl1" || name == "wbinvl1_vol" || name == "invl2" ||
      name == "gl0_inv") {
    f.kind = Kind::none;
    return true;
  }
  if (skip(name, "load_lds_")) {
    f.kind = Kind::to_lds;
    return read_size(name, f);
  }
  if (skip(name, "load_")) {
    f.kind = Kind::load;
    return skip(name, "format_") ? read_format(name, f) : read_size(name, f);
  }
  if (skip(name, "store_")) {
    f.kind = Kind::store;
    return skip(name, "format_") ? read_format(name, f) : read_size(name, f);
  }
  if (skip(name, "atomic_")) {
    f.kind = Kind::atomic;
    return read_atomic(name, f, false);
  }
  return false;
}

} // namespace

bool prepare_memory(Operation& op, isa::Arch arch, unsigned accum_offset) {
  const isa::Instruction& i = *op.instruction;
  MemoryFields& f = op.memory;
  if (!read_mnemonic(i.mnemonic, f)) return false;
  op.execute = run_memory;
  op.cls = f.space == Space::lds ? Class::lds : Class::memory;
  if (f.kind == Kind::none) { // caches are not modelled, and these have no operands
    op.execute = [](Wave& w, const Operation& o) { note_issue(w, o, o.counters); };
    if ((i.mnemonic == "buffer_inv" && i.modifiers.sc1) ||
        (i.mnemonic == "buffer_wbinvl1_vol" && !machine::target(arch).scopes))
      op.execute = [](Wave& w, const Operation& o) {
        note_issue(w, o, o.counters);
        acquire(w);
        if (tells_devices(w)) clear_caches(w, o.instruction->modifiers.sc0);
      };
    if (i.mnemonic == "buffer_wbl2" && i.modifiers.sc1)
      op.execute = [](Wave& w, const Operation& o) {
        note_issue(w, o, o.counters);
        w.writes_back = w.last_vm_id;
        begin_write_back(w);
        w.writes_back_system = o.instruction->modifiers.sc0;
      };
    return true;
  }
  const isa::Modifiers& m = i.modifiers;
  if (m.lds && f.format_count != 0) return false; // what a converted element is in LDS no manual says
  if (m.lds) f.kind = Kind::to_lds;
  f.typed = i.format == isa::Format::mtbuf;
  f.idxen = m.idxen;
  f.offen = m.offen;
  f.device_scope = isa::of_device_scope(i, arch);
  f.system_scope = isa::of_system_scope(i, arch);
  f.offset = m.offset;
  if (f.two) {
    const i32 unit = f.bytes * (i.mnemonic.find("st64") != std::string_view::npos ? 64 : 1);
    f.offset = m.offset0 * unit;
    f.offset1 = m.offset1 * unit;
  }
  if (f.space != Space::lds && f.kind == Kind::atomic) f.returns = m.sc0;

  std::size_t at = 0;
  const auto take = [&]() -> const isa::Operand* {
    return at < i.operands.size() ? &i.operands[at++] : nullptr;
  };
  const auto row = [&](const isa::Operand* o) {
    return o != nullptr && o->is_vector()
               ? static_cast<int>(o->kind == isa::OperandKind::agpr ? o->index + accum_offset : o->index)
               : -1;
  };
  const auto reads = [&](const isa::Operand* o) {
    if (const int r = row(o); r >= 0) op.reads.push_back({static_cast<u16>(r), o->width});
  };
  const auto writes = [&](const isa::Operand* o) {
    if (const int r = row(o); r >= 0) op.writes.push_back({static_cast<u16>(r), o->width});
  };
  const auto scalar_reads = [&](const isa::Operand* o) {
    if (o != nullptr && o->kind == isa::OperandKind::sgpr) {
      for (unsigned r = o->index; r < o->index + unsigned{o->width} && r < 128; ++r)
        op.scalar_reads[r / 64] |= u64{1} << (r % 64);
    }
  };
  const auto take_dest = [&] {
    const isa::Operand* o = take();
    f.dest = row(o);
    writes(o);
    if (f.d16) reads(o);
  };
  const auto take_address = [&] {
    const isa::Operand* o = take();
    f.vaddr = row(o);
    f.vaddr_words = o == nullptr ? u8{0} : o->width;
    reads(o);
  };
  const auto take_data = [&] {
    const isa::Operand* o = take();
    f.data = row(o);
    reads(o);
  };
  const auto take_saddr = [&] {
    const isa::Operand* o = take();
    f.saddr = o != nullptr && o->kind == isa::OperandKind::sgpr ? static_cast<int>(o->index) : -1;
    scalar_reads(o);
  };
  switch (f.space) {
  case Space::lds:
    if (f.kind == Kind::swizzle) {
      take_dest();
      take_data();
    } else if (f.kind == Kind::add_tid) {
      if (i.mnemonic == "ds_read_addtid_b32") {
        take_dest();
      } else {
        take_data();
      }
    } else if (f.kind == Kind::load || f.kind == Kind::transpose) {
      take_dest();
      take_address();
    } else if (f.kind == Kind::atomic && (f.atomic == AtomicOp::append || f.atomic == AtomicOp::consume)) {
      take_dest();
    } else {
      if (f.returns || f.kind == Kind::permute || f.kind == Kind::bpermute) take_dest();
      take_address();
      take_data();
      if (at < i.operands.size()) {
        const isa::Operand* o = take();
        f.data2 = row(o);
        reads(o);
      }
    }
    break;
  case Space::buffer: {
    if (f.kind == Kind::load) {
      take_dest();
    } else if (f.kind == Kind::store) {
      take_data();
    } else if (f.kind == Kind::atomic) {
      const isa::Operand* o = take();
      f.data = row(o);
      reads(o);
      if (f.returns) {
        f.dest = row(o);
        if (const int r = row(o); r >= 0)
          op.writes.push_back({static_cast<u16>(r), static_cast<u16>(f.bytes / 4)});
      }
    }
    if (at < i.operands.size() &&
        (i.operands[at].is_vector() || i.operands[at].kind == isa::OperandKind::off))
      take_address();
    const isa::Operand* o = take();
    if (o == nullptr || o->kind != isa::OperandKind::sgpr) return false;
    f.srsrc = static_cast<int>(o->index);
    scalar_reads(o);
    const isa::Operand* s = take();
    if (s == nullptr) return false;
    f.soffset = *s;
    scalar_reads(s);
    break;
  }
  default: {
    const bool has_saddr = f.space != Space::flat;
    if (f.kind == Kind::to_lds) {
      take_address();
      take_saddr();
      break;
    }
    if (f.kind == Kind::load) {
      take_dest();
      take_address();
    } else {
      if (f.kind == Kind::atomic && f.returns) take_dest();
      take_address();
      take_data();
    }
    if (has_saddr) take_saddr();
    break;
  }
  }
  if (f.kind == Kind::atomic && !f.two && f.data >= 0 && f.atomic != AtomicOp::condxchg32) {
    f.rows = atomic_rows(f.atomic, f.bytes, false);
    f.shared_rows = atomic_rows(f.atomic, f.bytes, true);
  }
  if (!op.writes.empty())
    op.fills = f.space == Space::lds    ? Filled::by_lds
               : f.space == Space::flat ? Filled::by_flat
                                        : Filled::by_memory;
  if (f.kind == Kind::to_lds) op.scalar_reads[m0 / 64] |= u64{1} << (m0 % 64);
  return f.kind != Kind::load || f.dest >= 0;
}

} // namespace inlay::runtime::emulator
