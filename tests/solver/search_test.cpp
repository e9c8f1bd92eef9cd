// What search finds has been proved, and is what the definition says.
#include <algorithm>
#include <catch2/catch.hpp>
#include <inlay/solver/certificate.h>
#include <inlay/solver/prover.h>
#include <inlay/solver/search.h>

#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/parse.h>

namespace search_test {

using namespace inlay::solver;

namespace {
// 64 rows of 128 bytes: written 8 lanes a row, read as MFMA 16x16 operand.
const std::vector<LdsView> tile = {{"((8,8),8):((16,128),1024)", "ds_write_b128"},
                                   {"((16,4),(2,4)):((128,16),(64,2048))", "ds_read_b128"}};
bool found(const std::vector<SwizzleChoice>& all, const std::string& text) {
  return std::any_of(all.begin(), all.end(), [&](const SwizzleChoice& c) { return c.text() == text; });
}
} // namespace

TEST_CASE("swizzles of the 128-byte-row f16 tile") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    auto all = search_swizzle(tile, arch, 8192);
    REQUIRE_FALSE(all.empty());
    CHECK(found(all, "Sw<3,4,3>"));
    CHECK_FALSE(found(all, "Sw<0,4,3>"));
    CHECK(found(all, "Sw<3,4,4>") == (std::string(arch) == "gfx950"));
    for (const SwizzleChoice& c : all) {
      CHECK(c.proofs.size() == 3);
      CHECK(std::all_of(c.proofs.begin(), c.proofs.end(),
                        [](const Verdict& v) { return v.outcome == Outcome::proved; }));
    }
  }
  // Nothing helps lanes that all want one column of 4 KiB rows in a tile too small to swizzle.
  std::vector<LdsView> column = {{"64:128", "ds_read_b32"}};
  auto best = best_swizzle(column, "gfx942", 8192);
  CHECK(best.degree >= 1);
  CHECK_THROWS_AS(search_swizzle(tile, "gfx942", 4096), QuestionError); // a view leaves the tile
  CHECK_THROWS_AS(search_swizzle({}, "gfx942", 4096), QuestionError);
}

TEST_CASE("paddings: 128 + 32 bytes, not 128 + 16") {
  auto all = search_padding({{"((16,4)):((ld,16))", "ds_read_b128"}}, "gfx942", "ld", 128, 64);
  REQUIRE(all.size() == 2);
  CHECK(all[0].row_bytes == 160);
  CHECK(all[0].footprint == 10240);
  CHECK(all[1].row_bytes == 224);
}

TEST_CASE("vectors and tilers") {
  CHECK(search_vector({"(K,M):(1,K)"}, {"K % 8 == 0"}).elements == 8);
  CHECK(search_vector({"(K,M):(1,K)", "(K,M):(1,K+4)"}, {"K % 8 == 0"}).elements == 4);
  CHECK(search_vector({"(M,K):(K,1)"}).elements == 1);
  CHECK(search_vector({"(4,8):(1,4)"}).elements == 16);
  auto tilers = search_tiler(128, 64, 256, 8, 2);
  REQUIRE(tilers.size() == 3);
  CHECK(tilers[0].rows == 32);
  CHECK(tilers[0].lines == tilers[0].least_lines);
  for (const TilerChoice& t : tilers) {
    REQUIRE(t.proofs.size() == 2);
    CHECK(t.proofs[0].property == "bijective");
    CHECK(t.proofs[1].property == "coalesced");
    CHECK(t.proofs[0].outcome == Outcome::proved);
    CHECK(t.proofs[1].outcome == Outcome::proved);
    CHECK(recheck(t.proofs[0].certificate).accepted);
    CHECK(recheck(t.proofs[1].certificate).accepted);
  }
  CHECK(tilers[2].lines == 32);
  VectorChoice vector = search_vector({"(K,M):(1,K)", "(K,M):(1,2*K)"}, {"K % 8 == 0"});
  CHECK(vector.elements == 8);
  REQUIRE(vector.proofs.size() == 4);
  for (const Verdict& v : vector.proofs) {
    CHECK(v.outcome == Outcome::proved);
    CHECK(recheck(v.certificate).accepted);
  }
  CHECK(search_tiler(7, 64, 256, 8, 2).empty());
}

TEST_CASE("obligations of the algebra are discharged by the prover") {
  inlay::SymContext context;
  auto a = inlay::parse_sym_layout(context, "(m,n):(1,m)");
  auto padded = inlay::parse_sym_layout(context, "(m,n):(1,2*m)");
  auto b = inlay::parse_sym_layout(context, "96:1");
  (void)inlay::composition(padded, b);
  auto obligations = context.take_obligations();
  REQUIRE_FALSE(obligations.empty());
  SolverProver without, with({"m >= 128"});
  CHECK_FALSE(inlay::undischarged(obligations, without).empty());
  CHECK(inlay::undischarged(obligations, with).empty());
  CHECK(with.verdicts().size() == obligations.size());
  using inlay::Claim;
  using inlay::ClaimKind;
  auto m = context.symbol("m");
  SolverProver p;
  CHECK(p.decide(Claim{ClaimKind::divides, {inlay::Sym(4), m * inlay::Sym(8)}, {}}) == inlay::Truth::yes);
  CHECK(p.decide(Claim{ClaimKind::divides, {inlay::Sym(4), m}, {}}) == inlay::Truth::no);
  CHECK(p.decide(Claim{ClaimKind::less_equal, {m, m * m}, {}}) == inlay::Truth::yes);
  CHECK(p.decide(Claim{ClaimKind::less_equal, {m * m, m}, {}}) == inlay::Truth::no);
  CHECK(p.decide(Claim{ClaimKind::equal, {m + m, m * inlay::Sym(2)}, {}}) == inlay::Truth::yes);
  CHECK(p.decide(Claim{ClaimKind::injective, {}, {a}}) == inlay::Truth::yes);
  CHECK(p.decide(Claim{ClaimKind::bijective, {}, {a}}) == inlay::Truth::yes);
  CHECK(p.decide(Claim{ClaimKind::same, {}, {a, inlay::parse_sym_layout(context, "m*n:1")}}) ==
        inlay::Truth::yes);
}

} // namespace search_test
