// Kernels executed on the emulator with every sanitizer on, and `inlay run` as a program sees it.
#include "../undecided.h"
#include "inlay_command.h"
#include "strict_launch.h"

#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/launch.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/kernels/rows/spec.h>
#include <inlay/kernels/weight_only/spec.h>
#include <inlay/runtime/isa/report.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace run_test {

using namespace inlay;
using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {} // namespace

// The least index of each row's maximum: a monoid of pairs as two folds.
codegen::Program row_argmax(const codegen::Target& target, double beyond, bool at_least) {
  using codegen::Monoid;
  codegen::Program k("row_argmax", target, 128);
  const Sym M = k.size("m"), N = k.size("n", {.most = 1024, .multiple = 4});
  const codegen::Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N});
  k.computes(Y, [&](const auto& c) {
    const auto x = [&](Sym i) { return k(X, {c[0], i}); };
    return k.fold(Monoid::min, N, [&](Sym i) {
      return select(x(i), k.fold(Monoid::max, N, x), k.number(i), k.constant(INFINITY));
    });
  });
  const Sym row = k.workgroups(0, M, 1);
  const codegen::Fragment x = k.fill(
      k.load(k.tile(X, {1, 1024}, {row, 0}), codegen::rows_tv(1, 1024, 4, 128), 4), 1, 0, N, -INFINITY);
  const codegen::Fragment most = k.fold(Monoid::max, x, 1);
  const codegen::Fragment index = k.map({x, most}, [&](const auto& v) {
    const auto here = k.number(k.position(1)), none = k.constant(INFINITY);
    return inside(k.position(1), N,
                  at_least ? select(v[0], v[1], here, none) : select(v[1], v[0], here, none), beyond);
  });
  k.store(k.fold(Monoid::min, index, 1), k.tile(Y, {1, 1}, {row, 0}), 1);
  return k;
}

TEST_CASE("numbers are rounded to bf16 to the nearest, ties to even, with care for NaN and without") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const codegen::Nan nan : {codegen::Nan::kept, codegen::Nan::any}) {
      codegen::Program k("rounding", codegen::Target::named(arch), 64);
      const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
      const codegen::Tensor y = k.output("y", Element::bf16, {n}), x = k.input("x", Element::f32, {n});
      k.computes(y, [&](const auto& c) { return k(x, {c[0]}); });
      const Sym tile = k.workgroups(0, n, 256);
      const Layout tv = codegen::line_tv(256, 4, 64);
      k.store(k.relayout(k.load(k.tile(x, {256}, {tile}), tv, 4), tv, Element::bf16, nan),
              k.tile(y, {256}, {tile}), 4);
      const Artifact kernel = kernels::build(k);
      // Each number of bf16 with what follows it: nothing, less than half, a half, more, everything.
      std::vector<std::uint32_t> words;
      for (std::uint32_t upper = 0; upper < 0x10000; upper += upper < 0x80 ? 1 : 37)
        for (const std::uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
          const std::uint32_t word = upper << 16 | lower;
          if (nan == codegen::Nan::kept || !std::isnan(std::bit_cast<float>(word))) words.push_back(word);
        }
      while (words.size() % 4 != 0) words.push_back(0);
      const auto after =
          first_of<std::uint16_t>(kernel, words, {static_cast<std::int64_t>(words.size())}, words.size());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint16_t got = after[i];
        const std::uint32_t up = words[i] >> 16, rest = words[i] & 0xffff;
        const bool is_nan = (words[i] & 0x7fffffff) > 0x7f800000;
        const std::uint32_t nearest = up + (rest > 0x8000 || (rest == 0x8000 && up % 2 == 1) ? 1 : 0);
        wrong += is_nan ? (got & 0x7fff) <= 0x7f80 : got != nearest;
      }
      INFO(arch << (nan == codegen::Nan::kept ? ", kept" : ", any"));
      CHECK(wrong == 0);
    }
}

TEST_CASE("a mask that begins inside a vector is asked element by element") {
  // y(i) = i + 2 < n ? x(i) : 7; n is a multiple of the vectors, and the position is none.
  codegen::Program k("shifted", codegen::Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const codegen::Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return inside(c[0] + Sym(2), n, k(x, {c[0]}), 7); });
  const Sym tile = k.workgroups(0, n, 256);
  const Layout tv = codegen::line_tv(256, 4, 64);
  k.store(k.map({k.load(k.tile(x, {256}, {tile}), tv, 4)},
                [&](const auto& v) { return inside(Sym(256) * tile + k.position(0) + Sym(2), n, v[0], 7); }),
          k.tile(y, {256}, {tile}), 4);
  const Artifact kernel = kernels::build(k);
  for (const std::size_t size : {4, 252, 256, 300}) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i) + 10;
    const auto got = first_of<float>(kernel, values, {static_cast<std::int64_t>(size)}, size);
    values[size - 2] = values[size - 1] = 7;
    CHECK(got == values);
  }
}

// A bias that depends on where an element is (ALiBi), as one number or as the difference of two; negative, too.
TEST_CASE("tiles of 16 and 8 bits are read from LDS one element at a time") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const codegen::Element type : {codegen::Element::f16, codegen::Element::i8}) {
      INFO(arch << " " << to_string(type));
      const int v = 32 / bits(type); // elements of a word; rows of 33 words have no conflicts
      const int columns = 32 * v;
      codegen::Program k("transpose", codegen::Target::named(arch), 256);
      const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20, .multiple = v});
      const codegen::Tensor Y = k.output("y", type, {M, N},
                                         SymLayout::col_major(BasicIntTuple<Sym>::of({M, N}))),
                            X = k.input("x", type, {M, N});
      k.computes(Y, [&](const auto& c) { return k(X, {c[0], c[1]}); });
      const Sym bn = k.workgroups(0, N, columns), bm = k.workgroups(1, M, 64);
      const codegen::Tensor tile = k.lds("tile", type, {64, columns}, {}, v);
      k.copy(k.tile(X, {64, columns}, {bm, bn}), tile, codegen::rows_tv(64, columns, v, 256), v);
      const codegen::Fragment column = k.read(tile, codegen::columns_tv(64, columns, 1, 256), 1);
      k.store(column, k.tile(Y, {64, columns}, {bm, bn}), 1);
      const Artifact kernel = kernels::build(std::move(k));
      const int m = 70, n = 132;
      std::vector<std::uint8_t> x(static_cast<std::size_t>(m * n * bits(type) / 8));
      std::mt19937 random(7);
      for (auto& byte : x) byte = static_cast<std::uint8_t>(random() % 0x7c); // no NaN among the halves
      const auto y = first_of<std::uint8_t>(kernel, x, {m, n}, x.size());
      std::size_t wrong = 0;
      const auto size = static_cast<std::size_t>(bits(type) / 8);
      for (std::size_t r = 0; r < m; ++r)
        for (std::size_t c = 0; c < n; ++c)
          wrong += std::memcmp(&x[(r * n + c) * size], &y[(c * m + r) * size], size) != 0;
      CHECK(wrong == 0);
    }
}

TEST_CASE("positions and sizes as numbers, with a sign") {
  for (const bool one : {true, false}) {
    codegen::Program k("alibi", codegen::Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 12}), n = k.size("n", {.most = 1 << 12});
    const codegen::Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    const auto biased = [&](codegen::Expr v, Sym row, Sym column) {
      const auto by = one ? k.number(column - row) : k.number(column) - k.number(row);
      return v + by * 0.125 + k.number(Sym(10) - n) + k.number(floor_div(column - Sym(5), Sym(4))) * 0.5;
    };
    k.computes(y, [&](const auto& c) { return biased(k(x, {c[0], c[1]}), c[0], c[1]); });
    const Sym bn = k.workgroups(0, n, 64), bm = k.workgroups(1, m, 4);
    const Layout tv = codegen::rows_tv(4, 64, 1, 64);
    k.store(k.map({k.load(k.tile(x, {4, 64}, {bm, bn}), tv, 1)},
                  [&](const auto& v) {
                    return biased(v[0], Sym(4) * bm + k.position(0), Sym(64) * bn + k.position(1));
                  }),
            k.tile(y, {4, 64}, {bm, bn}), 1);
    kernels::BuildOptions options;
    options.validate = true; // the machine code too
    const Artifact kernel = kernels::build(k, options);
    const int rows = 70, columns = 80;
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 9);
    const auto got = first_of<float>(kernel, values, {rows, columns}, values.size());
    std::size_t wrong = 0;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        const double bias = (c - r) * 0.125 + (10 - columns) + std::floor((c - 5) / 4.0) * 0.5;
        const auto at = static_cast<std::size_t>(r * columns + c);
        wrong += got[at] != static_cast<float>(values[at] + bias) ? 1 : 0;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a row's argmax: select and folds, and what is refused") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const codegen::Target& target = codegen::Target::named(arch);
    const Artifact kernel = kernels::build(row_argmax(target, INFINITY, true));
    for (const std::size_t n : {std::size_t{4}, std::size_t{300}, std::size_t{1024}}) {
      const std::size_t m = 5;
      std::mt19937 random(static_cast<unsigned>(n));
      std::vector<float> x(m * n);
      for (float& v : x) v = static_cast<float>(random() % 50) - 60; // negative, and many alike
      const auto y =
          first_of<float>(kernel, x, {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n)}, m);
      for (std::size_t r = 0; r < m; ++r) {
        const auto row = x.begin() + static_cast<std::ptrdiff_t>(r * n);
        CHECK(y[r] == static_cast<float>(std::max_element(row, row + static_cast<std::ptrdiff_t>(n)) - row));
      }
    }
    // 0 past the end of the row is the least index; compared the other way round, every index but the last maximum's.
    CHECK_THROWS_WITH(kernels::build(row_argmax(target, 0, true)),
                      Contains("what lies outside of a min is its empty element"));
    CHECK_THROWS_WITH(kernels::build(row_argmax(target, INFINITY, false)),
                      Contains("y is what the specification says"));
  }
}

