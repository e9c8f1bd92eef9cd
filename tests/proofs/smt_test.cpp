// proofs/smt/*.smt2: every file says (set-info :status unsat), and both solvers agree; its hypotheses are satisfiable, and
// none can be left out. proofs/refuted/*.json: every naive form is refuted with the stated witness.
#include "layers/smt.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <inlay/algebra/error.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/parse.h>
#include <inlay/solver/prove.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace smt_test {

using namespace inlay::solver;

namespace {

struct Query {
  std::string name;
  std::vector<std::string> lines;
  std::vector<std::size_t> asserted; // the lines that assert; the last of them is the negated claim

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }
  // One assertion left out, and every integer small: a counterexample to a law of layouts need not be large, and
  // Z3's search for large ones is not bounded by its steps.
  [[nodiscard]] std::string without(std::size_t left_out) const {
    std::string out;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const std::string& line = lines[k];
      if (k == left_out || line.rfind("(set-info", 0) == 0) continue;
      out += line + "\n";
      const std::size_t at = sizeof("(declare-const ") - 1;
      if (line.rfind("(declare-const ", 0) == 0 && line.find(" Int)") != std::string::npos)
        out += "(assert (<= (- 4) " + line.substr(at, line.find(' ', at) - at) + " 4))\n";
    }
    return out;
  }
};

std::vector<Query> queries() {
  std::vector<Query> all;
  for (const auto& entry : std::filesystem::directory_iterator(INLAY_PROOFS_DIR "/smt")) {
    if (entry.path().extension() != ".smt2") continue;
    Query q{entry.path().filename().string(), {}, {}};
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("(assert ", 0) == 0) {
        CAPTURE(q.name, line); // one assertion a line, so that lines can be left out
        REQUIRE(std::count(line.begin(), line.end(), '(') == std::count(line.begin(), line.end(), ')'));
        q.asserted.push_back(q.lines.size());
      }
      q.lines.push_back(line);
    }
    CAPTURE(q.name);
    REQUIRE_FALSE(q.asserted.empty());
    CHECK(q.lines[0].rfind("; identity ", 0) == 0);
    CHECK(std::count(q.lines.begin(), q.lines.end(), "(set-info :status unsat)") == 1);
    CHECK(q.lines[q.asserted.back()].rfind("(assert (not ", 0) == 0);
    CHECK(q.lines.back() == "(check-sat)");
    all.push_back(std::move(q));
  }
  CHECK(all.size() >= 19);
  return all;
}

/// The answer of the `z3` command with its own settings: the prover sets Z3 up for questions of another kind.
std::string by_z3(const std::string& text) {
  const auto file =
      std::filesystem::temp_directory_path() / ("inlay-identity-" + std::to_string(::getpid()) + ".smt2");
  std::ofstream(file) << text;
  std::string answer;
  if (FILE* pipe = ::popen(("z3 rlimit=200000000 '" + file.string() + "'").c_str(), "r")) {
    char line[64];
    while (std::fgets(line, sizeof line, pipe)) answer += line;
    ::pclose(pipe);
  }
  std::filesystem::remove(file);
  return answer.substr(0, answer.find('\n'));
}

} // namespace

TEST_CASE("the rank-fixed identities are unsatisfiable when negated, for Z3 and for cvc5") {
  for (const Query& q : queries()) {
    CAPTURE(q.name);
    CHECK(by_z3(q.text()) == "unsat");
    if (smt::cvc5_installed()) CHECK(smt::cvc5(q.text(), {}, 500'000).answer == smt::Answer::unsat);
  }
}

// A proof that cannot fail proves nothing: the hypotheses alone are satisfiable, and each of them is needed.
TEST_CASE("an identity fails without any one of its hypotheses, and they do not exclude each other") {
  for (const Query& q : queries())
    for (std::size_t k : q.asserted) {
      CAPTURE(q.name, q.lines[k]);
      CHECK(smt::z3(q.without(k), {}, 5'000'000).answer == smt::Answer::sat);
    }
}

TEST_CASE("the naive forms are refuted") {
  auto all = nlohmann::json::parse(std::ifstream(INLAY_PROOFS_DIR "/refuted/naive_forms.json"));
  CHECK(all.size() >= 10);
  for (const auto& q : all) {
    CAPTURE(q["identity"], q["naive"]);
    std::string property = q["property"];
    std::vector<std::string> a = q["arguments"];
    if (property == "associative") { // A o (B o C) is a layout, (A o B) o C is refused
      const inlay::Layout l[] = {inlay::parse_layout(a[0]), inlay::parse_layout(a[1]),
                                 inlay::parse_layout(a[2])};
      CHECK_NOTHROW(inlay::composition(l[0], inlay::composition(l[1], l[2])));
      CHECK_THROWS_AS(inlay::composition(inlay::composition(l[0], l[1]), l[2]), inlay::LayoutError);
      continue;
    }
    Verdict v = property == "equal"       ? prove_equal(a[0], a[1])
                : property == "bijective" ? prove_bijective(a[0])
                : property == "injective" ? prove_injective(a[0])
                : property == "within"    ? prove_within(a[0], a[1])
                : property == "inverse"   ? prove_inverse(a[0], a[1])
                                          : prove_covers(a[0], a[1]);
    CAPTURE(v.summary());
    if (q.contains("holds_but_not_by")) { // the converse of a sufficient test
      CHECK(v.outcome == Outcome::proved);
      CHECK(v.method != q["holds_but_not_by"]);
      continue;
    }
    REQUIRE(v.outcome == Outcome::refuted);
    if (q.contains("index")) CHECK(v.witness->index == q["index"].get<std::int64_t>());
  }
}

} // namespace smt_test
