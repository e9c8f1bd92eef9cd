// Program::check: an assertion of the running kernel, with its text and place; it changes nothing else.
#include "specified.h"

#include <cmath>
#include <cstring>

namespace check_test {

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

TEST_CASE("check: in a loop and after it, of what a trip has and of what the loop carries", "[error]") {
  const auto [distance, ring] = GENERATE(std::pair(0, 1), std::pair(2, 3));
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
  k.loop(N, 256, {.distance = distance, .ring = ring}, [&](Sym t) {
    const Fragment x = k.load(k.tile(X, {1, 256}, {row, t}), tv, 4);
    k.check(
        {x}, [&](const auto& v) { return select(v[0], k.constant(9), k.constant(0), k.constant(1)); },
        "an element is below 9");
    k.update(sum, {k.fold(Monoid::sum, x, 1)}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.check({sum}, positive, "a sum is not negative");
  k.store(sum, k.tile(Y, {1, 1}, {row, 0}), 1);
  const kernels::Artifact artifact = kernels::build(std::move(k));
  const auto device = kernels::open_device("emulator", "gfx942");
  const auto launch = [&](float last, std::size_t at = 2999) {
    std::vector<float> x(3 * 1000, 0.5F);
    x[at] = last;
    kernels::Bytes bytes(4 * x.size());
    std::memcpy(bytes.data(), x.data(), bytes.size());
    return kernels::run(*device, artifact, {kernels::Bytes(12), bytes}, {3, 1000})[0];
  };
  CHECK_NOTHROW(launch(0.5F));
  CHECK_THROWS_WITH(launch(-501), Contains("a sum is not negative") && Contains("workgroup 2,0,0"));
  CHECK_NOTHROW(launch(8.5F));
  for (const std::size_t at :
       {1000U, 1255U, 1256U, 1999U}) // in each trip of workgroup 1: work-items 0, 63, 0 and 57
    CHECK_THROWS_WITH(launch(9, at), Contains("an element is below 9") && Contains("workgroup 1,0,0") &&
                                         Contains("lane " + std::to_string(at % 1000 % 256 / 4)));
}

TEST_CASE("check: in a loop of matrix products that goes through LDS, and in a loop around one", "[error]") {
  const Target& target = Target::named("gfx950");
  const auto mma = MmaTiling::of(Atom::mma_best(target, Element::f16, Element::f16, Element::f32, 16), 2, 2,
                                 32, 32, 64, 8);
  Program k("products", target, mma.threads());
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            K = k.size("k", {.most = 1 << 20, .multiple = 8});
  const Tensor C = k.output("c", Element::f32, {M, N}), A = k.input("a", Element::f16, {M, K}),
               B = k.input("b", Element::f16, {N, K}),
               lds = k.lds("lds", Element::f16, {32, 64}, Swizzle(3, 3, 3));
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
  });
  const Sym bm = k.workgroups(0, M, 32);
  const auto below = [&](int most) {
    return [&k, most](const auto& v) { return select(v[0], k.constant(most), k.constant(0), k.constant(1)); };
  };
  k.loop(N, 32, {.distance = 0, .ring = 1}, [&](Sym bn) {
    const Fragment acc = k.zeros(Element::f32, mma.c(), {32, 32});
    k.loop(K, 64, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(B, {32, 64}, {bn, t}), lds, rows_tv(32, 64, 8, mma.threads()), 8);
      const Fragment a = k.load(k.tile(A, {32, 64}, {bm, t}), mma.a(), 8);
      k.check({a}, below(4), "an element of a is below 4");
      k.mma(acc, a, k.read(lds, mma.b(), 8), mma);
    });
    k.check({acc}, below(100), "an element of c is below 100");
    k.store(acc, k.tile(C, {32, 32}, {bm, bn}), 4);
  });
  const kernels::Artifact artifact = kernels::build(std::move(k));
  const auto device = kernels::open_device("emulator", "gfx950");
  const auto launch = [&](std::uint16_t a, std::uint16_t b) { // the last element of each, beside ones
    std::vector<std::uint16_t> of_a(40 * 72, 0x3c00), of_b(68 * 72, 0x3c00);
    of_a.back() = a, of_b.back() = b;
    const auto bytes = [](const std::vector<std::uint16_t>& v) {
      kernels::Bytes out(2 * v.size());
      std::memcpy(out.data(), v.data(), out.size());
      return out;
    };
    const kernels::Bytes after =
        kernels::run(*device, artifact, {kernels::Bytes(std::size_t{4} * 40 * 68), bytes(of_a), bytes(of_b)},
                     {40, 68, 72})[0];
    float last = 0;
    std::memcpy(&last, after.data() + after.size() - 4, 4);
    return last;
  };
  CHECK(launch(0x3c00, 0x3c00) == 72);
  CHECK(launch(0x4200, 0x3c00) == 74);                                                 // 3
  CHECK_THROWS_WITH(launch(0x4400, 0x3c00), Contains("an element of a is below 4"));   // 4
  CHECK_THROWS_WITH(launch(0x3c00, 0x4f40), Contains("an element of c is below 100")); // 29
}

} // namespace check_test
