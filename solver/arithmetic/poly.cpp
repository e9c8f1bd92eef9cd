#include "arithmetic/poly.h"

#include <algorithm>

namespace inlay::solver {

// -2^127 counts as outside: then every value can be negated, and no quotient overflows.
Wide within_128_bits(Wide v) {
  constexpr Wide greatest = ((Wide{1} << 126) - 1) * 2 + 1;
  if (v < -greatest) throw Overflow("a value leaves 128 bits");
  return v;
}

Wide add(Wide a, Wide b) {
  Wide r;
  if (__builtin_add_overflow(a, b, &r)) throw Overflow("a sum leaves 128 bits");
  return within_128_bits(r);
}

// -b exists because -2^127 is no value.
Wide subtract(Wide a, Wide b) { return add(a, -b); }

Wide multiply(Wide a, Wide b) {
  Wide r;
  if (__builtin_mul_overflow(a, b, &r)) throw Overflow("a product leaves 128 bits");
  return within_128_bits(r);
}

// By taking away instead of adding up: limit never falls below 0, and so nothing leaves 128 bits.
bool exceeds(Wide limit, std::initializer_list<Wide> terms) {
  for (Wide t : terms) {
    if (t > limit) return true;
    limit -= t;
  }
  return false;
}

// Towards minus infinity, as the language has it: i / 4 and i % 4 are digits of negative numbers too, and quotient and rest fit together.
Wide floor_div(Wide a, Wide b) {
  Wide q = a / b;
  // q - 1 cannot wrap: |q| <= |a| < 2^127.
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

// Not a - floor_div(a, b) * b: that product may leave 128 bits though the remainder is less than b.
Wide floor_mod(Wide a, Wide b) {
  Wide r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    Wide r = a % b;
    a = b;
    b = r;
  }
  return a;
}

std::string to_string(Wide value) {
  if (value == 0) return "0";
  bool negative = value < 0;
  std::string digits;
  while (value != 0) {
    // Digit by digit with its sign, as the size of the least number would not fit.
    int d = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (d < 0 ? -d : d));
    value /= 10;
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

namespace {
// Beyond this nobody wants to read the proof, and a product of products would take minutes and gigabytes: M == N*N,
// N == P*P, ... squares with every condition.
constexpr std::size_t most_terms = 20000;
constexpr unsigned most_degree = 10000; // exponents have 16 bits
} // namespace

Poly::Poly(Wide constant) {
  // No zero terms, from the start (accumulate).
  if (constant != 0) terms_.emplace(Monomial{}, constant);
}

Poly Poly::symbol(Symbol s) {
  Poly p;
  p.terms_.emplace(Monomial{{s, std::uint16_t{1}}}, Wide{1});
  return p;
}

std::optional<Wide> Poly::constant() const {
  if (terms_.empty()) return Wide{0};
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::vector<Symbol> Poly::symbols() const {
  std::vector<Symbol> out;
  for (const auto& [m, c] : terms_)
    for (const auto& [s, e] : m) out.push_back(s);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

unsigned Poly::degree() const {
  unsigned best = 0;
  for (const auto& [m, c] : terms_) {
    unsigned d = 0;
    for (const auto& [s, e] : m) d += e;
    best = std::max(best, d);
  }
  return best;
}

// It divides every value, whatever the symbols are; n (n + 1) shows that it need not be the largest number that does.
Wide Poly::content() const {
  Wide g = 0;
  for (const auto& [m, c] : terms_) g = gcd(g, c);
  return g;
}

// The one place where terms meet. A coefficient that becomes 0 goes: equality of polynomials is equality of these maps, and a
// zero in one of them would make equal polynomials differ.
void Poly::accumulate(const Monomial& m, Wide c) {
  if (terms_.size() > most_terms) throw Overflow("a polynomial has more than 20000 terms");
  // The term itself is not checked: every coefficient that comes here is a result of checked arithmetic.
  auto [it, fresh] = terms_.emplace(m, c);
  if (fresh) return;
  it->second = add(it->second, c);
  if (it->second == 0) terms_.erase(it);
}

Poly operator+(const Poly& a, const Poly& b) {
  Poly r = a;
  for (const auto& [m, c] : b.terms_) r.accumulate(m, c);
  return r;
}

Poly operator-(const Poly& a, const Poly& b) {
  Poly r = a;
  for (const auto& [m, c] : b.terms_) r.accumulate(m, multiply(c, -1));
  return r;
}

namespace {
// Both are sorted by symbol, and so is the product, by merging: one monomial has one spelling.
Monomial product(const Monomial& a, const Monomial& b) {
  Monomial r;
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      r.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      r.push_back(*j++);
    } else {
      unsigned exponent = 0U + i->second + j->second;
      if (exponent > most_degree) throw Overflow("a power beyond 10000");
      r.emplace_back(i->first, static_cast<std::uint16_t>(exponent));
      ++i, ++j;
    }
  }
  return r;
}

// Exact or nothing: a monomial with a negative exponent is no polynomial.
std::optional<Monomial> quotient(const Monomial& a, const Monomial& b) {
  Monomial r;
  auto j = b.begin();
  for (const auto& [s, e] : a) {
    std::uint16_t less = 0;
    if (j != b.end() && j->first == s) less = (j++)->second;
    if (less > e) return std::nullopt;
    if (e > less) r.emplace_back(s, static_cast<std::uint16_t>(e - less));
  }
  if (j != b.end()) return std::nullopt;
  return r;
}

// Lexicographic with the smallest symbol most significant. A monomial order, which std::map's is not: a < b has to give a c < b c, so
// that the leading term of a product is the product of the leading terms. On that rests the division below.
bool leads(const Monomial& a, const Monomial& b) {
  auto i = a.begin();
  auto j = b.begin();
  for (; i != a.end() && j != b.end(); ++i, ++j) {
    if (i->first != j->first) return i->first < j->first;
    if (i->second != j->second) return i->second > j->second;
  }
  return i != a.end();
}

const std::pair<const Monomial, Wide>& leading(const Poly& p) {
  auto best = p.terms().begin();
  for (auto it = p.terms().begin(); it != p.terms().end(); ++it)
    if (leads(it->first, best->first)) best = it;
  return *best;
}
} // namespace

Poly operator*(const Poly& a, const Poly& b) {
  // Before the work and not after it: most products of two large polynomials lose hardly a term to another
  // one.
  if (a.terms_.size() * b.terms_.size() > 100 * most_terms)
    throw Overflow("a product of polynomials has too many terms");
  Poly r;
  for (const auto& [m, c] : a.terms_)
    for (const auto& [n, d] : b.terms_) r.accumulate(product(m, n), multiply(c, d));
  return r;
}

Wide Poly::at(const std::vector<Wide>& values) const {
  Wide sum = 0;
  for (const auto& [m, c] : terms_) {
    Wide t = c;
    for (const auto& [s, e] : m)
      // Each factor checked. The product may leave 128 bits though the sum would not; that is an Overflow as
      // well, as the caller gives up either way.
      for (unsigned k = 0; k < e; ++k) t = multiply(t, values.at(s));
    sum = add(sum, t);
  }
  return sum;
}

Poly Poly::substitute(Symbol s, const Poly& q) const {
  Poly r;
  for (const auto& [m, c] : terms_) {
    Monomial rest;
    unsigned power = 0;
    for (const auto& f : m) {
      if (f.first == s) {
        power = f.second;
      } else {
        rest.push_back(f);
      }
    }
    Poly t;
    // All occurrences of s at once: a q that mentions s itself (s = s + 1, a shift of its bounds) is not
    // replaced again.
    t.accumulate(rest, c);
    for (unsigned k = 0; k < power; ++k) t = t * q;
    r = r + t;
  }
  return r;
}

std::string Poly::str(const std::vector<std::string>& names) const {
  if (terms_.empty()) return "0";
  std::string out;
  // Highest monomials first reads best: 128*m*n + 3.
  for (auto it = terms_.rbegin(); it != terms_.rend(); ++it) {
    const auto& [m, c] = *it;
    Wide size = c < 0 ? -c : c;
    if (out.empty()) {
      if (c < 0) out += "-";
    } else {
      out += c < 0 ? "-" : "+";
    }
    bool first = true;
    if (size != 1 || m.empty()) {
      out += to_string(size);
      first = false;
    }
    for (const auto& [s, e] : m)
      for (unsigned k = 0; k < e; ++k) {
        if (!first) out += "*";
        out += names.at(s);
        first = false;
      }
  }
  return out;
}

// If p = q d, then in every turn the leading term of what is left of p is that of the rest of q times that of d: where the latter
// does not divide it, there is no q. Each turn takes the leading term away and brings smaller ones only, and a monomial order
// has no endless descent.
std::optional<Poly> exact_quotient(const Poly& p, const Poly& d) {
  if (d.is_zero()) return std::nullopt;
  Poly rest = p;
  Poly q;
  const auto& lead = leading(d);
  while (!rest.is_zero()) {
    const auto& top = leading(rest);
    auto m = quotient(top.first, lead.first);
    // Over the integers: a leading coefficient that does not divide means that the quotient would have
    // fractions.
    if (!m || top.second % lead.second != 0) return std::nullopt;
    Poly step = Poly(top.second / lead.second);
    for (const auto& [s, e] : *m)
      for (unsigned k = 0; k < e; ++k) step = step * Poly::symbol(s);
    q = q + step;
    rest = rest - step * d;
  }
  return q;
}

// p = q d + r + left holds before and after every turn, whatever is chosen for q: the caller has to show 0 <= r < d before q is
// the quotient.
std::pair<Poly, Poly> quotient_and_rest(const Poly& p, const Poly& d) {
  if (auto whole = exact_quotient(p, d)) return {*whole, Poly()};
  Poly q, r;
  auto unit = [](const Monomial& m) {
    Poly u(1);
    for (const auto& [s, e] : m)
      for (unsigned k = 0; k < e; ++k) u = u * Poly::symbol(s);
    return u;
  };
  if (auto number = d.constant()) {
    for (const auto& [m, c] : p.terms()) {
      // Term by term, rounding down, so that each coefficient of the rest is in [0, d) and a rest that is a
      // number is the remainder. Of a rest with symbols in it nothing is said.
      q = q + Poly(floor_div(c, *number)) * unit(m);
      r = r + Poly(floor_mod(c, *number)) * unit(m);
    }
    return {q, r};
  }
  const auto& lead = leading(d);
  Poly left = p;
  while (!left.is_zero()) {
    const auto [monomial, c] = leading(left);
    auto m = quotient(monomial, lead.first);
    // Towards 0, so that what is left of the coefficient is smaller in size, and too small in the next turn.
    Wide times = m ? c / lead.second : 0;
    if (times == 0) {
      r = r + Poly(c) * unit(monomial);
      left = left - Poly(c) * unit(monomial);
      continue;
    }
    Poly step = Poly(times) * unit(*m);
    q = q + step;
    left = left - step * d;
  }
  return {q, r};
}

} // namespace inlay::solver
