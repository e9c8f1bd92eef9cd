// The normal form of an expression.
#include "expression_constants.h"

#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_set>

namespace inlay::codegen {
namespace {
constexpr double log2_e = 1.4426950408889634;

// A sum or a product of them in as few numbers as hold it, none where that is nothing. What is not exact, and its opposite, first; then
// exact ones; then all.
std::vector<Number> put_together(std::vector<Number> all, bool sum) {
  const auto less = [](const Number& a, const Number& b) {
    return a.value != b.value ? a.value < b.value : a.exact < b.exact;
  };
  std::sort(all.begin(), all.end(), less);
  const auto one_pair = [&](int pass) {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i + 1; j < all.size(); ++j) {
        const int exact = (all[i].exact ? 1 : 0) + (all[j].exact ? 1 : 0);
        if (pass == 0 ? exact != 0 || !sum : pass == 1 && exact != 2) continue;
        const auto both = together(all[i], all[j], sum);
        if (!both || (pass == 0 && both->value != 0)) continue;
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        all.insert(std::upper_bound(all.begin(), all.end(), *both, less), *both);
        return true;
      }
    return false;
  };
  while (one_pair(0) || one_pair(1) || one_pair(2)) {
  }
  if (!sum && all.size() > 1) { // numbers from 1 to 2, and their sign and powers of 2 as one: see `factor_of`
    std::vector<Number> parts;
    double power = 1;
    for (const Number& n : all) {
      int exponent = 0;
      const double part = std::frexp(n.value, &exponent);
      parts.push_back({2 * std::fabs(part), n.exact});
      power *= std::copysign(std::ldexp(1, exponent - 1), part);
    }
    parts.push_back({power});
    if (in_range(power)) all = std::move(parts);
  }
  std::erase_if(all, [&](const Number& n) { return n.value == (sum ? 0 : 1); });
  return all;
}

// A number and what it is multiplied by; of several numbers the power of 2 alone.
std::pair<Number, int> factor_of(Expressions& x, int id) {
  const ExprNode n = x.node(id);
  const auto is_number = [&](int a) { return x.node(a).fn == Fn::constant; };
  if (n.fn != Fn::mul || !is_number(n.args[0])) return {Number{1}, id};
  auto at = n.args.begin();
  if (is_number(n.args[1]))
    at = std::find_if(n.args.begin(), n.args.end(),
                      [&](int a) { return is_number(a) && significant_bits(x.node(a).value) == 1; });
  if (at == n.args.end()) return {Number{1}, id};
  const Number factor = Number::of(x.node(*at));
  std::vector<int> others = n.args;
  others.erase(others.begin() + (at - n.args.begin()));
  return {factor, others.size() == 1 ? others[0] : x.make({.fn = Fn::mul, .args = others}).id};
}

// The factors of a power of a number.
std::vector<int> power_of_constant(Expressions& x, Number base, Number exponent) {
  constexpr double longest = 16;
  const int node = x.make(base.node()).id;
  if (exponent.value == std::floor(exponent.value) && exponent.value >= 1 && exponent.value <= longest)
    return std::vector<int>(static_cast<std::size_t>(exponent.value), node);
  const bool exactly = base.exact && exponent.value == std::floor(exponent.value) && exponent.value > 0;
  if (exactly && significant_bits(base.value) > 1) return {x.make(exponent.power_of(node)).id};
  const double value = std::pow(base.value, exponent.value);
  const bool lost = base.value != 0 && std::isfinite(base.value) && !std::isnan(value) && !in_range(value);
  return {x.make(lost ? exponent.power_of(node) : Number::about(value).node()).id};
}
} // namespace

