// Every vector instruction assembled and executed by the emulator, with the modifiers that its encodings have: neg, abs,
// clamp, omod, op_sel, SDWA, DPP, disabled lanes. What the modifiers do is written here a second time, lane by lane, from
// the manuals' chapters "Vector ALU operations", "Data Parallel Processing" and "SDWA"; what the instruction computes
// comes from vector_oracle.h.
#include "differential.h"
#include "emulator/vector_functions.h"
#include "vector_oracle.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/isa/assemble.h>
#include <map>
#include <random>
#include <vector>

using namespace inlay::runtime;
using emulator::Type;
using emulator::VectorEntry;
using oracle::u32;
using oracle::u64;

namespace {

// Sources in v[8:9], v[10:11], v[12:13], the old destination in v[14:15]; result in v[20:21], masks in s[20:21].
constexpr int dwords = 8;

enum class Kind { plain, signs, clamp, omod, op_sel, packed, sdwa, dpp };

struct Dpp {
  enum Pattern {
    quad_perm,
    row_shr,
    row_shl,
    row_ror,
    row_mirror,
    row_half_mirror,
    wave_shr
  } pattern = quad_perm;
  int amount = 0;
  std::array<int, 4> quad{};
  unsigned row_mask = 15, bank_mask = 15;
  bool zero = false; // bound_ctrl
};

struct Sdwa {
  int dst_sel = 6, unused = 0;
  std::array<int, 2> src_sel{6, 6};
  std::array<bool, 2> sext{};
};

struct Probe {
  std::string text;
  const VectorEntry* entry = nullptr;
  const oracle::Rule* rule = nullptr;
  Kind kind = Kind::plain;
  std::array<bool, 3> neg{}, abs{};
  bool clamp = false;
  int omod = 0; // 1: *2, 2: *4, 3: /2
  unsigned op_sel = 0, op_sel_hi = 7, neg_lo = 0, neg_hi = 0;
  Dpp dpp;
  Sdwa sdwa;
};

bool is_float(Type t) { return t == Type::f32 || t == Type::f64 || t == Type::f16; }
bool wide(Type t) { return emulator::words(t) == 2; }

std::string operand_name(int base, Type t) {
  return wide(t) ? "v[" + std::to_string(base) + ":" + std::to_string(base + 1) + "]"
                 : "v" + std::to_string(base);
}

// The value operands that the text shows: old destinations are not named where the encoding ties them.
unsigned shown_sources(const VectorEntry& e) {
  return e.sources() - ((e.flags & emulator::reads_destination) != 0 ? 1 : 0);
}

std::string bits_list(unsigned bits, unsigned count) {
  std::string list;
  for (unsigned n = 0; n < count; ++n) {
    list += (n != 0 ? "," : "[") + std::to_string(bits >> n & 1u);
  }
  return list + "]";
}

constexpr const char* select_names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
constexpr const char* unused_names[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

// OPSEL[3:2] is the destination's byte.
bool picks_byte(const VectorEntry& e) { return e.name == "v_cvt_sr_fp8_f32" || e.name == "v_cvt_sr_bf8_f32"; }

// Assembly text of an instruction with modifiers; `suffix` is the encoding's.
std::string spell(const Probe& p, const std::string& suffix) {
  const VectorEntry& e = *p.entry;
  const bool e64 = suffix == "_e64" || suffix.empty();
  std::string text = std::string(e.name) + suffix + " ";
  const bool mask_destination = e.d == Type::mask;
  text += mask_destination ? (e64 ? "s[20:21]" : "vcc") : operand_name(20, e.d);
  if ((e.flags & emulator::carry_out) != 0) {
    text += e64 ? ", s[20:21]" : ", vcc";
  }
  for (unsigned n = 0; n < shown_sources(e); ++n) {
    std::string name = operand_name(8 + 2 * static_cast<int>(n), e.s[n]);
    if (p.kind == Kind::sdwa && n < 2 && p.sdwa.sext[n]) {
      name = "sext(" + name + ")";
    }
    if (p.abs[n]) {
      name = "|" + name + "|";
    }
    text += (p.neg[n] ? ", -" : ", ") + name;
  }
  if ((e.flags & emulator::reads_mask) != 0) {
    text += e64 ? ", s[22:23]" : ", vcc";
  }
  if (p.kind == Kind::op_sel) { // the sources', then the destination's
    const unsigned count = shown_sources(e);
    const unsigned bits = (p.op_sel & ((1u << count) - 1)) | (p.op_sel >> 3 & 1u) << count;
    text += " op_sel:" + (picks_byte(e) ? bits_list(p.op_sel, 4) : bits_list(bits, count + 1));
  }
  if (p.kind == Kind::packed) {
    text += " op_sel:" + bits_list(p.op_sel, shown_sources(e)) +
            " op_sel_hi:" + bits_list(p.op_sel_hi, shown_sources(e));
    if (p.neg_lo != 0) {
      text += " neg_lo:" + bits_list(p.neg_lo, shown_sources(e));
    }
    if (p.neg_hi != 0) {
      text += " neg_hi:" + bits_list(p.neg_hi, shown_sources(e));
    }
  }
  if (p.clamp) {
    text += " clamp";
  }
  if (p.omod != 0) {
    text += p.omod == 1 ? " mul:2" : p.omod == 2 ? " mul:4" : " div:2";
  }
  if (p.kind == Kind::sdwa) {
    if (!mask_destination) {
      text += std::string(" dst_sel:") + select_names[p.sdwa.dst_sel] +
              " dst_unused:" + unused_names[p.sdwa.unused];
    }
    text += std::string(" src0_sel:") + select_names[p.sdwa.src_sel[0]];
    if (shown_sources(e) > 1) {
      text += std::string(" src1_sel:") + select_names[p.sdwa.src_sel[1]];
    }
  }
  if (p.kind == Kind::dpp) {
    const auto& d = p.dpp;
    const std::string amount = ":" + std::to_string(d.amount);
    switch (d.pattern) {
    case Dpp::quad_perm:
      text += " quad_perm:[" + std::to_string(d.quad[0]) + "," + std::to_string(d.quad[1]) + "," +
              std::to_string(d.quad[2]) + "," + std::to_string(d.quad[3]) + "]";
      break;
    case Dpp::row_shr: text += " row_shr" + amount; break;
    case Dpp::row_shl: text += " row_shl" + amount; break;
    case Dpp::row_ror: text += " row_ror" + amount; break;
    case Dpp::row_mirror: text += " row_mirror"; break;
    case Dpp::row_half_mirror: text += " row_half_mirror"; break;
    case Dpp::wave_shr: text += " wave_shr:1"; break;
    }
    text += " row_mask:" + std::to_string(d.row_mask) + " bank_mask:" + std::to_string(d.bank_mask) +
            (d.zero ? " bound_ctrl:0" : "");
  }
  return text;
}

// A random probe of that kind, without text.
Probe draw(const VectorEntry& e, Kind kind, std::mt19937_64& random) {
  Probe p;
  p.entry = &e;
  p.rule = oracle::rule(e.name);
  p.kind = kind;
  p.op_sel_hi = e.name.starts_with("v_fma_mix") ? 0 : 7; // what the text means when it is silent
  const auto flip = [&] { return (random() & 1u) != 0; };
  switch (kind) {
  case Kind::signs:
  case Kind::sdwa:
  case Kind::dpp:
    for (unsigned n = 0; n < shown_sources(e); ++n) {
      if (is_float(e.s[n])) {
        p.neg[n] = flip();
        p.abs[n] = flip();
      } else if (kind == Kind::sdwa && n < 2) {
        p.sdwa.sext[n] = flip();
      }
    }
    break;
  case Kind::clamp: p.clamp = true; break;
  case Kind::omod: p.omod = 1 + static_cast<int>(random() % 3); break;
  case Kind::op_sel: p.op_sel = static_cast<unsigned>(random() % 16) & (picks_byte(e) ? 12u : 15u); break;
  case Kind::packed:
    p.op_sel = static_cast<unsigned>(random() % 8);
    p.op_sel_hi = static_cast<unsigned>(random() % 8);
    if (e.s[0] == Type::packed_f16 || e.s[0] == Type::packed_f32) {
      p.neg_lo = static_cast<unsigned>(random() % 8);
      p.neg_hi = static_cast<unsigned>(random() % 8);
    }
    break;
  default: break;
  }
  if (kind == Kind::sdwa) {
    p.sdwa.dst_sel = static_cast<int>(random() % 7);
    p.sdwa.unused = static_cast<int>(random() % 3);
    p.sdwa.src_sel = {static_cast<int>(random() % 7), static_cast<int>(random() % 7)};
  }
  if (kind == Kind::dpp) {
    p.dpp.pattern = static_cast<Dpp::Pattern>(random() % 7);
    p.dpp.amount = 1 + static_cast<int>(random() % 15);
    for (auto& q : p.dpp.quad) {
      q = static_cast<int>(random() % 4);
    }
    p.dpp.row_mask = flip() ? 15 : static_cast<unsigned>(random() % 16);
    p.dpp.bank_mask = flip() ? 15 : static_cast<unsigned>(random() % 16);
    p.dpp.zero = flip();
  }
  // Fields of sources that do not exist stay clear.
  const unsigned exists = (1u << shown_sources(e)) - 1;
  if (kind == Kind::packed) {
    p.op_sel &= exists;
    p.op_sel_hi &= exists;
    p.neg_lo &= exists;
    p.neg_hi &= exists;
  }
  return p;
}

// ---- what the modifiers do ------------------------------------------------------------------------------------------

// The lane that DPP reads for `lane`, or -1.
int dpp_source(const Dpp& d, int lane) {
  const int row = lane / 16 * 16, at = lane % 16;
  switch (d.pattern) {
  case Dpp::quad_perm: return lane / 4 * 4 + d.quad[static_cast<std::size_t>(lane % 4)];
  case Dpp::row_shr: return at >= d.amount ? lane - d.amount : -1;
  case Dpp::row_shl: return at + d.amount < 16 ? lane + d.amount : -1;
  case Dpp::row_ror: return row + (at - d.amount + 16) % 16;
  case Dpp::row_mirror: return row + 15 - at;
  case Dpp::row_half_mirror: return lane / 8 * 8 + 7 - lane % 8;
  default: return lane - 1;
  }
}

u64 selected(u64 x, int select, bool sext) {
  const int width = select < 4 ? 8 : select < 6 ? 16 : 32;
  const int from = select < 4 ? 8 * select : select == 5 ? 16 : 0;
  const u64 field = oracle::zx(x >> from, width);
  return sext ? oracle::zx(static_cast<u64>(oracle::sx(field, width)), 32) : field;
}

u64 with_signs(u64 x, Type t, bool absolute, bool negated) {
  const u64 sign = t == Type::f64 ? u64{1} << 63 : t == Type::f16 ? 0x8000u : 0x80000000u;
  x = absolute ? x & ~sign : x;
  return negated ? x ^ sign : x;
}

u64 clamped(u64 x, oracle::Number number) {
  const auto one = [](auto v) { return v != v || v < 0 ? decltype(v){0} : v > 1 ? decltype(v){1} : v; };
  const auto half = [&](u64 code) {
    const float v = oracle::widen<oracle::Format::f16>(static_cast<u32>(code));
    return u64{v != v || std::signbit(v) ? 0u : v > 1 ? 0x3c00u : static_cast<u32>(code & 0xffffu)};
  };
  const auto single = [&](u64 word) { return oracle::b(one(std::bit_cast<float>(static_cast<u32>(word)))); };
  switch (number) {
  case oracle::Number::f32: return single(x) == 0x80000000u ? 0 : single(x);
  case oracle::Number::f64: return oracle::b(one(std::bit_cast<double>(x)));
  case oracle::Number::f16: return half(x);
  case oracle::Number::packed_f16: return half(x) | half(x >> 16) << 16;
  case oracle::Number::packed_f32: return single(x) | single(x >> 32) << 32;
  default: return x;
  }
}

struct Inputs {
  std::array<std::array<u32, dwords>, 64> lanes{};
  u64 mask = 0, exec = 0;
};

struct Expected {
  u64 value = 0;
  bool mask = false;
};

// What the destination of `lane` holds afterwards, and its bit of the mask; `close` says whether a value will do.
Expected expected(isa::Arch arch, const Probe& p, const Inputs& in, int lane, oracle::Lane& a, bool& writes) {
  const VectorEntry& e = *p.entry;
  const auto& own = in.lanes[static_cast<std::size_t>(lane)];
  const u64 old = own[6] | (wide(e.d) ? u64{own[7]} << 32 : 0);
  a = {};
  a.lane = static_cast<unsigned>(lane);
  a.carry = (in.mask >> lane & 1u) != 0;
  a.ieee = p.kind != Kind::omod;
  a.ocp = arch == isa::Arch::gfx950;
  a.clamp = p.clamp && (e.flags & emulator::integer_clamp) != 0;
  a.op_sel = p.op_sel;
  a.op_sel_hi = p.op_sel_hi;
  a.neg_lo = p.neg_lo;
  a.neg_hi = p.neg_hi;
  writes = (in.exec >> lane & 1u) != 0;
  const std::array<u32, dwords>* first = &own;
  bool zero = false;
  if (p.kind == Kind::dpp) {
    const int from = dpp_source(p.dpp, lane);
    const bool valid = from >= 0 && (in.exec >> from & 1u) != 0;
    zero = !valid;
    writes = writes && (valid || p.dpp.zero) && (p.dpp.row_mask >> lane / 16 & 1u) != 0 &&
             (p.dpp.bank_mask >> lane % 16 / 4 & 1u) != 0;
    first = valid ? &in.lanes[static_cast<std::size_t>(from)] : &own;
  }
  for (unsigned n = 0; n < e.sources(); ++n) {
    const auto& lane_words = n == 0 ? *first : own;
    const bool tied = n >= shown_sources(e);
    u64 x = tied ? old : lane_words[2 * n] | (wide(e.s[n]) ? u64{lane_words[2 * n + 1]} << 32 : 0);
    if (n == 0 && zero) {
      x = 0;
    }
    if (p.kind == Kind::sdwa && n < 2 && !tied) {
      x = selected(x, p.sdwa.src_sel[n], p.sdwa.sext[n]);
    }
    if (p.kind == Kind::op_sel && !tied && (e.s[n] == Type::f16 || e.s[n] == Type::b16)) {
      x = (p.op_sel >> n & 1u) != 0 ? x >> 16 : x;
    }
    if (e.s[n] == Type::f16 || e.s[n] == Type::b16) {
      x &= 0xffffu;
    }
    a.s[n] = tied ? x : with_signs(x, e.s[n], p.abs[n], p.neg[n]);
    if (p.kind == Kind::omod && e.s[n] == Type::f32) { // its kernel flushes f32
      a.s[n] = oracle::b(oracle::flush(a.f(static_cast<int>(n))));
    }
  }
  const auto result = p.rule->of(a);
  Expected want{result.value, result.mask};
  if (p.omod != 0) {
    const double scale = p.omod == 1 ? 2 : p.omod == 2 ? 4 : 0.5;
    const auto value = static_cast<double>(std::bit_cast<float>(static_cast<u32>(want.value)));
    want.value = oracle::b(oracle::flush(static_cast<float>(value * scale)));
  }
  if (p.clamp && (e.flags & emulator::integer_clamp) == 0) {
    want.value = clamped(want.value, p.rule->number);
  }
  return want;
}

// The destination with the part that the encoding leaves alone.
u64 merged(const Probe& p, u64 value, u64 old) {
  const VectorEntry& e = *p.entry;
  if (p.kind == Kind::sdwa && e.d != Type::mask) {
    const int width = p.sdwa.dst_sel < 4 ? 8 : p.sdwa.dst_sel < 6 ? 16 : 32;
    const int at = p.sdwa.dst_sel < 4 ? 8 * p.sdwa.dst_sel : p.sdwa.dst_sel == 5 ? 16 : 0;
    const u64 field = oracle::zx(value, width) << at;
    if (width == 32 || p.sdwa.unused == 0) {
      return oracle::zx(field, 32);
    }
    if (p.sdwa.unused == 1) {
      const u64 sign = oracle::zx(static_cast<u64>(oracle::sx(value, width)) << at, 32);
      return sign;
    }
    return (old & ~oracle::zx(((u64{1} << width) - 1) << at, 32)) | field;
  }
  if ((e.d == Type::f16 || e.d == Type::b16) && (e.flags & emulator::to_high) != 0) {
    return (old & 0xffffu) | oracle::zx(value, 16) << 16;
  }
  if ((e.d == Type::f16 || e.d == Type::b16) && (e.flags & emulator::keeps_high) != 0) {
    return p.kind == Kind::op_sel && (p.op_sel & 8u) != 0 ? (old & 0xffffu) | oracle::zx(value, 16) << 16
                                                          : (old & 0xffff0000u) | oracle::zx(value, 16);
  }
  return value;
}

u32 random_word(Type type, std::mt19937_64& random) {
  const auto bits = static_cast<u32>(random());
  constexpr std::array<u32, 12> edges = {0,           1,           0x80000000u, 0x7fffffffu,
                                         0xffffffffu, 0x3f800000u, 0xbf800000u, 0x7f800000u,
                                         0xff800000u, 0x7fc00000u, 0x40200000u, 0x00800000u};
  const auto kind = random() % 8;
  if (type == Type::f32 || type == Type::packed_f32) {
    return kind == 0 ? edges[bits % 12] : (bits & 0x81ffffffu) | 0x3e000000u | (bits >> 5 & 0x01000000u);
  }
  return kind == 0 ? edges[bits % 12] : kind == 1 ? bits % 40 : bits;
}

constexpr const char* epilogue = R"(  s_endpgm
.Lend:
.size probe, .Lend-probe
.rodata
.p2align 6
.amdhsa_kernel probe
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 24
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 32
  .amdhsa_float_denorm_mode_32 )";

constexpr const char* prologue = R"(.text
.globl probe
.p2align 8
.type probe,@function
probe:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  s_waitcnt lgkmcnt(0)
  s_load_dwordx4 s[24:27], s[6:7], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 5, v0
  global_load_dwordx4 v[8:11], v1, s[4:5]
  global_load_dwordx4 v[12:15], v1, s[4:5] offset:16
  v_lshlrev_b32 v2, 4, v0
  s_waitcnt vmcnt(0) lgkmcnt(0)
)";

