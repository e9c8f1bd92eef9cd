// What an observer of the emulator sees: program order, lane addresses as the instruction's definition gives them, and only
// the workgroups that it wants.
#include "../emulator_support.h"

#include <algorithm>
#include <map>
#include <random>

namespace observer_test {

using namespace emulator_test;

namespace {

struct Seen {
  std::uint64_t workgroup;
  std::uint32_t wave;
  std::string mnemonic;
  std::uint32_t index, next;
  ObservedAccess access;
  bool has_access;
};

struct Recorder : LaunchObserver {
  std::vector<Seen> all;
  std::size_t instructions = 0;
  std::uint64_t only = ~std::uint64_t{0};
  bool results = true, matrix = true, lds = true;
  bool needs_results() const override { return results; }
  bool needs_matrix_values() const override { return matrix; }
  bool needs_lds(std::uint64_t group) override { return lds || group == 1; }
  void begin(const isa::Program& program) override { instructions = program.instructions.size(); }
  bool wants(std::uint64_t g) override { return only == ~std::uint64_t{0} || g == only; }
  void executed(const ExecutedInstruction& e) override {
    all.push_back({e.workgroup, e.wave, std::string(e.instruction->mnemonic), e.index, e.next,
                   e.access != nullptr ? *e.access : ObservedAccess{}, e.access != nullptr});
  }
  const Seen& one(const std::string& mnemonic, std::uint64_t group = 0, std::uint32_t wave = 0) const {
    for (const Seen& s : all)
      if (s.mnemonic == mnemonic && s.workgroup == group && s.wave == wave) return s;
    FAIL(mnemonic);
    return all.front();
  }
};

const std::string body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 4, v0
  v_mov_b32 v2, 1
  v_mov_b32 v3, 2
  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32 vcc, 70, v0
  s_and_b64 exec, exec, vcc
  global_store_dword v1, v2, s[4:5] offset:8
  s_mov_b64 exec, -1
  ds_write2st64_b32 v1, v2, v3 offset0:1 offset1:3
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_movk_i32 s10, 0x40
  s_mov_b32 s11, 0x20000
  s_mov_b32 m0, 0x100
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_endpgm
)";

Recorder record(std::uint64_t only = ~std::uint64_t{0}) {
  Recorder r;
  r.only = only;
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &r});
  const DevicePointer out = device.allocate(4096);
  run(device, kernel(body, isa::Arch::gfx942, {.lds = 8192}), {.grid = {3}, .block = {128}},
      Arguments().pointer(out).bytes());
  for (Seen& s : r.all)
    if (s.access.space == ObservedAccess::Space::global)
      for (auto& a : s.access.address) a -= out;
  return r;
}

} // namespace

TEST_CASE("an observer sees each wave in program order") {
  const Recorder r = record();
  CHECK(r.instructions >= 18);
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> next;
  for (const Seen& s : r.all) {
    const auto key = std::pair(s.workgroup, s.wave);
    if (next.contains(key)) CHECK(s.index == next[key]);
    next[key] = s.next;
  }
  CHECK(next.size() == 6);
  CHECK(r.all.size() == 6 * 18);
}

TEST_CASE("an observer gets the lanes' addresses") {
  const Recorder r = record();
  const Seen& store = r.one("global_store_dword", 1, 1);
  CHECK(store.access.space == ObservedAccess::Space::global);
  CHECK(store.access.kind == ObservedAccess::Kind::store);
  CHECK(store.access.mask == 0x3f); // work-items 64..69
  CHECK(store.access.bytes == 4);
  for (unsigned l = 0; l < 6; ++l) CHECK(store.access.address[l] == 16 * (64 + l) + 8);

  const Seen& pair = r.one("ds_write2st64_b32");
  CHECK(pair.access.space == ObservedAccess::Space::lds);
  CHECK(pair.access.two);
  for (unsigned l = 0; l < 64; ++l) {
    CHECK(pair.access.address[l] == 16 * l + 256);
    CHECK(pair.access.second[l] == 16 * l + 768);
  }

  const Seen& dma = r.one("buffer_load_dword");
  CHECK(dma.access.kind == ObservedAccess::Kind::to_lds);
  CHECK(dma.access.lds_base == 0x100);
  CHECK(dma.access.mask == 0xf); // 64 bytes of records
  CHECK(r.one("s_load_dwordx2").access.space == ObservedAccess::Space::scalar);
  CHECK(r.one("s_load_dwordx2").access.bytes == 8);
  CHECK_FALSE(r.one("v_mov_b32").has_access);
}

