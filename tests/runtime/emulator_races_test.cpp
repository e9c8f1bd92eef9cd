// The races check against its definition: random accesses of several waves to LDS, epochs between barriers. A race exists when a
// wave writes a word that another wave touches in the same epoch, atomics beside each other excepted; the check, which watches pages
// first, must find one exactly then.
#include "emulator_support.h"

#include <map>
#include <random>

using namespace emulator_test;

namespace {

struct Touches {
  std::map<unsigned, unsigned> readers, writers, combiners; ///< waves by word; combiners: by atomics
};

unsigned below(std::mt19937& random, unsigned n) { return static_cast<unsigned>(random() % n); }

/// A kernel of `waves` waves and its verdict by the definition.
std::string random_kernel(std::mt19937& random, unsigned waves, bool atomics, bool& racy) {
  std::string text = "v_readfirstlane_b32 s8, v0\ns_lshr_b32 s8, s8, 6\nv_and_b32 v1, 63, v0\nv_mov_b32 v4, "
                     "1\nv_mov_b32 v5, "
                     "2\nv_mov_b32 v6, 3\nv_mov_b32 v7, 4\n";
  // Everything is written once by one wave, so that reads find something.
  text += "v_lshlrev_b32 v2, 4, v0\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 filled\n";
  for (unsigned k = 0; k < 8; ++k)
    text += "ds_write_b128 v2, v[4:7] offset:" + std::to_string(1024 * k) + "\n";
  text += "filled:\ns_waitcnt lgkmcnt(0)\ns_barrier\n";
  racy = false;
  const unsigned epochs = 1 + below(random, 4);
  const bool separate =
      below(random, 3) != 0; // mostly each wave on pages of its own, with an occasional slip
  for (unsigned e = 0; e < epochs; ++e) {
    Touches touches;
    for (unsigned wave = 0; wave < waves; ++wave) {
      const std::string next = "e" + std::to_string(e) + "w" + std::to_string(wave);
      text += "s_cmp_lg_u32 s8, " + std::to_string(wave) + "\ns_cbranch_scc1 " + next + "\n";
      for (unsigned n = below(random, 4); n != 0; --n) {
        static constexpr unsigned sizes[] = {4, 8, 16};
        const unsigned bytes = sizes[below(random, 3)];
        const bool slip = below(random, 12) == 0;
        const unsigned room = separate && !slip ? 2048 : 8192;
        const unsigned base = separate && !slip ? 2048 * wave : 0;
        const unsigned step = bytes * (1 + below(random, room / 64 / bytes));
        const unsigned most = room - 63 * step - bytes;
        const unsigned start = base + below(random, most + 1) / bytes * bytes;
        const bool atomic = atomics && bytes < 16 && below(random, 2) == 0;
        const bool write = !atomic && below(random, 2) == 0;
        text += "v_mul_u32_u24 v2, " + std::to_string(step) + ", v1\nv_add_u32 v2, 0x" + [&] {
          char hex[16];
          std::snprintf(hex, sizeof hex, "%x", start);
          return std::string(hex);
        }() + ", v2\n";
        const std::string data = bytes == 4 ? "4" : bytes == 8 ? "[4:5]" : "[4:7]";
        const std::string result = bytes == 4 ? "12" : bytes == 8 ? "[12:13]" : "[12:15]";
        const std::string suffix = "b" + std::to_string(8 * bytes);
        text += atomic  ? "ds_add_u" + std::to_string(8 * bytes) + " v2, v" + data + "\n"
                : write ? "ds_write_" + suffix + " v2, v" + data + "\n"
                        : "ds_read_" + suffix + " v" + result + ", v2\ns_waitcnt lgkmcnt(0)\n";
        for (unsigned lane = 0; lane < 64; ++lane) {
          for (unsigned word = 0; word < bytes / 4; ++word)
            (atomic  ? touches.combiners
             : write ? touches.writers
                     : touches.readers)[(start + lane * step) / 4 + word] |= 1U << wave;
        }
      }
      text += next + ":\n";
    }
    text += "s_waitcnt lgkmcnt(0)\ns_barrier\n";
    const auto waves_of = [](const std::map<unsigned, unsigned>& by_word, unsigned word) {
      const auto found = by_word.find(word);
      return found == by_word.end() ? 0U : found->second;
    };
    for (unsigned word = 0; word < 8192 / 4; ++word) {
      const unsigned r = waves_of(touches.readers, word), w = waves_of(touches.writers, word),
                     c = waves_of(touches.combiners, word);
      for (unsigned wave = 0; wave < waves; ++wave) {
        const unsigned others = ~(1U << wave);
        racy = racy || (((w >> wave) & 1U) != 0 && ((r | w | c) & others) != 0);
        racy = racy || (((c >> wave) & 1U) != 0 && ((r | w) & others) != 0);
      }
    }
  }
  return text + "s_endpgm\n";
}

} // namespace

