// Disjoint: apart modulo the gcd of all coefficients, or in range.
#include "certificates/derivation.h"

namespace inlay::solver::independent {

void Derivation::disjoint() {
  Place p = own(s.functions[0], 0), q = own(s.functions[1], 1);
  Sum a = e.at(s.functions[0], p.coordinates, user), b = e.at(s.functions[1], q.coordinates, user);
  // Apart modulo the gcd of all coefficients: as a query without the products.
  Number g = 0;
  Sum difference = a - b;
  for (const auto& [product, c] : difference.terms) {
    if (product.empty()) continue;
    Number x = g < 0 ? -g : g, y = c < 0 ? -c : c;
    while (y != 0) std::swap(x %= y, y);
    g = x;
  }
  auto k = difference.terms.find({});
  Number c = k == difference.terms.end() ? 0 : k->second;
  if (g > 1 && c % g != 0) {
    extra_declarations.push_back("multiple");
    extra_goals.push_back("(= (* " + smt_number(g) + " multiple) " + smt_number(c) + ")");
    return;
  }
  // Which of them is above is a guess; that it is by 1 at least is to be shown.
  auto low = d.least(a - b), high = d.least(b - a);
  if (low && d.sample(*low) > 0) {
    d.nonnegative(a - b - constant(1));
  } else if (high && d.sample(*high) > 0) {
    d.nonnegative(b - a - constant(1));
  } else {
    extra_goals.push_back("(= " + smt(a, d.all) + " " + smt(b, d.all) + ")");
  }
}

} // namespace inlay::solver::independent
