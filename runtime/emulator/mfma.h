/// V_MFMA_* and V_SMFMAC_*: one function that executes a row of machine/matrix.h.
///
/// An instruction multiplies `blocks` independent pairs of matrices, D[b] = A[b] * B[b] + C[b], A being M x
/// K, B being K x N, all of them spread over the 64 lanes and some registers of a wave; mfma_layout.h has the
/// maps. A row of the table is all that distinguishes one instruction from another:
///
///     v_mfma_f32_16x16x16_f16     M 16  N 16  K 16  blocks 1   A f16   B f16   D f32
///     v_mfma_f32_4x4x4_16b_bf16   M  4  N  4  K  4  blocks 16  A bf16  B bf16  D f32
///
/// Registers are given as arrays `[register][lane]` of 32-bit words, 64 lanes each, wherever the file keeps
/// them: architectural or accumulation registers make no difference here.
///
///     const MatrixOp* op = find_matrix_op("v_mfma_f32_16x16x16_f16");
///     mfma(*op, {.a = v + 64 * 2, .b = v + 64 * 4, .c = acc, .d = acc}, {}, {});
///
/// EXEC and MODE play no part: the instructions ignore both. Integer sums wrap. What order floating-point
/// sums take is in numerics/arithmetic.h; A and B are read whole before D is written, so that D may lie on
/// any of them.
///
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide",
/// chapter 7 "Matrix Arithmetic Instructions"; AMD Matrix Instruction Calculator
/// (ROCm/amd_matrix_instruction_calculator).
#pragma once

#include "emulator/numerics/arithmetic.h"

#include <inlay/machine/matrix.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace inlay::runtime {

namespace detail {
struct MatrixPlan;
}

/// What an operand's elements are. fp8 and bf8 are FNUZ or OCP by MatrixOptions::fp8.
using Element = machine::Operand;

/// Width in bits of an element in its register.
[[nodiscard]] constexpr int bits_of(Element e) {
  switch (e) {
  case Element::f64: return 64;
  case Element::f16:
  case Element::bf16: return 16;
  case Element::i8:
  case Element::fp8:
  case Element::bf8: return 8;
  case Element::fp6:
  case Element::bf6: return 6;
  case Element::fp4: return 4;
  default: return 32;
  }
}

/// One instruction: a row of the machine's table.
using MatrixOp = machine::MatrixInstruction;

/// All rows.
[[nodiscard]] std::span<const MatrixOp> matrix_ops();
/// The row of a mnemonic, or nullptr: `v_mfma_f32_32x32x8_f16`; an `_e64` suffix is accepted.
[[nodiscard]] const MatrixOp* find_matrix_op(std::string_view name);

/// The fields of the encoding. Out-of-range values act modulo their width.
struct MatrixModifiers {
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  std::uint8_t scale_byte_a = 0,
               scale_byte_b = 0; ///< OPSEL of V_MFMA_SCALE: which byte of the scale registers
};

/// Where the operands are; each array is [register][64].
struct MatrixOperands {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const std::uint32_t* c =
      nullptr; ///< nullptr: every element is `constant`. Not read by V_SMFMAC, which reads `d`.
  std::uint32_t* d = nullptr;
  std::uint64_t constant = 0;             ///< an inline constant as the bits of D's type
  const std::uint32_t* index = nullptr;   ///< V_SMFMAC: one register
  const std::uint32_t* scale_a = nullptr; ///< V_MFMA_SCALE: one register each; nullptr means scale 1
  const std::uint32_t* scale_b = nullptr;
};

struct MatrixOptions {
  numerics::MatrixArithmetic arithmetic = numerics::MatrixArithmetic::sequential;
  numerics::Fp8 fp8 = numerics::Fp8::fnuz;
};

/// The element type of A (or B) once the modifiers are known. Types 5 to 7 are reserved and read as fp4.
[[nodiscard]] Element element_a(const MatrixOp& op, const MatrixModifiers& modifiers);
[[nodiscard]] Element element_b(const MatrixOp& op, const MatrixModifiers& modifiers);

/// Registers a lane that an operand occupies: `{a, b, d}`; C is as large as D.
///     v_mfma_f32_32x32x8_f16: {2, 2, 16}
struct MatrixRegisters {
  int a, b, d;
};
[[nodiscard]] MatrixRegisters registers_of(const MatrixOp& op, const MatrixModifiers& modifiers = {});

/// What an instruction is once its modifiers are known, the same in each execution.
struct MatrixForm {
  MatrixRegisters registers;
  Element a, b;
  const detail::MatrixPlan* plan = nullptr; ///< of sums in f32 and i32
  bool plain = false; ///< dense f32 sums of what lies in the registers: nothing broadcast, permuted or scaled
  bool quads = false; ///< 4x4x4 in 16 blocks of f16 or bf16
};
[[nodiscard]] MatrixForm form_of(const MatrixOp& op, const MatrixModifiers& modifiers);

/// Executes one instruction; `form` is form_of(op, modifiers).
/// Requires: the operands have registers_of(op, modifiers) registers; the host rounds to nearest and flushes
/// nothing (restored on return where it was otherwise).
void mfma(const MatrixOp& op, const MatrixForm& form, const MatrixOperands& operands,
          const MatrixModifiers& modifiers, const MatrixOptions& options);
inline void mfma(const MatrixOp& op, const MatrixOperands& operands, const MatrixModifiers& modifiers,
                 const MatrixOptions& options) {
  mfma(op, form_of(op, modifiers), operands, modifiers, options);
}

/// Multiply-adds that one execution performs, zeros of sparse operands not counted.
[[nodiscard]] constexpr std::int64_t multiply_adds(const MatrixOp& op) {
  return std::int64_t{op.m} * op.n * op.k * op.blocks / (op.sparse ? 2 : 1);
}

} // namespace inlay::runtime
