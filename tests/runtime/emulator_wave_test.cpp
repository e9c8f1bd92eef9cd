// What happens around the arithmetic: lanes exchanging data, parts of registers, result modifiers, EXEC, memory forms, and the
// state a wave starts with. Expected values are formulas of the ISA manual written out lane by lane.
#include "emulator_support.h"

#include <bit>
#include <random>

namespace emulator_wave_test {

using namespace emulator_test;

namespace {

using Lanes = std::array<std::uint32_t, 64>;

Lanes random_lanes(unsigned seed) {
  std::mt19937 random(seed);
  Lanes v;
  for (auto& x : v) x = static_cast<std::uint32_t>(random());
  return v;
}

/// Runs `body` with v2, v3, v4 loaded from `in`, v10 = 0xaaaaaaaa; gives v10 back. s[4:7] describe a raw buffer over 64 words of
/// which the first is lane 0 of v2 (s6 is its size in bytes).
Lanes run_lanes(const std::string& body, const std::array<Lanes, 3>& in, isa::Arch arch = isa::Arch::gfx942,
                const KernelOptions& options = {
                    .lds = 4096, .scratch = 64, .extra = ".amdhsa_float_denorm_mode_32 3"}) {
  const std::string text = R"(
    s_load_dwordx4 s[8:11], s[0:1], 0x0
    v_and_b32 v1, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v1
    v_mov_b32 v10, 0xaaaaaaaa
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[8:9]
    global_load_dword v3, v1, s[8:9] offset:256
    global_load_dword v4, v1, s[8:9] offset:512
    s_mov_b32 s4, s8
    s_and_b32 s5, s9, 0xffff
    s_movk_i32 s6, 0x100
    s_mov_b32 s7, 0x27000
    s_waitcnt vmcnt(0)
)" + body +
                           "\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_mov_b64 exec, -1\n s_nop 4\n "
                           "global_store_dword v1, v10, s[10:11]\n s_endpgm\n";
  EmulatorDevice device(arch);
  std::vector<std::uint32_t> data;
  for (const Lanes& l : in) data.insert(data.end(), l.begin(), l.end());
  const DevicePointer source = upload(device, data);
  const DevicePointer out = device.allocate(256);
  run(device, kernel(text, arch, options), {.grid = {1}, .block = {64}},
      Arguments().pointer(source).pointer(out).bytes());
  const auto got = download<std::uint32_t>(device, out, 64);
  Lanes lanes;
  std::copy(got.begin(), got.end(), lanes.begin());
  return lanes;
}

template <class F>
void expect(const std::string& body, F f, isa::Arch arch = isa::Arch::gfx942) {
  const std::array<Lanes, 3> in = {random_lanes(1), random_lanes(2), random_lanes(3)};
  const Lanes got = run_lanes(body, in, arch);
  INFO(body);
  for (unsigned l = 0; l < 64; ++l) {
    INFO("lane " << l);
    CHECK(got[l] == static_cast<std::uint32_t>(f(in, l)));
  }
}

constexpr std::uint32_t old = 0xaaaaaaaa;
float as_float(std::uint32_t x) { return std::bit_cast<float>(x); }
std::uint32_t as_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

} // namespace

