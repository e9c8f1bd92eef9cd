// Loads and stores have two ways through the emulator: together, where one place holds them all and nothing has to be said, and lane by
// lane. A watched launch takes the second always. Random kernels through both: the same bits, findings and statistics.
#include "emulator_support.h"

#include <random>

namespace emulator_paths_test {

using namespace emulator_test;

namespace {

unsigned below(std::mt19937& random, unsigned n) { return static_cast<unsigned>(random() % n); }

std::string hex(std::uint32_t v) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", v);
  return text;
}

/// Two waves; v1..v4 are byte offsets below 4096, of which some repeat and some do not lie on their size.
std::string random_kernel(std::mt19937& random, bool gfx950) {
  static constexpr unsigned steps[] = {4, 8, 12, 16, 20, 28, 48, 64};
  // Half of the buffers end with, or inside, the last lane's element.
  const unsigned soffset = below(random, 3) * 64;
  const unsigned records = below(random, 2) == 0
                               ? 4096 - 4 * below(random, 200)
                               : 127 * steps[below(random, 6)] + soffset + 4 * below(random, 6);
  std::string t = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_and_b32 v0, 0x7f, v0\ns_waitcnt lgkmcnt(0)\n"
                  "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_mov_b32 s11, 0x27000\ns_mov_b32 s12, " +
                  hex(soffset) + "\ns_mov_b32 s10, " + hex(records) + "\nv_lshlrev_b32 v20, 7, v0\n";
  for (unsigned k = 1; k <= 4; ++k) {
    const std::string v = "v" + std::to_string(k);
    const unsigned alignment = below(random, 4) == 0 ? 4 : 16;
    t += "v_mul_u32_u24 " + v + ", " + std::to_string(steps[below(random, 8)]) + ", v0\nv_xor_b32 " + v +
         ", " + hex(below(random, 4) == 0 ? below(random, 64) * 16 : 0) + ", " + v + "\nv_and_b32 " + v +
         ", " + hex(0xfffU & ~(alignment - 1)) + ", " + v + "\n";
  }
  for (unsigned k = 8; k < 20; ++k)
    t += "v_add_u32 v" + std::to_string(k) + ", " + hex(static_cast<std::uint32_t>(random())) + ", v0\n";
  for (unsigned n = 12 + below(random, 12); n != 0; --n) {
    const unsigned words = 1 + below(random, 4);
    const unsigned first = 8 + below(random, 12 - words + 1) / 2 * 2; // tuples begin at even registers
    const std::string data =
        words == 1 ? "v" + std::to_string(first)
                   : "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
    const std::string at = "v" + std::to_string(1 + below(random, 4));
    const std::string bits = "b" + std::to_string(32 * words);
    const std::string dwords = words == 1 ? "dword" : "dwordx" + std::to_string(words);
    const std::string offset = " offset:" + std::to_string(below(random, 2) * 16 * below(random, 8));
    const std::string one = "v" + std::to_string(8 + below(random, 12));
    const char* const small = below(random, 2) == 0 ? "_b8 " : "_b16 ";
    static constexpr const char* lds_loads[] = {"u8",     "i8",        "u16",        "i16",
                                                "u8_d16", "i8_d16_hi", "u16_d16_hi", "u16_d16"};
    static constexpr const char* loads[] = {"ubyte",     "sbyte",        "ushort",      "sshort",
                                            "ubyte_d16", "short_d16_hi", "sbyte_d16_hi"};
    static constexpr const char* stores[] = {"byte", "short", "byte_d16_hi", "short_d16_hi"};
    switch (below(random, 23)) {
    case 8: // pairs; the addresses may be overwritten by the first of them
    case 9: {
      const std::string offsets =
          " offset0:" + std::to_string(below(random, 64)) + " offset1:" + std::to_string(below(random, 64));
      const bool wide = below(random, 2) == 0;
      const std::string first_of = std::to_string(8 + 4 * below(random, 3));
      const std::string pair =
          "v[" + first_of + ":" + std::to_string(std::stoi(first_of) + (wide ? 3 : 1)) + "]";
      const std::string other = wide ? "v[16:17]" : "v16", value = wide ? "v[18:19]" : "v19";
      t += below(random, 2) == 0
               ? "ds_read2_" + std::string(wide ? "b64 " : "b32 ") + pair + ", " + at + offsets + "\n"
               : "ds_write2_" + std::string(wide ? "b64 " : "b32 ") + at + ", " + other + ", " + value +
                     offsets + "\n";
      break;
    }
    case 10:
      t += std::string("ds_read_") + lds_loads[below(random, 8)] + " " + one + ", " + at + offset + "\n";
      break;
    case 11: t += "ds_write" + std::string(small) + at + ", " + one + offset + "\n"; break;
    case 12:
      t += "ds_write" + std::string(small == std::string("_b8 ") ? "_b8_d16_hi " : "_b16_d16_hi ") + at +
           ", " + one + offset + "\n";
      break;
    case 13:
      t += std::string("global_load_") + loads[below(random, 7)] + " " + one + ", " + at + ", s[4:5]" +
           offset + "\n";
      break;
    case 14:
      t += std::string("global_store_") + stores[below(random, 4)] + " " + at + ", " + one + ", s[6:7]" +
           offset + "\n";
      break;
    case 15: // 64-bit addresses
      t += "v_mov_b32 v24, s4\nv_mov_b32 v25, s5\nv_add_co_u32 v24, vcc, v24, " + at +
           "\nv_addc_co_u32 v25, vcc, 0, v25, vcc\n" +
           (below(random, 2) == 0 ? "flat_load_" + dwords + " " + data + ", v[24:25]\n"
                                  : "global_load_" + dwords + " " + data + ", v[24:25], off" + offset + "\n");
      break;
    case 16:
      t += "ds_bpermute_b32 " + one + ", v" + std::to_string(8 + below(random, 12)) + ", v" +
           std::to_string(8 + below(random, 12)) + offset + "\n";
      break;
    case 17: // straight to LDS
      t += "s_mov_b32 m0, " + hex(16 * below(random, 256)) + "\ns_nop 0\nbuffer_load_dword " + at +
           ", s[8:11], s12 offen" + offset + " lds\n";
      break;
    case 18:
      t += below(random, 2) == 0 ? "scratch_store_" + dwords + " off, " + data +
                                       ", off offset:" + std::to_string(4 * below(random, 12)) + "\n"
                                 : "scratch_load_" + dwords + " " + data +
                                       ", off, off offset:" + std::to_string(4 * below(random, 12)) + "\n";
      break;
    case 19:
      if (gfx950) {
        static constexpr const char* transposes[] = {"b64_tr_b16 v[8:9]", "b64_tr_b8 v[10:11]",
                                                     "b64_tr_b4 v[12:13]", "b96_tr_b6 v[16:18]"};
        t += std::string("ds_read_") + transposes[below(random, 4)] + ", " + at + offset + "\n";
      }
      break;
    case 20: // atomics; several lanes at one address take turns
    case 21: {
      static constexpr const char* ops[] = {
          "add_u",   "sub_u",    "rsub_u", "inc_u", "dec_u",      "min_i",       "max_i",
          "min_u",   "max_u",    "and_b",  "or_b",  "xor_b",      "mskor_b",     "cmpst_b",
          "cmpst_f", "wrxchg_b", "wrap_b", "add_f", "pk_add_f16", "pk_add_bf16", "condxchg32_b"};
      std::string op = ops[below(random, 21)];
      const bool packed = op[0] == 'p', only_returns = op[1] == 'r' || op == "condxchg32_b"; // wrxchg, wrap
      const bool wide = !packed && op != "wrap_b" && (op == "condxchg32_b" || below(random, 3) == 0);
      const bool returns = only_returns || below(random, 2) == 0;
      const bool two = op.starts_with("mskor") || op.starts_with("cmpst") || op == "wrap_b";
      if (returns) op.insert(op.rfind('_'), "_rtn");
      if (!packed) op += wide ? "64" : "32";
      const auto operand = [&] {
        const unsigned r = 8 + 2 * below(random, 6);
        return wide ? "v[" + std::to_string(r) + ":" + std::to_string(r + 1) + "]" : "v" + std::to_string(r);
      };
      t += "ds_" + op + " " + (returns ? operand() + ", " : "") + at + ", " + operand() +
           (two ? ", " + operand() : "") + offset + "\n";
      break;
    }
    case 22: {
      static constexpr const char* ops[] = {
          "add", "sub", "swap", "cmpswap", "smin",    "umin",    "smax",       "umax",        "and",
          "or",  "xor", "inc",  "dec",     "add_f32", "add_f64", "pk_add_f16", "pk_add_bf16", "min_f64"};
      std::string op = ops[below(random, 18)];
      const bool is_float = op.find("_f") != std::string::npos || op.find("_bf") != std::string::npos;
      const bool wide = op.ends_with("64") || (!is_float && below(random, 3) == 0);
      const bool returns = below(random, 2) == 0;
      const unsigned count = (wide ? 2 : 1) * (op == "cmpswap" ? 2 : 1);
      if (wide && !is_float) op += "_x2";
      const auto operand = [&](unsigned registers) {
        const unsigned r = 8 + 4 * below(random, 3);
        return registers == 1 ? "v" + std::to_string(r)
                              : "v[" + std::to_string(r) + ":" + std::to_string(r + registers - 1) + "]";
      };
      if (below(random, 3) == 0 && op != "pk_add_bf16") {
        t += "s_mov_b32 s8, s6\ns_mov_b32 s9, s7\nbuffer_atomic_" + op + " " + operand(count) + ", " + at +
             ", s[8:11], s12 offen" + offset + (returns ? " sc0" : "") +
             "\ns_mov_b32 s8, s4\ns_mov_b32 s9, s5\n";
      } else {
        t += "global_atomic_" + op + " " + (returns ? operand(wide ? 2 : 1) + ", " : "") + at + ", " +
             operand(count) + ", s[6:7]" + offset + (returns ? " sc0" : "") + "\n";
      }
      break;
    }
    case 0:
    case 1: t += "ds_write_" + bits + " " + at + ", " + data + offset + "\n"; break;
    case 2:
    case 3: t += "ds_read_" + bits + " " + data + ", " + at + offset + "\n"; break;
    case 4: t += "global_load_" + dwords + " " + data + ", " + at + ", s[4:5]" + offset + "\n"; break;
    case 5:
      t += "buffer_load_" + dwords + " " + data + ", " + at + ", s[8:11], s12 offen" + offset + "\n";
      break;
    case 6: t += "global_store_" + dwords + " " + at + ", " + data + ", s[6:7]" + offset + "\n"; break;
    default:
      t += below(random, 2) == 0
               ? "s_mov_b64 exec, -1\n"
               : "s_mov_b32 exec_lo, " + hex(static_cast<std::uint32_t>(random())) + "\ns_mov_b32 exec_hi, " +
                     hex(static_cast<std::uint32_t>(random())) + "\n";
    }
    if (below(random, 3) != 0) t += "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    if (below(random, 6) == 0) t += "s_barrier\n";
  }
  t += "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_mov_b64 exec, -1\n";
  for (unsigned k = 8; k < 20; k += 4)
    t += "global_store_dwordx4 v20, v[" + std::to_string(k) + ":" + std::to_string(k + 3) +
         "], s[6:7] offset:" + std::to_string(4 * k) + "\n";
  return t + "s_endpgm\n";
}

} // namespace

