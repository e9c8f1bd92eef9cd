// The chip around the unit: rounds and sharing counted by hand, and the roofline that no extrapolation may pass.
#include "timing_support.h"

#include <inlay/runtime/timing/chip.h>

namespace chip_test {

using namespace timing_test;

TEST_CASE("workgroups fill the units in rounds") {
  const Parameters p = Parameters::of(isa::Arch::gfx942); // 304 units on 8 XCDs
  const ChipPlan one = plan(p, 304, 1);
  CHECK(one.rounds == 1);
  CHECK(one.last_round == 304);
  const ChipPlan more = plan(p, 1024, 1);
  CHECK(more.rounds == 4);
  CHECK(more.last_round == 1024 - 3 * 304);
  CHECK(more.of_first_unit(10) == std::vector<std::uint64_t>{0, 304, 608, 912});
  CHECK(more.first_round(3, 3) == std::vector<std::uint64_t>{3, 11, 19});
  CHECK(more.first_round(7, 1000).size() == 38);
  CHECK(plan(p, 10, 4).rounds == 1);
  CHECK(plan(p, 10, 4).active_units == 10);
  CHECK(plan(p, 1216, 4).rounds == 1);
  CHECK(plan(p, 1217, 4).rounds == 2);
}

TEST_CASE("a unit takes as many workgroups as registers and LDS have room for") {
  // 216 registers: two waves a SIMD. LDS is given out in 512 bytes on gfx942, and holds seven of 8704: not the same number on each SIMD.
  CHECK(resident_workgroups(216, 0, 64, isa::Arch::gfx942) == 8);
  CHECK(resident_workgroups(216, 8208, 64, isa::Arch::gfx942) == 7);
  CHECK(resident_workgroups(216, 8192, 64, isa::Arch::gfx942) == 8);
  CHECK(resident_workgroups(216, 20480, 64, isa::Arch::gfx942) == 3);
  CHECK(resident_workgroups(216, 8208, 64, isa::Arch::gfx950) == 8);
  CHECK(resident_workgroups(216, 8208, 256, isa::Arch::gfx942) == 2);
  CHECK(resident_workgroups(300, 65536, 1024, isa::Arch::gfx942) == 1);
}

namespace {

/// Each wave reads 64 dwords at `scale` * workgroup bytes, and 64 dwords that all read.
Sharing sharing(unsigned scale, std::vector<std::uint64_t> workgroups, unsigned units) {
  const std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mulk_i32 s2, " + std::to_string(scale) +
                           "\nv_lshlrev_b32 v1, 2, v0\nv_add_u32 v2, s2, v1\ns_waitcnt lgkmcnt(0)\n"
                           "global_load_dword v3, v2, s[4:5]\nglobal_load_dword v4, v1, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\ns_endpgm\n";
  SharingRecorder recorder(std::move(workgroups), 8, units);
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &recorder});
  const DevicePointer buffer = device.allocate(1 << 20);
  run(device, kernel(body, isa::Arch::gfx942), {.grid = {64}, .block = {64}},
      Arguments().pointer(buffer).bytes());
  return recorder.result();
}

} // namespace

TEST_CASE("a set of numbers says of each whether it is new") {
  std::set<std::uint64_t> plain;
  NumberSet set;
  std::uint64_t x = 1;
  for (int i = 0; i < 20000; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    // Near one another, as lines are, 4096 apart, far apart; 0 as well.
    const std::uint64_t n = i % 3 == 0 ? x >> 52 : i % 3 == 1 ? (x >> 54) << 12 : x >> 1;
    REQUIRE(set.insert(n) == plain.insert(n).second);
  }
  CHECK(set.size() == plain.size());
  // Moved away: all of it, each block once, after what is there; the set is as new, and takes them again.
  std::vector<NumberSet::Slot> moved = {{7, 1}};
  set.move_to(moved);
  CHECK(set.size() == 0);
  std::set<std::uint64_t> blocks, there;
  for (std::size_t i = 1; i < moved.size(); ++i) {
    REQUIRE(blocks.insert(moved[i].block).second);
    for (unsigned bit = 0; bit < 64; ++bit)
      if (moved[i].numbers >> bit & 1) there.insert(moved[i].block * 64 + bit);
  }
  CHECK(there == plain);
  CHECK(set.insert(7 * 64));
  set.insert(moved);
  plain.insert(7 * 64);
  CHECK(set.size() == plain.size());
}

