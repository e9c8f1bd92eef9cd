// The compute unit against clocks counted by hand from the published rules, one rule a case; and the laws that any model of a
// machine obeys.
#include "timing_support.h"

#include <random>

namespace compute_unit_test {

using namespace timing_test;

namespace {

std::uint64_t one(const std::string& body, isa::Arch arch = isa::Arch::gfx942, std::uint32_t block = 64) {
  return clocks(record(body + "\ns_endpgm\n", {.arch = arch, .block = block}), bare(arch));
}

constexpr auto gfx942 = isa::Arch::gfx942;
constexpr auto gfx950 = isa::Arch::gfx950;

} // namespace

TEST_CASE("a single wave without memory equals the hand count") {
  // s_endpgm takes the last 4 clocks in every line.
  CHECK(one("") == 4);
  CHECK(one(times(10, "v_add_u32 v1, v1, v0")) == 40 + 4);
  CHECK(one(times(10, "s_add_u32 s3, s3, s2")) == 40 + 4);
  CHECK(one("s_nop 7") == 32 + 4);
  CHECK(one("s_nop 0\ns_nop 2") == 4 + 12 + 4);
  CHECK(one("s_sleep 2") == 128 + 4);
  CHECK(one("s_waitcnt vmcnt(0) lgkmcnt(0)") == 4 + 4); // satisfied: one slot
  CHECK(one("v_exp_f32 v1, v0\nv_exp_f32 v2, v0", gfx942) == 32 + 4);
  CHECK(one("v_exp_f32 v1, v0\nv_exp_f32 v2, v0", gfx950) == 16 + 4);
  CHECK(one("s_mov_b32 s3, 5\nloop:\ns_sub_u32 s3, s3, 1\ns_cmp_lg_u32 s3, 0\ns_cbranch_scc1 loop") ==
        4 + 5 * 12 + 4);
}

TEST_CASE("matrix instructions: rate, forwarding, other readers") {
  const std::string m = "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7]";
  const std::string apart = "v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[2:3], v[8:11]";
  CHECK(one(times(8, m)) == 7 * 16 + 4 + 4); // dependent through SrcC: as fast as independent
  CHECK(one(times(4, m + "\n" + apart)) == 7 * 16 + 4 + 4);
  // D to a vector instruction: 4 passes + 3 wait states on gfx942, + 4 on gfx950, and the slot of the instruction itself.
  CHECK(one(m + "\nv_add_f32 v20, v4, v4", gfx942) == 8 * 4 + 4 + 4);
  CHECK(one(m + "\nv_add_f32 v20, v4, v4", gfx950) == 9 * 4 + 4 + 4);
  CHECK(one(m + "\nv_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[2:3], v[8:11]", gfx942) == 8 * 4 + 4 + 4);
  CHECK(one("v_mfma_f32_32x32x8_f16 v[4:19], v[0:1], v[2:3], v[4:19]\nv_add_f32 v20, v4, v4", gfx942) ==
        (8 + 3 + 1) * 4 + 4 + 4);
  CHECK(one("v_mfma_f32_16x16x4_f32 v[4:7], v0, v2, v[4:7]\nv_add_f32 v20, v4, v4", gfx942) ==
        (8 + 2 + 1) * 4 + 4 + 4);
}

TEST_CASE("vector instructions in the shadow of the matrix pipe") {
  const std::string m = "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7]\n",
                    v = "v_add_u32 v20, v21, v22";
  CHECK(one(m + times(3, v) + m, gfx942) == 16 + 4 + 4); // three fit
  CHECK(one(m + times(4, v) + m, gfx942) == 20 + 4 + 4); // the fourth does not
  CHECK(one(m + times(2, v) + m, gfx950) == 16 + 4 + 4); // none in the first 8 clocks
  CHECK(one(m + times(3, v) + m, gfx950) == 20 + 4 + 4);
  // A 32-clock instruction of gfx950 leaves 24 clocks: 6 ordinary or 3 transcendental instructions.
  const std::string big = "v_mfma_f32_32x32x16_f16 v[4:19], v[0:3], v[24:27], v[4:19]\n";
  CHECK(one(big + times(6, v) + big, gfx950) == 32 + 4 + 4);
  CHECK(one(big + times(7, v) + big, gfx950) == 36 + 4 + 4);
  CHECK(one(big + times(3, "v_exp_f32 v20, v21") + big, gfx950) == 32 + 4 + 4);
  // f32 matrix instructions share the vector unit: nothing runs beside them.
  const std::string f32 = "v_mfma_f32_16x16x4_f32 v[4:7], v0, v2, v[4:7]\n";
  CHECK(one(f32 + v + "\n" + f32, gfx942) == 32 + 4 + 4 + 4);
  // Published for gfx950: the first packed f32 instruction after a 32-clock one comes at 32 + 12.
  CHECK(one(big + "v_pk_mul_f32 v[20:21], v[22:23], v[28:29]", gfx950) == 44 + 4 + 4);
}

TEST_CASE("the data clocks of a ds_write are not hidden behind the matrix pipe") {
  const std::string m = "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7]\n";
  // Alone: the write issues at 4 and its wave goes on at 24. AMD's account of MI300X: one 16-clock instruction cannot hide it; the pipe
  // gives its 16 data clocks away and is free at 32.
  CHECK(one(m + "ds_write_b128 v1, v[8:11]\n" + m, gfx942) == 32 + 4 + 4);
  CHECK(one(m + "ds_write_b64 v1, v[8:9]\n" + m, gfx942) == 24 + 4 + 4);
  CHECK(one("ds_write_b128 v1, v[8:11]\n" + m, gfx942) == 20 + 4 + 4);
}

TEST_CASE("waves of one SIMD share its units, of different SIMDs do not") {
  const std::string v = times(10, "v_add_u32 v1, v1, v0");
  CHECK(one(v, gfx942, 256) == 3 + 40 + 4); // one wave a SIMD; SIMD 3 has its slots 3 clocks later
  CHECK(one(v, gfx942, 512) >= 2 * 40);     // two: the vector unit is one
  CHECK(one(v, gfx942, 512) <= 2 * 40 + 3 + 8);
  // A wave with vector and one with scalar work go beside each other.
  const std::string split = "v_readfirstlane_b32 s3, v0\ns_cmp_ge_u32 s3, 256\ns_cbranch_scc1 other\n" +
                            times(20, "v_add_u32 v1, v1, v0") + "s_endpgm\nother:\n" +
                            times(20, "s_add_u32 s4, s4, 1");
  CHECK(one(split, gfx942, 512) <= 3 + 12 + 4 + 80 + 4 + 12 + 8);
}

TEST_CASE("LDS and vector memory share the port that issues them") {
  // Waves 0 and 4, of one SIMD: eight reads of LDS by one; the other does nothing, vector work, or eight loads.
  const auto at = [](const std::string& other) {
    const Trace t = record(
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nv_readfirstlane_b32 s3, v0\n"
        "s_waitcnt lgkmcnt(0)\ns_and_b32 s6, s3, 0xff\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 done\n"
        "s_cmp_ge_u32 s3, 256\ns_cbranch_scc1 other\ns_nop 0\n" +
            times(8, "ds_read_b32 v2, v1") + "s_endpgm\nother:\n" + times(8, other) + "done:\ns_endpgm\n",
        {.block = 512});
    const UnitResult r = simulate(t, bare(), {});
    return static_cast<double>(std::max(r.waves[0].ended, r.waves[4].ended));
  };
  const double beside = at("v_add_u32 v2, v1, v1");
  CHECK(at("global_load_dword v3, v1, s[4:5]") >= beside + 6 * 4);
}

TEST_CASE("the oldest wave goes first, and s_setprio goes before age") {
  // Waves 0 and 4 share a SIMD.
  const auto first_done = [](const std::string& priority) {
    const Trace t = record("v_readfirstlane_b32 s3, v0\ns_cmp_lt_u32 s3, 256\ns_cbranch_scc1 go\n" +
                               priority + "\ngo:\n" + times(40, "v_add_u32 v1, v1, v0") + "s_endpgm\n",
                           {.block = 512});
    const UnitResult r = simulate(t, bare(), {});
    REQUIRE(r.waves[0].simd == r.waves[4].simd);
    return r.waves[0].ended < r.waves[4].ended ? 0 : 4;
  };
  CHECK(first_done("s_nop 0") == 0);
  CHECK(first_done("s_setprio 3") == 4);
}

TEST_CASE("reads of LDS: the published rates") {
  // Clocks a ds_read_b128, single wave and four, by pad of the rows: AMD, gfx950-gluon-tutorials, lds_throughput_validation.
  const auto per_read = [](const std::string& address, std::uint32_t block) {
    const auto at = [&](unsigned n) {
      const Trace t = record("v_and_b32 v0, 63, v0\n" + address + times(n, "ds_read_b128 v[8:11], v1") +
                                 "s_waitcnt lgkmcnt(0)\ns_endpgm\n",
                             {.arch = gfx950, .block = block, .lds = 131072});
      return static_cast<double>(clocks(t, bare(gfx950)));
    };
    return (at(96) - at(32)) / 64;
  };
  const std::string free = "v_lshlrev_b32 v1, 4, v0\n"; // side by side
  CHECK(per_read(free, 64) == Approx(8).margin(0.2));
  CHECK(per_read(free, 256) == Approx(16).margin(0.2));
  // Two lanes of a phase 256 bytes apart: lanes 0..7 of one phase at 0, 256, ...: all on the same banks.
  const std::string eight = "v_and_b32 v1, 7, v0\nv_lshlrev_b32 v1, 8, v1\nv_lshrrev_b32 v2, 3, v0\n"
                            "v_lshlrev_b32 v2, 4, v2\nv_add_u32 v1, v1, v2\n";
  CHECK(per_read(eight, 64) > 8);
  CHECK(per_read(eight, 256) > per_read(eight, 64) * 3);
  const std::string odd = free + "v_add_u32 v1, 4, v1\n"; // multiples of 4, not of 16
  CHECK(per_read(odd, 64) == Approx(64).margin(0.2));
  CHECK(per_read(odd, 256) == Approx(256).margin(0.2));
}

TEST_CASE("loads to LDS take their turn at its memory when their data arrives") {
  // Four waves read without pause, 16 clocks a round; eight loads of 1 KiB arrive meanwhile and write 256 bytes a clock,
  // all 64 banks; 128 on request.
  const auto at = [](unsigned loads, double bytes = 256) {
    const std::string setup =
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v2, 4, v0\nv_and_b32 v1, 63, v0\n"
        "v_lshlrev_b32 v1, 4, v1\ns_waitcnt lgkmcnt(0)\ns_mov_b32 m0, 0x4000\ns_mov_b32 s6, -1\n"
        "s_mov_b32 s7, 0x20000\n";
    return static_cast<double>(
        clocks(record(setup + times(loads, "buffer_load_dwordx4 v2, s[4:7], 0 offen lds") +
                          times(2 - loads, "s_nop 0") + times(120, "ds_read_b128 v[8:11], v1") +
                          "s_waitcnt lgkmcnt(0)\ns_endpgm\n",
                      {.arch = gfx950, .block = 256, .lds = 65536}),
               bare(gfx950).with("lds_dma_bytes", bytes)));
  };
  CHECK(at(2) - at(0) >= 8 * 4);
  CHECK(at(2) - at(0) <= 8 * 4 + 24);
  CHECK(at(2, 128) - at(0) >= 8 * 8);
  CHECK(at(2, 128) - at(0) <= 8 * 8 + 24);
}

TEST_CASE("a ds_write_b128 occupies its wave for 20 clocks, and two of a SIMD pair take turns") {
  const auto at = [](unsigned n, std::uint32_t block) {
    return clocks(record("v_lshlrev_b32 v1, 4, v0\n" + times(n, "ds_write_b128 v1, v[8:11]") + "s_endpgm\n",
                         {.arch = gfx942, .block = block}),
                  bare());
  };
  CHECK(at(12, 64) - at(4, 64) == 8 * 20);
  CHECK(at(12, 128) - at(4, 128) == 8 * 40);
}

TEST_CASE("a barrier waits for the last wave") {
  // Waves of odd number do 20 more instructions before it.
  const std::string body = "v_readfirstlane_b32 s3, v0\ns_bitcmp1_b32 s3, 6\ns_cbranch_scc0 meet\n" +
                           times(20, "s_add_u32 s4, s4, 1") + "meet:\ns_barrier\ns_endpgm\n";
  const Trace t = record(body, {.block = 128});
  const UnitResult r = simulate(t, bare(), {});
  std::uint64_t waited = 0;
  for (const timing::Segment& s : r.waves[0].segments)
    if (s.cause == Cause::barrier) waited += s.end - s.begin;
  CHECK(waited >= 80);
  CHECK(waited <= 80 + 16);
}

TEST_CASE("a load that misses everything takes the latency of HBM, a repeated one that of L1") {
  const auto at = [](const std::string& more) {
    return clocks(record("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + more + "s_endpgm\n"),
                  bare());
  };
  const std::string load = "global_load_dword v2, v0, s[4:5]\ns_waitcnt vmcnt(0)\n";
  const Parameters p = Parameters::of(gfx942);
  const double first = static_cast<double>(at(load) - at("")),
               second = static_cast<double>(at(load + load) - at(load));
  CHECK(first > p["hbm_latency_clk"]);
  CHECK(first < p["hbm_latency_clk"] + 40);
  CHECK(second > p["l1_latency_clk"]);
  CHECK(second < p["l1_latency_clk"] + 40);
}

TEST_CASE("the address unit takes 2 clocks a line: 64 B/clk of L1 at lines of 128") {
  const auto each = [](unsigned shift) {
    const auto at = [&](unsigned n) {
      return static_cast<double>(clocks(record("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, " +
                                               std::to_string(shift) + ", v0\ns_waitcnt lgkmcnt(0)\n" +
                                               times(n, "global_load_dword v2, v1, s[4:5]") + "s_endpgm\n"),
                                        bare()));
    };
    return (at(60) - at(30)) / 30;
  };
  CHECK(each(7) == Approx(64 * 2).epsilon(0.02)); // each lane a line of its own
  CHECK(each(6) == Approx(32 * 2).epsilon(0.02)); // two lanes a line
  CHECK(each(2) == Approx(4).epsilon(0.3));       // side by side: 2 lines
}

TEST_CASE("no more bytes are in flight than L1 has room for") {
  // 60 loads of 1 KiB that all miss: with room for 32 KiB the second half waits for the first.
  std::string loads;
  for (unsigned i = 0; i < 60; ++i)
    loads += "global_load_dwordx4 v[4:7], v1, s[4:5]\nv_add_u32 v1, 0x400, v1\n";
  const Trace t =
      record("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 4, v0\ns_waitcnt lgkmcnt(0)\n" + loads +
             "s_waitcnt vmcnt(0)\ns_endpgm\n");
  const Parameters p = bare().with("hbm_latency_clk", 4000);
  CHECK(clocks(t, p) > 2 * 4000);
  CHECK(clocks(t, p.with("vmem_inflight_bytes", 65536)) < 7000);
}

TEST_CASE(
    "units that are apart leave bandwidth to one another, and no unit has more than its share on average") {
  // Bursts of 16 KiB with 3000 clocks between them: at a share of 10.4 B/clk a burst takes 1573 clocks, so a third of the share would do.
  std::string burst = "s_sleep 47\n";
  for (unsigned i = 0; i < 16; ++i)
    burst += "global_load_dwordx4 v[4:7], v1, s[4:5]\nv_add_u32 v1, 0x400, v1\n";
  const auto of = [&](unsigned bursts, const std::string& between) {
    return record("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 4, v0\ns_waitcnt lgkmcnt(0)\n" +
                      times(bursts, burst.substr(between.empty() ? 11 : 0) + "s_waitcnt vmcnt(0)") +
                      "s_endpgm\n",
                  {.arch = gfx950});
  };
  const Parameters p = bare(gfx950).with("latency_spread", 0).with("unit_stagger_clk", 0);
  const UnitOptions chip{.active_units = 256};
  const Trace t = of(40, "sleep");
  const auto apart = clocks(t, p, chip), together = clocks(t, p.with("unit_drift", 0), chip);
  CHECK(together > 40 * (3000 + 1000 + 550)); // what the latency does not cover of a burst is waited for
  CHECK(apart < 40 * (3000 + 1000 + 400));    // after a few bursts others rest while this one loads
  const double share = p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] / (p["clock_mhz"] * 1e6) / 256;
  CHECK(static_cast<double>(clocks(of(40, ""), p.with("hbm_latency_clk", 200), chip)) > 40 * 16384 / share);
}

TEST_CASE("of the lines that an instruction asks for all come first or none") {
  // Every lane a line of its own: were it decided by the line, each load would wait for one that nobody has asked for yet.
  const unsigned n = 30;
  const Trace t =
      record("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 7, v0\ns_waitcnt lgkmcnt(0)\n" +
                 times(n, "global_load_dword v2, v1, s[4:5]\nv_add_u32 v1, 0x2000, v1\ns_waitcnt vmcnt(0)") +
                 "s_endpgm\n",
             {.arch = gfx950});
  const Parameters p = bare(gfx950).with("unit_drift", 0).with("unit_stagger_clk", 2000);
  const auto alone = clocks(t, p), shared = clocks(t, p, {.mall_sharers = 32});
  CHECK(alone > n * 1000);
  CHECK(shared < n * 800);
  CHECK(static_cast<double>(shared) > n * p["l2_latency_clk"]);
}

TEST_CASE("s_waitcnt waits for as many as it says, in order") {
  const auto at = [](const std::string& wait) {
    return static_cast<double>(
        clocks(record("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_add_u32 v1, 0x1000, v0\n"
                      "global_load_dword v2, v0, s[4:5]\ns_sleep 4\n"
                      "global_load_dword v3, v1, s[4:5]\n" +
                      wait + "\ns_endpgm\n"),
               bare()));
  };
  // The second load comes 256 clocks and one slot after the first, and both miss everything.
  const double none = at("s_nop 0"), first = at("s_waitcnt vmcnt(1)"), both = at("s_waitcnt vmcnt(0)");
  CHECK(both - first == Approx(260).margin(12));
  CHECK(first - none == Approx(Parameters::of(gfx942)["hbm_latency_clk"] - 260).margin(40));
  CHECK(at("s_waitcnt vmcnt(2)") == none);
}

TEST_CASE("each clock of each wave has one cause, and an average SIMD's causes sum to the clocks") {
  const Trace t =
      record("v_lshlrev_b32 v1, 4, v0\n" + times(20, "ds_read_b128 v[8:11], v1\nv_exp_f32 v3, v2") +
                 "s_waitcnt lgkmcnt(0)\ns_barrier\n" +
                 times(5, "v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]") + "s_endpgm\n",
             {.block = 512});
  const UnitResult r = simulate(t, Parameters::of(gfx942), {});
  for (const WaveTimeline& w : r.waves) {
    std::uint32_t at = w.segments.front().begin;
    for (const timing::Segment& s : w.segments) {
      CHECK(s.begin == at);
      CHECK(s.end > s.begin);
      at = s.end;
    }
    CHECK(at == w.ended);
  }
  double sum = 0;
  for (const double c : r.spent()) sum += c;
  CHECK(sum == Approx(static_cast<double>(r.clocks)));
}

namespace {

/// Random straight-line kernels of all units; loads, LDS traffic, waits and barriers among them.
std::string random_body(std::mt19937& random) {
  std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 4, v0\ns_waitcnt lgkmcnt(0)\n";
  const auto n = static_cast<unsigned>(random() % 60);
  for (unsigned i = 0; i < n; ++i) {
    switch (random() % 11) {
    case 0: body += "v_exp_f32 v3, v2\n"; break;
    case 1: body += "v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]\n"; break;
    case 2: body += "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[10:11], v[16:31]\n"; break;
    case 3: body += "ds_read_b128 v[32:35], v1\n"; break;
    case 4: body += "ds_write_b64 v1, v[8:9]\n"; break;
    case 5:
      body += "global_load_dwordx4 v[36:39], v1, s[4:5] offset:" + std::to_string(random() % 64 * 16) + "\n";
      break;
    case 6: body += "s_waitcnt vmcnt(" + std::to_string(random() % 4) + ")\n"; break;
    case 7: body += "s_waitcnt lgkmcnt(" + std::to_string(random() % 4) + ")\n"; break;
    case 8: body += "s_barrier\n"; break;
    case 9: body += "v_add_u32 v12, v4, v16\n"; break; // what the matrix pipe has written
    default: body += times(1 + random() % 4, "v_add_u32 v12, v13, v14"); break;
    }
  }
  return body + "s_endpgm\n";
}

} // namespace

TEST_CASE("more latency is never faster, a limit less never slower, beyond the noise of arbitration") {
  std::mt19937 random(11);
  std::map<std::string, double> with_latency;
  std::array<double, limits> without_limit{};
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t block = 64U << (random() % 4);
    const std::string body = random_body(random);
    const Trace t = record(body, {.block = block, .workgroups = {0, 1}, .grid = 2}); // one after the other
    const Parameters p = Parameters::of(gfx942);
    const auto base = static_cast<double>(clocks(t, p));
    INFO(block << " work-items, " << base << " clocks\n" << body);
    // Who comes first at a shared unit may change, and with it who waits (Graham's anomalies); on average it may not help.
    const double noise = 0.08 * base + 64;
    for (const char* name :
         {"lds_latency_clk", "hbm_latency_clk", "l1_latency_clk", "barrier_clk", "scalar_miss_clk"}) {
      const auto slower = static_cast<double>(clocks(t, p.with(name, p[name] + 100)));
      CHECK(slower >= base - noise);
      with_latency[name] += slower - base;
    }
    for (std::size_t l = 1; l < limits; ++l) {
      INFO(to_string(static_cast<Limit>(l)));
      const auto faster = static_cast<double>(clocks(t, p, {.without = static_cast<Limit>(l)}));
      CHECK(faster <= base + noise);
      without_limit[l] += faster - base;
    }
  }
  for (const auto& [name, sum] : with_latency) CHECK(sum > 0);
  // Taken away, each limit helps some of the kernels: one that does nothing would be no limit.
  for (std::size_t l = 1; l < limits; ++l) {
    INFO(to_string(static_cast<Limit>(l)));
    CHECK(without_limit[l] < 0);
  }
}

