// Kinds, widths, clocks and operand roles of single instructions.
#include <inlay/machine/target.h>

#include <inlay/machine/matrix.h>
#include <inlay/runtime/isa/instruction_facts.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

namespace inlay::runtime::isa {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The number after the last occurrence of `mark`, 0 when there is none: "dwordx4" after "dwordx" is 4.
unsigned number_after(std::string_view text, std::string_view mark) {
  const auto at = text.rfind(mark);
  unsigned v = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), v);
  return v;
}

} // namespace

bool is_transcendental(std::string_view m) {
  static constexpr std::array<std::string_view, 7> names = {"v_exp_",  "v_log_", "v_rcp_", "v_rsq_",
                                                            "v_sqrt_", "v_sin_", "v_cos_"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return m.starts_with(n); });
}

namespace {

void add(RegisterSet& set, const Operand& o) {
  std::size_t base = 0;
  if (o.kind == OperandKind::agpr)
    base = 256;
  else if (o.kind == OperandKind::sgpr)
    base = 512;
  else if (o.kind != OperandKind::vgpr)
    return;
  const std::size_t last = o.kind == OperandKind::sgpr ? 640 : base + 256;
  for (std::size_t n = base + o.index; n < std::min<std::size_t>(last, base + o.index + o.width); ++n)
    set.set(n);
}

} // namespace

