/// From the statement of a certificate to what has to be unsatisfiable, or to a finite check.
///
/// Seven ways, in this order:
///
///     a glance    Numbers only, or symbols with finitely many values, up to 2^16 evaluations: the definition.
///     digits      The certificate says into which digits the index falls ("digits 128 | m | 128 | n"). The claim's own
///                 text is evaluated over them with polynomials: x / d is the part of x that d divides, x % d the rest, and
///                 0 <= rest < d becomes an inequality to be shown (quotients are unique); xor and and of digits of
///                 extent 2 are parities. The claim is then a few identities and inequalities between polynomials: one
///                 query. The symbols that stand for the user's ("let M = 128*M'") are a query of their own: every value
///                 that the facts allow is reached.
///     residues    The certificate says which coordinates and symbols are named by a residue ("residues coordinate 0 2": i = 2 k + r):
///                 the claim's own text with that for each residue, which is a polynomial in each.
///     bounds      Least and greatest values, operation by operation, where the certificate says "bounds of blocks".
///     evaluation  The definition, up to 2^24 evaluations.
///     pieces      The certificate says how to cut the domain into boxes (derive_pieces.cpp): digits on each.
///     raw         Otherwise, and where the way that was hinted at leads nowhere, the claim with div and mod as it stands, for the
///                 solvers to find out.
///
/// What a certificate's queries say does not matter here; recheck() wants them to be these, letter for letter.
#pragma once

#include "certificates/statement.h"

namespace inlay::solver::independent {

/// One way to show the claim, whole by itself.
struct Way {
  std::vector<std::string> queries; ///< all of them must be unsatisfiable
  /// Each in other words: with the facts that mostly cost more than they help, with quotients as variables, with divisors that may
  /// be below 0. Asked when nobody could answer the query itself, and as good.
  std::vector<std::vector<std::string>> stronger;
  bool is_aside = false; ///< beside the one that was hinted at, and worth few of a solver's steps
};

struct Derived {
  std::vector<Way> ways; ///< any of them is enough; the first one's queries stand in the certificate
  std::string stuck;     ///< why the way that the certificate hints at is not among them
  std::string evaluated; ///< "every one of 4096 values", when nothing is left for a solver

  [[nodiscard]] std::vector<std::string> queries() const {
    return ways.empty() ? std::vector<std::string>{} : ways.front().queries;
  }
};

/// `evaluate` false leaves evaluations out: what a certificate is written with. Errors: Stuck when the claim is false
/// where it was evaluated, or outside what is understood.
[[nodiscard]] Derived derive(const Statement& s, bool evaluate = true);

} // namespace inlay::solver::independent
