// `gated_delta_state` on the command line, its data and its judge.
#include "gated_delta_page.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

namespace {

std::vector<Judged> state_reference(const Asked& s, const Workload& w, const Results& left) {
  const std::int64_t C = delta_chunk, D = s.key, E = s.value;
  const double u = codegen::unit_roundoff(s.type), tiny = codegen::smallest_positive(s.type);
  Judged after{
      "after", {}, {}, "8 2^-24 |e^a s| + sum |k| (u + e) |r| + (64 + 8) 2^-24 sum |k r|, e: error of r"},
      rest{"r", {}, {}, "(u + 2 (D + 8) 2^-24) sum |s w| + 2^-23 |u| + u |r|"};
  // Each chunk from the states that the launch left after the one before.
  const std::vector<double> states = left("after");
  const std::int64_t all = s.batch * s.heads;
  for (std::int64_t row = 0; row < s.chunks_of_launch * all; ++row) {
    const auto at = [&](const char* of, std::int64_t n) { return w.values(of)[static_cast<std::size_t>(n)]; };
    const auto before = [&](std::int64_t n) {
      return row < all ? at("before", n) : states[static_cast<std::size_t>(n - all * E * D)];
    };
    const double last = at("gates", row * C + C - 1);
    for (std::int64_t e = 0; e < E; ++e) {
      std::vector<double> r, of_r;
      for (std::int64_t i = 0; i < C; ++i) {
        double sum = 0, size = 0, small = 0;
        for (std::int64_t d = 0; d < D; ++d) {
          const double x = before((row * E + e) * D + d), y = at("w", (row * C + i) * D + d);
          sum += x * y, size += std::abs(x * y), small += tiny * std::abs(y);
        }
        const double of_u = at("u", (row * E + e) * C + i);
        r.push_back(of_u - sum);
        of_r.push_back((1.01 * u + 2 * (static_cast<double>(D) + 8) * u32) * size + small +
                       2 * u32 * std::abs(of_u));
        rest.value.push_back(r.back()), rest.bound.push_back(of_r.back() + 1.01 * rounding(s.type, r.back()));
      }
      for (std::int64_t d = 0; d < D; ++d) {
        const double kept = std::exp(last) * before((row * E + e) * D + d);
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
  Page<Asked> page =
      chunk_page("gated_delta_state",
                 "R = U - S W^T, then S = e^gates[63] S + R diag(e^(gates[63] - gates)) K, for one chunk of "
                 "64 tokens after the other: the stage of "
                 "the gated delta rule in chunks that passes the states on",
                 {"dtype", "batch", "heads", "group", "key", "value", "chunks", "columns"},
                 gated_delta_state_program, [](const Asked& s) {
                   return fmt::format("states [{},{},{},{}] after each of {} x 64 tokens, {}", s.batch,
                                      s.heads, s.value, s.key, s.chunks_of_launch, to_string(s.type));
                 });
  page.data = [](const Asked& s, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("w", seed + 21, 0.2), w.random("key_columns", seed + 22, 0.2);
    w.set("gates", falling_gates(s.chunks_of_launch * s.batch * s.heads, seed));
  };
  page.reference = state_reference;
  page.bound = [](const Asked& s) {
    return rounds(s.arch, s.batch * s.heads * up(s.value, s.wide()), resident_by_waves(4 * s.wide()) / 2) *
           (4000 + 20.0 * s.wide());
  };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
