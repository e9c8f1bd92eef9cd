// O = (diag(e^gates) Q S^T + tril(Q K^T e^(gates[i] - gates[j])) R^T) / sqrt(D): the state before a chunk, and its tokens up to their own.
#include "gated_delta_page.h"
#include <inlay/kernels/lds_swizzle.h>

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

// [gated_delta_out]
Program gated_delta_out_program(const Asked& s) {
  check_chunk("gated_delta_out", s);
  const Target& target = Target::named(s.arch);
  const int D = s.key, E = s.value, wide = std::min(64, E);
  const double scale = 1 / std::sqrt(D);
  const auto tiling = [&](int n, int depth) {
    return tiling_of(target, s.type, 4, 1, delta_chunk, n, depth);
  };
  // A lane's 8 adjacent columns of the scores are its 8 k of the last product.
  const MmaTiling of_states = tiling(wide, D), of_keys = tiling(delta_chunk, D).with_columns(8),
                  of_rest = tiling(wide, delta_chunk);
  Program k("gated_delta_out", target, of_keys.threads());
  const DeltaSizes z = DeltaSizes::of(k, s.group);
  const Sym B = z.batch, H = z.heads, N = z.chunks, HK = floor_div(H, Sym(s.group)), group(s.group),
            chunk(delta_chunk);
  const Tensor O = k.output("o", s.type, {B, z.tokens, H, E}),
               Q = k.input("queries", s.type, {N, B, HK, chunk, D}),
               K = k.input("keys", s.type, {N, B, HK, chunk, D}),
               S = k.input("states", Element::f32, {N, B, H, E, D}),
               R = k.input("r", s.type, {N, B, H, E, chunk}),
               gates = k.input("gates", Element::f32, {N, B, H, chunk});
  k.computes(O, [&](const auto& c) {
    const Sym n = floor_div(c[1], chunk), i = c[1] - chunk * n, b = c[0], h = c[2], hk = floor_div(h, group);
    const auto gate = [&](Sym at) { return k(gates, {n, b, h, at}); };
    const auto query = [&](Sym d) { return k(Q, {n, b, hk, i, d}); };
    const Expr seen = k.sum(D, [&](Sym d) { return query(d) * k(S, {n, b, h, c[3], d}); });
    const Expr own = k.sum(delta_chunk, [&](Sym j) {
      const Expr score = k.sum(D, [&](Sym d) { return query(d) * k(K, {n, b, hk, j, d}); });
      return inside(j, i + Sym(1), score * exp(gate(i) - gate(j)), 0) * k(R, {n, b, h, c[3], j});
    });
    return (seen * exp(gate(i)) + own) * scale;
  });

  const Sym h = k.workgroups(0, H, 1), n = k.workgroups(1, z.tokens, delta_chunk), b = k.workgroups(2, B, 1),
            hk = floor_div(h, group);
  const auto rows = [&](const Tensor& of, Sym head, int count, int columns, int part) {
    return k.tile(of, {1, 1, 1, count, columns}, {n, b, head, part, 0}).keep({3, 4});
  };
  const codegen::View of_gates = k.tile(gates, {1, 1, 1, delta_chunk}, {n, b, h, 0});
  const Fragment query = k.load(rows(Q, hk, delta_chunk, D, 0), of_keys.a(), 8),
                 scores = k.zeros(Element::f32, of_keys.c(), {delta_chunk, delta_chunk});
  k.mma(scores, query, k.load(rows(K, hk, delta_chunk, D, 0), of_keys.b(), 8), of_keys);
  const Fragment to = k.load(of_gates.keep({3, 2}), without_axis(of_keys.c(), 1), 1),
                 from = k.load(of_gates.keep({2, 3}), without_axis(of_keys.c(), 0), 4),
                 decayed =
                     k.map({scores, to, from},
                           [&](const Exprs&v) {
                             return inside(k.position(1), k.position(0) + Sym(1), v[0] * exp(v[1] - v[2]), 0);
                           }),
                 own = k.relayout(decayed, of_rest.a(), s.type);
  // All waves take the same states: they load them together, and have each rounded once.
  const Layout by_rows = codegen::rows_tv(wide, D, 8, of_states.threads());
  const Tensor states = conflict_free_tile(k, "lds_states", s.type, wide, D, 8, by_rows, of_states.b());
  for (int part = 0; part < E / wide; ++part) {
    const Fragment loaded = k.load(rows(S, h, wide, D, part), by_rows, 4);
    k.store(k.map(
                {loaded}, [](const Exprs& v) { return v[0]; }, s.type),
            k.whole(states), 8);
    const Fragment state = k.read(states, of_states.b(), 8),
                   of_before = k.zeros(Element::f32, of_states.c(), {delta_chunk, wide}),
                   of_own = k.zeros(Element::f32, of_rest.c(), {delta_chunk, wide});
    k.mma(of_before, query, state, of_states);
    k.mma(of_own, own, k.load(rows(R, h, wide, delta_chunk, part), of_rest.b(), 8), of_rest);
    k.store(k.map({of_before, of_own, to}, [&](const Exprs& v) { return (v[0] * exp(v[2]) + v[1]) * scale; }),
            k.tile(O, {1, delta_chunk, 1, wide}, {b, n, h, part}).keep({1, 3}), 4);
  }
  return k;
}
// [gated_delta_out end]

