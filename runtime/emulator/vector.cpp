// Vector instructions: operands are fetched as rows (neg, abs, SDWA, DPP and op_sel applied), the arithmetic is a
// function of rows, the result is modified (omod, clamp, selection) and written under EXEC.
//
// Source: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapter "Vector ALU Operations".
#include "engine.h"

#include "numerics/formats.h"
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cstring>
#include <unordered_map>

namespace inlay::runtime::emulator {

u64 dpp_lanes(const isa::Dpp& dpp, u64 active, std::array<i8, lanes>& from) {
  const int control = dpp.control;
  u64 written = active;
  for (int l = 0; l < static_cast<int>(lanes); ++l) {
    const int row = l & ~15;
    const int in = l & 15;
    int s = -1;
    if (control <= 0xff) {
      s = (l & ~3) + ((control >> (2 * (l & 3))) & 3);
    } else if (control >= 0x101 && control <= 0x10f) { // row_shl: from a higher lane
      const int n = in + (control & 15);
      s = n < 16 ? row + n : -1;
    } else if (control >= 0x111 && control <= 0x11f) {
      const int n = in - (control & 15);
      s = n >= 0 ? row + n : -1;
    } else if (control >= 0x121 && control <= 0x12f) {
      s = row + ((in - (control & 15)) & 15);
    } else if (control == 0x130) {
      s = l + 1 < 64 ? l + 1 : -1;
    } else if (control == 0x134) {
      s = (l + 1) & 63;
    } else if (control == 0x138) {
      s = l - 1;
    } else if (control == 0x13c) {
      s = (l - 1) & 63;
    } else if (control == 0x140) {
      s = row + 15 - in;
    } else if (control == 0x141) {
      s = (l & ~7) + 7 - (l & 7);
    } else if (control == 0x142) { // row_bcast15: lane 15 of a row to the next row
      s = l >= 16 ? row - 1 : -1;
    } else if (control == 0x143) { // row_bcast31
      s = l >= 32 ? 31 : -1;
    } else if (control >= 0x150 && control <= 0x15f) {
      s = row + (control & 15);
    }
    const bool there = s >= 0 && ((active >> s) & 1U) != 0;
    const bool enabled = ((dpp.row_mask >> (l / 16)) & 1U) != 0 && ((dpp.bank_mask >> (l / 4 % 4)) & 1U) != 0;
    // Nothing there counts as 0 with bound_ctrl, otherwise the lane is not written.
    if (!enabled || (!there && !dpp.bound_control)) written &= ~(u64{1} << l);
    from[static_cast<std::size_t>(l)] = static_cast<i8>(there ? s : -1);
  }
  return written;
}

namespace {

using isa::Select;

bool is_float32(Type t) { return t == Type::f32 || t == Type::packed_f32; }

const RowFunctions& host() {
  static const RowFunctions& functions = row_functions();
  return functions;
}
void broadcast(u32* row, u32 value) { host().broadcast(row, value); }

u32 select_part(u32 value, Select select, bool sext) {
  switch (select) {
  case Select::byte0:
  case Select::byte1:
  case Select::byte2:
  case Select::byte3: {
    const u32 b = (value >> (8 * static_cast<unsigned>(select))) & 0xff;
    return sext ? static_cast<u32>(i32{static_cast<i8>(b)}) : b;
  }
  case Select::word0:
  case Select::word1: {
    const u32 h = (value >> (16 * (static_cast<unsigned>(select) - 4))) & 0xffff;
    return sext ? static_cast<u32>(i32{static_cast<i16>(h)}) : h;
  }
  default: return value;
  }
}

u32 sign_of(Type type) {
  switch (type) {
  case Type::f16: return 0x8000U;
  default: return 0x80000000U;
  }
}

void flush_rows(u32* row, Type type) {
  if (is_float32(type)) {
    const unsigned count = words(type) * lanes;
    for (unsigned l = 0; l < count; ++l) row[l] = (row[l] & 0x7f800000U) == 0 ? row[l] & 0x80000000U : row[l];
  } else if (type == Type::f64) {
    for (unsigned l = 0; l < lanes; ++l) {
      if ((row[l + lanes] & 0x7ff00000U) == 0) {
        row[l] = 0;
        row[l + lanes] &= 0x80000000U;
      }
    }
  } else if (type == Type::f16 || type == Type::packed_f16) {
    for (unsigned l = 0; l < lanes; ++l) {
      u32 v = row[l];
      if ((v & 0x7c00U) == 0) v &= ~0x3ffU;
      if (type == Type::packed_f16 && (v & 0x7c000000U) == 0) v &= ~0x3ff0000U;
      row[l] = v;
    }
  }
}

bool flushes(u32 mode, Type type, bool sources) {
  const unsigned shift = is_float32(type) ? 4 : 6;
  const bool floating =
      is_float32(type) || type == Type::f64 || type == Type::f16 || type == Type::packed_f16;
  return floating && ((mode >> shift) & (sources ? 1U : 2U)) == 0;
}

/// The row of the result: s_set_gpr_idx moves it, VGPR or AGPR.
unsigned destination_row(const Wave& w, const Operation& op) {
  return (w.gpr_idx_mode & 8U) == 0 ? op.destination : (op.destination + (w.scalar[m0] & 0xff)) % vector_rows;
}

/// Source rows with the modifiers of source `i` applied; `scratch` has room for two rows.
const u32* fetch(Wave& w, const Operation& op, const Source& s, unsigned i, u32* scratch, bool flush) {
  const unsigned count = words(s.type);
  const u32* rows = nullptr;
  switch (s.kind) {
  case Source::Kind::row: {
    unsigned index = s.index;
    if (w.gpr_idx_mode != 0 && ((op.vgpr_sources >> i) & 1U) != 0 && ((w.gpr_idx_mode >> i) & 1U) != 0) {
      index = (index + (w.scalar[m0] & 0xff)) % vector_rows;
    }
    rows = w.row(index);
    break;
  }
  case Source::Kind::constant: rows = s.constant; break;
  case Source::Kind::scalar:
    broadcast(scratch, w.scalar[s.index]);
    if (count == 2) broadcast(scratch + lanes, w.scalar[s.index + 1U]);
    rows = scratch;
    break;
  case Source::Kind::special: {
    const u32 value = read_special(w, s.index);
    const bool aperture = s.index >= 235 && s.index <= 238;
    broadcast(scratch, count == 2 && aperture ? 0 : value);
    if (count == 2) broadcast(scratch + lanes, aperture ? value : 0);
    rows = scratch;
    break;
  }
  case Source::Kind::none: return scratch;
  }
  if (s.plain && !flush) {
    return rows;
  }
  if (rows != scratch) {
    std::memcpy(scratch, rows, count * lanes * sizeof(u32));
  }
  if (s.select != Select::dword) {
    for (unsigned l = 0; l < lanes; ++l) scratch[l] = select_part(scratch[l], s.select, s.sext);
  }
  if (flush) {
    flush_rows(scratch, s.type);
  }
  if (s.abs || s.neg) {
    const u32 sign = sign_of(s.type);
    u32* top = count == 2 ? scratch + lanes : scratch;
    const u32 keep = s.abs ? ~sign : ~0U;
    const u32 flip = s.neg ? sign : 0U;
    for (unsigned l = 0; l < lanes; ++l) top[l] = (top[l] & keep) ^ flip;
  }
  return scratch;
}

void scale_result(u32* d, Type type, int omod) {
  const float factor = omod == 1 ? 2.0F : omod == 2 ? 4.0F : 0.5F;
  if (type == Type::f32) {
    for (unsigned l = 0; l < lanes; ++l) d[l] = std::bit_cast<u32>(std::bit_cast<float>(d[l]) * factor);
  } else if (type == Type::f64) {
    for (unsigned l = 0; l < lanes; ++l) {
      const double v = std::bit_cast<double>(d[l] | (u64{d[l + lanes]} << 32)) * static_cast<double>(factor);
      d[l] = static_cast<u32>(std::bit_cast<u64>(v));
      d[l + lanes] = static_cast<u32>(std::bit_cast<u64>(v) >> 32);
    }
  } else if (type == Type::f16) {
    for (unsigned l = 0; l < lanes; ++l) {
      d[l] = numerics::narrow<numerics::Format::f16>(numerics::widen<numerics::Format::f16>(d[l]) * factor);
    }
  }
}

/// Clamp of a float result to [0, 1]. NaN becomes 0 with MODE.DX10_CLAMP and stays otherwise.
void clamp_result(u32* d, Type type, bool dx10) {
  if (type == Type::f32 || type == Type::packed_f32) {
    for (unsigned l = 0; l < lanes * words(type); ++l) {
      const float v = std::bit_cast<float>(d[l]);
      d[l] = v != v ? (dx10 ? 0U : d[l]) : v > 0.0F ? (v > 1.0F ? 0x3f800000U : d[l]) : 0U;
    }
  } else if (type == Type::f64) {
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 b = d[l] | (u64{d[l + lanes]} << 32);
      const double v = std::bit_cast<double>(b);
      const u64 r = v != v ? (dx10 ? 0 : b) : v > 0.0 ? (v > 1.0 ? 0x3ff0000000000000ULL : b) : 0;
      d[l] = static_cast<u32>(r);
      d[l + lanes] = static_cast<u32>(r >> 32);
    }
  } else if (type == Type::f16) {
    for (unsigned l = 0; l < lanes; ++l) {
      const float v = numerics::widen<numerics::Format::f16>(d[l]);
      d[l] = v != v ? (dx10 ? 0U : d[l]) : v > 0.0F ? (v > 1.0F ? 0x3c00U : d[l]) : 0U;
    }
  }
}

void merge_rows(u32* to, const u32* from, u64 mask, unsigned count) {
  for (unsigned k = 0; k < count; ++k, to += lanes, from += lanes) {
    if (mask == ~u64{0}) {
      std::memcpy(to, from, lanes * sizeof(u32));
    } else {
      host().merge(to, from, mask);
    }
  }
}

struct RoundingScope {
  explicit RoundingScope(unsigned mode) {
    static constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    if (mode != 0) std::fesetround(modes[mode]);
    changed = mode != 0;
  }
  ~RoundingScope() {
    if (changed) std::fesetround(FE_TONEAREST);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;
  bool changed;
};

/// The common case: no selection, no result modifier, nearest rounding; f32 denormals kept or flushed.
template <bool mask_result, bool flush>
void run_simple(Wave& w, const Operation& op) {
  const VectorEntry& e = *op.vector;
  VectorArguments a;
  const std::size_t n = op.sources.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Source& s = op.sources[i];
    a.s[i] = s.kind == Source::Kind::row && s.plain ? w.row(s.index)
             : s.kind == Source::Kind::constant && s.plain
                 ? s.constant
                 : fetch(w, op, s, static_cast<unsigned>(i), w.temporary[i], false);
    if (flush && is_float32(s.type)) {
      host().flush_f32(w.temporary[i], a.s[i], words(s.type) * lanes);
      a.s[i] = w.temporary[i];
    }
  }
  a.exec = w.exec();
  a.mode = w.mode;
  a.op_sel = op.instruction->modifiers.op_sel;
  a.op_sel_hi = op.instruction->modifiers.op_sel_hi;
  a.neg_lo = op.instruction->modifiers.neg_lo;
  a.neg_hi = op.instruction->modifiers.neg_hi;
  a.truth = op.instruction->modifiers.bitop3;
  a.ocp = machine::target(w.arch).ocp_fp8;
  if (op.mask_source >= 0) a.mask_in = w.scalar64(static_cast<unsigned>(op.mask_source));
  if constexpr (mask_result) {
    e.function(a);
    const u64 mask = a.mask_out & a.exec;
    w.set_scalar64(static_cast<unsigned>(op.mask_destination), mask);
    if ((e.flags & writes_exec) != 0) w.set_scalar64(exec_lo, mask);
  } else {
    const unsigned count = words(e.d);
    u32* destination = w.row(op.destination);
    if (a.exec == ~u64{0} && count == 1) {
      a.d = destination;
      e.function(a);
      if (flush && is_float32(e.d)) host().flush_f32(destination, destination, lanes);
    } else {
      a.d = w.temporary[3];
      e.function(a);
      if (flush && is_float32(e.d)) host().flush_f32(a.d, a.d, count * lanes);
      merge_rows(destination, a.d, a.exec, count);
    }
    if (op.mask_destination >= 0) {
      w.set_scalar64(static_cast<unsigned>(op.mask_destination), a.mask_out & a.exec);
    }
  }
}

/// Everything: DPP, SDWA, op_sel, omod, clamp, denormal modes, s_set_gpr_idx.
void run_general(Wave& w, const Operation& op) {
  const VectorEntry& e = *op.vector;
  const isa::Modifiers& m = op.instruction->modifiers;
  VectorArguments a;
  a.exec = w.exec();
  a.mode = w.mode;
  a.op_sel = m.op_sel;
  a.op_sel_hi = m.op_sel_hi;
  a.neg_lo = m.neg_lo;
  a.neg_hi = m.neg_hi;
  a.truth = m.bitop3;
  a.clamp = m.clamp;
  a.ocp = machine::target(w.arch).ocp_fp8;
  if (op.instruction->form == isa::Form::sdwa && op.instruction->modifiers.src0_sel == Select::word1 &&
      (e.flags & own_op_sel) != 0) {
    a.op_sel |= 1; // v_cvt_pk_f32_fp8_sdwa picks its half this way
  }
  const bool always = (e.flags & flushes_always) != 0;
  const bool may_flush = (e.flags & no_flush) == 0;
  u64 write_mask = a.exec;
  const bool dpp = op.instruction->form == isa::Form::dpp;
  std::array<i8, lanes> from{};
  for (std::size_t i = 0; i < op.sources.size(); ++i) {
    const Source& s = op.sources[i];
    const bool flush = may_flush && (flushes(w.mode, s.type, true) || (always && is_float32(s.type)));
    if (i == 0 && dpp) {
      write_mask = dpp_lanes(m.dpp, a.exec, from);
      Source raw = s;
      raw.plain = true;
      const u32* rows = fetch(w, op, raw, 0, w.temporary[4], false);
      u32* gathered = w.temporary[0];
      for (unsigned l = 0; l < lanes; ++l) {
        const int f = from[l];
        for (unsigned k = 0; k < words(s.type); ++k)
          gathered[l + k * lanes] = f >= 0 ? rows[static_cast<unsigned>(f) + k * lanes] : 0;
      }
      if (flush) flush_rows(gathered, s.type);
      if (s.abs || s.neg) {
        const u32 sign = sign_of(s.type);
        u32* top = words(s.type) == 2 ? gathered + lanes : gathered;
        for (unsigned l = 0; l < lanes; ++l) top[l] = (top[l] & (s.abs ? ~sign : ~0U)) ^ (s.neg ? sign : 0U);
      }
      a.s[0] = gathered;
      continue;
    }
    a.s[i] = fetch(w, op, s, static_cast<unsigned>(i), w.temporary[i], flush);
  }
  if (op.mask_source >= 0) a.mask_in = w.scalar64(static_cast<unsigned>(op.mask_source));
  a.d = w.temporary[3];
  {
    const bool single = is_float32(e.d) || (e.d == Type::mask && is_float32(e.s[0]));
    const RoundingScope rounding(single ? w.mode & 3U : (w.mode >> 2) & 3U);
    e.function(a);
    if (m.omod != 0) scale_result(a.d, e.d, m.omod);
  }
  if (op.mask_destination >= 0) {
    const u64 mask = a.mask_out & a.exec;
    w.set_scalar64(static_cast<unsigned>(op.mask_destination), mask);
    if ((e.flags & writes_exec) != 0) w.set_scalar64(exec_lo, mask);
  }
  if (e.d == Type::mask) {
    return;
  }
  if (may_flush && (flushes(w.mode, e.d, false) || (always && is_float32(e.d)))) flush_rows(a.d, e.d);
  if (m.clamp && (e.flags & integer_clamp) == 0) clamp_result(a.d, e.d, (w.mode & 0x100U) != 0);

  u32* destination = w.row(destination_row(w, op));
  const bool half = e.d == Type::f16 || e.d == Type::b16;
  if (op.instruction->form == isa::Form::sdwa && m.dst_sel != Select::dword) {
    const unsigned sel = static_cast<unsigned>(m.dst_sel);
    const unsigned width = sel < 4 ? 8 : 16;
    const unsigned shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
    const u32 field = ((1U << width) - 1) << shift;
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 v = (a.d[l] << shift) & field;
      u32 rest = 0;
      if (m.dst_unused == 2) {
        rest = destination[l] & ~field;
      } else if (m.dst_unused == 1 && ((a.d[l] >> (width - 1)) & 1U) != 0 && shift + width < 32) {
        rest = ~0U << (shift + width);
      }
      a.d[l] = v | rest;
    }
  } else if (half) {
    const bool to_upper = (e.flags & to_high) != 0 || ((m.op_sel & 8U) != 0 && (e.flags & own_op_sel) == 0 &&
                                                       op.instruction->format == isa::Format::vop3);
    if (to_upper) {
      for (unsigned l = 0; l < lanes; ++l) a.d[l] = (destination[l] & 0xffffU) | (a.d[l] << 16);
    } else if ((e.flags & keeps_high) != 0 ||
               (m.op_sel != 0 && op.instruction->format == isa::Format::vop3)) {
      for (unsigned l = 0; l < lanes; ++l) a.d[l] = (destination[l] & 0xffff0000U) | (a.d[l] & 0xffffU);
    }
  }
  merge_rows(destination, a.d, write_mask, words(e.d));
}

