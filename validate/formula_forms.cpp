// Forms of sums: what is said of a formula by itself, without words and without the prover.
#include "formulas.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace inlay::kernels::validate {

namespace {
/// A sum with what `of` makes of it in the place of each quotient in it.
template <class F>
Sym with_quotients(Sym s, F of) {
  Sym out(s.constant_term());
  for (const Term& t : s.terms()) {
    Sym product(t.coefficient);
    for (const Factor& f : t.factors()) {
      const SymAtom atom = s.context()->atom(f.atom);
      Sym x = s.context()->product(Int(1), std::array{Factor{f.atom, 1}});
      if (atom.kind == AtomKind::floor_div) x = of(x, atom.operands[0], atom.operands[1]);
      for (std::uint32_t k = 0; k < f.power; ++k) product *= x;
    }
    out += product;
  }
  return out;
}
} // namespace

Sym Formulas::one_quotient(Sym s) {
  return with_quotients(s, [&](Sym, Sym dividend, Sym below) {
    const Sym above = one_quotient(dividend);
    const auto of = (above - Sym(above.constant_term())).as_atom();
    const SymAtom* inner = of ? &s.context()->atom(*of) : nullptr;
    const auto a =
        inner != nullptr && inner->kind == AtomKind::floor_div ? inner->operands[1].constant() : std::nullopt;
    return a && below.constant() && *a > Int(0) && *below.constant() > Int(0)
               ? floor_div(inner->operands[0] + Sym(above.constant_term()) * Sym(*a), below * Sym(*a))
               : floor_div(above, below);
  });
}

namespace {
Int content(Sym s) {
  Int g = s.constant_term();
  for (const Term& t : s.terms()) g = gcd(g, t.coefficient);
  return g;
}
Sym divided(Sym s, Int by) {
  Sym out(floor_div(s.constant_term(), by));
  for (const Term& t : s.terms()) out += s.context()->product(floor_div(t.coefficient, by), t.factors());
  return out;
}
/// x / d for floor(above / below), if it is that of each x.
std::optional<Sym> division(Sym above, Int below) {
  const Int a = content(above);
  if (a <= Int(1) || above.is_constant()) return std::nullopt;
  const Sym x = divided(above, a);
  const Int d = ceil_div(below, a);
  const Interval of = interval(x);
  if (d <= Int(1) || !of.lower || !of.upper || *of.lower < Int(0)) return std::nullopt;
  const auto wide = [](const Int& n) { return static_cast<__int128>(n.value()); };
  const __int128 e = wide(a) * wide(d) - wide(below);
  return e * wide(*of.upper) < wide(below) ? std::optional(floor_div(x, Sym(d))) : std::nullopt;
}
} // namespace

Sym Formulas::by_division(Sym s) {
  if (!has_quotient(s)) return s;
  return with_quotients(s, [&](Sym quotient, Sym dividend, Sym divisor) {
    if (!divisor.constant()) return quotient;
    const Sym above = by_division(dividend);
    const Int below = *divisor.constant();
    for (const Term& t : above.terms()) {
      if (t.coefficient != Int(1) || t.factors().size() != 1 || t.factors()[0].power != 1) continue;
      const SymAtom inner = s.context()->atom(t.factors()[0].atom);
      const auto by = inner.kind == AtomKind::floor_div ? inner.operands[1].constant() : std::nullopt;
      if (!by || *by <= Int(0)) continue;
      const Sym rest = above - s.context()->product(Int(1), t.factors());
      if (const auto whole = division(inner.operands[0] + Sym(*by) * rest, *by * below)) return *whole;
    }
    if (const auto whole = division(above, below)) return *whole;
    return above == dividend ? quotient : floor_div(above, divisor);
  });
}

Sym Formulas::normal(Sym d) {
  Int g = 0;
  for (const Term& t : d.terms()) g = gcd(g, t.coefficient);
  if (g <= Int(1)) return d;
  Sym out(floor_div(d.constant_term(), g));
  for (const Term& t : d.terms()) out += d.context()->product(floor_div(t.coefficient, g), t.factors());
  return out;
}

bool Formulas::has_extreme(Sym s) {
  for (const Term& t : s.terms())
    for (const Factor& f : t.factors()) {
      const AtomKind kind = s.context()->atom(f.atom).kind;
      if (kind == AtomKind::min || kind == AtomKind::max) return true;
    }
  return false;
}

void Formulas::require(Condition& c, Sym d) {
  d = normal(d);
  // The least of two is at least something when both are: one comparison is two, whoever has joined them.
  for (const Term& t : d.terms()) {
    if (t.factors().size() != 1 || t.factors()[0].power != 1) continue;
    const SymAtom& atom = d.context()->atom(t.factors()[0].atom);
    if (atom.kind != (t.coefficient > Int(0) ? AtomKind::min : AtomKind::max)) continue;
    const Sym rest = d - d.context()->product(t.coefficient, t.factors());
    const std::vector<Sym> operands = atom.operands;
    for (const Sym& x : operands) require(c, rest + Sym(t.coefficient) * x);
    return;
  }
  const Interval i = interval(d);
  if (i.lower && *i.lower >= Int(0)) return;
  if (i.upper && *i.upper < Int(0)) c.never = true;
  c.all.push_back(d);
  std::sort(c.all.begin(), c.all.end());
  c.all.erase(std::unique(c.all.begin(), c.all.end()), c.all.end());
}