TEST_CASE("sharing is counted by line, XCD and unit") {
  // 64 dwords are 2 lines of 128 bytes. Workgroups 1, 9 and 17 of XCD 1 and 2 of XCD 2, each on a unit of its own: every one asks for 2 lines
  // of its own and the 2 of all.
  const Sharing s = sharing(4096, {1, 2, 9, 17}, 1000);
  CHECK(s.workgroups == 4);
  CHECK(s.xcds == 2);
  CHECK(s.l2 == Approx(16.0 / (3 * 2 + 2 + 2 + 2))); // XCD 1: 6 of their own and 2; XCD 2: 2 and 2
  CHECK(s.mall == Approx(16.0 / (4 * 2 + 2)));
  // 1 and 9 on one unit: what they share, its own caches share.
  const Sharing same = sharing(4096, {1, 9}, 8);
  CHECK(same.l2 == Approx(1.0));
  // All at one place: each line serves everybody.
  CHECK(sharing(0, {1, 9, 17, 25}, 1000).l2 == Approx(4.0));
}

TEST_CASE("a launch is what its unit takes, and the rounds between that are not modelled") {
  const Parameters p = bare();
  const std::string body = times(100, "v_add_u32 v1, v1, v0") + "s_endpgm\n";
  const ChipPlan ten = plan(p, 304 * 10, 1);
  const UnitQueue q = heaviest(ten, {}).front();
  REQUIRE(q.workgroups.size() == 10);
  const std::vector<std::uint64_t> ids = sample_of(q, 1, 3);
  CHECK(ids == std::vector<std::uint64_t>{0, 304, 608});
  const Trace t = record(body, {.workgroups = {0, 1, 2}, .grid = 3});
  const UnitResult u = simulate(t, p, {});
  const ChipTime c = extrapolate(ten, q, ids, u);
  CHECK(c.first == Approx(404).margin(4));
  CHECK(c.steady == Approx(404).margin(4));
  CHECK(c.clocks == Approx(4040).margin(40));
  CHECK_FALSE(c.exact());
  CHECK(c.uncertainty > 0);
  const UnitQueue three = heaviest(plan(p, 304 * 3, 1), {}).front();
  const ChipTime all = extrapolate(plan(p, 304 * 3, 1), three, three.workgroups, u);
  CHECK(all.exact());
  CHECK(all.clocks == static_cast<double>(u.clocks));
}

