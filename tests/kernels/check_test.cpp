// Program::check: an assertion of the running kernel, with its text and place; it changes nothing else.
#include "specified.h"

#include <cmath>
#include <cstring>

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;

namespace {

/// y = 2 x; with a check, x is below `limit`, and no index is.
Program doubled(const std::string& arch, bool checked, int* line = nullptr) {
  Program k("doubled", Target::named(arch), 128);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", Element::f32, {N});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0]}) * 2.0; });
  const Sym part = k.workgroups(0, N, 512);
  const Fragment x = k.load(k.tile(X, {512}, {part}), line_tv(512, 4, 128), 4);
  if (checked) {
    if (line != nullptr) *line = __LINE__ + 1;
    k.check(
        {x}, [&](const auto& v) { return select(k.constant(9), v[0], k.constant(1), k.constant(0)); },
        "x is at most 9");
    k.check(
        {x},
        [&](const auto&) {
          return less_unsigned(integer(k.number(Sym(512) * part + k.position(0))), k.integer(1 << 21));
        },
        "an element's number");
  }
  k.store(k.map({x}, [](const auto& v) { return v[0] * 2.0; }), k.tile(Y, {512}, {part}), 4);
  return k;
}

std::vector<float> run(const kernels::Artifact& artifact, const std::vector<float>& x) {
  kernels::Bytes bytes(4 * x.size());
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const auto device = kernels::open_device("emulator", artifact.arch);
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  options.checks = runtime::Checks::all();
  const kernels::Bytes after = kernels::run(*device, artifact, {kernels::Bytes(bytes.size()), bytes},
                                            {static_cast<std::int64_t>(x.size())})[0];
  std::vector<float> y(x.size());
  std::memcpy(y.data(), after.data(), after.size());
  return y;
}

std::vector<std::string> claims_of(const kernels::Artifact& a) {
  std::vector<std::string> out;
  for (const kernels::ProofItem& i : a.proofs.items()) out.push_back(i.claim + " | " + i.verdict);
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

TEST_CASE("check: the launch ends at the element that fails, with text, line, workgroup, wave and lane",
          "[error]") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    int line = 0;
    const kernels::Artifact artifact = kernels::build(doubled(arch, true, &line));
    std::vector<float> x(2000, 3), twice(2000, 6);
    CHECK(run(artifact, x) == twice); // the last workgroup is 464 elements long, and 0 after them
    x[9] = 9, twice[9] = 18;
    CHECK(run(artifact, x) == twice);
    x[512 + 300] = 9.5F; // of work-item 75
    std::string said;
    try {
      (void)run(artifact, x);
    } catch (const runtime::ExecutionError& e) {
      said = e.what();
    }
    INFO(said);
    CHECK_THAT(said, Contains("doubled: check failed: x is at most 9\n  at     check_test.cpp:" +
                              std::to_string(line)) &&
                         Contains("workgroup 1,0,0, wave 1, lane 11"));
    x[512 + 300] = NAN;
    CHECK_THROWS_AS(run(artifact, x), runtime::ExecutionError);
    // The text belongs to what was built, not to the program.
    const Program mine = doubled(arch, true);
    CHECK_THROWS_WITH(run(kernels::build(mine), x), Contains("check failed: x is at most 9"));
  }
}

TEST_CASE("check: it changes no claim, and no other operation") {
  const kernels::Artifact with = kernels::build(doubled("gfx942", true)),
                          without = kernels::build(doubled("gfx942", false));
  CHECK(claims_of(with) == claims_of(without));
  CHECK(with.contract.arguments.size() == without.contract.arguments.size());
  CHECK_THAT(with.program, Contains(": x is at most 9"));
  CHECK_THAT(with.assembly, Contains("s_trap 2"));
  CHECK_THAT(without.assembly, !Contains("s_trap"));
  // Without what it adds the instructions are the same.
  const Program p = doubled("gfx942", true), q = doubled("gfx942", false);
  std::vector<std::string> kinds[2];
  for (const auto& [of, out] : {std::pair(&p, &kinds[0]), {&q, &kinds[1]}})
    for (const CodeRegion& r : specified::code_of(*of).regions)
      for (const Inst& i : r.body)
        if (i.kind != InstKind::check && !(i.kind == InstKind::map && i.map.node().fn == Fn::to_number))
          out->emplace_back(to_string(i.kind));
  CHECK(kinds[0] == kinds[1]);
}

TEST_CASE("check: inside of a loop it is refused, and after one it holds what the loop carries", "[error]") {
  Program k("sums", Target::named("gfx942"), 64);
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N});
  k.computes(Y, [&](const auto& c) { return k.sum(N, [&](Sym i) { return k(X, {c[0], i}); }); });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, 256, 4, 64);
  const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
  const auto positive = [&](const auto& v) {
    return select(v[0], k.constant(0), k.constant(1), k.constant(0));
  };
  k.loop(N, 256, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment x = k.load(k.tile(X, {1, 256}, {row, t}), tv, 4);
    CHECK_THROWS_WITH(k.check({x}, positive, "x"), Contains("check: inside of a loop") && Contains("line"));
    k.update(sum, {k.fold(Monoid::sum, x, 1)}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.check({sum}, positive, "a sum is not negative");
  k.store(sum, k.tile(Y, {1, 1}, {row, 0}), 1);
  const kernels::Artifact artifact = kernels::build(std::move(k));
  const auto device = kernels::open_device("emulator", "gfx942");
  const auto launch = [&](float last) {
    std::vector<float> x(3 * 1000, 0.5F);
    x.back() = last;
    kernels::Bytes bytes(4 * x.size());
    std::memcpy(bytes.data(), x.data(), bytes.size());
    return kernels::run(*device, artifact, {kernels::Bytes(12), bytes}, {3, 1000})[0];
  };
  CHECK_NOTHROW(launch(0.5F));
  CHECK_THROWS_WITH(launch(-501), Contains("a sum is not negative") && Contains("workgroup 2,0,0"));
}
