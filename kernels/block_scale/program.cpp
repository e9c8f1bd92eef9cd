// C[m,n] = sum_k SA[m,k/128] A[m,k] SB[n/128,k/128] B[n,k]: the fp8 GEMM with scales of blocks.
#include "../places.h"
#include "../program_names.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/gemm/spec.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

void check(const BlockScaleSpec& s) {
  if (s.out != Element::bf16 && s.out != Element::f16 && s.out != Element::f32)
    throw std::invalid_argument(fmt::format(
        "block_scale_gemm: out = {} is not supported\n  hint   bf16, f16 or f32", codegen::to_string(s.out)));
  if (s.tile_m > 128)
    throw std::invalid_argument(fmt::format("block_scale_gemm: tile_m = {} is not supported\n  hint   at "
                                            "most 128: a lane holds results of two products beside its sums",
                                            s.tile_m));
}

} // namespace

// [block_scale]
Program block_scale_gemm_program(const BlockScaleSpec& s) {
  check(s);
  constexpr int block = 128;
  const Target& target = Target::named(s.arch);
  const Element in = s.in();
  // The widest product where a trip has enough of them for sums to wait beside: below 128 rows it has not.
  const Atom& product = s.tile_m == 128 ? Atom::mma_best(target, in, in, Element::f32, 16)
                                        : Atom::mma_of(target, in, in, Element::f32, 16, 32);
  const MmaTiling mma = MmaTiling::of(product, s.waves_m, s.waves_n, s.tile_m, block, block, 16);
  Program k("block_scale_gemm", target, mma.threads(), s.where);
  // Scales of all of A by offsets of 31 bits.
  const Sym M = k.size("m", {.most = 1 << 18}), N = k.size("n", {.most = 1 << 21, .multiple = 16}),
            K = k.size("k", {.most = 1 << 17, .multiple = block});
  const auto blocks = [&](Sym n) { return ceil_div(n, Sym(block)); };
  const Tensor C = k.output("c", s.out, {M, N}), A = k.input("a", in, {M, K}),
               B = k.input("b", in, {N, K}, preshuffled_layout(N, K, 16)),
               SA = k.input("sa", Element::f32, {M, blocks(K)}, by_columns(M, blocks(K))),
               SB = k.input("sb", Element::f32, {blocks(N), blocks(K)});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) {
      const Sym b = floor_div(i, Sym(block));
      return k(SA, {c[0], b}) * k(A, {c[0], i}) * k(SB, {floor_div(c[1], Sym(block)), b}) * k(B, {c[1], i});
    });
  });

  const Sym bn = k.workgroups(0, N, block), bm = k.workgroups(1, M, s.tile_m);
  const Layout row = without_axis(mma.c(), 1);
  const int lanes = target.lanes_per_transfer();
  const Tensor a =
      k.lds("lds_a", in, {s.tile_m, block}, codegen::transfer_place(s.tile_m, block, 16, lanes, lanes == 4));
  const Fragment acc = k.zeros(Element::f32, mma.c(), {s.tile_m, block});
  k.loop(K, block, {.distance = 2, .ring = 3}, [&](Sym t) {
    k.transfer(k.tile(A, {s.tile_m, block}, {bm, t}), a,
               codegen::transfer_tv(s.tile_m, block, 16, mma.threads(), lanes, lanes == 4), 16 / lanes);
    const Fragment of_a = k.read(a, mma.a(), 16),
                   of_b = k.load(k.tile(B, {block, block}, {bn, t}), mma.b(), 16),
                   sa = k.load(k.tile(SA, {s.tile_m, 1}, {bm, t}), row, 1),
                   sb = k.load(k.tile(SB, {1, 1}, {bn, t}), without_axis(row, 0), 1);
    const Fragment scale = k.map({sa, sb}, [](const auto& v) { return v[0] * v[1]; });
    const Fragment part = k.zeros(Element::f32, mma.c(), {s.tile_m, block});
    k.mma(part, of_a, of_b, mma);
    k.update(acc, {part, scale}, [](const auto& v) { return v[0] + v[1] * v[2]; });
  });
  k.store(acc, k.tile(C, {s.tile_m, block}, {bm, bn}), 4);
  return k;
}
// [block_scale end]

} // namespace inlay::kernels
