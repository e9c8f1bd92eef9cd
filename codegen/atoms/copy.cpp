// Loads, stores and transfers from memory to LDS.
#include "tables.h"

#include <inlay/machine/target.h>

#include <inlay/algebra/parse.h>

namespace inlay::codegen {
namespace {

using enum Addressing;

// Constants that an instruction adds to its address, in bytes: MUBUF 12 bits, GLOBAL 13 bits with sign, FLAT 12 bits, DS
// 16 bits, SMEM 21 bits with sign. Of read2 and write2: 8 bits counted in elements, or in 64 elements (st64).
constexpr Immediate mubuf{0, 4095, 1}, global_offset{-4096, 4095, 1}, flat_offset{0, 4095, 1},
    ds{0, 65535, 1}, smem{-(1 << 20), (1 << 20) - 1, 1}, smem_buffer{0, (1 << 20) - 1, 1};

struct Way { // one way to memory
  std::string_view prefix;
  Addressing addressing;
  AtomSpace space;
  Immediate immediate;
  Counter counter;
  bool in_order;
};
constexpr Way vector_memory[] = {
    {"buffer", descriptor, AtomSpace::global, mubuf, Counter::vm, true},
    {"global", pointer, AtomSpace::global, global_offset, Counter::vm, true},
    {"flat", flat, AtomSpace::global, flat_offset, Counter::vm_and_lgkm, false},
};
constexpr Way data_share{"ds", Addressing::lds, AtomSpace::lds, ds, Counter::lgkm, true};

struct Width { // and what LLVM calls a value of it
  int bits;
  std::string_view memory_load, memory_store, lds_load, lds_store, type;
};
constexpr Width widths[] = {
    {8, "ubyte", "byte", "u8", "b8", "i8"},
    {16, "ushort", "short", "u16", "b16", "i16"},
    {32, "dword", "dword", "b32", "b32", "i32"},
    {64, "dwordx2", "dwordx2", "b64", "b64", "<2 x i32>"},
    {96, "dwordx3", "dwordx3", "b96", "b96", "<3 x i32>"},
    {128, "dwordx4", "dwordx4", "b128", "b128", "<4 x i32>"},
};

std::string_view pointer_type(Addressing a) {
  switch (a) {
  case descriptor: return "ptr addrspace(8)";
  case pointer: return "ptr addrspace(1)";
  case flat: return "ptr";
  default: return "ptr addrspace(3)";
  }
}

// LLVM's suffix of an overloaded intrinsic.
std::string mangled(std::string_view type) {
  if (type.front() != '<') return std::string(type);
  return "v" + std::string(1, type[1]) + "i32";
}

int natural_alignment(const Way& way, int bits) {
  if (way.space == AtomSpace::lds) return bits == 96 ? 16 : bits / 8;
  return bits < 32 ? bits / 8 : 4;
}

Atom load(const Way& way, const Width& w, bool sign_extends) {
  const bool lds = way.space == AtomSpace::lds;
  std::string suffix(lds ? w.lds_load : w.memory_load);
  if (sign_extends) suffix[0] = lds ? 'i' : 's';
  Atom a;
  a.name = std::string(way.prefix) + (lds ? "_read_" : "_load_") + suffix;
  a.kind = Atom::Kind::copy;
  a.targets = machine::every_target;
  a.source = lane_side(way.space, way.addressing, w.bits);
  a.destination = lane_side(AtomSpace::vector_registers, none, w.bits);
  a.bits = w.bits;
  a.alignment = natural_alignment(way, w.bits);
  a.sign_extends = sign_extends;
  a.immediate = way.immediate;
  a.counter = way.counter;
  a.in_order = way.in_order;
  if (way.addressing == descriptor) // descriptor, offset, scalar offset, cache policy
    a.emission = {"llvm.amdgcn.raw.ptr.buffer.load." + mangled(w.type),
                  std::string(w.type),
                  {"ptr addrspace(8)", "i32", "i32", "i32 0"}};
  else
    a.emission = {"load", std::string(w.type), {std::string(pointer_type(way.addressing))}};
  return a;
}

Atom store(const Way& way, const Width& w) {
  const bool lds = way.space == AtomSpace::lds;
  Atom a = load(way, w, false);
  a.name = std::string(way.prefix) + (lds ? "_write_" : "_store_") +
           std::string(lds ? w.lds_store : w.memory_store);
  std::swap(a.source, a.destination);
  if (way.addressing == descriptor)
    a.emission = {"llvm.amdgcn.raw.ptr.buffer.store." + mangled(w.type),
                  "void",
                  {std::string(w.type), "ptr addrspace(8)", "i32", "i32", "i32 0"}};
  else
    a.emission = {"store", "void", {std::string(w.type), std::string(pointer_type(way.addressing))}};
  return a;
}

// Two places, each with an immediate of 8 bits. The layouts are those of the second place following the first.
Atom two(const Width& w, bool reads, bool by_64) {
  const Width both{2 * w.bits, {}, {}, {}, {}, {}};
  Atom a = reads ? load(data_share, w, false) : store(data_share, w);
  AtomSide& in_lds = reads ? a.source : a.destination;
  AtomSide& in_registers = reads ? a.destination : a.source;
  in_lds = lane_side(AtomSpace::lds, Addressing::lds, both.bits);
  in_registers = lane_side(AtomSpace::vector_registers, none, both.bits);
  a.name = std::string(reads ? "ds_read2" : "ds_write2") + (by_64 ? "st64_" : "_") + std::string(w.lds_store);
  a.bits = both.bits;
  a.parts = 2;
  const int unit = w.bits / 8 * (by_64 ? 64 : 1);
  a.immediate = {0, 255 * unit, unit};
  // The emission is that of one part: LLVM makes one instruction of two loads (stores) whose places the immediates hold.
  return a;
}

// Memory to LDS: address, then LDS base (M0, uniform); lane l at base + 4 l for widths up to 32 bits, else base + bits/8 l.
Atom dma(const Way& way, const Width& w, TargetSet targets, std::string_view place, bool scopes) {
  const bool buffer = way.addressing == descriptor;
  Atom a;
  a.name = buffer   ? "buffer_load_" + std::string(w.memory_load) + " lds"
           : scopes ? "global_load_lds_" + std::string(w.memory_load)
                    : "global_load_" + std::string(w.memory_load) + " lds"; // CDNA2's name
  a.kind = Atom::Kind::copy;
  a.targets = targets;
  a.source = lane_side(AtomSpace::global, way.addressing, w.bits);
  a.destination = lane_side(AtomSpace::lds, m0, w.bits);
  a.destination.address = parse_layout(place);
  a.bits = w.bits;
  a.alignment = w.bits < 32 ? w.bits / 8 : 4;
  a.immediate = way.immediate;
  a.immediate_moves_both = true;
  a.counter = Counter::vm;
  const std::string size = "i32 " + std::to_string(w.bits / 8);
  if (buffer) // descriptor, LDS, bytes, offset, scalar offset, immediate, cache policy
    a.emission = {"llvm.amdgcn.raw.ptr.buffer.load.lds",
                  "void",
                  {"ptr addrspace(8)", "ptr addrspace(3)", size, "i32", "i32", "i32 0", "i32 0"}};
  else
    a.emission = {"llvm.amdgcn.global.load.lds",
                  "void",
                  {"ptr addrspace(1)", "ptr addrspace(3)", size, "i32 0", "i32 0"}};
  return a;
}

struct DmaRow {
  int width; // index in `widths`
  TargetSet targets;
  std::string_view place; // (lane, bit) -> bit from the base in LDS
};
constexpr DmaRow dma_rows[] = {
    {0, machine::every_target, "(64,8):(32,1)"},         // zero-extended to a word
    {1, machine::every_target, "(64,16):(32,1)"},        // likewise
    {2, machine::every_target, "(64,32):(32,1)"},        //
    {4, machine::moving_to_lds(12), "(64,96):(96,1)"},   //
    {5, machine::moving_to_lds(16), "(64,128):(128,1)"}, //
};

struct TransposeRow {
  std::string_view name, data, intrinsic, type;
  int bits;
};
// Groups of 16 lanes read a row-major block of 16 columns, lane after lane; lane t gets column t, values down the rows.
constexpr TransposeRow transposes[] = {
    {"ds_read_b64_tr_b16", "((16,4),(16,4)):((16,1024),(1,256))", "llvm.amdgcn.ds.read.tr16.b64.v4i16",
     "<4 x i16>", 64},
    {"ds_read_b64_tr_b8", "((16,4),(8,8)):((8,1024),(1,128))", "llvm.amdgcn.ds.read.tr8.b64.v2i32",
     "<2 x i32>", 64},
    {"ds_read_b96_tr_b6", "((16,4),(6,16)):((6,1536),(1,96))", "llvm.amdgcn.ds.read.tr6.b96.v3i32",
     "<3 x i32>", 96},
    {"ds_read_b64_tr_b4", "((16,4),(4,16)):((4,1024),(1,64))", "llvm.amdgcn.ds.read.tr4.b64.v2i32",
     "<2 x i32>", 64},
};

Atom transpose(const TransposeRow& r) {
  Atom a;
  a.name = r.name;
  a.kind = Atom::Kind::copy;
  a.targets = machine::with(&Target::transposes_lds);
  a.source = lane_side(AtomSpace::lds, Addressing::lds, r.bits);
  a.destination = lane_side(AtomSpace::vector_registers, none, r.bits);
  a.destination.data = parse_layout(r.data);
  a.bits = r.bits;
  a.alignment = r.bits == 96 ? 16 : 8;
  a.immediate = ds;
  a.counter = Counter::lgkm;
  a.emission = {std::string(r.intrinsic), std::string(r.type), {"ptr addrspace(3)"}};
  return a;
}

Atom scalar_load(bool buffer, int words) {
  const int bits = 32 * words;
  const std::string type = words == 1 ? "i32" : "<" + std::to_string(words) + " x i32>";
  Atom a;
  a.name = std::string(buffer ? "s_buffer_load_dword" : "s_load_dword") +
           (words == 1 ? "" : "x" + std::to_string(words));
  a.kind = Atom::Kind::copy;
  a.targets = machine::every_target;
  const Layout one_lane = Layout::from(IntTuple::of({Int(1), Int(bits)}), IntTuple::of({Int(0), Int(1)}));
  a.source = {AtomSpace::global, buffer ? scalar_descriptor : scalar, one_lane, one_lane};
  a.destination = {AtomSpace::scalar_registers, none, one_lane, one_lane};
  a.bits = bits;
  a.alignment = 4;
  a.immediate = buffer ? smem_buffer : smem;
  a.counter = Counter::lgkm;
  a.in_order = false;
  if (buffer)
    a.emission = {"llvm.amdgcn.s.buffer.load." + (words == 1 ? type : "v" + std::to_string(words) + "i32"),
                  type,
                  {"<4 x i32>", "i32", "i32 0"}};
  else
    a.emission = {"load", type, {"ptr addrspace(4)"}};
  return a;
}

} // namespace

AtomSide lane_side(AtomSpace space, Addressing addressing, int bits) {
  const IntTuple shape = IntTuple::of({Int(64), Int(bits)});
  return {space, addressing, Layout::from(shape, IntTuple::of({Int(0), Int(1)})),
          Layout::from(shape, IntTuple::of({Int(bits), Int(1)}))};
}

void append_copies(std::deque<Atom>& atoms) {
  for (const Way& way : vector_memory)
    for (const Width& w : widths) {
      atoms.push_back(load(way, w, false));
      if (w.bits < 32) atoms.push_back(load(way, w, true));
    }
  for (const Way& way : vector_memory)
    for (const Width& w : widths) atoms.push_back(store(way, w));
  for (const Way& way : vector_memory)
    if (way.addressing != flat)
      for (const DmaRow& r : dma_rows) {
        const auto of = [&](bool scopes) {
          return machine::targets_where([&](const Target& t) {
            return r.targets.contains(t) && (way.addressing == descriptor || t.scopes == scopes);
          });
        };
        atoms.push_back(dma(way, widths[r.width], of(true), r.place, true));
        if (way.addressing != descriptor && of(false) != TargetSet{})
          atoms.push_back(dma(way, widths[r.width], of(false), r.place, false));
      }
  for (const Width& w : widths) {
    atoms.push_back(load(data_share, w, false));
    if (w.bits < 32) atoms.push_back(load(data_share, w, true));
  }
  for (const Width& w : widths) atoms.push_back(store(data_share, w));
  for (const bool reads : {true, false})
    for (const bool by_64 : {false, true})
      for (const int w : {2, 3}) atoms.push_back(two(widths[w], reads, by_64));
  for (const TransposeRow& r : transposes) atoms.push_back(transpose(r));
  for (const bool buffer : {false, true})
    for (const int words : {1, 2, 4, 8, 16}) atoms.push_back(scalar_load(buffer, words));
}

} // namespace inlay::codegen
