// Hostile conditions: a sound kernel gives the same bits under every schedule; without any one of its waits or barriers it is
// caught, by a sanitizer or by differing bits.
#include "emulator_support.h"

#include <random>

namespace emulator_stress_test {

using namespace emulator_test;

namespace {

struct Outcome {
  std::vector<std::uint8_t> bytes;
  std::vector<Finding> findings;
  bool failed = false;
};

/// One 128 x 128 x 192 product of the Triton kernel in `text`.
Outcome run_gemm(const std::string& text, isa::Arch arch, EmulatorOptions options) {
  constexpr std::uint32_t m = 128, n = 128, k = 192;
  options.max_wave_instructions = 2'000'000;
  EmulatorDevice device(arch, std::move(options));
  std::mt19937 random(11);
  const auto draw = [&](std::size_t count) {
    std::vector<std::uint16_t> v(count);
    for (auto& x : v) x = static_cast<std::uint16_t>(0x3000 + (random() % 0x0c00) + (random() % 2) * 0x8000);
    return v;
  };
  const DevicePointer a = upload(device, draw(m * k));
  const DevicePointer b = upload(device, draw(n * k));
  const DevicePointer c = device.allocate(m * n * 2);
  const auto arguments = Arguments()
                             .pointer(a)
                             .pointer(b)
                             .pointer(c)
                             .i32(m)
                             .i32(n)
                             .i32(k)
                             .i32(k)
                             .i32(k)
                             .i32(n)
                             .pointer(0)
                             .pointer(0)
                             .bytes();
  Outcome out;
  try {
    run(device, isa::assemble_code_object(text, arch), {.grid = {1}, .block = {256}, .dynamic_lds = 65536},
        arguments);
  } catch (const ExecutionError&) {
    out.failed = true;
  }
  out.findings = device.last_launch().findings;
  out.bytes = download<std::uint8_t>(device, c, m * n * 2);
  return out;
}

std::string source(isa::Arch arch) {
  return read_file(std::string(INLAY_TESTS_DIR) + "/isa/triton/gemm_f16_128x128x64." +
                   std::string(isa::to_string(arch)) + ".s");
}

} // namespace

TEST_CASE("a sound kernel gives the same bits under stress") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const Outcome plain = run_gemm(source(arch), arch, {});
    REQUIRE(!plain.failed);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const Outcome hostile = run_gemm(source(arch), arch, {.stress = true, .seed = seed});
      CHECK(!hostile.failed);
      CHECK(hostile.bytes == plain.bytes);
    }
  }
}

TEST_CASE("results do not depend on the number of threads") {
  const Outcome one = run_gemm(source(isa::Arch::gfx942), isa::Arch::gfx942, {.threads = 1});
  const Outcome four = run_gemm(source(isa::Arch::gfx942), isa::Arch::gfx942, {.threads = 4});
  CHECK(one.bytes == four.bytes);
}

TEST_CASE("every wait and barrier of a GEMM is missed when it is gone") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const std::string text = source(arch);
    const Outcome plain = run_gemm(text, arch, {});
    std::size_t deleted = 0, by_sanitizer = 0, by_stress = 0, caught = 0;
    std::istringstream in(text);
    std::size_t begin = 0;
    for (std::string line; std::getline(in, line); begin += line.size() + 1) {
      if (line.find("s_waitcnt") == std::string::npos && line.find("s_barrier") == std::string::npos)
        continue;
      std::string mutant = text;
      mutant.replace(begin, line.size(), std::string(line.size(), ' '));
      ++deleted;
      const Outcome checked = run_gemm(mutant, arch, {.checks = Checks::all()});
      const bool sanitizer = checked.failed || !checked.findings.empty();
      bool stress = false;
      for (std::uint64_t seed = 1; seed <= 3 && !stress; ++seed) {
        const Outcome hostile = run_gemm(mutant, arch, {.stress = true, .seed = seed});
        stress = hostile.failed || hostile.bytes != plain.bytes;
      }
      by_sanitizer += sanitizer ? 1 : 0;
      by_stress += stress ? 1 : 0;
      caught += sanitizer || stress ? 1 : 0;
      if (!sanitizer && !stress)
        UNSCOPED_INFO(isa::to_string(arch) << " survives without '" << line << "' at byte " << begin);
    }
    // Two are redundant: the wait of the preload stub in front of the entry, which this loader skips, and an lgkmcnt(0) in front
    // of a barrier whose LDS reads have all been waited for by the matrix instructions above it.
    UNSCOPED_INFO(deleted << " deleted, " << by_sanitizer << " caught by sanitizers, " << by_stress
                          << " by stress");
    CHECK(deleted >= 25);
    CHECK(caught + 2 == deleted);
    CHECK(by_stress * 2 > deleted);
  }
}

