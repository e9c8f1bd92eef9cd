/// The statements, one function and one file each; prove.cpp calls them.
#pragma once

#include "layers/pieces.h"
#include "questions/engine.h"

#include "inlay/solver/coalescing.h"

namespace inlay::solver {

// Point by point (pointwise.h)
[[nodiscard]] Verdict decide_equal(Engine& e);
[[nodiscard]] Verdict decide_within(Engine& e);
[[nodiscard]] Verdict decide_aligned(Engine& e);
[[nodiscard]] Verdict decide_inverse(Engine& e);

// The image as a whole (image.h)
[[nodiscard]] Verdict decide_injective(Engine& e);
[[nodiscard]] Verdict decide_bijective(Engine& e);
[[nodiscard]] Verdict decide_covers(Engine& e);
[[nodiscard]] Verdict decide_disjoint(Engine& e);

/// The first subject cut into boxes (pieces.h), and noted in the trace; no cases when that fails.
[[nodiscard]] Pieces pieces_of(Engine& e, const Parts& f);

// coalescing.cpp
[[nodiscard]] Verdict decide_coalesced(Engine& e, const GlobalMemory& memory, unsigned element_bytes,
                                       unsigned allowed);

/// Modes as numbers under an environment, for a layout without anything applied to it.
[[nodiscard]] ConcreteFlat concrete_modes(const Parts& f, const naive::Environment& environment);
/// Index at which a layout of these modes is greatest (or least).
[[nodiscard]] Wide extreme_index(const ConcreteFlat& modes, bool greatest);

} // namespace inlay::solver
