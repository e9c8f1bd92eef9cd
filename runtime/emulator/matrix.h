/// Matrix instructions (MFMA, SMFMAC): prepared once from their decoded form, then executed on the registers
/// of a wave.
#pragma once

#include "wave.h"

#include <inlay/runtime/matrix_arithmetic.h>

namespace inlay::runtime::emulator {

/// A matrix instruction with its registers and broadcast fields resolved.
class MatrixInstruction {
public:
  virtual ~MatrixInstruction() = default;
  /// D = A B + C on the unified file of `wave`; EXEC plays no part (CDNA3 ISA, "Matrix Arithmetic
  /// Instructions").
  virtual void execute(WaveState& wave) const = 0;
};

/// The prepared form of `instruction`; nullptr when its mnemonic is no matrix instruction of `arch`.
/// Reads operands (vgpr, agpr, inline constants for C) and cbsz, abid, blgp, op_sel, op_sel_hi, neg_lo (f64).
[[nodiscard]] std::unique_ptr<MatrixInstruction>
prepare_matrix(const isa::Instruction& instruction, isa::Arch arch, unsigned accum_offset,
               MatrixArithmetic arithmetic = MatrixArithmetic::sequential);

} // namespace inlay::runtime::emulator
