// y[p,i] = silu(x[ids[p],:] . w[e,0,i,:]) * (x[ids[p],:] . w[e,1,i,:])  and  z[ids[p],d] += weights[p] y[p,:] . v[e,d,:], e the expert of
// p's block: the two products of a mixture of experts, of 16 bits or of weights of 4 bits.
#include "../weight_only/packed.h"
#include "narrow.h"
#include <inlay/kernels/lds_swizzle.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

/// Errors: std::invalid_argument for groups of weights that there are not.
void check_group(const MoeSpec& s, const char* kernel) {
  const auto refuse = [&](const std::string& hint) {
    Refusal{kernel}(fmt::format("--group {} is not supported", s.group), hint);
  };
  if (s.group != 0 && s.narrow())
    refuse("0 with --dtype " + codegen::to_string(s.type) + "; groups of f16 or bf16");
  if (s.group != 0 && s.group != 32 && s.group != 64 && s.group != 128)
    refuse("32, 64 or 128; 0: weights as wide as X");
  // Each work-item brings 8 elements of a row.
  if (const int least = 64 * s.waves_m * s.waves_n * 8 / std::max(s.group, 1);
      s.group != 0 && s.tile_m < least)
    refuse(fmt::format("--tile-m {} or more", least));
}
void check(const MoeSpec& s, const char* kernel) {
  const Refusal refuse{kernel};
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse("type", codegen::to_string(s.type), "f16 or bf16; fp8 and i8 with scales");
  if (s.scales != Scales::none)
    refuse(fmt::format("--scales {} with --dtype {}", to_string(s.scales), codegen::to_string(s.type)),
           "no: scales are of types of 8 bits");
}
int depth(const MoeSpec& s) { return s.group > 0 ? s.group : s.tile_k; }
/// Two stages of tiles of so many rows in LDS, or one where it has no room.
codegen::Pipeline pipeline(const MoeSpec& s, const Target& target, int rows) {
  const int stages = s.group == 0 || 4 * rows * depth(s) <= target.lds_bytes ? 2 : 1;
  return {.distance = stages, .ring = stages};
}
MmaTiling tiling(const MoeSpec& s, const Target& target) {
  return tiling_of(target, s.type, s.waves_m, s.waves_n, s.tile_m, s.tile_n, depth(s));
}

/// Matrices that a table names, [.., K]: of `type`, or of 4 bits with scales.
struct Weights {
  const MoeSpec& s;
  Program& k;
  Tensor w{}, scales{};
  Weights(const MoeSpec& spec, Program& program, const std::string& name, std::vector<Sym> shape, Sym K)
      : s(spec), k(program) {
    if (s.group > 0) {
      w = packed_weights(k, name, shape, K);
      shape.push_back(floor_div(K, Sym(s.group)));
      scales = k.input("s" + name, Element::f32, std::move(shape));
    } else {
      shape.push_back(K);
      w = k.input(name, s.type, std::move(shape));
    }
  }
  /// `at` of the matrix and the channel, and i along k.
  [[nodiscard]] Expr operator()(const std::function<Expr(const Tensor&, Sym)>& at, Sym i) const {
    return s.group == 0 ? at(w, i) : packed_weight(k, at(w, i), i) * at(scales, floor_div(i, Sym(s.group)));
  }
  /// Trip t of the tile that `of(tensor, columns)` is, to LDS.
  void copy(const std::function<codegen::View(const Tensor&, int)>& of, const Tensor& to,
            const Layout& by_rows, std::source_location where = std::source_location::current()) const {
    if (s.group == 0) return k.copy(of(w, s.tile_k), to, by_rows, 8, where);
    unpack(k, of(w, s.group), of(scales, 1), to, by_rows, where);
  }
};

} // namespace

