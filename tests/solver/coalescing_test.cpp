// Cache lines of a wave against sets of bytes, on tables, on random layouts and on instances of symbolic verdicts.
#include <catch2/catch.hpp>
#include <inlay/solver/coalescing.h>
#include <map>
#include <random>
#include <set>

namespace coalescing_test {

using namespace inlay::solver;

namespace {

struct Count {
  std::size_t lines, least;
  bool vectors;
  [[nodiscard]] bool coalesced() const { return vectors && lines == least; }
};

// The definition: every byte into a set, every byte's line into another.
template <class Address>
Count count(const Address& address, int lanes, int values, int bytes) {
  std::set<long> all, lines;
  bool vectors = true;
  for (int lane = 0; lane < lanes; ++lane)
    for (int value = 0; value < values; ++value) {
      long at = address(lane, value);
      vectors &= at == address(lane, 0) + long{value} * bytes;
      for (long b = at; b < at + bytes; ++b) {
        all.insert(b);
        lines.insert(b >= 0 ? b / 128 : -((-b + 127) / 128));
      }
    }
  return {lines.size(), (all.size() + 127) / 128, vectors};
}

Outcome outcome(const char* layout, unsigned bytes, const Facts& facts = {}, unsigned lines = 0) {
  return prove_coalesced(layout, bytes, "gfx942", lines, facts).outcome;
}

} // namespace

TEST_CASE("lines of a wave, by hand") {
  const GlobalMemory& memory = global_memory("gfx942");
  CHECK(memory.line_bytes == 128);
  auto cost = [&](auto address, unsigned lanes, unsigned values, unsigned bytes) {
    WaveAccess w = wave_access(memory, address, lanes, values, bytes);
    return std::vector<int>{static_cast<int>(w.lines),
                            static_cast<int>(w.least_lines),
                            static_cast<int>(w.segments),
                            static_cast<int>(w.least_segments),
                            static_cast<int>(w.lane_run),
                            static_cast<int>(w.wave_run),
                            w.torn_lane,
                            w.break_lane};
  };
  auto dense = [](unsigned l, unsigned v) { return static_cast<std::int64_t>(16 * l + 2 * v); };
  CHECK(cost(dense, 64, 8, 2) == std::vector<int>{8, 8, 16, 16, 16, 1024, -1, -1});
  auto off = [](unsigned l, unsigned v) { return static_cast<std::int64_t>(16 * l + 2 * v + 2); };
  CHECK(cost(off, 64, 8, 2) == std::vector<int>{9, 8, 17, 16, 16, 1024, -1, -1});
  // Rows of 64 bytes, 4 KiB apart: half of every line is wasted, no segment is.
  auto rows = [](unsigned l, unsigned v) {
    return static_cast<std::int64_t>(4096 * (l / 4) + 16 * (l % 4) + 2 * v);
  };
  CHECK(cost(rows, 64, 8, 2) == std::vector<int>{16, 8, 16, 16, 16, 64, -1, 4});
  auto broadcast = [](unsigned, unsigned) { return std::int64_t{-4}; };
  CHECK(cost(broadcast, 64, 1, 4) == std::vector<int>{1, 1, 1, 1, 4, 4, -1, 1});
  auto torn = [](unsigned l, unsigned v) { return static_cast<std::int64_t>(16 * l + (v == 3 ? 8 : 4 * v)); };
  CHECK(cost(torn, 64, 4, 4)[4] == 12);
  CHECK(cost(torn, 64, 4, 4)[6] == 0);
}

TEST_CASE("coalesced") {
  CHECK(outcome("(64,8):(8,1)", 2) == Outcome::proved);
  CHECK(outcome("((8,8),8):((8,K),1)", 2, {"K % 64 == 0"}) == Outcome::proved);
  CHECK(outcome("((8,8),8):((8,K),1)", 2, {"K % 32 == 0"}) == Outcome::refuted);
  CHECK(outcome("((4,16),8):((8,K),1)", 2, {"K % 32 == 0"}) == Outcome::refuted); // rows of 64 bytes
  CHECK(outcome("((4,16),8):((8,K),1)", 2, {"K % 64 == 0"}, 16) == Outcome::proved);
  CHECK(outcome("((4,16),8):((8,K),1)", 2, {"K % 64 == 0"}, 15) == Outcome::refuted);
  CHECK(outcome("((8,8),8):((8,K),2)", 2, {"K % 64 == 0"}) == Outcome::refuted); // torn vectors
  CHECK(outcome("base o (64,4):(4,1)", 1, {"base % 128 == 0"}) == Outcome::proved);
  CHECK(outcome("base o (64,4):(4,1)", 1, {"base % 64 == 0"}) == Outcome::refuted);
  CHECK(outcome("base o (16,4):(4,1)", 1, {"base % 64 == 0"}) == Outcome::proved); // half a line, wherever
  CHECK(outcome("64:1", 4) == Outcome::proved);
  CHECK(outcome("64:2", 4) == Outcome::refuted);
  CHECK(outcome("64:-1", 4) == Outcome::refuted); // -252..3: three lines for two
  CHECK(outcome("63 o 64:-1", 4) == Outcome::proved);
  CHECK(outcome("64:0", 4) == Outcome::proved);
  CHECK(outcome("((8,8),8,(M/8,K/64)):((8,K),1,(8*K,64))", 2, {"K % 64 == 0", "M % 8 == 0"}) ==
        Outcome::proved);
  CHECK(outcome("((8,8),8,(M/8,K/32)):((8,K),1,(8*K,32))", 2, {"K % 64 == 0", "M % 8 == 0"}) ==
        Outcome::refuted); // every second tile begins in the middle of a line
  Subject tile("(t, v, kt, bx) -> (bx*32 + t/8)*K + kt*64 + (t%8)*8 + v", "(64,8,K/64,B)");
  CHECK(prove_coalesced(tile, 2, "gfx950", 0, {"K % 64 == 0"}).method == "lines as forms");
  Verdict v = prove_coalesced("((4,16),8):((8,K),1)", 2, "gfx942", 0, {"K % 64 == 0"});
  REQUIRE(v.witness);
  CHECK(v.witness->lhs == 16);
  CHECK(v.witness->rhs == 8);
  CHECK(v.witness->index == 4);
  // What the residues cannot say is unknown and names the fact: 64 x (x + 1) is a multiple of 128, formally not.
  Options no_search;
  no_search.refuter_assignments = 50;
  v = prove_coalesced("64*x*(x+1) o (64,4):(4,1)", 1, "gfx942", 0, {}, no_search);
  CHECK(v.outcome == Outcome::unknown);
  CHECK_FALSE(v.obligations.empty());
}

TEST_CASE("coalesced: one number changed in a proved formula is refuted") {
  auto ask = [](const std::string& formula) {
    return prove_coalesced(Subject(formula, "(64,8,K/64,B)"), 2, "gfx942", 0, {"K % 64 == 0"}).outcome;
  };
  CHECK(ask("(t, v, kt, bx) -> (bx*32 + t/8)*K + kt*64 + (t%8)*8 + v") == Outcome::proved);
  for (const char* mutant : {"(t, v, kt, bx) -> (bx*32 + t/8)*(K+1) + kt*64 + (t%8)*8 + v",
                             "(t, v, kt, bx) -> (bx*32 + t/8)*K + kt*63 + (t%8)*8 + v",
                             "(t, v, kt, bx) -> (bx*32 + t/8)*K + kt*64 + (t%8)*9 + v",
                             "(t, v, kt, bx) -> (bx*32 + t/4)*K + kt*64 + (t%4)*8 + v",
                             "(t, v, kt, bx) -> (bx*32 + t/8)*K + kt*64 + (t%8)*8 + v + 1",
                             "(t, v, kt, bx) -> (bx*32 + t/8)*K + kt*64 + (t%8)*8 + v*2"}) {
    CAPTURE(mutant);
    CHECK(ask(mutant) == Outcome::refuted);
  }
}

TEST_CASE("coalesced: questions at fault") {
  CHECK_THROWS_AS(outcome("(128,4):(4,1)", 1), QuestionError);  // lanes
  CHECK_THROWS_AS(outcome("(M,4):(4,1)", 1), QuestionError);    // lanes
  CHECK_THROWS_AS(outcome("(64,M):(4,1)", 1), QuestionError);   // values
  CHECK_THROWS_AS(outcome("(64,16):(16,1)", 2), QuestionError); // 32 bytes a lane
  CHECK_THROWS_AS(outcome("64:1", 0), QuestionError);           // element
  CHECK_THROWS_AS(prove_coalesced("64:1", 4, "gfx908"), QuestionError);
}

TEST_CASE("coalesced agrees with the set of bytes on random layouts") {
  std::mt19937 engine(20261121);
  auto random = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  int yes = 0, no = 0, symbolic = 0, open = 0;
  for (int round = 0; round < 1200; ++round) {
    // (l0,l1):(d0,d1) lanes, v:1 values, an instance mode, a base; compact more often than not.
    int l0 = 1 << random(0, 6), l1 = 64 / l0, values = 1 << random(0, 2), bytes = 1 << random(0, 2);
    long step = random(0, 5) == 0 ? 2 : 1, d0 = random(0, 3) ? values : random(-4, 40);
    long d1 = random(0, 2) ? d0 * l0 : random(0, 1) ? (128L / bytes) * random(1, 9) : random(-300, 300);
    long d2 = random(0, 2) ? (128L / bytes) * random(0, 5) : random(-70, 70),
         base = random(0, 2) ? 0 : random(0, 300);
    int instances = random(1, 3);
    auto n = [](long v) { return std::to_string(v); };
    std::string lanes = "((" + n(l0) + "," + n(l1) + ")," + n(values) + ",";
    std::string text = n(base) + " o " + lanes + n(instances) + "):((" + n(d0) + "," + n(d1) + ")," +
                       n(step) + "," + n(d2) + ")";
    auto holds = [&](long row, long start, int count_of_instances) {
      for (int i = 0; i < count_of_instances; ++i) {
        auto at = [&](int lane, int value) {
          return bytes * (start + (lane % l0) * d0 + (lane / l0) * row + value * step + i * d2);
        };
        if (!count(at, 64, values, bytes).coalesced()) return false;
      }
      return true;
    };
    bool expected = holds(d1, base, instances);
    CAPTURE(text, bytes);
    Verdict v = prove_coalesced(text, static_cast<unsigned>(bytes), "gfx942");
    REQUIRE(v.outcome == (expected ? Outcome::proved : Outcome::refuted));
    (expected ? yes : no)++;
    // The same with a symbolic row stride: a proof must hold at every small value, a witness at its own.
    long factor = random(0, 1) ? 128 / bytes : random(1, 64);
    std::string rows = n(base) + " o " + lanes + "T):((" + n(d0) + ",K)," + n(step) + "," + n(d2) + ")";
    Facts facts{"K % " + n(factor) + " == 0"};
    v = prove_coalesced(rows, static_cast<unsigned>(bytes), "gfx942", 0, facts);
    CAPTURE(rows, facts[0], v.summary());
    if (v.outcome == Outcome::proved) {
      ++symbolic;
      for (long k = 1; k <= 8; ++k) REQUIRE(holds(k * factor, base, 6));
    } else if (v.outcome == Outcome::refuted) {
      long k = 0, t = 0;
      for (const auto& [name, value] : v.witness->symbols) (name == "K" ? k : t) = value;
      REQUIRE(k % factor == 0);
      REQUIRE_FALSE(holds(k, base, static_cast<int>(t)));
    } else {
      ++open;
    }
  }
  CHECK(yes > 150);
  CHECK(no > 150);
  CHECK(symbolic > 50);
  CHECK(open < 120);
}

} // namespace coalescing_test