// One kernel with all probes; returns four words a lane and probe: result, result high, mask low, mask high.
std::vector<u32> run(isa::Arch arch, const std::vector<Probe>& probes, const Inputs& in, bool omod,
                     std::set<std::string>* trace) {
  std::string text =
      ".amdgcn_target \"amdgcn-amd-amdhsa--" + std::string(isa::to_string(arch)) + "\"\n" + prologue;
  for (const auto& p : probes) {
    const bool vcc_result = p.text.find("vcc") != std::string::npos;
    text += "  v_mov_b32 v20, v14\n  v_mov_b32 v21, v15\n  s_mov_b64 s[20:21], 0\n  s_mov_b64 s[22:23], "
            "s[24:25]\n"
            "  s_mov_b64 vcc, s[24:25]\n  s_mov_b64 exec, s[26:27]\n  s_nop 4\n  " +
            p.text + "\n  s_nop 4\n  s_mov_b64 exec, -1\n" +
            (vcc_result ? "  v_mov_b32 v22, vcc_lo\n  v_mov_b32 v23, vcc_hi\n"
                        : "  v_mov_b32 v22, s20\n  v_mov_b32 v23, s21\n") +
            "  global_store_dwordx4 v2, v[20:23], s[8:9]\n  s_add_u32 s8, s8, 1024\n  s_addc_u32 s9, s9, 0\n";
  }
  text += std::string(epilogue) + (omod ? "0" : "3") + "\n  .amdhsa_ieee_mode " + (omod ? "0" : "1") +
          "\n.end_amdhsa_kernel\n";
  const auto object = CodeObject::parse(isa::assemble_code_object(text, arch));
  EmulatorDevice device(arch, {.threads = 1, .checks = Checks::none()});
  if (trace != nullptr) {
    device.options().trace = {.enabled = true, .line = [=](std::string_view line) {
                                trace->insert(differential::traced_instruction(line));
                              }};
  }
  const auto bytes = [](const auto* data, std::size_t size) {
    return std::span(reinterpret_cast<const std::uint8_t*>(data), size);
  };
  Buffer inputs(device, sizeof in.lanes), uniform(device, 16), out(device, probes.size() * 1024);
  device.copy_in(inputs.address(), bytes(&in.lanes, sizeof in.lanes));
  const u64 masks[2] = {in.mask, in.exec};
  device.copy_in(uniform.address(), bytes(masks, 16));
  device.fill(out.address(), 0, out.size());
  const u64 arguments[3] = {inputs.address(), uniform.address(), out.address()};
  device.launch(device.function(device.load(object), "probe"), {.grid = {1}, .block = {64}},
                bytes(arguments, 24));
  device.synchronize();
  std::vector<u32> words(probes.size() * 256);
  device.copy_out(std::span(reinterpret_cast<std::uint8_t*>(words.data()), words.size() * 4), out.address());
  return words;
}