// [moe]
Program moe_stage1_program(const MoeSpec& s) {
  check_group(s, "moe_stage1");
  if (s.narrow()) return narrow_stage1_program(s);
  check(s, "moe_stage1");
  const Target& target = Target::named(s.arch);
  const MmaTiling mma = tiling(s, target);
  const int deep = depth(s), multiple = std::max(8, s.group);
  Program k("moe_stage1", target, mma.threads(), s.where);
  const Sym T = k.size("tokens", {.most = 1 << 16}), K = k.size("k", {.most = 1 << 13, .multiple = multiple}),
            I = k.size("inter", {.most = 1 << 20, .multiple = 8}), E = k.size("experts", {.most = 1 << 12}),
            P = k.size("rows", {.most = 1 << 22});
  const Tensor Y = k.output("y", s.type, {P, I}), X = k.input("x", s.type, {T, K});
  const Weights W(s, k, "w", {E, 2, I}, K);
  const Tensor ids = k.input("ids", Element::i32, {P}),
               experts = k.input("experts_of_blocks", Element::i32, {ceil_div(P, Sym(s.tile_m))}),
               rows_in_use = k.input("rows_in_use", Element::i32, {1});
  const Sym used = k.uniform(rows_in_use, 0);
  k.computes(Y, [&](const auto& c) {
    const auto project = [&](int which) {
      return k.sum(K, [&](Sym i) {
        return k(X, {k.at(ids, c[0]), i}) *
               W(
                   [&](const Tensor& of, Sym at) {
                     return k(of, {k.at(experts, floor_div(c[0], Sym(s.tile_m))), which, c[1], at});
                   },
                   i);
      });
    };
    const Expr gate = project(0);
    return inside(c[0], used, gate / (exp(gate * -1) + 1) * project(1), 0);
  });

  const Sym bi = k.workgroups(0, I, s.tile_n), bp = k.workgroups(1, P, s.tile_m), e = k.uniform(experts, bp);
  const Layout by_rows = rows_tv(s.tile_m, deep, 8, mma.threads()),
               by_rows_w = rows_tv(s.tile_n, deep, 8, mma.threads());
  const Tensor x = conflict_free_tile(k, "lds_x", s.type, s.tile_m, deep, 8, by_rows, mma.a()),
               g = conflict_free_tile(k, "lds_gate", s.type, s.tile_n, deep, 8, by_rows_w, mma.b()),
               u = conflict_free_tile(k, "lds_up", s.type, s.tile_n, deep, 8, by_rows_w, mma.b());

  const auto store = [&](const Fragment& y) { k.store(y, k.tile(Y, {s.tile_m, s.tile_n}, {bp, bi}), 4); };
  const auto multiply = [&] {
    const Fragment rows = k.load(k.tile(ids, {s.tile_m}, {bp}), without_axis(by_rows, 1), 1);
    const Fragment gate = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n}),
                   up = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
    k.loop(K, deep, pipeline(s, target, s.tile_m + 2 * s.tile_n), [&](Sym t) {
      k.copy(k.tile(X, {s.tile_m, deep}, {0, t}).through(0, rows), x, by_rows, 8);
      for (const int which : {0, 1})
        W.copy(
            [&](const Tensor& of, int columns) {
              return k.tile(of, {1, 1, s.tile_n, columns}, {e, which, bi, t}).keep({2, 3});
            },
            which == 0 ? g : u, by_rows_w);
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
  check_group(s, "moe_stage2");
  if (s.narrow()) return narrow_stage2_program(s);
  check(s, "moe_stage2");
  const Target& target = Target::named(s.arch);
  const MmaTiling mma = tiling(s, target);
  const int deep = depth(s), multiple = std::max(8, s.group);
  Program k("moe_stage2", target, mma.threads(), s.where);
  const Sym T = k.size("tokens", {.most = 1 << 14}), D = k.size("k", {.most = 1 << 14, .multiple = 8}),
            I = k.size("inter", {.most = 1 << 13, .multiple = multiple}),
            E = k.size("experts", {.most = 1 << 12}),
            P = k.size("rows", {.most = 1 << 22, .multiple = s.tile_m});
  const Tensor Z = k.output("z", s.out, {T, D}), Y = k.input("y", s.type, {P, I});
  const Weights V(s, k, "v", {E, D}, I);
  const Tensor weights = k.input("weights", Element::f32, {P, 1}), ids = k.input("ids", Element::i32, {P}),
               experts = k.input("experts_of_blocks", Element::i32, {floor_div(P, Sym(s.tile_m))}),
               rows_in_use = k.input("rows_in_use", Element::i32, {1});
  const Sym used = k.uniform(rows_in_use, 0);
  k.scatters(Z, ids, [&](const auto& c) {
    const Expr down = k.sum(I, [&](Sym i) {
      return k(Y, {c[0], i}) * V(
                                   [&](const Tensor& of, Sym at) {
                                     return k(of, {k.at(experts, floor_div(c[0], Sym(s.tile_m))), c[1], at});
                                   },
                                   i);
    });
    return inside(c[0], used, down * k(weights, {c[0], Sym(0)}), 0);
  });

  const Sym bd = k.workgroups(0, D, s.tile_n), bp = k.workgroups(1, P, s.tile_m), e = k.uniform(experts, bp);
  const Layout by_rows = rows_tv(s.tile_m, deep, 8, mma.threads()),
               by_rows_v = rows_tv(s.tile_n, deep, 8, mma.threads()), row = without_axis(mma.c(), 1);
  const Tensor y = conflict_free_tile(k, "lds_y", s.type, s.tile_m, deep, 8, by_rows, mma.a()),
               v = conflict_free_tile(k, "lds_v", s.type, s.tile_n, deep, 8, by_rows_v, mma.b());
  k.if_less(Sym(s.tile_m) * bp, used, [&] {
    const Fragment acc = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
    k.loop(I, deep, pipeline(s, target, s.tile_m + s.tile_n), [&](Sym t) {
      k.copy(k.tile(Y, {s.tile_m, deep}, {bp, t}), y, by_rows, 8);
      V.copy(
          [&](const Tensor& of, int columns) {
            return k.tile(of, {1, s.tile_n, columns}, {e, bd, t}).keep({1, 2});
          },
          v, by_rows_v);
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
