// Scalar instructions: SOP1, SOP2, SOPK, SOPC, SOPP and SMEM ("AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapters
// "Program Organization", "Scalar ALU Operations", "Scalar Memory Operations").
#include "engine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

namespace inlay::runtime::emulator {

u32 read_special(const Wave& w, unsigned encoding) {
  switch (encoding) {
  case 235: return shared_aperture;
  case 236: return shared_aperture;
  case 237: return private_aperture;
  case 238: return private_aperture;
  case 239: return 0;
  case 251: return w.scalar64(vcc_lo) == 0 ? 1 : 0;
  case 252: return w.exec() == 0 ? 1 : 0;
  case 253: return w.scc ? 1 : 0;
  default: fail(w, "reads source " + std::to_string(encoding) + ", which this emulator does not provide");
  }
}

u32 read_scalar(const Wave& w, const isa::Operand& o) {
  switch (o.kind) {
  case isa::OperandKind::sgpr: return w.scalar[o.index];
  case isa::OperandKind::special: return read_special(w, o.index);
  case isa::OperandKind::inline_float:
    return std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(o.value)));
  default: return static_cast<u32>(o.value);
  }
}

u64 read_scalar64(const Wave& w, const isa::Operand& o) {
  switch (o.kind) {
  case isa::OperandKind::sgpr: return w.scalar64(o.index);
  case isa::OperandKind::special:
    return o.index >= 235 && o.index <= 238 ? u64{read_special(w, o.index)} << 32 : read_special(w, o.index);
  case isa::OperandKind::literal: return o.value & 0xffffffffU;
  default: return o.value;
  }
}

/// The same for an instruction whose operand is a signed integer: a literal has 32 bits, which are then extended by their
/// sign (S_ASHR_I64, S_BFE_I64, S_FLBIT_I32_I64); every other 64-bit operand extends them with zeros.
u64 read_signed64(const Wave& w, const isa::Operand& o) {
  const u64 value = read_scalar64(w, o);
  return o.kind == isa::OperandKind::literal
             ? static_cast<u64>(i64{static_cast<i32>(static_cast<u32>(value))})
             : value;
}

/// A scalar instruction in execution: operands by position.
struct Call {
  Wave& w;
  const Operation& op;
  [[nodiscard]] const isa::Operand& operand(std::size_t i) const {
    if (i >= op.instruction->operands.size()) fail(w, "has an operand that cannot be read");
    return op.instruction->operands[i];
  }
  [[nodiscard]] u32 x() const { return read_scalar(w, operand(1)); }
  [[nodiscard]] u32 y() const { return read_scalar(w, operand(2)); }
  [[nodiscard]] u64 wx() const { return read_scalar64(w, operand(1)); }
  [[nodiscard]] u64 wy() const { return read_scalar64(w, operand(2)); }
  [[nodiscard]] u64 sx() const { return read_signed64(w, operand(1)); }
  /// Sources of the forms without destination (compares).
  [[nodiscard]] u32 x0() const { return read_scalar(w, operand(0)); }
  [[nodiscard]] u32 y0() const { return read_scalar(w, operand(1)); }
  void put(u32 value) const { w.scalar[operand(0).index] = value; }
  void put64(u64 value) const { w.set_scalar64(operand(0).index, value); }
  void logic(u32 value) const {
    put(value);
    w.scc = value != 0;
  }
  void logic64(u64 value) const {
    put64(value);
    w.scc = value != 0;
  }
  void saveexec(u64 value) const {
    const u64 old = w.exec();
    w.set_scalar64(exec_lo, value);
    put64(old);
    w.scc = value != 0;
  }
  [[nodiscard]] u64 pc(u32 index) const {
    const auto& code = *w.group->launch->code;
    return code.load_base + code.program->instructions[index].address;
  }
  void jump(u64 address) const {
    const auto& code = *w.group->launch->code;
    const auto index = code.program->index_of(address - code.load_base);
    if (!index) {
      fail(w, "jumps to an address that starts no instruction");
    }
    w.at = static_cast<u32>(*index);
  }
  [[nodiscard]] u64 next_pc() const { return pc(w.current) + op.instruction->size; }
};

