#include "integers.h"
#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace inlay::kernels::validate {

using codegen::Monoid;

namespace {

/// The number that an element's symbol has in its name.
std::optional<Number> element_of(const SymAtom& atom) {
  if (atom.kind != AtomKind::symbol || !is_of(atom.name, codegen::SymbolKind::element)) return std::nullopt;
  Number n = 0;
  const std::size_t digits = atom.name.find_first_of("0123456789");
  std::from_chars(atom.name.data() + digits, atom.name.data() + atom.name.size(), n);
  return n;
}

std::optional<std::uint32_t> constant_of(Number n) {
  if (n < std::uint64_t{1} << 31) return static_cast<std::uint32_t>(n);
  if (n > prime - (std::uint64_t{1} << 31) - 1) return static_cast<std::uint32_t>(-(prime - n));
  return std::nullopt;
}

Int signed_of(std::uint32_t word) { return Int(std::int64_t{static_cast<std::int32_t>(word)}); }

} // namespace

void Integers::add(Sum& to, const Sum& from, std::uint32_t times) {
  to.constant += times * from.constant;
  for (const Part& p : from.parts) to.parts.push_back({p.of, times * p.times});
}

Integers::Sum Integers::merged(Sum s) {
  std::sort(s.parts.begin(), s.parts.end(), [](const Part& a, const Part& b) { return a.of < b.of; });
  std::size_t out = 0;
  for (std::size_t k = 0; k < s.parts.size(); ++k) {
    if (out > 0 && s.parts[out - 1].of == s.parts[k].of)
      s.parts[out - 1].times += s.parts[k].times;
    else
      s.parts[out++] = s.parts[k];
    if (s.parts[out - 1].times == 0 && (k + 1 == s.parts.size() || s.parts[k + 1].of != s.parts[k].of)) --out;
  }
  s.parts.resize(out);
  return s;
}

bool Integers::in_i32(Sym s) const {
  try {
    return formulas_.as_signed(s).has_value();
  } catch (const std::exception&) { // beyond 64 bits
    return false;
  }
}

Integers::Sum Integers::parts_of(Number word, const Names& names) {
  if (const auto at = sums_.find(word); at != sums_.end()) return at->second;
  if (const auto c = constant_of(word)) return {*c, {}};
  if (const auto at = formula_.find(word);
      at != formula_.end() && (at->second.terms().size() > 1 || at->second.constant_term() != Int(0) ||
                               at->second.terms()[0].coefficient != Int(1)))
    return parts_of(Sym(at->second), names);
  return {0, {{word, 1}}};
}

Number Integers::monomial(Sym m, const Names& names) {
  const auto atom = m.as_atom();
  Number n = 0;
  if (atom) {
    const SymAtom of = formulas_.context().atom(*atom);
    if (const auto e = element_of(of)) {
      n = *e;
    } else if (of.kind == AtomKind::select) {
      const Sym condition = of.operands[0], yes = of.operands[1], no = of.operands[2];
      const auto c = condition.as_atom();
      if (c && formulas_.context().atom(*c).kind == AtomKind::less_equal) {
        const std::vector<Sym> sides = formulas_.context().atom(*c).operands;
        n = choose(names.condition(sides[1] - sides[0]), this->of(yes, names), this->of(no, names));
      }
    }
  }
  if (n == 0) n = in_i32(m) ? names.number(m) : apply(Function::word, stable_hash(m));
  formula_.try_emplace(n, m);
  if (names.said) names.said(m);
  return n;
}

Integers::Sum Integers::parts_of(Sym s, const Names& names) {
  Sum out;
  out.constant = static_cast<std::uint32_t>(static_cast<std::uint64_t>(s.constant_term().value()));
  for (const inlay::Term& t : s.terms()) {
    const auto times = static_cast<std::uint32_t>(static_cast<std::uint64_t>(t.coefficient.value()));
    const Sym m = formulas_.context().product(Int(1), t.factors()), fixed = names.fixed(m);
    if (fixed != m) {
      Names as_is = names;
      as_is.fixed = [](Sym x) { return x; };
      add(out, parts_of(Formulas::reduced(fixed), as_is), times);
      continue;
    }
    const Number n = monomial(m, names);
    if (const auto at = sums_.find(n); at != sums_.end()) // an element that is a sum
      add(out, at->second, times);
    else
      out.parts.push_back({n, times});
  }
  return merged(std::move(out));
}

Number Integers::of(Sym formula, const Names& names) {
  const Sym s = Formulas::reduced(formula);
  if (!s.is_constant() && !Formulas::has_element(s) && in_i32(s)) {
    const Sym fixed = names.fixed(s);
    const Number n = names.number(fixed);
    formula_.try_emplace(n, fixed);
    return n;
  }
  return number_of(parts_of(s, names), names);
}

Number Integers::number_of(Sum sum, const Names& names) {
  if (sum.parts.empty()) return names.number(Sym(signed_of(sum.constant)));
  if (sum.parts.size() == 1 && sum.parts[0].times == 1 && sum.constant == 0) return sum.parts[0].of;
  Sym s(signed_of(sum.constant));
  bool known = true, elements = false; // whether it may be in range
  for (std::size_t k = 0; known && k < sum.parts.size(); ++k) {
    const Sym m = monomial_of(sum.parts[k].of);
    elements = elements || Formulas::has_element(m);
    known = !elements || sum.parts.size() <= few;
    if (known) s += Sym(signed_of(sum.parts[k].times)) * m;
  }
  if (known && in_i32(s)) {
    const Number n = names.number(s);
    formula_.try_emplace(n, s);
    return n;
  }
  std::uint64_t h = random_of(0x5a4d, sum.constant);
  for (const Part& p : sum.parts) h = random_of(random_of(h, p.of), p.times);
  sums_.try_emplace(h, std::move(sum));
  return h;
}

Number Integers::sum(std::span<const Part> parts, std::uint32_t constant, const Names& names) {
  Sum all;
  all.constant = constant;
  for (const Part& p : parts) add(all, parts_of(p.of, names), p.times);
  return number_of(merged(std::move(all)), names);
}

Number Integers::extreme(Number a, Number b, Monoid monoid) {
  const bool largest = monoid == Monoid::signed_max || monoid == Monoid::unsigned_max;
  const Number empty = of_integer(static_cast<std::int64_t>(codegen::empty_element(monoid)));
  if (a == empty || a == b) return b;
  if (b == empty) return a;
  if (monoid == Monoid::signed_max || monoid == Monoid::signed_min) return signed_.join(a, b, largest);
  auto& results = of_unsigned_[largest ? 1 : 0];
  const auto word = [&](Number n) { return results.contains(n) ? n : apply(Function::unsigned_word, n); };
  const Number both = unsigned_.join(word(a), word(b), largest);
  if (both == word(a)) return a;
  if (both == word(b)) return b;
  results.insert(both);
  return both;
}

Sym Integers::monomial_of(Number word) const {
  const auto at = formula_.find(word);
  return at != formula_.end() ? at->second : formulas_.element(word);
}

Sym Integers::formula_of(Number word) const {
  if (const auto c = constant_of(word)) return Sym(signed_of(*c));
  const auto sum = sums_.find(word);
  if (sum == sums_.end() || sum->second.parts.size() > few) return monomial_of(word);
  Sym s(signed_of(sum->second.constant));
  for (const Part& p : sum->second.parts) s += Sym(signed_of(p.times)) * monomial_of(p.of);
  return s;
}

} // namespace inlay::kernels::validate
