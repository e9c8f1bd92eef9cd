/// The facts of a claim, and its values on plain integers: what the definition needs, and what bounds the symbols.
#pragma once

#include "certificates/statement.h"

#include <initializer_list>
#include <optional>

namespace inlay::solver::independent {

/// The algebra of Evaluation on integers.
struct Plain {
  using Value = Number;
  static Number number(Number n) { return n; }
  static Number add(Number a, Number b) { return plus(a, b); }
  static Number multiply(Number a, Number b) { return times(a, b); }
  static Number divide(Number a, Number b) { return quotient(a, b); }
  static Number modulo(Number a, Number b) { return plus(a, -times(quotient(a, b), b)); }
  static Number power(Number n) {
    if (n < 0 || n > 100) throw Stuck("a shift by " + text(n));
    return Number{1} << static_cast<int>(n);
  }
  static bool truth(Number n) { return n != 0; }
  static bool compare(const std::string& op, Number a, Number b) {
    return op == "<"    ? a < b
           : op == "<=" ? a <= b
           : op == ">"  ? a > b
           : op == ">=" ? a >= b
           : op == "==" ? a == b
                        : a != b;
  }
  static Number bitwise(char op, Number a, Number b) {
    return negatable(op == '&' ? (a & b) : op == '|' ? (a | b) : (a ^ b));
  }
};

/// The parts of a && b && c.
void conjuncts(const Expr& e, std::vector<Expr>& out);
/// The value of an expression without names: 3, -3, 2*(4-7).
[[nodiscard]] std::optional<Number> number_of(const Expr& e);
/// Symbols are at least 1 unless a condition bounds them from below by a number (prove.h).
[[nodiscard]] bool has_lower_bound(const std::string& name, const std::vector<Expr>& facts);
/// Facts that nothing satisfies prove everything. So the certificate names values at which they hold: Stuck unless they do.
void require_example(const Statement& s);
[[nodiscard]] bool mentions(const Expr& e, std::initializer_list<const char*> ops);

} // namespace inlay::solver::independent