Expr Expressions::sorted(Fn fn, std::vector<int> args) {
  // Flattened, constants combined as far as that is exact, sorted by node number: interned nodes make that a total order on values.
  const bool sum = fn == Fn::add;
  std::vector<int> flat;
  std::vector<Number> constants;
  const auto take = [&](auto&& self, int id) -> void {
    const ExprNode& n = node(id);
    if (n.fn == fn) {
      for (const int a : std::vector<int>(n.args)) self(self, a);
    } else if (n.fn == Fn::constant) {
      constants.push_back(Number::of(n));
    } else {
      flat.push_back(id);
    }
  };
  for (const int a : args) take(take, a);
  constants = put_together(std::move(constants), sum);
  const auto with_constants = [&](std::vector<int> others) { // the constants first
    std::vector<int> all;
    for (const Number& n : constants) all.push_back(make(n.node()).id);
    std::sort(all.begin(), all.end());
    all.insert(all.end(), others.begin(), others.end());
    return all;
  };
  if (!sum) {
    // Equal bases add their exponents.
    std::vector<std::pair<int, std::vector<Number>>> bases;
    for (const int id : flat) {
      const ExprNode& n = node(id);
      const bool power = n.fn == Fn::power && node(n.args[0]).fn != Fn::constant;
      const int base = power ? n.args[0] : id;
      auto same = std::find_if(bases.begin(), bases.end(), [&](const auto& p) { return p.first == base; });
      if (same == bases.end()) same = bases.insert(bases.end(), {base, {}});
      same->second.push_back(power ? Number::of(n) : Number{1});
    }
    std::vector<std::pair<int, Number>> powers;
    for (const auto& [base, exponents] : bases)
      for (const Number& exponent : put_together(exponents, true)) powers.emplace_back(base, exponent);
    // Two roots of a product are the product again: its factors are factors here.
    for (std::size_t at = 0; at < powers.size(); ++at) {
      const auto [base, times] = powers[at];
      const ExprNode product = node(base);
      if (product.fn != Fn::mul || times.value != std::floor(times.value)) continue;
      std::vector<int> factors = with_constants({});
      const auto add = [&](int of, Number exponent_of) {
        factors.push_back(make(exponent_of.power_of(of)).id);
      };
      for (std::size_t other = 0; other < powers.size(); ++other)
        if (other != at) add(powers[other].first, powers[other].second); // (x^2)^(1/2) stays what it is
      for (const int a : product.args) {
        const ExprNode f = node(a);
        const auto both = f.fn == Fn::power ? together(Number::of(f), times, false) : std::nullopt;
        if (f.fn == Fn::constant)
          for (const int c : power_of_constant(*this, Number::of(f), times)) factors.push_back(c);
        else if (both)
          add(f.args[0], *both);
        else
          add(a, times);
      }
      return sorted(Fn::mul, factors);
    }
    flat.clear();
    for (const auto& [base, exponent] : powers)
      if (exponent.value != 0) flat.push_back(exponent.value == 1 ? base : make(exponent.power_of(base)).id);
    if (std::any_of(constants.begin(), constants.end(), [](const Number& n) { return n.value == 0; }))
      return constant(0);
    if (const auto sum_of_products = distributed(with_constants(flat))) return *sum_of_products;
  } else {
    // Equal terms up to a factor add up: x - x vanishes.
    std::vector<std::pair<int, std::vector<Number>>> terms;
    for (const int id : flat) {
      const auto [factor, rest] = factor_of(*this, id);
      auto same = std::find_if(terms.begin(), terms.end(), [&](const auto& p) { return p.first == rest; });
      if (same == terms.end()) same = terms.insert(terms.end(), {rest, {}});
      same->second.push_back(factor);
    }
    flat.clear();
    for (const auto& [rest, factors] : terms)
      for (const Number& factor : put_together(factors, true))
        flat.push_back(factor.value == 1 ? rest : sorted(Fn::mul, {make(factor.node()).id, rest}).id);
  }
  std::sort(flat.begin(), flat.end());
  flat = with_constants(std::move(flat));
  if (flat.empty()) return constant(sum ? 0 : 1);
  if (flat.size() == 1) return {this, flat[0]};
  return make({.fn = fn, .args = flat});
}