TEST_CASE("DPP patterns") {
  struct Pattern {
    const char* text;
    int (*from)(int lane); // -1: none
  };
  const Pattern patterns[] = {
      {"quad_perm:[3,0,2,1]",
       [](int l) {
         constexpr int p[] = {3, 0, 2, 1};
         return (l & ~3) + p[l & 3];
       }},
      {"row_shl:3", [](int l) { return (l & 15) + 3 < 16 ? l + 3 : -1; }},
      {"row_shr:5", [](int l) { return (l & 15) >= 5 ? l - 5 : -1; }},
      {"row_ror:4", [](int l) { return (l & ~15) + ((l + 12) & 15); }},
      {"wave_shl:1", [](int l) { return l < 63 ? l + 1 : -1; }},
      {"wave_rol:1", [](int l) { return (l + 1) & 63; }},
      {"wave_shr:1", [](int l) { return l - 1; }},
      {"wave_ror:1", [](int l) { return (l + 63) & 63; }},
      {"row_mirror", [](int l) { return l ^ 15; }},
      {"row_half_mirror", [](int l) { return l ^ 7; }},
      {"row_bcast:15", [](int l) { return l < 16 ? -1 : (l & ~15) - 1; }},
      {"row_bcast:31", [](int l) { return l < 32 ? -1 : 31; }},
      {"row_newbcast:6", [](int l) { return (l & ~15) + 6; }},
  };
  for (const Pattern& p : patterns) {
    const std::string mov = std::string("v_mov_b32_dpp v10, v2 ") + p.text + " row_mask:0xf bank_mask:0xf";
    expect(mov, [&](const auto& in, unsigned l) {
      const int f = p.from(static_cast<int>(l));
      return f < 0 ? old : in[0][static_cast<unsigned>(f)];
    });
    expect(mov + " bound_ctrl:1", [&](const auto& in, unsigned l) {
      const int f = p.from(static_cast<int>(l));
      return f < 0 ? 0 : in[0][static_cast<unsigned>(f)];
    });
    // Lanes that EXEC disables are no sources, and are not written.
    expect("s_mov_b32 exec_lo, 0x5a5af0f0\n s_nop 4\n" + mov + " bound_ctrl:1",
           [&](const auto& in, unsigned l) {
             const std::uint64_t exec = 0xffffffff5a5af0f0ULL;
             if (((exec >> l) & 1) == 0) return old;
             const int f = p.from(static_cast<int>(l));
             return f < 0 || ((exec >> f) & 1) == 0 ? 0 : in[0][static_cast<unsigned>(f)];
           });
  }
  expect("v_mov_b32_dpp v10, v2 quad_perm:[0,1,2,3] row_mask:0x5 bank_mask:0x6",
         [](const auto& in, unsigned l) {
           return ((0x5 >> (l / 16)) & 1) != 0 && ((0x6 >> ((l / 4) & 3)) & 1) != 0 ? in[0][l] : old;
         });
}

TEST_CASE("SDWA selections") {
  for (unsigned b = 0; b < 4; ++b) {
    const std::string sel = "BYTE_" + std::to_string(b);
    expect("v_mov_b32_sdwa v10, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:" + sel,
           [b](const auto& in, unsigned l) { return (in[0][l] >> (8 * b)) & 0xff; });
    expect("v_mov_b32_sdwa v10, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:" + sel,
           [b](const auto& in, unsigned l) {
             return static_cast<std::uint32_t>(static_cast<std::int8_t>(in[0][l] >> (8 * b)));
           });
    expect("v_mov_b32_sdwa v10, v2 dst_sel:" + sel + " dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
           [b](const auto& in, unsigned l) {
             return (old & ~(0xffU << (8 * b))) | ((in[0][l] & 0xff) << (8 * b));
           });
    expect("v_mov_b32_sdwa v10, v2 dst_sel:" + sel + " dst_unused:UNUSED_PAD src0_sel:DWORD",
           [b](const auto& in, unsigned l) { return (in[0][l] & 0xff) << (8 * b); });
  }
  expect("v_mov_b32_sdwa v10, v2 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD",
         [](const auto& in, unsigned l) {
           return static_cast<std::uint32_t>(static_cast<std::int16_t>(in[0][l]));
         });
  expect("v_add_u32_sdwa v10, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_2",
         [](const auto& in, unsigned l) { return (in[0][l] >> 16) + ((in[1][l] >> 16) & 0xff); });
}

