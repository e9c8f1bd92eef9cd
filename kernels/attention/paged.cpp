// o(s,h,g,:) = sum_i p(i) v(i), p = softmax over i < lengths(s) of q(s,h,g,:) k(i) / sqrt(D), k(i) = k[table(s, i / page), i % page, h, :]
// and v(i) likewise: decode attention over a cache of pages (paged.h).
#include "paged.h"

#include "../least_number.h"
#include "../transposed.h"
#include "paged_part.h"
#include "parts.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Nan;

constexpr int head_rows = 16; // of the matrix instruction: the heads that share a head of keys, and zeros

} // namespace

// [paged]
Program paged_decode_program(const PagedDecode& s) {
  s.check();
  const Target& target = Target::named(s.arch);
  const int D = s.head_dim, columns = s.tile_k, threads = 64;
  const double scale = 1 / std::sqrt(D);
  const bool windowed = s.window > 0, alone = s.alone();
  const int of_key = 128 / codegen::bits(s.cache); // elements that a lane loads at once
  const auto tiling = [&](int n, int depth, int k_vector) {
    return tiling_of(target, s.type, 1, 1, head_rows, n, depth, k_vector);
  };
  const MmaTiling qk = tiling(columns, D, of_key).with_columns(8), pv = tiling(D, columns, 8);
  Program k("paged_decode", target, threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}), HK = k.size("kv_heads", {.most = 256}),
            N = k.size(
                "keys",
                {.least = windowed ? s.parts() * s.part() : 1, .most = 1 << 22, .multiple = s.of_keys()}),
            P = k.size("pages", {.most = 1 << 28});
  // Every sequence is cut into parts of `split` positions, whatever its length and the others are.
  const Sym split(s.part()), R = windowed ? Sym(s.parts()) : ceil_div(N, split);
  const std::vector<Sym> queries{S, HK, s.group, D}, cut{S, HK, R, s.group};
  // What is asked for first stands first: it is in registers when a wave begins.
  const Tensor L = k.input("lengths", Element::i32, {S}),
               T = k.input("table", Element::i32, {S, floor_div(N, Sym(s.page))}),
               K = k.input("k", s.cache, {P, s.page, HK, D}), V = k.input("v", s.cache, {P, s.page, HK, D}),
               Q = k.input("q", s.type, queries, by_rows(queries)), keys = k.paged("keys_at", K, T),
               values = k.paged("values_at", V, T);
  std::optional<SoftmaxParts> of_all;
  if (!alone) {
    const Tensor PO =
                     k.output("parts", s.of_parts(), {S, HK, R, s.group, D}, by_rows({S, HK, R, s.group, D})),
                 PM = k.output("most", Element::f32, cut, by_rows(cut)),
                 PL = k.output("sums", Element::f32, cut, by_rows(cut));
    of_all = {PM, PL, PO, R, split};
  }
  const Tensor O = k.output("o", s.type, queries, by_rows(queries));
  std::optional<Tensor> scales, sinks;
  if (s.scaled()) scales = k.input("scales", Element::f32, {2, 1});
  const std::vector<Sym> each_head{HK, s.group, 1};
  if (s.sinks) sinks = k.input("sinks", Element::f32, each_head, by_rows(each_head));
  // The softmax over part c[2], of the positions in it: row c[3], and values of a column.
  const auto part_of = [&](const std::vector<Sym>& c, Sym column) -> SoftmaxParts::Said {
    const PagedPart of = PagedPart::of(s, N, k.value(L, c[0]));
    const auto at = [&](const Tensor& t, Sym i, Sym d) { return k(t, {c[0], i, c[1], d}); };
    const auto score = [&](Sym i) {
      Expr all = k.sum(D, [&](Sym d) { return k(Q, {c[0], c[1], c[3], d}) * at(keys, i, d); });
      if (scales) all = all * k(*scales, {0, 0});
      return of.if_seen(k, s, i, capped(all * scale, s.soft_cap), minus_infinity);
    };
    const Expr most = least_number(of.fold(k, s, Monoid::max, c[2], score));
    const auto p = [&](Sym i) { return exp(score(i) - most); };
    const auto value = [&](Sym i) { return p(i) * of.if_seen(k, s, i, at(values, i, column), 0); };
    const auto if_any = [&](Expr x) { return windowed ? x : inside(split * c[2], k.value(L, c[0]), x, 0); };
    return {if_any(most), if_any(of.fold(k, s, Monoid::sum, c[2], p)),
            if_any(of.fold(k, s, Monoid::sum, c[2], value))};
  };
  if (of_all) {
    k.computes(of_all->most, [&](const auto& c) { return part_of(c, 0).most; });
    k.computes(of_all->sums, [&](const auto& c) { return part_of(c, 0).all; });
    k.computes(of_all->values, [&](const auto& c) { return part_of(c, c[4]).value; });
  }
  k.computes(O, [&](const auto& c) {
    const Sym length = k.value(L, c[0]);
    auto [most, all, sum] = of_all ? of_all->together(k, c, windowed ? split * R : length)
                                   : part_of({c[0], c[1], Sym(0), c[2]}, c[3]);
    if (scales) sum = sum * k(*scales, {1, 0});
    if (sinks) all = all + exp(k(*sinks, {c[1], c[2], 0}) - most);
    return inside(0, length, sum / all, 0);
  });

  const Sym seq = k.workgroups(0, S, 1), head = k.workgroups(1, HK, 1),
            part = alone ? Sym(0) : k.workgroups(2, windowed ? split * R : N, s.part());
  const Sym length = k.uniform(L, seq), begin = split * part;
  const PagedPart here = PagedPart::of(s, N, length);
  // V is transposed on its way to LDS, K goes from memory to where it is multiplied.
  const TransposedTile v_tile =
      transposed_tile({"paged_decode"}, "--tile-k 64", target, s.type, columns, D, threads, 4, pv.b());
  const Tensor lds = k.lds("lds_v", s.type, {D, columns}, v_tile.swizzle);
  const Layout of_row = without_axis(qk.c(), 1), one = without_axis(of_row, 0);
  const auto to_part = [&](const Tensor& of) {
    return of.shape.size() == 5 ? k.tile(of, {1, 1, 1, head_rows, D}, {seq, head, part, 0, 0}).keep({3, 4})
                                : k.tile(of, {1, 1, 1, head_rows}, {seq, head, part, 0}).keep({3});
  };
  const auto scale_of = [&](int which) { return k.load(k.tile(*scales, {1, 1}, {which, 0}), one, 1); };
  const Fragment q = k.load(k.tile(Q, {1, 1, head_rows, D}, {seq, head, 0, 0}).keep({2, 3}), qk.a(), 8);
  const auto result = [&](int rows) { return k.tile(O, {1, 1, rows, D}, {seq, head, 0, 0}).keep({2, 3}); };
  // What parts give together, of rows of one head each: values over sums.
  const auto finish = [&](const SoftmaxParts::Done& of, int rows, const Layout& row, int each) {
    const std::optional<Fragment> scale_v = scales ? std::optional(scale_of(1)) : std::nullopt;
    std::optional<Fragment> of_sinks;
    if (sinks) of_sinks = k.load(k.tile(*sinks, {1, rows, 1}, {head, 0, 0}).keep({1, 2}), row, 1);
    k.store(k.map({of.value, of.all, scale_v.value_or(of.most), of_sinks.value_or(of.most), of.most},
                  [&](const Exprs& v) {
                    return (scales ? v[0] * v[2] : v[0]) / (sinks ? v[1] + exp(v[3] - v[4]) : v[1]);
                  }),
            result(rows), each);
  };
  const auto attend = [&] {
    const Fragment m = k.full(minus_infinity, of_row, {head_rows, 1}),
                   l = k.zeros(Element::f32, of_row, {head_rows, 1}),
                   o = k.zeros(Element::f32, pv.c(), {head_rows, D});
    const Fragment scale_k = scales ? scale_of(0) : m;
    k.loop(windowed ? split : min(split, length - begin), columns, {.distance = s.distance, .ring = 1},
           [&](Sym t) {
             const auto tile = [&](const Tensor& of) {
               return k
                   .tile(of, {1, columns, 1, D},
                         {seq, here.tile + Sym(s.part() / columns) * part + t, head, 0})
                   .keep({1, 3});
             };
             const auto seen = [&](Sym i, Expr x, double otherwise) {
               const Sym at = here.position(s, part, i);
               x = here.if_seen(k, s, at, x, otherwise);
               return windowed ? x : inside(at, N, x, otherwise); // a sequence may go on after the table
             };
             // Whole rows first: what stands in the cache after the end may be anything, and is no number to multiply.
             const Fragment within_v = k.map(
                 {k.load(tile(values), v_tile.loaded, 8)},
                 [&](const Exprs& x) { return seen(columns * t + k.position(0), x[0], 0); }, s.type);
             v_tile.store(k, within_v, lds);
             Fragment of_keys = k.load(tile(keys), qk.b(), of_key);
             if (scales)
               of_keys = k.map(
                   {of_keys}, [](const Exprs& x) { return x[0]; }, s.type);
             const Fragment scores = k.zeros(Element::f32, qk.c(), {head_rows, columns});
             k.mma(scores, q, of_keys, qk);
             const Fragment score = k.map({scores, scale_k}, [&](const Exprs& v) {
               return seen(columns * t + k.position(1),
                           capped((scales ? v[0] * v[1] : v[0]) * scale, s.soft_cap), minus_infinity);
             });
             const auto [most, p, again] = online_softmax(k, score, m, l, o);
             k.mma(o, k.relayout(p, pv.a(), s.type, Nan::any), k.read(lds, pv.b(), 8), pv);
             k.update(m, {most}, [](const Exprs& v) { return v[1]; });
           });
    const Fragment most = k.map({m}, [](const Exprs& v) { return least_number(v[0]); });
    if (!of_all) {
      return k.if_less(
          Sym(0), length,
          [&] {
            finish({most, l, o}, head_rows, of_row, 4);
          },
          [&] {
            k.store(k.zeros(Element::f32, pv.c(), {head_rows, D}), result(head_rows), 4);
          });
    }
    k.store(most, to_part(of_all->most), 1);
    k.store(l, to_part(of_all->sums), 1), k.store(o, to_part(of_all->values), 4);
  };
  const auto none = [&] {
    for (const Tensor& of : {of_all->most, of_all->sums})
      k.store(k.zeros(Element::f32, of_row, {head_rows, 1}), to_part(of), 1);
    k.store(k.zeros(Element::f32, pv.c(), {head_rows, D}), to_part(of_all->values), 4);
  };
  windowed ? attend() : k.if_less(begin, length, attend, none);
  if (!of_all) return k;
  // Who comes last puts the parts together, in their order.
  const Sym number = k.ticket("arrived", part);
  const int of_group = std::max(static_cast<int>(std::bit_ceil(static_cast<unsigned>(s.group))), 256 / D);
  // Rows in neighbouring lanes: each has the numbers of one, and together they read whole lines of its values.
  const int each = std::min(128 / codegen::bits(s.of_parts()), of_group * D / threads),
            across = each * threads / of_group;
  const Layout of_one = parse_layout(fmt::format("(({0},{1}),({2},{3})):((1@0,{2}@1),(1@1,{4}@1))", of_group,
                                                 threads / of_group, each, D / across, across));
  const auto merge = [&] {
    finish(of_all->together(k, seq, head, 0, of_group, D, of_one, windowed ? split * R : length), of_group,
           without_axis(of_one, 1), each);
  };
  k.if_less(R - Sym(2), number, [&] {
    k.if_less(Sym(0), length, merge, [&] {
      k.store(k.zeros(Element::f32, of_one, {of_group, D}), result(of_group), each);
    });
  });
  return k;
}
// [paged end]

} // namespace inlay::kernels
