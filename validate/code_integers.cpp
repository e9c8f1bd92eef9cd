// Integers modulo 2^32 in maps of a Code.
//
// An integer is a formula that is congruent to it, as a word of the machine has one (formulas.h): sizes and positions are symbols, and so is
// an element of memory and a number that was truncated, each by the number of the field that stands for it. What bits, shifts and high
// halves of products make of these is a symbol for itself (Formulas::operation). Where sizes are numbers, integers are, too.
#include "code_run.h"
#include "expression_values.h"
#include "values_of_words.h"

#include <cmath>
#include <limits>

namespace inlay::kernels::validate {

using codegen::Expr;
using codegen::ExprNode;
using codegen::Fn;
using codegen::Monoid;

namespace {
[[noreturn]] void not_followed() { throw NotFollowed{"integers modulo 2^32 in a map"}; }
Expr argument(Expr e, std::size_t k) { return {e.arena, e.node().args[k]}; }
} // namespace

Sym CodeRun::symbol_of(Number value) { return integers->formula_of(value); }

Integers::Names CodeRun::names_of_integers() {
  return {[](Sym s) { return s; }, [this](Sym s) { return number_of(s); },
          [this](Sym d) {
            Formulas::Condition c;
            Formulas::require(c, d);
            return holds(formulas->canonical(c));
          },
          [this](Sym m) { conditions.try_emplace(apply(Function::number, stable_hash(m))); }};
}

Sym CodeRun::integer(const MapAt& m, Expr e) {
  const ExprNode& n = e.node();
  switch (n.fn) {
  case Fn::integer: return Sym(static_cast<std::int64_t>(n.value));
  case Fn::word: {
    const ExprNode& of = argument(e, 0).node();
    if (of.fn == Fn::number) return formula_at(m, of.sym);
    return symbol_of(map_value(m, argument(e, 0)));
  }
  case Fn::truncated: return symbol_of(apply(Function::truncated, map_value(m, argument(e, 0))));
  case Fn::word_add:
  case Fn::word_mul: {
    Sym all = integer(m, argument(e, 0));
    for (std::size_t k = 1; k < n.args.size(); ++k) {
      const Sym one = integer(m, argument(e, k));
      all = n.fn == Fn::word_add ? all + one : all * one;
    }
    return all;
  }
  case Fn::word_sub: return integer(m, argument(e, 0)) - integer(m, argument(e, 1));
  case Fn::word_shl: {
    const Expr of = argument(e, 0), by = argument(e, 1);
    const ExprNode& down = of.node(); // and back again: without the low bits
    if ((down.fn == Fn::word_shr || down.fn == Fn::word_sar) && by.node().fn == Fn::integer &&
        argument(of, 1).node().fn == Fn::integer && argument(of, 1).node().value == by.node().value)
      return operation(TermKind::bit_and, integer(m, argument(of, 0)),
                       -Sym(std::int64_t{1} << (static_cast<unsigned>(by.node().value) & 31)));
    return operation(TermKind::shift_left, integer(m, of), integer(m, by));
  }
  case Fn::word_and:
  case Fn::word_or:
  case Fn::word_xor:
  case Fn::word_shr:
  case Fn::word_sar:
  case Fn::word_mul_hi:
    return operation(n.fn == Fn::word_and   ? TermKind::bit_and
                     : n.fn == Fn::word_or  ? TermKind::bit_or
                     : n.fn == Fn::word_xor ? TermKind::bit_xor
                     : n.fn == Fn::word_shr ? TermKind::shift_right
                     : n.fn == Fn::word_sar ? TermKind::shift_right_signed
                                            : TermKind::multiply_high_unsigned,
                     integer(m, argument(e, 0)), integer(m, argument(e, 1)));
  case Fn::choose: {
    const auto c = condition(m, argument(e, 0));
    if (!c) return symbol_of(signed_value(m, e));
    if (c->never) return integer(m, argument(e, 2));
    const Sym otherwise = integer(m, argument(e, 2));
    Sym s = integer(m, argument(e, 1));
    for (const Sym& d : c->all) s = select(less_equal(Sym(0), d), s, otherwise);
    return s;
  }
  default: not_followed();
  }
}

Sym CodeRun::operation(TermKind kind, Sym a, Sym b) {
  const auto s = formulas->operation(kind, a, b);
  if (!s) not_followed();
  return *s;
}

Number CodeRun::signed_value(const MapAt& m, Expr e) {
  if (e.node().fn == Fn::choose) {
    const Expr c = argument(e, 0), yes = argument(e, 1), no = argument(e, 2);
    const Fn less = c.node().fn; // a < b ? b : a
    if (less == Fn::word_less_signed || less == Fn::word_less) {
      const Expr a = argument(c, 0), b = argument(c, 1);
      const bool largest = yes == b && no == a, is_signed = less == Fn::word_less_signed;
      if (largest || (yes == a && no == b))
        return integers->extreme(signed_value(m, a), signed_value(m, b),
                                 is_signed ? (largest ? Monoid::signed_max : Monoid::signed_min)
                                           : (largest ? Monoid::unsigned_max : Monoid::unsigned_min));
    }
    return choose(truth(m, c), signed_value(m, yes), signed_value(m, no));
  }
  return integers->of(integer(m, e), names_of_integers());
}

Number CodeRun::folded(Monoid monoid, std::span<const Number> elements) {
  if (is_of_i32(monoid) && concrete()) {
    // A real number here has the digits of f32: what needs more of them is not known.
    double all = codegen::empty_element(monoid);
    for (const Number n : elements) {
      if (RealArithmetic::error(n) != 0) return RealArithmetic::number(0, INFINITY);
      all = codegen::combined(monoid, all, RealArithmetic::real(n));
    }
    return RealArithmetic::number(all, std::fabs(all) > 0x1p24 ? INFINITY : 0);
  }
  if (monoid == Monoid::wrapping_sum) {
    std::vector<Integers::Part> parts;
    for (const Number n : elements) parts.push_back({n, 1});
    return integers->sum(parts, 0, names_of_integers());
  }
  Number all = elements[0];
  for (const Number n : elements.subspan(1))
    all = is_of_i32(monoid)       ? integers->extreme(all, n, monoid)
          : monoid == Monoid::sum ? arithmetic->sum(all, n)
                                  : arithmetic->extreme(all, n, monoid == Monoid::max);
  return all;
}

std::optional<Formulas::Condition> CodeRun::condition(const MapAt& m, Expr e) {
  const ExprNode& n = e.node();
  const bool is_signed = n.fn == Fn::word_less_signed, is_equality = n.fn == Fn::word_equal;
  Formulas::Condition c;
  if (!is_signed && !is_equality && n.fn != Fn::word_less) { // not 0
    const auto s = formulas->as_unsigned(integer(m, e));
    if (!s) return std::nullopt;
    Formulas::require(c, *s - Sym(1));
    return formulas->canonical(c);
  }
  const auto side = [&](std::size_t k) {
    const Sym s = integer(m, argument(e, k));
    return is_signed ? formulas->as_signed(s) : formulas->operation(TermKind::bit_and, s, Sym(0xffffffffLL));
  };
  const auto a = side(0), b = a ? side(1) : a;
  if (!b) return std::nullopt;
  if (is_equality) {
    Formulas::require(c, *a - *b);
    Formulas::require(c, *b - *a);
  } else {
    Formulas::require(c, *b - *a - Sym(1));
  }
  return formulas->canonical(c);
}

Number CodeRun::truth(const MapAt& m, Expr e) {
  if (const auto c = condition(m, e)) return holds(*c);
  // Of words with a sign that may be anything, as ValuesOfWords::truth has it.
  if (e.node().fn != Fn::word_less_signed) not_followed();
  return arithmetic->less(signed_value(m, argument(e, 0)), signed_value(m, argument(e, 1)));
}

Number CodeRun::holds(const Formulas::Condition& c) {
  for (const Sym& d : c.all) conditions.try_emplace(ValuesOfWords::of(d));
  return ValuesOfWords::of(c);
}

double CodeRun::integer_at_sizes(const MapAt& m, Expr e) {
  const ExprNode& n = e.node();
  if (n.fn < Fn::integer && n.fn != Fn::choose) {
    const Number v = map_value(m, e);
    return RealArithmetic::error(v) == 0 ? RealArithmetic::real(v) : std::numeric_limits<double>::quiet_NaN();
  }
  if (n.fn == Fn::word &&
      argument(e, 0).node().fn == Fn::number) { // more digits than a real of RealArithmetic has
    const auto c = formula_at(m, argument(e, 0).node().sym).constant();
    const double x[] = {c ? static_cast<double>(c->value()) : std::numeric_limits<double>::quiet_NaN()};
    return std::isnan(x[0]) ? x[0] : codegen::function_value(n, x);
  }
  std::vector<double> of;
  for (std::size_t k = 0; k < n.args.size(); ++k) {
    of.push_back(integer_at_sizes(m, argument(e, k)));
    if (std::isnan(of.back())) return of.back();
  }
  return codegen::function_value(n, of);
}

Number CodeRun::map_integer(const MapAt& m, Expr e) {
  const ExprNode& n = e.node();
  if (steps != nullptr) steps->take(8 * Steps::element);
  if (concrete()) {
    std::vector<double> of;
    for (std::size_t k = 0; k < n.args.size(); ++k) {
      if (n.fn == Fn::choose && k > 0) break;
      of.push_back(integer_at_sizes(m, argument(e, k)));
      if (std::isnan(of.back())) return RealArithmetic::number(0, INFINITY); // not known: it may be anything
    }
    if (n.fn == Fn::choose) return map_value(m, argument(e, of[0] != 0 ? 1 : 2));
    return RealArithmetic::number(codegen::function_value(n, of));
  }
  switch (n.fn) {
  case Fn::choose:
    return choose(truth(m, argument(e, 0)), map_value(m, argument(e, 1)), map_value(m, argument(e, 2)));
  case Fn::to_number: return signed_value(m, argument(e, 0));
  default: not_followed();
  }
}

} // namespace inlay::kernels::validate