TEST_CASE("a map gives the element types that f32 is converted to; the others are refused at its line") {
  struct Case {
    Element from, to;
    std::string arch, why; // nothing: it builds
  };
  const std::string no = "map: it computes in f32, which is not converted to ";
  const Case cases[] = {
      {Element::f32, Element::f16, "gfx942", ""},
      {Element::f32, Element::bf16, "gfx942", ""},
      {Element::f16, Element::f32, "gfx942", ""},
      {Element::f32, Element::i8, "gfx942", ""},
      {Element::f32, Element::e4m3fnuz, "gfx942", ""},
      {Element::f32, Element::e5m2, "gfx950", ""},
      {Element::f32, Element::e4m3fnuz, "gfx950", no + "e4m3fnuz"},
      {Element::f32, Element::e4m3fn, "gfx942", no + "e4m3fn"},
      {Element::f32, Element::i32, "gfx942", no + "i32"},
      {Element::f32, Element::i1, "gfx942", no + "i1"},
      {Element::f32, Element::e2m1, "gfx942", no + "e2m1"},
      {Element::f32, Element::f64, "gfx942", "map: no conversion between f32 and f64"},
      {Element::i8, Element::f32, "gfx942", ""},
      {Element::e4m3fn, Element::f32, "gfx950", ""},
      {Element::i16, Element::f32, "gfx942", "map: it computes in f32, to which i16 is not converted"},
      {Element::e4m3fn, Element::f32, "gfx942", "map: it computes in f32, to which e4m3fn is not converted"}};
  for (const Case& c : cases) {
    INFO(codegen::to_string(c.from) << " to " << codegen::to_string(c.to) << " on " << c.arch);
    codegen::Program k("twice", codegen::Target::named(c.arch), 64);
    const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
    const codegen::Tensor y = k.output("y", c.to, {n}), x = k.input("x", c.from, {n});
    k.computes(y, [&](const auto& i) { return k(x, {i[0]}) * 2.0; });
    const Sym tile = k.workgroups(0, n, 256);
    const codegen::Fragment f = k.load(k.tile(x, {256}, {tile}), codegen::line_tv(256, 4, 64), 4);
    std::string message;
    unsigned line = 0;
    try {
      line = __LINE__ + 1;
      const codegen::Fragment doubled = k.map(
          {f}, [](const auto& v) { return v[0] * 2.0; }, c.to);
      k.store(doubled, k.tile(y, {256}, {tile}), 4);
      (void)kernels::build(k);
    } catch (const codegen::CodegenError& e) {
      message = e.what();
    }
    CHECK(message.empty() == c.why.empty());
    CHECK_THAT(message, Contains(c.why));
    if (!c.why.empty()) CHECK_THAT(message, Contains("line   " + std::to_string(line)));
  }
  // A copy of the same element needs no conversion; what is stored as something else does.
  codegen::Program k("bytes", codegen::Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const codegen::Tensor y = k.output("y", Element::i32, {n}), x = k.input("x", Element::i8, {n}),
                        z = k.input("z", Element::f32, {n});
  const Sym tile = k.workgroups(0, n, 256);
  const Layout tv = codegen::line_tv(256, 4, 64);
  CHECK_NOTHROW(k.map(
      {k.load(k.tile(x, {256}, {tile}), tv, 4)}, [](const auto& v) { return v[0]; }, Element::i8));
  CHECK_THROWS_WITH(k.store(k.load(k.tile(z, {256}, {tile}), tv, 4), k.tile(y, {256}, {tile}), 4),
                    Contains("store: it computes in f32, which is not converted to i32"));
}

TEST_CASE("refusals say what to do: bank conflicts, and attention's waves") {
  codegen::Program k("turned", codegen::Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 4096, .multiple = 8}), n = k.size("n", {.most = 4096, .multiple = 8});
  const codegen::Tensor y = k.output("y", Element::f32, {n, m}), x = k.input("x", Element::f32, {m, n});
  k.computes(y, [&](const auto& c) { return k(x, {c[1], c[0]}); });
  const Sym r = k.workgroups(0, m, 64), c = k.workgroups(1, n, 64);
  const codegen::Tensor tile = k.lds("tile", Element::f32, {64, 64});
  const Layout tv = codegen::rows_tv(64, 64, 4, 64);
  k.copy(k.tile(x, {64, 64}, {r, c}), tile, tv, 4);
  k.store(k.load(k.whole(tile).keep({1, 0}), tv, 1), k.tile(y, {64, 64}, {c, r}), 1);
  CHECK_THROWS_WITH(kernels::build(k), Contains("bank conflict") && Contains("padding in lds(...)"));
  const auto ran = inlay_command(
      {"run", "flash_attention", "--waves", "8", "--tile-q", "128", "--tile-k", "32", "--head-dim", "64"});
  CHECK(ran.exit == 2);
  CHECK_THAT(ran.err, Contains("--tile-k 64, or at most --waves 4"));
}

TEST_CASE("gemm in parts: workgroups along K add to C, ragged and with one part only") {
  GemmSpec f32;
  f32.out = Element::f32;
  f32.tile_m = f32.tile_n = 64;
  f32.tile_k = 32;
  f32.split = 96;
  GemmSpec i8 = f32; // exact: any order gives the same bits
  i8.in = Element::i8, i8.out = Element::i32;
  i8.tile_k = 64, i8.split = 128;
  GemmSpec moved = f32;
  moved.arch = "gfx950";
  moved.transfer = true;
  GemmSpec shuffled = f32;
  shuffled.preshuffled_b = true;
  shuffled.waves_m = 1, shuffled.waves_n = 4;
  GemmSpec halves = shuffled, pairs = moved; // added two at a time
  halves.out = Element::f16;
  pairs.in = pairs.out = Element::bf16;
  for (const GemmSpec& spec : {f32, i8, moved, shuffled, halves, pairs}) {
    const Artifact kernel = build_gemm(spec);
    const bool exact = spec.in == Element::i8;
    for (const auto& [m, n, k] : {std::tuple{70, 64, 256}, {1, 16, 64}, {64, 80, 192}, {33, 48, 320}})
      expect_right(kernel, gemm_problem(spec, m, n, k, 1), exact);
  }
}

TEST_CASE("gemm by shares: more workgroups than trips, one for all, and tiles that are cut in the middle") {
  // Validation follows one tile of a workgroup.
  const Undecided validation;
  GemmSpec f32;
  f32.out = Element::f32;
  f32.tile_m = f32.tile_n = 64;
  f32.tile_k = 32;
  GemmSpec i8 = f32; // exact: any order gives the same bits
  i8.in = Element::i8, i8.out = Element::i32, i8.tile_k = 64;
  GemmSpec scaled = i8;
  scaled.out = Element::f32, scaled.scales = true;
  GemmSpec moved = f32;
  moved.arch = "gfx950";
  moved.transfer = moved.stagger = true;
  moved.order = codegen::parse_tile_order("xcd+rows:2");
  GemmSpec pairs = moved; // added two at a time
  pairs.in = pairs.out = Element::bf16;
  GemmSpec shuffled = f32;
  shuffled.preshuffled_b = true;
  shuffled.waves_m = 1, shuffled.waves_n = 4;
  GemmSpec mx = moved;
  mx.in = Element::e2m1, mx.tile_k = 256, mx.stagger = false;
  for (const int workers : {1, 3, 17})
    for (GemmSpec spec : {f32, i8, scaled, moved, pairs, shuffled, mx}) {
      spec.workers = workers;
      const Artifact kernel = build_gemm(spec);
      const bool exact = spec.in == Element::i8 && !spec.scales;
      for (const auto& [m, n, k] : {std::tuple{133, 208, 256}, {1, 16, 64}, {200, 80, 192}, {33, 48, 320}})
        expect_right(kernel, gemm_problem(spec, m, n, spec.in == Element::e2m1 ? 4 * k : k, 1), exact);
    }
  const auto refused = [](auto change, const std::string& hint) {
    GemmSpec spec;
    spec.workers = 4;
    change(spec);
    CHECK_THROWS_WITH(build_gemm(spec), Contains(hint));
  };
  refused([](GemmSpec& s) { s.split = 64; }, "without stream-k");
  refused(
      [](GemmSpec& s) { s.in = Element::i8, s.out = Element::f32, s.scales = s.bias = true, s.tile_k = 64; },
      "a bias would be added once a share");
  refused([](GemmSpec& s) { s.workers = 1 << 17; }, "as many as the device runs at a time");
  // 2^16 x 2^16 tiles of one trip.
  f32.workers = 8;
  CHECK_THROWS_WITH(plan_gemm_launch(f32, 1 << 21, 1 << 21, 64), Contains("1073741824"));
  // 2^66 trips, which in 64 bits are none.
  LaunchContract many;
  many.sizes = {{"m"}, {"n"}, {"k"}};
  many.grid = {{0, 1, 1, 1}, {1, 0, 1, 1}};
  many.summed = {2, 2, 1, 1};
  many.workers = 4;
  CHECK_THROWS_WITH(many.plan({1 << 22, 1 << 22, 1 << 22}), Contains("1073741824"));
  CHECK(many.plan({1, 2, 3}).grid == std::array<std::uint32_t, 3>{4, 1, 1});
}

