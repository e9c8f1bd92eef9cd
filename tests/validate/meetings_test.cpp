// `validate_code` of kernels whose workgroups take turns or whose devices meet: what LLVM makes of them is validated, and nothing that
// waits, tells, writes back or makes invalid otherwise, or at another place.
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/validate/code.h>

#include <catch2/catch.hpp>
#include <regex>

namespace meetings_test {

using namespace inlay;
using MachineVerdict = runtime::symbolic::Verdict;

namespace {

std::string text_of(const kernels::validate::CodeReport& r) {
  std::string s(runtime::symbolic::to_string(r.verdict));
  for (const auto& f : r.refuted) s += "\n  refuted '" + f.text + "': " + f.message;
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

kernels::validate::CodeReport validated(const kernels::Artifact& a, const std::string& assembly) {
  const auto bytes = runtime::isa::assemble_code_object(assembly, runtime::isa::parse_arch(a.arch));
  const auto object = runtime::CodeObject::parse(bytes);
  return kernels::validate::validate_code(object, object.kernel(a.kernel), a.source->code);
}

kernels::Artifact built(const std::string& kernel, const std::string& arch,
                        std::map<std::string, std::string> options = {}) {
  options["arch"] = arch;
  return kernels::find_kernel(kernel)->build(options, {});
}

/// The text with the `which`-th match of `pattern` in it replaced.
std::string changed(const std::string& text, const std::string& pattern, unsigned which,
                    const std::string& by) {
  const std::regex r(pattern);
  auto at = std::sregex_iterator(text.begin(), text.end(), r);
  for (; which != 0 && at != std::sregex_iterator(); --which) ++at;
  INFO(pattern);
  REQUIRE(at != std::sregex_iterator());
  return std::string(text.begin(), (*at)[0].first) + at->format(by) +
         std::string((*at)[0].second, text.end());
}

struct Change {
  const char* name;
  const char* pattern;
  const char* by;
  unsigned which = 0;
  bool harmless = false;
};

void check_changes(const kernels::Artifact& a, const std::vector<Change>& changes) {
  for (const Change& c : changes) {
    const auto r = validated(a, changed(a.assembly, c.pattern, c.which, c.by));
    INFO(a.kernel << " " << a.arch << ", " << c.name << ": " << text_of(r));
    CHECK((r.verdict == MachineVerdict::validated) == c.harmless);
  }
}

} // namespace

TEST_CASE("turns of workgroups and meetings of devices are validated") {
  for (const char* arch : {"gfx942", "gfx950", "gfx90a"}) {
    const auto a = built("cumsum", arch);
    const auto r = validated(a, a.assembly);
    INFO(arch << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
  }
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* kernel : {"all_reduce", "all_reduce_rmsnorm", "reduce_scatter", "all_gather",
                               "moe_dispatch", "moe_combine"}) {
      const auto a = built(kernel, arch);
      const auto r = validated(a, a.assembly);
      INFO(kernel << " " << arch << text_of(r));
      CHECK(r.verdict == MachineVerdict::validated);
    }
  for (const char* devices : {"2", "8"}) {
    const auto a = built("all_reduce", "gfx942", {{"devices", devices}});
    const auto r = validated(a, a.assembly);
    INFO(devices << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
  }
}

TEST_CASE("a turn that is waited for, taken or passed on otherwise is not validated") {
  const std::vector<Change> all = {
      {"nothing", "s_sleep 1", "s_sleep 2", 0, true},
      {"a wait that is in the loop already", "(s_cbranch_vccz \\.LBB0_2\n\\.LBB0_3:\n)", "$1\ts_nop 0\n", 0,
       true},
      {"nothing waited for", "\ts_cbranch_vccz \\.LBB0_2\n", ""},
      {"waits while it is its turn", "s_cbranch_vccz (\\.LBB0_2\n)", "s_cbranch_vccnz $1"},
      {"any later turn", "v_cmp_eq_u32_e32 vcc, (s\\d+, v\\d+\n\ts_cbranch_vccz)",
       "v_cmp_le_u32_e32 vcc, $1"},
      {"another turn",
       "(global_load_dword v)(\\d+)(, v\\d+, s\\[\\d+:\\d+\\] sc1\n)([^]*?)(\tv_cmp_eq_u32_e32 vcc, s\\d+, "
       "v\\d+\n)",
       "$1$2$3$4\tv_add_u32_e32 v$2, 1, v$2\n$5"},
      {"another group's turn", "(global_load_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\]) sc1", "$1 offset:4 sc1"},
      {"a turn out of the cache", "(global_load_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\]) sc1", "$1"},
      {"a loop that gives up", "(\ts_sleep 1\n)",
       "\ts_sub_u32 s98, s98, 1\n\ts_cmp_eq_u32 s98, 0\n\ts_cbranch_scc1 .LBB0_3\n$1"},
      {"no acquire", "\tbuffer_inv sc1\n", ""},
      {"an acquire of the wave alone", "buffer_inv sc1", "buffer_inv sc0"},
      {"no release", "\tbuffer_wbl2 sc1\n", ""},
      {"a release of the wave alone", "buffer_wbl2 sc1", "buffer_wbl2 sc0"},
      {"a release that is not waited for", "(buffer_wbl2 sc1\n\ts_waitcnt vmcnt)\\(0\\)", "$1(1)"},
      {"passed on within the workgroup", "(global_store_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\]) sc1", "$1"},
      {"passed on twice", "(\tglobal_store_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\] sc1\n)", "$1$1"},
      {"not passed on", "\tglobal_store_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\] sc1\n", ""},
      {"passed on to another group", "(global_store_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\]) sc1",
       "$1 offset:4 sc1"},
      {"passed on to the one after next", "(global_store_dword v\\d+, )v(\\d+)(, s\\[\\d+:\\d+\\] sc1)",
       "v_add_u32_e32 v$2, 1, v$2\n\t$1v$2$3"},
      {"never back to the first", "(\ts_cmp_lg_u32 s\\d+, s\\d+\n)\ts_cselect_b32 s(\\d+), s(\\d+), 0\n",
       "$1\ts_mov_b32 s$2, s$3\n"},
      {"back to the first at once", "s_cmp_lg_u32 (s\\d+, s\\d+\n\ts_cselect_b32 s\\d+, s\\d+, 0\n)",
       "s_cmp_eq_u32 $1"},
      {"back to the first one turn too early",
       "s_cmp_lg_u32 (s\\d+), (s\\d+\n\ts_cselect_b32 s\\d+, s\\d+, 0\n)",
       "s_add_u32 s98, $1, 1\n\ts_cmp_lg_u32 s98, $2"},
      {"back to the first one turn too late",
       "s_cmp_lg_u32 (s\\d+), (s\\d+\n\ts_cselect_b32 s\\d+, s\\d+, 0\n)",
       "s_sub_u32 s98, $1, 1\n\ts_cmp_lg_u32 s98, $2"},
      {"passed on before what is stored",
       "(\tbuffer_store_dwordx4 [^\n]*\n)([^]*?)(\tbuffer_wbl2 sc1\n\ts_waitcnt vmcnt\\(0\\)\n)", "$2$3$1"},
  };
  check_changes(built("cumsum", "gfx942"), all);
}

TEST_CASE("a meeting of devices that waits for less, or tells less, is not validated") {
  const std::string own = "global_load_dword v\\d+, v\\d+, s\\[\\d+:\\d+\\]",
                    tell = "global_store_dword v\\[\\d+:\\d+\\], v\\d+, off",
                    wait = "global_load_dword v\\d+, v\\[\\d+:\\d+\\], off";
  const std::string own_ = "(" + own + ")", tell_ = "(" + tell + ")", wait_ = "(" + wait + ")",
                    tell_line = "\t" + tell + " sc0 sc1\n", own_scoped = own_ + " sc0 sc1",
                    tell_scoped = tell_ + " sc0 sc1", wait_scoped = wait_ + " sc0 sc1";
  const auto a = built("all_reduce", "gfx942");
  for (unsigned which = 0; which < 2; ++which) // before the first load of a peer, and after the last
    check_changes(
        a, {
               {"nothing", "s_sleep 1", "s_sleep 0", which, true},
               {"no release", "\tbuffer_wbl2 sc0 sc1\n", "", which},
               {"a release on this device", "buffer_wbl2 sc0 sc1", "buffer_wbl2 sc1", which},
               {"a release that is not waited for", "(buffer_wbl2 sc0 sc1\n\ts_waitcnt )vmcnt\\(0\\)",
                "$1vmcnt(1)", which},
               {"no acquire", "\tbuffer_inv sc0 sc1\n", "", which},
               {"an acquire on this device", "buffer_inv sc0 sc1", "buffer_inv sc1", which},
               {"no barrier before", "(buffer_wbl2 sc0 sc1\n\ts_waitcnt [^\n]*\n)\ts_barrier\n", "$1", which},
               {"no barrier after", "\ts_barrier\n(\tbuffer_inv)", "$1", which},
               {"its own count in a cache", own_scoped.c_str(), "$1", which},
               {"another workgroup's count", own_scoped.c_str(), "$1 offset:4 sc0 sc1", which},
               {"tells its device alone", tell_scoped.c_str(), "$1 sc1", which},
               {"tells nobody", tell_line.c_str(), "", which},
               {"tells another workgroup", tell_scoped.c_str(), "$1 offset:16 sc0 sc1", which},
               {"waits for a cache", wait_scoped.c_str(), "$1 sc1", which},
               {"waits for the next device", wait_scoped.c_str(), "$1 offset:4 sc0 sc1", which},
               {"one behind is enough", "v_cmp_lt_i32_e(32 vcc|64 s\\[\\d+:\\d+\\]), -1, ",
                "v_cmp_lt_i32_e$1, -2, ", which},
               {"one ahead is asked for", "v_cmp_lt_i32_e(32 vcc|64 s\\[\\d+:\\d+\\]), -1, ",
                "v_cmp_lt_i32_e$1, 0, ", which},
               {"as numbers without a sign", "v_cmp_lt_i32_e(32 vcc|64 s\\[\\d+:\\d+\\]), -1, ",
                "v_cmp_lt_u32_e$1, -1, ", which},
               {"does not wait", "\ts_cbranch_execnz (\\.LBB0_\\d+)\n", "", which},
               {"says two more", "v_add_u32_e32 (v\\d+), 1, (v\\d+)", "v_add_u32_e32 $1, 2, $2", which},
               {"fewer devices", "v_cmp_gt_u32_e32 vcc, 4, v0", "v_cmp_gt_u32_e32 vcc, 3, v0"},
               {"loads before they have met",
                "(\ts_barrier\n\tbuffer_inv sc0 sc1\n)((?:\t\\.[^\n]*\n)*\tbuffer_load_dwordx4 [^\n]*\n)",
                "$2$1"},
           });
}

} // namespace meetings_test
