// What an observer of the emulator sees: program order, lane addresses as the instruction's definition gives them, and only
// the workgroups that it wants.
#include "../emulator_support.h"

#include <map>

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

TEST_CASE("only the workgroups that the observer wants are executed") {
  const Recorder r = record(2);
  CHECK(r.all.size() == 2 * 18);
  for (const Seen& s : r.all) CHECK(s.workgroup == 2);
}