namespace {

using Body = void (*)(const Call&);

u32 read_hardware_register(const Call& c, unsigned id) {
  switch (id) {
  case 1: return c.w.mode;
  case 2:
    return (c.w.scc ? 1U : 0U) | (c.w.exec() == 0 ? 1U << 9 : 0U) |
           (c.w.scalar64(vcc_lo) == 0 ? 1U << 10 : 0U);
  case 3: return 0;
  case 4: return c.w.id;                                                      // HW_ID
  case 5: return 0;                                                           // GPR_ALLOC
  case 6: return static_cast<u32>((c.w.group->lds.size() + 511) / 512) << 12; // LDS_ALLOC
  case 7: return 0;
  case 15: return shared_aperture | (private_aperture >> 16); // SH_MEM_BASES
  case 20: return 0;                                          // XCC_ID
  default:
    fail(c.w, "reads hardware register " + std::to_string(id) + ", which this emulator does not provide");
  }
}

void getreg(const Call& c) {
  const u32 field = static_cast<u32>(c.operand(1).value) & 0xffff;
  const u32 size = (field >> 11) + 1;
  const u32 value = read_hardware_register(c, field & 63) >> ((field >> 6) & 31);
  c.put(size == 32 ? value : value & ((1U << size) - 1));
}

void setreg(const Call& c) {
  const u32 field = static_cast<u32>(c.operand(0).value) & 0xffff;
  const u32 offset = (field >> 6) & 31;
  const u32 size = (field >> 11) + 1;
  const u32 mask = (size == 32 ? ~0U : (1U << size) - 1) << offset;
  const u32 value = read_scalar(c.w, c.operand(1)) << offset;
  if ((field & 63) == 1) {
    c.w.mode = (c.w.mode & ~mask) | (value & mask);
  } else if ((field & 63) != 3) { // TRAPSTS: exceptions are not modelled
    fail(c.w,
         "writes hardware register " + std::to_string(field & 63) + ", which this emulator does not provide");
  }
}

template <class T>
T quad(T x) {
  T out = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i) {
    if (((x >> (4 * i)) & 15) != 0) out |= T{1} << i;
  }
  return out;
}
template <class T>
T whole_quads(T x) {
  T out = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i) {
    if (((x >> (4 * i)) & 15) != 0) out |= T{15} << (4 * i);
  }
  return out;
}
u64 bfe64(u64 x, u32 field, bool is_signed) {
  const u32 offset = field & 63;
  const u32 width = (field >> 16) & 127;
  if (width == 0) return 0;
  const u64 shifted = is_signed ? static_cast<u64>(static_cast<i64>(x) >> offset) : x >> offset;
  if (width >= 64) return shifted;
  const u64 cut = shifted & ((u64{1} << width) - 1);
  return is_signed && ((cut >> (width - 1)) & 1) != 0 ? cut | (~u64{0} << width) : cut;
}
u32 bfe32(u32 x, u32 field, bool is_signed) {
  const u32 offset = field & 31;
  const u32 width = (field >> 16) & 127;
  if (width == 0) return 0;
  const u32 shifted = is_signed ? static_cast<u32>(static_cast<i32>(x) >> offset) : x >> offset;
  if (width >= 32) return shifted;
  const u32 cut = shifted & ((1U << width) - 1);
  return is_signed && ((cut >> (width - 1)) & 1) != 0 ? cut | (~0U << width) : cut;
}

u32 i32_as(i64 value) { return static_cast<u32>(static_cast<i32>(value)); }

void shift_add(const Call& c, unsigned shift) {
  const u64 r = (u64{c.x()} << shift) + c.y();
  c.put(static_cast<u32>(r));
  c.w.scc = (r >> 32) != 0;
}

void branch(const Call& c, bool taken) {
  if (taken) c.w.at = c.op.target;
}

// ---- scalar memory --------------------------------------------------------------------------------------------------

struct ScalarAddress {
  u64 address;
  bool buffer;
  u64 offset, records;
};

ScalarAddress scalar_address(const Call& c) {
  const auto& i = *c.op.instruction;
  const isa::Operand& base = i.operands[1];
  u64 offset = static_cast<u64>(i64{i.modifiers.offset});
  if (i.operands.size() > 2) {
    const isa::Operand& o = i.operands[2];
    // The register of a scratch access counts 64 bytes, its immediate bytes.
    const u64 unit = i.mnemonic.starts_with("s_scratch") ? 64 : 1;
    offset += o.kind == isa::OperandKind::sgpr ? c.w.scalar[o.index] * unit : o.value;
  }
  if (base.width == 4) {
    const u64 address = c.w.scalar[base.index] | (u64{c.w.scalar[base.index + 1] & 0xffff} << 32);
    const u32 stride = (c.w.scalar[base.index + 1] >> 16) & 0x3fff;
    const u64 records = c.w.scalar[base.index + 2];
    return {(address + offset) & ~u64{3}, true, offset & ~u64{3}, stride == 0 ? records : records * stride};
  }
  return {(c.w.scalar64(base.index) + offset) & ~u64{3}, false, 0, 0};
}

/// For LaunchObserver.
void note_observed(const Call& c, u64 address, unsigned bytes, ObservedAccess::Kind kind) {
  if (c.w.observed == nullptr) return;
  c.w.observed->space = ObservedAccess::Space::scalar;
  c.w.observed->kind = kind;
  c.w.observed->mask = 1;
  c.w.observed->bytes = bytes;
  c.w.observed->two = false;
  c.w.observed->address[0] = address;
}

void scalar_load(const Call& c) {
  const isa::Operand& dest = c.operand(0);
  const ScalarAddress a = scalar_address(c);
  std::array<u32, 16> values{};
  const unsigned count = dest.width;
  note_observed(c, a.address, 4 * count, ObservedAccess::Kind::load);
  if (c.w.group->tracks_global && !c.op.instruction->modifiers.sc0) {
    for (u64 i = 0; i < count; ++i) {
      std::array<u64, lanes> at{a.address + 4 * i};
      Allocation* const home = c.w.group->launch->memory->find(at[0], 4);
      if (home == nullptr || (a.buffer && a.offset + 4 * (i + 1) > a.records)) continue;
      check_global_reads(c.w, *home, at.data(), 1, 4);
      check_scalar_read(c.w, *home, at[0]);
    }
  }
  if (a.buffer) {
    for (unsigned i = 0; i < count; ++i) {
      if (a.offset + 4 * (i + 1) <= a.records) {
        if (const u8* p = global_bytes(c.w, a.address + 4 * i, 4, 0, false)) std::memcpy(&values[i], p, 4);
      }
    }
  } else if (const u8* p = global_bytes(c.w, a.address, 4 * count, 0, false)) {
    std::memcpy(values.data(), p, 4 * count);
  }
  if (c.w.defined != nullptr) {
    for (unsigned i = 0; i < count; ++i) {
      if (a.buffer && a.offset + 4 * (i + 1) > a.records) continue;
      const u64 at = a.address + 4 * i;
      Allocation* const home = c.w.group->launch->memory->find(at, 4);
      if (home == nullptr || home->is_written(at, 4)) continue;
      u32 undefined = 0;
      for (unsigned b = 0; b < 4; ++b) undefined |= home->is_written(at + b, 1) ? 0U : 0xffU << (8 * b);
      c.w.defined->set_scalar(dest.index + i, undefined, new_origin(c.w, unwritten_byte(*home, at)));
    }
  }
  c.w.stats.bytes_read += 4 * count;
  Wave* w = &c.w;
  const unsigned index = dest.index;
  if (c.w.deferring) {
    for (unsigned i = 0; i < count; ++i) c.w.scalar[index + i] = 0x7ff4dead;
    note_issue(c.w, c.op, c.op.counters, [w, index, values, count] {
      for (unsigned i = 0; i < count; ++i) w->scalar[index + i] = values[i];
    });
    return;
  }
  for (unsigned i = 0; i < count; ++i) c.w.scalar[index + i] = values[i];
  note_issue(c.w, c.op, c.op.counters);
}

