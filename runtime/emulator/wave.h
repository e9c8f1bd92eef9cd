/// Register state of one wave, 64 lanes side by side.
///
/// Vector registers are rows of 64 lanes in one unified file: VGPR i is row i, AGPR i is row accum_offset +
/// i, as in the hardware (CDNA3 ISA, "Vector Registers"): a kernel that names v192 with an accumulation
/// offset of 160 names a32. Scalar registers are indexed by their hardware encoding, so that vcc, m0 and exec
/// are entries like s0.
///
///     wave.row(4)[lane]          v4 of that lane
///     wave.scalar[exec_lo]       low half of EXEC
#pragma once

#include <array>
#include <cstdint>
#include <inlay/runtime/isa/program.h>
#include <memory>
#include <vector>

namespace inlay::runtime::emulator {

inline constexpr unsigned lanes = 64;
inline constexpr unsigned vector_rows = 512;

/// Hardware encodings of the named scalar registers.
enum ScalarIndex : unsigned {
  flat_scratch_lo = 102,
  xnack_lo = 104,
  vcc_lo = 106,
  ttmp0 = 108,
  m0 = 124,
  exec_lo = 126
};

struct alignas(64) WaveState {
  explicit WaveState(unsigned accum_offset_in = 256) : accum_offset(accum_offset_in), vector_(new Rows) {}
  /// In the rows of one that has ended, and with what stands there: memory that is given back and asked for again is paid page by page.
  WaveState(unsigned accum_offset_in, WaveState& ended)
      : accum_offset(accum_offset_in), vector_(std::move(ended.vector_)) {}

  using Row = std::uint32_t[lanes];

  /// Row of the unified file; rows of consecutive registers are adjacent, 64 words apart.
  [[nodiscard]] std::uint32_t* row(unsigned index) { return vector_->row[index]; }
  [[nodiscard]] const std::uint32_t* row(unsigned index) const { return vector_->row[index]; }
  /// Row number of a vector operand.
  [[nodiscard]] unsigned row_of(const isa::Operand& operand) const {
    return operand.kind == isa::OperandKind::agpr ? accum_offset + operand.index : operand.index;
  }

  [[nodiscard]] std::uint64_t scalar64(unsigned index) const {
    return scalar[index] | (std::uint64_t{scalar[index + 1]} << 32);
  }
  void set_scalar64(unsigned index, std::uint64_t value) {
    scalar[index] = static_cast<std::uint32_t>(value);
    scalar[index + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] std::uint64_t exec() const { return scalar64(exec_lo); }

  std::array<std::uint32_t, 132> scalar{};
  bool scc = false;
  std::uint32_t mode =
      0xf0; ///< MODE register: FP_ROUND [3:0], FP_DENORM [7:4], DX10_CLAMP 8, IEEE 9, FP16_OVFL 23
  isa::Arch arch{};
  unsigned accum_offset = 256;
  std::uint64_t pc = 0;

private:
  struct alignas(64) Rows {
    Row row[vector_rows + 4]; // a pair that s_set_gpr_idx moves to the last row still lies inside
  };
  std::unique_ptr<Rows> vector_;
};

} // namespace inlay::runtime::emulator
