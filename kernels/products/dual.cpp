// Y[m,n] = act(sum_k X[m,k] G[n,k]) * sum_k X[m,k] U[n,k].
#include "dual.h"

#include "../staged.h"

namespace inlay::kernels {
namespace {

constexpr int v = 8; ///< elements of 16 bytes

} // namespace

void check_dual(const DualAsked& s, const Target& target) {
  const Refusal refuse{"dual_gemm"};
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse(fmt::format("--dtype {}", to_string(s.type)), "f16 or bf16");
  const int waves = s.waves_m * s.waves_n, rows = s.transfer ? 4 * waves : s.threads() * v / s.tile_k;
  if (waves != 1 && waves != 2 && waves != 4 && waves != 8)
    refuse(fmt::format("--waves {}x{}", s.waves_m, s.waves_n), "1, 2, 4 or 8 altogether");
  if (s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128)
    refuse(fmt::format("--tile {}x{}x{}", s.tile_m, s.tile_n, s.tile_k), "32, 64 or 128 of K");
  for (const auto& [tile, along] : {std::pair(s.tile_m, s.waves_m), std::pair(s.tile_n, s.waves_n)})
    if (tile < 1 || tile > 256 || tile % (16 * along) != 0 || tile % std::max(rows, 1) != 0)
      refuse(fmt::format("--tile {}x{}x{} with --waves {}x{}", s.tile_m, s.tile_n, s.tile_k, s.waves_m,
                         s.waves_n),
             fmt::format("rows and columns in multiples of {}, at most 256", std::lcm(16 * along, rows)));
  if (const int sums = 2 * s.tile_m * s.tile_n / s.threads(); sums > 256)
    refuse(fmt::format("--tile {}x{}x{}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("a work-item would have {} sums, at most 256; more waves or a smaller tile", sums));
  if (2 * s.stage_bytes() > target.lds_bytes)
    refuse(fmt::format("--tile {}x{}x{}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("two stages take {} bytes of LDS, and {} has {}", 2 * s.stage_bytes(), s.arch,
                       target.lds_bytes));
}

// One tile of X, read once, for both products.
// [dual_gemm]
Program dual_program(const DualAsked& s) {
  const Target& target = Target::named(s.arch);
  check_dual(s, target);
  const MmaTiling mma = tiling_of(target, s.type, s.waves_m, s.waves_n, s.tile_m, s.tile_n, s.tile_k);
  Program k("dual_gemm", target, mma.threads());
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            K = k.size("k", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.output("y", s.out, {M, N}), X = k.input("x", s.type, {M, K}),
               Wg = k.input("gate", s.type, {N, K}), Wu = k.input("up", s.type, {N, K});
  const Formulas f = formula(s);
  const auto gated = [&](const Exprs& x) { return expressions_of(k, f, x)[0]; };
  k.computes(Y, [&](const auto& c) {
    const auto product = [&](const Tensor& w) {
      return k.sum(K, [&](Sym i) { return k(X, {c[0], i}) * k(w, {c[1], i}); });
    };
    return gated({product(Wg), product(Wu)});
  });

  const Sym bn = k.workgroups(0, N, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  const Staged staged{s.type, s.tile_k, v, s.threads(), s.transfer};
  const Tensor x = staged.tile(k, "lds_x", s.tile_m, mma.a()),
               gate = staged.tile(k, "lds_gate", s.tile_n, mma.b()),
               up = staged.tile(k, "lds_up", s.tile_n, mma.b());
  const Fragment g = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n}),
                 u = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
  k.loop(K, s.tile_k, {.distance = 2, .ring = 2}, [&](Sym t) {
    staged.copy(k, k.tile(X, {s.tile_m, s.tile_k}, {bm, t}), x, s.tile_m);
    staged.copy(k, k.tile(Wg, {s.tile_n, s.tile_k}, {bn, t}), gate, s.tile_n);
    staged.copy(k, k.tile(Wu, {s.tile_n, s.tile_k}, {bn, t}), up, s.tile_n);
    const Fragment of_x = k.read(x, mma.a(), v), of_gate = k.read(gate, mma.b(), v),
                   of_up = k.read(up, mma.b(), v);
    k.mma(g, of_x, of_gate, mma);
    k.mma(u, of_x, of_up, mma);
  });
  k.store(k.map({g, u}, gated, s.out), k.tile(Y, {s.tile_m, s.tile_n}, {bm, bn}), 4);
  return k;
}
// [dual_gemm end]

} // namespace inlay::kernels
