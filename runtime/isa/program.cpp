// What a decoded program knows about itself, and the reader of LLVM's operand syntax.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/program.h>
#include <mutex>
#include <unordered_map>

namespace inlay::runtime::isa {

Arch parse_arch(std::string_view text) {
  for (const machine::Target& t : machine::targets)
    if (text.find(t.name) != std::string_view::npos) return t.arch;
  if (const machine::Target* t = machine::find_chip(text)) return t->arch;
  throw IsaError("architecture: '" + std::string(text) + "' is not supported\n  hint   " +
                 machine::names(" or "));
}

std::string located(const Instruction& i) {
  char address[24];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(i.address));
  return std::string(address) + " '" + i.text + "'";
}

bool Instruction::ends_flow() const {
  static constexpr std::array<std::string_view, 6> names = {"s_branch",     "s_endpgm",  "s_setpc_b64",
                                                            "s_swappc_b64", "s_rfe_b64", "s_endpgm_saved"};
  return std::find(names.begin(), names.end(), mnemonic) != names.end();
}

std::optional<std::size_t> Program::index_of(std::uint64_t address) const {
  const auto at = std::lower_bound(instructions.begin(), instructions.end(), address,
                                   [](const Instruction& i, std::uint64_t a) { return i.address < a; });
  if (at == instructions.end() || at->address != address) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(at - instructions.begin());
}

const Symbol* Program::function_at(std::uint64_t address) const {
  const Symbol* found = nullptr;
  for (const Symbol& symbol : symbols) {
    if (symbol.address <= address && (symbol.size == 0 || address < symbol.address + symbol.size)) {
      found = &symbol;
    }
  }
  return found;
}

namespace {

/// Mnemonics live for ever: instructions refer to them by view.
struct Interner {
  std::mutex mutex;
  std::deque<std::string> names;
  std::unordered_map<std::string_view, std::uint16_t> ids;

  std::pair<std::string_view, std::uint16_t> intern(std::string_view name) {
    const std::lock_guard lock(mutex);
    if (const auto found = ids.find(name); found != ids.end()) {
      return *found;
    }
    names.emplace_back(name);
    const auto id = static_cast<std::uint16_t>(names.size() - 1);
    ids.emplace(names.back(), id);
    return {names.back(), id};
  }
};

Interner& interner() {
  static Interner instance;
  return instance;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Splits at `separator` outside brackets, parentheses, bars and quotes.
std::vector<std::string_view> split_top(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '[' || c == '(') {
      ++depth;
    } else if (c == ']' || c == ')') {
      --depth;
    } else if (c == separator && depth == 0 && !quoted) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trim(text.substr(begin)));
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  return parts;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  const bool negative = take_prefix(text, "-");
  const int base = take_prefix(text, "0x") ? 16 : 10;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::vector<unsigned> read_list(std::string_view text) {
  std::vector<unsigned> values;
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    for (const std::string_view item : split_top(text.substr(1, text.size() - 2), ',')) {
      values.push_back(static_cast<unsigned>(read_integer(item).value_or(0)));
    }
  }
  return values;
}

std::uint8_t read_bits(std::string_view text) {
  unsigned bits = 0;
  unsigned shift = 0;
  for (const unsigned bit : read_list(text)) {
    bits |= bit << shift++;
  }
  return static_cast<std::uint8_t>(bits);
}

struct NamedRegister {
  std::string_view name;
  OperandKind kind;
  std::uint16_t index;
  std::uint8_t width;
};

constexpr NamedRegister named_registers[] = {
    {"vcc", OperandKind::sgpr, 106, 2},
    {"vcc_lo", OperandKind::sgpr, 106, 1},
    {"vcc_hi", OperandKind::sgpr, 107, 1},
    {"exec", OperandKind::sgpr, 126, 2},
    {"exec_lo", OperandKind::sgpr, 126, 1},
    {"exec_hi", OperandKind::sgpr, 127, 1},
    {"m0", OperandKind::sgpr, 124, 1},
    {"flat_scratch", OperandKind::sgpr, 102, 2},
    {"flat_scratch_lo", OperandKind::sgpr, 102, 1},
    {"flat_scratch_hi", OperandKind::sgpr, 103, 1},
    {"xnack_mask", OperandKind::sgpr, 104, 2},
    {"xnack_mask_lo", OperandKind::sgpr, 104, 1},
    {"xnack_mask_hi", OperandKind::sgpr, 105, 1},
    {"src_shared_base", OperandKind::special, 235, 1},
    {"src_shared_limit", OperandKind::special, 236, 1},
    {"src_private_base", OperandKind::special, 237, 1},
    {"src_private_limit", OperandKind::special, 238, 1},
    {"src_pops_exiting_wave_id", OperandKind::special, 239, 1},
    {"src_vccz", OperandKind::special, 251, 1},
    {"src_execz", OperandKind::special, 252, 1},
    {"src_scc", OperandKind::special, 253, 1},
    {"src_lds_direct", OperandKind::special, 254, 1},
};