void run_vector(Wave& w, const Operation& op) {
  if (w.vskip) return;
  // The simple path needs nearest rounding, kept f16 and f64 denormals, and f32 denormals kept or flushed both ways.
  const u32 mode = w.mode & 0xffU;
  if (op.simple && w.gpr_idx_mode == 0 && (mode == 0xf0U || mode == 0xc0U)) {
    const bool mask = op.vector->d == Type::mask;
    if (mode == 0xf0U && !op.always_flushes) {
      mask ? run_simple<true, false>(w, op) : run_simple<false, false>(w, op);
      return;
    }
    if ((op.vector->flags & no_flush) != 0) {
      mask ? run_simple<true, false>(w, op) : run_simple<false, false>(w, op);
    } else {
      mask ? run_simple<true, true>(w, op) : run_simple<false, true>(w, op);
    }
    return;
  }
  run_general(w, op);
}

// ---- instructions that look across lanes or write scalars -----------------------------------------------------------

void readfirstlane(Wave& w, const Operation& op) {
  const u64 exec = w.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  const u32* row = fetch(w, op, op.sources[0], 0, w.temporary[0], false);
  w.scalar[static_cast<unsigned>(op.mask_destination)] = row[lane];
}
void readlane(Wave& w, const Operation& op) {
  const u32* row = fetch(w, op, op.sources[0], 0, w.temporary[0], false);
  const u32* lane = fetch(w, op, op.sources[1], 1, w.temporary[1], false);
  w.scalar[static_cast<unsigned>(op.mask_destination)] = row[lane[0] & 63];
}
void writelane(Wave& w, const Operation& op) {
  const u32* value = fetch(w, op, op.sources[0], 0, w.temporary[0], false);
  const u32* lane = fetch(w, op, op.sources[1], 1, w.temporary[1], false);
  w.row(destination_row(w, op))[lane[0] & 63] = value[0];
}
void swap(Wave& w, const Operation& op) {
  u32* x = w.row(op.destination);
  u32* y = w.row(op.sources[0].index);
  for (unsigned l = 0; l < lanes; ++l) {
    if (((w.exec() >> l) & 1U) != 0) std::swap(x[l], y[l]);
  }
}
/// V_PERMLANE16_SWAP, V_PERMLANE32_SWAP (CDNA4): odd rows of the first operand change places with even rows of the second.
template <unsigned size>
void permlane_swap(Wave& w, const Operation& op) {
  u32* x = w.row(op.destination);
  u32* y = w.row(op.sources[0].index);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((l / size) % 2 == 0 && ((w.exec() >> l) & 1U) != 0) {
      std::swap(x[l + size], y[l]);
    }
  }
}
/// V_MQSAD_U32_U8: four sums of absolute differences, each of four bytes of the first source one further on; bytes of
/// the second that are zero do not count. Sources are read before the destination, which may overlap them, is written.
void mqsad_u32_u8(Wave& w, const Operation& op) {
  const u32* data = fetch(w, op, op.sources[0], 0, w.temporary[0], false);
  const u32* reference = fetch(w, op, op.sources[1], 1, w.temporary[1], false);
  const Source& sum = op.sources[2];
  std::array<std::array<u32, lanes>, 4> out{};
  for (unsigned k = 0; k < 4; ++k) {
    const u32* start = sum.kind == Source::Kind::row ? w.row(sum.index + k) : nullptr;
    for (unsigned l = 0; l < lanes; ++l) {
      u32 total = start != nullptr                   ? start[l]
                  : sum.kind == Source::Kind::scalar ? w.scalar[sum.index + k]
                  : k == 0                           ? sum.constant[l]
                                                     : 0;
      const u64 bytes = (data[l] | (u64{data[l + lanes]} << 32)) >> (8 * k);
      for (unsigned b = 0; b < 4; ++b) {
        const int x = static_cast<int>((bytes >> (8 * b)) & 0xff);
        const int y = static_cast<int>((reference[l] >> (8 * b)) & 0xff);
        if (y != 0) total += static_cast<u32>(x > y ? x - y : y - x);
      }
      out[k][l] = total;
    }
  }
  for (unsigned k = 0; k < 4; ++k) merge_rows(w.row(op.destination + k), out[k].data(), w.exec(), 1);
}
void nothing(Wave&, const Operation&) {}

