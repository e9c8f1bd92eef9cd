// The prover's own arithmetic: polynomials, formulas, facts.
#include "arithmetic/context.h"
#include "inlay/solver/error.h"
#include "inlay/solver/prove.h"

#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <set>

namespace arithmetic_test {

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
  CHECK(value("((1 << 100) << 26) >> 126") == 1); // the topmost bit
  CHECK(value("((1 << 100) << 26) >> 127") == 0);
  CHECK(value("x >> 126") == -1);
  CHECK(value("x >> 200") == -1);
  for (const char* text :
       {"((a + b) * c)", "min(a, (b % 4))", "select((a < b), a, (b ^ c))", "!((a && b))"}) {
    auto f = parse_formula(text);
    CHECK(to_string(parse_formula(to_string(f))) == to_string(f));
  }
}

TEST_CASE("remainders and searches stay within 128 bits at the ends of 128 bits") {
  const Wide greatest = ((Wide{1} << 126) - 1) * 2 + 1, half = Wide{1} << 126;
  for (Wide a : {-greatest, -greatest + 1, -half, Wide{-1}, Wide{0}, half, greatest})
    for (Wide b : {-greatest, -half - 1, Wide{-2}, Wide{2}, half + 1, greatest}) {
      Wide r = floor_mod(a, b);
      CHECK((r == 0 || (r < 0) == (b < 0)));
      CHECK((b < 0 ? r > b : r < b));
      CHECK((r == a % b || r == a % b + b));
    }
  // -2^127 is the only value outside: it could not be negated.
  CHECK(add(-greatest, 0) == -greatest);
  CHECK_THROWS_AS(add(-greatest, -1), Overflow);
  CHECK_THROWS_AS(within_128_bits(-greatest - 1), Overflow);
  // Bounds whose distance does not fit: values near 0 come first all the same.
  std::string far = "9223372036854775807*9223372036854775807*2";
  Context context({"n"}, {"n <= " + far, "n >= 0-" + far});
  std::vector<long long> first;
  context.search(400, [&](const std::vector<Wide>& values) {
    first.push_back(static_cast<long long>(values.at(0)));
    return first.size() == 5;
  });
  CHECK(first == std::vector<long long>{0, 1, -1, 2, -2});
  CHECK_FALSE(context.finite(4096));
  Context square({"n", "m"}, {"n <= 64", "m <= 64"});
  CHECK(square.finite(4096));
  CHECK_FALSE(square.finite(4095));
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

TEST_CASE("quotients: p = q d + r, and the rest is what a division leaves") {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    Poly p = random_poly(random, 4), d = random_poly(random, 2);
    if (d.is_zero()) continue;
    auto [q, r] = quotient_and_rest(p, d);
    CHECK(q * d + r == p);
    if (auto n = d.constant(); n && *n > 0)
      for (const auto& [m, c] : r.terms()) CHECK((c >= 0 && c < *n));
    auto [back, none] = quotient_and_rest(p * d, d);
    CHECK(back == p);
    CHECK(none.is_zero());
  }
  Poly x = Poly::symbol(0), y = Poly::symbol(1);
  auto [q, r] =
      quotient_and_rest(Poly(12) * x * y + Poly(6) * x + Poly(4) * y + Poly(2), Poly(6) * y + Poly(3));
  CHECK(q == Poly(2) * x);
  CHECK(r == Poly(4) * y + Poly(2));
  CHECK(floor_div(-7, 2) == -4);
  CHECK(floor_div(7, -2) == -4);
  CHECK(floor_div(-8, 2) == -4);
  CHECK(floor_mod(-7, 2) == 1);
  CHECK(gcd(-12, 18) == 6);
  CHECK(gcd(0, -5) == 5);
  CHECK(exceeds(10, {5, 6}));
  CHECK_FALSE(exceeds(11, {5, 6}));
  CHECK_FALSE(exceeds(5, {5}));
  CHECK((Poly(6) * x + Poly(-9) * y).content() == 3);
  CHECK((x * x * y + y).degree() == 3);
}

