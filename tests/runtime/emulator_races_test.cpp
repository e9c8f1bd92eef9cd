// The races check against its definition: random accesses of several waves to LDS, epochs between barriers. A race exists when a
// wave writes a word that another wave touches in the same epoch, atomics beside each other excepted; the check, which watches pages
// first, must find one exactly then. The same of global memory, with workgroups that nothing orders.
#include "emulator_support.h"

#include <array>
#include <map>
#include <optional>
#include <random>

namespace emulator_races_test {

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

/// One instruction of one wave on global memory.
struct Touch {
  unsigned group, wave, epoch;
  bool reads, writes, atomic;
  std::vector<unsigned> bytes; ///< sorted
};

bool races(const Touch& a, const Touch& b) {
  if (a.group == b.group && (a.wave == b.wave || a.epoch != b.epoch)) return false;
  if ((!a.writes && !b.writes) || (a.atomic && b.atomic)) return false;
  std::vector<unsigned> both;
  std::set_intersection(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end(),
                        std::back_inserter(both));
  return !both.empty();
}

// s12: the workgroup's number. s8: the wave's. v4 to v7: what it stores, another value for each wave.
const std::string global_start =
    "s_mov_b32 s12, s2\ns_load_dwordx2 s[4:5], s[0:1], 0x0\nv_readfirstlane_b32 s8, v0\n"
    "s_lshr_b32 s8, s8, 6\nv_and_b32 v1, 63, v0\ns_lshl_b32 s9, s12, 3\ns_add_u32 s9, s9, s8\n"
    "s_add_u32 s9, s9, 1\ns_mul_i32 s9, s9, 0x1010101\ns_waitcnt lgkmcnt(0)\n"
    "v_mov_b32 v4, s9\nv_mov_b32 v5, s9\nv_mov_b32 v6, s9\nv_mov_b32 v7, s9\n";
// Somebody stores to the buffer first: loads are remembered word by word from then on, and line by line before.
const std::string stored_before =
    "s_or_b32 s10, s8, s12\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 stored\nv_mov_b32 v2, 0x2000\n"
    "global_store_dword v2, v4, s[4:5]\nstored:\ns_barrier\n";

/// What one wave does.
std::string only(unsigned group, unsigned wave, const std::string& next, const std::string& what) {
  return "s_cmp_lg_u32 s8, " + std::to_string(wave) + "\ns_cbranch_scc1 " + next + "\ns_cmp_lg_u32 s12, " +
         std::to_string(group) + "\ns_cbranch_scc1 " + next + "\n" + what + next + ":\n";
}

/// `shared`: the buffer is memory of the host, that many bytes after the begin of a line of 64.
std::vector<Finding> races_of(const std::string& text, unsigned groups, unsigned waves,
                              isa::Arch arch = isa::Arch::gfx942, std::optional<unsigned> shared = {}) {
  EmulatorDevice device(arch, {.threads = 1, .checks = Checks::parse("bounds,races")});
  alignas(64) std::array<std::uint32_t, 2049 + 16> of_host{};
  const DevicePointer out = shared ? reinterpret_cast<DevicePointer>(of_host.data()) + *shared
                                   : upload(device, std::vector<std::uint32_t>(2049));
  if (shared) device.share(out, 4 * 2049);
  return run(device, kernel(text, arch, {.lds = 1024}), {.grid = {groups}, .block = {64 * waves}},
             Arguments().pointer(out).bytes())
      .findings;
}

/// Loads and stores of `waves` waves in each of `groups` workgroups. `words`: nothing smaller, and no atomics: then who touched each
/// word last says it all.
std::string random_global_kernel(std::mt19937& random, unsigned groups, unsigned waves, bool words,
                                 std::vector<Touch>& touches) {
  const auto number = [](unsigned n) {
    char hex[16];
    std::snprintf(hex, sizeof hex, "0x%x", n);
    return std::string(hex);
  };
  std::string text = global_start + (below(random, 2) == 0 ? stored_before : "");
  const unsigned epochs = 1 + below(random, 3), all = below(random, 3) == 0 ? 1280 : 8192,
                 stores = below(random, 3) == 0 ? 1 : 3; // in eight
  const bool separate =
      below(random, 3) != 0; // mostly each wave at a place of its own, with an occasional slip
  for (unsigned e = 0; e < epochs; ++e) {
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned wave = 0; wave < waves; ++wave) {
        const std::string next =
            "e" + std::to_string(e) + "g" + std::to_string(group) + "w" + std::to_string(wave);
        std::string what;
        for (unsigned n = below(random, 4); n != 0; --n) {
          static constexpr unsigned sizes[] = {4, 8, 16, 1, 2};
          const unsigned bytes = sizes[below(random, words ? 3 : 5)];
          const bool slip = below(random, 12) == 0;
          const unsigned number_of_waves = groups * waves,
                         room = separate && !slip ? all / number_of_waves / 64 * 64 : all;
          const unsigned base = separate && !slip ? room * (group * waves + wave) : 0;
          const unsigned kind = below(random, 8); // 0: a scalar load, 1: an atomic, then stores, else a load
          if (kind == 0) {
            const unsigned start = base + below(random, room - 64) / 4 * 4;
            what += "s_waitcnt vmcnt(0)\ns_dcache_inv\ns_load_dwordx4 s[16:19], s[4:5], " + number(start) +
                    "\ns_waitcnt lgkmcnt(0)\n";
            touches.push_back({group, wave, e, true, false, false, {}});
            for (unsigned b = 0; b < 16; ++b) touches.back().bytes.push_back(start + b);
            continue;
          }
          const bool atomic = kind == 1 && !words && (bytes == 4 || bytes == 8);
          const bool write = !atomic && kind > 1 && kind < 2 + stores;
          const unsigned step = bytes * (1 + below(random, std::max(1U, room / 64 / bytes)));
          if (63 * step + bytes > room) continue;
          const unsigned start = base + below(random, room - 63 * step - bytes + 1) / bytes * bytes;
          what += "v_mul_u32_u24 v2, " + number(step) + ", v1\nv_add_u32 v2, " + number(start) + ", v2\n";
          const std::string many = bytes < 8    ? ""
                                   : bytes == 8 ? "x2"
                                                : "x4",
                            data = bytes < 8    ? "v4"
                                   : bytes == 8 ? "v[4:5]"
                                                : "v[4:7]",
                            result = bytes < 8    ? "v12"
                                     : bytes == 8 ? "v[12:13]"
                                                  : "v[12:15]",
                            of = bytes == 1   ? "byte"
                                 : bytes == 2 ? "short"
                                              : "dword" + many;
          what += atomic ? "global_atomic_add" + (bytes == 8 ? std::string("_x2") : "") + " v2, " + data +
                               ", s[4:5]\n"
                  : write ? "global_store_" + of + " v2, " + data + ", s[4:5]\n"
                          : std::string("global_load_") + (bytes < 4 ? "u" : "") + of + " " + result +
                                ", v2, s[4:5]\ns_waitcnt vmcnt(0)\n";
          touches.push_back({group, wave, e, !write, write || atomic, atomic, {}});
          for (unsigned lane = 0; lane < 64; ++lane)
            for (unsigned b = 0; b < bytes; ++b) touches.back().bytes.push_back(start + lane * step + b);
        }
        text += only(group, wave, next, what);
      }
    text += "s_waitcnt vmcnt(0)\ns_barrier\n";
  }
  return text + "s_endpgm\n";
}

} // namespace

