// What strangers' machine code stores, against index expressions in claims.
#include "claimed_kernel.h"

#include <inlay/codegen/element.h>
#include <inlay/codegen/target.h>
#include <inlay/kernels/build.h>
#include <inlay/validate/values_at_sizes.h>

#include <cmath>
#include <random>

namespace values_test {

using namespace inlay::runtime;
using namespace inlay::kernels::validate;
using symbolic::Verdict;

namespace {

/// With v1 = 4 (128 workgroup + work-item).
std::vector<std::uint8_t> built(const std::string& body) {
  return claimed::kernel(claimed::element + body, 1024);
}

ClaimResult only(const std::vector<std::uint8_t>& bytes, const std::string& claims, unsigned block = 128,
                 unsigned lds = 0) {
  const auto object = CodeObject::parse(bytes);
  ValueOptions o;
  o.block = {block, 1, 1};
  o.dynamic_lds = lds;
  const auto r = check_values(object, object.kernels()[0], Claims::parse(claims), o);
  REQUIRE(r.size() == 1);
  CHECK(!r[0].message.empty());
  // The run validates nothing, so the field alone says the same; a run that refutes is never against what it says.
  o.runs = false;
  const auto alone = check_values(object, object.kernels()[0], Claims::parse(claims), o);
  INFO(alone[0].message);
  CHECK((alone[0].verdict == Verdict::validated) == (r[0].verdict == Verdict::validated));
  return r[0];
}

const std::string load = "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
const std::string store = "global_store_dword v1, v2, s[6:7]\n";
const std::string rows =
    "grid n / 128\ntensor in f32 (n):(1)\ntensor out f32 (n):(1)\nsizes n = 256, k = 3\n";

std::string triton(const std::string& name) {
  return emulator_test::read_file(std::string(INLAY_TESTS_DIR) + "/isa/triton/" + name);
}
std::string gemm_claims(const std::string& value, const std::string& element = "f16") {
  return "grid (arg24/128)*(arg28/128)\ntensor arg0 f16 (arg24,arg32):(arg36,1)\n"
         "tensor arg8 f16 (arg28,arg32):(arg40,1)\ntensor arg16 " +
         element + " (arg24,arg28):(arg44,1)\nvalue arg16(i,j) = " + value +
         "\nsizes arg24 = 128, arg28 = 256, arg32 = 128, arg36 = 136, arg40 = 128, arg44 = 256\n";
}

} // namespace

TEST_CASE("values: what is stored is the expression, for all elements") {
  CHECK(only(built(load + store), rows + "value out(i) = in(i)").verdict == Verdict::validated);
  const std::string twice = load + "v_add_f32_e32 v2, v2, v2\n" + store;
  CHECK(only(built(twice), rows + "value out(i) = 2 * in(i)").verdict == Verdict::validated);
  CHECK(only(built(twice), rows + "value out(i) = 3 * in(i)").verdict == Verdict::refuted);
  CHECK(only(built(twice), rows + "value out(i) = in(i) * in(i)").verdict == Verdict::refuted);
  // In real arithmetic, whatever is rounded on the way.
  const std::string cubed =
      load + "v_mul_f32_e32 v3, v2, v2\nv_mul_f32_e32 v3, v3, v2\nv_sub_f32_e32 v2, v3, v2\n" + store;
  CHECK(only(built(cubed), rows + "value out(i) = in(i) * (in(i) - 1) * (1 + in(i))").verdict ==
        Verdict::validated);
  CHECK(only(built(cubed), rows + "value out(i) = in(i)^3 - in(i)").verdict == Verdict::validated);
  // The sign by its bit, and another bit.
  const auto flipped = [&](const char* bit) {
    return only(built(load + "v_xor_b32_e32 v2, " + bit + ", v2\n" + store),
                rows + "value out(i) = -1 * in(i)")
        .verdict;
  };
  CHECK(flipped("0x80000000") == Verdict::validated);
  CHECK(flipped("0x40000000") == Verdict::refuted);
  CHECK(flipped("0xc0000000") == Verdict::refuted);
  CHECK(only(built(load + "v_xor_b32_e32 v2, 0x80000000, v2\n" + store), rows + "value out(i) = in(i)")
            .verdict == Verdict::refuted);
  // A size in the value.
  const std::string scaled = load + "v_cvt_f32_i32_e32 v4, s9\nv_mul_f32_e32 v2, v2, v4\n" + store;
  CHECK(only(built(scaled), rows + "value out(i) = k * in(i)").verdict == Verdict::validated);
  CHECK(only(built(scaled), rows + "value out(i) = n * in(i)").verdict == Verdict::refuted);
}

TEST_CASE(
    "values: where buffers lie may not matter, nor may a number pass through a format that no tensor has") {
  const std::string value = rows + "value out(i) = in(i)";
  CHECK(only(built(load + store), value).verdict == Verdict::validated);
  // Nothing is stored where one bit of an address is 1, or 0.
  for (const unsigned bit : {2U, 5U, 11U, 19U, 31U})
    for (const std::string of : {"s4", "s6"})
      for (const std::string is : {"scc0", "scc1"}) {
        const auto r = only(built(load + "s_bitcmp1_b32 " + of + ", " + std::to_string(bit) + "\ns_cbranch_" +
                                  is + " past\n" + store + "past:\n"),
                            value);
        INFO(of << " " << bit << " " << is << ": " << r.message);
        CHECK(r.verdict != Verdict::validated);
      }
  // The value itself.
  const auto added = only(
      built(load + "v_and_b32_e64 v4, s6, 64\nv_cvt_f32_u32_e32 v4, v4\nv_add_f32_e32 v2, v2, v4\n" + store),
      value);
  CHECK(added.verdict != Verdict::validated);
  const auto narrow =
      only(built(load + "v_cvt_f16_f32_e32 v2, v2\nv_cvt_f32_f16_e32 v2, v2\n" + store), value);
  CHECK(narrow.verdict != Verdict::validated);
  CHECK(narrow.message.find("convert to f16, of which no tensor is") != std::string::npos);
}

TEST_CASE(
    "values: a store that is missing, elsewhere, or of the wrong element is found, with its instruction") {
  // The last element of each workgroup is not stored.
  const std::string partly =
      load + "v_cmp_gt_u32_e32 vcc, 127, v0\ns_and_saveexec_b64 s[12:13], vcc\n" + store;
  const auto missing = only(built(partly), rows + "value out(i) = in(i)");
  CHECK(missing.verdict == Verdict::refuted);
  INFO(missing.message);
  CHECK(missing.message.find("out(127)") != std::string::npos);
  // Neighbours exchanged.
  const std::string exchanged = load + "v_xor_b32_e32 v1, 4, v1\n" + store;
  const auto other = only(built(exchanged), rows + "value out(i) = in(i)");
  CHECK(other.verdict == Verdict::refuted);
  CHECK(other.instruction.starts_with("global_store_dword"));
  CHECK(only(built(exchanged), rows + "value out(i) = in(i + 1 - 2*(i % 2))").verdict == Verdict::validated);
  // Beyond the tensor, and into a gap between its rows.
  const std::string beyond = load + "global_store_dword v1, v2, s[6:7] offset:4\n";
  CHECK(only(built(beyond), rows + "value out(i) = in(i)").verdict == Verdict::refuted);
  const auto gap =
      only(built(load + store), "grid n / 128\ntensor in f32 (n):(1)\ntensor out f32 (n/8,7):(8,1)\n"
                                "sizes n = 256, k = 3\nvalue out(i,j) = in(8*i + j)");
  CHECK(gap.verdict == Verdict::refuted);
  CHECK(gap.message.find("the place of no coordinate") != std::string::npos);
  CHECK(gap.instruction.starts_with("global_store_dword"));
  // What lies outside of its tensor is nothing that a result may depend on, even where the run cannot see it.
  const auto outside =
      only(built(load + store), "grid n / 128\ntensor in f32 (n/8,7):(8,1)\ntensor out f32 (n):(1)\n"
                                "sizes n = 256, k = 3\nvalue out(i) = (i % 8 < 7 ? in(i/8,i % 8) : 0)");
  CHECK(outside.verdict == Verdict::refuted);
}

TEST_CASE("values: what is not followed is undecided, never validated") {
  // A branch by data; the run agrees.
  const std::string branch =
      load + "v_readfirstlane_b32 s12, v2\ns_cmp_eq_u32 s12, 0x12345678\ns_cbranch_scc1 .Lx\n" + store +
      ".Lx:\n";
  const auto by_data = only(built(branch), rows + "value out(i) = in(i)");
  CHECK(by_data.verdict == Verdict::undecided);
  CHECK(by_data.message.find("validated on a run only") != std::string::npos);
  CHECK(by_data.message.find("a branch depends on") != std::string::npos);
  // Equal in that run and no more: |x| of numbers that are squares of it, as floats of small integers.
  const std::string bits = load + "v_and_b32_e32 v2, 0xfffffff0, v2\n" + store;
  CHECK(only(built(bits), rows + "value out(i) = in(i)").verdict == Verdict::undecided);
  // An element that two workgroups load and store.
  const std::string in_place = "global_load_dword v2, v1, s[6:7]\ns_waitcnt vmcnt(0)\n" + store;
  CHECK(only(built(in_place), rows + "value out(i) = out(i)").verdict == Verdict::validated);
  const std::string neighbour =
      "v_xor_b32_e32 v3, 0x200, v1\nglobal_load_dword v2, v3, s[6:7]\ns_waitcnt vmcnt(0)\n" + store;
  CHECK(only(built(neighbour), rows + "value out(i) = out(i)").verdict != Verdict::validated);
  const std::string swapped =
      rows + "value out(i) = out(128*(1 - i/128) + i % 128)"; // loaded after it was stored
  CHECK(only(built(neighbour), swapped).verdict == Verdict::refuted);
  const std::string after = load + store +
                            "s_waitcnt vmcnt(0)\nglobal_load_dword v3, v1, s[6:7]\ns_waitcnt vmcnt(0)\n"
                            "global_store_dword v1, v3, s[6:7] offset:1024\n";
  CHECK(only(built(after),
             "grid n / 128\ntensor in f32 (n):(1)\ntensor out f32 (2,n):(n,1)\nsizes n = 256, k = 3\n"
             "value out(h,i) = (h < 1 ? in(i) : 0) + (0 < h ? out(0,i) : 0)")
            .verdict == Verdict::refuted);
  // The first workgroup loads what the second one stores: whoever comes first.
  const std::string ahead = "s_cmp_eq_u32 s2, 0\ns_cselect_b32 s12, s6, s4\ns_cselect_b32 s13, s7, "
                            "s5\nv_xor_b32_e32 v3, 0x200, v1\n"
                            "global_load_dword v2, v3, s[12:13]\ns_waitcnt vmcnt(0)\n" +
                            store;
  CHECK(only(built(ahead), rows + "value out(i) = (i < 128 ? out(i + 128) : 0) + (127 < i ? in(i - 128) : 0)")
            .verdict == Verdict::undecided);
  // Two lanes store one element, the one that wins is the greater.
  const std::string both = load + "v_and_b32_e32 v1, 0xfffffffb, v1\n" + store;
  CHECK(only(built(both),
             "grid n / 128\ntensor in f32 (n):(1)\ntensor out f32 (n/2):(2)\nsizes n = 256, k = 3\n"
             "value out(i) = in(2*i + 1)")
            .verdict == Verdict::undecided);
  // More workgroups than are followed.
  CHECK(only(built(load + store),
             "grid n / 128\ntensor in f32 (n):(1)\ntensor out f32 (n):(1)\nsizes n = 128000, k = 3\n"
             "value out(i) = in(i)")
            .verdict == Verdict::undecided);
  // Powers of two that v_div_fmas takes back belong to one division.
  const std::string divide =
      load + "v_mov_b32_e32 v3, 0x40400000\nv_div_scale_f32 v4, s[12:13], v3, v3, v2\nv_rcp_f32_e32 v5, v4\n"
             "v_fma_f32 v6, -v4, v5, 1.0\nv_fmac_f32_e32 v5, v6, v5\nv_div_scale_f32 v6, vcc, v2, v3, v2\n"
             "v_mul_f32_e32 v7, v6, v5\nv_fma_f32 v8, -v4, v7, v6\nv_fmac_f32_e32 v7, v8, v5\nv_fma_f32 v4, "
             "-v4, v7, v6\n";
  const std::string finish =
      "s_nop 4\nv_div_fmas_f32 v4, v4, v5, v7\nv_div_fixup_f32 v2, v4, v3, v2\n" + store;
  CHECK(only(built(divide + finish), rows + "value out(i) = in(i) / 3").verdict == Verdict::validated);
  CHECK(
      only(built(divide + "s_mov_b64 vcc, s[12:13]\n" + finish), rows + "value out(i) = in(i) / 3").verdict ==
      Verdict::undecided);
  CHECK(only(built(divide + "v_fma_f32 v4, v4, v7, v6\n" + finish), rows + "value out(i) = in(i) / 3")
            .verdict != Verdict::validated);
  CHECK(only(built(divide + "v_mul_f32_e32 v7, 0x3f801000, v7\n" + finish), rows + "value out(i) = in(i) / 3")
            .verdict == Verdict::undecided); // off by less than runs may be
  std::string scale_of_other = divide;
  scale_of_other.replace(scale_of_other.find("v3, v3, v2"), 10, "v3, v2, v2");
  CHECK(only(built(scale_of_other + finish), rows + "value out(i) = in(i) / 3").verdict ==
        Verdict::undecided);
  CHECK(only(built(divide +
                   "s_nop 4\nv_div_fmas_f32 v4, v4, v5, v7\nv_div_fixup_f32 v4, v4, v3, v2\nv_add_f32_e32 "
                   "v2, v4, v6\n" +
                   store),
             rows + "value out(i) = in(i) / 3 + in(i)")
            .verdict == Verdict::undecided); // the scale counts within the division alone
  CHECK(only(built(divide + "v_mov_b32_e32 v2, v6\ns_nop 4\n" + store), rows + "value out(i) = in(i)")
            .verdict == Verdict::undecided); // the scaled number itself is no number of the kernel
}

TEST_CASE("values: powers of two that keep small results, and only where both sides are of one condition") {
  const std::string small =
      load + "v_mov_b32_e32 v5, 0x42800000\nv_mov_b32_e32 v6, 0xffffffc0\nv_mov_b32_e32 v7, 0xc2fc0000\n"
             "v_cmp_gt_f32_e64 s[12:13], v7, v2\ns_nop 4\nv_cndmask_b32_e64 v3, 0, v5, s[12:13]\n";
  const auto finish = [](const std::string& count) {
    return "v_add_f32_e32 v3, v2, v3\nv_exp_f32_e32 v3, v3\nv_cndmask_b32_e64 v4, 0, " + count +
           ", s[12:13]\nv_ldexp_f32 v2, v3, v4\n" + store;
  };
  CHECK(only(built(small + finish("v6")), rows + "value out(i) = exp2(in(i))").verdict == Verdict::validated);
  // 2^-63 in place of 2^-64; and another condition for the count. No small integer is below -126.
  CHECK(only(built(small + "v_mov_b32_e32 v6, 0xffffffc1\n" + finish("v6")),
             rows + "value out(i) = exp2(in(i))")
            .verdict == Verdict::undecided);
  CHECK(
      only(built(small +
                 "v_mov_b32_e32 v9, v3\nv_cmp_lt_f32_e64 s[12:13], v2, v5\nv_mov_b32_e32 v3, v9\ns_nop 4\n" +
                 finish("v6")),
           rows + "value out(i) = exp2(in(i))")
          .verdict != Verdict::validated);
}

TEST_CASE("values: what compilers write for a rounding to bf16 is one, and what is none is not") {
  const std::string halves = "grid n / 128\ntensor in f32 (n):(1)\ntensor out bf16 (n):(1)\nsizes n = 256, k "
                             "= 3\nvalue out(i) = in(i)";
  const std::string put = "v_lshrrev_b32_e32 v5, 1, v1\nglobal_store_short v5, v3, s[6:7]\n";
  const auto up = [&](const std::string& add, const std::string& nan, const std::string& compare,
                      const std::string& of = "v2") {
    return only(built(load + "v_add_f32_e32 v7, v2, v2\nv_add_u32_e32 v3, " + add +
                      ", v2\nv_mov_b32_e32 v4, " + nan + "\n" + compare + " vcc, " + of + ", " + of +
                      "\ns_nop 4\nv_cndmask_b32_e32 v3, v3, v4, vcc\nv_lshrrev_b32_e32 v3, 16, v3\n" + put),
                halves)
        .verdict;
  };
  CHECK(up("0x8000", "0x7fff0000", "v_cmp_u_f32_e32") == Verdict::validated);
  CHECK(up("0x8000", "0x3fff0000", "v_cmp_u_f32_e32") == Verdict::undecided); // a number, of NaN alone
  CHECK(up("0x8000", "0x7f800000", "v_cmp_u_f32_e32") == Verdict::undecided); // infinity
  CHECK(up("0x8000", "0x7fff0000", "v_cmp_o_f32_e32") == Verdict::refuted);
  CHECK(up("0x8000", "0x7fff0000", "v_cmp_u_f32_e32", "v7") == Verdict::undecided); // of something else
  CHECK(up("0x8001", "0x7fff0000", "v_cmp_u_f32_e32") == Verdict::undecided);
  // To nearest even: (x >> 16) & 1 more.
  const auto even = [&](const std::string& field, const std::string& add, const std::string& choose,
                        const std::string& compare = "v_cmp_o_f32_e32") {
    return only(built(load + "s_movk_i32 s14, " + add + "\nv_bfe_u32 v6, v2, " + field +
                      "\nv_add3_u32 v3, v2, v6, s14\nv_mov_b32_e32 v4, 0x7fff\n" + compare +
                      " vcc, v2, v2\ns_nop 4\n" + choose + put),
                halves)
        .verdict;
  };
  const std::string sdwa = "v_cndmask_b32_sdwa v3, v4, v3, vcc dst_sel:DWORD dst_unused:UNUSED_PAD "
                           "src0_sel:DWORD src1_sel:WORD_1\n";
  const std::string shifted = "v_lshrrev_b32_e32 v3, 16, v3\nv_cndmask_b32_e32 v3, v4, v3, vcc\n";
  for (const std::string& choose : {sdwa, shifted}) {
    CHECK(even("16, 1", "0x7fff", choose) == Verdict::validated);
    CHECK(even("16, 1", "0x7fff", choose, "v_cmp_u_f32_e32") == Verdict::refuted);
    CHECK(even("15, 1", "0x7fff", choose) == Verdict::undecided);
    CHECK(even("16, 1", "0x7ffe", choose) == Verdict::undecided);
    CHECK(even("16, 1", "0x7fff", "v_mov_b32_e32 v4, 0x7f80\n" + choose) == Verdict::undecided);
  }
  CHECK(even("16, 1", "0x7fff",
             "v_cndmask_b32_sdwa v3, v4, v3, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
             "src1_sel:WORD_0\n") != Verdict::validated);
  // Cut off: the upper half is the number, the lower one is none.
  CHECK(only(built(load + "v_lshrrev_b32_e32 v3, 16, v2\n" + put), halves).verdict == Verdict::validated);
  CHECK(only(built(load + "v_mul_f32_e32 v2, v2, v2\nv_mov_b32_e32 v3, v2\n" + put),
             "grid n / 128\ntensor in f32 (n):(1)\ntensor out bf16 (n):(1)\nsizes n = 256, k = 3\nvalue "
             "out(i) = in(i) * in(i)")
            .verdict == Verdict::refuted);
}

TEST_CASE("values: atomics add to zeros, tables are indices, words of LDS and lanes are carried along") {
  const std::string sum =
      load + "v_and_b32_e32 v3, 63, v0\nv_lshlrev_b32_e32 v3, 2, v3\nglobal_atomic_add_f32 v3, v2, s[6:7]\n";
  const std::string sums =
      "grid n / 128\ntensor in f32 (n):(1)\ntensor out f32 (64):(1)\nsizes n = 256, k = 3\n";
  CHECK(only(built(sum), sums + "value out(i) = sum(q < n/64, in(i + 64*q))").verdict == Verdict::validated);
  CHECK(only(built(sum), sums + "value out(i) = sum(q < n/64 - 1, in(i + 64*q))").verdict ==
        Verdict::refuted);
  // out[i] = in[ids[i]], with ids in the first 64 words of `out`'s place: a table in `in`, data in `out`, stored after them.
  const std::string gather =
      "v_lshlrev_b32_e32 v4, 2, v0\nglobal_load_dword v2, v4, s[4:5]\ns_waitcnt vmcnt(0)\n"
      "v_lshlrev_b32_e32 v2, 2, v2\nglobal_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)\n"
      "global_store_dword v4, v3, s[6:7] offset:2048\n";
  const std::string table =
      "grid 1\ntensor in i32 (128):(1) below 128\ntensor out f32 (2,128):(512,1)\nsizes n = 1, k = 1\n";
  CHECK(only(built(gather), table + "value out(h,i) = (h < 1 ? out(0,i) : 0)").verdict != Verdict::validated);
  const auto r =
      only(built(gather),
           "grid 1\ntensor in i32 (128):(1) below 128\ntensor out f32 (640):(1)\nsizes n = 1, k = 1\n"
           "value out(i) = (i < 512 ? out(i) : 0) + (511 < i ? out(in[max(0, i - 512)]) : 0)");
  CHECK(r.verdict == Verdict::validated); // what is not stored stays as it was
  // Through LDS, reversed within the workgroup, and a rotation of lanes.
  const std::string lds =
      load +
      "v_lshlrev_b32_e32 v4, 2, v0\nds_write_b32 v4, v2\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
      "v_sub_u32_e32 v5, 508, v4\nds_read_b32 v2, v5\ns_waitcnt lgkmcnt(0)\n" +
      store;
  CHECK(only(built(lds), rows + "value out(i) = in(128*(i/128) + 127 - i % 128)").verdict ==
        Verdict::validated);
  CHECK(only(built(lds), rows + "value out(i) = in(i)").verdict == Verdict::refuted);
  // DPP with row and bank masks: lanes that are not written keep what they had.
  const std::string dpp = load +
                          "v_mov_b32_e32 v3, v2\ns_nop 4\nv_mov_b32_dpp v3, v2 row_shr:4 row_mask:0xf "
                          "bank_mask:0xa\nv_mov_b32_e32 v2, v3\n" +
                          store;
  CHECK(only(built(dpp), rows + "value out(i) = in(i - 4*(i/4 % 2))").verdict == Verdict::validated);
  const std::string zeros =
      load +
      "v_mov_b32_e32 v3, 0\ns_nop 4\nv_mov_b32_dpp v2, v3 quad_perm:[1,0,3,2] row_mask:0x5 bank_mask:0xf\n" +
      store;
  CHECK(
      only(built(zeros), rows + "value out(i) = (i/16 % 2 < 1 ? 0 * in(i) : 0) + (0 < i/16 % 2 ? in(i) : 0)")
          .verdict == Verdict::validated);
  const std::string bcast = load +
                            "v_mov_b32_e32 v3, v2\ns_nop 4\nv_mov_b32_dpp v3, v2 row_bcast:15 row_mask:0xa "
                            "bank_mask:0xf\nv_mov_b32_e32 v2, v3\n" +
                            store;
  CHECK(
      only(built(bcast), rows + "value out(i) = in((i/16 % 2)*(16*(i/16) - 1) + (1 - i/16 % 2)*i)").verdict ==
      Verdict::validated);
}

TEST_CASE("values: a choice by comparison of what is loaded") {
  const auto chosen = [&](const std::string& compare, const std::string& choose, const std::string& value) {
    return only(built(load + "v_mul_f32_e32 v3, v2, v2\n" + compare + choose + store),
                rows + "value out(i) = " + value)
        .verdict;
  };
  const std::string at_least = "v_cmp_ge_f32_e32 vcc, v3, v2\n",
                    first = "v_cndmask_b32_e32 v2, v2, v3, vcc\n";
  CHECK(chosen(at_least, first, "(in(i)*in(i) >= in(i) ? in(i)*in(i) : in(i))") == Verdict::validated);
  CHECK(chosen("v_cmp_le_f32_e32 vcc, v2, v3\n", first, "(in(i)^2 >= in(i) ? in(i)^2 : in(i))") ==
        Verdict::validated);
  CHECK(chosen("v_cmp_nge_f32_e32 vcc, v3, v2\n", "v_cndmask_b32_e32 v2, v3, v2, vcc\n",
               "(in(i)^2 >= in(i) ? in(i)^2 : in(i))") == Verdict::validated);
  // The other one of the two, the comparison the other way around, of something else, and one that is equal but for a NaN.
  CHECK(chosen(at_least, "v_cndmask_b32_e32 v2, v3, v2, vcc\n", "(in(i)^2 >= in(i) ? in(i)^2 : in(i))") ==
        Verdict::refuted);
  CHECK(chosen("v_cmp_ge_f32_e32 vcc, v2, v3\n", first, "(in(i)^2 >= in(i) ? in(i)^2 : in(i))") ==
        Verdict::refuted);
  CHECK(chosen("v_cmp_ge_f32_e32 vcc, 1.0, v2\n", first, "(in(i)^2 >= in(i) ? in(i)^2 : in(i))") ==
        Verdict::refuted);
  CHECK(chosen("v_cmp_nlt_f32_e32 vcc, v3, v2\n", first, "(in(i)^2 >= in(i) ? in(i)^2 : in(i))") ==
        Verdict::undecided);
  // The same of all integers.
  CHECK(chosen("v_cmp_gt_f32_e32 vcc, v3, v2\n", first, "(in(i)^2 >= in(i) ? in(i)^2 : 2)") ==
        Verdict::undecided);
  // Numbers are compared as they are.
  CHECK(chosen("v_mov_b32_e32 v4, 2.0\nv_cmp_ge_f32_e32 vcc, 1.0, v4\n", first, "in(i)") ==
        Verdict::validated);
}

TEST_CASE("values: machine code takes no reciprocal, logarithm or root that the value does not") {
  const auto made = [&](const std::string& of, const std::string& value) {
    return only(built(load + of + store), rows + "value out(i) = " + value).verdict;
  };
  // x (1 / x) is 1 but at 0, (x^2 - 1) / (x - 1) is x + 1 but at 1; the small integers of the runs leave out one of them.
  const std::string one = "v_rcp_f32_e32 v3, v2\nv_mul_f32_e32 v2, v3, v2\n",
                    half = "v_subrev_f32_e32 v4, 0.5, v2\nv_rcp_f32_e32 v3, v4\nv_mul_f32_e32 v3, v3, v4\n"
                           "v_mul_f32_e32 v2, v3, v2\n",
                    nothing = "v_rcp_f32_e32 v3, v2\nv_mul_f32_e32 v3, 0, v3\nv_add_f32_e32 v2, v2, v3\n";
  CHECK(made(one, "1 + 0 * in(i)") == Verdict::undecided);
  CHECK(made(half, "in(i)") == Verdict::undecided);
  CHECK(made(nothing, "in(i)") == Verdict::undecided);
  CHECK(made(one, "in(i) / in(i)") == Verdict::validated);
  CHECK(made(half, "in(i) * ((in(i) - 0.5) / (in(i) - 0.5))") == Verdict::validated);
  CHECK(made("v_mul_f32_e32 v3, v2, v2\nv_log_f32_e32 v4, v3\nv_sub_f32_e32 v4, v4, v4\nv_add_f32_e32 v2, "
             "v2, v4\n",
             "in(i)") == Verdict::undecided);
  CHECK(made("v_mul_f32_e32 v3, v2, v2\nv_sqrt_f32_e32 v4, v3\nv_sub_f32_e32 v4, v4, v4\nv_add_f32_e32 v2, "
             "v2, v4\n",
             "in(i)") == Verdict::undecided);
  CHECK(made("v_mul_f32_e32 v3, v2, v2\nv_rsq_f32_e32 v2, v3\n", "1 / sqrt(in(i)^2)") == Verdict::validated);
  // Powers of two are never 0, and numbers are what they are.
  CHECK(
      made("v_exp_f32_e32 v3, v2\nv_rcp_f32_e32 v3, v3\nv_sub_f32_e32 v3, v3, v3\nv_add_f32_e32 v2, v2, v3\n",
           "in(i)") == Verdict::validated);
  CHECK(made("v_rcp_f32_e32 v3, 4.0\nv_mul_f32_e32 v2, v3, v2\n", "in(i) * 0.25") == Verdict::validated);
}

TEST_CASE("values: infinities absorb what is finite, and keep their sign only where it is known") {
  const auto made = [&](const std::string& of, const std::string& value) {
    return only(built(load + "v_mov_b32_e32 v4, 0xff800000\nv_mov_b32_e32 v5, 0xc0000000\n" + of + store),
                rows + "value out(i) = " + value)
        .verdict;
  };
  CHECK(made("v_add_f32_e32 v3, v4, v2\nv_mul_f32_e32 v3, 2.0, v3\nv_exp_f32_e32 v2, v3\n", "0 * in(i)") ==
        Verdict::validated);
  CHECK(made("v_add_f32_e32 v3, v4, v2\nv_exp_f32_e32 v3, v3\nv_add_f32_e32 v2, v2, v3\n", "in(i)") ==
        Verdict::validated);
  CHECK(made("v_sub_f32_e32 v3, v2, v4\nv_rcp_f32_e32 v3, v3\nv_add_f32_e32 v2, v2, v3\n", "in(i)") ==
        Verdict::validated);
  // Times a negative number, an element whose sign nobody knows, its opposite.
  CHECK(made("v_add_f32_e32 v3, v4, v2\nv_mul_f32_e32 v3, v3, v5\nv_exp_f32_e32 v2, v3\n", "0 * in(i)") !=
        Verdict::validated);
  CHECK(made("v_mul_f32_e32 v3, v4, v2\nv_exp_f32_e32 v2, v3\n", "0 * in(i)") != Verdict::validated);
  CHECK(made("v_mul_f32_e32 v6, v2, v2\nv_mul_f32_e32 v3, v4, v6\nv_exp_f32_e32 v2, v3\n", "0 * in(i)") ==
        Verdict::undecided);
  CHECK(made("v_add_f32_e32 v3, v4, v2\nv_sub_f32_e32 v3, v3, v4\nv_exp_f32_e32 v2, v3\n", "0 * in(i)") !=
        Verdict::validated);
  CHECK(made("v_add_f32_e32 v3, v4, v2\nv_sub_f32_e32 v2, v3, v4\n", "in(i)") != Verdict::validated);
}

TEST_CASE("values: Triton's rows, padded and not") {
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const auto object = isa::assemble_code_object(
        triton(arch == isa::Arch::gfx942 ? "softmax_f16_8192.gfx942.s" : "softmax_f16_8192.gfx950.s"), arch);
    const auto verdict = [&](const std::string& value, int n) {
      const auto r = only(
          object,
          "grid 2\ntensor arg0 f16 (2,arg16):(arg20,1)\ntensor arg8 f16 (2,arg16):(arg20,1)\nsizes arg16 = " +
              std::to_string(n) + ", arg20 = 8192\nvalue arg8(i,j) = " + value,
          512, 65536);
      INFO(value << " of " << n << ": " << r.message);
      return r.verdict;
    };
    const std::string of_row = "exp(arg0(i,j) - max(q < arg16, arg0(i,q))) / ";
    for (const int n : {8192, 1000, 16})
      CHECK(verdict(of_row + "sum(q < arg16, exp(arg0(i,q) - max(p < arg16, arg0(i,p))))", n) ==
            Verdict::validated);
    CHECK(verdict(of_row + "sum(q < arg16 - 1, exp(arg0(i,q) - max(p < arg16, arg0(i,p))))", 1000) !=
          Verdict::validated);
    CHECK(verdict(of_row + "sum(q < arg16, exp(arg0(i,q) - max(p < arg16 - 1, arg0(i,p))))", 1000) !=
          Verdict::validated);
    // Compiled for lengths that are multiples of 16: of one element, eight are loaded.
    CHECK(verdict(of_row + "sum(q < arg16, exp(arg0(i,q) - max(p < arg16, arg0(i,p))))", 1) ==
          Verdict::refuted);
    CHECK(verdict("2 * " + of_row + "sum(q < arg16, exp(arg0(i,q) - max(p < arg16, arg0(i,p))))", 1000) ==
          Verdict::refuted);
  }
}