// LLVM's memory model has waves of a workgroup not wait for vmcnt at a barrier outside of tgsplit mode.
TEST_CASE("stress: a barrier orders what waves have under way to global memory, and brings no register") {
  const std::string
      start = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 0x100, v1\n"
              "v_add_u32 v4, 1000, v0\ns_waitcnt lgkmcnt(0)\n",
      load = "global_load_dword v3, v2, s[4:5]\n", store = "global_store_dword v1, v4, s[4:5]\n",
      result = "global_store_dword v1, v3, s[4:5] offset:1024\ns_endpgm\n";
  struct Order {
    std::string text;
    std::uint32_t added; ///< to the number of the other work-item
    bool right;
  };
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx90a})
    for (const Order& c : std::vector<Order>{
             {store + "s_barrier\n" + load + "s_waitcnt vmcnt(0)\n" + result, 1000, true},
             {load + "s_barrier\n" + store + "s_waitcnt vmcnt(1)\n" + result, 0, true},
             {load + "s_barrier\n" + store + result, 0, false},
         }) {
      unsigned different = 0;
      for (std::uint64_t seed = 0; seed <= 20; ++seed) { // 0: a plain run
        EmulatorDevice device(arch, {.checks = Checks::all(), .stress = seed != 0, .seed = seed});
        std::vector<std::uint32_t> words(512);
        for (std::uint32_t i = 0; i < 256; ++i) words[i] = i;
        const DevicePointer at = upload(device, words);
        const auto findings = run(device, kernel(start + c.text, arch), {.grid = {1}, .block = {256}},
                                  Arguments().pointer(at).bytes())
                                  .findings;
        INFO(c.text << "seed " << seed << "\n" << all(findings));
        if (seed == 0) CHECK(findings.empty() == c.right);
        words = download<std::uint32_t>(device, at, 512);
        bool same = true;
        for (std::uint32_t i = 0; i < 256; ++i) same = same && words[256 + i] == (i ^ 64U) + c.added;
        if (c.right) CHECK(same);
        different += same ? 0 : 1;
      }
      CHECK((different == 0) == c.right);
    }
}

TEST_CASE("stress: workgroups come in another order where no atomics of floating point sum in it") {
  // Each workgroup stores its number, and the last one's stays; or adds a tenth of it, rounded each time.
  const std::string
      start = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_cmp_eq_u32 vcc, 0, v0\ns_and_b64 exec, exec, vcc\n"
              "v_mov_b32 v1, 0\nv_mov_b32 v2, s2\nv_cvt_f32_u32 v3, v2\nv_mul_f32 v3, 0x3dcccccd, "
              "v3\ns_waitcnt lgkmcnt(0)\n",
      last = "global_store_dword v1, v2, s[4:5]\n", sums = "global_atomic_add_f32 v1, v3, s[4:5] offset:4\n",
      end = "s_waitcnt vmcnt(0)\ns_endpgm\n";
  const auto result = [&](const std::string& text, bool stress, std::uint64_t seed, unsigned threads) {
    EmulatorDevice device(isa::Arch::gfx942,
                          {.threads = threads, .checks = Checks::none(), .stress = stress, .seed = seed});
    const DevicePointer out = upload(device, std::vector<std::uint32_t>(2));
    run(device, kernel(start + text + end, isa::Arch::gfx942), {.grid = {5000}, .block = {64}},
        Arguments().pointer(out).bytes());
    return download<std::uint32_t>(device, out, 2);
  };
  const auto plain = result(last, false, 1, 1);
  CHECK(plain[0] == 4999);
  CHECK(result(last, true, 1, 1)[0] != result(last, true, 2, 1)[0]);
  CHECK(result(last, true, 1, 1) == result(last, true, 1, 1));
  const auto sum = result(sums + last, false, 1, 1);
  for (const std::uint64_t seed : {1U, 2U, 3U}) CHECK(result(sums + last, true, seed, 2) == sum);
}

} // namespace emulator_stress_test
