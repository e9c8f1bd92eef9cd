// Within: 0 <= value < N.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::within() {
  Sum n = e.expression(s.terms[0], user);
  Function f = without_block_swizzles(s.functions[0], n);
  Place p = own(f);
  inside(e.at(f, p.coordinates, user), n);
}

} // namespace inlay::solver::independent
