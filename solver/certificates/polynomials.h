/// Polynomials of the checker: integer coefficients, variables that are numbered in the order of their appearance.
///
/// Not those of arithmetic/poly.h, so that a mistake there is not repeated here.
#pragma once

#include "certificates/statement.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace inlay::solver::independent {

using Product = std::vector<int>; ///< sorted, with repetition
struct Sum {
  std::map<Product, Number> terms; ///< no zeros
  friend bool operator==(const Sum&, const Sum&) = default;
};

[[nodiscard]] Sum constant(Number n);
[[nodiscard]] Sum operator+(const Sum& a, const Sum& b);
[[nodiscard]] Sum operator-(const Sum& a, const Sum& b);
[[nodiscard]] Sum operator*(const Sum& a, const Sum& b); ///< Stuck beyond 5000 terms
/// The number that s is, when it is one.
[[nodiscard]] std::optional<Number> number_in(const Sum& s);
/// p / q of products, when q divides p.
[[nodiscard]] std::optional<Product> over(const Product& p, const Product& q);
/// (q, r) with a = q d + r; which q is a guess that the inequalities 0 <= r < d have to confirm.
[[nodiscard]] std::pair<Sum, Sum> split(const Sum& a, const Sum& d);

} // namespace inlay::solver::independent
