// Kernels of rows on the emulator with every sanitizer on: lengths, types, what is fused; and that their judges judge.
#include "../undecided.h"
#include "inlay_command.h"
#include "strict_launch.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/cumsum/spec.h>
#include <inlay/kernels/rope/spec.h>
#include <inlay/kernels/rows/spec.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace rows_test {

using namespace inlay;
using namespace inlay::kernels;
using Catch::Matchers::Contains;

TEST_CASE("normalisations: lengths of rows, types, workgroups, residuals, 8 bits") {
  struct Shape {
    int threads, vectors, vector;
  };
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16, Element::f32})
      for (const Shape& shape : {Shape{64, 2, 0}, {256, 3, 0}, {128, 5, 1}})
        for (const int quantised : {0, 1, 2}) {
          RowSpec spec;
          spec.arch = arch;
          spec.type = type;
          spec.threads = shape.threads, spec.vectors = shape.vectors, spec.vector = shape.vector;
          spec.residual = (quantised + shape.vectors) % 2 == 1;
          spec.in_place = shape.vectors != 3 && (spec.residual || quantised == 0);
          const codegen::Target& target = codegen::Target::named(arch);
          if (quantised > 0) spec.quantised = quantised == 1 ? Element::i8 : codegen::fp8(target);
          const Artifact rms = build_rmsnorm(spec), layer = build_layernorm(spec);
          const int v = spec.vector_length(), last = spec.capacity();
          for (const int n : {v, last / 2 + v, last - v, last}) {
            expect_right(rms, rmsnorm_problem(spec, 4, n, 11), n == last - v);
            expect_right(layer, layernorm_problem(spec, 5, n, 12), n == last - v);
          }
        }
}

TEST_CASE("softmax of f32 rows and of any length; silu_and_mul across workgroups") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16, Element::f32})
      for (const int vector : {0, 1}) {
        RowSpec spec;
        spec.arch = arch;
        spec.type = type;
        spec.threads = 128, spec.vectors = 2, spec.vector = vector;
        const int v = spec.vector_length(), last = spec.capacity();
        RowSpec over = spec;
        over.in_place = vector == 1;
        const Artifact softmax = build_softmax(over), silu = build_silu_and_mul(spec);
        for (const int n : {v, last - v, last}) expect_right(softmax, softmax_problem(over, 3, n, 1), n == v);
        for (const int d : {v, last, last + v, 3 * last - v})
          expect_right(silu, silu_and_mul_problem(spec, 3, d, 2), d == last + v);
      }
}

// The variance as the mean of the squares less the square of the mean: the same function, and in f32 another number.
codegen::Program one_pass(const RowSpec& s) {
  using codegen::Fragment, codegen::Monoid, codegen::Tensor;
  codegen::Program k("layernorm", codegen::Target::named(s.arch), s.threads);
  const int capacity = s.capacity(), v = s.vector_length();
  const Sym M = k.size("m"), N = k.size("n", {.most = capacity, .multiple = v});
  const Tensor Y = k.output("y", s.type, {M, N}), X = k.input("x", s.type, {M, N}),
               W = k.input("w", s.type, {1, N}), B = k.input("b", s.type, {1, N});
  k.computes(Y, [&](const auto& c) {
    const auto x = [&](Sym i) {
      return k(X, {c[0], i}) - k.sum(N, [&](Sym j) { return k(X, {c[0], j}); }) / k.number(N);
    };
    return x(c[1]) * rsqrt(k.sum(N, [&](Sym j) { return x(j) * x(j); }) / k.number(N) + s.epsilon) *
               k(W, {0, c[1]}) +
           k(B, {0, c[1]});
  });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = codegen::rows_tv(1, capacity, v, s.threads);
  const auto load = [&](const Tensor& t, Sym at) { return k.load(k.tile(t, {1, capacity}, {at, 0}), tv, v); };
  const Fragment x = load(X, row), sum = k.fold(Monoid::sum, x, 1),
                 squares = k.fold(Monoid::sum, k.map({x}, [](const auto&a) { return a[0] * a[0]; }), 1);
  const Fragment by = k.map({sum, squares}, [&](const auto& a) {
    const auto mean = a[0] * rcp(k.number(N));
    return rsqrt(a[1] * rcp(k.number(N)) - mean * mean + s.epsilon);
  });
  k.store(k.map({x, sum, by, load(W, 0), load(B, 0)},
                [&](const auto& a) { return (a[0] - a[1] * rcp(k.number(N))) * a[2] * a[3] + a[4]; }),
          k.tile(Y, {1, capacity}, {row, 0}), v);
  return k;
}

