/// SMT-LIB 2 text, and the solvers that read it: Z3 in the process, cvc5 as a program beside it.
///
/// Everything a solver hears is text, so that what is asked, what is shown with `unknown`, and what a
/// certificate contains is one and the same thing. Each query has a Z3 context of its own, fixed seeds, and a
/// resource limit instead of a clock (`:rlimit` counts elementary steps), so results repeat and do not depend
/// on what ran before nor on how busy the machine is. The tactic (then simplify propagate-values solve-eqs smt) comes first: it turns `8
/// divides K*m` for K = 8 k from a time-out into 0.03 s. Names are prefixed, because Z3 silently lets a
/// script redefine `or`.
#pragma once

#include "arithmetic/context.h"

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace inlay::solver::smt {

enum class Answer { unsat, sat, unknown };

struct Result {
  Answer answer = Answer::unknown;
  std::string solver;                // who said so
  std::map<std::string, Wide> model; // of the names asked for, when sat
};

/// Builds one query.
class Query {
public:
  /// Declares the context's symbols with their bounds, the user's names as definitions, and the residual
  /// conditions.
  explicit Query(const Context& context);
  /// An integer variable in [0, extent).
  void coordinate(const std::string& name, const std::string& extent_term);
  void declare(const std::string& name);
  void define(const std::string& name, const std::string& term);
  void require(const std::string& boolean_term) { assertions_.push_back(boolean_term); }
  /// At least one of these must hold: the negated claim. Divisors that may not be positive join it.
  void goal(const std::string& boolean_term) { goals_.push_back(boolean_term); }
  /// Of the conditions: a divisor that may not be positive. To be dropped where the question is whether they hold for any value.
  [[nodiscard]] bool has_goals() const { return !goals_.empty(); }
  void drop_goals() { goals_.clear(); }
  void comment(const std::string& line) { comments_.push_back(line); }

  /// Text of an integer term; nullopt for what integers cannot say (variable shifts). Bit operations are sums of products of bits (& of
  /// two or more terms), of which only bounds are known.
  /// Names are looked up in `names` (name -> term) and else are symbols.
  [[nodiscard]] std::optional<std::string> term(const FormulaRef& f,
                                                const std::map<std::string, std::string>& names);
  [[nodiscard]] std::string term(const Poly& p) const;

  /// With quotients as variables (a = q d + r) where the divisor is not a constant, instead of div and mod.
  bool quotient_variables = false;

  [[nodiscard]] std::string text(bool with_model) const;
  [[nodiscard]] const std::vector<std::string>& watched() const { return watched_; }

private:
  std::optional<std::string> boolean(const FormulaRef& f, const std::map<std::string, std::string>& names);
  /// Terms and a mask, -1 where there is none: (x & y & 12) is {{x, y}, 12}.
  using Product = std::pair<std::set<std::string>, Wide>;
  using Products = std::map<Product, Wide>;
  std::optional<Products> products(const FormulaRef& f, const std::map<std::string, std::string>& names);
  std::string product(const Product& p);
  std::string conjunction(const std::string& x, const std::string& y);
  [[nodiscard]] std::optional<Wide> number(const FormulaRef& f,
                                           const std::map<std::string, std::string>& names) const;
  std::string division(bool quotient, const std::string& a, const std::string& d, bool positive);

  const Context& context_;
  std::vector<std::string> comments_, declarations_, assertions_, goals_, watched_;
  std::map<std::string, std::pair<std::string, std::string>> quotients_;
};

[[nodiscard]] std::string literal(Wide value);
[[nodiscard]] std::string symbol(const std::string& name);

/// Z3 in this process, in each of its ways of searching until one answers. `steps` is Z3's rlimit for each.
[[nodiscard]] Result z3(const std::string& text, const std::vector<std::string>& watched, std::uint64_t steps,
                        const std::atomic<bool>* cancel = nullptr);
/// The cvc5 program, unknown when it is not installed.
[[nodiscard]] Result cvc5(const std::string& text, const std::vector<std::string>& watched,
                          std::uint64_t steps);
[[nodiscard]] bool cvc5_installed();
/// First Z3, then cvc5 when Z3 does not know. InternalError when both answer and disagree.
[[nodiscard]] Result portfolio(const Query& query, std::uint64_t steps,
                               const std::atomic<bool>* cancel = nullptr);

} // namespace inlay::solver::smt
