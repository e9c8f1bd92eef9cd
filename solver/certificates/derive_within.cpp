// Within: 0 <= value < N.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::within() {
  Place p = own(s.functions[0]);
  inside(e.at(s.functions[0], p.coordinates, user), e.expression(s.terms[0], user));
}

} // namespace inlay::solver::independent
