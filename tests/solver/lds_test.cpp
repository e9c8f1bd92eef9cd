// The table of phase groups is the measured data, and the definition of a conflict is counted by hand.
#include <catch2/catch.hpp>
#include <fstream>
#include <inlay/solver/certificate.h>
#include <inlay/solver/lds.h>
#include <inlay/solver/prove.h>
#include <nlohmann/json.hpp>
#include <set>

namespace lds_test {

using namespace inlay::solver;

namespace {
using Groups = std::set<std::set<unsigned>>;

Groups of_json(const nlohmann::json& phases) {
  Groups out;
  for (const auto& phase : phases) {
    std::set<unsigned> lanes;
    if (phase.size() == 2) {
      for (unsigned lane = phase[0]; lane <= phase[1].get<unsigned>(); ++lane) lanes.insert(lane);
    } else {
      for (unsigned lane : phase) lanes.insert(lane);
    }
    out.insert(lanes);
  }
  return out;
}
Groups of_table(const char* instruction, const char* arch) {
  Groups out;
  for (const auto& phase : lds_access(instruction, arch).phases) out.insert({phase.begin(), phase.end()});
  return out;
}
unsigned degree(const char* instruction, const char* arch, std::int64_t row_bytes, int bits, int base,
                int shift) {
  // MFMA 16x16 operand: row = lane % 16, 16-byte chunk = lane / 16.
  return lds_conflicts(lds_access(instruction, arch),
                       [&](unsigned lane) {
                         std::int64_t x = (lane % 16) * row_bytes + (lane / 16) * 16;
                         std::int64_t mask = ((std::int64_t{1} << bits) - 1) << (base + shift);
                         return x ^ ((x & mask) >> shift);
                       })
      .degree;
}
} // namespace

TEST_CASE("the phase groups are those that were measured") {
  std::ifstream file(INLAY_TESTS_DIR "/solver/data/lds_phases.json");
  auto data = nlohmann::json::parse(file);
  const auto& a = data["gfx942"];
  CHECK(of_table("ds_read_b32", "gfx942") == of_json(a["read_b32"]));
  CHECK(of_table("ds_read_b64", "gfx942") == of_json(a["read_b64"]));
  CHECK(of_table("ds_read_b128", "gfx942") == of_json(a["read_b128"]));
  CHECK(lds_access("ds_read_b128", "gfx942").banks == a["banks"]);
  const auto& b = data["gfx950"];
  CHECK(of_table("ds_read_b32", "gfx950") == of_json(b["read_b32"]));
  CHECK(of_table("ds_read_b64", "gfx950") == of_json(b["read_b64"]));
  CHECK(of_table("ds_read_b96", "gfx950") == of_json(b["read_b96"]["groups"]));
  CHECK(of_table("ds_read_b128", "gfx950") == of_json(b["read_b128"]));
  CHECK(of_table("ds_write_b64", "gfx950") == of_json(b["write_b64"]["groups"]));
  CHECK(lds_access("ds_read_b128", "gfx950").banks == b["banks_read"]);
  CHECK(lds_access("ds_read_b96", "gfx950").banks == b["read_b96"]["banks"]);
}

TEST_CASE("every lane is served exactly once by every access") {
  for (const LdsAccess& access : lds_accesses()) {
    std::multiset<unsigned> lanes;
    for (const auto& phase : access.phases) lanes.insert(phase.begin(), phase.end());
    CHECK(lanes.size() == 64);
    CHECK(std::set<unsigned>(lanes.begin(), lanes.end()).size() == 64);
    // A phase never moves more than the banks deliver in a clock.
    for (const auto& phase : access.phases) CHECK(phase.size() * access.bytes <= access.banks * 4);
  }
}

TEST_CASE("conflict degrees of the MFMA A operand on gfx942") {
  const char* r = "ds_read_b128";
  CHECK(degree(r, "gfx942", 128, 0, 4, 3) == 4);
  CHECK(degree(r, "gfx942", 128, 3, 4, 3) == 1);
  CHECK(degree(r, "gfx942", 128, 3, 4, 4) == 2);
  CHECK(degree(r, "gfx942", 256, 0, 4, 4) == 4);
  CHECK(degree(r, "gfx942", 256, 4, 4, 4) == 1);
  CHECK(degree(r, "gfx942", 512, 3, 4, 3) == 2);
  CHECK(degree(r, "gfx942", 512, 5, 4, 5) == 1);
  CHECK(degree(r, "gfx942", 128 + 16, 0, 4, 3) == 2);
  CHECK(degree(r, "gfx942", 256 + 16, 0, 4, 3) == 2);
}

TEST_CASE("broadcast, clocks, lanes and misalignment") {
  const LdsAccess& b32 = lds_access("ds_read_b32", "gfx942");
  auto same = lds_conflicts(b32, [](unsigned) { return std::int64_t{64}; });
  CHECK(same.degree == 1); // one dword for everybody
  CHECK(same.clocks == 2);
  auto worst = lds_conflicts(b32, [](unsigned lane) { return std::int64_t{lane} * 128; });
  CHECK(worst.degree == 32);
  CHECK(worst.clocks == 64);
  CHECK(worst.lanes.size() == 32);
  auto odd = lds_conflicts(b32, [](unsigned lane) { return std::int64_t{lane} * 4 + (lane == 5 ? 2 : 0); });
  CHECK(odd.misaligned_lane == 5);
  CHECK(lds_conflicts(
            b32, [](unsigned lane) { return std::int64_t{lane} * 128; }, 2)
            .degree == 2);
  CHECK_THROWS_AS(lds_access("ds_read_b512", "gfx942"), QuestionError);
  CHECK_THROWS_AS(lds_access("ds_read_b128", "gfx908"), QuestionError);
  CHECK_THROWS_AS(lds_access("ds_read_b64_tr_b16", "gfx942"), QuestionError);
  CHECK_NOTHROW(lds_access("ds_read_b64_tr_b16", "gfx950"));
}

TEST_CASE("bytes and halves are served as the dword around them, at any multiple of their width") {
  auto outcome = [](const char* layout, const char* access) {
    return prove_conflict_free(layout, access, "gfx942").outcome;
  };
  CHECK(outcome("64:1", "ds_read_u8") == Outcome::proved);
  CHECK(outcome("64:1", "ds_write_b8") == Outcome::proved);
  CHECK(outcome("64:2", "ds_read_u16") == Outcome::proved);
  CHECK(outcome("64:2", "ds_read_u16_d16") == Outcome::proved);
  CHECK(outcome("64:1", "ds_read_u16") == Outcome::refuted); // a half at an odd byte
  CHECK(outcome("64:2", "ds_read_b32") == Outcome::refuted);
  CHECK(outcome("64:128", "ds_read_u8") == Outcome::refuted);
  CHECK(outcome("(32,2):(1,128)", "ds_write_b16") == Outcome::refuted);
  CHECK(outcome("(32,2):(2,128)", "ds_write_b16") ==
        Outcome::proved); // the halves of a wave in phases of their own
  for (const char* access : {"ds_read_u8", "ds_read_u16"})
    CHECK(recheck(prove_conflict_free("64:4*(2*k+1)", access, "gfx942").certificate).accepted);
}

TEST_CASE("instances far up are others than the least of their residue class") {
  auto outcome = [](const char* formula, const char* domain, const char* access) {
    Verdict v = prove_conflict_free(Subject(formula, domain), access, "gfx942");
    if (v) CHECK(recheck(v.certificate).accepted);
    return v.outcome;
  };
  // Lane 1 of instance 128 is in bank 0 like lane 0, 32 dwords on; that of an instance below is in another bank or the same dword.
  const char* rising = "(l,n) -> l*n";
  CHECK(outcome(rising, "(2,128)", "ds_read_u8") == Outcome::proved);
  CHECK(outcome(rising, "(2,129)", "ds_read_u8") == Outcome::refuted);
  CHECK(outcome(rising, "(2,N)", "ds_read_u8") == Outcome::refuted);
  CHECK(outcome("(l,n) -> 2*l*n", "(2,64)", "ds_read_u16") == Outcome::proved);
  CHECK(outcome("(l,n) -> 2*l*n", "(2,N)", "ds_read_u16") == Outcome::refuted);
  CHECK(outcome("(l,n) -> l*n", "(2,200)", "ds_read_u8") == Outcome::refuted);
  // What only the next of a class would do that the domain no longer has is no matter: n = 130 is one of 2 modulo 128.
  CHECK(outcome("(l,n) -> 4*l + 128*n", "(32,130)", "ds_read_b32") == Outcome::proved);
  CHECK(outcome("(l,n) -> l*(128 - n)*n*3", "(2,128)", "ds_read_u8") != Outcome::proved);
  // Two classes: the least values of both, and only one of them shifted.
  CHECK(outcome("(l,m,n) -> l*(m + 128*n)", "(2,128,300)", "ds_read_u8") == Outcome::refuted);
  CHECK(outcome("(l,m,n) -> 4*l*(1 + 2*m*n)", "(64,200,200)", "ds_read_b32") == Outcome::proved);
}

TEST_CASE("conditions that small values of the symbols do not satisfy do not prove anything") {
  auto free = [](const char* layout, const Facts& facts) {
    return prove_conflict_free(layout, "ds_read_b32", "gfx942", facts).outcome;
  };
  CHECK(free("64:128*k", {"k*k > 100000"}) == Outcome::refuted);
  CHECK(free("64:128*k*j", {"k*j > 1000000"}) == Outcome::refuted);
  CHECK(free("64:128*k", {"k > 1000"}) == Outcome::refuted);
  CHECK(free("64:128*(k-1)", {}) == Outcome::refuted); // one dword for k = 1 only
  CHECK(free("64:4*(2*k+1)", {"k*k > 100000"}) == Outcome::proved);
  // Instance 5 exists from m = 6 on only: rows l*4*m, and one more dword in instance 5.
  CHECK(prove_conflict_free(Subject("(l, i) -> l*128*m*(i/5)", "(64,m)"), "ds_read_b32", "gfx942").outcome !=
        Outcome::proved);
}

} // namespace lds_test