TEST_CASE("values: one order of the waves stands for all where they are ordered") {
  // Both waves write a word of LDS that nobody reads: the values are right, the order is not.
  const std::string race = load + "v_mov_b32_e32 v4, 0\nds_write_b32 v4, v2\ns_waitcnt lgkmcnt(0)\n" + store;
  const auto object = CodeObject::parse(built(race)), fine = CodeObject::parse(built(load + store));
  const auto claims = Claims::parse(rows + "value out(i) = in(i)");
  ValueOptions o{.block = {128, 1, 1}, .ordered = false};
  const auto wrong = check_values(object, object.kernels()[0], claims, o);
  CHECK(wrong[0].verdict == Verdict::undecided);
  CHECK(wrong[0].message.find("order is not validated") != std::string::npos);
  CHECK(check_values(fine, fine.kernels()[0], claims, o)[0].verdict == Verdict::validated);
}

TEST_CASE("values: Triton's GEMM is its sum of products, and no other one") {
  const auto object = isa::assemble_code_object(triton("gemm_f16_128x128x64.gfx942.s"), isa::Arch::gfx942);
  const auto verdict = [&](const std::string& value, const std::string& element = "f16") {
    const auto r = only(object, gemm_claims(value, element), 256, 65536);
    INFO(value << ": " << r.message);
    return r.verdict;
  };
  CHECK(verdict("sum(q < arg32, arg0(i,q) * arg8(j,q))") == Verdict::validated);
  CHECK(verdict("sum(q < arg32/64, sum(p < 64, arg8(j,64*q + p) * arg0(i,64*q + p)))") == Verdict::validated);
  // One element of K is left out, K runs backward on one side, the neighbour's row, another format.
  CHECK(verdict("sum(q < arg32 - 1, arg0(i,q) * arg8(j,q))") == Verdict::refuted);
  CHECK(verdict("sum(q < arg32, arg0(i,q) * arg8(j,arg32 - 1 - q))") == Verdict::refuted);
  CHECK(verdict("sum(q < arg32, arg0(i + 1 - 2*(i % 2),q) * arg8(j,q))") == Verdict::refuted);
  CHECK(verdict("sum(q < arg32, arg0(i,q) * arg8(j,q))", "bf16") == Verdict::refuted);
  // A part that is smaller than what runs may be off by: not refuted, and not validated.
  CHECK(verdict("sum(q < arg32, arg0(i,q) * arg8(j,q)) + arg0(i,0) * 0.001") == Verdict::undecided);
}