namespace {

std::vector<Judged> out_reference(const Asked& s, const Workload& w, const Results&) {
  const std::int64_t C = delta_chunk, D = s.key, E = s.value;
  const double u = codegen::unit_roundoff(s.type), tiny = codegen::smallest_positive(s.type),
               sums = (static_cast<double>(D) + 24) * u32, scale = 1 / std::sqrt(static_cast<double>(D));
  Judged o{
      "o", {}, {}, "(u + 2 (D + 24) 2^-24) (e^a sum |q s| + sum e^(a - a') sum |q k| |r|) / sqrt(D) + u |o|"};
  const auto at = [&](const char* of, std::int64_t n) { return w.values(of)[static_cast<std::size_t>(n)]; };
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t row = (t / C * s.batch + b) * s.heads + h, i = t % C;
        const double a = at("gates", row * C + i);
        std::vector<double> score, of_score;
        for (std::int64_t j = 0; j <= i; ++j) {
          double sum = 0, size = 0;
          for (std::int64_t d = 0; d < D; ++d) {
            const double x =
                at("queries", (row / s.group * C + i) * D + d) * at("keys", (row / s.group * C + j) * D + d);
            sum += x, size += std::abs(x);
          }
          const double before = at("gates", row * C + j), by = std::exp(a - before);
          score.push_back(by * sum);
          of_score.push_back(by * size * (1.01 * u + 2 * sums + 4 * u32 * (std::abs(a) + std::abs(before))) +
                             tiny);
        }
        for (std::int64_t e = 0; e < E; ++e) {
          double sum = 0, bound = 0;
          for (std::int64_t d = 0; d < D; ++d) {
            const double q = at("queries", (row / s.group * C + i) * D + d),
                         x = std::exp(a) * q * at("states", (row * E + e) * D + d);
            sum += x, bound += std::abs(x) * (1.01 * u + 2 * sums + 4 * u32 * std::abs(a)) +
                               std::exp(a) * std::abs(q) * tiny;
          }
          for (std::int64_t j = 0; j <= i; ++j) {
            const auto n = static_cast<std::size_t>(j);
            const double r = at("r", (row * E + e) * C + j);
            sum += score[n] * r, bound += std::abs(r) * (of_score[n] + sums * std::abs(score[n]));
          }
          o.value.push_back(sum * scale),
              o.bound.push_back(bound * scale + 1.01 * rounding(s.type, sum * scale));
        }
      }
  return {o};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_out_kernel() {
  Page<Asked> page = chunk_page(
      "gated_delta_out",
      "O = (diag(e^gates) Q S^T + tril(Q K^T e^(gates[i] - gates[j])) R^T) / sqrt(D) of the 64 tokens of "
      "every chunk: the last stage of the gated delta rule in chunks",
      {"dtype", "batch", "tokens", "heads", "group", "key", "value"}, gated_delta_out_program,
      [](const Asked& s) {
        return fmt::format("O[{},{},{},{}], {}", s.batch, s.tokens, s.heads, s.value, to_string(s.type));
      });
  page.data = [](const Asked& s, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("queries", seed + 21, 0.2), w.random("keys", seed + 22, 0.2);
    w.set("gates", falling_gates(s.chunks() * s.batch * s.heads, seed));
  };
  page.reference = out_reference;
  page.bound = [](const Asked& s) { return rounds(s.arch, s.batch * s.heads * s.chunks(), 3) * 20000; };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