void scalar_store(const Call& c) {
  const isa::Operand& data = c.operand(0);
  const ScalarAddress a = scalar_address(c);
  note_observed(c, a.address, 4U * data.width, ObservedAccess::Kind::store);
  for (unsigned i = 0; i < data.width; ++i) {
    if (u8* p = global_bytes(c.w, a.address + 4 * i, 4, 0, true))
      std::memcpy(p, &c.w.scalar[data.index + i], 4);
  }
  c.w.stats.bytes_written += 4U * data.width;
  note_issue(c.w, c.op, c.op.counters);
}

void scalar_atomic(const Call& c) {
  std::string_view name = c.op.instruction->mnemonic;
  name.remove_prefix(name.find("atomic_") + 7);
  const bool wide = name.ends_with("_x2");
  if (wide) name.remove_suffix(3);
  const isa::Operand& data = c.operand(0);
  const ScalarAddress a = scalar_address(c);
  note_observed(c, a.address, wide ? 8 : 4, ObservedAccess::Kind::atomic);
  u8* p = global_bytes(c.w, a.address, wide ? 8 : 4, 0, true);
  if (p == nullptr) return;
  const u64 value = wide ? c.w.scalar64(data.index) : c.w.scalar[data.index];
  const u64 compare = wide ? c.w.scalar64(data.index + 2U) : c.w.scalar[data.index + 1U];
  const auto apply = [&](u64 old) -> u64 {
    const auto narrow_signed = [&](u64 v) {
      return wide ? static_cast<i64>(v) : i64{static_cast<i32>(static_cast<u32>(v))};
    };
    if (name == "add") return old + value;
    if (name == "sub") return old - value;
    if (name == "swap") return value;
    if (name == "cmpswap") return old == compare ? value : old;
    if (name == "smin") return narrow_signed(value) < narrow_signed(old) ? value : old;
    if (name == "smax") return narrow_signed(value) > narrow_signed(old) ? value : old;
    if (name == "umin") return std::min(value, old);
    if (name == "umax") return std::max(value, old);
    if (name == "and") return value & old;
    if (name == "or") return value | old;
    if (name == "xor") return value ^ old;
    if (name == "inc") return old >= value ? 0 : old + 1;
    if (name == "dec") return old == 0 || old > value ? value : old - 1;
    fail(c.w, "is an unknown scalar atomic");
  };
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  u64 old = 0;
  std::memcpy(&old, p, wide ? 8 : 4);
  const u64 result = apply(old);
  std::memcpy(p, &result, wide ? 8 : 4);
  if (c.op.instruction->modifiers.sc0) {
    if (wide) {
      c.put64(old);
    } else {
      c.put(static_cast<u32>(old));
    }
  }
  note_issue(c.w, c.op, c.op.counters);
}

/// S_CBRANCH_G_FORK and I_FORK: the smaller part of the lanes goes first, the other's lanes and address wait in four
/// scalar registers at 4 * MODE.CSP. S_CBRANCH_JOIN fetches them, or passes when the stack is where the fork began.
void fork(const Call& c, u64 target) {
  const u64 exec = c.w.exec();
  const u64 mask = read_scalar64(c.w, c.operand(0));
  const u64 pass = mask & exec;
  const u64 failed = ~mask & exec;
  const u32 depth = c.w.mode >> 29;
  const auto push = [&](u64 address, u64 lanes_waiting) {
    c.w.set_scalar64(depth * 4, lanes_waiting);
    c.w.set_scalar64(depth * 4 + 2, address);
    c.w.mode = (c.w.mode & 0x1fffffffU) | (depth + 1) << 29;
  };
  if (pass == exec) {
    c.jump(target);
  } else if (failed == exec) {
    return;
  } else if (std::popcount(failed) < std::popcount(pass)) {
    push(target, pass);
    c.w.set_scalar64(exec_lo, failed);
  } else {
    push(c.next_pc(), failed);
    c.w.set_scalar64(exec_lo, pass);
    c.jump(target);
  }
}

void join(const Call& c) {
  const u32 depth = c.w.mode >> 29;
  if (depth == read_scalar(c.w, c.operand(0))) return;
  const u32 top = (depth - 1) & 7U;
  c.w.mode = (c.w.mode & 0x1fffffffU) | top << 29;
  const u64 address = c.w.scalar64(top * 4 + 2);
  c.w.set_scalar64(exec_lo, c.w.scalar64(top * 4));
  c.jump(address);
}

void clock(const Call& c) {
  c.put64(c.w.executed * 4); // a count that only grows; no time, so that runs repeat
  note_issue(c.w, c.op, c.op.counters);
}

/// The host answers meanwhile.
void sleep(const Call& c) {
  Launch& launch = *c.w.group->launch;
  if (launch.host_calls == nullptr) return;
  try {
    launch.changed |= launch.host_calls->answer();
  } catch (const std::invalid_argument& e) {
    fail(c.w, e.what());
  }
}

