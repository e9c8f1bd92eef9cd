// Case splits over residues, and swizzles that permute the domain for every size: the true ones are proved and their certificates accepted, their
// false neighbours refuted, forged cases rejected; all against enumeration.
#include <catch2/catch.hpp>
#include <functional>
#include <inlay/solver/certificate.h>
#include <inlay/solver/prove.h>
#include <random>
#include <set>

#include "forging.h"
#include "layers/subject.h"

namespace residues_test {

using namespace inlay::solver;

namespace {

bool accepted(const std::string& lines) {
  return recheck(forged("; inlay certificate 1\n" + lines)).accepted;
}

void proved(const Verdict& v) {
  CAPTURE(v.summary());
  REQUIRE(v.outcome == Outcome::proved);
  Recheck r = recheck(v.certificate);
  CAPTURE(v.certificate, r.reason);
  CHECK((r.accepted && !r.as_it_stands));
}
void refuted(const Verdict& v) {
  CAPTURE(v.summary());
  CHECK(v.outcome == Outcome::refuted);
}

const std::string large = "4611686018427387904";

} // namespace

TEST_CASE("parities and residues of polynomials") {
  for (const auto& [formula, domain, true_for, false_for] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"i*(i+1)", "N", "2", "4"},
           {"i*i*i - i", "N", "6", "12"},
           {"i*i - i", large, "2", "3"}, // values near 2^124
           {"(r,c) -> r*c*(r+c)", "(M,N)", "2", "4"},
           {"(r,c) -> (r*r + r)*N + 2*c*c", "(M,N)", "2", "4"},
           {"i*(i+1)/2*4 + i*i%2*8", "N", "4", "8"},
           {"i*i*8 - (i&1)*8", "N", "32", "64"},
       }) {
    CAPTURE(formula);
    proved(prove_aligned(Subject(formula, domain), true_for));
    refuted(prove_aligned(Subject(formula, domain), false_for));
  }
  for (const auto& [a, b, wrong] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"(i*i)%4", "i%2", "i%4"},
           {"(i*i)%8", "i%2 + (i%4==2)*4", "i%2 + (i%4==3)*4"},
           {"i*i/4*4 + i%2", "i*i", "i*i + i%2"},
           {"i*(i+1)/2*2", "i*i + i", "i*i + i + i/1000"},
           {"(i*i%8) ^ 1", "select(i%2 == 0, i*i%8 + 1, 0)", "select(i%2 == 0, i*i%8 + 1, 1)"},
           {"(i*i*2 ^ (i%2)) | 8*(i%2)*0", "i*i*2 + i%2", "i*i*2 + i%3"},
           {"(i*i + 1 & 3) + max(i%3, i%2)", "1 + i%2 + max(i%2, i%3)", "1 + i%2 + i%3"},
           {"(i*i + N*N) % 4", "(i + N) % 2 + 2*(i%2)*(N%2)", "(i + N) % 2 + (i%2)*(N%2)"}}) {
    CAPTURE(a, b);
    proved(prove_equal(Subject(a, "N"), Subject(b, "N")));
    refuted(prove_equal(Subject(a, "N"), Subject(wrong, "N")));
  }
  proved(prove_within(Subject("(i*i)%8", "N"), "5"));
  refuted(prove_within(Subject("(i*i)%8", "N"), "4"));
  proved(prove_within(Subject("i*i*N/(1*1) - i*i*N + i*(i+1)%4", "N"), "N%2 + 4"));
  refuted(prove_within(Subject("i*i*N - i*i*N + i*(i+1)%4", "N"), "N%2 + 1"));
  // Residues of symbols that conditions know, and of others.
  proved(prove_aligned(Subject("i*M + i*i", "N"), "2", {"M % 4 == 1"}));
  refuted(prove_aligned(Subject("i*M + i*i", "N"), "2", {"M % 4 == 2"}));
  proved(prove_aligned(Subject("i*i*M*(M+1) - i*M*(M+1)", "N"), "4", {"M >= 0 - 7"}));
  refuted(prove_aligned(Subject("i*i*M*(M+1) - i*M*(M+1)", "N"), "8", {"M >= 0 - 7"}));
  proved(prove_aligned(Subject("i*(i+1) << 0", "N"), "2"));
  proved(prove_aligned(Subject("(i*(i+1) << 3) >> 2", "N"), "4"));
  refuted(prove_aligned(Subject("(i*(i+1) << 3) >> 2", "N"), "8"));
  // One case is a case.
  Verdict one = prove_aligned(Subject("4*(i*i)", "N"), "4");
  proved(one);
  CHECK(one.certificate.find("; residues coordinate 0 1\n") != std::string::npos);
  // Extents that are quotients.
  proved(prove_aligned(Subject("4*i*i", "ceil_div(n,4)"), "4"));
  proved(prove_aligned(Subject("i*i + i", "ceil_div(n,4)"), "2"));
  refuted(prove_aligned(Subject("i*i + i", "ceil_div(n,4)"), "4"));
  // By the index, where the coordinates are others.
  proved(prove_equal(Subject("(r,c) -> (r + 4*c)*(r + 4*c) % 4", "(4,N)"), Subject("i%2", "4*N")));
  refuted(prove_equal(Subject("(r,c) -> (r + 4*c)*(r + 4*c) % 4", "(4,N)"), Subject("(i/4 + i)%2", "4*N")));
}