struct Special {
  std::string_view name;
  Handler handler;
  Type s[3];
};
constexpr Special specials[] = {
    {"v_readfirstlane_b32", readfirstlane, {Type::b32, Type::none}},
    {"v_readlane_b32", readlane, {Type::b32, Type::b32}},
    {"v_writelane_b32", writelane, {Type::b32, Type::b32}},
    {"v_swap_b32", swap, {Type::b32, Type::none}},
    {"v_permlane16_swap_b32", permlane_swap<16>, {Type::b32, Type::none}},
    {"v_permlane32_swap_b32", permlane_swap<32>, {Type::b32, Type::none}},
    {"v_mqsad_u32_u8", mqsad_u32_u8, {Type::b64, Type::b32, Type::b32}}, // four words in the third
    {"v_nop", nothing, {Type::none, Type::none}},
    {"v_clrexcp", nothing, {Type::none, Type::none}},
};

/// How an inline constant or a literal is widened for operand `k`: by the type of the element that it stands for, which is
/// not always the type that the function reads (v_fma_mix takes f16 or f32 as op_sel_hi says; v_dot2_*_f16 takes pairs).
struct ConstantForm {
  Type type = Type::none;
  bool bf16 = false;      ///< a float constant stands in the low half, as bf16
  bool is_signed = false; ///< a 32-bit literal of a 64-bit operand is extended by its sign, not with zeros
};
ConstantForm constant_form(const isa::Instruction& i, const VectorEntry* e, unsigned k, Type type) {
  const std::string_view name = i.mnemonic;
  ConstantForm form{.type = type, .is_signed = name.ends_with("_i64") && type == Type::b64};
  if (e == nullptr) return form;
  if (name.starts_with("v_fma_mix") && ((i.modifiers.op_sel_hi >> k) & 1U) != 0) form.type = Type::packed_f16;
  if (name.starts_with("v_dot2") && k < 2) {
    if (name.ends_with("_f32_f16")) form.type = Type::packed_f16;
    form.bf16 = name.ends_with("_f32_bf16");
  }
  if (name == "v_pk_mov_b32") form.type = Type::packed_f32; // a pair of 32-bit words, not one of 64 bits
  return form;
}

