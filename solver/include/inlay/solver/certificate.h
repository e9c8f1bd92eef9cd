/// Certificates: a proof that somebody else can check.
///
/// A certificate is one SMT-LIB 2 file. Comments at the top state the claim as it was asked, how it was decided, what the
/// symbols became and into which digits the index falls; below are the queries that must all be unsatisfiable:
///
///     ; inlay certificate 1
///     ; property equal
///     ; method normal form
///     ; argument (M,K):(K,1)
///     ; argument ((32,M/32),K):((K,32*K),1)
///     ; where M % 32 == 0
///     ; symbol M' >= 1
///     ; let M = 32*M'
///     ; digits first 32*M' | K
///     ; digits second 32 | M' | K
///     ...
///     ; query
///     (set-logic ALL)
///     ...
///     ; checksum 9ae16a3b2f90404f
///
/// recheck() reads such a file without the prover. From the claim's own text and nothing else it derives, with a
/// reader and polynomials of its own (solver/certificates/statement.h, derive.h), what would have to be unsatisfiable; the file's queries
/// must be these, letter for letter; then the Z3 library and the program cvc5 (where it is installed) are asked. Claims about
/// finitely many values it evaluates by the definition instead, up to 2^24 of them. So a certificate that proves something
/// else than it claims is rejected whoever wrote it, and the checksum is only there to say "the file was changed" early.
#pragma once

#include <inlay/solver/error.h>
#include <inlay/solver/prove.h>

#include <string>
#include <string_view>
#include <vector>

namespace inlay::solver {

struct Recheck {
  bool accepted = false;
  std::string property, method;
  std::vector<std::string> arguments;
  unsigned queries = 0;
  /// "Z3: unsat", "cvc5: unsat", "cvc5: not installed", per query; "evaluated: 4096 evaluations" before them.
  std::vector<std::string> answers;
  /// Accepted though the way that the certificate hints at led nowhere: the solvers found out about the claim as it stands.
  bool as_it_stands = false;
  /// Why not, when not accepted.
  std::string reason;
  /// Not accepted because the definition, evaluated, says the opposite. (A solver's counterexample is to what was derived,
  /// which may say more than the claim.)
  bool contradicted = false;
};

/// The verdict as the checker sees it. A proof whose certificate is accepted keeps it, with a note of who checked it; one
/// that the checker cannot derive is unknown, with the reason as obligation; one that it finds false by evaluating the
/// definition is an InternalError. Verdicts that are no proofs pass through.
[[nodiscard]] Verdict rechecked(Verdict verdict);

/// Checks a certificate. A file that is not one is a QuestionError; one that does not check is `accepted ==
/// false`.
[[nodiscard]] Recheck recheck(std::string_view certificate);

} // namespace inlay::solver
