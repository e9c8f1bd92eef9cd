// Of every part of `split` positions, with x(i) = scale q(s,j,h,:) kv(i): most = max x(i), sums = sum exp(x(i) - most), parts = sum of
// exp(x(i) - most) kv(i)[0:512]: latent attention (mla.h).
#include "mla.h"

#include "../least_number.h"
#include "mla_parts.h"
#include "mla_places.h"

#include <inlay/solver/lds.h>

#include <fmt/format.h>

namespace inlay::kernels {

using codegen::Nan;

// [mla]
Program mla_decode_program(const Latent& s) {
  check_latent(s);
  if (s.scaled() && codegen::bits(s.cache) != 8)
    throw std::invalid_argument(
        fmt::format("mla: --kv-dtype {} with --dtype {}\n  hint   the same, or fp8 with a scale",
                    to_string(s.cache), to_string(s.type)));
  const Target& target = Target::named(s.arch);
  const int waves = s.waves_used(), sides = s.sides(), blocks = waves / sides, threads = 64 * waves,
            rows = 16 * blocks;
  const Atom& product = Atom::mma_best(target, s.type, s.type, Element::f32, 16);
  // Where all heads are 16 rows, each wave has their scores, and half of the values' columns: no wave multiplies rows of zeros.
  // Two workgroups of two waves on a compute unit, each beside the waits of the other one: of 64 KiB of LDS that is half a tile each.
  const bool banks_64 =
      solver::lds_access(Atom::load(target, codegen::Addressing::lds, 128).name, target.name).banks == 64;
  const int columns = !banks_64 && waves == 2 ? 16 : 32, each = columns / 4;
  // Several waves with 16 heads each exchange weights and factors through LDS, and each has its columns' values for all of them: values
  // are read and put in pairs of positions once, not by every wave. Of 16 positions a trip that is no gain.
  const bool shared = sides == 1 && columns == 32;
  const int rows_apart = shared ? 1 : blocks, columns_apart = waves / rows_apart;
  const MmaTiling qk_once = MmaTiling::of(product, blocks, 1, rows, columns, Latent::key, 8),
                  qk = qk_once.with_columns(each).repeated(sides),
                  pv = MmaTiling::of(product, rows_apart, columns_apart, rows, Latent::latent, columns, each);
  Program k("mla_decode", target, threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}),
            N = k.size("keys", {.most = 1 << 22, .multiple = s.step()}),
            P = k.size("pages", {.most = 1 << 28}), split(s.split);
  const std::vector<Sym> queries{S, s.blocks(), s.group(), Latent::key};
  // What is asked for first stands first: it is in registers when a wave begins.
  const Sym count = ceil_div(N, split);
  const Tensor L = k.input("lengths", Element::i32, {S}),
               T = k.input("table", Element::i32, {S, floor_div(N, Sym(s.page))}),
               KV = k.input("kv", s.cache, {P, s.page, Latent::key}),
               Q = k.input("q", s.type, queries, by_rows(queries)), rows_at = k.paged("kv_at", KV, T);
  const SoftmaxParts to = parts_of(s, S, count, [&](const char* name, const std::vector<Sym>& shape) {
    return k.output(name, Element::f32, shape, by_rows(shape));
  });
  std::optional<Tensor> scales;
  if (s.scaled()) scales = k.input("scale", Element::f32, {1, 1});
  // The softmax over part c[2], of the positions in it.
  const auto part_of = [&](const auto& c) {
    const Sym length = seen(s, k.value(L, c[0]), c[1]);
    const auto within = [length](Sym i, Expr e, double beyond) { return inside(i, length, e, beyond); };
    const auto over = [&, c](Monoid monoid, const std::function<Expr(Sym)>& body) {
      return over_part(k, monoid, N, split * c[2], split * c[2] + split, body);
    };
    const auto score = [&, within, c](Sym i) {
      Expr all = k.sum(Latent::key, [&](Sym d) {
        return k(Q, {c[0], c[1], c[3], d}) * within(i, k(rows_at, {c[0], i, d}), 0);
      });
      if (scales) all = all * k(*scales, {0, 0});
      return within(i, all * s.scale, minus_infinity);
    };
    const Expr most = least_number(over(Monoid::max, score));
    const auto if_any = [=](Expr e, double none = 0) { return within(split * c[2], e, none); };
    return std::tuple(if_any, within, over, most, [score, most](Sym i) { return exp(score(i) - most); });
  };
  k.computes(to.most, [&](const auto& c) {
    const auto [if_any, within, over, most, p] = part_of(c);
    return if_any(most, minus_infinity);
  });
  k.computes(to.sums, [&](const auto& c) {
    const auto [if_any, within, over, most, p] = part_of(c);
    return if_any(over(Monoid::sum, p));
  });
  k.computes(to.values, [&](const auto& c) {
    const auto [if_any, within, over, most, p] = part_of(c);
    Expr sum = over(Monoid::sum, [&, within = within, p = p](Sym i) {
      return p(i) * within(i, k(rows_at, {c[0], i, c[4]}), 0);
    });
    if (scales) sum = sum * k(*scales, {0, 0});
    return if_any(sum);
  });