/// A constant as it appears to an operand of this form.
void constant_rows(std::array<u32, 128>& rows, const isa::Operand& o, const ConstantForm& form) {
  const Type type = form.type;
  u64 value = o.value;
  if (o.kind == isa::OperandKind::inline_float) {
    const double d = std::bit_cast<double>(o.value);
    if (type == Type::f64 || type == Type::b64) {
      value = o.value;
    } else if (type == Type::f16 || type == Type::packed_f16) {
      value = numerics::narrow<numerics::Format::f16>(static_cast<float>(d));
    } else if (form.bf16) {
      value = numerics::narrow<numerics::Format::bf16>(static_cast<float>(d));
    } else {
      value = std::bit_cast<u32>(static_cast<float>(d));
    }
  } else if (o.kind == isa::OperandKind::literal && type == Type::f64) {
    value = o.value << 32; // the literal is the high word of a double
  } else if (o.kind == isa::OperandKind::literal && type == Type::b64) {
    value = form.is_signed ? static_cast<u64>(i64{static_cast<i32>(static_cast<u32>(o.value))})
                           : o.value & 0xffffffffU;
  }
  for (unsigned l = 0; l < lanes; ++l) {
    rows[l] = static_cast<u32>(value);
    rows[l + lanes] = type == Type::packed_f32 ? 0 : static_cast<u32>(value >> 32);
  }
}

