// Products of groups of rows, each with a matrix of its own: C[p,n] = sum_k A[p,k] B[g,n,k], g the group of the block of p.
#include "grouped.h"

#include "../staged.h"

#include <fmt/format.h>

namespace inlay::kernels {

// [grouped_gemm]
Program grouped_gemm_program(const GroupedGemm& s) {
  const Refusal refuse{"grouped_gemm"};
  const int waves = s.waves_m * s.waves_n;
  if (waves != 4 && waves != 8)
    refuse(fmt::format("--waves {}x{}", s.waves_m, s.waves_n), "4 or 8 altogether");
  for (const auto& [tile, along] : {std::pair(s.tile_m, s.waves_m), std::pair(s.tile_n, s.waves_n)})
    if ((tile != 64 && tile != 128 && tile != 256) || tile % (16 * along) != 0 || tile < 8 * waves)
      refuse(
          fmt::format("--tile-m {} --tile-n {} with --waves {}x{}", s.tile_m, s.tile_n, s.waves_m, s.waves_n),
          "64, 128 or 256 each, 16 for each wave beside another");
  if (s.transfer && s.scales == Scales::block)
    refuse("--direct-to-lds yes with --scales block",
           "no: scales of blocks are loaded by addresses of 64 bits");
  if (s.tile_m * s.tile_n > 256 * 64 * waves)
    refuse(
        fmt::format("--tile-m {} --tile-n {} with --waves {}x{}", s.tile_m, s.tile_n, s.waves_m, s.waves_n),
        "2x4: a work-item has 256 sums");
  if (s.out != Element::f32 && s.out != Element::f16 && s.out != Element::bf16)
    refuse(fmt::format("--out {}", to_string(s.out)), "f16, bf16 or f32");
  const Target& target = Target::named(s.arch);
  const ScaledProduct p =
      ScaledProduct::of("grouped_gemm", target, s.type, s.scales, s.waves_m, s.waves_n, s.tile_m, s.tile_n);
  const int depth = p.depth(), v = p.vector(), threads = p.tiling.threads();
  Program k("grouped_gemm", target, threads);
  const Sym M = k.size("m", {.most = 1 << 22}), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            K = k.size("k", {.most = 1 << 14, .multiple = p.multiple()}),
            G = k.size("groups", {.most = 1 << 12});
  const Tensor C = k.output("c", s.out, {M, N}), A = k.input("a", s.type, {M, K}),
               B = k.input("b", s.type, {G, N, K});
  std::optional<Tensor> SA, SB;
  if (s.scales != Scales::none) {
    SA = k.input("sa", p.scale(), {p.mx() ? p.of_channels(M) : M, p.of_k(K)}, p.place(k, {}, "m", "k"));
    SB = k.input("sb", p.scale(), {G, p.of_channels(N), p.of_k(K)}, p.place(k, {"groups"}, "n", "k"));
    p.ahead(k, *SB);
  }
  const Tensor of_blocks = k.input("groups_of_blocks", Element::i32, {ceil_div(M, Sym(s.tile_m))});
  k.computes(C, [&](const auto& c) {
    const codegen::Index g = k.at(of_blocks, floor_div(c[0], Sym(s.tile_m)));
    return p.sum(
        k, K,
        [&](Sym i) {
          return k(A, {c[0], i}) * k(B, {g, c[1], i});
        },
        [&](Sym b) {
          return k(*SA, {c[0], b}) * k(*SB, {g, p.channel(c[1]), b});
        });
  });

  const Sym bn = k.workgroups(0, N, p.tile_n), bm = k.workgroups(1, M, s.tile_m),
            g = k.uniform(of_blocks, bm);
  const Staged staged{s.type, depth, v, threads, s.transfer};
  const Tensor a = staged.tile(k, "lds_a", s.tile_m, p.tiling.a()),
               b = staged.tile(k, "lds_b", p.tile_n, p.tiling.b());
  const Fragment acc = p.zeros(k);
  const auto scales = [&](Sym t) {
    const codegen::View of_b = k.tile(*SB, {1, p.columns(), p.of_trip()}, {g, bn, t});
    return std::vector{k.load(k.tile(*SA, {s.tile_m, p.of_trip()}, {bm, t}), p.of_rows(), p.at_once()),
                       k.load(p.channels(of_b, 1, 2), p.of_columns(), p.at_once())};
  };
  k.loop(K, depth, p.pipeline(target, s.tile_m + p.tile_n), [&](Sym t) {
    staged.copy(k, k.tile(A, {s.tile_m, depth}, {bm, t}), a, s.tile_m);
    staged.copy(k, p.in_order(k.tile(B, {1, p.tile_n, depth}, {g, bn, t}).keep({1, 2}), 0), b, p.tile_n);
    const Fragment of_a = k.read(a, p.tiling.a(), v), of_b = k.read(b, p.tiling.b(), v);
    p.mma(k, acc, of_a, of_b, [&] { return scales(t); });
  });
  k.store(p.scaled(k, acc, [&] { return scales(0); }),
          p.in_order(k.tile(C, {s.tile_m, p.tile_n}, {bm, bn}), 1), 4);
  return k;
}
// [grouped_gemm end]

} // namespace inlay::kernels
