// D = act(alpha A B^T + beta C + bias + row_bias) + residual: against plain loops over small whole numbers, whose products and sums are
// exact; what silu and gelu make of those is compared within a few roundings of f32.
#include "../undecided.h"
#include "strict_launch.h"

#include <inlay/codegen/code.h>
#include <inlay/codegen/element.h>
#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace gemm_blas_test {

using namespace inlay;
using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {

using Added = GemmSpec::Added;
using Activation = GemmSpec::Activation;

/// By <cmath> alone; 0 to 4 as they are declared.
double activated(Activation by, double x) {
  switch (by) {
  case Activation::relu: return x > 0 ? x : 0;
  case Activation::silu: return x / (1 + std::exp(-x));
  case Activation::gelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case Activation::gelu_tanh:
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  case Activation::none: break;
  }
  return x;
}

/// Element i of what a launch gets under that name: whole numbers of -2 to 2 that tell rows, columns and buffers apart.
double whole(char name, std::int64_t row, std::int64_t column) {
  return static_cast<double>((row * 7 + column * 3 + row * column + name) % 5 - 2);
}

struct Numbers {
  double alpha = 2, beta = -3;
  bool nan_in_c = false;
};

/// Rows `pad` elements apart, between which all bits are 1.
Bytes matrix(char name, std::int64_t rows, std::int64_t columns, Element type, std::int64_t pad = 0) {
  const std::int64_t pitch = columns + pad;
  Bytes out(static_cast<std::size_t>((rows * pitch - pad) * codegen::bits(type) / 8), std::byte{0xff});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      codegen::put_code(out, static_cast<std::size_t>(r * pitch + c), type,
                        codegen::encode(type, whole(name, r, c)));
  return out;
}

/// The same numbers, column after column.
Bytes turned(char name, std::int64_t rows, std::int64_t columns, Element type) {
  Bytes out(static_cast<std::size_t>(rows * columns * codegen::bits(type) / 8));
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r)
      codegen::put_code(out, static_cast<std::size_t>(c * rows + r), type,
                        codegen::encode(type, whole(name, r, c)));
  return out;
}

/// What is wrong with D, element by element and between its rows: exactly, in types that hold these numbers. Nothing where it is right.
std::string wrong(const GemmSpec& spec, const Artifact& kernel, std::int64_t m, std::int64_t n,
                  std::int64_t k, const Numbers& x, bool stress = false, const GemmPads& pads = {}) {
  Problem problem = gemm_problem(spec, m, n, k, 1, pads);
  const std::string result = spec.adds_c() ? "D" : "C";
  const bool in_place = spec.added == Added::in_place;
  Bytes c = matrix('c', m, n, spec.out, in_place ? pads.d : pads.c);
  if (x.nan_in_c) std::fill(c.begin(), c.end(), std::byte{0xff}); // of every type that is there
  for (auto& b : problem.buffers) {
    const std::size_t bytes = b.data.size();
    if (b.name == result) {
      if (in_place)
        b.data = c;
      else
        std::fill(b.data.begin(), b.data.end(), std::byte{0xff});
    } else if (b.name == "A") {
      b.data = spec.turned_a() ? turned('a', m, k, spec.in) : matrix('a', m, k, spec.in, pads.a);
    } else if (b.name == "B") {
      b.data = spec.turned_b() ? turned('b', n, k, spec.in) : matrix('b', n, k, spec.in, pads.b);
    } else if (b.name == "C") {
      b.data = c;
    } else if (b.name == "bias") {
      b.data = matrix('v', 1, n, Element::f32);
    } else if (b.name == "row_bias") {
      b.data = matrix('w', m, 1, Element::f32);
    } else if (b.name == "residual") {
      b.data = matrix('r', m, n, spec.out);
    } else if (b.name == "alpha" || b.name == "beta") {
      codegen::put_code(b.data, 0, Element::f32,
                        codegen::encode(Element::f32, b.name == "alpha" ? x.alpha : x.beta));
    }
    REQUIRE(b.data.size() == bytes);
  }
  const Bytes d = launch(kernel, problem, stress).at(0);
  const std::int64_t pitch = n + pads.d;
  const auto at = [&](std::int64_t r, std::int64_t j) {
    return codegen::code_at(d, static_cast<std::size_t>(r * pitch + j), spec.out);
  };
  for (std::int64_t r = 0; r < m; ++r)
    for (std::int64_t j = 0; j < pitch && r * pitch + j < m * pitch - pads.d; ++j) {
      if (j >= n) {
        if (at(r, j) != (codegen::bits(spec.out) == 16 ? 0xffffU : 0xffffffffU))
          return "something was stored between rows " + std::to_string(r) + " and " + std::to_string(r + 1);
        continue;
      }
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += whole('a', r, i) * whole('b', j, i);
      double expected = spec.alpha ? x.alpha * sum : sum;
      if (spec.adds_c() && x.beta != 0)
        expected += x.beta * (x.nan_in_c ? static_cast<double>(NAN) : whole('c', r, j));
      if (spec.bias) expected += whole('v', 0, j);
      if (spec.row_bias) expected += whole('w', r, 0);
      expected = activated(spec.activation, expected);
      if (spec.residual) expected += whole('r', r, j);
      const double got = codegen::decode(spec.out, at(r, j));
      const bool curved = spec.activation != Activation::none && spec.activation != Activation::relu;
      const double within =
          curved ? (3e-7 + (spec.out == Element::f16 ? 0x1p-10 : 0)) * (16 + std::abs(expected)) : 0;
      if (std::isnan(expected) ? !std::isnan(got) : !(std::abs(got - expected) <= within))
        return "element (" + std::to_string(r) + "," + std::to_string(j) + "): " + std::to_string(got) +
               ", and expected " + std::to_string(expected);
    }
  return "";
}