Source make_source(const isa::Instruction& i, const VectorEntry* e, unsigned k, const isa::Operand& o,
                   Type type, PreparedProgram& owner, unsigned accum_offset) {
  Source s;
  s.type = type;
  s.neg = o.neg;
  s.abs = o.abs;
  s.sext = o.sext;
  switch (o.kind) {
  case isa::OperandKind::vgpr:
    s.kind = Source::Kind::row;
    s.index = o.index;
    break;
  case isa::OperandKind::agpr:
    s.kind = Source::Kind::row;
    s.index = static_cast<u16>(o.index + accum_offset);
    break;
  case isa::OperandKind::sgpr:
    s.kind = Source::Kind::scalar;
    s.index = o.index;
    break;
  case isa::OperandKind::special:
    s.kind = Source::Kind::special;
    s.index = o.index;
    break;
  default:
    s.kind = Source::Kind::constant;
    owner.constants.emplace_back();
    constant_rows(owner.constants.back(), o, constant_form(i, e, k, type));
    s.constant = owner.constants.back().data();
    break;
  }
  return s;
}

void mark(u64* set, unsigned first, unsigned count) {
  for (unsigned r = first; r < first + count && r < 128; ++r) set[r / 64] |= u64{1} << (r % 64);
}

void collect_reads(Operation& op) {
  for (const Source& s : op.sources) {
    if (s.kind == Source::Kind::row) op.reads.push_back({s.index, static_cast<u16>(words(s.type))});
    if (s.kind == Source::Kind::scalar) mark(op.scalar_reads, s.index, words(s.type));
  }
}

