// Matrix instructions assembled and executed on the device against the definition, with registers at random places, VGPRs and
// accumulation registers, and lanes switched off, which they ignore.
#include "differential.h"
#include "emulator_support.h"
#include "mfma_support.h"

using namespace differential;

namespace {

/// Registers of the operands: D and C share theirs.
struct Places {
  unsigned a = 64, b = 80, c = 96, index = 4, scale_a = 5, scale_b = 6;
  bool acc = false; ///< C and D are accumulation registers
};

std::string range(const char* file, unsigned first, std::size_t count) {
  return count == 1 ? file + std::to_string(first)
                    : std::string(file) + "[" + std::to_string(first) + ":" +
                          std::to_string(first + count - 1) + "]";
}

} // namespace

void differential::matrix_family() {
  static bool done = false;
  if (done) return;
  done = true;
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a}) {
    std::mt19937 random(41);
    EmulatorDevice device(arch, {.threads = 1, .checks = Checks::none()});
    for (const MatrixOp& op : matrix_ops()) {
      if (!op.on(inlay::machine::Target::named(isa::to_string(arch)).arch)) continue;
      const auto kind = arch == isa::Arch::gfx950 ? numerics::Fp8::ocp : numerics::Fp8::fnuz;
      std::set<std::string> done_forms;
      for (auto modifiers : oracle::type_modifiers(op)) {
        if (op.typed_by_modifiers && modifiers.cbsz != modifiers.blgp &&
            (modifiers.cbsz + 2 * modifiers.blgp) % 5 != 0)
          continue;
        if (op.sparse) modifiers.abid = static_cast<u8>(random() % 2);
        oracle::Problem p(op, modifiers, kind);
        const auto small = [&] {
          constexpr double values[] = {0, 1, 2, 3, 4, 6};
          return values[random() % 6] * (random() % 2 == 0 ? 1 : -1);
        };
        for (auto& x : p.a) x = small();
        for (auto& x : p.b) x = small();
        for (auto& x : p.c) x = static_cast<double>(static_cast<int>(random() % 2001) - 1000);
        for (auto& word : p.index) word = random() % 2 == 0 ? 0x9e4d8c9dU : 0x44444444U;
        p.store();
        Places at;
        at.acc = random() % 2 == 0;
        const char* file = at.acc ? "a" : "v";
        const unsigned c_first = at.acc ? 0 : at.c;
        const auto a = range("v", at.a, p.a_registers.size() / 64),
                   b = range("v", at.b, p.b_registers.size() / 64),
                   c = range(file, c_first, p.c_registers.size() / 64);
        std::string text =
            std::string(op.name) + " " + c + ", " + a + ", " + b + ", " + (op.sparse ? "v4" : c);
        if (op.scaled) text += ", v5, v6 op_sel_hi:[0,0,0]";
        if (modifiers.cbsz != 0) text += " cbsz:" + std::to_string(modifiers.cbsz);
        if (modifiers.abid != 0) text += " abid:" + std::to_string(modifiers.abid);
        if (modifiers.blgp != 0) text += " blgp:" + std::to_string(modifiers.blgp);
        INFO(isa::to_string(arch) << ": " << text);
        REQUIRE(assembles(text, arch));
        // One register after the other from memory, 256 bytes each.
        std::string body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\n v_and_b32 v0, 0x3ff, v0\n v_lshlrev_b32 v1, "
                           "2, v0\n s_waitcnt lgkmcnt(0)\n";
        std::vector<u32> data;
        const auto fetch = [&](const char* to, unsigned first, const oracle::Registers& r) {
          data.insert(data.end(), r.begin(), r.end());
          for (unsigned n = 0; n < r.size() / 64; ++n) {
            body += " global_load_dword " + std::string(to) + std::to_string(first + n) +
                    ", v1, s[4:5]\n s_add_u32 s4, s4, 0x100\n s_addc_u32 s5, s5, 0\n";
          }
        };
        fetch("v", at.a, p.a_registers);
        fetch("v", at.b, p.b_registers);
        fetch(file, c_first, p.c_registers);
        fetch("v", at.index, p.index);
        fetch("v", at.scale_a, oracle::Registers(64, 128)); // 2
        fetch("v", at.scale_b, oracle::Registers(64, 129)); // 4
        body += " s_waitcnt vmcnt(0)\n s_mov_b64 exec, 0xff00ff\n s_nop 7\n " + text +
                "\n s_nop 15\n s_nop 15\n s_mov_b64 exec, -1\n";
        for (unsigned n = 0; n < p.c_registers.size() / 64; ++n) {
          body += " global_store_dword v1, " + std::string(file) + std::to_string(c_first + n) +
                  ", s[6:7]\n s_add_u32 s6, s6, 0x100\n s_addc_u32 s7, s7, 0\n";
        }
        const DevicePointer in = emulator_test::upload(device, data);
        const DevicePointer out = device.allocate(p.c_registers.size() * 4);
        std::set<std::string> trace;
        device.options().trace = {.enabled = true,
                                  .line = [&](std::string_view l) { trace.insert(traced_instruction(l)); }};
        emulator_test::run(
            device, emulator_test::kernel(body + " s_endpgm", arch, {.vgprs = 256, .accum_offset = 128}),
            {.grid = {1}, .block = {64}}, emulator_test::Arguments().pointer(in).pointer(out).bytes());
        const auto got = p.numbers(emulator_test::download<u32>(device, out, p.c_registers.size()));
        auto want = p.definition();
        if (op.scaled) { // 8 = 2 * 4 times the product
          for (std::size_t n = 0; n < want.size(); ++n) want[n] = p.c[n] + 8 * (want[n] - p.c[n]);
        }
        const bool same = got == want;
        CHECK(same);
        if (same) note_covered(arch, text, trace);
        device.release(in);
        device.release(out);
      }
    }
  }
}
