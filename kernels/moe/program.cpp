// The two products of a mixture of experts: what they compute, and how their data moves.
#include "../lds_swizzle.h"
#include "narrow.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::MmaTiling;
using codegen::rows_tv;
using codegen::without_axis;

void check(const MoeSpec& s, const char* kernel) {
  if (s.type != Element::f16 && s.type != Element::bf16)
    throw std::invalid_argument(
        fmt::format("{}: type = {} is not supported\n  hint   f16 or bf16; fp8 and i8 with scales", kernel,
                    codegen::to_string(s.type)));
  if (s.scales != Scales::none)
    throw std::invalid_argument(
        fmt::format("{}: --scales {} with --dtype {}\n  hint   no: scales are of types of 8 bits", kernel,
                    to_string(s.scales), codegen::to_string(s.type)));
}
MmaTiling tiling(const MoeSpec& s, const Target& target) {
  return MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), s.waves_m, s.waves_n,
                       s.tile_m, s.tile_n, s.tile_k, 8);
}

} // namespace

// [moe]
Program moe_stage1_program(const MoeSpec& s) {
  if (s.narrow()) return narrow_stage1_program(s);
  check(s, "moe_stage1");
  const Target& target = Target::named(s.arch);
  const MmaTiling mma = tiling(s, target);
  Program k("moe_stage1", target, mma.threads(), s.where);
  const Sym T = k.size("tokens", {.most = 1 << 16}), K = k.size("k", {.most = 1 << 13, .multiple = 8}),
            I = k.size("inter", {.most = 1 << 20, .multiple = 8}), E = k.size("experts", {.most = 1 << 12}),
            P = k.size("rows", {.most = 1 << 22});
  const Tensor Y = k.output("y", s.type, {P, I}), X = k.input("x", s.type, {T, K}),
               W = k.input("w", s.type, {E, 2, I, K}), ids = k.input("ids", Element::i32, {P}),
               experts = k.input("experts_of_blocks", Element::i32, {ceil_div(P, Sym(s.tile_m))}),
               rows_in_use = k.input("rows_in_use", Element::i32, {1});
  const Sym used = k.uniform(rows_in_use, 0);
  k.computes(Y, [&](const auto& c) {
    const auto project = [&](int which) {
      return k.sum(K, [&](Sym i) {
        return k(X, {k.at(ids, c[0]), i}) *
               k(W, {k.at(experts, floor_div(c[0], Sym(s.tile_m))), which, c[1], i});
      });
    };
    const Expr gate = project(0);
    return inside(c[0], used, gate / (exp(gate * -1) + 1) * project(1), 0);
  });

  const Sym bi = k.workgroups(0, I, s.tile_n), bp = k.workgroups(1, P, s.tile_m), e = k.uniform(experts, bp);
  const Layout by_rows = rows_tv(s.tile_m, s.tile_k, 8, mma.threads()),
               by_rows_w = rows_tv(s.tile_n, s.tile_k, 8, mma.threads());
  const Tensor x = conflict_free_tile(k, "lds_x", s.type, s.tile_m, s.tile_k, 8, by_rows, mma.a()),
               g = conflict_free_tile(k, "lds_gate", s.type, s.tile_n, s.tile_k, 8, by_rows_w, mma.b()),
               u = conflict_free_tile(k, "lds_up", s.type, s.tile_n, s.tile_k, 8, by_rows_w, mma.b());
  const auto weights = [&](int which, Sym t) {
    return k.tile(W, {1, 1, s.tile_n, s.tile_k}, {e, which, bi, t}).keep({2, 3});
  };

  const auto store = [&](const Fragment& y) { k.store(y, k.tile(Y, {s.tile_m, s.tile_n}, {bp, bi}), 4); };
  const auto multiply = [&] {
    const Fragment rows = k.load(k.tile(ids, {s.tile_m}, {bp}), without_axis(by_rows, 1), 1);
    const Fragment gate = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n}),
                   up = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
    k.loop(K, s.tile_k, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(X, {s.tile_m, s.tile_k}, {0, t}).through(0, rows), x, by_rows, 8);
      k.copy(weights(0, t), g, by_rows_w, 8);
      k.copy(weights(1, t), u, by_rows_w, 8);
      const Fragment of_x = k.read(x, mma.a(), 8), of_g = k.read(g, mma.b(), 8), of_u = k.read(u, mma.b(), 8);
      k.mma(gate, of_x, of_g, mma);
      k.mma(up, of_x, of_u, mma);
    });
    const Fragment y = k.map({gate, up}, [](const auto& v) { return v[0] / (exp(v[0] * -1) + 1) * v[1]; });
    store(k.fill(y, 0, Sym(s.tile_m) * bp, used, 0));
  };
  k.if_less(Sym(s.tile_m) * bp, used, multiply, [&] {
    store(k.zeros(s.type, mma.c(), {s.tile_m, s.tile_n}));
  });
  return k;
}
// [moe end]

