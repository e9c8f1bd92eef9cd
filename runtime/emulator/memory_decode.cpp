// Memory instructions as they are decoded: mnemonics and operands. Sources: memory.cpp.
#include "atomics.h"
#include "memory.h"

#include <inlay/runtime/isa/instruction_facts.h>
#include <string>
#include <string_view>

namespace inlay::runtime::emulator {
namespace {

using Kind = MemoryFields::Kind;
using Space = MemoryFields::Space;

bool strip(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}
bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Size and extension of `dwordx4`, `ubyte`, `sbyte_d16_hi`, `short`, `b96`, `u16_d16`, ...
bool read_size(std::string_view name, MemoryFields& f) {
  if (strip(name, "_d16_hi")) {
    f.d16 = f.high = true;
  } else if (strip(name, "_d16")) {
    f.d16 = true;
  }
  struct Entry {
    std::string_view name;
    u8 bytes;
    bool is_signed;
  };
  static constexpr Entry entries[] = {
      {"dword", 4, false}, {"dwordx2", 8, false}, {"dwordx3", 12, false}, {"dwordx4", 16, false},
      {"ubyte", 1, false}, {"sbyte", 1, true},    {"byte", 1, false},     {"ushort", 2, false},
      {"sshort", 2, true}, {"short", 2, false},   {"b8", 1, false},       {"u8", 1, false},
      {"i8", 1, true},     {"b16", 2, false},     {"u16", 2, false},      {"i16", 2, true},
      {"b32", 4, false},   {"b64", 8, false},     {"b96", 12, false},     {"b128", 16, false}};
  for (const Entry& e : entries) {
    if (name == e.name) {
      f.bytes = e.bytes;
      f.is_signed = e.is_signed;
      return true;
    }
  }
  return false;
}

/// `x`, `xyzw`, `d16_xy`, `d16_hi_x`, ... after `format_`. The registers, not the element in memory, give `bytes`.
bool read_format(std::string_view name, MemoryFields& f) {
  f.d16 = skip(name, "d16_");
  f.high = f.d16 && skip(name, "hi_");
  if (name.empty() || name != std::string_view("xyzw").substr(0, name.size())) return false;
  f.format_count = static_cast<u8>(name.size());
  f.bytes = static_cast<u8>(4 * (f.d16 ? (name.size() + 1) / 2 : name.size()));
  return true;
}

bool read_atomic(std::string_view name, MemoryFields& f, bool lds) {
  struct Entry {
    std::string_view name;
    AtomicOp op;
    u8 bytes;
    bool floating;
  };
  static constexpr Entry floats[] = {
      {"add_f32", AtomicOp::add_f, 4, true},         {"add_f64", AtomicOp::add_f, 8, true},
      {"min_f64", AtomicOp::min_f, 8, true},         {"max_f64", AtomicOp::max_f, 8, true},
      {"min_f32", AtomicOp::min_f, 4, true},         {"max_f32", AtomicOp::max_f, 4, true},
      {"pk_add_f16", AtomicOp::pk_add_f16, 4, true}, {"pk_add_bf16", AtomicOp::pk_add_bf16, 4, true},
  };
  for (const Entry& e : floats) {
    if (name == e.name) {
      f.atomic = e.op;
      f.bytes = e.bytes;
      f.floating = true;
      return true;
    }
  }
  static constexpr Entry vector_memory[] = {
      {"add", AtomicOp::add, 4, false},     {"sub", AtomicOp::sub, 4, false},
      {"swap", AtomicOp::swap, 4, false},   {"cmpswap", AtomicOp::cmpswap, 4, false},
      {"smin", AtomicOp::smin, 4, false},   {"umin", AtomicOp::umin, 4, false},
      {"smax", AtomicOp::smax, 4, false},   {"umax", AtomicOp::umax, 4, false},
      {"and", AtomicOp::bit_and, 4, false}, {"or", AtomicOp::bit_or, 4, false},
      {"xor", AtomicOp::bit_xor, 4, false}, {"inc", AtomicOp::inc, 4, false},
      {"dec", AtomicOp::dec, 4, false}};
  static constexpr Entry data_share[] = {
      {"add_u", AtomicOp::add, 0, false},         {"sub_u", AtomicOp::sub, 0, false},
      {"rsub_u", AtomicOp::rsub, 0, false},       {"inc_u", AtomicOp::inc, 0, false},
      {"dec_u", AtomicOp::dec, 0, false},         {"min_i", AtomicOp::smin, 0, false},
      {"max_i", AtomicOp::smax, 0, false},        {"min_u", AtomicOp::umin, 0, false},
      {"max_u", AtomicOp::umax, 0, false},        {"and_b", AtomicOp::bit_and, 0, false},
      {"or_b", AtomicOp::bit_or, 0, false},       {"xor_b", AtomicOp::bit_xor, 0, false},
      {"mskor_b", AtomicOp::mskor, 0, false},     {"wrxchg_b", AtomicOp::swap, 0, false},
      {"wrxchg_rtn_b", AtomicOp::swap, 0, false}, {"cmpst_b", AtomicOp::cmpswap, 0, false},
      {"cmpst_f", AtomicOp::cmpswap_f, 0, false}};
  if (lds) {
    const u8 bytes = strip(name, "32") ? 4 : strip(name, "64") ? 8 : 0;
    for (const Entry& e : data_share) {
      if (bytes != 0 && name == e.name) {
        f.atomic = e.op;
        f.bytes = bytes;
        return true;
      }
    }
    return false;
  }
  const bool wide = strip(name, "_x2");
  for (const Entry& e : vector_memory) {
    if (name == e.name) {
      f.atomic = e.op;
      f.bytes = wide ? 8 : 4;
      return true;
    }
  }
  return false;
}

bool read_lds_mnemonic(std::string_view name, MemoryFields& f) {
  f.space = Space::lds;
  if (name == "nop") {
    f.kind = Kind::none;
    return true;
  }
  if (name == "swizzle_b32" || name == "permute_b32" || name == "bpermute_b32") {
    f.kind = name[0] == 's' ? Kind::swizzle : name[0] == 'p' ? Kind::permute : Kind::bpermute;
    return true;
  }
  if (name == "read_addtid_b32" || name == "write_addtid_b32") {
    f.kind = Kind::add_tid;
    return true;
  }
  if (name == "append" || name == "consume") {
    f.kind = Kind::atomic;
    f.atomic = name == "append" ? AtomicOp::append : AtomicOp::consume;
    f.returns = true;
    return true;
  }
  struct Transpose {
    std::string_view name;
    u8 bytes, bits;
  };
  static constexpr Transpose transposes[] = {{"read_b64_tr_b16", 8, 16},
                                             {"read_b64_tr_b8", 8, 8},
                                             {"read_b64_tr_b4", 8, 4},
                                             {"read_b96_tr_b6", 12, 6}};
  for (const Transpose& t : transposes) {
    if (name == t.name) {
      f.kind = Kind::transpose;
      f.bytes = t.bytes;
      f.transpose_bits = t.bits;
      return true;
    }
  }
  if (skip(name, "read2st64_") || skip(name, "read2_")) {
    f.kind = Kind::load;
    f.two = true;
    return read_size(name, f);
  }
  if (skip(name, "write2st64_") || skip(name, "write2_")) {
    f.kind = Kind::store;
    f.two = true;
    return read_size(name, f);
  }
  if (skip(name, "read_")) {
    f.kind = Kind::load;
    return read_size(name, f);
  }
  if (skip(name, "write_")) {
    f.kind = Kind::store;
    return read_size(name, f);
  }
  f.kind = Kind::atomic;
  if (skip(name, "wrxchg2st64_rtn_b") || skip(name, "wrxchg2_rtn_b")) {
    f.two = f.returns = true;
    f.atomic = AtomicOp::swap;
    f.bytes = name == "64" ? 8 : 4;
    return true;
  }
  if (name == "wrap_rtn_b32" || name == "condxchg32_rtn_b64") {
    f.returns = true;
    f.atomic = name[0] == 'w' ? AtomicOp::wrap : AtomicOp::condxchg32;
    f.bytes = name[0] == 'w' ? 4 : 8;
    return true;
  }
  std::string plain(name);
  if (const std::size_t at = plain.find("_rtn"); at != std::string::npos) {
    f.returns = true;
    plain.erase(at, 4);
  }
  return read_atomic(plain, f, true);
}

bool read_mnemonic(std::string_view name, MemoryFields& f) {
  if (skip(name, "ds_")) return read_lds_mnemonic(name, f);
  if (skip(name, "buffer_") || skip(name, "tbuffer_")) {
    f.space = Space::buffer;
  } else if (skip(name, "global_")) {
    f.space = Space::global;
  } else if (skip(name, "flat_")) {
    f.space = Space::flat;
  } else if (skip(name, "scratch_")) {
    f.space = Space::scratch;
  } else {
    return false;
  }
  if (name == "wbl2" || name == "inv" || name == "wbinvl1" || name == "wbinvl1_vol" || name == "invl2" ||
      name == "gl0_inv") {
    f.kind = Kind::none;
    return true;
  }
  if (skip(name, "load_lds_")) {
    f.kind = Kind::to_lds;
    return read_size(name, f);
  }
  if (skip(name, "load_")) {
    f.kind = Kind::load;
    return skip(name, "format_") ? read_format(name, f) : read_size(name, f);
  }
  if (skip(name, "store_")) {
    f.kind = Kind::store;
    return skip(name, "format_") ? read_format(name, f) : read_size(name, f);
  }
  if (skip(name, "atomic_")) {
    f.kind = Kind::atomic;
    return read_atomic(name, f, false);
  }
  return false;
}

} // namespace

bool prepare_memory(Operation& op, isa::Arch arch, unsigned accum_offset) {
  const isa::Instruction& i = *op.instruction;
  MemoryFields& f = op.memory;
  if (!read_mnemonic(i.mnemonic, f)) return false;
  op.execute = run_memory;
  op.cls = f.space == Space::lds ? Class::lds : Class::memory;
  if (f.kind == Kind::none) { // caches are not modelled, and these have no operands
    op.execute = [](Wave& w, const Operation& o) { note_issue(w, o, o.counters); };
    if ((i.mnemonic == "buffer_inv" && i.modifiers.sc1) ||
        (i.mnemonic == "buffer_wbinvl1_vol" && !machine::target(arch).scopes))
      op.execute = [](Wave& w, const Operation& o) {
        note_issue(w, o, o.counters);
        acquire(w);
        if (tells_devices(w)) clear_caches(w, o.instruction->modifiers.sc0);
      };
    if (i.mnemonic == "buffer_wbl2" && i.modifiers.sc1)
      op.execute = [](Wave& w, const Operation& o) {
        note_issue(w, o, o.counters);
        w.writes_back = w.last_vm_id;
        begin_write_back(w);
        w.writes_back_system = o.instruction->modifiers.sc0;
      };
    return true;
  }
  const isa::Modifiers& m = i.modifiers;
  if (m.lds && f.format_count != 0) return false; // what a converted element is in LDS no manual says
  if (m.lds) f.kind = Kind::to_lds;
  f.typed = i.format == isa::Format::mtbuf;
  f.idxen = m.idxen;
  f.offen = m.offen;
  f.device_scope = isa::of_device_scope(i, arch);
  f.system_scope = isa::of_system_scope(i, arch);
  f.offset = m.offset;
  if (f.two) {
    const i32 unit = f.bytes * (i.mnemonic.find("st64") != std::string_view::npos ? 64 : 1);
    f.offset = m.offset0 * unit;
    f.offset1 = m.offset1 * unit;
  }
  if (f.space != Space::lds && f.kind == Kind::atomic) f.returns = m.sc0;

  std::size_t at = 0;
  const auto take = [&]() -> const isa::Operand* {
    return at < i.operands.size() ? &i.operands[at++] : nullptr;
  };
  const auto row = [&](const isa::Operand* o) {
    return o != nullptr && o->is_vector()
               ? static_cast<int>(o->kind == isa::OperandKind::agpr ? o->index + accum_offset : o->index)
               : -1;
  };
  const auto reads = [&](const isa::Operand* o) {
    if (const int r = row(o); r >= 0) op.reads.push_back({static_cast<u16>(r), o->width});
  };
  const auto writes = [&](const isa::Operand* o) {
    if (const int r = row(o); r >= 0) op.writes.push_back({static_cast<u16>(r), o->width});
  };
  const auto scalar_reads = [&](const isa::Operand* o) {
    if (o != nullptr && o->kind == isa::OperandKind::sgpr) {
      for (unsigned r = o->index; r < o->index + unsigned{o->width} && r < 128; ++r)
        op.scalar_reads[r / 64] |= u64{1} << (r % 64);
    }
  };
  const auto take_dest = [&] {
    const isa::Operand* o = take();
    f.dest = row(o);
    writes(o);
    if (f.d16) reads(o);
  };
  const auto take_address = [&] {
    const isa::Operand* o = take();
    f.vaddr = row(o);
    f.vaddr_words = o == nullptr ? u8{0} : o->width;
    reads(o);
  };
  const auto take_data = [&] {
    const isa::Operand* o = take();
    f.data = row(o);
    reads(o);
  };
  const auto take_saddr = [&] {
    const isa::Operand* o = take();
    f.saddr = o != nullptr && o->kind == isa::OperandKind::sgpr ? static_cast<int>(o->index) : -1;
    scalar_reads(o);
  };
  switch (f.space) {
  case Space::lds:
    if (f.kind == Kind::swizzle) {
      take_dest();
      take_data();
    } else if (f.kind == Kind::add_tid) {
      if (i.mnemonic == "ds_read_addtid_b32") {
        take_dest();
      } else {
        take_data();
      }
    } else if (f.kind == Kind::load || f.kind == Kind::transpose) {
      take_dest();
      take_address();
    } else if (f.kind == Kind::atomic && (f.atomic == AtomicOp::append || f.atomic == AtomicOp::consume)) {
      take_dest();
    } else {
      if (f.returns || f.kind == Kind::permute || f.kind == Kind::bpermute) take_dest();
      take_address();
      take_data();
      if (at < i.operands.size()) {
        const isa::Operand* o = take();
        f.data2 = row(o);
        reads(o);
      }
    }
    break;
  case Space::buffer: {
    if (f.kind == Kind::load) {
      take_dest();
    } else if (f.kind == Kind::store) {
      take_data();
    } else if (f.kind == Kind::atomic) {
      const isa::Operand* o = take();
      f.data = row(o);
      reads(o);
      if (f.returns) {
        f.dest = row(o);
        if (const int r = row(o); r >= 0)
          op.writes.push_back({static_cast<u16>(r), static_cast<u16>(f.bytes / 4)});
      }
    }
    if (at < i.operands.size() &&
        (i.operands[at].is_vector() || i.operands[at].kind == isa::OperandKind::off))
      take_address();
    const isa::Operand* o = take();
    if (o == nullptr || o->kind != isa::OperandKind::sgpr) return false;
    f.srsrc = static_cast<int>(o->index);
    scalar_reads(o);
    const isa::Operand* s = take();
    if (s == nullptr) return false;
    f.soffset = *s;
    scalar_reads(s);
    break;
  }
  default: {
    const bool has_saddr = f.space != Space::flat;
    if (f.kind == Kind::to_lds) {
      take_address();
      take_saddr();
      break;
    }
    if (f.kind == Kind::load) {
      take_dest();
      take_address();
    } else {
      if (f.kind == Kind::atomic && f.returns) take_dest();
      take_address();
      take_data();
    }
    if (has_saddr) take_saddr();
    break;
  }
  }
  if (f.kind == Kind::atomic && !f.two && f.data >= 0 && f.atomic != AtomicOp::condxchg32) {
    f.rows = atomic_rows(f.atomic, f.bytes, false);
    f.shared_rows = atomic_rows(f.atomic, f.bytes, true);
  }
  if (!op.writes.empty())
    op.fills = f.space == Space::lds    ? Filled::by_lds
               : f.space == Space::flat ? Filled::by_flat
                                        : Filled::by_memory;
  if (f.kind == Kind::to_lds) op.scalar_reads[m0 / 64] |= u64{1} << (m0 % 64);
  return f.kind != Kind::load || f.dest >= 0;
}

} // namespace inlay::runtime::emulator
