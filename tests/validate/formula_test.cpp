// What the symbolic machine computes for an instruction, against the emulator's execution of it on random numbers: the
// same state, once with symbols in its registers and once with the numbers they stand for.
#include "emulator/vector_functions.h"
#include "emulator_support.h"
#include "symbolic/machine.h"

#include <inlay/runtime/isa/assemble.h>

#include <random>
#include <set>

namespace formula_test {

using namespace inlay::runtime;
using namespace inlay::runtime::symbolic;

namespace {

/// Sources: v0..v5 and s8..s15; results: v8, v9, s20, s21, vcc, exec.
constexpr const char* instructions[] = {
    "s_mov_b32 s20, s8",
    "s_mov_b64 s[20:21], s[8:9]",
    "s_movk_i32 s20, 0x7fff",
    "s_cmov_b32 s20, s9",
    "s_add_u32 s20, s8, s9",
    "s_add_i32 s20, s8, s9",
    "s_addk_i32 s20, 0x8001",
    "s_sub_u32 s20, s8, s9",
    "s_sub_i32 s20, s8, s9",
    "s_addc_u32 s20, s8, s9",
    "s_subb_u32 s20, s8, s9",
    "s_mul_i32 s20, s8, s9",
    "s_mulk_i32 s20, 0x8003",
    "s_mul_hi_u32 s20, s8, s9",
    "s_mul_hi_i32 s20, s8, s9",
    "s_lshl_b32 s20, s8, 5",
    "s_lshl_b32 s20, s8, s9",
    "s_lshr_b32 s20, s8, 7",
    "s_lshr_b32 s20, s8, s9",
    "s_ashr_i32 s20, s8, 31",
    "s_ashr_i32 s20, s8, s9",
    "s_lshl_b64 s[20:21], s[8:9], 3",
    "s_lshl_b64 s[20:21], s[8:9], s10",
    "s_lshr_b64 s[20:21], s[8:9], 32",
    "s_lshr_b64 s[20:21], s[8:9], s10",
    "s_ashr_i64 s[20:21], s[8:9], 30",
    "s_bfe_u32 s20, s8, 0x80004",
    "s_bfe_u32 s20, s8, 0x200000",
    "s_bfe_i32 s20, s8, 0x80004",
    "s_bfe_i32 s20, s8, 0x100010",
    "s_min_i32 s20, s8, s9",
    "s_min_u32 s20, s8, s9",
    "s_max_i32 s20, s8, s9",
    "s_max_u32 s20, s8, s9",
    "s_cselect_b32 s20, s8, s9",
    "s_cselect_b64 s[20:21], s[8:9], s[10:11]",
    "s_cselect_b64 s[20:21], -1, 0",
    "s_not_b32 s20, s8",
    "s_not_b64 s[20:21], s[8:9]",
    "s_and_b32 s20, s8, s9",
    "s_or_b32 s20, s8, s9",
    "s_xor_b32 s20, s8, s9",
    "s_andn2_b32 s20, s8, s9",
    "s_orn2_b32 s20, s8, s9",
    "s_nand_b32 s20, s8, s9",
    "s_nor_b32 s20, s8, s9",
    "s_xnor_b32 s20, s8, s9",
    "s_and_b64 s[20:21], s[8:9], vcc",
    "s_or_b64 s[20:21], vcc, s[10:11]",
    "s_xor_b64 s[20:21], s[8:9], vcc",
    "s_andn2_b64 s[20:21], vcc, s[10:11]",
    "s_and_b64 s[20:21], s[8:9], s[10:11]",
    "s_sext_i32_i16 s20, s8",
    "s_sext_i32_i8 s20, s8",
    "s_abs_i32 s20, s8",
    "s_pack_ll_b32_b16 s20, s8, s9",
    "s_pack_lh_b32_b16 s20, s8, s9",
    "s_pack_hh_b32_b16 s20, s8, s9",
    "s_lshl2_add_u32 s20, s8, s9",
    "s_and_saveexec_b64 s[20:21], vcc",
    "s_or_saveexec_b64 s[20:21], vcc",
    "s_andn2_saveexec_b64 s[20:21], vcc",
    "s_xor_saveexec_b64 s[20:21], vcc",
    "s_cmp_eq_u32 s8, s9",
    "s_cmp_lg_u32 s8, s9",
    "s_cmp_lt_u32 s8, s9",
    "s_cmp_le_u32 s8, s9",
    "s_cmp_gt_u32 s8, s9",
    "s_cmp_ge_u32 s8, s9",
    "s_cmp_lt_i32 s8, s9",
    "s_cmp_le_i32 s8, s9",
    "s_cmp_gt_i32 s8, s9",
    "s_cmp_ge_i32 s8, s9",
    "s_cmp_eq_u64 s[8:9], s[10:11]",
    "s_cmp_lg_u64 s[8:9], s[10:11]",
    "s_cmpk_gt_i32 s8, 0x8000",
    "s_cmpk_lt_u32 s8, 0x8000",
    "s_cmpk_eq_i32 s8, 0xffff",
    "s_bitcmp1_b32 s8, 5",
    "s_bitcmp0_b32 s8, 31",
    "v_mov_b32 v8, v0",
    "v_accvgpr_write_b32 a8, v0",
    "v_not_b32 v8, v0",
    "v_and_b32 v8, v0, v1",
    "v_or_b32 v8, v0, v1",
    "v_xor_b32 v8, v0, v1",
    "v_xnor_b32 v8, v0, v1",
    "v_lshlrev_b32 v8, 4, v0",
    "v_lshlrev_b32 v8, v0, v1",
    "v_lshrrev_b32 v8, 3, v0",
    "v_lshrrev_b32 v8, v0, v1",
    "v_ashrrev_i32 v8, 31, v0",
    "v_ashrrev_i32 v8, v0, v1",
    "v_add_u32 v8, v0, v1",
    "v_add_u32 v8, s8, v1",
    "v_sub_u32 v8, v0, v1",
    "v_subrev_u32 v8, v0, v1",
    "v_add_i32 v8, v0, v1",
    "v_sub_i32 v8, v0, v1",
    "v_mul_lo_u32 v8, v0, v1",
    "v_mul_hi_u32 v8, v0, v1",
    "v_mul_hi_i32 v8, v0, v1",
    "v_mul_u32_u24 v8, v0, v1",
    "v_mad_u32_u24 v8, v0, v1, v2",
    "v_mul_i32_i24 v8, v0, v1",
    "v_mad_i32_i24 v8, v0, v1, v2",
    "v_bfe_u32 v8, v0, 4, 10",
    "v_bfe_u32 v8, v0, 28, 10",
    "v_bfe_i32 v8, v0, 4, 10",
    "v_bfe_i32 v8, v0, 0, 1",
    "v_bfi_b32 v8, v0, v1, v2",
    "v_lshl_add_u32 v8, v0, 3, v1",
    "v_lshl_add_u32 v8, v0, v1, v2",
    "v_add_lshl_u32 v8, v0, v1, 2",
    "v_add3_u32 v8, v0, v1, v2",
    "v_lshl_or_b32 v8, v0, 8, v1",
    "v_and_or_b32 v8, v0, v1, v2",
    "v_or3_b32 v8, v0, v1, v2",
    "v_xad_u32 v8, v0, v1, v2",
    "v_min_u32 v8, v0, v1",
    "v_min_i32 v8, v0, v1",
    "v_max_u32 v8, v0, v1",
    "v_max_i32 v8, v0, v1",
    "v_min3_u32 v8, v0, v1, v2",
    "v_min3_i32 v8, v0, v1, v2",
    "v_max3_u32 v8, v0, v1, v2",
    "v_max3_i32 v8, v0, v1, v2",
    "v_med3_i32 v8, v0, v1, v2",
    "v_med3_i32 v8, v0, -8, 7",
    "v_med3_i32 v8, v0, 7, -8",
    "v_lshlrev_b16 v8, 8, v0",
    "v_lshlrev_b16 v8, v1, v0",
    "v_lshrrev_b16 v8, 3, v0",
    "v_ashrrev_i16 v8, 3, v0",
    "v_ashrrev_i16 v8, v1, v0",
    "v_ashrrev_i16_sdwa v8, v1, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1",
    "v_or_b32_sdwa v8, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD",
    "v_or_b32_sdwa v8, v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_1",
    "v_or_b32_sdwa v8, v0, v1 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:WORD_0 src1_sel:DWORD",
    "v_or_b32_sdwa v8, v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:WORD_0 src1_sel:DWORD",
    "v_add_u32_sdwa v8, v0, sext(v1) dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 "
    "src1_sel:BYTE_1",
    "v_add_u32_sdwa v8, sext(v0), v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
    "src1_sel:DWORD",
    "v_mov_b32_sdwa v8, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
    "v_perm_b32 v8, v0, v1, s22",
    "v_perm_b32 v8, v0, v1, s23",
    "v_perm_b32 v8, v0, v1, s24",
    "v_perm_b32 v8, v0, v1, s25",
    "v_perm_b32 v8, v0, v1, s26",
    "v_perm_b32 v8, v0, v1, s27",
    "v_alignbit_b32 v8, v0, v1, 12",
    "v_alignbit_b32 v8, v0, v1, 32",
    "v_cndmask_b32 v8, v0, v1, vcc",
    "v_cndmask_b32 v8, v0, v1, s[8:9]",
    "v_add_co_u32 v8, vcc, v0, v1",
    "v_add_co_u32 v8, s[20:21], v0, v1",
    "v_sub_co_u32 v8, vcc, v0, v1",
    "v_subrev_co_u32 v8, vcc, v0, v1",
    "v_addc_co_u32 v8, vcc, v0, v1, vcc",
    "v_subb_co_u32 v8, vcc, v0, v1, vcc",
    "v_lshl_add_u64 v[8:9], v[0:1], 3, v[2:3]",
    "v_lshl_add_u64 v[8:9], v[0:1], v4, v[2:3]",
    "v_lshlrev_b64 v[8:9], 5, v[0:1]",
    "v_lshrrev_b64 v[8:9], 5, v[0:1]",
    "v_ashrrev_i64 v[8:9], 30, v[0:1]",
    "v_mad_u64_u32 v[8:9], s[20:21], v0, v1, v[2:3]",
    "v_mad_i64_i32 v[8:9], s[20:21], v0, v1, v[2:3]",
    "v_mad_u64_u32 v[8:9], s[20:21], v0, 24, 0",
    "v_mov_b64 v[8:9], v[0:1]",
    "v_pk_mov_b32 v[8:9], v[0:1], v[2:3]",
    "v_pk_mov_b32 v[8:9], v[0:1], v[2:3] op_sel:[1,0]",
    "v_pk_mov_b32 v[8:9], v[0:1], v[2:3] op_sel:[0,1]",
    "v_cmp_eq_u32 vcc, v0, v1",
    "v_cmp_ne_u32 vcc, v0, v1",
    "v_cmp_lt_u32 vcc, v0, v1",
    "v_cmp_le_u32 vcc, v0, v1",
    "v_cmp_gt_u32 s[20:21], v0, v1",
    "v_cmp_ge_u32 vcc, v0, v1",
    "v_cmp_lt_i32 vcc, v0, v1",
    "v_cmp_le_i32 vcc, v0, v1",
    "v_cmp_gt_i32 vcc, v0, v1",
    "v_cmp_ge_i32 vcc, v0, v1",
    "v_cmp_eq_u64 vcc, v[0:1], v[2:3]",
    "v_cmp_ne_u64 vcc, v[0:1], v[2:3]",
    "v_cmpx_lt_u32 exec, v0, v1",
    "v_readfirstlane_b32 s20, v0",
    "v_readlane_b32 s20, v0, 6",
    "v_writelane_b32 v8, s8, 9",
};

/// What only gfx950 has.
constexpr const char* instructions_950[] = {
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0xec", // (x & z) | y
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0xea", "v_bitop3_b32 v8, v0, v1, v2 bitop3:0xf8",
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x80", "v_bitop3_b32 v8, v0, v1, v2 bitop3:0xfe",
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x96", // x ^ y ^ z
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x30", // x & ~y
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x0c", // ~x & y
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x5a", // x ^ z
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x1e", // x ^ (y | z)
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x07", // ~x & (~y | ~z)
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0x69", // ~(x ^ y ^ z)
    "v_bitop3_b32 v8, v0, v1, v2 bitop3:0xbe", // (x ^ y) | z
    "v_bitop3_b16 v8, v0, v1, v2 bitop3:0xec",
};

u32 draw(std::mt19937_64& random) {
  static constexpr u32 edges[] = {0,          1,          2,          15,         31,
                                  32,         63,         64,         0xffffff,   0x1000000,
                                  0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
  if (random() % 3 == 0) return edges[random() % std::size(edges)];
  return static_cast<u32>(random() >> (random() % 32));
}

} // namespace

/// How many words and bits have no value, and the instructions of which some have one. `must`: which results have to.
struct Compared {
  std::size_t without = 0;
  std::set<std::string> with;
};
/// What v_perm_b32 takes from where, in s22 and on: halves, bytes in a row across both sources, zeros, ones, one source as it is.
constexpr u32 selectors[] = {0x07060302, 0x05040100, 0x04030201, 0x0c010500, 0xff0d0c07, 0x03020100};
static Compared compare_with_emulator(isa::Arch arch, const std::vector<std::string>& list, u64 seeds = 24,
                                      bool musts = true) {
  std::string body;
  for (const std::string& i : list) body += i + "\n";
  const auto object =
      CodeObject::parse(emulator_test::kernel(body + "s_endpgm\n", arch, {.vgprs = 64, .accum_offset = 32}));
  Setting setting(object, object.kernel("k"), {64}, 0);
  Terms& t = setting.terms;
  constexpr unsigned vcc = emulator::vcc_lo, exec = emulator::exec_lo;
  Compared out;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const auto& op = setting.code->operations[setting.entry + n];
    for (u64 seed = 0; seed < seeds; ++seed) {
      std::mt19937_64 random(seed * 1000 + n);
      const bool masked = seed % 3 == 2; // lanes switched off by sizes
      Machine symbols(setting, 0);
      Terms::Assignment given;
      const auto symbol = [&](const std::string& name, u32 value, u32 most = 0xffffffffU) {
        const Term s = t.symbol(name, most);
        given[s] = value;
        return s;
      };
      for (unsigned r = 8; r < 16; ++r) symbols.set_scalar(r, symbol("s" + std::to_string(r), draw(random)));
      for (unsigned r = 20; r < 22; ++r) symbols.set_scalar(r, symbol("s" + std::to_string(r), draw(random)));
      for (unsigned k = 0; k < std::size(selectors); ++k)
        symbols.set_scalar(22 + k, t.constant(selectors[k]));
      for (unsigned half = 0; half < 2; ++half) {
        std::array<Term, 32> bits{};
        for (unsigned b = 0; b < 32; ++b)
          bits[b] = random() % 3 == 0 ? t.constant(random() % 2)
                                      : symbol("c" + std::to_string(half * 32 + b), random() % 2, 1);
        symbols.set_scalar(vcc + half, t.bits(bits));
        for (unsigned b = 0; b < 32 && masked; ++b)
          bits[b] = random() % 2 == 0 ? t.constant(1)
                                      : symbol("e" + std::to_string(half * 32 + b), random() % 2, 1);
        if (masked) symbols.set_scalar(exec + half, t.bits(bits));
      }
      symbols.set_scc(symbol("scc", random() % 2, 1));
      for (const unsigned row : {0U, 1U, 2U, 3U, 4U, 5U, 8U, 9U, 40U})
        for (unsigned l = 0; l < lanes; ++l) {
          const u32 v = draw(random);
          symbols.set_vector(
              row, l,
              l % 4 == 3 ? t.constant(v)
                         : symbol("v" + std::to_string(row) + (l % 4 == 0 ? "" : "." + std::to_string(l)),
                                  l % 4 == 0 ? draw(random) : v));
        }
      // Every symbol replaced by its number.
      Machine numbers(setting, 0);
      const auto number = [&](Term term) { return static_cast<u32>(*t.evaluate(term, given)); };
      for (unsigned r = 0; r < 128; ++r)
        numbers.set_scalar(r, t.constant(symbols.scalar_is_number(r) ? symbols.wave().scalar[r]
                                         : r < 8                     ? 0
                                                                     : number(symbols.scalar(r))));
      numbers.set_scc(t.constant(number(symbols.scc())));
      for (const unsigned row : {0U, 1U, 2U, 3U, 4U, 5U, 8U, 9U, 40U})
        for (unsigned l = 0; l < lanes; ++l)
          numbers.set_vector(row, l, t.constant(number(symbols.vector(row, l))));
      INFO(list[n] << " " << op.instruction->text << " seed " << seed);
      // With every lane off, v_readfirstlane takes lane 0; sizes that do so are not drawn.
      const bool executed = symbols.execute(op);
      REQUIRE((executed || !musts));
      if (!executed) continue; // it stops the wave: nothing is said
      REQUIRE(numbers.execute(op));
      const auto agree = [&](Term term, u32 value, const std::string& what, bool must) {
        INFO(what << ": " << t.text(term));
        const auto v = term == Terms::unknown ? std::nullopt : t.evaluate(term, given);
        if (!v) {
          CHECK_FALSE((must && musts));
          ++out.without;
          return;
        }
        if (*v != value) CHECK(*v == value);
      };
      const std::string_view name = op.instruction->mnemonic;
      const bool first_lane = name == "v_readfirstlane_b32" && masked;
      for (const unsigned r : {20U, 21U, exec, exec + 1})
        agree(symbols.scalar(r), numbers.wave().scalar[r], "s" + std::to_string(r),
              !first_lane && !(r >= 20 && r <= 21 && name.starts_with("v_mad")));
      const bool chain = name.starts_with("v_addc") || name.starts_with("v_subb");
      for (const unsigned r : {vcc, vcc + 1})
        for (unsigned b = 0; b < 32; ++b)
          agree(t.bit(symbols.scalar(r), b), (numbers.wave().scalar[r] >> b) & 1, "vcc",
                !chain && !name.starts_with("v_mad"));
      agree(symbols.scc(), numbers.wave().scc ? 1 : 0, "scc", false);
      for (const unsigned row : {8U, 9U, 40U})
        for (unsigned l = 0; l < lanes; ++l)
          agree(symbols.vector(row, l), numbers.wave().row(row)[l], "row " + std::to_string(row), true);
      // What it writes as a formula, beside what it leaves alone.
      const auto has = [&](Term x) { return x != Terms::unknown && t.evaluate(x, given).has_value(); };
      if (op.cls == emulator::Class::vector
              ? (op.mask_destination >= 0 && has(symbols.scalar(20))) || has(symbols.vector(8, 1))
              : has(symbols.scalar(20)) && has(symbols.scc()))
        out.with.insert(std::string(name));
    }
  }
  return out;
}

TEST_CASE("formulas of instructions have the emulator's values") {
  // Overflow of signed sums and carries out of carry chains are functions without formula.
  const auto list = [](const auto& all) { return std::vector<std::string>(std::begin(all), std::end(all)); };
  CHECK(compare_with_emulator(isa::Arch::gfx942, list(instructions)).without > 0);
  compare_with_emulator(isa::Arch::gfx950, list(instructions_950));
}

// Not a list that somebody keeps: whatever the emulator executes on lanes, and whatever word the decoder takes for a scalar
// instruction. Where symbols give a formula, its value is the emulator's.
TEST_CASE("whatever the emulator executes has its values as a formula, or none") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    std::vector<std::string> list;
    for (const emulator::VectorEntry& e : emulator::vector_table()) {
      const auto registers = [](unsigned first, emulator::Type t) {
        return emulator::words(t) == 2 ? "v[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]"
                                       : "v" + std::to_string(first);
      };
      for (const char* suffix : {"_e64", "", "_e32"}) {
        const bool vcc = suffix == std::string("_e32");
        std::string text = std::string(e.name) + suffix + " ";
        text += e.d == emulator::Type::mask ? (vcc ? "vcc" : "s[20:21]") : registers(8, e.d);
        if ((e.flags & emulator::carry_out) != 0) text += vcc ? ", vcc" : ", s[20:21]";
        const bool tied = (e.flags & emulator::reads_destination) != 0;
        for (unsigned k = 0; k < e.sources() - (tied ? 1 : 0); ++k) text += ", " + registers(2 * k, e.s[k]);
        if ((e.flags & emulator::reads_mask) != 0) text += vcc ? ", vcc" : ", s[8:9]";
        try {
          static_cast<void>(isa::assemble(text + "\n", arch));
        } catch (const isa::IsaError&) {
          continue; // another encoding, or not on this target
        }
        list.push_back(text);
        break;
      }
    }
    // Every opcode of SOP2, SOPK, SOP1 and SOPC: s[20:21] is the result, s[8:9] and s[10:11] the sources.
    std::vector<u32> words;
    for (u32 op = 0; op < 128; ++op) words.push_back(0x80000000U | op << 23 | 20U << 16 | 10U << 8 | 8U);
    for (u32 op = 0; op < 32; ++op) words.push_back(0xb0000000U | op << 23 | 20U << 16 | 0x8123U);
    for (u32 op = 0; op < 256; ++op)
      for (const u32 source : {8U, 128U + 7U}) // a register, or the number 7
        words.push_back(0xbe800000U | 20U << 16 | op << 8 | source);
    for (u32 op = 0; op < 128; ++op) words.push_back(0xbf000000U | op << 16 | 10U << 8 | 8U);
    for (const u32 w : words) {
      std::vector<std::uint8_t> bytes(4);
      std::memcpy(bytes.data(), &w, 4);
      const auto one = isa::decode(bytes, 0, arch).instructions;
      if (one.size() != 1 || one[0].is_unknown()) continue;
      const auto f = one[0].format;
      if (f != isa::Format::sop2 && f != isa::Format::sopk && f != isa::Format::sop1 &&
          f != isa::Format::sopc)
        continue;
      if (one[0].mnemonic.starts_with("s_setreg")) continue; // MODE: what rounds by it is a function
      list.push_back(".long " + std::to_string(w));
    }
    const Compared all = compare_with_emulator(arch, list, 6, false);
    // What addresses and guards are made of is among them.
    for (const char* name :
         {"s_add_u32", "s_lshl_b64", "s_cselect_b64", "v_add_u32", "v_mad_u64_u32", "v_cndmask_b32",
          "v_cmp_lt_u32", "v_lshl_add_u64", "v_mul_lo_u32", "s_bitset1_b32", "s_bitset0_b32"})
      CHECK(all.with.contains(name));
  }
}

} // namespace formula_test