TEST_CASE("samples end with a round as full as the last one") {
  UnitQueue q;
  for (std::uint64_t i = 0; i < 10; ++i) q.workgroups.push_back(i);
  CHECK(sample_of(q, 4, 20).size() == 10);
  CHECK(sample_of(q, 4, 4) == std::vector<std::uint64_t>{0, 1, 2, 3, 8, 9});
  CHECK(sample_of(q, 4, 1) == std::vector<std::uint64_t>{0, 1, 2, 3, 8, 9});
  CHECK(sample_of(q, 4, 9) == std::vector<std::uint64_t>{0, 1, 2, 3, 8, 9});
  CHECK(sample_of(q, 5, 9) == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(sample_of(q, 1, 0) == std::vector<std::uint64_t>{0});
}

TEST_CASE("samples of workgroups that differ come from all over their queue") {
  UnitQueue q;
  for (std::uint64_t i = 0; i < 12; ++i) q.workgroups.push_back(i);
  q.work = 24, q.longest = 13;
  CHECK(sample_of(q, 1, 3) == std::vector<std::uint64_t>{2, 6, 10});
  CHECK(sample_of(q, 2, 4) == std::vector<std::uint64_t>{2, 3, 6, 7, 10, 11});
}

TEST_CASE("a workgroup goes where a place is free first, and the units that may end last are all modelled") {
  const auto queues = [](const std::vector<UnitQueue>& all) {
    std::vector<std::vector<std::uint64_t>> out;
    for (const UnitQueue& q : all) out.push_back(q.workgroups);
    return out;
  };
  using Queues = std::vector<std::vector<std::uint64_t>>;
  const Parameters one = bare().with("xcds", 1);
  // The first keeps its unit to the end.
  const ChipPlan two = plan(one.with("compute_units", 2), 8, 1);
  CHECK(queues(dispatch(two, Work({{0, 100}, {1, 10}, {2, 10}, {7, 10}}, 8))) ==
        Queues{{0}, {1, 2, 3, 4, 5, 6, 7}});
  // Two places a unit, filled in turns; who shares a unit takes twice as long.
  const ChipPlan pairs = plan(one.with("compute_units", 2), 6, 2);
  CHECK(queues(dispatch(pairs, Work({{0, 100}, {1, 10}, {2, 10}, {3, 10}, {4, 10}, {5, 10}}, 6))) ==
        Queues{{0, 2, 4}, {1, 3, 5}});
  // Units that have room at the same time take turns: what one lets go of at once is not all for the next workgroups.
  const ChipPlan late = plan(one.with("compute_units", 2), 12, 2);
  CHECK(queues(dispatch(late, Work({{0, 10}, {8, 10}, {9, 30}, {11, 30}}, 12))) ==
        Queues{{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}});
  // Most work 20 + 45, longest workgroup 60; unit 0 is neither.
  const ChipPlan three = plan(one.with("compute_units", 3), 4, 1);
  CHECK(queues(heaviest(three, Work({{0, 55}, {1, 60}, {2, 20}, {3, 45}}, 4))) == Queues{{2, 3}, {1}, {0}});
  CHECK(queues(heaviest(three, Work({{0, 9}, {1, 9}, {2, 9}, {3, 9}}, 4))).size() == 1);
}

TEST_CASE("the error that is stated, by hand") {
  const auto ended = [](const std::vector<std::uint32_t>& clocks) {
    UnitResult u;
    for (std::uint32_t k = 0; k < clocks.size(); ++k) {
      u.waves.push_back({});
      u.waves.back().workgroup = k, u.waves.back().ended = clocks[k];
    }
    u.clocks = u.drained = clocks.back();
    return u;
  };
  // Ten equal rounds, three modelled that end at 100, 200 and 320: 110 each, of which one is off by 10, and a fiftieth between units.
  const ChipPlan ten = plan(bare(), 304 * 10, 1);
  const UnitQueue q = heaviest(ten, {}).front();
  const ChipTime even = extrapolate(ten, q, {0, 304, 608}, ended({100, 200, 320}));
  CHECK(even.clocks == Approx(320 + 7 * 110));
  CHECK(even.uncertainty == Approx(0.02 * 1090 + 7 * 10));
  // Six rounds of two that do 10 and 30, two modelled in 200 clocks each: 5 clocks for a piece of work, of which 160 are left. Units differ by 0.06, rounds by a
  // fiftieth of 200; while 30 goes on alone, 0.3 of the half that is missing.
  const ChipPlan six = plan(bare().with("compute_units", 1).with("xcds", 1), 12, 2);
  std::map<std::uint64_t, std::uint64_t> each;
  for (std::uint64_t i = 0; i < 12; ++i) each[i] = i % 2 == 0 ? 10 : 30;
  const Work known(each, 12);
  const ChipTime uneven =
      extrapolate(six, heaviest(six, known).front(), {0, 1, 6, 7}, ended({100, 200, 300, 400}), known);
  CHECK(uneven.clocks == Approx(400 + 160 * 5));
  CHECK(uneven.uncertainty == Approx(0.06 * 1200 + 4 * 160 / 20.0 / 2 + 0.3 * 0.5 * 160 * 5));
  // Of the twelve two were executed, which differ by half of their mean: the others are taken for the second.
  const Work two({{0, 10}, {1, 30}}, 12);
  CHECK(two.doubt() == Approx(0.5));
  const ChipTime guessed =
      extrapolate(six, heaviest(six, two).front(), {0, 1, 6, 7}, ended({100, 200, 300, 400}), two);
  CHECK(guessed.clocks == Approx(400 + 240 * 200 / 60.0));
  CHECK(guessed.uncertainty ==
        Approx(0.06 * 1200 + 4 * 240 / (340 / 12.0) / 2 + 0.3 * 0.5 * 240 * 200 / 60.0 + 0.3 * 0.5 * 1200));
}

TEST_CASE("work between executed workgroups is that of the nearer one") {
  const Work w({{0, 10}, {9, 100}}, 10);
  CHECK_FALSE(w.even());
  CHECK_FALSE(w.complete());
  CHECK(w.of(4) == 10);
  CHECK(w.of(5) == 100);
  CHECK(w.of(9) == 100);
  CHECK(w.of(50) == 100);
  CHECK(w.doubt() > 0.5);
  CHECK(Work({{0, 50}, {1, 51}}, 2).even());
  CHECK(Work({{0, 50}, {1, 52}}, 2).doubt() == 0); // all are known
  CHECK(Work().of(7) == 1);
}

namespace {

/// `trips` is assembly that makes s3, the trips of a loop, of s2, the workgroup; none for 0.
std::string loops(const std::string& trips) {
  return "s_nop 0\n" + trips + R"(
    s_cmp_eq_u32 s3, 0
    s_cbranch_scc1 out
    loop:
    v_add_u32 v1, v1, v0
    v_exp_f32 v2, v1
    s_sub_u32 s3, s3, 1
    s_cmp_lg_u32 s3, 0
    s_cbranch_scc1 loop
    out:
    s_endpgm
)";
}

/// The launch modelled in full: every unit with every workgroup, and each workgroup goes to the unit of its XCD where, by the clocks modelled so far, a place is
/// free first, of several to the next one in turn. Nothing of dispatch(), heaviest(), sample_of() or extrapolate() is in it.
double whole_launch(const std::string& body, const Parameters& p, unsigned grid, unsigned resident,
                    unsigned block) {
  const auto units = static_cast<unsigned>(p["compute_units"]), xcds = static_cast<unsigned>(p["xcds"]);
  std::vector<std::vector<std::uint64_t>> queue(units);
  const auto ends = [&](unsigned u) {
    std::map<std::uint32_t, std::uint32_t> of;
    if (queue[u].empty()) return std::vector<double>{};
    const UnitResult r = simulate(record(body, {.block = block, .workgroups = queue[u], .grid = grid}), p,
                                  {.resident = resident});
    for (const WaveTimeline& w : r.waves) of[w.workgroup] = std::max(of[w.workgroup], w.ended);
    std::vector<double> out;
    for (const auto& [id, clock] : of) out.push_back(clock);
    std::sort(out.begin(), out.end());
    return out;
  };
  std::vector<std::vector<double>> ended(units);
  std::vector<unsigned> turn(xcds, 0);
  for (std::uint64_t i = 0; i < grid; ++i) {
    const auto xcd = static_cast<unsigned>(i % xcds);
    unsigned best = xcd;
    const auto free_at = [&](unsigned u) {
      const std::size_t n = queue[u].size();
      return n < resident ? -1.0 / static_cast<double>(n + 1) : ended[u][n - resident];
    };
    // In turn: from the unit after the one that was given the last of this XCD's workgroups.
    const unsigned of_xcd = (units - xcd + xcds - 1) / xcds;
    for (unsigned k = 0; k < of_xcd; ++k) {
      const unsigned u = xcd + (turn[xcd] + k) % of_xcd * xcds;
      if (k == 0 || free_at(u) < free_at(best)) best = u;
    }
    turn[xcd] = (best - xcd) / xcds + 1;
    queue[best].push_back(i);
    ended[best] = ends(best);
  }
  double last = 0;
  for (const auto& e : ended) last = e.empty() ? last : std::max(last, e.back());
  return last;
}

/// By the work of workgroups and the unit with most of it, of which at most `most` are modelled.
ChipTime extrapolated(const std::string& body, const Parameters& p, unsigned grid, unsigned resident,
                      unsigned block, std::size_t most) {
  const ChipPlan c = plan(p, grid, resident, block / 64);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < grid; ++i) all.push_back(i);
  SharingRecorder recorder(all, c.xcds, c.units);
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &recorder});
  const DevicePointer buffer = device.allocate(1 << 20);
  run(device, kernel(body, isa::Arch::gfx942, {.lds = 16384, .vgprs = 256, .accum_offset = 128}),
      {.grid = {grid}, .block = {block}}, Arguments().pointer(buffer).bytes());
  const Work work(recorder.result().work, grid);
  ChipTime longest;
  for (const UnitQueue& q : heaviest(c, work)) {
    const auto ids = sample_of(q, resident, most);
    const ChipTime t = extrapolate(
        c, q, ids,
        simulate(record(body, {.block = block, .workgroups = ids, .grid = grid}), p, {.resident = resident}),
        work);
    if (t.clocks > longest.clocks) longest = t;
  }
  return longest;
}

} // namespace

