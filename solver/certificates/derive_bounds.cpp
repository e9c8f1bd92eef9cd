// Within by intervals: each operation's least and greatest value from those of its operands. The line "bounds of blocks" says that the
// prover went this way, and nothing else: everything is derived here, and what an interval needs (0 <= r, r < d) is shown with the
// rest. Bijections that stay inside by intervals have it beside the digits that tell their indices apart.
#include "certificates/derivation.h"
#include "certificates/derive_raw.h"

#include <algorithm>

namespace inlay::solver::independent {
namespace {

class Ranges {
public:
  struct Value {
    Sum low, high;
    bool known = true; // else nothing is known of it, which is enough for a remainder and for a mask
  };
  explicit Ranges(Digits& digits) : d_(digits) {}

  static Value exactly(const Sum& s) { return {s, s}; }
  static Value number(Number n) { return exactly(constant(n)); }
  static Value add(const Value& a, const Value& b) {
    return {a.low + b.low, a.high + b.high, a.known && b.known};
  }
  Value multiply(const Value& a, const Value& b) {
    if (!a.known || !b.known) return {{}, {}, false};
    // A product of two intervals needs the signs of four ends; of one that is a point, one sign. Kernels
    // multiply by strides.
    const Value &by = a.low == a.high ? a : b, &of = a.low == a.high ? b : a;
    if (!(by.low == by.high)) return {{}, {}, false};
    if (d_.surely(by.low)) return {of.low * by.low, of.high * by.low};
    if (d_.surely(constant(-1) * by.low)) return {of.high * by.low, of.low * by.low};
    return {{}, {}, false}; // a factor of unknown sign
  }
  // By what is at least 1 and no number, a quotient is left open and a remainder below the divisor.
  Value divide(const Value& a, const Value& by) {
    if (positive_symbol(by)) return {{}, {}, false};
    return in_units(a, divisor(by));
  }
  Value modulo(const Value& a, const Value& by) {
    // Below the divisor, whatever is divided, even where nothing is known of it: that its own divisors are
    // positive was asked when they were evaluated.
    if (positive_symbol(by)) return {constant(0), by.high - constant(1)};
    Number n = divisor(by);
    if (a.known && d_.surely(a.low) && d_.surely(constant(n - 1) - a.high))
      return a; // what is below n is its own rest
    return {constant(0), constant(n - 1)};
  }
  static Value power(const Value& s) {
    auto n = number_in(s.low);
    if (!n || !s.known || !(s.low == s.high) || *n < 0 || *n > 60)
      throw Stuck("a shift that is not a number");
    return number(Number{1} << static_cast<int>(*n));
  }
  // Of two ends the one that is always less, or always more; nothing is known where neither is.
  std::optional<Value> choice(bool least, const Value& a, const Value& b) const {
    auto end = [&](const Sum& x, const Sum& y) -> std::optional<Sum> {
      if (d_.surely(least ? y - x : x - y)) return x;
      if (d_.surely(least ? x - y : y - x)) return y;
      return std::nullopt;
    };
    auto low = end(a.low, b.low), high = end(a.high, b.high);
    if (!a.known || !b.known || !low || !high) return Value{{}, {}, false};
    return Value{*low, *high};
  }
  static bool truth(const Value&) { throw Stuck("a condition in a range"); }
  static bool compare(const std::string&, const Value&, const Value&) {
    throw Stuck("a condition in a range");
  }
  // a & b is at most either of them that is never negative. a ^ b and a | b change bits of a below 2^k alone, where b has no others.
  Value bitwise(char op, const Value& a, const Value& b) {
    std::optional<Number> most[2] = {greatest(a), greatest(b)};
    if (!most[0] && !most[1]) return {{}, {}, false};
    // The smaller of two bounds gives the smaller block, and the tighter result.
    int small = most[0] && (!most[1] || *most[0] <= *most[1]) ? 0 : 1;
    if (op == '&') return {constant(0), constant(*most[small])};
    Number block = 1;
    while (block <= *most[small]) block = times(block, 2);
    const Value& x = small == 0 ? b : a;
    if (!x.known) return x;
    // A block begins less than a block below what is in it, and ends less than one above.
    auto low = below(x.low, block), high = above(x.high, block);
    return {low ? constant(block) * *low : x.low - constant(block - 1),
            (high ? constant(block) * *high : x.high) + constant(block - 1)};
  }

private:
  bool positive_symbol(const Value& by) const {
    return by.known && !number_in(by.low) && d_.surely(by.low - constant(1));
  }
  static Number divisor(const Value& by) {
    auto n = number_in(by.low);
    if (!n || !by.known || !(by.low == by.high) || *n < 1)
      throw Stuck("a divisor that is no positive number");
    return *n;
  }
  std::optional<Number> greatest(const Value& v) const {
    auto n = number_in(v.high);
    if (!v.known || !n || *n < 0 || !d_.surely(v.low)) return std::nullopt;
    return n;
  }
  // Quotients that bound the true ones: s = q n + r with r >= 0 has q below it, with r < n above it.
  std::optional<Sum> below(const Sum& s, Number n) const {
    auto [q, r] = split(s, constant(n));
    return d_.surely(r) ? std::optional(q) : std::nullopt;
  }
  std::optional<Sum> above(const Sum& s, Number n) const {
    auto [q, r] = split(s, constant(n));
    return d_.surely(constant(n - 1) - r) ? std::optional(q) : std::nullopt;
  }
  Value in_units(const Value& a, Number n) const {
    auto low = below(a.low, n), high = above(a.high, n);
    if (!a.known || !low || !high) return {{}, {}, false};
    return {*low, *high};
  }

  Digits& d_;
};

} // namespace

void Derivation::by_bounds() {
  if (s.property != "within") throw Stuck("bounds for " + s.property);
  symbols();
  Sum n = e.expression(s.terms[0], user);
  bounded(without_block_swizzles(s.functions[0], n), n);
  finish();
}

void Derivation::counted_by_bounds(const Function& f) {
  apart_only = true;
  Place p = own(f);
  dominated(e.at(f, p.coordinates, user));
  bounded(f, size(f));
}

void Derivation::bounded(const Function& f, const Sum& n) {
  Ranges ranges(d);
  Evaluation<Ranges> evaluation(ranges);
  // A symbol is a point whose value is not known: an interval with both ends the same polynomial.
  std::map<std::string, Ranges::Value> symbol;
  for (const auto& [name, value] : user) symbol[name] = Ranges::exactly(value);
  std::vector<Ranges::Value> coordinates;
  bool quotients = false;
  for (const Expr& x : f.extents) {
    // An extent such as m / 2 is no polynomial, and nothing is said of its coordinate but that the extent is positive.
    // A division leaves inequalities behind, and where it was no exact one they cannot be shown. They are
    // taken back, and the extent is shown to be positive by the claim's own text instead.
    const std::size_t noted = d.inequalities.size();
    Sum extent = e.expression(x, user);
    if (d.inequalities.size() != noted) {
      d.inequalities.resize(noted);
      quotients = true;
      coordinates.push_back({{}, {}, false});
      continue;
    }
    d.nonnegative(extent - constant(1));
    coordinates.push_back({constant(0), extent - constant(1)});
  }
  if (quotients) queries.push_back(positive_extents(s));
  Ranges::Value v = evaluation.at(f, coordinates, symbol);
  if (!v.known) throw Stuck("a value without bounds");
  // Polynomials in the symbols, with no digits in them: what remains is two inequalities for a solver.
  d.nonnegative(v.low);
  d.nonnegative(n - constant(1) - v.high);
}

} // namespace inlay::solver::independent
