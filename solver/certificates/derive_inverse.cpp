// Inverse: B is inside the domain of A, and A of it is the index again.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::inverse() {
  const Function &a = s.functions[0], &b = s.functions[1];
  Place p = own(b);
  Sum y = e.at(b, p.coordinates, user);
  // Inside first: beyond its size A runs on along its last mode, and could lead back from there.
  Sum n = size(a);
  inside(e.at(without_block_swizzles(b, n), p.coordinates, user), n);
  same(e.at_index(a, y, user), p.index, "A(B(i)) and i");
}

} // namespace inlay::solver::independent
