/// Where an expression is no number: reciprocals of 0, roots and logarithms of what is negative, sums and products of what
/// an expression itself makes infinite (select(x, y, x, -inf)). Private.
///
/// The normal form of an expression is equal to it where both are numbers; x/x is 1 and sqrt(x) sqrt(x) is x but for some x.
/// A condition may therefore not be lost on the way. What a map asks for and what it comes to does not, its term keeps (Term::asked),
/// and where it is stored the specification has to ask for the same, of the same element; what is folded or multiplied keeps nothing.
#pragma once

#include <inlay/codegen/expression.h>

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace inlay::codegen::provenance {

/// The same but for indices, and for the order of what commutes.
[[nodiscard]] bool alike(const Expressions& x, int a, int b, std::map<std::pair<int, int>, bool>& known);
[[nodiscard]] bool commutes(Fn fn);
[[nodiscard]] bool same_kind(const ExprNode& a, const ExprNode& b);

class Domains {
public:
  enum Need : unsigned { not_zero = 1, not_negative = 2, finite = 4 };
  using Needs = std::map<int, unsigned>; ///< of expressions in normal form, by number: bits of Need

  explicit Domains(Expressions& x) : x_(x) {}

  /// What an expression asks for, so that it is a number.
  [[nodiscard]] const Needs& needs(Expr e) { return needs(e.id); }
  /// What of it `from` asks for and `to` does not. Requires: `to` in normal form.
  ///
  ///     lost(x/x, 1)                       x is not 0
  ///     lost(exp(x)/exp(x), 1)             nothing: a power is positive
  [[nodiscard]] Needs lost(Expr from, Expr to);
  /// `need` without what an expression in normal form has anyway.
  [[nodiscard]] unsigned open(int id, unsigned need);
  /// `x(1) is not negative`.
  [[nodiscard]] std::string text(int id, unsigned need, const std::function<std::string(int)>& name) const;

  /// Whether the expression has a literal infinity that it may come to. What an `inside` leaves out does not count: that
  /// something is inside is what other rules show.
  [[nodiscard]] bool infinite(Expr e);

private:
  enum class Sign { unknown, not_negative, positive };

  Sign sign(int id);
  const Needs& needs(int id);
  bool infinite(int id);
  // Of what is added or multiplied, the parts that may be infinite.
  void require_finite(int id, Needs& into);
  void require(int base, double power, bool logarithm, Needs& into);

  Expressions& x_;
  std::unordered_map<int, Sign> sign_;
  std::unordered_map<int, bool> infinite_;
  std::unordered_map<int, Needs> needs_;
};

} // namespace inlay::codegen::provenance
