// The checker, place by place: for each a claim that only this place decides. What is true is accepted along the prover's own certificate; what is
// false is rejected along that of its true neighbour, and along lines that a forger would write.
#include <catch2/catch.hpp>
#include <inlay/solver/certificate.h>
#include <inlay/solver/prove.h>

#include "forging.h"

namespace checker_test {

using namespace inlay::solver;

namespace {

void accepted(const Verdict& v, bool as_it_stands = false) {
  CAPTURE(v.summary());
  REQUIRE(v.outcome == Outcome::proved);
  Recheck r = recheck(v.certificate);
  CAPTURE(v.certificate, r.reason);
  CHECK(r.accepted);
  CHECK(r.as_it_stands == as_it_stands);
}

// The certificate of a true claim, with the claim changed into a false one.
void rejected(const Verdict& v, const std::string& yes, const std::string& no) {
  CAPTURE(v.summary(), no);
  REQUIRE(v.outcome == Outcome::proved);
  std::string head = head_of(v.certificate);
  std::size_t at = head.find(yes);
  REQUIRE(at != std::string::npos);
  CHECK_FALSE(recheck(forged(head.replace(at, yes.size(), no))).accepted);
}
void rejected(const std::string& lines) {
  CAPTURE(lines);
  CHECK_FALSE(recheck(forged("; inlay certificate 1\n" + lines)).accepted);
}

const std::string m_and_n = "; symbol M >= 1\n; symbol N >= 1\n; let M = M\n; let N = N\n";

} // namespace

TEST_CASE("checker: values that meet where nothing sets them apart") {
  // No constant: 0 is a value of both, whatever divides the coefficients.
  rejected("; property disjoint\n; method residues\n; argument M:4\n; argument N:4\n" + m_and_n +
           "; digits first M\n; digits second N\n");
  rejected("; property disjoint\n; method residues\n; argument M:4\n; argument 8 o N:12\n" + m_and_n +
           "; digits first M\n; digits second N\n");
  accepted(prove_disjoint("M:4", "6 o N:12"));
}

TEST_CASE("checker: pieces whose digits are taken one by one") {
  const std::string turned = "r*N + select(c + r < N, c + r, c + r - N)";
  Subject f("(r,c) -> " + turned, "(4,N)");
  for (const Verdict& v : {prove_injective(f, {"N >= 4"}), prove_bijective(f, {"N >= 4"})}) {
    REQUIRE(v.certificate.find("; cut each") != std::string::npos);
    accepted(v);
    rejected(v, turned, "r*N + select(c + r < N, c + r, c + r - N + 1)");
    rejected(v, turned, "r*N + select(c + r < N, c + r, c - r)");
  }
  Subject h("(r,c) -> r*N + min(c + r, N - 1)", "(4,N)");
  accepted(prove_within(h, "4*N"));
  rejected(prove_within(h, "4*N"), "; term 4*N", "; term 4*N - 1");
}

// f = s U + R: what is left of the constant decides whether R can be 0.
TEST_CASE("checker: boxes that are apart by what is left of their distance") {
  const std::string apart = "select(i < 4*N, (i%4) + 8*(i/4), 8*(i - 4*N) + 5)";
  Verdict v = prove_injective(Subject(apart, "5*N"));
  REQUIRE(v.certificate.find("; case ") != std::string::npos);
  accepted(v);
  for (const char* meets : {"2", "3", "0", "8", "11"})
    rejected(v, apart, "select(i < 4*N, (i%4) + 8*(i/4), 8*(i - 4*N) + " + std::string(meets) + ")");
  const std::string other = "select(i < 4*N, 8*(i/4) - (i%4), 8*(i - 4*N) + 1)";
  Verdict w = prove_injective(Subject(other, "5*N"));
  accepted(w);
  for (const char* meets : {"0", "5", "6", "7"})
    rejected(w, other, "select(i < 4*N, 8*(i/4) - (i%4), 8*(i - 4*N) + " + std::string(meets) + ")");
}

TEST_CASE("checker: a domain that may be empty, for solvers") {
  // Without hints the claim goes to the solvers as it stands: true of every index there is, and of none for n <= 5.
  for (const char* where : {"", "; where n >= 2\n; example n = 7\n"}) {
    rejected("; property within\n; method Z3\n; argument i\n; domain (n - 5)\n; term n - 5\n" +
             std::string(where));
    rejected("; property injective\n; method Z3\n; argument (n-5,2):(1,n)\n" + std::string(where));
    rejected("; property within\n; method Z3\n; argument (n-5,2):(1,1) o i\n; domain (n)\n; term 2*n\n" +
             std::string(where));
  }
}

TEST_CASE("checker: an example that the defaults exclude shows nothing") {
  // Symbols are at least 1 unless a condition says otherwise: under n >= 1 these hold nowhere, and everything would follow.
  const std::string false_claim =
      "; property within\n; method Z3\n; argument i\n; domain (n + 1)\n; term 0\n";
  rejected(false_claim + "; where n*n == 0\n; example n = 0\n");
  rejected(false_claim + "; where n*n == 0 - n\n; example n = 0\n");
  rejected(false_claim + "; where 2*n < 1\n; example n = 0\n");
}

TEST_CASE("checker: conditions and divisors as they are written") {
  // Of one or the other neither may be left out.
  const std::string below = "; property within\n; method Z3\n; argument i\n; domain (n)\n; term ";
  rejected(below + "3\n; where n == 3 || n >= 6\n; example n = 3\n");
  rejected(below + "6\n; where n == 3 && (n >= 6 || n < 9) || n >= 7\n; example n = 3\n");
  accepted(prove_within(Subject("i", "n"), "n + 1", {"n == 3 || n >= 6"}));
  // What has no value is not equal to itself.
  rejected("; property equal\n; method Z3\n; argument i / 0\n; domain (n)\n; argument i / 0\n; domain (n)\n");
  rejected("; property equal\n; method Z3\n; argument i % (2 - 2)\n; domain (n)\n; argument i % 0\n; domain "
           "(n)\n");
}

TEST_CASE("checker: lines and swizzles that its language does not have") {
  Verdict v = prove_within("(M,N):(N,1)", "M*N");
  accepted(v);
  for (const char* line :
       {"; condition M >= 2", "; quotients Q R = M / N", "; where", "; cutting 1", "where M >= 2"})
    rejected(v, "; symbol M", std::string(line) + "\n; symbol M");
  rejected("; property injective\n; method domination\n; argument Sw<3,40,30> o 0 o 4:1\n; digits first 4\n");
  rejected(
      "; property injective\n; method domination\n; argument Sw<3,40,-30> o 0 o 4:1\n; digits first 4\n");
}

// Where the way that the certificate hints at leads nowhere (a guess that is wrong, bits of unbounded values, cases of the symbols that
// digits do not see) the claim itself is left for the solvers.
TEST_CASE("checker: true claims whose hints do not carry") {
  Verdict still = prove_covers("(max(n,n),8,(min(n,8),2*n)):(1,-5,(-n,n))", "n");
  accepted(still);
  accepted(prove_covers("(n,8):(1,-5)", "n"));
  rejected(prove_covers("(n,8):(1,-5)", "n"), "; term n", "; term n + 1");
  accepted(prove_covers("n-1 o (n,8):(-1,n)", "8*n")); // turned around
  const std::string some = "n == 3 || n == 6 || n == 4", none = "n == 3 || n == 1 || n == 4";
  Verdict classes = prove_aligned("(n/2,1):(1,m)", "1", {some, "min(t, n) >= 0", "t + n <= 40"});
  accepted(classes);
  rejected(classes, some, none); // n / 2 is 0, and of an empty domain everything would hold
  Verdict bits = prove_within(Subject("((n | i) & 7) % 2", "n+m"), "m+1");
  accepted(bits);
  rejected(bits, "; term m+1", "; term m");
  const std::string never = "select((c | 3) < (r ^ r), 5, 4)";
  Verdict wide = prove_equal(Subject("(r,c) -> 4", "(2305843009213693952,4)"),
                             Subject("(r,c) -> " + never, "(2305843009213693952,4)"));
  accepted(wide, true);
  rejected(wide, never, "select((c | 3) < (r ^ 4), 5, 4)");
  const std::string turned = "select(i >= n/4*4, i, (i % 4)*(n/4) + i/4)";
  accepted(prove_injective(Subject(turned, "n"), {"n <= n || n == 2", "n % n == n - 1", "n % (n + 1) == 1"}),
           true);
  rejected(prove_injective(Subject(turned, "n"), {"n <= n || n == 2"}), turned,
           "select(i >= n/4*4, i, (i % 4)*(n/4) + i/5)");
}

TEST_CASE("checker: values that other symbols bound, and extents in other words") {
  // m has one value for each n below 8, and then there is nothing left to prove but to look.
  const Facts squares{"n < 8", "min(n, m) >= 4", "m == n*n"};
  const std::string tall = "((n-1,ceil_div(n,4)),(16,16)):((m*ceil_div(n,4)*m,m),(1,m*ceil_div(n,4)))";
  Verdict looked = prove_equal("Sw<2,3,4> o 0 o " + tall,
                               "Sw<2,3,4> o 0 o ((n-1,ceil_div(n,4)),(16,2,8)):((m*ceil_div(n,4)*m,m),(1,m*"
                               "ceil_div(n,4),m*ceil_div(n,4)*2))",
                               squares);
  accepted(looked);
  rejected(looked, "m*ceil_div(n,4)*2", "m*ceil_div(n,4)*3");
  Verdict square = prove_within("n:m", "n*m", {"n <= 5", "m == n*n"});
  accepted(square);
  rejected(square, "; term n*m", "; term n*m - m - m");
  rejected(
      "; property within\n; method enumeration\n; argument n:1\n; term m\n; where n <= 5\n; where m <= n\n"
      "; example n = 1\n; example m = 1\n"); // m may be less than n
  rejected(
      "; property within\n; method enumeration\n; argument n:1\n; term 5\n; where n <= m\n; where m <= 6\n"
      "; example n = 1\n; example m = 1\n");
  rejected("; property within\n; method enumeration\n; argument m:1\n; term 2*m - 2\n; where n <= 5\n; where "
           "m == n\n"
           "; example n = 3\n; example m = 3\n"); // 0 in [0, 0) where both are 1
  // Strides beyond what is sampled are in order by their degrees, and a point where the conditions do not hold says nothing.
  const std::string tall_rows = "((n+1,max(n,m)),(4,4*m)):((1,n+1),((n+1)*max(n,m)*4*m,(n+1)*max(n,m)))";
  Verdict rows = prove_injective(tall_rows, {"n % 4000000000000000000 == 0"});
  accepted(rows);
  rejected(rows, "(n+1)*max(n,m)*4*m,", "(n+1)*max(n,m)*4,");
  Verdict one = prove_covers("-5 o ((n*m,6),8):((8*m,8),1)", "2*n", {"n == n*n"});
  accepted(one);
  rejected(one, "; where n == n*n", "; where n == n");
  // The same extents in other words: by coordinates, with nothing to be divided.
  Verdict words = prove_equal("(n+1,(m-1,8)):(8*(m-1),(1,m-1))", "((1,n+1),(m-1,8)):((7,8*(m-1)),(1,m-1))",
                              {"m == 3 || m == 6 || m == 2"});
  accepted(words);
  rejected(words, "(7,8*(m-1))", "(7,8*(m-1) + 1)");
  rejected(words, "(1,n+1)", "(1,n+2)");
  Verdict least = prove_within(Subject("(((i / 3) ^ min(8, m)) & 6)", "2*n"), "7", {"(n ^ m) >= 1"});
  accepted(least);
  rejected(least, "; term 7", "; term 6");
  // Ends of a minimum and of a maximum.
  const std::string bounds = "; property within\n; method bounds of blocks\n; argument ",
                    n = "; where n >= 3\n; example n = 3\n; symbol n >= 3\n; let n = n\n; bounds of blocks\n";
  rejected(bounds + "min(0 - 1, i)\n; domain (n)\n; term n\n" + n);
  rejected(bounds + "min(i, 0 - 1)\n; domain (n)\n; term n\n" + n);
  rejected(bounds + "max(i, 0)\n; domain (n)\n; term n - 1\n" + n);
  rejected(bounds + "max(0, i)\n; domain (n)\n; term n - 1\n" + n);
  rejected(bounds + "min(i, 5 - i)\n; domain (n)\n; term n\n" + n);
  // Quotients, which only a guess takes for the same number.
  rejected("; property equal\n; method Z3\n; argument (n/2+1,n/4+1):(1,7)\n; argument (n/4+1,n/2+1):(1,7)\n");
}

// Both of them, where both are there: a query that only one can read is half a second opinion.
TEST_CASE("checker: solvers can read what is asked") {
  for (const Verdict& v : {prove_within("(M,N):(N,1)", "M*N"), prove_injective("(M,K):(ld,1)", {"ld >= K"}),
                           prove_aligned("(M,K):(K,8)", "8", {"K % 8 == 0"}), prove_bijective("(M,N):(N,1)"),
                           prove_disjoint("M:4", "6 o N:12"), prove_within(Subject("i % n", "m"), "n")}) {
    Recheck r = recheck(v.certificate);
    CAPTURE(v.certificate);
    REQUIRE(r.accepted);
    for (const std::string& answer : r.answers)
      CHECK((answer == "Z3: unsat" || answer == "cvc5: unsat" || answer == "cvc5: not installed"));
  }
}

TEST_CASE("checker: numbers down to -2^127 + 1") {
  const std::string large = "9223372036854775807*9223372036854775807*2";
  accepted(prove_equal(Subject("i - " + large, "2"), Subject("0 - " + large + " + i", "2")));
  rejected(prove_equal(Subject("i - " + large, "2"), Subject("0 - " + large + " + i", "2")), "i - " + large,
           "i - " + large + " + 1");
}

TEST_CASE("checker: banks under a swizzle, for every instance and stride") {
  accepted(prove_conflict_free("Sw<3,4,3> o 0 o ((16,4),3):((128,16),2048*k)", "ds_read_b128", "gfx942"));
  accepted(prove_conflict_free("Sw<3,4,3> o 1024*b o ((16,4)):((128,16))", "ds_read_b128", "gfx942"));
  Verdict v = prove_conflict_free("Sw<3,4,3> o 0 o ((16,4)):((1024*k+128,16))", "ds_read_b128", "gfx942");
  accepted(v);
  rejected(v, "Sw<3,4,3>", "Sw<3,5,3>");
  rejected(v, "Sw<3,4,3>", "Sw<1,4,3>");
}

TEST_CASE("checker: lines of waves that are none") {
  auto claim = [](const std::string& layout, const std::string& symbols) {
    return "; property coalesced\n; method lines as forms\n; argument base o " + layout +
           "\n; arch gfx942\n; element-bytes 2\n; lines 0\n; where base % 64 == 0\n; example base = 64\n" +
           symbols + "; symbol base' >= 1\n; let base = 64*base'\n";
  };
  const std::string n = "; symbol N >= 1\n; let N = N\n";
  CHECK(recheck(forged("; inlay certificate 1\n" + claim("(64,8):(8,1)", ""))).accepted);
  rejected(claim("(64,32):(32,1)", ""));
  rejected(claim("(128,4):(4,1)", ""));
  rejected(claim("(64,N):(N,1)", n));
  rejected(claim("(64,N):(64,1)", n));
  rejected(claim("(64,N):(1,1)", n));
  rejected(claim("(N,8):(8,1)", n));
}

} // namespace checker_test