bool prepare_special(Operation& op, PreparedProgram& owner, unsigned accum_offset) {
  const isa::Instruction& i = *op.instruction;
  for (const Special& special : specials) {
    if (special.name != i.mnemonic) continue;
    op.special = special.handler;
    op.execute = [](Wave& w, const Operation& o) {
      if (!w.vskip) o.special(w, o);
    };
    op.cls = Class::vector;
    const auto wanted = static_cast<std::size_t>(
        std::find(std::begin(special.s), std::end(special.s), Type::none) - special.s);
    if (i.operands.size() < wanted + (wanted == 0 ? 0 : 1)) return false;
    for (std::size_t k = 0; k < wanted; ++k) {
      op.sources.push_back(make_source(i, nullptr, static_cast<unsigned>(k), i.operands[k + 1], special.s[k],
                                       owner, accum_offset));
      if (i.operands[k + 1].is_vector()) op.vgpr_sources |= static_cast<u8>(1U << k);
    }
    collect_reads(op);
    if (wanted != 0) {
      const isa::Operand& d = i.operands[0];
      if (d.is_vector()) {
        op.destination =
            static_cast<u16>(d.kind == isa::OperandKind::agpr ? d.index + accum_offset : d.index);
        op.writes.push_back({op.destination, 1});
      } else {
        op.mask_destination = d.index;
        mark(op.scalar_writes, d.index, 1);
      }
    }
    op.moves_bits = special.handler != mqsad_u32_u8;
    op.keeps_part = special.handler == writelane;
    if (special.handler == readfirstlane) op.reads_lanes = LaneReads::first;
    if (special.handler == readlane) op.reads_lanes = LaneReads::one;
    if (special.handler == writelane) op.reads_lanes = LaneReads::first;
    if (special.name.find("swap") != std::string_view::npos) op.reads_lanes = LaneReads::all;
    if (special.handler == mqsad_u32_u8) {
      op.writes[0].count = 4;
      if (op.sources[2].kind == Source::Kind::row) op.reads.back().count = 4;
      if (op.sources[2].kind == Source::Kind::scalar) mark(op.scalar_reads, op.sources[2].index, 4);
    }
    if (special.name.find("swap") != std::string_view::npos) {
      op.writes.push_back({op.sources[0].index, 1});
      op.reads.push_back({op.destination, 1});
    }
    return true;
  }
  return false;
}

} // namespace

