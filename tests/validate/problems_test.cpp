// `validate_code` of one launch for many problems: each pointer and size comes from its own table, at the entry of the workgroup's problem.
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/validate/code.h>

#include <catch2/catch.hpp>
#include <regex>

namespace problems_test {

using namespace inlay;
using kernels::GemmSpec;
using MachineVerdict = runtime::symbolic::Verdict;

namespace {

MachineVerdict verdict(const kernels::Artifact& a, const std::string& assembly) {
  const auto bytes = runtime::isa::assemble_code_object(assembly, runtime::isa::parse_arch(a.arch));
  const auto object = runtime::CodeObject::parse(bytes);
  return kernels::validate::validate_code(object, object.kernel(a.kernel), a.source->code).verdict;
}

kernels::Artifact built(const std::string& arch, GemmSpec::Own own) {
  GemmSpec s;
  s.arch = arch, s.tile_m = s.tile_n = s.tile_k = 64, s.own = own;
  return kernels::build_gemm(s);
}

} // namespace

TEST_CASE("problems: what the machine reads of its tables is validated") {
  for (const char* arch : {"gfx942", "gfx950", "gfx90a"}) {
    const kernels::Artifact a = built(arch, GemmSpec::Own::m);
    CHECK(verdict(a, a.assembly) == MachineVerdict::validated);
  }
  const kernels::Artifact all = built("gfx942", GemmSpec::Own::all);
  CHECK(verdict(all, all.assembly) == MachineVerdict::validated);
}

TEST_CASE("problems: machine code that reads another table or entry is not validated") {
  const kernels::Artifact a = built("gfx942", GemmSpec::Own::m);
  struct Change {
    const char *name, *pattern, *by;
  };
  for (const Change& c : std::vector<Change>{
           {"the next problem's C", R"(s_load_dwordx2 (s\[\d+:\d+\], s\[2:3\]), 0x0)",
            "s_load_dwordx2 $1, 0x8"},
           {"entries of pointers 4 bytes apart", R"(s_lshl_b64 (s\[\d+:\d+\], s\[\d+:\d+\]), 3)",
            "s_lshl_b64 $1, 2"},
           {"entries of m 8 bytes apart", R"(s_lshl_b64 (s\[\d+:\d+\], s\[\d+:\d+\]), 2)",
            "s_lshl_b64 $1, 3"},
           {"the next problem's m", R"(s_load_dword (s\d+, s\[\d+:\d+\]), 0x0)", "s_load_dword $1, 0x4"},
           {"A by the table of B", R"(s_add_u32 (s\d+), s4, (s\d+))", "s_add_u32 $1, s6, $2"},
           {"workgroups with a tile do nothing", R"(s_cmp_ge_i32 (s\d+, s\d+))", "s_cmp_lt_i32 $1"},
           {"m is another size", R"(s_cmp_gt_i32 s1, 0)", "s_mov_b32 s1, s10\n\ts_cmp_gt_i32 s1, 0"}}) {
    INFO(c.name);
    const std::regex pattern(c.pattern);
    REQUIRE(std::regex_search(a.assembly, pattern));
    CHECK(
        verdict(a, std::regex_replace(a.assembly, pattern, c.by, std::regex_constants::format_first_only)) !=
        MachineVerdict::validated);
  }
}

} // namespace problems_test
