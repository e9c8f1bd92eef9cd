// One launch for many problems: what tables say that no launch covers, and programs whose workgroups belong to no one problem.
#include "attack.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/launch.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace problems_test {

using namespace adversary;
using Catch::Matchers::Contains;
using kernels::GemmGroups;
using kernels::GemmSpec;

namespace {

GemmSpec spec(GemmSpec::Own own, const std::string& arch = "gfx942") {
  GemmSpec s;
  s.arch = arch, s.tile_m = s.tile_n = s.tile_k = 64, s.own = own;
  return s;
}

/// A launch of these products whose data `change` may change first: what is wrong with the result; it throws what a launch throws.
std::string launched(const GemmSpec& s, const GemmGroups& groups,
                     const std::function<void(kernels::Problem&)>& change = {}) {
  const kernels::Artifact a = kernels::build_gemm(s);
  kernels::Problem p = kernels::gemm_problem(s, groups, 1);
  if (change) change(p);
  runtime::EmulatorOptions o;
  o.checks = runtime::Checks::all();
  const auto device = kernels::open_device("emulator", s.arch, o);
  return p.check(kernels::run(*device, a, p)).message;
}

kernels::Problem::Buffer& table(kernels::Problem& p, const std::string& name) {
  const auto at =
      std::find_if(p.buffers.begin(), p.buffers.end(), [&](const auto& b) { return b.name == name; });
  REQUIRE(at != p.buffers.end());
  return *at;
}
void say(kernels::Problem& p, const std::string& name, std::size_t problem, std::int32_t value) {
  std::memcpy(table(p, name).data.data() + 4 * problem, &value, sizeof value);
}

// y(i) = 2 x(i), n of each problem in a table.
Program twice(const std::function<void(Program&, Sym, Sym)>& then) {
  Program k("twice", target(), 64);
  const Sym n = k.size("n", {.most = 1 << 20}), other = k.size("other", {.most = 64});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0]}) * 2.0; });
  const Sym w = k.workgroups(0, n, 64);
  const Layout tv = codegen::line_tv(64, 1, 64);
  k.store(k.map({k.load(k.tile(x, {64}, {w}), tv, 1)}, [](const auto& a) { return a[0] * 2.0; }),
          k.tile(y, {64}, {w}), 1);
  then(k, n, other);
  return k;
}

} // namespace

TEST_CASE("problems: sizes of their own, some of them 0, one table wrong at a time") {
  for (const char* arch : {"gfx942", "gfx950", "gfx90a"}) {
    const GemmSpec s = spec(GemmSpec::Own::m, arch);
    const GemmGroups groups = {{70, 72, 136}, {0, 72, 136}, {1, 72, 136}, {130, 72, 136}};
    CHECK(launched(s, groups).empty());
    if (s.arch != "gfx942") continue;
    // Fewer rows than there are: the others are not stored. More than the launch says: it ends, and so does one below 0.
    CHECK_THAT(launched(s, groups, [](auto& p) { say(p, "m_of", 0, 69); }), Contains("problem 0"));
    CHECK_THROWS_WITH(launched(s, groups, [](auto& p) { say(p, "m_of", 2, 131); }),
                      Contains("check failed: a size of a problem is what the launch covers"));
    CHECK_THAT(launched(s, groups, [](auto& p) { say(p, "m_of", 3, -5); }), Contains("problem 3"));
    // Another problem's matrix, the wrong table, and one that ends before its problem does.
    CHECK_THAT(
        launched(s, groups,
                 [](auto& p) { std::swap(table(p, "b_at").points_to[0], table(p, "b_at").points_to[3]); }),
        Contains("problem 0"));
    CHECK_THAT(
        launched(s, groups, [](auto& p) { table(p, "a_at").points_to[2] = table(p, "b_at").points_to[2]; }),
        Contains("problem 2"));
    CHECK_THROWS_WITH(
        launched(s, groups, [](auto& p) { table(p, "a_at").points_to[3] = table(p, "a_at").points_to[2]; }),
        Contains("bounds"));
    CHECK_THROWS_WITH(
        launched(s, groups, [](auto& p) { table(p, "c_at").points_to[3] = table(p, "c_at").points_to[0]; }),
        Contains("bounds"));
    // Two problems with one C: two workgroups store it.
    CHECK_THROWS_WITH(
        launched(s, {{64, 72, 136}, {64, 72, 136}},
                 [](auto& p) { table(p, "c_at").points_to[1] = table(p, "c_at").points_to[0]; }),
        Contains("races"));
  }
}

