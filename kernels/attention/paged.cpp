// Decode attention over a cache of pages: what it computes, and how its data moves.
#include "paged.h"

#include "transposed.h"

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::inside;
using codegen::MmaTiling;
using codegen::Nan;
using codegen::without_axis;

constexpr int rows = 16; // of the matrix instruction: the heads that share a head of keys, and zeros

void check(const PagedDecode& s) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("paged_decode: {}\n  hint   {}", what, hint));
  };
  if (s.head_dim != 64 && s.head_dim != 128) refuse(fmt::format("--head-dim {}", s.head_dim), "64 or 128");
  if (s.tile_k != 32 && s.tile_k != 64) refuse(fmt::format("--tile-k {}", s.tile_k), "32 or 64");
  if (s.page < 1 || s.tile_k % s.page != 0)
    refuse(fmt::format("--page {} with --tile-k {}", s.page, s.tile_k),
           "1, 2, 4, .. up to the tile: a tile is whole pages");
  if (s.scaled() && codegen::bits(s.cache) != 8)
    refuse(fmt::format("--kv-dtype {} with --dtype {}", to_string(s.cache), to_string(s.type)),
           "the same, or fp8 with scales");
}

// Row by row; said in full, so that one head has a distance too.
SymLayout heads(Sym sequences, Sym kv_heads, int group, int dim) {
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t at = b.open();
  b.leaf(BasicMode<Sym>{sequences, BasicStride<Sym>(kv_heads * Sym(group * dim))});
  b.leaf(BasicMode<Sym>{kv_heads, BasicStride<Sym>(Sym(group * dim))});
  b.leaf(BasicMode<Sym>{Sym(group), BasicStride<Sym>(Sym(dim))});
  b.leaf(BasicMode<Sym>{Sym(dim), BasicStride<Sym>(Sym(1))});
  b.close(at, 4);
  return SymLayout(std::move(b).finish());
}

} // namespace