TEST_CASE("an observer that does not look at LDS sees all else as it is, and no access there") {
  const Recorder all = record();
  for (const bool results : {true, false}) {
    Recorder r;
    r.lds = false, r.results = results;
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &r});
    const DevicePointer out = device.allocate(4096);
    run(device, kernel(body, isa::Arch::gfx942, {.lds = 8192}), {.grid = {3}, .block = {128}},
        Arguments().pointer(out).bytes());
    REQUIRE(r.all.size() == all.all.size());
    for (std::size_t i = 0; i < r.all.size(); ++i) {
      const Seen &seen = r.all[i], &known = all.all[i];
      const bool in_lds = known.has_access && known.access.space == ObservedAccess::Space::lds;
      CHECK((seen.index == known.index && seen.workgroup == known.workgroup && seen.next == known.next));
      CHECK(seen.has_access == (known.has_access && (!in_lds || seen.workgroup == 1)));
      if (!seen.has_access) continue;
      CHECK(seen.access.mask == known.access.mask);
      const std::uint64_t base = seen.access.space == ObservedAccess::Space::global ? out : 0;
      if (seen.access.space != ObservedAccess::Space::scalar)
        for (unsigned l = 0; l < 64; ++l)
          if ((seen.access.mask >> l & 1) != 0)
            REQUIRE(seen.access.address[l] - base == known.access.address[l]);
    }
  }
}

TEST_CASE("a load may write over its own addresses: the observer sees those that it had, and what is loaded "
          "arrives") {
  Recorder r;
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &r});
  const DevicePointer out = device.allocate(4096);
  const std::string text = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  global_load_dword v1, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_lshlrev_b32 v1, 3, v1
  global_store_dword v1, v0, s[4:5] offset:1024
  s_endpgm
)";
  run(device, kernel(text, isa::Arch::gfx942, {}), {.grid = {1}, .block = {64}},
      Arguments().pointer(out).bytes());
  const auto& load = r.one("global_load_dword");
  for (unsigned l = 0; l < 64; ++l) CHECK(load.access.address[l] == out + 4 * l);
  const auto last = std::find_if(r.all.rbegin(), r.all.rend(),
                                 [](const Seen& s) { return s.mnemonic == "global_store_dword"; });
  for (unsigned l = 0; l < 64; ++l) CHECK(last->access.address[l] == out + 1024 + 8 * l);
}

TEST_CASE("only the workgroups that the observer wants are executed") {
  const Recorder r = record(2);
  CHECK(r.all.size() == 2 * 18);
  for (const Seen& s : r.all) CHECK(s.workgroup == 2);
}

