// Memory instructions lane by lane: where each lane's bytes are, their checks and their definedness; atomics, exchanges between
// lanes, transposes, loads straight to LDS.
#include "atomics.h"
#include "buffer_format.h"
#include "debug.h"
#include "memory.h"
#include "vector_functions.h"

#include <algorithm>
#include <cstring>

namespace inlay::runtime::emulator {
namespace {

using Kind = MemoryFields::Kind;
using Space = MemoryFields::Space;

/// Where the bytes of one lane are; `bytes` is nullptr when nowhere (reported).
struct Place {
  u8* bytes = nullptr;
  u8* undefined = nullptr;    ///< the bits of LDS and scratch that nothing gave a value, when that is tracked
  u32* origin = nullptr;      ///< of the first of these bytes; nullptr: never anything but "not written"
  Allocation* home = nullptr; ///< global memory
  bool unwritten = false; ///< global memory: nothing had written a byte before this access, an atomic, did
  explicit operator bool() const { return bytes != nullptr; }
};

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
void transpose_rows(const LaneBytes& read, u32* rows, u64 mask) {
  each_lane(mask, [&](unsigned l) {
    const std::array<u32, 3> out = column<bits, bytes>(read, l);
    for (unsigned k = 0; k < bytes / 4; ++k) rows[l + k * lanes] = out[k];
  });
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

} // namespace

void demand_addresses(Wave& w, const Operation& op, u64 mask) {
  const MemoryFields& f = op.memory;
  const Definedness& d = *w.defined;
  u64 undefined = (op.scalar_reads[0] & d.scalars[0]) | (op.scalar_reads[1] & d.scalars[1]);
  for (unsigned k = 0; f.vaddr >= 0 && k < f.vaddr_words; ++k)
    undefined |= d.lanes_of[static_cast<unsigned>(f.vaddr) + k] & mask;
  if (undefined != 0 && mask != 0) demand_undefined_addresses(w, op, mask);
}

void transpose_lanes(const LaneBytes& read, unsigned bits, u32* rows, u64 mask) {
  switch (bits) {
  case 16: transpose_rows<16, 8>(read, rows, mask); break;
  case 8: transpose_rows<8, 8>(read, rows, mask); break;
  case 4: transpose_rows<4, 8>(read, rows, mask); break;
  default: transpose_rows<6, 12>(read, rows, mask); break;
  }
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
} // namespace inlay::runtime::emulator