TEST_CASE("source and result modifiers") {
  expect("v_and_b32 v2, 0xbf7fffff, v2\n v_and_b32 v3, 0xbf7fffff, v3\n v_mul_f32_e64 v10, -v2, |v3| mul:4",
         [](const auto& in, unsigned l) {
           return as_bits(-as_float(in[0][l] & 0xbf7fffffU) * as_float(in[1][l] & 0x3f7fffffU) * 4.0F) &
                  0xffffffffU;
         });
  expect("v_mov_b32 v2, 2.0\n v_add_f32_e64 v10, v2, 0 clamp",
         [](const auto&, unsigned) { return 0x3f800000U; });
  expect("v_mov_b32 v2, 0x7fc00000\n v_add_f32_e64 v10, v2, 0 clamp",
         [](const auto&, unsigned) { return 0U; }); // DX10_CLAMP
  expect("v_add_u32_e64 v10, v2, v3 clamp", [](const auto& in, unsigned l) {
    const std::uint64_t s = std::uint64_t{in[0][l]} + in[1][l];
    return s > 0xffffffffU ? 0xffffffffU : static_cast<std::uint32_t>(s);
  });
  expect("v_mad_u16 v10, v2, v3, v4 op_sel:[1,0,1,1]", [](const auto& in, unsigned l) {
    return (old & 0xffffU) | ((((in[0][l] >> 16) * (in[1][l] & 0xffff) + (in[2][l] >> 16)) & 0xffffU) << 16);
  });
  expect("v_pk_add_u16 v10, v2, v3 op_sel:[1,0] op_sel_hi:[0,1]", [](const auto& in, unsigned l) {
    return (((in[0][l] >> 16) + in[1][l]) & 0xffffU) |
           ((((in[0][l] & 0xffff) + (in[1][l] >> 16)) & 0xffffU) << 16);
  });
  expect("s_mov_b32 exec_lo, 0xff00ff00\n s_mov_b32 exec_hi, 0x1\n v_mov_b32 v10, v2",
         [](const auto& in, unsigned l) { return ((0x1ff00ff00ULL >> l) & 1) != 0 ? in[0][l] : old; });
  expect("v_cmp_lt_i32 vcc, v2, v3\n v_cndmask_b32 v10, v2, v3, vcc", [](const auto& in, unsigned l) {
    return static_cast<std::uint32_t>(
        std::max(static_cast<std::int32_t>(in[0][l]), static_cast<std::int32_t>(in[1][l])));
  });
  expect(
      "v_add_co_u32 v5, vcc, v2, v3\n v_addc_co_u32 v10, vcc, v4, v4, vcc",
      [](const auto& in, unsigned l) { return in[2][l] * 2 + ((std::uint64_t{in[0][l]} + in[1][l]) >> 32); });
}

TEST_CASE("lane access and index mode") {
  expect("v_readlane_b32 s20, v2, 37\n s_nop 4\n v_mov_b32 v10, s20",
         [](const auto& in, unsigned) { return in[0][37]; });
  expect("s_mov_b64 exec, 0xf0\n v_readfirstlane_b32 s20, v2\n s_mov_b64 exec, -1\n v_mov_b32 v10, s20",
         [](const auto& in, unsigned) { return in[0][4]; });
  expect("s_movk_i32 s20, 77\n v_writelane_b32 v10, s20, 9",
         [](const auto&, unsigned l) { return l == 9 ? 77U : old; });
  expect("s_movk_i32 s20, 2\n s_set_gpr_idx_on s20, gpr_idx(SRC0)\n v_mov_b32 v10, v2\n s_set_gpr_idx_off",
         [](const auto& in, unsigned l) { return in[2][l]; });
  expect("s_movk_i32 s20, 8\n s_set_gpr_idx_on s20, gpr_idx(DST)\n v_mov_b32 v2, v3\n s_set_gpr_idx_off",
         [](const auto& in, unsigned l) { return in[1][l]; });
  expect("v_accvgpr_write_b32 a3, v2\n s_nop 1\n v_accvgpr_read_b32 v10, a3",
         [](const auto& in, unsigned l) { return in[0][l]; });
  expect(
      "v_mov_b32 v10, v2\n v_permlane32_swap_b32 v10, v3",
      [](const auto& in, unsigned l) { return l < 32 ? in[0][l] : in[1][l - 32]; }, isa::Arch::gfx950);
  expect(
      "v_mov_b32 v10, v2\n v_permlane16_swap_b32 v10, v3",
      [](const auto& in, unsigned l) { return (l & 16) == 0 ? in[0][l] : in[1][l - 16]; }, isa::Arch::gfx950);
  expect("v_mbcnt_lo_u32_b32 v10, -1, 0\n v_mbcnt_hi_u32_b32 v10, -1, v10",
         [](const auto&, unsigned l) { return l; });
}

