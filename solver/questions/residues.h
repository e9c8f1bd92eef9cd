/// Pointwise statements by a case split over the residues of coordinates and symbols modulo small numbers.
#pragma once

#include "questions/engine.h"

namespace inlay::solver {

/// `kind` says what is asked of the values: values (equal), outside (within [0, bound)) or misaligned (bound divides). True: it holds,
/// and the certificate's hints say how the cases are made.
[[nodiscard]] bool prove_by_residues(Engine& e, const std::vector<Coordinate>& domain,
                                     const std::vector<FormulaRef>& values, Finding::Kind kind,
                                     const FormulaRef& bound);

} // namespace inlay::solver
