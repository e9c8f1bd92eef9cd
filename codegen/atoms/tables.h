/// The tables behind `Atom::all`, one file a kind. Private.
#pragma once

#include <inlay/codegen/atoms.h>

namespace inlay::codegen {

void append_mma(std::deque<Atom>& atoms);
void append_copies(std::deque<Atom>& atoms);
void append_atomics(std::deque<Atom>& atoms);
void append_relayouts(std::deque<Atom>& atoms);

/// Each lane has its own `bits` bits, slot after slot: address (64,bits):(0,1), data (64,bits):(bits,1).
[[nodiscard]] AtomSide lane_side(AtomSpace space, Addressing addressing, int bits);

} // namespace inlay::codegen