TEST_CASE("LDS instructions") {
  const std::string put = "ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n";
  expect(put + "ds_read_b32 v10, v1", [](const auto& in, unsigned l) { return in[0][l]; });
  expect(put + "v_xor_b32 v5, 0xfc, v1\n ds_read_b32 v10, v5",
         [](const auto& in, unsigned l) { return in[0][63 - l]; });
  expect(put + "ds_read_u8 v10, v1 offset:1",
         [](const auto& in, unsigned l) { return (in[0][l] >> 8) & 0xff; });
  expect(put + "ds_read_i16 v10, v1 offset:2", [](const auto& in, unsigned l) {
    return static_cast<std::uint32_t>(static_cast<std::int16_t>(in[0][l] >> 16));
  });
  expect(put + "ds_read_u16_d16_hi v10, v1",
         [](const auto& in, unsigned l) { return (old & 0xffffU) | (in[0][l] << 16); });
  expect("ds_write2st64_b32 v1, v2, v3 offset0:1 offset1:3\n s_waitcnt lgkmcnt(0)\n ds_read2st64_b32 v[6:7], "
         "v1 offset0:1 offset1:3\n s_waitcnt lgkmcnt(0)\n v_sub_u32 v10, v6, v7",
         [](const auto& in, unsigned l) { return in[0][l] - in[1][l]; });
  expect("v_lshlrev_b32 v5, 4, v0\n v_mov_b32 v6, v2\n v_mov_b32 v7, v3\n v_mov_b32 v8, v4\n v_mov_b32 v9, "
         "5\n ds_write_b128 v5, v[6:9]\n s_waitcnt lgkmcnt(0)\n ds_read_b32 v10, v5 offset:8",
         [](const auto& in, unsigned l) { return in[2][l]; });
  expect("v_and_b32 v5, 0xfc, v3\n ds_bpermute_b32 v10, v5, v2",
         [](const auto& in, unsigned l) { return in[0][(in[1][l] & 0xfc) / 4]; });
  expect("v_xor_b32 v5, 0x7c, v1\n ds_permute_b32 v10, v5, v2",
         [](const auto& in, unsigned l) { return in[0][l ^ 31]; });
  expect("ds_swizzle_b32 v10, v2 offset:swizzle(BITMASK_PERM,\"01pi0\")", [](const auto& in, unsigned l) {
    const unsigned i = l & 31; // mask letters from the top: 0 clears, 1 sets, p keeps, i inverts
    const unsigned from = 8 | (i & 4) | (~i & 2);
    return in[0][(l & 32) | from];
  });
  expect("ds_swizzle_b32 v10, v2 offset:swizzle(QUAD_PERM,3,1,0,2)", [](const auto& in, unsigned l) {
    constexpr unsigned p[] = {3, 1, 0, 2};
    return in[0][(l & ~3U) + p[l & 3]];
  });
  expect("ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n ds_add_rtn_u32 v5, v1, v3\n s_waitcnt lgkmcnt(0)\n "
         "ds_read_b32 v6, v1\n s_waitcnt lgkmcnt(0)\n v_xor_b32 v10, v5, v6",
         [](const auto& in, unsigned l) { return in[0][l] ^ (in[0][l] + in[1][l]); });
  expect("v_mov_b32 v5, 0\n v_mov_b32 v6, 0\n ds_write_b32 v5, v6\n s_waitcnt lgkmcnt(0)\n ds_add_u32 v5, "
         "v2\n s_waitcnt lgkmcnt(0)\n ds_read_b32 v10, v5",
         [](const auto& in, unsigned) {
           std::uint32_t s = 0;
           for (const std::uint32_t x : in[0]) s += x;
           return s;
         });
  expect("ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n ds_cmpst_rtn_b32 v5, v1, v2, v3\n s_waitcnt "
         "lgkmcnt(0)\n ds_read_b32 v10, v1",
         [](const auto& in, unsigned l) { return in[1][l]; });
}

TEST_CASE("transposing LDS reads") {
  // Each group of 16 lanes holds rows of 16 elements; lane l receives column l, row by row.
  const std::string put = "v_lshlrev_b32 v5, 3, v0\n v_mov_b32 v6, v2\n v_mov_b32 v7, v3\n ds_write_b64 v5, "
                          "v[6:7]\n s_waitcnt lgkmcnt(0)\n";
  const auto element = [](const auto& in, unsigned group, unsigned index,
                          unsigned bits) { // of 1024 bits a group, in memory order
    const unsigned at = index * bits;
    const unsigned word = at / 32;
    return ((word % 2 == 0 ? in[0] : in[1])[group * 16 + word / 2] >> (at % 32)) & ((1U << bits) - 1);
  };
  expect(
      put + "ds_read_b64_tr_b16 v[8:9], v5\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v10, v9",
      [&](const auto& in, unsigned l) {
        return element(in, l / 16, 2 * 16 + l % 16, 16) | (element(in, l / 16, 3 * 16 + l % 16, 16) << 16);
      },
      isa::Arch::gfx950);
  expect(
      put + "ds_read_b64_tr_b8 v[8:9], v5\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v10, v8",
      [&](const auto& in, unsigned l) {
        std::uint32_t v = 0;
        for (unsigned k = 0; k < 4; ++k) v |= element(in, l / 16, k * 16 + l % 16, 8) << (8 * k);
        return v;
      },
      isa::Arch::gfx950);
}

