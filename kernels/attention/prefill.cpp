// Attention of sequences of any lengths: what it computes, and how its data moves.
#include "prefill.h"

#include "../transposed.h"
#include "parts.h"

#include <cmath>

namespace inlay::kernels {
namespace {

using codegen::Atom, codegen::MmaTiling, codegen::Nan;
using codegen::inside, codegen::rows_tv, codegen::without_axis;

} // namespace

// [varlen]
Program varlen_attention_program(const Prefill& s) {
  s.check();
  const Target& target = Target::named(s.arch);
  const int D = s.head_dim, rows = s.tile_q, columns = s.tile_k;
  const double scale = 1 / std::sqrt(D), minus_infinity = -INFINITY;
  const auto tiling = [&](int n, int depth) {
    return MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), s.waves, 1, rows, n, depth,
                         8);
  };
  // A lane's 8 adjacent columns of the scores are its 8 k of the second product.
  const MmaTiling qk = tiling(columns, D).with_columns(8), pv = tiling(D, columns);
  const int threads = qk.threads();
  Program k("varlen_attention", target, threads);
  const Sym B = k.size("blocks", {.most = 1 << 20}), R = k.size("rows", {.most = 1 << 24}),
            H = k.size("heads", {.most = std::max(64 / s.group, 1) * s.group, .multiple = s.group}),
            N = k.size("keys", {.most = 1 << 22, .multiple = columns}),
            P = k.size("pages", {.most = 1 << 28});
  const Sym shared(s.group), HK = floor_div(H, shared);
  const Tensor O = k.output("o", s.type, {B, rows, H, D}), LSE = k.output("lse", Element::f32, {B, rows, H}),
               Q = k.input("q", s.type, {R, H, D}), K = k.input("k", s.type, {P, s.page, HK, D}),
               V = k.input("v", s.type, {P, s.page, HK, D}),
               T = k.input("table", Element::i32, {B, floor_div(N, Sym(s.page))}),
               row = k.input("row", Element::i32, {B, rows}),
               position = k.input("position", Element::i32, {B, rows, 1}, by_rows({B, rows, 1})),
               ends = k.input("ends", Element::i32, {B}), keys = k.paged("keys_at", K, T),
               values = k.paged("values_at", V, T);
  const auto seen = [&](Sym i, Expr at, Sym end, Expr x) {
    return inside(i, end, select(at, k.number(i), x, k.constant(Prefill::unseen)), minus_infinity);
  };
  struct Said {
    Sym end{};
    Expr most, all;
    std::function<Expr(Sym)> p, value;
  };
  const auto said = [&](Sym b, Sym j, Sym h, Sym d) {
    const Sym end = k.value(ends, b), hk = floor_div(h, shared);
    const auto score = [&, b, j, h, hk, end](Sym i) {
      const Expr all = k.sum(D, [&](Sym n) {
        return k(Q, {k.at(row, b, j), h, n}) * k(keys, {b, i, hk, n});
      });
      return seen(i, k(position, {b, j, 0}), end, all * scale);
    };
    const Expr most = k.fold(Monoid::max, N, score);
    const std::function<Expr(Sym)> e = [score, most](Sym i) { return exp(score(i) - most); };
    return Said{end, most, k.sum(N, e), e, [&, b, hk, d, end](Sym i) {
                  return inside(i, end, k(values, {b, i, hk, d}), 0);
                }};
  };
  k.computes(O, [&](const auto& c) {
    const Said x = said(c[0], c[1], c[2], c[3]);
    return inside(0, x.end, k.sum(N, [&](Sym i) { return x.p(i) * x.value(i); }) / x.all, 0);
  });
  k.computes(LSE, [&](const auto& c) {
    const Said x = said(c[0], c[1], c[2], 0);
    return inside(0, x.end, x.most + log(x.all), Prefill::unseen);
  });

  const Sym block = k.workgroups(0, B, 1), h = k.workgroups(1, H, 1), end = k.uniform(ends, block);
  const Layout by_rows_k = rows_tv(columns, D, 8, threads);
  const auto v_tile = transposed_tile(target, s.type, columns, D, threads,
                                      std::clamp(columns * D / 8 / threads, 1, 4), pv.b());
  if (!v_tile) throw std::invalid_argument("varlen_attention: no place for V in LDS without bank conflicts");
  const Tensor lds_k =
                   k.lds("lds_k", s.type, {columns, D}, qk.b_place(),
                         conflict_free_swizzle(target, s.type, columns, D,
                                               {{by_rows_k, 8, false}, {tiling(columns, D).b(), 8, true}})),
               lds_v = k.lds("lds_v", s.type, {D, columns}, v_tile->swizzle);
  const Layout of_row = without_axis(qk.c(), 1);
  const auto to_o = k.tile(O, {1, rows, 1, D}, {block, 0, h, 0}).keep({1, 3});
  const auto to_lse = k.tile(LSE, {1, rows, 1}, {block, 0, h}).keep({1});
  const auto attend = [&] {
    const Fragment named = k.load(k.tile(row, {1, rows}, {block, 0}).keep({1}), without_axis(qk.a(), 1), 1),
                   q = k.load(k.tile(Q, {rows, 1, D}, {0, h, 0}).through(0, named).keep({0, 2}), qk.a(), 8),
                   at = k.load(k.tile(position, {1, rows, 1}, {block, 0, 0}).keep({1, 2}), of_row, 1);
    const Fragment m = k.full(minus_infinity, of_row, {rows, 1}),
                   l = k.zeros(Element::f32, of_row, {rows, 1}), o = k.zeros(Element::f32, pv.c(), {rows, D});
    k.loop(min(N, end), columns, {.distance = 1, .ring = 1}, [&](Sym t) {
      const auto tile = [&](const Tensor& x) {
        return k.tile(x, {1, columns, 1, D}, {block, t, floor_div(h, shared), 0}).keep({1, 3});
      };
      k.copy(tile(keys), lds_k, by_rows_k, 8);
      const Fragment within_v = k.map(
          {k.load(tile(values), v_tile->loaded, 8)},
          [&](const Exprs& x) {
            return inside(columns * t + k.position(0), N, inside(columns * t + k.position(0), end, x[0], 0),
                          0);
          },
          s.type);
      const Fragment rows_of_v = k.map(
          v_tile->written, {within_v}, [](const Exprs& x) { return x[0]; }, s.type);
      k.store(rows_of_v, k.whole(lds_v).keep({1, 0}), v_tile->piece);
      const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, columns});
      k.mma(scores, q, k.read(lds_k, qk.b(), 8), qk);
      const Fragment x = k.map({scores, at}, [&](const Exprs& v) {
        const Sym i = columns * t + k.position(1);
        return inside(i, N, seen(i, v[1], end, v[0] * scale), minus_infinity);
      });
      const auto [most, p] = online_softmax(k, x, m, l, o);
      k.mma(o, k.relayout(p, pv.a(), s.type, Nan::any), k.read(lds_v, pv.b(), 8), pv);
      k.update(m, {most}, [](const Exprs& v) { return v[1]; });
    });
    k.store(k.map({o, l}, [](const Exprs& v) { return v[0] / v[1]; }), to_o, 4);
    k.store(k.map({m, l}, [](const Exprs& v) { return v[0] + log(v[1]); }), to_lse, 1);
  };
  k.if_less(Sym(0), end, attend, [&] {
    k.store(k.zeros(Element::f32, pv.c(), {rows, D}), to_o, 4);
    k.store(k.full(Prefill::unseen, of_row, {rows, 1}), to_lse, 1);
  });
  return k;
}
// [varlen end]

} // namespace inlay::kernels
