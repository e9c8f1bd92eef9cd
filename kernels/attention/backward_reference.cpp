// The data of attention's gradients, and their judge, by plain loops.
#include "backward_data.h"

namespace inlay::kernels {
namespace {

std::int64_t seen_by(const AttentionBackward& s, std::int64_t q) {
  return s.causal ? std::min(s.keys, q + 1) : s.keys;
}

} // namespace

std::pair<double, double> dot(const Doubles& a, std::int64_t row_a, const Doubles& b, std::int64_t row_b,
                              int n) {
  double sum = 0, size = 0;
  for (std::int64_t d = 0; d < n; ++d) {
    const double product = a[at(row_a * n + d)] * b[at(row_b * n + d)];
    sum += product, size += std::abs(product);
  }
  return {sum, size};
}

// Scores of a few units; logarithms and deltas are those of the softmax, so that probabilities are.
void backward_data(const AttentionBackward& s, bool of_keys, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("k", seed + 1, 3);
  const BackwardRows rows{s, of_keys};
  Doubles lse(w.values("lse2").size()), delta(lse.size());
  each_query(s, [&](std::int64_t b, std::int64_t q, std::int64_t h) {
    double most = -INFINITY, sum = 0, value = 0;
    for (std::int64_t i = 0; i < seen_by(s, q); ++i) {
      const double x =
          dot(w.values("q"), rows.query(b, q, h), w.values("k"), rows.key(b, i, h), s.head_dim).first /
          std::sqrt(s.head_dim);
      const double now = std::max(most, x), again = std::exp(most - now), p = std::exp(x - now);
      most = now, sum = sum * again + p;
      value =
          value * again +
          p * dot(w.values("do"), rows.query(b, q, h), w.values("v"), rows.key(b, i, h), s.head_dim).first;
    }
    lse[rows.log(b, q, h)] = (most + std::log(sum)) / std::log(2), delta[rows.log(b, q, h)] = value / sum;
  });
  w.set("lse2", lse), w.set("delta", delta);
}

std::vector<Judged> backward_reference(const AttentionBackward& s, bool of_keys, const Workload& w) {
  const BackwardRows rows{s, of_keys};
  const int D = s.head_dim;
  const double scale = 1 / std::sqrt(D), u = codegen::unit_roundoff(s.type),
               tiny = codegen::smallest_positive(s.type) / 2,
               terms = static_cast<double>(of_keys ? s.queries * s.group : s.keys) + 64,
               of_dot = (D + 8.0) * u32;
  const std::string of_p = "u + e + 2 (terms + 64) 2^-24, e: error of an exponent", at_end = " + u |result|";
  std::vector<Judged> out{
      {of_keys ? "dk" : "dq", {}, {}, "scale sum of error of dS |x|, with (" + of_p + ") |dS|" + at_end}};
  if (of_keys) out.push_back({"dv", {}, {}, "(" + of_p + ") sum p |do|" + at_end});
  for (Judged& j : out)
    j.value.assign(w.values(&j == &out[0] && !of_keys ? "q" : "k").size(), 0), j.bound = j.value;
  const Doubles &q_of = w.values("q"), &k_of = w.values("k"), &v_of = w.values("v"), &do_of = w.values("do");
  each_query(s, [&](std::int64_t b, std::int64_t q, std::int64_t h) {
    const std::int64_t row = rows.query(b, q, h);
    const double lse = w.values("lse2")[rows.log(b, q, h)] * std::log(2),
                 delta = w.values("delta")[rows.log(b, q, h)];
    for (std::int64_t i = 0; i < seen_by(s, q); ++i) {
      const std::int64_t key = rows.key(b, i, h);
      const auto [score, of_score] = dot(q_of, row, k_of, key, D);
      const auto [dp, of_dp] = dot(do_of, row, v_of, key, D);
      const double p = std::exp(score * scale - lse), ds = p * (dp - delta),
                   e = u + 2 * of_dot * of_score * scale + 8 * u32 * (std::abs(lse) + 1) + 2 * terms * u32,
                   e_ds = e * std::abs(ds) + p * (of_dot * of_dp + 2 * u32 * std::abs(delta)) + tiny;
      const auto add = [&](Judged& to, std::int64_t to_row, const Doubles& from, std::int64_t from_row,
                           double by, double error) {
        for (std::int64_t d = 0; d < D; ++d) {
          const double x = from[at(from_row * D + d)];
          to.value[at(to_row * D + d)] += by * x, to.bound[at(to_row * D + d)] += error * std::abs(x);
        }
      };
      if (of_keys) add(out[1], key, do_of, row, p, e * p + tiny);
      add(out[0], of_keys ? key : row, of_keys ? q_of : k_of, of_keys ? row : key, scale * ds, scale * e_ds);
    }
  });
  for (Judged& j : out)
    for (std::size_t i = 0; i < j.value.size(); ++i) j.bound[i] += rounding(s.type, j.value[i]) * 1.01;
  return out;
}

} // namespace inlay::kernels
