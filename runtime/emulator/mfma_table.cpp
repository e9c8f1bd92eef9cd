// The instructions, one row each. Order as in the manuals' opcode tables; names as LLVM prints them.
#include "emulator/mfma.h"

#include <algorithm>
#include <array>

namespace inlay::runtime {
namespace {

enum Arch : unsigned { cdna3 = 1, cdna4 = 2, both = 3 };
enum Field : unsigned { none = 0, broadcast = 1, permute = 2, lanes = 3, signs = 4 };

constexpr MatrixOp dense(std::string_view name, int m, int n, int k, int blocks, Element a, Element b,
                         Element d, unsigned arch, unsigned fields = none) {
  return {.name = name,
          .m = static_cast<std::uint8_t>(m),
          .n = static_cast<std::uint8_t>(n),
          .k = static_cast<std::uint8_t>(k),
          .blocks = static_cast<std::uint8_t>(blocks),
          .a = a,
          .b = b,
          .d = d,
          .gfx942 = (arch & cdna3) != 0,
          .gfx950 = (arch & cdna4) != 0,
          .sparse = false,
          .broadcasts_a = (fields & broadcast) != 0,
          .permutes_b = (fields & permute) != 0,
          .negates = (fields & signs) != 0,
          .typed_by_modifiers = false,
          .scaled = false};
}

constexpr MatrixOp sparse(std::string_view name, int mn, int k, Element a, Element b, Element d,
                          unsigned arch) {
  MatrixOp op = dense(name, mn, mn, k, 1, a, b, d, arch);
  op.sparse = true;
  return op;
}

constexpr MatrixOp mixed(std::string_view name, int mn, int k, bool scaled) {
  MatrixOp op = dense(name, mn, mn, k, 1, Element::fp8, Element::fp8, Element::f32, cdna4);
  op.typed_by_modifiers = true;
  op.scaled = scaled;
  return op;
}

using enum Element;

constexpr std::array table = {
    dense("v_mfma_f32_16x16x8_xf32", 16, 16, 8, 1, xf32, xf32, f32, cdna3),
    dense("v_mfma_f32_32x32x4_xf32", 32, 32, 4, 1, xf32, xf32, f32, cdna3),
    dense("v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, f32, f32, f32, both, lanes),
    dense("v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, 4, f32, f32, f32, both, lanes),
    dense("v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, f32, f32, f32, both, lanes),
    dense("v_mfma_f32_32x32x2_f32", 32, 32, 2, 1, f32, f32, f32, both, permute),
    dense("v_mfma_f32_16x16x4_f32", 16, 16, 4, 1, f32, f32, f32, both, permute),
    dense("v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, f16, f16, f32, both, lanes),
    dense("v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, f16, f16, f32, both, lanes),
    dense("v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, f16, f16, f32, both, lanes),
    dense("v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, f16, f16, f32, both),
    dense("v_mfma_f32_16x16x16_f16", 16, 16, 16, 1, f16, f16, f32, both),
    dense("v_mfma_i32_32x32x4_2b_i8", 32, 32, 4, 2, i8, i8, i32, both, lanes),
    dense("v_mfma_i32_16x16x4_4b_i8", 16, 16, 4, 4, i8, i8, i32, both, lanes),
    dense("v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, i8, i8, i32, both, lanes),
    dense("v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, i8, i8, i32, both),
    dense("v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, i8, i8, i32, both),
    dense("v_mfma_f32_32x32x4_2b_bf16", 32, 32, 4, 2, bf16, bf16, f32, both, lanes),
    dense("v_mfma_f32_16x16x4_4b_bf16", 16, 16, 4, 4, bf16, bf16, f32, both, lanes),
    dense("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 4, 16, bf16, bf16, f32, both, lanes),
    dense("v_mfma_f32_32x32x8_bf16", 32, 32, 8, 1, bf16, bf16, f32, both),
    dense("v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, bf16, bf16, f32, both),
    dense("v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, f64, f64, f64, both, signs),
    dense("v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, f64, f64, f64, both, signs),
    dense("v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, 1, bf8, bf8, f32, both),
    dense("v_mfma_f32_16x16x32_bf8_fp8", 16, 16, 32, 1, bf8, fp8, f32, both),
    dense("v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, 1, fp8, bf8, f32, both),
    dense("v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, 1, fp8, fp8, f32, both),
    dense("v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, 1, bf8, bf8, f32, both),
    dense("v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, 1, bf8, fp8, f32, both),
    dense("v_mfma_f32_32x32x16_fp8_bf8", 32, 32, 16, 1, fp8, bf8, f32, both),
    dense("v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, 1, fp8, fp8, f32, both),
    // CDNA4: twice the K.
    dense("v_mfma_f32_16x16x32_f16", 16, 16, 32, 1, f16, f16, f32, cdna4),
    dense("v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, f16, f16, f32, cdna4),
    dense("v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, bf16, bf16, f32, cdna4),
    dense("v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, bf16, bf16, f32, cdna4),
    dense("v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, i8, i8, i32, cdna4),
    dense("v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, i8, i8, i32, cdna4),
    mixed("v_mfma_f32_16x16x128_f8f6f4", 16, 128, false),
    mixed("v_mfma_f32_32x32x64_f8f6f4", 32, 64, false),
    mixed("v_mfma_scale_f32_16x16x128_f8f6f4", 16, 128, true),
    mixed("v_mfma_scale_f32_32x32x64_f8f6f4", 32, 64, true),
    // Structured sparsity.
    sparse("v_smfmac_f32_16x16x32_f16", 16, 32, f16, f16, f32, both),
    sparse("v_smfmac_f32_32x32x16_f16", 32, 16, f16, f16, f32, both),
    sparse("v_smfmac_f32_16x16x32_bf16", 16, 32, bf16, bf16, f32, both),
    sparse("v_smfmac_f32_32x32x16_bf16", 32, 16, bf16, bf16, f32, both),
    sparse("v_smfmac_i32_16x16x64_i8", 16, 64, i8, i8, i32, both),
    sparse("v_smfmac_i32_32x32x32_i8", 32, 32, i8, i8, i32, both),
    sparse("v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, bf8, bf8, f32, both),
    sparse("v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, bf8, fp8, f32, both),
    sparse("v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, fp8, bf8, f32, both),
    sparse("v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, fp8, fp8, f32, both),
    sparse("v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, bf8, bf8, f32, both),
    sparse("v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, bf8, fp8, f32, both),
    sparse("v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, fp8, bf8, f32, both),
    sparse("v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, fp8, fp8, f32, both),
    sparse("v_smfmac_f32_16x16x64_f16", 16, 64, f16, f16, f32, cdna4),
    sparse("v_smfmac_f32_32x32x32_f16", 32, 32, f16, f16, f32, cdna4),
    sparse("v_smfmac_f32_16x16x64_bf16", 16, 64, bf16, bf16, f32, cdna4),
    sparse("v_smfmac_f32_32x32x32_bf16", 32, 32, bf16, bf16, f32, cdna4),
    sparse("v_smfmac_i32_16x16x128_i8", 16, 128, i8, i8, i32, cdna4),
    sparse("v_smfmac_i32_32x32x64_i8", 32, 64, i8, i8, i32, cdna4),
    sparse("v_smfmac_f32_16x16x128_bf8_bf8", 16, 128, bf8, bf8, f32, cdna4),
    sparse("v_smfmac_f32_16x16x128_bf8_fp8", 16, 128, bf8, fp8, f32, cdna4),
    sparse("v_smfmac_f32_16x16x128_fp8_bf8", 16, 128, fp8, bf8, f32, cdna4),
    sparse("v_smfmac_f32_16x16x128_fp8_fp8", 16, 128, fp8, fp8, f32, cdna4),
    sparse("v_smfmac_f32_32x32x64_bf8_bf8", 32, 64, bf8, bf8, f32, cdna4),
    sparse("v_smfmac_f32_32x32x64_bf8_fp8", 32, 64, bf8, fp8, f32, cdna4),
    sparse("v_smfmac_f32_32x32x64_fp8_bf8", 32, 64, fp8, bf8, f32, cdna4),
    sparse("v_smfmac_f32_32x32x64_fp8_fp8", 32, 64, fp8, fp8, f32, cdna4),
};

Element by_code(std::uint8_t code) {
  switch (code & 7u) {
  case 0: return fp8;
  case 1: return bf8;
  case 2: return fp6;
  case 3: return bf6;
  default: return fp4;
  }
}

} // namespace

std::span<const MatrixOp> matrix_ops() { return table; }

const MatrixOp* find_matrix_op(std::string_view name) {
  if (name.ends_with("_e64")) {
    name.remove_suffix(4);
  }
  const auto* found =
      std::find_if(table.begin(), table.end(), [&](const MatrixOp& op) { return op.name == name; });
  return found == table.end() ? nullptr : found;
}

Element element_a(const MatrixOp& op, const MatrixModifiers& modifiers) {
  return op.typed_by_modifiers ? by_code(modifiers.cbsz) : op.a;
}

Element element_b(const MatrixOp& op, const MatrixModifiers& modifiers) {
  return op.typed_by_modifiers ? by_code(modifiers.blgp) : op.b;
}

MatrixRegisters registers_of(const MatrixOp& op, const MatrixModifiers& modifiers) {
  const int a_elements = op.m * op.k * op.blocks / 64 / (op.sparse ? 2 : 1);
  const int b_elements = op.n * op.k * op.blocks / 64;
  const int d_elements = op.m * op.n * op.blocks / 64;
  return {a_elements * bits_of(element_a(op, modifiers)) / 32,
          b_elements * bits_of(element_b(op, modifiers)) / 32, d_elements * bits_of(op.d) / 32};
}

} // namespace inlay::runtime