TEST_CASE("buffer range rules") {
  expect("buffer_load_dword v10, v1, s[4:7], 0 offen", [](const auto& in, unsigned l) { return in[0][l]; });
  expect("s_movk_i32 s6, 0x82\n s_nop 4\n buffer_load_dword v10, v1, s[4:7], 0 offen",
         [](const auto& in, unsigned l) { return l < 32 ? in[0][l] : 0U; });
  expect("buffer_load_dword v10, v1, s[4:7], 0 offen offset:4",
         [](const auto& in, unsigned l) { return l < 63 ? in[0][l + 1] : 0U; });
  // Each word of a wide load is judged on its own.
  expect("buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen\n s_waitcnt vmcnt(0)\n v_mov_b32 v10, v11",
         [](const auto& in, unsigned l) { return l < 61 ? in[0][l + 3] : 0U; });
  expect("v_mov_b32 v5, -4\n buffer_load_dword v10, v5, s[4:7], 0 offen",
         [](const auto&, unsigned) { return 0U; });
  expect("v_mov_b32 v5, -4\n buffer_load_dword v10, v5, s[4:7], 0 offen offset:8",
         [](const auto& in, unsigned) { return in[0][1]; });
  // Structured: records are counted, the offset within one is not.
  expect("s_or_b32 s5, s5, 0x80000\n s_movk_i32 s6, 20\n v_and_b32 v5, 0x3ff, v0\n s_nop 4\n "
         "buffer_load_dword v10, v5, s[4:7], 0 idxen offset:4",
         [](const auto& in, unsigned l) { return l < 20 ? in[0][2 * l + 1] : 0U; });
  expect("s_mov_b32 m0, 0\n s_nop 4\n buffer_load_dword v1, s[4:7], 0 offen lds\n s_waitcnt vmcnt(0)\n "
         "ds_read_b32 v10, v1",
         [](const auto& in, unsigned l) { return in[0][l]; });
  expect("buffer_load_ubyte v10, v1, s[4:7], 0 offen offset:3",
         [](const auto& in, unsigned l) { return in[0][l] >> 24; });
  expect("buffer_atomic_add v3, v1, s[4:7], 0 offen sc0\n s_waitcnt vmcnt(0)\n buffer_load_dword v5, v1, "
         "s[4:7], 0 offen\n s_waitcnt vmcnt(0)\n v_sub_u32 v10, v5, v3",
         [](const auto& in, unsigned l) { return in[1][l]; });
}

TEST_CASE("flat, global and scratch") {
  expect("scratch_store_dword off, v2, off offset:8\n s_waitcnt vmcnt(0)\n scratch_load_dword v10, off, off "
         "offset:8",
         [](const auto& in, unsigned l) { return in[0][l]; });
  expect("ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v6, v1\n v_mov_b32 v7, src_shared_base\n "
         "flat_load_dword v10, v[6:7]",
         [](const auto& in, unsigned l) { return in[0][l]; });
  // The offset wraps inside of the aperture: the register's high half alone says which memory it is.
  expect(
      "ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n v_add_u32 v6, -16, v1\n v_mov_b32 v7, src_shared_base\n "
      "flat_load_dword v10, v[6:7] offset:16",
      [](const auto& in, unsigned l) { return in[0][l]; });
  expect("v_mov_b32 v6, 4\n v_mov_b32 v7, src_private_base\n scratch_store_dword off, v3, off offset:4\n "
         "s_waitcnt vmcnt(0)\n flat_load_dword v10, v[6:7]",
         [](const auto& in, unsigned l) { return in[1][l]; });
  expect("global_load_short_d16_hi v10, v1, s[8:9] offset:2",
         [](const auto& in, unsigned l) { return (old & 0xffffU) | (in[0][l] & 0xffff0000U); });
  expect("global_load_sbyte v10, v1, s[8:9]", [](const auto& in, unsigned l) {
    return static_cast<std::uint32_t>(static_cast<std::int8_t>(in[0][l]));
  });
  expect("v_mov_b32 v5, 0\n v_mov_b32 v6, 1.0\n global_store_dword v5, v5, s[10:11]\n s_waitcnt vmcnt(0)\n "
         "global_atomic_add_f32 v5, v6, s[10:11]\n s_waitcnt vmcnt(0)\n global_load_dword v10, v5, s[10:11]",
         [](const auto&, unsigned) { return as_bits(64.0F); });
  expect("global_atomic_umax v5, v1, v3, s[8:9] sc0\n s_waitcnt vmcnt(0)\n global_load_dword v6, v1, "
         "s[8:9]\n s_waitcnt vmcnt(0)\n v_xor_b32 v10, v5, v6",
         [](const auto& in, unsigned l) { return in[0][l] ^ std::max(in[0][l], in[1][l]); });
}

