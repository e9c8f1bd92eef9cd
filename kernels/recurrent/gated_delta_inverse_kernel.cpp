// `gated_delta_inverse` on the command line, its data and its judge.
#include "gated_delta_page.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

namespace {

// Row by row: T(i) = e(i) - sum over m < i of A(i,m) T(m). Sums along all ways from i to j bound errors: of |A|, and of |A| but for one
// step, which is the error of A.
std::vector<Judged> inverse_reference(const Asked& s, const Workload& w, const Results&) {
  constexpr std::size_t C = delta_chunk;
  const auto D = static_cast<std::size_t>(s.key);
  Judged out{"inverse",
             {},
             {},
             "256 2^-24 M + M E M + u |t|, M = (I - |A|)^-1, E = (D + 16 + 4 (|a| + |a'|)) 2^-24 beta e^(a - "
             "a') sum |k k'|"};
  for (std::int64_t row = 0; row < s.chunks() * s.batch * s.heads; ++row) {
    const auto of = [&](const char* x, std::size_t i) {
      return w.values(x)[static_cast<std::size_t>(row) * C + i];
    };
    std::vector<double> t(C * C), most(C * C), error(C * C);
    for (std::size_t i = 0; i < C; ++i) {
      for (std::size_t m = 0; m < i; ++m) {
        double sum = 0, size = 0;
        for (std::size_t d = 0; d < D; ++d) {
          const std::size_t from = static_cast<std::size_t>(row / s.group) * C;
          const double x = w.values("keys")[(from + i) * D + d] * w.values("keys")[(from + m) * D + d];
          sum += x, size += std::abs(x);
        }
        const double gate = of("gates", i), before = of("gates", m),
                     by = of("betas", i) * std::exp(gate - before), a = by * sum,
                     e = by * size * (static_cast<double>(D) + 16 + 4 * (std::abs(gate) + std::abs(before))) *
                         u32;
        for (std::size_t j = 0; j <= m; ++j) {
          t[i * C + j] -= a * t[m * C + j], most[i * C + j] += std::abs(a) * most[m * C + j];
          error[i * C + j] += std::abs(a) * error[m * C + j] + e * most[m * C + j];
        }
      }
      t[i * C + i] = most[i * C + i] = 1;
    }
    for (std::size_t n = 0; n < C * C; ++n) { // block by block
      const std::size_t block = n / 256, i = block / 4 * 16 + n / 16 % 16, j = block % 4 * 16 + n % 16;
      const double x = t[i * C + j];
      out.value.push_back(x);
      out.bound.push_back(
          i > j ? 256 * u32 * most[i * C + j] + 1.01 * (error[i * C + j] + rounding(s.type, x)) : 0);
    }
  }
  return {out};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_inverse_kernel() {
  Page<Asked> page = chunk_page(
      "gated_delta_inverse",
      "T = (I + A)^-1 with A[i,j] = beta[i] e^(gates[i] - gates[j]) sum_d keys[i,d] keys[j,d] for j < i, "
      "else 0, "
      "of the 64 tokens of every chunk, in blocks of 16 x 16: a stage of the gated delta rule in chunks",
      {"dtype", "batch", "tokens", "heads", "group", "key"}, gated_delta_inverse_program, [](const Asked& s) {
        return fmt::format("T[{},{},{},64,64] of keys of {}, {}", s.chunks(), s.batch, s.heads, s.key,
                           to_string(s.type));
      });
  page.data = [](const Asked& s, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("keys", seed + 1, 0.2), w.random("betas", seed + 20, 1, true);
    w.set("gates", falling_gates(s.chunks() * s.batch * s.heads, seed));
  };
  page.reference = inverse_reference;
  page.bound = [](const Asked& s) { return rounds(s.arch, s.batch * s.heads * s.chunks(), 4) * 14000; };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