TEST_CASE("formulas of symbols as polynomials") {
  auto is = [](const char* formula, std::vector<std::string> facts) -> std::string {
    Context c({"M", "N", "T"}, facts);
    auto p = c.poly(parse_formula(formula));
    return p ? c.str(*p) : "none";
  };
  for (const auto& [formula, facts, expected] :
       std::vector<std::tuple<const char*, std::vector<std::string>, std::string>>{
           {"M/8", {"M <= 7"}, "0"}, // all values have one quotient
           {"M%8", {"M <= 7"}, "M"},
           {"M/8", {"M <= 8"}, "none"},
           {"M/8", {"M >= -1", "M <= 7"}, "none"},
           {"(16*N + M)/8", {"M <= 7"}, "2*N"},
           {"(16*N + M)%8", {"M <= 7"}, "M"},
           {"(16*N + 9)/8", {}, "2*N+1"},
           {"(16*N + 9)%8", {}, "1"},
           {"(16*N - 1)/8", {}, "2*N-1"},
           {"(16*N - 1)%8", {}, "7"},
           {"(N*M + N)/N", {}, "M+1"},
           {"(N*M + N)%N", {}, "0"},
           {"(N*M + M)/N", {"N > M"}, "M"},
           {"(N*M + M)%N", {"N > M"}, "M"},
           {"(N*M + M)/N", {"N >= M"}, "none"},
           {"M/N", {"M == N*T + 3", "N >= 4"}, "T"}, // r by N, one off
           {"M%N", {"M == N*T + 3", "N >= 4"}, "3"},
           {"M/N", {"M == N*T + 3", "N >= 3"}, "none"},
           {"M << 3", {}, "8*M"},
           {"M << N", {}, "none"},
           {"min(M, N)", {"M >= N"}, "N"},
           {"max(M, N)", {"M >= N"}, "M'+N"},
           {"min(M, N)", {}, "none"},
           {"min(M, 8)", {"M <= 8"}, "M"},
           {"max(M, 8)", {"M <= 8"}, "8"},
           {"-(M - N)", {}, "N-M"},
           {"5 ^ 3", {}, "6"},
           {"M ^ 3", {}, "none"},
           {"M == 3", {"M == 3"}, "1"},
           {"M & 1", {"M == 3"}, "1"}}) {
    CAPTURE(formula, facts);
    std::string got = is(formula, facts);
    CHECK((got == expected ||
           (expected == "N" && got != "none"))); // N may be written by a symbol of the prover's own
  }
}

TEST_CASE("what a context says of formulas is so for all values") {
  std::mt19937 engine(20261122);
  auto random = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  int polynomials = 0, signs = 0;
  for (int round = 0; round < 1500; ++round) {
    std::vector<std::string> facts{"M <= 12", "N <= 12", "T <= 6"};
    auto number = [&](int low, int high) { return std::to_string(random(low, high)); };
    auto symbol = [&] { return std::string(1, "MNT"[random(0, 2)]); };
    for (int k = random(0, 2); k-- > 0;) {
      std::string a = symbol(), b = symbol();
      switch (random(0, 6)) {
      case 0: facts.push_back(a + " % " + number(2, 4) + " == " + number(0, 1)); break;
      case 1: facts.push_back(a + " >= " + number(-3, 4)); break;
      case 2: facts.push_back(a + " > " + b); break;
      case 3: facts.push_back(a + " <= " + b); break;
      case 4: facts.push_back(a + " % " + b + " == 0"); break;
      case 5: facts.push_back(a + " == " + b + " + " + number(-2, 2)); break;
      default: facts.push_back(a + " < " + number(3, 9)); break;
      }
    }
    std::function<std::string(int)> draw = [&](int depth) -> std::string {
      if (depth == 0) return random(0, 2) ? symbol() : number(0, 9);
      std::string x = draw(depth - 1), y = draw(depth - 1);
      switch (random(0, 7)) {
      case 0: return "(" + x + " - " + y + ")";
      case 1: return "(" + x + " * " + y + ")";
      case 2: return "(" + x + " / " + (random(0, 1) ? symbol() : number(1, 8)) + ")";
      case 3: return "(" + x + " % " + (random(0, 1) ? symbol() : number(1, 8)) + ")";
      case 4: return (random(0, 1) ? "min(" : "max(") + x + ", " + y + ")";
      case 5: return "(" + x + " << " + number(0, 2) + ")";
      default: return "(" + x + " + " + y + ")";
      }
    };
    std::string text = draw(random(1, 3));
    CAPTURE(facts, text);
    std::optional<Context> context;
    try {
      context.emplace(std::set<std::string>{"M", "N", "T"}, facts);
    } catch (const Contradiction&) {
      std::vector<FormulaRef> conditions;
      std::set<char> bounded;
      for (const std::string& f : facts) {
        conditions.push_back(parse_formula(f));
        if (f.find(">= ") == 2) bounded.insert(f[0]);
      }
      for (Wide m = -9; m <= 12; ++m)
        for (Wide n = -9; n <= 12; ++n)
          for (Wide t = -9; t <= 6; ++t) {
            auto at = [&](const std::string& s) { return s == "M" ? m : s == "N" ? n : t; };
            if ((m < 1 && bounded.count('M') == 0) || (n < 1 && bounded.count('N') == 0) ||
                (t < 1 && bounded.count('T') == 0))
              continue;
            bool holds = true;
            try {
              for (const FormulaRef& f : conditions) holds = holds && evaluate(f, at) != 0;
            } catch (const QuestionError&) { // a division by zero
              holds = false;
            }
            REQUIRE_FALSE(holds);
          }
      continue;
    }
    FormulaRef f = parse_formula(text);
    std::optional<Poly> p;
    try {
      p = context->poly(f);
    } catch (const QuestionError&) {
      continue;
    }
    if (!p) continue;
    ++polynomials;
    bool nonnegative = context->nonnegative(*p), positive = context->positive(*p);
    signs += nonnegative;
    try {
      context->search(3000, [&](const std::vector<Wide>& values) {
        auto env = context->environment(values);
        Wide want = evaluate(f, [&](const std::string& n) { return env.at(n); });
        REQUIRE(p->at(values) == want);
        if (nonnegative) REQUIRE(want >= 0);
        if (positive) REQUIRE(want >= 1);
        return false;
      });
    } catch (const QuestionError&) { // a condition that divides by zero somewhere
    }
  }
  CHECK(polynomials > 500);
  CHECK(signs > 200);
}