// (a + b) c as a c + b c, and whole powers of sums likewise, unless that makes a long sum of them.
std::optional<Expr> Expressions::distributed(const std::vector<int>& factors) {
  constexpr std::size_t longest = 32;
  std::vector<std::vector<int>> sums; // a factor of the power each
  std::vector<int> rest;
  std::size_t terms = 1;
  for (const int f : factors) {
    const ExprNode& n = node(f);
    const int base = n.fn == Fn::power ? n.args[0] : f;
    const double power = n.fn == Fn::power ? n.value : 1;
    if (node(base).fn != Fn::add || (power != 1 && power != 2 && power != 3)) {
      rest.push_back(f);
      continue;
    }
    for (int i = 0; i < static_cast<int>(power); ++i) {
      sums.push_back(node(base).args);
      terms *= sums.back().size();
    }
    if (terms > longest) return std::nullopt;
  }
  if (sums.empty() || (sums.size() == 1 && rest.empty())) return std::nullopt;
  std::vector<int> out;
  for (std::size_t t = 0; t < terms; ++t) {
    std::vector<int> one = rest;
    std::size_t digits = t;
    for (const std::vector<int>& s : sums) {
      one.push_back(s[digits % s.size()]);
      digits /= s.size();
    }
    out.push_back(sorted(Fn::mul, one).id);
  }
  return sorted(Fn::add, out);
}

Expr Expressions::product(double factor, Expr e) { return sorted(Fn::mul, {constant(factor).id, e.id}); }

// Flattened and sorted where the order is free, constants folded.
std::optional<Expr> Expressions::of_integers(const ExprNode& n) {
  const auto arg = [&](std::size_t i) { return Expr{this, n.args[i]}; };
  const auto word = [&](std::uint32_t v) {
    return make({.fn = Fn::integer, .value = static_cast<double>(v)});
  };
  const auto is = [&](std::size_t i, double v) {
    const ExprNode& a = node(n.args[i]);
    return a.fn == Fn::integer && a.value == v;
  };
  const auto is_word = [&](std::size_t i) { return node(n.args[i]).fn == Fn::integer; };
  switch (n.fn) {
  case Fn::integer: return std::nullopt;
  case Fn::word: {
    const ExprNode& a = node(n.args[0]);
    if (a.fn == Fn::to_number) return Expr{this, a.args[0]};
    if (const auto v = a.fn == Fn::constant ? as_word(a.value) : std::nullopt) return word(word_of(*v));
    return std::nullopt;
  }
  case Fn::to_number:
  case Fn::to_number_unsigned: {
    const ExprNode a = node(n.args[0]);
    const double values[] = {a.value};
    if (a.fn == Fn::integer) return make(Number{function_value(n, values)}.node());
    // Such a sum, max or min is a number of i32.
    if (n.fn == Fn::to_number && a.fn == Fn::word && is_fold_of_i32(node(a.args[0])))
      return Expr{this, a.args[0]};
    return std::nullopt;
  }
  case Fn::from_bits: {
    const ExprNode a = node(n.args[0]);
    const double values[] = {a.value};
    if (a.fn == Fn::float_bits) return Expr{this, a.args[0]};
    if (const double v = function_value(n, values); a.fn == Fn::integer && !std::isnan(v)) return constant(v);
    return std::nullopt;
  }
  case Fn::choose:
    if (is_word(0)) return arg(is(0, 0) ? 2 : 1);
    // x < c is not c - 1 < x.
    if (const ExprNode& c = node(n.args[0]);
        c.fn == Fn::word_less_signed && node(c.args[1]).fn == Fn::integer) {
      const int x = c.args[0]; // what is made next may move the nodes
      const std::uint32_t bound = word_of(node(c.args[1]).value);
      if (bound == 0x80000000) return arg(2); // nothing is less
      const Expr above = make({.fn = Fn::word_less_signed, .args = {word(bound - 1).id, x}});
      return normal(make({.fn = Fn::choose, .args = {above.id, n.args[2], n.args[1]}}));
    }
    return n.args[1] == n.args[2] ? std::optional(arg(1)) : std::nullopt;
  case Fn::word_sub:
    return normal(
        make({.fn = Fn::word_add,
              .args = {n.args[0], make({.fn = Fn::word_mul, .args = {n.args[1], word(0xffffffff).id}}).id}}));
  case Fn::word_add:
  case Fn::word_mul:
  case Fn::word_and:
  case Fn::word_or:
  case Fn::word_xor: {
    const std::uint32_t nothing = n.fn == Fn::word_mul ? 1 : n.fn == Fn::word_and ? 0xffffffff : 0;
    std::uint32_t constant_part = nothing;
    std::vector<int> flat;
    const auto take = [&](auto&& self, int id) -> void {
      const ExprNode a = node(id);
      if (a.fn == n.fn) {
        for (const int inner : a.args) self(self, inner);
      } else if (a.fn != Fn::integer) {
        flat.push_back(id);
      } else {
        const double both[] = {static_cast<double>(constant_part), a.value};
        constant_part = word_of(function_value(n, both));
      }
    };
    for (const int a : n.args) take(take, a);
    std::sort(flat.begin(), flat.end());
    if (n.fn == Fn::word_and || n.fn == Fn::word_or)
      flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
    if (n.fn == Fn::word_xor) { // what stands there twice is nothing
      std::vector<int> odd;
      for (const int id : flat)
        if (!odd.empty() && odd.back() == id)
          odd.pop_back();
        else
          odd.push_back(id);
      flat = std::move(odd);
    }
    const bool zero = constant_part == 0 && (n.fn == Fn::word_mul || n.fn == Fn::word_and);
    if (zero || (n.fn == Fn::word_or && constant_part == 0xffffffff)) return word(constant_part);
    if (constant_part != nothing || flat.empty()) flat.insert(flat.begin(), word(constant_part).id);
    return flat.size() == 1 ? Expr{this, flat[0]} : make({.fn = n.fn, .args = flat});
  }
  case Fn::word_less:
  case Fn::word_less_signed:
  case Fn::word_equal:
    if (n.args[0] == n.args[1]) return word(n.fn == Fn::word_equal ? 1 : 0);
    break;
  case Fn::word_shl:
  case Fn::word_shr:
  case Fn::word_sar:
    if (is(1, 0)) return arg(0);
    break;
  case Fn::word_mul_hi:
  case Fn::popcount:
  case Fn::leading_zeros:
  case Fn::trailing_zeros: break;
  default: return std::nullopt;
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < n.args.size(); ++i)
    if (is_word(i)) values.push_back(node(n.args[i]).value);
  if (values.size() == n.args.size()) return word(word_of(function_value(n, values)));
  if ((n.fn == Fn::word_mul_hi || n.fn == Fn::word_equal) && n.args[0] > n.args[1])
    return make({.fn = n.fn, .args = {n.args[1], n.args[0]}});
  return std::nullopt;
}