TEST_CASE("races in global memory are found exactly where nothing orders two accesses") {
  std::mt19937 random(20261123);
  unsigned racy_kernels = 0, found_of_words = 0;
  constexpr unsigned count = 1000;
  for (unsigned n = 0; n < count; ++n) {
    const bool words = n % 2 == 0;
    const unsigned waves = 1 + below(random, 3), groups = 1 + below(random, 3);
    std::vector<Touch> touches;
    const std::string text = random_global_kernel(random, groups, waves, words, touches);
    bool racy = false;
    for (std::size_t a = 0; a < touches.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) racy = racy || races(touches[a], touches[b]);
    std::optional<unsigned> shared;
    if (n % 3 == 0) shared = 4 * (n % 16);
    const auto findings = races_of(text, groups, waves, isa::Arch::gfx942, shared);
    INFO(text << all(findings));
    for (const Finding& f : findings) {
      REQUIRE(f.kind == FindingKind::races);
      REQUIRE(!f.note);
    }
    if (words)
      REQUIRE(findings.empty() == !racy);
    else if (!racy) // bytes and atomics: not all are found, but nothing else is
      REQUIRE(findings.empty());
    racy_kernels += racy ? 1 : 0;
    found_of_words += words && racy ? 1 : 0;
  }
  CHECK(racy_kernels * 5 > count); // both verdicts occur
  CHECK(racy_kernels * 5 < 4 * count);
  CHECK(found_of_words > 100);
}