bool read_register(std::string_view text, Operand& out) {
  for (const NamedRegister& entry : named_registers) {
    if (text == entry.name) {
      out.kind = entry.kind;
      out.index = entry.index;
      out.width = entry.width;
      return true;
    }
  }
  std::uint16_t base = 0;
  if (take_prefix(text, "ttmp")) {
    out.kind = OperandKind::sgpr;
    base = 108;
  } else if (take_prefix(text, "s")) {
    out.kind = OperandKind::sgpr;
  } else if (take_prefix(text, "v")) {
    out.kind = OperandKind::vgpr;
  } else if (take_prefix(text, "a")) {
    out.kind = OperandKind::agpr;
  } else {
    return false;
  }
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
    const std::size_t colon = text.find(':');
    const auto first = read_integer(text.substr(0, colon));
    const auto last = colon == std::string_view::npos ? first : read_integer(text.substr(colon + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 255) {
      return false;
    }
    out.index = static_cast<std::uint16_t>(base + *first);
    out.width = static_cast<std::uint8_t>(*last - *first + 1);
    return true;
  }
  const auto index = read_integer(text);
  if (!index || *index < 0 || *index > 255) {
    return false;
  }
  out.index = static_cast<std::uint16_t>(base + *index);
  out.width = 1;
  return true;
}

bool read_operand(std::string_view text, Operand& out) {
  if (text == "off") {
    out.kind = OperandKind::off;
    return true;
  }
  if (text.size() > 1 && text.front() == '-' && !(text[1] >= '0' && text[1] <= '9')) {
    out.neg = true;
    text.remove_prefix(1);
  }
  const auto unwrap = [&](std::string_view name) {
    if (text.size() > name.size() + 1 && text.starts_with(name) && text[name.size()] == '(' &&
        text.back() == ')') {
      text = text.substr(name.size() + 1, text.size() - name.size() - 2);
      return true;
    }
    return false;
  };
  out.neg = unwrap("neg") || out.neg;
  out.sext = unwrap("sext");
  out.abs = unwrap("abs");
  if (text.size() > 2 && text.front() == '|' && text.back() == '|') {
    out.abs = true;
    text = text.substr(1, text.size() - 2);
  }
  if (read_register(text, out)) {
    return true;
  }
  if (unwrap("lit")) {
    out.kind = OperandKind::literal;
    out.value = static_cast<std::uint64_t>(read_integer(text).value_or(0));
    return true;
  }
  if (const auto integer = read_integer(text)) {
    const bool hex = text.find("0x") != std::string_view::npos;
    out.kind = hex ? OperandKind::literal : OperandKind::inline_integer;
    out.value = static_cast<std::uint64_t>(*integer);
    return true;
  }
  if (text.find('.') != std::string_view::npos && text.find(':') == std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) {
      out.kind = OperandKind::inline_float;
      std::memcpy(&out.value, &value, sizeof value);
      return true;
    }
  }
  if (text.starts_with("hwreg(") || text.starts_with("sendmsg(") || text.starts_with("gpr_idx(")) {
    out.kind = OperandKind::immediate;
    return true;
  }
  return false;
}

Select read_select(std::string_view text) {
  static constexpr std::string_view names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                               "WORD_0", "WORD_1", "DWORD"};
  const auto at = std::find(std::begin(names), std::end(names), text);
  return static_cast<Select>(at == std::end(names) ? 6 : at - std::begin(names));
}

/// Cross-lane patterns that LLVM prints by name; the value is DPP_CTRL of the CDNA3 ISA manual.
bool read_dpp_control(std::string_view name, std::string_view value, Dpp& out) {
  struct Entry {
    std::string_view name;
    std::uint16_t base;
  };
  static constexpr Entry entries[] = {{"row_shl", 0x100},  {"row_shr", 0x110},     {"row_ror", 0x120},
                                      {"wave_shl", 0x12f}, {"wave_rol", 0x133},    {"wave_shr", 0x137},
                                      {"wave_ror", 0x13b}, {"row_newbcast", 0x150}};
  const auto number = static_cast<std::uint16_t>(read_integer(value).value_or(0));
  for (const Entry& entry : entries) {
    if (name == entry.name) {
      out.control = static_cast<std::uint16_t>(entry.base + number);
      return true;
    }
  }
  if (name == "row_mirror") {
    out.control = 0x140;
  } else if (name == "row_half_mirror") {
    out.control = 0x141;
  } else if (name == "row_bcast") {
    out.control = number == 15 ? 0x142 : 0x143;
  } else if (name == "quad_perm") {
    const auto lanes = read_list(value);
    for (std::size_t i = 0; i < lanes.size() && i < 4; ++i) {
      out.control = static_cast<std::uint16_t>(out.control | (lanes[i] << (2 * i)));
    }
  } else {
    return false;
  }
  return true;
}

