/// The matrix instructions, V_MFMA_* and V_SMFMAC_*: one row an instruction, of all targets.
///
/// An instruction multiplies `blocks` independent pairs of matrices, D[b] = A[b] B[b] + C[b], A being m x k and B k x n, spread over the 64
/// lanes and some registers of a wave. A row says the shape, what the operands hold, how long it takes on which target, where elements lie,
/// and what LLVM calls it. The code generator makes atoms from the rows, the emulator executes them, the reports count their clocks.
///
///     find_matrix_instruction("v_mfma_f32_16x16x16_f16")->timing[size_t(Arch::gfx942)].passes      // 4, each 4 clocks
///     find_matrix_instruction("v_mfma_f32_16x16x32_f16")->on(Arch::gfx942)                         // false
///
/// Layouts are CuTe's text. They map (lane, value) to (m, k, block), (n, k, block) and (m, n, block); the k of a sparse A counts packed
/// elements. The emulator has its own formula of them (runtime/emulator/mfma_layout.h), which tests hold against these.
///
/// Sources: "AMD Instinct MI200 ISA (CDNA2) Reference Guide", "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA
/// Reference Guide", chapter "Matrix Arithmetic Instructions"; AMD Matrix Instruction Calculator (layouts, passes of gfx90a and gfx942); LLVM 22's scheduling model (passes of gfx950, which agree
/// with the thread traces that AMD published of MI350X) and hazard recogniser (wait states; 16x16x128 of f8f6f4 with an 8-bit operand takes
/// twice the passes of the model, as the CDNA4 manual says).
#pragma once

#include <inlay/machine/target.h>

namespace inlay::machine {

/// What an operand's elements are, by the names of the instructions: fp8 and bf8 are FNUZ or OCP by the target (`Target::ocp_fp8`), fp6 is
/// e2m3, bf6 e3m2, fp4 e2m1.
enum class Operand : std::uint8_t { f64, f32, xf32, f16, bf16, i8, fp8, bf8, fp6, bf6, fp4, i32 };

/// What CBSZ and BLGP of the f8f6f4 instructions say of A and B: `f8f6f4_operands[cbsz]`. Codes 5 to 7 are reserved.
inline constexpr std::array<Operand, 5> f8f6f4_operands{Operand::fp8, Operand::bf8, Operand::fp6,
                                                        Operand::bf6, Operand::fp4};

/// How long an instruction takes on one target.
struct MatrixTiming {
  int passes =
      0; ///< of 4 clocks, in which it occupies the matrix pipe of its SIMD; 0: the target does not have it
  int wait_states = 0; ///< from the instruction to another reader of D; -1: not published
  friend constexpr bool operator==(const MatrixTiming&, const MatrixTiming&) = default;
};
using MatrixTimings = std::array<MatrixTiming, targets.size()>; ///< in the order of `targets`

/// One instruction. `name` is LLVM's mnemonic without suffix.
struct MatrixInstruction {
  std::string_view name;
  std::uint8_t m, n, k, blocks;
  Operand a, b, d; ///< C is as D; of the f8f6f4 instructions the modifiers say what A and B are
  /// A holds two of every four k, the index operand says which (V_SMFMAC); D is read as C.
  bool sparse = false;
  /// CBSZ and ABID broadcast blocks of A, BLGP permutes the lanes of B (forms that have 32-bit-per-lane inputs).
  bool broadcasts_a = false, permutes_b = false;
  /// BLGP holds the signs of A, B and C (f64).
  bool negates = false;
  /// CBSZ and BLGP name the element types of A and B (f8f6f4_operands).
  bool typed_by_modifiers = false;
  /// The 16-byte form with a scale for every 32 k (V_MFMA_SCALE).
  bool scaled = false;
  MatrixTimings timing{};
  MatrixTimings narrow_timing{}; ///< f8f6f4 where neither A nor B is of 8 bits
  std::string_view a_layout, b_layout, d_layout;
  std::string_view narrow_layout;  ///< f8f6f4: of an A or B of 6 or 4 bits
  std::string_view scale_layout;   ///< (lane, value) to (m or n, the first k of its block)
  std::string_view intrinsic;      ///< LLVM's; of f8f6f4 without the types of A and B
  std::string_view a_type, b_type; ///< LLVM's; of f8f6f4 they follow from the widths

  [[nodiscard]] constexpr bool on(Arch arch) const {
    return timing[static_cast<std::size_t>(arch)].passes != 0;
  }
  /// `narrow`: neither A nor B is of 8 bits.
  [[nodiscard]] constexpr const MatrixTiming& timing_on(Arch arch, bool narrow = false) const {
    return (typed_by_modifiers && narrow ? narrow_timing : timing)[static_cast<std::size_t>(arch)];
  }
  /// Twice the multiply-adds; those of a sparse instruction count as if A were dense.
  [[nodiscard]] constexpr std::uint64_t work() const { return std::uint64_t{2} * m * n * k * blocks; }
};

/// All of them.
[[nodiscard]] std::span<const MatrixInstruction> matrix_instructions();
/// The row of a mnemonic, or nullptr: `v_mfma_f32_32x32x8_f16`; an `_e64` suffix is accepted.
[[nodiscard]] const MatrixInstruction* find_matrix_instruction(std::string_view name);

/// The row of `arch` that computes what `i` does, which has another name on gfx90a; nullptr where there is none.
[[nodiscard]] const MatrixInstruction* same_product(const MatrixInstruction& i, Arch arch);

/// Multiply-adds that a compute unit does a clock in dense products of `a` with `a`, by the fastest instruction; 0 where there is none.
/// 512 for f16 on gfx90a, 1024 on gfx942, 2048 on gfx950.
[[nodiscard]] int multiply_adds_per_clock(Arch arch, Operand a);

} // namespace inlay::machine
