/// What atomics do to memory: one element, or all lanes of an instruction at once.
#pragma once

#include "engine.h"

namespace inlay::runtime::emulator {

/// Combines an element of 4 or 8 bytes in memory with `value` and returns what it was. `compare`: the second operand of those that
/// have one. Other threads may do the same at the same time, unless the address is not a multiple of `bytes`.
u64 atomic_at(u8* memory, unsigned bytes, AtomicOp op, u64 value, u64 compare);

/// The same for each lane in `mask`, upwards, at `base + at.at[lane]`. `shared`: other threads may do the same at the same time; locks
/// make it ten times as slow.
///     ds_add_rtn_u32 v5, v4, v16      atomic_rows(add, 4, false)(lds, offsets, v16, nullptr, v5, exec)
/// `value` and `compare` are rows, two where an element has 8 bytes, and so is `old`, which is written in active lanes only.
/// Requires: `old` is neither `value` nor `compare`; a multiple of `bytes` at each lane.
[[nodiscard]] AtomicRows atomic_rows(AtomicOp op, unsigned bytes, bool shared);

} // namespace inlay::runtime::emulator
