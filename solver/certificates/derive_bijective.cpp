// Bijective: inside [0, size) and dominated, by counting.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::bijective() {
  Function f = s.functions[0];
  Sum n = size(f);
  // A swizzle permutes aligned blocks of its reach; it may go when they make up the size.
  while (!f.outer.empty() && f.outer.front().bits > 0) {
    const Stage& w = f.outer.front();
    Sum block = constant(Number{1} << (w.bits + w.base + (w.shift < 0 ? -w.shift : w.shift)));
    auto [q, r] = split(n, block);
    if (!r.terms.empty()) break;
    same(n, q * block, "the size and a multiple of the swizzle's reach");
    f.outer.erase(f.outer.begin());
  }
  Place p = own(f);
  Sum v = e.at(f, p.coordinates, user);
  inside(v, n);
  dominated(v);
}

} // namespace inlay::solver::independent
