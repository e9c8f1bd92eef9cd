// Sums of digits: what is known of quotients and remainders without a prover.
#include "formulas.h"

#include <inlay/codegen/symbol_kinds.h>

namespace inlay::kernels::validate {
namespace {

Sym one(SymContext& c, AtomId atom) {
  const Factor once[] = {{atom, 1}};
  return c.product(Int(1), once);
}

/// The quotient (a p + c) / d with the least d, then a, that has these values at p = from, from + 1, ..
std::optional<Sym> quotient_of(Sym p, std::int64_t from, const std::vector<Int>& values) {
  for (int d = 1; d <= 64; ++d)
    for (int a = 0; a <= 8; ++a) {
      std::int64_t low = INT64_MIN, high = INT64_MAX;
      for (std::size_t k = 0; k < values.size() && low <= high; ++k) {
        const std::int64_t at = values[k].value() * d - a * (from + static_cast<std::int64_t>(k));
        low = std::max(low, at), high = std::min(high, at + d - 1);
      }
      if (low <= high) return floor_div(Sym(a) * p + Sym(low), Sym(d));
    }
  return std::nullopt;
}

/// What s is at each value of its only symbol, when these are few.
std::optional<std::tuple<AtomId, std::int64_t, std::vector<Int>>> table(SymContext& c, Sym s) {
  constexpr std::int64_t few = 4096;
  const std::vector<AtomId> of = symbols(s);
  const Interval range = of.size() == 1 ? c.atom(of[0]).interval : Interval{};
  if (!range.lower || !range.upper || Int(few) <= *range.upper - *range.lower) return std::nullopt;
  std::vector<Int> values;
  for (Int v = *range.lower; v <= *range.upper; v += Int(1)) {
    Assignment numbers;
    numbers.set(of[0], v);
    values.push_back(evaluate(s, numbers));
  }
  return std::tuple{of[0], range.lower->value(), values};
}

} // namespace

bool Formulas::never_negative(Sym s) {
  const Interval i = interval(s);
  return i.lower && *i.lower >= Int(0);
}

Sym Formulas::as_bound(Sym d) const {
  if (!has_quotient(d)) return d;
  const auto all = table(context(), d);
  if (!all) return d;
  const auto& [symbol, from, values] = *all;
  const auto good = [](const Int& v) { return Int(0) <= v; };
  const auto first = std::find_if(values.begin(), values.end(), good);
  const auto end = std::find_if_not(first, values.end(), good);
  if (first == values.end()) return Sym(-1);
  if (first == values.begin()) // from the least one on
    return end == values.end() ? Sym(0)
           : std::find_if(end, values.end(), good) == values.end()
               ? Sym(from + (end - values.begin()) - 1) - one(context(), symbol)
               : d;
  return end == values.end() ? one(context(), symbol) - Sym(from + (first - values.begin())) : d;
}

Sym Formulas::by_tables(Sym s) const {
  if (s.is_constant()) return s;
  SymContext& c = context();
  std::vector<std::pair<AtomId, Sym>> rules;
  const std::function<void(Sym)> look = [&](Sym in) {
    for (const Term& t : in.terms())
      for (const Factor& f : t.factors()) {
        const SymAtom atom = c.atom(f.atom);
        if (atom.kind == AtomKind::symbol) continue;
        const auto [at, fresh] = tabled_.try_emplace(f.atom);
        if (fresh && atom.kind == AtomKind::floor_div) {
          if (const auto all = table(c, one(c, f.atom))) {
            const auto& [symbol, from, values] = *all;
            const auto [known, first] = by_table_.try_emplace({symbol, values});
            if (first) known->second = quotient_of(one(c, symbol), from, values).value_or(one(c, f.atom));
            tabled_[f.atom] = known->second;
          }
        }
        if (const std::optional<Sym> by = tabled_[f.atom]; by)
          rules.emplace_back(f.atom, *by);
        else
          for (const Sym& x : atom.operands) look(x);
      }
  };
  look(s);
  return rules.empty() ? s : substitute(s, rules);
}

Sym Formulas::digits(Sym s) {
  SymContext& c = context();
  s = by_tables(s);
  const auto digit = [&](Sym x, Sym divisor, const Interval& range) {
    const auto [at, fresh] = digits_.try_emplace({x, divisor});
    if (fresh) // a name for all Formulas of these symbols: another one of the same name has the same range
      at->second = symbol_of(c, codegen::SymbolKind::digit, {random_of(stable_hash(x), stable_hash(divisor))},
                             "", range);
    return at->second;
  };
  const auto quotient_in = [&](const Term& t) -> std::optional<AtomId> {
    for (const Factor& f : t.factors())
      if (f.power == 1 && c.atom(f.atom).kind == AtomKind::floor_div) return f.atom;
    return std::nullopt;
  };
  // m x - m q (x / q) is m times a remainder where all of m x is there.
  const auto remainder = [&]() -> std::optional<Sym> {
    for (const Term& t : s.terms()) {
      const auto at = quotient_in(t);
      if (!at) continue;
      const Sym quotient = one(c, *at), x = c.atom(*at).operands[0], q = c.atom(*at).operands[1];
      const Interval of_q = interval(q);
      const auto m = divide_exactly(-c.product(t.coefficient, t.factors()), quotient * q);
      if (!m || !of_q.lower || *of_q.lower < Int(1)) continue;
      const Interval range{Int(0), of_q.upper ? std::optional(*of_q.upper - Int(1)) : std::nullopt};
      const Sym out = s + *m * (q * quotient - x + digit(x, q, range));
      if (out.terms().size() < s.terms().size()) return out;
    }
    return std::nullopt;
  };
  while (const auto shorter = remainder()) s = *shorter;
  for (bool again = true; again;) {
    again = false;
    for (const Term& t : s.terms())
      if (const auto at = quotient_in(t)) {
        const Sym quotient = one(c, *at);
        const std::pair<AtomId, Sym> rule[] = {{*at, digit(quotient, Sym(0), interval(quotient))}};
        s = substitute(s, rule);
        again = true;
        break;
      }
  }
  return s;
}

std::optional<Int> Formulas::most(Sym s, const std::vector<Sym>& at_least_0) {
  s = digits(s);
  for (const Sym& of : at_least_0) {
    const Sym d = digits(of);
    for (const Term& t : d.terms()) {
      if (t.coefficient != Int(-1) || t.factors().size() != 1 || t.factors()[0].power != 1) continue;
      const AtomId x = t.factors()[0].atom;
      const Sym rest = d - d.context()->product(t.coefficient, t.factors());
      const std::vector<AtomId> of_rest = symbols(rest);
      bool grows = never_negative(d.context()->product(Int(1), t.factors())) &&
                   d.context()->atom(x).kind == AtomKind::symbol &&
                   std::find(of_rest.begin(), of_rest.end(), x) == of_rest.end();
      bool there = false;
      for (const Term& of_s : s.terms()) {
        bool mentioned = false, plain = false;
        Sym others(of_s.coefficient);
        for (const Factor& f : of_s.factors()) {
          const Factor once[] = {f};
          const Sym factor = d.context()->product(Int(1), once);
          const std::vector<AtomId> in = symbols(factor);
          mentioned = mentioned || std::find(in.begin(), in.end(), x) != in.end();
          if (f.atom == x)
            plain = f.power == 1;
          else
            others *= factor;
        }
        there = there || plain;
        grows = grows && (!mentioned || (plain && never_negative(others)));
        if (plain) {
          const std::vector<AtomId> in = symbols(others);
          grows = grows && std::find(in.begin(), in.end(), x) == in.end();
        }
      }
      if (!grows || !there) continue;
      const std::pair<AtomId, Sym> rule[] = {{x, rest}};
      s = substitute(s, rule);
    }
  }
  return interval(s).upper;
}

} // namespace inlay::kernels::validate