TEST_CASE("gemm in stored parts: the last workgroup sums them, the same bits in every run") {
  // Validation follows no ticket yet.
  const Undecided validation;
  GemmSpec halves;
  halves.tile_m = halves.tile_n = 64;
  halves.tile_k = 32;
  halves.split = 96, halves.gather = true;
  GemmSpec scaled = halves;
  scaled.arch = "gfx950";
  scaled.in = scaled.out = Element::bf16;
  scaled.scales = scaled.bias = true;
  GemmSpec shuffled = halves;
  shuffled.preshuffled_b = true;
  shuffled.waves_m = 1, shuffled.waves_n = 4;
  shuffled.order = codegen::parse_tile_order("xcd+rows:2");
  GemmSpec mx = scaled;
  mx.in = Element::e2m1, mx.scales = mx.bias = false, mx.tile_k = 256, mx.split = 512;
  for (const GemmSpec& spec : {halves, scaled, shuffled, mx}) {
    const Artifact kernel = build_gemm(spec);
    for (const auto& [m, n, k] : {std::tuple{70, 64, 256}, {1, 16, 64}, {64, 80, 192}, {133, 208, 320}}) {
      const Problem problem = gemm_problem(spec, m, n, spec.in == Element::e2m1 ? 4 * k : k, 1);
      expect_right(kernel, problem, false);
    }
  }
}

TEST_CASE("run gemm: the sizes of the specification, both architectures and types, as JSON") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* type : {"f16", "bf16"})
      for (const auto& [m, n, k] :
           {std::tuple{"256", "256", "256"}, {"200", "256", "128"}, {"129", "257", "72"}}) {
        INFO(arch << " " << type << " " << m << " x " << n << " x " << k);
        const Ran ran = inlay_run({"gemm", "--arch", arch, "--dtype", type, "--m", m, "--n", n, "--k", k,
                                   "--json", "--check", "all"});
        REQUIRE(ran.exit == 0);
        const auto json = nlohmann::json::parse(ran.out);
        CHECK(json["ok"] == true);
        CHECK(json["kernel"] == "gemm");
        CHECK(json["arch"] == arch);
        CHECK(json["device"] == "emulator");
        CHECK(json["max_abs_error"] > 0);
        CHECK(json["max_rel_error"] > 0);
        CHECK(json["worst_of_bound"] <= 1);
        CHECK(json["proofs"]["proved"] > 0);
        CHECK(json["proofs"]["refuted"] == 0);
        CHECK(json["proofs"]["runtime_checked"] == 6); // three ranges, k % 8, buffers apart, addresses
        CHECK(json["resources"]["scratch_bytes"] == 0);
        CHECK(json["resources"]["lds_bytes"] == 65536);
        CHECK(json["resources"]["vgpr"] > 64);
        CHECK(json["resources"]["waves_per_simd"] >= 1);
        CHECK(json["instructions_executed"] > 1000);
        CHECK(json["lds_cycles"] > 0); // counted, so that the next line says something
        CHECK(json["lds_conflict_cycles"] == 0);
        CHECK(json["findings"].empty());
        CHECK(json["seconds"] > 0);
      }
}

TEST_CASE("run gemm: in every order of tiles, ragged, the order of waves changed too") {
  for (const char* order : {"xcd", "rows:2", "columns:3", "xcd+rows:2", "xcd+columns:4"}) {
    INFO(order);
    GemmSpec spec;
    spec.tile_m = spec.tile_n = 32, spec.tile_k = 64;
    spec.order = codegen::parse_tile_order(order);
    spec.arch = order[0] == 'x' ? "gfx950" : "gfx942";
    const Artifact kernel = build_gemm(spec);
    // 5 x 7 tiles, 1 x 3, 9 x 1, one.
    for (const auto& [m, n] : {std::pair(159, 200), {20, 96}, {257, 31}, {1, 1}})
      for (const bool stress : {false, true}) expect_right(kernel, gemm_problem(spec, m, n, 40, 3), stress);
  }
}

TEST_CASE("run: the report for people") {
  const Ran ran = inlay_run({"gemm", "--m", "64", "--n", "64", "--k", "64", "--proofs"});
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Contains("C[64,64] = A[64,64] x B[64,64]^T"));
  CHECK_THAT(ran.out, Contains("of which 0 by bank conflicts"));
  CHECK_THAT(ran.out, Contains("reading of lds_a has no bank conflict"));
  CHECK_THAT(ran.out, Contains("ok: every element is within its bound"));
}

TEST_CASE("run: auto says what was chosen; the result is right; a form that is given stays") {
  ::setenv("INLAY_CACHE_DIR", "", 1);
  const std::vector<std::string> problem = {"run", "gemm", "--m", "300",     "--n",
                                            "264", "--k",  "520", "--check", "all"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = problem;
    all.insert(all.end(), more.begin(), more.end());
    return inlay_command(all);
  };
  const Ran text = with({"--why"});
  INFO(text.out << text.err);
  CHECK(text.exit == 0);
  CHECK_THAT(text.out, Contains("  auto       --") && Contains("modelled clocks, the fewest of") &&
                           Contains("by bounds"));
  const auto chosen = nlohmann::json::parse(with({"--json"}).out);
  CHECK(chosen["ok"] == true);
  CHECK(chosen["findings"].empty());
  REQUIRE(chosen["choice"]["options"].contains("tile"));
  CHECK(chosen["choice"]["clocks"] > 0);
  // As an option that is given it gives the same code.
  std::vector<std::string> given = {"--auto", "no", "--json"};
  for (const auto& [name, value] : chosen["choice"]["options"].items()) {
    given.push_back("--" + name);
    given.push_back(value.get<std::string>());
  }
  const auto fixed = nlohmann::json::parse(with(given).out);
  CHECK(fixed["choice"].is_null());
  CHECK(fixed["resources"] == chosen["resources"]);
  CHECK(fixed["instructions_executed"] == chosen["instructions_executed"]);
  const auto tile = nlohmann::json::parse(with({"--tile", "64x64x64", "--waves", "2x2", "--json"}).out);
  CHECK(tile["choice"]["options"]["tile"] == "64x64x64");
  CHECK(tile["choice"]["options"]["waves"] == "2x2");
  ::unsetenv("INLAY_CACHE_DIR");
}

TEST_CASE("bench: counts of one launch and as many times as asked for") {
  const std::vector<std::string> problem = {"--m", "64", "--n", "64", "--k", "128"};
  std::vector<std::string> words = {"bench", "gemm", "--auto", "no", "--repetitions", "4", "--warm-up", "1"};
  words.insert(words.end(), problem.begin(), problem.end());
  const Ran text = inlay_command(words);
  CHECK(text.exit == 0);
  CHECK_THAT(text.out, Contains("4 repetitions, events, of the emulator"));
  words.emplace_back("--json");
  const Ran ran = inlay_command(words);
  REQUIRE(ran.exit == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["timing"]["milliseconds"].size() == 4);
  CHECK(json["flops"] == 2.0 * 64 * 64 * 128);
  CHECK(json["gflops"] > 0);
  // Rows and columns beyond 64 are computed as well, so more than this problem's, by whole tiles of 128 x 128.
  CHECK(json["per_launch"]["multiply_adds"] == 128 * 128 * 128);
  CHECK(json["per_launch"]["bytes_written"] >= 64 * 64 * 2);
  std::vector<std::string> once = {"gemm", "--json"};
  once.insert(once.end(), problem.begin(), problem.end());
  CHECK(nlohmann::json::parse(inlay_run(once).out)["instructions_executed"] ==
        json["per_launch"]["instructions"]);
  CHECK(inlay_command({"bench", "gemm", "--repetitions", "0"}).exit == 2);
  CHECK(inlay_command({"bench", "gemm", "--timer", "sundial"}).exit == 2);
}

TEST_CASE("gfx90a: what has instructions there runs right with all checks and under stress, what has not is "
          "refused") {
  const auto split_words = [](const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
  };
  for (const std::string line :
       {"gemm --dtype f16 --m 40 --n 96 --k 72", "gemm --dtype bf16 --m 130 --n 64 --k 64 --out f32",
        "gemm --dtype i8 --m 33 --n 48 --k 144", "gemm --transfer yes --tile 64x64x64 --m 64 --n 64 --k 128",
        "preshuffle_gemm --dtype bf16 --m 30 --n 64 --k 128",
        "flash_attention --queries 70 --keys 90 --heads 1", "weight_only_gemm --m 20 --n 64 --k 128",
        "softmax --m 3 --n 1000", "rmsnorm --quant i8 --m 3 --n 1024"}) {
    INFO(line);
    std::vector<std::string> words = split_words(line);
    words.insert(words.end(), {"--arch", "gfx90a", "--stress"});
    const Ran ran = inlay_run(words);
    INFO(ran.out << ran.err);
    CHECK(ran.exit == 0);
  }
  const auto refused = [&](const std::string& line, const std::string& words) {
    INFO(line);
    std::vector<std::string> all = split_words(line);
    all.insert(all.end(), {"--arch", "gfx90a"});
    const Ran ran = inlay_run(all);
    INFO(ran.err);
    CHECK(ran.exit == 2);
    CHECK_THAT(ran.err, Contains(words));
  };
  refused("gemm --dtype fp8", "floats of 8 bits");
  refused("gemm --dtype fp4", "no matrix instruction for 4-bit elements");
  refused("gemm --dtype mxfp6", "no matrix instruction for 6-bit elements");
  refused("block_scale_gemm", "floats of 8 bits");
  refused("weight_only_gemm --weights fp8", "floats of 8 bits");
  refused("rmsnorm --quant fp8", "floats of 8 bits");
  refused("map --expr y=a --operands a:e4m3fn", "no float of 8 bits");
  refused("moe_stage2 --out bf16", "gfx950");
}

