/// Instructions of a program as the cycle model sees them.
#pragma once

#include <inlay/runtime/timing/compute_unit.h>

namespace inlay::runtime::timing::unit {

enum class Unit : std::uint8_t { vector, matrix, scalar, memory, branch, internal };

/// What the model needs to know of an instruction of the program.
struct Op {
  Unit unit = Unit::internal;
  Cause cause = Cause::control;
  isa::Kind kind = isa::Kind::salu;
  bool transcendental = false, packed_f32 = false, lds = false, smem = false, memtime = false;
  bool ends = false, sleeps = false, coexecutes = true, flat = false;
  std::uint16_t issue = 4;
  std::uint16_t matrix_clocks = 0;
  std::uint16_t result_slots = 0; ///< wait states from D to another reader
  std::uint16_t address_clocks = 0;
  std::uint8_t priority = 0;
  int accumulator = -1; ///< first register of SrcC, of accumulator_count
  std::uint16_t accumulator_count = 0;
  isa::WaitCounts wait;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> reads, writes; ///< first, count
  std::uint32_t line = 0; ///< of the instruction cache, counted over those that the program has
  std::uint64_t first_block = 0, last_block = 0; ///< that the instruction lies in, of fetch_bytes
};

/// An instruction buffer is filled by so many bytes at a time: in thread traces of MI350X what is waited for after a branch begins at a
/// multiple of it.
constexpr std::uint64_t fetch_bytes = 32;

/// `without` is what the model leaves out: issue or the matrix pipe cost less then.
[[nodiscard]] Op op_of(const isa::Instruction& i, isa::Arch arch, const Parameters& p, Limit without);

} // namespace inlay::runtime::timing::unit
