// gates[n,b,h,i] = sum over j <= i of g[b,64n+j,h] and betas[n,b,h,i] = beta[b,64n+i,h]: of tokens after the last one 0.
#include "gated_delta_page.h"

#include <inlay/algebra/parse.h>

#include <cmath>

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

namespace {
constexpr double least_gate = -104; ///< e to that is 0 in f32; docs/decisions/0021
} // namespace

// [gated_delta_gates]
Program gated_delta_gates_program(const Asked& s) {
  Program k("gated_delta_gates", Target::named(s.arch), 64);
  const DeltaSizes z = DeltaSizes::of(k, 1);
  const Sym B = z.batch, T = z.tokens, H = z.heads, N = z.chunks;
  const Sym chunk(delta_chunk);
  // Not less than that, and minus infinity is no exception; NaN stays.
  const auto bounded = [&](Expr g) { return select(k.constant(least_gate), g, k.constant(least_gate), g); };
  const Tensor A = k.output("gates", Element::f32, {N, B, H, chunk}),
               betas = k.output("betas", Element::f32, {N, B, H, chunk}),
               G = k.input("g", Element::f32, {B, T, H}), beta = k.input("beta", Element::f32, {B, T, H});
  k.computes(A, [&](const auto& c) {
    const Sym from = chunk * c[0];
    return k.sum(T, from, from + chunk, [&](Sym t) {
      return inside(t, from + c[3] + Sym(1), bounded(k(G, {c[1], t, c[2]})), 0);
    });
  });
  k.computes(betas, [&](const auto& c) {
    return inside(chunk * c[0] + c[3], T, k(beta, {c[1], chunk * c[0] + c[3], c[2]}), 0);
  });

  const Sym n = k.workgroups(0, T, delta_chunk), h = k.workgroups(1, H, 1), b = k.workgroups(2, B, 1);
  // A lane has 4 tokens up to which it sums 16.
  const Layout tv = parse_layout("((16,4),(4,16)):((1@0,16@1),(16@0,1@1))"),
               line = parse_layout("(64,1):(1@0,0)");
  const auto tile = [&](const Tensor& of) { return k.tile(of, {1, delta_chunk, 1}, {b, n, h}); };
  const auto out = [&](const Tensor& of) {
    return k.tile(of, {1, 1, 1, delta_chunk}, {n, b, h, 0}).keep({3, 2});
  };
  const Sym from = chunk * n;
  const Fragment g = k.load(tile(G).keep({2, 1}), codegen::without_axis(tv, 0), 1),
                 pairs = k.zeros(Element::f32, tv, {delta_chunk, delta_chunk});
  const Fragment before = k.map({pairs, g}, [&](const Exprs& v) {
    return inside(from + k.position(1), from + k.position(0) + Sym(1), bounded(v[1]), 0);
  });
  k.store(k.fold(Monoid::sum, before, 1), out(A), 1);
  k.store(k.load(tile(beta).keep({1, 2}), line, 1), out(betas), 1);
  return k;
}
// [gated_delta_gates end]

namespace {

std::vector<Judged> gates_reference(const Asked& s, const Workload& w, const Results&) {
  Judged gates{"gates", {}, {}, "65 2^-24 sum |g|"}, betas{"betas", {}, {}, "0"};
  for (std::int64_t n = 0; n < s.chunks(); ++n)
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        double sum = 0, size = 0;
        for (std::int64_t t = n * delta_chunk; t < (n + 1) * delta_chunk; ++t) {
          const bool there = t < s.tokens;
          const auto at = static_cast<std::size_t>((b * s.tokens + t) * s.heads + h);
          if (const double g = there ? std::max(w.values("g")[at], least_gate) : 0; there)
            sum += g, size += std::abs(g);
          gates.value.push_back(sum), gates.bound.push_back((delta_chunk + 1) * u32 * size);
          betas.value.push_back(there ? w.values("beta")[at] : 0), betas.bound.push_back(0);
        }
      }
  return {gates, betas};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_gates_kernel() {
  Page<Asked> page = chunk_page(
      "gated_delta_gates",
      "gates[n,b,h,i] = sum of max(g, -104) over tokens 64 n to 64 n + i, and betas in that order: the first "
      "stage of the gated delta rule in chunks",
      {"batch", "tokens", "heads"}, gated_delta_gates_program, [](const Asked& s) {
        return fmt::format("gates and betas of {} x {} tokens, {} heads", s.batch, s.tokens, s.heads);
      });
  page.data = [](const Asked&, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("beta", seed + 20, 1, true);
    std::vector<double> g = w.values("g"); // some forget all
    for (std::size_t i = 3; i < g.size(); i += 11) g[i] = i % 2 == 0 ? -INFINITY : -1e6;
    w.set("g", g);
  };
  page.reference = gates_reference;
  page.bound = [](const Asked& s) {
    return rounds(s.arch, s.batch * s.heads * s.chunks(), resident_by_waves(64)) * 6000;
  };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
