// Each criterion of a comparison that the model decides, by two kernels that differ in that alone; and the loops side by side.
#include "timing_support.h"

#include <inlay/runtime/timing/compare.h>

namespace compare_test {

using namespace timing_test;

namespace {

/// A launch of four workgroups on four units, modelled, with the report of its machine code.
struct Launch {
  isa::KernelReport code;
  Trace trace;
  TimingReport time;
  ChipPlan plan;
  ChipTime chip;
  Sharing sharing;
  [[nodiscard]] Modelled modelled() const { return {time, trace, plan, chip, sharing}; }
};

std::string matrix(unsigned n) {
  std::string out;
  for (unsigned i = 0; i < n; ++i) {
    const std::string d = "a[" + std::to_string(4 * (i % 16)) + ":" + std::to_string(4 * (i % 16) + 3) + "]";
    out += "v_mfma_f32_16x16x16_f16 " + d + ", v[40:41], v[42:43], " + d + "\n";
  }
  return out;
}

/// Eight trips of `body`; v1: 16 bytes a lane side by side in LDS, v2: 256 bytes apart, v[4:5]: address of 16 bytes a lane.
Launch launch(const std::string& body, std::uint32_t block = 64, unsigned trips = 8) {
  const std::string text = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    v_lshlrev_b32 v2, 8, v0
    v_lshlrev_b32 v3, 4, v0
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v5, s5
    v_add_co_u32 v4, vcc, s4, v3
    v_addc_co_u32 v5, vcc, 0, v5, vcc
    s_mov_b32 s3, )" + std::to_string(trips) +
                           "\nloop:\n" + body + R"(
    v_add_u32 v4, 0x4000, v4
    s_sub_u32 s3, s3, 1
    s_cmp_lg_u32 s3, 0
    s_cbranch_scc1 loop
    s_endpgm
)";
  constexpr auto arch = isa::Arch::gfx942;
  const auto image = kernel(text, arch, {.lds = 65536, .vgprs = 256, .accum_offset = 128});
  const CodeObject object = CodeObject::parse(image);
  Launch l{
      isa::report(object, object.kernel("")), record(text, {.block = block, .lds = 65536}), {}, {}, {}, {}};
  const Parameters p = bare();
  l.plan = plan(p, 4, 1);
  l.time = analyse(l.trace, l.trace.program.instructions.front().address, p, {}, false);
  const UnitQueue queue = heaviest(l.plan, {}).front();
  l.chip = extrapolate(l.plan, queue, queue.workgroups, l.time.unit);
  return l;
}

isa::Criterion criterion(const Launch& candidate, const Launch& anchor, unsigned number) {
  auto c = isa::compare(candidate.code, anchor.code);
  judge(c, candidate.modelled(), anchor.modelled(), 0.02);
  for (const auto& k : c.criteria)
    if (k.number == number) return k;
  FAIL("no criterion " << number);
  return {};
}

bool worse(const Launch& candidate, const Launch& anchor, unsigned number) {
  const auto k = criterion(candidate, anchor, number);
  INFO(number << " " << k.name << ": " << k.candidate << " | " << k.anchor << " " << k.why);
  CHECK(k.verdict != isa::Verdict::undecided);
  CHECK((k.verdict == isa::Verdict::fails) == !k.why.empty());
  return k.verdict == isa::Verdict::fails;
}

const std::string load = "global_load_dwordx4 v[20:23], v[4:5], off\n";
const std::string lds_read = "ds_read_b128 v[24:27], v1\n";

} // namespace

TEST_CASE("against itself a kernel is worse in nothing that the model decides") {
  const Launch l = launch(load + lds_read + matrix(64) + "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_barrier");
  for (const unsigned n : {6U, 8U, 12U, 14U, 15U}) CHECK_FALSE(worse(l, l, n));
}

TEST_CASE("criterion 6: a load that is waited for at once") {
  const Launch late = launch(load + matrix(128) + "s_waitcnt vmcnt(0)\n");
  const Launch early = launch(load + "s_waitcnt vmcnt(0)\n" + matrix(128));
  CHECK(worse(early, late, 6));
  CHECK_FALSE(worse(late, early, 6));
  // The same for LDS, where the latency is short: worth more than a hundredth of a short loop only.
  const Launch read_late = launch(lds_read + matrix(16) + "s_waitcnt lgkmcnt(0)\n");
  const Launch read_early = launch(lds_read + "s_waitcnt lgkmcnt(0)\n" + matrix(16));
  CHECK(worse(read_early, read_late, 6));
}

