// A chunk of tokens goes through the state.
#include "gated_delta_page.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;
using codegen::Atom;
using codegen::MmaTiling;
using codegen::without_axis;

// [gated_delta_state]
Program gated_delta_state_program(const Asked& s) {
  check_chunk("gated_delta_state", s);
  const Target& target = Target::named(s.arch);
  const int D = s.key, E = s.value, wide = s.columns;
  const auto tiling = [&](int n, int depth) {
    return MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), wide / 16, 1, wide, n,
                         depth, 8);
  };
  // A lane's 8 adjacent tokens of the first result are its 8 k of the second product.
  const MmaTiling held = tiling(delta_chunk, D).with_columns(8), put = tiling(D, delta_chunk);
  Program k("gated_delta_state", target, held.threads());
  const DeltaSizes z = DeltaSizes::of(k, s.group, false);
  const Sym B = z.batch, H = z.heads, group(s.group), chunk(delta_chunk);
  const Tensor after = k.output("after", Element::f32, {B, H, E, D}),
               R = k.output("r", s.type, {B, H, E, chunk}), S = k.input("before", Element::f32, {B, H, E, D}),
               W = k.input("w", s.type, {B, H, chunk, D}), U = k.input("u", s.type, {B, H, E, chunk}),
               K = k.input("key_columns", s.type, {B, floor_div(H, group), D, chunk}),
               gates = k.input("gates", Element::f32, {B, H, chunk});
  const auto rest = [&](Sym b, Sym h, Sym e, Sym i) {
    return k(U, {b, h, e, i}) - k.sum(D, [&](Sym d) { return k(S, {b, h, e, d}) * k(W, {b, h, i, d}); });
  };
  k.computes(R, [&](const auto& c) { return rest(c[0], c[1], c[2], c[3]); });
  k.computes(after, [&](const auto& c) {
    const auto gate = [&](Sym i) { return k(gates, {c[0], c[1], i}); };
    const Sym last(delta_chunk - 1);
    return k(S, {c[0], c[1], c[2], c[3]}) * exp(gate(last)) + k.sum(delta_chunk, [&](Sym j) {
      return rest(c[0], c[1], c[2], j) * exp(gate(last) - gate(j)) *
             k(K, {c[0], floor_div(c[1], group), c[3], j});
    });
  });

  const Sym part = k.workgroups(0, Sym(E), wide), h = k.workgroups(1, H, 1), b = k.workgroups(2, B, 1);
  const auto tile = [&](const Tensor& of, int columns) {
    return k.tile(of, {1, 1, wide, columns}, {b, h, part, 0}).keep({2, 3});
  };
  const auto rows = [&](const Tensor& of, Sym head, int n, int columns) {
    return k.tile(of, {1, 1, n, columns}, {b, head, 0, 0}).keep({2, 3});
  };
  const Layout across = without_axis(held.c(), 0);
  const Fragment gate = k.load(k.tile(gates, {1, 1, delta_chunk}, {b, h, 0}).keep({1, 2}), across, 4),
                 last = k.load(k.tile(gates, {1, 1, 1}, {b, h, delta_chunk - 1}).keep({1, 2}),
                               without_axis(across, 1), 1),
                 state = k.map(
                     {k.load(tile(S, D), held.a(), 4)}, [](const Exprs&v) { return v[0]; }, s.type),
                 product = k.zeros(Element::f32, held.c(), {wide, delta_chunk});
  k.mma(product, state, k.load(rows(W, h, delta_chunk, D), held.b(), 8), held);
  const Fragment r =
      k.map({k.load(tile(U, delta_chunk), held.c(), 8), product}, [](const Exprs& v) { return v[0] - v[1]; });
  k.store(r, tile(R, delta_chunk), 8);
  const Fragment kept = k.map({r, last, gate}, [](const Exprs&v) { return v[0] * exp(v[1] - v[2]); }),
                 more = k.zeros(Element::f32, put.c(), {wide, D});
  k.mma(more, k.relayout(kept, put.a(), s.type),
        k.load(rows(K, floor_div(h, group), D, delta_chunk), put.b(), 8), put);
  k.store(k.map({k.load(tile(S, D), put.c(), 4), more, last},
                [](const Exprs& v) { return v[0] * exp(v[2]) + v[1]; }),
          tile(after, D), 4);
  return k;
}
// [gated_delta_state end]