TEST_CASE(
    "the variance in one pass is the same function, proven, and loses the digits that the judge wants") {
  RowSpec spec;
  spec.type = Element::f32;
  const Problem problem = layernorm_problem(spec, 4, 4000, 3); // rows with means 0, 16, 0 and 1000
  const Artifact two = build_layernorm(spec), one = kernels::build(one_pass(spec));
  expect_right(two, problem);
  const Check check = problem.check(launch(one, problem));
  CHECK_FALSE(check.ok);
  CHECK_THAT(check.message, Contains("element (1,") || Contains("element (3,"));
}

TEST_CASE("the judges of rows see one element that is off, of every output") {
  RowSpec spec;
  spec.residual = true;
  for (const std::optional<Element> quantised : {std::optional<Element>(), std::optional(Element::i8)}) {
    spec.quantised = quantised;
    const Artifact kernel = build_layernorm(spec);
    Problem problem = layernorm_problem(spec, 3, 264, 5);
    const std::vector<Bytes> after = launch(kernel, problem);
    REQUIRE(problem.check(after).ok);
    for (std::size_t output = 0; output < (quantised ? 3u : 2u); ++output) {
      INFO("output " << output);
      std::vector<Bytes> wrong = after;
      // The last element: one unit in the last place but two of its type, or a scale's exponent.
      wrong[output][wrong[output].size() - (output == 2 || (output == 0 && quantised) ? 1 : 2)] ^=
          std::byte{0x04};
      CHECK_FALSE(problem.check(wrong).ok);
    }
    problem.launch.grid[0] = 2; // the last row is never computed
    CHECK_FALSE(problem.check(launch(kernel, problem)).ok);
  }
}

// Y = X in another type.
TEST_CASE("f32 to 8 bits: nearest even, i8 saturates, as the table of types says") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const codegen::Target& target = codegen::Target::named(arch);
    for (const Element to : {Element::i8, codegen::fp8(target), codegen::bf8(target)})
      for (const int vector : {1, 2, 4}) {
        codegen::Program k("convert", target, 256);
        const Sym N = k.size("n", {.most = 1 << 20, .multiple = vector});
        const codegen::Tensor Y = k.output("y", to, {N}), X = k.input("x", Element::f32, {N});
        k.computes(Y, [&](const auto& c) { return k(X, {c[0]}); });
        const Sym w = k.workgroups(0, N, 256 * vector);
        const Layout tv = codegen::line_tv(256 * vector, vector, 256);
        k.store(k.load(k.tile(X, {256 * vector}, {w}), tv, vector), k.tile(Y, {256 * vector}, {w}), vector);
        const Artifact kernel = kernels::build(std::move(k));
        // Every number of the type, what lies between it and the next, that a bit more and less, and what is no such number.
        std::vector<float> values = {NAN,    INFINITY, -INFINITY, 0.0f,    -0.0f, 1e30f,
                                     -1e30f, 127.5f,   128.5f,    -128.5f, -129,  1e-40f};
        for (std::uint64_t code = 0; code < 256; ++code) {
          const double a = codegen::decode(to, code), b = codegen::decode(to, code + 1);
          if (!std::isfinite(a) || !std::isfinite(b)) continue;
          const auto middle = static_cast<float>((a + b) / 2);
          for (const float f :
               {static_cast<float>(a), middle, std::nextafter(middle, 1e30f), std::nextafter(middle, -1e30f)})
            values.push_back(f);
        }
        while (values.size() % 4 != 0) values.push_back(0.25f);
        Bytes x(values.size() * 4);
        std::memcpy(x.data(), values.data(), x.size());
        Problem problem;
        const auto n = static_cast<std::int64_t>(values.size());
        problem.launch = kernel.contract.plan({n});
        problem.buffers = {{"y", Bytes(values.size()), true}, {"x", x, false}};
        const std::vector<Bytes> after = launch(kernel, problem);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::uint64_t code = codegen::encode(to, values[i]),
                              got = static_cast<std::uint64_t>(after[0][i]);
          if (to != Element::i8 && std::isnan(codegen::decode(to, code))) {
            CHECK(std::isnan(codegen::decode(to, got)));
            continue;
          }
          INFO(arch << " " << to_string(to) << " " << values[i] << ": " << got << ", the table has " << code);
          CHECK(got == code);
        }
      }
  }
}

