/// SMT-LIB text of polynomials, formulas and conditions, and a query of them.
#pragma once

#include "certificates/digits.h"

namespace inlay::solver::independent {

[[nodiscard]] std::string smt_number(Number n);
/// prefix + name, in |bars| where SMT-LIB wants them.
[[nodiscard]] std::string quoted(const std::string& prefix, const std::string& name);
[[nodiscard]] std::string smt(const Sum& s, const std::vector<Variable>& all);
/// A formula as it stands; divisors that could be 0 or less, with `any_divisor` that could be 0, are goals of their own. Errors: Stuck.
[[nodiscard]] std::string smt(const Expr& e, const std::map<std::string, std::string>& names,
                              std::vector<std::string>& goals, bool any_divisor = false);
[[nodiscard]] std::string smt_condition(const Expr& e, const std::map<std::string, std::string>& names,
                                        std::vector<std::string>& goals, bool any_divisor = false);
/// Adds the facts that integers can say.
void assert_facts(const std::vector<Expr>& facts, const std::map<std::string, std::string>& names,
                  std::vector<std::string>& asserted);
/// A query with (div a d) and (mod a d) as variables where d is no number, which some solvers find easier; empty: there are none.
[[nodiscard]] std::string with_quotients(const std::string& query);
/// The query: can one of the goals hold?
[[nodiscard]] std::string assembled(const std::vector<std::string>& declared,
                                    const std::vector<std::string>& asserted,
                                    const std::vector<std::string>& goals);

} // namespace inlay::solver::independent
