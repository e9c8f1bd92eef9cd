/// The claim as it stands, with div and mod, for the solvers to find out.
#pragma once

#include "certificates/statement.h"

namespace inlay::solver::independent {

/// All of them must be unsatisfiable. Errors: Stuck.
[[nodiscard]] std::vector<std::string> raw(const Statement& s);

} // namespace inlay::solver::independent
