/// What the prover throws.
#pragma once

#include <stdexcept>

namespace inlay::solver {

/// The question itself is at fault: malformed text, unsatisfiable facts, a division by zero, an architecture
/// that does not exist. The message shows the operand, the place and a hint; the command line turns it into
/// exit 2.
struct QuestionError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The prover is at fault: a counterexample that the naive evaluator does not confirm, or two solvers that
/// disagree.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

} // namespace inlay::solver
