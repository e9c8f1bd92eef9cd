/// The inner loops of the matrix instructions and of 64-lane conversions, compiled once for each instruction
/// set of the host (mfma_kernels.ipp) and chosen at run time.
///
/// A multiplication has three steps: unpack A and B from their registers to `[element][lane]` arrays of the
/// type that is multiplied, multiply along the offsets of a plan, leave D where the output layout has it. The
/// layouts make the third step free: a row of D is N consecutive lanes of one register.
#pragma once

#include "emulator/mfma.h"
#include "emulator/numerics/formats.h"

#include <cstdint>

namespace inlay::runtime::detail {

inline constexpr int lanes = 64;
/// The most elements a lane holds of an input (fp8, fp6 and fp4 of f8f6f4), and of k and rows of any
/// instruction.
inline constexpr int most_elements = 32;
inline constexpr int most_k = 128;
inline constexpr int most_rows = 32;

/// Where the unpacked operands of one instruction lie: indices into `[element][lane]` arrays.
struct MatrixPlan {
  int m, n, k, blocks;
  std::uint16_t a[most_k];    ///< A[0][k] of block 0; row i is at + i, block b at + b m
  std::uint16_t b[most_k];    ///< B[k][0] of block 0; column j is at + j, block b at + b n
  std::uint16_t d[most_rows]; ///< D[i][0] of block 0 in [register][lane]
  std::uint16_t d_block;      ///< distance of the blocks of D
};

/// How to read one element of a register.
struct Unpacking {
  Element element;
  numerics::Fp8 fp8;
  int count; ///< elements a lane
};

struct MatrixKernels {
  const char* name;
  /// `out[e][lane]` = element e as a float; f32, xf32 and everything narrower, i8 excepted.
  void (*unpack)(const Unpacking& how, const std::uint32_t* registers, float* out);
  /// d[i][j] = fma over k of a and b from c, in ascending k; f32 sums. `c` and `d` may be the same.
  void (*multiply)(const MatrixPlan& plan, const float* a, const float* b, const float* c, float* d);
  /// The same for i8: `a` and `b` are the registers themselves.
  void (*multiply_i8)(const MatrixPlan& plan, const std::uint32_t* a, const std::uint32_t* b,
                      const std::uint32_t* c, std::uint32_t* d);
  /// `multiply` of 4x4x4 in 16 blocks from registers of f16, or of bf16: what lies between unpacking and multiplying stays in
  /// registers. nullptr where there is no such form.
  void (*multiply_quads)(bool brain, const std::uint32_t* a, const std::uint32_t* b, const float* c,
                         float* d);
  /// d += a * b in ascending k for dense matrices by rows, m x depth and depth x n.
  void (*multiply_f64)(int m, int n, int depth, const double* a, const double* b, double* d);
  /// Sparse A: `rows[e * m + i]` is the offset in `b` of the row that packed element e of row i
  /// multiplies.
  void (*multiply_sparse)(const MatrixPlan& plan, int packed, const std::uint16_t* rows, const float* a,
                          const float* b, float* d);
  /// 64-lane forms of numerics::widen and narrow; `seeds` is read by stochastic rounding only.
  void (*widen)(numerics::Format format, const std::uint32_t* codes, float* values);
  void (*narrow)(numerics::Format format, const float* values, std::uint32_t* codes,
                 numerics::Rounding rounding, numerics::Overflow overflow, const std::uint32_t* seeds);
};

/// nullptr where the processor or the build lacks the instruction set.
[[nodiscard]] const MatrixKernels* matrix_kernels_avx512();
[[nodiscard]] const MatrixKernels* matrix_kernels_avx2();
[[nodiscard]] const MatrixKernels& matrix_kernels_portable();
/// The best of them; decided once.
[[nodiscard]] const MatrixKernels& matrix_kernels();

/// The offsets of an instruction whose inputs have these types; for sparse A, `a` counts the packed elements.
[[nodiscard]] MatrixPlan make_plan(const MatrixOp& op, Element a, Element b);

/// d of MatrixArithmetic::cdna3 from unpacked inputs; `rows` as in multiply_sparse, nullptr where A is dense.
void multiply_cdna3(const MatrixPlan& plan, Element a_type, Element b_type, numerics::Fp8 fp8, int packed,
                    const std::uint16_t* rows, const float* a, const float* b, const float* c, float* d);

/// mfma() on a given set of kernels.
void mfma_on(const MatrixKernels& kernels, const MatrixOp& op, const MatrixForm& form,
             const MatrixOperands& operands, const MatrixModifiers& modifiers, const MatrixOptions& options);
inline void mfma_on(const MatrixKernels& kernels, const MatrixOp& op, const MatrixOperands& operands,
                    const MatrixModifiers& modifiers, const MatrixOptions& options) {
  mfma_on(kernels, op, form_of(op, modifiers), operands, modifiers, options);
}

} // namespace inlay::runtime::detail
