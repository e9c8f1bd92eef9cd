/// What the four files of memory instructions share: an access, taken from the registers, and who performs it.
///
///     memory_decode.cpp  from a mnemonic to MemoryFields
///     memory.cpp         an instruction: its addresses, its access, under stress when that lands
///     memory_near.cpp    all lanes at once, where they lie in one place and nothing has to be said of any
///     memory_lanes.cpp   lane by lane, with the checks of each
#pragma once

#include "buffer_format.h"
#include "engine.h"

#include <bit>
#include <inlay/machine/target.h>
#include <memory>

namespace inlay::runtime::emulator {

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

/// `shift` bytes further, which the second element of ds_read2 is: LDS addresses have 32 bits and wrap, so that a negative
/// base register with a positive offset is an address like any other (LLVM makes them of `lds[255 - i]`).
inline u64 shifted(const MemoryFields& f, u64 address, i32 shift) {
  const u64 moved = address + static_cast<u64>(i64{shift});
  return f.space == MemoryFields::Space::lds ? static_cast<u32>(moved) : moved;
}

/// Whether a buffer instruction reaches scratch, by the descriptor that the wave began with.
inline bool in_scratch(const Wave& w, MemoryFields::Space space, u64 address) {
  return space == MemoryFields::Space::buffer && address >> 32 == scratch_window &&
         !machine::target(w.arch).architected_scratch;
}

/// Without a call where the host's instruction for it cannot be taken for granted.
inline u64 count_lanes(u64 mask) { return mask == ~u64{0} ? lanes : static_cast<u64>(std::popcount(mask)); }

template <class F>
void each_lane(u64 mask, F f) {
  if (mask == ~u64{0}) {
    for (unsigned l = 0; l < lanes; ++l) f(l);
    return;
  }
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

/// A plain load. One of device scope is how waves find out about each other.
inline bool wants_order(const Wave& w, const MemoryFields& f, const Allocation* home) {
  return home != nullptr && !f.device_scope && w.group->tracks_global;
}

/// A load of device scope, where a device has several L2 caches.
inline bool is_scoped_load(const Wave& w, const MemoryFields& f) {
  return f.device_scope && f.kind == MemoryFields::Kind::load && w.group->tracks_global &&
         machine::target(w.arch).scopes;
}

/// Whether an atomic, or an access with a scope, may tell another device something.
inline bool tells_devices(const Wave& w) { return w.group->launch->devices > 1 && w.group->tracks_global; }

/// The bytes that each lane reads for a transpose, in room for a whole word at any of them.
using LaneBytes = std::array<std::array<u8, 16>, lanes>;

/// A memory instruction of a wave: Operation::execute.
void run_memory(Wave& w, const Operation& op);

/// Loads and stores by 32-bit offsets from one place that lie wholly inside it, all their bits defined: what kernels
/// do nearly always. False, and nothing done, when it is not that; run_memory then looks at each lane.
bool run_near(Wave& w, const Operation& op);

/// Reads and writes memory and registers, lane by lane.
void perform(Wave& w, const Operation& op, const Access& a);

/// What a memory instruction takes from registers to know where to go.
void demand_addresses(Wave& w, const Operation& op, u64 mask);

/// DS_READ_B64_TR_B16, _B8, _B4, DS_READ_B96_TR_B6.
void transpose_lanes(const LaneBytes& read, unsigned bits, u32* rows, u64 mask);

} // namespace inlay::runtime::emulator
