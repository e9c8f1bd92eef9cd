// Order in every schedule: races that were shipped, random programs against reachability, loops, strangers' kernels.
#include "emulator_support.h"

#include <inlay/runtime/symbolic/flow.h>
#include <inlay/runtime/symbolic/order.h>

#include <deque>
#include <random>
#include <set>

namespace order_test {

using namespace inlay::runtime;
using namespace inlay::runtime::symbolic;

namespace {

OrderReport check(const std::string& body, unsigned waves, unsigned lds = 4096, OrderOptions options = {}) {
  const auto object = CodeObject::parse(
      emulator_test::kernel(body, isa::Arch::gfx950, {.lds = lds, .vgprs = 96, .accum_offset = 64}));
  options.block = {64 * waves};
  return check_order(object, object.kernel("k"), options);
}

std::string all(const OrderReport& r) {
  std::string s(to_string(r.verdict));
  for (const auto& f : r.findings) s += "\n  " + std::string(to_string(f.kind)) + ": " + f.message;
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

/// s8: wave, v1: lane * 4, s[4:7]: in and out, s[12:15]: descriptor of in.
const std::string start =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
    "v_readfirstlane_b32 s8, v0\ns_lshr_b32 s8, s8, 6\n"
    "v_and_b32_e32 v1, 63, v0\nv_lshlrev_b32_e32 v1, 2, v1\nv_mov_b32_e32 v2, 1.0\n"
    "s_waitcnt lgkmcnt(0)\ns_mov_b64 s[12:13], s[4:5]\ns_mov_b32 s14, 0x1000\ns_mov_b32 s15, 0x20000\n"
    "s_mov_b32 m0, 0\n";

} // namespace

TEST_CASE("races across barriers that were shipped, and their control") {
  const std::string head = start + "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 wave1\nds_write_b32 v1, v2\ns_waitcnt "
                                   "lgkmcnt(0)\nds_read_b32 v3, v1\n";
  const std::string tail = "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[6:7]\ns_endpgm\nwave1:\n";
  SECTION("a read still in flight when its wave passes the barrier, overwritten by ds_write") {
    const auto r =
        check(head + "s_barrier\n" + tail +
                  "s_barrier\nv_mov_b32_e32 v4, 2.0\nds_write_b32 v1, v4\ns_waitcnt lgkmcnt(0)\ns_endpgm\n",
              2);
    INFO(all(r));
    CHECK(r.verdict == Verdict::refuted);
    REQUIRE(r.findings.size() == 1);
    CHECK(r.findings[0].kind == OrderKind::race);
    CHECK(r.findings[0].text == "ds_write_b32 v1, v4");
    CHECK(r.findings[0].other_text == "ds_read_b32 v3, v1");
    CHECK(r.findings[0].wave == 1);
  }
  SECTION("the same by a load to LDS") {
    const auto r =
        check(head + "s_barrier\n" + tail +
                  "s_barrier\nbuffer_load_dword v1, s[12:15], 0 offen lds\ns_waitcnt vmcnt(0)\ns_endpgm\n",
              2);
    CHECK(r.verdict == Verdict::refuted);
  }
  SECTION("a load to LDS that is waited for after the reader") {
    const auto r = check(head + "s_barrier\ns_nop 0\ns_waitcnt lgkmcnt(0)\ns_barrier\n" + tail +
                             "s_barrier\nbuffer_load_dword v1, s[12:15], 0 offen lds\ns_barrier\ns_waitcnt "
                             "vmcnt(0)\ns_endpgm\n",
                         2);
    CHECK(r.verdict == Verdict::refuted);
  }
  SECTION("the control waits before the barrier") {
    const auto r =
        check(head + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + tail +
                  "s_barrier\nbuffer_load_dword v1, s[12:15], 0 offen lds\ns_waitcnt vmcnt(0)\ns_endpgm\n",
              2);
    INFO(all(r));
    CHECK(r.verdict == Verdict::validated);
  }
}

TEST_CASE("one write that two waves execute: no race is shown, and none is excluded, as the values may be "
          "the same") {
  const std::string end = "s_waitcnt lgkmcnt(0)\ns_endpgm\n";
  const auto once = check(start + "ds_write_b32 v1, v2\n" + end, 2);
  INFO(all(once));
  CHECK(once.verdict == Verdict::undecided);
  REQUIRE(once.findings.size() == 1);
  CHECK(once.findings[0].conditional);
  CHECK(check(start + "ds_write_b32 v1, v2\n" + end, 1).verdict == Verdict::validated);
  // Two instructions, or one that another reads: a race as before.
  const std::string other =
      "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 wave1\nds_write_b32 v1, v2\n" + end + "wave1:\n";
  CHECK(check(start + other + "ds_write_b32 v1, v0\n" + end, 2).verdict == Verdict::refuted);
  CHECK(check(start + other + "ds_read_b32 v3, v1\n" + end, 2).verdict == Verdict::refuted);
}

TEST_CASE("random programs of two waves: a race exactly where neither access reaches the other") {
  // By definition: an access happens after its issue and before the wait that pops it from its queue; a barrier is passed
  // when both have arrived. Two accesses race when no chain of these leads from one to the other.
  unsigned racing = 0, clean = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    struct Step {
      int kind; // 0 ds_write, 1 ds_read, 2 load to LDS, 3 vmcnt, 4 lgkmcnt, 5 barrier
      unsigned number;
    };
    const auto barriers = static_cast<unsigned>(random() % 4);
    std::vector<Step> wave[2];
    for (auto& w : wave) {
      const auto steps = 1 + random() % 4;
      for (unsigned i = 0; i < steps; ++i)
        w.push_back({static_cast<int>(random() % 3), static_cast<unsigned>(random() % 5)});
      const auto waits = random() % 5;
      for (unsigned i = 0; i < waits; ++i)
        w.insert(w.begin() + static_cast<std::ptrdiff_t>(random() % (w.size() + 1)),
                 {3 + static_cast<int>(random() % 2), static_cast<unsigned>(random() % 3)});
      for (unsigned i = 0; i < barriers; ++i)
        w.insert(w.begin() + static_cast<std::ptrdiff_t>(random() % (w.size() + 1)), {5, 0});
    }
    // ---- the definition
    std::vector<std::vector<bool>> reach;
    const auto node = [&] {
      for (auto& row : reach) row.push_back(false);
      reach.emplace_back(reach.size() + 1, false);
      return reach.size() - 1;
    };
    struct Happening {
      std::size_t at;
      unsigned w, position, begin;
      bool write, dma;
    };
    std::vector<Happening> accesses;
    std::vector<std::size_t> arrive[2], leave[2];
    const auto edge = [&](std::size_t a, std::size_t b) { reach[a][b] = true; };
    for (unsigned w = 0; w < 2; ++w) {
      std::size_t before = node();
      std::deque<std::size_t> queue[2]; // vector memory, LDS
      for (unsigned i = 0; i < wave[w].size(); ++i) {
        const Step& s = wave[w][i];
        const std::size_t now = node();
        edge(before, now);
        before = now;
        if (s.kind <= 2) {
          const std::size_t h = node();
          edge(now, h);
          auto& q = queue[s.kind == 2 ? 0 : 1];
          if (!q.empty()) edge(q.back(), h);
          q.push_back(h);
          accesses.push_back({h, w, i, s.number * 128, s.kind != 1, s.kind == 2});
        } else if (s.kind <= 4) {
          auto& q = queue[s.kind - 3];
          while (q.size() > s.number) {
            edge(q.front(), now);
            q.pop_front();
          }
        } else {
          arrive[w].push_back(now);
          before = node();
          edge(now, before);
          leave[w].push_back(before);
        }
      }
    }
    for (unsigned k = 0; k < barriers; ++k) {
      edge(arrive[0][k], leave[1][k]);
      edge(arrive[1][k], leave[0][k]);
    }
    for (std::size_t k = 0; k < reach.size(); ++k)
      for (std::size_t i = 0; i < reach.size(); ++i)
        for (std::size_t j = 0; reach[i][k] && j < reach.size(); ++j)
          if (reach[k][j]) reach[i][j] = true;
    using Key = std::pair<std::pair<unsigned, unsigned>, std::pair<unsigned, unsigned>>;
    std::set<Key> expected;
    for (std::size_t a = 0; a < accesses.size(); ++a)
      for (std::size_t b = a + 1; b < accesses.size(); ++b) {
        const Happening& x = accesses[a];
        const Happening& y = accesses[b];
        if (!x.write && !y.write) continue;
        if (x.begin >= y.begin + 256 || y.begin >= x.begin + 256) continue;
        if (reach[x.at][y.at] || reach[y.at][x.at]) continue;
        expected.insert({{x.w, x.position}, {y.w, y.position}});
      }
    // ---- the program
    std::string body = start + "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 wave1\n";
    unsigned fresh = 8;
    for (unsigned w = 0; w < 2; ++w) {
      if (w == 1) body += "wave1:\n";
      for (unsigned i = 0; i < wave[w].size(); ++i) {
        const Step& s = wave[w][i];
        const std::string offset = std::to_string(s.number * 128);
        body += "s_mov_b32 s" + std::to_string(60 + w) + ", " + std::to_string(i) + "\n";
        if (s.kind == 0) body += "ds_write_b32 v1, v2 offset:" + offset + "\n";
        if (s.kind == 1) body += "ds_read_b32 v" + std::to_string(fresh++) + ", v1 offset:" + offset + "\n";
        if (s.kind == 2)
          body += "s_mov_b32 m0, " + offset + "\ns_nop 0\nbuffer_load_dword v1, s[12:15], 0 offen lds\n";
        if (s.kind == 3) body += "s_waitcnt vmcnt(" + std::to_string(s.number) + ")\n";
        if (s.kind == 4) body += "s_waitcnt lgkmcnt(" + std::to_string(s.number) + ")\n";
        if (s.kind == 5) body += "s_barrier\n";
      }
      body += "s_endpgm\n";
    }
    const auto object = CodeObject::parse(
        emulator_test::kernel(body, isa::Arch::gfx950, {.lds = 4096, .vgprs = 96, .accum_offset = 64}));
    const auto r = check_order(object, object.kernel("k"), {.block = {128}});
    // Which step an address is: the n-th memory instruction of the program.
    const Kernel& k = object.kernel("k");
    const auto program = isa::decode(object.code(k), k.address, isa::Arch::gfx950);
    std::map<std::uint64_t, std::pair<unsigned, unsigned>> step_at;
    {
      std::size_t n = 0;
      for (const auto& i : program.instructions)
        if (i.mnemonic.starts_with("ds_") || i.mnemonic.starts_with("buffer_load"))
          step_at[i.address] = {accesses[n].w, accesses[n].position}, ++n;
      REQUIRE(n == accesses.size());
    }
    std::set<Key> found;
    for (const auto& f : r.findings) {
      REQUIRE((f.kind == OrderKind::race || f.kind == OrderKind::own));
      auto a = step_at.at(f.address), b = step_at.at(f.other_address);
      if (b < a) std::swap(a, b);
      found.insert({a, b});
    }
    INFO("seed " << seed << "\n" << body << all(r));
    CHECK(found == expected);
    CHECK(r.verdict == (expected.empty() ? Verdict::validated : Verdict::refuted));
    (expected.empty() ? clean : racing) += 1;
  }
  CHECK(racing > 100);
  CHECK(clean > 30);
}

namespace {

/// A ring of LDS slots filled by loads to LDS and read by all waves: `ahead` tiles in flight, `slots` in the ring.
/// Trips by an argument; each wave loads its quarter of a tile and reads the next wave's.
std::string ring(unsigned slots, unsigned ahead, bool barrier, bool drain_reads, unsigned vmcnt) {
  std::string s =
      "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dword s16, s[0:1], 0x10\n"
      "v_readfirstlane_b32 s8, v0\ns_lshr_b32 s8, s8, 6\n"
      "v_and_b32_e32 v1, 63, v0\nv_lshlrev_b32_e32 v1, 2, v1\n"
      "s_lshl_b32 s9, s8, 8\n"                                // this wave's quarter
      "s_xor_b32 s10, s9, 0x100\nv_add_u32_e32 v4, s10, v1\n" // the neighbour's
      "s_waitcnt lgkmcnt(0)\ns_mov_b64 s[12:13], s[4:5]\ns_mov_b32 s14, 0x100000\ns_mov_b32 s15, 0x20000\n"
      "s_mov_b32 s17, 0\ns_mov_b32 s18, 0\nv_mov_b32_e32 v5, 0\n"; // read slot, write slot
  const std::string advance_write = "s_addk_i32 s18, 0x400\ns_cmp_eq_u32 s18, " +
                                    std::to_string(0x400 * slots) + "\ns_cselect_b32 s18, 0, s18\n";
  const std::string load = "s_add_u32 m0, s18, s9\ns_nop 0\nbuffer_load_dword v1, s[12:15], 0 offen lds\n"
                           "s_add_u32 s12, s12, 0x400\ns_addc_u32 s13, s13, 0\n" +
                           advance_write;
  for (unsigned i = 0; i < ahead; ++i) s += load;
  s += "s_cmp_lt_i32 s16, 1\ns_cbranch_scc1 done\nloop:\n";
  s += "s_waitcnt vmcnt(" + std::to_string(vmcnt) + ")\n";
  if (barrier) s += "s_barrier\n";
  s += load;
  s += "v_add_u32_e32 v6, s17, v4\nds_read_b32 v7, v6\n";
  if (drain_reads) s += "s_waitcnt lgkmcnt(0)\nv_add_f32_e32 v5, v5, v7\n";
  s += "s_addk_i32 s17, 0x400\ns_cmp_eq_u32 s17, " + std::to_string(0x400 * slots) +
       "\ns_cselect_b32 s17, 0, s17\n";
  s += "s_add_i32 s16, s16, -1\ns_cmp_lg_u32 s16, 0\ns_cbranch_scc1 loop\ndone:\n";
  s += "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dword v1, v5, s[6:7]\ns_endpgm\n";
  return s;
}

} // namespace

TEST_CASE("rings of LDS in a loop with any number of trips") {
  // Tile t + ahead is loaded in trip t after the barrier; the slot it goes to was read in trip t + ahead - slots.
  for (unsigned slots = 2; slots <= 4; ++slots) {
    for (unsigned ahead = 1; ahead < slots; ++ahead) {
      INFO(slots << " slots, " << ahead << " ahead");
      const auto good = check(ring(slots, ahead, true, true, ahead - 1), 2, 16384);
      INFO(all(good));
      CHECK(good.verdict == Verdict::validated);
      CHECK(good.loops >= 1);
      CHECK(check(ring(slots, ahead, false, true, ahead - 1), 2, 16384).verdict ==
            Verdict::refuted); // no barrier
      CHECK(check(ring(slots, ahead, true, true, ahead), 2, 16384).verdict ==
            Verdict::refuted); // one tile late
    }
    // As many ahead as there are slots: the load overwrites what the neighbour reads in the same interval.
    CHECK(check(ring(slots, slots, true, true, slots - 1), 2, 16384).verdict == Verdict::refuted);
    // Reads that no wait covers before the next barrier: only a slot that is written at once suffers.
    CHECK(check(ring(slots, slots - 1, true, false, slots - 2), 2, 16384).verdict == Verdict::refuted);
  }
}

TEST_CASE("grid-stride loops: waves that meet nobody are followed each by itself") {
  // for (i = 256 workgroup + work-item; i < n; i += 256 blocks) out[i] = in[i], as clang writes it, and as many of these in a row.
  const auto loops = [](unsigned count, const std::string& wait, const std::string& more = "") {
    std::string body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dwordx2 s[8:9], s[0:1], "
                       "0x10\nv_lshl_or_b32 v0, s2, 8, v0\n"
                       "s_waitcnt lgkmcnt(0)\nv_cmp_gt_u32_e32 vcc, s8, v0\ns_and_saveexec_b64 s[2:3], vcc\n"
                       "s_cbranch_execz end\ns_lshl_b32 s9, s9, 8\n";
    for (unsigned k = 0; k < count; ++k) {
      const std::string n = std::to_string(k);
      body += "s_mov_b64 s[0:1], 0\nv_mov_b32_e32 v2, v0\nloop" + n + ":\nv_lshlrev_b32_e32 v4, 2, v2\n" +
              "global_load_dword v1, v4, s[4:5]\nv_add_u32_e32 v2, s9, v2\nv_cmp_le_u32_e32 vcc, s8, v2\n" +
              more + "s_or_b64 s[0:1], vcc, s[0:1]\n" + (k + 1 == count ? wait : "s_waitcnt vmcnt(0)\n") +
              "global_store_dword v4, v1, s[6:7]\ns_andn2_b64 exec, exec, s[0:1]\ns_cbranch_execnz loop" + n +
              "\ns_or_b64 exec, exec, s[0:1]\n";
    }
    return body + "end:\ns_endpgm\n";
  };
  for (const unsigned count : {1U, 2U}) {
    OrderOptions o;
    o.budget = 5'000'000;
    const auto r = check(loops(count, "s_waitcnt vmcnt(0)\n"), 4, 0, o);
    INFO(all(r));
    CHECK(r.verdict == Verdict::validated);
    CHECK(r.loops >= 4 * count);
    // In the last loop alone: no wait, one for nothing, and a register that is overwritten.
    for (const auto& wrong : {loops(count, ""), loops(count, "s_waitcnt vmcnt(1)\n"),
                              loops(count, "s_waitcnt vmcnt(0)\n", "v_mov_b32_e32 v1, 0\n")}) {
      const auto damaged = check(wrong, 1, 0, o);
      INFO(all(damaged));
      CHECK(damaged.verdict == Verdict::refuted);
    }
  }
}

TEST_CASE("what begins to happen after many trips is not missed") {
  // From trip 40 on each wave writes into its neighbour's half, which the neighbour reads in the same interval: the offset
  // is made at the end of a trip from a count, so that it is the same number in every trip that is executed.
  const auto late = [](const char* limit) {
    return check(
        start +
            "s_load_dword s16, s[0:1], 0x10\ns_mov_b32 s20, 0\ns_mov_b32 s21, 0\ns_lshl_b32 s9, s8, 8\n"
            "v_add_u32_e32 v4, s9, v1\ns_waitcnt lgkmcnt(0)\nloop:\nv_xor_b32_e32 v5, s21, v4\nds_write_b32 "
            "v5, v2\n"
            "ds_read_b32 v3, v4\ns_waitcnt lgkmcnt(0)\ns_add_i32 s20, s20, 1\ns_cmp_gt_u32 s20, " +
            std::string(limit) +
            "\ns_cselect_b32 s21, 0x100, 0\ns_cmp_lt_i32 s20, s16\ns_cbranch_scc1 loop\ns_endpgm\n",
        2);
  };
  const auto r = late("40");
  INFO(all(r));
  CHECK(r.verdict != Verdict::validated);
  CHECK(late("4").verdict == Verdict::refuted); // the same within the trips that are executed
}

TEST_CASE("registers, barriers and paths") {
  const auto verdict = [](const std::string& body) { return check(start + body + "s_endpgm\n", 2).verdict; };
  CHECK(verdict("global_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_f32 v3, v3, v3\n") ==
        Verdict::validated);
  CHECK(verdict("global_load_dword v3, v1, s[4:5]\nv_add_f32 v3, v3, v3\n") == Verdict::refuted);
  CHECK(verdict("global_load_dword v3, v1, s[4:5]\nv_mov_b32 v3, 0\ns_waitcnt vmcnt(0)\n") ==
        Verdict::refuted);
  CHECK(verdict("global_load_dword v3, v1, s[4:5]\nglobal_load_dword v5, v1, s[4:5]\ns_waitcnt "
                "vmcnt(1)\nv_add_f32 v3, v3, v3\n") == Verdict::validated);
  CHECK(verdict("global_load_dword v3, v1, s[4:5]\nglobal_load_dword v5, v1, s[4:5]\ns_waitcnt "
                "vmcnt(1)\nv_add_f32 v5, v3, v5\n") == Verdict::refuted);
  // Stores count on vmcnt.
  CHECK(verdict("global_load_dword v3, v1, s[4:5]\nglobal_store_dword v1, v2, s[6:7]\ns_waitcnt "
                "vmcnt(1)\nv_add_f32 v3, v3, v3\n") == Verdict::validated);
  // A scalar load is covered by 0 alone, whatever follows it.
  CHECK(verdict("s_load_dword s20, s[0:1], 0x0\ns_load_dword s21, s[0:1], 0x4\ns_waitcnt "
                "lgkmcnt(1)\ns_add_u32 s22, s20, 1\n") == Verdict::refuted);
  CHECK(verdict("s_load_dword s20, s[0:1], 0x0\nds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\ns_add_u32 s22, "
                "s20, 1\n") == Verdict::validated);
  // LDS in flight together with a scalar load: the scalar load may be the one that is still out.
  CHECK(verdict("ds_read_b32 v3, v1\ns_load_dword s20, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\nv_add_f32 v3, v3, "
                "v3\n") == Verdict::refuted);
  CHECK(verdict("ds_read_b32 v3, v1\nds_read_b32 v5, v1\ns_load_dword s20, s[0:1], 0x0\ns_waitcnt "
                "lgkmcnt(1)\nv_add_f32 v3, v3, v3\n") == Verdict::validated);
  // A counter that is full stalls the issue: of registers that says nothing, whatever follows, ...
  std::string many;
  for (int i = 0; i < 15; ++i) many += "ds_read_b32 v" + std::to_string(16 + i) + ", v1\n";
  const std::string use = "v_add_f32 v3, v3, v3\n";
  const auto filled = check(start + "ds_read_b32 v3, v1\n" + many + use + "s_endpgm\n", 2);
  CHECK(filled.verdict == Verdict::refuted);
  REQUIRE(!filled.findings.empty());
  CHECK_THAT(filled.findings[0].message, Catch::Contains("as many later ones fill the counter"));
  CHECK(verdict("ds_read_b32 v3, v1\n" + many + many + use) == Verdict::refuted);
  CHECK(verdict("ds_read_b32 v3, v1\n" + many + "s_waitcnt lgkmcnt(14)\n" + use) == Verdict::validated);
  CHECK(verdict("ds_read_b32 v3, v1\n" + many + "s_waitcnt lgkmcnt(15)\n" + use) == Verdict::refuted);
  // ... of LDS that it has executed: the read of another wave comes after the barrier.
  const std::string first = "v_lshl_add_u32 v5, s8, 8, v1\nds_write_b32 v5, v2\n", meet = "s_barrier\n",
                    read = "v_xor_b32 v6, 0x100, v5\nds_read_b32 v3, v6\ns_waitcnt lgkmcnt(0)\n";
  std::string writes;
  for (int i = 0; i < 15; ++i) writes += "ds_write_b32 v5, v2 offset:512\n";
  CHECK(verdict(first + writes + meet + read) == Verdict::validated);
  CHECK(verdict(first + writes.substr(0, writes.rfind("ds_write")) + meet + read) == Verdict::refuted);
  // Barriers: the same number in all waves, whatever the arguments say.
  CHECK(verdict("s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 skip\ns_barrier\nskip:\n") == Verdict::refuted);
  CHECK(verdict("s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 skip\ns_barrier\nskip:\n") == Verdict::validated);
  // What a path leaves in flight, the next instruction must not find: only with s4 = 0 is the wait jumped over.
  const auto r = check(start + "ds_read_b32 v3, v1\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 skip\ns_waitcnt "
                               "lgkmcnt(0)\nskip:\nv_add_f32 v3, v3, v3\ns_endpgm\n",
                       2);
  CHECK(r.verdict == Verdict::refuted);
  REQUIRE(r.findings.size() == 1);
  REQUIRE(r.findings[0].path.size() == 1);
  CHECK(r.findings[0].path[0].second);
  // One condition asked twice has one answer.
  CHECK(verdict("ds_read_b32 v3, v1\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 a\ns_waitcnt "
                "lgkmcnt(0)\na:\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc0 b\n"
                "v_add_f32 v3, v3, v3\nb:\n") == Verdict::validated);
  // ... and one value lies on one side of both bounds.
  CHECK(verdict("ds_read_b32 v3, v1\ns_cmp_gt_i32 s4, 10\ns_cbranch_scc0 a\ns_waitcnt "
                "lgkmcnt(0)\na:\ns_cmp_gt_i32 s4, 20\ns_cbranch_scc0 b\n"
                "v_add_f32 v3, v3, v3\nb:\n") == Verdict::validated);
  // A stretch that is jumped over when no lane is active: its loads may not have been issued, so they count for nothing.
  const std::string stretch = "global_load_dword v3, v1, s[4:5]\nv_cmp_gt_u32 vcc, s4, "
                              "v1\ns_and_saveexec_b64 s[20:21], vcc\ns_cbranch_execz over\n"
                              "global_load_dword v5, v1, s[4:5]\nover:\ns_or_b64 exec, exec, s[20:21]\n";
  CHECK(verdict(stretch + "s_waitcnt vmcnt(1)\nv_add_f32 v3, v3, v3\n") == Verdict::refuted);
  CHECK(verdict(stretch + "s_waitcnt vmcnt(0)\nv_add_f32 v3, v3, v3\n") == Verdict::validated);
}

TEST_CASE("a loop that is entered in its middle ends undecided: by states, by formulas, with one reason an "
          "instruction") {
  // Nobody stops at its head: each trip asks memory whether it is the last, and adds a part to a sum.
  const std::string before =
      start + "s_load_dword s20, s[4:5], 0x0\ns_load_dword s21, s[4:5], 0x4\ns_waitcnt lgkmcnt(0)\n"
              "s_mov_b32 s24, s21\ns_cmp_eq_u32 s20, 0\ns_cbranch_scc1 middle\n"
              "top:\ns_mul_i32 s24, s24, s20\n";
  const std::string after = "s_add_u32 s21, s21, s24\ns_cmp_eq_u32 s21, s20\ns_cbranch_scc0 top\ns_endpgm\n";
  const auto states = check(before + "middle:\n" + after, 1);
  INFO(all(states));
  CHECK(states.verdict == Verdict::undecided);
  REQUIRE(states.undecided.size() == 1);
  CHECK_THAT(states.undecided[0], Catch::Matchers::Contains("wait at forks"));
  OrderOptions little;
  little.max_bytes = 1 << 16;
  const auto formulas = check(before + "middle:\n" + after, 1, 4096, little);
  INFO(all(formulas));
  CHECK(formulas.verdict == Verdict::undecided);
  REQUIRE(formulas.undecided.size() == 1);
  CHECK_THAT(formulas.undecided[0], Catch::Matchers::Contains("the formulas take more"));
  const auto places = check(before + "middle:\nv_mov_b32_e32 v4, s21\nds_write_b32 v4, v2\n" + after, 1);
  INFO(all(places));
  CHECK(places.verdict == Verdict::undecided);
  CHECK(places.undecided.size() == 2);
  for (const auto& why : places.undecided) CHECK(why.size() < 8 * Terms::most_text);
}

TEST_CASE("a loop of 2^32 trips, by numbers, ends undecided; one of 300 inside of another is followed") {
  OrderOptions little;
  little.max_instructions = 200'000;
  const std::string trip = "top:\nds_write_b32 v1, v2\ns_sub_u32 s20, s20, 1\ns_cmp_eq_u32 s20, 0\n";
  const auto endless =
      check(start + "s_mov_b32 s20, -1\n" + trip + "s_cbranch_scc0 top\ns_endpgm\n", 1, 4096, little);
  INFO(all(endless));
  CHECK(endless.verdict == Verdict::undecided);
  REQUIRE(endless.undecided.size() == 1);
  CHECK_THAT(endless.undecided[0], Catch::Matchers::Contains("more than 200000 wave instructions"));
  // 300 trips by numbers in each of as many as an argument says; at last each wave reads what the other wrote.
  const auto body = [&](bool barrier) {
    return start +
           "v_lshl_add_u32 v5, s8, 8, v1\nv_xor_b32_e32 v6, 0x100, v5\nouter:\ns_movk_i32 s20, 300\ntop:\n"
           "ds_write_b32 v5, v2\ns_waitcnt lgkmcnt(0)\ns_sub_u32 s20, s20, 1\ns_cmp_eq_u32 s20, 0\n"
           "s_cbranch_scc0 top\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 outer\n" +
           (barrier ? "s_barrier\n" : "") + "ds_read_b32 v3, v6\ns_waitcnt lgkmcnt(0)\ns_endpgm\n";
  };
  const auto checked = check(body(true), 2), racing = check(body(false), 2);
  INFO(all(checked) << all(racing));
  CHECK(checked.verdict == Verdict::validated);
  CHECK(racing.verdict == Verdict::refuted);
}

TEST_CASE("a branch of a debugger's is not taken, and no barrier") {
  const auto run = [&](const std::string& between) {
    return check(start +
                     "v_mov_b32_e32 v5, v1\nv_lshl_add_u32 v5, s8, 8, v1\nds_write_b32 v5, v2\n"
                     "s_waitcnt lgkmcnt(0)\n" +
                     between +
                     "\nv_xor_b32_e32 v5, 0x100, v5\n"
                     "ds_read_b32 v3, v5\ns_waitcnt lgkmcnt(0)\ns_endpgm\n",
                 2);
  };
  CHECK(run("s_barrier").verdict == Verdict::validated);
  const auto r = run("s_cbranch_cdbgsys_and_user over\nover:");
  INFO(all(r));
  CHECK(r.verdict == Verdict::refuted);
}

TEST_CASE("Triton's kernels are validated", "[triton]") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* name :
         {"gemm_bf16_256x256x64", "gemm_f16_128x128x64", "gemm_f16_256x256x64", "gemm_fp8_256x256x128",
          "gemm_i8_128x128x128", "rmsnorm_bf16_8192", "softmax_f16_8192"}) {
      const std::string file = std::string(INLAY_TESTS_DIR) + "/isa/triton/" + name + "." + arch + ".s";
      const auto object =
          CodeObject::parse(isa::assemble_code_object(emulator_test::read_file(file), isa::parse_arch(arch)));
      const auto r = check_order(object, object.kernel(""), {});
      INFO(file << " " << all(r));
      CHECK(r.verdict == Verdict::validated);
    }
}

