// Registers to registers of other lanes.
#include "tables.h"

#include <inlay/machine/target.h>

#include <inlay/algebra/parse.h>

#include <functional>

namespace inlay::codegen {
namespace {

constexpr int wave = 64;

Atom between_lanes(std::string name, TargetSet targets, Counter counter) {
  Atom a;
  a.name = std::move(name);
  a.kind = Atom::Kind::relayout;
  a.targets = targets;
  a.bits = 32;
  a.source = lane_side(AtomSpace::vector_registers, Addressing::none, 32);
  a.destination = a.source;
  a.counter = counter;
  return a;
}

// `from`: the lane that a lane receives, -1 for none.
Atom fixed(std::string name, TargetSet targets, Counter counter, Emission emission,
           const std::function<int(int)>& from) {
  Atom a = between_lanes(std::move(name), targets, counter);
  a.emission = std::move(emission);
  for (int lane = 0; lane < wave; ++lane) a.gather.push_back(from(lane));
  return a;
}

// A data parallel primitive: v_mov_b32_dpp with that control, rows and banks all enabled; lanes without a source get 0.
Atom dpp(const std::string& control, int code, const std::function<int(int)>& from) {
  return fixed("v_mov_b32_dpp " + control, machine::every_target, Counter::none,
               {"llvm.amdgcn.update.dpp.i32",
                "i32",
                {"i32 0", "i32", "i32 " + std::to_string(code), "i32 15", "i32 15", "i1 true"}},
               from);
}

void append_dpp(std::deque<Atom>& atoms) {
  const auto quad = [&](int a, int b, int c, int d) {
    const int pick[] = {a, b, c, d};
    std::string text = "quad_perm:[";
    for (int i = 0; i < 4; ++i) text += (i == 0 ? "" : ",") + std::to_string(pick[i]);
    const int code = a | b << 2 | c << 4 | d << 6;
    return dpp(text + "]", code, [=](int lane) {
      const int order[] = {a, b, c, d};
      return lane / 4 * 4 + order[lane % 4];
    });
  };
  for (int i = 0; i < 4; ++i) atoms.push_back(quad(i, i, i, i)); // broadcasts
  atoms.push_back(quad(1, 0, 3, 2));                             // lane ^ 1
  atoms.push_back(quad(2, 3, 0, 1));                             // lane ^ 2
  atoms.push_back(quad(3, 2, 1, 0));                             // lane ^ 3
  for (int n = 1; n < 16; ++n) {
    const std::string count = ":" + std::to_string(n);
    atoms.push_back(dpp("row_shl" + count, 0x100 + n, [n](int l) { return l % 16 + n < 16 ? l + n : -1; }));
    atoms.push_back(dpp("row_shr" + count, 0x110 + n, [n](int l) { return l % 16 >= n ? l - n : -1; }));
    atoms.push_back(
        dpp("row_ror" + count, 0x120 + n, [n](int l) { return l / 16 * 16 + (l + 16 - n) % 16; }));
  }
  atoms.push_back(dpp("wave_shl:1", 0x130, [](int l) { return l < wave - 1 ? l + 1 : -1; }));
  atoms.push_back(dpp("wave_rol:1", 0x134, [](int l) { return (l + 1) % wave; }));
  atoms.push_back(dpp("wave_shr:1", 0x138, [](int l) { return l - 1; }));
  atoms.push_back(dpp("wave_ror:1", 0x13c, [](int l) { return (l + wave - 1) % wave; }));
  atoms.push_back(dpp("row_mirror", 0x140, [](int l) { return l / 16 * 16 + 15 - l % 16; }));
  atoms.push_back(dpp("row_half_mirror", 0x141, [](int l) { return l / 8 * 8 + 7 - l % 8; }));
  // Lane 15 of a row to the whole next row; lane 31 to the upper half.
  atoms.push_back(dpp("row_bcast:15", 0x142, [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; }));
  atoms.push_back(dpp("row_bcast:31", 0x143, [](int l) { return l < 32 ? -1 : 31; }));
  for (int n = 0; n < 16; ++n)
    atoms.push_back(
        dpp("row_newbcast:" + std::to_string(n), 0x150 + n, [n](int l) { return l / 16 * 16 + n; }));
}

// Within 32 lanes, in LDS hardware but without LDS memory.
void append_swizzles(std::deque<Atom>& atoms) {
  const auto swizzle = [&](const std::string& text, int offset, const std::function<int(int)>& from) {
    atoms.push_back(fixed(offset == 0 ? "ds_swizzle_b32" : "ds_swizzle_b32 offset:swizzle(" + text + ")",
                          machine::every_target, Counter::lgkm,
                          {"llvm.amdgcn.ds.swizzle", "i32", {"i32", "i32 " + std::to_string(offset)}}, from));
  };
  // Bit mask mode: offset = xor << 10 | or << 5 | and. The assembler names the masks of powers of two.
  for (int mask = 1; mask < 32; ++mask) {
    const bool power = (mask & (mask - 1)) == 0, ones = (mask & (mask + 1)) == 0;
    std::string bits;
    for (int b = 4; b >= 0; --b) bits += (mask >> b & 1) != 0 ? 'i' : 'p';
    const std::string text = power  ? "SWAP," + std::to_string(mask)
                             : ones ? "REVERSE," + std::to_string(mask + 1)
                                    : "BITMASK_PERM,\"" + bits + "\"";
    swizzle(text, mask << 10 | 0x1f, [mask](int l) { return l ^ mask; });
  }
  for (const int size : {2, 4, 8, 16, 32})
    for (int lane = 0; lane < size; ++lane)
      if (lane == 0 || lane == size - 1)
        swizzle("BROADCAST," + std::to_string(size) + "," + std::to_string(lane),
                lane << 5 | (0x1f & ~(size - 1)), [=](int l) { return l / size * size + lane; });
}

struct SwapRow {
  std::string_view name, intrinsic;
  std::string_view data; // (lane, (bit, register)) -> slot, after the exchange
};
// Register 0 (vdst) and 1 (vsrc); slots number lanes of register 0, then of register 1. Odd rows of the one change places
// with even rows of the other.
constexpr SwapRow swaps[] = {
    {"v_permlane16_swap_b32", "llvm.amdgcn.permlane16.swap", "((16,2,2),(32,2)):((32,2048,1024),(1,512))"},
    {"v_permlane32_swap_b32", "llvm.amdgcn.permlane32.swap", "((32,2),(32,2)):((32,2048),(1,1024))"},
};

} // namespace

void append_relayouts(std::deque<Atom>& atoms) {
  append_dpp(atoms);
  append_swizzles(atoms);
  for (const SwapRow& r : swaps) {
    Atom a = between_lanes(std::string(r.name), machine::with(&Target::swaps_lanes), Counter::none);
    a.bits = 64;
    a.source.address = a.destination.address = parse_layout("(64,(32,2)):(0,(1,32))");
    a.source.data = parse_layout("(64,(32,2)):(32,(1,2048))");
    a.destination.data = parse_layout(r.data);
    a.emission = {std::string(r.intrinsic), "{ i32, i32 }", {"i32", "i32", "i1 false", "i1 false"}};
    atoms.push_back(std::move(a));
  }
  // The lane comes from a register: 4 x the lane to read from (bpermute), or to write to (permute).
  Atom pull = between_lanes("ds_bpermute_b32", machine::every_target, Counter::lgkm);
  pull.emission = {"llvm.amdgcn.ds.bpermute", "i32", {"i32", "i32"}};
  atoms.push_back(std::move(pull));
  Atom push = between_lanes("ds_permute_b32", machine::every_target, Counter::lgkm);
  push.emission = {"llvm.amdgcn.ds.permute", "i32", {"i32", "i32"}};
  atoms.push_back(std::move(push));
  // To and from scalar registers.
  const Layout one = Layout::from(IntTuple::of({Int(1), Int(32)}), IntTuple::of({Int(0), Int(1)}));
  Atom first = fixed("v_readfirstlane_b32", machine::every_target, Counter::none,
                     {"llvm.amdgcn.readfirstlane.i32", "i32", {"i32"}}, [](int) { return 0; });
  first.gather.resize(1); // lane 0 while all lanes are active
  first.destination = {AtomSpace::scalar_registers, Addressing::none, one, one};
  atoms.push_back(std::move(first));
  Atom read = between_lanes("v_readlane_b32", machine::every_target, Counter::none);
  read.emission = {"llvm.amdgcn.readlane.i32", "i32", {"i32", "i32"}};
  read.destination = {AtomSpace::scalar_registers, Addressing::none, one, one};
  atoms.push_back(std::move(read));
  Atom write = between_lanes("v_writelane_b32", machine::every_target, Counter::none);
  write.emission = {"llvm.amdgcn.writelane.i32", "i32", {"i32", "i32", "i32"}};
  write.source = {AtomSpace::scalar_registers, Addressing::none, one, one};
  atoms.push_back(std::move(write));
}

} // namespace inlay::codegen