// Whether a number divides a polynomial is decided, whichever it is: the residues of the arguments say it all.
TEST_CASE("divisibility of random polynomials agrees with enumeration, and is never unknown") {
  std::mt19937_64 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 150; ++round) {
    int w = 2 + pick(11), terms = 1 + pick(3);
    std::string f = "0";
    for (int t = 0; t < terms; ++t) {
      f += " + " + std::to_string(1 + pick(12));
      for (int k = pick(4); k > 0; --k) f += pick(2) ? "*i" : "*(i + " + std::to_string(pick(5)) + ")";
      if (pick(3) == 0) f += "*n";
    }
    if (pick(3) == 0) f = "(" + f + ")*" + std::to_string(w / (w % 2 == 0 ? 2 : 1));
    if (pick(2) == 0) f = "(" + f + ")*i*(i+1)*(i+2)";
    Subject s(f, "m");
    bool holds = true;
    for (int n = 1; n <= w; ++n)
      for (int i = 0; i < w; ++i) holds &= naive::at(s.parts(), i, {{"n", n}, {"m", 1000}}) % w == 0;
    CAPTURE(f, w);
    Verdict v = prove_aligned(s, std::to_string(w));
    REQUIRE(v.outcome == (holds ? Outcome::proved : Outcome::refuted));
    if (holds && round % 5 == 0) CHECK(followed(v.certificate));
  }
}

// Formulas with remainders, quotients and bits: whatever is proved is so.
TEST_CASE("formulas of remainders and products are never proved equal where they differ") {
  std::mt19937_64 random(11);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::function<std::string(int)> formula = [&](int depth) -> std::string {
    if (depth == 0) return pick(4) == 0 ? std::to_string(pick(9)) : pick(5) == 0 ? "n" : "i";
    std::string a = formula(depth - 1), b = formula(depth - 1), c = std::to_string(1 << (1 + pick(3)));
    switch (pick(9)) {
    case 0: return "(" + a + " + " + b + ")";
    case 1: return "(" + a + " - " + b + ")";
    case 2: return "(" + a + " * " + b + ")";
    case 3: return "(" + a + " / " + c + ")";
    case 4: return "(" + a + " % " + std::to_string(2 + pick(4)) + ")";
    case 5: return "(" + a + " ^ (" + b + " % " + c + "))";
    case 6: return "((" + a + " % " + c + ") | (" + b + " & 6))";
    case 7: return "select(" + a + " % 2 == " + b + " % 2, " + a + ", " + b + ")";
    default: return "(min(" + a + " % 4, " + b + " % 3) >> 1)";
    }
  };
  Options o;
  o.solver_steps = 0; // what the residues say, and nobody else
  int known = 0;
  for (int round = 0; round < 120; ++round) {
    std::string f = formula(2 + pick(2)), g = "(" + f + ")", m = std::to_string(2 << pick(3));
    // Half of them are true: f in other words.
    if (pick(2) == 0) g = g + " / " + m + " * " + m + " + (" + f + ") % " + m;
    if (pick(2) == 0) g = g + " + (i*i + i) % " + std::to_string(2 + 2 * pick(2));
    Subject a(f, "m"), b(g, "m");
    Verdict v = prove_equal(a, b, {}, o);
    bool holds = true;
    for (int n = 1; n <= 5 && holds; ++n)
      for (int i = 0; i < 60 && holds; ++i)
        holds = naive::at(a.parts(), i, {{"n", n}, {"m", 1000}}) ==
                naive::at(b.parts(), i, {{"n", n}, {"m", 1000}});
    CAPTURE(f, g, v.summary());
    if (v.outcome == Outcome::proved) {
      REQUIRE(holds);
      known += v.method == "residue classes";
      if (known % 8 == 1 && v.method == "residue classes") CHECK(followed(v.certificate));
    }
    if (v.outcome == Outcome::refuted) REQUIRE_FALSE(holds);
  }
  CHECK(known > 0);
}

