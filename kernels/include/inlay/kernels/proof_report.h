/// `ProofReport`: what a kernel relies on, and how each claim was settled before the kernel was handed out.
///
/// Claims are never written by hand: they are derived from the code that is emitted (codegen/provenance.h), and the
/// inequalities among them go to the solver. This is the record:
///
///     ProofReport report = prove(code);
///     report.text()      //   proved   c is what the specification says   sum(#0 < k, ...)   [provenance, line 41]
///
/// A claim that is refuted, or that cannot be decided, throws `ObligationError` with the counterexample and the source
/// line of the specification: there is no kernel without its proof. What only the launch can know (the sizes) is
/// listed as a run-time check, and the launch contract makes it.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace inlay::codegen {
struct DerivedClaim;
struct LaunchCondition;
} // namespace inlay::codegen

namespace inlay::kernels {

/// One claim and its fate.
struct ProofItem {
  std::string claim;   ///< `LDS reads of A are conflict-free (ds_read_b128, CDNA3)`
  std::string subject; ///< the layout or formula that it is about
  std::string verdict; ///< `proved`, `checked at launch`, or `the caller's`
  std::string method;  ///< how it was decided, or the condition that the launch checks
  int op = -1;         ///< number of the operation in the program's text
  int line = 0;        ///< of the specification
};

/// A claim of the specification does not hold: the build stops. The message names the claim, the counterexample and
/// the line of the specification.
class ObligationError : public std::invalid_argument {
public:
  ObligationError(const std::string& kernel, const std::string& claim, const std::string& subject,
                  const std::string& counterexample, const std::source_location& where);
};

class ProofReport {
public:
  ProofReport() = default;
  ProofReport(std::string kernel, std::source_location where) : kernel_(std::move(kernel)), where_(where) {}

  /// Records a fact that was established by comparing all values one by one. Errors: ObligationError when it fails.
  void require_enumerated(const std::string& claim, const std::string& subject, bool holds,
                          const std::string& counterexample, int op, const std::source_location& where);
  /// Records a claim that was derived from the code. Errors: ObligationError when it does not hold.
  void derived(const codegen::DerivedClaim& claim);
  /// Records a condition of the launch: one that its plan checks, or the caller's.
  void at_launch(const codegen::LaunchCondition& condition);

  [[nodiscard]] const std::vector<ProofItem>& items() const { return items_; }
  [[nodiscard]] std::size_t proved() const;
  [[nodiscard]] std::size_t at_launch_count() const;
  /// A table for people: verdict, claim, method, one line each.
  [[nodiscard]] std::string text() const;

private:
  std::string kernel_;
  std::source_location where_;
  std::vector<ProofItem> items_;
};

} // namespace inlay::kernels