namespace {

/// A kernel at random: arithmetic on v1 to v8, loads, stores and LDS at addresses made of them, lane masks that narrow and widen again, branches and loops, some of which
/// depend on data.
class Draw {
public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::string text() {
    out_ = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n";
    for (unsigned r = 1; r <= 8; ++r)
      put("v_mul_lo_u32 v" + std::to_string(r) + ", v0, " + std::to_string(3 + below(60)));
    if (below(3) == 0) put("v_cmp_gt_u32 vcc, 50, v0\ns_and_b64 exec, exec, vcc");
    some(12 + below(16), 0);
    put("s_endpgm");
    return out_;
  }

private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string reg() { return "v" + std::to_string(1 + below(8)); }
  void put(const std::string& line) { out_ += line + "\n"; }
  void some(unsigned n, unsigned depth) {
    for (unsigned i = 0; i < n; ++i) one(depth);
  }
  void one(unsigned depth) {
    const std::string d = reg(), a = reg(), b = reg(), label = "l" + std::to_string(labels_++);
    const std::string saved =
        "s[" + std::to_string(20 + 2 * depth) + ":" + std::to_string(21 + 2 * depth) + "]";
    const std::string counter = "s" + std::to_string(40 + depth);
    switch (below(depth < 3 ? 22 : 17)) {
    case 0: put("v_mov_b32 " + d + ", " + std::to_string(below(64))); break;
    case 1: put("v_xor_b32 " + d + ", " + a + ", " + b); break;
    case 2: put("v_mul_lo_u32 " + d + ", " + a + ", " + b); break;
    case 3: put("v_exp_f32 " + d + ", " + a); break;
    case 4: put("v_cmp_gt_u32 vcc, " + a + ", " + b); break;
    case 5: put("v_cndmask_b32 " + d + ", " + a + ", " + b + ", vcc"); break;
    case 6: put("v_readfirstlane_b32 s10, " + a); break;
    case 7: put("v_add_u32 " + d + ", s10, " + a); break;
    case 8: put("v_swap_b32 " + d + ", " + a); break;
    case 9: put("v_add_u32_dpp " + d + ", " + a + ", " + b + " row_shr:1 row_mask:0xf bank_mask:0xf"); break;
    case 10: put("v_add_co_u32 " + d + ", vcc, " + a + ", " + b); break;
    case 11: put("v_and_b32 v9, 0xffc, " + a + "\nglobal_store_dword v9, " + b + ", s[4:5]"); break;
    case 12:
      put("v_and_b32 v9, 0xffc, " + a + "\nglobal_load_dword " + d + ", v9, s[4:5]\ns_waitcnt vmcnt(0)");
      break;
    case 13: put("v_and_b32 v9, 0xffc, " + a + "\nds_write_b32 v9, " + b); break;
    case 14: put("v_and_b32 v9, 0xffc, " + a + "\nds_read_b32 " + d + ", v9\ns_waitcnt lgkmcnt(0)"); break;
    case 15: put("ds_bpermute_b32 " + d + ", " + a + ", " + b + "\ns_waitcnt lgkmcnt(0)"); break;
    case 16:
      put("v_mfma_f32_4x4x1_16b_f32 a[0:3], " + a + ", " + b + ", a[0:3]\nv_accvgpr_read_b32 " + d + ", a1");
      break;
    case 17: // if
      put("v_cmp_gt_u32 vcc, " + a + ", " + b + "\ns_and_saveexec_b64 " + saved + ", vcc");
      some(1 + below(4), depth + 1);
      put("s_or_b64 exec, exec, " + saved);
      break;
    case 18: // if, else
      put("v_cmp_gt_u32 vcc, " + a + ", " + b + "\ns_and_saveexec_b64 " + saved + ", vcc\ns_xor_b64 " +
          saved + ", exec, " + saved);
      some(1 + below(3), depth + 1);
      put("s_andn2_saveexec_b64 " + saved + ", " + saved);
      some(1 + below(3), depth + 1);
      put("s_or_b64 exec, exec, " + saved);
      break;
    case 19:
      put("s_mov_b32 " + counter + ", " + std::to_string(2 + below(3)) + "\n" + label + ":");
      some(2 + below(5), depth + 1);
      put("s_sub_u32 " + counter + ", " + counter + ", 1\ns_cmp_lg_u32 " + counter + ", 0\ns_cbranch_scc1 " +
          label);
      break;
    case 20:
      put("v_readfirstlane_b32 s11, " + a + "\ns_bitcmp1_b32 s11, 0\ns_cbranch_scc0 " + label);
      some(1 + below(3), depth + 1);
      put(label + ":");
      break;
    default: // any mask
      put("s_mov_b64 " + saved + ", exec\nv_cmp_gt_u32 vcc, " + a + ", " + b + "\ns_mov_b64 exec, " +
          (below(4) == 0 ? "-1" : "vcc"));
      some(1 + below(3), depth + 1);
      put("s_mov_b64 exec, " + saved);
    }
  }

  std::mt19937 random_;
  std::string out_;
  unsigned labels_ = 0;
};

Recorder run_drawn(const std::string& text, bool results, bool matrix) {
  Recorder r;
  r.results = results, r.matrix = matrix;
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &r});
  std::vector<std::uint32_t> data(1024);
  for (std::uint32_t i = 0; i < 1024; ++i) data[i] = i * 2654435761U;
  const DevicePointer buffer = upload(device, data);
  run(device, kernel(text, isa::Arch::gfx942, {.lds = 4096, .vgprs = 64, .accum_offset = 32}),
      {.grid = {2}, .block = {96}}, Arguments().pointer(buffer).bytes());
  for (Seen& s : r.all)
    if (s.access.space != ObservedAccess::Space::lds)
      for (auto& a : s.access.address) a -= buffer;
  return r;
}

} // namespace

TEST_CASE("what decides no address and no branch need not be executed to see the same") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const std::string text = Draw(seed).text();
    for (const bool matrix : {true, false}) {
      const Recorder all = run_drawn(text, true, matrix), some = run_drawn(text, false, matrix);
      INFO("seed " << seed << ", matrix " << matrix << "\n" << text);
      REQUIRE(all.all.size() == some.all.size());
      for (std::size_t i = 0; i < all.all.size(); ++i) {
        const Seen &a = all.all[i], &b = some.all[i];
        INFO(i << ": " << a.mnemonic);
        REQUIRE((a.workgroup == b.workgroup && a.wave == b.wave && a.index == b.index && a.next == b.next));
        REQUIRE(a.has_access == b.has_access);
        if (!a.has_access || a.access.space == ObservedAccess::Space::scalar) continue;
        REQUIRE(a.access.mask == b.access.mask);
        for (unsigned l = 0; l < 64 && a.access.space != ObservedAccess::Space::crossbar; ++l)
          if ((a.access.mask >> l & 1U) != 0) REQUIRE(a.access.address[l] == b.access.address[l]);
      }
    }
  }
}

} // namespace observer_test