TEST_CASE("extrapolated launches are those modelled in full") {
  const Parameters p = bare().with("compute_units", 4).with("xcds", 2);
  struct Case {
    const char* what;
    std::string trips;
    unsigned grid, resident, block;
  };
  const std::vector<Case> cases = {
      {"all alike, a full last round", "s_movk_i32 s3, 200", 16, 1, 64},
      {"all alike, a partial last round", "s_movk_i32 s3, 200", 17, 2, 256},
      {"all alike, four at a time and one more", "s_movk_i32 s3, 200", 20, 4, 256},
      {"fewer than units", "s_movk_i32 s3, 200", 3, 2, 64},
      {"one", "s_movk_i32 s3, 200", 1, 2, 64},
      {"causal: more with each, one round", "s_mul_i32 s3, s2, 50", 8, 2, 256},
      {"causal: more with each", "s_mul_i32 s3, s2, 20", 40, 2, 256},
      {"causal: less with each", "s_sub_u32 s3, 40, s2\ns_mul_i32 s3, s3, 20", 40, 2, 256},
      {"early exits at the end", "s_cmp_lt_u32 s2, 20\ns_cselect_b32 s3, 300, 0", 26, 2, 256},
      {"early exits at the beginning", "s_cmp_lt_u32 s2, 6\ns_cselect_b32 s3, 0, 300", 26, 2, 256},
      {"one long among short ones", "s_cmp_eq_u32 s2, 9\ns_cselect_b32 s3, 2000, 64", 24, 2, 64},
      {"sorted experts: every third",
       "s_mul_hi_u32 s4, s2, 0x55555556\ns_mul_i32 s4, s4, 3\ns_sub_u32 s4, s2, "
       "s4\ns_mul_i32 s3, s4, 200",
       30, 2, 256},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    const std::string body = loops(c.trips);
    const double full = whole_launch(body, p, c.grid, c.resident, c.block);
    const ChipTime all = extrapolated(body, p, c.grid, c.resident, c.block, 1000);
    CHECK(all.exact());
    CHECK(std::abs(all.clocks - full) <= 0.08 * full);
    CHECK(std::abs(all.clocks - full) <= all.uncertainty + 0.02 * full);
    // Of longer queues a part is modelled, and the error stated is the error made.
    for (const std::size_t most : {c.resident, 3 * c.resident}) {
      const ChipTime part = extrapolated(body, p, c.grid, c.resident, c.block, most);
      INFO("of which " << part.modelled << " of " << part.of_unit << " are modelled: " << part.clocks
                       << " for " << full);
      CHECK(std::abs(part.clocks - full) <= 0.15 * full);
      CHECK(std::abs(part.clocks - full) <= part.uncertainty + 0.1 * full);
    }
  }
}

