// Aligned: the value is a multiple of W, or what is left of it vanishes for every residue.
#include "certificates/derivation.h"

#include <set>

namespace inlay::solver::independent {

void Derivation::aligned() {
  Place p = own(s.functions[0]);
  Sum v = e.at(s.functions[0], p.coordinates, user), w = e.expression(s.terms[0], user);
  // Which q is a guess: v = q w is an identity in the end.
  auto [q, r] = split(v, w);
  if (r.terms.empty()) {
    same(v, q * w, "the value and a multiple of the alignment");
    d.nonnegative(w - constant(1));
    return;
  }
  // What is left has to vanish modulo w for every residue of what it is made of. Digits, too, are taken to have every residue, which is
  // more than they have.
  auto m = number_in(w);
  std::set<int> in;
  for (const auto& [product, c] : r.terms) in.insert(product.begin(), product.end());
  Number classes = 1;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!m || *m < 1 || *m > 4096) throw Stuck("a remainder modulo the alignment");
    classes = times(classes, *m);
    if (classes > 65536) throw Stuck("more than 65536 residues");
  }
  for (Number k = 0; k < classes; ++k) {
    Number sum = 0;
    for (const auto& [product, c] : r.terms) {
      Number t = c;
      for (int v2 : product) {
        Number rest = k;
        for (int other : in) {
          if (other == v2) break;
          rest /= *m;
        }
        t = times(t, rest % *m);
      }
      sum = plus(sum, t);
    }
    if (sum % *m != 0) throw Stuck("a value that the alignment does not divide");
  }
  same(v, q * w + r, "the value and its parts");
}

} // namespace inlay::solver::independent
