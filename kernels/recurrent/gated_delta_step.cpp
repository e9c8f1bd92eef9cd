// S' = e^g S + k beta (v - (e^g S)^T k)^T,   o = S'^T q / sqrt(D): a token of the gated delta rule, linear attention whose state forgets,
// and corrects what it holds of a key.
#include "gated_delta_step.h"

#include <inlay/algebra/parse.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

void check(const GatedDeltaStep& s) {
  const Refusal refuse{"gated_delta_step"};
  const auto one_of = [](int n, std::initializer_list<int> all) {
    return std::find(all.begin(), all.end(), n) != all.end();
  };
  if (!one_of(s.key, {32, 64, 128, 256})) refuse(fmt::format("--key {}", s.key), "32, 64, 128 or 256");
  if (!one_of(s.value, {32, 64, 128, 256})) refuse(fmt::format("--value {}", s.value), "32, 64, 128 or 256");
  if (!one_of(s.threads, {64, 128, 256})) refuse(fmt::format("--threads {}", s.threads), "64, 128 or 256");
  if (!one_of(s.columns, {32, 64, 128, 256}) || s.columns > s.value)
    refuse(fmt::format("--columns {} with --value {}", s.columns, s.value),
           "32, 64, 128 or 256, at most the values");
  if (s.lanes() < 1 || s.lanes() > 64 || 64 / s.lanes() > s.key)
    refuse(fmt::format("--columns {} with --threads {}", s.columns, s.threads),
           "a vector of 16 bytes for each wave, and no more lanes than a column has keys");
  if (s.key * s.columns > 128 * s.threads)
    refuse(fmt::format("--key {} with --columns {} and --threads {}", s.key, s.columns, s.threads),
           "more threads, or fewer columns: a work-item holds at most 128 elements of the state");
}

} // namespace

// [gated_delta_step]
Program gated_delta_step_program(const GatedDeltaStep& s) {
  check(s);
  const int D = s.key, E = s.value, wide = s.columns, v = s.vector(), across = s.lanes(), down = 64 / across,
            moved = std::min(v, 128 / codegen::bits(s.type)); // elements of V and O at a time
  const double scale = 1 / std::sqrt(D);
  Program k("gated_delta_step", Target::named(s.arch), s.threads);
  const Sym B = k.size("batch", {.most = 65535}), H = k.size("heads", {.most = 1 << 10, .multiple = s.group}),
            group(s.group), HK = floor_div(H, group);
  const Tensor O = k.output("o", s.type, {B, H, E}), S = k.inout("state", s.state, {B, H, D, E}),
               Q = k.input("q", s.type, {B, HK, D, 1}), K = k.input("k", s.type, {B, HK, D, 1}),
               V = k.input("v", s.type, {B, H, 1, E}), beta = k.input("beta", Element::f32, {B, H, 1, 1}),
               G = s.decay ? k.input("g", Element::f32, {B, H, 1, 1}) : Tensor{};
  const auto unit = [&](const Tensor& of, Sym b, Sym h, Sym d) {
    const Expr x = k(of, {b, h, d, 0});
    if (!s.normalise) return x;
    return x * rsqrt(k.sum(D, [&](Sym i) {
             return k(of, {b, h, i, 0}) * k(of, {b, h, i, 0});
           }) + delta_epsilon);
  };
  const auto after = [&](Sym b, Sym h, Sym d, Sym e) { // the state
    const auto before = [&](Sym i) {
      const Expr x = k(S, {b, h, i, e});
      return s.decay ? x * exp(k(G, {b, h, 0, 0})) : x;
    };
    const auto key = [&](Sym i) { return unit(K, b, floor_div(h, group), i); };
    const Expr held = k.sum(D, [&](Sym i) { return before(i) * key(i); });
    return before(d) + key(d) * ((k(V, {b, h, 0, e}) - held) * k(beta, {b, h, 0, 0}));
  };
  k.computes(S, [&](const auto& c) { return after(c[0], c[1], c[2], c[3]); });
  k.computes(O, [&](const auto& c) {
    return k.sum(D, [&](Sym d) {
      return after(c[0], c[1], d, c[2]) * unit(Q, c[0], floor_div(c[1], group), d);
    }) * scale;
  });

  const Sym part = k.workgroups(0, Sym(E), wide), h = k.workgroups(1, H, 1), b = k.workgroups(2, B, 1),
            hk = floor_div(h, group);
  const Layout tv = parse_layout(fmt::format("(({0},{1},{2}),({3},{4})):(({3}@1,1@0,{5}@1),(1@1,{1}@0))",
                                             across, down, s.threads / 64, v, D / down, across * v)),
               of_keys = codegen::without_axis(tv, 1), of_values = codegen::without_axis(tv, 0),
               of_head = codegen::without_axis(of_values, 1);
  const auto vector = [&](const Tensor& of) {
    const Fragment x = k.load(k.tile(of, {1, 1, D, 1}, {b, hk, 0, 0}).keep({2, 3}), of_keys, 1);
    if (!s.normalise) return x;
    const Fragment squares = k.fold(Monoid::sum, k.map({x}, [](const Exprs& a) { return a[0] * a[0]; }), 0);
    return k.map({x, squares}, [](const Exprs& a) { return a[0] * rsqrt(a[1] + delta_epsilon); });
  };
  const auto number = [&](const Tensor& of) {
    return k.load(k.tile(of, {1, 1, 1, 1}, {b, h, 0, 0}).keep({2, 3}), of_head, 1);
  };
  const auto products = [&](const Fragment& x, const Fragment& y) {
    return k.fold(Monoid::sum, k.map({x, y}, [](const Exprs& a) { return a[0] * a[1]; }), 0);
  };
  const codegen::View tile = k.tile(S, {1, 1, D, wide}, {b, h, 0, part}).keep({2, 3});
  const Fragment held = k.load(tile, tv, v), key = vector(K), query = vector(Q),
                 value = k.load(k.tile(V, {1, 1, 1, wide}, {b, h, 0, part}).keep({2, 3}), of_values, moved),
                 before = s.decay ? k.map({held, number(G)}, [](const Exprs&a) { return a[0] * exp(a[1]); })
                                  : k.map({held}, [](const Exprs&a) { return a[0]; }),
                 delta = k.map({value, products(before, key), number(beta)},
                               [](const Exprs&a) { return (a[0] - a[1]) * a[2]; }),
                 now = k.map({before, key, delta}, [](const Exprs&a) { return a[0] + a[1] * a[2]; });
  k.store(k.map({products(now, query)}, [&](const Exprs& a) { return a[0] * scale; }),
          k.tile(O, {1, 1, wide}, {b, h, part}).keep({1, 2}), moved);
  k.store(now, tile, v);
  return k;
}
// [gated_delta_step end]

} // namespace inlay::kernels