TEST_CASE("8 bits to f32: every number of the type, as the table of types says") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const codegen::Target& target = codegen::Target::named(arch);
    for (const Element from : {Element::i8, codegen::fp8(target), codegen::bf8(target)})
      for (const int vector : {1, 2, 4, 8}) {
        codegen::Program k("widen", target, 64);
        const Sym N = k.size("n", {.most = 1 << 20, .multiple = vector});
        const codegen::Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", from, {N});
        k.computes(Y, [&](const auto& c) { return k(X, {c[0]}) * 2.0; });
        const Sym w = k.workgroups(0, N, 64 * vector);
        const Layout tv = codegen::line_tv(64 * vector, vector, 64);
        const auto twice = [](const auto& a) { return a[0] * 2.0; };
        k.store(k.map({k.load(k.tile(X, {64 * vector}, {w}), tv, vector)}, twice),
                k.tile(Y, {64 * vector}, {w}), std::min(vector, 4));
        const Artifact kernel = kernels::build(std::move(k));
        std::vector<std::uint8_t> codes(256);
        for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
        const auto y = first_of<float>(kernel, codes, {256}, codes.size());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < codes.size(); ++i) {
          const double value = codegen::decode(from, i);
          wrong += std::isnan(value) ? !std::isnan(y[i]) : static_cast<double>(y[i]) != 2 * value;
        }
        INFO(arch << " " << to_string(from) << " " << vector);
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE("rows of any length, a capacity at a time") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16, Element::f32})
      for (const int vector : {0, 1}) {
        RowSpec spec;
        spec.arch = arch;
        spec.type = type;
        spec.streamed = true;
        spec.threads = 128, spec.vectors = 2, spec.vector = vector;
        const int v = spec.vector_length(), part = spec.capacity();
        const Artifact softmax = build_softmax(spec), rms = build_rmsnorm(spec),
                       layer = build_layernorm(spec);
        for (const int n : {v, part - v, part, part + v, 2 * part, 5 * part - v}) {
          const bool stress = n == part + v;
          expect_right(softmax, softmax_problem(spec, 3, n, 1), stress);
          expect_right(rms, rmsnorm_problem(spec, 3, n, 2), stress);
          expect_right(layer, layernorm_problem(spec, 4, n, 3), stress);
        }
      }
}

TEST_CASE("rotary position embedding: types, lengths of heads, in place") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16, Element::f32})
      for (const int head_dim : {32, 128, 512}) {
        RopeSpec spec;
        spec.arch = arch, spec.type = type, spec.head_dim = head_dim;
        spec.threads = head_dim == 128 ? 256 : 64;
        spec.in_place = head_dim != 128;
        const Artifact rope = build_rope(spec);
        expect_right(rope, rope_problem(spec, 1, 1, 1, 1), true);
        expect_right(rope, rope_problem(spec, 5, spec.heads() + 1, 300, 2), true);
        expect_right(rope, rope_problem(spec, 17, spec.heads(), 9, 3), false);
      }
  // A position that is no row of the tables: 0, and nothing is read out of bounds.
  const RopeSpec spec;
  const Artifact rope = build_rope(spec);
  Problem problem = rope_problem(spec, 2, 3, 10, 4);
  const std::int32_t outside = 10, negative = -1;
  std::memcpy(problem.buffers[2].data.data(), &outside, 4);
  std::memcpy(problem.buffers[2].data.data() + 4, &negative, 4);
  problem.check = [](std::span<const Bytes> buffers) {
    const bool zero = std::all_of(buffers[0].begin(), buffers[0].end(),
                                  [](std::byte b) { return b == std::byte{0} || b == std::byte{0x80}; });
    return Check{zero, 0, 0, 0, "0", zero ? "" : "not 0"};
  };
  expect_right(rope, problem, false);
}

