/// The tables behind `Atom::all`, one file a kind. Private.
#pragma once

#include <inlay/codegen/atoms.h>

#include <inlay/machine/target.h>

namespace inlay::codegen {

void append_mma(std::deque<Atom>& atoms);
void append_copies(std::deque<Atom>& atoms);
void append_atomics(std::deque<Atom>& atoms);
void append_relayouts(std::deque<Atom>& atoms);

/// Each lane has its own `bits` bits, slot after slot: address (64,bits):(0,1), data (64,bits):(bits,1).
[[nodiscard]] AtomSide lane_side(AtomSpace space, Addressing addressing, int bits);

/// How sums go to memory: by descriptor, but those of bf16 by pointers where the target has no such instruction.
[[nodiscard]] inline Addressing addressing_of_sums(const Target& target, Element element) {
  return element == Element::bf16 && !target.buffer_adds_bf16 ? Addressing::pointer : Addressing::descriptor;
}

} // namespace inlay::codegen
