/// Bank conflicts of a layout (lds.h has the machine's model): concrete lanes are enumerated; symbolic
/// strides and symbolic instances only matter modulo a period, so their residues are enumerated, which is
/// complete.
#pragma once

#include "questions/engine.h"

#include "inlay/solver/lds.h"

namespace inlay::solver {

[[nodiscard]] Verdict decide_conflict_free(Engine& e, const LdsAccess& access);

} // namespace inlay::solver
