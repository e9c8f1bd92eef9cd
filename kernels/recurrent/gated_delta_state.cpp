// R = U - S W^T, S = e^gates[63] S + R diag(e^(gates[63] - gates)) K: chunks of tokens go through the state, one after the other.
#include "gated_delta_chunk.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

// [gated_delta_state]
Program gated_delta_state_program(const Asked& s) {
  check_chunk("gated_delta_state", s);
  const Target& target = Target::named(s.arch);
  const int D = s.key, E = s.value, wide = s.wide(), chunks = s.chunks_of_launch;
  const auto tiling = [&](int n, int depth) {
    return tiling_of(target, s.type, wide / 16, 1, wide, n, depth).with_columns(8);
  };
  // A lane's 8 adjacent tokens, or elements of a key, of one result are its 8 k of the next product.
  const MmaTiling held = tiling(delta_chunk, D), put = tiling(D, delta_chunk);
  Program k("gated_delta_state", target, held.threads());
  const DeltaSizes z = DeltaSizes::of(k, s.group, chunks);
  const Sym B = z.batch, H = z.heads, group(s.group), chunk(delta_chunk), N(chunks);
  const Tensor after = k.output("after", Element::f32, {N, B, H, E, D}),
               R = k.output("r", s.type, {N, B, H, E, chunk}),
               S = k.input("before", Element::f32, {B, H, E, D}),
               W = k.input("w", s.type, {N, B, H, chunk, D}), U = k.input("u", s.type, {N, B, H, E, chunk}),
               K = k.input("key_columns", s.type, {N, B, floor_div(H, group), D, chunk}),
               gates = k.input("gates", Element::f32, {N, B, H, chunk});
  const Sym last_token(delta_chunk - 1);
  // Of chunk n: what its tokens add beside what the state holds, and the state after it.
  std::function<Expr(int, Sym, Sym, Sym, Sym)> state;
  const auto rest = [&](int n, Sym b, Sym h, Sym e, Sym i) {
    return k(U, {n, b, h, e, i}) - k.sum(D, [&](Sym d) {
      return state(n - 1, b, h, e, d) * k(W, {n, b, h, i, d});
    });
  };
  state = [&](int n, Sym b, Sym h, Sym e, Sym d) -> Expr {
    if (n < 0) return k(S, {b, h, e, d});
    const auto gate = [&](Sym i) { return k(gates, {n, b, h, i}); };
    return state(n - 1, b, h, e, d) * exp(gate(last_token)) + k.sum(delta_chunk, [&](Sym j) {
      return rest(n, b, h, e, j) * exp(gate(last_token) - gate(j)) * k(K, {n, b, floor_div(h, group), d, j});
    });
  };
  const auto each = [&](Sym number, const std::function<Expr(int)>& of) { // that of chunk `number`
    Expr sum = of(0);
    if (chunks > 1) sum = inside(number, Sym(1), sum, 0);
    for (int n = 1; n < chunks; ++n) sum = sum + where_equal(number, static_cast<std::size_t>(n), of(n));
    return sum;
  };
  k.computes(
      R, [&](const auto& c) { return each(c[0], [&](int n) { return rest(n, c[1], c[2], c[3], c[4]); }); });
  k.computes(after, [&](const auto& c) {
    return each(c[0], [&](int n) { return state(n, c[1], c[2], c[3], c[4]); });
  });

  const Sym part = k.workgroups(0, Sym(E), wide), h = k.workgroups(1, H, 1), b = k.workgroups(2, B, 1);
  const Layout across = without_axis(held.c(), 0);
  Fragment now = k.load(k.tile(S, {1, 1, wide, D}, {b, h, part, 0}).keep({2, 3}), put.c(), 4);
  for (int n = 0; n < chunks; ++n) {
    const auto tile = [&](const Tensor& of, int columns) {
      return k.tile(of, {1, 1, 1, wide, columns}, {n, b, h, part, 0}).keep({3, 4});
    };
    const auto rows = [&](const Tensor& of, Sym head, int count, int columns) {
      return k.tile(of, {1, 1, 1, count, columns}, {n, b, head, 0, 0}).keep({3, 4});
    };
    const Fragment gate = k.load(k.tile(gates, {1, 1, 1, delta_chunk}, {n, b, h, 0}).keep({2, 3}), across, 4),
                   last = k.load(k.tile(gates, {1, 1, 1, 1}, {n, b, h, last_token}).keep({2, 3}),
                                 without_axis(across, 1), 1),
                   product = k.zeros(Element::f32, held.c(), {wide, delta_chunk});
    k.mma(product, k.relayout(now, held.a(), s.type), k.load(rows(W, h, delta_chunk, D), held.b(), 8), held);
    const Fragment r = k.map({k.load(tile(U, delta_chunk), held.c(), 8), product},
                             [](const Exprs& v) { return v[0] - v[1]; });
    k.store(r, tile(R, delta_chunk), 8);
    const Fragment kept = k.map({r, last, gate}, [](const Exprs&v) { return v[0] * exp(v[1] - v[2]); }),
                   more = k.zeros(Element::f32, put.c(), {wide, D});
    k.mma(more, k.relayout(kept, put.a(), s.type),
          k.load(rows(K, floor_div(h, group), D, delta_chunk), put.b(), 8), put);
    now = k.map({now, more, last}, [](const Exprs& v) { return v[0] * exp(v[2]) + v[1]; });
    k.store(now, tile(after, D), 4);
  }
  return k;
}
// [gated_delta_state end]

} // namespace inlay::kernels
