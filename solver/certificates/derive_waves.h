/// Waves with symbols: bank conflicts by residues, cache lines by forms.
#pragma once

#include "certificates/derivation.h"

namespace inlay::solver::independent {

/// "128 residues and instances modulo 128". Errors: Stuck, also when the claim is false where it was evaluated.
[[nodiscard]] std::string banks_by_residues(Derivation& derivation);
/// What all lanes share is any multiple of its coefficients' gcd; what they differ in is a multiple of the line but for a number.
[[nodiscard]] std::string lines_by_forms(Derivation& derivation);

} // namespace inlay::solver::independent
