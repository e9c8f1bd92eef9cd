// W = T diag(beta e^gates) K: what the tokens of a chunk take from the state; U = (T diag(beta) V)^T: what they would put there without it.
#include "../transposed.h"
#include "gated_delta_page.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

// [gated_delta_rows]
Program gated_delta_rows_program(const Asked& s) {
  check_chunk("gated_delta_rows", s);
  const Target& target = Target::named(s.arch);
  const int D = s.key, E = s.value;
  const auto tiling = [&](int m, int n) { return tiling_of(target, s.type, 4, 1, m, n, delta_chunk); };
  const MmaTiling of_keys = tiling(delta_chunk, D), of_values = tiling(E, delta_chunk);
  const int threads = of_keys.threads();
  Program k("gated_delta_rows", target, threads);
  const DeltaSizes z = DeltaSizes::of(k, s.group);
  const Sym B = z.batch, H = z.heads, N = z.chunks, group(s.group), chunk(delta_chunk);
  const Tensor W = k.output("w", s.type, {N, B, H, chunk, D}), U = k.output("u", s.type, {N, B, H, E, chunk}),
               T = k.input("inverse", s.type, {N, B, H, chunk, chunk}, by_blocks(N, B, H)),
               K = k.input("key_columns", s.type, {N, B, floor_div(H, group), D, chunk}),
               V = k.input("v", s.type, {B, z.tokens, H, E}),
               values = k.window("values", V,
                                 {{B, {{B, 0}}},
                                  {N, {{N, 1, delta_chunk}}},
                                  {chunk, {{chunk, 1}}},
                                  {H, {{H, 2}}},
                                  {E, {{E, 3}}}},
                                 {0, 0, 0, 0}),
               gates = k.input("gates", Element::f32, {N, B, H, chunk}),
               betas = k.input("betas", Element::f32, {N, B, H, chunk});
  k.computes(W, [&](const auto& c) {
    return k.sum(delta_chunk, [&](Sym j) {
      return k(T, {c[0], c[1], c[2], c[3], j}) * k(betas, {c[0], c[1], c[2], j}) *
             exp(k(gates, {c[0], c[1], c[2], j})) * k(K, {c[0], c[1], floor_div(c[2], group), c[4], j});
    });
  });
  k.computes(U, [&](const auto& c) {
    return k.sum(delta_chunk, [&](Sym j) {
      return k(T, {c[0], c[1], c[2], c[4], j}) * k(betas, {c[0], c[1], c[2], j}) *
             k(values, {c[1], c[0], j, c[2], c[3]});
    });
  });

  const Sym h = k.workgroups(0, H, 1), b = k.workgroups(1, B, 1), n = k.workgroups(2, z.tokens, delta_chunk);
  const TransposedTile v_tile = transposed_tile({"gated_delta_rows"}, "--value 128", target, s.type,
                                                delta_chunk, E, threads, E / 32, of_values.a());
  const Tensor turned = k.lds("lds_v", s.type, {E, delta_chunk}, v_tile.swizzle);
  const codegen::View of_v = k.tile(values, {1, 1, delta_chunk, 1, E}, {b, n, 0, h, 0}).keep({2, 4});
  v_tile.store(k, k.load(of_v, v_tile.loaded, 8), turned);
  const auto inverse = [&](const Layout& tv) {
    return k.load(k.tile(T, {1, 1, 1, delta_chunk, delta_chunk}, {n, b, h, 0, 0}).keep({3, 4}), tv, 8);
  };
  const auto row = [&](const Tensor& of, const Layout& tv) {
    return k.load(k.tile(of, {1, 1, 1, delta_chunk}, {n, b, h, 0}).keep({2, 3}), without_axis(tv, 0), 4);
  };
  const Fragment by_keys = k.map(
                     {inverse(of_keys.a()), row(betas, of_keys.a()), row(gates, of_keys.a())},
                     [](const Exprs&x) { return x[0] * x[1] * exp(x[2]); }, s.type),
                 w = k.zeros(Element::f32, of_keys.c(), {delta_chunk, D});
  k.mma(w, by_keys,
        k.load(k.tile(K, {1, 1, 1, D, delta_chunk}, {n, b, floor_div(h, group), 0, 0}).keep({3, 4}),
               of_keys.b(), 8),
        of_keys);
  k.store(w, k.tile(W, {1, 1, 1, delta_chunk, D}, {n, b, h, 0, 0}).keep({3, 4}), 4);
  const Fragment by_values = k.map(
                     {inverse(of_values.b()), row(betas, of_values.b())},
                     [](const Exprs&x) { return x[0] * x[1]; }, s.type),
                 u = k.zeros(Element::f32, of_values.c(), {E, delta_chunk});
  k.mma(u, k.read(turned, of_values.a(), 8), by_values, of_values);
  k.store(u, k.tile(U, {1, 1, 1, E, delta_chunk}, {n, b, h, 0, 0}).keep({3, 4}), 4);
  return k;
}
// [gated_delta_rows end]