std::vector<std::string_view> special_vector_mnemonics() {
  std::vector<std::string_view> names;
  for (const Special& special : specials) names.push_back(special.name);
  return names;
}

bool prepare_vector(Operation& op, PreparedProgram& owner, isa::Arch, unsigned accum_offset) {
  const isa::Instruction& i = *op.instruction;
  if (prepare_special(op, owner, accum_offset)) {
    return true;
  }
  const VectorEntry* e = find_vector_entry(i.mnemonic);
  if (e == nullptr) {
    return false;
  }
  op.vector = e;
  op.cls = Class::vector;
  op.execute = run_vector;
  std::size_t at = 0;
  const auto take = [&]() -> const isa::Operand* {
    return at < i.operands.size() ? &i.operands[at++] : nullptr;
  };
  const auto scalar_of = [](const isa::Operand* o) {
    return o != nullptr && o->kind == isa::OperandKind::sgpr ? static_cast<int>(o->index) : -1;
  };
  const isa::Operand* d = take();
  if (d == nullptr) return false;
  if (e->d == Type::mask) {
    op.mask_destination = scalar_of(d);
    if (op.mask_destination < 0) return false;
  } else if (d->is_vector()) {
    op.destination = static_cast<u16>(d->kind == isa::OperandKind::agpr ? d->index + accum_offset : d->index);
    op.writes.push_back({op.destination, static_cast<u16>(words(e->d))});
  } else {
    return false;
  }
  if ((e->flags & carry_out) != 0) {
    op.mask_destination = scalar_of(take());
    if (op.mask_destination < 0) return false;
  }
  const unsigned wanted = e->sources() - ((e->flags & reads_destination) != 0 ? 1U : 0U);
  for (unsigned k = 0; k < wanted; ++k) {
    const isa::Operand* o = take();
    if (o == nullptr) return false;
    op.sources.push_back(make_source(i, e, k, *o, e->s[k], owner, accum_offset));
    if (o->is_vector()) op.vgpr_sources |= static_cast<u8>(1U << k);
  }
  if ((e->flags & reads_destination) != 0) {
    op.sources.push_back(make_source(i, e, wanted, *d, e->s[wanted], owner, accum_offset));
  }
  if ((e->flags & reads_mask) != 0) {
    const isa::Operand* o = take();
    op.mask_source = o == nullptr ? static_cast<int>(vcc_lo) : scalar_of(o);
    if (op.mask_source < 0) {
      return false;
    }
  }
  if ((e->flags & reads_vcc) != 0) op.mask_source = vcc_lo;

  const isa::Modifiers& m = i.modifiers;
  if (i.form == isa::Form::sdwa) {
    const bool half_by_op_sel = (e->flags & own_op_sel) != 0;
    if (!op.sources.empty() && !half_by_op_sel) op.sources[0].select = m.src0_sel;
    if (op.sources.size() > 1 && wanted > 1) op.sources[1].select = m.src1_sel;
    for (Source& s : op.sources) { // sext without a selection extends nothing
      s.sext = s.sext && s.select != Select::dword;
    }
  } else if (i.format == isa::Format::vop3 && (e->flags & own_op_sel) == 0) {
    for (unsigned k = 0; k < op.sources.size() && k < 3; ++k) {
      const bool sixteen = e->s[k] == Type::f16 || e->s[k] == Type::b16;
      if (sixteen && ((m.op_sel >> k) & 1U) != 0) op.sources[k].select = Select::word1;
    }
  }
  for (Source& s : op.sources) {
    if (i.format == isa::Format::vop3p) s.neg = s.abs = false; // the function reads neg_lo and neg_hi
    s.plain = !s.neg && !s.abs && s.select == Select::dword;
  }
  op.simple = i.form != isa::Form::dpp && i.form != isa::Form::sdwa && !m.clamp && m.omod == 0 &&
              (m.op_sel == 0 || (e->flags & own_op_sel) != 0) && (e->flags & (keeps_high | to_high)) == 0;
  op.always_flushes = (e->flags & flushes_always) != 0;
  op.whole_wave = false;
  const bool half_result = e->d == Type::f16 || e->d == Type::b16;
  op.keeps_part = i.form == isa::Form::dpp || (i.form == isa::Form::sdwa && m.dst_sel != Select::dword) ||
                  (e->flags & (keeps_high | to_high)) != 0 || (half_result && m.op_sel != 0);
  op.moves_bits = e->name == "v_mov_b32" || e->name == "v_mov_b64" || e->name == "v_not_b32" ||
                  e->name == "v_pk_mov_b32" || e->name.starts_with("v_accvgpr");
  op.widens = is_float32(e->d) || e->d == Type::f64           ? 32
              : e->d == Type::f16 || e->d == Type::packed_f16 ? 16
                                                              : 0;
  collect_reads(op);
  if (op.mask_source >= 0) mark(op.scalar_reads, static_cast<unsigned>(op.mask_source), 2);
  if (op.mask_destination >= 0) mark(op.scalar_writes, static_cast<unsigned>(op.mask_destination), 2);
  if ((e->flags & writes_exec) != 0) mark(op.scalar_writes, exec_lo, 2);
  return true;
}

} // namespace inlay::runtime::emulator
