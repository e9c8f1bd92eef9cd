/// The decoded program: machine code as plain data, read once and shared by the emulator, the static report
/// and the comparison.
///
/// LLVM's machine-code layer disassembles the bytes; everything it says is turned into an `Instruction` with
/// its operands and modifiers as numbers, so that no reader ever looks at text again (the text is kept for
/// people). The operand syntax that is read is the one documented in LLVM's "User Guide for AMDGPU Backend",
/// chapters "Syntax of GFX940 Instructions", "Operands" and "Modifiers".
///
///     Program p = decode(bytes, 0x1000, Arch::gfx942);
///     p.instructions[0].mnemonic                  // "v_add_u32", form e32, text "v_add_u32_e32 v2, v0, v1"
///     p.instructions[0].operands[0]               // {vgpr, index 2, width 1}
///
/// Bytes that are no instruction become one `unknown` instruction of four bytes: a program may carry data
/// between its functions, so reading it is not an error; executing it is.
#pragma once

#include <inlay/machine/target.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::runtime::isa {

using machine::Arch;
using machine::to_string;

/// The architecture of that name or in that product; also reads a target such as `amdgcn-amd-amdhsa--gfx942:xnack-`. Errors: IsaError.
/// `parse_arch("MI355X") == Arch::gfx950`.
[[nodiscard]] Arch parse_arch(std::string_view text);

