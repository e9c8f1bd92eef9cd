/// Pictures of matrix instructions, for `inlay draw --mfma` and `inlay atoms --draw`.
#pragma once

#include <inlay/algebra/render/views.h>
#include <inlay/codegen/atoms.h>

namespace inlay::cli {

/// Its operands as layouts of (lane, value) onto the column-major index of their tiles, blocks side by side. Requires: `atom.mma`.
[[nodiscard]] MfmaOperands flat_operands(const codegen::Atom& atom);
/// A, B and C of a matrix instruction: rows down, columns across, blocks side by side. Requires: `atom.mma`.
[[nodiscard]] std::vector<Picture> matrix_pictures(const codegen::Atom& atom, const std::string& name);

/// The instruction of that name, or the one-block dense ones of a shape `16x16x32`, if their operands have one layout.
/// Errors: CodegenError naming instructions when there are several layouts, or none.
[[nodiscard]] const codegen::Atom& matrix_instruction(const std::string& name_or_shape);

} // namespace inlay::cli
