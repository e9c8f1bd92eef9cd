/// What kernel_mutations and random_programs ask of a piece of code: do the claims refuse it, is it wrong, and what becomes of
/// it when one place is changed.
#pragma once

#include "tokens.h"

#include <random>

namespace inlay::mutate {

using Random = std::mt19937_64;

/// The first claim that is refuted, or why the code was refused; empty when everything is proved.
[[nodiscard]] std::string refuted(const codegen::Code& code);
/// What tokens find for one of the sizes in one of three schedules; empty when the code computes its specification.
[[nodiscard]] std::string wrong(const codegen::Code& code, const std::vector<Sizes>& sizes);
/// Changes one place of the code; says what, or "" when the place drawn has nothing of that kind.
std::string change(codegen::Code& code, Random& random);
/// One constant, the order of a difference, one bound or one maximum of a map, changed; absent when it has none.
[[nodiscard]] std::optional<codegen::Expr> another_map(codegen::Expr map, Random& random);

} // namespace inlay::mutate
