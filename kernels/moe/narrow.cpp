// y[p,i] = silu(x[ids[p],:] . w[e,0,i,:]) * (x[ids[p],:] . w[e,1,i,:])  and  z[ids[p],d] += weights[p] y[p,:] . v[e,d,:], e the expert of
// p's block: the two products of a mixture of experts in 8 and 4 bits, with scales.
#include "narrow.h"

#include <inlay/kernels/lds_swizzle.h>

namespace inlay::kernels {

// [narrow]
Program narrow_stage1_program(const MoeSpec& s) {
  const Target& target = Target::named(s.arch);
  const ScaledProduct p =
      ScaledProduct::of("moe_stage1", target, s.type, s.scales, s.waves_m, s.waves_n, s.tile_m, s.tile_n);
  const MmaTiling& mma = p.tiling;
  const int depth = p.depth(), v = p.vector();
  Program k("moe_stage1", target, mma.threads(), s.where);
  const Sym T = k.size("tokens", {.most = 1 << 16}),
            K = k.size("k", {.most = 1 << 13, .multiple = p.multiple()}),
            I = k.size("inter", {.most = 1 << 20, .multiple = p.mx() ? 8 : v}),
            E = k.size("experts", {.most = 1 << 12}), P = k.size("rows", {.most = 1 << 22});
  const Tensor Y = k.output("y", s.narrow_out(), {P, I}), X = k.input("x", s.type, {T, K}),
               W = k.input("w", s.type, {E, 2, I, K}),
               SX = k.input("sx", p.scale(), {p.mx() ? p.of_channels(P) : T, p.of_k(K)},
                            p.place(k, {}, "rows", "k")),
               SW = k.input("sw", p.scale(), {E, 2, p.of_channels(I), p.of_k(K)},
                            p.place(k, {"experts", "2"}, "inter", "k")),
               ids = k.input("ids", Element::i32, {P}),
               experts = k.input("experts_of_blocks", Element::i32, {ceil_div(P, Sym(s.tile_m))}),
               rows_in_use = k.input("rows_in_use", Element::i32, {1});
  p.ahead(k, SW);
  const Sym used = k.uniform(rows_in_use, 0);
  k.computes(Y, [&](const auto& c) {
    const codegen::Index token = k.at(ids, c[0]), expert = k.at(experts, floor_div(c[0], Sym(s.tile_m)));
    const auto project = [&](int which) {
      return p.sum(
          k, K,
          [&](Sym i) {
            return k(X, {token, i}) * k(W, {expert, which, c[1], i});
          },
          [&](Sym b) {
            return k(SX, {p.mx() ? codegen::Index(c[0]) : token, b}) *
                   k(SW, {expert, which, p.channel(c[1]), b});
          });
    };
    const Expr gate = project(0);
    return inside(c[0], used, gate / (exp(gate * -1) + 1) * project(1), 0);
  });

  const Sym bi = k.workgroups(0, I, p.tile_n), bp = k.workgroups(1, P, s.tile_m), e = k.uniform(experts, bp);
  const Layout by_rows = rows_tv(s.tile_m, depth, v, mma.threads()),
               by_rows_w = rows_tv(p.tile_n, depth, v, mma.threads());
  const Tensor x = conflict_free_tile(k, "lds_x", s.type, s.tile_m, depth, v, by_rows, mma.a()),
               g = conflict_free_tile(k, "lds_gate", s.type, p.tile_n, depth, v, by_rows_w, mma.b()),
               u = conflict_free_tile(k, "lds_up", s.type, p.tile_n, depth, v, by_rows_w, mma.b());
  const auto store = [&](const Fragment& y) {
    k.store(y, p.in_order(k.tile(Y, {s.tile_m, p.tile_n}, {bp, bi}), 1), 4);
  };
  const auto multiply = [&] {
    const auto ids_by = [&](const Layout& tv) { return k.load(k.tile(ids, {s.tile_m}, {bp}), tv, 1); };
    const Fragment rows = ids_by(without_axis(by_rows, 1)), named = p.mx() ? rows : ids_by(p.rows()),
                   gate = p.zeros(k), up = p.zeros(k);
    const auto scales = [&](int which, Sym t) {
      const codegen::View of_x = p.mx() ? k.tile(SX, {s.tile_m, p.of_trip()}, {bp, t})
                                        : k.tile(SX, {s.tile_m, 1}, {0, t}).through(0, named),
                          of_w = k.tile(SW, {1, 1, p.columns(), p.of_trip()}, {e, which, bi, t});
      return std::vector{k.load(of_x, p.of_rows(), p.at_once()),
                         k.load(p.channels(of_w, 2, 3), p.of_columns(), p.at_once())};
    };
    k.loop(K, depth, p.pipeline(target, s.tile_m + 2 * p.tile_n), [&](Sym t) {
      k.copy(k.tile(X, {s.tile_m, depth}, {0, t}).through(0, rows), x, by_rows, v);
      for (const int which : {0, 1})
        k.copy(p.in_order(k.tile(W, {1, 1, p.tile_n, depth}, {e, which, bi, t}).keep({2, 3}), 0),
               which == 0 ? g : u, by_rows_w, v);
      const Fragment of_x = k.read(x, mma.a(), v), of_g = k.read(g, mma.b(), v), of_u = k.read(u, mma.b(), v);
      p.mma(k, gate, of_x, of_g, [&] { return scales(0, t); });
      p.mma(k, up, of_x, of_u, [&] { return scales(1, t); });
    });
    const Fragment y = k.map(
        {p.scaled(k, gate, [&] { return scales(0, 0); }), p.scaled(k, up, [&] { return scales(1, 0); })},
        [](const auto& a) { return a[0] / (exp(a[0] * -1) + 1) * a[1]; });
    store(k.fill(y, 0, Sym(s.tile_m) * bp, used, 0));
  };
  k.if_less(Sym(s.tile_m) * bp, used, multiply, [&] {
    store(k.zeros(s.narrow_out(), mma.c(), {s.tile_m, p.tile_n}));
  });
  return k;
}
// [narrow end]

Program narrow_stage2_program(const MoeSpec& s) {
  const Target& target = Target::named(s.arch);
  const ScaledProduct p =
      ScaledProduct::of("moe_stage2", target, s.type, s.scales, s.waves_m, s.waves_n, s.tile_m, s.tile_n);
  const MmaTiling& mma = p.tiling;
  const int depth = p.depth(), v = p.vector();
  Program k("moe_stage2", target, mma.threads(), s.where);
  const Sym T = k.size("tokens", {.most = 1 << 14}), D = k.size("k", {.most = 1 << 14, .multiple = 8}),
            I = k.size("inter", {.most = 1 << 13, .multiple = p.multiple()}),
            E = k.size("experts", {.most = 1 << 12}),
            P = k.size("rows", {.most = 1 << 22, .multiple = s.tile_m});
  const Tensor Z = k.output("z", s.out, {T, D}), Y = k.input("y", s.type, {P, I}),
               V = k.input("v", s.type, {E, D, I}),
               SY = k.input("sy", p.scale(), {p.mx() ? p.of_channels(P) : P, p.of_k(I)},
                            p.place(k, {}, "rows", "inter")),
               SV = k.input("sv", p.scale(), {E, p.of_channels(D), p.of_k(I)},
                            p.place(k, {"experts"}, "k", "inter")),
               weights = k.input("weights", Element::f32, {P, 1}), ids = k.input("ids", Element::i32, {P}),
               experts = k.input("experts_of_blocks", Element::i32, {floor_div(P, Sym(s.tile_m))}),
               rows_in_use = k.input("rows_in_use", Element::i32, {1});
  p.ahead(k, SV);
  const Sym used = k.uniform(rows_in_use, 0);
  k.scatters(Z, ids, [&](const auto& c) {
    const codegen::Index expert = k.at(experts, floor_div(c[0], Sym(s.tile_m)));
    const Expr down = p.sum(
        k, I,
        [&](Sym i) {
          return k(Y, {c[0], i}) * k(V, {expert, c[1], i});
        },
        [&](Sym b) {
          return k(SY, {c[0], b}) * k(SV, {expert, p.channel(c[1]), b});
        });
    return inside(c[0], used, down * k(weights, {c[0], Sym(0)}), 0);
  });

  const Sym bd = k.workgroups(0, D, p.tile_n), bp = k.workgroups(1, P, s.tile_m), e = k.uniform(experts, bp);
  const Layout by_rows = rows_tv(s.tile_m, depth, v, mma.threads()),
               by_rows_v = rows_tv(p.tile_n, depth, v, mma.threads());
  const Tensor y = conflict_free_tile(k, "lds_y", s.type, s.tile_m, depth, v, by_rows, mma.a()),
               of_v = conflict_free_tile(k, "lds_v", s.type, p.tile_n, depth, v, by_rows_v, mma.b());
  k.if_less(Sym(s.tile_m) * bp, used, [&] {
    const Fragment acc = p.zeros(k);
    const auto scales = [&](Sym t) {
      const codegen::View of_tile = k.tile(SV, {1, p.columns(), p.of_trip()}, {e, bd, t});
      return std::vector{k.load(k.tile(SY, {s.tile_m, p.of_trip()}, {bp, t}), p.of_rows(), p.at_once()),
                         k.load(p.channels(of_tile, 1, 2), p.of_columns(), p.at_once())};
    };
    k.loop(I, depth, p.pipeline(target, s.tile_m + p.tile_n), [&](Sym t) {
      k.copy(k.tile(Y, {s.tile_m, depth}, {bp, t}), y, by_rows, v);
      k.copy(p.in_order(k.tile(V, {1, p.tile_n, depth}, {e, bd, t}).keep({1, 2}), 0), of_v, by_rows_v, v);
      const Fragment of_y = k.read(y, mma.a(), v), of_tile = k.read(of_v, mma.b(), v);
      p.mma(k, acc, of_y, of_tile, [&] { return scales(t); });
    });
    const Fragment rows = k.load(k.tile(ids, {s.tile_m}, {bp}), p.rows(), 1),
                   weight = k.load(k.tile(weights, {s.tile_m, 1}, {bp, 0}), p.rows(), 1);
    const Fragment z = k.map(
        {p.scaled(k, acc, [&] { return scales(0); }), weight}, [](const Exprs& a) { return a[0] * a[1]; },
        s.out);
    k.add(k.fill(z, 0, Sym(s.tile_m) * bp, used, 0),
          p.in_order(k.tile(Z, {s.tile_m, p.tile_n}, {0, bd}), 1).through(0, rows));
  });
  return k;
}

} // namespace inlay::kernels