TEST_CASE("the clock under load falls with each thing that takes power") {
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const Parameters p = Parameters::of(arch);
    CHECK(load_clock(p, {}).mhz == p["clock_mhz"]);
    for (const auto& [name, busy] : {std::pair{"load_clock_matrix", Activity{.matrix = 0.5}},
                                     {"load_clock_vector", Activity{.vector = 0.5}},
                                     {"load_clock_memory", Activity{.memory = 0.5}}}) {
      INFO(name);
      CHECK(p[name] > 0);
      CHECK(load_clock(p, busy).mhz == Approx(p["clock_mhz"] * (1 - 0.5 * p[name])));
    }
    CHECK(load_clock(p, {9, 9, 9}).mhz == load_clock(p, {1, 1, 1}).mhz);
    CHECK(load_clock(p, {1, 1, 1}).mhz >= 0.3 * p["clock_mhz"]);
  }
}

TEST_CASE("a matrix instruction's share of the products that its target can make") {
  // Products a clock by the manuals: a dense one of 16 bits makes 512 on gfx942 and 1024 on gfx950, of 8 bits 1024 and 2048, of 4 bits 4096; f32 128.
  const auto share = [](const std::string& text, isa::Arch arch) {
    const Trace t = record(text + "\ns_endpgm", {.arch = arch});
    return share_of_products(t.program.instructions.at(0), arch);
  };
  struct Row {
    const char* text;
    double gfx942, gfx950; ///< negative: the target does not have it
  };
  for (const Row& r : {
           Row{"v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", 1, 0.5},
           Row{"v_mfma_f32_32x32x8bf16_1k v[0:15], v[16:17], v[18:19], v[0:15]", 1, 0.5},
           Row{"v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]", -1, 1},
           Row{"v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[0:3]", 1, 0.5},
           Row{"v_mfma_f32_32x32x16_bf8_fp8 v[0:15], v[16:17], v[18:19], v[0:15]", 1, 0.5},
           Row{"v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]", -1, 1},
           Row{"v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3] cbsz:4 blgp:4", -1, 1},
           Row{"v_mfma_i32_16x16x32_i8 v[0:3], v[4:5], v[6:7], v[0:3]", 1, 0.5},
           Row{"v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], v[0:3]", -1, 1},
           Row{"v_mfma_f32_32x32x2_f32 v[0:15], v16, v17, v[0:15]", 1, 1},
           Row{"v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", 1, 0.5},
           Row{"v_add_f32 v0, v1, v2", 0, 0},
       })
    for (const auto& [arch, expected] :
         {std::pair{isa::Arch::gfx942, r.gfx942}, std::pair{isa::Arch::gfx950, r.gfx950}}) {
      if (expected < 0) continue;
      INFO(r.text << " on " << isa::to_string(arch));
      CHECK(share(r.text, arch) == Approx(expected));
    }
}

