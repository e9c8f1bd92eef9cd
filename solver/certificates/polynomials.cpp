#include "certificates/polynomials.h"

#include <algorithm>

namespace inlay::solver::independent {

Sum constant(Number n) {
  Sum s;
  // Zero is the empty sum, and nothing else is: equality is equality of maps (Digits compares them
  // everywhere).
  if (n != 0) s.terms[{}] = n;
  return s;
}

Sum operator+(const Sum& a, const Sum& b) {
  Sum s = a;
  for (const auto& [p, c] : b.terms) {
    Number& mine = s.terms[p];
    mine = plus(mine, c);
    if (mine == 0) s.terms.erase(p);
  }
  return s;
}

// Products are sorted, so that one of them has one spelling and equality is equality of the maps.
Sum operator*(const Sum& a, const Sum& b) {
  Sum s;
  for (const auto& [p, c] : a.terms)
    for (const auto& [q, d] : b.terms) {
      Product both = p;
      both.insert(both.end(), q.begin(), q.end());
      std::sort(both.begin(), both.end());
      Sum one;
      one.terms[both] = times(c, d);
      s = s + one;
      // Products of sums of products: a certificate may hold any exponents, and the reader's time is not the forger's.
      if (s.terms.size() > 5000) throw Stuck("a polynomial of more than 5000 terms");
    }
  return s;
}

Sum operator-(const Sum& a, const Sum& b) { return a + constant(-1) * b; }

std::optional<Number> number_in(const Sum& s) {
  if (s.terms.empty()) return Number{0};
  if (s.terms.size() == 1 && s.terms.begin()->first.empty()) return s.terms.begin()->second;
  return std::nullopt;
}

std::optional<Product> over(const Product& p, const Product& q) {
  Product rest = p;
  for (int v : q) {
    // With repetition: n n over n is n. Products are short, so that a search a factor is enough.
    auto it = std::find(rest.begin(), rest.end(), v);
    if (it == rest.end()) return std::nullopt;
    rest.erase(it);
  }
  return rest;
}

// (q, r) with a = q d + r; which q is a guess that the inequalities 0 <= r < d have to confirm. The leading product
// is the longest one, so that subtracting a multiple of d makes progress.
std::pair<Sum, Sum> split(const Sum& a, const Sum& d) {
  Sum q, r;
  auto n = number_in(d);
  if (n && *n > 0) {
    for (const auto& [p, c] : a.terms) {
      // Down, for negative coefficients as well: the rest of each is in [0, n), and a rest without symbols is
      // the remainder itself.
      Number whole = quotient(c, *n), rest = plus(c, -times(whole, *n));
      if (whole != 0) q.terms[p] = whole;
      if (rest != 0) r.terms[p] = rest;
    }
    return {q, r};
  }
  auto longer = [](const auto& x, const auto& y) {
    return x.first.size() != y.first.size() ? x.first.size() < y.first.size() : x.first < y.first;
  };
  // Only 0 as a polynomial is seen here. A divisor that is 0 for some values fails with 0 <= r < d, which
  // cannot be shown there.
  if (d.terms.empty()) throw Stuck("a division by zero");
  auto lead = *std::max_element(d.terms.begin(), d.terms.end(), longer);
  Sum left = a;
  for (int steps = 0; !left.terms.empty(); ++steps) {
    // The order by length and then by variables is one of monomials, in which each turn ends lower; the limit
    // is for time, not for termination.
    if (steps > 5000) throw Stuck("a division that does not end");
    auto top = *std::max_element(left.terms.begin(), left.terms.end(), longer);
    auto p = over(top.first, lead.first);
    Sum one;
    if (p && top.second / lead.second != 0) {
      one.terms[*p] = top.second / lead.second;
      q = q + one;
      left = left - one * d;
    } else {
      one.terms[top.first] = top.second;
      r = r + one;
      left = left - one;
    }
  }
  return {q, r};
}

} // namespace inlay::solver::independent
