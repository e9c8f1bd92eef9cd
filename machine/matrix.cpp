#include <inlay/machine/matrix.h>

#include <tuple>

namespace inlay::machine {
namespace {

enum Field : unsigned { none = 0, broadcast = 1, permute = 2, lanes = 3, signs = 4, sparse = 8 };

constexpr MatrixInstruction row(std::string_view name, unsigned m, unsigned n, unsigned k, unsigned blocks,
                                Operand a, Operand b, Operand d, unsigned fields, MatrixTimings timing,
                                std::string_view a_layout, std::string_view b_layout,
                                std::string_view d_layout, std::string_view intrinsic,
                                std::string_view a_type, std::string_view b_type) {
  MatrixInstruction i{};
  i.name = name;
  i.m = static_cast<std::uint8_t>(m), i.n = static_cast<std::uint8_t>(n), i.k = static_cast<std::uint8_t>(k);
  i.blocks = static_cast<std::uint8_t>(blocks);
  i.a = a, i.b = b, i.d = d;
  i.sparse = (fields & sparse) != 0;
  i.broadcasts_a = (fields & broadcast) != 0, i.permutes_b = (fields & permute) != 0;
  i.negates = (fields & signs) != 0;
  i.timing = timing;
  i.a_layout = a_layout, i.b_layout = b_layout, i.d_layout = d_layout;
  i.intrinsic = intrinsic, i.a_type = a_type, i.b_type = b_type;
  return i;
}

// The f8f6f4 instructions: once with an operand of 8 bits, once without.
constexpr MatrixInstruction mixed(std::string_view name, unsigned mn, unsigned k, bool scaled,
                                  MatrixTimings timing, MatrixTimings narrow_timing, std::string_view layout,
                                  std::string_view narrow_layout, std::string_view d_layout,
                                  std::string_view scale_layout, std::string_view intrinsic) {
  MatrixInstruction i = row(name, mn, mn, k, 1, Operand::fp8, Operand::fp8, Operand::f32, none, timing,
                            layout, layout, d_layout, intrinsic, "", "");
  i.typed_by_modifiers = true, i.scaled = scaled;
  i.narrow_timing = narrow_timing, i.narrow_layout = narrow_layout, i.scale_layout = scale_layout;
  return i;
}

using enum Operand;

// {name, m, n, k, blocks, A, B, D, fields, {passes, wait states} on each target that has it, layouts of A, B and D, intrinsic, types of A and B}
// {name, m and n, k, with scales, timing with an operand of 8 bits, without one, layout of 8 bits, of fewer, of D, of scales, intrinsic}
// clang-format off
constexpr std::array rows = {
    row("v_mfma_f32_16x16x8_xf32", 16, 16, 8, 1, xf32, xf32, f32, none, {{{4, 7}, {0, 0}}}, "((16,4),2):((1@0,2@1),1@1)", "((16,4),2):((1@0,2@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x8.xf32", "<2 x float>", "<2 x float>"),
    row("v_mfma_f32_32x32x4_xf32", 32, 32, 4, 1, xf32, xf32, f32, none, {{{8, 11}, {0, 0}}}, "((32,2),2):((1@0,2@1),1@1)", "((32,2),2):((1@0,2@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x4.xf32", "<2 x float>", "<2 x float>"),
    row("v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, f32, f32, f32, lanes, {{{16, 18}, {16, 18}}}, "((32,2),1):((1@0,1@2),0)", "((32,2),1):((1@0,1@2),0)", "((32,2),(4,4,2)):((1@1,4@0),(1@0,8@0,1@2))", "llvm.amdgcn.mfma.f32.32x32x1f32", "float", "float"),
    row("v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, 4, f32, f32, f32, lanes, {{{8, 10}, {8, 10}}}, "((16,4),1):((1@0,1@2),0)", "((16,4),1):((1@0,1@2),0)", "((16,4),(4,4)):((1@1,4@0),(1@0,1@2))", "llvm.amdgcn.mfma.f32.16x16x1f32", "float", "float"),
    row("v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, f32, f32, f32, lanes, {{{2, 4}, {2, 4}}}, "((4,16),1):((1@0,1@2),0)", "((4,16),1):((1@0,1@2),0)", "((4,16),4):((1@1,1@2),1@0)", "llvm.amdgcn.mfma.f32.4x4x1f32", "float", "float"),
    row("v_mfma_f32_32x32x2_f32", 32, 32, 2, 1, f32, f32, f32, permute, {{{16, 18}, {16, 18}}}, "((32,2),1):((1@0,1@1),0)", "((32,2),1):((1@0,1@1),0)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x2f32", "float", "float"),
    row("v_mfma_f32_16x16x4_f32", 16, 16, 4, 1, f32, f32, f32, permute, {{{8, 10}, {8, 10}}}, "((16,4),1):((1@0,1@1),0)", "((16,4),1):((1@0,1@1),0)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x4f32", "float", "float"),
    row("v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, f16, f16, f32, lanes, {{{16, 19}, {16, 20}}}, "((32,2),4):((1@0,1@2),1@1)", "((32,2),4):((1@0,1@2),1@1)", "((32,2),(4,4,2)):((1@1,4@0),(1@0,8@0,1@2))", "llvm.amdgcn.mfma.f32.32x32x4f16", "<4 x half>", "<4 x half>"),
    row("v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, f16, f16, f32, lanes, {{{8, 11}, {8, 12}}}, "((16,4),4):((1@0,1@2),1@1)", "((16,4),4):((1@0,1@2),1@1)", "((16,4),(4,4)):((1@1,4@0),(1@0,1@2))", "llvm.amdgcn.mfma.f32.16x16x4f16", "<4 x half>", "<4 x half>"),
    row("v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, f16, f16, f32, lanes, {{{2, 5}, {2, 5}}}, "((4,16),4):((1@0,1@2),1@1)", "((4,16),4):((1@0,1@2),1@1)", "((4,16),4):((1@1,1@2),1@0)", "llvm.amdgcn.mfma.f32.4x4x4f16", "<4 x half>", "<4 x half>"),
    row("v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, f16, f16, f32, none, {{{8, 11}, {8, 12}}}, "((32,2),4):((1@0,4@1),1@1)", "((32,2),4):((1@0,4@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x8f16", "<4 x half>", "<4 x half>"),
    row("v_mfma_f32_16x16x16_f16", 16, 16, 16, 1, f16, f16, f32, none, {{{4, 7}, {4, 8}}}, "((16,4),4):((1@0,4@1),1@1)", "((16,4),4):((1@0,4@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x16f16", "<4 x half>", "<4 x half>"),
    row("v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, f16, f16, f32, none, {{{0, 0}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x16.f16", "<8 x half>", "<8 x half>"),
    row("v_mfma_f32_16x16x32_f16", 16, 16, 32, 1, f16, f16, f32, none, {{{0, 0}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x32.f16", "<8 x half>", "<8 x half>"),
    row("v_mfma_f32_32x32x4_2b_bf16", 32, 32, 4, 2, bf16, bf16, f32, lanes, {{{16, 19}, {16, 20}}}, "((32,2),4):((1@0,1@2),1@1)", "((32,2),4):((1@0,1@2),1@1)", "((32,2),(4,4,2)):((1@1,4@0),(1@0,8@0,1@2))", "llvm.amdgcn.mfma.f32.32x32x4bf16.1k", "<4 x i16>", "<4 x i16>"),
    row("v_mfma_f32_16x16x4_4b_bf16", 16, 16, 4, 4, bf16, bf16, f32, lanes, {{{8, 11}, {8, 12}}}, "((16,4),4):((1@0,1@2),1@1)", "((16,4),4):((1@0,1@2),1@1)", "((16,4),(4,4)):((1@1,4@0),(1@0,1@2))", "llvm.amdgcn.mfma.f32.16x16x4bf16.1k", "<4 x i16>", "<4 x i16>"),
    row("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 4, 16, bf16, bf16, f32, lanes, {{{2, 5}, {2, 5}}}, "((4,16),4):((1@0,1@2),1@1)", "((4,16),4):((1@0,1@2),1@1)", "((4,16),4):((1@1,1@2),1@0)", "llvm.amdgcn.mfma.f32.4x4x4bf16.1k", "<4 x i16>", "<4 x i16>"),
    row("v_mfma_f32_32x32x8_bf16", 32, 32, 8, 1, bf16, bf16, f32, none, {{{8, 11}, {8, 12}}}, "((32,2),4):((1@0,4@1),1@1)", "((32,2),4):((1@0,4@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x8bf16.1k", "<4 x i16>", "<4 x i16>"),
    row("v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, bf16, bf16, f32, none, {{{4, 7}, {4, 8}}}, "((16,4),4):((1@0,4@1),1@1)", "((16,4),4):((1@0,4@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", "<4 x i16>", "<4 x i16>"),
    row("v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, bf16, bf16, f32, none, {{{0, 0}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x16.bf16", "<8 x bfloat>", "<8 x bfloat>"),
    row("v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, bf16, bf16, f32, none, {{{0, 0}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x32.bf16", "<8 x bfloat>", "<8 x bfloat>"),
    row("v_mfma_i32_32x32x4_2b_i8", 32, 32, 4, 2, i8, i8, i32, lanes, {{{16, 19}, {16, 20}}}, "((32,2),4):((1@0,1@2),1@1)", "((32,2),4):((1@0,1@2),1@1)", "((32,2),(4,4,2)):((1@1,4@0),(1@0,8@0,1@2))", "llvm.amdgcn.mfma.i32.32x32x4i8", "i32", "i32"),
    row("v_mfma_i32_16x16x4_4b_i8", 16, 16, 4, 4, i8, i8, i32, lanes, {{{8, 11}, {8, 12}}}, "((16,4),4):((1@0,1@2),1@1)", "((16,4),4):((1@0,1@2),1@1)", "((16,4),(4,4)):((1@1,4@0),(1@0,1@2))", "llvm.amdgcn.mfma.i32.16x16x4i8", "i32", "i32"),
    row("v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, i8, i8, i32, lanes, {{{2, 5}, {2, 5}}}, "((4,16),4):((1@0,1@2),1@1)", "((4,16),4):((1@0,1@2),1@1)", "((4,16),4):((1@1,1@2),1@0)", "llvm.amdgcn.mfma.i32.4x4x4i8", "i32", "i32"),
    row("v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, i8, i8, i32, none, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.i32.32x32x16.i8", "i64", "i64"),
    row("v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, i8, i8, i32, none, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.i32.16x16x32.i8", "i64", "i64"),
    row("v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, i8, i8, i32, none, {{{0, 0}, {8, 12}}}, "((32,2),16):((1@0,16@1),1@1)", "((32,2),16):((1@0,16@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.i32.32x32x32.i8", "<4 x i32>", "<4 x i32>"),
    row("v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, i8, i8, i32, none, {{{0, 0}, {4, 8}}}, "((16,4),16):((1@0,16@1),1@1)", "((16,4),16):((1@0,16@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.i32.16x16x64.i8", "<4 x i32>", "<4 x i32>"),
    row("v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, 1, fp8, fp8, f32, none, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x16.fp8.fp8", "i64", "i64"),
    row("v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, 1, fp8, fp8, f32, none, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8", "i64", "i64"),
    row("v_mfma_f32_32x32x16_fp8_bf8", 32, 32, 16, 1, fp8, bf8, f32, none, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x16.fp8.bf8", "i64", "i64"),
    row("v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, 1, fp8, bf8, f32, none, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x32.fp8.bf8", "i64", "i64"),
    row("v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, 1, bf8, fp8, f32, none, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x16.bf8.fp8", "i64", "i64"),
    row("v_mfma_f32_16x16x32_bf8_fp8", 16, 16, 32, 1, bf8, fp8, f32, none, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x32.bf8.fp8", "i64", "i64"),
    row("v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, 1, bf8, bf8, f32, none, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x16.bf8.bf8", "i64", "i64"),
    row("v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, 1, bf8, bf8, f32, none, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x32.bf8.bf8", "i64", "i64"),
    row("v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, f64, f64, f64, signs, {{{8, 11}, {16, 19}}}, "((16,4),1):((1@0,1@1),0)", "((16,4),1):((1@0,1@1),0)", "((16,4),4):((1@1,1@0),4@0)", "llvm.amdgcn.mfma.f64.16x16x4f64", "double", "double"),
    row("v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, f64, f64, f64, signs, {{{4, -1}, {4, -1}}}, "((4,4,4),1):((1@0,1@2,1@1),0)", "((4,4,4),1):((1@0,1@2,1@1),0)", "((4,4,4),1):((1@1,1@2,1@0),0)", "llvm.amdgcn.mfma.f64.4x4x4f64", "double", "double"),
    row("v_smfmac_f32_16x16x32_f16", 16, 16, 32, 1, f16, f16, f32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),4):((1@0,4@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x32.f16", "<4 x half>", "<8 x half>"),
    row("v_smfmac_f32_32x32x16_f16", 32, 32, 16, 1, f16, f16, f32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),4):((1@0,4@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x16.f16", "<4 x half>", "<8 x half>"),
    row("v_smfmac_f32_16x16x64_f16", 16, 16, 64, 1, f16, f16, f32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),(8,2)):((1@0,8@1),(1@1,32@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x64.f16", "<8 x half>", "<16 x half>"),
    row("v_smfmac_f32_32x32x32_f16", 32, 32, 32, 1, f16, f16, f32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),(8,2)):((1@0,8@1),(1@1,16@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x32.f16", "<8 x half>", "<16 x half>"),
    row("v_smfmac_f32_16x16x32_bf16", 16, 16, 32, 1, bf16, bf16, f32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),4):((1@0,4@1),1@1)", "((16,4),8):((1@0,8@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x32.bf16", "<4 x i16>", "<8 x i16>"),
    row("v_smfmac_f32_32x32x16_bf16", 32, 32, 16, 1, bf16, bf16, f32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),4):((1@0,4@1),1@1)", "((32,2),8):((1@0,8@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x16.bf16", "<4 x i16>", "<8 x i16>"),
    row("v_smfmac_f32_16x16x64_bf16", 16, 16, 64, 1, bf16, bf16, f32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),(8,2)):((1@0,8@1),(1@1,32@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x64.bf16", "<8 x bfloat>", "<16 x bfloat>"),
    row("v_smfmac_f32_32x32x32_bf16", 32, 32, 32, 1, bf16, bf16, f32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),(8,2)):((1@0,8@1),(1@1,16@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x32.bf16", "<8 x bfloat>", "<16 x bfloat>"),
    row("v_smfmac_i32_16x16x64_i8", 16, 16, 64, 1, i8, i8, i32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),16):((1@0,16@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.i32.16x16x64.i8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_i32_32x32x32_i8", 32, 32, 32, 1, i8, i8, i32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),16):((1@0,16@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.i32.32x32x32.i8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_i32_16x16x128_i8", 16, 16, 128, 1, i8, i8, i32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),16):((1@0,16@1),1@1)", "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.i32.16x16x128.i8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_i32_32x32x64_i8", 32, 32, 64, 1, i8, i8, i32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),16):((1@0,16@1),1@1)", "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.i32.32x32x64.i8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_16x16x64_fp8_fp8", 16, 16, 64, 1, fp8, fp8, f32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),16):((1@0,16@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x64.fp8.fp8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_16x16x64_fp8_bf8", 16, 16, 64, 1, fp8, bf8, f32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),16):((1@0,16@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x64.fp8.bf8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_16x16x64_bf8_fp8", 16, 16, 64, 1, bf8, fp8, f32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),16):((1@0,16@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x64.bf8.fp8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_16x16x64_bf8_bf8", 16, 16, 64, 1, bf8, bf8, f32, sparse, {{{4, 7}, {4, 8}}}, "((16,4),8):((1@0,8@1),1@1)", "((16,4),16):((1@0,16@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x64.bf8.bf8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, 32, 1, fp8, fp8, f32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),16):((1@0,16@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x32.fp8.fp8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, 32, 1, fp8, bf8, f32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),16):((1@0,16@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x32.fp8.bf8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, 32, 1, bf8, fp8, f32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),16):((1@0,16@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x32.bf8.fp8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, 32, 1, bf8, bf8, f32, sparse, {{{8, 11}, {8, 12}}}, "((32,2),8):((1@0,8@1),1@1)", "((32,2),16):((1@0,16@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x32.bf8.bf8", "<2 x i32>", "<4 x i32>"),
    row("v_smfmac_f32_16x16x128_fp8_fp8", 16, 16, 128, 1, fp8, fp8, f32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),16):((1@0,16@1),1@1)", "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x128.fp8.fp8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_16x16x128_fp8_bf8", 16, 16, 128, 1, fp8, bf8, f32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),16):((1@0,16@1),1@1)", "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x128.fp8.bf8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_16x16x128_bf8_fp8", 16, 16, 128, 1, bf8, fp8, f32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),16):((1@0,16@1),1@1)", "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x128.bf8.fp8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_16x16x128_bf8_bf8", 16, 16, 128, 1, bf8, bf8, f32, sparse, {{{0, 0}, {4, 8}}}, "((16,4),16):((1@0,16@1),1@1)", "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.smfmac.f32.16x16x128.bf8.bf8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_32x32x64_fp8_fp8", 32, 32, 64, 1, fp8, fp8, f32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),16):((1@0,16@1),1@1)", "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x64.fp8.fp8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_32x32x64_fp8_bf8", 32, 32, 64, 1, fp8, bf8, f32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),16):((1@0,16@1),1@1)", "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x64.fp8.bf8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_32x32x64_bf8_fp8", 32, 32, 64, 1, bf8, fp8, f32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),16):((1@0,16@1),1@1)", "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x64.bf8.fp8", "<4 x i32>", "<8 x i32>"),
    row("v_smfmac_f32_32x32x64_bf8_bf8", 32, 32, 64, 1, bf8, bf8, f32, sparse, {{{0, 0}, {8, 12}}}, "((32,2),16):((1@0,16@1),1@1)", "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.smfmac.f32.32x32x64.bf8.bf8", "<4 x i32>", "<8 x i32>"),
    mixed("v_mfma_f32_16x16x128_f8f6f4", 16, 128, false, {{{0, 0}, {8, 12}}}, {{{0, 0}, {4, 8}}}, "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),32):((1@0,32@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "", "llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4"),
    mixed("v_mfma_scale_f32_16x16x128_f8f6f4", 16, 128, true, {{{0, 0}, {8, 12}}}, {{{0, 0}, {4, 8}}}, "((16,4),(16,2)):((1@0,16@1),(1@1,64@1))", "((16,4),32):((1@0,32@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "((16,4),1):((1@0,32@1),0)", "llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4"),
    mixed("v_mfma_f32_32x32x64_f8f6f4", 32, 64, false, {{{0, 0}, {16, 20}}}, {{{0, 0}, {8, 12}}}, "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),32):((1@0,32@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "", "llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4"),
    mixed("v_mfma_scale_f32_32x32x64_f8f6f4", 32, 64, true, {{{0, 0}, {16, 20}}}, {{{0, 0}, {8, 12}}}, "((32,2),(16,2)):((1@0,16@1),(1@1,32@1))", "((32,2),32):((1@0,32@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "((32,2),1):((1@0,32@1),0)", "llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4"),
};

// Those of gfx90a, under the names that CDNA2's manual and LLVM have for them there: what they compute is what the instruction of the second
// name does. BLGP permutes B of all but f64, for which the calculator knows no modifier.
struct Earlier {
  std::string_view name, later;
  MatrixTiming timing;
};
constexpr Earlier earlier_names[] = {
    {"v_mfma_f32_32x32x1f32", "v_mfma_f32_32x32x1_2b_f32", {16, 19}},
    {"v_mfma_f32_16x16x1f32", "v_mfma_f32_16x16x1_4b_f32", {8, 11}},
    {"v_mfma_f32_4x4x1f32", "v_mfma_f32_4x4x1_16b_f32", {2, 5}},
    {"v_mfma_f32_32x32x2f32", "v_mfma_f32_32x32x2_f32", {16, 19}},
    {"v_mfma_f32_16x16x4f32", "v_mfma_f32_16x16x4_f32", {8, 11}},
    {"v_mfma_f32_32x32x4f16", "v_mfma_f32_32x32x4_2b_f16", {16, 19}},
    {"v_mfma_f32_16x16x4f16", "v_mfma_f32_16x16x4_4b_f16", {8, 11}},
    {"v_mfma_f32_4x4x4f16", "v_mfma_f32_4x4x4_16b_f16", {2, 5}},
    {"v_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8_f16", {16, 19}},
    {"v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16_f16", {8, 11}},
    {"v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_32x32x4_2b_bf16", {16, 19}},
    {"v_mfma_f32_16x16x4bf16_1k", "v_mfma_f32_16x16x4_4b_bf16", {8, 11}},
    {"v_mfma_f32_4x4x4bf16_1k", "v_mfma_f32_4x4x4_16b_bf16", {2, 5}},
    {"v_mfma_f32_32x32x8bf16_1k", "v_mfma_f32_32x32x8_bf16", {16, 19}},
    {"v_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_16x16x16_bf16", {8, 11}},
    {"v_mfma_i32_32x32x4i8", "v_mfma_i32_32x32x4_2b_i8", {16, 19}},
    {"v_mfma_i32_16x16x4i8", "v_mfma_i32_16x16x4_4b_i8", {8, 11}},
    {"v_mfma_i32_4x4x4i8", "v_mfma_i32_4x4x4_16b_i8", {2, 5}},
    {"v_mfma_f64_16x16x4f64", "v_mfma_f64_16x16x4_f64", {8, 11}},
    {"v_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4_4b_f64", {4, -1}},
};

// Those that only gfx90a has: i8 of half the depth, and bf16 of CDNA1, two k a register.
constexpr std::array own_rows = {
    row("v_mfma_i32_32x32x8i8", 32, 32, 8, 1, i8, i8, i32, permute, {{{0, 0}, {0, 0}, {16, 19}}}, "((32,2),4):((1@0,4@1),1@1)", "((32,2),4):((1@0,4@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.i32.32x32x8i8", "i32", "i32"),
    row("v_mfma_i32_16x16x16i8", 16, 16, 16, 1, i8, i8, i32, permute, {{{0, 0}, {0, 0}, {8, 11}}}, "((16,4),4):((1@0,4@1),1@1)", "((16,4),4):((1@0,4@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.i32.16x16x16i8", "i32", "i32"),
    row("v_mfma_f32_32x32x2bf16", 32, 32, 2, 2, bf16, bf16, f32, lanes, {{{0, 0}, {0, 0}, {16, 19}}}, "((32,2),2):((1@0,1@2),1@1)", "((32,2),2):((1@0,1@2),1@1)", "((32,2),(4,4,2)):((1@1,4@0),(1@0,8@0,1@2))", "llvm.amdgcn.mfma.f32.32x32x2bf16", "<2 x i16>", "<2 x i16>"),
    row("v_mfma_f32_16x16x2bf16", 16, 16, 2, 4, bf16, bf16, f32, lanes, {{{0, 0}, {0, 0}, {8, 11}}}, "((16,4),2):((1@0,1@2),1@1)", "((16,4),2):((1@0,1@2),1@1)", "((16,4),(4,4)):((1@1,4@0),(1@0,1@2))", "llvm.amdgcn.mfma.f32.16x16x2bf16", "<2 x i16>", "<2 x i16>"),
    row("v_mfma_f32_4x4x2bf16", 4, 4, 2, 16, bf16, bf16, f32, lanes, {{{0, 0}, {0, 0}, {2, 5}}}, "((4,16),2):((1@0,1@2),1@1)", "((4,16),2):((1@0,1@2),1@1)", "((4,16),4):((1@1,1@2),1@0)", "llvm.amdgcn.mfma.f32.4x4x2bf16", "<2 x i16>", "<2 x i16>"),
    row("v_mfma_f32_32x32x4bf16", 32, 32, 4, 1, bf16, bf16, f32, permute, {{{0, 0}, {0, 0}, {16, 19}}}, "((32,2),2):((1@0,2@1),1@1)", "((32,2),2):((1@0,2@1),1@1)", "((32,2),(4,4)):((1@1,4@0),(1@0,8@0))", "llvm.amdgcn.mfma.f32.32x32x4bf16", "<2 x i16>", "<2 x i16>"),
    row("v_mfma_f32_16x16x8bf16", 16, 16, 8, 1, bf16, bf16, f32, permute, {{{0, 0}, {0, 0}, {8, 11}}}, "((16,4),2):((1@0,2@1),1@1)", "((16,4),2):((1@0,2@1),1@1)", "((16,4),4):((1@1,4@0),1@0)", "llvm.amdgcn.mfma.f32.16x16x8bf16", "<2 x i16>", "<2 x i16>"),
};
// clang-format on

constexpr std::array table = [] {
  std::array<MatrixInstruction, rows.size() + std::size(earlier_names) + own_rows.size()> all{};
  auto at = std::copy(rows.begin(), rows.end(), all.begin());
  for (const Earlier& e : earlier_names) {
    MatrixInstruction i = *std::find_if(rows.begin(), rows.end(),
                                        [&](const MatrixInstruction& r) { return r.name == e.later; });
    i.name = e.name;
    i.timing = {};
    i.timing[static_cast<std::size_t>(Arch::gfx90a)] = e.timing;
    i.negates = false;
    i.permutes_b = i.d != f64;
    *at++ = i;
  }
  std::copy(own_rows.begin(), own_rows.end(), at);
  return all;
}();

} // namespace

std::span<const MatrixInstruction> matrix_instructions() { return table; }

const MatrixInstruction* find_matrix_instruction(std::string_view name) {
  if (name.ends_with("_e64")) name.remove_suffix(4);
  const auto* found =
      std::find_if(table.begin(), table.end(), [&](const MatrixInstruction& i) { return i.name == name; });
  return found == table.end() ? nullptr : found;
}

const MatrixInstruction* same_product(const MatrixInstruction& i, Arch arch) {
  const auto shape = [](const MatrixInstruction& r) {
    return std::tuple(r.m, r.n, r.k, r.blocks, r.a, r.b, r.d, r.sparse, r.scaled);
  };
  const auto* found = std::find_if(table.begin(), table.end(), [&](const MatrixInstruction& r) {
    return r.on(arch) && shape(r) == shape(i);
  });
  return found == table.end() ? nullptr : found;
}

int multiply_adds_per_clock(Arch arch, Operand a) {
  std::uint64_t most = 0;
  for (const MatrixInstruction& i : table) {
    if (i.sparse || i.scaled || !i.on(arch)) continue;
    const bool narrow = a == fp6 || a == bf6 || a == fp4;
    const bool takes = i.typed_by_modifiers ? narrow || a == fp8 || a == bf8 : i.a == a && i.b == a;
    if (takes)
      most =
          std::max(most, i.work() / 2 / (4 * static_cast<std::uint64_t>(i.timing_on(arch, narrow).passes)));
  }
  return static_cast<int>(most) * target(arch).simds;
}

} // namespace inlay::machine
