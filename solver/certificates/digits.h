/// The claim's functions over digits: the algebra in which Evaluation (statement.h) works out x / d, x % d and x ^ y exactly.
///
/// x / d is the part of x that d divides, x % d the rest; that 0 <= rest < d is noted as an inequality to be shown, after which
/// the quotient is unique. Digits of extent 2 are bits, and what is xored of them are parities.
#pragma once

#include "certificates/polynomials.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <tuple>

namespace inlay::solver::independent {

struct Variable {
  enum class Kind { symbol, digit, parity } kind;
  std::string smt;
  Number lower = 0;            // symbol
  std::optional<Number> upper; // symbol
  Sum extent;                  // digit
  std::uint64_t mask = 0;      // parity, of the bits
  bool unbounded = false;      // digit
  bool turned = false;         // digit: a rotation stands in its place
  bool boxed = false; // digit: of one box, which may be empty; only goals that name it know of its bounds
  enum class Of { least, greatest, quotient };
  struct Sides {
    Of what;
    Sum a, b;
  };
  std::optional<Sides> of{};  // symbol: min(a, b), max(a, b), or a / b rounded down where b >= 1
  std::optional<Number> at{}; // symbol: its value at the point at which guesses are made
};

class Digits {
public:
  using Value = Sum;

  int add(Variable v) {
    all.push_back(std::move(v));
    return static_cast<int>(all.size() - 1);
  }
  static Sum variable(int v) {
    Sum s;
    s.terms[{v}] = 1;
    return s;
  }
  // A digit in [0, extent); one of two values is a bit.
  Sum digit(const Sum& extent, const std::string& name) {
    if (number_in(extent) == Number{1}) return {};
    if (number_in(extent) == Number{2}) {
      if (bits == 62) throw Stuck("more than 62 bits");
      return parity(std::uint64_t{1} << bits++);
    }
    Variable v{Variable::Kind::digit, name, 0, {}, extent, 0, false};
    return variable(add(v));
  }
  // All that is left of a coordinate, in [0, oo).
  Sum tail(const std::string& name) {
    Variable v{Variable::Kind::digit, name, 0, {}, {}, 0, true};
    return variable(add(v));
  }
  Sum parity(std::uint64_t mask) {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].kind == Variable::Kind::parity && all[k].mask == mask) return variable(static_cast<int>(k));
    return variable(add({Variable::Kind::parity, "p" + std::to_string(mask), 0, {}, {}, mask, false}));
  }

  static Sum number(Number n) { return constant(n); }
  static Sum add(const Sum& a, const Sum& b) { return a + b; }
  static Sum multiply(const Sum& a, const Sum& b) { return a * b; }
  Sum divide(const Sum& a, const Sum& d) {
    if (auto q = quotient_of(a, d)) return *q;
    return parts(a, d).first;
  }
  Sum modulo(const Sum& a, const Sum& d) {
    if (auto y = rotated(a, d)) return *y;
    if (auto q = quotient_of(a, d)) return a - d * *q;
    return parts(a, d).second;
  }
  static Sum power(const Sum& s) {
    auto n = number_in(s);
    if (!n || *n < 0 || *n > 60) throw Stuck("a shift that is not a number");
    return constant(Number{1} << static_cast<int>(*n));
  }
  static bool truth(const Sum& s) {
    auto n = number_in(s);
    if (!n) throw Stuck("a condition that depends on the index");
    return *n != 0;
  }
  // Guessed at one point, then an inequality to be shown.
  bool compare(const std::string& op, const Sum& a, const Sum& b) {
    Sum d = b - a;
    Number here = likely(d);
    if (op == "==" || op == "!=") {
      if (d.terms.empty()) return op == "==";
      nonnegative(here > 0 ? d - constant(1) : constant(-1) * d - constant(1));
      return op == "!=";
    }
    bool strict = op == "<" || op == ">";
    if (op == ">" || op == ">=") d = constant(-1) * d, here = -here;
    bool yes = strict ? here > 0 : here >= 0;
    if (yes) {
      nonnegative(strict ? d - constant(1) : d);
    } else {
      nonnegative(strict ? constant(-1) * d : constant(-1) * d - constant(1));
    }
    return yes;
  }
  // A sign that p has where it has one: certain before guessed.
  [[nodiscard]] Number likely(const Sum& p) const {
    auto low = least(p), high = least(constant(-1) * p);
    if (low && surely(*low - constant(1))) return 1;
    if (high && surely(*high - constant(1))) return -1;
    if (low && surely(*low)) return std::max<Number>(sample(p), 0);
    if (high && surely(*high)) return std::min<Number>(sample(p), 0);
    return sample(p);
  }
  // min or max of symbols that nothing decides: a number of its own, of which a solver is told what it is. Nothing for other
  // operands, whose side is guessed.
  std::optional<Sum> choice(bool least, const Sum& a, const Sum& b) {
    for (bool first : {true, false}) {
      auto apart = this->least(first ? b - a : a - b);
      if (apart && surely(*apart)) return first == least ? a : b;
    }
    if (!of_symbols(a) || !of_symbols(b)) return std::nullopt;
    const Variable::Of side = least ? Variable::Of::least : Variable::Of::greatest;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].of && all[k].of->what == side &&
          ((all[k].of->a == a && all[k].of->b == b) || (all[k].of->a == b && all[k].of->b == a)))
        return variable(static_cast<int>(k));
    for (Number lower : {1, 0}) {
      bool of_a = surely(a - constant(lower)), of_b = surely(b - constant(lower));
      if (least ? !of_a || !of_b : !of_a && !of_b) continue;
      Variable v{Variable::Kind::symbol, "m_" + std::to_string(all.size()), lower, {}, {}, 0, false};
      if (least) v.upper = number_in(a) ? number_in(a) : number_in(b);
      v.of = Variable::Sides{side, a, b};
      return variable(add(std::move(v)));
    }
    return std::nullopt;
  }
  // A quotient of symbols that no polynomial is: a number of its own, of which a solver is told what it is. Only where the
  // certificate says so, as elsewhere a rest that is in bounds by the facts makes the quotient exact.
  std::optional<Sum> quotient_of(const Sum& a, const Sum& d) {
    if (!named_quotients || !of_symbols(a) || !of_symbols(d) || number_in(a)) return std::nullopt;
    // The divisor is at least 1 and the dividend at least 0 for all values in the symbols' bounds, so that there is such a number.
    if (!surely(d - constant(1)) || !surely(a) || certain_parts(a, d)) return std::nullopt;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].of && all[k].of->what == Variable::Of::quotient && all[k].of->a == a && all[k].of->b == d)
        return variable(static_cast<int>(k));
    const Number lower = surely(a - d) ? 1 : 0;
    Variable v{Variable::Kind::symbol, "m_" + std::to_string(all.size()), lower, {}, {}, 0, false};
    v.of = Variable::Sides{Variable::Of::quotient, a, d};
    return variable(add(std::move(v)));
  }
  bool named_quotients = false; ///< the certificate's line "named quotients"

  Sum bitwise(char op, const Sum& a, const Sum& b) {
    if (op == '&')
      for (const auto& [mask, x] : {std::pair{a, b}, std::pair{b, a}})
        if (auto n = number_in(mask); n && *n >= 0 && ((*n + 1) & *n) == 0)
          return modulo(x, constant(*n + 1));
    auto wa = width(a), wb = width(b);
    if (!wa && !wb) throw Stuck("bit operations on two unbounded values");
    int w = wa && wb ? std::min(*wa, *wb) : wa ? *wa : *wb;
    auto [low_a, high_a] = taken_apart(a, w);
    auto [low_b, high_b] = taken_apart(b, w);
    // One of the two is below 2^w: its high part is 0.
    Sum out;
    if (op != '&') out = (high_a + high_b) * constant(Number{1} << w);
    for (int j = 0; j < w; ++j) {
      Bit x = low_a[static_cast<std::size_t>(j)], y = low_b[static_cast<std::size_t>(j)], z;
      if (op == '^') {
        z = {x.mask ^ y.mask, x.flip != y.flip};
      } else {
        if (y.mask != 0) std::swap(x, y);
        bool absorbing = y.flip == (op == '|'); // the constant y decides
        if (y.mask != 0) {
          if (x.mask != y.mask || x.flip != y.flip) throw Stuck("& or | of two different bits");
          z = x;
        } else {
          z = absorbing ? Bit{0, op == '|'} : x;
        }
      }
      Sum weight = constant(Number{1} << j);
      if (z.flip) out = out + weight;
      if (z.mask != 0) out = out + (z.flip ? constant(-1) : constant(1)) * weight * parity(z.mask);
    }
    return out;
  }

  void nonnegative(const Sum& p) {
    auto n = number_in(p);
    if (n && *n >= 0) return;
    if (std::find(inequalities.begin(), inequalities.end(), p) == inequalities.end())
      inequalities.push_back(p);
  }

  // A little above the least value, where strides are seldom equal by accident.
  [[nodiscard]] static Number usual(const Variable& x) {
    Number value = plus(x.lower, 2);
    return x.upper ? std::min(value, *x.upper) : value;
  }
  // Value at one point where the facts hold (Derivation::choose_point), or elsewhere; digits 0. Only ever a guess, which numbers
  // beyond 128 bits may spoil but not stop.
  enum class Point { facts, usual, far };
  static constexpr Number most_sampled = Number{1} << 120; ///< beyond it all are the same
  [[nodiscard]] Number sample(const Sum& p, Point where = Point::facts) const {
    auto bounded = [&](Number a, Number b, bool product) {
      Number r = 0;
      bool beyond = product ? __builtin_mul_overflow(a, b, &r) : __builtin_add_overflow(a, b, &r);
      if (beyond) r = (product ? (a < 0) != (b < 0) : a < 0) ? -most_sampled : most_sampled;
      return std::clamp(r, -most_sampled, most_sampled);
    };
    Number sum = 0;
    for (const auto& [product, c] : p.terms) {
      Number t = c;
      for (int v : product) {
        const Variable& x = all[static_cast<std::size_t>(v)];
        Number value = 0;
        if (x.of) {
          Number one = sample(x.of->a, where), other = sample(x.of->b, where);
          if (x.of->what == Variable::Of::quotient)
            value = other >= 1 ? quotient(one, other) : 0;
          else
            value = (one < other) == (x.of->what == Variable::Of::least) ? one : other;
        } else if (x.kind == Variable::Kind::symbol && where == Point::far) {
          value = bounded(x.lower, 1000 + 77 * v, false);
          if (x.upper) value = std::min(value, *x.upper);
        } else if (x.kind == Variable::Kind::symbol) {
          value = x.at && where == Point::facts ? *x.at : usual(x);
        }
        t = bounded(t, value, true);
      }
      sum = bounded(sum, t, false);
    }
    return sum;
  }
  // Smaller where the facts hold; where both are the same, by what they are elsewhere, or by their degrees beyond what is sampled.
  [[nodiscard]] bool smaller(const Sum& a, const Sum& b) const {
    const auto key = [&](const Sum& s) {
      const Number here = sample(s);
      std::size_t degree = 0;
      for (const auto& [product, c] : s.terms)
        degree = std::max(degree, here == most_sampled ? product.size() : 0);
      return std::tuple(here, sample(s, Point::usual), degree);
    };
    return key(a) < key(b);
  }
  /// Whether the facts hold at Point::far: else what is there says nothing (Derivation::choose_point).
  bool far_is_one = true;

  // Is p >= 0? Every coefficient is nonnegative once each symbol is written as its least value plus more, say.
  [[nodiscard]] bool surely(const Sum& p) const {
    try {
      return by_coefficients(p) || by_terms(p);
    } catch (const Stuck&) { // beyond 128 bits, where solvers go on
      return false;
    }
  }
  [[nodiscard]] bool by_coefficients(const Sum& p) const {
    Sum shifted;
    for (const auto& [product, c] : p.terms) {
      Sum t = constant(c);
      for (int v : product) {
        const Variable& x = all[static_cast<std::size_t>(v)];
        if (x.kind != Variable::Kind::symbol) return false;
        t = t * (variable(v) + constant(x.lower));
      }
      shifted = shifted + t;
    }
    return std::all_of(shifted.terms.begin(), shifted.terms.end(),
                       [](const auto& t) { return t.second >= 0; });
  }
  // Term by term, each symbol at the end of its range that makes the term least.
  [[nodiscard]] bool by_terms(const Sum& p) const {
    Number low = 0;
    for (const auto& [product, c] : p.terms) {
      Number t = c;
      for (int v : product) {
        const Variable& x = all[static_cast<std::size_t>(v)];
        if (x.kind != Variable::Kind::symbol || x.lower < 0 || (c < 0 && !x.upper)) return false;
        t = times(t, c < 0 ? *x.upper : x.lower);
      }
      low = plus(low, t);
    }
    return low >= 0;
  }

  // The least value of p over all digits, as a polynomial in symbols, when the coefficient of every digit has a known
  // sign; digits must enter linearly.
  [[nodiscard]] std::optional<Sum> least(const Sum& p) const {
    Sum out;
    std::map<int, Sum> by_digit;
    for (const auto& [product, c] : p.terms) {
      int digit = -1;
      Sum rest = constant(c);
      for (int v : product) {
        if (all[static_cast<std::size_t>(v)].kind == Variable::Kind::symbol) {
          rest = rest * variable(v);
        } else if (digit >= 0) {
          return std::nullopt;
        } else {
          digit = v;
        }
      }
      if (digit < 0) {
        out = out + rest;
      } else {
        by_digit[digit] = by_digit[digit] + rest;
      }
    }
    for (const auto& [d, c] : by_digit) {
      if (surely(c)) continue;
      if (!surely(constant(-1) * c)) return std::nullopt;
      const Variable& x = all[static_cast<std::size_t>(d)];
      if (x.unbounded) return std::nullopt;
      out = out + c * (x.kind == Variable::Kind::parity ? constant(1) : x.extent - constant(1));
    }
    return out;
  }

  std::vector<Variable> all;
  std::vector<Sum> inequalities;
  int bits = 0;
  /// For statements about the image: (x + s) % d with a digit x in [0, d) and an s without x is a permutation of [0, d) for
  /// every s, so a new digit may stand for it, if x is nowhere else (Derivation::items sees to that).
  bool rotations = false;

