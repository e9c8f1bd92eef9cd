/// `SolverProver`: the algebra's obligations, decided by this folder.
///
/// A symbolic operation that cannot check a precondition records it as an Obligation and goes on; this is who looks at
/// it afterwards. Symbols carry their ranges with them; further facts are given as conditions.
///
///     SymLayout r = composition(a, b);                                  // obligation: 96 <= m
///     SolverProver prover({"m >= 128"});
///     undischarged(context.take_obligations(), prover).empty()          // true
#pragma once

#include <inlay/algebra/prover.h>
#include <inlay/solver/prove.h>

namespace inlay::solver {

class SolverProver final : public Prover {
public:
  explicit SolverProver(Facts facts = {}, Options options = {})
      : facts_(std::move(facts)), options_(options) {}
  /// yes: proved; no: refuted for at least one value of the symbols; unknown otherwise.
  [[nodiscard]] Truth decide(const Claim& claim) override;
  /// Every verdict so far, in order: the proof report.
  [[nodiscard]] const std::vector<Verdict>& verdicts() const { return verdicts_; }

private:
  Facts facts_;
  Options options_;
  std::vector<Verdict> verdicts_;
};

} // namespace inlay::solver