namespace {

std::vector<Judged> reference(const Asked& s, const Workload& w, const Results&) {
  const std::int64_t C = delta_chunk, D = s.key, E = s.value;
  const double u = codegen::unit_roundoff(s.type), tiny = codegen::smallest_positive(s.type);
  Judged after{
      "after", {}, {}, "8 2^-24 |e^a s| + sum |k| (u + e) |r| + (64 + 8) 2^-24 sum |k r|, e: error of r"},
      rest{"r", {}, {}, "(u + 2 (D + 8) 2^-24) sum |s w| + 2^-23 |u| + u |r|"};
  for (std::int64_t row = 0; row < s.batch * s.heads; ++row) {
    const auto at = [&](const char* of, std::int64_t n) { return w.values(of)[static_cast<std::size_t>(n)]; };
    const double last = at("gates", row * C + C - 1);
    for (std::int64_t e = 0; e < E; ++e) {
      std::vector<double> r, of_r;
      for (std::int64_t i = 0; i < C; ++i) {
        double sum = 0, size = 0, small = 0;
        for (std::int64_t d = 0; d < D; ++d) {
          const double x = at("before", (row * E + e) * D + d), y = at("w", (row * C + i) * D + d);
          sum += x * y, size += std::abs(x * y), small += tiny * std::abs(y);
        }
        const double of_u = at("u", (row * E + e) * C + i);
        r.push_back(of_u - sum);
        of_r.push_back((1.01 * u + 2 * (static_cast<double>(D) + 8) * u32) * size + small +
                       2 * u32 * std::abs(of_u));
        rest.value.push_back(r.back()), rest.bound.push_back(of_r.back() + 1.01 * rounding(s.type, r.back()));
      }
      for (std::int64_t d = 0; d < D; ++d) {
        const double kept = std::exp(last) * at("before", (row * E + e) * D + d);
        double sum = kept, bound = (8 + 2 * std::abs(last)) * u32 * std::abs(kept);
        for (std::int64_t j = 0; j < C; ++j) {
          const auto n = static_cast<std::size_t>(j);
          const double a = at("gates", row * C + j), by = std::exp(last - a),
                       key = at("key_columns", (row / s.group * D + d) * C + j);
          sum += by * r[n] * key;
          bound += std::abs(key) *
                   (by * (1.01 * of_r[n] + std::abs(r[n]) * (1.01 * u + (static_cast<double>(C) + 24 +
                                                                         4 * (std::abs(a) + std::abs(last))) *
                                                                            u32)) +
                    tiny);
        }
        after.value.push_back(sum), after.bound.push_back(bound + 4 * u32 * std::abs(sum));
      }
    }
  }
  return {after, rest};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_state_kernel() {
  Page<Asked> page = chunk_page("gated_delta_state",
                                "R = U - S W^T and S' = e^gates[63] S + R diag(e^(gates[63] - gates)) K: 64 "
                                "tokens go through the states, "
                                "the stage of the gated delta rule in chunks that is launched once for each",
                                {"dtype", "batch", "heads", "group", "key", "value", "columns"},
                                gated_delta_state_program, [](const Asked& s) {
                                  return fmt::format("states [{},{},{},{}] after 64 tokens, {}", s.batch,
                                                     s.heads, s.value, s.key, to_string(s.type));
                                });
  page.data = [](const Asked& s, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("w", seed + 21, 0.2), w.random("key_columns", seed + 22, 0.2);
    w.set("gates", falling_gates(s.batch * s.heads, seed));
  };
  page.reference = reference;
  page.bound = [](const Asked& s) {
    return rounds(s.arch, s.batch * s.heads * up(s.value, s.columns), resident_by_waves(4 * s.columns) / 2) *
           (4000 + 20.0 * s.columns);
  };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
