// o = sum over parts r of exp(most(r) - m) parts(r) / sum of exp(most(r) - m) sums(r), m = max most(r): what mla_decode leaves, put
// together in the parts' order.
#include "mla_parts.h"

namespace inlay::kernels {

Program mla_reduce_program(const Latent& s) {
  check_latent(s);
  constexpr int threads = Latent::latent / 4; // of a row, four numbers each
  Program k("mla_reduce", Target::named(s.arch), threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}), R = k.size("splits", {.most = (1 << 19) / s.group()});
  const std::vector<Sym> results{S, s.blocks(), s.group(), Latent::latent};
  const Tensor O = k.output("o", s.type, results, by_rows(results));
  const SoftmaxParts from = parts_of(s, S, R, [&](const char* name, const std::vector<Sym>& shape) {
    return k.input(name, Element::f32, shape, by_rows(shape));
  });
  const Tensor L = k.input("lengths", Element::i32, {S});
  k.computes(O, [&](const auto& c) {
    const Sym length = seen(s, k.value(L, c[0]), c[1]);
    const auto [most, all, value] = from.together(k, c, length);
    return codegen::inside(0, length, value / all, 0);
  });
  const Sym seq = k.workgroups(0, S, 1), block = k.workgroups(1, Sym(s.blocks()), 1),
            head = k.workgroups(2, Sym(s.group()), 1), length = seen(s, k.uniform(L, seq), block);
  const Layout tv = codegen::rows_tv(1, Latent::latent, 4, threads);
  const codegen::View to = k.tile(O, {1, 1, 1, Latent::latent}, {seq, block, head, 0}).keep({2, 3});
  k.if_less(
      Sym(0), length,
      [&] {
        const auto [most, all, value] = from.together(k, seq, block, head, 1, Latent::latent, tv, length);
        k.store(k.map({value, all}, [](const Exprs& v) { return v[0] / v[1]; }), to, 4);
      },
      [&] {
        k.store(k.zeros(Element::f32, tv, {1, Latent::latent}), to, 4);
      });
  return k;
}

} // namespace inlay::kernels