void expect_exact(const GemmSpec& spec, const Artifact& kernel, std::int64_t m, std::int64_t n,
                  std::int64_t k, const Numbers& x, bool stress = false, const GemmPads& pads = {}) {
  CHECK(wrong(spec, kernel, m, n, k, x, stress, pads).empty());
}

GemmSpec small() {
  GemmSpec spec;
  spec.out = Element::f32;
  spec.tile_m = spec.tile_n = 64;
  spec.tile_k = 64;
  return spec;
}

struct Named {
  std::string name;
  GemmSpec spec;
};

std::vector<Named> forms() {
  std::vector<Named> out = {{"plain", small()}};
  const auto more = [&](const std::string& name, const auto& change) {
    GemmSpec spec = small();
    change(spec);
    out.push_back({name, spec});
  };
  // Sums of at most 72 products of at most 4 are below 2048.
  more("f16", [](GemmSpec& s) { s.out = Element::f16; });
  more("whole vectors of f16", [](GemmSpec& s) { s.out = Element::f16, s.multiple_n = 4; });
  more("32 rows",
       [](GemmSpec& s) { s.mfma = 32, s.tile_n = 128, s.waves_m = 1, s.waves_n = 4, s.tile_k = 32; });
  more("i8", [](GemmSpec& s) { s.in = Element::i8; });
  more("transfers", [](GemmSpec& s) { s.arch = "gfx950", s.transfer = true; });
  more("one wave", [](GemmSpec& s) {
    s.tile_m = s.tile_n = 16, s.tile_k = 256, s.waves_m = s.waves_n = 1, s.direct = GemmSpec::Direct::b;
  });
  return out;
}

} // namespace

TEST_CASE("gemm: A as [K,M] and B as [K,N] are what plain loops give, ragged") {
  using Stored = GemmSpec::Stored;
  for (const std::string arch : {"gfx942", "gfx950"})
    for (const Stored stored : {Stored::nn, Stored::tn, Stored::tt})
      for (const bool more : {false, true}) {
        GemmSpec spec = small();
        spec.arch = arch, spec.stored = stored;
        spec.in = more ? Element::bf16 : Element::f16;
        if (more)
          spec.alpha = true, spec.added = Added::apart, spec.bias = true, spec.tile_n = 128, spec.tile_k = 32;
        CAPTURE(arch, static_cast<int>(stored), more);
        const Artifact kernel = build_gemm(spec);
        // One of 8, beside a tile's end, and a K that no vector divides where none goes along it.
        const std::int64_t k = stored == Stored::tn ? 67 : 72;
        for (const auto& [m, n] : {std::pair(8, 8), std::pair(72, 136), std::pair(64, 64)})
          expect_exact(spec, kernel, m, n, k, {}, m == 72);
      }
}

