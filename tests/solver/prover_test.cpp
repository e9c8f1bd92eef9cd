// The prover, place by place: for each a question that only this place decides, with the method that says which one did. Bounds that are off by
// one, ways that are not taken, counterexamples that nothing but a solver finds.
#include <catch2/catch.hpp>
#include <inlay/solver/certificate.h>
#include <inlay/solver/coalescing.h>
#include <inlay/solver/lds.h>
#include <inlay/solver/prove.h>
#include <inlay/solver/search.h>
#include <set>

#include "layers/pieces.h"

namespace prover_test {

using namespace inlay::solver;

namespace {
Options steps(std::uint64_t n) {
  Options o;
  o.solver_steps = n;
  return o;
}
std::string answer(const Verdict& v) { return std::string(to_string(v.outcome)) + " " + v.method; }
} // namespace

TEST_CASE("prover: what lies on a bound is inside or outside of it") {
  // The largest value of B is the first that A does not have.
  CHECK(prove_inverse("3:1", "4:1").outcome == Outcome::refuted);
  CHECK(prove_inverse("4:1", "4:1").outcome == Outcome::proved);
  CHECK(prove_inverse("(M,2):(1,M)", "2*M+1:1").outcome == Outcome::refuted);
  // A digit that stands still has to stand at a value that it has: -30 + 10*3 is none of (4,2):(1,10).
  CHECK(prove_covers("-30 o (4,2):(1,10)", "4").outcome == Outcome::refuted);
  CHECK(prove_covers("-10 o (4,2):(1,10)", "4").outcome == Outcome::proved);
  CHECK(prove_covers("-20 o (4,2):(1,10)", "4").outcome == Outcome::refuted);
  // Boxes: the greatest value is below the bound.
  Pieces p = cut_into_pieces({"G"}, {}, {{"i", variable("G")}},
                             parse_formula("select(i < G - G/2, 2*i, 2*(i - (G - G/2)) + 1)"), nullptr);
  REQUIRE_FALSE(p.cases.empty());
  bool off_by_one = true;
  for (const PieceCase& c : p.cases) {
    Poly g = c.context.user("G");
    CHECK(within(c, g));
    off_by_one = off_by_one && within(c, g - Poly(1));
  }
  CHECK_FALSE(off_by_one);
  // More to be covered than there is, where no instance is small enough to be looked at.
  Subject shuffled("select(i < G - G/2, 2*i, 2*(i - (G - G/2)) + 1)", "G");
  CHECK(prove_covers(shuffled, "G + 1", {"G >= 5000"}).outcome != Outcome::proved);
  CHECK(prove_covers(shuffled, "G", {"G >= 5000"}).outcome == Outcome::proved);
  // All indices and not one less: every one of 16 was looked at.
  Options sixteen = steps(0);
  sixteen.enumeration_limit = 16;
  CHECK(answer(prove_injective(Subject("(i*i + i)/2 % 16", "16"), {}, sixteen)) == "proved enumeration");
  sixteen.enumeration_limit = 15;
  CHECK(prove_injective(Subject("(i*i + i)/2 % 16", "16"), {}, sixteen).outcome == Outcome::unknown);
  CHECK(prove_conflict_free("4611686018427387903 o 64:0", "ds_read_u8", "gfx942").outcome == Outcome::proved);
  CHECK(prove_injective("Sw<1,60,1> o 0 o 4:1").outcome == Outcome::proved);
}

TEST_CASE("prover: each way is taken where it is the one") {
  CHECK(answer(prove_equal(Subject("max(i, 0)", "n"), Subject("i", "n"))) == "proved normal form");
  CHECK(answer(prove_equal(Subject("min(i, 0) + i", "n"), Subject("i", "n"))) == "proved normal form");
  CHECK(answer(prove_bijective(Subject("i/2", "1073741824"), {}, steps(0))) == "refuted enumeration");
  CHECK(answer(prove_covers(Subject("(c, r) -> r*64 + (c ^ ((r & 15) << 2))", "(64,16*R)"), "1024*R")) ==
        "proved domination and count");
  CHECK(answer(prove_injective("4:n-1", {"n != 1"})) == "proved domination");
  CHECK(answer(prove_equal(Subject("(r,c) -> r ^ c", "(4,N)"), Subject("(r,c) -> (c ^ r) + 0*N", "(4,N)"))) !=
        "unknown none");
  // An extent that is positive by its form, with no solver to say so.
  CHECK(answer(prove_aligned(Subject("4*i*i", "ceil_div(n,4)"), "4", {}, steps(0))) ==
        "proved residue classes");
  // Only a solver comes upon index 123456789, and its model has to be read.
  Verdict v = prove_bijective(Subject("select(i == 123456789, n, i)", "n"));
  CHECK(v.outcome == Outcome::refuted);
  REQUIRE(v.witness);
  CHECK(v.witness->index == 123456789);
}

TEST_CASE("prover: more pieces than it looks at are no proof") {
  // False where all of twelve symbols are large: the last of 4096 branches, which no random assignment reaches.
  std::string chain = "1";
  for (char s = 'l'; s >= 'a'; --s) {
    if (s == 'i') continue;
    chain = "select(" + std::string(1, s) + " < 1125899906842624, 0, " + chain + ")";
  }
  std::string all = "select(q < 1125899906842624, 0, " + chain + ")";
  CHECK(prove_equal(Subject("i + " + all, "4"), Subject("i", "4"), {}, steps(0)).outcome != Outcome::proved);
}

TEST_CASE("prover: notes, traces, obligations") {
  Verdict v =
      prove_coalesced("base o ((8,8),8):((8,K),1)", 2, "gfx942", 0, {"K % 64 == 0", "base % 64 == 0"});
  REQUIRE_FALSE(v.notes.empty());
  CHECK(v.notes[0].find("contiguous: 16 bytes a lane, 128 across lanes") != std::string::npos);
  CHECK(prove_injective("(M,K):(ld,1)", {"ld >= K + 3"})
            .certificate.find("; claim ld'+K+3 >= K because domination") != std::string::npos);
  Verdict sizes = prove_equal("(M,N):(1,M)", "K:1", {"2*M*N == 2*K"}, steps(0));
  CHECK(sizes.outcome == Outcome::unknown);
  CHECK(sizes.summary().find("needs  M*N = K") != std::string::npos);
  Options quick;
  quick.certificates = false;
  quick.recheck = false;
  Verdict bare = prove_injective("(M,K):(K,1)", {}, quick);
  CHECK(bare.outcome == Outcome::proved);
  CHECK(bare.certificate.empty());
}

TEST_CASE("prover: banks of negative addresses, a table without repetitions") {
  const LdsAccess& dword = lds_access("ds_read_b32", "gfx942");
  // Byte -4 is in the last bank, as byte 252 is; -1 is in the same dword as -4.
  CHECK(lds_conflicts(
            dword, [](unsigned lane) { return lane == 0 ? -4 : 252; }, 2)
            .degree == 2);
  CHECK(lds_conflicts(
            dword, [](unsigned lane) { return lane == 0 ? -4 : 0; }, 2)
            .degree == 1);
  const LdsAccess& byte = lds_access("ds_read_u8", "gfx942");
  CHECK(lds_conflicts(
            byte, [](unsigned lane) { return lane == 0 ? -1 : -4; }, 2)
            .degree == 1);
  CHECK(lds_conflicts(
            byte, [](unsigned lane) { return lane == 0 ? -5 : 123; }, 2)
            .degree == 2);
  std::set<std::tuple<std::string, std::string, unsigned, unsigned>> seen;
  for (const LdsAccess& a : lds_accesses())
    CHECK(seen.emplace(std::string(a.arch), std::string(a.direction), a.bytes, a.alignment).second);
}

TEST_CASE("prover: searches look at all of their candidates and at nothing else") {
  auto swizzles = search_swizzle({{"64:4", "ds_read_b32"}}, "gfx942", 4096);
  CHECK(std::any_of(swizzles.begin(), swizzles.end(), [](const SwizzleChoice& c) { return c.base == 8; }));
  CHECK(std::any_of(swizzles.begin(), swizzles.end(), [](const SwizzleChoice& c) { return c.base == 2; }));
  auto tilers = search_tiler(64, 768, 96, 4, 2);
  REQUIRE_FALSE(tilers.empty());
  for (const TilerChoice& t : tilers) CHECK(t.rows * t.columns == 96 * 4);
}

} // namespace prover_test