TEST_CASE("writes of hardware registers are followed where no instruction does anything else after them") {
  struct Nothing : FlowClient {
    void load(const FlowAccess&, std::vector<std::array<Term, 64>>&) override {}
    void store(const FlowAccess&, const std::vector<std::array<Term, 64>>&) override {}
    void matrix(FlowMatrix&) override {}
    std::optional<bool> decide(Term) override { return std::nullopt; }
  } nothing;
  const auto verdict = [](const std::string& line) {
    return check(start + line + "\ns_barrier\ns_endpgm\n", 1).verdict;
  };
  const auto flows = [&](const std::string& line) { // where values are asked for: nothing is rounded
    const auto object = CodeObject::parse(emulator_test::kernel(
        start + line + "\ns_endpgm\n", isa::Arch::gfx950, {.lds = 64, .vgprs = 96, .accum_offset = 64}));
    FlowOptions o;
    o.block = {64, 1, 1};
    Flow flow(object, object.kernel("k"), o);
    return flow.run(nothing) == Flow::Stop::ended;
  };
  // s4 is an argument's; s20 a number; the immediate has the bits that MODE has.
  for (const char* line :
       {"s_setreg_b32 hwreg(HW_REG_STATUS), s4", "s_setreg_b32 hwreg(HW_REG_GPR_ALLOC), s4",
        "s_setreg_b32 hwreg(HW_REG_LDS_ALLOC), s4", "s_setreg_b32 hwreg(HW_REG_HW_ID), s4",
        "s_setreg_b32 hwreg(HW_REG_IB_STS), s4", "s_setreg_b32 hwreg(HW_REG_MODE), s4",
        "s_setreg_imm32_b32 hwreg(HW_REG_STATUS), 0", "s_setreg_imm32_b32 hwreg(HW_REG_LDS_ALLOC), 0",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1", // GPR_IDX_EN
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1", // VSKIP
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 29, 3), 1", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 24, 2), 1",
        "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 10, 1), 1"}) { // SAVECTX
    INFO(line);
    CHECK(verdict(line) == Verdict::undecided);
    CHECK_FALSE(flows(line));
  }
  for (const char* line :
       {"s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 2), 0"}) {
    INFO(line);
    CHECK(verdict(line) == Verdict::validated);
    CHECK(flows(line));
  }
  for (const char* line : {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3",     // FP_ROUND
                           "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"}) { // FP16_OVFL
    INFO(line);
    CHECK(verdict(line) == Verdict::validated); // order does not ask for values
    CHECK_FALSE(flows(line));
  }
}

} // namespace order_test