const std::unordered_map<std::string_view, Body>& bodies() {
  static const std::unordered_map<std::string_view, Body> table = {
      // SOP1
      {"s_mov_b32", [](const Call& c) { c.put(c.x()); }},
      {"s_mov_b64", [](const Call& c) { c.put64(c.wx()); }},
      {"s_cmov_b32", [](const Call& c) { if (c.w.scc) c.put(c.x()); }},
      {"s_cmov_b64", [](const Call& c) { if (c.w.scc) c.put64(c.wx()); }},
      {"s_not_b32", [](const Call& c) { c.logic(~c.x()); }},
      {"s_not_b64", [](const Call& c) { c.logic64(~c.wx()); }},
      {"s_wqm_b32", [](const Call& c) { c.logic(whole_quads(c.x())); }},
      {"s_wqm_b64", [](const Call& c) { c.logic64(whole_quads(c.wx())); }},
      {"s_quadmask_b32", [](const Call& c) { c.logic(quad(c.x())); }},
      {"s_quadmask_b64", [](const Call& c) { c.logic64(quad(c.wx())); }},
      {"s_brev_b32", [](const Call& c) { u32 r = 0; for (unsigned i = 0; i < 32; ++i) r |= ((c.x() >> i) & 1) << (31 - i); c.put(r); }},
      {"s_brev_b64", [](const Call& c) { u64 r = 0; for (unsigned i = 0; i < 64; ++i) r |= ((c.wx() >> i) & 1) << (63 - i); c.put64(r); }},
      {"s_bcnt0_i32_b32", [](const Call& c) { c.logic(static_cast<u32>(std::popcount(~c.x()))); }},
      {"s_bcnt0_i32_b64", [](const Call& c) { c.logic(static_cast<u32>(std::popcount(~c.wx()))); }},
      {"s_bcnt1_i32_b32", [](const Call& c) { c.logic(static_cast<u32>(std::popcount(c.x()))); }},
      {"s_bcnt1_i32_b64", [](const Call& c) { c.logic(static_cast<u32>(std::popcount(c.wx()))); }},
      {"s_ff0_i32_b32", [](const Call& c) { c.put(c.x() == ~0U ? ~0U : static_cast<u32>(std::countr_one(c.x()))); }},
      {"s_ff0_i32_b64", [](const Call& c) { c.put(c.wx() == ~u64{0} ? ~0U : static_cast<u32>(std::countr_one(c.wx()))); }},
      {"s_ff1_i32_b32", [](const Call& c) { c.put(c.x() == 0 ? ~0U : static_cast<u32>(std::countr_zero(c.x()))); }},
      {"s_ff1_i32_b64", [](const Call& c) { c.put(c.wx() == 0 ? ~0U : static_cast<u32>(std::countr_zero(c.wx()))); }},
      {"s_flbit_i32_b32", [](const Call& c) { c.put(c.x() == 0 ? ~0U : static_cast<u32>(std::countl_zero(c.x()))); }},
      {"s_flbit_i32_b64", [](const Call& c) { c.put(c.wx() == 0 ? ~0U : static_cast<u32>(std::countl_zero(c.wx()))); }},
      {"s_flbit_i32", [](const Call& c) { const u32 x = c.x(); c.put(x == 0 || x == ~0U ? ~0U : static_cast<u32>(std::countl_zero(static_cast<i32>(x) < 0 ? ~x : x))); }},
      {"s_flbit_i32_i64", [](const Call& c) { const u64 x = c.sx(); c.put(x == 0 || x == ~u64{0} ? ~0U : static_cast<u32>(std::countl_zero(static_cast<i64>(x) < 0 ? ~x : x))); }},
      {"s_sext_i32_i8", [](const Call& c) { c.put(i32_as(static_cast<i8>(c.x()))); }},
      {"s_sext_i32_i16", [](const Call& c) { c.put(i32_as(static_cast<i16>(c.x()))); }},
      {"s_bitset0_b32", [](const Call& c) { c.put(c.w.scalar[c.operand(0).index] & ~(1U << (c.x() & 31))); }},
      {"s_bitset0_b64", [](const Call& c) { c.put64(c.w.scalar64(c.operand(0).index) & ~(u64{1} << (c.x() & 63))); }},
      {"s_bitset1_b32", [](const Call& c) { c.put(c.w.scalar[c.operand(0).index] | (1U << (c.x() & 31))); }},
      {"s_bitset1_b64", [](const Call& c) { c.put64(c.w.scalar64(c.operand(0).index) | (u64{1} << (c.x() & 63))); }},
      {"s_bitreplicate_b64_b32", [](const Call& c) { u64 r = 0; for (unsigned i = 0; i < 32; ++i) if (((c.x() >> i) & 1) != 0) r |= u64{3} << (2 * i); c.put64(r); }},
      {"s_getpc_b64", [](const Call& c) { c.put64(c.next_pc()); }},
      {"s_setpc_b64", [](const Call& c) { c.jump(read_scalar64(c.w, c.operand(0))); }},
      {"s_swappc_b64", [](const Call& c) { const u64 to = c.wx(); c.put64(c.next_pc()); c.jump(to); }},
      {"s_abs_i32", [](const Call& c) { const u32 x = c.x(); c.logic(static_cast<i32>(x) < 0 ? 0U - x : x); }},
      {"s_and_saveexec_b64", [](const Call& c) { c.saveexec(c.wx() & c.w.exec()); }},
      {"s_or_saveexec_b64", [](const Call& c) { c.saveexec(c.wx() | c.w.exec()); }},
      {"s_xor_saveexec_b64", [](const Call& c) { c.saveexec(c.wx() ^ c.w.exec()); }},
      {"s_andn2_saveexec_b64", [](const Call& c) { c.saveexec(c.wx() & ~c.w.exec()); }},
      {"s_orn2_saveexec_b64", [](const Call& c) { c.saveexec(c.wx() | ~c.w.exec()); }},
      {"s_nand_saveexec_b64", [](const Call& c) { c.saveexec(~(c.wx() & c.w.exec())); }},
      {"s_nor_saveexec_b64", [](const Call& c) { c.saveexec(~(c.wx() | c.w.exec())); }},
      {"s_xnor_saveexec_b64", [](const Call& c) { c.saveexec(~(c.wx() ^ c.w.exec())); }},
      {"s_andn1_saveexec_b64", [](const Call& c) { c.saveexec(~c.wx() & c.w.exec()); }},
      {"s_orn1_saveexec_b64", [](const Call& c) { c.saveexec(~c.wx() | c.w.exec()); }},
      {"s_andn1_wrexec_b64", [](const Call& c) { const u64 r = ~c.wx() & c.w.exec(); c.w.set_scalar64(exec_lo, r); c.logic64(r); }},
      {"s_andn2_wrexec_b64", [](const Call& c) { const u64 r = c.wx() & ~c.w.exec(); c.w.set_scalar64(exec_lo, r); c.logic64(r); }},
      {"s_movrels_b32", [](const Call& c) { c.put(c.w.scalar[(c.operand(1).index + c.w.scalar[m0]) & 127]); }},
      {"s_movrels_b64", [](const Call& c) { c.put64(c.w.scalar64((c.operand(1).index + c.w.scalar[m0]) & 127)); }},
      {"s_movreld_b32", [](const Call& c) { c.w.scalar[(c.operand(0).index + c.w.scalar[m0]) & 127] = c.x(); }},
      {"s_movreld_b64", [](const Call& c) { c.w.set_scalar64((c.operand(0).index + c.w.scalar[m0]) & 127, c.wx()); }},
      {"s_set_gpr_idx_idx", [](const Call& c) { c.w.scalar[m0] = (c.w.scalar[m0] & ~0xffU) | (c.x0() & 0xff); }},
      {"s_cbranch_join", join},
      // SOP2
      {"s_cbranch_g_fork", [](const Call& c) { fork(c, read_scalar64(c.w, c.operand(1))); }},
      {"s_add_u32", [](const Call& c) { const u64 r = u64{c.x()} + c.y(); c.put(static_cast<u32>(r)); c.w.scc = (r >> 32) != 0; }},
      {"s_sub_u32", [](const Call& c) { const u32 x = c.x(), y = c.y(); c.put(x - y); c.w.scc = y > x; }},
      {"s_add_i32", [](const Call& c) { const i64 r = i64{static_cast<i32>(c.x())} + static_cast<i32>(c.y()); c.put(static_cast<u32>(r)); c.w.scc = r != static_cast<i32>(r); }},
      {"s_sub_i32", [](const Call& c) { const i64 r = i64{static_cast<i32>(c.x())} - static_cast<i32>(c.y()); c.put(static_cast<u32>(r)); c.w.scc = r != static_cast<i32>(r); }},
      {"s_addc_u32", [](const Call& c) { const u64 r = u64{c.x()} + c.y() + (c.w.scc ? 1 : 0); c.put(static_cast<u32>(r)); c.w.scc = (r >> 32) != 0; }},
      {"s_subb_u32", [](const Call& c) { const u64 x = c.x(), y = u64{c.y()} + (c.w.scc ? 1 : 0); c.put(static_cast<u32>(x - y)); c.w.scc = y > x; }},
      {"s_min_i32", [](const Call& c) { const i32 x = static_cast<i32>(c.x()), y = static_cast<i32>(c.y()); c.put(static_cast<u32>(std::min(x, y))); c.w.scc = x < y; }},
      {"s_min_u32", [](const Call& c) { const u32 x = c.x(), y = c.y(); c.put(std::min(x, y)); c.w.scc = x < y; }},
      {"s_max_i32", [](const Call& c) { const i32 x = static_cast<i32>(c.x()), y = static_cast<i32>(c.y()); c.put(static_cast<u32>(std::max(x, y))); c.w.scc = x > y; }},
      {"s_max_u32", [](const Call& c) { const u32 x = c.x(), y = c.y(); c.put(std::max(x, y)); c.w.scc = x > y; }},
      {"s_cselect_b32", [](const Call& c) { c.put(c.w.scc ? c.x() : c.y()); }},
      {"s_cselect_b64", [](const Call& c) { c.put64(c.w.scc ? c.wx() : c.wy()); }},
      {"s_and_b32", [](const Call& c) { c.logic(c.x() & c.y()); }},
      {"s_and_b64", [](const Call& c) { c.logic64(c.wx() & c.wy()); }},
      {"s_or_b32", [](const Call& c) { c.logic(c.x() | c.y()); }},
      {"s_or_b64", [](const Call& c) { c.logic64(c.wx() | c.wy()); }},
      {"s_xor_b32", [](const Call& c) { c.logic(c.x() ^ c.y()); }},
      {"s_xor_b64", [](const Call& c) { c.logic64(c.wx() ^ c.wy()); }},
      {"s_andn2_b32", [](const Call& c) { c.logic(c.x() & ~c.y()); }},
      {"s_andn2_b64", [](const Call& c) { c.logic64(c.wx() & ~c.wy()); }},
      {"s_orn2_b32", [](const Call& c) { c.logic(c.x() | ~c.y()); }},
      {"s_orn2_b64", [](const Call& c) { c.logic64(c.wx() | ~c.wy()); }},
      {"s_nand_b32", [](const Call& c) { c.logic(~(c.x() & c.y())); }},
      {"s_nand_b64", [](const Call& c) { c.logic64(~(c.wx() & c.wy())); }},
      {"s_nor_b32", [](const Call& c) { c.logic(~(c.x() | c.y())); }},
      {"s_nor_b64", [](const Call& c) { c.logic64(~(c.wx() | c.wy())); }},
      {"s_xnor_b32", [](const Call& c) { c.logic(~(c.x() ^ c.y())); }},
      {"s_xnor_b64", [](const Call& c) { c.logic64(~(c.wx() ^ c.wy())); }},
      {"s_lshl_b32", [](const Call& c) { c.logic(c.x() << (c.y() & 31)); }},
      {"s_lshl_b64", [](const Call& c) { c.logic64(c.wx() << (c.y() & 63)); }},
      {"s_lshr_b32", [](const Call& c) { c.logic(c.x() >> (c.y() & 31)); }},
      {"s_lshr_b64", [](const Call& c) { c.logic64(c.wx() >> (c.y() & 63)); }},
      {"s_ashr_i32", [](const Call& c) { c.logic(static_cast<u32>(static_cast<i32>(c.x()) >> (c.y() & 31))); }},
      {"s_ashr_i64", [](const Call& c) { c.logic64(static_cast<u64>(static_cast<i64>(c.sx()) >> (c.y() & 63))); }},
      {"s_bfm_b32", [](const Call& c) { c.put(((1U << (c.x() & 31)) - 1) << (c.y() & 31)); }},
      {"s_bfm_b64", [](const Call& c) { c.put64(((u64{1} << (c.x() & 63)) - 1) << (c.y() & 63)); }},
      {"s_mul_i32", [](const Call& c) { c.put(c.x() * c.y()); }},
      {"s_mul_hi_u32", [](const Call& c) { c.put(static_cast<u32>((u64{c.x()} * c.y()) >> 32)); }},
      {"s_mul_hi_i32", [](const Call& c) { c.put(static_cast<u32>((i64{static_cast<i32>(c.x())} * static_cast<i32>(c.y())) >> 32)); }},
      {"s_bfe_u32", [](const Call& c) { c.logic(bfe32(c.x(), c.y(), false)); }},
      {"s_bfe_i32", [](const Call& c) { c.logic(bfe32(c.x(), c.y(), true)); }},
      {"s_bfe_u64", [](const Call& c) { c.logic64(bfe64(c.wx(), c.y(), false)); }},
      {"s_bfe_i64", [](const Call& c) { c.logic64(bfe64(c.sx(), c.y(), true)); }},
      {"s_absdiff_i32", [](const Call& c) { const u32 r = c.x() - c.y(); c.logic(static_cast<i32>(r) < 0 ? 0U - r : r); }},
      {"s_lshl1_add_u32", [](const Call& c) { shift_add(c, 1); }},
      {"s_lshl2_add_u32", [](const Call& c) { shift_add(c, 2); }},
      {"s_lshl3_add_u32", [](const Call& c) { shift_add(c, 3); }},
      {"s_lshl4_add_u32", [](const Call& c) { shift_add(c, 4); }},
      {"s_pack_ll_b32_b16", [](const Call& c) { c.put((c.x() & 0xffff) | (c.y() << 16)); }},
      {"s_pack_lh_b32_b16", [](const Call& c) { c.put((c.x() & 0xffff) | (c.y() & 0xffff0000U)); }},
      {"s_pack_hh_b32_b16", [](const Call& c) { c.put((c.x() >> 16) | (c.y() & 0xffff0000U)); }},
      // SOPK: the constant is sign-extended, cmpk_*_u32 zero-extends it
      {"s_movk_i32", [](const Call& c) { c.put(c.x()); }},
      {"s_cmovk_i32", [](const Call& c) { if (c.w.scc) c.put(c.x()); }},
      {"s_addk_i32", [](const Call& c) { const i64 r = i64{static_cast<i32>(c.x0())} + static_cast<i32>(c.y0()); c.put(static_cast<u32>(r)); c.w.scc = r != static_cast<i32>(r); }},
      {"s_mulk_i32", [](const Call& c) { c.put(c.x0() * c.y0()); }},
      {"s_cmpk_eq_i32", [](const Call& c) { c.w.scc = c.x0() == c.y0(); }},
      {"s_cmpk_lg_i32", [](const Call& c) { c.w.scc = c.x0() != c.y0(); }},
      {"s_cmpk_gt_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) > static_cast<i32>(c.y0()); }},
      {"s_cmpk_ge_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) >= static_cast<i32>(c.y0()); }},
      {"s_cmpk_lt_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) < static_cast<i32>(c.y0()); }},
      {"s_cmpk_le_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) <= static_cast<i32>(c.y0()); }},
      {"s_cmpk_eq_u32", [](const Call& c) { c.w.scc = c.x0() == (c.y0() & 0xffff); }},
      {"s_cmpk_lg_u32", [](const Call& c) { c.w.scc = c.x0() != (c.y0() & 0xffff); }},
      {"s_cmpk_gt_u32", [](const Call& c) { c.w.scc = c.x0() > (c.y0() & 0xffff); }},
      {"s_cmpk_ge_u32", [](const Call& c) { c.w.scc = c.x0() >= (c.y0() & 0xffff); }},
      {"s_cmpk_lt_u32", [](const Call& c) { c.w.scc = c.x0() < (c.y0() & 0xffff); }},
      {"s_cmpk_le_u32", [](const Call& c) { c.w.scc = c.x0() <= (c.y0() & 0xffff); }},
      {"s_cbranch_i_fork", [](const Call& c) { fork(c, c.w.group->launch->code->load_base + *c.op.instruction->branch_target); }},
      {"s_getreg_b32", getreg},
      {"s_setreg_b32", setreg},
      {"s_setreg_imm32_b32", setreg},
      {"s_call_b64", [](const Call& c) { c.put64(c.next_pc()); c.w.at = c.op.target; }},
      // SOPC
      {"s_cmp_eq_i32", [](const Call& c) { c.w.scc = c.x0() == c.y0(); }},
      {"s_cmp_lg_i32", [](const Call& c) { c.w.scc = c.x0() != c.y0(); }},
      {"s_cmp_gt_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) > static_cast<i32>(c.y0()); }},
      {"s_cmp_ge_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) >= static_cast<i32>(c.y0()); }},
      {"s_cmp_lt_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) < static_cast<i32>(c.y0()); }},
      {"s_cmp_le_i32", [](const Call& c) { c.w.scc = static_cast<i32>(c.x0()) <= static_cast<i32>(c.y0()); }},
      {"s_cmp_eq_u32", [](const Call& c) { c.w.scc = c.x0() == c.y0(); }},
      {"s_cmp_lg_u32", [](const Call& c) { c.w.scc = c.x0() != c.y0(); }},
      {"s_cmp_gt_u32", [](const Call& c) { c.w.scc = c.x0() > c.y0(); }},
      {"s_cmp_ge_u32", [](const Call& c) { c.w.scc = c.x0() >= c.y0(); }},
      {"s_cmp_lt_u32", [](const Call& c) { c.w.scc = c.x0() < c.y0(); }},
      {"s_cmp_le_u32", [](const Call& c) { c.w.scc = c.x0() <= c.y0(); }},
      {"s_cmp_eq_u64", [](const Call& c) { c.w.scc = read_scalar64(c.w, c.operand(0)) == read_scalar64(c.w, c.operand(1)); }},
      {"s_cmp_lg_u64", [](const Call& c) { c.w.scc = read_scalar64(c.w, c.operand(0)) != read_scalar64(c.w, c.operand(1)); }},
      {"s_bitcmp0_b32", [](const Call& c) { c.w.scc = ((c.x0() >> (c.y0() & 31)) & 1) == 0; }},
      {"s_bitcmp1_b32", [](const Call& c) { c.w.scc = ((c.x0() >> (c.y0() & 31)) & 1) != 0; }},
      {"s_bitcmp0_b64", [](const Call& c) { c.w.scc = ((read_scalar64(c.w, c.operand(0)) >> (c.y0() & 63)) & 1) == 0; }},
      {"s_bitcmp1_b64", [](const Call& c) { c.w.scc = ((read_scalar64(c.w, c.operand(0)) >> (c.y0() & 63)) & 1) != 0; }},
      {"s_setvskip", [](const Call& c) { c.w.vskip = ((c.x0() >> (c.y0() & 31)) & 1) != 0; }},
      {"s_set_gpr_idx_on", [](const Call& c) {
         const u32 mode = static_cast<u32>(c.operand(1).value) & 15;
         c.w.gpr_idx_mode = mode;
         c.w.scalar[m0] = (c.w.scalar[m0] & 0xffff0f00U) | (c.x0() & 0xff) | (mode << 12);
       }},
      // SOPP
      {"s_nop", [](const Call&) {}},
      {"s_endpgm", [](const Call& c) { c.w.status = WaveStatus::ended; }},
      {"s_endpgm_saved", [](const Call& c) { c.w.status = WaveStatus::ended; }},
      {"s_endpgm_ordered_ps_done", [](const Call& c) { c.w.status = WaveStatus::ended; }},
      {"s_branch", [](const Call& c) { branch(c, true); }},
      {"s_cbranch_scc0", [](const Call& c) { branch(c, !c.w.scc); }},
      {"s_cbranch_scc1", [](const Call& c) { branch(c, c.w.scc); }},
      {"s_cbranch_vccz", [](const Call& c) { branch(c, c.w.scalar64(vcc_lo) == 0); }},
      {"s_cbranch_vccnz", [](const Call& c) { branch(c, c.w.scalar64(vcc_lo) != 0); }},
      {"s_cbranch_execz", [](const Call& c) { branch(c, c.w.exec() == 0); }},
      {"s_cbranch_execnz", [](const Call& c) { branch(c, c.w.exec() != 0); }},
      {"s_cbranch_cdbgsys", [](const Call&) {}},
      {"s_cbranch_cdbguser", [](const Call&) {}},
      {"s_cbranch_cdbgsys_or_user", [](const Call&) {}},
      {"s_cbranch_cdbgsys_and_user", [](const Call&) {}},
      {"s_barrier", [](const Call& c) { c.w.status = WaveStatus::at_barrier; c.w.barrier_at = c.w.current; }},
      {"s_waitcnt", [](const Call& c) { const auto& n = *c.op.instruction->wait; wait_for(c.w, n.vmcnt, n.lgkmcnt); }},
      {"s_sleep", sleep},
      {"s_setprio", [](const Call&) {}},
      {"s_sethalt", [](const Call&) {}},
      {"s_setkill", [](const Call&) {}},
      {"s_sendmsg", [](const Call&) {}},
      {"s_sendmsghalt", [](const Call&) {}},
      {"s_trap", [](const Call& c) { fail(c.w, "the kernel executed s_trap: it gave up (an assertion, or unreachable code)", c.w.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(c.w.exec()))); }},
      {"s_icache_inv", [](const Call&) {}},
      {"s_incperflevel", [](const Call&) {}},
      {"s_decperflevel", [](const Call&) {}},
      {"s_ttracedata", [](const Call&) {}},
      {"s_wakeup", [](const Call&) {}},
      {"s_set_gpr_idx_off", [](const Call& c) { c.w.gpr_idx_mode = 0; }},
      {"s_set_gpr_idx_mode", [](const Call& c) {
         const u32 mode = static_cast<u32>(c.operand(0).value) & 15;
         c.w.gpr_idx_mode = mode;
         c.w.scalar[m0] = (c.w.scalar[m0] & 0xffff0fffU) | (mode << 12);
       }},
      // SMEM
      {"s_memtime", clock},
      {"s_memrealtime", clock},
      {"s_dcache_inv", [](const Call& c) { clear_scalar_cache(c.w); }},
      {"s_dcache_wb", [](const Call&) {}},
      {"s_dcache_inv_vol", [](const Call& c) { clear_scalar_cache(c.w); }},
      {"s_dcache_wb_vol", [](const Call&) {}},
      // There is no cache here: a discarded line has been written back before, an address is translated when it is used.
      {"s_dcache_discard", [](const Call&) {}},
      {"s_dcache_discard_x2", [](const Call&) {}},
      {"s_atc_probe", [](const Call&) {}},
      {"s_atc_probe_buffer", [](const Call&) {}},
      {"s_scratch_load_dword", scalar_load},
      {"s_scratch_load_dwordx2", scalar_load},
      {"s_scratch_load_dwordx4", scalar_load},
      {"s_scratch_store_dword", scalar_store},
      {"s_scratch_store_dwordx2", scalar_store},
      {"s_scratch_store_dwordx4", scalar_store},
      {"s_load_dword", scalar_load},
      {"s_load_dwordx2", scalar_load},
      {"s_load_dwordx4", scalar_load},
      {"s_load_dwordx8", scalar_load},
      {"s_load_dwordx16", scalar_load},
      {"s_buffer_load_dword", scalar_load},
      {"s_buffer_load_dwordx2", scalar_load},
      {"s_buffer_load_dwordx4", scalar_load},
      {"s_buffer_load_dwordx8", scalar_load},
      {"s_buffer_load_dwordx16", scalar_load},
      {"s_store_dword", scalar_store},
      {"s_store_dwordx2", scalar_store},
      {"s_store_dwordx4", scalar_store},
      {"s_buffer_store_dword", scalar_store},
      {"s_buffer_store_dwordx2", scalar_store},
      {"s_buffer_store_dwordx4", scalar_store},
  };
  return table;
}

constexpr std::string_view scalar_atomics[] = {"add",  "sub", "swap", "cmpswap", "smin", "umin", "smax",
                                               "umax", "and", "or",   "xor",     "inc",  "dec"};

const std::unordered_map<std::string, Body>& atomic_bodies() {
  static const auto table = [] {
    std::unordered_map<std::string, Body> map;
    for (const std::string_view name : scalar_atomics) {
      for (const char* prefix : {"s_atomic_", "s_buffer_atomic_"}) {
        map.emplace(prefix + std::string(name), scalar_atomic);
        map.emplace(prefix + std::string(name) + "_x2", scalar_atomic);
      }
    }
    return map;
  }();
  return table;
}

} // namespace

std::vector<std::string_view> scalar_mnemonics() {
  std::vector<std::string_view> names;
  for (const auto& [name, body] : bodies()) {
    names.push_back(name);
  }
  for (const auto& [name, body] : atomic_bodies()) {
    names.push_back(name);
  }
  return names;
}

bool prepare_scalar(Operation& op, isa::Arch) {
  const isa::Instruction& i = *op.instruction;
  Body body = nullptr;
  if (const auto found = bodies().find(i.mnemonic); found != bodies().end()) {
    body = found->second;
  } else if (const auto atomic = atomic_bodies().find(std::string(i.mnemonic));
             atomic != atomic_bodies().end()) {
    body = atomic->second;
  } else {
    return false;
  }
  op.scalar_body = body;
  op.execute = [](Wave& w, const Operation& o) { o.scalar_body(Call{w, o}); };
  switch (i.format) {
  case isa::Format::smem: op.cls = Class::scalar_memory; break;
  case isa::Format::sopp: op.cls = i.wait ? Class::wait : i.is_branch() ? Class::branch : Class::other; break;
  default: op.cls = Class::scalar; break;
  }
  // Which scalar registers are read and written.
  const std::string_view name = i.mnemonic;
  const bool no_destination = i.format == isa::Format::sopc || i.format == isa::Format::sopp ||
                              name.starts_with("s_cmpk") || name.starts_with("s_setreg") ||
                              name == "s_setpc_b64" || name.find("store_dword") != std::string_view::npos ||
                              name == "s_set_gpr_idx_idx" || name.starts_with("s_dcache") ||
                              name.starts_with("s_cbranch");
  const bool reads_destination = name == "s_addk_i32" || name == "s_mulk_i32" || name.starts_with("s_cmov") ||
                                 name.starts_with("s_bitset") ||
                                 name.find("atomic") != std::string_view::npos;
  const auto mark = [](u64* set, unsigned first, unsigned count) {
    for (unsigned r = first; r < first + count && r < 128; ++r) set[r / 64] |= u64{1} << (r % 64);
  };
  for (std::size_t at = 0; at < i.operands.size(); ++at) {
    const isa::Operand& o = i.operands[at];
    if (o.kind != isa::OperandKind::sgpr) continue;
    const bool destination = at == 0 && !no_destination;
    if (destination) mark(op.scalar_writes, o.index, o.width);
    if (!destination || reads_destination) mark(op.scalar_reads, o.index, o.width);
  }
  if (name.find("saveexec") != std::string_view::npos || name.find("wrexec") != std::string_view::npos) {
    mark(op.scalar_writes, exec_lo, 2);
  }
  if (name.starts_with("s_cbranch_vcc")) mark(op.scalar_reads, vcc_lo, 2);
  op.moves_bits = name == "s_mov_b32" || name == "s_mov_b64";
  op.decision =
      name.starts_with("s_cbranch_scc")   ? Decision::scc
      : name.starts_with("s_cbranch_vcc") ? Decision::vcc
      : name == "s_setpc_b64" || name == "s_swappc_b64" || name.ends_with("_fork") || name.ends_with("_join")
          ? Decision::jump
      : name.starts_with("s_setreg") || name.starts_with("s_set_gpr_idx_mode") || name == "s_setvskip"
          ? Decision::mode
          : Decision::none;
  return true;
}

} // namespace inlay::runtime::emulator
