// Covers: strides that leave no gap up to N, or inside [0, size) and dominated, by counting.
#include "certificates/derivation.h"

#include <algorithm>
#include <bit>

namespace inlay::solver::independent {

void Derivation::covers() {
  const Function& f = s.functions[0];
  Place p = own(f);
  Sum v = e.at(f, p.coordinates, user), n = e.expression(s.terms[0], user);
  if (s.method == "domination and count") {
    inside(v, size(f));
    dominated(v);
    d.nonnegative(size(f) - n);
    return;
  }
  // From [0, reach) with a stride of at most reach: [0, reach + stride * steps).
  std::vector<std::pair<Sum, Sum>> all;
  for (std::size_t k = 0; k < d.all.size(); ++k) {
    const Variable& x = d.all[k];
    if (x.kind == Variable::Kind::symbol) continue;
    Sum c;
    for (const auto& [product, m] : v.terms)
      if (auto without = over(product, {static_cast<int>(k)})) {
        Sum t;
        t.terms[*without] = m;
        c = c + t;
      }
    v = v - c * Digits::variable(static_cast<int>(k));
    if (x.kind == Variable::Kind::parity && std::popcount(x.mask) != 1 && !c.terms.empty())
      throw Stuck("a parity of several bits");
    if (x.turned && !c.terms.empty()) throw Stuck("a digit beside its own rotation");
    if (!c.terms.empty())
      all.emplace_back(c, x.kind == Variable::Kind::parity ? constant(1) : x.extent - constant(1));
  }
  if (!v.terms.empty()) throw Stuck("a constant, or a product of digits");
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& x, const auto& y) { return d.sample(x.first) < d.sample(y.first); });
  // A digit that is not needed stays 0: those beyond n, and those whose stride leaves a gap.
  Sum reach = constant(1);
  for (const auto& [c, steps] : all) {
    if (d.surely(reach - n)) break;
    if (d.sample(c) <= 0 || d.sample(reach - c) < 0) continue;
    d.nonnegative(c);
    d.nonnegative(reach - c);
    reach = reach + c * steps;
  }
  d.nonnegative(reach - n);
}

} // namespace inlay::solver::independent