/// What the user gave is not a program: unknown architecture, text that does not assemble, an object that
/// does not link.
struct IsaError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Encoding families of the CDNA3 ISA manual, chapter "Microcode Formats" (MUBUF and MTBUF both count as
/// buffer).
enum class Format : std::uint8_t {
  unknown,
  sop1,
  sop2,
  sopk,
  sopc,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3p,
  mfma, ///< VOP3P-MAI, with the scaled forms of 16 bytes
  ds,
  mubuf,
  mtbuf,
  flat,
  global,
  scratch
};

/// How a vector instruction is encoded; e32 also for everything that has one form only.
enum class Form : std::uint8_t { e32, e64, dpp, sdwa };

/// What an operand is.
enum class OperandKind : std::uint8_t {
  none,
  vgpr,    ///< index 0..255, `width` registers
  agpr,    ///< index 0..255
  sgpr,    ///< index = hardware encoding: 0..101 s, 102 flat_scratch, 104 xnack_mask, 106 vcc, 108..123 ttmp,
           ///< 124 m0, 126 exec
  special, ///< index = hardware source encoding: 235 src_shared_base ... 251 src_vccz, 252 src_execz, 253
           ///< src_scc
  inline_integer, ///< -16..64, in `value`, sign-extended
  inline_float,   ///< 0.5, 1.0, 2.0, 4.0, their negatives and 1/(2 pi); `value` holds the bits of the double
  literal,        ///< 32-bit literal constant, zero-extended in `value`
  immediate, ///< a field of the instruction: simm16, hwreg(...), sendmsg(...), wait counts, offsets of SMEM
  label,     ///< branch destination, absolute address in `value`
  off        ///< the address operand that is absent: `off`
};

/// One operand with its source modifiers.
struct Operand {
  OperandKind kind = OperandKind::none;
  bool neg = false;
  bool abs = false;
  bool sext = false; ///< SDWA
  std::uint16_t index = 0;
  std::uint8_t width = 1; ///< registers, in dwords
  std::uint64_t value = 0;

  [[nodiscard]] bool is_vector() const { return kind == OperandKind::vgpr || kind == OperandKind::agpr; }
  [[nodiscard]] bool is_constant() const {
    return kind == OperandKind::inline_integer || kind == OperandKind::inline_float ||
           kind == OperandKind::literal;
  }
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// Byte or word selected by SDWA, in the manual's encoding.
enum class Select : std::uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };

/// Cross-lane pattern of a DPP instruction, in the manual's encoding of DPP_CTRL (chapter "Data Parallel
/// Processing").
struct Dpp {
  std::uint16_t control =
      0; ///< quad_perm 0..0xff, row_shl 0x101.., row_shr 0x111.., row_ror 0x121.., wave_shl 0x130 ...
  std::uint8_t row_mask = 0xf;
  std::uint8_t bank_mask = 0xf;
  bool bound_control = false;
};

/// Everything an instruction carries beside its operands. Bit i of an op_sel-like field belongs to source i.
struct Modifiers {
  std::int32_t offset =
      0; ///< byte offset of DS, buffer, flat, global, scratch; the pattern of ds_swizzle_b32
  std::uint16_t offset0 = 0;
  std::uint16_t offset1 = 0;
  bool offen = false, idxen = false, lds = false, gds = false;
  bool sc0 = false, sc1 = false, nt = false; ///< glc, scc and slc where those are the names, and of SMEM
  bool clamp = false;
  std::int8_t omod = 0; ///< result times 2^omod: 0, 1, 2 or -1
  std::uint8_t op_sel = 0;
  std::uint8_t op_sel_hi = 0; ///< as executed: where the text omits it, VOP3P means all ones
  std::uint8_t neg_lo = 0;
  std::uint8_t neg_hi = 0;
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  std::uint8_t format = 0; ///< dfmt | nfmt << 4 of MTBUF
  std::uint8_t bitop3 = 0; ///< truth table of v_bitop3
  bool gpr_idx = false;    ///< s_set_gpr_idx_on
  Dpp dpp;
  Select dst_sel = Select::dword, src0_sel = Select::dword, src1_sel = Select::dword;
  std::uint8_t dst_unused = 0; ///< SDWA: 0 pad, 1 sign-extend, 2 preserve
};

/// The three counters of `s_waitcnt`; the largest value of a field means "does not wait".
struct WaitCounts {
  std::uint8_t vmcnt = 63;
  std::uint8_t expcnt = 7;
  std::uint8_t lgkmcnt = 15;
  friend bool operator==(const WaitCounts&, const WaitCounts&) = default;
};

/// One instruction of a program.
struct Instruction {
  std::uint64_t address = 0;
  std::uint8_t size = 4; ///< bytes: 4, 8, 12 or 16
  Format format = Format::unknown;
  Form form = Form::e32;
  std::uint16_t opcode = 0;              ///< dense id of `mnemonic` within this process
  std::string_view mnemonic = "unknown"; ///< without _e32, _e64, _dpp, _sdwa; lives as long as the process
  std::vector<Operand> operands;         ///< destinations first, in the order of the text
  Modifiers modifiers;
  std::optional<WaitCounts> wait;             ///< of s_waitcnt
  std::optional<std::uint64_t> branch_target; ///< of s_branch, s_cbranch_*, s_call
  std::vector<std::uint8_t> encoding;
  std::string text; ///< as LLVM prints it, without comments

  [[nodiscard]] bool is_unknown() const { return format == Format::unknown; }
  [[nodiscard]] bool is_branch() const { return branch_target.has_value(); }
  /// Whether control never reaches the next instruction from here: s_branch, s_endpgm, s_setpc_b64, ...
  [[nodiscard]] bool ends_flow() const;
};

/// `0x1a2c 's_endpgm'`: where it is and what, for messages.
[[nodiscard]] std::string located(const Instruction& i);

/// A named address: function, kernel or local label.
struct Symbol {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

/// The instructions of one stretch of code, in address order.
struct Program {
  Arch arch{};
  std::uint64_t begin = 0; ///< address of the first byte
  std::uint64_t end = 0;
  std::vector<Instruction> instructions;
  std::vector<Symbol> symbols;              ///< functions, by address
  std::vector<std::uint32_t> block_leaders; ///< indices of instructions that start a basic block, ascending

  /// Index of the instruction that starts at `address`; nothing when none does.
  [[nodiscard]] std::optional<std::size_t> index_of(std::uint64_t address) const;
  /// The function that contains `address`, or nullptr.
  [[nodiscard]] const Symbol* function_at(std::uint64_t address) const;
};

/// Disassembles `code`, whose first byte is at `address`. Bytes that are no instruction become `unknown`
/// instructions. `symbols` become block leaders.
[[nodiscard]] Program decode(std::span<const std::uint8_t> code, std::uint64_t address, Arch arch,
                             std::vector<Symbol> symbols = {});

/// The dense id of a mnemonic (without encoding suffix), the same for the life of the process.
[[nodiscard]] std::uint16_t mnemonic_id(std::string_view mnemonic);

/// Reads one line of disassembly, the fields of `out` that the text determines; `encoding`, `address` and
/// `size` are set. Exposed for the tests of the syntax.
void parse_instruction_text(std::string_view text, Instruction& out);

} // namespace inlay::runtime::isa
