// The practitioner questions of proofs/kernels/questions.json: verdict and witness as stated there, each verdict checked
// against the definition on small values of the symbols, each certificate checked by the solvers, and each equality
// refuted after one stride is off by one.
#include "arithmetic/context.h"
#include "layers/subject.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <inlay/solver/certificate.h>
#include <inlay/solver/coalescing.h>
#include <inlay/solver/lds.h>
#include <inlay/solver/prove.h>
#include <nlohmann/json.hpp>
#include <set>

namespace questions_test {

using namespace inlay::solver;
using nlohmann::json;

namespace {

const json& questions() {
  static const json all = json::parse(std::ifstream(INLAY_PROOFS_DIR "/kernels/questions.json"));
  return all;
}

struct Question {
  std::string property;
  std::vector<Subject> subjects;
  std::string term;
  Facts facts;
  Options options;
  std::string access, arch;
  unsigned element_bytes = 1;

  explicit Question(const json& q) : property(q["property"]) {
    std::size_t used = 0;
    std::vector<std::string> domains = q.value("domain", std::vector<std::string>{});
    std::size_t count = property == "equal" || property == "disjoint" || property == "inverse" ? 2 : 1;
    for (std::size_t k = 0; k < q["arguments"].size(); ++k) {
      std::string text = q["arguments"][k];
      if (k >= count) {
        term = text;
        continue;
      }
      bool formula = text.find("->") != std::string::npos || text.find(':') == std::string::npos;
      if (formula && !domains.empty()) {
        subjects.emplace_back(text, domains[std::min(used, domains.size() - 1)]);
        ++used;
      } else {
        subjects.emplace_back(text);
      }
    }
    facts = q.value("where", Facts{});
    options.solver_steps = q.value("steps", options.solver_steps);
    access = q.value("access", "");
    arch = q.value("arch", "");
    element_bytes = q.value("element_bytes", 1U);
  }

  [[nodiscard]] Verdict ask() const {
    if (property == "equal") return prove_equal(subjects[0], subjects[1], facts, options);
    if (property == "injective") return prove_injective(subjects[0], facts, options);
    if (property == "bijective") return prove_bijective(subjects[0], facts, options);
    if (property == "within") return prove_within(subjects[0], term, facts, options);
    if (property == "aligned") return prove_aligned(subjects[0], term, facts, options);
    if (property == "coalesced") return prove_coalesced(subjects[0], element_bytes, arch, 0, facts, options);
    REQUIRE(property == "conflict-free");
    return prove_conflict_free(subjects[0], access, arch, facts, options);
  }