TEST_CASE("run: bad input is one message and exit 2") {
  const auto refused = [](std::vector<std::string> arguments, const std::string& words) {
    const Ran ran = inlay_run(std::move(arguments));
    INFO(ran.err);
    CHECK(ran.exit == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(words));
  };
  refused({"gem"}, "gemm");
  refused({"gemm", "--k", "7"}, "k = 7");
  refused({"gemm", "--k", "0"}, "k");
  refused({"gemm", "--m", "many"}, "many");
  refused({"gemm", "--arch", "gfx908"}, "gfx942");
  refused({"gemm", "--colour", "red"}, "colour");
  refused({"gemm", "--tile", "256x256x64"}, "LDS");
  for (const char* kernel : {"gemm", "preshuffle_gemm", "dual_gemm"})
    for (const char* tile : {"64x64x0", "0x64x64", "0x0x0"}) refused({kernel, "--tile", tile}, "from 1 on");
  refused({"gemm", "--device", "cuda"}, "cuda");
  refused({"gemm", "--check", "luck"}, "luck");
  refused({"preshuffle_gemm", "--k", "40"}, "64; a sum may be padded");
  refused({"preshuffle_gemm", "--n", "40"}, "32 or 48; a sum may be padded");
  refused({"preshuffle_gemm", "--mfma", "32"}, "mfma = 32");
  refused({"gemm", "--dtype", "fp4"}, "gfx950: gfx942 has no matrix instruction for 4-bit elements");
  refused({"gemm", "--dtype", "fp4", "--arch", "gfx950", "--k", "320"}, "256 or 512; a sum may be padded");
  for (const char* type : {"mxfp6", "mxbf6"}) {
    refused({"gemm", "--dtype", type}, "gfx950: gfx942 has no matrix instruction for 6-bit elements");
    refused({"gemm", "--dtype", type, "--arch", "gfx950", "--k", "320"}, "256 or 512; a sum may be padded");
    refused({"gemm", "--dtype", type, "--arch", "gfx950", "--direct-to-lds", "no"}, "12 bytes a lane");
    refused({"preshuffle_gemm", "--dtype", type, "--arch", "gfx950"}, "16, 8 or 4 bits");
  }
  refused({"softmax", "--n", "8200"}, "8192");
  refused({"rmsnorm", "--n", "12"}, "multiple of 8");
  refused({"softmax", "--threads", "96"}, "threads = 96");
}

TEST_CASE("gemm: every raggedness of a small tile") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch;
    spec.tile_m = 64, spec.tile_n = 32, spec.tile_k = 64;
    spec.waves_m = 2, spec.waves_n = 1;
    const Artifact kernel = build_gemm(spec);
    // One tile of K to five, each cut at its first, a middle and its last chunk: both parities of the loop.
    for (const int k : {8, 40, 64, 72, 104, 128, 136, 192, 200, 256, 264})
      for (const auto& [m, n] : {std::pair{1, 1}, {63, 31}, {64, 32}, {65, 33}, {130, 70}, {17, 100}})
        expect_right(kernel, gemm_problem(spec, m, n, k, 7));
  }
}

TEST_CASE("preshuffled gemm: raggedness in whole blocks, tiles and waves") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch;
    spec.preshuffled_b = true;
    spec.tile_m = 32, spec.tile_n = 64, spec.tile_k = 64;
    spec.waves_m = 1, spec.waves_n = 2;
    const Artifact kernel = build_gemm(spec);
    CHECK(kernel.kernel == "preshuffle_gemm");
    for (const int k : {32, 64, 96, 128, 160, 192, 256, 288})
      for (const auto& [m, n] : {std::pair{1, 16}, {32, 64}, {33, 80}, {70, 144}})
        expect_right(kernel, gemm_problem(spec, m, n, k, 9), k == 96);
    spec.tile_m = 128, spec.tile_n = 128;
    spec.waves_n = 4;
    spec.in = spec.out = Element::bf16;
    expect_right(build_gemm(spec), gemm_problem(spec, 200, 272, 288, 10));
    spec.waves_m = 2, spec.waves_n = 2, spec.tile_k = 128;
    expect_right(build_gemm(spec), gemm_problem(spec, 100, 144, 160, 10));
  }
}

// The definition, block by block, against the formula: a wave's registers one lane after the other.
TEST_CASE("preshuffled gemm: the order of B") {
  const std::int64_t n = 48, k = 96;
  std::int64_t expected = 0;
  for (std::int64_t rows = 0; rows < n; rows += 16)
    for (std::int64_t block = 0; block < k; block += 32)
      for (std::int64_t group = 0; group < 4; ++group)
        for (std::int64_t row = 0; row < 16; ++row)
          for (std::int64_t value = 0; value < 8; ++value)
            CHECK(preshuffled_offset(rows + row, block + 8 * group + value, k) == expected++);
  // One byte an element: 16 of them in each of a lane's 16 bytes.
  expected = 0;
  for (std::int64_t rows = 0; rows < n; rows += 16)
    for (std::int64_t group = 0; group < 128 / 16; ++group)
      for (std::int64_t row = 0; row < 16; ++row)
        for (std::int64_t value = 0; value < 16; ++value)
          CHECK(preshuffled_offset(rows + row, 16 * group + value, 128, Element::i8) == expected++);
}

TEST_CASE("gemm: transfers to LDS, every raggedness and exit, under stress") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch;
    spec.transfer = true;
    for (const int tile_k : {32, 64}) {
      spec.tile_m = spec.tile_n = 64;
      spec.tile_k = tile_k;
      spec.preshuffled_b = false, spec.waves_m = spec.waves_n = 2;
      const Artifact kernel = build_gemm(spec);
      for (const int k : {8, 32, 40, 64, 96, 136, 160, 200, 256, 296}) // 1 to 10 trips of a ring of 4
        expect_right(kernel, gemm_problem(spec, k % 7 + 60, k % 5 + 61, k, 11), true);
      spec.preshuffled_b = true, spec.waves_m = 1, spec.waves_n = 4;
      expect_right(build_gemm(spec), gemm_problem(spec, 70, 80, 224, 12), true);
    }
    spec.preshuffled_b = false, spec.waves_m = spec.waves_n = 2;
    spec.in = Element::i8, spec.out = Element::i32;
    spec.tile_k = 128;
    expect_right(build_gemm(spec), gemm_problem(spec, 70, 67, 400, 13), true);
  }
  // Four lanes share 16 bytes: rows that 8 bytes a work-item would be copied for otherwise; two stages, tiles apart.
  GemmSpec spec;
  spec.transfer = true;
  spec.preshuffled_b = true, spec.waves_m = 1, spec.waves_n = 4;
  spec.in = Element::i8, spec.out = Element::i32;
  spec.tile_m = 48, spec.tile_n = 64, spec.tile_k = 128;
  expect_right(build_gemm(spec), gemm_problem(spec, 70, 80, 704, 14), true);
  spec.preshuffled_b = false, spec.waves_m = spec.waves_n = 2;
  spec.in = spec.out = Element::bf16;
  spec.tile_m = 256, spec.tile_n = 128, spec.tile_k = 32;
  for (const int k : {24, 64, 168, 320})
    expect_right(build_gemm(spec), gemm_problem(spec, 250, 140, k, 15), true);
}

TEST_CASE("gemm: operands past LDS, and pipelines that the specification fixes, ragged, under stress") {
  const auto right = [](const GemmSpec& spec, std::vector<int> sums) {
    INFO(spec.arch << " " << to_string(spec.depth));
    const Artifact kernel = build_gemm(spec);
    for (const int k : sums) expect_right(kernel, gemm_problem(spec, k % 7 + 60, k % 5 + 61, k, 17), true);
  };
  for (const char* arch : {"gfx942", "gfx950"})
    for (const bool transfer : {false, true}) {
      GemmSpec spec;
      spec.arch = arch;
      spec.transfer = transfer;
      spec.tile_m = spec.tile_n = 64;
      spec.direct = GemmSpec::Direct::a, spec.waves_m = 4, spec.waves_n = 1;
      right(spec, {8, 64, 136, 328});
      spec.direct = GemmSpec::Direct::b, spec.waves_m = 1, spec.waves_n = 4;
      right(spec, {8, 64, 136, 328});
      spec.in = Element::i8, spec.out = Element::i32, spec.tile_k = 128;
      right(spec, {272});
    }
  GemmSpec spec;
  spec.waves_m = 4, spec.waves_n = 1, spec.direct = GemmSpec::Direct::a;
  spec.tile_m = 256, spec.tile_n = 256, spec.tile_k = 32; // operands in AGPRs
  spec.depth = codegen::parse_depth("lead 4, trips 2");
  right(spec, {40, 296});
  spec = GemmSpec();
  spec.tile_m = spec.tile_n = 64;
  for (const char* depth : {"waves 1, trips 3", "trips 1, lead 1", "lead 3"}) {
    spec.depth = codegen::parse_depth(depth);
    right(spec, {8, 72, 328});
  }
  spec.transfer = true, spec.stages = 3, spec.depth = codegen::parse_depth("within 50");
  right(spec, {8, 72, 328});
  spec.direct = GemmSpec::Direct::a, spec.preshuffled_b = true;
  CHECK_THROWS_AS(build_gemm(spec), std::invalid_argument);
}

