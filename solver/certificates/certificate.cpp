// The checker. It knows the file format and the two programs; it includes nothing of the prover but the
// plumbing that starts a solver (smt.h) and the checksum.
#include "inlay/solver/certificate.h"

#include "certificates/certificate_text.h"
#include "certificates/derive.h"
#include "layers/smt.h"

#include <algorithm>
#include <cstdlib>

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
                 line == "(declare-fun bits_and (Int Int) Int)" || starts_with(line, "(assert (") ||
                 line == "(check-sat)";
    if (checks > 0 || !known) {
      reason = "unexpected line in a query: " + std::string(line.substr(0, 80));
      return false;
    }
    checks += line == "(check-sat)";
    // Parentheses that balance before the end of a line would hide a second command behind an allowed first
    // word.
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

bool recheck_by_default() {
  static const bool on = [] {
    // Read once: results must not depend on when somebody set it.
    const char* value = std::getenv("INLAY_RECHECK");
    return value && std::string_view(value) == "1";
  }();
  return on;
}

Verdict rechecked(Verdict v) {
  if (v.outcome != Outcome::proved) return v;
  Recheck r = recheck(v.certificate);
  if (r.contradicted)
    throw InternalError("prove " + v.property + ": the checker refutes the proof: " + r.reason);
  if (r.accepted) {
    std::string who;
    for (const std::string& a : r.answers) who += (who.empty() ? "" : ", ") + a;
    v.notes.push_back((r.as_it_stands ? "rechecked as it stands: " : "rechecked: ") + who);
    return v;
  }
  v.outcome = Outcome::unknown;
  v.obligations.push_back("a proof (" + v.method + ") that the checker can follow; " + r.reason);
  return v;
}

Recheck recheck(std::string_view certificate) {
  Recheck r;
  if (!starts_with(certificate, "; inlay certificate 1\n"))
    throw QuestionError(
        "recheck: this is not an inlay certificate\n  hint   inlay prove ... --cert FILE writes one");
  std::string text(certificate);
  // The last line, and nothing after it: the sum is of all that stands before.
  std::size_t last = text.rfind("; checksum ");
  if (last == std::string::npos ||
      text.substr(last) != "; checksum " + checksum(text.substr(0, last)) + "\n") {
    r.reason = "the checksum does not fit: the file was changed or cut";
    return r;
  }
  text.resize(last);
  // The head states the claim; what has to be shown is derived from it alone.
  std::size_t mark = text.find("; query\n");
  std::string head = text.substr(0, mark);
  std::vector<std::string> queries;
  while (mark != std::string::npos) {
    std::size_t begin = mark + 8;
    mark = text.find("; query\n", begin);
    queries.push_back(text.substr(begin, mark == std::string::npos ? mark : mark - begin));
  }
  independent::Derived derived;
  try {
    independent::Statement statement = independent::read_statement(head);
    // As read, for the report: whoever checks a file should see what was claimed before he sees that it
    // holds.
    r.property = statement.property + (statement.by_mode ? " --by-mode" : "");
    r.method = statement.method;
    r.arguments = statement.arguments;
    derived = independent::derive(statement);
  } catch (const independent::False& false_) {
    r.contradicted = true;
    r.reason = false_.what();
    return r;
  } catch (const independent::Stuck& stuck) {
    r.reason = std::string("the claim does not follow: ") + stuck.what();
    return r;
  }
  // What is asked is what was derived just now; the file's queries are for readers and for other solvers, and have to be the same.
  if (queries != derived.queries()) {
    r.reason = "the queries are not those that the claim and its facts lead to";
    return r;
  }
  if (!derived.evaluated.empty()) r.answers.push_back("evaluated: " + derived.evaluated);
  r.queries = static_cast<unsigned>(queries.size());
  // All of nothing is unsatisfiable.
  if (queries.empty() && derived.evaluated.empty()) {
    r.reason = "nothing to check";
    return r;
  }
  const std::size_t evaluated = r.answers.size();
  auto check = [&](const independent::Way& way) {
    // Of a way that leads nowhere no answer matters: where one does, the answers are its own.
    r.answers.resize(evaluated);
    const auto& asked = way.queries;
    const auto& stronger = way.stronger;
    if (asked.empty() && derived.evaluated.empty()) return false;
    for (const std::string& q : asked) {
      if (!plain_query(q, r.reason)) return false;
      // Steps and not seconds: an accepted certificate stays accepted on a slower machine.
      const std::uint64_t most_steps = way.is_aside ? 60'000 : 4'000'000;
      constexpr std::size_t most_for_both = 32;
      smt::Result first, second;
      auto say = [&](const char* who, const smt::Result& result) {
        r.answers.push_back(std::string(who) + ": " +
                            (result.answer == smt::Answer::unsat ? "unsat"
                             : result.answer == smt::Answer::sat ? "sat"
                                                                 : "unknown"));
      };
      auto ask = [&](const std::string& query, std::uint64_t steps, std::uint64_t share) {
        first = smt::z3(query, {}, steps / share);
        second = {};
        // Hundreds of cases, each a program to start, take minutes where one answer takes seconds.
        if (asked.size() <= most_for_both || first.answer == smt::Answer::unknown)
          second = smt::cvc5(query, {}, steps / 200);
        // What Z3 does not see in a second cvc5 often sees at once: all of its steps only where neither knows.
        if (share > 1 && first.answer == smt::Answer::unknown && second.answer == smt::Answer::unknown)
          first = smt::z3(query, {}, steps);
        say("Z3", first);
        if (smt::cvc5_installed()) {
          if (asked.size() <= most_for_both || second.answer != smt::Answer::unknown) say("cvc5", second);
        } else {
          r.answers.push_back("cvc5: not installed");
        }
        return first.answer == smt::Answer::unsat || second.answer == smt::Answer::unsat;
      };
      const auto which = static_cast<std::size_t>(&q - asked.data());
      // A twentieth of the steps first, and the others only where cvc5 does not know either.
      bool yes = ask(q, most_steps, 20);
      if (!yes && which < stronger.size())
        for (const std::string& same : stronger[which])
          if ((yes = ask(same, most_steps / 4, 1))) break;
      // One "sat" outweighs the other's "unsat": where solvers disagree nothing is proved.
      if (first.answer == smt::Answer::sat || second.answer == smt::Answer::sat) {
        r.reason = "a solver found a counterexample to the certificate";
        return false;
      }
      if (first.answer != smt::Answer::unsat && second.answer != smt::Answer::unsat) {
        r.reason = "no solver could check a query within its budget";
        return false;
      }
    }
    return true;
  };
  const auto way = std::find_if(derived.ways.begin(), derived.ways.end(), check);
  r.accepted = derived.ways.empty() || way != derived.ways.end();
  r.as_it_stands = way != derived.ways.end() && way->is_aside;
  if (r.accepted)
    r.reason.clear();
  else if (!derived.stuck.empty())
    r.reason = "the claim does not follow: " + derived.stuck + "; " + r.reason;
  return r;
}

} // namespace inlay::solver