char letter(Kind kind) {
  static constexpr char letters[] = "MvsKRWDLGSAwBPnJ?";
  return letters[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Kind kind) {
  static constexpr std::string_view names[] = {
      "mfma",  "valu",   "salu", "smem",    "lds_read", "lds_write", "lds_other", "load_to_lds", "load",
      "store", "atomic", "wait", "barrier", "priority", "nop",       "branch",    "unknown"};
  return names[static_cast<std::size_t>(kind)];
}

Kind kind_of(const Instruction& i) {
  const std::string_view m = i.mnemonic;
  switch (i.format) {
  case Format::unknown: return Kind::unknown;
  case Format::mfma: return Kind::mfma;
  case Format::smem: return Kind::smem;
  case Format::vop1:
  case Format::vop2:
  case Format::vopc:
  case Format::vop3:
  case Format::vop3p: return Kind::valu;
  case Format::ds:
    if (m.starts_with("ds_read")) return Kind::lds_read;
    if (m.starts_with("ds_write")) return Kind::lds_write;
    return Kind::lds_other;
  case Format::mubuf:
  case Format::mtbuf:
  case Format::flat:
  case Format::global:
  case Format::scratch:
    if (has(m, "_atomic_")) return Kind::atomic;
    if (has(m, "_store_")) return Kind::store;
    if (has(m, "_load_")) return i.modifiers.lds || has(m, "_load_lds_") ? Kind::load_to_lds : Kind::load;
    return Kind::salu; // buffer_wbl2, buffer_inv: cache maintenance, moves no data
  default: break;
  }
  if (m == "s_waitcnt") return Kind::wait;
  if (m == "s_barrier") return Kind::barrier;
  if (m == "s_setprio") return Kind::priority;
  if (m == "s_nop") return Kind::nop;
  if (i.is_branch()) return Kind::branch;
  return Kind::salu;
}

unsigned memory_bits(const Instruction& i) {
  const std::string_view m = i.mnemonic;
  switch (kind_of(i)) {
  case Kind::lds_read:
  case Kind::lds_write: {
    const unsigned twice = has(m, "read2") || has(m, "write2") ? 2 : 1;
    if (const auto tr = m.find("_tr_"); tr != std::string_view::npos)
      return number_after(m.substr(0, tr), "_b");
    if (has(m, "_u8") || has(m, "_i8") || m.ends_with("_b8") || has(m, "_b8_")) return 8;
    if (has(m, "_u16") || has(m, "_i16") || has(m, "_b16")) return 16;
    return twice * number_after(m, "_b");
  }
  case Kind::load:
  case Kind::store:
  case Kind::load_to_lds:
    if (has(m, "byte")) return 8;
    if (has(m, "short")) return 16;
    if (has(m, "dwordx")) return 32 * number_after(m, "dwordx");
    if (has(m, "_format_")) { // channels after the last underscore: x, xy, xyz, xyzw
      const auto channels = m.size() - m.rfind('_') - 1;
      return static_cast<unsigned>(channels) * (has(m, "d16") ? 16 : 32);
    }
    return 32;
  default: return 0;
  }
}

std::string width_name(const Instruction& i) {
  return (has(i.mnemonic, "_tr_") ? "trb" : "b") + std::to_string(memory_bits(i));
}

unsigned issue_clocks(const Instruction& i) {
  const std::string_view m = i.mnemonic;
  switch (kind_of(i)) {
  case Kind::nop: {
    const std::uint64_t n = i.operands.empty() ? 0 : i.operands[0].value & 0xf;
    return static_cast<unsigned>(4 * (n + 1));
  }
  case Kind::mfma:
    return m.starts_with("v_mfma_scale") ? 8 : 4; // the scales are loaded in a slot of their own
  case Kind::valu: return is_transcendental(m) || has(m, "permlane") || m == "v_bitop3_b16" ? 8 : 4;
  case Kind::lds_write: return memory_bits(i) <= 32 ? 8 : 4 + memory_bits(i) / 8;
  case Kind::lds_other: return has(m, "permute") ? 8 : 4;
  case Kind::store: return memory_bits(i) >= 128 ? 16 : memory_bits(i) >= 64 ? 8 : 4;
  default: return 4;
  }
}

unsigned matrix_clocks(const Instruction& i, Arch arch) {
  if (i.format != Format::mfma) return 0;
  const auto* row = machine::find_matrix_instruction(i.mnemonic);
  if (row == nullptr) return 0;
  const bool narrow = i.modifiers.cbsz >= 2 && i.modifiers.blgp >= 2; // of f8f6f4: no operand of 8 bits
  return 4 * static_cast<unsigned>(row->timing_on(arch, narrow).passes);
}

bool of_device_scope(const Instruction& i, Arch arch) {
  if (machine::target(arch).scopes) return i.modifiers.sc1;
  return i.modifiers.sc0 || kind_of(i) == Kind::store;
}

bool of_system_scope(const Instruction& i, Arch arch) {
  if (!machine::target(arch).scopes) return of_device_scope(i, arch);
  return i.modifiers.sc1 && (i.modifiers.sc0 || i.mnemonic.find("_atomic_") != std::string::npos);
}

std::uint64_t matrix_work(const Instruction& i) {
  if (i.format != Format::mfma) return 0;
  const auto* row = machine::find_matrix_instruction(i.mnemonic);
  return row == nullptr ? 0 : row->work();
}

Counted counted(const Instruction& i) {
  const std::string_view m = i.mnemonic;
  switch (i.format) {
  case Format::mubuf:
  case Format::mtbuf:
  case Format::global:
  case Format::scratch: return {.vm = true, .in_order = true};
  case Format::flat: return {.vm = true, .lgkm = true};
  case Format::ds: return {.lgkm = m != "ds_nop", .in_order = true};
  case Format::smem: return {.lgkm = true};
  case Format::sopp: return {.lgkm = m.starts_with("s_sendmsg")};
  default: return {};
  }
}

std::size_t destinations(const Instruction& i) {
  const std::string_view m = i.mnemonic;
  if (i.operands.empty()) return 0;
  switch (kind_of(i)) {
  case Kind::store:
  case Kind::lds_write:
  case Kind::load_to_lds:
  case Kind::wait:
  case Kind::barrier:
  case Kind::priority:
  case Kind::nop:
  case Kind::unknown: return 0;
  case Kind::atomic: return i.modifiers.sc0 ? 1 : 0;
  case Kind::branch: return m == "s_call_b64" ? 1 : 0;
  case Kind::lds_other:
    return has(m, "_rtn") || has(m, "permute") || has(m, "swizzle") || has(m, "consume") || has(m, "append")
               ? 1
               : 0;
  case Kind::smem:
    return has(m, "_load_") || has(m, "memtime") || has(m, "memrealtime") || i.modifiers.sc0 ? 1 : 0;
  case Kind::salu: {
    if (m.starts_with("s_cmp") || m.starts_with("s_bitcmp") || m.starts_with("s_set") ||
        m.starts_with("s_sleep") || m.starts_with("s_sendmsg") || m.starts_with("s_trap") ||
        m.starts_with("s_endpgm") || m.starts_with("buffer_") || m.starts_with("s_rfe") ||
        m.starts_with("s_dcache") || m.starts_with("s_icache"))
      return 0;
    return 1;
  }
  case Kind::valu:
    if (m == "v_nop" || m == "v_clrexcp") return 0;
    if (has(m, "_co_") || m.starts_with("v_div_scale") || m == "v_swap_b32" || has(m, "_swap_b32") ||
        m.starts_with("v_mad_u64_u32") || m.starts_with("v_mad_i64_i32"))
      return 2;
    return 1;
  default: return 1;
  }
}

RegisterSet registers_written(const Instruction& i) {
  RegisterSet set;
  for (std::size_t n = 0; n < std::min(destinations(i), i.operands.size()); ++n) add(set, i.operands[n]);
  return set;
}

RegisterSet registers_read(const Instruction& i) {
  RegisterSet set;
  const std::string_view m = i.mnemonic;
  // Accumulating forms and exchanges read what they write.
  const bool reads_all = has(m, "swap_b32") || m.starts_with("v_fmac") || m.starts_with("v_mac_") ||
                         m.starts_with("v_dot") || m.starts_with("v_pk_fmac") || m.starts_with("v_smfmac") ||
                         m == "v_writelane_b32";
  for (std::size_t n = reads_all ? 0 : destinations(i); n < i.operands.size(); ++n) add(set, i.operands[n]);
  return set;
}

} // namespace inlay::runtime::isa
