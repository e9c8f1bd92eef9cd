/// Polynomials with integer coefficients in the symbols of one question: what extents and strides are made
/// of.
///
/// Equality of two polynomials *for all values of their symbols* is equality of their coefficients, because a
/// nonzero polynomial cannot vanish on a whole box [lo, oo)^p. That one fact is why the normal form of a
/// symbolic layout decides equality for every size at once, and why divisibility facts are substitutions (M =
/// 128 m): afterwards "128 divides M" is a property of coefficients (exact_quotient).
///
/// The prover keeps polynomials of its own instead of algebra's `Sym` so that a simplification that is wrong
/// there cannot make a proof about it succeed here. Coefficients are checked 128-bit integers; one that does
/// not fit throws Overflow, which the prover answers with "unknown", never with a guess.
///
///     p = 128*m*n + 3     terms {m n: 128, 1: 3}
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inlay::solver {

using Wide = __int128;

/// A coefficient or a value left 128 bits.
struct Overflow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Checked arithmetic on |v| < 2^127 (-2^127 is outside, so that -v always exists): Overflow beyond.
[[nodiscard]] Wide add(Wide a, Wide b);
[[nodiscard]] Wide subtract(Wide a, Wide b);
[[nodiscard]] Wide multiply(Wide a, Wide b);
/// v, or Overflow for -2^127: for results of & | ^, which are the only other way to reach it.
[[nodiscard]] Wide within_128_bits(Wide v);
/// Is the sum of these nonnegative terms more than `limit` >= 0? Never overflows: 2^126 + 2^126 exceeds anything.
[[nodiscard]] bool exceeds(Wide limit, std::initializer_list<Wide> terms);
[[nodiscard]] Wide floor_div(Wide a, Wide b);
[[nodiscard]] Wide floor_mod(Wide a, Wide b);
[[nodiscard]] Wide gcd(Wide a, Wide b);
[[nodiscard]] std::string to_string(Wide value);

using Symbol = std::uint16_t;
/// Sorted (symbol, exponent >= 1); empty is the monomial 1.
using Monomial = std::vector<std::pair<Symbol, std::uint16_t>>;

class Poly {
public:
  Poly() = default;
  Poly(Wide constant); // NOLINT: 3 is a polynomial
  Poly(int constant) : Poly(static_cast<Wide>(constant)) {}
  static Poly symbol(Symbol s);

  [[nodiscard]] bool is_zero() const { return terms_.empty(); }
  [[nodiscard]] bool is_one() const { return constant() == Wide{1}; }
  /// The value when there is no symbol in it.
  [[nodiscard]] std::optional<Wide> constant() const;
  [[nodiscard]] const std::map<Monomial, Wide>& terms() const { return terms_; }
  [[nodiscard]] std::vector<Symbol> symbols() const;
  [[nodiscard]] unsigned degree() const;
  /// gcd of the coefficients: the largest constant that divides every value for formal reasons.
  [[nodiscard]] Wide content() const;

  /// The value at `values[symbol]`.
  [[nodiscard]] Wide at(const std::vector<Wide>& values) const;
  /// p with `s` replaced by q.
  [[nodiscard]] Poly substitute(Symbol s, const Poly& q) const;
  [[nodiscard]] std::string str(const std::vector<std::string>& names) const;

  friend Poly operator+(const Poly& a, const Poly& b);
  friend Poly operator-(const Poly& a, const Poly& b);
  friend Poly operator*(const Poly& a, const Poly& b);
  friend bool operator==(const Poly& a, const Poly& b) = default;

private:
  void accumulate(const Monomial& m, Wide c);
  std::map<Monomial, Wide> terms_; // no zero coefficients; std::map keeps the order deterministic
};

/// q with p = q d, when there is one: division by the leading term of d until nothing is left, or no q
/// exists.
[[nodiscard]] std::optional<Poly> exact_quotient(const Poly& p, const Poly& d);

/// (q, r) with p = q d + r, term by term from the leading one of d: r is what d does not divide. Constants are divided
/// rounding down, so that r is in [0, d) when both are numbers. 12 x y + 6 x + 4 y + 2 by 6 y + 3: 2 x, 4 y + 2.
[[nodiscard]] std::pair<Poly, Poly> quotient_and_rest(const Poly& p, const Poly& d);

} // namespace inlay::solver