TEST_CASE("cases that are not all, or not what they say, are rejected") {
  const std::string even =
      "; property aligned\n; method residue classes\n; argument i*(i+1)\n; domain (N)\n; term 2\n"
      "; symbol N >= 1\n; let N = N\n";
  CHECK(accepted(even + "; residues coordinate 0 2\n"));
  CHECK(accepted(even + "; residues coordinate 0 4\n"));
  CHECK(accepted(even + "; residues coordinate 0 2\n; residues symbol N 3\n"));
  for (const char* lines :
       {"; residues coordinate 0 3\n", "; residues coordinate 0 1\n", "; residues coordinate 0 0\n",
        "; residues coordinate 0 -2\n", "; residues coordinate 1 2\n", "; residues index 2\n",
        "; residues symbol N 2\n", "; residues symbol i 2\n",
        "; residues coordinate 0 2\n; residues coordinate 0 2\n", "; residues 2\n",
        "; residues coordinate 2\n", "; residues coordinate 0 8192\n", "; residues coordinate N 2\n"}) {
    CAPTURE(lines);
    CHECK_FALSE(accepted(even + lines));
  }
  // What is false stays so in whatever cases.
  for (
      const auto& [claim, residues] : std::vector<std::pair<std::string, std::string>>{
          {"; property aligned\n; method x\n; argument i*(i+1)\n; domain (N)\n; term 4\n", "coordinate 0 4"},
          {"; property aligned\n; method x\n; argument i*(i+1)\n; domain (N)\n; term 0\n", "coordinate 0 4"},
          {"; property within\n; method x\n; argument (i*i)%8\n; domain (N)\n; term 4\n", "coordinate 0 8"},
          {"; property within\n; method x\n; argument (i*i)%8 - 1\n; domain (N)\n; term 5\n",
           "coordinate 0 8"},
          {"; property within\n; method x\n; argument i*i\n; domain (N)\n; term N\n", "coordinate 0 2"},
          {"; property equal\n; method x\n; argument (i*i)%4\n; domain (N)\n; argument i%4\n; domain (N)\n",
           "coordinate 0 4"},
          {"; property equal\n; method x\n; argument (i*i)%4\n; domain (N)\n; argument i%2\n; domain (N+1)\n",
           "index 4"},
          {"; property equal\n; method x\n; argument (i*i)%4\n; domain (N)\n; argument i%2\n; domain (N+1)\n",
           "coordinate 0 4"},
          {"; property equal --by-mode\n; method x\n; argument (i*i)%4\n; domain (4*N)\n; argument (r,c) -> "
           "r%2\n; domain (4,N)\n",
           "index 4"},
          {"; property injective\n; method x\n; argument i%2\n; domain (N)\n", "coordinate 0 2"},
          {"; property aligned\n; method x\n; argument i*(i+N)\n; domain (N)\n; term 2\n; where N >= 2\n; "
           "example N = 2\n",
           "coordinate 0 2"}}) {
    CAPTURE(claim, residues);
    CHECK_FALSE(accepted(claim + "; symbol N >= 1\n; let N = N\n; residues " + residues + "\n"));
  }
  // A symbol that stands for fewer values than the conditions allow.
  const std::string of_symbol =
      "; property aligned\n; method x\n; argument i*M\n; domain (N)\n; term 2\n; symbol N >= 1\n; ";
  CHECK_FALSE(accepted(of_symbol + "symbol M' >= 1\n; let N = N\n; let M = 2*M'\n; residues symbol M' 2\n"));
  CHECK_FALSE(accepted(of_symbol + "symbol M >= 1\n; let N = N\n; let M = M\n; residues symbol M 2\n"));
}