TEST_CASE("gemm: 8-bit types, ragged, as IR and as a block of assembly, under stress") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* name : {"i8", "fp8", "bf8"})
      for (const bool preshuffled : {false, true})
        for (const char* loops : {"ir", "asm"}) {
          GemmSpec spec;
          spec.arch = arch;
          spec.in = inlay::codegen::parse_element(name, inlay::codegen::Target::named(arch));
          spec.out = spec.in == Element::i8 ? Element::i32 : preshuffled ? Element::bf16 : Element::f32;
          spec.preshuffled_b = preshuffled;
          spec.tile_m = spec.tile_n = 64;
          if (preshuffled) spec.waves_m = 1, spec.waves_n = 4;
          INFO(arch << " " << name << " " << loops << (preshuffled ? " preshuffled" : ""));
          const Artifact kernel = build_gemm(spec, {.loops = loops});
          expect_right(kernel, gemm_problem(spec, 70, preshuffled ? 80 : 67, preshuffled ? 192 : 208, 5),
                       true);
          expect_right(kernel, gemm_problem(spec, 1, 16, preshuffled ? 64 : 16, 6), true);
          if (spec.arch == "gfx942" || spec.in == Element::i8) continue;
          spec.tile_k = 128; // f8f6f4, by 16 and by 32 rows
          spec.mfma = preshuffled || loops[0] == 'i' ? 16 : 32;
          const Artifact wide = build_gemm(spec, {.loops = loops});
          expect_right(wide, gemm_problem(spec, 70, preshuffled ? 80 : 67, preshuffled ? 448 : 400, 7), true);
          expect_right(wide, gemm_problem(spec, 1, 16, preshuffled ? 64 : 16, 8), true);
        }
}

TEST_CASE("gemm: tiles of rows that a round of 16 bytes a work-item does not divide, ragged, under stress") {
  struct Tile {
    const char* type;
    bool preshuffled;
    int m, n, k, waves_m, waves_n;
  };
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Tile& t : {Tile{"i8", true, 112, 256, 128, 1, 4}, // 8 bytes
                          Tile{"i8", true, 48, 128, 128, 1, 4},
                          Tile{"bf16", false, 48, 80, 64, 1, 1},   // 16 bytes, whole rounds
                          Tile{"f16", false, 80, 112, 64, 1, 1},   // the same
                          Tile{"f16", false, 48, 64, 32, 1, 4},    // 8 and 16 bytes
                          Tile{"fp8", false, 16, 128, 128, 1, 8}}) // 4 and 16 bytes
      for (const char* loops : {"ir", "asm"}) {
        GemmSpec spec;
        spec.arch = arch;
        spec.in = inlay::codegen::parse_element(t.type, inlay::codegen::Target::named(arch));
        spec.preshuffled_b = t.preshuffled;
        spec.out = spec.in == Element::i8 ? Element::bf16 : Element::f32;
        spec.scales = spec.in == Element::i8;
        spec.tile_m = t.m, spec.tile_n = t.n, spec.tile_k = t.k;
        spec.waves_m = t.waves_m, spec.waves_n = t.waves_n;
        INFO(arch << " " << t.type << " " << t.m << " x " << t.n << " x " << t.k << " " << loops);
        const Artifact kernel = build_gemm(spec, {.loops = loops});
        // One tile and less; more than one along each axis, an odd number of trips and a rest.
        const int unit = t.preshuffled ? 64 : 16;
        expect_right(kernel, gemm_problem(spec, 1, 16, unit, 6), true);
        expect_right(kernel, gemm_problem(spec, t.m + 7, t.n + 16, 2 * t.k + unit, 5), true);
      }
}

// The published definition: as (M/32, 2, 16) by (K/256, 2, 4), with axes in the order 0, 3, 5, 2, 4, 1.
TEST_CASE("fp4: the order of scales") {
  const std::int64_t m = 96, k = 768;
  std::int64_t expected = 0;
  for (std::int64_t a = 0; a < m / 32; ++a)
    for (std::int64_t d = 0; d < k / 256; ++d)
      for (std::int64_t f = 0; f < 4; ++f)
        for (std::int64_t c = 0; c < 16; ++c)
          for (std::int64_t e = 0; e < 2; ++e)
            for (std::int64_t b = 0; b < 2; ++b)
              CHECK(kernels::shuffled_scale_offset(32 * a + 16 * b + c, 8 * d + 4 * e + f, k) == expected++);
}

TEST_CASE("gemm: a loop into which LLVM's allocator puts moves becomes a block") {
  GemmSpec spec;
  spec.in = Element::i8, spec.out = Element::i32;
  spec.preshuffled_b = true, spec.waves_m = 1, spec.waves_n = 4;
  spec.tile_n = spec.tile_k = 128;
  // The loop's vector instructions, by the machine code; the block has none.
  const auto in_loop = [&](const char* loops) {
    const Artifact kernel = build_gemm(spec, {.loops = loops});
    const auto* begin = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
    const auto object = inlay::runtime::CodeObject::parse({begin, begin + kernel.hsaco.size()}, kernel.arch);
    return inlay::runtime::isa::report(object, object.kernel(kernel.kernel)).hot->valu_clocks;
  };
  for (const int rows : {48, 80}) {
    spec.tile_m = rows;
    CHECK(in_loop("ir") > 0);
    CHECK(in_loop("asm") == 0);
    CHECK(in_loop("auto") == 0);
    expect_right(build_gemm(spec), gemm_problem(spec, rows + 7, 144, 832, 5), true);
  }
  spec.tile_m = 128; // LLVM has added nothing: the IR stays
  CHECK(build_gemm(spec).assembly == build_gemm(spec, {.loops = "ir"}).assembly);
}

TEST_CASE("gemm: 4 and 6 bits with scales of 32 k, ragged, as IR and as a block of assembly, under stress") {
  GemmSpec spec;
  spec.arch = "gfx950";
  spec.in = Element::e2m1;
  const auto some = [&](const char* loops, bool stress) {
    INFO(spec.tile_m << " x " << spec.tile_n << " x " << spec.tile_k << ", " << spec.waves_m << " x "
                     << spec.waves_n << (spec.preshuffled_b ? " preshuffled " : " ") << loops);
    const Artifact kernel = build_gemm(spec, {.loops = loops});
    // One to six tiles, every exit of the loop; rows and columns in the middle of blocks of 16 and 32.
    for (const auto& [m, n, k] :
         {std::tuple{1, 16, 256}, {70, 80, 512}, {33, 48, 768}, {64, 64, 1024}, {47, 160, 1536}})
      expect_right(kernel, gemm_problem(spec, m, spec.preshuffled_b ? n : n - 3, k, 5), stress);
  };
  for (const bool preshuffled : {false, true}) {
    spec.preshuffled_b = preshuffled;
    spec.transfer = false;
    spec.waves_m = spec.waves_n = 2;
    spec.tile_m = spec.tile_n = 64, spec.tile_k = 256;
    spec.out = Element::bf16;
    some("ir", true);
    spec.out = Element::f16;
    some("asm", true);
    spec.tile_k = 512; // the last tile may be half of one
    spec.out = Element::f32;
    some("auto", true);
    spec.tile_k = 256;
    spec.transfer = true;
    spec.waves_m = 1, spec.waves_n = 4;
    spec.tile_m = 32, spec.tile_n = 128;
    some("auto", true);
    spec.tile_m = spec.tile_n = 128; // scales by LDS, of A or of both
    some("auto", true);
    if (!preshuffled) spec.waves_m = spec.waves_n = 2;
    spec.tile_k = 512;
    some("auto", true);
  }
  // Of 6 bits: four in three bytes, 12 bytes a lane to LDS and 24 from there.
  spec.preshuffled_b = false, spec.waves_m = spec.waves_n = 2, spec.tile_k = 256;
  for (const Element in : {Element::e2m3, Element::e3m2}) {
    const Undecided validation; // elements that begin in the middle of a byte
    spec.in = in;
    spec.tile_m = spec.tile_n = 64;
    spec.out = Element::bf16;
    some("ir", true);
    spec.out = Element::f32;
    some("asm", true);
    spec.tile_m = 128, spec.tile_n = 64, spec.tile_k = in == Element::e2m3 ? 512 : 256;
    spec.out = Element::f16;
    some("auto", true);
  }
  spec.in = Element::e2m1, spec.tile_m = spec.tile_n = 128;
  // A scale that is another one is seen: its row's, its block's, its operand's.
  const Artifact kernel = build_gemm(spec);
  Problem problem = gemm_problem(spec, 40, 48, 512, 1);
  REQUIRE(problem.check(launch(kernel, problem)).ok);
  for (const std::size_t buffer : {3, 4}) {
    Problem other = gemm_problem(spec, 40, 48, 512, 1);
    std::byte& scale =
        other.buffers[buffer].data[static_cast<std::size_t>(kernels::shuffled_scale_offset(37, 9, 512))];
    scale = static_cast<std::byte>(static_cast<unsigned>(scale) + 1);
    CHECK_FALSE(problem.check(launch(kernel, other)).ok);
  }
}

