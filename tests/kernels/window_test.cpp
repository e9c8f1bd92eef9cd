// Windows: shifts, halos, strides, dilation and the taps of a convolution, right on the emulator against loops of the specification's
// definition; what looks elsewhere than it says is refused.
#include "../../kernels/convolution/convolution.h"
#include "../mutate/emulated.h"
#include "specified.h"

#include <inlay/kernels/artifact.h>

#include <cstring>

namespace window_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;
using specified::refuted;

namespace {

const Target& target() { return Target::named("gfx942"); }

// y(i) = x(i + by) where that is there: shifted operands of a map. `said` is what the specification says of it.
Program shifted(int by, int said, int vector) {
  Program k("shifted", target(), 64);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = vector});
  const Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", Element::f32, {N}),
               moved = k.window("moved", X, {{N, {{N, 0}}}}, {by}),
               wanted = said == by ? moved : k.window("wanted", X, {{N, {{N, 0}}}}, {said});
  k.computes(Y, [&](const auto& c) { return k(wanted, {c[0]}) - k(X, {c[0]}); });
  const Sym w = k.workgroups(0, N, 64 * vector);
  const Layout tv = line_tv(64 * vector, vector, 64);
  const auto load = [&](const Tensor& t) { return k.load(k.tile(t, {64 * vector}, {w}), tv, vector); };
  k.store(k.map({load(moved), load(X)}, [](const auto& v) { return v[0] - v[1]; }),
          k.tile(Y, {64 * vector}, {w}), vector);
  return k;
}

// y(i) = x(step i): the last tile, up to 63 past the end of y, looks at step (n + 63) at most.
Program strided(int step) {
  Program k("strided", target(), 64);
  const Sym N = k.size("n", {.most = 1 << 20}), M = k.size("m");
  const Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", Element::f32, {M}),
               of = k.window("of", X, {{N, {{N, 0, step}}}}, {0});
  k.computes(Y, [&](const auto& c) { return k(of, {c[0]}); });
  const Sym w = k.workgroups(0, N, 64);
  k.store(k.load(k.tile(of, {64}, {w}), line_tv(64, 1, 64), 1), k.tile(Y, {64}, {w}), 1);
  return k;
}

struct Conv {
  int stride = 1, dilation = 1, pad = 1, r = 3, s = 3, c = 8;
  int tap = 0; ///< added to where the kernel looks along K, and not in the specification
};

