// padded(x) = number of i with e[i] = x, up to a multiple of the block;   starts[x] = sum over y < x of padded(y)
// experts_of_blocks[b] = number of x with starts[x] <= block b, less 1 (sort.h). Counts alone: nothing depends on who comes first.
#include "sort_parts.h"

namespace inlay::kernels {
namespace {

using codegen::Element;

Expr whole_of(const Exprs& a) { return truncated(a[0]); }

} // namespace

// [moe_starts]
Program moe_starts_program(const MoeSort& s) {
  check_sort(s);
  constexpr int tile = MoeSort::tile, most = MoeSort::most_experts, threads = 1024, waves = 16;
  const int shift = std::countr_zero(static_cast<unsigned>(s.block));
  Program k("moe_starts", Target::named(s.arch), threads);
  const Sym N = k.size("n", {.most = 1 << 23}), E = k.size("experts", {.most = most});
  const Tensor starts = k.output("starts", Element::i32, {E, 1}),
               used = k.output("rows_in_use", Element::i32, {1, 1}), e = k.input("e", Element::i32, {N, 1}),
               labels = k.input("labels", Element::i32, {E, 1});
  const auto pad = [&](Expr count) {
    return to_number(((truncated(count) + k.integer(s.block - 1)) >> shift) << shift);
  };
  const auto padded = [&](Sym y) {
    return pad(k.sum(N, [&](Sym j) { return one_if_equal(k, k(e, {j, 0}), k(labels, {y, 0})); }));
  };
  k.computes(starts, [&](const auto& c) {
    return truncated(k.sum(E, [&](Sym y) { return inside(y, c[0], padded(y), 0); }));
  });
  k.computes(used, [&](const auto&) { return truncated(k.sum(E, padded)); });

  const Square hits(waves, tile / 4), square(waves, most / 4);
  const Fragment count = k.zeros(Element::f32, hits.rows, {most, 1}),
                 label = k.load(k.tile(labels, {most, 1}, {0, 0}), hits.rows, 1),
                 no_hit = k.zeros(Element::f32, hits.all, {most, tile}),
                 zero = k.zeros(Element::f32, square.all, {most, most});
  k.loop(N, tile, {.distance = 1, .ring = 1}, [&](Sym t) {
    const Fragment of = k.load(k.tile(e, {tile, 1}, {t, 0}).keep({1, 0}), hits.columns, 1);
    const Fragment hit = k.map(hits.all, {no_hit, of, label}, [&](const Exprs& a) {
      return inside(tile * t + k.position(1), N, one_if_equal(k, a[1], a[2]), 0);
    });
    k.update(count, {k.fold(Monoid::sum, hit, 1)}, [](const Exprs& a) { return a[0] + a[1]; });
  });
  const Tensor lds = k.lds("padded", Element::f32, {most, 1}, Swizzle(1, 2, 4));
  k.store(k.map({count}, [&](const Exprs& a) { return pad(a[0]); }), k.whole(lds), 1);
  const Fragment of = k.load(k.whole(lds).keep({1, 0}), square.columns, 4);
  const Fragment before = k.map(square.all, {zero, of}, [&](const Exprs& a) {
    return inside(k.position(1), E, inside(k.position(1), k.position(0), a[1], 0), 0);
  });
  k.store(k.map({k.fold(Monoid::sum, before, 1)}, whole_of, Element::i32), k.tile(starts, {most, 1}, {0, 0}),
          1);
  const Fragment all = k.map({of}, [&](const Exprs& a) { return inside(k.position(1), E, a[0], 0); });
  k.store(k.map({k.fold(Monoid::sum, all, 1)}, whole_of, Element::i32), k.tile(used, {1, 1}, {0, 0}), 1);
  return k;
}
// [moe_starts end]

// [moe_blocks]
Program moe_blocks_program(const MoeSort& s) {
  check_sort(s);
  constexpr int tile = MoeSort::tile, most = MoeSort::most_experts;
  Program k("moe_blocks", Target::named(s.arch), 256);
  const Sym Q = k.size("blocks", {.most = 1 << 20}), E = k.size("experts", {.most = most});
  const Tensor experts = k.output("experts_of_blocks", Element::i32, {Q, 1}),
               starts = k.input("starts", Element::i32, {E, 1});
  const auto begun = [&](Sym b, Expr start) {
    return select(k.number(Sym(s.block) * b), start, k.constant(1), k.constant(0));
  };
  k.computes(experts, [&](const auto& c) {
    return truncated(k.sum(E, [&](Sym x) { return begun(c[0], k(starts, {x, 0})); })) - k.integer(1);
  });
  const Square square(4, most / 4);
  const Sym w = k.workgroups(0, Q, tile);
  const Fragment zero = k.zeros(Element::f32, square.all, {tile, most}),
                 of = k.load(k.tile(starts, {most, 1}, {0, 0}).keep({1, 0}), square.columns, 1);
  const Fragment before = k.map(square.all, {zero, of}, [&](const Exprs& a) {
    return inside(k.position(1), E, begun(tile * w + k.position(0), a[1]), 0);
  });
  k.store(k.map(
              {k.fold(Monoid::sum, before, 1)},
              [&](const Exprs& a) { return truncated(a[0]) - k.integer(1); }, Element::i32),
          k.tile(experts, {tile, 1}, {w, 0}), 1);
  return k;
}
// [moe_blocks end]

} // namespace inlay::kernels
