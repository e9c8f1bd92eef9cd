/// What `choose` decides, in one order: `choose(p, choose(q, x, 0), 0)` and `choose(q, choose(p, x, 0), 0)` are one expression, and so
/// are `exp(choose(p, x, -inf))` and `choose(p, exp(x), 0)`. Private.
#pragma once

#include <inlay/codegen/expression.h>

#include <set>
#include <unordered_map>

namespace inlay::codegen::provenance {

class Choices {
public:
  Choices(Expressions& x, SymContext& context) : x_(x), context_(context) {}

  /// The normal form in which conditions are decided first, in the order of their numbers, and each value has been made under them.
  /// A fold does so for its own index, and a sum term by term, with what does not depend on the index before it. Equal to `e` where both
  /// are numbers; the normal form where nothing is chosen, or by too many conditions.
  ///
  ///     ordered(choose(p, x, 0) y)         choose(p, x y, 0)
  ///     ordered(sum(choose(p(i), c x(i), 0)))      c sum(choose(p(i), x(i), 0))
  /// `compared`: to be compared with another one, and nothing else. Then 0/0, where nothing is chosen of a quotient's sums, is one value
  /// on both sides; else what would come to it stays in its order.
  [[nodiscard]] Expr ordered(Expr e, bool compared = false);
  /// The normal form of `e` where `condition`, in normal form, holds, or where it does not.
  [[nodiscard]] Expr under(Expr e, Expr condition, bool holds);
  /// Whether something is chosen in it.
  [[nodiscard]] bool chooses(Expr e);

private:
  static constexpr std::size_t most_conditions = 6, most_terms = 32;
  // Those that are the same for all indices of folds in it.
  const std::set<int>& conditions(int id);
  Expr tree(Expr e, int level);
  // Whether a product is 0/0 there: one factor is 0, and another one the reciprocal of 0.
  bool undefined(Expr e, Expr condition, bool holds);
  // Whether a constant in it is NaN.
  bool no_number(Expr e);
  // Nothing is chosen but in folds, by their index.
  Expr leaf(Expr e, int level);
  Expr fold(const ExprNode& n, int level);
  // A sum whose sums over one index are one: sum(choose(p(i), x(i), 0)) + sum(choose(p(i), 0, x(i))) is sum(x(i)). Nothing where
  // there are none.
  std::optional<Expr> together(const ExprNode& sum, int level);

  Expressions& x_;
  SymContext& context_;
  bool compared_ = false;
  std::unordered_map<int, int> ordered_[2];
  std::unordered_map<int, std::set<int>> conditions_;
  std::unordered_map<int, bool> chooses_, no_number_;
};

} // namespace inlay::codegen::provenance