TEST_CASE("values: one bit of a machine code changed, what is validated computes the same") {
  // Against numbers of another kind than the checker's, by the formula written out here.
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const std::string name = arch == isa::Arch::gfx942 ? "gfx942" : "gfx950";
    const auto original = isa::assemble_code_object(triton("rmsnorm_bf16_8192." + name + ".s"), arch);
    constexpr int m = 2, n = 1024;
    const std::string claims =
        "grid 2\ntensor arg0 bf16 (2,arg24):(arg28,1)\ntensor arg8 bf16 (arg24):(1)\n"
        "tensor arg16 bf16 (2,arg24):(arg28,1)\nvalue arg16(i,j) = arg0(i,j) * arg8(j) * "
        "rsqrt(sum(q < arg24, arg0(i,q) * arg0(i,q)) / arg24 + 0.00001)\n"
        "sizes arg24 = 1024, arg28 = 1024, arg32 = 0.00001";
    const auto computes = [&](const CodeObject& object) {
      std::mt19937 random(7);
      std::vector<std::uint16_t> x(m * n), w(n), y(m * n, 0x7fc0);
      const auto bf16 = [](double v) {
        return static_cast<std::uint16_t>(inlay::codegen::encode(inlay::codegen::Element::bf16, v));
      };
      const auto real = [](std::uint16_t c) {
        return inlay::codegen::decode(inlay::codegen::Element::bf16, c);
      };
      std::normal_distribution<double> normal;
      for (auto* v : {&x, &w})
        for (auto& e : *v) e = bf16(normal(random));
      try {
        EmulatorOptions o;
        o.max_wave_instructions = 1'000'000;
        EmulatorDevice device(arch, o);
        const auto px = emulator_test::upload(device, x), pw = emulator_test::upload(device, w),
                   py = emulator_test::upload(device, y);
        const auto scratch = device.allocate(4096);
        const Kernel& k = object.kernels()[0];
        const LaunchGeometry g{.grid = {m, 1, 1}, .block = {512, 1, 1}, .dynamic_lds = 65536};
        const std::vector<Argument> arguments = {Argument::pointer(px),      Argument::pointer(pw),
                                                 Argument::pointer(py),      Argument::i32(n),
                                                 Argument::i32(n),           Argument::f32(1e-5F),
                                                 Argument::pointer(scratch), Argument::pointer(scratch)};
        device.launch(device.function(device.load(object), k.name), g, pack_arguments(k, arguments, g));
        if (!device.last_launch().findings.empty()) return false; // beside its memory
        y = emulator_test::download<std::uint16_t>(device, py, y.size());
      } catch (const std::exception&) {
        return false;
      }
      for (int i = 0; i < m; ++i) {
        double squares = 0;
        for (int j = 0; j < n; ++j) squares += real(x[i * n + j]) * real(x[i * n + j]);
        for (int j = 0; j < n; ++j) {
          const double wanted = real(x[i * n + j]) * real(w[j]) / std::sqrt(squares / n + 1e-5);
          if (!(std::fabs(real(y[i * n + j]) - wanted) <= std::fabs(wanted) / 64 + 1e-6)) return false;
        }
      }
      return true;
    };
    const auto parsed = CodeObject::parse(original);
    REQUIRE(computes(parsed));
    REQUIRE(only(original, claims, 512, 65536).verdict == Verdict::validated);
    const Kernel& kernel = parsed.kernels()[0];
    const auto& section = parsed.sections()[kernel.section];
    const auto first = static_cast<std::size_t>(section.bytes.data() - parsed.bytes().data()) +
                       (kernel.address - section.address);
    std::mt19937 random(11);
    int changed = 0, wrong = 0, refuted = 0, lost = 0;
    for (int k = 0; k < 40; ++k) {
      auto bytes = original;
      bytes[first + random() % kernel.size] ^= static_cast<std::uint8_t>(1U << random() % 8);
      std::optional<CodeObject> object;
      Verdict verdict = Verdict::undecided;
      std::string message;
      try {
        object.emplace(CodeObject::parse(bytes));
        const auto r = check_values(*object, object->kernels()[0], Claims::parse(claims),
                                    {.block = {512, 1, 1}, .dynamic_lds = 65536});
        verdict = r[0].verdict;
        message = r[0].message;
      } catch (const std::exception&) { // no instruction any more
        continue;
      }
      const bool same = computes(*object);
      changed += same ? 0 : 1;
      wrong += !same && verdict == Verdict::validated ? 1 : 0;
      refuted += !same && verdict == Verdict::refuted ? 1 : 0;
      lost += same && verdict == Verdict::refuted ? 1 : 0;
      if (same && verdict == Verdict::refuted) UNSCOPED_INFO("refuted: " << message);
    }
    CHECK(wrong == 0);
    CHECK(lost == 0);
    CHECK(changed > 10);
    CHECK(refuted * 4 >= changed * 3);
    std::printf("%s: %d of 40 change what is computed, %d of them refuted\n", name.c_str(), changed, refuted);
  }
}