// Sw<b,m,s> moves bits [m, m + b) or, to the left, [m - s, m - s + b): sizes that are multiples of what lies below their end are permuted.
TEST_CASE("swizzles permute the aligned blocks of the field that they write") {
  for (const auto& [bits, base, shift] : std::vector<std::tuple<int, int, int>>{
           {1, 0, 1}, {1, 2, 2}, {2, 1, 3}, {2, 0, -2}, {1, 1, -3}, {3, 0, 4}, {0, 3, 1}}) {
    const std::string sw =
        "Sw<" + std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift) + ">";
    for (int inner : {1, 2, 4, 6, 8, 16, 32}) {
      const std::string layout =
          sw + " o 0 o (" + std::to_string(inner) + ",R):(1," + std::to_string(inner) + ")";
      bool holds = true;
      for (int r = 1; r <= 70; ++r)
        for (int i = 0; i < inner * r; ++i) holds &= swizzle(i, bits, base, shift) < inner * r;
      CAPTURE(layout);
      const std::string size = std::to_string(inner) + "*R";
      std::vector<Verdict> all{prove_bijective(layout), prove_within(layout, size),
                               prove_covers(layout, size)};
      if (inner != 6) all.push_back(prove_inverse(layout, layout)); // bits of a sum that carries
      for (const Verdict& v : all) {
        CAPTURE(v.summary());
        CHECK(v.outcome == (holds ? Outcome::proved : Outcome::refuted));
        if (holds && inner >= 8) CHECK(followed(v.certificate));
      }
    }
  }
  proved(prove_bijective("Sw<3,4,3> o 0 o (128,R):(1,128)"));
  proved(prove_bijective("Sw<3,4,3> o 0 o (M,128):(128,1)"));
  proved(prove_bijective("Sw<3,4,3> o 0 o (M,128):(1,M)"));
  refuted(prove_bijective("Sw<3,4,3> o 0 o (64,R):(1,64)"));
  refuted(prove_bijective("Sw<3,4,-3> o 0 o (M,128):(128,1)"));
  refuted(prove_bijective("Sw<3,4,3> o 0 o (M,128):(127,1)"));
  refuted(prove_covers("Sw<3,4,3> o 0 o (128,R):(1,128)", "128*R + 1"));
  refuted(prove_within("Sw<3,4,3> o 1 o (128,R):(1,128)", "128*R"));
}