void read_modifier(std::string_view word, Instruction& out) {
  Modifiers& m = out.modifiers;
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  const std::string_view value =
      colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1);
  const auto number = [&] { return read_integer(value).value_or(0); };
  const auto byte = [&] { return static_cast<std::uint8_t>(number()); };
  if (name == "offen") {
    m.offen = true;
  } else if (name == "idxen") {
    m.idxen = true;
  } else if (name == "lds") {
    m.lds = true;
  } else if (name == "gds") {
    m.gds = true;
  } else if (name == "sc0" || name == "glc") {
    m.sc0 = true;
  } else if (name == "sc1" || name == "scc") {
    m.sc1 = true;
  } else if (name == "nt" || name == "slc") {
    m.nt = true;
  } else if (name == "clamp") {
    m.clamp = true;
  } else if (name == "mul") {
    m.omod = number() == 2 ? 1 : 2;
  } else if (name == "div") {
    m.omod = -1;
  } else if (name == "offset") {
    m.offset = static_cast<std::int32_t>(number());
  } else if (name == "offset0") {
    m.offset0 = static_cast<std::uint16_t>(number());
  } else if (name == "offset1") {
    m.offset1 = static_cast<std::uint16_t>(number());
  } else if (name == "op_sel") {
    m.op_sel = read_bits(value);
  } else if (name == "op_sel_hi") {
    m.op_sel_hi = read_bits(value);
  } else if (name == "neg_lo" || name == "neg") {
    m.neg_lo = read_bits(value);
  } else if (name == "neg_hi") {
    m.neg_hi = read_bits(value);
  } else if (name == "cbsz") {
    m.cbsz = byte();
  } else if (name == "abid") {
    m.abid = byte();
  } else if (name == "blgp") {
    m.blgp = byte();
  } else if (name == "bitop3") {
    m.bitop3 = byte();
  } else if (name == "row_mask") {
    m.dpp.row_mask = byte();
  } else if (name == "bank_mask") {
    m.dpp.bank_mask = byte();
  } else if (name == "bound_ctrl") {
    m.dpp.bound_control = true;
  } else if (name == "dst_sel") {
    m.dst_sel = read_select(value);
  } else if (name == "src0_sel") {
    m.src0_sel = read_select(value);
  } else if (name == "src1_sel") {
    m.src1_sel = read_select(value);
  } else if (name == "dst_unused") {
    m.dst_unused = value == "UNUSED_SEXT" ? 1 : value == "UNUSED_PRESERVE" ? 2 : 0;
  } else {
    read_dpp_control(name, value, m.dpp);
  }
}

std::uint64_t word(const Instruction& i, std::size_t at) {
  std::uint32_t value = 0;
  if (i.encoding.size() >= at + 4) {
    std::memcpy(&value, i.encoding.data() + at, 4);
  }
  return value;
}

Format format_of(const Instruction& i) {
  const auto w = static_cast<std::uint32_t>(word(i, 0));
  switch (w >> 26) {
  case 0x30: return Format::smem;
  case 0x34: {
    if ((w >> 23) != 0x1a7) {
      return Format::vop3;
    }
    return i.mnemonic.starts_with("v_mfma") || i.mnemonic.starts_with("v_smfmac") ? Format::mfma
                                                                                  : Format::vop3p;
  }
  case 0x36: return Format::ds;
  case 0x37:
    return i.mnemonic.starts_with("global")    ? Format::global
           : i.mnemonic.starts_with("scratch") ? Format::scratch
                                               : Format::flat;
  case 0x38: return Format::mubuf;
  case 0x3a: return Format::mtbuf;
  default: break;
  }
  if ((w >> 31) == 0) {
    return (w >> 25) == 0x3f ? Format::vop1 : (w >> 25) == 0x3e ? Format::vopc : Format::vop2;
  }
  switch (w >> 23) {
  case 0x17d: return Format::sop1;
  case 0x17e: return Format::sopc;
  case 0x17f: return Format::sopp;
  default: return (w >> 28) == 0xb ? Format::sopk : Format::sop2;
  }
}

