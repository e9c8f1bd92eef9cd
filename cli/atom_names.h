/// Matrix instructions as values of expressions, by name: `tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2,2):(2,1), <_,_,_>)`.
#pragma once

#include <inlay/algebra/expression.h>

namespace inlay::cli {

/// AMD's by the assembler's name, `v_mfma_f32_32x32x8_f16` (`v_` may be left out), or by shape where one layout has it,
/// `mfma_32x32x8`; NVIDIA's warp-wide mma.sync by CuTe's name, whose layouts follow from shape and types.
[[nodiscard]] const NameLookup& atom_names();

} // namespace inlay::cli
