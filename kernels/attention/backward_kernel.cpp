// The kernels of attention's backward pass on the command line, their data and their judge.
#include "../page.h"
#include "backward.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using Doubles = std::vector<double>;
using ReadsBackward = Reads<AttentionBackward>;
/// Where the rows of a query and of a key are among a program's values; `of_keys`: queries of a group are one axis.
struct Rows {
  AttentionBackward s;
  bool of_keys = false;
  [[nodiscard]] std::int64_t query(std::int64_t b, std::int64_t q, std::int64_t h) const {
    return (of_keys ? (b * s.queries + q) * s.group + h % s.group : b * s.queries + q) * heads() + head(h);
  }
  [[nodiscard]] std::size_t log(std::int64_t b, std::int64_t q, std::int64_t h) const {
    return at(((b * (s.heads / s.group) + h / s.group) * s.queries + q) * s.group + h % s.group);
  }
  [[nodiscard]] std::int64_t key(std::int64_t b, std::int64_t i, std::int64_t h) const {
    return (b * s.keys + i) * (s.heads / s.group) + h / s.group;
  }

private:
  [[nodiscard]] std::int64_t heads() const { return of_keys ? s.heads / s.group : s.heads; }
  [[nodiscard]] std::int64_t head(std::int64_t h) const { return of_keys ? h / s.group : h; }
};

/// The product of two rows, and that of their absolute values.
std::pair<double, double> dot(const Doubles& a, std::int64_t row_a, const Doubles& b, std::int64_t row_b,
                              int n) {
  double sum = 0, size = 0;
  for (std::int64_t d = 0; d < n; ++d) {
    const double product = a[at(row_a * n + d)] * b[at(row_b * n + d)];
    sum += product, size += std::abs(product);
  }
  return {sum, size};
}

std::int64_t seen_by(const AttentionBackward& s, std::int64_t q) {
  return s.causal ? std::min(s.keys, q + 1) : s.keys;
}

template <class Body>
void each_row(const AttentionBackward& s, Body body) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t q = 0; q < s.queries; ++q) body(b, q, h);
}

