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
}

Expr Expressions::sorted(Fn fn, std::vector<int> args) {
  // Flattened, constants combined, sorted by node number: interned nodes make that a total order on values.
  const bool sum = fn == Fn::add;
  std::vector<int> flat;
  double constant_part = sum ? 0 : 1;
  const auto take = [&](auto&& self, int id) -> void {
    const ExprNode& n = node(id);
    if (n.fn == fn) {
      for (const int a : std::vector<int>(n.args)) self(self, a);
    } else if (n.fn == Fn::constant) {
      constant_part = sum ? constant_part + n.value : constant_part * n.value;
    } else {
      flat.push_back(id);
    }
  };
  for (const int a : args) take(take, a);
  if (!sum) {
    // Equal bases add their exponents.
    std::vector<std::pair<int, double>> powers;
    for (const int id : flat) {
      const ExprNode& n = node(id);
      const int base = n.fn == Fn::power ? n.args[0] : id;
      const double exponent = n.fn == Fn::power ? n.value : 1;
      const auto same =
          std::find_if(powers.begin(), powers.end(), [&](const auto& p) { return p.first == base; });
      if (same == powers.end()) {
        powers.emplace_back(base, exponent);
      } else {
        same->second += exponent;
      }
    }
    // Two roots of a product are the product again: its factors are factors here.
    for (const auto& [base, exponent] : powers) {
      const ExprNode product = node(base);
      const double times = rounded(exponent);
      if (product.fn != Fn::mul || times != std::floor(times)) continue;
      std::vector<int> factors{constant(constant_part).id};
      const auto add = [&](int of, double exponent_of) {
        if (exponent_of != 0)
          factors.push_back(make({.fn = Fn::power, .value = exponent_of, .args = {of}}).id);
      };
      for (const auto& [other, power] : powers)
        if (other != base) add(other, rounded(power)); // (x^2)^(1/2) stays what it is
      for (const int a : product.args) {
        const ExprNode f = node(a);
        if (f.fn == Fn::constant)
          factors.push_back(constant(std::pow(f.value, times)).id);
        else if (f.fn == Fn::power)
          add(f.args[0], rounded(f.value * times));
        else
          add(a, times);
      }
      return sorted(Fn::mul, factors);
    }
    flat.clear();
    for (const auto& [base, exponent] : powers)
      if (rounded(exponent) != 0)
        flat.push_back(
            exponent == 1 ? base : make({.fn = Fn::power, .value = rounded(exponent), .args = {base}}).id);
    if (constant_part == 0) return constant(0);
    if (const auto sum_of_products = distributed(constant_part, flat)) return *sum_of_products;
  } else {
    // Equal terms up to a factor add up: x - x vanishes.
    std::vector<std::pair<int, double>> terms;
    for (const int id : flat) {
      double factor = 1;
      int rest = id;
      if (const ExprNode n = node(id); n.fn == Fn::mul && node(n.args[0]).fn == Fn::constant) {
        factor = node(n.args[0]).value;
        std::vector<int> others(n.args.begin() + 1, n.args.end());
        rest = others.size() == 1 ? others[0] : make({.fn = Fn::mul, .args = others}).id;
      }
      const auto same =
          std::find_if(terms.begin(), terms.end(), [&](const auto& p) { return p.first == rest; });
      if (same == terms.end()) {
        terms.emplace_back(rest, factor);
      } else {
        same->second += factor;
      }
    }
    flat.clear();
    for (const auto& [rest, factor] : terms)
      if (rounded(factor) != 0)
        flat.push_back(factor == 1 ? rest : sorted(Fn::mul, {constant(factor).id, rest}).id);
  }
  std::sort(flat.begin(), flat.end());
  if (constant_part != (sum ? 0 : 1)) flat.insert(flat.begin(), constant(constant_part).id);
  if (flat.empty()) return constant(sum ? 0 : 1);
  if (flat.size() == 1) return {this, flat[0]};
  return make({.fn = fn, .args = flat});
}

// (a + b) c as a c + b c, and whole powers of sums likewise, unless that makes a long sum of them.
std::optional<Expr> Expressions::distributed(double factor, const std::vector<int>& factors) {
  constexpr std::size_t longest = 32;
  std::vector<std::vector<int>> sums; // a factor of the power each
  std::vector<int> rest = {constant(factor).id};
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
  if (sums.empty() || (sums.size() == 1 && rest.size() == 1 && factor == 1)) return std::nullopt;
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
    if (a.fn == Fn::integer) return constant(function_value(n, values));
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
  const auto power_of = [&](auto&& self, Expr base, double exponent) -> Expr {
    const ExprNode b = base.node();
    if (b.fn == Fn::constant) return constant(std::pow(b.value, exponent));
    // (a^2)^(1/2) is no power of a when a may be negative; any other power of a power is.
    const bool even = b.fn == Fn::power && std::fmod(b.value, 2) == 0,
               whole = exponent == std::floor(exponent);
    if (b.fn == Fn::power && (!even || whole))
      return b.value * exponent == 1
                 ? Expr{this, b.args[0]}
                 : make({.fn = Fn::power, .value = rounded(b.value * exponent), .args = b.args});
    if (rounded(exponent) == 1) return base;
    if (b.fn == Fn::mul && whole) { // 1 / (a b) = 1/a 1/b, and (a b)^2 = a^2 b^2
      std::vector<int> factors;
      for (const int a : b.args) factors.push_back(self(self, {this, a}, exponent).id);
      return sorted(Fn::mul, factors);
    }
    return make({.fn = Fn::power, .value = rounded(exponent), .args = {base.id}});
  };
  const auto power = [&](Expr base, double exponent) { return power_of(power_of, base, exponent); };
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
        factors.push_back(plain ? constant(rounded(std::exp2(rounded(term.value)))).id
                                : make({.fn = Fn::exp2, .args = {t}}).id);
        continue;
      }
      double factor = 1;
      int rest = t;
      if (term.fn == Fn::mul && node(term.args[0]).fn == Fn::constant) {
        factor = node(term.args[0]).value;
        std::vector<int> others(term.args.begin() + 1, term.args.end());
        rest = others.size() == 1 ? others[0] : make({.fn = Fn::mul, .args = others}).id;
      }
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
    return product(factor, make(std::move(inner)));
  };
  Expr out;
  switch (n.fn) {
  case Fn::add: out = sorted(Fn::add, n.args); break;
  case Fn::sub: out = sorted(Fn::add, {n.args[0], product(-1, arg(1)).id}); break;
  case Fn::mul: out = sorted(Fn::mul, n.args); break;
  case Fn::div: out = sorted(Fn::mul, {n.args[0], power(arg(1), -1).id}); break;
  case Fn::power: out = power(arg(0), n.value); break;
  case Fn::exp: out = exponential(product(log2_e, arg(0))); break;
  case Fn::exp2: out = exponential(arg(0)); break;
  case Fn::log: out = product(1 / log2_e, make({.fn = Fn::log2, .args = {n.args[0]}})); break;
  case Fn::max:
  case Fn::min: {
    std::vector<int> flat;
    const double nothing =
        n.fn == Fn::max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    double number = nothing; // of the constants among them
    const auto take = [&](int a) {
      if (node(a).fn == Fn::constant) {
        number = n.fn == Fn::max ? std::max(number, node(a).value) : std::min(number, node(a).value);
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
    if (number != nothing) flat.push_back(constant(number).id);
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
