/// Claims as they are written: what they name, and what they say of a launch.
#pragma once

#include <inlay/solver/prove.h>
#include <inlay/validate/claims.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::kernels::validate {

/// The names in a formula.
[[nodiscard]] std::set<std::string> names(std::string_view text);
/// What the grid says of the workgroups' numbers.
[[nodiscard]] std::vector<std::string> grid_facts(const Claims& claims);
/// How the prover is asked about claims: many questions, each for a short time.
[[nodiscard]] solver::Options small_questions();

} // namespace inlay::kernels::validate
