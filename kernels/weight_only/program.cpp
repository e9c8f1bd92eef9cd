// C[m,n] = sum_k A[m,k] W[n,k] S[n,k/group]: the GEMM with weights of 8 or 4 bits.
#include "packed.h"
#include <inlay/kernels/lds_swizzle.h>

#include <inlay/codegen/program.h>
#include <inlay/kernels/weight_only/spec.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

void check(const WeightOnlySpec& s, const Target& target) {
  const auto refuse = [](const char* field, const std::string& value, const std::string& hint) {
    throw std::invalid_argument(
        fmt::format("weight_only_gemm: {} = {} is not supported\n  hint   {}", field, value, hint));
  };
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse("type", codegen::to_string(s.type), "f16 or bf16");
  if (s.weights != Element::i8 && s.weights != Element::i32 &&
      (!target.has_fp8() || s.weights != codegen::fp8(target)))
    refuse("weights", codegen::to_string(s.weights),
           target.has_fp8() ? "i4, i8, or " + codegen::to_string(codegen::fp8(target)) + " on " + s.arch
                            : "i4 or i8: " + s.arch + " has no float of 8 bits");
  if (s.out != Element::bf16 && s.out != Element::f16 && s.out != Element::f32)
    refuse("out", codegen::to_string(s.out), "bf16, f16 or f32");
  if (s.group != 32 && s.group != 64 && s.group != 128)
    refuse("group", std::to_string(s.group), "32, 64 or 128");
}

} // namespace

// [weight_only]
Program weight_only_gemm_program(const WeightOnlySpec& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const MmaTiling mma = tiling_of(target, s.type, s.waves_m, s.waves_n, s.tile_m, s.tile_n, s.group);
  Program k("weight_only_gemm", target, mma.threads(), s.where);
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 21, .multiple = 4}),
            K = k.size("k", {.most = 1 << 20, .multiple = s.group});
  const Tensor C = k.output("c", s.out, {M, N}), A = k.input("a", s.type, {M, K}),
               W = s.weights == Element::i32 ? packed_weights(k, "w", {N}, K)
                                             : k.input("w", s.weights, {N, K}),
               S = k.input("s", Element::f32, {N, floor_div(K, Sym(s.group))});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) {
      const Expr stored = k(W, {c[1], i}),
                 weight = s.weights == Element::i32 ? packed_weight(k, stored, i) : stored;
      return k(A, {c[0], i}) * (weight * k(S, {c[1], floor_div(i, Sym(s.group))}));
    });
  });

  const Sym bn = k.workgroups(0, N, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  const Layout by_rows_a = rows_tv(s.tile_m, s.group, 8, mma.threads()),
               by_rows_w = rows_tv(s.tile_n, s.group, 8, mma.threads());
  const Tensor a = conflict_free_tile(k, "lds_a", s.type, s.tile_m, s.group, 8, by_rows_a, mma.a()),
               w = conflict_free_tile(k, "lds_w", s.type, s.tile_n, s.group, 8, by_rows_w, mma.b());
  const Fragment acc = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
  k.loop(K, s.group, {.distance = 2, .ring = 2}, [&](Sym t) {
    k.copy(k.tile(A, {s.tile_m, s.group}, {bm, t}), a, by_rows_a, 8);
    const codegen::View stored = k.tile(W, {s.tile_n, s.group}, {bn, t}),
                        of = k.tile(S, {s.tile_n, 1}, {bn, t});
    if (s.weights == Element::i32) {
      unpack(k, stored, of, w, by_rows_w);
    } else {
      const Fragment bytes = k.load(stored, by_rows_w, 8), scales = k.load(of, without_axis(by_rows_w, 1), 1);
      k.store(k.map(
                  {bytes, scales}, [](const auto& v) { return v[0] * v[1]; }, s.type),
              k.whole(w), 8);
    }
    k.mma(acc, k.read(a, mma.a(), 8), k.read(w, mma.b(), 8), mma);
  });
  k.store(acc, k.tile(C, {s.tile_m, s.tile_n}, {bm, bn}), 4);
  return k;
}
// [weight_only end]

} // namespace inlay::kernels
