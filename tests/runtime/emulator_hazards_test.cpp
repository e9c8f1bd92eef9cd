// Wait states: each rule noted at one state less than it asks, silent at exactly that many. The numbers are those of the
// CDNA2, CDNA3 and CDNA4 manuals' tables "Manually Inserted Wait States" and of LLVM 22's code generator (docs/emulator.md), written
// down here a second time by instruction.
#include "emulator_support.h"

namespace emulator_hazards_test {

using namespace emulator_test;

namespace {

struct Rule {
  const char* first;
  const char* second;
  unsigned gfx942, gfx950; ///< wait states needed; 99: no such instruction
  unsigned gfx90a = 99;
};

const Rule rules[] = {
    // Results of matrix instructions: f16 of 4 and 8 passes, f32 of 8 and 16, fp64, i8 sparse.
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0", "v_add_f32 v12, v8, v8", 7, 8},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0", "ds_write_b32 v1, v11", 7, 8},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0", "v_mov_b32 v9, 0", 7, 8},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0",
     "v_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[4:5], 0", 7, 8},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0",
     "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], v[8:11]", 0, 0},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0",
     "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], v[10:13]", 5, 6},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], v[12:15]", "v_mov_b32 v13, 0", 3, 3},
    {"v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], 0", "v_add_f32 v12, v31, v8", 11, 12},
    {"v_mfma_f32_4x4x4_16b_f16 v[8:11], v[2:3], v[4:5], 0", "v_add_f32 v12, v8, v8", 5, 5},
    {"v_mfma_f32_4x4x4_16b_f16 v[8:11], v[2:3], v[4:5], 0",
     "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[2:3], v[4:5], v[8:11]", 2, 2},
    {"v_mfma_f32_16x16x4_f32 v[8:11], v2, v4, 0", "v_add_f32 v12, v8, v8", 10, 10},
    {"v_mfma_f32_16x16x4_f32 v[8:11], v2, v4, 0", "v_mfma_f32_16x16x4_f32 v[16:19], v2, v4, v[10:13]", 8, 8},
    {"v_mfma_f32_32x32x2_f32 v[16:31], v2, v4, 0", "v_add_f32 v12, v31, v8", 18, 18},
    {"v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], 0", "v_mov_b32 v20, v8", 11, 19},
    {"v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], 0", "ds_write_b32 v1, v8", 18, 18},
    {"v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], 0",
     "v_mfma_f64_16x16x4_f64 v[16:23], v[8:9], v[4:5], 0", 11, 19},
    {"v_smfmac_i32_16x16x64_i8 v[8:11], v[2:3], v[4:7], v12", "v_mov_b32 v20, v8", 7, 8},
    {"v_mfma_f32_16x16x128_f8f6f4 v[8:11], v[16:23], v[16:23], 0", "v_mov_b32 v20, v8", 99, 12},
    {"v_mfma_f32_16x16x128_f8f6f4 v[8:11], v[16:19], v[16:19], 0 cbsz:4 blgp:4", "v_mov_b32 v20, v8", 99, 8},
    // The same of gfx90a: f32 as the others, sums at once.
    {"v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0", "v_add_f32 v12, v8, v8", 99, 99, 11},
    {"v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0", "ds_write_b32 v1, v11", 99, 99, 11},
    {"v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0", "v_mov_b32 v9, 0", 99, 99, 11},
    {"v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0",
     "v_mfma_f32_16x16x16f16 v[16:19], v[2:3], v[4:5], v[10:13]", 99, 99, 8},
    {"v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], v[12:15]", "v_mov_b32 v13, 0", 99, 99, 7},
    {"v_mfma_f32_4x4x4f16 v[8:11], v[2:3], v[4:5], 0", "v_add_f32 v12, v8, v8", 99, 99, 5},
    {"v_mfma_f32_4x4x4f16 v[8:11], v[2:3], v[4:5], 0", "v_mfma_f32_4x4x4f16 v[8:11], v[2:3], v[4:5], v[8:11]",
     99, 99, 0},
    {"v_mfma_f32_16x16x4f32 v[8:11], v2, v4, 0", "v_add_f32 v12, v8, v8", 99, 99, 11},
    {"v_mfma_f32_32x32x2f32 v[16:31], v2, v4, 0", "v_add_f32 v12, v31, v8", 99, 99, 19},
    {"v_mfma_f32_32x32x8bf16_1k v[16:31], v[2:3], v[4:5], v[0:15]", "v_mov_b32 v8, 0", 99, 99, 15},
    {"v_mfma_f64_16x16x4f64 v[8:15], v[2:3], v[4:5], 0", "v_mov_b32 v20, v8", 99, 99, 11},
    {"v_mfma_f64_16x16x4f64 v[8:15], v[2:3], v[4:5], 0", "ds_write_b32 v1, v8", 99, 99, 18},
    {"v_mov_b32 v2, 0", "v_mfma_i32_16x16x16i8 v[8:11], v2, v4, 0", 99, 99, 2},
    // Vector instructions in front of matrix instructions.
    {"v_mov_b32 v2, 0", "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0", 2, 2},
    {"v_cmpx_le_u32 vcc, 0, v0", "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0", 4, 4},
    // Scalars and masks that vector instructions write.
    {"v_readfirstlane_b32 s8, v2", "v_add_u32 v3, s8, v0", 2, 2, 0},
    {"v_cmp_gt_u32 vcc, 32, v0", "v_cndmask_b32 v3, v4, v5, vcc", 2, 2, 0},
    {"v_readfirstlane_b32 s8, v2", "v_readlane_b32 s9, v3, s8", 4, 4, 4},
    {"v_cmp_gt_u32 vcc, 32, v0", "v_div_fmas_f32 v3, v4, v5, v6", 4, 4, 4},
    {"v_cmpx_le_u32 vcc, 0, v0", "v_readfirstlane_b32 s8, v2", 4, 4, 0},
    {"v_cmpx_le_u32 vcc, 0, v0", "v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf", 5, 5, 5},
    // One vector instruction after another.
    {"v_mov_b32 v2, 0", "v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf", 2, 2, 2},
    {"v_mov_b32 v2, 0", "v_readfirstlane_b32 s8, v2", 1, 1, 0},
    {"v_exp_f32 v2, v3", "v_add_f32 v4, v2, v3", 1, 1, 0},
    {"v_exp_f32 v2, v3", "v_rcp_f32 v4, v2", 0, 0, 0},
    {"v_add_u32_sdwa v2, v3, v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
     "v_mov_b32 v5, v2", 1, 1, 0},
    {"v_dot2_f32_f16 v2, v3, v4, v5", "v_mov_b32 v6, v2", 3, 3, 3},
    {"v_dot2_f32_f16 v2, v3, v4, v5", "v_dot2_f32_f16 v2, v3, v4, v2", 0, 0, 0},
    {"v_mov_b32 v2, 0", "v_add_u32 v3, v2, v2", 0, 0, 0},
    {"v_div_scale_f32 v2, vcc, v3, v4, v3", "v_mul_f32 v5, v2, v2", 0, 0, 0},
    // m0.
    {"s_mov_b32 m0, 0", "ds_write_addtid_b32 v2", 1, 1, 1},
};

} // namespace

