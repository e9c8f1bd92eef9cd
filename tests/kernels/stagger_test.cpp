// Staggered loops: two orders of one loop for the two halves of the waves, on the emulator against the specification; and what
// refuses another order.
#include "../mutate/tokens.h"
#include "ordered_loops.h"

#include <algorithm>
#include <random>

namespace stagger_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;
using specified::refuted;
using namespace ordered_loops;

namespace {

struct Form {
  const char* name;
  bool preshuffled, transfer;
  int m, n, k;
};
constexpr Form forms[] = {{"by registers", false, false, 64, 64, 64},
                          {"transfers", false, true, 64, 64, 128}, // gfx942: two stages
                          {"preshuffled", true, false, 48, 64, 64},
                          {"preshuffled, transfers", true, true, 64, 64, 64}};

kernels::GemmSpec spec_of(const Form& f, const char* arch) {
  kernels::GemmSpec s;
  s.arch = arch;
  s.out = Element::f32;
  s.preshuffled_b = f.preshuffled, s.transfer = f.transfer;
  s.tile_m = f.m, s.tile_n = f.n, s.tile_k = f.k;
  if (f.preshuffled) s.waves_m = 1, s.waves_n = 4;
  s.stagger = true;
  return s;
}
// What the upper half of the waves waits for of one instruction in the other, by the definition: what they share.
bool ordered(const Code& code, const Inst& a, const Inst& b) {
  const auto fixed = [](const Inst& i) { return i.kind == InstKind::wait || i.kind == InstKind::barrier; };
  const auto access = [](const Inst& i) { return i.access.tensor >= 0; };
  if (fixed(a) || fixed(b) || (access(a) && access(b))) return true;
  const auto registers = [&](const Inst& i, bool written) {
    std::vector<std::pair<int, int>> out;
    const auto add = [&](const Reg& r) {
      if (r.id >= 0)
        out.emplace_back(r.id, code.registers[static_cast<std::size_t>(r.id)].outside ? 0 : r.ahead);
    };
    add(i.def);
    if (!written)
      for (const Reg& u : i.uses) add(u);
    return out;
  };
  for (const auto& [x, y] : {std::pair(&a, &b), std::pair(&b, &a)})
    for (const auto& w : registers(*x, true))
      for (const auto& r : registers(*y, false))
        if (w == r) return true;
  return false;
}

} // namespace

TEST_CASE("staggered: right, and silent under sanitizers and hostile schedules") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Form& f : forms) {
      INFO(arch << " " << f.name);
      // Whole tiles and edges; one trip, which is none of the loop's, and several.
      check_silent(spec_of(f, arch), {{64, 64, 64}, {70, 80, 416}, {1, 16, 320}, {130, 64, 32}});
    }
}

TEST_CASE("staggered: tokens of both halves come to the specification") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Form& f : forms) {
      INFO(arch << " " << f.name);
      const Code code = code_of(spec_of(f, arch));
      CHECK(refuted(code) == "");
      for (const mutate::Sizes& sizes : {mutate::Sizes{70, 80, 416}, mutate::Sizes{64, 64, 64}})
        for (const std::uint64_t seed : {1, 2, 3}) CHECK(mutate::run_tokens(code, sizes, seed) == "");
    }
}

TEST_CASE("staggered: another order is refused where it turns a dependence around, and only there") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Form& f : forms) {
      INFO(arch << " " << f.name);
      const Code code = code_of(spec_of(f, arch));
      std::mt19937 random(7);
      int kept = 0, turned = 0;
      for (int k = 0; k < 60; ++k) {
        Code other = code;
        CodeRegion& r = loop_of(other);
        auto& order = r.staggered;
        const std::size_t n = random() % (order.size() - 1);
        const Inst &a = r.body[static_cast<std::size_t>(order[n])],
                   &b = r.body[static_cast<std::size_t>(order[n + 1])];
        const bool legal = !ordered(code, a, b) || order[n] > order[n + 1]; // or as the body has them
        std::swap(order[n], order[n + 1]);
        INFO(to_string(a.kind) << " " << order[n + 1] << " after " << to_string(b.kind) << " " << order[n]);
        const std::string said = refuted(other);
        if (legal)
          CHECK(said == "");
        else
          CHECK_THAT(said, Contains("in its order") && Contains("would stand before"));
        (legal ? kept : turned) += 1;
      }
      CHECK(kept > 0);
      CHECK(turned > 0);
      // Instructions twice, left out, or none.
      const auto with = [&](auto change) {
        Code other = code;
        change(loop_of(other).staggered);
        return refuted(other);
      };
      CHECK_THAT(with([](auto& order) { order[3] = order[4]; }), Contains("twice"));
      CHECK_THAT(with([](auto& order) { order.pop_back(); }), Contains("it has"));
      CHECK_THAT(with([](auto& order) { order[0] = 100000; }), Contains("no instruction"));
      CHECK_THAT(with([](auto& order) { std::reverse(order.begin(), order.end()); }),
                 Contains("would stand before"));
      // What tokens see of it: a read of a later product that passes the wait after it.
      CHECK(mutate::run_tokens(
                [&] {
                  Code other = code;
                  CodeRegion& r = loop_of(other);
                  auto at = std::find_if(r.staggered.begin(), r.staggered.end(), [&](int n) {
                    return r.body[static_cast<std::size_t>(n)].kind == InstKind::barrier;
                  });
                  std::rotate(at, at + 1, r.staggered.end());
                  return other;
                }(),
                {70, 80, 416}, 5) != "");
    }
}

TEST_CASE("staggered: what computes passes nothing that it shares a register with") {
  Code other = code_of(spec_of(forms[0], "gfx942"));
  CodeRegion& r = loop_of(other);
  const auto at = [&](std::size_t n) -> const Inst& {
    return r.body[static_cast<std::size_t>(r.staggered[n])];
  };
  int exchanged = 0;
  for (std::size_t from = 0; from < r.staggered.size(); ++from) {
    if (at(from).kind != InstKind::mma) continue;
    for (std::size_t to = from + 1; to < r.staggered.size(); ++to) {
      if (at(to).kind == InstKind::wait || at(to).kind == InstKind::barrier) break;
      if (at(to).kind != InstKind::mma || !ordered(other, at(from), at(to))) continue;
      std::swap(r.staggered[from], r.staggered[to]);
      CHECK_THAT(refuted(other), Contains("they share a register"));
      std::swap(r.staggered[from], r.staggered[to]);
      if (++exchanged == 3) return;
    }
  }
  CHECK(exchanged > 0);
}

TEST_CASE("staggered: refused where it cannot be") {
  kernels::GemmSpec spec = spec_of(forms[0], "gfx942");
  const auto refusal = [](const kernels::GemmSpec& s,
                          const kernels::BuildOptions& options = {}) -> std::string {
    try {
      (void)kernels::build_gemm(s, options);
    } catch (const CodegenError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(refusal(spec) == "");
  CHECK_THAT(refusal(spec, {.scheduler = "default"}), Contains("its order is left to LLVM"));
  CHECK_THAT(refusal(spec, {.loops = "ir"}), Contains("it is IR") && Contains("--loops asm or auto"));
  spec.waves_m = spec.waves_n = 1;
  CHECK_THAT(refusal(spec), Contains("1 wave has no two halves"));
}

} // namespace stagger_test
