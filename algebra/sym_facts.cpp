// What is known about a value: bounds, residue classes, and the answers to eq, le and divides that follow.
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>

#include <algorithm>

namespace inlay {
namespace {

using Bound = std::optional<Int>; // nothing: unbounded, or too large to say

Bound add(Bound a, Bound b) {
  std::int64_t r = 0;
  if (!a || !b || __builtin_add_overflow(a->value(), b->value(), &r)) return std::nullopt;
  return Int(r);
}

// A bound that may be infinite in a known direction, so that 0 * infinity is 0 and signs are kept.
struct Extended {
  int infinite = 0; // -1, 0, +1
  Int value = 0;
};

Extended multiply(Extended a, Extended b) {
  const auto sign = [](Extended e) { return e.infinite != 0 ? e.infinite : (e.value > 0) - (e.value < 0); };
  const int s = sign(a) * sign(b);
  if (s == 0) return {0, 0};
  std::int64_t r = 0;
  if (a.infinite != 0 || b.infinite != 0 || __builtin_mul_overflow(a.value.value(), b.value.value(), &r))
    return {s, 0};
  return {0, r};
}

bool less(Extended a, Extended b) {
  if (a.infinite != b.infinite) return a.infinite < b.infinite;
  return a.infinite == 0 && a.value < b.value;
}

Interval multiply(const Interval& a, const Interval& b) {
  const Extended al = a.lower ? Extended{0, *a.lower} : Extended{-1, 0};
  const Extended au = a.upper ? Extended{0, *a.upper} : Extended{1, 0};
  const Extended bl = b.lower ? Extended{0, *b.lower} : Extended{-1, 0};
  const Extended bu = b.upper ? Extended{0, *b.upper} : Extended{1, 0};
  const Extended corners[] = {multiply(al, bl), multiply(al, bu), multiply(au, bl), multiply(au, bu)};
  const Extended lo = *std::min_element(std::begin(corners), std::end(corners), less);
  const Extended hi = *std::max_element(std::begin(corners), std::end(corners), less);
  return {lo.infinite == 0 ? Bound(lo.value) : std::nullopt,
          hi.infinite == 0 ? Bound(hi.value) : std::nullopt};
}

Interval power(const Interval& a, std::uint32_t n) {
  Interval r = a;
  for (std::uint32_t i = 1; i < n; ++i) r = multiply(r, a);
  if (n % 2 == 0 && !(r.lower && *r.lower >= 0)) r.lower = Int(0); // an even power is no negative number
  return r;
}

Interval add(const Interval& a, const Interval& b) { return {add(a.lower, b.lower), add(a.upper, b.upper)}; }

// Term by term; exact when no atom occurs twice.
Interval termwise(Sym a) {
  Interval sum{a.constant_term(), a.constant_term()};
  for (const Term& t : a.terms()) {
    Interval product{t.coefficient, t.coefficient};
    for (const Factor& f : t.factors())
      product = multiply(product, power(a.context()->atom(f.atom).interval, f.power));
    sum = add(sum, product);
  }
  return sum;
}

// With every atom x >= lo written as lo + x', x' >= 0: m*n - m has the lower bound 0 that term by term it has
// not. Only bounds are read from the result, so the shifted polynomial reuses the names of its atoms.
Interval shifted(Sym a) {
  SymContext& context = *a.context();
  Sym moved = a.constant_term();
  for (const Term& t : a.terms()) {
    Sym product = t.coefficient;
    for (const Factor& f : t.factors())
      for (std::uint32_t i = 0; i < f.power; ++i)
        product *= context.value(f.atom) + context.atom(f.atom).interval.lower.value_or(0);
    moved += product;
  }
  Interval sum{moved.constant_term(), moved.constant_term()};
  for (const Term& t : moved.terms()) {
    Interval product{t.coefficient, t.coefficient};
    for (const Factor& f : t.factors()) {
      Interval x = context.atom(f.atom).interval;
      if (x.lower) {
        if (x.upper) x.upper = add(x.upper, -*x.lower);
        x.lower = Int(0);
      }
      product = multiply(product, power(x, f.power));
    }
    sum = add(sum, product);
  }
  return sum;
}

// A term of degree n can become 2^n terms: far beyond what layouts have, bounds are not worth that.
bool few_when_shifted(Sym a) {
  constexpr std::size_t most = 512;
  std::size_t total = 0;
  for (const Term& t : a.terms()) {
    std::size_t terms = 1;
    for (const Factor& f : t.factors()) {
      terms *= std::size_t{f.power} + 1;
      if (terms > most) return false;
    }
    total += terms;
  }
  return total <= most;
}

bool single_atoms(Sym a) { // then term-by-term bounds are already exact
  SmallVector<AtomId, 16> seen;
  for (const Term& t : a.terms())
    for (const Factor& f : t.factors()) {
      if (std::find(seen.begin(), seen.end(), f.atom) != seen.end()) return false;
      seen.push_back(f.atom);
    }
  return true;
}

Interval meet(const Interval& a, const Interval& b) {
  Interval r = a;
  if (b.lower && (!r.lower || *r.lower < *b.lower)) r.lower = b.lower;
  if (b.upper && (!r.upper || *b.upper < *r.upper)) r.upper = b.upper;
  return r;
}

// A bound of a - x_max: replaces an atom that occurs only once, linearly and with a negative coefficient, by
// a value it never exceeds: mod(x, m) <= m - 1, floor_div(x, m) * m <= x for positive m is left to the
// solver.
std::optional<Sym> relax(Sym a) {
  SymContext& context = *a.context();
  for (const Term& t : a.terms()) {
    if (t.coefficient > 0 || t.factors().size() != 1 || t.factors()[0].power != 1) continue;
    const AtomId id = t.factors()[0].atom;
    const SymAtom& atom = context.atom(id);
    if (atom.kind != AtomKind::mod || atom.operands[1].is_constant()) continue;
    if (interval(atom.operands[1]).lower.value_or(0) < 1) continue;
    return a + (-t.coefficient) * context.value(id) + t.coefficient * (atom.operands[1] - 1);
  }
  return std::nullopt;
}

Residue combine(const Residue& a, const Residue& b) { // of a sum
  const Int m = gcd(a.modulus, b.modulus);
  const Int r = a.residue + b.residue;
  return {m, m == 0 ? r : floor_mod(r, m)};
}

Residue scale(const Residue& a, Int factor) {
  return {abs(a.modulus * factor),
          a.modulus == 0 ? a.residue * factor : floor_mod(a.residue * factor, abs(a.modulus * factor))};
}

Residue times(const Residue& a, const Residue& b) {
  // (ra + ma x)(rb + mb y) = ra rb  (mod gcd(ma mb, ra mb, rb ma))
  const Int m = gcd(gcd(a.modulus * b.modulus, a.residue * b.modulus), b.residue * a.modulus);
  const Int r = a.residue * b.residue;
  return {m, m == 0 ? r : floor_mod(r, m)};
}

Residue either(const Residue& a, const Residue& b) { // of one of two values
  const Int m = gcd(gcd(a.modulus, b.modulus), a.residue - b.residue);
  return {m, m == 0 ? a.residue : floor_mod(a.residue, m)};
}

Int low_power_of_two(Int n) { // the largest power of two that divides n; 2^62 for 0
  if (n == 0) return std::int64_t{1} << 62;
  return n.value() & -n.value();
}

Int power_above(Int n) { // the smallest power of two above n >= 0
  std::int64_t p = 1;
  while (p <= n.value() && p < (std::int64_t{1} << 62)) p <<= 1;
  return p;
}

} // namespace

namespace detail {

// Fills in the interval and the residue class of an operation from its operands.
void derive_facts(SymAtom& atom) {
  std::vector<Interval> in;
  for (const Sym& s : atom.operands) in.push_back(interval(s));
  Interval& out = atom.interval;
  out = {};
  switch (atom.kind) {
  case AtomKind::symbol: return;
  case AtomKind::floor_div: {
    if (const auto b = atom.operands[1].constant(); b && *b > 0) {
      if (in[0].lower) out.lower = floor_div(*in[0].lower, *b);
      if (in[0].upper) out.upper = floor_div(*in[0].upper, *b);
    } else if (in[1].lower && *in[1].lower >= 1) {
      if (in[0].lower)
        out.lower = *in[0].lower >= 0 ? (in[1].upper ? floor_div(*in[0].lower, *in[1].upper) : 0)
                                      : floor_div(*in[0].lower, *in[1].lower);
      if (in[0].upper) out.upper = *in[0].upper >= 0 ? floor_div(*in[0].upper, *in[1].lower) : Int(-1);
    }
    return;
  }
  case AtomKind::mod: {
    if (in[1].lower && *in[1].lower >= 1) {
      out.lower = Int(0);
      if (in[1].upper) out.upper = *in[1].upper - 1;
      if (in[0].lower && *in[0].lower >= 0 && in[0].upper && (!out.upper || *in[0].upper < *out.upper))
        out.upper = in[0].upper;
    }
    if (const auto b = atom.operands[1].constant()) {
      const Residue r = residue(atom.operands[0]);
      const Int m = gcd(r.modulus, *b);
      if (m > 0) atom.residue = {m, floor_mod(r.residue, m)};
    }
    return;
  }
  case AtomKind::min:
  case AtomKind::max: {
    const bool low = atom.kind == AtomKind::min;
    const auto tight = [&](Bound a, Bound b) -> Bound { // needs only one of the two
      if (!a || !b) return a ? a : b;
      return low ? min(*a, *b) : max(*a, *b);
    };
    const auto loose = [&](Bound a, Bound b) -> Bound {
      if (!a || !b) return std::nullopt;
      return low ? min(*a, *b) : max(*a, *b);
    };
    out.lower = low ? loose(in[0].lower, in[1].lower) : tight(in[0].lower, in[1].lower);
    out.upper = low ? tight(in[0].upper, in[1].upper) : loose(in[0].upper, in[1].upper);
    atom.residue = either(residue(atom.operands[0]), residue(atom.operands[1]));
    return;
  }
  case AtomKind::bit_xor:
  case AtomKind::bit_and:
  case AtomKind::bit_or: {
    const bool natural = in[0].lower && in[1].lower && *in[0].lower >= 0 && *in[1].lower >= 0;
    if (natural) {
      out.lower = Int(0);
      if (atom.kind == AtomKind::bit_and) {
        if (in[0].upper || in[1].upper)
          out.upper = !in[1].upper ? in[0].upper
                                   : (!in[0].upper ? in[1].upper : Bound(min(*in[0].upper, *in[1].upper)));
      } else if (in[0].upper && in[1].upper) {
        out.upper = power_above(max(*in[0].upper, *in[1].upper)) - 1;
      }
      if (atom.kind == AtomKind::bit_or) out.lower = max(*in[0].lower, *in[1].lower);
    }
    const auto aligned = [](const Residue& r) { return low_power_of_two(gcd(r.modulus, r.residue)); };
    const Int x = aligned(residue(atom.operands[0]));
    const Int y = aligned(residue(atom.operands[1]));
    const Int m = atom.kind == AtomKind::bit_and ? max(x, y) : min(x, y);
    if (m > 1) atom.residue = {m, 0};
    return;
  }
  case AtomKind::shift_left:
  case AtomKind::shift_right:
    if (in[0].lower && *in[0].lower >= 0) out.lower = Int(0);
    if (atom.kind == AtomKind::shift_right && out.lower) out.upper = in[0].upper;
    return;
  case AtomKind::select:
    out.lower = in[1].lower && in[2].lower ? Bound(min(*in[1].lower, *in[2].lower)) : std::nullopt;
    out.upper = in[1].upper && in[2].upper ? Bound(max(*in[1].upper, *in[2].upper)) : std::nullopt;
    atom.residue = either(residue(atom.operands[1]), residue(atom.operands[2]));
    return;
  case AtomKind::less_equal:
  case AtomKind::equal: out = {Int(0), Int(1)}; return;
  }
}

} // namespace detail

Interval interval(Sym a) {
  if (const auto c = a.constant()) return {*c, *c};
  Interval r = termwise(a);
  if ((!r.lower || !r.upper) && !single_atoms(a) && few_when_shifted(a)) {
    try {
      r = meet(r, shifted(a));
    } catch (const OverflowError&) { // bounds far outside 64 bits say nothing
    }
  }
  return r;
}

Residue residue(Sym a) {
  if (const auto c = a.constant()) return {0, *c};
  try {
    Residue sum{0, a.constant_term()};
    for (const Term& t : a.terms()) {
      Residue product{0, 1};
      for (const Factor& f : t.factors())
        for (std::uint32_t i = 0; i < f.power; ++i)
          product = times(product, a.context()->atom(f.atom).residue);
      sum = combine(sum, scale(product, t.coefficient));
    }
    return sum;
  } catch (const OverflowError&) {
    return {};
  }
}

Truth le(Sym a, Sym b) {
  Sym d = b - a;
  for (int rounds = 0; rounds < 4; ++rounds) {
    const Interval i = interval(d);
    if (i.lower && *i.lower >= 0) return Truth::yes;
    if (rounds == 0 && i.upper && *i.upper < 0) return Truth::no;
    const auto lower = d.is_constant() ? std::nullopt : relax(d);
    if (!lower) break;
    d = *lower;
  }
  return Truth::unknown;
}

Truth eq(Sym a, Sym b) {
  const Sym d = a - b;
  if (const auto c = d.constant()) return truth(*c == 0);
  const Interval i = interval(d);
  if ((i.lower && *i.lower > 0) || (i.upper && *i.upper < 0)) return Truth::no;
  if (i.lower && i.upper && *i.lower == 0 && *i.upper == 0) return Truth::yes;
  const Residue r = residue(d);
  if (r.modulus > 1 && r.residue != 0) return Truth::no;
  return Truth::unknown;
}

Truth divides(Sym a, Sym b) {
  if (b == Sym(0)) return Truth::yes;
  if (divide_exactly(b, a)) return Truth::yes;
  if (const auto c = a.constant()) {
    if (*c == 0) return eq(b, 0);
    const Residue r = residue(b);
    if (r.modulus == 0) return truth(floor_mod(r.residue, *c) == 0);
    const Int m = gcd(r.modulus, *c);
    if (floor_mod(r.residue, m) != 0) return Truth::no;
    if (m == abs(*c)) return Truth::yes;
    return Truth::unknown;
  }
  // 0 < |b| < |a| excludes it.
  const Interval i = interval(b);
  const bool positive = i.lower && *i.lower > 0;
  const bool negative = i.upper && *i.upper < 0;
  if (positive && le(b + 1, a) == Truth::yes) return Truth::no;
  if (negative && le(1 - b, a) == Truth::yes) return Truth::no;
  return Truth::unknown;
}

} // namespace inlay