TEST_CASE("gemm: scales of rows and columns and a bias, ragged, under stress, and a wrong one is seen") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* name : {"i8", "fp8", "bf16"})
      for (const bool preshuffled : {false, true}) {
        GemmSpec spec;
        spec.arch = arch;
        spec.in = inlay::codegen::parse_element(name, inlay::codegen::Target::named(arch));
        spec.out = preshuffled ? Element::bf16 : Element::f32;
        spec.scales = true, spec.bias = !preshuffled;
        spec.preshuffled_b = preshuffled;
        spec.tile_m = spec.tile_n = 64;
        if (preshuffled) spec.waves_m = 1, spec.waves_n = 4;
        INFO(arch << " " << name << (preshuffled ? " preshuffled" : ""));
        const Artifact kernel = build_gemm(spec);
        const std::int64_t n = preshuffled ? 80 : 67, k = preshuffled ? 192 : 208;
        expect_right(kernel, gemm_problem(spec, 70, n, k, 5), true);
        for (std::size_t b = 3; b < gemm_problem(spec, 70, n, k, 6).buffers.size(); ++b) {
          Problem wrong = gemm_problem(spec, 70, n, k, 6);
          wrong.buffers[b].data[4 * 37 + 3] ^= std::byte{0x80}; // one sign
          CHECK_FALSE(wrong.check(launch(kernel, wrong)).ok);
        }
      }
  GemmSpec spec;
  spec.scales = spec.bias = true;
  spec.tile_m = spec.tile_n = 256, spec.tile_k = 32; // 256 results a lane, all at once
  expect_right(build_gemm(spec), gemm_problem(spec, 300, 259, 72, 5), true);
}

TEST_CASE("gemm: tiles, waves, instructions and result types") {
  struct Case {
    const char* arch;
    int m, n, k, waves_m, waves_n, mfma;
    Element in, out;
  };
  for (const Case& c : {Case{"gfx942", 128, 64, 32, 2, 2, 16, Element::f16, Element::f32},
                        Case{"gfx942", 64, 128, 64, 1, 4, 32, Element::bf16, Element::f32},
                        Case{"gfx942", 256, 128, 32, 2, 2, 16, Element::bf16, Element::bf16},
                        Case{"gfx950", 128, 128, 128, 2, 2, 32, Element::f16, Element::f16},
                        Case{"gfx950", 256, 256, 64, 2, 4, 32, Element::f16, Element::f16},
                        Case{"gfx950", 32, 32, 128, 1, 1, 16, Element::bf16, Element::f32},
                        Case{"gfx950", 256, 128, 64, 4, 2, 16, Element::f16, Element::f32}}) {
    GemmSpec spec;
    spec.arch = c.arch;
    spec.tile_m = c.m, spec.tile_n = c.n, spec.tile_k = c.k;
    spec.waves_m = c.waves_m, spec.waves_n = c.waves_n;
    spec.mfma = c.mfma;
    spec.in = c.in, spec.out = c.out;
    const Artifact kernel = build_gemm(spec);
    expect_right(kernel, gemm_problem(spec, 259, 262, 328, 3));
    expect_right(kernel, gemm_problem(spec, c.m, c.n, 2 * c.k, 4), true);
  }
}

// A[m,k] = 1 at k = p(m), else 0: C[m,n] = B[n,p(m)] exactly. B holds numbers that f16 represents and that are
// different wherever a mistaken row, column or k would look.
TEST_CASE("gemm: one-hot rows select unique values of B exactly") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch;
    spec.out = Element::f32;
    const int m = 150, n = 140, k = 136;
    Problem problem = gemm_problem(spec, m, n, k, 1);
    const auto half = [](int integer) { // 0 <= integer <= 2048 as f16
      if (integer == 0) return std::uint16_t{0};
      const int exponent = 31 - __builtin_clz(static_cast<unsigned>(integer));
      return static_cast<std::uint16_t>((exponent + 15) << 10 | ((integer << 10 >> exponent) & 0x3ff));
    };
    const auto position = [&](int row) { return row * 37 % k; };
    const auto value = [](int row, int column) { return (row * 139 + column * 7) % 2039; }; // a prime
    std::vector<std::uint16_t> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k));
    for (int r = 0; r < m; ++r) a[static_cast<std::size_t>(r * k + position(r))] = half(1);
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < k; ++c) b[static_cast<std::size_t>(r * k + c)] = half(value(r, c));
    std::memcpy(problem.buffers[1].data.data(), a.data(), 2 * a.size());
    std::memcpy(problem.buffers[2].data.data(), b.data(), 2 * b.size());
    const std::vector<Bytes> after = launch(build_gemm(spec), problem);
    int wrong = 0;
    for (int r = 0; r < m; ++r)
      for (int c = 0; c < n; ++c) {
        float got = 0;
        std::memcpy(&got, after[0].data() + 4 * (r * n + c), 4);
        wrong += got != static_cast<float>(value(c, position(r)));
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("gemm: the result does not depend on the order of events") {
  GemmSpec spec;
  const Artifact kernel = build_gemm(spec);
  const Problem problem = gemm_problem(spec, 129, 257, 200, 5);
  CHECK(launch(kernel, problem)[0] == launch(kernel, problem, true)[0]);
}

TEST_CASE("the judge sees what is wrong") {
  GemmSpec spec;
  const Artifact kernel = build_gemm(spec);
  Problem problem = gemm_problem(spec, 129, 64, 64, 5);
  problem.launch.grid[1] = 1; // row 128 is never computed
  const Check missing = problem.check(launch(kernel, problem));
  CHECK_FALSE(missing.ok);
  CHECK_FALSE(missing.message.empty());
  std::vector<Bytes> after = launch(kernel, gemm_problem(spec, 129, 64, 64, 5));
  CHECK(problem.check(after).ok);
  after[0][501] ^= std::byte{0x04}; // one bit of one element
  CHECK_FALSE(problem.check(after).ok);
}

TEST_CASE("softmax and rmsnorm: lengths of rows, types, workgroups") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16})
      for (const auto& [threads, vectors] : {std::pair{64, 1}, {64, 4}, {256, 4}, {1024, 1}}) {
        RowSpec spec;
        spec.arch = arch;
        spec.type = type;
        spec.threads = threads;
        spec.vectors = vectors;
        const Artifact softmax = build_softmax(spec), rmsnorm = build_rmsnorm(spec);
        for (const int n : {8, 8 * threads - 8, 8 * threads, spec.capacity() - 8, spec.capacity()}) {
          if (n < 8 || n > spec.capacity()) continue;
          expect_right(softmax, softmax_problem(spec, 3, n, 11), n == spec.capacity());
          expect_right(rmsnorm, rmsnorm_problem(spec, 3, n, 12), n == spec.capacity());
        }
      }
}

TEST_CASE("moe_stage1: padding, ragged sizes, blocks that name no expert") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f16, Element::bf16}) {
      MoeSpec spec;
      spec.arch = arch;
      spec.type = type;
      const Artifact kernel = kernels::build(moe_stage1_program(spec));
      expect_right(kernel, moe_stage1_problem(spec, {33, 104, 72, 3, 300}, 1), true);
      expect_right(kernel, moe_stage1_problem(spec, {1, 8, 8, 1, 64}, 2));
      expect_right(kernel, moe_stage1_problem(spec, {70, 64, 128, 5, 700}, 3));
    }
}

TEST_CASE("moe_stage2: sums by token in 32 and 16 bits, ragged sizes") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element out : {Element::f32, Element::f16, Element::bf16}) {
      if (out == Element::bf16 && arch == std::string("gfx942")) continue; // refused
      MoeSpec spec;
      spec.arch = arch;
      spec.out = out;
      const Artifact kernel = kernels::build(moe_stage2_program(spec));
      expect_right(kernel, moe_stage2_problem(spec, {33, 104, 72, 3, 256}, 1), true);
      expect_right(kernel, moe_stage2_problem(spec, {1, 8, 8, 1, 64}, 2));
      expect_right(kernel, moe_stage2_problem(spec, {70, 136, 128, 5, 448}, 3));
    }
}

TEST_CASE("weight_only_gemm: a scale that is no number makes its column none, whatever its bits") {
  WeightOnlySpec spec;
  const Artifact kernel = kernels::build(weight_only_gemm_program(spec));
  constexpr std::int64_t m = 70, n = 72, k = 192;
  Problem problem = weight_only_gemm_problem(spec, m, n, k, 5);
  const std::map<std::int64_t, std::uint32_t> scales = {{3, 0x7fffffff},  {6, 0xffffffff},  {8, 0x7f800001},
                                                        {17, 0x7fc00000}, {40, 0x7f800000}, {71, 0xff80ffff}};
  const auto s = std::find_if(problem.buffers.begin(), problem.buffers.end(),
                              [](const Problem::Buffer& b) { return b.name == "s"; });
  REQUIRE(s != problem.buffers.end());
  for (const auto& [column, bits] : scales) // infinity, too: weights have both signs
    std::memcpy(s->data.data() + 4 * (column * (k / 64) + column % 3), &bits, 4);
  const std::vector<Bytes> after = launch(kernel, problem);
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t column = 0; column < n; ++column) {
      std::uint16_t c = 0;
      std::memcpy(&c, after[0].data() + 2 * (row * n + column), 2);
      INFO(row << ", " << column << ": " << c);
      REQUIRE(((c & 0x7fff) > 0x7f80) == scales.contains(column));
    }
}

