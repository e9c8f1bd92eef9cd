/// What the pointwise statements share: A(i) = B(i), 0 <= A(i) < N, W | A(i), A(B(i)) = i. They survive cutting the domain
/// into pieces (where a min, max or select changes sides) and enlarging it, which is how they are proved.
#pragma once

#include "questions/statements.h"

#include <algorithm>

namespace inlay::solver {

/// What the forms of the values have to satisfy on a piece.
using PieceProof = std::function<bool(Lowering&, const std::vector<Form>&)>;

/// Pieces, then values, then a solver on the whole. `negated` writes the negation of the claim as an SMT term;
/// `kind` names the kind of counterexample, `bound` its N or W.
[[nodiscard]] std::optional<Verdict> prove_pointwise(
    Engine& e, const std::vector<const Parts*>& subjects, const PieceProof& proof,
    const std::function<std::optional<std::string>(smt::Query&, const std::vector<std::string>&)>& negated,
    Finding::Kind kind, const FormulaRef& bound);

// Looks at every index of a small instance, at a sample of a large one.
template <class Fails>
Check scan(const Engine& e, Wide size, const Fails& fails) {
  Wide limit = std::min(size, e.evaluations());
  // What cannot be enumerated in full is looked at in full last, when nothing else has an answer.
  if (limit < size && !e.thorough) limit = std::min<Wide>(limit, 4096);
  for (Wide i = 0; i < limit; ++i) {
    if ((i & 0xffff) == 0 && e.cancelled()) return Check::undecided();
    if (auto f = fails(i)) return Check::fails(*f);
  }
  if (limit == size) return Check::holds();
  // Powers of two and their neighbours, and a fixed pseudo-random walk: where layouts that differ usually do.
  for (Wide p = std::max<Wide>(limit, 1); p<size; p = p> size / 2 ? size : 2 * p)
    for (Wide i : {p - 1, p, p + 1})
      if (i < size)
        if (auto f = fails(i)) return Check::fails(*f);
  // The end, where a block that other blocks fill is cut off: `i ^ 15` leaves a domain of 2^62 - 2.
  const Wide last = std::min<Wide>(size - limit, e.concrete() ? 1024 : 64);
  for (Wide k = 1; k <= last; ++k)
    if (auto f = fails(size - k)) return Check::fails(*f);
  std::uint64_t state = 88172645463325252ULL;
  for (int k = 0, most = e.concrete() ? 20000 : 512; k < most; ++k) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    if (auto f = fails(static_cast<Wide>(state) % size)) return Check::fails(*f);
  }
  return Check::undecided();
}

} // namespace inlay::solver
