/// The claim as it stands, with div and mod, for the solvers to find out.
#pragma once

#include "certificates/statement.h"

namespace inlay::solver::independent {

/// All of them must be unsatisfiable. `any_divisor`: one below 0 divides too, rounding down, which makes longer queries of it; else
/// each has to be positive. Errors: Stuck.
[[nodiscard]] std::vector<std::string> raw(const Statement& s, bool any_divisor = false);

/// That every extent is at least 1 wherever the facts hold; empty where all are numbers. Errors: Stuck.
[[nodiscard]] std::string positive_extents(const Statement& s, bool any_divisor = false);

} // namespace inlay::solver::independent
