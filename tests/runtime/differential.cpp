#include "differential.h"

#include "emulator_support.h"

namespace differential {
namespace {

// Offsets in the block of one case.
constexpr unsigned scalar_words = 40, vector_at = 256, block_bytes = vector_at + 64 * vgprs * 4;

std::string prologue() {
  return R"(
  s_load_dwordx8 s[4:11], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_mul_u32_u24 v2, 0xa0, v0
  v_lshlrev_b32 v3, 4, v0
  v_lshlrev_b32 v4, 2, v0
  s_waitcnt lgkmcnt(0)
)"; // s[4:5] blocks in, s[6:7] blocks out, s[8:9] LDS in, s[10:11] LDS out
}

std::string around(const Case& c) {
  const bool lds = !c.before.lds.empty();
  std::string t = "  s_load_dwordx16 s[32:47], s[4:5], 0x0\n  s_load_dwordx16 s[48:63], s[4:5], 0x40\n"
                  "  s_load_dwordx8 s[64:71], s[4:5], 0x80\n";
  const auto quad = [](unsigned n) { return "v[" + std::to_string(n) + ":" + std::to_string(n + 3) + "]"; };
  for (unsigned k = 0; k < vgprs / 4; ++k) {
    t += "  global_load_dwordx4 " + quad(8 + 4 * k) +
         ", v2, s[4:5] offset:" + std::to_string(vector_at + 16 * k) + "\n";
  }
  if (lds) {
    for (unsigned k = 0; k < lds_bytes / 1024; ++k) {
      t += "  v_add_u32 v5, " + std::to_string(k * 1024) +
           ", v3\n  global_load_dwordx4 v[52:55], v5, s[8:9]\n"
           "  s_waitcnt vmcnt(0)\n  ds_write_b128 v5, v[52:55]\n";
    }
  }
  t += "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_mov_b64 vcc, s[64:65]\n  s_mov_b32 m0, s68\n  s_cmp_lg_u32 s69, "
       "0\n"
       "  s_mov_b64 exec, s[66:67]\n  s_nop 7\n  " +
       c.text +
       "\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_nop 7\n  s_cselect_b32 s69, 1, 0\n  s_mov_b64 s[66:67], exec\n"
       "  s_mov_b64 exec, -1\n  s_mov_b64 s[64:65], vcc\n  s_mov_b32 s68, m0\n  v_mov_b32 v50, 0\n";
  for (unsigned k = 0; k < scalar_words; ++k) {
    t += "  v_writelane_b32 v50, s" + std::to_string(32 + k) + ", " + std::to_string(k) + "\n";
  }
  t += "  global_store_dword v4, v50, s[6:7]\n";
  for (unsigned k = 0; k < vgprs / 4; ++k) {
    t += "  global_store_dwordx4 v2, " + quad(8 + 4 * k) +
         ", s[6:7] offset:" + std::to_string(vector_at + 16 * k) + "\n";
  }
  if (lds) {
    for (unsigned k = 0; k < lds_bytes / 1024; ++k) {
      t += "  v_add_u32 v5, " + std::to_string(k * 1024) +
           ", v3\n  ds_read_b128 v[52:55], v5\n"
           "  s_waitcnt lgkmcnt(0)\n  global_store_dwordx4 v5, v[52:55], s[10:11]\n";
    }
    const std::string size = std::to_string(lds_bytes);
    t += "  s_add_u32 s8, s8, " + size + "\n  s_addc_u32 s9, s9, 0\n  s_add_u32 s10, s10, " + size +
         "\n  s_addc_u32 s11, s11, 0\n";
  }
  const std::string size = std::to_string(block_bytes);
  return t + "  s_add_u32 s4, s4, " + size + "\n  s_addc_u32 s5, s5, 0\n  s_add_u32 s6, s6, " + size +
         "\n  s_addc_u32 s7, s7, 0\n";
}

std::vector<u32> to_words(const State& s) {
  std::vector<u32> w(block_bytes / 4);
  std::copy(s.s.begin(), s.s.end(), w.begin());
  w[32] = static_cast<u32>(s.vcc);
  w[33] = static_cast<u32>(s.vcc >> 32);
  w[34] = static_cast<u32>(s.exec);
  w[35] = static_cast<u32>(s.exec >> 32);
  w[36] = s.m0;
  w[37] = s.scc ? 1 : 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    std::copy(s.v[lane].begin(), s.v[lane].end(), w.begin() + vector_at / 4 + lane * vgprs);
  }
  return w;
}