private:
  struct Rotation {
    Sum of, modulus;
    int digit;
  };
  std::vector<Rotation> turns;

  std::optional<Sum> rotated(const Sum& a, const Sum& d) {
    if (!rotations) return std::nullopt;
    for (const Rotation& r : turns)
      if (r.of == a && r.modulus == d) return variable(r.digit);
    auto slack = least(d - constant(1) - a), low = least(a);
    if (slack && surely(*slack) && low && surely(*low)) return std::nullopt; // a itself
    for (const auto& [product, c] : a.terms) {
      if (product.size() != 1 || (c != 1 && c != -1)) continue;
      const int v = product[0];
      if (all[static_cast<std::size_t>(v)].kind != Variable::Kind::digit ||
          all[static_cast<std::size_t>(v)].unbounded || all[static_cast<std::size_t>(v)].turned ||
          !(all[static_cast<std::size_t>(v)].extent == d))
        continue;
      Sum rest = a - constant(c) * variable(v);
      bool clean = true;
      for (const auto& [other, n] : rest.terms)
        for (int w : other) clean = clean && w != v && !all[static_cast<std::size_t>(w)].turned;
      if (!clean || split(rest, d).second.terms.empty()) continue;
      // The one that is used nowhere else is not known yet: a digit that is left over in the end is found out there.
      if (elsewhere.count(v) != 0) continue;
      all[static_cast<std::size_t>(v)].turned = true;
      Variable y{Variable::Kind::digit, "w" + std::to_string(turns.size()), 0, {}, d, 0, false};
      turns.push_back({a, d, add(std::move(y))});
      return variable(turns.back().digit);
    }
    return std::nullopt;
  }