TEST_CASE("who orders a load of what another wave stored, and a store over what it loaded") {
  const std::string at = "v_lshlrev_b32 v2, 2, v1\n", load = at + "global_load_dword v3, v2, s[4:5]\n",
                    store = at + "global_store_dword v2, v4, s[4:5]\n",
                    barrier = "s_waitcnt vmcnt(0)\ns_barrier\n", flag = "v_mov_b32 v2, 0x1000\n",
                    counts = flag + "v_mov_b32 v3, 1\nglobal_atomic_add v3, v2, v3, s[4:5] sc0\n",
                    looks = flag + "global_load_dword v3, v2, s[4:5] sc1\n", wait = "s_waitcnt vmcnt(0)\n",
                    watches = "v_mov_b32 v2, 0x1800\nmore:\nglobal_load_dword v3, v2, s[4:5] sc1\n"
                              "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s20, v3\ns_cmp_eq_u32 s20, 0\n"
                              "s_cbranch_scc1 more\n",
                    raises = "v_mov_b32 v2, 0x1800\nglobal_store_dword v2, v4, s[4:5] sc1\n",
                    acquire = "buffer_inv sc1\n", back = "buffer_wbl2 sc1\n" + wait,
                    scalar = "s_load_dword s16, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n",
                    forgets = "s_dcache_inv\ns_waitcnt lgkmcnt(0)\n",
                    says = wait + "v_mov_b32 v8, 0\nv_mov_b32 v9, 1\nds_write_b32 v8, v9\n",
                    polls = "v_mov_b32 v8, 0\npoll:\nds_read_b32 v10, v8\ns_waitcnt lgkmcnt(0)\n"
                            "v_readfirstlane_b32 s20, v10\ns_cmp_eq_u32 s20, 0\ns_cbranch_scc1 poll\n",
                    looks_once = "ds_read_b32 v10, v8\ns_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s20, v10\n",
                    leaves = "s_cmp_lg_u32 s20, 0\ns_cbranch_scc1 seen\n",
                    loop = "poll:\n" + looks_once + "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 poll\nseen:\n",
                    zero = "v_mov_b32 v8, 0\n", // the loop's first read in front of it, as LLVM turns loops
      turned = zero + looks_once + leaves + loop,
                    again = "v_mov_b32 v8, 4\nagain:\nds_read_b32 v10, v8\ns_waitcnt lgkmcnt(0)\n"
                            "v_readfirstlane_b32 s20, v10\ns_cmp_eq_u32 s20, 0\ns_cbranch_scc1 again\n";
  const auto byte = [&](const char* what, unsigned n) {
    return at + what + (what[7] == 's' ? " v2, v4" : " v3, v2") + ", s[4:5] offset:" + std::to_string(n) +
           "\n";
  };
  const auto load_behind = [&](unsigned n) {
    return at + "global_load_dword v3, v2, s[4:5] offset:" + std::to_string(n) + "\n";
  };
  const auto store_behind = [&](unsigned n) {
    return at + "global_store_dword v2, v4, s[4:5] offset:" + std::to_string(n) + "\n";
  };
  struct Case {
    std::string name;
    unsigned groups, waves;
    std::string text;
    std::size_t races, notes;
  };
  const std::vector<Case> cases = {
      {"another wave's, in one epoch", 1, 2, only(0, 0, "a", store) + only(0, 1, "b", load), 1, 0},
      {"a barrier between", 1, 2, only(0, 0, "a", store) + barrier + only(0, 1, "b", load), 0, 0},
      {"another workgroup's, its barriers do not count", 2, 1,
       only(0, 0, "a", store) + barrier + only(1, 0, "b", load), 1, 0},
      {"one load of device scope", 2, 1,
       only(0, 0, "a", store) + only(1, 0, "b", at + "global_load_dword v3, v2, s[4:5] sc1\n"), 1, 0},
      {"one load of device scope of what was written back", 2, 1,
       only(0, 0, "a", store + back + counts) +
           only(1, 0, "b", counts + wait + at + "global_load_dword v3, v2, s[4:5] sc1\n"),
       0, 0},
      {"one load of device scope of what was stored with it", 2, 1,
       only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n") +
           only(1, 0, "b", at + "global_load_dword v3, v2, s[4:5] sc1\n"),
       0, 0},
      {"a counter, and nothing cleared", 2, 1,
       only(0, 0, "a", store + back + counts) + only(1, 0, "b", counts + wait + load), 1, 0},
      {"a counter", 2, 1,
       only(0, 0, "a", store + back + counts) + only(1, 0, "b", counts + wait + acquire + load), 0, 0},
      {"a flag", 2, 1,
       only(0, 0, "a", store + back + flag + "global_store_dword v2, v4, s[4:5] sc1\n") +
           only(1, 0, "b", looks + wait + acquire + load),
       0, 0},
      {"a flag of the workgroup alone", 2, 1,
       only(0, 0, "a", store + back + flag + "global_store_dword v2, v4, s[4:5]\n") +
           only(1, 0, "b", looks + wait + acquire + load),
       2, 0},
      {"cleared, but before the counter", 2, 1,
       only(0, 0, "a", store + back + counts) + only(1, 0, "b", acquire + counts + wait + load), 1, 0},
      {"not written back", 2, 1,
       only(0, 0, "a", store + wait + counts) + only(1, 0, "b", counts + wait + acquire + load), 1, 0},
      {"written back, and not waited for", 2, 1,
       only(0, 0, "a", store + "buffer_wbl2 sc1\n" + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"written back after the counter", 2, 1,
       only(0, 0, "a", store + counts + back) + only(1, 0, "b", counts + wait + acquire + load), 1, 0},
      {"past the caches", 2, 1,
       only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n" + wait + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       0, 0},
      {"past the caches, and not waited for", 2, 1,
       only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n" + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"past the caches, and waited for after it is counted", 2, 1,
       only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n" + counts + wait) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"past the caches both ways", 2, 1,
       only(1, 0, "b", watches + at + "global_load_dword v3, v2, s[4:5] sc1\n") +
           only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n" + wait + raises),
       0, 0},
      {"past the caches both ways, and not waited for", 2, 1,
       only(1, 0, "b", watches + at + "global_load_dword v3, v2, s[4:5] sc1\n") +
           only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n" + raises),
       0, 1},
      {"past the caches both ways, another wave's before the barrier", 2, 2,
       only(1, 0, "b", watches + at + "global_load_dword v3, v2, s[4:5] sc1\n") +
           only(0, 1, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n") + barrier +
           only(0, 0, "c", raises),
       0, 0},
      {"past the caches, another wave's before the barrier", 2, 2,
       only(0, 1, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n") + barrier + only(0, 0, "c", counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       0, 0},
      {"past the caches both ways, a flag raised that nobody has read", 2, 1,
       only(0, 0, "a", at + "global_store_dword v2, v4, s[4:5] sc1\n" + raises) +
           only(1, 0, "b", at + "global_load_dword v3, v2, s[4:5] sc1\n"),
       0, 0},
      {"two flags, one after the other", 2, 1,
       only(1, 0, "b", watches + looks + wait + acquire + load) +
           only(0, 0, "a", store + back + flag + "global_store_dword v2, v4, s[4:5] sc1\n" + raises),
       0, 1},
      {"each wave writes back, one counts after the barrier", 2, 2,
       only(0, 1, "a", store) + back + barrier + only(0, 0, "c", counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       0, 0},
      {"each wave writes back, one counts before the barrier", 2, 2,
       only(0, 1, "a", store) + back + only(0, 0, "c", counts) + barrier +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"one writes back for all, after the barrier", 2, 2,
       only(0, 1, "a", store + wait) + barrier + only(0, 0, "c", back + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       0, 0},
      {"one writes back for all, before the barrier", 2, 2,
       only(0, 1, "a", store + wait) + only(0, 0, "c", back) + barrier + only(0, 0, "d", counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"another wave writes back, no barrier before the counter", 2, 2,
       only(0, 0, "a", store + back) + only(0, 1, "c", counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"another wave writes back, and not what the one that counts stored", 2, 2,
       only(0, 0, "a", back) + only(0, 1, "c", store + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"stored after it was written back", 2, 1,
       only(0, 0, "a", store + back + barrier + store + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"written back before it was stored", 2, 1,
       only(0, 0, "a", back + store + counts) + only(1, 0, "b", counts + wait + acquire + load), 1, 0},
      {"stored again after it was written back and counted", 2, 1,
       only(0, 0, "a", store + back + counts + store + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"written back again", 2, 1,
       only(0, 0, "a", store + back + counts + store + back + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       0, 0},
      {"stored between what writes back and the wait for it", 2, 1,
       only(0, 0, "a", "buffer_wbl2 sc1\n" + store + wait + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       1, 0},
      {"another word stored after it was written back", 2, 1,
       only(0, 0, "a", store + back + store_behind(256) + counts) +
           only(1, 0, "b", counts + wait + acquire + load),
       0, 0},
      {"another byte of the word stored after it was written back", 2, 1,
       only(0, 0, "a", byte("global_store_byte", 0) + back + byte("global_store_byte", 1) + counts) +
           only(1, 0, "b", counts + wait + acquire + byte("global_load_ubyte", 0)),
       0, 0},
      {"another byte of the word stored after a barrier", 1, 2,
       only(0, 0, "a", byte("global_store_byte", 0)) + barrier +
           only(0, 0, "c", byte("global_store_byte", 1)) + only(0, 1, "b", byte("global_load_ubyte", 0)),
       0, 0},
      {"that byte", 1, 2,
       only(0, 0, "a", byte("global_store_byte", 0)) + barrier +
           only(0, 0, "c", byte("global_store_byte", 1)) + only(0, 1, "b", byte("global_load_ubyte", 1)),
       1, 0},
      {"released after the reader has cleared its caches", 2, 1,
       only(0, 0, "a", counts + wait + acquire + watches + load) + only(1, 0, "b", store + back + raises), 1,
       0},
      {"cleared again", 2, 1,
       only(0, 0, "a", counts + wait + acquire + watches + acquire + load) +
           only(1, 0, "b", store + back + raises),
       0, 0},
      {"another wave has cleared again, before the barrier", 2, 2,
       only(0, 0, "a", counts + wait + acquire + watches + acquire) + barrier + only(0, 1, "c", load) +
           only(1, 0, "b", store + back + raises),
       0, 0},
      {"another wave has watched, and nobody cleared again", 2, 2,
       only(0, 0, "a", counts + wait + acquire + watches) + barrier + only(0, 1, "c", load) +
           only(1, 0, "b", store + back + raises),
       1, 0},
      {"stored over, and released after the caches were cleared", 2, 1,
       only(0, 0, "a", counts + wait + acquire + watches + store) + only(1, 0, "b", store + back + raises), 0,
       1},
      {"a counter within a workgroup", 1, 2,
       only(0, 0, "a", store + wait + counts) + only(0, 1, "b", counts + wait + load), 0, 1},
      {"stored over", 1, 2, only(0, 0, "a", load) + only(0, 1, "b", store), 1, 0},
      {"stored over after a barrier", 1, 2, only(0, 0, "a", load) + barrier + only(0, 1, "b", store), 0, 0},
      {"stored over by another workgroup", 2, 1, only(0, 0, "a", load + barrier) + only(1, 0, "b", store), 1,
       0},
      {"stored over by one that counts", 2, 1,
       only(0, 0, "a", load + wait + counts) + only(1, 0, "b", counts + wait + store), 0, 1},
      {"an earlier workgroup's load, though others loaded since and it is after those", 2, 2,
       only(0, 0, "a", load) + only(1, 0, "b", load) + only(1, 1, "c", load) + barrier +
           only(1, 1, "d", store),
       1, 0},
      {"another wave's load, though one before the barrier was known", 1, 3,
       only(0, 0, "a", load) + barrier + only(0, 1, "b", load) + only(0, 2, "c", load + store), 1, 0},
      {"stored over in its last line", 2, 1,
       only(0, 0, "a", load + barrier) + only(1, 0, "b", store_behind(192)), 1, 0},
      {"stored over in its last word", 2, 1,
       only(0, 0, "a", load + barrier) + only(1, 0, "b", store_behind(252)), 1, 0},
      {"stored after it", 2, 1, only(0, 0, "a", load + barrier) + only(1, 0, "b", store_behind(256)), 0, 0},
      {"the last line of a store", 2, 1, only(0, 0, "a", load_behind(192) + barrier) + only(1, 0, "b", store),
       1, 0},
      {"the last word of a store", 2, 1, only(0, 0, "a", load_behind(252) + barrier) + only(1, 0, "b", store),
       1, 0},
      {"a byte, though another one was loaded since", 1, 2,
       only(0, 0, "a", byte("global_load_ubyte", 0) + byte("global_load_ubyte", 1)) +
           only(0, 1, "b", byte("global_store_byte", 0)),
       1, 0},
      {"another byte", 1, 2,
       only(0, 0, "a", byte("global_load_ubyte", 0) + byte("global_load_ubyte", 1)) +
           only(0, 1, "b", byte("global_store_byte", 2)),
       0, 0},
      {"a scalar load", 1, 2, only(0, 0, "a", store) + only(0, 1, "b", "s_load_dword s16, s[4:5], 0x0\n"), 1,
       0},
      {"a scalar load of its own store", 1, 2, only(0, 0, "a", store + wait + scalar), 1, 0},
      {"the same, the scalar cache cleared", 1, 2, only(0, 0, "a", store + wait + forgets + scalar), 0, 0},
      {"the same, cleared before the store has arrived", 1, 2,
       only(0, 0, "a", store + forgets + wait + scalar), 1, 0},
      {"the same, stored again", 1, 2, only(0, 0, "a", store + wait + forgets + store + wait + scalar), 1, 0},
      {"a scalar load past the cache", 1, 2,
       only(0, 0, "a", store + wait + "s_load_dword s16, s[4:5], 0x0 glc\ns_waitcnt lgkmcnt(0)\n"), 0, 0},
      {"a scalar load of another word", 1, 2,
       only(0, 0, "a", store + wait + "s_load_dword s16, s[4:5], 0x100\ns_waitcnt lgkmcnt(0)\n"), 0, 0},
      {"a scalar load after a barrier", 1, 2, only(0, 0, "a", store) + barrier + only(0, 1, "b", scalar), 1,
       0},
      {"a scalar load after a barrier, cleared", 1, 2,
       only(0, 0, "a", store) + barrier + only(0, 1, "b", forgets + scalar), 0, 0},
      {"a scalar load after a barrier, cleared by another wave", 1, 2,
       only(0, 0, "a", store) + barrier + only(0, 0, "c", forgets) + barrier + only(0, 1, "b", scalar), 0, 0},
      {"a scalar load after a counter", 2, 1,
       only(0, 0, "a", store + back + counts) + only(1, 0, "b", counts + wait + acquire + scalar), 1, 0},
      {"a scalar load after a counter, cleared", 2, 1,
       only(0, 0, "a", store + back + counts) + only(1, 0, "b", counts + wait + acquire + forgets + scalar),
       0, 0},
      {"a scalar load after a counter, cleared before", 2, 1,
       only(0, 0, "a", store + back + counts) + only(1, 0, "b", forgets + counts + wait + acquire + scalar),
       1, 0},
      {"a load to LDS", 1, 2,
       only(0, 0, "a", store) +
           only(0, 1, "b", "s_mov_b32 m0, 0\n" + at + "global_load_lds_dword v2, s[4:5]\n"),
       1, 0},
      {"through a descriptor", 1, 2,
       only(0, 0, "a", store) +
           only(0, 1, "b",
                "s_and_b32 s5, s5, 0xffff\ns_movk_i32 s6, 0x1000\ns_mov_b32 s7, 0x27000\n" + at +
                    "buffer_load_dword v3, v2, s[4:7], 0 offen\n"),
       1, 0},
      {"a flag in LDS", 1, 2, only(0, 0, "a", store + says) + only(0, 1, "b", polls + load), 0, 0},
      {"stored over after a flag in LDS", 1, 2, only(0, 0, "a", load + says) + only(0, 1, "b", polls + store),
       0, 0},
      {"a flag in LDS that a third wave raises", 1, 3,
       only(0, 0, "a", store) + only(0, 2, "c", says) + only(0, 1, "b", polls + load), 1, 0},
      {"stored over after a third wave's flag", 1, 3,
       only(0, 0, "a", load) + only(0, 2, "c", says) + only(0, 1, "b", polls + store), 1, 0},
      {"a flag that passes on what its wave had heard of", 1, 3,
       only(0, 0, "a", store + says) + only(0, 2, "c", polls + "ds_write_b32 v8, v10 offset:4\n") +
           only(0, 1, "b", again + load),
       0, 0},
      {"a flag whose first read stands in front of its loop", 1, 2,
       only(0, 0, "a", store + says) + only(0, 1, "b", turned + load), 0, 0},
      {"the same, by who begins", 1, 2, only(0, 0, "b", turned + load) + only(0, 1, "a", store + says), 0, 0},
      {"a read in front of the loop that decides nothing", 1, 2,
       only(0, 0, "a", store + says) + only(0, 1, "b", zero + looks_once + loop + load), 1, 0},
      {"a read of another place in front of the loop", 1, 2,
       only(0, 0, "a", says + "ds_write_b32 v8, v9 offset:4\n") +
           only(0, 1, "b", zero + looks_once + "v_mov_b32 v8, 4\n" + leaves + loop),
       1, 0},
      {"a read of another offset in front of the loop", 1, 2,
       only(0, 0, "a", says + "ds_write_b32 v8, v9 offset:4\n") +
           only(0, 1, "b",
                zero + "ds_read_b32 v10, v8 offset:4\ns_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s20, v10\n" +
                    leaves + loop),
       1, 0},
      {"a branch into the loop by a read in front of it", 1, 2,
       only(0, 0, "a", says) +
           only(0, 1, "b", zero + looks_once + "s_cmp_lg_u32 s20, 0\ns_cbranch_scc1 poll\n" + loop),
       1, 0},
      {"a branch past the loop by something else", 1, 2,
       only(0, 0, "a", says) +
           only(0, 1, "b", zero + looks_once + "s_cmp_lg_u32 s4, s4\ns_cbranch_scc1 seen\n" + loop),
       1, 0},
      {"a read in front of the loop, and a store between", 1, 2,
       only(0, 0, "a", says) +
           only(0, 1, "b", zero + looks_once + leaves + "ds_write_b32 v8, v10 offset:64\n" + loop),
       1, 0},
      {"a flag in LDS that nobody looks at", 1, 2,
       only(0, 0, "a", store) + only(0, 1, "b", load) + "s_branch over\n" + polls + "over:\n", 1, 0},
      {"its own", 1, 2, only(0, 0, "a", store + load + store), 0, 0},
  };
  for (const Case& c : cases)
    for (const std::string& before : {std::string(), stored_before}) {
      const auto findings = races_of(
          global_start + before + c.text + "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n", c.groups, c.waves);
      INFO(c.name << (before.empty() ? "" : ", stored to before") << "\n" << all(findings));
      CHECK(static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                   [](const Finding& f) { return !f.note; })) == c.races);
      CHECK(static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                   [](const Finding& f) { return f.note; })) == c.notes);
    }
}

TEST_CASE("on gfx90a a wait releases what was stored before it, not after") {
  const std::string at = "v_lshlrev_b32 v2, 2, v1\n", load = at + "global_load_dword v3, v2, s[4:5]\n",
                    store = at + "global_store_dword v2, v4, s[4:5]\n", wait = "s_waitcnt vmcnt(0)\n",
                    elsewhere = at + "global_load_dword v3, v2, s[4:5] offset:512\n",
                    raises = "v_mov_b32 v2, 0x1000\nglobal_store_dword v2, v4, s[4:5]\n",
                    looks = "v_mov_b32 v2, 0x1000\nglobal_load_dword v3, v2, s[4:5] glc\n" + wait +
                            "buffer_wbinvl1_vol\n";
  const auto races = [&](const std::string& writer) {
    std::string said;
    for (const Finding& f :
         races_of(global_start + only(0, 0, "a", writer) + only(1, 0, "b", looks + load) + "s_endpgm\n", 2, 1,
                  isa::Arch::gfx90a))
      said += f.note ? "" : f.message + "\n";
    return said;
  };
  CHECK(races(store + wait + raises) == "");
  CHECK(races(elsewhere + wait + store + wait + raises) == "");
  CHECK_THAT(races(elsewhere + wait + store + raises), Catch::Contains("s_waitcnt vmcnt(0)"));
  CHECK_THAT(races(store + wait + raises + store + raises), Catch::Contains("s_waitcnt vmcnt(0)"));
  // Periods beyond those that an entry tells apart.
  const std::string often = "s_movk_i32 s21, 5000\nonce:\n" + store + wait + raises +
                            "s_sub_u32 s21, s21, 1\ns_cmp_lg_u32 s21, 0\ns_cbranch_scc1 once\n";
  CHECK(races(often) == "");
  CHECK_THAT(races(often + store + raises), Catch::Contains("s_waitcnt vmcnt(0)"));
}

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

namespace {

/// What all checks find of a workgroup of two waves with LDS.
std::vector<Finding> in_two_waves(const std::string& text) {
  EmulatorDevice device(isa::Arch::gfx942, {.threads = 1, .checks = Checks::all()});
  const DevicePointer out = upload(device, std::vector<std::uint32_t>(4096));
  return run(device,
             kernel(global_start + text + "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n", isa::Arch::gfx942),
             {.grid = {1}, .block = {128}, .dynamic_lds = 4096}, Arguments().pointer(out).bytes())
      .findings;
}

std::size_t waits_of(const std::vector<Finding>& findings) {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::waits && !f.note;
  }));
}

} // namespace

TEST_CASE("what is stored to LDS while a load to LDS is on its way there may be overwritten by it") {
  const std::string loads = "s_mov_b32 m0, 0\nv_lshlrev_b32 v2, 2, v1\nglobal_load_lds_dword v2, s[4:5]\n",
                    stores = "v_lshlrev_b32 v2, 2, v1\nds_write_b32 v2, v4\n", wait = "s_waitcnt vmcnt(0)\n",
                    barrier = "s_barrier\n";
  struct Case {
    std::string name, text;
    std::size_t waits;
  };
  const std::vector<Case> cases = {
      {"its own", only(0, 0, "a", loads + stores), 1},
      {"waited for", only(0, 0, "a", loads + wait + stores), 0},
      {"stored before", only(0, 0, "a", stores + loads), 0},
      {"beside it", only(0, 0, "a", loads + "v_lshlrev_b32 v2, 2, v1\nds_write_b32 v2, v4 offset:256\n"), 0},
      {"its last word", only(0, 0, "a", loads + "v_lshlrev_b32 v2, 2, v1\nds_write_b32 v2, v4 offset:252\n"),
       1},
      {"another's, after a barrier", only(0, 0, "a", loads) + barrier + only(0, 1, "b", stores), 1},
      {"another's, waited for before the barrier",
       only(0, 0, "a", loads + wait) + barrier + only(0, 1, "b", stores), 0},
      {"another's, waited for after the barrier",
       only(0, 0, "a", loads) + barrier + only(0, 0, "c", wait) + only(0, 1, "b", stores), 1},
      {"waited for, beside what another wave stores",
       only(0, 1, "b", "v_mov_b32 v2, 0x80\nds_write_b32 v2, v4\n") +
           only(0, 0, "a",
                loads + wait + stores.substr(0, 24) + "v_and_b32 v2, 0x7c, v2\nds_write_b32 v2, v4\n"),
       0},
      {"loaded twice", only(0, 0, "a", loads + loads), 0},
      {"an older one waited for",
       only(0, 0, "a",
            loads + "s_mov_b32 m0, 256\nglobal_load_lds_dword v2, s[4:5]\n" + "s_waitcnt vmcnt(1)\n" +
                stores),
       0},
      {"a younger one waited for",
       only(0, 0, "a", "s_mov_b32 m0, 256\n" + loads.substr(15) + loads + "s_waitcnt vmcnt(1)\n" + stores),
       1},
  };
  for (const Case& c : cases) {
    const auto findings = in_two_waves(c.text);
    INFO(c.name << "\n" << all(findings));
    CHECK(waits_of(findings) == c.waits);
  }
}

TEST_CASE("atomics on LDS that leave the same in either order wait for each other at no barrier") {
  const std::string at = "v_lshlrev_b32 v2, 2, v1\n", barrier = "s_barrier\n",
                    zero =
                        only(0, 0, "z", at + "v_mov_b32 v3, 0\nds_write_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n") +
                        barrier;
  const auto then = [&](const std::string& first, const std::string& second) {
    return zero + only(0, 0, "a", at + first + "\n") + barrier + only(0, 1, "b", at + second + "\n");
  };
  const std::vector<std::tuple<std::string, std::string, std::size_t>> cases = {
      {"sums", then("ds_add_u32 v2, v4", "ds_add_u32 v2, v4"), 0},
      {"maxima", then("ds_max_i32 v2, v4", "ds_max_i32 v2, v4"), 0},
      {"a sum and a maximum", then("ds_add_u32 v2, v4", "ds_max_u32 v2, v4"), 1},
      {"signed and unsigned", then("ds_max_i32 v2, v4", "ds_max_u32 v2, v4"), 1},
      {"of another width", then("ds_add_u32 v2, v4", "v_lshlrev_b32 v2, 1, v2\nds_add_u64 v2, v[4:5]"), 1},
      {"one that wants what was there", then("ds_add_u32 v2, v4", "ds_add_rtn_u32 v3, v2, v4"), 1},
      {"after one that did", then("ds_add_rtn_u32 v3, v2, v4", "ds_add_u32 v2, v4"), 1},
      {"exchanges", then("ds_wrxchg_rtn_b32 v3, v2, v4", "ds_wrxchg_rtn_b32 v3, v2, v4"), 1},
      {"of another minus what is there", then("ds_rsub_u32 v2, v4", "ds_rsub_u32 v2, v4"), 1},
      {"floats, whose sums depend on it", then("ds_add_f32 v2, v4", "ds_add_f32 v2, v4"), 1},
      {"a read after a sum", then("ds_add_u32 v2, v4", "ds_read_b32 v3, v2"), 1},
      {"a sum after a store", then("ds_write_b32 v2, v4", "ds_add_u32 v2, v4"), 1},
      {"a read after both",
       then("ds_add_u32 v2, v4", "ds_add_u32 v2, v4") + barrier +
           only(0, 0, "c", at + "ds_read_b32 v3, v2\n"),
       1},
  };
  for (const auto& [name, text, waits] : cases) {
    const auto findings = in_two_waves(text);
    INFO(name << "\n" << all(findings));
    CHECK(waits_of(findings) == waits);
  }
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

} // namespace emulator_races_test
