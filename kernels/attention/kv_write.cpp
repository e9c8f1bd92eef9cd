// k_cache[slot_mapping[t],h] = turned(k[t,h]) / scales[0], v_cache[slot_mapping[t],h] = v[t,h] / scales[1]: keys and values of new tokens
// into a paged cache, keys turned by their position, both to the cache's type, each row where a table says.
//
// Source: vLLM, csrc/cache_kernels.cu, reshape_and_cache_flash: slot = block * block size + offset, and a negative slot is padding.
#include "kv_write.h"

#include "../program_names.h"

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

void check(const KvWrite& s) {
  const Refusal refuse{"kv_write"};
  if (s.type != Element::bf16 && s.type != Element::f16)
    refuse("--dtype " + to_string(s.type), "bf16 or f16; the arithmetic is f32 in any case");
  if (s.scaled() && s.cache != codegen::fp8(Target::named(s.arch)))
    refuse(fmt::format("--kv-dtype {} with --dtype {}", to_string(s.cache), to_string(s.type)),
           "the same, or fp8 with scales");
  if (s.head_dim < 32 || s.head_dim > 512 || !std::has_single_bit(static_cast<unsigned>(s.head_dim)))
    refuse(fmt::format("--head-dim {}", s.head_dim), "32, 64, 128, 256 or 512");
  if (s.threads != 64 && s.threads != 128 && s.threads != 256)
    refuse(fmt::format("--threads {}", s.threads), "64, 128 or 256");
}

} // namespace

// A head is two halves, [2, D/2]; a slot is a row of [pages, slots of a page, heads, D].
// [kv_write]
Program kv_write_program(const KvWrite& s) {
  check(s);
  const int half = s.head_dim / 2, heads = s.heads_of_workgroup(), v = s.vector_length();
  const double largest = codegen::largest_finite(s.cache);
  Program k("kv_write", Target::named(s.arch), s.threads);
  const Sym T = k.size("tokens", {.most = 1 << 22}), H = k.size("kv_heads", {.most = 256}),
            S = k.size("slots", {.most = 1 << 30});
  const Tensor KC = k.inout("k_cache", s.cache, {S, H, 2, half}),
               VC = k.inout("v_cache", s.cache, {S, H, 2, half}), K = k.input("k", s.type, {T, H, 2, half}),
               V = k.input("v", s.type, {T, H, 2, half}), slots = k.input("slot_mapping", Element::i32, {T});
  const std::optional<Tensor> scales =
      s.scaled() ? std::optional(k.input("scales", Element::f32, {2, 1})) : std::nullopt;
  struct Angles {
    Tensor positions, cos, sin;
  };
  std::optional<Angles> angles;
  if (s.rope) {
    const Sym P = k.size("rows", {.most = 1 << 22});
    angles = {k.input("positions", Element::i32, {T}), k.input("cos", s.type, {P, half}),
              k.input("sin", s.type, {P, half})};
  }
  const auto to_cache = [&](Expr x, Expr scale) {
    return min(max(x / scale, k.constant(-largest)), k.constant(largest));
  };
  k.puts(KC, slots, [&](const auto& c) {
    Expr x = k(K, {c[0], c[1], c[2], c[3]});
    if (angles) {
      const codegen::Index at = k.at(angles->positions, c[0]);
      const Expr other = k.number(Sym(2) * c[2] - Sym(1)) * k(K, {c[0], c[1], Sym(1) - c[2], c[3]});
      x = x * k(angles->cos, {at, c[3]}) + other * k(angles->sin, {at, c[3]});
    }
    return scales ? to_cache(x, k(*scales, {0, 0})) : x;
  });
  k.puts(VC, slots, [&](const auto& c) {
    const Expr x = k(V, {c[0], c[1], c[2], c[3]});
    return scales ? to_cache(x, k(*scales, {1, 0})) : x;
  });

  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, H, heads), slot = k.uniform(slots, token);
  const Layout tv = codegen::rows_tv(heads, half, v, s.threads), of_table = codegen::without_axis(tv, 0),
               one = codegen::without_axis(of_table, 1);
  const auto tile = [&](const Tensor& of, Sym at, int which) {
    return k.tile(of, {1, heads, 1, half}, {at, part, which, 0}).keep({1, 3});
  };
  const auto load = [&](const Tensor& of, int which) { return k.load(tile(of, token, which), tv, v); };
  const auto store = [&](const Tensor& of, int which, std::vector<Fragment> x, int scale_of,
                         const auto& value) {
    if (scales) x.push_back(k.load(k.tile(*scales, {1, 1}, {scale_of, 0}), one, 1));
    const auto map = [&](const Exprs& a) { return scales ? to_cache(value(a), a.back()) : value(a); };
    k.store(k.map(x, map, s.cache), tile(of, slot, which), v);
  };
  const auto same = [](const Exprs& a) { return a[0]; };
  const std::vector<Fragment> x{load(K, 0), load(K, 1)};
  if (angles) {
    const Sym row = k.uniform(angles->positions, token);
    const auto angle = [&](const Tensor& of) { return k.load(k.tile(of, {1, half}, {row, 0}), of_table, v); };
    const Fragment c = angle(angles->cos), n = angle(angles->sin);
    store(KC, 0, {x[0], c, x[1], n}, 0, [](const Exprs& a) { return a[0] * a[1] - a[2] * a[3]; });
    store(KC, 1, {x[1], c, x[0], n}, 0, [](const Exprs& a) { return a[0] * a[1] + a[2] * a[3]; });
  } else {
    for (const int h : {0, 1}) store(KC, h, {x[static_cast<std::size_t>(h)]}, 0, same);
  }
  for (const int h : {0, 1}) store(VC, h, {load(V, h)}, 1, same);
  return k;
}
// [kv_write end]

} // namespace inlay::kernels