// x ^ g stays in the aligned block of x that g is smaller than, whatever divides the extent.
TEST_CASE("bounds of blocks, where digits would be rounded up") {
  const std::string hard = "i ^ (i>>7 & 15)";
  for (const auto& [domain, below, no] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"4611686018427387888", "4611686018427387902", "4611686018427387887"},
           {"4611686018427387888", "4611686018427387888", "4611686018427387880"},
           {"16*M", "16*M", "16*M - 1"},
           {"M", "M + 15", "M"}}) {
    CAPTURE(domain, below);
    Verdict v = prove_within(Subject(hard, domain), below);
    REQUIRE(v.outcome == Outcome::proved);
    CHECK(followed(v.certificate));
    CHECK(prove_within(Subject(hard, domain), no).outcome == Outcome::refuted);
  }
  // The last block is cut off in the middle: what the others permute leaves it.
  CHECK(prove_within(Subject(hard, "4611686018427387902"), "4611686018427387902").outcome ==
        Outcome::refuted);
  for (const auto& [formula, domain, below, no] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"(r,c) -> r*N + (c ^ (r % 8)) - 3*N", "(M,8*N)", "M*N + 7*N", "M*N + 4*N"},
           {"(i | (i*i & 31)) + (i & 6)", "32*M", "32*M + 6", "32*M"},
           {"((i << 2) ^ (i/3 % 4)) >> 1", "M", "2*M", "2*M - 1"},
           {"5*M - (i ^ (i/2 & 3))", "4*M", "5*M + 1", "5*M"}}) {
    CAPTURE(formula);
    // From M >= 1 on the least value is not negative; of the first one it is below.
    Verdict v = prove_within(Subject(formula, domain), below);
    if (formula.find("3*N") != std::string::npos) {
      CHECK(v.outcome == Outcome::refuted);
      continue;
    }
    REQUIRE(v.outcome == Outcome::proved);
    CHECK(followed(v.certificate));
    CHECK(prove_within(Subject(formula, domain), no).outcome == Outcome::refuted);
  }
  std::mt19937_64 random(5);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::function<std::string(int)> formula = [&](int depth) -> std::string {
    if (depth == 0) return pick(4) == 0 ? std::to_string(pick(9)) : pick(4) == 0 ? "n" : "i";
    std::string a = formula(depth - 1), b = formula(depth - 1), c = std::to_string(1 + pick(9));
    switch (pick(9)) {
    case 0: return "(" + a + " + " + b + ")";
    case 1: return "(" + a + " - " + b + ")";
    case 2: return "(" + a + " * " + std::to_string(pick(7) - 3) + ")";
    case 3: return "(" + a + " / " + c + ")";
    case 4: return "(" + a + " % " + c + ")";
    case 5: return "(" + a + " ^ (" + b + " % " + c + "))";
    case 6: return "((" + a + " & " + c + ") | " + b + ")";
    case 7: return "(" + a + " << " + std::to_string(pick(3)) + ")";
    default: return "(" + a + " >> " + std::to_string(pick(3)) + ")";
    }
  };
  Options o;
  o.solver_steps = 0;
  int known = 0;
  for (int round = 0; round < 300; ++round) {
    Subject f(formula(2 + pick(2)), "4*n");
    const std::string bound = std::to_string(pick(40)) + " + n*" + std::to_string(1 + pick(12));
    Verdict v = prove_within(f, bound, {}, o);
    if (v.outcome != Outcome::proved) continue;
    CAPTURE(f.text(), bound, v.method);
    FormulaRef b = parse_formula(bound);
    for (int n = 1; n <= 9; ++n)
      for (int i = 0; i < 4 * n; ++i) {
        Wide x = naive::at(f.parts(), i, {{"n", n}});
        REQUIRE((x >= 0 && x < evaluate(
                                   b, [&](const std::string&) { return Wide{n}; })));
      }
    if (v.method == "bounds of blocks" && ++known % 3 == 0) CHECK(followed(v.certificate));
  }
  CHECK(known > 0);
  // An extent that is a quotient, positive or not.
  proved(prove_within(Subject("((i*(i + 1)*n) & 4) ^ (i % 4)", "m/2"), "16", {"m >= 2"}));
  CHECK_FALSE(accepted("; property within\n; method x\n; argument ((i*i) & 4) ^ (i % 4)\n; domain (m/2)\n; "
                       "term 8\n; symbol m >= 1\n; let m = m\n"
                       "; bounds of blocks\n"));
  // What divides by 0 for one value of n means nothing there, however little of it is left.
  auto never_proved = [](const std::function<Verdict()>& ask) {
    try {
      Verdict v = ask();
      CHECK(v.outcome != Outcome::proved);
    } catch (const QuestionError& e) { // the value was found
      CHECK(std::string(e.what()).find("division by zero") != std::string::npos);
    }
  };
  for (const char* nothing :
       {"(3 / (8589934592 - n)) % 2", "(i * (3 % (8589934592 - n))) & 3", "(i*i << (8589934592 - n)) % 4"})
    never_proved([&] { return prove_within(Subject(nothing, "n"), "8"); });
  for (const char* nothing :
       {"2*i*i + 0*(3 / (8589934592 - n))", "select(i*i % 4 < 2, 2*i, 2*(3 / (8589934592 - n)))"})
    never_proved([&] { return prove_aligned(Subject(nothing, "n"), "2"); });
  CHECK(prove_within(Subject("(i*i / (n + 1)) % 2", "n"), "2").outcome == Outcome::proved);
  proved(prove_within(Subject("(r, c) -> ((((r % (2*n)) - (r * 4)) * 2) % 3)", "(3,4)"), "12"));
  // A forger's bounds.
  const std::string head = "; property within\n; method bounds of blocks\n; argument i ^ (i>>7 & 15)\n";
  const std::string m = "; symbol M >= 1\n; let M = M\n; bounds of blocks\n";
  CHECK(accepted(head + "; domain (16*M)\n; term 16*M\n" + m));
  CHECK_FALSE(accepted(head + "; domain (8*M)\n; term 8*M\n" + m));
  CHECK_FALSE(accepted(head + "; domain (16*M)\n; term 16*M - 1\n" + m));
  CHECK_FALSE(accepted(head + "; domain (16*M - 16)\n; term 16*M - 16\n" + m)); // perhaps empty
  CHECK_FALSE(accepted(
      "; property within\n; method x\n; argument i ^ (i>>7 & 15) - 1\n; domain (16*M)\n; term 16*M\n" + m));
  CHECK_FALSE(accepted(
      "; property within\n; method x\n; argument (i - M) ^ (i % 4)\n; domain (16*M)\n; term 16*M\n" + m));
  CHECK_FALSE(accepted("; property aligned\n; method x\n; argument i\n; domain (M)\n; term 2\n" + m));
  CHECK_FALSE(
      accepted("; property within\n; method x\n; argument i % M\n; domain (16*M)\n; term M - 1\n" + m));
  CHECK_FALSE(
      accepted("; property within\n; method x\n; argument i % (M - 1)\n; domain (16*M)\n; term M\n" + m));
  CHECK_FALSE(accepted(
      "; property within\n; method x\n; argument (i / (M - 1)) % 2\n; domain (16*M)\n; term 2\n" + m));
  // What has no interval is not [0, 0]: products of two, factors of unknown sign, quotients by symbols and what is made of them.
  for (const char* open : {"(r,c) -> r*c", "(r,c) -> r*c*0 + r*c", "(r,c) -> c*(M - 5)", "(r,c) -> r/M",
                           "(r,c) -> r/M*2", "(r,c) -> r/M/2", "(r,c) -> r/M + 0", "(r,c) -> 0 - r/M",
                           "(r,c) -> (r/M) ^ (c%2)", "(r,c) -> 2 - (r/M) % 4", "(r,c) -> r - c"}) {
    CAPTURE(open);
    const std::string claim =
        "; property within\n; method x\n; argument " + std::string(open) + "\n; domain (16*M,8)\n; term ";
    CHECK_FALSE(accepted(claim + "1\n" + m));
    CHECK_FALSE(accepted(claim + "2\n" + m));
  }
  // The low end lies in a block that begins before it, by less than a block: -1 for M = -5.
  const std::string below = "; property within\n; method x\n; argument (r,c) -> (r + M + 4) ^ (c % 8)\n; "
                            "domain (16,8)\n; term M + 100\n";
  const std::string from5 =
      "; where M >= -5\n; example M = 1\n; symbol M >= -5\n; let M = M\n; bounds of blocks\n";
  const std::string from3 =
      "; where M >= 3\n; example M = 3\n; symbol M >= 3\n; let M = M\n; bounds of blocks\n";
  CHECK_FALSE(accepted(below + from5));
  CHECK(accepted(below + from3));
}

