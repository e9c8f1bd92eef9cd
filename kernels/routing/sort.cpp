// Sorting of a mixture of experts: the programs. A rank is a count of equal ones before, so that nothing depends on who comes first.
#include "sort.h"

#include "../program_names.h"

#include <inlay/algebra/parse.h>

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Element;
using codegen::inside;

constexpr int tile = 64, most = MoeSort::most_experts;

void check(const MoeSort& s) {
  if (s.block < 16 || s.block > 256 || !std::has_single_bit(static_cast<unsigned>(s.block)))
    throw std::invalid_argument(
        fmt::format("moe_sort: --block {}\n  hint   16, 32, 64, 128 or 256 rows", s.block));
}

/// Rows of `values` columns a work-item: 16 rows and 4 parts of the columns a wave; the rows alone, and the columns alone.
struct Square {
  Layout all, rows, columns;
  Square(int waves, int values) {
    const auto layout = [&](const char* row, const char* wave, int step, const char* value) {
      return parse_layout(fmt::format("((16,4,{}),{}):(({},{},{}),{})", waves, values, row,
                                      step == 0 ? "0" : fmt::format("{}@1", step), wave, value));
    };
    all = layout("1@0", "16@0", values, "1@1");
    columns = layout("0", "0", values, "1@1");
    rows = parse_layout(fmt::format("((16,4,{}),1):((1@0,0,16@0),0)", waves));
  }
};

Expr one_if_equal(Program& k, Expr a, Expr b) {
  return choose(equal(integer(a), integer(b)), k.constant(1), k.constant(0));
}
Expr same(const Exprs& a) { return truncated(a[0]); }

} // namespace

// [moe_starts]
Program moe_starts_program(const MoeSort& s) {
  check(s);
  constexpr int threads = 1024, waves = 16;
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
  k.store(k.map({k.fold(Monoid::sum, before, 1)}, same, Element::i32), k.tile(starts, {most, 1}, {0, 0}), 1);
  const Fragment all = k.map({of}, [&](const Exprs& a) { return inside(k.position(1), E, a[0], 0); });
  k.store(k.map({k.fold(Monoid::sum, all, 1)}, same, Element::i32), k.tile(used, {1, 1}, {0, 0}), 1);
  return k;
}
// [moe_starts end]

// [moe_blocks]
Program moe_blocks_program(const MoeSort& s) {
  check(s);
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

// [moe_places]
Program moe_places_program(const MoeSort& s) {
  check(s);
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
  check(s);
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
