// One line a question: property, verdict, and the layer that decided.
#include <catch2/catch.hpp>
#include <inlay/solver/certificate.h>
#include <inlay/solver/prove.h>

#include "arithmetic/formula.h"

#include <functional>
#include <inlay/algebra/composed.h>
#include <inlay/algebra/parse.h>
#include <random>

namespace questions_test {

using namespace inlay::solver;

namespace {
std::string answer(const Verdict& v) { return std::string(to_string(v.outcome)) + " " + v.method; }
} // namespace

TEST_CASE("equal") {
  CHECK(answer(prove_equal("(4,8):(1,4)", "32:1")) == "proved normal form");
  CHECK(answer(prove_equal("((128,m),(128,n)):((1,128),(128*m,16384*m))", "(128*m,128*n):(1,128*m)")) ==
        "proved normal form");
  CHECK(answer(prove_equal("(M,K):(K,1)", "((32,M/32),K):((K,32*K),1)", {"M % 32 == 0"})) ==
        "proved normal form");
  CHECK(answer(prove_equal(Subject("(r,c) -> r*128 + (c ^ (r%8)*16)", "(M,128)"),
                           "Sw<3,4,3> o 0 o (M,128):(128,1)")) == "proved parity normal form");
  CHECK(answer(prove_equal(Subject("i/8*8 + i%8", "M"), Subject("i", "M"))) == "proved digits");
  CHECK(answer(prove_equal("(2,2):(0,-1)", "(2,2):(0,-1)")) == "proved normal form");
  CHECK(answer(prove_equal("(M,N):(1,M)", "(N,M):(1,N)")) ==
        "proved normal form"); // the same function of the index
  Options by_mode;
  by_mode.by_mode = true;
  CHECK(prove_equal("(M,N):(1,M)", "(N,M):(1,N)", {}, by_mode).outcome == Outcome::refuted);
  CHECK(prove_equal("(M,N):(1,M)", "(M,N):(1,M)", {}, by_mode).outcome == Outcome::proved);
}

TEST_CASE("the smallest differing index, replayed") {
  auto v = prove_equal("((128,m),(128,n)):((1,128),(128*m,16385*m))", "(128*m,128*n):(1,128*m)");
  REQUIRE(v.outcome == Outcome::refuted);
  CHECK(v.witness->index == 16384);
  CHECK(v.witness->lhs == 16385);
  CHECK(v.witness->rhs == 16384);
  v = prove_equal("(4,3):(1,4)", "(4,3):(1,5)");
  CHECK(v.witness->index == 4);
  v = prove_equal("4:1", "5:1");
  CHECK(v.witness->text == "the sizes are 4 and 5");
}

TEST_CASE("injective and bijective") {
  CHECK(answer(prove_injective("(M,K):(ld,1)", {"ld >= K"})) == "proved domination");
  CHECK(prove_injective("(M,K):(ld,1)").outcome == Outcome::refuted);
  CHECK(answer(prove_injective("(3,2):(2,3)")) == "proved enumeration");
  CHECK(prove_injective("(3,2):(1,1)").witness->text == "index 1 = (1,0) and index 3 = (0,1) both give 1");
  CHECK(prove_injective("(M,4):(1,0)").outcome == Outcome::refuted);
  CHECK(answer(prove_injective("(M,K):(-K,1)")) == "proved domination");
  CHECK(answer(prove_injective("Sw<3,3,3> o 0 o (M,K):(ld,1)", {"ld >= K"})) == "proved domination");
  CHECK(answer(prove_bijective("(4,4,2):(1,8,4)")) == "proved stride chain");
  CHECK(prove_bijective("(4,4,2):(1,8,2)").outcome == Outcome::refuted);
  CHECK(answer(prove_bijective("((c,t),(1,8)):((8*t,1),(1,t))")) == "proved stride chain");
  CHECK(prove_bijective("Sw<3,4,3> o 0 o (64,M):(1,64)", {"M % 16 == 0"}).outcome == Outcome::proved);
  CHECK(prove_bijective("Sw<3,4,3> o 0 o 200:1").outcome == Outcome::refuted);
}

TEST_CASE("within, covers, aligned, disjoint, inverse") {
  Facts sizes{"M <= 65536 && N <= 16384"};
  CHECK(prove_within("(M,N):(2*N,2)", "2147483647", sizes).outcome == Outcome::proved);
  CHECK(prove_within("(M,N):(2*N,2)", "2147483646", sizes).outcome != Outcome::proved);
  CHECK(prove_within("(M,N):(N,1)", "M*N").outcome == Outcome::proved);
  CHECK(prove_within("(M,N):(N,1)", "M*N - 1").outcome == Outcome::refuted);
  CHECK(prove_within("4:-1", "4").outcome == Outcome::refuted);
  CHECK(prove_covers("(4,3):(1,4)", "12").outcome == Outcome::proved);
  CHECK(prove_covers("(4,3):(1,3)", "12").outcome == Outcome::refuted);
  CHECK(prove_covers("(M,4):(1,M)", "4*M").outcome == Outcome::proved);
  CHECK(prove_covers("(M,4):(1,M)", "4*M + 1").outcome == Outcome::refuted);
  CHECK(prove_aligned("(M,K):(2*K,16)", "16", {"K % 8 == 0"}).outcome == Outcome::proved);
  CHECK(prove_aligned("(M,K):(2*K,16)", "16", {"K % 4 == 0"}).outcome == Outcome::refuted);
  CHECK(prove_aligned("4:x*(x+1)", "2").outcome == Outcome::proved);
  CHECK(prove_aligned("(M,N):(V*N,V)", "V").outcome == Outcome::proved);
  CHECK(prove_disjoint("(M,2):(2,2*M)", "1 o (M,2):(2,2*M)").outcome == Outcome::proved);
  CHECK(prove_disjoint("M:1", "M o N:1").outcome == Outcome::proved);
  CHECK(prove_disjoint("M:1", "M - 1 o N:1").outcome == Outcome::refuted);
  CHECK(prove_inverse("(2,3):(3,1)", "(3,2):(2,1)").outcome == Outcome::proved);
  CHECK(prove_inverse("(M,K):(K,1)", "(K,M):(M,1)").outcome == Outcome::proved);
  CHECK(prove_inverse("(M,K):(K,1)", "(K,M):(1,K)").outcome == Outcome::refuted);
}

TEST_CASE("pieces, values x digits, solvers") {
  CHECK(prove_equal(Subject("min(i, M - 1)", "M"), Subject("i", "M")).outcome == Outcome::proved);
  CHECK(answer(prove_within(Subject("min(i, N - 1)", "M"), "N")) == "proved pieces");
  CHECK(answer(prove_equal(Subject("select(i < N, i, i - N + N)", "M"), Subject("i", "M"))) ==
        "proved pieces");
  CHECK(prove_equal(Subject("select(i < N, i, i + 1)", "M"), Subject("i", "M")).outcome == Outcome::refuted);
  CHECK(prove_within(Subject("i / N", "M"), "M").outcome == Outcome::proved);
  CHECK(prove_injective(Subject("i * i", "M")).outcome == Outcome::proved);
  CHECK(prove_injective(Subject("(i - 3) * (i - 3)", "M")).outcome == Outcome::refuted);
}

TEST_CASE("conflict-free, with symbolic strides by residues") {
  auto v = prove_conflict_free("Sw<3,4,3> o 0 o ((16,4),2):((128,16),64)", "ds_read_b128", "gfx942");
  CHECK(v.outcome == Outcome::proved);
  v = prove_conflict_free("((16,4),2):((128,16),64)", "ds_read_b128", "gfx942");
  REQUIRE(v.outcome == Outcome::refuted);
  CHECK(v.witness->lhs == 4);
  // Row strides of 16 modulo 128 bytes times 2 or 6 are free, whatever the tile: stride/16 mod 8 in {2, 6}.
  CHECK(prove_conflict_free("((16,4)):((128*k + 32,16))", "ds_read_b128", "gfx942").outcome ==
        Outcome::proved);
  CHECK(prove_conflict_free("((16,4)):((128*k + 96,16))", "ds_read_b128", "gfx942").outcome ==
        Outcome::proved);
  for (int r : {0, 1, 3, 4, 5, 7})
    CHECK(prove_conflict_free("((16,4)):((128*k + " + std::to_string(16 * r) + ",16))", "ds_read_b128",
                              "gfx942")
              .outcome == Outcome::refuted);
  CHECK(prove_conflict_free("(64,M):(4,256)", "ds_write_b32", "gfx942").notes.size() ==
        1); // an assumed model says so
  CHECK_THROWS_AS(prove_conflict_free("(M,4):(4,256)", "ds_read_b32", "gfx942"), QuestionError);
}

TEST_CASE("rotations of a digit are permutations, for statements about the image") {
  auto checked = [](Verdict v) { return v.outcome == Outcome::proved && recheck(v.certificate).accepted; };
  std::string skew = "(i/M)*M + (i%M + i/M)%M";
  CHECK(checked(prove_bijective(Subject(skew, "M*K"))));
  CHECK(checked(prove_bijective(Subject(skew, "M*M"))));
  CHECK(checked(prove_injective(Subject("(i/M)*M + (i%M + 3*(i/M))%M", "M*K"))));
  CHECK(checked(prove_covers(Subject("(i/M)*M + (i/M - i%M)%M", "M*K"), "M*K")));
  CHECK(checked(prove_bijective(Subject("(r,c) -> r + M*((c + r) % K)", "(M,K)"))));
  // The digit elsewhere too, twice in s, two rotations in a circle, another extent: no permutation.
  CHECK(prove_bijective(Subject("(r,c) -> r + M*((c + r) % K) + c", "(M,K)")).outcome == Outcome::refuted);
  CHECK(prove_injective(Subject("(i/M)*M + (i%M + i%M)%M", "M*K")).outcome == Outcome::refuted);
  CHECK(prove_bijective(Subject("(r,c) -> (r+c)%M + M*((c + r) % K)", "(M,K)")).outcome == Outcome::refuted);
  CHECK(prove_injective(Subject("(i/M)*M + (i%M + i/M)%N", "M*K")).outcome == Outcome::refuted);
  CHECK(prove_equal(Subject(skew, "M*K"), Subject("i", "M*K")).outcome == Outcome::refuted);
}

TEST_CASE("bit operations on symbols agree with themselves up to arithmetic") {
  auto same = [](const char* a, const char* b, const char* domain) {
    Verdict v = prove_equal(Subject(a, domain), Subject(b, domain));
    return v.outcome == Outcome::proved && recheck(v.certificate).accepted;
  };
  CHECK(same("(r,c) -> r ^ c", "(r,c) -> c ^ r", "(M,N)"));
  CHECK(same("i ^ (i / M)", "i ^ (i / M)", "M*N"));
  CHECK(same("(r,c) -> (r & (0-8)) + r % 8", "(r,c) -> r", "(M,N)"));
  CHECK(same("(r,c) -> r ^ (0-1)", "(r,c) -> 0-r-1", "(M,N)"));
  CHECK(same("(r,c) -> r*N + (c ^ (r % N))", "(r,c) -> ((r % N) ^ c) + N*r", "(M,N)"));
  CHECK(prove_equal(Subject("(r,c) -> r ^ c", "(M,N)"), Subject("(r,c) -> r | c", "(M,N)")).outcome ==
        Outcome::refuted);
  CHECK(prove_within(Subject("(r,c) -> r & c", "(M,N)"), "M").outcome == Outcome::proved);
  CHECK(prove_within(Subject("(r,c) -> r & c", "(M,N)"), "M - 1").outcome == Outcome::refuted);
  CHECK(prove_within(Subject("(r,c) -> r ^ c", "(M,N)"), "M + N").outcome == Outcome::proved);
}

TEST_CASE("formulas of bit operations without bounds are the same when each of their bits is") {
  // Drawn trees of & | ^ over two coordinates and numbers below 16; 32 x 32 values show every bit that matters of both. Half of the pairs
  // are a tree and itself with an identity applied, or as a sum, so that enough of them are the same.
  std::mt19937 random(11);
  auto below = [&](unsigned n) { return random() % n; };
  const std::function<std::string(int)> tree = [&](int depth) -> std::string {
    if (depth == 0 || below(4) == 0)
      return below(3) == 0 ? std::to_string(below(16)) : std::string(below(2) == 0 ? "r" : "c");
    const char op = "&|^"[below(3)];
    return "(" + tree(depth - 1) + " " + op + " " + tree(depth - 1) + ")";
  };
  auto rewritten = [&](const std::string& x) {
    const std::string y = tree(1);
    const std::string forms[] = {"((" + x + " ^ " + y + ") ^ " + y + ")",
                                 "((" + x + " & " + y + ") | (" + x + " & (" + y + " ^ (0-1))))",
                                 "((" + x + " | " + y + ") + (" + x + " & " + y + ") - " + y + ")",
                                 "((" + x + " ^ " + y + ") + 2*(" + x + " & " + y + ") - " + y + ")",
                                 "(" + y + " ^ ((" + x + " | " + y + ") ^ (" + x + " & " + y + ")))"};
    return forms[below(5)];
  };
  int same = 0, different = 0;
  for (int n = 0; n < 60; ++n) {
    const std::string a = tree(2), b = below(2) == 0 ? rewritten(a) : tree(2);
    const FormulaRef x = parse_formula(a), y = parse_formula(b);
    bool equal = true;
    for (int r = 0; equal && r < 32; ++r)
      for (int c = 0; equal && c < 32; ++c) {
        auto value = [&](const std::string& name) -> Wide { return name == "r" ? r : c; };
        equal = evaluate(x, value) == evaluate(y, value);
      }
    CAPTURE(a, b);
    const Verdict v = prove_equal(Subject("(r,c) -> " + a, "(M,N)"), Subject("(r,c) -> " + b, "(M,N)"));
    CHECK(v.outcome == (equal ? Outcome::proved : Outcome::refuted));
    if (equal) CHECK(recheck(v.certificate).accepted);
    ++(equal ? same : different);
  }
  CHECK(same > 15);
  CHECK(different > 15);
}

TEST_CASE("extents near 2^62, min and max in extents, gaps") {
  // The last block of 16 is cut off: what the others permute leaves it.
  for (const char* end : {"4611686018427387902", "4611686018427387890"})
    CHECK(prove_within(Subject("i ^ (i>>7 & 15)", end), end).outcome == Outcome::refuted);
  CHECK(prove_within(Subject("i ^ (i>>7 & 15)", "4611686018427387904"), "4611686018427387904").outcome ==
        Outcome::proved);
  CHECK(prove_within(Subject("i / 3 + i % 5", "4611686018427387904"), "1537228672809129308").outcome ==
        Outcome::proved);
  CHECK(prove_within(Subject("(r,c) -> r + c*4611686018427387904", "(4611686018427387904,2)"),
                     "9223372036854775807")
            .outcome == Outcome::refuted);
  CHECK(prove_injective("(min(M,8),K):(K,1)").outcome == Outcome::proved);
  CHECK(prove_within("(min(M,8),K):(K,1)", "8*K").outcome == Outcome::proved);
  CHECK(prove_within("(min(M,8),K):(K,1)", "7*K").outcome == Outcome::refuted);
  CHECK(prove_covers("(M,N):(1,M+3)", "M").outcome == Outcome::proved);
  CHECK(prove_covers("(M,2):(1,M+3)", "M + 1").outcome == Outcome::refuted);
  // False as it stands: ld = 1000000007, K = 2 meets row 1 with column 1.
  CHECK(prove_injective("(M,K):(ld,1000000007)", {"ld >= K"}).outcome == Outcome::refuted);
}

TEST_CASE("unknown is never a success, and names what is missing") {
  Options no_solver;
  no_solver.solver_steps = 0;
  auto v = prove_injective("(M,N):(a,b)", {"a * N != b", "a > 3*b", "N < 3", "M * a != b"}, no_solver);
  CHECK(v.outcome != Outcome::proved);
  Options small;
  small.enumeration_limit = 1000;
  small.solver_steps = 0;
  v = prove_injective(Subject("(i * 7919) % 1000003", "1000003"), {}, small);
  CHECK(v.outcome == Outcome::unknown);
  CHECK_FALSE(v);
  REQUIRE_FALSE(v.obligations.empty());
}

TEST_CASE("certificates check, and corrupted ones do not") {
  for (const Verdict& v :
       {prove_equal("(M,K):(K,1)", "((32,M/32),K):((K,32*K),1)", {"M % 32 == 0"}),
        prove_bijective("((c,t),(1,8)):((8*t,1),(1,t))"), prove_injective("(M,K):(ld,1)", {"ld >= K"}),
        prove_aligned("(M,K):(2*K,16)", "16", {"K % 8 == 0"}),
        prove_equal(Subject("(r,c) -> r*128 + (c ^ (r%8)*16)", "(M,128)"),
                    "Sw<3,4,3> o 0 o (M,128):(128,1)")}) {
    REQUIRE(v.outcome == Outcome::proved);
    CAPTURE(v.certificate);
    Recheck r = recheck(v.certificate);
    CAPTURE(r.reason);
    CHECK(r.accepted);
    for (std::size_t at = 40; at < v.certificate.size(); at += 37) {
      std::string bad = v.certificate;
      bad[at] = bad[at] == '1' ? '2' : '1';
      if (bad == v.certificate) continue;
      bool accepted = false;
      try {
        accepted = recheck(bad).accepted;
      } catch (const QuestionError&) {
      }
      CHECK_FALSE(accepted);
    }
  }
  CHECK_THROWS_AS(recheck("(check-sat)"), QuestionError);
}

TEST_CASE("values of the algebra are subjects") {
  using inlay::parse_layout;
  CHECK(prove_equal(parse_layout("(4,8):(1,4)"), parse_layout("32:1")).outcome == Outcome::proved);
  CHECK(prove_equal(parse_layout("((2,2),3):((24,2),8)"), "(2,2,3):(24,2,8)").outcome == Outcome::proved);
  CHECK(prove_bijective(inlay::parse_composed_layout("Sw<3,4,3> o 0 o (64,8):(1,64)")).outcome ==
        Outcome::proved);
  CHECK(prove_equal("composition((6,2):(8,2), 3:2)", "3:16").outcome == Outcome::proved);
  CHECK(prove_bijective("logical_divide((8,6):(1,8), (4,3))").outcome == Outcome::proved);
  CHECK_THROWS_AS(prove_bijective("composition((6,2):(8,2), 5:3)"), std::invalid_argument);
  // On symbols an operation may assume something: proved from the facts, or the verdict is unknown and says what.
  CHECK(prove_equal("composition((m,n):(1,2*m), 96:1)", "96:1", {"m >= 96"}).outcome == Outcome::proved);
  Verdict open = prove_equal("composition((m,n):(1,2*m), 96:1)", "96:1");
  CHECK(open.outcome == Outcome::unknown);
  CHECK(open.obligations.size() == 1);
  inlay::SymContext context;
  context.declare_multiple("M", 32);
  auto tiled = inlay::parse_sym_layout(context, "((32,M/32),K):((K,32*K),1)");
  auto plain = inlay::parse_sym_layout(context, "(M,K):(K,1)");
  CHECK(prove_equal(tiled, plain).outcome == Outcome::proved);
}

TEST_CASE("min and max in extents are numbers like any other, in prover and checker") {
  auto checked = [](Verdict v) { return v.outcome == Outcome::proved && recheck(v.certificate).accepted; };
  std::string both = "(min(M,N),max(K,4)):(max(K,4),1)";
  CHECK(checked(prove_injective(both)));
  CHECK(checked(prove_bijective(both)));
  CHECK(checked(prove_covers(both, "min(M,N)*max(K,4)")));
  CHECK(checked(prove_covers(both, "4*min(M,N)")));
  CHECK(checked(prove_equal("(min(M,8),K):(K,1)", "(min(8,M),K):(K,1)")));
  CHECK(checked(prove_within("(min(M,8),K):(K,1)", "8*K")));
  CHECK(checked(prove_within("(min(M,8),K):(K,1)", "M*K")));
  CHECK(checked(prove_within("(max(M,N),K):(K,1)", "max(M,N)*K")));
  CHECK(checked(prove_disjoint("min(M,N):1", "M o N:1")));
  CHECK(answer(prove_bijective(both)) == "proved stride chain");
  CHECK(prove_within("(min(M,8),K):(K,1)", "M*K - 1").outcome == Outcome::refuted);
  CHECK(prove_bijective("(min(M,N),max(K,4)):(max(K,4)+1,1)").outcome == Outcome::refuted);
  CHECK(prove_covers(both, "5*min(M,N)").outcome == Outcome::refuted);
  CHECK(prove_equal("(min(M,8),K):(K,1)", "(max(8,M),K):(K,1)").outcome == Outcome::refuted);
  CHECK(prove_disjoint("max(M,N):1", "M o N:1").outcome == Outcome::refuted);
}

TEST_CASE("what covers may begin below 0 and leave gaps") {
  auto checked = [](Verdict v) { return v.outcome == Outcome::proved && recheck(v.certificate).accepted; };
  CHECK(checked(prove_covers("0-M o M+N:1", "N")));
  CHECK(checked(prove_covers("0-M o (M,2):(1,M)", "M")));
  CHECK(checked(prove_covers("0-M-3 o (M,3):(1,M+3)", "M")));   // the middle one of three runs
  CHECK(checked(prove_covers("0-2*M-6 o (M,3):(1,M+3)", "M"))); // the last
  CHECK(checked(prove_covers("(M,3):(1,0-M-3)", "M")));         // the first
  CHECK(checked(prove_covers("(M,N,2):(1,M+3,M)", "2*M")));
  CHECK(checked(prove_covers("0-M o (M,2):(-1,2*M-1)", "1")));
  CHECK(checked(prove_covers("((8,2147483648),4*m):((1,8),n+3)", "16")));
  CHECK(prove_covers("0-M o M+N:1", "N+1").outcome == Outcome::refuted);
  CHECK(prove_covers("0-M-3 o (M,3):(1,M+3)", "M+1").outcome == Outcome::refuted);
  CHECK(prove_covers("0-M-2 o (M,3):(1,M+3)", "M").outcome == Outcome::refuted);
  CHECK(prove_covers("1 o M:1", "1").outcome == Outcome::refuted);
}

} // namespace questions_test