public:
  /// Digits that are not to be rotated: they occur outside the rotation.
  std::set<int> elsewhere;

private:
  struct Bit {
    std::uint64_t mask = 0;
    bool flip = false;
  };

  std::pair<Sum, Sum> parts(const Sum& a, const Sum& d) {
    for (const auto& [product, c] : d.terms)
      for (int v : product)
        if (all[static_cast<std::size_t>(v)].kind != Variable::Kind::symbol)
          throw Stuck("a divisor that depends on the index");
    // a / d = (-a) / (-d) and a % d = -((-a) % (-d)), rounding down.
    if (sample(d) < 0) {
      auto [q, r] = parts(constant(-1) * a, constant(-1) * d);
      return {q, constant(-1) * r};
    }
    auto found = certain_parts(a, d);
    if (!found) found = split(a, d);
    nonnegative(found->second);
    nonnegative(d - constant(1) - found->second);
    return *found;
  }

  // The formal quotient rounds every coefficient down and may be off by some: there is one quotient whose rest is in bounds.
  [[nodiscard]] std::optional<std::pair<Sum, Sum>> certain_parts(const Sum& a, const Sum& d) const {
    auto certain = [&](const Sum& p) {
      auto low = least(p);
      return low && surely(*low);
    };
    auto down = split(a, d), up = split(constant(-1) * a, d);
    for (const auto& [q, r] : {down, std::pair{constant(-1) * up.first, constant(-1) * up.second}})
      for (int off : {0, -1, 1})
        if (Sum rest = r - constant(off) * d; certain(rest) && certain(d - constant(1) - rest))
          return std::pair{q + constant(off), rest};
    return std::nullopt;
  }

  [[nodiscard]] bool of_symbols(const Sum& s) const {
    for (const auto& [product, c] : s.terms)
      for (int v : product)
        if (all[static_cast<std::size_t>(v)].kind != Variable::Kind::symbol) return false;
    return true;
  }

  // Bits needed for a sum of parities and a number; nothing for anything else.
  [[nodiscard]] std::optional<int> width(const Sum& s) const {
    Number low = 0, high = 0;
    for (const auto& [product, c] : s.terms) {
      if (product.empty()) {
        low = plus(low, c), high = plus(high, c);
        continue;
      }
      if (product.size() != 1 || all[static_cast<std::size_t>(product[0])].kind != Variable::Kind::parity)
        return std::nullopt;
      (c > 0 ? high : low) = plus(c > 0 ? high : low, c);
    }
    if (low < 0) return std::nullopt;
    constexpr int most = 60;
    int w = 0;
    while (w <= most && (Number{1} << w) <= high) ++w;
    if (w > most) return std::nullopt;
    return w;
  }

  // s = sum of 2^j bit_j for j < w, plus 2^w high: exact, or Stuck.
  [[nodiscard]] std::pair<std::vector<Bit>, Sum> taken_apart(const Sum& s, int w) const {
    Number block = Number{1} << w, base = 0;
    std::vector<Bit> bit(static_cast<std::size_t>(w));
    Sum high;
    std::uint64_t used = 0;
    for (const auto& [product, c] : s.terms) {
      Number rest = plus(c, -times(quotient(c, block), block));
      if (product.empty()) {
        base = plus(base, c);
      } else if (rest == 0) {
        high.terms[product] = c / block;
      } else {
        bool is_bit =
            product.size() == 1 && all[static_cast<std::size_t>(product[0])].kind == Variable::Kind::parity;
        Number size = c < 0 ? -c : c;
        if (!is_bit || size >= block || (used & static_cast<std::uint64_t>(size)) != 0)
          throw Stuck("bits that carry");
        used |= static_cast<std::uint64_t>(size);
        if (c < 0) base = plus(base, c); // -p = (1 - p) - 1
        // A weight of several bits (3 p) has its parity in each of them.
        for (int j = 0; j < w; ++j)
          if ((size >> j) & 1)
            bit[static_cast<std::size_t>(j)] = {all[static_cast<std::size_t>(product[0])].mask, c < 0};
      }
    }
    Number low = plus(base, -times(quotient(base, block), block));
    high = high + constant(quotient(base, block));
    if ((used & static_cast<std::uint64_t>(low)) != 0) throw Stuck("bits that carry");
    for (int j = 0; j < w; ++j)
      if ((low >> j) & 1) bit[static_cast<std::size_t>(j)] = {0, true};
    return {bit, high};
  }
};

} // namespace inlay::solver::independent
