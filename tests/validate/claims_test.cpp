// Addresses of machine code against claims about buffers and views.
#include "emulator_support.h"

#include <inlay/kernels/validate/claims.h>

using namespace inlay::runtime;
using namespace inlay::kernels::validate;
using symbolic::Verdict;

namespace {

/// A kernel with arguments in (8), out (8), n (4), k (4); s2 is the workgroup.
std::vector<ClaimResult> check(const std::string& body, const std::string& claims, unsigned threads = 128) {
  const std::string text =
      ".text\n.globl f\n.p2align 8\n.type f,@function\nf:\n" + body +
      "s_endpgm\n.Lend:\n.size f, .Lend-f\n.rodata\n.p2align 6\n.amdhsa_kernel "
      "f\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
      ".amdhsa_kernarg_size 24\n.amdhsa_next_free_vgpr 32\n.amdhsa_accum_offset 32\n.amdhsa_next_free_sgpr "
      "64\n.end_amdhsa_kernel\n"
      ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: f\n    .symbol: f.kd\n"
      "    .kernarg_segment_size: 24\n    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n"
      "    .kernarg_segment_align: 8\n    .wavefront_size: 64\n    .sgpr_count: 64\n    .vgpr_count: 32\n"
      "    .max_flat_workgroup_size: 256\n    .args:\n"
      "      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}\n"
      "      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}\n"
      "      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}\n"
      "      - {.name: k, .offset: 20, .size: 4, .value_kind: by_value}\n...\n.end_amdgpu_metadata\n";
  const auto object = CodeObject::parse(isa::assemble_code_object(text, isa::Arch::gfx942));
  const Kernel& kernel = object.kernel("f");
  symbolic::OrderOptions options;
  options.block = {threads};
  const auto report = symbolic::check_order(object, kernel, options, true);
  const auto& section = object.sections()[kernel.section];
  const auto program = isa::decode(section.bytes, section.address, isa::Arch::gfx942);
  std::string full = claims;
  // @0, @1: addresses of the memory instructions in order.
  std::size_t n = 0;
  for (const auto& i : program.instructions) {
    if (!i.mnemonic.starts_with("global_") && !i.mnemonic.starts_with("buffer_")) continue;
    const std::string mark = "@" + std::to_string(n++);
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(i.address));
    for (auto at = full.find(mark); at != std::string::npos; at = full.find(mark))
      full.replace(at, mark.size(), hex);
  }
  return check_claims(report, program, Claims::parse(full));
}

const std::string load_arguments =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dwordx2 s[8:9], s[0:1], 0x10\ns_waitcnt lgkmcnt(0)\n";
/// v1 = (128 workgroup + thread) * 4
const std::string element =
    load_arguments + "s_lshl_b32 s10, s2, 7\nv_add_u32_e32 v1, s10, v0\nv_lshlrev_b32_e32 v1, 2, v1\n";

Verdict only(const std::vector<ClaimResult>& r) {
  REQUIRE(r.size() == 1);
  INFO(r[0].claim << ": " << r[0].message);
  CHECK(!r[0].message.empty());
  return r[0].verdict;
}

} // namespace

TEST_CASE("accesses stay inside their buffers for all sizes") {
  const std::string load = "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
  // As many workgroups as whole blocks: inside. One more: not.
  CHECK(only(check(element + load, "where n <= 1000000\ngrid n / 128\nbuffer in 4*n\n")) ==
        Verdict::validated);
  CHECK(only(check(element + load, "where n <= 1000000\ngrid (n + 127) / 128\nbuffer in 4*n\n")) ==
        Verdict::refuted);
  CHECK(only(check(element + load, "buffer out 4*n\n")) == Verdict::undecided); // nothing is said of `in`
  // A descriptor's range.
  const std::string buffer = "s_mov_b64 s[12:13], s[4:5]\ns_lshl_b32 s14, s8, 2\ns_mov_b32 s15, "
                             "0x20000\nbuffer_load_dword v2, v1, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\n";
  CHECK(only(check(element + buffer, "where n <= 1000000\nbuffer in 4*n\n")) == Verdict::validated);
  CHECK(only(check(element + buffer, "where n <= 1000000\nbuffer in 4*n - 4\n")) == Verdict::refuted);
}