TEST_CASE("values: kernels of the catalogue as if they were strangers'") {
  // Through numbers for the sizes alone, without the program that they were made from.
  for (const std::string arch : {"gfx942", "gfx950"}) {
    const auto artifact =
        inlay::kernels::find_kernel("gemm")->build({{"arch", arch}, {"tile", "64x64x64"}}, {});
    const auto* data = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
    const std::vector<std::uint8_t> bytes(data, data + artifact.hsaco.size());
    const auto object = CodeObject::parse(bytes);
    std::string names;
    for (const auto& a : visible_arguments(object.kernels()[0])) names += a.name + " ";
    INFO(names);
    const std::string claims =
        "grid (n + 63)/64, (m + 63)/64\ntensor a f16 (m,k):(k,1)\ntensor b f16 (n,k):(k,1)\n"
        "tensor c f16 (m,n):(n,1)\nsizes m = 70, n = 96, k = 136\nvalue c(i,j) = ";
    const std::uint32_t block[] = {object.kernels()[0].max_flat_workgroup_size};
    CHECK(only(bytes, claims + "sum(q < k, a(i,q) * b(j,q))", block[0]).verdict == Verdict::validated);
    CHECK(only(bytes, claims + "sum(q < k, a(i,q) * b(j,k - 1 - q))", block[0]).verdict == Verdict::refuted);
  }
}

