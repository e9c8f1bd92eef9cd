/// Least and greatest values of a formula by interval arithmetic, where digits do not exist or have to be rounded up.
#pragma once

#include "questions/engine.h"

namespace inlay::solver {

/// Bounds of `value` over coordinates in [0, extent), as polynomials; nothing where an operation has none.
[[nodiscard]] std::optional<std::pair<Poly, Poly>>
bounds_of(const Engine& e, const std::vector<Coordinate>& domain, const FormulaRef& value);
/// Every value of f is in [0, n), by bounds_of; noted in the hints when it holds.
[[nodiscard]] bool within_by_bounds(Engine& e, const Parts& f, const Poly& n);

} // namespace inlay::solver
