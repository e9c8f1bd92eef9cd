// places[i] = starts[e[i]] + number of j < i with e[j] = e[i];   ids[places[i]] = i / k, sorted_weights[places[i]] = weights[i] (sort.h).
#include "sort_parts.h"

namespace inlay::kernels {
namespace {

using codegen::Element;

} // namespace

// [moe_places]
Program moe_places_program(const MoeSort& s) {
  check_sort(s);
  constexpr int tile = MoeSort::tile, most = MoeSort::most_experts;
  Program k("moe_places", Target::named(s.arch), 256);
  const Sym M = k.size("m", {.most = 1 << 23}), N = k.size("n", {.most = 1 << 23, .multiple = 4}),
            E = k.size("experts", {.most = most});
  const Tensor places = k.output("places", Element::i32, {M, 1}), own = k.input("e", Element::i32, {M, 1}),
               e = k.input("e_of_all", Element::i32, {N, 1}),
               starts = k.input("starts", Element::i32, {E, 1});
  const auto place = [&](Expr expert, Expr rank, Expr start) {
    return choose(less_unsigned(integer(expert), integer(k.number(E))), truncated(rank) + integer(start),
                  k.integer(-1));
  };
  k.computes(places, [&](const auto& c) {
    const Expr mine = k(own, {c[0], 0});
    const Expr rank = k.sum(N, [&](Sym j) {
      return inside(j, c[0], one_if_equal(k, k(e, {j, 0}), mine), 0);
    });
    return place(mine, rank, k(starts, {k.at(own, c[0], Sym(0)), 0}));
  });
  const Square square(4, tile / 4);
  const Sym w = k.workgroups(0, M, tile);
  const Fragment mine = k.load(k.tile(own, {tile, 1}, {w, 0}), square.rows, 1),
                 names = k.load(k.tile(own, {tile, 1}, {w, 0}).keep({0}), square.rows, 1),
                 start = k.load(k.tile(starts, {tile, 1}, {0, 0}).through(0, names), square.rows, 1),
                 zero = k.zeros(Element::f32, square.all, {tile, tile}),
                 rank = k.zeros(Element::f32, square.rows, {tile, 1});
  k.loop(min(N, tile * (w + Sym(1))), tile, {.distance = 2, .ring = 1}, [&](Sym t) {
    const Fragment of = k.load(k.tile(e, {tile, 1}, {t, 0}).keep({1, 0}), square.columns, 4);
    const Fragment hit = k.map(square.all, {zero, mine, of}, [&](const Exprs& a) {
      const Sym j = tile * t + k.position(1);
      return inside(j, N, inside(j, tile * w + k.position(0), one_if_equal(k, a[2], a[1]), 0), 0);
    });
    k.update(rank, {k.fold(Monoid::sum, hit, 1)}, [](const Exprs& a) { return a[0] + a[1]; });
  });
  k.store(k.map(
              {mine, rank, start}, [&](const Exprs& a) { return place(a[0], a[1], a[2]); }, Element::i32),
          k.tile(places, {tile, 1}, {w, 0}), 1);
  return k;
}
// [moe_places end]

// [moe_sort]
Program moe_sort_program(const MoeSort& s) {
  check_sort(s);
  constexpr int tile = MoeSort::tile;
  Program k("moe_sort", Target::named(s.arch), tile);
  const Sym N = k.size("n", {.most = 1 << 23, .multiple = tile}), P = k.size("rows", {.most = 1 << 24});
  const Tensor ids = k.inout("ids", Element::i32, {P}), sorted = k.inout("sorted_weights", Element::f32, {P}),
               places = k.input("places", Element::i32, {N}), weights = k.input("weights", Element::f32, {N});
  const auto token = [&](Sym i) { return integer(k.number(floor_div(i, Sym(s.k)))); };
  k.puts(ids, places, [&](const auto& c) { return token(c[0]); });
  k.puts(sorted, places, [&](const auto& c) { return k(weights, {c[0]}); });
  const Sym w = k.workgroups(0, N, tile);
  const Layout tv = codegen::line_tv(tile, 1, tile);
  const Fragment at = k.load(k.tile(places, {tile}, {w}), tv, 1);
  k.store(k.map(
              {at}, [&](const Exprs&) { return token(tile * w + k.position(0)); }, Element::i32),
          k.tile(ids, {tile}, {0}).through(0, at), 1);
  k.store(k.load(k.tile(weights, {tile}, {w}), tv, 1), k.tile(sorted, {tile}, {0}).through(0, at), 1);
  return k;
}
// [moe_sort end]

} // namespace inlay::kernels
