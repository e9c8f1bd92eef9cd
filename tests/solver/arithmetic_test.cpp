// The prover's own arithmetic: polynomials, formulas, facts.
#include "arithmetic/context.h"
#include "inlay/solver/error.h"

#include <catch2/catch.hpp>
#include <random>

using namespace inlay::solver;

namespace {
Poly random_poly(std::mt19937& random, int terms) {
  Poly p;
  for (int t = 0; t < terms; ++t) {
    Poly m(static_cast<int>(random() % 11) - 5);
    for (int f = 0; f < 3; ++f)
      if (random() % 2) m = m * Poly::symbol(static_cast<Symbol>(random() % 3));
    p = p + m;
  }
  return p;
}
} // namespace

TEST_CASE("polynomials: ring operations agree with values, exact quotients multiply back") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Poly a = random_poly(random, 3), b = random_poly(random, 2);
    std::vector<Wide> at{static_cast<Wide>(random() % 9), static_cast<Wide>(random() % 9),
                         static_cast<Wide>(random() % 9)};
    CHECK((a + b).at(at) == a.at(at) + b.at(at));
    CHECK((a - b).at(at) == a.at(at) - b.at(at));
    CHECK((a * b).at(at) == a.at(at) * b.at(at));
    CHECK(a.substitute(1, b).at(at) == a.at({at[0], b.at(at), at[2]}));
    if (b.is_zero()) continue;
    auto q = exact_quotient(a * b, b);
    REQUIRE(q);
    CHECK(*q == a);
    if (auto r = exact_quotient(a, b)) CHECK(*r * b == a);
  }
  CHECK_FALSE(exact_quotient(Poly::symbol(0) * Poly(3), Poly(2)));
}

TEST_CASE("formulas: precedence, floor division, printing, laziness of select") {
  auto value = [](const char* text) {
    return static_cast<long long>(
        evaluate(parse_formula(text), [](const std::string& n) -> Wide { return n == "x" ? -7 : 3; }));
  };
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("x / 2") == -4);
  CHECK(value("x % 2") == 1);
  CHECK(value("x / -2") == 3);
  CHECK(value("5 ^ 3 & 6") == (5 ^ (3 & 6)));
  CHECK(value("1 << 2 + 1") == 8);
  CHECK(value("(5 & 4) == 4") == 1);
  CHECK(value("5 & 4 == 4") == 1); // bit operators bind tighter than comparisons
  CHECK(value("select(y == 3, 10, 1 / 0)") == 10);
  CHECK(value("ceil_div(7, 4) + min(2, 9, 1) + max(x, 0)") == 3);
  CHECK(value("-(3 - 5)") == 2);
  CHECK(value("x // 2") == -4);
  for (const char* text :
       {"((a + b) * c)", "min(a, (b % 4))", "select((a < b), a, (b ^ c))", "!((a && b))"}) {
    auto f = parse_formula(text);
    CHECK(to_string(parse_formula(to_string(f))) == to_string(f));
  }
}

TEST_CASE("facts: substitution keeps exactly the values that satisfy the conditions") {
  // Every assignment that search() visits satisfies the conditions, and over a small range none is left out.
  const char* conditions[] = {"M % 4 == 0",      "M % 6 == 3", "M >= 5 && M < 20", "M % 4 == 2 && M % 6 == 4",
                              "M > 3 && M <= 4", "M == 7",     "M != 3 && M <= 9", "M >= -2 && M <= 2"};
  for (const char* condition : conditions) {
    CAPTURE(condition);
    Context context({"M"}, {std::string(condition), "M <= 40"});
    std::set<long long> visited, wanted;
    context.search(4096, [&](const std::vector<Wide>& values) {
      visited.insert(static_cast<long long>(context.environment(values).at("M")));
      return false;
    });
    auto f = parse_formula(condition);
    for (long long m = std::string(condition).find('-') != std::string::npos ? -40 : 1; m <= 40; ++m)
      if (evaluate(f, [&](const std::string&) -> Wide { return m; }) != 0) wanted.insert(m);
    CHECK(visited == wanted);
  }
  Context two({"M", "N", "ld"}, {"N % M == 0", "ld >= N + 3", "M % 8 == 0"});
  CHECK(two.str(two.user("M")) == "8*M'");
  CHECK(two.residual().empty());
  CHECK(two.nonnegative(two.user("ld") - two.user("N") - Poly(3)));
  CHECK_FALSE(two.nonnegative(two.user("ld") - two.user("N") - Poly(4)));
  CHECK(exact_quotient(two.user("N"), two.user("M")));
}

TEST_CASE("facts: contradictions and conditions about nothing are errors") {
  auto bad = [](std::vector<std::string> conditions) { return Context({"M"}, conditions); };
  CHECK_THROWS_AS(bad({"M % 4 == 0 && M == 6"}), QuestionError);
  CHECK_THROWS_AS(bad({"M % 4 == 1", "M % 6 == 2"}), QuestionError);
  CHECK_THROWS_AS(bad({"M > 5", "M < 6"}), QuestionError);
  CHECK_THROWS_AS(bad({"M % 4 == 7"}), QuestionError);
  CHECK_THROWS_AS(bad({"M < 1"}), QuestionError);
  CHECK_THROWS_AS(bad({"1 == 2"}), QuestionError);
  CHECK_THROWS_AS(bad({"Q % 4 == 0"}), QuestionError);
  CHECK_THROWS_AS(bad({"M + 4"}), QuestionError);
  CHECK_THROWS_AS(bad({"0 <= M < 3"}), QuestionError);
  CHECK_THROWS_AS(bad({"M == 8*k && M % 3 == 1 && M == 6"}), QuestionError);
  CHECK_NOTHROW(bad({"M == 8 * k"}));
}