TEST_CASE("memory instructions give the same together and lane by lane") {
  std::mt19937 random(1122);
  unsigned with_findings = 0;
  for (unsigned n = 0; n < 1200; ++n) {
    const isa::Arch arch = n % 2 == 0 ? isa::Arch::gfx942 : isa::Arch::gfx950;
    const std::string text = random_kernel(random, arch == isa::Arch::gfx950);
    std::vector<std::uint32_t> in(1024 + 256);
    for (auto& v : in) v = static_cast<std::uint32_t>(random());
    const char* const checks = n % 3 == 0 ? "none" : n % 3 == 1 ? "bounds,races,waits,align" : "all";
    std::vector<std::uint8_t> memory[2];
    LaunchResult results[2];
    for (int slow = 0; slow < 2; ++slow) {
      EmulatorDevice device(arch, {.threads = 1, .checks = Checks::parse(checks), .bank_model = true});
      const DevicePointer source = upload(device, in);
      const DevicePointer target = device.allocate(128 * 128 + 256);
      device.fill(target, 0, 4096);
      if (slow == 1) {
        device.options().debug.watches = {{.lds = true, .address = 8188, .name = "lds"}};
        device.options().debug.on_watch = [](const WatchHit&) {};
      }
      try {
        results[slow] =
            run(device, kernel(text, arch, {.lds = 8192, .scratch = 64}), {.grid = {1}, .block = {128}},
                Arguments().pointer(source).pointer(target).bytes());
      } catch (const ExecutionError&) { // an access outside, unchecked
        results[slow] = device.last_launch();
      }
      memory[slow] = download<std::uint8_t>(device, target, 128 * 128 + 256);
    }
    INFO(text << checks << "\ntogether\n"
              << all(results[0].findings) << "lane by lane\n"
              << all(results[1].findings));
    REQUIRE(memory[0] == memory[1]);
    REQUIRE(results[0].findings.size() == results[1].findings.size());
    for (std::size_t k = 0; k < results[0].findings.size(); ++k) {
      const Finding &a = results[0].findings[k], &b = results[1].findings[k];
      REQUIRE(a.kind == b.kind);
      REQUIRE(a.address == b.address);
      REQUIRE(a.note == b.note);
      REQUIRE(a.lane == b.lane);
    }
    REQUIRE(results[0].statistics.lds_cycles == results[1].statistics.lds_cycles);
    REQUIRE(results[0].statistics.bytes_read == results[1].statistics.bytes_read);
    REQUIRE(results[0].statistics.bytes_written == results[1].statistics.bytes_written);
    REQUIRE(results[0].statistics.lds_bytes == results[1].statistics.lds_bytes);
    with_findings += results[0].findings.empty() ? 0 : 1;
  }
  CHECK(with_findings > 90);
  CHECK(with_findings < 1170);
}

