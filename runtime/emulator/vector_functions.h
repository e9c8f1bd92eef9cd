/// The arithmetic of vector instructions as functions over rows of 64 lanes, and the table that names them.
///
/// A function sees only plain rows: the caller has applied neg, abs, SDWA, DPP and op_sel to the sources and applies
/// omod, clamp and the lane mask to the result. The same source is compiled for several instruction sets of the host
/// (vector_functions.inc); `vector_table()` picks one at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace inlay::runtime::emulator {

/// How an operand's bits are read: decides where its sign is, how an inline constant is widened, what is flushed.
enum class Type : std::uint8_t { none, b32, b64, b16, f32, f64, f16, packed16, packed_f16, packed_f32, mask };

/// Registers an operand of this type occupies.
[[nodiscard]] constexpr unsigned words(Type type) {
  return type == Type::none ? 0 : type == Type::b64 || type == Type::f64 || type == Type::packed_f32 ? 2 : 1;
}

/// The operands of one execution.
struct VectorArguments {
  std::uint32_t* d = nullptr;     ///< result rows
  const std::uint32_t* s[3] = {}; ///< source rows; a second word is 64 entries further
  std::uint64_t mask_in = 0;      ///< VCC, carry in, or the condition of a select
  std::uint64_t mask_out = 0;     ///< carry out or the result of a compare, all 64 lanes
  std::uint64_t exec = 0;
  std::uint32_t mode = 0; ///< MODE register
  std::uint8_t op_sel = 0, op_sel_hi = 0, neg_lo = 0, neg_hi = 0;
  std::uint8_t truth = 0; ///< v_bitop3
  bool clamp = false;     ///< for integer saturation, which only the function can do
  bool ocp = false;       ///< fp8 and bf8 are OCP (CDNA4), not FNUZ
};

using VectorFunction = void (*)(VectorArguments&);

/// Properties of a vector instruction that its mnemonic implies.
enum VectorFlags : unsigned {
  reads_mask = 1,         ///< last operand is a lane mask (e32: vcc)
  reads_vcc = 2,          ///< reads VCC without naming it
  writes_mask = 4,        ///< destination is a lane mask (compares)
  carry_out = 8,          ///< second destination is a lane mask
  reads_destination = 16, ///< the last source is the old destination
  keeps_high = 32,        ///< a 16-bit result leaves the high half of the register alone
  writes_exec = 64,       ///< v_cmpx
  integer_clamp = 128,    ///< clamp is done by the function
  no_flush = 256,         ///< moves bits: denormals are kept whatever MODE says
  own_op_sel = 512,       ///< op_sel is read by the function
  flushes_always =
      1024, ///< denormal sources and results become zero whatever MODE says (v_rcp_f32, v_exp_f32, ...)
  three_in_two = 2048, ///< VOP2 with a literal: v_fmamk, v_fmaak
  to_high = 4096,      ///< the result goes to the high half
};

struct VectorEntry {
  std::string_view name;
  Type d;
  Type s[3];
  unsigned flags;
  VectorFunction function;

  [[nodiscard]] unsigned sources() const {
    return s[0] == Type::none ? 0 : s[1] == Type::none ? 1 : s[2] == Type::none ? 2 : 3;
  }
};

/// All vector instructions that are pure functions of a lane, compiled for the best instruction set of this machine.
[[nodiscard]] std::span<const VectorEntry> vector_table();
/// The entry of a mnemonic, or nullptr.
[[nodiscard]] const VectorEntry* find_vector_entry(std::string_view mnemonic);

/// Where the lanes of a memory instruction go, as 32-bit offsets from one place.
struct LaneOffsets {
  std::uint32_t at[64];    ///< those of inactive lanes are an active one's
  std::uint32_t low, high; ///< smallest, largest
  std::uint32_t all;       ///< a multiple of a power of two if and only if all of them are
  bool rising;             ///< each lane after the one before it, without gaps; all lanes active
};

/// Row operations around the arithmetic, compiled with it.
struct RowFunctions {
  /// `count` words copied with f32 denormals made zero of the same sign.
  void (*flush_f32)(std::uint32_t* to, const std::uint32_t* from, unsigned count);
  /// One row copied where `mask` has a bit.
  void (*merge)(std::uint32_t* to, const std::uint32_t* from, std::uint64_t mask);
  void (*broadcast)(std::uint32_t* to, std::uint32_t value);
  /// `words` rows filled from `base + address[lane]`, lane by lane.
  void (*gather)(std::uint32_t* rows, const std::uint8_t* base, const std::uint64_t* address, unsigned words);
  /// `words` words of each lane in `mask` written to `base + address[lane]`, lane by lane upwards.
  void (*scatter)(std::uint8_t* base, const std::uint64_t* address, const std::uint32_t* rows, unsigned words,
                  std::uint64_t mask);
  /// `row[lane] + add` modulo 2^32, or `add` alone where `row` is nullptr. Requires: a lane in `mask`.
  void (*offsets)(LaneOffsets& to, const std::uint32_t* row, std::uint32_t add, std::uint64_t mask,
                  unsigned bytes);
  /// As gather and scatter, the lanes' offsets unsigned 32-bit numbers.
  void (*gather_near)(std::uint32_t* rows, const std::uint8_t* base, const std::uint32_t* offset,
                      unsigned words);
  void (*scatter_near)(std::uint8_t* base, const std::uint32_t* offset, const std::uint32_t* rows,
                       unsigned words, std::uint64_t mask);
  /// The bits of any word that gather_near would read.
  std::uint32_t (*any_near)(const std::uint8_t* base, const LaneOffsets& at, unsigned words);
  /// Which blocks of 256 bytes the offsets are in, counted from that of `low`. Requires: fewer than 64 of them.
  std::uint64_t (*pages)(const LaneOffsets& at);
  /// Whether each lane lies past the one before it, `bytes` bytes or more.
  bool (*ascending)(const std::uint32_t* offset, unsigned bytes);
  /// Whether the lanes lie as far after the first as `pattern` says.
  bool (*follows)(const std::uint32_t* offset, const std::uint32_t* pattern);
  /// Elements of 1 or 2 bytes, extended to words; and the low bytes of words written.
  void (*gather_small)(std::uint32_t* row, const std::uint8_t* base, const std::uint32_t* offset,
                       unsigned bytes, bool is_signed);
  void (*scatter_small)(std::uint8_t* base, const std::uint32_t* offset, const std::uint32_t* row,
                        unsigned bytes, std::uint64_t mask);
  /// to[lane] = from[index[lane] % 64].
  void (*pick)(std::uint32_t* to, const std::uint32_t* from, const std::uint32_t* index);
  /// Whether the lanes in `mask` have one value.
  bool (*uniform)(const std::uint32_t* row, std::uint64_t mask);
  /// offset[lane] += lane * step.
  void (*apart)(std::uint32_t* offset, std::uint32_t step);
};
[[nodiscard]] const RowFunctions& row_functions();
const RowFunctions& row_functions_portable();
const RowFunctions& row_functions_avx2();
const RowFunctions& row_functions_avx512();

std::span<const VectorEntry> vector_table_portable();
std::span<const VectorEntry> vector_table_avx2();
std::span<const VectorEntry> vector_table_avx512();

} // namespace inlay::runtime::emulator