TEST_CASE("scalar instructions") {
  const auto scalar = [](const std::string& body, std::uint32_t want) {
    expect(body + "\n v_mov_b32 v10, s20", [want](const auto&, unsigned) { return want; });
  };
  scalar("s_mov_b32 s21, 0x7fffffff\n s_add_i32 s21, s21, 1\n s_cselect_b32 s20, 1, 2", 1);
  scalar("s_mov_b32 s21, -1\n s_add_u32 s21, s21, 1\n s_addc_u32 s20, 5, 6", 12);
  scalar("s_mov_b32 s21, 3\n s_sub_u32 s21, s21, 4\n s_subb_u32 s20, 9, 4", 4);
  scalar("s_mov_b32 s21, 0xf0\n s_bfe_u32 s20, s21, 0x40004", 15);
  scalar("s_mov_b32 s21, 0xf0\n s_bfe_i32 s20, s21, 0x40004", 0xffffffffU);
  scalar("s_mov_b64 s[22:23], 0xff00\n s_ff1_i32_b64 s20, s[22:23]", 8);
  scalar("s_mov_b32 s21, 0x00f00000\n s_flbit_i32_b32 s20, s21", 8);
  scalar("s_bfm_b32 s20, 5, 3", 0xf8);
  scalar("s_mov_b32 s21, 0x80000000\n s_mul_hi_u32 s20, s21, 6", 3);
  scalar("s_mov_b32 s21, -7\n s_abs_i32 s20, s21", 7);
  scalar("s_movk_i32 s20, -3\n s_mulk_i32 s20, 5", 0xfffffff1U);
  scalar("s_mov_b64 s[22:23], 0x55\n s_and_saveexec_b64 s[24:25], s[22:23]\n s_mov_b32 s20, exec_lo\n "
         "s_mov_b64 exec, s[24:25]",
         0x55);
  scalar("s_lshl4_add_u32 s20, 3, 2", 50);
  scalar("s_mov_b32 s21, 0xabcd1234\n s_pack_hh_b32_b16 s20, s21, s21", 0xabcdabcdU);
  scalar("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5\n s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 4)\n "
         "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
         5);
  scalar("s_getpc_b64 s[22:23]\n s_add_u32 s22, s22, 16\n s_addc_u32 s23, s23, 0\n s_setpc_b64 s[22:23]\n "
         "s_mov_b32 s20, 1\n s_mov_b32 s20, 2\n",
         2);
  scalar("s_movk_i32 s20, 0\n s_movk_i32 s21, 5\nagain:\n s_add_u32 s20, s20, s21\n s_sub_u32 s21, s21, 1\n "
         "s_cmp_lg_u32 s21, 0\n s_cbranch_scc1 again",
         15);
}