TEST_CASE("running sums: rows of a workgroup, types, one workgroup and many") {
  // Validation follows no turn yet.
  const Undecided validation;
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16, Element::f32})
      for (const int rows : {1, 3, 16}) {
        CumsumSpec spec;
        spec.arch = arch, spec.type = type, spec.rows = rows;
        spec.threads = rows == 3 ? 128 : 64;
        spec.vector = rows == 1 ? 1 : 0;
        const Artifact sums = build_cumsum(spec);
        const std::int64_t v = spec.vector_length();
        expect_right(sums, cumsum_problem(spec, rows, v, 1), true);
        expect_right(sums, cumsum_problem(spec, 7 * rows, spec.columns() + v, 2), true);
        expect_right(sums, cumsum_problem(spec, 33 * rows, 3 * v, 3), false);
      }
  // Each launch of the cycle model begins with nobody's turn passed on; what waits is named.
  const Ran timed = inlay_run({"cumsum", "--n", "640", "--m", "1024", "--time", "--quick"});
  INFO(timed.err);
  CHECK(timed.exit == 0);
  CHECK_THAT(timed.out, Contains("workgroups wait for their turn"));
}

TEST_CASE("rows: what is not supported is said") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& text) {
    const Ran ran = inlay_run(arguments);
    INFO(ran.err);
    CHECK(ran.exit == 2);
    CHECK_THAT(ran.err, Contains(text));
  };
  refused({"layernorm", "--n", "12"}, "multiple of 8");
  refused({"layernorm", "--n", "8200"}, "8192");
  refused({"layernorm", "--quant", "bf8"}, "i8, or e4m3fnuz on gfx942");
  refused({"rmsnorm", "--quant", "e4m3fn"}, "i8, or e4m3fnuz on gfx942");
  refused({"rmsnorm", "--residual", "maybe"}, "yes or no");
  refused({"softmax", "--in-place", "perhaps"}, "yes or no");
  refused({"rmsnorm", "--in-place", "yes", "--quant", "i8"}, "cannot take the place of X");
  refused({"silu_and_mul", "--in-place", "yes"}, "unknown option");
  refused({"rmsnorm", "--epsilon", "small"}, "not a number");
  refused({"rmsnorm", "--epsilon", "-1"}, "not negative");
  refused({"softmax", "--vectors", "17"}, "1 to 16");
  refused({"softmax", "--vector", "3"}, "0 for 16 bytes");
  refused({"softmax", "--vector", "8", "--dtype", "f32"}, "0 for 16 bytes");
  refused({"softmax", "--quant", "i8"}, "unknown option");
  refused({"softmax", "--stream", "yes", "--in-place", "yes"}, "keep the row in registers");
  refused({"rmsnorm", "--stream", "yes", "--residual", "yes"}, "keep the row in registers");
  refused({"silu_and_mul", "--stream", "yes"}, "unknown option");
  refused({"cumsum", "--rows", "33"}, "1 to 32");
  refused({"cumsum", "--rows", "0"}, "1 to 32");
  refused({"cumsum", "--n", "100"}, "multiple of 16");
  refused({"cumsum", "--m", "100"}, "multiple of 8");
  refused({"cumsum", "--threads", "96"}, "64, 128 or 256");
  refused({"cumsum", "--vector", "3"}, "a power of two up to 8");
  refused({"cumsum", "--dtype", "i8"}, "f16, bf16 or f32");
  refused({"rope", "--head-dim", "96"}, "32, 64, 128, 256 or 512");
  refused({"rope", "--dtype", "i8"}, "f16, bf16 or f32");
  refused({"rope", "--in-place", "2"}, "yes or no");
  refused({"silu_and_mul", "--dtype", "f64"}, "f16, bf16 or f32");
  CHECK(
      inlay_run({"layernorm", "--n", "1027", "--vector", "1", "--vectors", "8", "--epsilon", "1e-6"}).exit ==
      0);
}

} // namespace rows_test