// [paged]
Program paged_decode_program(const PagedDecode& s) {
  check(s);
  const Target& target = Target::named(s.arch);
  const int D = s.head_dim, columns = s.tile_k, threads = 64;
  const double scale = 1 / std::sqrt(D), minus_infinity = -INFINITY;
  const auto tiling = [&](int n, int depth) {
    return MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), 1, 1, rows, n, depth, 8);
  };
  const MmaTiling qk = tiling(columns, D).with_columns(8), pv = tiling(D, columns);

  Program k("paged_decode", target, threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}), HK = k.size("kv_heads", {.most = 256}),
            N = k.size("keys", {.most = 1 << 22, .multiple = s.page}), P = k.size("pages", {.most = 1 << 28});
  const Tensor O = k.output("o", s.type, {S, HK, s.group, D}, heads(S, HK, s.group, D)),
               Q = k.input("q", s.type, {S, HK, s.group, D}, heads(S, HK, s.group, D)),
               K = k.input("k", s.cache, {P, s.page, HK, D}), V = k.input("v", s.cache, {P, s.page, HK, D}),
               T = k.input("table", Element::i32, {S, floor_div(N, Sym(s.page))}),
               L = k.input("lengths", Element::i32, {S}), keys = k.paged("keys_at", K, T),
               values = k.paged("values_at", V, T);
  std::optional<Tensor> scales;
  if (s.scaled()) scales = k.input("scales", Element::f32, {2, 1});
  k.computes(O, [&](const auto& c) {
    const Sym length = k.value(L, c[0]);
    const auto score = [&](Sym i) {
      Expr all = k.sum(D, [&](Sym d) { return k(Q, {c[0], c[1], c[2], d}) * k(keys, {c[0], i, c[1], d}); });
      if (scales) all = all * k(*scales, {0, 0});
      return inside(i, length, all * scale, minus_infinity);
    };
    const Expr most = k.fold(Monoid::max, N, score);
    const auto p = [&](Sym i) { return exp(score(i) - most); };
    Expr sum = k.sum(N, [&](Sym i) { return p(i) * inside(i, length, k(values, {c[0], i, c[1], c[3]}), 0); });
    if (scales) sum = sum * k(*scales, {1, 0});
    return inside(0, length, sum / k.sum(N, p), 0);
  });

  const Sym seq = k.workgroups(0, S, 1), head = k.workgroups(1, HK, 1), length = k.uniform(L, seq);
  // V is transposed on its way to LDS, K goes from memory to where it is multiplied.
  const auto v_tile = transposed_tile(target, s.type, columns, D, threads, 4, pv.b());
  if (!v_tile) throw std::invalid_argument("paged_decode: no place for V in LDS without bank conflicts");
  const Tensor lds = k.lds("lds_v", s.type, {D, columns}, v_tile->swizzle);
  const Layout of_row = without_axis(qk.c(), 1), one = without_axis(of_row, 0);
  const codegen::View to = k.tile(O, {1, 1, rows, D}, {seq, head, 0, 0}).keep({2, 3});
  const auto attend = [&] {
    const Fragment q = k.load(k.tile(Q, {1, 1, rows, D}, {seq, head, 0, 0}).keep({2, 3}), qk.a(), 8);
    const auto scale_of = [&](int which) { return k.load(k.tile(*scales, {1, 1}, {which, 0}), one, 1); };
    const Fragment m = k.full(minus_infinity, of_row, {rows, 1}),
                   l = k.zeros(Element::f32, of_row, {rows, 1}), o = k.zeros(Element::f32, pv.c(), {rows, D});
    const Fragment scale_k = scales ? scale_of(0) : m, scale_v = scales ? scale_of(1) : m;
    k.loop(min(N, length), columns, {.distance = s.distance, .ring = std::max(1, s.distance)}, [&](Sym t) {
      const auto tile = [&](const Tensor& of) {
        return k.tile(of, {1, columns, 1, D}, {seq, t, head, 0}).keep({1, 3});
      };
      const auto before_end = [&](Sym i, Expr e, double beyond) {
        return inside(i, N, inside(i, length, e, beyond), beyond);
      };
      const Fragment rows_of_v = k.map(
          v_tile->written, {k.load(tile(values), v_tile->loaded, 8)},
          [&](const Exprs& x) { return before_end(columns * t + k.position(0), x[0], 0); }, s.type);
      k.store(rows_of_v, k.whole(lds).keep({1, 0}), v_tile->piece);
      Fragment of_keys = k.load(tile(keys), qk.b(), 8);
      if (scales)
        of_keys = k.map(
            {of_keys}, [](const Exprs& x) { return x[0]; }, s.type);
      const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, columns});
      k.mma(scores, q, of_keys, qk);
      const Fragment x = k.map({scores, scale_k}, [&](const Exprs& v) {
        return before_end(columns * t + k.position(1), (scales ? v[0] * v[1] : v[0]) * scale, minus_infinity);
      });
      const Fragment most =
          k.map({m, k.fold(Monoid::max, x, 1)}, [](const Exprs& v) { return max(v[0], v[1]); });
      const auto ex = [](const Exprs& v) { return exp(v[0] - v[1]); };
      const Fragment p = k.map({x, most}, ex), again = k.map({m, most}, ex);
      k.update(l, {again, k.fold(Monoid::sum, p, 1)}, [](const Exprs& v) { return v[0] * v[1] + v[2]; });
      k.update(o, {again}, [](const Exprs& v) { return v[0] * v[1]; });
      k.mma(o, k.relayout(p, pv.a(), s.type, Nan::any), k.read(lds, pv.b(), 8), pv);
      k.update(m, {most}, [](const Exprs& v) { return v[1]; });
    });
    k.store(k.map({o, l, scale_v}, [&](const Exprs& v) { return (scales ? v[0] * v[2] : v[0]) / v[1]; }), to,
            4);
  };
  k.if_less(Sym(0), length, attend, [&] { k.store(k.zeros(Element::f32, pv.c(), {rows, D}), to, 4); });
  return k;
}
// [paged end]

} // namespace inlay::kernels