TEST_CASE("races are found exactly where two waves touch a word in one epoch") {
  std::mt19937 random(20261122);
  unsigned racy_kernels = 0;
  constexpr unsigned count = 600;
  for (unsigned n = 0; n < count; ++n) {
    const unsigned waves = 2 + below(random, 3);
    bool racy = false;
    const std::string text = random_kernel(random, waves, n % 3 != 0, racy);
    EmulatorDevice device(isa::Arch::gfx950, {.threads = 1, .checks = Checks::parse("bounds,races,waits")});
    const auto findings = run(device, kernel(text, isa::Arch::gfx950, {.lds = 8192}),
                              {.grid = {1}, .block = {64 * waves}}, Arguments().pointer(0).bytes())
                              .findings;
    INFO(text << all(findings));
    REQUIRE(findings.empty() == !racy);
    for (const Finding& f : findings) REQUIRE(f.kind == FindingKind::races);
    racy_kernels += racy ? 1 : 0;
  }
  CHECK(racy_kernels * 5 > count); // both verdicts occur
  CHECK(racy_kernels * 5 < 4 * count);
}

TEST_CASE(
    "two lanes of one instruction that store different values to one byte of global memory are a race") {
  // v1: the lane's number; v2: a byte offset; v4, v5: what is stored. s[4:5]: the buffer; v[6:7]: the lane's address.
  const std::string start = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_and_b32 v1, 63, v0\nv_mov_b32 v5, 7\n";
  const std::string address = "s_waitcnt lgkmcnt(0)\nv_mov_b32 v7, s5\nv_add_co_u32 v6, vcc, s4, v2\n"
                              "v_addc_co_u32 v7, vcc, 0, v7, vcc\n"
                              "s_mov_b32 s8, s4\ns_and_b32 s9, s5, 0xffff\ns_movk_i32 s10, 0x400\n"
                              "s_mov_b32 s11, 0x27000\n";
  const std::string pairs = "v_lshrrev_b32 v2, 1, v1\nv_lshlrev_b32 v2, 2, v2\n"; // two lanes a word
  struct Case {
    std::string name, offsets, value, store;
    bool race;
  };
  const std::string own = "v_mov_b32 v4, v1\n", same = "v_lshrrev_b32 v4, 1, v1\n";
  const std::vector<Case> cases = {
      {"by a scalar base", pairs, own, "global_store_dword v2, v4, s[4:5]", true},
      {"by addresses", pairs, own, "global_store_dword v[6:7], v4, off", true},
      {"flat", pairs, own, "flat_store_dword v[6:7], v4", true},
      {"through a descriptor", pairs, own, "buffer_store_dword v4, v2, s[8:11], 0 offen", true},
      {"bytes", "v_lshrrev_b32 v2, 1, v1\n", own, "global_store_byte v2, v4, s[4:5]", true},
      {"upper halves", pairs, "v_lshlrev_b32 v4, 16, v1\n", "global_store_short_d16_hi v2, v4, s[4:5]", true},
      {"upper halves that are equal", pairs, own, "global_store_short_d16_hi v2, v4, s[4:5]", false},
      {"all lanes one word", "v_mov_b32 v2, 0\n", own, "global_store_dword v2, v4, s[4:5]", true},
      {"downwards", "v_sub_u32 v2, 63, v1\nv_lshrrev_b32 v2, 1, v2\nv_lshlrev_b32 v2, 2, v2\n", own,
       "global_store_dword v2, v4, s[4:5]", true},
      {"elements that overlap by half", "v_lshlrev_b32 v2, 2, v1\n", own,
       "global_store_dwordx2 v2, v[4:5], s[4:5]", true},
      {"overlapping by what is equal", "v_lshlrev_b32 v2, 2, v1\n", "v_mov_b32 v4, 7\n",
       "global_store_dwordx2 v2, v[4:5], s[4:5]", false},
      {"the same value", pairs, same, "global_store_dword v2, v4, s[4:5]", false},
      {"the same value, by addresses", pairs, same, "global_store_dword v[6:7], v4, off", false},
      {"each lane its own word", "v_sub_u32 v2, 63, v1\nv_lshlrev_b32 v2, 2, v2\n", own,
       "global_store_dword v2, v4, s[4:5]", false},
      {"an atomic", pairs, own, "global_atomic_add v2, v4, s[4:5]", false},
  };
  for (const Case& c : cases) {
    for (const bool first_only : {false, true}) { // with one wave nothing else is remembered of global memory
      INFO(c.name << (first_only ? ", one wave" : ", two waves apart"));
      // Three times over, as the pattern of a loop is: the same place in the code, known the third time.
      const std::string apart =
          first_only ? "" : "v_lshrrev_b32 v3, 6, v0\nv_lshlrev_b32 v3, 9, v3\nv_add_u32 v2, v2, v3\n";
      const std::string text =
          start + c.offsets + apart + c.value + address + "s_mov_b32 s12, 3\nagain:\n" + c.store +
          "\ns_sub_u32 s12, s12, 1\ns_cmp_lg_u32 s12, 0\ns_cbranch_scc1 again\ns_endpgm\n";
      EmulatorDevice device(isa::Arch::gfx942, {.threads = 1, .checks = Checks::all()});
      const DevicePointer out = upload(device, std::vector<std::uint32_t>(256));
      const auto findings =
          run(device, kernel(text, isa::Arch::gfx942), {.grid = {1}, .block = {first_only ? 64U : 128U}},
              Arguments().pointer(out).bytes())
              .findings;
      std::vector<Finding> races;
      for (const Finding& f : findings)
        if (f.kind == FindingKind::races && !f.note) races.push_back(f);
      INFO(all(findings));
      CHECK(races.size() == (c.race ? 1 : 0));
      if (!races.empty()) {
        CHECK(races[0].count == (first_only ? 3 : 6));
        CHECK_THAT(races[0].message, Catch::Contains("write different values to byte"));
      }
    }
  }
}