TEST_CASE("state at the start of a wave") {
  EmulatorDevice device(isa::Arch::gfx942);
  // Two workgroups in y and z, work-items 4 x 8 x 4: each stores id.x | id.y << 10 | id.z << 20, and its workgroup.
  const auto object =
      kernel(R"(
    s_load_dwordx2 s[8:9], s[0:1], 0x0
    v_bfe_u32 v1, v0, 0, 10
    v_bfe_u32 v2, v0, 10, 10
    v_bfe_u32 v3, v0, 20, 10
    v_lshl_add_u32 v4, v3, 3, v2
    v_lshl_add_u32 v4, v4, 2, v1
    s_lshl_b32 s5, s4, 1
    s_add_u32 s5, s5, s3
    s_lshl_b32 s5, s5, 10
    v_lshlrev_b32 v4, 3, v4
    v_add_u32 v4, s5, v4
    v_mov_b32 v5, v0
    s_lshl_b32 s6, s3, 8
    s_or_b32 s6, s6, s4
    v_mov_b32 v6, s6
    s_waitcnt lgkmcnt(0)
    global_store_dword v4, v5, s[8:9]
    global_store_dword v4, v6, s[8:9] offset:4
    s_endpgm)",
             isa::Arch::gfx942,
             {.workitem_dimensions = 2,
              .extra = ".amdhsa_system_sgpr_workgroup_id_y 1\n.amdhsa_system_sgpr_workgroup_id_z 1"});
  const DevicePointer out = device.allocate(4096);
  run(device, object, {.grid = {1, 2, 2}, .block = {4, 8, 4}}, Arguments().pointer(out).bytes());
  const auto got = download<std::uint32_t>(device, out, 1024);
  for (std::uint32_t g = 0; g < 4; ++g) {
    for (std::uint32_t t = 0; t < 128; ++t) {
      CHECK(got[g * 256 + t * 2] == (t % 4 | (t / 4 % 8) << 10 | (t / 32) << 20));
      CHECK(got[g * 256 + t * 2 + 1] == (g % 2) * 256 + g / 2);
    }
  }
}

TEST_CASE("what cannot be executed is an error that names it", "[error]") {
  EmulatorDevice device(isa::Arch::gfx942, {.max_wave_instructions = 100000});
  CHECK_THROWS_WITH(
      run(device, kernel(".long 0xffffffff\n s_endpgm", isa::Arch::gfx942), {.grid = {1}, .block = {64}}, {}),
      Catch::Contains("no instruction"));
  CHECK_THROWS_WITH(
      run(device, kernel("s_rfe_b64 s[4:5]\n s_endpgm", isa::Arch::gfx942), {.grid = {1}, .block = {64}}, {}),
      Catch::Contains("s_rfe_b64"));
  CHECK_THROWS_WITH(
      run(device, kernel("forever:\n s_branch forever", isa::Arch::gfx942), {.grid = {1}, .block = {64}}, {}),
      Catch::Contains("endless"));
  // A grid barrier: the first workgroup waits for the second, which is there beside it; alone it waits for ever.
  const std::string barrier = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\n"
                              "s_waitcnt lgkmcnt(0)\nglobal_atomic_add v3, v1, v2, s[4:5] sc0\npoll:\n"
                              "global_load_dword v3, v1, s[4:5] sc1\ns_waitcnt vmcnt(0)\n"
                              "v_cmp_gt_u32 vcc, 0x80, v3\ns_cbranch_vccnz poll\ns_endpgm\n";
  const auto meet = [&](std::uint32_t workgroups) {
    const DevicePointer count = upload(device, std::vector<std::uint32_t>(1));
    run(device, kernel(barrier, isa::Arch::gfx942), {.grid = {workgroups}, .block = {64}},
        Arguments().pointer(count).bytes());
  };
  CHECK_NOTHROW(meet(2));
  CHECK_THROWS_WITH(meet(1), Catch::Contains("spin without end") && Catch::Contains("holds 0x00000040") &&
                                 Catch::Contains("global_load_dword v3"));
  // Not of a loop that reads none, whatever the code around it reads.
  CHECK_THROWS_WITH(run(device,
                        kernel("s_load_dword s4, s[0:1], 0x0\nforever:\n s_branch forever\ns_load_dword s4, "
                               "s[0:1], 0x0\ns_endpgm",
                               isa::Arch::gfx942),
                        {.grid = {1}, .block = {64}}, {}),
                    !Catch::Contains("polls"));
  CHECK_THROWS_WITH(run(device, kernel("s_nop 0", isa::Arch::gfx942), {.grid = {1}, .block = {64}}, {}),
                    Catch::Contains("at     0x"));
  device.options().checks = Checks::none();
  CHECK_THROWS_WITH(
      run(device,
          kernel("v_mov_b32 v2, 0\n v_mov_b32 v3, 0\n global_load_dword v4, v[2:3], off\n s_endpgm",
                 isa::Arch::gfx942),
          {.grid = {1}, .block = {64}}, {}),
      Catch::Contains("memory fault"));
  CHECK_THROWS_AS(device.load(CodeObject::parse(kernel("s_endpgm", isa::Arch::gfx950))), DeviceError);
}