TEST_CASE("choices stand for what they are") {
  Context c({"M", "N"}, {"M <= 100"});
  REQUIRE(c.choose(parse_formula("min(M, 8) + max(M, min(N, 4))")));
  REQUIRE(c.choices().size() == 3);
  CHECK_FALSE(c.choose(parse_formula("min(8, M)")));     // known already
  CHECK_FALSE(c.choose(parse_formula("min(M, 200)")));   // decided
  CHECK_FALSE(c.choose(parse_formula("min(M - 5, 3)"))); // may be negative
  auto p = c.poly(parse_formula("min(8, M)"));
  REQUIRE(p);
  CHECK(c.str(*p) == "min(M,8)");
  CHECK(c.positive(*p));
  CHECK(c.nonnegative(Poly(8) - *p));
  CHECK_FALSE(c.nonnegative(Poly(7) - *p));
  CHECK(c.choose(parse_formula("max(M - 5, N)")));
  CHECK(c.positive(*c.poly(parse_formula("max(M - 5, N)"))));
  CHECK_FALSE(c.finite(1000)); // N
  Context finite({"M"}, {"M <= 100"});
  CHECK(finite.choose(parse_formula("min(M, 8)")));
  CHECK(finite.finite(100)); // what is derived is not searched
  CHECK_FALSE(finite.finite(99));
  int visited = 0;
  finite.search(4096, [&](const std::vector<Wide>&) { return ++visited, false; });
  CHECK(visited == 100);
}

TEST_CASE("arithmetic: a sum of multiples is least in a corner, which answers without a solver") {
  // By enumeration of every box: where the least value is negative, the corner says so, and nowhere else.
  std::mt19937_64 random(23);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int negative = 0;
  for (int round = 0; round < 300; ++round) {
    const int low[2] = {between(-3, 3), between(-3, 3)},
              high[2] = {low[0] + between(0, 4), low[1] + between(0, 4)},
              factor[2] = {between(-3, 3), between(-3, 3)}, constant = between(-12, 12);
    Facts facts;
    for (int k = 0; k < 2; ++k) {
      const std::string name(1, static_cast<char>('m' + k));
      const auto number = [](int v) { return v < 0 ? "0-" + std::to_string(-v) : std::to_string(v); };
      facts.push_back(name + " >= " + number(low[k]));
      facts.push_back(name + " <= " + number(high[k]));
    }
    Context c({"m", "n"}, facts);
    int least = 1000;
    for (int m = low[0]; m <= high[0]; ++m)
      for (int n = low[1]; n <= high[1]; ++n)
        least = std::min(least, factor[0] * m + factor[1] * n + constant);
    const Poly p = Poly(factor[0]) * c.user("m") + Poly(factor[1]) * c.user("n") + Poly(constant);
    CAPTURE(facts, factor[0], factor[1], constant);
    if (!p.constant()) CHECK(c.negative_at_corner(p) == (least < 0));
    negative += least < 0 ? 1 : 0;
  }
  CHECK(negative > 80);
  CHECK(negative < 280);

  // Not where a condition takes the corner away, nor of what is no sum of multiples.
  Context cut({"m", "n"}, {"m <= 9", "n <= 9", "m + n >= 12"});
  CHECK_FALSE(cut.negative_at_corner(cut.user("m") + cut.user("n") - Poly(3)));
  Context square({"m"}, {"m <= 9"});
  CHECK_FALSE(square.negative_at_corner(square.user("m") * square.user("m") - Poly(50)));
  // One end is open: some value of it is large enough.
  Context open({"m", "n"}, {"n <= 9"});
  CHECK(open.negative_at_corner(open.user("n") - open.user("m")));
  CHECK_FALSE(open.negative_at_corner(open.user("m") - open.user("n") + Poly(8)));

  // A counterexample in a corner of a large box is found by search, without any solver.
  Options none;
  none.solver_steps = 0;
  const Verdict v = prove_within(Subject("0*i + (r - t + 64*k + 9969)", "1"), "100000",
                                 {"r >= 1", "r <= 100", "t >= 0", "t <= 9971", "k >= 0", "k <= 700"}, none);
  CHECK(v.outcome == Outcome::refuted);
}

} // namespace arithmetic_test