/// Fields that the text leaves to the reader: patterns, hwreg, branch distances, packed op_sel.
void complete_from_encoding(Instruction& out) {
  Modifiers& m = out.modifiers;
  const std::uint64_t low = word(out, 0);
  const std::uint64_t all = low | (word(out, 4) << 32);
  const auto bits = [&](unsigned first, unsigned count) { return (all >> first) & ((1U << count) - 1); };
  const auto simm16 = static_cast<std::int16_t>(low & 0xffff);
  switch (out.format) {
  case Format::sopk:
  case Format::sopp:
    for (Operand& operand : out.operands) {
      if (out.size == 8 && operand.is_constant()) { // s_setreg_imm32
        operand = Operand{.kind = OperandKind::literal, .value = word(out, 4)};
      } else if (operand.is_constant() || operand.kind == OperandKind::immediate) {
        operand = Operand{.kind = OperandKind::immediate,
                          .value = static_cast<std::uint64_t>(std::int64_t{simm16})};
      }
    }
    if (out.mnemonic.starts_with("s_cbranch") || out.mnemonic == "s_branch" || out.mnemonic == "s_call_b64") {
      out.branch_target = out.address + 4 + static_cast<std::uint64_t>(std::int64_t{simm16} * 4);
    }
    if (out.mnemonic == "s_waitcnt") {
      const auto field = static_cast<unsigned>(low & 0xffff);
      out.wait = WaitCounts{.vmcnt = static_cast<std::uint8_t>((field & 0xf) | ((field >> 14) << 4)),
                            .expcnt = static_cast<std::uint8_t>((field >> 4) & 7),
                            .lgkmcnt = static_cast<std::uint8_t>((field >> 8) & 15)};
    }
    break;
  case Format::sopc:
    if (out.mnemonic == "s_set_gpr_idx_on") {
      for (Operand& operand : out.operands) {
        if (operand.kind == OperandKind::immediate) {
          operand.value = (low >> 8) & 0xff;
        }
      }
    }
    break;
  case Format::ds:
    if (out.mnemonic == "ds_swizzle_b32") {
      m.offset = static_cast<std::int32_t>(low & 0xffff);
    }
    break;
  case Format::mtbuf: m.format = static_cast<std::uint8_t>(bits(19, 4) | (bits(23, 3) << 4)); break;
  case Format::vop3: {
    // VOP3B has the scalar destination where VOP3A has OP_SEL.
    const std::string_view n = out.mnemonic;
    const bool vop3b = n.starts_with("v_div_scale") || n.starts_with("v_mad_u64") ||
                       n.starts_with("v_mad_i64") || n.ends_with("_co_u32");
    m.op_sel = vop3b ? 0 : static_cast<std::uint8_t>(bits(11, 4));
    break;
  }
  case Format::vop3p:
    m.op_sel = static_cast<std::uint8_t>(bits(11, 3));
    m.op_sel_hi = static_cast<std::uint8_t>(bits(59, 2) | (bits(14, 1) << 2));
    m.neg_lo = static_cast<std::uint8_t>(bits(61, 3));
    m.neg_hi = static_cast<std::uint8_t>(bits(8, 3));
    break;
  default: break;
  }
}

} // namespace

std::uint16_t mnemonic_id(std::string_view mnemonic) { return interner().intern(mnemonic).second; }

void parse_instruction_text(std::string_view text, Instruction& out) {
  text = trim(text);
  if (const std::size_t comment = text.find("//"); comment != std::string_view::npos) {
    text = trim(text.substr(0, comment));
  }
  out.text = std::string(text);
  std::replace(out.text.begin(), out.text.end(), '\t', ' ');
  text = out.text;
  const std::size_t end = text.find(' ');
  std::string_view name = text.substr(0, end);
  const auto strip = [&](std::string_view suffix, Form form) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      out.form = form;
    }
  };
  out.form = Form::e32;
  strip("_e32", Form::e32);
  strip("_e64", Form::e64);
  strip("_dpp", Form::dpp);
  strip("_sdwa", Form::sdwa);
  const auto interned = interner().intern(name);
  out.mnemonic = interned.first;
  out.opcode = interned.second;
  out.format = format_of(out);
  if (out.form == Form::e32 && (out.format == Format::vop3 || out.format == Format::vop3p)) {
    out.form = Form::e64;
  }
  out.operands.clear();
  if (end != std::string_view::npos) {
    for (const std::string_view item : split_top(text.substr(end), ',')) {
      for (const std::string_view word_of_item : split_top(item, ' ')) {
        Operand operand;
        if (read_operand(word_of_item, operand)) {
          out.operands.push_back(operand);
        } else {
          read_modifier(word_of_item, out);
        }
      }
    }
  }
  complete_from_encoding(out);
}

} // namespace inlay::runtime::isa
