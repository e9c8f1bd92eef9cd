// Questions of the oracle (oracle.py --record) with their verdicts, which Python's integers have confirmed: what was decided
// stays decided, and what is false is never proved. Asked in the process, so that some thousand take seconds.
#include <catch2/catch.hpp>
#include <inlay/solver/certificate.h>
#include <inlay/solver/coalescing.h>
#include <inlay/solver/prove.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "questions/engine.h"

namespace verdicts_test {

using namespace inlay::solver;

namespace {

std::vector<nlohmann::json> questions() {
  std::ifstream in(INLAY_VERDICTS);
  std::vector<nlohmann::json> out;
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

// The functions of a question; domains go to the formulas in order, a single one to all.
std::vector<Subject> subjects(const nlohmann::json& q, std::size_t count) {
  auto arguments = q["arguments"].get<std::vector<std::string>>();
  auto domains = q["domain"].get<std::vector<std::string>>();
  std::vector<Subject> out;
  std::size_t used = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::string& text = arguments[k];
    bool formula = text.find("->") != std::string::npos || text.find(':') == std::string::npos;
    out.push_back(formula && !domains.empty() ? Subject(text, domains[std::min(used++, domains.size() - 1)])
                                              : Subject(text));
  }
  return out;
}
std::size_t functions_of(const std::string& property) {
  return property == "equal" || property == "disjoint" || property == "inverse" ? 2 : 1;
}

Verdict ask(const nlohmann::json& q, bool recheck) {
  auto arguments = q["arguments"].get<std::vector<std::string>>();
  auto where = q["where"].get<Facts>();
  Options o;
  o.enumeration_limit = 20000;
  o.solver_steps = 20000;
  o.recheck = recheck;
  o.by_mode = q.value("by-mode", false);
  std::string p = q["property"];
  std::vector<Subject> all = subjects(q, functions_of(p));
  const Subject &a = all[0], &b = all.back();
  if (p == "equal") return prove_equal(a, b, where, o);
  if (p == "disjoint") return prove_disjoint(a, b, where, o);
  if (p == "inverse") return prove_inverse(a, b, where, o);
  if (p == "injective") return prove_injective(a, where, o);
  if (p == "bijective") return prove_bijective(a, where, o);
  if (p == "covers") return prove_covers(a, arguments[1], where, o);
  if (p == "within") return prove_within(a, arguments[1], where, o);
  if (p == "aligned") return prove_aligned(a, arguments[1], where, o);
  if (p == "coalesced")
    return prove_coalesced(a, q["element-bytes"], q["arch"].get<std::string>(), q["lines"], where, o);
  return prove_conflict_free(a, q["access"].get<std::string>(), q["arch"].get<std::string>(), where, o);
}

std::string outcome(const nlohmann::json& q, bool recheck = false) {
  try {
    return to_string(ask(q, recheck).outcome);
  } catch (const std::invalid_argument&) {
    return "error";
  } catch (const std::runtime_error&) {
    return "error";
  }
}

} // namespace

TEST_CASE("questions that were decided stay decided, and false ones are not proved", "[decided]") {
  std::map<std::string, int> seen;
  for (const auto& q : questions()) {
    std::string expected = q["verdict"], got = outcome(q);
    CAPTURE(q.dump(), got);
    if (expected == "unproved") {
      REQUIRE(got != "proved");
    } else {
      REQUIRE(got == expected);
    }
    ++seen[expected];
  }
  CHECK(seen["proved"] > 500);
  CHECK(seen["refuted"] > 500);
  CHECK(seen["error"] > 50);
  CHECK(seen["unproved"] > 20);
}

// A fault in the prover: it says "proved" of what is false, with its own substitutions and digits, and writes it down.
TEST_CASE("the checker rejects a proof of what is false, in the prover's own words", "[forged]") {
  constexpr int most = 6;
  std::map<std::string, int> rejected;
  for (const auto& q : questions()) {
    std::string p = q["property"];
    if (q["verdict"] != "refuted" || rejected[p] == most) continue;
    CAPTURE(q.dump());
    std::vector<Subject> all = subjects(q, functions_of(p));
    std::vector<const Subject*> pointers;
    for (const Subject& s : all) pointers.push_back(&s);
    auto arguments = q["arguments"].get<std::vector<std::string>>();
    std::vector<std::string> terms(arguments.begin() + static_cast<std::ptrdiff_t>(all.size()),
                                   arguments.end());
    Options o;
    o.by_mode = q.value("by-mode", false);
    for (bool with_digits : {true, false}) {
      Engine e(p, pointers, terms, q["where"].get<Facts>(), o);
      e.name_choices();
      for (const char* key : {"arch", "access", "element-bytes", "lines"})
        if (q.contains(key)) {
          std::string value = q[key].is_string() ? q[key].get<std::string>() : q[key].dump();
          e.settings.push_back(std::string(key) + " " + value);
        }
      const char* names[] = {"first", "second"};
      for (std::size_t k = 0; with_digits && k < all.size(); ++k)
        if (auto own = e.lower_alone(all[k].parts()))
          e.digits(p == "inverse" ? "second" : names[k], own->lowering);
      for (const char* method : {"normal form", "domination and count"}) {
        Verdict v = e.proved(method);
        if (v.outcome != Outcome::proved) continue; // no value satisfies the conditions as far as it knows
        Recheck r = recheck(v.certificate);
        CAPTURE(v.certificate, r.answers);
        REQUIRE_FALSE(r.accepted);
        if (p != "covers") break; // the only one that reads the method
      }
    }
    ++rejected[p];
  }
  for (const auto& [property, n] : rejected) {
    CAPTURE(property);
    CHECK(n == most);
  }
  CHECK(rejected.size() == 10);
}

} // namespace verdicts_test
