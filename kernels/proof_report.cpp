#include <inlay/kernels/proof_report.h>

#include <inlay/codegen/provenance.h>

#include <algorithm>
#include <fmt/format.h>

namespace inlay::kernels {

ObligationError::ObligationError(const std::string& kernel, const std::string& claim,
                                 const std::string& subject, const std::string& counterexample,
                                 const std::source_location& where)
    : std::invalid_argument(
          fmt::format("{}: a claim is not proved\n  claim  {}\n{}  where  {}\n  line   {}:{}", kernel, claim,
                      subject.empty() ? "" : "  about  " + subject + "\n", counterexample, where.file_name(),
                      where.line())) {}

void ProofReport::require_enumerated(const std::string& claim, const std::string& subject, bool holds,
                                     const std::string& counterexample, int op,
                                     const std::source_location& where) {
  if (!holds) throw ObligationError(kernel_, claim, subject, counterexample, where);
  items_.push_back({claim, subject, "proved", "all values compared", op, static_cast<int>(where.line())});
}

void ProofReport::derived(const codegen::DerivedClaim& c) {
  if (!c.proved) throw ObligationError(kernel_, c.claim, c.subject, c.counterexample, c.where);
  items_.push_back({c.claim, c.subject, "proved", c.method, c.op, static_cast<int>(c.where.line())});
}

void ProofReport::at_launch(const codegen::LaunchCondition& c) {
  // What memory holds, and in which order workgroups begin, no launch sees.
  items_.push_back({c.reason, c.condition, c.callers ? "the caller's" : "checked at launch", c.condition});
}

namespace {
std::size_t count(const std::vector<ProofItem>& items, const char* verdict) {
  return static_cast<std::size_t>(
      std::count_if(items.begin(), items.end(), [&](const ProofItem& i) { return i.verdict == verdict; }));
}
} // namespace

std::size_t ProofReport::proved() const { return count(items_, "proved"); }
std::size_t ProofReport::at_launch_count() const { return count(items_, "checked at launch"); }

std::string ProofReport::text() const {
  std::string text;
  for (const ProofItem& item : items_)
    text += fmt::format("{:<18} {:<72} {}{}\n", item.verdict, item.claim, item.method,
                        item.op < 0 ? "" : fmt::format(", operation {}, line {}", item.op, item.line));
  return text;
}

} // namespace inlay::kernels
