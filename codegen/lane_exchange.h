/// A relayout inside waves, as exchanges of bits of addresses. Private.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::codegen {

/// The exchanges and renaming that make `to` of `from`; absent where they do not, or where LDS costs less.
///
/// An element lies at thread * values + value. Where both layouts are one-to-one, powers of two, and each bit of an element's
/// address under `to` is one bit of its address under `from`, lanes and values change places bit by bit; waves and what
/// is inside a register stay.
///
///     from (64,2):(1@1,1@0) to ((2,32),2):((1@0,2@1),1@1), of 2 x 64: lane bit 0, the column's parity, and the value's bit,
///     the row, change places; one exchange
///
/// Costs are issue clocks of a wave, by the tables of the cycle model: an exchange by v_permlane*_swap 8, by moves inside 16
/// lanes 16 to 20, through the crossbar of LDS 20 and its latency; through LDS a write and a read for each element, and a
/// barrier.
[[nodiscard]] std::optional<RelayoutOp> lane_exchanges(const Fragment& from, const Fragment& to,
                                                       const Target& target);

} // namespace inlay::codegen
