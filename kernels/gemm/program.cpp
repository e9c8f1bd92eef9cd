// D[m,n] = act(alpha sa[m] sb[n] sum_k A[m,k] B[n,k] + beta C[m,n] + bias[n] + row_bias[m]) + residual[m,n], what there is of it: the GEMM.
// What it computes is said in tensors.cpp, how tiles come to LDS in staging.cpp, what follows the sums in epilogue.cpp.
#include "epilogue.h"
#include "staging.h"

namespace inlay::kernels {

using namespace gemm;

// [gemm]
Program gemm_program(const GemmSpec& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const MmaTiling mma = tiling(s, target);
  Program k(s.preshuffled_b ? "preshuffle_gemm" : "gemm", target, mma.threads(), s.where);
  const GemmTensors of(k, s);
  of.specify();
  const ResultTile result(of, mma);

  // A workgroup's part of K: all of it, one of equal parts, or its share of the trips of all tiles.
  const Sym part = s.split > 0 ? k.workgroups(2, of.K, s.split) : Sym(0);
  const auto share = s.workers > 0 ? k.share(s.workers, of.K, s.tile_k) : Program::Share{Sym(0), Sym(0)};
  const Sym first = s.split > 0 ? Sym(s.split / s.tile_k) * part : share.begin,
            extent = s.split > 0     ? of.length(part)
                     : s.workers > 0 ? min(of.K - Sym(s.tile_k) * share.begin, Sym(s.tile_k) * share.count)
                                     : of.K;

  const Operand a(k, s, "lds_a", s.tile_m, s.staged_a(), s.turned_a(), mma.a()),
      b(k, s, "lds_b", s.tile_n, s.staged_b(), s.turned_b(), mma.b());
  std::optional<OperandScales> of_a_scales, of_b_scales;
  if (is_mx(s)) {
    of_a_scales.emplace(k, s, "lds_sa", s.tile_m, s.waves_m, s.waves_n, mma.a_scales());
    of_b_scales.emplace(k, s, "lds_sb", s.tile_n, s.waves_n, s.waves_m, mma.b_scales());
  }
  const Fragment acc = k.zeros(mma.mma().c_element, mma.c(), {s.tile_m, s.tile_n});
  const codegen::Pipeline how{.distance = 2,
                              .ring = stages(s, target),
                              .pins = s.pins,
                              .depth = s.depth,
                              .stagger = s.stagger,
                              .pingpong = s.pingpong};
  k.loop(extent, s.tile_k, how, [&](Sym trip) {
    const Sym t = first + trip;
    const View tile_of_a = result.in_rows(k.tile(of.A, {s.tile_m, s.tile_k}, {result.bm, t})),
               tile_of_b = result.in_columns(k.tile(of.B, {s.tile_n, s.tile_k}, {result.bn, t}), 0);
    a.copy(tile_of_a);
    b.copy(tile_of_b);
    if (!is_mx(s)) {
      const Fragment of_a = a.load(tile_of_a), of_b = b.load(tile_of_b);
      k.mma(acc, of_a, of_b, mma);
      return;
    }
    const auto scales = [&](const Tensor& from, int rows, Sym block) {
      return k.tile(from, {rows, s.tile_k / 32}, {block, t});
    };
    const View tile_of_sa = result.in_rows(scales(*of.SA, s.tile_m, result.bm)),
               tile_of_sb = result.in_columns(scales(*of.SB, s.tile_n, result.bn), 0);
    of_a_scales->copy(tile_of_sa);
    of_b_scales->copy(tile_of_sb);
    const Fragment of_a = a.load(tile_of_a), of_b = b.load(tile_of_b), sa = of_a_scales->load(tile_of_sa),
                   sb = of_b_scales->load(tile_of_sb);
    k.mma(acc, of_a, sa, of_b, sb, mma);
  });

  const Epilogue epilogue(of, result, mma);
  if (s.gather)
    epilogue.fixup(acc, part);
  else
    epilogue.store(acc);
  if (s.own != GemmSpec::Own::none)
    k.problems("groups", s.own == GemmSpec::Own::m ? std::vector{of.M} : std::vector{of.M, of.N, of.K});
  return k;
}
// [gemm end]

} // namespace inlay::kernels