TEST_CASE("weight_only_gemm: types, groups, ragged rows and columns") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const Element fp8 = codegen::fp8(codegen::Target::named(arch));
    struct Variant {
      Element type, weights, out;
      int group;
    };
    for (const Variant& v : {Variant{Element::bf16, Element::i8, Element::bf16, 32},
                             {Element::f16, Element::i8, Element::f32, 64},
                             {Element::bf16, fp8, Element::f16, 128},
                             {Element::f16, fp8, Element::f16, 64}}) {
      WeightOnlySpec spec;
      spec.arch = arch;
      spec.type = v.type, spec.weights = v.weights, spec.out = v.out, spec.group = v.group;
      const Artifact kernel = kernels::build(weight_only_gemm_program(spec));
      expect_right(kernel, weight_only_gemm_problem(spec, 70, 132, 3 * v.group, 1), true);
      expect_right(kernel, weight_only_gemm_problem(spec, 1, 4, v.group, 2));
      expect_right(kernel, weight_only_gemm_problem(spec, 64, 64, 4 * v.group, 3));
      const Problem problem = weight_only_gemm_problem(spec, 33, 64, 2 * v.group, 4);
      std::vector<Bytes> wrong = launch(kernel, problem);
      REQUIRE(problem.check(wrong).ok);
      wrong[0][wrong[0].size() - 1] ^= std::byte{0x40}; // an exponent
      CHECK_FALSE(problem.check(wrong).ok);
    }
  }
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& text) {
    std::vector<std::string> all = {"weight_only_gemm"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ran ran = inlay_run(all);
    CHECK(ran.exit == 2);
    CHECK_THAT(ran.err, Contains(text));
  };
  refused({"--group", "48"}, "32, 64 or 128");
  refused({"--weights", "bf8"}, "i8, or e4m3fnuz on gfx942");
  refused({"--k", "100"}, "multiple of 64");
  refused({"--tile-m", "48"}, "tile");
  // The tile that nobody names fits LDS with every group, on both targets.
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* group : {"32", "128"})
      CHECK(inlay_run({"weight_only_gemm", "--arch", arch, "--group", group, "--m", "40", "--n", "32", "--k",
                       "128"})
                .exit == 0);
}

TEST_CASE("block_scale_gemm: ragged rows and columns, one block of K and several") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const auto& [out, tile_m] : {std::pair{Element::bf16, 128}, {Element::f32, 64}}) {
      BlockScaleSpec spec;
      spec.arch = arch;
      spec.out = out;
      spec.tile_m = tile_m;
      const Artifact kernel = kernels::build(block_scale_gemm_program(spec));
      expect_right(kernel, block_scale_gemm_problem(spec, 130, 144, 384, 1), true);
      expect_right(kernel, block_scale_gemm_problem(spec, 1, 16, 128, 2));
      expect_right(kernel, block_scale_gemm_problem(spec, 64, 256, 256, 3));
    }
}

TEST_CASE("flash_attention: types, head dimensions, masks, groups, lengths") {
  struct Variant {
    const char* arch;
    Element type;
    int head_dim;
    bool causal;
    int group;
  };
  for (const Variant& v : {Variant{"gfx942", Element::bf16, 128, true, 2},
                           {"gfx942", Element::f16, 64, false, 1},
                           {"gfx950", Element::bf16, 64, true, 4},
                           {"gfx950", Element::f16, 128, false, 3}}) {
    AttentionSpec spec;
    spec.arch = v.arch;
    spec.type = v.type;
    spec.head_dim = v.head_dim;
    spec.causal = v.causal;
    spec.group = v.group;
    if (v.causal && v.head_dim == 128)
      spec.waves = 8, spec.tile_q = 256; // the diagonal passes four tiles of columns
    const Artifact kernel = kernels::build(flash_attention_program(spec));
    const std::int64_t heads = v.group;
    if (v.causal) expect_right(kernel, flash_attention_problem(spec, {1, 530, 600, heads}, 5));
    expect_right(kernel, flash_attention_problem(spec, {2, 130, 75, heads}, 1), true);
    expect_right(kernel, flash_attention_problem(spec, {1, 1, 1, 2 * heads}, 2));
    expect_right(kernel, flash_attention_problem(spec, {1, 40, 200, heads}, 3));
    expect_right(kernel, flash_attention_problem(spec, {1, 128, 128, heads}, 4));
  }
}

TEST_CASE("vector_add: ends inside a vector and inside a workgroup") {
  for (const char* n : {"1", "3", "1000", "1023", "1024", "1025", "4099"})
    CHECK(inlay_run({"vector_add", "--n", n, "--check", "all"}).exit == 0);
}

TEST_CASE("gemm: within its bound whatever way the matrix instructions add") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* matrix : {"sequential", "cdna3"})
      CHECK(inlay_run({"gemm", "--m", "128", "--n", "64", "--k", "128", "--arch", arch, "--matrix", matrix})
                .exit == 0);
  CHECK(inlay_run({"gemm", "--matrix", "exact"}).exit == 2);
}