// [moe2]
Program moe_stage2_program(const MoeSpec& s) {
  if (s.narrow()) return narrow_stage2_program(s);
  check(s, "moe_stage2");
  const Target& target = Target::named(s.arch);
  const MmaTiling mma = tiling(s, target);
  Program k("moe_stage2", target, mma.threads(), s.where);
  const Sym T = k.size("tokens", {.most = 1 << 14}), D = k.size("k", {.most = 1 << 14, .multiple = 8}),
            I = k.size("inter", {.most = 1 << 13, .multiple = 8}), E = k.size("experts", {.most = 1 << 12}),
            P = k.size("rows", {.most = 1 << 22, .multiple = s.tile_m});
  const Tensor Z = k.output("z", s.out, {T, D}), Y = k.input("y", s.type, {P, I}),
               V = k.input("v", s.type, {E, D, I}), weights = k.input("weights", Element::f32, {P, 1}),
               ids = k.input("ids", Element::i32, {P}),
               experts = k.input("experts_of_blocks", Element::i32, {floor_div(P, Sym(s.tile_m))}),
               rows_in_use = k.input("rows_in_use", Element::i32, {1});
  const Sym used = k.uniform(rows_in_use, 0);
  k.scatters(Z, ids, [&](const auto& c) {
    const Expr down = k.sum(I, [&](Sym i) {
      return k(Y, {c[0], i}) * k(V, {k.at(experts, floor_div(c[0], Sym(s.tile_m))), c[1], i});
    });
    return inside(c[0], used, down * k(weights, {c[0], Sym(0)}), 0);
  });

  const Sym bd = k.workgroups(0, D, s.tile_n), bp = k.workgroups(1, P, s.tile_m), e = k.uniform(experts, bp);
  const Layout by_rows = rows_tv(s.tile_m, s.tile_k, 8, mma.threads()),
               by_rows_v = rows_tv(s.tile_n, s.tile_k, 8, mma.threads()), row = without_axis(mma.c(), 1);
  const Tensor y = conflict_free_tile(k, "lds_y", s.type, s.tile_m, s.tile_k, 8, by_rows, mma.a()),
               v = conflict_free_tile(k, "lds_v", s.type, s.tile_n, s.tile_k, 8, by_rows_v, mma.b());
  k.if_less(Sym(s.tile_m) * bp, used, [&] {
    const Fragment acc = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
    k.loop(I, s.tile_k, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(Y, {s.tile_m, s.tile_k}, {bp, t}), y, by_rows, 8);
      k.copy(k.tile(V, {1, s.tile_n, s.tile_k}, {e, bd, t}).keep({1, 2}), v, by_rows_v, 8);
      k.mma(acc, k.read(y, mma.a(), 8), k.read(v, mma.b(), 8), mma);
    });
    const Fragment rows = k.load(k.tile(ids, {s.tile_m}, {bp}), row, 1),
                   weight = k.load(k.tile(weights, {s.tile_m, 1}, {bp, 0}), row, 1);
    const Fragment z = k.map(
        {acc, weight}, [](const auto& x) { return x[0] * x[1]; }, s.out);
    k.add(k.fill(z, 0, Sym(s.tile_m) * bp, used, 0),
          k.tile(Z, {s.tile_m, s.tile_n}, {0, bd}).through(0, rows));
  });
  return k;
}
// [moe2 end]

} // namespace inlay::kernels
