// One test a defect that was found in the prover, by the name of what went wrong; expected values by hand from the definition.
#include <catch2/catch.hpp>
#include <inlay/solver/certificate.h>
#include <inlay/solver/prove.h>

namespace defects_test {

using namespace inlay::solver;

namespace {
std::int64_t symbol(const Verdict& v, const std::string& name) {
  for (const auto& [n, value] : v.witness->symbols)
    if (n == name) return value;
  FAIL("no symbol " << name);
  return 0;
}
} // namespace

TEST_CASE("a multiple of a symbol may be negative when its bound is") {
  Facts facts{"M % T == 0 && M >= -100"};
  Verdict v = prove_within("2:M", "M+101", facts); // M = -1, T = 1: the value -1
  REQUIRE(v.outcome == Outcome::refuted);
  CHECK(symbol(v, "M") < 0);
  CHECK(symbol(v, "M") % symbol(v, "T") == 0);
  CHECK(prove_injective("(4,2):(1,M+4)", facts).outcome == Outcome::refuted); // M = -4: both at stride 0
  CHECK(prove_disjoint("4:1", "M+4 o 4:1", facts).outcome == Outcome::refuted);
  // The bound itself is kept, for every sign.
  CHECK(prove_within("2:M+100", "2*M + 201", facts).outcome == Outcome::proved);
  CHECK(prove_within("2:M", "M + 1", {"M % T == 0 && M >= 0"}).outcome == Outcome::proved);
  CHECK(prove_within("2:M-1", "M", {"M % T == 0 && M >= 1"}).outcome == Outcome::proved);
  CHECK(prove_within("2:M-1", "M", {"M % T == 0 && M >= 0"}).outcome == Outcome::refuted);
  CHECK(prove_within("2:M+7", "M + 8", {"M % 4 == 1 && M >= -7"}).outcome == Outcome::proved);
  CHECK(prove_within("2:M+6", "M + 7", {"M % 4 == 1 && M >= -7"}).outcome == Outcome::refuted); // M = -7
}

TEST_CASE("a bound by another symbol keeps its direction") {
  CHECK(prove_within("2:N-M", "N-M+1", {"M <= N"}).outcome == Outcome::proved);
  CHECK(prove_within("2:N-M-1", "N-M", {"M < N"}).outcome == Outcome::proved);
  CHECK(prove_within("2:N-M", "N-M+1", {"M >= N"}).outcome == Outcome::refuted);
  CHECK(prove_within("2:M-N", "M-N+1", {"M <= N"}).outcome == Outcome::refuted);
}

TEST_CASE("large moduli are joined by their inverse, not by walking") {
  CHECK(prove_aligned("2:M", "1", {"M % 4000000000000000000 == 3999999999999999999"}).outcome ==
        Outcome::proved);
  CHECK(prove_aligned("2:M+1", "4000000000000000000", {"M % 4000000000000000000 == 3999999999999999999"})
            .outcome == Outcome::proved);
  // 7 modulo 2^40 and 2^40 - 1 modulo 2^41 do not go together; 7 modulo 2^40 and 7 modulo 3 * 2^30 do.
  CHECK_THROWS_AS(prove_aligned("2:M", "1", {"M % 1099511627776 == 7", "M % 2199023255552 == 1099511627775"}),
                  QuestionError);
  CHECK(prove_aligned("2:M-7", "3298534883328", {"M % 1099511627776 == 7", "M % 3221225472 == 7"}).outcome ==
        Outcome::proved);
  CHECK(prove_aligned("2:M", "3", {"M % 1099511627776 == 7", "M % 3221225472 == 7"}).outcome ==
        Outcome::refuted);
}

TEST_CASE("a modulus that does not fit beside the others is still a condition") {
  // The lcm of the three is beyond 2^127, so that 0 is the one value; a solver is told the third.
  Facts facts{"M % 4000000000000000000 == 0", "M % 3999999999999999999 == 0", "M % 3999999999999999997 == 0",
              "M >= 0"};
  CHECK(prove_aligned("2:M", "3999999999999999997", facts).outcome == Outcome::proved);
}

TEST_CASE("values that span more than 128 bits can be told apart") {
  std::string big = "9223372036854775807*9223372036854775807*2";
  Subject f("select(i == 0, 0-" + big + ", select(i == 1, " + big + ", 1099511627776123))", "3");
  CHECK(prove_injective(f).outcome == Outcome::proved);
  Subject g("select(i == 0, 0-" + big + ", select(i == 1, " + big + ", 0-" + big + "))", "3");
  CHECK(prove_injective(g).outcome == Outcome::refuted);
}

TEST_CASE("sizes whose sum leaves 128 bits are too many to enumerate") {
  Options options;
  options.enumeration_limit = 50;
  std::string l = "(6,2305843009213693953,9223372036854775807):(1,2,8)";
  CHECK(prove_disjoint(l, l, {}, options).outcome == Outcome::refuted);
  CHECK(prove_disjoint(l, "-1 o 1:0", {}, options).outcome == Outcome::proved);
}

TEST_CASE("an extent that only large values make 0 is no proof") {
  // 1000000 - M is positive for the values that a search looks at first.
  for (const char* property : {"covers", "within"}) {
    CAPTURE(property);
    bool proved = false;
    try {
      proved = (std::string(property) == "covers" ? prove_covers("1000000-M:1", "1000000-M")
                                                  : prove_within("1000000-M:1", "1000000-M"))
                   .outcome == Outcome::proved;
    } catch (const QuestionError&) {
    }
    CHECK_FALSE(proved);
  }
  CHECK(prove_within("1000000-M:1", "1000000-M", {"M < 1000000"}).outcome == Outcome::proved);
  // Two negative extents have a positive product.
  CHECK_THROWS_AS(prove_within("((M,M)):((1,M))", "M*M", {"M >= -3 && M <= -1"}), QuestionError);
}

TEST_CASE("conditions that the solvers cannot say may still contradict each other") {
  Verdict v;
  try {
    v = prove_within("2:1", "M+1", {"(M ^ M) >= 1"});
  } catch (const QuestionError&) {
    return;
  }
  if (v.outcome == Outcome::proved) CHECK_FALSE(recheck(v.certificate).accepted); // nothing shows an M
}

TEST_CASE("the alignment is positive where it is proved") {
  bool proved = false;
  try {
    proved = prove_aligned("4:W", "W", {"W >= 0"}).outcome == Outcome::proved;
  } catch (const QuestionError&) {
  }
  CHECK_FALSE(proved);
  CHECK(prove_aligned("4:W", "W").outcome == Outcome::proved);
}

TEST_CASE("powers of powers end") {
  Facts squares;
  for (int k = 0; k < 24; ++k)
    squares.push_back("N" + std::to_string(k + 1) + " == N" + std::to_string(k) + "*N" + std::to_string(k));
  CHECK(prove_within("2:N24", "N24+1", squares).outcome == Outcome::unknown);
}

TEST_CASE("a condition is short-circuited as it is read") {
  Subject f("select(n > 3 && i % (n - 3) == 0, 0, i)", "4");
  CHECK(prove_within(f, "4", {"n >= 3 && n <= 5"}).outcome == Outcome::proved);
  CHECK(prove_within(f, "3", {"n >= 3 && n <= 5"}).outcome == Outcome::refuted);
}

TEST_CASE("verdicts do not depend on the clock, even of a handful of steps", "[long]") {
  Options few;
  for (std::uint64_t steps : {200, 5000}) {
    few.solver_steps = steps;
    auto answers = [&] {
      std::string all;
      for (const char* f : {"i * i", "(i * n) % m", "i / n + i % n", "(i ^ n) % m", "i * (n - i)"})
        for (const char* size : {"n", "n*m", "4*n"}) {
          all += prove_injective(Subject(f, size), {}, few).summary() + "\n";
          all += prove_within(Subject(f, size), "n*m", {}, few).summary() + "\n";
        }
      return all;
    };
    CHECK(answers() == answers());
  }
}

TEST_CASE("certificates of true claims are accepted, vacuous ones are not") {
  Options by_mode;
  by_mode.by_mode = true;
  for (const Verdict& v :
       {prove_covers("(2,1):(2,8)", "0"), prove_covers("(4,3,2):(1,100,4)", "8"),
        prove_covers("(4,3):(1,-4)", "4"), prove_within("2:M+100", "2*M + 201", {"M >= 0 - 100"}),
        // A bound that only a min says; modes of the same extents in other words.
        prove_covers("0-m o (4,(2,m*n)):(1,(4,8))", "16", {"min(m, n) >= 3"}),
        prove_equal("Sw<2,2,3> o 0 o ((2,8),(n,16)):((1,2),(16,16*n))",
                    "Sw<2,2,3> o 0 o ((2,1,8),(n,16)):((1,2,2),(16,16*n))", {}, by_mode),
        // Bits that carry: no way by digits, 16 values to look at.
        prove_equal("Sw<2,2,-4> o 0 o (8,2):(0,7)", "Sw<2,2,-4> o 0 o ((1,8),2):((2,0),7)")}) {
    CAPTURE(v.certificate);
    REQUIRE(v.outcome == Outcome::proved);
    Recheck r = recheck(v.certificate);
    CAPTURE(r.reason);
    CHECK((r.accepted && !r.as_it_stands));
  }
}

TEST_CASE("a proof that the checker cannot follow is unknown under recheck") {
  Options twice;
  twice.recheck = true;
  CHECK(prove_injective("(M,K):(ld,1)", {"ld >= K"}, twice).outcome == Outcome::proved);
  Verdict v;
  v.outcome = Outcome::proved;
  v.property = "within";
  v.method = "bounds of digits";
  v.certificate = prove_within("2:M", "M+1").certificate;
  CHECK(rechecked(v).outcome == Outcome::proved);
  v.certificate.insert(v.certificate.size() - 30, "x"); // cut or changed on the way
  CHECK(rechecked(v).outcome == Outcome::unknown);
}

TEST_CASE("conditions that hold for large values only do not contradict each other") {
  // A divisor in a condition was asked to be 0 or less where the question was whether the conditions hold at all.
  Facts facts{"n >= 2147483648", "m % n == 0", "3 <= m"};
  CHECK(prove_injective("8:n+2", facts).outcome == Outcome::proved);
  CHECK(prove_within("m:1", "m", facts).outcome == Outcome::proved);
  CHECK_THROWS_AS(prove_injective("8:n+2", {"n >= 2147483648", "m % n == 0", "3 <= m", "m < n"}),
                  QuestionError);
}

TEST_CASE("conditions that nothing is known to satisfy prove nothing") {
  for (const char* where :
       {"(M ^ M) >= 1", "M * M * M + N * N * N == 33 * N * N + 1 && M > 100000", "(M & 1) > M"}) {
    CAPTURE(where);
    Outcome outcome = Outcome::unknown;
    try {
      outcome = prove_equal("(M,N):(N,1)", "(M,N):(N,1)", {where}).outcome;
    } catch (const QuestionError&) { // shown to contradict each other
    }
    CHECK(outcome == Outcome::unknown);
  }
}

TEST_CASE("a formula that means nothing for some values is not proved by the others", "[long]") {
  // 0 / (F - n) was 0, and a condition that is cut away took its divisor with it.
  for (const auto& [f, g] :
       std::vector<std::pair<std::string, std::string>>{{"(8 % 2) / (F - n)", "0"},
                                                        {"(i*0) % (F - n)", "0"},
                                                        {"((F - n) * m) / (F - n)", "m"},
                                                        {"select(1 / (F - n) < 2, i, i)", "i"},
                                                        {"min(i, i + 0*(m / (F - n)))", "i"},
                                                        {"select((1 << (F - n)) < 2, i, i)", "i"}})
    for (const char* far : {"35184372088832", "40"}) {
      std::string formula = f;
      for (std::size_t at; (at = formula.find('F')) != std::string::npos;) formula.replace(at, 1, far);
      CAPTURE(formula);
      Outcome outcome = Outcome::unknown;
      try {
        outcome = prove_equal(Subject(formula, "m"), Subject(g, "m")).outcome;
      } catch (const QuestionError&) { // it says for which n
      }
      CHECK(outcome != Outcome::proved);
    }
  CHECK(
      prove_equal(Subject("((F - n) * m) / (F - n)", "m"), Subject("m", "m"), {"n < F", "F <= 40"}).outcome ==
      Outcome::proved);
  CHECK(prove_equal(Subject("select(1 / (n - 40) < 2, i, i)", "m"), Subject("i", "m"), {"n > 40"}).outcome ==
        Outcome::proved);
}

TEST_CASE("a symbol of one value has it to the end") {
  // No symbol is open, the question is too large at first, and the last look at it knew no n.
  Options few;
  few.enumeration_limit = 20000;
  few.solver_steps = 20000;
  std::string a = "((4*n,n),(n,min(n,8)),(n,3)):((1,-n),(3,4*n*n*n),(-5,4294967296))";
  CHECK(prove_disjoint(a, "64 o " + a, {"n == 2 * 4"}, few).outcome != Outcome::proved);
}

TEST_CASE("a divisor that only large values make negative is no proof") {
  // The remainder r was a variable with 0 <= r < d, which said that d is positive.
  std::string far = "35184372088832000"; // 2^45 and more: beyond what a search looks at
  for (const char* f :
       {"i % (F - n)", "(i*i) % (F - n)", "(i + n) % (F - n)", "((i + n)*i) % (F - n)", "i / (F - n)"}) {
    std::string formula = f;
    formula.replace(formula.find('F'), 1, far);
    CAPTURE(formula);
    for (const char* domain : {"m", "4"}) {
      Outcome outcome = Outcome::unknown;
      try {
        outcome = prove_within(Subject(formula, domain), "m + 4*n + " + far).outcome;
      } catch (const QuestionError&) { // the divisor is 0 for some n, a solver said
      }
      CHECK(outcome != Outcome::proved);
      if (formula != "i / (" + far + " - n)")
        CHECK(prove_within(Subject(formula, domain), far, {"n < " + far}).outcome == Outcome::proved);
    }
  }
}

TEST_CASE("a quotient is that of the whole sum, however many digits it has") {
  // After 256 digits the rest of the sum was forgotten: 300 bits over 280 were said to be 0.
  std::string names, sum, domain;
  for (int k = 0; k < 300; ++k) {
    std::string comma = k == 0 ? "" : ",", a = "a" + std::to_string(k);
    names += comma + a, sum += (k == 0 ? "" : "+") + a, domain += comma + "2";
  }
  auto outcome = [&](const std::string& value, const std::string& bound) {
    return prove_within(Subject("(" + names + ") -> (" + sum + ")" + value, "(" + domain + ")"), bound)
        .outcome;
  };
  CHECK(outcome("/280", "1") != Outcome::proved);
  CHECK(outcome("%280", "257") != Outcome::proved);
  CHECK(outcome("/301", "1") == Outcome::proved);
  CHECK(outcome("*301 % 301", "1") == Outcome::proved);
}

TEST_CASE("a definition that is no polynomial loses none of the other conditions") {
  CHECK(prove_aligned("2:M", "T", {"M == N / 3", "M % T == 0"}).outcome == Outcome::proved);
  CHECK(prove_aligned("2:M+1", "T", {"M == N / 3", "M % T == 0"}).outcome == Outcome::refuted);
}

} // namespace defects_test
