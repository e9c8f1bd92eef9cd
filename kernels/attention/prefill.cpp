// o[b,j,h,:] = sum_i e(i) v(i) / sum_i e(i), e(i) = exp(q k(i) / sqrt(D) - most), over the keys i that slot j of block b sees: attention of
// sequences of any lengths (prefill.h).
#include "prefill.h"

#include "../least_number.h"
#include "../transposed.h"
#include "parts.h"
#include "prefill_rows.h"

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Nan;

} // namespace

// [varlen]
Program varlen_attention_program(const Prefill& s) {
  s.check();
  const Target& target = Target::named(s.arch);
  const int D = s.head_dim, DV = s.values(), rows = s.tile_q, columns = s.tile_k;
  const double scale = 1 / std::sqrt(D);
  const auto tiling = [&](int n, int depth) {
    const Atom& product = codegen::bits(s.type) == 8
                              ? Atom::mma_of(target, s.type, s.type, Element::f32, 16, 32)
                              : Atom::mma_best(target, s.type, s.type, Element::f32, 16);
    return MmaTiling::of(product, s.waves, 1, rows, n, depth, 8);
  };
  // A lane's 8 adjacent columns of the scores are its 8 k of the second product.
  const MmaTiling qk = tiling(columns, D).with_columns(8), pv = tiling(DV, columns);
  const int threads = qk.threads();
  Program k("varlen_attention", target, threads);
  const Sym B = k.size("blocks", {.most = 1 << 20}), R = k.size("rows", {.most = 1 << 24}),
            H = k.size("heads", {.most = std::max(64 / s.group, 1) * s.group, .multiple = s.group}),
            N = k.size("keys", {.most = 1 << 22, .multiple = columns}),
            P = k.size("pages", {.most = 1 << 28});
  const Sym shared(s.group), HK = floor_div(H, shared);
  const Tensor O = k.output("o", s.out(), {B, rows, H, DV}),
               LSE = k.output("lse", Element::f32, {B, rows, H}), Q = k.input("q", s.type, {R, H, D}),
               K = k.input("k", s.of_cache(), {P, s.page, HK, D}),
               V = k.input("v", s.of_cache(), {P, s.page, HK, DV}),
               T = k.input("table", Element::i32, {B, floor_div(N, Sym(s.page))}),
               row = k.input("row", Element::i32, {B, rows}),
               position = k.input("position", Element::i32, {B, rows, 1}, by_rows({B, rows, 1})),
               ends = k.input("ends", Element::i32, {B}), keys = k.paged("keys_at", K, T),
               values = k.paged("values_at", V, T);
  std::optional<Tensor> scales, slopes, bias, sinks;
  if (s.scaled()) scales = k.input("scales", Element::f32, {2, 1});
  if (s.alibi) slopes = k.input("slopes", Element::f32, {H, 1});
  if (s.bias) bias = k.input("bias", s.out(), {R, H, N});
  if (s.sinks) sinks = k.input("sinks", Element::f32, {H, 1});
  // What is made of a product: the score of key i, for the row whose position is `at`; `with`: the slope and the bias, where there are.
  const auto seen = [&](Sym i, Expr at, Sym end, Expr x, const Exprs& with) {
    x = capped(x * scale, s.soft_cap);
    if (s.alibi) x = x + with[0] * (k.number(i) - at);
    if (s.bias) x = x + with.back();
    if (s.window > 0) x = select(k.number(i + Sym(s.window - 1)), at, x, k.constant(minus_infinity));
    return inside(i, end, select(at, k.number(i), x, k.constant(minus_infinity)), minus_infinity);
  };
  // x where a row whose position is `at` sees a key.
  const auto if_any = [&](Expr at, Expr x, double none) {
    return select(at, k.constant(0), x, k.constant(none));
  };
  struct Said {
    Sym end{};
    Expr most, all;
    std::function<Expr(Sym)> p, value;
  };
  const auto said = [&](Sym b, Sym j, Sym h, Sym d) {
    const Sym end = k.value(ends, b), hk = floor_div(h, shared);
    const auto score = [&, b, j, h, hk, end](Sym i) {
      Expr all = k.sum(D, [&](Sym n) { return k(Q, {k.at(row, b, j), h, n}) * k(keys, {b, i, hk, n}); });
      if (scales) all = all * k(*scales, {0, 0});
      Exprs with;
      if (slopes) with.push_back(k(*slopes, {h, 0}));
      if (bias) with.push_back(k(*bias, {k.at(row, b, j), h, i}));
      return seen(i, k(position, {b, j, 0}), end, all, with);
    };
    const Expr greatest = k.fold(Monoid::max, N, score),
               most = least_number(sinks ? max(greatest, k(*sinks, {h, 0})) : greatest);
    const std::function<Expr(Sym)> e = [score, most](Sym i) { return exp(score(i) - most); };
    const Expr sum = k.sum(N, e), all = sinks ? sum + exp(k(*sinks, {h, 0}) - most) : sum;
    return Said{end, most, all, e, [&, b, hk, d, end](Sym i) {
                  return inside(i, end, k(values, {b, i, hk, d}), 0);
                }};
  };
  k.computes(O, [&](const auto& c) {
    const Said x = said(c[0], c[1], c[2], c[3]);
    Expr sum = k.sum(N, [&](Sym i) { return x.p(i) * x.value(i); });
    if (scales) sum = sum * k(*scales, {1, 0});
    return inside(0, x.end, if_any(k(position, {c[0], c[1], 0}), sum / x.all, 0), 0);
  });
  k.computes(LSE, [&](const auto& c) {
    const Said x = said(c[0], c[1], c[2], 0);
    return inside(0, x.end, if_any(k(position, {c[0], c[1], 0}), x.most + log(x.all), Prefill::unseen),
                  Prefill::unseen);
  });

  const Sym block = k.workgroups(0, B, 1), h = k.workgroups(1, H, 1), end = k.uniform(ends, block);
  const Layout by_rows_k = by_rows_of(columns, D, threads);
  const TransposedTile v_tile =
      transposed_tile({"varlen_attention"}, "--tile-k 64", target, s.type, columns, DV, threads,
                      std::clamp(columns * DV / 8 / threads, 1, 4), pv.b());
  const int part = power_of(D);
  const MmaTiling of_part = tiling(columns, part);
  const Tensor lds_k = k.lds("lds_k", s.type, {columns, D},
                             part == D ? qk.b_place() : in_parts(of_part.with_columns(8), columns, D),
                             conflict_free_swizzle(
                                 target, s.type, columns, part,
                                 {{by_rows_of(columns, part, threads), 8, false}, {of_part.b(), 8, true}})),
               lds_v = k.lds("lds_v", s.type, {DV, columns}, v_tile.swizzle);
  const Layout of_row = without_axis(qk.c(), 1), one = without_axis(of_row, 0);
  const auto to_o = k.tile(O, {1, rows, 1, DV}, {block, 0, h, 0}).keep({1, 3});
  const auto to_lse = k.tile(LSE, {1, rows, 1}, {block, 0, h}).keep({1});
  const auto attend = [&] {
    const Fragment named = k.load(k.tile(row, {1, rows}, {block, 0}).keep({1}), without_axis(qk.a(), 1), 1),
                   q = k.load(k.tile(Q, {rows, 1, D}, {0, h, 0}).through(0, named).keep({0, 2}), qk.a(), 8),
                   at = k.load(k.tile(position, {1, rows, 1}, {block, 0, 0}).keep({1, 2}), of_row, 1);
    const Fragment m = k.full(minus_infinity, of_row, {rows, 1}),
                   l = k.zeros(Element::f32, of_row, {rows, 1}),
                   o = k.zeros(Element::f32, pv.c(), {rows, DV});
    const auto of_head = [&](const Tensor& of) { return k.load(k.tile(of, {1, 1}, {h, 0}), one, 1); };
    const auto scale_of = [&](int which) { return k.load(k.tile(*scales, {1, 1}, {which, 0}), one, 1); };
    const Fragment scale_k = scales ? scale_of(0) : m;
    std::vector<Fragment> with; // as `seen` has them
    if (slopes) with.push_back(of_head(*slopes));
    const Fragment named_rows =
        bias ? k.load(k.tile(row, {1, rows}, {block, 0}).keep({1}), of_row, 1) : named;
    k.loop(min(N, end), columns, {.distance = 1, .ring = 1}, [&](Sym t) {
      const auto tile = [&](const Tensor& x, int wide) {
        return k.tile(x, {1, columns, 1, wide}, {block, t, floor_div(h, shared), 0}).keep({1, 3});
      };
      const auto same = [](const Exprs& x) { return x[0]; };
      if (s.of_cache() == s.type)
        k.copy(tile(keys, D), lds_k, by_rows_k, 8);
      else
        k.store(k.map({k.load(tile(keys, D), by_rows_k, 8)}, same, s.type), k.whole(lds_k), 8);
      const Fragment within_v = k.map(
          {k.load(tile(values, DV), v_tile.loaded, 8)},
          [&](const Exprs& x) {
            return inside(columns * t + k.position(0), N, inside(columns * t + k.position(0), end, x[0], 0),
                          0);
          },
          s.of_cache());
      v_tile.store(k, within_v, lds_v);
      const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, columns});
      k.mma(scores, q, k.read(lds_k, qk.b(), 8), qk);
      std::vector<Fragment> of = {scores, at, scale_k};
      of.insert(of.end(), with.begin(), with.end());
      if (bias)
        of.push_back(k.load(k.tile(*bias, {rows, 1, columns}, {0, h, t}).through(0, named_rows).keep({0, 2}),
                            qk.c(), 8));
      const Fragment x = k.map(of, [&](const Exprs& v) {
        const Sym i = columns * t + k.position(1);
        return inside(i, N, seen(i, v[1], end, scales ? v[0] * v[2] : v[0], {v.begin() + 3, v.end()}),
                      minus_infinity);
      });
      const auto [most, p, again] = online_softmax(k, x, m, l, o);
      k.mma(o, k.relayout(p, pv.a(), s.type, Nan::any), k.read(lds_v, pv.b(), 8), pv);
      k.update(m, {most}, [](const Exprs& v) { return v[1]; });
    });
    Fragment all = l, greatest = m;
    if (sinks) {
      const Fragment sink = of_head(*sinks);
      // The greatest of the keys may be minus infinity, and then the sink is far above it.
      greatest = k.map({m, sink}, [](const Exprs& v) { return max(v[0], v[1]); });
      const Fragment again =
          k.map({m, greatest}, [](const Exprs& v) { return exp(least_number(v[0]) - least_number(v[1])); });
      k.update(l, {again}, [](const Exprs& v) { return v[0] * v[1]; });
      k.update(o, {again}, [](const Exprs& v) { return v[0] * v[1]; });
      all = k.map({l, sink, greatest}, [](const Exprs& v) { return v[0] + exp(v[1] - least_number(v[2])); });
    }
    k.store(k.map({o, all, scales ? scale_of(1) : all, at},
                  [&](const Exprs& v) { return if_any(v[3], (scales ? v[0] * v[2] : v[0]) / v[1], 0); }),
            to_o, 4);
    k.store(
        k.map({greatest, all, at},
              [&](const Exprs& v) { return if_any(v[2], least_number(v[0]) + log(v[1]), Prefill::unseen); }),
        to_lse, 1);
  };
  k.if_less(Sym(0), end, attend, [&] {
    k.store(k.zeros(Element::f32, pv.c(), {rows, DV}), to_o, 4);
    k.store(k.full(Prefill::unseen, of_row, {rows, 1}), to_lse, 1);
  });
  return k;
}
// [varlen end]

} // namespace inlay::kernels
