/// From the statement of a certificate to what has to be unsatisfiable, or to a finite check.
///
/// Three ways, in this order:
///
///     digits      The certificate says into which digits the index falls ("digits 128 | m | 128 | n"). The claim's own
///                 text is evaluated over them with polynomials: x / d is the part of x that d divides, x % d the rest, and
///                 0 <= rest < d becomes an inequality to be shown (quotients are unique); xor and and of digits of
///                 extent 2 are parities. The claim is then a few identities and inequalities between polynomials: one
///                 query. The symbols that stand for the user's ("let M = 128*M'") are a query of their own: every value
///                 that the facts allow is reached.
///     evaluation  Numbers only, or symbols with finitely many values, up to 2^24 evaluations: the definition.
///     raw         Otherwise the claim with div and mod as it stands, for the solvers to find out.
///
/// What a certificate's queries say does not matter here; recheck() wants them to be these, letter for letter.
#pragma once

#include "certificates/statement.h"

namespace inlay::solver::independent {

struct Derived {
  std::vector<std::string> queries; ///< all of them must be unsatisfiable
  /// Each in other words, or empty: with the facts that mostly cost more than they help, or with quotients as variables. Asked
  /// when nobody could answer the query itself, and as good.
  std::vector<std::string> stronger;
  std::string evaluated; ///< "every one of 4096 values", when nothing is left for a solver
};

/// `evaluate` false leaves evaluations out: what a certificate is written with. Errors: Stuck when the claim is false
/// where it was evaluated, or outside what is understood.
[[nodiscard]] Derived derive(const Statement& s, bool evaluate = true);

} // namespace inlay::solver::independent