TEST_CASE("values: claims that fit no kernel say what is wrong") {
  const auto bytes = built(load + store);
  const auto object = CodeObject::parse(bytes);
  const auto message = [&](const std::string& text) {
    try {
      static_cast<void>(
          check_values(object, object.kernels()[0], Claims::parse(text), {.block = {128, 1, 1}}));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const std::string tensors = "grid n/128\ntensor in f32 (n):(1)\ntensor out f32 (n):(1)\n";
  const std::string value = "value out(i) = in(i)\n", sizes = "sizes n = 128, k = 1\n";
  CHECK(message(tensors + value + sizes) == "nothing");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {tensors + value + "sizes n = 128", "no number for the argument 'k'"},
      {tensors + value, "no line gives them"},
      {tensors + sizes, "without a 'value'"},
      {"grid 1\ntensor out f32 (n):(1)\n" + value + sizes, "expected"},
      {"tensor in f32 (n):(1)\ntensor out f32 (n):(1)\n" + value + sizes, "the grid"},
      {tensors + "value in(i) = 1\nvalue in(i) = 2\n" + sizes, "said before"},
      {tensors + "value y(i) = in(i)\n" + sizes, "no line says 'tensor y"},
      {tensors + "value out(i,j) = in(i)\n" + sizes, "2 indices"},
      {tensors + "value out(i) = in(i,i)\n" + sizes, "has 1 indices"},
      {tensors + "value out(i) = in(i + 1)\n" + sizes, "outside of its tensor"},
      {tensors + "value out(i) = in(z)\n" + sizes, "no index"},
      {tensors + "value out(n) = in(n)\n" + sizes, "'n' is a size"},
      {tensors + "value out(i) in(i)\n" + sizes, "NAME(i, j) = EXPRESSION"},
      {tensors + value + "sizes n = x, k = 1", "NAME = NUMBER"},
      {tensors + value + "sizes n = 128, n = 1, k = 1", "twice"},
      {tensors + value + "sizes n = 100, k = 1", "0 workgroups"},
      {tensors + value + sizes + "within 2", "from 0 to 1"},
      {"grid 1\ntensor in f32 (n)\ntensor out f32 (n):(1)\n" + value + sizes, "tensor in"},
      {"grid 1\ntensor in f33 (n):(1)\ntensor out f32 (n):(1)\n" + value + sizes, "f33"},
      {"grid 1\ntensor in f32 (n):(-1)\ntensor out f32 (n):(1)\n" + value + sizes, "negative stride"},
      {"grid 1\ntensor in f32 (n):(1)\ntensor out f32 (n):(0)\n" + value + sizes, "one place"},
      {"grid 1\ntensor in f32 (n,n,n,n,n,n):(1,0,0,0,0,0)\ntensor out f32 (n):(1)\n" + value + sizes,
       "more than"},
      {"grid 1\ntensor inn f32 (n):(1)\ntensor out f32 (n):(1)\n" + value + sizes, "no argument of 8 bytes"}};
  for (const auto& [text, part] : wrong) {
    const std::string said = message(text);
    INFO(text << "\n-> " << said);
    CHECK(said.find(part) != std::string::npos);
  }
}

TEST_CASE("values: claims with edits drawn at random are read, or refused with the reason") {
  const auto object = CodeObject::parse(built(load + store));
  const std::string text =
      "grid n/128\ntensor in f32 (n/8,8):(8,1)\ntensor out bf16 (n):(2)\nsizes n = 128, k = 1\nwithin 0.5\n"
      "value out(i) = max(q < 1, in(i/8,i % 8)) - sum(q < k, 0 * exp(in(0,q)))\n";
  const std::vector<std::string> words = {"(",
                                          ")",
                                          ",",
                                          ":",
                                          "sum",
                                          "max",
                                          "q",
                                          "<",
                                          "n",
                                          "in",
                                          "0",
                                          "-1",
                                          "1e9",
                                          "/",
                                          "*",
                                          "[",
                                          "]",
                                          "?",
                                          ">=",
                                          "inf",
                                          "^",
                                          "\n",
                                          "tensor",
                                          "value",
                                          "sizes",
                                          "within",
                                          "grid",
                                          "below",
                                          "f16",
                                          "fp4",
                                          "f64",
                                          "=",
                                          "%",
                                          "#",
                                          "9223372036854775807",
                                          "18446744073709551616"};
  CHECK(check_values(object, object.kernels()[0], Claims::parse(text), {.block = {128, 1, 1}}).size() == 1);
  std::mt19937 random(23);
  int results = 0, refused = 0;
  for (int k = 0; k < 3000; ++k) {
    std::string edited = text;
    for (unsigned edits = 1 + random() % 2; edits-- > 0;) {
      const std::size_t at = random() % edited.size();
      if (random() % 3 == 0)
        edited.erase(at, 1 + random() % 5);
      else
        edited.replace(at, random() % 2, words[random() % words.size()]);
    }
    INFO(edited);
    try {
      const auto r = check_values(object, object.kernels()[0], Claims::parse(edited), {.block = {128, 1, 1}});
      ++results;
      for (const ClaimResult& one : r) CHECK(!one.message.empty());
    } catch (const std::invalid_argument& e) {
      ++refused;
      CHECK(std::string(e.what()).starts_with("claims"));
    }
  }
  CHECK(results > 20);
  CHECK(refused > 100);
}

} // namespace values_test