TEST_CASE("criterion 8: lanes that meet in a bank") {
  const std::string conflicting = "ds_read_b128 v[24:27], v2\n";
  const Launch free = launch(lds_read + matrix(16) + "s_waitcnt lgkmcnt(0)\n"),
               conflicts = launch(conflicting + matrix(16) + "s_waitcnt lgkmcnt(0)\n");
  CHECK(worse(conflicts, free, 8));
  CHECK_FALSE(worse(free, conflicts, 8));
  CHECK(figures(free.modelled()).conflicts == 0);
}

TEST_CASE("criterion 11: waves that reach LDS together") {
  std::string burst, spread;
  for (unsigned i = 0; i < 16; ++i) burst += lds_read, spread += lds_read + matrix(4);
  burst += matrix(64);
  const Launch together = launch(burst + "s_barrier\n", 256), apart = launch(spread + "s_barrier\n", 256);
  // Only where the anchor has copies of its loop is there something to be compared with.
  CHECK(criterion(together, apart, 11).verdict == isa::Verdict::does_not_apply);
  Launch copies = apart;
  copies.code.hot->copies = 2;
  CHECK(worse(together, copies, 11));
  CHECK_FALSE(worse(apart, copies, 11)); // one loop, but its waves do not stand in each other's way
  CHECK(figures(together.modelled()).queued > 10 * figures(apart.modelled()).queued);
}

TEST_CASE("criterion 12: more lines, or more LDS, for the same work") {
  const Launch once = launch(load + lds_read + matrix(64) + "s_waitcnt vmcnt(0) lgkmcnt(0)\n");
  const std::string more_memory = "global_load_dwordx4 v[28:31], v[4:5], off offset:2048\n";
  CHECK(worse(launch(load + more_memory + lds_read + matrix(64) + "s_waitcnt vmcnt(0) lgkmcnt(0)\n"), once,
              12));
  CHECK(worse(launch(load + lds_read + lds_read + matrix(64) + "s_waitcnt vmcnt(0) lgkmcnt(0)\n"), once, 12));
  CHECK_FALSE(worse(launch(load + matrix(64) + "s_waitcnt vmcnt(0)\n"), once, 12));
}

TEST_CASE("criterion 14: lines that fewer units of an XCD share") {
  Launch together = launch(load + matrix(64) + "s_waitcnt vmcnt(0)\n"), apart = together;
  together.sharing.l2 = 4;
  CHECK(worse(apart, together, 14));
  CHECK_FALSE(worse(together, apart, 14));
  CHECK_FALSE(worse(apart, together, 12)); // what leaves L1 is the same
}

TEST_CASE("criterion 15: more clocks for the launch") {
  const Launch shorter = launch(matrix(64)), longer = launch(matrix(64), 64, 9);
  CHECK(worse(longer, shorter, 15));
  CHECK_FALSE(worse(shorter, longer, 15));
  // Kernels without matrix instructions have that criterion alone.
  const Launch few = launch("v_add_u32 v9, v9, v9\n"),
               many = launch("v_add_u32 v9, v9, v9\nv_add_u32 v9, v9, v9\n");
  CHECK(worse(many, few, 15));
}

TEST_CASE("the loops side by side: stretches between waits, with the clocks of a trip") {
  const Launch a = launch(load + lds_read + matrix(16) + "s_waitcnt lgkmcnt(0)\n" + matrix(32) +
                          "s_waitcnt vmcnt(0)\ns_barrier\n" + matrix(8));
  const Launch b = launch(load + lds_read + matrix(16) + "s_waitcnt lgkmcnt(0)\n" + matrix(32) +
                          "s_waitcnt vmcnt(0)\n" + matrix(8));
  auto c = isa::compare(a.code, b.code);
  judge(c, a.modelled(), b.modelled(), 0.02);
  REQUIRE(c.schedule.size() == 3);
  CHECK(c.schedule[0].candidate->text == "G R M16");
  CHECK(c.schedule[1].anchor->text == "l0 M32");
  CHECK(c.schedule[2].candidate->text == "v0 B M8 v");
  CHECK(c.schedule[2].anchor->text == "v0 M8 v");
  double sum = 0;
  for (const auto& p : c.schedule) {
    REQUIRE(p.candidate);
    REQUIRE(p.candidate->clocks);
    CHECK(*p.candidate->clocks >= 0.9 * p.candidate->matrix_clocks);
    sum += *p.candidate->clocks;
  }
  CHECK(sum == Approx(a.time.hot()->clocks_per_trip).epsilon(0.02));
  // What has nothing in common stands alone.
  const Launch other =
      launch(matrix(4) + "s_barrier\nds_write_b128 v1, v[24:27]\n" + "s_barrier\n" + matrix(12));
  const auto apart = isa::compare(a.code, other.code);
  CHECK(
      std::any_of(apart.schedule.begin(), apart.schedule.end(), [](const auto& p) { return !p.candidate; }));
  CHECK(isa::schedule_text(apart).find("MFMA clocks") != std::string::npos);
}

} // namespace compare_test