// A convolution as a product of pixels and taps, a tap at a time, in registers: y(m,k) = sum_i taps(m,i) f(k,i).
Program conv(const Conv& d) {
  Program k("conv", target(), 64);
  const Sym N = k.size("n", {.most = 1 << 8}), H = k.size("h", {.most = 1 << 8}),
            W = k.size("w", {.most = 1 << 8}), P = k.size("p", {.most = 1 << 8}),
            Q = k.size("q", {.most = 1 << 8}), M = k.size("pixels", {.most = 1 << 20});
  const Sym C = d.c, all = C * Sym(d.r * d.s);
  const Tensor Y = k.output("y", Element::f32, {M, 1}), X = k.input("x", Element::f32, {N, H, W, C}),
               F = k.input("f", Element::f32, {2, all});
  const Tensor taps = k.window("taps", X,
                               {{M, {{Q, 2, d.stride}, {P, 1, d.stride}, {N, 0}}},
                                {all, {{C, 3}, {d.s, 2, d.dilation}, {d.r, 1, d.dilation}}}},
                               {0, -d.pad, -d.pad, 0});
  k.computes(Y, [&](const auto& c) {
    return k.sum(all, [&](Sym i) { return k(taps, {c[0], i}) * k(F, {c[1], i}); });
  });
  const Sym bm = k.workgroups(0, M, 32);
  const Layout tv = rows_tv(32, d.c, 4, 64);
  const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {32, 1});
  k.loop(all, d.c, {.distance = 1, .ring = 1}, [&](Sym t) {
    const Fragment x = k.load(k.tile(taps, {32, d.c}, {bm, t + Sym(d.tap)}), tv, 4),
                   f = k.load(k.tile(F, {1, d.c}, {0, t}), without_axis(tv, 0), 4);
    k.update(sum, {k.fold(Monoid::sum, k.map({x, f}, [](const auto& v) { return v[0] * v[1]; }), 1)},
             [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(sum, k.tile(Y, {32, 1}, {bm, 0}), 1);
  return k;
}

} // namespace

TEST_CASE("window: shifted operands are the tensor's, and 0 where it has none") {
  for (const int by : {1, -1, 3, -70})
    for (const int n : {1, 2, 64, 65, 200}) {
      INFO("by " << by << ", n " << n);
      specified::check(shifted(by, by, 1), {n}, 0, n == 65);
    }
  specified::check(shifted(4, 4, 4), {12});
  specified::check(shifted(-8, -8, 4), {520});
}

TEST_CASE("window: pixels and taps of a convolution, whatever its stride, dilation and padding") {
  for (const Conv& d : {Conv{}, Conv{.stride = 2}, Conv{.dilation = 2, .pad = 2},
                        Conv{.pad = 0, .r = 2, .s = 5}, Conv{.stride = 3, .pad = 4, .r = 1, .s = 1}}) {
    for (const auto& [n, h, w] : {std::tuple(1, 5, 5), {2, 7, 6}, {3, 1, 9}}) {
      const int p = (h + 2 * d.pad - d.dilation * (d.r - 1) - 1) / d.stride + 1,
                q = (w + 2 * d.pad - d.dilation * (d.s - 1) - 1) / d.stride + 1;
      if (p < 1 || q < 1) continue;
      INFO(d.stride << " " << d.dilation << " " << d.pad << ", " << n << " of " << h << " x " << w);
      specified::check(conv(d), {n, h, w, p, q, n * p * q}, 0, h == 7);
    }
  }
}

TEST_CASE("window: what looks elsewhere than it says is refused", "[error]") {
  CHECK(refuted(shifted(1, 1, 1)).empty());
  CHECK_THAT(refuted(shifted(1, 2, 1)), Contains("y is what the specification says"));  // off by one
  CHECK_THAT(refuted(shifted(1, -1, 1)), Contains("y is what the specification says")); // the sign
  CHECK_THAT(refuted(shifted(1, 0, 1)), Contains("y is what the specification says"));
  // A vector that goes over the border.
  CHECK_THAT(refuted(shifted(1, 1, 4)), Contains("wholly inside or wholly outside"));
  CHECK_THAT(refuted(shifted(-2, -2, 4)), Contains("go over the start or the end of axis 0 of x"));
  CHECK(refuted(conv({})).empty());
  CHECK_FALSE(refuted(conv({.tap = 1})).empty());
}

TEST_CASE("window: an address, a guard or an extent that is another's is found by numbers", "[error]") {
  // The origin that guards compare, and not the address.
  const auto changed = [](Program p, auto change) {
    for (Tensor& t : p.mutable_tensors())
      if (t.space == Space::window) change(t);
    return refuted(p);
  };
  CHECK_THAT(changed(shifted(1, 1, 1), [](Tensor& t) { t.look_origin[0] = Sym(2); }),
             Contains("go to the places of their view"));
  CHECK_THAT(changed(conv({}), [](Tensor& t) { t.looks[1].looks[1].step = Sym(2); }), Contains("taps"));
  CHECK_THAT(changed(conv({}), [](Tensor& t) { t.looks[0].looks[0].step = Sym(2); }), Contains("taps"));
}

TEST_CASE("window: where it looks is compared as 31 bits, also from the last tile on", "[error]") {
  // 2047 (2^20 + 64) < 2^31 < 2048 (2^20 + 64), and 2048 (2^20 - 1) < 2^31.
  CHECK(refuted(strided(2047)).empty());
  CHECK_THAT(refuted(strided(2048)), Contains("may be looked at past 2^31"));
}

TEST_CASE("window: without one, what begins before a tensor is refused", "[error]") {
  Program k("before", target(), 64);
  const Sym N = k.size("n", {.most = 1 << 20});
  const Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", Element::f32, {N});
  k.computes(Y, [&](const auto& c) { return inside(c[0], N, k(X, {c[0] - Sym(1)}), 0); });
  const Sym w = k.workgroups(0, N, 64);
  View v = k.tile(X, {64}, {w});
  v.origin[0] -= Sym(1);
  k.store(k.load(v, line_tv(64, 1, 64), 1), k.tile(Y, {64}, {w}), 1);
  CHECK_THAT(refuted(k), Contains("may begin at a negative coordinate"));
}

TEST_CASE("window: what is none is refused", "[error]") {
  Program k("none", target(), 64);
  const Sym N = k.size("n");
  const Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", Element::f32, {N, 4});
  CHECK_THROWS_WITH(k.window("w", Y, {{N, {{N, 0}}}}, {0}), Contains("y is no input"));
  CHECK_THROWS_WITH(k.window("w", X, {{N, {{N, 0}}}}, {0}), Contains("x has 2 axes"));
  CHECK_THROWS_WITH(k.window("w", X, {{N, {{N, 2}}}}, {0, 0}), Contains("x has no axis 2"));
  CHECK_THROWS_WITH(k.window("w", X, {{N, {}}}, {0, 0}), Contains("has no digits"));
  CHECK_THROWS_WITH(k.window("w", X, {{N, {{N, 0, -1}}}}, {0, 0}), Contains("goes backwards"));
  const Tensor w = k.window("w", X, {{N, {{N, 0}}}}, {-1, 0});
  const Fragment f = k.load(k.tile(w, {64}, {0}), line_tv(64, 1, 64), 1);
  CHECK_THROWS_WITH(k.store(f, k.tile(w, {64}, {0}), 1), Contains("w is a window, and is read only"));
}

TEST_CASE("conv3d: pixels of volumes and taps of their filters, and nothing next to them") {
  kernels::Convolution asked{.volume = true, .c = 32, .tile_m = 32, .tile_n = 32};
  asked.stride_d = 2;
  const Program p = kernels::convolution_program(asked);
  CHECK(refuted(p) == "");
  for (const char* of : {"taps", "filters"})
    for (const std::size_t axis : {0, 1})
      for (const int by : {1, 64}) {
        INFO(of << ", axis " << axis << ", " << by);
        Code code = specified::code_of(p);
        bool any = false;
        for (CodeRegion& r : code.regions)
          for (auto* list : {&r.prologue, &r.body, &r.epilogue})
            for (Inst& i : *list)
              if (i.kind == InstKind::load && p.tensor(i.access.tensor).name == of)
                i.access.origin[axis] += Sym(by), any = true;
        REQUIRE(any);
        CHECK(refuted(code) != "");
      }
}

TEST_CASE("loops over a number that their tile does not divide") {
  enum What { sum, maximum, unfilled, stored, taps };
  const auto program = [](What what, int extent, int tile, int distance) {
    Program k("numbers", target(), 64);
    const Sym M = k.size("m", {.most = 1 << 12});
    const bool one = what != stored;
    const Tensor Y = k.output("y", Element::f32, {M, one ? Sym(1) : Sym(extent)}),
                 X = k.input("x", Element::f32, {M, Sym(extent)}), T = k.input("t", Element::f32, {M});
    const Tensor of =
        what == taps ? k.window("of", T, {{M, {{M, 0}}}, {Sym(extent), {{Sym(extent), 0}}}}, {-1}) : X;
    const auto monoid = what == maximum || what == unfilled ? Monoid::max : Monoid::sum;
    k.computes(Y, [&](const auto& c) {
      if (what == stored) return k(of, {c[0], c[1]}) * 2.0;
      return k.fold(monoid, Sym(extent), [&](Sym i) { return k(of, {c[0], i}); });
    });
    const Sym b = k.workgroups(0, M, 64);
    const Layout tv = rows_tv(64, tile, 1, 64), row = without_axis(tv, 1);
    const double nothing = monoid == Monoid::max ? -INFINITY : 0;
    const Fragment acc = k.full(nothing, row, {64, 1});
    k.loop(Sym(extent), tile, {.distance = distance, .ring = 1}, [&](Sym t) {
      const Fragment x = k.load(k.tile(of, {64, tile}, {b, t}), tv, 1);
      if (what == stored)
        return k.store(k.map({x}, [](const auto& v) { return v[0] * 2.0; }), k.tile(Y, {64, tile}, {b, t}),
                       1);
      const Fragment y = what == unfilled ? x : k.fill(x, 1, tile * t, Sym(extent), nothing);
      k.update(acc, {k.fold(monoid, y, 1)},
               [&](const auto& v) { return monoid == Monoid::max ? max(v[0], v[1]) : v[0] + v[1]; });
    });
    if (one) k.store(acc, k.tile(Y, {64, 1}, {b, 0}), 1);
    return k;
  };
  for (const auto& [extent, tile] : {std::pair(7, 4), {3, 4}, {9, 8}, {100, 16}})
    for (const int distance : {0, 2})
      for (const What what : {sum, maximum, stored, taps}) {
        INFO(int(what) << ": " << extent << " by " << tile << ", distance " << distance);
        const Program p = program(what, extent, tile, distance);
        const Code code = specified::code_of(p);
        CHECK(refuted(p) == "");
        for (const mutate::Sizes& s : {mutate::Sizes{1}, {63}, {130}})
          CHECK(mutate::run_tokens(code, s, 1) == "");
        CHECK(mutate::emulated(code, {{1}, {63}, {130}}) == "");
      }
  CHECK_THAT(refuted(program(unfilled, 7, 4, 0)),
             Contains("what lies outside of a max is its empty element"));
}

TEST_CASE("a tile is turned by relayout alone, without bank conflicts") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const auto& [element, extent, vector] :
         {std::tuple(Element::bf16, 64, 4), {Element::f32, 64, 4}, {Element::f16, 32, 2}}) {
      INFO(arch << " " << to_string(element) << " " << extent << " by " << vector);
      Program k("turned", Target::named(arch), 256);
      const Sym M = k.size("m", {.most = 1 << 13, .multiple = vector}),
                N = k.size("n", {.most = 1 << 13, .multiple = vector});
      const Tensor Y = k.output("y", element, {N, M}), X = k.input("x", element, {M, N});
      k.computes(Y, [&](const auto& c) { return k(X, {c[1], c[0]}); });
      const Sym bn = k.workgroups(0, N, extent), bm = k.workgroups(1, M, extent);
      const Layout tv = rows_tv(extent, extent, vector, 256);
      const Fragment x = k.load(k.tile(X, {extent, extent}, {bm, bn}), tv, vector);
      k.store(k.relayout(x, transposed(tv), element), k.tile(Y, {extent, extent}, {bn, bm}).keep({1, 0}),
              vector);
      const Code code = specified::code_of(k);
      const std::vector<mutate::Sizes> sizes = {{4, 8}, {64, 132}, {100, 68}};
      CHECK(mutate::run_tokens(code, sizes[2], 1) == "");
      CHECK(mutate::emulated(code, sizes) == "");
      CHECK_NOTHROW(kernels::build(std::move(k))); // conflicts are claims
    }
}

} // namespace window_test
