// `validate_code` of several loops, and of workgroups that draw a number: parts of a product are stored and released, and who comes last
// acquires and adds them. Each instruction that this hangs on, changed, leaves it not validated.
#include <inlay/kernels/build.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/validate/code.h>

#include <catch2/catch.hpp>

namespace ticket_test {

using namespace inlay;
using kernels::validate::CodeReport, kernels::validate::validate_code;
using Verdict = runtime::symbolic::Verdict;

namespace {

CodeReport judged(const kernels::Artifact& a, std::vector<std::uint8_t> bytes) {
  const auto object = runtime::CodeObject::parse(std::move(bytes));
  return validate_code(object, object.kernel(a.kernel), a.source->code);
}
CodeReport judged(const kernels::Artifact& a) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  return judged(a, {p, p + a.hsaco.size()});
}

std::string text_of(const CodeReport& r) {
  std::string s(runtime::symbolic::to_string(r.verdict));
  for (const auto& f : r.refuted) s += "\n  refuted '" + f.text + "': " + f.message;
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

/// Where a line that begins so stands, behind `from`.
std::pair<std::size_t, std::size_t> line_of(const std::string& text, const std::string& begins,
                                            std::size_t from = 0) {
  const std::size_t at = text.find("\t" + begins, from);
  REQUIRE(at != std::string::npos);
  return {at, text.find('\n', at) + 1 - at};
}

} // namespace

TEST_CASE("validation: parts of a product that the last workgroup adds up") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const kernels::Artifact a = kernels::find_kernel("gemm")->build(
        {{"arch", arch}, {"tile", "32x64x64"}, {"waves", "1x2"}, {"split", "256"}, {"split-k-fixup", "yes"}},
        {});
    const CodeReport whole = judged(a);
    INFO(arch << " " << text_of(whole));
    CHECK(whole.verdict == Verdict::validated);
    CHECK(whole.loops >= 2);
    if (arch == std::string("gfx950")) continue; // a minute is enough
    const std::string& text = a.assembly;
    const auto changed = [&](const std::string& what, auto change) {
      std::string other = text;
      change(other);
      REQUIRE(other != text);
      const CodeReport r =
          judged(a, runtime::isa::assemble_code_object(other, runtime::isa::parse_arch(arch)));
      INFO(what << ": " << text_of(r));
      CHECK(r.verdict != Verdict::validated);
      return text_of(r);
    };
    const auto without = [&](const std::string& begins, const std::string& behind) {
      return changed("without " + begins, [&](std::string& t) {
        const auto [at, length] = line_of(t, begins, behind.empty() ? 0 : line_of(t, behind).first);
        t.erase(at, length);
      });
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(without("buffer_wbl2", ""), Contains("released"));
    CHECK_THAT(without("s_waitcnt vmcnt(0)", "buffer_wbl2"), Contains("released"));
    without("s_barrier", "buffer_wbl2");
    CHECK_THAT(without("buffer_inv", ""), Contains("acquired"));
    changed("invalidated before the others know of the number", [](std::string& t) {
      const auto [at, length] = line_of(t, "buffer_inv");
      const std::string line = t.substr(at, length);
      t.erase(at, length);
      t.insert(line_of(t, "global_atomic_inc").first, line);
    });
    const auto [draw, length] = line_of(text, "global_atomic_inc");
    const std::string line = text.substr(draw, length);
    const std::size_t second = line.find(", v", line.find(", v") + 1) + 2;
    const std::string limit = line.substr(second, line.find(',', second) - second);
    CHECK_THAT(
        changed("another limit",
                [&](std::string& t) { t.insert(draw, "\tv_add_u32_e32 " + limit + ", 1, " + limit + "\n"); }),
        Contains("counts up to another number"));
    CHECK_THAT(
        changed("another counter", [&](std::string& t) { t.insert(draw + line.find(" sc0"), " offset:4"); }),
        Contains("counts where the code does not"));
    changed("an atomic that adds",
            [&](std::string& t) { t.replace(draw, length, "\tglobal_atomic_add" + line.substr(18)); });
    changed("the last but one", [](std::string& t) { // parts - 2 < number
      const std::size_t at = t.find(", -2\n", line_of(t, "global_atomic_inc").first);
      REQUIRE(at != std::string::npos);
      t.replace(at, 4, ", -3");
    });
  }
}

