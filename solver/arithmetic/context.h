/// The symbols of one question and what is known about them.
///
/// Facts are turned into substitutions wherever they can be, because a solver does badly with `K % 8 == 0`
/// (both Z3 and cvc5 time out on "8 divides K*m + 8*v" stated with mod) and polynomial arithmetic does well
/// with K = 8 k:
///
///     M % 128 == 0          M = 128 M'            M' >= 1
///     M % 8 == 3            M = 8 M' + 3          M' >= 0
///     N % M == 0            N = M N'              N' >= 1
///     ld >= K               ld = K + ld'          ld' >= 0
///     M == 6, K == 8 * k    replaced
///     2 <= M, M <= 64       bounds of M
///
/// What remains (M * N <= 2^20, a disjunction, ...) is residual: every layer but SMT ignores it, which is
/// sound for a proof (it holds for more values than asked), and every counterexample is checked against the
/// conditions as written. Symbols are >= 1 unless a condition gives them another lower bound. Contradictory
/// facts are an error, not a vacuous proof: `M % 4 == 0 && M == 6` throws Contradiction.
#pragma once

#include "arithmetic/formula.h"

#include "inlay/solver/error.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inlay::solver {

/// No value satisfies the conditions. A class of its own, because whoever splits a question into cases may drop a case for
/// this reason, and for no other: a number too large to read is not an empty case.
struct Contradiction : QuestionError {
  using QuestionError::QuestionError;
};

struct Bounds {
  Wide lower = 1;
  std::optional<Wide> upper;
  bool derived = false; ///< of the prover's own: other symbols decide its value, nobody searches for it
};

/// A min or max of symbols of which no fact says the side, as a symbol: an extent min(M, 8) is a number m like any other, with
/// 1 <= m <= 8, and only a solver is told that it is M or 8. So is a quotient that no polynomial is: of q = (N + 3) / 4 only a
/// solver is told that 4 q <= N + 3 < 4 q + 4.
struct Choice {
  Op op; // min, max or div
  Poly a, b;
  Symbol symbol;
};

class Context {
public:
  /// `names`: the symbols that occur in the question; of `written`, which an operation made vanish, those count that a condition
  /// names. Throws QuestionError for a condition about none of them, Contradiction for conditions no value satisfies as far as
  /// congruences and bounds show it.
  Context(const std::set<std::string>& names, const std::vector<std::string>& conditions,
          const std::set<std::string>& written = {});

  /// Polynomial value of f, when it is one: + - *, exact / and % of symbols; nullopt otherwise.
  [[nodiscard]] std::optional<Poly> poly(const FormulaRef& f) const;
  /// What the user's `name` is after substitution.
  [[nodiscard]] const Poly& user(const std::string& name) const;

  /// Makes a Choice of every min, max, / and % in f that nothing decides and that is known to be at least 0; whether there were any.
  bool choose(const FormulaRef& f);
  [[nodiscard]] const std::vector<Choice>& choices() const { return choices_; }
  /// A symbol of the prover's own, e.g. for rounding an extent up.
  Symbol fresh(const std::string& hint, Bounds bounds);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Bounds>& bounds() const { return bounds_; }
  [[nodiscard]] std::string str(const Poly& p) const { return p.str(names_); }

  /// Is p >= 0 for all values? Shifts every symbol to its bounds and looks at the signs of the coefficients,
  /// then tries interval arithmetic: sound, not complete (`no proof` is false).
  [[nodiscard]] bool nonnegative(const Poly& p) const;
  /// Is p, a sum of multiples of symbols, negative where it is least? Then nobody has to look for a proof of p >= 0. False says nothing.
  [[nodiscard]] bool negative_at_corner(const Poly& p) const;
  /// (q, r) with p = q d + r and 0 <= r < d for all values, when it is found; d is positive.
  [[nodiscard]] std::optional<std::pair<Poly, Poly>> divided(const Poly& p, const Poly& d) const;
  [[nodiscard]] bool positive(const Poly& p) const { return nonnegative(p - Poly(1)); }

  [[nodiscard]] const std::vector<FormulaRef>& conditions() const { return conditions_; }
  [[nodiscard]] const std::vector<FormulaRef>& residual() const { return residual_; }
  /// (name, polynomial) for the user's symbols, sorted by name.
  [[nodiscard]] const std::map<std::string, Poly>& substitution() const { return user_; }

  /// Is every symbol bounded, with at most `limit` assignments in all?
  [[nodiscard]] bool finite(std::size_t limit) const;
  /// Calls `visit` with assignments of the internal symbols that satisfy all conditions, values near 0 first, then the
  /// corners and ends of their ranges and random ones up to 2^40, until it returns true or `limit` assignments were tried. Exhaustive
  /// when finite(limit), where numbers beyond 128 bits throw Overflow; elsewhere such an assignment is passed over. Returns
  /// whether visit stopped it.
  bool search(std::size_t limit, const std::function<bool(const std::vector<Wide>&)>& visit) const;
  /// Do the user's symbols satisfy every condition, and the default of being positive?
  [[nodiscard]] bool holds(const std::map<std::string, Wide>& environment) const;
  /// The user's symbols under an internal assignment.
  [[nodiscard]] std::map<std::string, Wide> environment(const std::vector<Wide>& values) const;

private:
  void learn(const FormulaRef& condition);
  bool learn_atomic(Op op, const FormulaRef& a, const FormulaRef& b);
  void settle();

  struct Known { // per user symbol, until settle()
    std::optional<Wide> lower, upper;
    Wide modulus = 1, residue = 0;
    FormulaRef equal;                // S == expression
    FormulaRef multiple_of;          // S % expression == 0
    std::optional<FormulaRef> above; // S >= expression
  };
  std::map<std::string, Known> known_;
  std::vector<std::string> names_;
  std::vector<Bounds> bounds_;
  std::map<std::string, Poly> user_;
  std::vector<FormulaRef> conditions_, residual_;
  std::vector<Choice> choices_;
};

} // namespace inlay::solver