Sym Formulas::reduced(Sym s) {
  const auto signed_32 = [](Int v) {
    return Int(static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(v.value()))));
  };
  Sym out(signed_32(s.constant_term()));
  for (const Term& t : s.terms()) out += s.context()->product(signed_32(t.coefficient), t.factors());
  return out;
}

namespace {
/// The innermost of the least and largest whose operands have a factor in common, and that.
std::optional<std::pair<AtomId, Int>> with_factor(Sym s) {
  for (const Term& t : s.terms())
    for (const Factor& f : t.factors()) {
      const SymAtom atom = s.context()->atom(f.atom);
      Int g = 0;
      for (const Sym& x : atom.operands) {
        if (const auto inner = with_factor(x)) return inner;
        g = gcd(g, content(x));
      }
      if ((atom.kind == AtomKind::min || atom.kind == AtomKind::max) && g > Int(1))
        return std::pair(f.atom, g);
    }
  return std::nullopt;
}
} // namespace

Sym Formulas::without_factors(Sym s) {
  while (const auto found = with_factor(s)) {
    const SymAtom atom = s.context()->atom(found->first);
    Sym extreme = divided(atom.operands[0], found->second);
    for (std::size_t k = 1; k < atom.operands.size(); ++k) {
      const Sym x = divided(atom.operands[k], found->second);
      extreme = atom.kind == AtomKind::min ? min(extreme, x) : max(extreme, x);
    }
    const std::pair<AtomId, Sym> rule[] = {{found->first, Sym(found->second) * extreme}};
    s = substitute(s, rule);
  }
  return s;
}

namespace {
using Wide = __int128;
constexpr std::int64_t few_digits = std::int64_t{1} << 40;
constexpr Wide widest = Wide{1} << 70; ///< times a number of few digits, 2^17 of that are no more than fits

bool is_small(const Int& n) { return n.value() > -few_digits && n.value() < few_digits; }

/// floor(x / d) by itself, d > 1 a small number: x and d.
std::optional<std::pair<Sym, std::int64_t>> fraction(Sym s, const Term& t) {
  if (t.factors().size() != 1 || t.factors()[0].power != 1) return std::nullopt;
  const SymAtom& atom = s.context()->atom(t.factors()[0].atom);
  const auto d = atom.kind == AtomKind::floor_div ? atom.operands[1].constant() : std::nullopt;
  return d && *d > Int(1) && is_small(*d) ? std::optional(std::pair(atom.operands[0], d->value()))
                                          : std::nullopt;
}

/// A number that all quotients can be brought to; 0: none that is small.
std::int64_t denominator(Sym s) {
  std::int64_t all = 1;
  for (const Term& t : s.terms())
    if (const auto f = fraction(s, t)) {
      const std::int64_t inner = denominator(f->first);
      if (inner == 0 || inner > few_digits / f->second) return 0;
      const std::int64_t of = inner * f->second, more = of / std::gcd(all, of);
      if (all > few_digits / more) return 0;
      all *= more;
    }
  return all;
}

/// `times` s, monomials in `linear`, what is left of it between low and high.
bool spread(Sym s, Wide times, std::map<Sym, Wide>& linear, Wide& low, Wide& high) {
  if (!is_small(s.constant_term()) || times > widest || times < -widest) return false;
  low += times * s.constant_term().value(), high += times * s.constant_term().value();
  for (const Term& t : s.terms()) {
    if (!is_small(t.coefficient)) return false;
    const Wide c = times * t.coefficient.value();
    if (const auto f = fraction(s, t)) {
      const Wide part = c / f->second, cut = part * (f->second - 1);
      if (!spread(f->first, part, linear, low, high)) return false;
      (cut > 0 ? low : high) -= cut;
    } else {
      linear[s.context()->product(Int(1), t.factors())] += c;
    }
  }
  return true;
}
} // namespace

Interval Formulas::range_of_fractions(Sym s) {
  const std::int64_t all = denominator(s);
  std::map<Sym, Wide> linear;
  Wide low = 0, high = 0;
  if (all == 0 || !spread(s, all, linear, low, high)) return {};
  for (const auto& [x, c] : linear) {
    const Interval i = interval(x);
    if (c == 0) continue;
    if (!i.lower || !i.upper || !is_small(*i.lower) || !is_small(*i.upper) || c > widest || c < -widest)
      return {};
    low += c * (c > 0 ? *i.lower : *i.upper).value();
    high += c * (c > 0 ? *i.upper : *i.lower).value();
  }
  const auto rounded = [&](Wide x) { return x / all - (x % all < 0 ? 1 : 0); }; // down
  const Wide first = -rounded(-low), last = rounded(high);
  const Wide end = Wide{1} << 62;
  if (first < -end || last > end) return {};
  return {Int(static_cast<std::int64_t>(first)), Int(static_cast<std::int64_t>(last))};
}

bool Formulas::has_quotient(Sym s) {
  for (const Term& t : s.terms())
    for (const Factor& f : t.factors())
      if (s.context()->atom(f.atom).kind == AtomKind::floor_div) return true;
  return false;
}

} // namespace inlay::kernels::validate
