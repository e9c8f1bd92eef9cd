/// Certificates: a proof that somebody else can check.
///
/// A certificate is one SMT-LIB 2 file. Comments at the top say what was asked and how it was decided; below
/// is the proof, negated, as one or more queries that must all be unsatisfiable: the equations of the merges
/// and of the normal forms (whose meaning is the theorem layout_eq_iff in proofs/coq/Layout.v), the
/// inequalities of a domination argument, the links of a stride chain, or the question itself where a solver
/// decided it.
///
///     ; inlay certificate 1
///     ; property equal
///     ; method normal form
///     ; argument (M,N):(1,M)
///     ; argument M*N:1
///     ; claim v_M = (* 1 v_M) because merge
///     ...
///     (set-logic ALL)
///     (declare-const v_M Int)
///     (assert (>= v_M 1))
///     (assert (not (and (= v_M (* 1 v_M)) ...)))
///     (check-sat)
///     ; checksum 9ae16a3b2f90404f
///
/// recheck() reads such a file without the prover: it parses the text, sees that every claim of the trace is
/// in the negated conjunction and nothing else is, that the checksum fits, and asks the programs z3 and cvc5
/// (or the Z3 library where the program is not installed).
#pragma once

#include <inlay/solver/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace inlay::solver {

struct Recheck {
  bool accepted = false;
  std::string property, method;
  std::vector<std::string> arguments;
  unsigned queries = 0;
  /// "Z3: unsat", "cvc5: unsat", "cvc5: not installed", per query.
  std::vector<std::string> answers;
  /// Why not, when not accepted.
  std::string reason;
};

/// Checks a certificate. A file that is not one is a QuestionError; one that does not check is `accepted ==
/// false`.
[[nodiscard]] Recheck recheck(std::string_view certificate);

} // namespace inlay::solver