TEST_CASE("validation: a ticket of workgroups of one wave, which has no barriers") {
  const kernels::Artifact a = kernels::find_kernel("gemm")->build({{"arch", "gfx942"},
                                                                   {"tile", "16x16x64"},
                                                                   {"mfma", "16"},
                                                                   {"waves", "1x1"},
                                                                   {"split", "256"},
                                                                   {"split-k-fixup", "yes"}},
                                                                  {});
  const CodeReport whole = judged(a);
  INFO(text_of(whole));
  CHECK(whole.verdict == Verdict::validated);
  const std::size_t draws = line_of(a.assembly, "global_atomic_inc").first;
  const auto changed = [&](const std::string& what, auto change) {
    std::string other = a.assembly;
    change(other);
    REQUIRE(other != a.assembly);
    const CodeReport r = judged(a, runtime::isa::assemble_code_object(other, runtime::isa::Arch::gfx942));
    INFO(what << ": " << text_of(r));
    CHECK(r.verdict != Verdict::validated);
  };
  changed("nothing written back", [](std::string& t) {
    const auto [at, length] = line_of(t, "buffer_wbl2");
    t.erase(at, length);
  });
  changed("the number drawn before what is written back has landed", [](std::string& t) {
    const auto [at, length] = line_of(t, "s_waitcnt vmcnt(0)", line_of(t, "buffer_wbl2").first);
    t.erase(at, length);
  });
  changed("caches that keep what they had", [&](std::string& t) {
    const auto [at, length] = line_of(t, "buffer_inv", draws);
    t.erase(at, length);
  });
  changed("caches cleared before the number is there", [&](std::string& t) {
    const auto [at, length] = line_of(t, "buffer_inv", draws);
    const std::string line = t.substr(at, length);
    t.erase(at, length);
    t.insert(line_of(t, "s_waitcnt vmcnt(0)", draws).first, line);
  });
}

TEST_CASE(
    "validation: a ticket on gfx90a, whose stores are seen when they have landed, and whose L1 is cleared") {
  const kernels::Artifact a = kernels::find_kernel("paged_decode")->build({{"arch", "gfx90a"}}, {});
  const CodeReport whole = judged(a);
  INFO(text_of(whole));
  CHECK(whole.verdict == Verdict::validated);
  const std::size_t draws = line_of(a.assembly, "global_atomic_inc").first;
  for (const auto& [what, begins, before] :
       {std::tuple{"the number drawn before what is stored has landed", "s_waitcnt vmcnt(0)", true},
        std::tuple{"a cache that keeps what it had", "buffer_wbinvl1", false}}) {
    std::string other = a.assembly;
    const std::size_t from = before ? other.rfind(std::string("\t") + begins, draws) : draws;
    const auto [at, length] = line_of(other, begins, from);
    other.erase(at, length);
    const CodeReport r = judged(a, runtime::isa::assemble_code_object(other, runtime::isa::Arch::gfx90a));
    INFO(what << ": " << text_of(r));
    CHECK(r.verdict != Verdict::validated);
  }
}

TEST_CASE(
    "validation: loads behind the loop that nobody wants land before their registers are written again") {
  for (const std::map<std::string, std::string>& form :
       {std::map<std::string, std::string>{{"tile", "64x64x64"}, {"waves", "1x1"}},
        {{"tile", "64x128x64"}, {"waves", "1x2"}, {"dtype", "bf16"}}}) {
    std::map<std::string, std::string> flags = form;
    flags.insert({{"arch", "gfx950"}, {"stages", "4"}});
    const CodeReport r = judged(kernels::find_kernel("gemm")->build(flags, {}));
    INFO(text_of(r));
    CHECK(r.verdict == Verdict::validated);
  }
}

} // namespace ticket_test
