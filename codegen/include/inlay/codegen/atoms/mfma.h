/// `MfmaAtom`: one matrix instruction, as the layouts of its operands.
///
/// A wave's 64 lanes hold the operands of D = A x B + C, A of M x K, B of K x N (kept as (N,K) here, so that
/// A and B look alike), C and D of M x N. Which lane holds which element, in which of its registers, is the
/// whole difficulty of using these instructions; here it is three layouts from (lane, value) to coordinates.
/// The running example is v_mfma_f32_16x16x16_f16:
///
///     a   ((16,4),4):((1@0,4@1),1@1)        lane l holds row l % 16, k = 4 (l / 16) + value
///     b   the same, of (N,K)
///     c   ((16,4),(4,1)):((1@1,4@0),(1@0,16@0))     lane l holds column l % 16, row 4 (l / 16) + value
///
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide",
/// chapter on matrix arithmetic instructions; AMD Matrix Instruction Calculator (register layouts and
/// cycles). Intrinsics: LLVM IntrinsicsAMDGPU.td.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/codegen/kernel_builder.h>

#include <span>
#include <string_view>

namespace inlay::codegen {

struct MfmaAtom {
  std::string_view instruction; ///< `v_mfma_f32_16x16x16_f16`
  std::string_view intrinsic;   ///< `llvm.amdgcn.mfma.f32.16x16x16f16`
  int m, n, k;                  ///< extents; m = n
  Element operand;              ///< of A and B; C and D are f32
  int cycles;                   ///< that the matrix pipe is busy (4 per pass)
  bool wide;                    ///< needs `Target::wide_mfma_16bit`

  [[nodiscard]] int lane_groups() const { return 64 / m; }        ///< groups of lanes that share the rows
  [[nodiscard]] int operand_values() const { return k * m / 64; } ///< elements of A a lane holds
  [[nodiscard]] int result_values() const { return m * n / 64; }
  [[nodiscard]] Type operand_type() const { return {operand, operand_values()}; }
  [[nodiscard]] Type result_type() const { return Type::f32(result_values()); }

  /// (lane, value) -> (row, k) of A, and equally (column, k) of B.
  [[nodiscard]] Layout operand_layout() const;
  /// (lane, value) -> (row, column) of C and D.
  [[nodiscard]] Layout result_layout() const;

  [[nodiscard]] bool admissible(const Target& target) const { return !wide || target.wide_mfma_16bit; }

  /// All atoms: 16x16x16 and 32x32x8, and where there are wide ones 16x16x32 and 32x32x16, for f16 and bf16.
  [[nodiscard]] static std::span<const MfmaAtom> all();
  /// The atom of that shape. Errors: CodegenError naming the shapes that the target has for the type.
  [[nodiscard]] static const MfmaAtom& of(const Target& target, Element operand, int m, int k);
  /// The one with the largest K that the target has for M = N = `m`: `best(gfx950, f16, 16)` is 16x16x32.
  [[nodiscard]] static const MfmaAtom& best(const Target& target, Element operand, int m);
};

} // namespace inlay::codegen
