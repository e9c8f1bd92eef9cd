/// The names that every kernel's program is written with. Private.
#pragma once

#include "refusal.h"

#include <inlay/codegen/mma_tiling.h>
#include <inlay/codegen/program.h>

#include <vector>

namespace inlay::kernels {

using codegen::Atom;
using codegen::Expr;
using codegen::Fragment;
using codegen::inside, codegen::rows_tv, codegen::without_axis;
using codegen::MmaTiling;
using codegen::Monoid;
using codegen::Program;
using codegen::Target;
using codegen::Tensor;
using codegen::View;
using Exprs = std::vector<Expr>; ///< what the function of a map is given

/// Products of operands of one type, summed in f32, by the widest matrix instruction of 16 rows: tiles of m x n x k, `vector` adjacent k a lane.
[[nodiscard]] inline codegen::MmaTiling tiling_of(const Target& target, codegen::Element type, int waves_m,
                                                  int waves_n, int m, int n, int k, int vector = 8) {
  return codegen::MmaTiling::of(codegen::Atom::mma_best(target, type, type, codegen::Element::f32, 16),
                                waves_m, waves_n, m, n, k, vector);
}

/// |x|, in f32.
[[nodiscard]] inline Expr magnitude(Expr x) { return max(x, x * -1.0); }

} // namespace inlay::kernels