TEST_CASE("atomics on global memory give the same on several threads as on one") {
  // What does not return may go to several threads: 64 workgroups on 40 words, each of the orders the same sum.
  std::string text = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshrrev_b32 v1, 1, v0\nv_mul_u32_u24 v1, 5, "
                     "v1\nv_and_b32 v1, 0x7c, v1\n"
                     "v_lshlrev_b32 v2, 3, v0\nv_and_b32 v2, 0x78, v2\nv_mul_u32_u24 v4, 0x1235, "
                     "v0\nv_add_u32 v5, 7, v0\ns_waitcnt lgkmcnt(0)\n";
  static constexpr const char* ops[] = {"add", "sub", "smin", "umin", "smax", "umax", "or", "xor"};
  for (unsigned k = 0; k < 8; ++k) {
    text +=
        std::string("global_atomic_") + ops[k] + " v1, v4, s[4:5] offset:" + std::to_string(128 * k) + "\n";
    text += std::string("global_atomic_") + ops[k] +
            "_x2 v2, v[4:5], s[4:5] offset:" + std::to_string(1024 + 128 * k) + "\n";
  }
  std::vector<std::uint32_t> memory[2];
  for (unsigned threads = 1; threads <= 2; ++threads) {
    EmulatorDevice device(isa::Arch::gfx942, {.threads = threads, .checks = Checks::all()});
    const DevicePointer target = device.allocate(2048);
    device.fill(target, 0x5a, 2048);
    const auto findings =
        run(device, kernel(text + "s_endpgm\n", isa::Arch::gfx942, {}), {.grid = {64}, .block = {256}},
            Arguments().pointer(target).pointer(target).bytes())
            .findings;
    INFO(all(findings));
    CHECK(findings.empty());
    memory[threads - 1] = download<std::uint32_t>(device, target, 512);
  }
  CHECK(memory[0] == memory[1]);
}

} // namespace emulator_paths_test