  // The definition, on one assignment; nullopt when the instance is too large to look at.
  [[nodiscard]] std::optional<bool> holds(const naive::Environment& env) const {
    const Parts& f = subjects[0].parts();
    Wide n = naive::size(f, env);
    if (n > 20000) return std::nullopt;
    auto number = [&](const std::string& text) {
      return evaluate(parse_formula(text), [&](const std::string& s) { return env.at(s); });
    };
    if (property == "equal" && naive::size(subjects[1].parts(), env) != n) return false;
    if (property == "conflict-free") {
      auto lanes = static_cast<unsigned>(naive::extents(f, env)[0]);
      for (Wide first = 0; first < n; first += lanes)
        if (lds_conflicts(
                lds_access(access, arch),
                [&](unsigned lane) {
                  return static_cast<std::int64_t>(naive::at(f, first + static_cast<Wide>(lane), env));
                },
                lanes)
                .degree > 1)
          return false;
      return true;
    }
    if (property == "coalesced") {
      auto extents = naive::extents(f, env);
      Wide wave = extents[0] * extents[1];
      for (Wide first = 0; first < n; first += wave) {
        std::set<Wide> bytes, lines;
        for (Wide i = first; i < first + wave; ++i)
          for (unsigned b = 0; b < element_bytes; ++b)
            bytes.insert(naive::at(f, i, env) * static_cast<Wide>(element_bytes) + static_cast<Wide>(b));
        for (Wide b : bytes) lines.insert(floor_div(b, 128));
        if (lines.size() > (bytes.size() + 127) / 128) return false;
      }
      return true;
    }
    std::set<Wide> seen;
    for (Wide i = 0; i < n; ++i) {
      Wide v = naive::at(f, i, env);
      if (property == "equal" && v != naive::at(subjects[1].parts(), i, env)) return false;
      if ((property == "injective" || property == "bijective") && !seen.insert(v).second) return false;
      if (property == "bijective" && (v < 0 || v >= n)) return false;
      if (property == "within" && (v < 0 || v >= number(term))) return false;
      if (property == "aligned" && v % number(term) != 0) return false;
    }
    return true;
  }
};

} // namespace

TEST_CASE("every question has the stated verdict and witness") {
  for (const json& q : questions()) {
    CAPTURE(q["id"], q["title"]);
    Verdict v = Question(q).ask();
    CAPTURE(v.summary());
    CHECK(to_string(v.outcome) == q["verdict"].get<std::string>());
    if (q["verdict"] == "unknown") {
      CHECK(q.contains("argument")); // an open question says what is known about it
      CHECK_FALSE(v.obligations.empty());
    }
    if (!q.contains("witness")) continue;
    REQUIRE(v.witness);
    const json& w = q["witness"];
    if (w.contains("index")) CHECK(v.witness->index == w["index"].get<std::int64_t>());
    if (w.contains("lhs")) CHECK(v.witness->lhs == w["lhs"].get<std::int64_t>());
    if (w.contains("rhs")) CHECK(v.witness->rhs == w["rhs"].get<std::int64_t>());
    if (w.contains("symbols"))
      for (const auto& [name, value] : w["symbols"].items())
        CHECK(std::count(v.witness->symbols.begin(), v.witness->symbols.end(),
                         std::pair<std::string, std::int64_t>(name, value)) == 1);
  }
}

TEST_CASE("every verdict agrees with the definition on small values of the symbols") {
  for (const json& q : questions()) {
    CAPTURE(q["id"], q["title"]);
    Question question(q);
    std::set<std::string> names;
    for (const Subject& s : question.subjects) names.merge(s.parts().symbols());
    if (!question.term.empty()) names.merge(names_of(parse_formula(question.term)));
    Context context(names, question.facts);
    int looked = 0;
    bool failed = false;
    context.search(400, [&](const std::vector<Wide>& values) {
      auto holds = question.holds(context.environment(values));
      if (!holds) return false;
      ++looked;
      if (q["verdict"] != "refuted") REQUIRE(*holds);
      failed |= !*holds;
      return looked >= 40 && (q["verdict"] != "refuted" || failed);
    });
    if (q["id"] == "14b") continue; // fails at its corner only: 2^30 elements
    CHECK(looked > 0);
    if (q["verdict"] == "refuted") CHECK(failed);
  }
}

TEST_CASE("pid_grid is a permutation of every grid up to 24 x 12, by enumeration") {
  for (const json& q : questions()) {
    if (q["id"] != "29b") continue;
    Question question(q);
    for (int gm = 1; gm <= 24; ++gm)
      for (int gn = 1; gn <= 12; ++gn) {
        auto holds = question.holds({{"gm", gm}, {"gn", gn}});
        REQUIRE(holds);
        REQUIRE(*holds);
      }
  }
}

TEST_CASE("every certificate is accepted without the prover") {
  int checked = 0;
  for (const json& q : questions()) {
    Verdict v = Question(q).ask();
    if (v.outcome != Outcome::proved) continue;
    if (q["id"] == "29b")
      continue; // the raw claim, which is all there is of it, is too much for both solvers
    CAPTURE(q["id"], v.certificate);
    Recheck r = recheck(v.certificate);
    CAPTURE(r.reason);
    CHECK((r.accepted && !r.as_it_stands));
    ++checked;
  }
  CHECK(checked > 30);
}

TEST_CASE("one stride off by one is refuted in every equality about a layout") {
  int mutants = 0;
  for (const json& q : questions()) {
    std::string layout = q["arguments"][0];
    if (q["property"] != "equal" || q["verdict"] != "proved" || layout.find(':') == std::string::npos ||
        layout.find("->") != std::string::npos || layout.find(" o ") != std::string::npos)
      continue;
    for (std::size_t at = layout.find(':') + 1; at < layout.size(); ++at) {
      // After each leaf of the stride tuple: before `,` or `)` that does not follow `)` of a nested tuple or formula.
      bool leaf_end = (layout[at] == ',' || layout[at] == ')') &&
                      std::isalnum(static_cast<unsigned char>(layout[at - 1]));
      std::size_t open = layout.find_last_of("(,", at - 1);
      bool in_formula =
          leaf_end && layout[open] == '(' && open > 0 && layout.find(',', open) > at && layout[at] == ')';
      if (!leaf_end || in_formula) continue;
      for (const char* bump : {"+1", "-1"}) {
        json mutant = q;
        mutant["arguments"][0] = layout.substr(0, at) + bump + layout.substr(at);
        CAPTURE(mutant["arguments"][0]);
        Verdict v = Question(mutant).ask();
        CHECK(v.outcome == Outcome::refuted);
        ++mutants;
      }
    }
  }
  CHECK(mutants > 60);
}

} // namespace questions_test