TEST_CASE("wait states: noted at one less than needed, silent at what is needed") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a}) {
    for (const Rule& rule : rules) {
      const unsigned need = arch == isa::Arch::gfx942   ? rule.gfx942
                            : arch == isa::Arch::gfx950 ? rule.gfx950
                                                        : rule.gfx90a;
      if (need == 99) continue;
      const auto notes = [&](unsigned states) {
        std::string body = "v_lshlrev_b32 v1, 2, v0\n";
        for (unsigned r = 2; r < 32; ++r) body += "v_mov_b32 v" + std::to_string(r) + ", 0\n";
        body += "s_nop 7\n" + std::string(rule.first) + "\n";
        for (; states > 8; states -= 8) body += "s_nop 7\n";
        if (states != 0) body += "s_nop " + std::to_string(states - 1) + "\n";
        EmulatorDevice device(arch, {.checks = Checks::parse("hazard")});
        return run(device, kernel(body + rule.second + "\ns_endpgm\n", arch, {.lds = 512}),
                   {.grid = {1}, .block = {64}}, {})
            .findings;
      };
      CAPTURE(rule.first, rule.second, isa::to_string(arch), need);
      CHECK(all(notes(need)) == "");
      if (need == 0) continue;
      const auto found = notes(need - 1);
      REQUIRE(found.size() == 1);
      CHECK(found[0].kind == FindingKind::hazard);
      CHECK(found[0].message.find(std::to_string(need - 1) + " wait states after") != std::string::npos);
      CHECK(found[0].message.find("; " + std::to_string(need) + (need == 1 ? " is" : " are") + " needed") !=
            std::string::npos);
    }
  }
}

} // namespace emulator_hazards_test