namespace {
// A fold over no index or over one is decided, and of an index below a number quotients and remainders by no less are known:
// sum(i < 1, f(i)) is f(0), and below 32 i/32 is 0. Nothing where that changes nothing.
std::optional<Expr> few(Expressions& x, const ExprNode& n) {
  const auto most = interval(n.index[0]).upper; // of the extent
  if (!most) return std::nullopt;
  if (n.index.size() == 1 && *most <= Int(0)) return x.constant(empty_element(n.monoid));
  const AtomId atom = *n.sym.as_atom();
  if (n.index.size() == 1 && n.index[0] == Sym(1)) {
    const std::pair<AtomId, Sym> first[] = {{atom, Sym(0)}};
    return x.substitute({&x, n.args[0]}, first);
  }
  if (*most < Int(1) || *most > Int(INT32_MAX)) return std::nullopt;
  const Sym below = symbol_of(*n.sym.context(), SymbolKind::below, {*most}, "", {Int(0), *most - Int(1)});
  const std::pair<AtomId, Sym> in[] = {{atom, below}}, back[] = {{*below.as_atom(), n.sym}};
  ExprNode out = n;
  out.args = {x.substitute(x.substitute({&x, n.args[0]}, in), back).id};
  if (out == n) return std::nullopt;
  return x.make(std::move(out));
}

// The sum of a sum, the inner extent free of the outer index, in one order of the two: that of their extents.
std::optional<Expr> exchanged(Expressions& x, const ExprNode& outer) {
  const ExprNode inner = x.node(outer.args[0]);
  if (inner.fn != Fn::fold || inner.monoid != Monoid::sum || inner.index.size() != 1) return std::nullopt;
  const AtomId o = *outer.sym.as_atom(), i = *inner.sym.as_atom();
  const auto free = inlay::symbols(inner.index[0]);
  if (std::find(free.begin(), free.end(), o) != free.end()) return std::nullopt;
  if (!(inner.index[0] < outer.index[0])) return std::nullopt;
  SymContext& context = *outer.sym.context();
  const Sym first = symbol_of(context, SymbolKind::exchanged, {0}, "", {Int(0), std::nullopt}),
            second = symbol_of(context, SymbolKind::exchanged, {1}, "", {Int(0), std::nullopt});
  const std::pair<AtomId, Sym> apart[] = {{o, first}, {i, second}};
  return x.fold(Monoid::sum, second, inner.index[0],
                x.fold(Monoid::sum, first, outer.index[0], x.substitute({&x, inner.args[0]}, apart)));
}
} // namespace