State from_words(const u32* w) {
  State s;
  std::copy_n(w, sgprs, s.s.begin());
  s.vcc = w[32] | u64{w[33]} << 32;
  s.exec = w[34] | u64{w[35]} << 32;
  s.m0 = w[36];
  s.scc = w[37] != 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    std::copy_n(w + vector_at / 4 + lane * vgprs, vgprs, s.v[lane].begin());
  }
  return s;
}

/// The first difference, for people; empty when there is none.
std::string difference(const State& got, const State& want) {
  std::ostringstream out;
  out << std::hex;
  const auto value = [&](const std::string& name, u64 x, u64 y) {
    if (x != y && out.str().empty()) out << name << " is 0x" << x << ", expected 0x" << y;
  };
  for (unsigned n = 0; n < sgprs; ++n) value("s" + std::to_string(32 + n), got.s[n], want.s[n]);
  value("vcc", got.vcc, want.vcc);
  value("exec", got.exec, want.exec);
  value("m0", got.m0, want.m0);
  value("scc", got.scc ? 1 : 0, want.scc ? 1 : 0);
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned n = 0; n < vgprs; ++n) {
      value("lane " + std::to_string(lane) + " v" + std::to_string(8 + n), got.v[lane][n], want.v[lane][n]);
    }
  }
  for (std::size_t n = 0; n < want.lds.size(); ++n)
    value("lds byte " + std::to_string(n), got.lds[n], want.lds[n]);
  for (std::size_t n = 0; n < want.memory.size(); ++n) {
    value("memory byte " + std::to_string(n), got.memory[n], want.memory[n]);
  }
  return out.str();
}

} // namespace

Covered& covered() {
  static Covered set;
  return set;
}

std::string traced_instruction(std::string_view line) {
  line.remove_prefix(std::min(line.size(), line.find("  ") + 2));
  line = line.substr(0, line.find(" ;"));
  while (line.ends_with(' ')) line.remove_suffix(1);
  return std::string(line);
}

void note_covered(isa::Arch arch, const std::string& text, const std::set<std::string>& trace) {
  for (const isa::Instruction& i : isa::decode(isa::assemble(text, arch), 0, arch).instructions) {
    if (trace.count(i.text) == 1) covered().emplace(arch, i.format, std::string(i.mnemonic));
  }
}

bool assembles(const std::string& text, isa::Arch arch) {
  try {
    return !isa::assemble(text, arch).empty();
  } catch (const isa::IsaError&) {
    return false;
  }
}

u32 random_word(std::mt19937_64& random) {
  constexpr std::array<u32, 12> edges = {0,           1,           0x80000000U, 0x7fffffffU,
                                         0xffffffffU, 0x0000ffffU, 0x00008000U, 0xff800000U,
                                         0x3f800000U, 0x7fc00000U, 0x00800000U, 31};
  const auto bits = static_cast<u32>(random());
  const auto kind = random() % 6;
  return kind == 0 ? edges[bits % edges.size()] : kind == 1 ? bits % 70 : bits;
}

State random_state(std::mt19937_64& random) {
  State s;
  for (auto& lane : s.v) {
    for (auto& word : lane) word = random_word(random);
  }
  for (auto& word : s.s) word = random_word(random);
  s.vcc = random();
  s.m0 = random_word(random);
  s.scc = (random() & 1U) != 0;
  return s;
}

