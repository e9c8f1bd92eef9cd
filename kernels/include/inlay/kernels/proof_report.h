/// `ProofReport`: what a kernel relies on, and how each claim was settled before the kernel was handed out.
///
/// A kernel's layouts carry promises: every element is loaded exactly once, the LDS addresses that one wave writes are
/// those that another reads, no two lanes of a phase meet in a bank. `ProofReport` puts each such promise to the
/// solver and keeps the answer:
///
///     ProofReport report("gemm", where);
///     report.require("C is covered exactly once", solver::prove_bijective(c_tile));
///     report.at_launch("K % 8 == 0", "rows of A and B start on 16 bytes");
///
/// A claim that is refuted, or that cannot be decided, throws `ObligationError` with the counterexample and the source
/// line of the specification: there is no kernel without its proof. What only the launch can know (the sizes) is
/// listed as a run-time check, and the launch plan makes it.
#pragma once

#include <inlay/solver/prove.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace inlay::kernels {

/// One claim and its fate.
struct ProofItem {
  std::string claim;   ///< `LDS reads of A are conflict-free (ds_read_b128, gfx942)`
  std::string subject; ///< the layout or formula that it is about
  std::string verdict; ///< `proved`, or `checked at launch`
  std::string method;  ///< the solver's layer, or the condition that the launch checks
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

  /// Records a proved claim. Errors: ObligationError when the verdict is anything else.
  void require(const std::string& claim, const std::string& subject, const solver::Verdict& verdict);
  /// Records a fact that was established by comparing all values one by one. Errors: ObligationError when it fails.
  void require_enumerated(const std::string& claim, const std::string& subject, bool holds,
                          const std::string& counterexample);
  /// Records a condition that the launch plan checks.
  void at_launch(const std::string& condition, const std::string& reason);

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
