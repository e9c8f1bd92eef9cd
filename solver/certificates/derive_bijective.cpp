// Bijective: inside [0, size) and dominated, by counting.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::bijective() {
  Sum n = size(s.functions[0]);
  Function f = without_block_swizzles(s.functions[0], n);
  if (!hints("bounds").empty()) {
    counted_by_bounds(f);
    return;
  }
  Place p = own(f);
  Sum v = e.at(f, p.coordinates, user);
  inside(v, n);
  dominated(v);
}

} // namespace inlay::solver::independent
