// Injective: what stands below the outer bijections is dominated.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::injective() {
  Function f = without_outer_bijections(s.functions[0]);
  Place p = own(f);
  dominated(e.at(f, p.coordinates, user));
}

} // namespace inlay::solver::independent
