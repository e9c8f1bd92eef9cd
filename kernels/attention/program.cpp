// O[b,q,h,:] = sum_i p(i) V[b,i,h / group,:], p = softmax over the keys i that q sees of Q[b,q,h,:] K[b,i,h / group,:] / sqrt(D);
// lse[b,h,q] = log(sum_i exp(the same)).
#include "../least_number.h"
#include "../transposed.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/attention/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Nan;

void check(const AttentionSpec& s) {
  const Refusal refuse{"flash_attention"};
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse("type", codegen::to_string(s.type), "f16 or bf16; the arithmetic is f32 in any case");
  if (s.head_dim != 64 && s.head_dim != 128) refuse("head_dim", std::to_string(s.head_dim), "64 or 128");
  if (s.group < 1 || s.group > 128) refuse("group", std::to_string(s.group), "1 to 128 heads");
  if (s.waves != 1 && s.waves != 2 && s.waves != 4 && s.waves != 8)
    refuse("waves", std::to_string(s.waves), "1, 2, 4 or 8");
  if (s.tile_q < 16 * s.waves || s.tile_q % (16 * s.waves) != 0 || s.tile_q > 32 * s.waves)
    refuse("tile_q", std::to_string(s.tile_q), "16 or 32 rows a wave");
  if (s.tile_k != 32 && s.tile_k != 64) refuse("tile_k", std::to_string(s.tile_k), "32 or 64");
  if (64 * s.waves * 8 > s.tile_k * s.head_dim) // 8 elements of a tile of K for each work-item
    refuse("waves", fmt::format("{} with tile_k = {} and head_dim = {}", s.waves, s.tile_k, s.head_dim),
           fmt::format("--tile-k 64, or at most --waves {}: each work-item loads 8 elements of a tile",
                       s.tile_k * s.head_dim / 512));
  if (s.window < 0) refuse("window", std::to_string(s.window), "a number of keys, or 0 for all");
  // The first tile of the diagonal has a key that all rows see.
  if (s.window > 0 && (s.tile_q % s.tile_k != 0 || s.window < s.tile_q))
    refuse("window", fmt::format("{} with tile_q = {} and tile_k = {}", s.window, s.tile_q, s.tile_k),
           s.window < 32
               ? "a window of at least 32 keys"
               : "rows of Q as tiles of K, and no more than the window: --tile-q 32 --tile-k 32 --waves 1");
}

} // namespace

