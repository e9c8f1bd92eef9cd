// The checker. It knows the file format and the two programs; it includes nothing of the prover but the
// plumbing that starts a solver (smt.h) and the checksum.
#include "inlay/solver/certificate.h"

#include "certificate_text.h"
#include "smt.h"

namespace inlay::solver {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Nothing may stand in a query but declarations, assertions and one check-sat at the end: an `(assert false)`
// smuggled in as a define-fun of a reserved word, a second check-sat, options or an early exit are all
// refused.
bool plain_query(const std::string& query, std::string& reason) {
  int checks = 0;
  std::size_t begin = 0;
  while (begin < query.size()) {
    std::size_t end = std::min(query.find('\n', begin), query.size());
    std::string_view line = std::string_view(query).substr(begin, end - begin);
    begin = end + 1;
    if (line.empty() || line[0] == ';') continue;
    bool known = line == "(set-logic ALL)" || starts_with(line, "(declare-const ") ||
                 starts_with(line, "(assert (") || line == "(check-sat)";
    if (checks > 0 || !known) {
      reason = "unexpected line in a query: " + std::string(line.substr(0, 80));
      return false;
    }
    checks += line == "(check-sat)";
    int depth = 0;
    for (std::size_t k = 0; k < line.size(); ++k) {
      depth += line[k] == '(' ? 1 : line[k] == ')' ? -1 : 0;
      if (depth == 0 && k + 1 != line.size()) {
        reason = "two commands on one line: " + std::string(line.substr(0, 80));
        return false;
      }
    }
  }
  if (checks != 1) reason = "a query without (check-sat)";
  return checks == 1;
}

} // namespace

Recheck recheck(std::string_view certificate) {
  Recheck r;
  if (!starts_with(certificate, "; inlay certificate 1\n"))
    throw QuestionError(
        "recheck: this is not an inlay certificate\n  hint   inlay prove ... --cert FILE writes one");
  std::string text(certificate);
  std::size_t last = text.rfind("; checksum ");
  if (last == std::string::npos ||
      text.substr(last) != "; checksum " + checksum(text.substr(0, last)) + "\n") {
    r.reason = "the checksum does not fit: the file was changed or cut";
    return r;
  }
  text.resize(last);
  std::vector<std::string> queries;
  std::string claims;
  unsigned claim_count = 0;
  bool exhaustive = false;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    auto rest = [&](std::string_view prefix) { return line.substr(prefix.size()); };
    if (line == "; query") {
      queries.emplace_back();
    } else if (!queries.empty()) {
      queries.back() += line + "\n";
    } else if (starts_with(line, "; property ")) {
      r.property = rest("; property ");
    } else if (starts_with(line, "; method ")) {
      r.method = rest("; method ");
      exhaustive = r.method == "enumeration" || r.method == "normal form" || r.method == "search";
    } else if (starts_with(line, "; argument ")) {
      r.arguments.push_back(rest("; argument "));
    } else if (starts_with(line, "; claim ")) {
      std::string claim = rest("; claim ");
      std::size_t why = claim.rfind(" because ");
      if (why == std::string::npos) {
        r.reason = "a claim without its reason";
        return r;
      }
      claims += " " + claim.substr(0, why);
      ++claim_count;
    }
  }
  if (claim_count > 0) {
    // The trace and what the solvers are asked must be the same statements.
    if (queries.empty() ||
        queries.front().find("(assert (not (and true" + claims + ")))\n") == std::string::npos) {
      r.reason = "the first query is not the negation of the claims in the trace";
      return r;
    }
  }
  r.queries = static_cast<unsigned>(queries.size());
  if (queries.empty()) {
    r.reason = exhaustive
                   ? "decided by enumeration: there is nothing for a solver to check; run the question again"
                   : "no query";
    return r;
  }
  for (const std::string& q : queries) {
    if (!plain_query(q, r.reason)) return r;
    constexpr std::uint64_t steps = 4'000'000;
    smt::Result first = smt::z3(q, {}, steps);
    smt::Result second = smt::cvc5(q, {}, steps / 200);
    auto say = [&](const char* who, const smt::Result& result) {
      r.answers.push_back(std::string(who) + ": " +
                          (result.answer == smt::Answer::unsat ? "unsat"
                           : result.answer == smt::Answer::sat ? "sat"
                                                               : "unknown"));
    };
    say("Z3", first);
    if (smt::cvc5_installed()) {
      say("cvc5", second);
    } else {
      r.answers.push_back("cvc5: not installed");
    }
    if (first.answer == smt::Answer::sat || second.answer == smt::Answer::sat) {
      r.reason = "a solver found a counterexample to the certificate";
      return r;
    }
    if (first.answer != smt::Answer::unsat && second.answer != smt::Answer::unsat) {
      r.reason = "no solver could check a query within its budget";
      return r;
    }
  }
  r.accepted = true;
  return r;
}

} // namespace inlay::solver