bool assembles(const std::string& text, isa::Arch arch) {
  try {
    return !isa::assemble(text, arch).empty();
  } catch (const isa::IsaError&) {
    return false;
  }
}

// Instructions that change EXEC, take literals, or are moves of accumulation registers have tests of their own.
bool testable(const VectorEntry& e) {
  return oracle::rule(e.name) != nullptr && !e.name.starts_with("v_cmpx") &&
         !e.name.starts_with("v_accvgpr") && !e.name.starts_with("v_fmamk") &&
         !e.name.starts_with("v_fmaak") && e.name != "v_madmk_f32" && e.name != "v_madak_f32" &&
         !e.name.starts_with("v_bitop3");
}

void check(isa::Arch arch, Kind kind, std::mt19937_64& random, std::map<std::string, int>& tested) {
  std::map<Type, std::vector<Probe>> by_type;
  for (const VectorEntry& e : emulator::vector_table()) {
    if (!testable(e)) {
      continue;
    }
    const auto* rule = oracle::rule(e.name);
    const bool transcendental = rule->ulps != 0 || rule->accepts;
    // What clamp does to a pair of halves that a VOP3 makes, and modifiers of the VOP2 v_pk_fmac_f16, are not documented.
    const bool odd =
        (kind == Kind::clamp && rule->number == oracle::Number::packed_f16 && e.s[0] == Type::f32) ||
        (e.name == "v_pk_fmac_f16" && kind != Kind::plain && kind != Kind::dpp) ||
        (kind == Kind::op_sel &&
         (e.name.starts_with("v_fma_mix") || e.name.starts_with("v_pk_"))); // VOP3P has Kind::packed
    if (odd || (kind == Kind::clamp && transcendental) ||
        (kind == Kind::omod &&
         (rule->number != oracle::Number::f32 || transcendental || !is_float(e.s[0])))) {
      continue;
    }
    for (int variant = 0; variant < (kind == Kind::plain ? 1 : 3); ++variant) {
      Probe p = draw(e, kind, random);
      const std::vector<std::string> suffixes = kind == Kind::sdwa  ? std::vector<std::string>{"_sdwa"}
                                                : kind == Kind::dpp ? std::vector<std::string>{"_dpp"}
                                                : variant == 0 && kind == Kind::plain
                                                    ? std::vector<std::string>{"_e64", "", "_e32"}
                                                    : std::vector<std::string>{"_e64", ""};
      for (const auto& suffix : suffixes) {
        p.text = spell(p, suffix);
        if (assembles(p.text, arch)) {
          by_type[e.s[0]].push_back(p);
          ++tested[std::string(e.name)];
          if (kind != Kind::plain) {
            break;
          }
        }
      }
    }
  }
  for (auto& [type, probes] : by_type) {
    for (int round = 0; round < 2; ++round) {
      Inputs in;
      in.mask = random();
      in.exec = round == 0 ? ~u64{0} : random() | 1u;
      for (auto& lane : in.lanes) {
        for (auto& word : lane) {
          word = random_word(type, random);
        }
        if (type == Type::f64) { // high words of moderate doubles
          for (const std::size_t n : {1u, 3u, 5u, 7u}) {
            lane[n] = (lane[n] & 0x803fffffu) | 0x3fc00000u;
          }
        }
      }
      std::set<std::string> trace;
      const auto out = run(arch, probes, in, kind == Kind::omod, round == 0 ? &trace : nullptr);
      for (std::size_t n = 0; n < probes.size(); ++n) {
        const Probe& p = probes[n];
        const VectorEntry& e = *p.entry;
        bool agrees = true;
        for (int lane = 0; lane < 64; ++lane) {
          oracle::Lane a;
          bool writes = false;
          const auto want = expected(arch, p, in, lane, a, writes);
          const auto& own = in.lanes[static_cast<std::size_t>(lane)];
          const u64 old = own[6] | (wide(e.d) ? u64{own[7]} << 32 : 0);
          const u32* at = &out[n * 256 + static_cast<std::size_t>(lane) * 4];
          const u64 got = at[0] | (wide(e.d) ? u64{at[1]} << 32 : 0);
          const bool mask = ((at[2] | u64{at[3]} << 32) >> lane & 1u) != 0;
          bool good = true;
          if (e.d == Type::mask) {
            good = mask == (want.mask && (in.exec >> lane & 1u) != 0);
          } else if (!writes) {
            good = got == old;
          } else if (e.name.starts_with("v_div_scale") && a.s[0] != a.s[1] && a.s[0] != a.s[2]) {
            good = true; // undefined: the first source must be one of the others
          } else {
            const u64 full = merged(p, want.value, old);
            // A tolerance, or the freedom of NaN payloads, applies to a result that is the whole destination.
            const bool whole = full == want.value;
            good = got == full ||
                   (whole && (p.rule->accepts && !p.clamp ? p.rule->accepts(a, got)
                                                          : oracle::close(*p.rule, got, want.value)));
            if (!good &&
                p.rule->number == oracle::Number::f16) { // a part of the register: the half that was written
              const int shift = merged(p, ~u64{0}, 0) == 0xffff0000u ? 16 : 0;
              const u64 rest = 0xffffffffu & ~(u64{0xffff} << shift);
              good = (got & rest) == (full & rest) && p.kind != Kind::sdwa &&
                     oracle::close(*p.rule, got >> shift & 0xffffu, full >> shift & 0xffffu);
            }
            if (!good && p.kind == Kind::sdwa &&
                p.rule->number != oracle::Number::bits) { // which NaN, or the last bit, shows in parts
              const auto v = p.rule->number == oracle::Number::f16
                                 ? oracle::widen<oracle::Format::f16>(static_cast<u32>(want.value))
                                 : std::bit_cast<float>(static_cast<u32>(want.value));
              good = std::isnan(v) || p.rule->ulps != 0;
            }
            if (good && (e.flags & emulator::carry_out) != 0) {
              good = mask == want.mask;
            }
          }
          if (!good) {
            agrees = false;
            CAPTURE(p.text, lane, a.s[0], a.s[1], a.s[2], old, got, want.value, merged(p, want.value, old),
                    mask, want.mask, writes, std::string(isa::to_string(arch)), p.sdwa.sext[0],
                    p.sdwa.sext[1]);
            CHECK(good);
            break;
          }
        }
        if (agrees && round == 0) {
          differential::note_covered(arch, p.text, trace);
        }
      }
    }
  }
}

} // namespace

void differential::vector_family() {
  static bool done = false;
  if (done) {
    return;
  }
  done = true;
  std::mt19937_64 random(71);
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a}) {
    std::map<std::string, int> tested;
    for (const auto kind : {Kind::plain, Kind::signs, Kind::clamp, Kind::omod, Kind::op_sel, Kind::packed,
                            Kind::sdwa, Kind::dpp}) {
      check(arch, kind, random, tested);
    }
    // What LLVM assembles for the architecture; the rest of the table belongs to the other one or to older mnemonics.
    CHECK(tested.size() > 330);
  }
}