TEST_CASE("the same trace takes the same clocks") {
  std::mt19937 random(5);
  const std::string body = random_body(random);
  const UnitResult a = simulate(record(body, {.block = 256}), Parameters::of(gfx950), {});
  const UnitResult b = simulate(record(body, {.block = 256}), Parameters::of(gfx950), {});
  CHECK(a.clocks == b.clocks);
  for (std::size_t w = 0; w < a.waves.size(); ++w) CHECK(a.waves[w].ended == b.waves[w].ended);
}

TEST_CASE("time adds up over workgroups that follow each other on a unit") {
  const std::string body = times(30, "v_add_u32 v1, v1, v0") +
                           times(10, "v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]") +
                           "s_endpgm\n";
  const std::uint64_t one_group = clocks(record(body, {.workgroups = {0}, .grid = 4}), bare());
  const std::uint64_t four = clocks(record(body, {.workgroups = {0, 1, 2, 3}, .grid = 4}), bare());
  CHECK(four >= 4 * one_group);
  CHECK(four <= 4 * one_group + 4 * 4); // to the next slot
  // Side by side on four SIMDs they take the time of one.
  const std::uint64_t beside =
      clocks(record(body, {.workgroups = {0, 1, 2, 3}, .grid = 4}), bare(), {.resident = 4});
  CHECK(beside <= one_group + 4);
}

} // namespace compute_unit_test