TEST_CASE("every instruction of a kernel leads back to a line of its specification") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "inlay-source-test";
  const std::filesystem::path specifications =
      std::filesystem::path(INLAY_TESTS_DIR).parent_path() / "kernels";
  const std::map<std::string, std::string> room = {{"gemm", "gemm"},
                                                   {"preshuffle_gemm", "gemm"},
                                                   {"softmax", "rows"},
                                                   {"rmsnorm", "rows"},
                                                   {"layernorm", "rows"},
                                                   {"silu_and_mul", "rows"},
                                                   {"moe_stage1", "moe"},
                                                   {"moe_stage2", "moe"},
                                                   {"flash_attention", "attention"},
                                                   {"varlen_attention", "attention"},
                                                   {"attention_blocks", "attention"},
                                                   {"paged_decode", "attention"},
                                                   {"mla_decode", "attention"},
                                                   {"mla_reduce", "attention"},
                                                   {"attention_backward_delta", "attention"},
                                                   {"attention_backward_dq", "attention"},
                                                   {"attention_backward_dkv", "attention"},
                                                   {"rope", "rope"},
                                                   {"cumsum", "cumsum"},
                                                   {"vector_add", "vector_add"},
                                                   {"dropout", "random"},
                                                   {"block_scale_gemm", "block_scale"},
                                                   {"weight_only_gemm", "weight_only"},
                                                   {"batched_gemm", "products"},
                                                   {"grouped_gemm", "moe"},
                                                   {"gemv", "products"},
                                                   {"topk_gating", "routing"},
                                                   {"grouped_gating", "routing"},
                                                   {"weighted_combine", "routing"},
                                                   {"moe_starts", "routing"},
                                                   {"moe_blocks", "routing"},
                                                   {"moe_places", "routing"},
                                                   {"moe_sort", "routing"},
                                                   {"dual_gemm", "products"},
                                                   {"map", "map"},
                                                   {"transpose", "movement"},
                                                   {"swap_axes", "movement"},
                                                   {"kv_write", "attention"},
                                                   {"gather_rows", "movement"},
                                                   {"scatter_rows", "movement"},
                                                   {"pad", "movement"},
                                                   {"concat", "movement"},
                                                   {"conv2d", "convolution"},
                                                   {"conv3d", "convolution"},
                                                   {"causal_conv1d", "convolution"},
                                                   {"causal_conv1d_update", "convolution"},
                                                   {"gated_delta_step", "recurrent"},
                                                   {"gated_delta_gates", "recurrent"},
                                                   {"gated_delta_keys", "recurrent"},
                                                   {"gated_delta_inverse", "recurrent"},
                                                   {"gated_delta_rows", "recurrent"},
                                                   {"gated_delta_state", "recurrent"},
                                                   {"gated_delta_out", "recurrent"},
                                                   {"all_reduce", "communication"},
                                                   {"all_reduce_rmsnorm", "communication"},
                                                   {"reduce_scatter", "communication"},
                                                   {"all_gather", "communication"},
                                                   {"moe_dispatch", "communication"},
                                                   {"moe_combine", "communication"},
                                                   {"scatter_add", "movement"}};
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files;
  const auto text_of = [&](const std::string& kernel, const nlohmann::json& source) {
    const std::string file = source.at("file");
    auto [lines, fresh] = files.try_emplace({kernel, file});
    if (fresh) {
      const auto found = room.find(kernel);
      std::ifstream in(specifications / (found == room.end() ? "rows" : found->second) / file);
      REQUIRE(in);
      for (std::string line; std::getline(in, line);) lines->second.push_back(line);
    }
    return lines->second.at(source.at("line").get<std::size_t>() - 1);
  };
  for (const auto& kernel : registry())
    for (const char* arch : {"gfx942", "gfx950"}) {
      INFO(kernel->name() << " " << arch);
      REQUIRE(inlay_command({"build", kernel->name(), "--arch", arch, "-o", folder.string()}).exit == 0);
      const std::string file = (folder / (kernel->name() + ".hsaco")).string();
      const Ran ran = inlay_command({"inspect", file, "--disassemble", "--json"});
      const auto instructions = nlohmann::json::parse(ran.out).at("kernels").at(0).at("disassembly");
      REQUIRE(instructions.size() > 20);
      for (const auto& i : instructions) {
        INFO(i.dump());
        REQUIRE(i.contains("source"));
        const std::string line = text_of(kernel->name(), i.at("source")), text = i.at("text");
        // The operation, not just any line: products come from products, stores from stores.
        if (text.starts_with("v_mfma")) CHECK_THAT(line, Contains("mma("));
        if (text.starts_with("buffer_store")) CHECK_THAT(line, Contains("store("));
        const bool store = text.starts_with("ds_write") && line.find("store(") != std::string::npos;
        if ((text.starts_with("buffer_load") || text.starts_with("ds_write")) && !store)
          CHECK_THAT(line, Contains("copy(") || Contains("transfer(") || Contains("load(") ||
                               Contains("uniform(") || Contains("ticket(") || Contains("fold(") ||
                               Contains("relayout("));
      }
    }
  const Ran loop = inlay_command({"inspect", (folder / "gemm.hsaco").string(), "--loop", "--source",
                                  (specifications / "gemm").string()});
  CHECK_THAT(loop.out, Contains("; program.cpp:") && Contains("k.mma(acc, of_a, of_b, mma);\n"));
  const Ran plain = inlay_command({"inspect", (folder / "gemm.hsaco").string(), "--loop", "--source"});
  CHECK_THAT(plain.out, Contains("; program.cpp:") && !Contains("k.mma("));
  CHECK_THAT(inlay_command({"inspect", (folder / "gemm.hsaco").string(), "--source", "no/such"}).err,
             Contains("no such folder"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("build: machine code comes from the cache, claims do not; bits are the same in any case") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "inlay-build-cache-test";
  std::filesystem::remove_all(folder);
  const auto build = [&](const std::string& to) {
    const Ran ran = inlay_command({"build", "softmax", "-o", (folder / to).string(), "--json"});
    REQUIRE(ran.exit == 0);
    return nlohmann::json::parse(ran.out);
  };
  const auto bytes = [&](const std::string& of, const char* file) {
    std::ifstream in(folder / of / file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(build("a").at("from_cache") == false);
  ::setenv("INLAY_CACHE_DIR", (folder / "cache").c_str(), 1);
  CHECK(build("b").at("from_cache") == false);
  const auto cached = build("c");
  CHECK(cached.at("from_cache") == true);
  CHECK(cached.at("proofs").at("proved") == build("d").at("proofs").at("proved"));
  for (const char* file : {"softmax.hsaco", "softmax.s", "softmax.ll", "softmax.proofs.txt"}) {
    REQUIRE(!bytes("a", file).empty());
    CHECK(bytes("b", file) == bytes("a", file));
    CHECK(bytes("c", file) == bytes("a", file));
  }
  ::setenv("INLAY_CACHE_LIMIT", "much", 1);
  const Ran refused = inlay_command({"build", "softmax", "-o", (folder / "e").string()});
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.err, Contains("INLAY_CACHE_LIMIT") && Contains("much"));
  CHECK_FALSE(std::filesystem::exists(folder / "e"));
  ::unsetenv("INLAY_CACHE_LIMIT");
  ::unsetenv("INLAY_CACHE_DIR");
  std::filesystem::remove_all(folder);
}

TEST_CASE("build: --dump writes every level, and what another option changes is seen from its level on") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "inlay-build-dump-test";
  std::filesystem::remove_all(folder);
  const auto build = [&](const std::string& to, const std::string& scheduler) {
    REQUIRE(inlay_command({"build", "gemm", "--tile", "64x64x32", "--no-validate", "--scheduler", scheduler,
                           "--dump", (folder / to).string(), "-o", (folder / "out").string()})
                .exit == 0);
  };
  build("a", "modulo"), build("b", "modulo"), build("c", "default");
  const auto text = [&](const std::string& of, const std::string& file) {
    std::ifstream in(folder / of / file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::vector<std::string> levels = {"00-program.txt", "01-graph.txt", "02-schedule.txt",
                                           "03-code.txt",    "04-ir.ll",     "05-assembly.s"};
  for (const std::string& file : levels) {
    INFO(file);
    CHECK_FALSE(text("a", file).empty());
    CHECK(text("a", file) == text("b", file));
    const bool before = file < "02"; // of what the scheduler is given
    CHECK((text("a", file) == text("c", file)) == before);
  }
  CHECK_THAT(text("a", "01-graph.txt"),
             Contains("  loop ") && Contains(" over k by 32") && !Contains("wait"));
  CHECK_THAT(text("a", "03-code.txt"), Contains("wait") && Contains("barrier"));
  CHECK_THAT(text("a", "05-assembly.s"), Contains("v_mfma"));
  CHECK(inlay_command(
            {"build", "gemm", "--no-validate", "--dump", "/proc/none", "-o", (folder / "out").string()})
            .exit == 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("run: hip says clearly that there is no device, or is right") {
  const Ran ran = inlay_run({"vector_add", "--device", "hip"});
  INFO(ran.err);
  CHECK((ran.exit == 2 || ran.exit == 0));
  if (ran.exit == 2) CHECK_FALSE(ran.err.empty());
}

TEST_CASE("run: of each kernel says what was chosen, or why nothing is to be") {
  for (const auto& kernel : registry()) {
    const Ran ran = inlay_command({"run", kernel->name(), "--no-validate"});
    INFO(kernel->name() << "\n" << ran.out << ran.err);
    CHECK(ran.exit == 0);
    const std::size_t at = ran.out.find("\n  auto ");
    REQUIRE(at != std::string::npos);
    const std::string said = ran.out.substr(at + 1, ran.out.find('\n', at + 1) - at - 1);
    INFO(said);
    const auto flags = kernel->flags();
    const bool any = std::any_of(flags.begin(), flags.end(), [](const auto& f) { return f.speed; });
    CHECK((said.find("nothing to choose: no option changes only speed") != std::string::npos) == !any);
    if (any)
      CHECK((said.find("the fewest of") != std::string::npos ||
             said.find("the one form for these sizes") != std::string::npos));
  }
}

TEST_CASE("how large each buffer of each kernel has to be is known before a launch", "[error]") {
  for (const auto& kernel : registry())
    for (const std::string arch : {"gfx942", "gfx950"}) {
      const Flags flags = {{"arch", arch}};
      const Artifact a = kernel->build(flags, {});
      const Problem problem = kernel->problem(flags, 1);
      REQUIRE(problem.buffers.size() == a.contract.buffers.size());
      std::vector<std::int64_t> sizes;
      for (const LaunchArgument& x : problem.launch.arguments) {
        if (x.buffer >= 0) continue;
        std::int32_t v = 0;
        std::memcpy(&v, x.scalar.data(), 4);
        sizes.push_back(v);
      }
      std::vector<Bytes> buffers;
      for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
        const LaunchContract::Buffer& b = a.contract.buffers[i];
        INFO(kernel->name() << " " << arch << " " << b.name);
        CHECK(b.bits);
        // The problem's buffers are filled by hands that know nothing of formulas.
        CHECK(static_cast<std::size_t>(b.bytes(sizes)) == problem.buffers[i].data.size());
        CHECK(b.bytes(std::vector<std::int64_t>(sizes.size(), INT32_MAX)) > 0);
        buffers.push_back(problem.buffers[i].data);
      }
      const auto device = open_device("emulator", a.arch);
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        std::vector<Bytes> shorter = buffers;
        shorter[i].pop_back();
        INFO(kernel->name() << " " << arch << " " << a.contract.buffers[i].name);
        CHECK_THROWS_WITH(
            kernels::run(*device, a, shorter, sizes),
            Contains(a.contract.buffers[i].name + " has " + std::to_string(shorter[i].size()) + " bytes"));
      }
    }
}

TEST_CASE("run refuses buffers that are too small, and what the emulator finds is an error", "[error]") {
  codegen::Program k("twice", codegen::Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const codegen::Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
  k.computes(y, [&](const auto& i) { return k(x, {i[0]}) + k(x, {i[0]}); });
  const Sym w = k.workgroups(0, n, 256);
  const Layout tv = codegen::line_tv(256, 4, 64);
  k.store(k.map({k.load(k.tile(x, {256}, {w}), tv, 4)}, [](const auto& v) { return v[0] + v[0]; }),
          k.tile(y, {256}, {w}), 4);
  Artifact artifact = build(k);
  const auto device = open_device("emulator", artifact.arch);
  const auto go = [&](std::size_t out, std::size_t in, OnFinding on_finding = OnFinding::fail) {
    return kernels::run(*device, artifact, {Bytes(out), Bytes(in)}, {1000}, on_finding);
  };
  CHECK(go(4000, 4000).size() == 2);
  CHECK(go(5000, 6000).size() == 2); // larger does no harm
  CHECK_THROWS_WITH(go(4000, 3999), Contains("x has 3999 bytes") && Contains("n = 1000 needs 4000"));
  CHECK_THROWS_WITH(go(16, 4000), Contains("y has 16 bytes"));
  CHECK_THROWS_WITH(kernels::run(*device, artifact, {Bytes(4000)}, {1000}),
                    Contains("1 buffers were given") && Contains("y, x, in this order"));
  // Where nobody knows how large a buffer has to be, the launch says it.
  for (auto& b : artifact.contract.buffers) b.bits = {};
  CHECK(go(4000, 4000).size() == 2);
  try {
    (void)go(4000, 2048);
    FAIL("a read past the end is silent");
  } catch (const FindingsError& e) {
    REQUIRE_FALSE(e.findings.empty());
    for (const auto& f : e.findings) CHECK(f.kind == runtime::FindingKind::bounds);
    CHECK_THAT(e.what(), Contains("twice: the emulator's sanitizers found") && Contains("bounds: reads") &&
                             Contains("of 2048 bytes"));
  }
  CHECK(go(4000, 2048, OnFinding::keep).size() == 2); // who asks for the findings has them
  CHECK_FALSE(dynamic_cast<runtime::EmulatorDevice&>(*device).last_launch().findings.empty());
}

TEST_CASE("whether a form is chosen is spelled as the switches of kernels are") {
  const std::vector<std::string> words = {"run", "softmax", "--m", "4", "--n", "64", "--no-validate"};
  for (const char* yes : {"yes", "true", "on", "1", "no", "false", "off", "0"}) {
    auto with = words;
    with.insert(with.end(), {"--auto", yes});
    const Ran r = inlay_command(with);
    CAPTURE(yes, r.out, r.err);
    CHECK(r.exit == inlay::cli::Exit::yes);
    CHECK((r.out.find("  auto ") != std::string::npos) ==
          (std::string("yestrueon1").find(yes) != std::string::npos));
  }
  CHECK(inlay_command({"run", "softmax", "--auto", "2"}).exit == inlay::cli::Exit::bad_input);
}

} // namespace run_test