TEST_CASE("problems: all sizes in tables are held against what the program says of them") {
  const GemmSpec s = spec(GemmSpec::Own::all);
  const GemmGroups groups = {{70, 72, 136}, {64, 0, 8}, {33, 8, 72}};
  CHECK(launched(s, groups).empty());
  const auto refused = Contains("check failed: a size of a problem is what the launch covers");
  CHECK_THROWS_WITH(launched(s, groups, [](auto& p) { say(p, "k_of", 2, 71); }), refused); // no multiple of 8
  CHECK_THROWS_WITH(launched(s, groups, [](auto& p) { say(p, "k_of", 2, 0); }), refused);
  CHECK_THROWS_WITH(launched(s, groups, [](auto& p) { say(p, "k_of", 2, 144); }), refused);
  CHECK_THROWS_WITH(launched(s, groups, [](auto& p) { say(p, "n_of", 0, 73); }), refused);
}

TEST_CASE("problems: the contract says what pointers have to point to") {
  const kernels::Artifact a = kernels::build_gemm(spec(GemmSpec::Own::m));
  const auto said = [&](const std::string& text) {
    return std::any_of(a.proofs.items().begin(), a.proofs.items().end(), [&](const auto& i) {
      return i.verdict == "the caller's" && i.subject.find(text) != std::string::npos;
    });
  };
  CHECK(said("m_of[z] is 0, or as m has to be"));
  CHECK(said("a_at[z] points to a of problem z"));
  CHECK(said("c_at[z] points to c of problem z, (m,n):(n,1), a multiple of"));
  CHECK(said("apart from all other tensors of all problems"));
  std::vector<std::string> names;
  for (const auto& b : a.contract.buffers) names.push_back(b.name + (b.output ? "!" : ""));
  CHECK(names == std::vector<std::string>{"c_at", "a_at", "b_at", "m_of"});
  CHECK(a.contract.plan({70, 72, 136, 5}).grid == std::array<std::uint32_t, 3>{2, 2, 5});
  CHECK_THROWS_WITH(a.contract.plan({70, 72, 136, 0}), Contains("groups"));
}

TEST_CASE("problems: programs whose workgroups are not of one problem") {
  const auto refused = [](const std::function<void(Program&, Sym, Sym)>& then, const std::string& why) {
    CHECK_THROWS_WITH(twice(then), Contains(why));
  };
  refused([](Program& k, Sym, Sym) { k.problems("count", {}); }, "no size is a problem's own");
  refused([](Program& k, Sym n, Sym) { k.problems("count", {n, n}); }, "named twice");
  refused([](Program& k, Sym n, Sym) { k.problems("count", {n + Sym(1)}); }, "no size of the program");
  refused([](Program& k, Sym n, Sym) { k.problems("a", {n}), k.problems("b", {n}); }, "declared twice");
  refused([](Program& k, Sym n, Sym) { k.problems("n", {n}); }, "n");
  refused([](Program& k, Sym n, Sym other) { (void)k.workgroups(2, other, 1), k.problems("count", {n}); },
          "axis z of the grid counts them");
  refused([](Program& k, Sym n, Sym) { k.persistent(4), k.problems("count", {n}); }, "persistent");
  refused(
      [](Program& k, Sym n, Sym other) {
        (void)k.uniform(k.input("table", Element::i32, {other}), 0), k.problems("count", {n});
      },
      "uniform");
  CHECK(kernels::build(twice([](Program& k, Sym n, Sym) {
          k.problems("count", {n});
        })).contract.buffers.size() == 3);
}

} // namespace problems_test
