/// Which bits of a wave's registers, of LDS and of scratch hold a value that something gave them.
///
/// As in MemorySanitizer a mask of undefined bits accompanies every register and is propagated; a finding is made only where an
/// undefined bit decides something: an address, a branch, EXEC, MODE, or data that leave the kernel for global memory. Moving,
/// masking, spilling and overwriting what was never written is silent, as compilers do all of it.
///
/// How an instruction propagates is not described by rules but observed: it is executed several times on copies of its
/// operands whose undefined bits are filled differently (zeros, ones, the bits of the other operand, extremes, random), and a
/// result bit is undefined when two of the executions disagree about it. A result that does not depend on the undefined
/// bits (`x & 0xff` where only the upper 24 are undefined, `x ^ x`, the low half of v_mad_u64_u32) is therefore defined,
/// whatever the instruction and its modifiers; what all fillings happen to agree about is missed. A float result of which
/// one bit depends on undefined bits counts as undefined altogether. An instruction whose operands are defined in every
/// active lane costs a few comparisons of lane masks.
///
///     v_lshlrev_b32 v2, 8, v1      ; v1 never written: the upper 24 bits of v2 are undefined, the lower 8 zero
///     v_and_b32 v3, 0xff, v2       ; defined
///     global_store_dword v0, v2, s[2:3]   ; finding here; origin: v1, read by v_lshlrev_b32
///
/// Source: E. Stepanov and K. Serebryany, "MemorySanitizer: fast detector of uninitialized memory use in C++" (CGO 2015), for
/// what is propagated and what is reported.
#pragma once

#include "wave.h"

namespace inlay::runtime::emulator {

struct Wave;
struct Operation;
struct Workgroup;

struct Definedness {
  static constexpr unsigned rows = vector_rows + 4;

  explicit Definedness(std::uint64_t lanes_that_exist);

  /// Lanes in which some bit of the row is undefined. `bits` is meaningful in these lanes only.
  std::array<std::uint64_t, rows> lanes_of;
  std::unique_ptr<std::uint32_t[]> bits; ///< [row][lane]
  /// Where undefined bits came from: an index into Launch::origins, 0 for what was never written.
  std::array<std::uint32_t, rows> origin{};
  std::uint64_t scalars[2] = {0, 0}; ///< registers with an undefined bit
  std::array<std::uint32_t, 132> scalar_bits{}, scalar_origin{};
  bool scc = false;
  std::uint32_t scc_origin = 0;
  std::vector<std::uint8_t> scratch;         ///< undefined bits of each byte, [lane][byte]
  std::vector<std::uint32_t> scratch_origin; ///< of each four bytes, [lane][dword]; empty until one is not 0
  std::uint64_t random = 0x9e3779b97f4a7c15ULL;

  [[nodiscard]] std::uint32_t row_bits(unsigned row, unsigned lane) const {
    return ((lanes_of[row] >> lane) & 1U) != 0 ? bits[row * lanes + lane] : 0;
  }
  void set_row_bits(unsigned row, unsigned lane, std::uint32_t undefined) {
    bits[row * lanes + lane] = undefined;
    const std::uint64_t bit = std::uint64_t{1} << lane;
    lanes_of[row] = undefined != 0 ? lanes_of[row] | bit : lanes_of[row] & ~bit;
  }
  void set_scalar(unsigned index, std::uint32_t undefined, std::uint32_t from) {
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    scalars[index / 64] = undefined != 0 ? scalars[index / 64] | bit : scalars[index / 64] & ~bit;
    scalar_bits[index] = undefined;
    scalar_origin[index] = from;
  }
};

/// Before `op` executes: reports what undefined bits decide, and gives the results of register instructions their
/// undefined bits. Memory instructions are the caller's: they know their addresses.
void track_definedness(Wave& wave, const Operation& op);

/// An undefined bit of `row` (of scalar register `index`) in a lane of `mask` decides `what`: the finding, after which the
/// register counts as defined. `relevant`: bits that play a part. True when there was one.
bool demand_row(Wave& wave, unsigned row, std::uint64_t mask, const char* what, std::uint32_t relevant = ~0U);
bool demand_scalar(Wave& wave, unsigned index, const char* what);
/// Undefined bits that came from `origin` decide `what` in `lane`.
void report_undefined(Wave& wave, const std::string& name, std::uint32_t undefined, std::uint32_t origin,
                      const char* what, unsigned lane, bool note = false);

/// In an origin: of bytes of memory that nothing had written, loaded, and moved or chosen since, but not computed with.
inline constexpr std::uint32_t copied = std::uint32_t{1} << 31;

/// The origin of what the current instruction is the first to read: `name` says what ("v9, which nothing has written").
std::uint32_t new_origin(Wave& wave, const std::string& name);
/// The origin of a row's undefined bits, made when the row was never written.
std::uint32_t origin_of_row(Wave& wave, unsigned row);

} // namespace inlay::runtime::emulator