TEST_CASE("the arithmetic of matrix instructions is an option of the launch") {
  // Products 2^22, 1/4 four times, -2^22 in one group of eight k: in order each quarter is rounded away, on CDNA3 none is.
  const auto object = kernel(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0
  v_mov_b32 v6, 0x34003400
  v_mov_b32 v7, 0xe8003400
  v_mov_b32 v8, 0x3c003c00
  v_mov_b32 v9, 0x68003c00
  v_cmp_gt_u32 vcc, 32, v0
  s_nop 1
  v_cndmask_b32 v2, v2, v6, vcc
  v_cndmask_b32 v3, v3, v7, vcc
  v_cndmask_b32 v4, v4, v8, vcc
  v_cndmask_b32 v5, v5, v9, vcc
  v_mov_b32 v6, 0x6800
  v_mov_b32 v7, 0x34000000
  v_mov_b32 v9, 0x3c000000
  v_cmp_gt_u32 vcc, 16, v0
  s_nop 1
  v_cndmask_b32 v2, v2, v6, vcc
  v_cndmask_b32 v3, v3, v7, vcc
  v_cndmask_b32 v4, v4, v6, vcc
  v_cndmask_b32 v5, v5, v9, vcc
  s_nop 7
  v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[4:5], 0
  s_nop 15
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v12, s[4:5]
  s_endpgm
)",
                             isa::Arch::gfx942);
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  const DevicePointer out = device.allocate(256);
  const Module module = device.load(CodeObject::parse(object));
  const Function function = device.function(module, "k");
  const auto run_with = [&](MatrixArithmetic matrix) {
    device.options().matrix = matrix;
    device.launch(function, {.grid = {1}, .block = {64}}, Arguments().pointer(out).bytes());
    CHECK(all(device.last_launch().findings).empty());
    return download<float>(device, out, 64)[0];
  };
  CHECK(run_with(MatrixArithmetic::sequential) == 0.0F);
  CHECK(run_with(MatrixArithmetic::cdna3) == 1.0F);
  CHECK(run_with(MatrixArithmetic::sequential) == 0.0F); // the same module again
  CHECK(parse_matrix_arithmetic("cdna3") == MatrixArithmetic::cdna3);
  CHECK_THROWS_WITH(parse_matrix_arithmetic("exact"), Catch::Contains("sequential, cdna3"));
}

TEST_CASE("a load is done when its counter cannot count another") {
  // The first of n loads is used without a wait. vmcnt counts 63 and lgkmcnt 15: with one more issued it has come back.
  const auto findings = [](const std::string& one, unsigned first_register, unsigned loads) {
    std::string text = "s_load_dwordx2 s[2:3], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0\n"
                       "ds_write_b32 v1, v2\ns_waitcnt lgkmcnt(0)\n";
    for (unsigned i = 0; i < loads; ++i)
      text += one + " v" + std::to_string(first_register + i) + ", v1" +
              (one.starts_with("ds") ? "" : ", s[2:3]") + "\n";
    text +=
        "v_mov_b32 v3, v" + std::to_string(first_register) + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n";
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
    const DevicePointer in = upload(device, std::vector<std::uint32_t>(64, 5));
    return run(device, kernel(text, isa::Arch::gfx942, {.lds = 256, .vgprs = 128, .accum_offset = 128}),
               {.grid = {1}, .block = {64}}, Arguments().pointer(in).bytes())
        .findings;
  };
  for (const unsigned loads : {1U, 2U, 14U, 15U, 16U, 17U, 62U, 63U, 64U, 65U, 90U}) {
    INFO(loads << " loads");
    CHECK(findings("global_load_dword", 10, loads).empty() == (loads > 63));
    CHECK(findings("ds_read_b32", 10, loads).empty() == (loads > 15));
  }
}

} // namespace emulator_wave_test