// Scores of a few units; logarithms and deltas are those of the softmax, so that probabilities are.
void backward_data(const AttentionBackward& s, bool of_keys, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("k", seed + 1, 3);
  const Rows rows{s, of_keys};
  Doubles lse(w.values("lse2").size()), delta(lse.size());
  each_row(s, [&](std::int64_t b, std::int64_t q, std::int64_t h) {
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
  const Rows rows{s, of_keys};
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
  each_row(s, [&](std::int64_t b, std::int64_t q, std::int64_t h) {
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

void whole_groups(const std::string& kernel, const AttentionBackward& s) {
  if (s.heads % s.group != 0)
    throw std::invalid_argument(
        fmt::format("{}: --heads {} is no multiple of --group {}", kernel, s.heads, s.group));
}

std::vector<Option<AttentionBackward>> options(bool of_rows) {
  std::vector<Option<AttentionBackward>> all = {
      arch_option<AttentionBackward>(),
      {"dtype", ReadsBackward::element(&AttentionBackward::type, "f16, bf16"), "bf16", "element type"},
      {"head-dim", ReadsBackward::number(&AttentionBackward::head_dim, 1, 1024), "128",
       "elements of a head, 64 or 128"},
      {"batch", ReadsBackward::number(&AttentionBackward::batch, 1, 1 << 16), "1", "sequences"},
      {"queries", ReadsBackward::number(&AttentionBackward::queries, 1, 1 << 17), "200", "rows of Q"},
      {"heads", ReadsBackward::number(&AttentionBackward::heads, 1, 64), "2",
       "heads of Q, a multiple of the group"}};
  all.push_back({"group", ReadsBackward::number(&AttentionBackward::group, 1, 1024), "1",
                 "heads of Q that share one of K and V: 1, 2, 4, 8, 16 or 32"});
  if (!of_rows) return all;
  all.push_back(
      {"keys", ReadsBackward::number(&AttentionBackward::keys, 1, 1 << 16), "300", "rows of K and V"});
  all.push_back(
      {"causal", ReadsBackward::yes(&AttentionBackward::causal), "no", "row q sees columns 0 to q"});
  all.push_back({"tile", ReadsBackward::number(&AttentionBackward::tile, 1, 1024), "auto",
                 "rows of the result that a workgroup has, 16 or 32 for each of its waves", "64"});
  all.push_back({"step", ReadsBackward::number(&AttentionBackward::step, 1, 1024), "auto",
                 "rows that it goes through at a time, 32 or 64", "32"});
  all.push_back({"waves", ReadsBackward::number(&AttentionBackward::waves, 1, 16), "auto",
                 "waves of a workgroup: 1, 2 or 4", "4"});
  return all;
}

std::unique_ptr<Kernel> gradient(const std::string& name, const std::string& of, bool of_keys) {
  return page_of(Page<AttentionBackward>{
      .summary = "gradients of attention with respect to " + of +
                 ", from its logarithms and delta, the same bits in every launch",
      .options = {name, options(true)},
      .program = [=](const AttentionBackward& s) { return attention_backward_program(s, of_keys); },
      .sizes =
          [=](const AttentionBackward& s) {
            whole_groups(name, s);
            return of_keys ? std::vector{s.batch, s.queries * s.group, s.keys, s.heads / s.group}
                           : std::vector{s.batch, s.queries, s.keys, s.heads};
          },
      .size_names = {"batch", "queries", "keys", "heads"},
      .data = [=](const AttentionBackward& s, Workload& w,
                  std::uint64_t seed) { backward_data(s, of_keys, w, seed); },
      .reference = [=](const AttentionBackward& s, const Workload& w,
                       const Results&) { return backward_reference(s, of_keys, w); },
      .text =
          [=](const AttentionBackward& s) {
            return fmt::format(
                "gradients of {0} of attention, Q[{1},{2},{3},{4}], K, V[{1},{5},{6},{4}]{7}, {8}", of,
                s.batch, s.queries, s.heads, s.head_dim, s.keys, s.heads / s.group,
                s.causal ? ", causal" : "", to_string(s.type));
          },
      .candidates =
          [](const AttentionBackward&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const int waves : {2, 4})
              for (const int each : {16, 32}) // rows of a wave
                add_candidate(all,
                              {{"waves", std::to_string(waves)},
                               {"tile", std::to_string(waves * each)},
                               {"step", each == 16 ? "64" : "32"}},
                              fixed);
            return all;
          },
      // A trip of a workgroup by its products, three or five, and what lies between them.
      .bound =
          [=](const AttentionBackward& s) {
            const std::int64_t own = of_keys ? s.keys : s.queries,
                               others = of_keys ? s.queries * s.group : s.keys,
                               heads = of_keys ? s.heads / s.group : s.heads;
            const double products = (of_keys ? 4.0 : 3.0) * s.tile * s.step * s.head_dim * 4 / s.waves /
                                    products_per_clock(s.arch, machine::Operand::f16);
            return rounds(s.arch, s.batch * heads * up(own, s.tile), 4 / s.waves) *
                   (4000 + static_cast<double>(up(others, s.step)) * (800 + products));
          }});
}

} // namespace

std::unique_ptr<Kernel> attention_backward_delta_kernel() {
  return page_of(Page<AttentionBackward>{
      .summary =
          "delta of attention's backward pass, the products of O and its gradient summed over each head",
      .options = {"attention_backward_delta", options(false)},
      .program = attention_delta_program,
      .sizes =
          [](const AttentionBackward& s) {
            whole_groups("attention_backward_delta", s);
            return std::vector{s.batch, s.queries, s.heads};
          },
      .size_names = {"batch", "queries", "heads"},
      .reference =
          [](const AttentionBackward& s, const Workload& w, const Results&) {
            const Rows rows{s};
            const Doubles none(w.values("lse").size());
            Judged delta{"delta", none, none, "(D + 8) 2^-24 sum |do o|"},
                lse2{"lse2", none, none, "2 2^-24 |lse2|"};
            each_row(s, [&](std::int64_t b, std::int64_t q, std::int64_t h) {
              const std::int64_t row = rows.query(b, q, h);
              const auto [sum, size] = dot(w.values("do"), row, w.values("o"), row, s.head_dim);
              const std::size_t to = at((b * s.heads + h) * s.queries + q);
              delta.value[to] = sum, delta.bound[to] = (s.head_dim + 8) * u32 * size;
              lse2.value[to] = w.values("lse")[to] / std::log(2);
              lse2.bound[to] = 2 * u32 * std::abs(lse2.value[to]);
            });
            return std::vector{delta, lse2};
          },
      .text =
          [](const AttentionBackward& s) {
            return fmt::format("delta[{0},{2},{1}] of O[{0},{1},{2},{3}], {4}", s.batch, s.queries, s.heads,
                               s.head_dim, to_string(s.type));
          }});
}

std::unique_ptr<Kernel> attention_backward_dq_kernel() {
  return gradient("attention_backward_dq", "Q", false);
}
std::unique_ptr<Kernel> attention_backward_dkv_kernel() {
  return gradient("attention_backward_dkv", "K and V", true);
}

} // namespace inlay::kernels