namespace {

std::vector<Judged> rows_reference(const Asked& s, const Workload& w, const Results&) {
  const std::int64_t C = delta_chunk, D = s.key, E = s.value;
  const double u = codegen::unit_roundoff(s.type), tiny = codegen::smallest_positive(s.type),
               sums = (static_cast<double>(C) + 16) * u32;
  const std::string formula = "(u + (64 + 16) 2^-24) sum |x y| + u |result|";
  Judged of_keys{"w", {}, {}, formula}, of_values{"u", {}, {}, formula};
  for (std::int64_t row = 0; row < s.chunks() * s.batch * s.heads; ++row) {
    const auto at = [&](const char* of, std::int64_t n) { return w.values(of)[static_cast<std::size_t>(n)]; };
    const std::int64_t h = row % s.heads, b = row / s.heads % s.batch, n = row / s.heads / s.batch;
    const auto judge = [&](Judged& j, auto factor, auto value) {
      double sum = 0, bound = 0;
      for (std::int64_t m = 0; m < C; ++m) {
        const double by = factor(m), x = value(m);
        sum += by * x,
            bound += std::abs(x) *
                     (std::abs(by) * (1.01 * u + sums + std::abs(at("gates", row * C + m)) * 2 * u32) + tiny);
      }
      j.value.push_back(sum), j.bound.push_back(bound + 1.01 * rounding(s.type, sum));
    };
    for (std::int64_t i = 0; i < C; ++i)
      for (std::int64_t d = 0; d < D; ++d)
        judge(
            of_keys,
            [&](std::int64_t m) {
              return at("inverse", row * C * C + i * C + m) * at("betas", row * C + m) *
                     std::exp(at("gates", row * C + m));
            },
            [&](std::int64_t m) { return at("key_columns", (row / s.group * D + d) * C + m); });
    for (std::int64_t e = 0; e < E; ++e)
      for (std::int64_t i = 0; i < C; ++i)
        judge(
            of_values,
            [&](std::int64_t m) { return at("inverse", row * C * C + i * C + m) * at("betas", row * C + m); },
            [&](std::int64_t m) {
              const std::int64_t t = n * C + m;
              return t < s.tokens ? at("v", ((b * s.tokens + t) * s.heads + h) * E + e) : 0;
            });
  }
  return {of_keys, of_values};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_rows_kernel() {
  Page<Asked> page = chunk_page(
      "gated_delta_rows",
      "W = T diag(beta e^gates) K and U = (T diag(beta) V)^T of the 64 tokens of every chunk: a stage of the "
      "gated delta rule in chunks",
      {"dtype", "batch", "tokens", "heads", "group", "key", "value"}, gated_delta_rows_program,
      [](const Asked& s) {
        return fmt::format("W[{0},{1},{2},64,{3}] and U[{0},{1},{2},{4},64], {5}", s.chunks(), s.batch,
                           s.heads, s.key, s.value, to_string(s.type));
      });
  page.data = [](const Asked& s, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("betas", seed + 20, 1, true);
    w.set("gates", falling_gates(s.chunks() * s.batch * s.heads, seed));
  };
  page.reference = rows_reference;
  page.bound = [](const Asked& s) { return rounds(s.arch, s.batch * s.heads * s.chunks(), 3) * 16000; };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
