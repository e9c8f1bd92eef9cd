/// Where an expression is no number: reciprocals of 0, roots and logarithms of what is negative, sums and products of what
/// an expression itself makes infinite (select(x, y, x, -inf)). Private.
///
/// The normal form of an expression is equal to it where both are numbers; x/x is 1 and sqrt(x) sqrt(x) is x but for some x.
/// A map may therefore not lose such a condition on the way: what it asks for has to be asked for by what it comes to.
#pragma once

#include <inlay/codegen/expression.h>

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace inlay::codegen::provenance {

/// The same but for indices, and for the order of what commutes; a sum under way (a parameter `a`) is like anything.
[[nodiscard]] bool alike(const Expressions& x, int a, int b, std::map<std::pair<int, int>, bool>& known);
[[nodiscard]] bool commutes(Fn fn);
[[nodiscard]] bool same_kind(const ExprNode& a, const ExprNode& b);

class Domains {
public:
  /// What `allowed` ask for too, of some element, is no loss: who writes sqrt(x) sqrt(x) may compute it so.
  Domains(Expressions& x, std::vector<Expr> allowed) : x_(x), allowed_(std::move(allowed)) {}

  /// A condition of `from` that `to` does not have, in words; nothing when there is none. Requires: `to` in normal form.
  ///
  ///     lost(x/x, 1)                       "x is not 0"
  ///     lost(exp(x)/exp(x), 1)             nothing: a power is positive
  [[nodiscard]] std::optional<std::string> lost(Expr from, Expr to,
                                                const std::function<std::string(int)>& name);

  /// Whether the expression has a literal infinity that it may come to. What an `inside` leaves out does not count: that
  /// something is inside is what other rules show.
  [[nodiscard]] bool infinite(Expr e);

private:
  enum class Sign { unknown, not_negative, positive };
  enum Need : unsigned { not_zero = 1, not_negative = 2, finite = 4 };
  using Needs = std::map<int, unsigned>; // of expressions in normal form

  Sign sign(int id);
  const Needs& needs(int id);
  bool infinite(int id);
  // Of what is added or multiplied, the parts that may be infinite.
  void require_finite(int id, Needs& into);
  void require(int base, double power, bool logarithm, Needs& into);

  Expressions& x_;
  std::vector<Expr> allowed_;
  std::unordered_map<int, Sign> sign_;
  std::unordered_map<int, bool> infinite_;
  std::unordered_map<int, Needs> needs_;
};

} // namespace inlay::codegen::provenance
