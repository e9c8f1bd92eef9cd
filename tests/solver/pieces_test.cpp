// Block remaps cut into pieces: proved ones by the table, then random ones and mutants against enumeration.
#include <catch2/catch.hpp>
#include <inlay/solver/prove.h>
#include <random>
#include <set>

#include "layers/subject.h"

namespace pieces_test {

using namespace inlay::solver;

namespace {

Options without_solvers() {
  Options o;
  o.solver_steps = 0;
  return o;
}

std::string grouped(const std::string& group, const std::string& rest) {
  std::string first = "(i/(" + group + "*gn))*" + group, width = "min(gm - " + first + ", " + rest + ")";
  return "(" + first + " + (i % (" + group + "*gn)) % " + width + ")*gn + (i % (" + group + "*gn))/" + width;
}

// The definition at one assignment.
struct Image {
  bool injective = true, inside = true;
};
Image image(const Subject& f, const naive::Environment& env) {
  Image out;
  std::set<Wide> seen;
  Wide n = naive::size(f.parts(), env);
  for (Wide i = 0; i < n; ++i) {
    Wide v = naive::at(f.parts(), i, env);
    out.injective &= seen.insert(v).second;
    out.inside &= v >= 0 && v < n;
  }
  return out;
}

} // namespace

TEST_CASE("block remaps are decided without a solver", "[long]") {
  for (const auto& [formula, domain] : std::vector<std::pair<std::string, std::string>>{
           {"(i % 8)*(G/8) + min(i % 8, G % 8) + i/8", "G"},
           {"(i % 5)*(G/5) + min(i % 5, G % 5) + i/5", "G"},
           {"select(i >= (G/32)*32, i, (i/8/4)*32 + (i%8)*4 + (i/8)%4)", "G"},
           {"select(i < G - G/2, 2*i, 2*(i - (G - G/2)) + 1)", "G"},
           {"select(i % 2 == 0, i/2, (G + 1)/2 + i/2)", "G"},
           {"G - 1 - i", "G"},
           {grouped("4", "4"), "gm*gn"},
           {grouped("8", "8"), "gm*gn"},
           {grouped("g", "g"), "gm*gn"}, // the group is a symbol
           {"(i % X)*(G/X) + min(i % X, G % X) + i/X", "G"},
           {"select(i >= G/X*X, i, (i % X)*(G/X) + i/X)", "G"},
           // aiter's pid_grid: the row rotates inside the last group
           {"((i/(4*gn))*4 + i % min(gm - (i/(4*gn))*4, 4))*gn + (i % (4*gn))/min(gm - (i/(4*gn))*4, 4)",
            "gm*gn"}}) {
    CAPTURE(formula);
    CHECK(prove_bijective(Subject(formula, domain), {}, without_solvers()).outcome == Outcome::proved);
    CHECK(prove_injective(Subject(formula, domain), {}, without_solvers()).outcome == Outcome::proved);
    CHECK(prove_covers(Subject(formula, domain), domain, {}, without_solvers()).outcome == Outcome::proved);
    CHECK(prove_within(Subject(formula, domain), domain, {}, without_solvers()).outcome == Outcome::proved);
  }
  Verdict v = prove_bijective(Subject("(i % 8)*(G/8) + min(i % 8, G % 8) + i/8", "G"), {}, without_solvers());
  CHECK(v.method == "pieces");
}

TEST_CASE("one number changed in a block remap is never proved") {
  int refuted = 0;
  for (const std::string& formula : {std::string("(i % 8)*(G/8) + min(i % 8, G % 8) + i/8"),
                                     std::string("select(i >= (G/32)*32, i, (i/8/4)*32 + (i%8)*4 + (i/8)%4)"),
                                     std::string("select(i < G - G/2, 2*i, 2*(i - (G - G/2)) + 1)")})
    for (std::size_t at = 0; at < formula.size(); ++at) {
      if (!std::isdigit(static_cast<unsigned char>(formula[at])) ||
          std::isdigit(static_cast<unsigned char>(formula[at - 1])))
        continue;
      for (char digit : {'1', '3', '6'}) {
        if (formula[at] == digit) continue;
        std::string mutant = formula;
        mutant[at] = digit;
        CAPTURE(mutant);
        Subject f(mutant, "G");
        bool all = true;
        for (int g = 1; g <= 80 && all; ++g) {
          Image x = image(f, {{"G", g}});
          all = x.injective && x.inside;
        }
        Verdict v = prove_bijective(f, {}, without_solvers());
        if (!all) CHECK(v.outcome == Outcome::refuted);
        refuted += v.outcome == Outcome::refuted;
      }
    }
  CHECK(refuted > 30);
}

TEST_CASE("pieces agree with enumeration on random remaps", "[long]") {
  std::mt19937 engine(20261121);
  auto random = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  int proved = 0, open = 0, false_statements = 0;
  // Enumeration and the search for counterexamples are taken away: what is proved is proved by the layers alone.
  Options blind = without_solvers();
  blind.enumeration_limit = 0;
  blind.refuter_assignments = 0;
  for (int round = 0; round < 600; ++round) {
    int a = random(2, 6);
    auto n = [&](int other) { return std::to_string(random(0, 5) ? a : other); };
    auto c = [&] { return std::to_string(random(0, 3)); };
    std::string f;
    switch (random(0, 5)) {
    case 0:
      f = "(i % " + n(3) + ")*(G/" + n(4) + ") + min(i % " + n(2) + ", G % " + n(3) + ") + i/" + n(2);
      break;
    case 1: {
      std::string t = random(0, 1) ? "G - G/" + n(2) : "(G/" + n(2) + ")*" + n(3);
      f = "select(i < " + t + ", i + " + c() + ", i - " + c() + ")";
      break;
    }
    case 2: f = "select(i % " + n(2) + " < " + c() + ", i, i + " + (random(0, 1) ? "0" : "G") + ")"; break;
    case 3: f = "(i + " + c() + ") % " + n(3) + " + (i/" + n(4) + ")*" + n(5); break;
    case 4: f = "max(i, " + c() + ") + min(i, G - " + c() + ")"; break;
    default: f = "(i % (G/2 + 1))*" + n(2) + " + i/(G/2 + 1)"; break;
    }
    Subject subject(f, "G");
    CAPTURE(f);
    Image all;
    for (int g = 1; g <= 50; ++g) {
      Image x = image(subject, {{"G", g}});
      all.injective &= x.injective;
      all.inside &= x.inside;
    }
    auto check = [&](const Verdict& v, bool holds) {
      CAPTURE(v.summary());
      REQUIRE(v.outcome != Outcome::refuted);
      if (v.outcome == Outcome::proved) REQUIRE(holds);
      (v.outcome == Outcome::proved ? proved : holds ? open : false_statements)++;
    };
    check(prove_injective(subject, {}, blind), all.injective);
    check(prove_bijective(subject, {}, blind), all.injective && all.inside);
    check(prove_within(subject, "G", {}, blind), all.inside);
    check(prove_covers(subject, "G", {}, blind), all.injective && all.inside);
  }
  CHECK(proved > 240);
  CHECK(false_statements > 240);
  CHECK(open * 2 < proved);
}

TEST_CASE("a hard question ends within its steps and says how to raise them") {
  // The width is a product: outside what the pieces can cut, and too much for the solvers.
  Options few;
  few.solver_steps = 100'000;
  Verdict v = prove_bijective(Subject(grouped("g*h", "g*h"), "gm*gn"), {}, few);
  CHECK(v.outcome == Outcome::unknown);
  CHECK_FALSE(v.obligations.empty());
  REQUIRE(v.notes.size() == 1);
  CHECK(v.notes[0] == "the solvers stopped after 100000 steps a query; --steps N raises the limit");
  Options huge;
  huge.enumeration_limit = std::uint64_t{1} << 40;
  CHECK_THROWS_AS(prove_injective("4:1", {}, huge), QuestionError);
}

} // namespace pieces_test