TEST_CASE(
    "gemm: a transposed tile of rows of 64 bytes is written by dwords, without conflicts, and is right") {
  using Stored = GemmSpec::Stored;
  for (const std::string arch : {"gfx942", "gfx950"})
    for (const Stored stored : {Stored::nn, Stored::tn, Stored::tt}) {
      GemmSpec spec = small();
      spec.arch = arch, spec.stored = stored, spec.in = Element::bf16;
      spec.tile_m = spec.tile_n = 256, spec.tile_k = 32, spec.waves_m = 2, spec.waves_n = 4;
      CAPTURE(arch, static_cast<int>(stored));
      const Artifact kernel = build_gemm(spec);
      CHECK_THAT(kernel.assembly, !Contains("ds_write_b16"));
      CHECK_THAT(kernel.proofs.text(), Contains("conflict"));
      expect_exact(spec, kernel, 264, 72, 72, {}, true);
    }
}

TEST_CASE("gemm: what no layout but A as [M,K] and B as [N,K] has is refused", "[error]") {
  const auto refused = [](const auto& change) {
    GemmSpec spec = small();
    spec.stored = GemmSpec::Stored::nn;
    change(spec);
    try {
      (void)gemm_program(spec);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused([](GemmSpec& s) { s.in = Element::i8, s.out = Element::i32; }).empty());
  CHECK_THAT(refused([](GemmSpec& s) { s.preshuffled_b = true; }), Contains("layout = nn"));
  CHECK_THAT(refused([](GemmSpec& s) { s.transfer = true; }), Contains("direct-to-lds = yes"));
  CHECK_THAT(refused([](GemmSpec& s) { s.direct = GemmSpec::Direct::a; }), Contains("direct-to-vgpr = a"));
  CHECK_THAT(refused([](GemmSpec& s) { s.padded.b = true; }), Contains("pad-b = yes"));
  CHECK_THAT(refused([](GemmSpec& s) { s.tile_n = 16, s.tile_k = 32, s.waves_m = 4, s.waves_n = 1; }),
             Contains("tile_n = 16"));
  // Sizes below 2 GiB: K and N are bounded together.
  GemmSpec spec = small();
  spec.stored = GemmSpec::Stored::nn;
  CHECK_THROWS_WITH(plan_gemm_launch(spec, 64, 64, 1 << 15), Contains("k = 32768"));
  CHECK_THROWS_WITH(plan_gemm_launch(spec, 64, 1 << 17, 64), Contains("n = 131072"));
  spec.k_most = 1 << 12;
  CHECK(plan_gemm_launch(spec, 64, 1 << 17, 64).grid[0] == (1 << 17) / 64);
}

TEST_CASE("gemm: alpha A B^T + beta C + bias is what plain loops give, ragged, C apart and in place") {
  for (const Named& form : forms())
    for (const Added added : {Added::apart, Added::in_place, Added::none})
      for (const bool alpha : {true, false}) {
        if (!alpha && added == Added::in_place) continue;
        GemmSpec spec = form.spec;
        spec.alpha = alpha, spec.added = added;
        spec.bias = spec.alpha == (added == Added::apart);
        if (!spec.weighted()) continue;
        INFO(form.name << (alpha ? " alpha" : "") << (added == Added::none ? "" : " beta")
                       << (added == Added::in_place ? " in place" : "") << (spec.bias ? " bias" : ""));
        const Artifact kernel = build_gemm(spec);
        CHECK_THAT(kernel.proofs.text(), Contains("is what the specification says"));
        const std::int64_t n = spec.multiple_n == 1 ? 67 : 68;
        expect_exact(spec, kernel, 70, n, 80, {});
        expect_exact(spec, kernel, 1, n, 16, {.alpha = -1, .beta = 1}, true);
        expect_exact(spec, kernel, 65, n, 64, {.alpha = 0, .beta = 2});
      }
}

TEST_CASE("gemm: act(alpha A B^T + beta C + bias + row_bias) + residual is what plain loops give, ragged") {
  int i = 0;
  for (const Named& form : forms())
    for (const Activation by :
         {Activation::none, Activation::relu, Activation::silu, Activation::gelu, Activation::gelu_tanh}) {
      // Everything, and each of the others by turns: what a form leaves out is no operand of it.
      GemmSpec spec = form.spec;
      spec.activation = by;
      const bool all = i % 3 == 0;
      spec.row_bias = all || i % 3 == 1, spec.residual = all || i % 3 == 2 || by == Activation::none;
      spec.bias = all || i % 2 == 1, spec.alpha = all, spec.added = all ? Added::apart : Added::none;
      INFO(form.name << " " << to_string(by) << " " << i++ % 3);
      const Artifact kernel = build_gemm(spec);
      CHECK_THAT(kernel.proofs.text(), Contains("is what the specification says"));
      const std::int64_t n = spec.multiple_n == 1 ? 67 : 68;
      // Sums of 3 and of 8 products: where an activation bends.
      for (const auto& [m, k] : {std::pair(70, 16), std::pair(1, 16), std::pair(65, 32)})
        expect_exact(spec, kernel, m, n, k, {.alpha = 0.25, .beta = -1}, m == 1);
    }
}

TEST_CASE("gemm: 256 results a lane take C, biases and a residual, and nothing goes to scratch") {
  for (const std::string arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch, spec.in = spec.out = Element::bf16;
    spec.tile_m = spec.tile_n = 256, spec.tile_k = arch == "gfx950" ? 64 : 32;
    spec.multiple_n = 8;
    spec.transfer = arch == "gfx950";
    spec.bias = spec.row_bias = spec.residual = true;
    spec.activation = Activation::relu;
    CAPTURE(arch);
    const Undecided validation; // of so many elements it takes minutes
    const Artifact kernel = build_gemm(spec);
    CHECK_THAT(kernel.assembly, Contains(".amdhsa_private_segment_fixed_size 0"));
    // Sums of 16 products are whole numbers of at most 74: bf16 has them.
    expect_exact(spec, kernel, 300, 264, 16, {}, true);
  }
}

TEST_CASE("gemm: with stored parts the last workgroup activates, once; layouts and preshuffled fp4 do") {
  {
    const Undecided validation; // tickets
    GemmSpec spec = small();
    spec.split = 64, spec.gather = true;
    spec.activation = Activation::silu, spec.row_bias = spec.residual = true;
    const Artifact kernel = build_gemm(spec);
    for (const auto& [m, n, k] : {std::tuple{70, 68, 200}, {1, 4, 64}})
      expect_exact(spec, kernel, m, n, k, {}, true);
  }
  {
    GemmSpec spec = small();
    spec.stored = GemmSpec::Stored::tt, spec.activation = Activation::gelu, spec.row_bias = true;
    expect_exact(spec, build_gemm(spec), 72, 136, 16, {}, true);
  }
  for (const bool shuffled : {false, true}) { // rows of A lie in the order of their scales
    GemmSpec spec = small();
    spec.arch = "gfx950", spec.in = Element::e2m1, spec.out = Element::bf16;
    spec.tile_k = 256, spec.preshuffled_b = shuffled;
    if (shuffled) spec.tile_n = 128, spec.waves_m = 1, spec.waves_n = 4;
    spec.bias = spec.row_bias = spec.residual = true, spec.activation = Activation::relu;
    const Artifact kernel = build_gemm(spec);
    for (const auto& [m, n] : {std::pair{70, 80}, {1, 16}})
      expect_right(kernel, gemm_problem(spec, m, n, 512, 5), true);
    Problem wrong = gemm_problem(spec, 70, 80, 256, 6);
    for (auto& b : wrong.buffers)
      if (b.name == "row_bias")
        for (std::size_t at = 0; at < 4 * 70; at += 4) // other exponents
          b.data[at + 3] = std::byte{0x4a};
    CHECK_FALSE(wrong.check(launch(kernel, wrong)).ok);
  }
}

TEST_CASE("gemm: the judge tells activations, biases and residual from their neighbours") {
  GemmSpec spec = small();
  spec.activation = Activation::gelu, spec.row_bias = spec.bias = spec.residual = true;
  const Problem problem = gemm_problem(spec, 70, 67, 16, 1);
  CHECK(problem.check(launch(build_gemm(spec), problem)).ok);
  const auto passes = [&](const auto& change) { // what another kernel makes of the same buffers
    GemmSpec other = spec;
    change(other);
    Problem given = gemm_problem(other, 70, 67, 16, 1);
    for (auto& b : given.buffers)
      for (const auto& from : problem.buffers)
        if (b.name == from.name) b.data = from.data;
    return problem.check(launch(build_gemm(other), given)).ok;
  };
  CHECK(passes([](GemmSpec&) {}));
  for (const Activation by : {Activation::none, Activation::relu, Activation::silu, Activation::gelu_tanh})
    CHECK_FALSE(passes([&](GemmSpec& s) { s.activation = by; }));
  CHECK_FALSE(passes([](GemmSpec& s) { s.row_bias = false; }));
  CHECK_FALSE(passes([](GemmSpec& s) { s.bias = false; }));
  CHECK_FALSE(passes([](GemmSpec& s) { s.residual = false; }));
  CHECK_FALSE(
      passes([](GemmSpec& s) { s.residual = false, s.added = Added::apart; })); // before the activation
}

TEST_CASE("gemm: where beta is 0 nothing of C reaches D, NaN neither, and a beta of NaN is no 0") {
  for (const Added added : {Added::apart, Added::in_place}) {
    GemmSpec spec = small();
    spec.alpha = true, spec.added = added;
    const Artifact kernel = build_gemm(spec);
    expect_exact(spec, kernel, 70, 67, 80, {.beta = 0, .nan_in_c = true});
    expect_exact(spec, kernel, 70, 67, 80, {.beta = -0.0, .nan_in_c = true});
    expect_exact(spec, kernel, 70, 67, 80, {.beta = 1e-40, .nan_in_c = true});
    expect_exact(spec, kernel, 70, 67, 80, {.beta = NAN});
  }
}

TEST_CASE("gemm: rows that are apart: the pads are sizes of a launch, and what lies between rows stays") {
  for (const Named& form : forms())
    for (const Added added : {Added::apart, Added::in_place, Added::none}) {
      GemmSpec spec = form.spec;
      spec.alpha = added != Added::none, spec.added = added;
      spec.padded = {.a = true, .b = true, .c = added == Added::apart, .d = true};
      if (spec.in == Element::i8 && added == Added::none) spec.out = Element::i32;
      if (form.name == "one wave" && added == Added::in_place) continue;
      INFO(form.name << " " << static_cast<int>(added));
      const Artifact kernel = build_gemm(spec);
      const std::int64_t v = 128 / codegen::bits(spec.in), g = spec.multiple_n, n = g == 1 ? 67 : 68;
      expect_exact(spec, kernel, 70, n, 80, {}, true, {.a = v, .b = 3 * v, .c = 2 * g, .d = 5 * g});
      expect_exact(spec, kernel, 65, n, 64, {}, false, {});
      expect_exact(spec, kernel, 1, n, 16, {}, false, {.a = 0, .b = 64, .c = 0, .d = g});
      expect_exact(spec, kernel, 3, n, 16, {}, false, {.a = 2048, .b = 0, .c = 1000 * g, .d = 0});
    }
  { // The parts of K have rows of their own.
    const Undecided validation;
    GemmSpec spec = small();
    spec.split = 64, spec.gather = true, spec.added = Added::apart;
    spec.padded = {.a = true, .b = false, .c = true, .d = true};
    expect_exact(spec, build_gemm(spec), 70, 68, 200, {}, true, {.a = 8, .c = 8, .d = 4});
  }
  // A kernel that takes the one pad for the other is seen.
  GemmSpec spec = small();
  spec.alpha = true, spec.added = Added::apart;
  spec.padded = {.a = true, .b = true, .c = true, .d = true};
  const auto told = [&](const GemmPads& pads) {
    codegen::Program p = gemm_program(spec);
    std::vector<codegen::Tensor*> of;
    for (codegen::Tensor& t : p.mutable_tensors())
      if (t.name == "c" || t.name == "d") of.push_back(&t);
    REQUIRE(of.size() == 2);
    std::swap(of[0]->place, of[1]->place);
    const Artifact kernel = build(std::move(p));
    Problem problem = gemm_problem(spec, 64, 64, 64, 1, pads);
    const auto device = inlay::kernels::open_device("emulator", kernel.arch);
    std::vector<Bytes> buffers;
    for (const auto& b : problem.buffers) buffers.push_back(b.data);
    return problem.check(inlay::kernels::run(*device, kernel, buffers, gemm_sizes(spec, 64, 64, 64, pads)))
        .ok;
  };
  CHECK(told({.a = 8, .b = 8, .c = 4, .d = 4}));
  CHECK_THROWS_WITH(told({.a = 8, .b = 8, .c = 0, .d = 4}), Contains("d"));
}

TEST_CASE("gemm: the judge sees a store between the rows of the result") {
  GemmSpec spec = small();
  spec.padded.d = true;
  const Problem problem = gemm_problem(spec, 5, 7, 8, 1, {.d = 3});
  std::vector<Bytes> after = launch(build_gemm(spec), problem);
  CHECK(problem.check(after).ok);
  after[0][4 * 8] ^= std::byte{1}; // of element (0,8)
  CHECK_FALSE(problem.check(after).ok);
  CHECK_THAT(problem.check(after).message, Contains("between the rows"));
}

TEST_CASE("gemm: with stored parts the last workgroup adds beta C, once") {
  const Undecided validation; // tickets
  for (const Added added : {Added::apart, Added::in_place}) {
    GemmSpec spec = small();
    spec.split = 64, spec.gather = true;
    spec.alpha = spec.bias = true, spec.added = added;
    const Artifact kernel = build_gemm(spec);
    for (const auto& [m, n, k] : {std::tuple{70, 68, 200}, {1, 4, 64}})
      expect_exact(spec, kernel, m, n, k, {}, true);
  }
}

TEST_CASE("gemm: other types and forms with alpha and beta are within the error bound of their reference") {
  for (const bool shuffled : {false, true})
    for (const auto& [name, tile_k] : {std::pair{"fp8", 64}, {"bf16", 64}, {"fp4", 256}}) {
      GemmSpec spec = small();
      spec.arch = "gfx950";
      spec.in = codegen::parse_element(name, codegen::Target::named(spec.arch)), spec.out = Element::bf16;
      spec.preshuffled_b = shuffled;
      spec.alpha = true, spec.added = shuffled ? Added::in_place : Added::apart;
      spec.tile_k = tile_k;
      if (shuffled) spec.tile_n = 128, spec.waves_m = 1, spec.waves_n = 4;
      INFO(name << (shuffled ? " preshuffled" : ""));
      const Artifact kernel = build_gemm(spec);
      for (const auto& [m, n] : {std::pair{70, 80}, {1, 16}})
        expect_right(kernel, gemm_problem(spec, m, n, 512, 5), true);
      for (const std::string buffer : {"alpha", "beta", "C"}) { // one sign
        if (buffer == "C" && spec.in == Element::e2m1)
          continue; // an element is less than the bound of such sums
        Problem wrong = gemm_problem(spec, 70, 80, 512, 6);
        for (auto& b : wrong.buffers)
          if (b.name == buffer) {
            b.data[buffer == "C" ? 2 * 37 + 1 : 3] ^= std::byte{0x80};
            CHECK_FALSE(wrong.check(launch(kernel, wrong)).ok);
          }
      }
    }
  GemmSpec parts = small(); // alpha alone may be added part by part
  parts.alpha = true, parts.split = 64;
  expect_right(build_gemm(parts), gemm_problem(parts, 70, 67, 200, 1));
}

TEST_CASE("gemm: a program that leaves out beta, or takes C from elsewhere, is refused") {
  GemmSpec spec = small();
  spec.alpha = true, spec.added = Added::apart, spec.bias = true;
  const auto refusal = [&](const auto& change) {
    codegen::Program p = gemm_program(spec);
    int changed = 0;
    const auto named = [&](const codegen::CopyOp& copy, const std::string& name) {
      return copy.from && copy.from->tensor >= 0 && p.tensor(copy.from->tensor).name == name;
    };
    for (codegen::Op& op : p.mutable_body()) changed += change(p, op, named);
    REQUIRE(changed == 1);
    try {
      (void)build(std::move(p));
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("was built");
  };
  const auto copy = [](codegen::Op& op) { return std::get_if<codegen::CopyOp>(&op.what); };
  const auto map = [](codegen::Op& op) { return std::get_if<codegen::MapOp>(&op.what); };
  CHECK(build(gemm_program(spec)).proofs.text().size() > 100);
  const auto result = Contains("d is what the specification says");
  const auto of_map = [&](const auto& swap) {
    return refusal([&](auto&, codegen::Op& op, const auto&) {
      return map(op) && map(op)->from.size() == 5 ? (swap(map(op)->from), 1) : 0;
    });
  };
  // Operands: the sum, alpha, beta, C, the bias.
  CHECK_THAT(of_map([](auto& f) { f[2] = f[1]; }), result);           // alpha in the place of beta
  CHECK_THAT(of_map([](auto& f) { std::swap(f[1], f[2]); }), result); // exchanged
  CHECK_THAT(of_map([](auto& f) { f[3] = f[0]; }), result);           // the sum for C
  CHECK_THAT(of_map([](auto& f) { f[3] = f[4]; }), result);           // the bias for C
  const auto load = [&](const std::string& name, const auto& move) {
    return refusal([&](auto& p, codegen::Op& op, const auto& named) {
      return copy(op) && named(*copy(op), name) ? (move(p, *copy(op)->from), 1) : 0;
    });
  };
  CHECK_THAT(load("c", [](auto&, codegen::View& v) { v.origin[0] += Sym(1); }), !Contains("was built"));
  CHECK_THAT(load("c", [](auto&, codegen::View& v) { v.origin[1] += Sym(64); }), !Contains("was built"));
  CHECK_THAT(load("c", [](auto&, codegen::View& v) { std::swap(v.origin[0], v.origin[1]); }),
             !Contains("was built"));
  CHECK_THAT(load("c", [](auto&, codegen::View& v) { v.origin[0] = Sym(0); }), result);
  CHECK_THAT(load("beta",
                  [](auto& p, codegen::View& v) {
                    for (const codegen::Tensor& t : p.tensors())
                      if (t.name == "alpha") v.tensor = t.id;
                  }),
             result);
}

TEST_CASE("gemm: a program whose activation is another, or that takes bias and residual for one another, is "
          "refused") {
  GemmSpec spec = small();
  spec.activation = Activation::gelu, spec.bias = spec.row_bias = spec.residual = true;
  const auto refusal = [&](const auto& change) {
    codegen::Program p = gemm_program(spec);
    change(p);
    try {
      (void)build(std::move(p));
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("was built");
  };
  CHECK(refusal([](auto&) {}) == "was built");
  const auto result = Contains("c is what the specification says");
  // The kernel of another activation with this one's specification, and operands exchanged: the sum, bias, row_bias, residual.
  for (const Activation by : {Activation::none, Activation::relu, Activation::silu, Activation::gelu_tanh}) {
    GemmSpec other = spec;
    other.activation = by;
    codegen::Program q = gemm_program(other); // whose expression it is as long as p is built
    CHECK_THAT(refusal([&](codegen::Program& p) {
                 const auto map_of = [](codegen::Program& of) {
                   codegen::MapOp* found = nullptr;
                   for (codegen::Op& op : of.mutable_body())
                     if (auto* map = std::get_if<codegen::MapOp>(&op.what)) found = map;
                   return found;
                 };
                 map_of(p)->map = map_of(q)->map;
               }),
               result);
  }
  for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>(0, 3), {1, 3}, {2, 3}})
    CHECK_THAT(refusal([&](codegen::Program& p) {
                 for (codegen::Op& op : p.mutable_body())
                   if (auto* map = std::get_if<codegen::MapOp>(&op.what))
                     std::swap(map->from[a], map->from[b]);
               }),
               result);
}

TEST_CASE("gemm: what alpha, beta and C cannot be combined with is refused by name") {
  const auto refusal = [](const auto& change) {
    GemmSpec spec = small();
    change(spec);
    try {
      (void)gemm_program(spec);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  CHECK_THAT(refusal([](GemmSpec& s) { s.added = Added::apart, s.split = 64; }),
             Contains("beta = yes") && Contains("split-k-fixup yes") && Contains("once a part"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.added = Added::in_place, s.workers = 4; }),
             Contains("beta = in-place") && Contains("without stream-k-workgroups") &&
                 Contains("once a share"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.in = Element::i8, s.out = Element::i32, s.alpha = true; }),
             Contains("out = i32") && Contains("f32, f16, bf16"));
  for (const auto& [field, value, what] :
       {std::tuple(&GemmSpec::row_bias, true, "a bias"), {&GemmSpec::residual, true, "a residual"}})
    CHECK_THAT(refusal([&](GemmSpec& s) { s.*field = value, s.split = 64; }),
               Contains("split = 64") && Contains(std::string(what) + " would be added once a part"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.activation = Activation::relu, s.workers = 4; }),
             Contains("stream-k-workgroups = 4") && Contains("an activation would be taken once a share"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.padded.c = true; }), Contains("pad-c = yes") && Contains("pad-d"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.padded.c = true, s.added = Added::in_place; }),
             Contains("pad-c = yes") && Contains("pad-d: in place"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.padded.b = s.preshuffled_b = true; }),
             Contains("pad-b = yes") && Contains("preshuffled B"));
  CHECK(refusal([](GemmSpec& s) { s.alpha = true, s.tile_m = s.tile_n = 256, s.tile_k = 32; }) == "nothing");
  GemmSpec apart = small();
  apart.padded.a = true;
  CHECK_THROWS_WITH(plan_gemm_launch(apart, 64, 64, 64, {.a = 3}),
                    Contains("pad_a = 3 is not a multiple of 8"));
  CHECK_THROWS_WITH(plan_gemm_launch(apart, 64, 64, 64, {.a = -8}), Contains("pad_a = -8"));
  CHECK_THROWS_WITH(plan_gemm_launch(apart, 64, 64, 1 << 21), Contains("1 to 1048576"));
  CHECK(inlay_run({"gemm", "--m", "64", "--n", "64", "--k", "64", "--pad-a", "8", "--pad-d", "1"}).exit == 0);
  const auto ran = inlay_run({"gemm", "--beta", "maybe"});
  CHECK(ran.exit == 2);
  CHECK_THAT(ran.err, Contains("--beta 'maybe' is none of no, yes, in-place"));
}

TEST_CASE("gemm: a D that shares memory with C is not launched, and in place it is one buffer") {
  GemmSpec spec = small();
  spec.added = Added::apart;
  const LaunchContract apart = build_gemm(spec).contract;
  std::map<std::string, std::uint64_t> at;
  std::vector<std::uint64_t> addresses;
  for (const auto& b : apart.buffers) addresses.push_back(at[b.name] = (addresses.size() + 1) << 24);
  const std::vector<std::int64_t> sizes = {64, 64, 64};
  CHECK_NOTHROW(apart.check_addresses(addresses, sizes));
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (apart.buffers[i].name == "c") addresses[i] = at["d"];
  CHECK_THROWS_WITH(apart.check_addresses(addresses, sizes), Contains("the output d shares memory with c"));
  spec.added = Added::in_place;
  for (const auto& b : build_gemm(spec).contract.buffers) CHECK(b.name != "c");
}

} // namespace gemm_blas_test