  const Sym seq = k.workgroups(0, S, 1), block = k.workgroups(1, Sym(s.blocks()), 1),
            part = k.workgroups(2, N, s.split), length = seen(s, k.uniform(L, seq), block),
            begin = split * part;
  // All waves load the tile together, 128 bytes of 8 or 16 rows at once. Values are wanted by columns: a lane reads 8 adjacent ones
  // of its positions, and multiplies them one after another, so that nothing but halves of registers is exchanged.
  const int down = std::min(threads / 8, columns);
  const Layout loaded = parse_layout(
                   fmt::format("((8,{0}),(8,9,{1})):((8@1,1@0),(1@1,64@1,{0}@0))", down, columns / down)),
               by_columns = parse_layout(fmt::format(
                   "((16,4,{0},{2}),(8,{1},{3})):((1@0,{1}@1,0,16@0),({4}@0,1@1,{5}@0))", rows_apart, each,
                   columns_apart, 4 / columns_apart, 16 * columns_apart, 128 * columns_apart)),
               of_store = parse_layout(
                   fmt::format("((16,4,{0},{1}),(8,4,{2},{5})):((1@0,4@1,16@0,16@1),({3}@1,1@1,{4}@1,{6}@0))",
                               rows_apart, columns_apart, 4 / columns_apart, 16 * columns_apart,
                               128 * columns_apart, blocks / rows_apart, 16 * rows_apart)),
               in_columns = parse_layout(fmt::format("(16,{0},8,{1}):(8,128,1,{2})", columns_apart,
                                                     4 / columns_apart, 128 * columns_apart));
  const Tensor lds =
      k.lds("lds_kv", s.type, {columns, Latent::key}, place_of_tile(k, columns, banks_64), Swizzle(4, 3, 4));
  // Weights as they are read: 16 bytes of each row side by side. Factors: every lane writes one, and each row has four of the same, so that
  // no lane is left out.
  std::optional<Tensor> lds_weights, lds_factors;
  if (shared) {
    lds_weights = k.lds(
        "lds_weights", s.type, {rows, columns},
        parse_sym_layout(k.symbols(), fmt::format("({0},({1},4)):({1},(1,{2}))", rows, each, each * rows)));
    lds_factors = k.lds("lds_factors", Element::f32, {rows, 4},
                        parse_sym_layout(k.symbols(), fmt::format("((16,{}),4):((1,64),16)", blocks)));
  }
  const Layout of_four = parse_layout(fmt::format("((16,4,{}),1):((1@0,1@1,16@0),0)", blocks)),
               of_row = without_axis(qk.c(), 1), one = without_axis(of_row, 0);
  const auto store = [&](const Fragment& m, const Fragment& l, const Fragment& o) {
    const auto row = [&](const Tensor& of) {
      return k.tile(of, {1, 1, 1, rows}, {seq, block, part, 0}).keep({3});
    };
    k.store(m, row(to.most), 1), k.store(l, row(to.sums), 1);
    k.store(o,
            k.tile(to.values, {1, 1, 1, rows, Latent::latent}, {seq, block, part, 0, 0})
                .keep({3, 4})
                .reorder(1, in_columns),
            4);
  };
  const auto attend = [&] {
    const Fragment q =
        k.load(k.tile(Q, {1, 1, rows, Latent::key}, {seq, block, 0, 0}).keep({2, 3}), qk.a(), 8);
    const Fragment m = k.full(minus_infinity, of_row, {rows, 1}),
                   l = k.zeros(Element::f32, of_row, {rows, 1}),
                   o = k.zeros(Element::f32, pv.c(), {rows, Latent::latent});
    const Fragment scale = scales ? k.load(k.tile(*scales, {1, 1}, {0, 0}), one, 1) : m;
    k.loop(min(split, length - begin), columns, {.distance = s.distance, .ring = 1}, [&](Sym t) {
      const auto before_end = [&](Sym i, Expr e, double beyond) {
        return inside(begin + i, N, inside(begin + i, length, e, beyond),
                      beyond); // a sequence may go on after the table
      };
      const auto same = [](const Exprs& x) { return x[0]; };
      const auto times = [](const Exprs& x) { return x[0] * x[1]; };
      // Whole rows first: what stands in the cache after the end may be anything, and is no number to multiply.
      Fragment tile = k.map(
          {k.load(k.tile(rows_at, {1, columns, Latent::key}, {seq, Sym(s.split / columns) * part + t, 0})
                      .keep({1, 2}),
                  loaded, 8)},
          [&](const Exprs& x) { return before_end(columns * t + k.position(0), x[0], 0); }, s.cache);
      if (scales) tile = k.map({tile}, same, s.type);
      k.store(tile, k.whole(lds), 8);
      const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, columns});
      k.mma(scores, q, k.read(lds, qk.b(), 8), qk);
      const Fragment x = k.map({scores, scale}, [&](const Exprs& v) {
        return before_end(columns * t + k.position(1), (scales ? v[0] * v[1] : v[0]) * s.scale,
                          minus_infinity);
      });
      const auto [most, p, again] = online_softmax(k, x, m, l);
      if (shared) {
        k.store(k.relayout(p, qk.c(), s.type, Nan::any), k.whole(*lds_weights), each);
        k.store(
            k.map({k.zeros(Element::f32, of_four, {rows, 4}), again}, [](const Exprs& v) { return v[1]; }),
            k.whole(*lds_factors), 1);
      } else {
        k.update(o, {again}, times);
      }
      const Fragment values = k.load(
          k.tile(lds, {columns, Latent::latent}, {0, 0}).keep({1, 0}).reorder(0, in_columns), by_columns, 8);
      if (shared)
        k.update(o, {k.load(k.tile(*lds_factors, {rows, 1}, {0, 0}), without_axis(pv.c(), 1), 1)}, times);
      k.mma(o, shared ? k.read(*lds_weights, pv.a(), each) : k.relayout(p, pv.a(), s.type, Nan::any),
            k.map(pv.b(), {values}, same, s.type), pv);
      k.update(m, {most}, [](const Exprs& v) { return v[1]; });
    });
    const Fragment most = k.map({m}, [](const Exprs& v) { return least_number(v[0]); });
    store(most, l,
          scales ? k.map(of_store, {o, scale}, [](const Exprs& v) { return v[0] * v[1]; })
                 : k.map(of_store, {o}, [](const Exprs& v) { return v[0]; }));
  };
  k.if_less(begin, length, attend, [&] {
    store(k.full(minus_infinity, of_row, {rows, 1}), k.zeros(Element::f32, of_row, {rows, 1}),
          k.zeros(Element::f32, of_store, {rows, Latent::latent}));
  });
  return k;
}
// [mla end]

} // namespace inlay::kernels