TEST_CASE("at a lower clock of the units what a load spends beyond L2 is fewer of their clocks") {
  for (const auto arch : {isa::Arch::gfx90a, isa::Arch::gfx942, isa::Arch::gfx950}) {
    const Parameters p = Parameters::of(arch);
    const double read_at = p["memory_latency_mhz"], l2 = p["l2_latency_clk"];
    const Parameters half = at_clock(p, read_at / 2, "test");
    CHECK(half["clock_mhz"] == read_at / 2);
    CHECK(half["l2_latency_clk"] == l2);
    for (const char* name : {"mall_latency_clk", "hbm_latency_clk"}) {
      INFO(name);
      CHECK(half[name] == Approx((p[name] + l2) / 2));
      CHECK(half.at(name).source == "test");
      CHECK(at_clock(p, read_at, "test")[name] == p[name]);
      CHECK(at_clock(p, 2 * read_at, "test")[name] == p[name]);
    }
  }
}

TEST_CASE("no launch moves more than memory can") {
  // Every work-item copies 64 bytes from a place of its own: 16 workgroups a unit on the whole chip.
  const std::string body = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    s_lshl_b32 s2, s2, 14
    v_add_u32 v1, s2, v1
    s_waitcnt lgkmcnt(0)
    global_load_dwordx4 v[4:7], v1, s[4:5]
    v_add_u32 v2, 0x1000, v1
    global_load_dwordx4 v[8:11], v2, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32 v1, 0x2000, v1
    v_add_u32 v2, 0x2000, v2
    global_store_dwordx4 v1, v[4:7], s[4:5]
    global_store_dwordx4 v2, v[8:11], s[4:5]
    s_endpgm
)";
  const Parameters p = Parameters::of(isa::Arch::gfx942);
  const ChipPlan c = plan(p, 304 * 16, 2);
  std::vector<std::uint64_t> mine = c.of_first_unit(8);
  const Trace t = record(
      body, {.block = 256, .workgroups = mine, .grid = 304 * 16, .bytes = std::size_t{304} * 16 << 14});
  const UnitResult u = simulate(t, p, {.resident = 2, .active_units = c.active_units});
  const UnitQueue q = heaviest(c, {}).front();
  REQUIRE(q.workgroups.size() == 16);
  const double seconds = extrapolate(c, q, mine, u).clocks / (p["clock_mhz"] * 1e6);
  const double rate = 304.0 * 16 * 16384 / seconds;
  CHECK(rate < p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] * 1.02);
  CHECK(rate > p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] * 0.7);
}

} // namespace chip_test
