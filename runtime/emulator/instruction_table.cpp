// All instructions of an architecture, from the encodings themselves: each opcode of each format is put into a word with
// plain operands and decoded ("AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapter "Microcode Formats").
#include "engine.h"

#include <map>

namespace inlay::runtime {
namespace {

using emulator::u32;
using emulator::u64;
using emulator::u8;
using isa::Format;

void put(std::vector<u8>& code, u64 value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) code.push_back(i < 8 ? static_cast<u8>(value >> (8 * i)) : u8{0});
}

/// Encodings of opcode `op` in every format that has room for it; operands are even-numbered registers.
std::vector<std::vector<u8>> encodings(unsigned op) {
  std::vector<std::vector<u8>> all;
  const auto add4 = [&](u32 word) {
    all.emplace_back();
    put(all.back(), word, 4);
    put(all.back(), 0, 12); // a literal, should the instruction want one
  };
  const auto add8 = [&](u64 word) {
    all.emplace_back();
    put(all.back(), word, 8);
    put(all.back(), 0, 8);
  };
  const u32 v = 0x100; // vector registers in 9-bit source fields
  if (op < 256) {
    add4(0xbe800000U | (4U << 16) | (op << 8) | 8U);      // SOP1
    add4(0x7e000000U | (4U << 17) | (op << 9) | v | 8U);  // VOP1
    add4(0x7e000000U | (op << 9));                        // VOP1 without operands
    add4(0x7c000000U | (op << 17) | (8U << 9) | v | 12U); // VOPC
    for (const u64 immediate : {u64{0}, u64{1} << 17}) {
      add8((u64{0x30} << 26) | (u64{op} << 18) | immediate | (u64{8} << 6) | 8U); // SMEM
    }
    for (const u64 fields :
         {u64{0x04001008}, u64{0x04000c08}, u64{0x00000c08}, u64{0x00100c08}, u64{0x04000008},
          u64{0x04100c08}, u64{0x04000000}, u64{0x00000c00}, u64{0x00000008}}) {
      add8((u64{0x36} << 26) | (u64{op} << 17) | (fields << 32)); // DS: vdst, data1, data0, addr
    }
    for (const u64 address : {u64{0}, u64{8}}) { // global wave sync has the GDS bit
      add8((u64{0x36} << 26) | (u64{op} << 17) | (u64{1} << 16) | (address << 32));
    }
  }
  if (op < 128) {
    add4(0x80000000U | (op << 23) | (4U << 16) | (12U << 8) | 8U); // SOP2
    add4(0xbf000000U | (op << 16) | (12U << 8) | 8U);              // SOPC
    add4(0xbf800000U | (op << 16));                                // SOPP
    for (const u64 sources : {u64{v + 8} | (u64{v + 8} << 9) | (u64{v + 8} << 18)}) {
      add8((u64{0x1a7} << 23) | (u64{op} << 16) | 16U | (sources << 32)); // VOP3P
      add8((u64{0x1a7} << 23) | (u64{op} << 16) | 16U | (sources << 32) | (u64{0x18} << 56) | (1U << 14));
    }
    add8((u64{0x38} << 26) | (u64{op} << 18) | (u64{8} << 32) | (u64{16} << 40) | (u64{2} << 48) |
         (u64{0x80} << 56));                 // MUBUF
    for (const u64 segment : {0U, 1U, 2U}) { // FLAT, SCRATCH, GLOBAL
      for (const u64 fields :
           {u64{0x187f1008}, u64{0x18081008}, u64{0x18000008}, u64{0x007f1008}, u64{0x00081008},
            u64{0x00001008}, u64{0x187f0008}, u64{0x007f0008}, u64{0x18001008}}) {
        add8((u64{0x37} << 26) | (u64{op} << 18) | (segment << 14) | (fields << 32));
        add8((u64{0x37} << 26) | (u64{op} << 18) | (segment << 14) | (u64{1} << 16) |
             (fields << 32)); // returning atomics
      }
    }
  }
  if (op < 64) add4((op << 25) | (4U << 17) | (8U << 9) | v | 12U); // VOP2
  if (op < 32) add4(0xb0000000U | (op << 23) | (4U << 16) | 1U);    // SOPK
  if (op < 16) {
    add8((u64{0x3a} << 26) | (u64{op} << 15) | (u64{4} << 19) | (u64{8} << 32) | (u64{16} << 40) |
         (u64{2} << 48) | (u64{0x80} << 56)); // MTBUF
  }
  if (op < 1024) {
    // VOP3: destinations may be vector or scalar, the third source may be absent.
    for (const u64 destination : {16U, 106U}) {
      add8((u64{0x34} << 26) | (u64{op} << 16) | destination | (u64{v + 8} << 32) | (u64{v + 12} << 41) |
           (u64{v + 20} << 50));
      add8((u64{0x34} << 26) | (u64{op} << 16) | destination | (u64{v + 8} << 32) | (u64{v + 12} << 41));
    }
    add8((u64{0x34} << 26) | (u64{op} << 16) | (u64{106} << 8) | 16U | (u64{v + 8} << 32) |
         (u64{v + 12} << 41) | (u64{v + 20} << 50));
    add8((u64{0x34} << 26) | (u64{op} << 16) | 16U | (u64{v + 8} << 32));
    add8((u64{0x34} << 26) | (u64{op} << 16) | 16U | (u64{v + 8} << 32) |
         (u64{8} << 41)); // lane numbers are scalar
    add8((u64{0x34} << 26) | (u64{op} << 16) | 16U | (u64{12} << 32) | (u64{8} << 41));
  }
  return all;
}

} // namespace

std::vector<InstructionSupport> instruction_support(isa::Arch arch) {
  std::vector<u8> code;
  for (unsigned op = 0; op < 1024; ++op) {
    for (const std::vector<u8>& one : encodings(op)) code.insert(code.end(), one.begin(), one.end());
  }
  // The scaled matrix instructions are pairs: the scales' word, then the product's.
  for (const u64 op : {0x2dU, 0x2eU}) {
    put(code, 0xd3ac0000U, 4);
    put(code, 0x00022b14U, 4);
    put(code, 0xd3808800U | (op << 16), 4);
    put(code, 0x04021502U, 4);
  }
  const isa::Program program = isa::decode(code, 0, arch);
  std::map<std::pair<Format, std::string>, bool> found;
  for (std::size_t at = 0; at < code.size(); at += 16) {
    const auto index = program.index_of(at);
    if (!index) continue;
    const isa::Instruction& i = program.instructions[*index];
    if (i.is_unknown()) continue;
    bool& emulated = found[{i.format, std::string(i.mnemonic)}];
    emulated = emulated || is_emulated(i, arch);
  }
  std::vector<InstructionSupport> out;
  for (const auto& [key, emulated] : found) out.push_back({key.second, key.first, emulated});
  return out;
}

} // namespace inlay::runtime
