#include "fuzz_engine.h"

#include <chrono>

namespace inlay::cli {
namespace {

constexpr int most_candidates = 5000; // of one shrinking

FuzzFinding shrink(rc::Shrinkable<RawInput> at, const FuzzLimits& limits, int kind, const FuzzJudge& judge) {
  FuzzFinding finding;
  int candidates = 0;
  for (bool smaller = true; smaller && candidates < most_candidates;) {
    smaller = false;
    auto shrinks = at.shrinks();
    for (auto next = shrinks.next(); next && candidates < most_candidates; next = shrinks.next()) {
      ++candidates;
      if (judge(build(next->value(), limits)) != kind) continue;
      at = *next;
      ++finding.shrunk;
      smaller = true;
      break;
    }
  }
  finding.input = build(at.value(), limits);
  return finding;
}

} // namespace

FuzzReport fuzz(const FuzzOptions& options, int first_kept, bool stop_at_first, const FuzzJudge& judge,
                const FuzzProgress& progress) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const rc::Gen<RawInput> inputs = raw_input(options.limits);
  const auto elapsed = [&] { return std::chrono::duration<double>(clock::now() - begin).count(); };
  const double budget = options.minutes * 60;

  // Mixed once on its own: small seeds would only shift the numbers of the cases, and draw the same inputs.
  const std::uint64_t stream = detail::mix(0, options.seed);

  FuzzReport report;
  std::map<int, rc::Shrinkable<RawInput>> first;
  double told = 0;
  for (;; ++report.cases) {
    if (budget > 0 ? elapsed() >= budget : report.cases >= options.cases) break;
    const auto drawn = inputs(rc::Random(detail::mix(stream, report.cases)), rc::kNominalSize);
    const int kind = judge(build(drawn.value(), options.limits));
    ++report.count[kind];
    if (kind >= first_kept && first.emplace(kind, drawn).second) {
      report.findings[kind].number = report.cases;
      if (stop_at_first) {
        ++report.cases;
        break;
      }
    }
    if (report.cases % 16 == 0 && elapsed() - told > 0.1) {
      told = elapsed();
      progress(budget > 0 ? told / budget
                          : static_cast<double>(report.cases) / static_cast<double>(options.cases),
               report);
    }
  }
  for (auto& [kind, drawn] : first) {
    FuzzFinding found = shrink(drawn, options.limits, kind, judge);
    found.number = report.findings[kind].number;
    report.findings[kind] = std::move(found);
  }
  report.seconds = elapsed();
  return report;
}

} // namespace inlay::cli