TEST_CASE("an instruction accesses what a view says") {
  const std::string load = "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
  const std::string facts = "where n <= 1000000\ngrid n / 128\n";
  CHECK(only(check(element + load, facts + "access @0 in 4*(128*workgroup_x + 64*wave + lane)\n")) ==
        Verdict::validated);
  CHECK(only(check(element + load, facts + "access @0 in 4*(128*workgroup_x + 64*wave + lane) + 4\n")) ==
        Verdict::refuted);
  CHECK(only(check(element + load, facts + "access @0 in 4*(128*workgroup_x + 64*wave + 63 - lane)\n")) ==
        Verdict::refuted);
  CHECK(only(check(element + load, facts + "access @0 in 4*(256*workgroup_x + 64*wave + lane)\n")) ==
        Verdict::refuted);
  CHECK(only(check(element + load, facts + "access @0 out 4*(128*workgroup_x + 64*wave + lane)\n")) ==
        Verdict::refuted);
  // 512 bytes further each trip, any number of trips.
  const std::string loop =
      "v_mov_b32_e32 v3, 0\ns_mov_b32 s16, 0\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 done\nloop:\n"
      "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_f32_e32 v3, v3, v2\n"
      "s_add_u32 s4, s4, 0x200\ns_addc_u32 s5, s5, 0\ns_add_i32 s16, s16, 1\ns_cmp_lg_u32 s16, "
      "s8\ns_cbranch_scc1 loop\ndone:\n";
  const std::string sizes = "where workgroup_x <= 1000\ntrips 100000\n";
  CHECK(only(check(element + loop,
                   sizes + "access @0 in 4*(128*workgroup_x + 64*wave + lane) + 512*visit\n")) ==
        Verdict::validated);
  CHECK(only(check(element + loop,
                   sizes + "access @0 in 4*(128*workgroup_x + 64*wave + lane) + 512*visit + 4\n")) ==
        Verdict::refuted);
  CHECK(only(check(element + loop,
                   sizes + "access @0 in 4*(128*workgroup_x + 64*wave + lane) + 256*visit\n")) ==
        Verdict::refuted);
}

TEST_CASE("addresses that are quotients and remainders by an argument") {
  // v8 = x / k and v9 = x mod k of x = 128 workgroup + thread, as compilers divide; 4 times that is the offset
  // of four lanes: each is a question of its own.
  const std::string divide =
      load_arguments +
      "s_lshl_b32 s10, s2, 7\nv_add_u32_e32 v1, s10, v0\nv_cvt_f32_u32_e32 v2, s9\nv_rcp_iflag_f32_e32 v2, "
      "v2\n"
      "v_mul_f32_e32 v2, 0x4f7ffffe, v2\nv_cvt_u32_f32_e32 v2, v2\ns_sub_i32 s11, 0, s9\nv_mul_lo_u32 v3, "
      "s11, v2\n"
      "v_mul_hi_u32 v3, v2, v3\nv_add_u32_e32 v2, v2, v3\nv_mul_hi_u32 v8, v1, v2\nv_mul_lo_u32 v3, v8, s9\n"
      "v_sub_u32_e32 v9, v1, v3\n";
  const std::string correct =
      "v_add_u32_e32 v4, 1, v8\nv_subrev_u32_e32 v5, s9, v9\nv_cmp_le_u32_e32 vcc, s9, v9\n"
      "v_cndmask_b32_e32 v8, v8, v4, vcc\nv_cndmask_b32_e32 v9, v9, v5, vcc\n";
  const auto load = [](const std::string& row) {
    return "s_mov_b64 exec, 15\nv_lshlrev_b32_e32 v1, 2, " + row +
           "\nglobal_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
  };
  const std::string facts = "where n <= 1000000 && k <= 1000\ngrid n / 128\n",
                    some = facts + "where k >= 1\n";
  const std::string x = "(128*workgroup_x + 64*wave + lane)";
  const std::string quotient = divide + correct + correct + load("v8"),
                    rest = divide + correct + correct + load("v9");
  CHECK(only(check(quotient, some + "access @0 in 4*(" + x + " / k)\n", 64)) == Verdict::validated);
  CHECK(only(check(rest, some + "access @0 in 4*(" + x + " % k)\n", 64)) == Verdict::validated);
  CHECK(only(check(rest, some + "buffer in 4*k\n", 64)) == Verdict::validated);
  // Another divisor, another dividend; a divisor that may be 0; one correction too few.
  CHECK(only(check(quotient, some + "access @0 in 4*(" + x + " / (k + 1))\n", 64)) == Verdict::refuted);
  CHECK(only(check(quotient, some + "access @0 in 4*((" + x + " + 1) / k)\n", 64)) == Verdict::refuted);
  CHECK(only(check(rest, some + "buffer in 4*k - 4\n", 64)) == Verdict::refuted);
  CHECK(only(check(quotient, facts + "access @0 in 4*(" + x + " / k)\n", 64)) == Verdict::undecided);
  CHECK(only(check(divide + correct + load("v8"), some + "access @0 in 4*(" + x + " / k)\n")) ==
        Verdict::undecided);
  CHECK(only(check(divide + correct + load("v9"), some + "buffer in 4*k\n", 64)) == Verdict::undecided);
}

TEST_CASE("claims that cannot be read") {
  for (const char* text : {"buffer\n", "buffer a\n", "access 0x10 a\n", "access xyz a 4\n",
                           "grid 1, 2, 3, 4\n", "grid 1,,2\n", "what is this\n", "where\n", "trips many\n"})
    CHECK_THROWS_AS(Claims::parse(text), std::invalid_argument);
  const Claims c = Claims::parse("# nothing\n\nwhere n > 0 # always\ngrid (n + 1) / 2, min(n, 4)\nbuffer a "
                                 "2*n\naccess 0x1f a 2*lane\ntrips 7\n");
  CHECK(c.where == std::vector<std::string>{"n > 0"});
  CHECK(c.grid[1] == " min(n, 4)");
  CHECK(c.buffers[0].bytes == "2*n");
  CHECK(c.accesses[0].address == 0x1f);
  CHECK(c.trips == 7U);
}