Expr Expressions::normal(Expr e) {
  if (const auto found = normal_.find(e.id); found != normal_.end()) return {this, found->second};
  ExprNode n = node(e.id);
  for (int& a : n.args) a = normal({this, a}).id;
  const auto arg = [&](std::size_t i) { return Expr{this, n.args[i]}; };
  // f(a + b) as f(a) + f(b).
  const auto term_by_term = [&](const ExprNode& of) {
    std::vector<int> terms;
    for (const int a : std::vector<int>(node(of.args[0]).args)) {
      ExprNode one = of;
      one.args = {a};
      terms.push_back(normal(make(std::move(one))).id);
    }
    return sorted(Fn::add, terms);
  };
  // Likewise of integers, modulo 2^32.
  const auto word_by_word = [&](const ExprNode& of) -> std::optional<Expr> {
    const ExprNode body = node(of.args[0]);
    if (body.fn != Fn::to_number || node(body.args[0]).fn != Fn::word_add) return std::nullopt;
    std::vector<int> words;
    for (const int a : std::vector<int>(node(body.args[0]).args)) {
      ExprNode one = of;
      one.args = {make({.fn = Fn::to_number, .args = {a}}).id};
      words.push_back(make({.fn = Fn::word, .args = {make(std::move(one)).id}}).id);
    }
    return normal(to_number(make({.fn = Fn::word_add, .args = words})));
  };
  const auto power_of = [&](auto&& self, Expr base, Number exponent) -> Expr {
    const ExprNode b = base.node();
    if (b.fn == Fn::constant) return sorted(Fn::mul, power_of_constant(*this, Number::of(b), exponent));
    // (a^2)^(1/2) is no power of a when a may be negative; any other power of a power is.
    const bool even = b.fn == Fn::power && std::fmod(b.value, 2) == 0,
               whole = exponent.value == std::floor(exponent.value);
    if (const auto both =
            b.fn == Fn::power && (!even || whole) ? together(Number::of(b), exponent, false) : std::nullopt)
      return both->value == 1 ? Expr{this, b.args[0]} : make(both->power_of(b.args[0]));
    if (exponent.value == 1) return base;
    if (b.fn == Fn::mul && whole) { // 1 / (a b) = 1/a 1/b, and (a b)^2 = a^2 b^2
      std::vector<int> factors;
      for (const int a : b.args) factors.push_back(self(self, {this, a}, exponent).id);
      return sorted(Fn::mul, factors);
    }
    return make(exponent.power_of(base.id));
  };
  const auto power = [&](Expr base, Number exponent) { return power_of(power_of, base, exponent); };
  // 2^(c a + b) = (2^a)^c 2^b: so a factor 2^-m can be taken out, and cancels against 2^m.
  const auto exponential = [&](Expr x) -> Expr {
    const ExprNode sum = x.node();
    std::vector<int> factors;
    for (const int t : sum.fn == Fn::add ? sum.args : std::vector<int>{x.id}) {
      const ExprNode term = node(t);
      if (term.fn == Fn::constant) {
        // 2^-1154 is no 0: times 2^x it is 1 where x is 1154. Beyond what products of a few such hold it stays a power of 2.
        constexpr double most = 64;
        const bool plain = std::fabs(term.value) <= most || std::isinf(term.value);
        const double value = std::exp2(term.value);
        const bool whole = term.tensor != Number::not_exact && term.value == std::floor(term.value);
        factors.push_back(plain ? make((whole ? Number{value} : Number::about(value)).node()).id
                                : make({.fn = Fn::exp2, .args = {t}}).id);
        continue;
      }
      const auto [factor, rest] = factor_of(*this, t);
      factors.push_back(power(make({.fn = Fn::exp2, .args = {rest}}), factor).id);
    }
    return sorted(Fn::mul, factors);
  };
  // A positive factor of a body comes out of max and min, and of `inside` where the other value is 0 or infinite.
  const auto factored = [&](const ExprNode& of) -> std::optional<Expr> {
    const ExprNode body = node(of.args[0]);
    if (body.fn != Fn::mul || node(body.args[0]).fn != Fn::constant) return std::nullopt;
    const double factor = node(body.args[0]).value;
    const bool any_sign = of.fn == Fn::inside && of.value == 0 && factor != 0;
    if (!(factor > 0 || any_sign) || std::isinf(factor)) return std::nullopt;
    std::vector<int> others(body.args.begin() + 1, body.args.end());
    ExprNode inner = of;
    inner.args = {others.size() == 1 ? others[0] : make({.fn = Fn::mul, .args = others}).id};
    return sorted(Fn::mul, {body.args[0], make(std::move(inner)).id});
  };
  Expr out;
  switch (n.fn) {
  case Fn::constant: out = n.tensor == Number::not_exact ? make(Number::about(n.value).node()) : e; break;
  case Fn::add: out = sorted(Fn::add, n.args); break;
  case Fn::sub: out = sorted(Fn::add, {n.args[0], product(-1, arg(1)).id}); break;
  case Fn::mul: out = sorted(Fn::mul, n.args); break;
  case Fn::div: out = sorted(Fn::mul, {n.args[0], power(arg(1), {-1}).id}); break;
  case Fn::power: out = power(arg(0), Number::of(n)); break;
  case Fn::exp: out = exponential(product(log2_e, arg(0))); break;
  case Fn::exp2: out = exponential(arg(0)); break;
  case Fn::log: out = product(1 / log2_e, make({.fn = Fn::log2, .args = {n.args[0]}})); break;
  case Fn::max:
  case Fn::min: {
    std::vector<int> flat;
    const double nothing =
        n.fn == Fn::max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    Number number{nothing}; // of the constants among them
    const auto take = [&](int a) {
      if (node(a).fn == Fn::constant) {
        const Number other = Number::of(node(a));
        if (n.fn == Fn::max ? number.value < other.value : other.value < number.value) number = other;
      } else {
        flat.push_back(a);
      }
    };
    for (const int a : n.args) {
      if (node(a).fn == n.fn) {
        for (const int inner : std::vector<int>(node(a).args)) take(inner);
      } else {
        take(a);
      }
    }
    if (number.value != nothing) flat.push_back(make(number.node()).id);
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
    // That over all elements holds that over a part of them.
    const Monoid monoid = n.fn == Fn::max ? Monoid::max : Monoid::min;
    const auto in_another = [&, folds = flat](int id) {
      const ExprNode& part = node(id);
      if (part.fn != Fn::fold || part.monoid != monoid || part.index.size() == 1) return false;
      ExprNode all = part;
      all.index.resize(1);
      return std::any_of(folds.begin(), folds.end(), [&](int other) { return node(other) == all; });
    };
    std::erase_if(flat, in_another);
    out = flat.empty()       ? constant(nothing)
          : flat.size() == 1 ? Expr{this, flat[0]}
                             : make({.fn = n.fn, .args = flat});
    break;
  }
  case Fn::select: { // a >= a, and numbers, are decided
    const ExprNode a = node(n.args[0]), b = node(n.args[1]);
    // Not where rounding to f32, in which maps compute, may make them another pair.
    const bool same = a.value == b.value && static_cast<float>(a.value) == a.value;
    const bool apart = std::abs(a.value - b.value) > 0x1p-20 * (std::abs(a.value) + std::abs(b.value));
    const bool numbers = a.fn == Fn::constant && b.fn == Fn::constant &&
                         (same || apart || std::isinf(a.value) || std::isinf(b.value));
    out = n.args[2] == n.args[3] || n.args[0] == n.args[1] ? arg(2)
          : numbers                                        ? arg(a.value >= b.value ? 2 : 3)
                                                           : make(n);
    break;
  }
  case Fn::inside:
    if (le(n.index[1], n.index[0]) == Truth::yes) {
      out = constant(n.value);
      break;
    }
    if (le(n.index[0] + Sym(1), n.index[1]) == Truth::yes) {
      out = arg(0);
      break;
    }
    if (n.value == 0 && node(n.args[0]).fn == Fn::add) { // term by term
      out = term_by_term(n);
      break;
    }
    [[fallthrough]];
  case Fn::fold: {
    if (n.fn == Fn::fold) { // what has become simpler has another depth, and so another name of its index
      ExprNode renamed = fold(n.monoid, n.sym, n.index[0], {this, n.args[0]}).node();
      renamed.index = n.index;
      if (!(renamed == n)) {
        out = normal(make(std::move(renamed)));
        break;
      }
    }
    if (n.fn == Fn::fold) {
      if (const auto folded = few(*this, n)) {
        out = normal(*folded);
        break;
      }
    }
    if (n.fn == Fn::fold && n.monoid == Monoid::sum && n.index.size() == 1) {
      // The sum of what does not depend on the index is its extent times that; below 0 there is nothing to add up.
      const std::vector<AtomId> used = symbols({this, n.args[0]});
      if (std::find(used.begin(), used.end(), *n.sym.as_atom()) == used.end()) {
        const Sym count = le(Sym(0), n.index[0]) == Truth::yes ? n.index[0] : max(Sym(0), n.index[0]);
        out = sorted(Fn::mul, {number(count).id, n.args[0]});
        break;
      }
      if (const auto turned = exchanged(*this, n)) {
        out = normal(*turned);
        break;
      }
    }
    if (n.fn == Fn::fold && n.monoid == Monoid::sum && node(n.args[0]).fn == Fn::add) {
      // The sum of a sum is the sum of sums.
      out = term_by_term(n);
      break;
    }
    if (n.fn == Fn::fold && n.monoid == Monoid::wrapping_sum && n.index.size() == 1)
      if (const auto words = word_by_word(n)) {
        out = *words;
        break;
      }
    if (n.fn == Fn::fold && n.monoid == Monoid::sum && n.index.size() > 1) {
      // A part of that sum is what is summed times how many there are.
      const ExprNode body = node(n.args[0]);
      const std::vector<AtomId> used = symbols({this, n.args[0]});
      if (std::find(used.begin(), used.end(), *n.sym.as_atom()) == used.end() &&
          !(body.fn == Fn::constant && (body.value == 1 || !std::isfinite(body.value)))) {
        const int summed = n.args[0];
        n.args = {constant(1).id};
        out = sorted(Fn::mul, {summed, normal(make(n)).id});
        break;
      }
    }
    if (n.fn == Fn::fold && n.monoid == Monoid::sum && node(n.args[0]).fn == Fn::mul) {
      // What does not depend on the index comes out of a sum.
      std::vector<int> inner, outer;
      for (const int a : std::vector<int>(node(n.args[0]).args)) {
        const auto used = symbols({this, a});
        const bool depends = std::find(used.begin(), used.end(), *n.sym.as_atom()) != used.end();
        (depends ? inner : outer).push_back(a);
      }
      if (!inner.empty() && !outer.empty()) {
        n.args = {inner.size() == 1 ? inner[0] : make({.fn = Fn::mul, .args = inner}).id};
        outer.push_back(normal(make(n)).id);
        out = sorted(Fn::mul, outer);
        break;
      }
    }
    const bool linear =
        n.fn == Fn::fold ? idempotent(n.monoid) && !is_of_i32(n.monoid) : n.value == 0 || std::isinf(n.value);
    const auto other = linear ? factored(n) : std::nullopt;
    out = other ? *other : make(n);
    break;
  }
  default: {
    const auto other = of_integers(n);
    out = other ? *other : make(n);
    break;
  }
  }
  normal_.emplace(e.id, out.id);
  return out;
}

} // namespace inlay::codegen