Program flash_attention_program(const AttentionSpec& s) {
  check(s);
  const Target& target = Target::named(s.arch);
  const int D = s.head_dim, rows = s.tile_q, columns = s.tile_k;
  const double scale = 1 / std::sqrt(D), to_two = scale * 1.4426950408889634;
  const auto tiling = [&](int n, int depth) { return tiling_of(target, s.type, s.waves, 1, rows, n, depth); };
  // A lane's 8 adjacent columns of the scores are its 8 k of the second product.
  const MmaTiling qk = tiling(columns, D).with_columns(8), pv = tiling(D, columns);

  Program k("flash_attention", target, qk.threads(), s.where);
  const bool causal = s.causal || s.window > 0;
  const Sym B = k.size("batch", {.most = 1 << 16}),
            SQ = k.size("queries", {.most = s.window > 0 ? 1 << 16 : 1 << 17}),
            SK = s.window > 0 ? SQ : k.size("keys", {.most = 1 << 16}),
            H = k.size("heads", {.most = std::max(64 / s.group, 1) * s.group, .multiple = s.group});
  const Sym shared(s.group), HK = floor_div(H, shared);
  const Tensor O = k.output("o", s.type, {B, SQ, H, D}), LSE = k.output("lse", Element::f32, {B, H, SQ}),
               Q = k.input("q", s.type, {B, SQ, H, D}), K = k.input("k", s.type, {B, SK, HK, D}),
               V = k.input("v", s.type, {B, SK, HK, D});
  // [specification]
  // As least_number, and of a power of two: its multiple by `to_two` is exact, so that two of them leave no rest in `scaled` below.
  const auto as_number = [&](Expr x) { return max(x, k.constant(-0x1p127)); };
  // x where row q sees column i.
  const auto seen = [&](Sym i, Sym q, Expr x) {
    if (s.window > 0) x = inside(q - Sym(s.window), i, x, minus_infinity);
    return causal ? inside(i, q + 1, x, minus_infinity) : x;
  };
  const auto specification = [&](Sym b, Sym q, Sym h) {
    const auto score = [&, b, q, h](Sym i) {
      const Expr all = k.sum(D, [&](Sym d) {
        return k(Q, {b, q, h, d}) * k(K, {b, i, floor_div(h, shared), d});
      });
      return seen(i, q, all);
    };
    const Expr most = as_number(k.fold(Monoid::max, SK, score));
    return std::pair(most * scale, [score, most, scale](Sym i) { return exp((score(i) - most) * scale); });
  };
  k.computes(O, [&](const auto& c) {
    const auto [most, p] = specification(c[0], c[1], c[2]);
    return k.sum(SK, [&](Sym i) {
      return p(i) * k(V, {c[0], i, floor_div(c[2], shared), c[3]});
    }) / k.sum(SK, p);
  });
  k.computes(LSE, [&](const auto& c) {
    const auto [most, p] = specification(c[0], c[2], c[1]);
    return most + log(k.sum(SK, p));
  });
  // [specification end]

  const Sym bq = k.workgroups(0, SQ, rows), h = k.workgroups(1, H, 1), b = k.workgroups(2, B, 1);
  const int threads = qk.threads();
  const Layout by_rows = rows_tv(columns, D, 8, threads);
  // V is transposed on its way to LDS: a work-item loads 8 columns of some rows, and writes what a column has of them at once.
  const TransposedTile v_tile = transposed_tile({"flash_attention"}, "64 keys", target, s.type, columns, D,
                                                threads, std::clamp(columns * D / 8 / threads, 1, 4), pv.b());
  const Tensor keys = k.lds("lds_k", s.type, {columns, D}, qk.b_place(),
                            conflict_free_swizzle(target, s.type, columns, D,
                                                  {{by_rows, 8, false}, {tiling(columns, D).b(), 8, true}})),
               values = k.lds("lds_v", s.type, {D, columns}, v_tile.swizzle);
  const Layout of_row = without_axis(qk.c(), 1);
  const Fragment q = k.load(k.tile(Q, {1, rows, 1, D}, {b, bq, h, 0}).keep({1, 3}), qk.a(), 8);
  const Fragment m = k.full(minus_infinity, of_row, {rows, 1}), l = k.zeros(Element::f32, of_row, {rows, 1}),
                 o = k.zeros(Element::f32, pv.c(), {rows, D});
  // [trip]
  const auto attend = [&](Sym t) {
    const auto tile = [&](const Tensor& of) {
      return k.tile(of, {1, columns, 1, D}, {b, t, floor_div(h, shared), 0}).keep({1, 3});
    };
    k.copy(tile(K), keys, by_rows, 8);
    v_tile.store(k, k.load(tile(V), v_tile.loaded, 8), values);
    const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, columns});
    k.mma(scores, q, k.read(keys, qk.b(), 8), qk);
    const Sym column = columns * t + k.position(1), row = rows * bq + k.position(0);
    const Fragment x = k.map({scores}, [&](const Exprs& v) {
      return inside(column, SK, seen(column, row, v[0]), minus_infinity);
    });
    const Fragment most =
        k.map({m, k.fold(Monoid::max, x, 1)}, [](const Exprs& v) { return max(v[0], v[1]); });
    // exp2((x - most) scaled) in one product and sum.
    const Fragment lowered = k.map({most}, [&](const Exprs& v) { return as_number(v[0]) * -to_two; });
    const auto scaled = [&](const Exprs& v) { return exp2(v[0] * to_two + v[1]); };
    const Fragment p = k.map({x, lowered}, scaled), again = k.map({m, lowered}, [&](const Exprs&v) {
      return scaled({as_number(v[0]), v[1]});
    });
    k.update(l, {again, k.fold(Monoid::sum, p, 1)}, [](const Exprs& v) { return v[0] * v[1] + v[2]; });
    k.update(o, {again}, [](const Exprs& v) { return v[0] * v[1]; });
    k.mma(o, k.relayout(p, pv.a(), s.type, Nan::any), k.read(values, pv.b(), 8), pv);
    k.update(m, {most}, [](const Exprs& v) { return v[1]; });
  };
  // [trip end]
  const Sym first = Sym(rows) * bq, number = Sym(rows / columns) * bq;
  if (s.window > 0) {
    const int tiles = (s.window - 1 + columns - 1) / columns; // before the workgroup's first row
    // The diagonal comes first, so that every row has seen a key; then what lies before it, from where the window begins.
    attend(number);
    for (int i = 1; i < rows / columns; ++i)
      k.if_less(first + Sym(i * columns), SK, [&] { attend(number + Sym(i)); });
    if (tiles <= 2) { // a loop of one trip or two has nothing to load ahead
      for (int i = tiles; i > 0; --i) k.if_less(Sym(i - 1), number, [&] { attend(number - Sym(i)); });
    } else {
      k.if_less(Sym(0), bq, [&] {
        k.loop(max(Sym(0), first - Sym(tiles * columns)), first, columns, {.distance = 2, .ring = 2}, attend);
      });
    }
  } else {
    // Past the diagonal nothing is seen: the loop ends there, where that is the end of a tile.
    k.loop(causal && rows % columns == 0 ? min(SK, first + Sym(rows)) : SK, columns,
           {.distance = 2, .ring = 2}, attend);
  }
  k.store(k.map({o, l}, [](const Exprs& v) { return v[0] / v[1]; }),
          k.tile(O, {1, rows, 1, D}, {b, bq, h, 0}).keep({1, 3}), 4);
  k.store(k.map({m, l}, [&](const Exprs& v) { return as_number(v[0]) * scale + log(v[1]); }),
          k.tile(LSE, {1, 1, rows}, {b, h, bq}).keep({2}), 1);
  return k;
}

} // namespace inlay::kernels
