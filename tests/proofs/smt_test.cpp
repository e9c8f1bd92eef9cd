// proofs/smt/*.smt2: every file says (set-info :status unsat), and both solvers agree. proofs/refuted/*.json: every naive
// form is refuted with the stated witness.
#include "smt.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <inlay/solver/prove.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace inlay::solver;

TEST_CASE("the rank-fixed identities are unsatisfiable when negated, for Z3 and for cvc5") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(INLAY_PROOFS_DIR "/smt")) {
    if (entry.path().extension() != ".smt2") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    CAPTURE(entry.path().filename().string());
    CHECK(text.str().find("(set-info :status unsat)") != std::string::npos);
    CHECK(text.str().find("; identity ") != std::string::npos);
    auto first = smt::z3(text.str(), {}, 200'000'000);
    CHECK(first.answer == smt::Answer::unsat);
    if (smt::cvc5_installed()) CHECK(smt::cvc5(text.str(), {}, 500'000).answer == smt::Answer::unsat);
    // A proof that cannot fail proves nothing: without the negated claim the assumptions are satisfiable.
    std::string hypotheses = text.str();
    std::size_t goal = hypotheses.rfind("(assert (not ");
    REQUIRE(goal != std::string::npos);
    hypotheses = hypotheses.substr(0, goal) + "(check-sat)\n";
    hypotheses.erase(hypotheses.find("(set-info :status unsat)"), 24);
    CHECK(smt::z3(hypotheses, {}, 200'000'000).answer == smt::Answer::sat);
    ++files;
  }
  CHECK(files >= 10);
}

TEST_CASE("the naive forms are refuted") {
  auto all = nlohmann::json::parse(std::ifstream(INLAY_PROOFS_DIR "/refuted/naive_forms.json"));
  CHECK(all.size() >= 10);
  for (const auto& q : all) {
    CAPTURE(q["identity"], q["naive"]);
    std::string property = q["property"];
    std::vector<std::string> a = q["arguments"];
    Verdict v = property == "equal"       ? prove_equal(a[0], a[1])
                : property == "bijective" ? prove_bijective(a[0])
                : property == "injective" ? prove_injective(a[0])
                : property == "within"    ? prove_within(a[0], a[1])
                : property == "inverse"   ? prove_inverse(a[0], a[1])
                                          : prove_covers(a[0], a[1]);
    CAPTURE(v.summary());
    REQUIRE(v.outcome == Outcome::refuted);
    if (q.contains("index")) CHECK(v.witness->index == q["index"].get<std::int64_t>());
  }
}
