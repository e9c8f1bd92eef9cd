/// V_CVT_SCALEF32_* prepared once from their decoded form, then executed on the registers of a wave.
#pragma once

#include "matrix.h"

namespace inlay::runtime::emulator {

/// The prepared form of `instruction`; nullptr when it is no scaled conversion of `arch`. Like a matrix
/// instruction it works on rows of the unified file, but only lanes of EXEC are written. Reads operands
/// (vgpr, agpr, sgpr, constants), their neg and abs where they are one f32, op_sel, and MODE.FP16_OVFL.
[[nodiscard]] std::unique_ptr<MatrixInstruction>
prepare_scaled_conversion(const isa::Instruction& instruction, isa::Arch arch, unsigned accum_offset);

} // namespace inlay::runtime::emulator
