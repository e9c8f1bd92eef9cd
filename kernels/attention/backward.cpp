// dQ[q,d] = scale sum_k dS[q,k] K[k,d]; dK[k,d] = scale sum_q dS[q,k] Q[q,d] and dV[k,d] = sum_q P[q,k] dO[q,d], with P[q,k] =
// exp(scale Q[q,:].K[k,:] - lse[q]) and dS[q,k] = P[q,k] (dO[q,:].V[k,:] - delta[q]), of each sequence and head (backward.h).
#include "backward.h"

#include "../places.h"
#include "../transposed.h"

#include <cmath>

namespace inlay::kernels {
namespace {

using codegen::Nan;

} // namespace

// [attention_backward]
Program attention_backward_program(const AttentionBackward& s, bool of_keys) {
  const std::string name = of_keys ? "attention_backward_dkv" : "attention_backward_dq";
  check_backward(name, s);
  const Target& target = Target::named(s.arch);
  const int D = s.head_dim, rows = s.tile, columns = s.step;
  const double scale = 1 / std::sqrt(D);
  const auto tiling = [&](int n, int depth) { return tiling_of(target, s.type, s.waves, 1, rows, n, depth); };
  // A lane's 8 adjacent columns of the scores are its 8 k of the second products.
  const MmaTiling scored = tiling(columns, D).with_columns(8), summed = tiling(D, columns);

  Program k(name, target, scored.threads());
  // Rows are queries; where keys are what a workgroup has, the pairs (query, head of the group), and heads are those of K and V.
  const int group = of_keys ? s.group : 1;
  const Sym shared(of_keys ? 1 : s.group), of_group(group);
  const Sym B = k.size("batch", {.most = 1 << 16}),
            R = k.size(of_keys ? "rows" : "queries", {.most = (1 << 16) * group, .multiple = group}),
            SK = k.size("keys", {.most = 1 << 16}),
            H = k.size(of_keys ? "kv_heads" : "heads",
                       {.most = std::max(64 / s.group, 1) * (of_keys ? 1 : s.group),
                        .multiple = of_keys ? 1 : s.group});
  const Sym HK = floor_div(H, shared), SQ = floor_div(R, of_group), d(D);
  // [B, queries, H, D] as [B, (head of the group, query), heads of K, D]: the heads of a group are part of the axis of rows.
  const Sym of_token = H * of_group * d;
  const std::optional<SymLayout> of_rows =
      group > 1 ? std::optional(by_strides(
                      {{B, SQ * of_token}, {{of_group, d}, {SQ, of_token}}, {H, of_group * d}, {d, Sym(1)}}))
                : std::nullopt;
  const std::vector<Sym> q_shape{B, R, H, d}, k_shape{B, SK, HK, d},
      log_shape = of_keys ? std::vector<Sym>{B, H, R} : std::vector<Sym>{B, HK, R, shared};
  std::vector<Tensor> out;
  if (of_keys)
    out = {k.output("dk", s.type, k_shape), k.output("dv", s.type, k_shape)};
  else
    out = {k.output("dq", s.type, q_shape, of_rows)};
  const Tensor Q = k.input("q", s.type, q_shape, of_rows), K = k.input("k", s.type, k_shape),
               V = k.input("v", s.type, k_shape), DO = k.input("do", s.type, q_shape, of_rows),
               LSE2 = k.input("lse2", Element::f32, log_shape),
               DELTA = k.input("delta", Element::f32, log_shape);
  const auto seen = [&](Sym row, Sym key, Expr e) {
    return s.causal ? inside(of_group * key, row + 1, e, 0) : e;
  };
  const auto log_of = [&](const Tensor& of, Sym b, Sym row, Sym h) {
    const Sym of_kv = floor_div(h, shared);
    return of_keys ? k(of, {b, h, row}) : k(of, {b, of_kv, row, h - shared * of_kv});
  };
  const auto dot = [&](const Tensor& x, const Tensor& y, Sym b, Sym row, Sym key, Sym h) {
    return k.sum(D, [&](Sym i) { return k(x, {b, row, h, i}) * k(y, {b, key, floor_div(h, shared), i}); });
  };
  const auto power = [&](Sym b, Sym row, Sym key, Sym h) {
    return exp2(dot(Q, K, b, row, key, h) * (scale * log2_e) - log_of(LSE2, b, row, h));
  };
  const auto ds = [&](Sym b, Sym row, Sym key, Sym h) {
    return seen(row, key, power(b, row, key, h) * (dot(DO, V, b, row, key, h) - log_of(DELTA, b, row, h)));
  };
  k.computes(out[0], [&](const auto& c) {
    return (of_keys ? k.sum(R,
                            [&](Sym i) {
                              return ds(c[0], i, c[1], c[2]) * k(Q, {c[0], i, c[2], c[3]});
                            })
                    : k.sum(SK,
                            [&](Sym i) {
                              return ds(c[0], c[1], i, c[2]) * k(K, {c[0], i, floor_div(c[2], shared), c[3]});
                            })) *
           scale;
  });
  if (of_keys)
    k.computes(out[1], [&](const auto& c) {
      return k.sum(R, [&](Sym i) {
        return seen(i, c[1], power(c[0], i, c[1], c[2])) * k(DO, {c[0], i, c[2], c[3]});
      });
    });

  const Sym block = k.workgroups(0, of_keys ? SK : R, rows), h = k.workgroups(1, H, 1),
            b = k.workgroups(2, B, 1);
  const auto tile = [&](const Tensor& of, int n, Sym at) {
    const Sym head = of.name[0] == 'k' || of.name[0] == 'v' ? floor_div(h, shared) : h;
    return k.tile(of, {1, n, 1, D}, {b, at, head, 0}).keep({1, 3});
  };
  // What the workgroup goes through lies in LDS by rows, for the scores, and by columns, for the sums.
  const int threads = scored.threads();
  const TransposedTile t_tile = transposed_tile({name}, "--step 64", target, s.type, columns, D, threads,
                                                std::clamp(columns * D / 8 / threads, 1, 4), summed.b());
  const Layout by_rows = codegen::rows_tv(columns, D, 8, threads);
  const Swizzle swizzle = conflict_free_swizzle(target, s.type, columns, D,
                                                {{by_rows, 8, false}, {tiling(columns, D).b(), 8, true}});
  struct Streamed {
    Tensor from, by_rows;
    std::optional<Tensor> by_columns;
  };
  const auto streamed = [&](const Tensor& from, bool summed_too) {
    Streamed x{from, k.lds("lds_" + from.name, s.type, {columns, D}, scored.b_place(), swizzle), {}};
    if (summed_too)
      x.by_columns = k.lds("lds_" + from.name + "_columns", s.type, {D, columns}, t_tile.swizzle);
    return x;
  };
  const auto copy = [&](const Streamed& x, Sym t) {
    k.copy(tile(x.from, columns, t), x.by_rows, by_rows, 8);
    if (x.by_columns) t_tile.store(k, k.load(tile(x.from, columns, t), t_tile.loaded, 8), *x.by_columns);
  };
  const Streamed first = streamed(of_keys ? Q : K, true), second = streamed(of_keys ? DO : V, of_keys);
  const Fragment own_first = k.load(tile(of_keys ? K : Q, rows, block), scored.a(), 8),
                 own_second = k.load(tile(of_keys ? V : DO, rows, block), scored.a(), 8);
  const auto logs = [&](const Tensor& of, Sym t) {
    if (of_keys)
      return k.load(k.tile(of, {1, 1, columns}, {b, h, t}).keep({0, 2}), without_axis(scored.c(), 0), 1);
    const Sym of_kv = floor_div(h, shared);
    return k.load(k.tile(of, {1, 1, rows, 1}, {b, of_kv, t, h - shared * of_kv}).keep({2, 3}),
                  without_axis(scored.c(), 1), 1);
  };
  std::optional<Fragment> own_lse, own_delta;
  if (!of_keys) own_lse = logs(LSE2, block), own_delta = logs(DELTA, block);
  std::vector<Fragment> sums;
  for (std::size_t i = 0; i < out.size(); ++i) sums.push_back(k.zeros(Element::f32, summed.c(), {rows, D}));
  const auto step = [&](Sym t) {
    copy(first, t), copy(second, t);
    const Fragment lse = own_lse ? *own_lse : logs(LSE2, t), delta = own_delta ? *own_delta : logs(DELTA, t);
    const auto scores = [&](const Fragment& own, const Streamed& x) {
      const Fragment y = k.zeros(Element::f32, scored.c(), {rows, columns});
      k.mma(y, own, k.read(x.by_rows, scored.b(), 8), scored);
      return y;
    };
    const Sym along = columns * t + k.position(1), own = rows * block + k.position(0);
    const auto masked = [&](Expr e) {
      return inside(along, of_keys ? R : SK, of_keys ? seen(along, own, e) : seen(own, along, e), 0);
    };
    const Fragment x = k.map({scores(own_first, first), lse},
                             [&](const Exprs& v) { return exp2(v[0] * (scale * log2_e) - v[1]); });
    const Fragment y = k.map({x, scores(own_second, second), delta},
                             [&](const Exprs& v) { return masked(v[0] * (v[1] - v[2])); });
    const auto add = [&](std::size_t i, const Fragment& by, const Streamed& z) {
      k.mma(sums[i], k.relayout(by, summed.a(), s.type, Nan::any), k.read(*z.by_columns, summed.b(), 8),
            summed);
    };
    if (of_keys) add(1, k.map({x}, [&](const Exprs& v) { return masked(v[0]); }), second);
    add(0, y, first);
  };
  // What nobody sees is left out, where it is whole tiles.
  const codegen::Pipeline pipeline{.distance = 2, .ring = 1};
  const Sym begin = Sym(group * rows) * block;
  if (of_keys && s.causal)
    k.if_less(begin, R, [&] { k.loop(begin, R, columns, pipeline, step); });
  else
    k.loop(of_keys                           ? R
           : s.causal && rows % columns == 0 ? min(SK, Sym(rows) * (block + Sym(1)))
                                             : SK,
           columns, pipeline, step);
  for (std::size_t i = 0; i < out.size(); ++i)
    k.store(i == 0 ? k.map({sums[i]}, [&](const Exprs& v) { return v[0] * scale; }) : sums[i],
            tile(out[i], rows, block), 4);
  return k;
}
// [attention_backward end]

} // namespace inlay::kernels
