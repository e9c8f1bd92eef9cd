// The chip around the unit: rounds and sharing counted by hand, and the roofline that no extrapolation may pass.
#include "timing_support.h"

#include <inlay/runtime/timing/chip.h>

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

TEST_CASE("a launch is its first round and the steady ones") {
  const Parameters p = bare();
  const std::string body = times(100, "v_add_u32 v1, v1, v0") + "s_endpgm\n";
  const Trace t = record(body, {.workgroups = {0, 1, 2}, .grid = 3});
  const UnitResult u = simulate(t, p, {});
  const ChipTime c = extrapolate(plan(p, 304 * 10, 1), u);
  CHECK(c.first == Approx(404).margin(4));
  CHECK(c.steady == Approx(404).margin(4));
  CHECK(c.clocks == Approx(4040).margin(40));
  CHECK(c.uncertainty > 0);
}

TEST_CASE("rounds of workgroups that differ take what their mean takes, and end with the longest") {
  const Parameters p = bare();
  const std::string body = times(100, "v_add_u32 v1, v1, v0") + "s_endpgm\n";
  const Trace t = record(body, {.workgroups = {0, 1, 2}, .grid = 3});
  const UnitResult u = simulate(t, p, {});
  const ChipPlan ten = plan(p, 304 * 10, 1);
  Sharing others;
  others.mean_work = 100, others.most_work = 100; // all alike
  CHECK(extrapolate(ten, u, 100, others).clocks == Approx(extrapolate(ten, u).clocks));
  CHECK(extrapolate(ten, u, 100, others).uneven == Approx(1));
  // Half as much on average, and the longest twice: 10 rounds of 202 clocks, and 606 more at the end.
  others.mean_work = 50, others.most_work = 200;
  const ChipTime c = extrapolate(ten, u, 100, others);
  CHECK(c.clocks == Approx(2020 + 606).margin(40));
  CHECK(c.uncertainty > extrapolate(ten, u).uncertainty / 2);
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
  const double seconds = extrapolate(c, u).clocks / (p["clock_mhz"] * 1e6);
  const double rate = 304.0 * 16 * 16384 / seconds;
  CHECK(rate < p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] * 1.02);
  CHECK(rate > p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] * 0.7);
}