void with_lds(State& s, std::mt19937_64& random) {
  s.lds.resize(lds_bytes);
  for (auto& byte : s.lds) byte = static_cast<u8>(random());
}

void with_memory(State& s, std::mt19937_64& random) {
  s.memory.resize(memory_bytes);
  for (auto& byte : s.memory) byte = static_cast<u8>(random());
}

void run(isa::Arch arch, const std::vector<Case>& cases, const LabOptions& options) {
  constexpr std::size_t batch = 64;
  for (std::size_t begin = 0; begin < cases.size(); begin += batch) {
    const std::size_t count = std::min(batch, cases.size() - begin);
    std::string text = prologue();
    std::vector<u32> blocks;
    std::vector<u8> lds;
    EmulatorDevice device(arch, {.threads = 1, .checks = Checks::none()});
    std::vector<State> before;
    std::vector<DevicePointer> memory;
    for (std::size_t n = begin; n < begin + count; ++n) {
      const Case& c = cases[n];
      text += around(c);
      before.push_back(c.before);
      State& s = before.back();
      memory.push_back(0);
      if (!s.memory.empty()) {
        memory.back() = emulator_test::upload(device, s.memory);
        s.address = memory.back();
        s.set64(sgprs - 2, s.address);
      }
      if (c.place) c.place(s);
      const auto words = to_words(s);
      blocks.insert(blocks.end(), words.begin(), words.end());
      lds.insert(lds.end(), s.lds.begin(), s.lds.end());
    }
    const std::string mode = std::to_string(options.denormals);
    const auto object = emulator_test::kernel(text + "  s_endpgm", arch,
                                              {.lds = lds_bytes,
                                               .scratch = 256,
                                               .vgprs = 128,
                                               .accum_offset = 64,
                                               .extra = ".amdhsa_float_denorm_mode_32 " + mode +
                                                        "\n.amdhsa_float_denorm_mode_16_64 " + mode +
                                                        "\n.amdhsa_ieee_mode " + (options.ieee ? "1" : "0")});
    const DevicePointer in = emulator_test::upload(device, blocks), out = device.allocate(blocks.size() * 4);
    lds.resize(std::max<std::size_t>(lds.size(), 16));
    const DevicePointer lds_in = emulator_test::upload(device, lds), lds_out = device.allocate(lds.size());
    std::set<std::string> trace;
    device.options().trace = {.enabled = true,
                              .line = [&](std::string_view l) { trace.insert(traced_instruction(l)); }};
    emulator_test::run(
        device, object, {.grid = {1}, .block = {64}},
        emulator_test::Arguments().pointer(in).pointer(out).pointer(lds_in).pointer(lds_out).bytes());
    const auto words = emulator_test::download<u32>(device, out, blocks.size());
    const auto lds_after = emulator_test::download<u8>(device, lds_out, lds.size());
    std::size_t lds_at = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const Case& c = cases[begin + n];
      State got = from_words(words.data() + n * block_bytes / 4);
      if (!c.before.lds.empty()) {
        got.lds.assign(lds_after.begin() + static_cast<std::ptrdiff_t>(lds_at),
                       lds_after.begin() + static_cast<std::ptrdiff_t>(lds_at + lds_bytes));
        lds_at += lds_bytes;
      }
      if (memory[n] != 0) got.memory = emulator_test::download<u8>(device, memory[n], memory_bytes);
      got.address = before[n].address;
      std::string wrong;
      if (c.accept) {
        wrong = c.accept(before[n], got) ? "" : "not accepted";
      } else {
        State want = before[n];
        c.expect(want);
        wrong = difference(got, want);
      }
      if (wrong.empty()) {
        note_covered(arch, c.text, trace);
      } else {
        INFO(isa::to_string(arch) << ": " << c.text);
        CHECK(wrong == "");
      }
    }
  }
}

} // namespace differential
