#include <inlay/kernels/proof_report.h>

#include <algorithm>
#include <fmt/format.h>

namespace inlay::kernels {

ObligationError::ObligationError(const std::string& kernel, const std::string& claim,
                                 const std::string& subject, const std::string& counterexample,
                                 const std::source_location& where)
    : std::invalid_argument(
          fmt::format("{}: a claim of the specification does not hold\n  claim  {}\n  about  {}\n  "
                      "where  {}\n  spec   {}:{}",
                      kernel, claim, subject, counterexample, where.file_name(), where.line())) {}

void ProofReport::require(const std::string& claim, const std::string& subject,
                          const solver::Verdict& verdict) {
  if (verdict.outcome == solver::Outcome::proved) {
    items_.push_back({claim, subject, "proved", verdict.method});
    return;
  }
  std::string reason;
  if (verdict.witness) {
    reason = "counterexample: " + verdict.witness->text;
  } else {
    reason = "undecided";
    for (const std::string& obligation : verdict.obligations) reason += "; would need " + obligation;
  }
  throw ObligationError(kernel_, claim, subject, reason, where_);
}

void ProofReport::require_enumerated(const std::string& claim, const std::string& subject, bool holds,
                                     const std::string& counterexample) {
  if (!holds) throw ObligationError(kernel_, claim, subject, counterexample, where_);
  items_.push_back({claim, subject, "proved", "all values compared"});
}

void ProofReport::at_launch(const std::string& condition, const std::string& reason) {
  items_.push_back({reason, condition, "checked at launch", condition});
}

std::size_t ProofReport::proved() const {
  return static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.end(), [](const ProofItem& i) { return i.verdict == "proved"; }));
}

std::size_t ProofReport::at_launch_count() const { return items_.size() - proved(); }

std::string ProofReport::text() const {
  std::string text;
  for (const ProofItem& item : items_)
    text += fmt::format("{:<18} {:<72} {}\n", item.verdict, item.claim, item.method);
  return text;
}

} // namespace inlay::kernels
