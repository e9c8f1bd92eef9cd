/// Where an expression is no number: reciprocals of 0, roots and logarithms of what is negative, sums and products of what
/// an expression itself makes infinite (select(x, y, x, -inf)). Private.
///
/// The normal form of an expression is equal to it where both are numbers; x/x is 1 and sqrt(x) sqrt(x) is x but for some x.
/// A condition may therefore not be lost on the way. What a map asks for and what it comes to does not, its term keeps (Term::asked),
/// and where it is stored the specification has to ask for the same, of the same element; what is folded or multiplied keeps nothing.
/// What stands in a branch of select(..) or inside(..) is asked for where the branch is taken alone: select(x, 0, sqrt(x), 0) asks for nothing
/// of a negative x, and so allows no root of it elsewhere.
#pragma once

#include <inlay/codegen/expression.h>

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <span>
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
  /// An expression in normal form, and the conditions under which something is asked of it: 1 where they hold and 0 elsewhere, sorted.
  struct Of {
    int base;
    std::vector<int> where;
    friend auto operator<=>(const Of&, const Of&) = default;
    [[nodiscard]] static Of of(Expr base, std::span<const Expr> where);
  };
  using Needs = std::map<Of, unsigned>; ///< bits of Need

  explicit Domains(Expressions& x) : x_(x) {}

  /// What an expression asks for, so that it is a number.
  [[nodiscard]] const Needs& needs(Expr e) { return needs(e.id); }
  /// What of it `from` asks for and `to` does not. Requires: `to` in normal form.
  ///
  ///     lost(x/x, 1)                       x is not 0
  ///     lost(exp(x)/exp(x), 1)             nothing: a power is positive
  [[nodiscard]] Needs lost(Expr from, Expr to);
  /// Asks for `need` of `of`; what is asked for under fewer conditions is not said again under more.
  static void add(Needs& into, Of of, unsigned need);
  /// What of it is asked for wherever `of` is: whatever conditions of `of` hold.
  [[nodiscard]] static unsigned met(const Of& of, const Needs& has);
  /// What is asked of a map's operands, of number k `asked(k)`, where the map takes them. `values`: the operands.
  ///
  ///     passed(i < n ? x0 : 0, ..)         what is asked of x0, where i < n
  [[nodiscard]] Needs passed(Expr map, std::span<const Expr> values, const std::function<Needs(int)>& asked);
  /// `need` without what an expression in normal form has anyway.
  [[nodiscard]] unsigned open(int id, unsigned need);
  /// `x(1) is not negative`.
  [[nodiscard]] std::string text(int id, unsigned need, const std::function<std::string(int)>& name) const;

  /// Whether the expression has a literal infinity that it may come to. What an `inside` leaves out does not count: that
  /// something is inside is what other rules show.
  [[nodiscard]] bool infinite(Expr e);
  /// Whether it may come to infinity by its literals, and not to minus infinity alone.
  [[nodiscard]] bool above(Expr e) { return above(e.id); }
  /// Whether a map takes a parameter nowhere, or in a maximum with a number alone: `max(x0, -1)`, which is one whatever x0 is.
  [[nodiscard]] bool bounded(Expr map, int parameter);

private:
  enum class Sign { unknown, not_negative, positive };
  /// Which infinities an expression may come to by its literals, whatever the data are; also in what an `inside` leaves out.
  struct Infinities {
    bool below = false, above = false;
    [[nodiscard]] bool any() const { return below || above; }
    [[nodiscard]] Infinities negated() const { return {above, below}; }
  };

  Sign sign(int id);
  const Needs& needs(int id);
  bool infinite(int id);
  bool above(int id);
  [[nodiscard]] bool is_finite_constant(int id) const;
  Infinities literal(int id);
  Infinities literal_of(const ExprNode& n);
  // What has to be finite so that a sum or product is a number: inf - inf and 0 inf are none.
  void require_no_clash(const ExprNode& n, Needs& into);
  // The parts of an expression that may be infinite.
  void require_finite(int id, Needs& into);
  // What a branch asks for, where its condition holds.
  static void within(int condition, const Needs& branch, Needs& into);
  // Of an expression what its arguments ask for, `of` each, under its condition where it has one.
  Needs of_arguments(const ExprNode& n, const std::function<const Needs&(int)>& of);
  void require(int base, double power, bool logarithm, Needs& into);

  Expressions& x_;
  std::unordered_map<int, Sign> sign_;
  std::unordered_map<int, bool> infinite_;
  std::unordered_map<int, Infinities> literal_;
  std::unordered_map<int, Needs> needs_;
};

} // namespace inlay::codegen::provenance
