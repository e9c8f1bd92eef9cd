// delta[b,h,q] = sum_d dO[b,q,h,d] O[b,q,h,d], lse2[b,h,q] = lse[b,h,q] log2(e): what attention's gradients take of the forward pass's
// results, and what can be asked of all three kernels.
#include "backward.h"

#include "../places.h"

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {

void check_backward(const std::string& kernel, const AttentionBackward& s) {
  const Refusal refuse{kernel};
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse("--dtype " + to_string(s.type), "f16 or bf16; the arithmetic is f32 in any case");
  if (s.head_dim != 64 && s.head_dim != 128) refuse(fmt::format("--head-dim {}", s.head_dim), "64 or 128");
  if (!std::has_single_bit(static_cast<unsigned>(s.group)) || s.group > 32)
    refuse(fmt::format("--group {}", s.group), "1, 2, 4, 8, 16 or 32: a tile of queries has whole groups");
  if (s.waves != 1 && s.waves != 2 && s.waves != 4) refuse(fmt::format("--waves {}", s.waves), "1, 2 or 4");
  if (s.tile != 16 * s.waves && s.tile != 32 * s.waves)
    refuse(fmt::format("--tile {} with --waves {}", s.tile, s.waves), "16 or 32 rows a wave");
  if (s.step != 32 && s.step != 64) refuse(fmt::format("--step {}", s.step), "32 or 64");
  if (s.waves * 512 > s.step * s.head_dim)
    refuse(fmt::format("--waves {} with --step {} and --head-dim {}", s.waves, s.step, s.head_dim),
           "--step 64, or fewer waves: each work-item loads 8 elements of a tile");
}

Program attention_delta_program(const AttentionBackward& s) {
  check_backward("attention_backward_delta", s);
  const int D = s.head_dim, threads = 256, rows = 64;
  Program k("attention_backward_delta", Target::named(s.arch), threads);
  const Sym B = k.size("batch", {.most = 1 << 16}), SQ = k.size("queries", {.most = 1 << 16}),
            H = k.size("heads", {.most = std::max(64 / s.group, 1) * s.group, .multiple = s.group}),
            shared(s.group), HK = floor_div(H, shared);
  // [B, H, queries] in the order [B, heads of K, queries, heads of the group].
  const std::optional<SymLayout> by_groups =
      s.group > 1 ? std::optional(by_strides({{B, H * SQ}, {{shared, 1}, {HK, SQ * shared}}, {SQ, shared}}))
                  : std::nullopt;
  const Tensor DELTA = k.output("delta", Element::f32, {B, H, SQ}, by_groups),
               LSE2 = k.output("lse2", Element::f32, {B, H, SQ}, by_groups),
               O = k.input("o", s.type, {B, SQ, H, D}), DO = k.input("do", s.type, {B, SQ, H, D}),
               LSE = k.input("lse", Element::f32, {B, H, SQ});
  k.computes(DELTA, [&](const auto& c) {
    return k.sum(D, [&](Sym d) { return k(DO, {c[0], c[2], c[1], d}) * k(O, {c[0], c[2], c[1], d}); });
  });
  k.computes(LSE2, [&](const auto& c) { return k(LSE, {c[0], c[1], c[2]}) * log2_e; });
  const Sym bq = k.workgroups(0, SQ, rows), h = k.workgroups(1, H, 1), b = k.workgroups(2, B, 1);
  const Layout tv = codegen::rows_tv(rows, D, 8, threads);
  const auto load = [&](const Tensor& of) {
    return k.load(k.tile(of, {1, rows, 1, D}, {b, bq, h, 0}).keep({1, 3}), tv, 8);
  };
  const auto store = [&](const Fragment& x, const Tensor& to) {
    k.store(x, k.tile(to, {1, 1, rows}, {b, h, bq}).keep({2, 0}), 1);
  };
  const Fragment products = k.map({load(DO), load(O)}, [](const Exprs&v) { return v[0] * v[1]; }),
                 lse = k.load(k.tile(LSE, {1, 1, rows}, {b, h, bq}).keep({2, 0}),
                              codegen::without_axis(tv, 1), 1);
  store(k.fold(Monoid::sum, products, 1), DELTA);
  store(k.map({lse}, [](const Exprs& v) { return v[0] * log2_e; }), LSE2);
  return k;
}

} // namespace inlay::kernels