TEST_CASE("bijections by digits that reach beyond the domain and by bounds of blocks") {
  // A swizzle of rows on any number of them: 8 need not divide R.
  const std::string rows = "(r,c) -> r*128 + (c ^ (r%8)*16)";
  proved(prove_bijective(Subject(rows, "(R,128)")));
  proved(prove_covers(Subject(rows, "(R,128)"), "128*R"));
  proved(prove_covers(Subject(rows, "(R,128)"), "128*R - 5"));
  refuted(prove_covers(Subject(rows, "(R,128)"), "128*R + 1"));
  refuted(prove_bijective(Subject("(r,c) -> r*128 + (c ^ (r%8)*32)", "(R,128)"))); // out of its row
  refuted(prove_bijective(Subject("(r,c) -> r*128 + (c ^ (r%8)*16)", "(R,127)")));
  proved(prove_bijective(Subject("(c,r) -> 64*r + (c ^ (r%4)*4)", "(64,R)")));
  // As the definition has it, for rows of many kinds.
  Options quick;
  quick.solver_steps = 0;
  int known = 0;
  for (int block : {8, 16, 32})
    for (int modulus : {2, 3, 4, 6, 8})
      for (int factor : {1, 2, 3, 4, 8})
        for (const char* op : {"^", "|", "+"}) {
          Subject f("(c,r) -> r*" + std::to_string(block) + " + (c " + op + " (r%" + std::to_string(modulus) +
                        ")*" + std::to_string(factor) + ")",
                    "(" + std::to_string(block) + ",R)");
          CAPTURE(f.text(), block);
          Verdict all = prove_bijective(f, {}, quick),
                  part = prove_covers(f, std::to_string(block) + "*R", {}, quick);
          CHECK(all.outcome == part.outcome);
          if (all.method == "domination and bounds of blocks" && ++known % 5 == 0) {
            CHECK(followed(all.certificate));
            CHECK(followed(part.certificate));
          }
          if (all.outcome != Outcome::proved) continue;
          for (int R = 1; R <= 13; ++R) {
            std::set<Wide> values;
            for (int i = 0; i < block * R; ++i) values.insert(naive::at(f.parts(), i, {{"R", R}}));
            REQUIRE((*values.begin() == 0 && *values.rbegin() == block * R - 1 &&
                     values.size() == static_cast<std::size_t>(block * R)));
          }
        }
  CHECK(known > 10);
  // A forger's: the digits of a true claim under false ones.
  auto digits = [&](const char* property) {
    Verdict v = std::string(property) == "bijective" ? prove_bijective(Subject(rows, "(R,128)"))
                                                     : prove_covers(Subject(rows, "(R,128)"), "128*R");
    std::string out = "; symbol R >= 1\n; let R = R\n";
    for (std::size_t at = v.certificate.find("; digits"); at != std::string::npos;) {
      out += v.certificate.substr(at, v.certificate.find('\n', at) + 1 - at);
      at = v.certificate.find("; digits", at + 1);
    }
    return out + "; bounds of blocks\n";
  };
  const std::string head = "; method x\n; argument (r,c) -> ", domain = "\n; domain (R,128)\n";
  const std::string mine = digits("bijective");
  CHECK(accepted("; property bijective\n" + head + "r*128 + (c ^ (r%8)*16)" + domain + mine));
  for (const char* wrong :
       {"r*128 + (c ^ (r%8)*32)", "r*128 + (c ^ (r%8)*16) + 1", "r*128 + ((c&126) ^ (r%8)*16)",
        "r*64 + (c ^ (r%8)*16)", "r*129 + (c ^ (r%8)*16)"}) {
    CAPTURE(wrong);
    CHECK_FALSE(accepted("; property bijective\n" + head + wrong + domain + mine));
    CHECK_FALSE(
        accepted("; property covers\n" + head + wrong + domain + "; term 128*R\n" + digits("covers")));
  }
  CHECK(accepted("; property covers\n" + head + "r*128 + (c ^ (r%8)*16)" + domain + "; term 128*R\n" +
                 digits("covers")));
  CHECK_FALSE(accepted("; property covers\n" + head + "r*128 + (c ^ (r%8)*16)" + domain +
                       "; term 128*R + 1\n" + digits("covers")));
  CHECK_FALSE(accepted("; property bijective\n" + head + "r*128 + (c ^ (r%8)*16)\n; domain (R - 1,128)\n" +
                       mine)); // perhaps empty
}

} // namespace residues_test
