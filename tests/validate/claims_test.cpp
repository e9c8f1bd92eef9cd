// Addresses of machine code against claims about buffers and views.
#include "claimed_kernel.h"

#include <inlay/validate/claims.h>

#include <functional>

namespace claims_test {

using namespace inlay::runtime;
using namespace inlay::kernels::validate;
using symbolic::Verdict;

namespace {

using claimed::element, claimed::load_arguments;

CodeObject built(const std::string& body) { return CodeObject::parse(claimed::kernel(body)); }
std::vector<ClaimResult> check(const std::string& body, const std::string& claims, unsigned threads = 128) {
  const auto object = built(body);
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
    const bool scalar = i.format == isa::Format::smem && !i.text.ends_with("s[0:1], 0x0") &&
                        !i.text.ends_with("s[0:1], 0x10");
    if (!i.mnemonic.starts_with("global_") && !i.mnemonic.starts_with("buffer_") && !scalar) continue;
    const std::string mark = "@" + std::to_string(n++);
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(i.address));
    for (auto at = full.find(mark); at != std::string::npos; at = full.find(mark))
      full.replace(at, mark.size(), hex);
  }
  return check_claims(report, program, kernel, Claims::parse(full));
}

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

TEST_CASE("facts that no launch satisfies are refused by name: everything would be so of none") {
  const std::string load = element + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
  const auto refused = [&](const std::string& claims, const std::string& why) {
    CAPTURE(claims);
    CHECK_THROWS_WITH(check(load, claims + "buffer in 4*n\n"), Catch::Matchers::StartsWith("claims: " + why));
  };
  refused("where n <= 100\nwhere n >= 200\ngrid n / 128\n", "no numbers satisfy the lines 'where'");
  refused("where n % 4 == 0\nwhere n == 6\n", "no numbers satisfy the lines 'where'");
  refused("where n < 0\n", "no numbers satisfy the lines 'where'"); // words have no sign
  refused("where n >= 4294967296\n", "no numbers satisfy the lines 'where'");
  refused("grid 0\n", "a size of the grid is below 1");
  refused("grid n / 128, 0\n", "a size of the grid is below 1");
  refused("where n <= 127\ngrid n / 128\n", "a size of the grid is below 1");
  refused("where n <= 127\ngrid 4, n - 200\n", "a size of the grid is below 1");
  CHECK_NOTHROW(check(load, "where n <= 128\ngrid n / 128\nbuffer in 4*n\n"));
  CHECK_NOTHROW(check(load, "where n == 0\nbuffer in 4*n\n"));
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

TEST_CASE("every kind of access is held against its buffer: inside, and outside by one byte") {
  const std::string facts = "where n >= 1 && n <= 1000\ngrid n\nbuffer in ";
  const auto both = [&](const std::string& code, const std::string& bytes) {
    INFO(code << " against " << bytes);
    CHECK(only(check(code, facts + bytes + "\n", 64)) == Verdict::validated);
    CHECK(only(check(code, facts + bytes + " - 1\n", 64)) == Verdict::refuted);
    CHECK(only(check(code, facts + "0\n", 64)) == Verdict::refuted);
    CHECK(only(check(code, "buffer out 4*n\n", 64)) == Verdict::undecided);
  };
  // Lanes: the last begins at 252.
  const std::string lane = load_arguments + "v_lshlrev_b32_e32 v1, 2, v0\n";
  struct Kind {
    const char* text;
    unsigned bytes;
  };
  for (const Kind& k : {Kind{"global_load_ubyte v2, v1, s[4:5]", 1},
                        {"global_load_short_d16_hi v2, v1, s[4:5]", 2},
                        {"global_load_dword v2, v1, s[4:5]", 4},
                        {"global_load_dwordx3 v[2:4], v1, s[4:5]", 12},
                        {"global_load_dwordx4 v[2:5], v1, s[4:5]", 16},
                        {"global_store_byte v1, v2, s[4:5]", 1},
                        {"global_store_short v1, v2, s[4:5]", 2},
                        {"global_store_dwordx4 v1, v[2:5], s[4:5]", 16},
                        {"global_atomic_add v1, v2, s[4:5]", 4},
                        {"global_atomic_add_f64 v1, v[2:3], s[4:5]", 8},
                        {"global_atomic_pk_add_f16 v1, v2, s[4:5]", 4},
                        {"global_atomic_cmpswap v1, v[2:3], s[4:5]", 4},
                        {"global_atomic_cmpswap_x2 v[6:7], v1, v[2:5], s[4:5] sc0", 8},
                        {"global_load_lds_dword v1, s[4:5]", 4}})
    both(lane + "s_mov_b32 m0, 0\n" + k.text + "\ns_waitcnt vmcnt(0)\n", std::to_string(252 + k.bytes));
  const std::string wide =
      "v_mov_b32_e32 v3, s5\nv_add_co_u32_e32 v2, vcc, s4, v1\nv_addc_co_u32_e32 v3, vcc, 0, v3, vcc\n";
  both(lane + wide + "global_load_dwordx2 v[4:5], v[2:3], off offset:8\ns_waitcnt vmcnt(0)\n", "268");
  // A descriptor that drops nothing.
  const std::string descriptor =
      "s_mov_b64 s[12:13], s[4:5]\ns_mov_b32 s14, 0x80000000\ns_mov_b32 s15, 0x20000\n";
  for (const Kind& k : {Kind{"buffer_load_ushort v2, v1, s[12:15], 0 offen", 2},
                        {"buffer_load_dwordx4 v[2:5], v1, s[12:15], 0 offen", 16},
                        {"buffer_store_dwordx2 v[2:3], v1, s[12:15], 0 offen", 8},
                        {"buffer_atomic_add_x2 v[2:3], v1, s[12:15], 0 offen", 8},
                        {"buffer_load_dword v1, s[12:15], 0 offen lds", 4}})
    both(lane + descriptor + "s_mov_b32 m0, 0\n" + k.text + "\ns_waitcnt vmcnt(0)\n",
         std::to_string(252 + k.bytes));
  // Scalars: the last workgroup begins at 64 n - 64.
  for (const Kind& k : {Kind{"s_load_dword s16, s[4:5], s11", 4},
                        {"s_load_dwordx2 s[16:17], s[4:5], s11", 8},
                        {"s_load_dwordx4 s[16:19], s[4:5], s11", 16},
                        {"s_load_dwordx8 s[16:23], s[4:5], s11", 32},
                        {"s_load_dwordx16 s[16:31], s[4:5], s11", 64},
                        {"s_load_dwordx2 s[16:17], s[4:5], s11 offset:0x10", 24},
                        {"s_load_dwordx2 s[4:5], s[4:5], s11", 8},
                        {"s_store_dwordx4 s[16:19], s[4:5], s11", 16},
                        {"s_atomic_add s16, s[4:5], s11", 4},
                        {"s_atomic_add_x2 s[16:17], s[4:5], s11", 8},
                        {"s_atomic_cmpswap s[16:17], s[4:5], s11", 4},
                        {"s_scratch_load_dwordx2 s[16:17], s[4:5], s2", 8},
                        {"s_buffer_load_dwordx4 s[16:19], s[12:15], s11", 16},
                        {"s_buffer_store_dwordx2 s[16:17], s[12:15], s11", 8}})
    both(load_arguments + descriptor + "s_and_b32 s13, s13, 0xffff\ns_lshl_b32 s11, s2, 6\n" + k.text +
             "\ns_waitcnt lgkmcnt(0)\n",
         "64*n - 64 + " + std::to_string(k.bytes));
  // A scalar load through a descriptor reads inside its range.
  const std::string ranged = load_arguments +
                             "s_mov_b64 s[12:13], s[4:5]\ns_lshl_b32 s14, s8, 2\ns_mov_b32 s15, 0x20000\n"
                             "s_buffer_load_dwordx4 s[16:19], s[12:15], s9\ns_waitcnt lgkmcnt(0)\n";
  const std::string aligned =
      load_arguments + "s_lshl_b32 s9, s9, 2\n" + ranged.substr(load_arguments.size());
  CHECK(only(check(aligned, facts + "4*n\n")) == Verdict::validated);
  CHECK(only(check(aligned, facts + "4*n - 4\n")) == Verdict::refuted);
  CHECK(only(check(ranged, facts + "4*n\n")) == Verdict::undecided); // the low two bits are dropped
}

TEST_CASE("accesses that are not followed are never validated") {
  const std::string facts = "where n >= 1 && n <= 1000\ngrid n\nbuffer in 1000000000000\n";
  const auto buffer = [&](const std::string& high, const std::string& word3, const std::string& access) {
    return element + "s_mov_b32 s12, s4\n" + high + "s_mov_b32 s14, -1\n" + word3 + access +
           "\ns_waitcnt vmcnt(0)\n";
  };
  const std::string plain = "s_mov_b32 s13, s5\n", strided = "s_or_b32 s13, s5, 0x100000\n";
  const std::string word = "s_mov_b32 s15, 0x20000\n", load = "buffer_load_dword v2, v1, s[12:15], 0 ";
  CHECK(only(check(buffer(plain, word, load + "offen"), facts)) == Verdict::validated);
  CHECK(only(check(buffer(plain, "s_mov_b32 s15, 0x820000\n", load + "offen"), facts)) ==
        Verdict::undecided); // ADD_TID
  CHECK(only(check(buffer(plain, "s_mov_b32 s15, s9\n", load + "offen"), facts)) == Verdict::undecided);
  CHECK(only(check(buffer(plain, word, load + "idxen"), facts)) == Verdict::undecided);
  const std::string scalar = "s_buffer_load_dword s16, s[12:15], 0x0\ns_waitcnt lgkmcnt(0)";
  CHECK(only(check(buffer(plain, word, scalar), facts)) == Verdict::validated);
  CHECK(only(check(buffer(strided, word, scalar), facts)) ==
        Verdict::undecided); // num_records counts strides
  // The pointer's low word with another's high word, a pointer from memory.
  CHECK(only(check(element + "s_mov_b32 s5, s7\nglobal_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n",
                   facts)) == Verdict::undecided);
  const auto chased = check(load_arguments + "s_load_dwordx2 s[12:13], s[4:5], 0x8\ns_waitcnt lgkmcnt(0)\n"
                                             "s_load_dword s16, s[12:13], 0x0\ns_waitcnt lgkmcnt(0)\n",
                            facts);
  REQUIRE(chased.size() == 2);
  CHECK(chased[0].verdict == Verdict::validated);
  CHECK(chased[1].verdict == Verdict::undecided);
}

TEST_CASE("an access that two paths reach is held against both") {
  // n < 10 or not: the same load of element n after it.
  const std::string joined = load_arguments +
                             "s_lshl_b32 s11, s8, 2\ns_cmp_lt_u32 s8, 10\ns_cbranch_scc1 more\n"
                             "s_nop 0\nmore:\n";
  for (const char* load : {"s_load_dword s16, s[4:5], s11\ns_waitcnt lgkmcnt(0)\n",
                           "v_mov_b32_e32 v1, s11\nglobal_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"}) {
    CHECK(only(check(joined + load, "where n <= 100\nbuffer in 404\n", 64)) == Verdict::validated);
    CHECK(only(check(joined + load, "where n <= 100\nbuffer in 40\n", 64)) == Verdict::refuted);
    CHECK(only(check(joined + load, "where n <= 100\naccess @0 in min(4*n, 36)\n", 64)) == Verdict::refuted);
  }
  // One way only: less than 10.
  const std::string one = load_arguments + "s_lshl_b32 s11, s8, 2\ns_cmp_lt_u32 s8, 10\ns_cbranch_scc0 done\n"
                                           "s_load_dword s16, s[4:5], s11\ns_waitcnt lgkmcnt(0)\ndone:\n";
  CHECK(only(check(one, "where n <= 100\nbuffer in 40\n", 64)) == Verdict::validated);
  CHECK(only(check(one, "where n <= 100\nbuffer in 36\n", 64)) == Verdict::refuted);
  // The same address in every trip is not another one in each.
  const std::string loop = element +
                           "s_mov_b32 s16, 0\nloop:\nglobal_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
                           "s_add_i32 s16, s16, 1\ns_cmp_lt_u32 s16, s9\ns_cbranch_scc1 loop\n";
  const std::string sizes = "where workgroup_x <= 1000 && k <= 1000\ntrips 1000\n";
  CHECK(only(check(loop, sizes + "access @0 in 4*(128*workgroup_x + 64*wave + lane)\n")) ==
        Verdict::validated);
  CHECK(only(check(loop, sizes + "access @0 in 4*(128*workgroup_x + 64*wave + lane) + 4*visit\n")) !=
        Verdict::validated);
}

TEST_CASE("a trip that a loop may not make refutes nothing") {
  // in[64 j + lane] for j = 0, 1, ... until j is k.
  const std::string loop =
      load_arguments + "v_lshlrev_b32_e32 v1, 2, v0\ns_mov_b32 s16, 0\nloop:\n"
                       "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32_e32 v1, 0x100, v1\n"
                       "s_add_i32 s16, s16, 1\ns_cmp_lg_u32 s16, s9\ns_cbranch_scc1 loop\n";
  CHECK(only(check(loop, "where k >= 1 && k < 1000\nbuffer in 256*k\n", 64)) != Verdict::refuted);
  CHECK(only(check(loop, "where k >= 1 && k < 1000\ntrips 1000\nbuffer in 256*k\n", 64)) != Verdict::refuted);
  CHECK(only(check(loop, "where k >= 1 && k < 1000\nbuffer in 252\n", 64)) ==
        Verdict::refuted); // the first one
}

TEST_CASE("lanes that are never active are outside nothing") {
  // i < n with i = 64 workgroup + lane.
  const std::string guarded =
      load_arguments + "s_lshl_b32 s10, s2, 6\nv_add_u32_e32 v1, s10, v0\nv_cmp_gt_u32_e32 vcc, s8, v1\n"
                       "s_and_saveexec_b64 s[12:13], vcc\nv_lshlrev_b32_e32 v1, 2, v1\n"
                       "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";
  const std::string few = "where n >= 1 && n < 10\ngrid 1\n";
  const auto right = check(guarded, few + "access @0 in 4*lane\n", 64);
  CHECK(only(right) == Verdict::validated);
  CHECK(right[0].message.find("55 are never active") != std::string::npos);
  CHECK(only(check(guarded, few + "access @0 in min(4*lane, 36)\n", 64)) == Verdict::validated);
  CHECK(only(check(guarded, few + "access @0 in min(4*lane, 28)\n", 64)) ==
        Verdict::refuted); // lane 8 may be active
  CHECK(only(check(guarded, few + "buffer in 4*n\n", 64)) == Verdict::validated);
  CHECK(only(check(guarded, few + "buffer in 4*n - 4\n", 64)) == Verdict::refuted);
  CHECK(only(check(guarded, "where n == 0 && workgroup_x < 10\naccess @0 in 4*lane + 1\n", 64)) ==
        Verdict::validated);
  // Facts that contradict each other show nothing.
  CHECK_THROWS_WITH(check(guarded, "where n < 10 && n > 20\naccess @0 in 4*lane + 4\n", 64),
                    Catch::Matchers::Contains("n >= 21 && n <= 9"));
  CHECK_THROWS_WITH(check(guarded, "where n < 10 && n > 20\nbuffer in 0\n", 64),
                    Catch::Matchers::Contains("n >= 21 && n <= 9"));
}

TEST_CASE("an access is where a comparison says, and made where one holds: by enumeration") {
  // Of n - 20 and a constant: each relation, of numbers with a sign and without, of the borrow and the carry of a sum, and of floats, whose
  // condition has no formula. Where it holds 4 n bytes, else 4 k; or nothing.
  const int most_n = 40, most_k = 30;
  const std::string facts = "where n >= 1 && n <= 40 && k <= 30\ngrid 1\n";
  const std::string values =
      load_arguments + "v_mov_b32_e32 v3, s8\nv_add_u32_e32 v6, 0xffffffec, v3\n"
                       "v_lshlrev_b32_e32 v4, 2, v3\nv_mov_b32_e32 v5, s9\nv_lshlrev_b32_e32 v5, 2, v5\n";
  struct Way {
    std::string compare;
    std::function<bool(std::uint32_t)> holds; ///< of n - 20
    bool followed;
  };
  std::vector<Way> ways;
  for (const std::uint32_t c : {0U, 5U, 0xfffffffdU, 20U}) {
    const auto sign = [](std::uint32_t x) { return static_cast<std::int32_t>(x); };
    const std::string literal = std::to_string(c);
    const auto by = [&](const std::string& relation, std::function<bool(std::uint32_t)> holds,
                        bool followed) {
      ways.push_back({"v_cmp_" + relation + "_e32 vcc, " + literal + ", v6\n", std::move(holds), followed});
    };
    by(
        "gt_i32", [=](std::uint32_t x) { return sign(c) > sign(x); }, false);
    by(
        "lt_i32", [=](std::uint32_t x) { return sign(c) < sign(x); }, false);
    by(
        "ge_i32", [=](std::uint32_t x) { return sign(c) >= sign(x); }, false);
    by(
        "le_i32", [=](std::uint32_t x) { return sign(c) <= sign(x); }, false);
    by(
        "gt_u32", [=](std::uint32_t x) { return c > x; }, false);
    by(
        "le_u32", [=](std::uint32_t x) { return c <= x; }, false);
    by(
        "eq_u32", [=](std::uint32_t x) { return c == x; }, false);
    by(
        "ne_u32", [=](std::uint32_t x) { return c != x; }, false);
    // The same of n, which is not negative.
    const auto of_n = [&](const std::string& relation, std::function<bool(std::uint32_t)> holds) {
      ways.push_back({"v_cmp_" + relation + "_e32 vcc, " + literal + ", v3\n",
                      [=](std::uint32_t x) { return holds(x + 20); }, c <= 20});
    };
    of_n("gt_i32", [=](std::uint32_t x) { return sign(c) > sign(x); });
    of_n("le_i32", [=](std::uint32_t x) { return sign(c) <= sign(x); });
    of_n("gt_u32", [=](std::uint32_t x) { return c > x; });
    of_n("le_u32", [=](std::uint32_t x) { return c <= x; });
    of_n("eq_u32", [=](std::uint32_t x) { return c == x; });
    of_n("ne_u32", [=](std::uint32_t x) { return c != x; });
    ways.push_back({"v_sub_co_u32_e32 v7, vcc, v6, v3\nv_mov_b32_e32 v8, " + literal +
                        "\nv_sub_co_u32_e32 v7, vcc, v8, v6\n",
                    [=](std::uint32_t x) { return c < x; }, false});
    ways.push_back({"v_add_co_u32_e32 v7, vcc, " + literal + ", v6\n",
                    [=](std::uint32_t x) { return x + c < c; }, false});
    ways.push_back({"v_cvt_f32_i32_e32 v7, v6\nv_mov_b32_e32 v8, " + literal +
                        "\nv_cvt_f32_i32_e32 v8, v8\nv_cmp_lt_f32_e32 vcc, v8, v7\n",
                    [=](std::uint32_t x) { return sign(c) < sign(x); }, false});
  }
  int validated = 0, all = 0;
  for (const Way& w : ways)
    for (const bool guard : {false, true}) {
      int most = 0;
      for (int n = 1; n <= most_n; ++n) {
        const bool holds = w.holds(static_cast<std::uint32_t>(n) - 20);
        most = std::max(most, holds ? 4 * n + 4 : guard ? 0 : 4 * most_k + 4);
      }
      const std::string code =
          values + w.compare +
          (guard ? "s_and_saveexec_b64 s[12:13], vcc\nglobal_load_dword v2, v4, s[4:5]\n"
                 : "v_cndmask_b32_e32 v1, v5, v4, vcc\nglobal_load_dword v2, v1, s[4:5]\n") +
          "s_waitcnt vmcnt(0)\n";
      const auto verdict = [&](int bytes) {
        const auto r = check(code, facts + "buffer in " + std::to_string(bytes) + "\n", 64);
        REQUIRE(r.size() == 1);
        return r[0].verdict;
      };
      INFO(w.compare << (guard ? "as a guard" : "as a choice") << ", " << most << " bytes");
      const Verdict right = verdict(most);
      CHECK(right != Verdict::refuted);
      if (w.followed && most > 0) CHECK(right == Verdict::validated);
      if (most > 0) CHECK(verdict(most - 1) != Verdict::validated);
      validated += right == Verdict::validated ? 1 : 0;
      ++all;
    }
  UNSCOPED_INFO(validated << " of " << all);
  CHECK(validated >= all / 2);
  // A word with its sign in an address of 64 bits, and one of which the larger of it and what is below 0 is taken.
  const std::string far =
      "v_ashrrev_i32_e32 v7, 31, v6\nv_lshlrev_b64 v[6:7], 2, v[6:7]\nv_mov_b32_e32 v9, s5\n"
      "v_add_co_u32_e32 v8, vcc, s4, v6\nv_addc_co_u32_e32 v9, vcc, v9, v7, vcc\n"
      "global_load_dword v2, v[8:9], off\ns_waitcnt vmcnt(0)\n";
  const std::string from_20 = "where n >= 20 && n <= 40 && k <= 30\ngrid 1\nbuffer in ";
  CHECK(only(check(values + far, from_20 + "84\n", 64)) == Verdict::validated);
  CHECK(only(check(values + far, from_20 + "83\n", 64)) == Verdict::refuted);
  CHECK(only(check(values + far, facts + "buffer in 84\n", 64)) != Verdict::validated);
  // No lane is there at all: nothing is outside.
  CHECK(check(values + "s_mov_b64 exec, 0\nglobal_load_dword v2, v4, s[4:5]\ns_waitcnt vmcnt(0)\n",
              facts + "buffer in 0\n", 64)[0]
            .verdict == Verdict::validated);
  // Through a descriptor, whose offset may wrap as no address does.
  const std::string ranged = "s_mov_b64 s[12:13], s[4:5]\ns_mov_b32 s14, 0x1000\ns_mov_b32 s15, 0x20000\n"
                             "buffer_load_dword v2, v4, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\n";
  CHECK(only(check(values + ranged, facts + "access @0 in 4*n\n", 64)) == Verdict::validated);
  CHECK(only(check(values + ranged, facts + "access @0 in 4*n + 4\n", 64)) == Verdict::refuted);
}

TEST_CASE("what a refutation says") {
  const auto r = check(load_arguments + "s_load_dwordx2 s[16:17], s[4:5], 0x8\ns_waitcnt lgkmcnt(0)\n",
                       "buffer in 12\n");
  REQUIRE(r.size() == 1);
  CHECK(r[0].verdict == Verdict::refuted);
  CHECK(r[0].message == "8 bytes at byte 8 of in, which has 12: outside");
}

TEST_CASE("memory that is unchanged is one number for all waves; the kernel's own stores may not reach it") {
  // Both waves meet at a barrier where one word of memory says so.
  const auto order = [](const std::string& load, const std::string& store, const std::string& claims) {
    const auto object =
        built(load_arguments + "v_mov_b32_e32 v3, 0\nv_lshlrev_b32_e32 v1, 2, v0\n" + load +
              "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s10, v2\ns_cmp_eq_u32 s10, 0\ns_cbranch_scc1 end\n"
              "s_barrier\nend:\n" +
              store);
    symbolic::OrderOptions o;
    o.block = {128};
    o.read_only = Claims::parse(claims).unchanged;
    o.check_stores = true;
    const auto r = symbolic::check_order(object, object.kernel("f"), o);
    std::string text(symbolic::to_string(r.verdict));
    for (const auto& f : r.findings) text += "; " + f.message;
    for (const auto& u : r.undecided) text += "; " + u;
    return text;
  };
  const std::string word = "global_load_dword v2, v3, s[4:5] offset:8\n",
                    out = "global_store_dword v1, v2, s[6:7]\n";
  CHECK_THAT(order(word, out, ""), Catch::Matchers::StartsWith("undecided"));
  CHECK(order(word, out, "unchanged in") == "validated");
  CHECK(order("v_mov_b32_e32 v4, s4\nv_mov_b32_e32 v5, s5\nglobal_load_dword v2, v[4:5], off\n", out,
              "unchanged in") == "validated");
  CHECK_THAT(order(word, out, "unchanged out"), Catch::Matchers::StartsWith("undecided")); // another's memory
  // By a descriptor, where the lanes' offset is one number: also into the register that the offset is in. Not where it differs.
  const std::string by_buffer = "s_mov_b64 s[12:13], s[4:5]\ns_movk_i32 s14, 0x100\ns_mov_b32 s15, 0x20000\n";
  CHECK(order(by_buffer + "buffer_load_dword v2, v3, s[12:15], 0 offen offset:8\n", out, "unchanged in") ==
        "validated");
  CHECK(order(by_buffer + "v_mov_b32_e32 v2, s8\nbuffer_load_dword v2, v2, s[12:15], 0 offen\n", out,
              "unchanged in") == "validated");
  CHECK_THAT(order(by_buffer + "buffer_load_dword v2, v1, s[12:15], 0 offen\n", out, "unchanged in"),
             Catch::Matchers::StartsWith("undecided"));
  CHECK_THAT(order(by_buffer + "v_mov_b32_e32 v2, v1\nbuffer_load_dword v2, v2, s[12:15], 0 offen\n", out,
                   "unchanged in"),
             Catch::Matchers::StartsWith("undecided"));
  // Each lane another word: the first of each wave's is not the same.
  CHECK_THAT(order("global_load_dword v2, v1, s[4:5]\n", out, "unchanged in"),
             Catch::Matchers::StartsWith("undecided"));
  // The kernel itself writes there, or where nobody knows: by that argument, an atomic, a pointer from memory, two pointers.
  const auto writes = [&](const std::string& store) {
    const std::string text = order(word, store, "unchanged in");
    CHECK_THAT(text, Catch::Matchers::StartsWith("undecided"));
    CHECK_THAT(text, Catch::Matchers::Contains("may write memory that is taken as unchanged"));
  };
  writes("global_store_dword v1, v2, s[4:5]\n");
  writes("global_atomic_add v1, v2, s[4:5]\n");
  writes("s_load_dwordx2 s[12:13], s[6:7], 0x0\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[12:13]\n");
  writes("s_add_u32 s12, s4, s6\ns_addc_u32 s13, s5, s7\nglobal_store_dword v1, v2, s[12:13]\n");
  writes("s_mov_b64 s[12:13], s[4:5]\ns_movk_i32 s14, 0x100\ns_mov_b32 s15, 0x20000\n"
         "buffer_store_dword v2, v1, s[12:15], 0 offen\n");
  // A difference of pointers is in the address of another argument: who knows whose it is.
  writes("s_sub_u32 s12, s4, s6\nv_add_u32_e32 v4, s12, v1\nglobal_store_dword v4, v2, s[6:7]\n");
}

TEST_CASE("a claim names arguments") {
  const std::string code = load_arguments;
  for (const char* text : {"buffer foo 7\n", "buffer in 4*baz\n", "buffer n 4\n", "where nn < 4\n",
                           "grid in\n", "grid lane\n", "where lane < 4\n", "access 0x10 bar lane\n",
                           "access 0x10 in 4*line\n", "buffer in 4*in\n", "where arg16 < 4\n"}) {
    INFO(text);
    CHECK_THROWS_WITH(check(code, text), Catch::Matchers::Contains("in           byte 0, 8 bytes") &&
                                             Catch::Matchers::Contains("k            byte 20, 4 bytes"));
  }
  CHECK_NOTHROW(check(code, "where n < 4 && in_lo > 5\ngrid min(n, 2), k\nbuffer in select(n < k, n, k)\n"
                            "access 0x10 out lane + wave + visit + workgroup_z\n"));
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

} // namespace claims_test
