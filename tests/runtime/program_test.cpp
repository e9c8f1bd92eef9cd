// The decoded program: every kind of operand and modifier of LLVM's syntax arrives as data.
#include <catch2/catch.hpp>
#include <inlay/runtime/isa/assemble.h>

namespace program_test {

using namespace inlay::runtime::isa;

namespace {

Instruction one(const std::string& text, Arch arch = Arch::gfx942) {
  const Program program = decode(assemble(text, arch), 0x1000, arch);
  REQUIRE(program.instructions.size() == 1);
  return program.instructions[0];
}

} // namespace

TEST_CASE("operands and forms") {
  const Instruction add = one("v_add_u32_e32 v2, v0, v1");
  CHECK(add.mnemonic == "v_add_u32");
  CHECK(add.form == Form::e32);
  CHECK(add.format == Format::vop2);
  REQUIRE(add.operands.size() == 3);
  CHECK(add.operands[0] == Operand{.kind = OperandKind::vgpr, .index = 2});
  CHECK(add.address == 0x1000);

  const Instruction fma = one("v_fma_f32 v0, -v1, |v2|, -|s3| clamp mul:2");
  CHECK(fma.format == Format::vop3);
  CHECK(fma.operands[1].neg);
  CHECK(fma.operands[2].abs);
  CHECK((fma.operands[3].neg && fma.operands[3].abs && fma.operands[3].kind == OperandKind::sgpr));
  CHECK(fma.modifiers.clamp);
  CHECK(fma.modifiers.omod == 1);

  CHECK(one("s_mov_b64 exec, vcc").operands[0] ==
        Operand{.kind = OperandKind::sgpr, .index = 126, .width = 2});
  CHECK(one("v_mov_b32 v0, -16").operands[1].kind == OperandKind::inline_integer);
  CHECK(one("v_mov_b32 v0, 0.5").operands[1].kind == OperandKind::inline_float);
  CHECK(one("v_mov_b32 v0, 0x80000000").operands[1].value == 0x80000000U);
  CHECK(one("s_movk_i32 s0, 0xff00").operands[1].value == 0xffffffffffffff00U);
  CHECK(one("v_accvgpr_write_b32 a7, v1").operands[0] == Operand{.kind = OperandKind::agpr, .index = 7});
  CHECK(one("v_mov_b32 v0, src_shared_base").operands[1].index == 235);
}

TEST_CASE("modifiers") {
  const Modifiers buffer =
      one("buffer_load_dwordx4 a[0:3], v1, s[8:11], s3 offen offset:16 sc0 nt").modifiers;
  CHECK((buffer.offen && buffer.sc0 && buffer.nt && !buffer.sc1 && buffer.offset == 16));
  CHECK(one("global_load_dword v0, v[2:3], off offset:-8").modifiers.offset == -8);
  const Modifiers read2 = one("ds_read2_b32 v[0:1], v2 offset0:3 offset1:255").modifiers;
  CHECK((read2.offset0 == 3 && read2.offset1 == 255));
  CHECK(one("ds_swizzle_b32 v1, v2 offset:swizzle(QUAD_PERM,0,1,2,3)").modifiers.offset == 0x80e4);
  const Modifiers packed =
      one("v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]").modifiers;
  CHECK((packed.op_sel == 2 && packed.op_sel_hi == 5 && packed.neg_lo == 1));
  CHECK(one("v_pk_add_f16 v0, v1, v2").modifiers.op_sel_hi == 7);
  const Instruction dpp = one("v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0xa bank_mask:0xf bound_ctrl:1");
  CHECK(dpp.form == Form::dpp);
  CHECK((dpp.modifiers.dpp.control == 0x113 && dpp.modifiers.dpp.row_mask == 0xa &&
         dpp.modifiers.dpp.bound_control));
  const Instruction sdwa = one("v_add_f32_sdwa v0, -v1, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
                               "src0_sel:BYTE_2 src1_sel:DWORD");
  CHECK((sdwa.form == Form::sdwa && sdwa.modifiers.dst_sel == Select::word1 &&
         sdwa.modifiers.dst_unused == 2 && sdwa.modifiers.src0_sel == Select::byte2));
  const Instruction scaled =
      one("v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[2:9], v[10:17], a[0:3], v20, v21 op_sel:[1,0,0] "
          "op_sel_hi:[0,1,0]",
          Arch::gfx950);
  CHECK((scaled.size == 16 && scaled.format == Format::mfma && scaled.operands.size() == 6));
  CHECK((scaled.modifiers.op_sel == 1 && scaled.modifiers.op_sel_hi == 2));
}

TEST_CASE("wait counts, branches and blocks") {
  CHECK(*one("s_waitcnt vmcnt(35) lgkmcnt(2)").wait == WaitCounts{35, 7, 2});
  const Program program =
      decode(assemble("s_cbranch_scc0 1\n s_nop 0\n s_branch -3\n s_endpgm", Arch::gfx950), 64, Arch::gfx950);
  CHECK(program.instructions[0].branch_target == 72);
  CHECK(program.instructions[2].branch_target == 64);
  CHECK(program.block_leaders == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(program.index_of(72) == 2U);
  CHECK(!program.index_of(73));
}

TEST_CASE("bytes that are no instruction are kept") {
  const std::vector<std::uint8_t> bytes{0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x81, 0xbf, 0x01};
  const Program program = decode(bytes, 0, Arch::gfx942);
  REQUIRE(program.instructions.size() == 3);
  CHECK(program.instructions[0].is_unknown());
  CHECK(program.instructions[1].mnemonic == "s_endpgm");
  CHECK(program.instructions[2].size == 1);
}

TEST_CASE("text that does not assemble is refused with its line", "[error]") {
  CHECK_THROWS_WITH(assemble("s_nop 0\nv_add_u32 v0, v1", Arch::gfx942), Catch::Contains("line 2"));
  CHECK_THROWS_AS(parse_arch("gfx908"), IsaError);
}

TEST_CASE("assembled kernels link in process") {
  const auto hsaco =
      assemble_code_object(".text\n.globl f\n.type f,@function\nf:\n s_endpgm\n", Arch::gfx942);
  REQUIRE(hsaco.size() > 64);
  CHECK(std::string(hsaco.begin() + 1, hsaco.begin() + 4) == "ELF");
}

} // namespace program_test
