/// What a SymContext knows of its symbols, as conditions.
#pragma once

#include "inlay/solver/prove.h"

#include <inlay/algebra/sym.h>

namespace inlay::solver {

/// Bounds and residues of every symbol in `values`.
[[nodiscard]] Facts ranges_of(const std::vector<Sym>& values);
/// Extents and strides.
[[nodiscard]] std::vector<Sym> symbols_in(const BasicLayout<Sym>& layout);

} // namespace inlay::solver
