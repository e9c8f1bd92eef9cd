// A routing of tokens to experts, and the judges of both products, by plain loops.
#include "../problem.h"
#include "../weight_only/packed.h"
#include "narrow.h"

#include <inlay/kernels/moe/spec.h>

#include <cmath>
#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

// Two different experts for each token where there are two, positions sorted by expert, each expert's last block padded
// with an id that is no token.
void route(Workload& w, const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::int64_t>> of(static_cast<std::size_t>(sizes.experts));
  for (std::int64_t t = 0; t < sizes.tokens; ++t) {
    const std::uint64_t first = random() % of.size(),
                        step = of.size() > 1 ? 1 + random() % (of.size() - 1) : 0;
    of[first].push_back(t);
    if (step > 0) of[(first + step) % of.size()].push_back(t);
  }
  std::vector<double> ids, experts;
  for (std::size_t e = 0; e < of.size(); ++e)
    for (std::size_t at = 0; at < of[e].size(); at += static_cast<std::size_t>(spec.tile_m)) {
      experts.push_back(static_cast<double>(e));
      for (std::size_t i = at; i < at + static_cast<std::size_t>(spec.tile_m); ++i)
        ids.push_back(static_cast<double>(i < of[e].size() ? of[e][i] : sizes.tokens));
    }
  // Up to the last token; after it, whatever the buffers held before: here tokens and experts that there are.
  std::size_t used = ids.size();
  while (used > 0 && ids[used - 1] == static_cast<double>(sizes.tokens)) --used;
  w.set("rows_in_use", {static_cast<double>(used)});
  ids.resize(static_cast<std::size_t>(sizes.rows), 0);
  experts.resize(static_cast<std::size_t>(w.extents("experts_of_blocks")[0]), 0);
  w.set("ids", std::move(ids));
  w.set("experts_of_blocks", std::move(experts));
}

// Random elements, and scales that leave sums of a few units; i8 has whole numbers.
void operands(Workload& w, const MoeSpec& s, std::uint64_t seed, const char* rows, const char* weights) {
  const double size = s.type == Element::i8 ? 127 : 1;
  w.random(rows, seed, size);
  if (s.group > 0) {
    random_words(w, weights, seed + 1);
    return w.random(std::string("s") + weights, seed + 5, 0.1, true);
  }
  w.random(weights, seed + 1, size);
  for (const char* of : {rows, weights})
    random_scales(w, s.scales, std::string("s") + of, 1 / size, of == rows ? seed + 4 : seed + 5);
}

// The product of a row and a channel, and of their magnitudes, by plain loops.
struct Sums {
  double value = 0, size = 0;
};
class Products {
public:
  Products(const Workload& w, const MoeSpec& s, const char* rows, const char* weights, std::int64_t k,
           std::int64_t channels)
      : a_(w.values(rows)), b_(w.values(weights)), k_(k), channels_(channels), group_(s.group),
        by_(s.scales) {
    if (by_ != Scales::none || group_ > 0) sb_ = &w.values(std::string("s") + weights);
    if (by_ != Scales::none) sa_ = &w.values(std::string("s") + rows);
  }
  // Matrix `number` of the weights; scales of 32 k are those of the position.
  [[nodiscard]] Sums of(std::int64_t row, std::int64_t position, std::int64_t number,
                        std::int64_t channel) const {
    const bool block = by_ == Scales::block, mx = by_ == Scales::mx;
    const std::int64_t each = block ? 128
                              : mx  ? 32
                                    : k_,
                       wide = block || mx ? k_ / each : 1,
                       high = block ? (channels_ + 127) / 128
                              : mx  ? (channels_ + 31) / 32 * 32
                                    : channels_,
                       from = number * high + (block ? channel / 128 : channel), of_row = mx ? position : row;
    Sums out;
    for (std::int64_t i = 0; i < k_; ++i) {
      const std::int64_t to = number * channels_ + channel;
      const double stored = at(b_, to * k_ + i);
      double x = at(a_, row * k_ + i) * (group_ > 0 ? weight_of(stored, i) : stored);
      if (group_ > 0) x *= at(*sb_, to * (k_ / group_) + i / group_);
      if (by_ != Scales::none) {
        const std::int64_t b = i / each;
        x *= at(*sa_, of_row * wide + b) * at(*sb_, from * wide + b);
      }
      out.value += x, out.size += std::abs(x);
    }
    return out;
  }

private:
  static double at(const std::vector<double>& of, std::int64_t n) { return of[static_cast<std::size_t>(n)]; }
  const std::vector<double>&a_, &b_, *sa_ = nullptr, *sb_ = nullptr;
  std::int64_t k_, channels_, group_;
  Scales by_;
};

// The token and the expert of a position, where both are some.
std::optional<std::pair<std::int64_t, std::int64_t>> place(const Workload& w, const MoeSpec& spec,
                                                           const MoeSizes& sizes, std::int64_t p) {
  if (p >= static_cast<std::int64_t>(w.values("rows_in_use")[0])) return {};
  const auto number = [&](const char* of, std::int64_t n) {
    return static_cast<std::int64_t>(w.values(of)[static_cast<std::size_t>(n)]);
  };
  const std::int64_t token = number("ids", p), expert = number("experts_of_blocks", p / spec.tile_m);
  if (token < 0 || token >= sizes.tokens || expert < 0 || expert >= sizes.experts) return {};
  return std::pair(token, expert);
}

const double unit = std::ldexp(1, -24);

} // namespace

Problem moe_stage1_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(
      moe_stage1_program(spec),
      std::vector<std::int64_t>{sizes.tokens, sizes.k, sizes.inter, sizes.experts, sizes.rows});
  operands(*w, spec, seed, "x", "w");
  route(*w, spec, sizes, seed + 2);

  Problem problem = w->problem();
  problem.flops =
      4.0 * static_cast<double>(sizes.rows) * static_cast<double>(sizes.k) * static_cast<double>(sizes.inter);
  problem.text = fmt::format("Y[{0},{2}] = silu(X Wgate) * (X Wup), {1} columns of X, {3} experts, {4}",
                             sizes.rows, sizes.k, sizes.inter, sizes.experts, codegen::to_string(spec.type));
  problem.check = [w, spec, sizes](std::span<const Bytes> buffers) {
    const Products of(*w, spec, "x", "w", sizes.k, sizes.inter);
    const Element out = spec.narrow_out();
    const double error =
        2 * static_cast<double>(sizes.k + (spec.narrow() ? 8 : 0)) * unit +
        (spec.group > 0 ? unit_roundoff(spec.type) : 0); // a weight times its scale is rounded
    std::vector<double> value, bound;
    for (std::int64_t p = 0; p < sizes.rows; ++p)
      for (std::int64_t i = 0; i < sizes.inter; ++i) {
        Sums gate, up;
        if (const auto at = place(*w, spec, sizes, p))
          gate = of.of(at->first, p, at->second * 2, i), up = of.of(at->first, p, at->second * 2 + 1, i);
        value.push_back(gate.value / (1 + std::exp(-gate.value)) * up.value);
        // silu has a slope of at most 1.1, and |silu(g)| <= |g|.
        bound.push_back(2.2 * error * gate.size * up.size +
                        (unit_roundoff(out) + 16 * unit) * std::abs(value.back()) +
                        (out == Element::f16 ? std::ldexp(1, -25) : 0));
      }
    return compare(w->result("y", buffers), value, bound, sizes.inter,
                   "4.4 K 2^-24 sum |x wg| sum |x wu| + (u + 2^-20) |y|");
  };
  return problem;
}

Problem moe_stage2_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(
      moe_stage2_program(spec),
      std::vector<std::int64_t>{sizes.tokens, sizes.k, sizes.inter, sizes.experts, sizes.rows});
  operands(*w, spec, seed, "y", "v");
  w->random("weights", seed + 3);
  route(*w, spec, sizes, seed + 2);

  Problem problem = w->problem();
  problem.flops =
      2.0 * static_cast<double>(sizes.rows) * static_cast<double>(sizes.k) * static_cast<double>(sizes.inter);
  problem.text = fmt::format(
      "Z[{0},{2}] += weights (Y V) at the tokens of {1} rows, {3} columns of Y, {4} experts, {5} -> {6}",
      sizes.tokens, sizes.rows, sizes.k, sizes.inter, sizes.experts, codegen::to_string(spec.type),
      codegen::to_string(spec.out));
  problem.check = [w, spec, sizes](std::span<const Bytes> buffers) {
    const Products of(*w, spec, "y", "v", sizes.inter, sizes.k);
    std::vector<double> value(static_cast<std::size_t>(sizes.tokens * sizes.k), 0), bound(value.size(), 0);
    // Two experts: each part is rounded to the type of the sums, and so is each of them.
    const double u = 4 * unit_roundoff(spec.out),
                 least = spec.out == Element::f16 ? 4 * std::ldexp(1, -25) : 0,
                 error = 2 * static_cast<double>(sizes.inter + (spec.narrow() ? 8 : 1)) * unit + u +
                         (spec.group > 0 ? unit_roundoff(spec.type) : 0);
    for (std::int64_t p = 0; p < sizes.rows; ++p)
      if (const auto at = place(*w, spec, sizes, p))
        for (std::int64_t d = 0; d < sizes.k; ++d) {
          const Sums one = of.of(p, p, at->second, d);
          const double weight = w->values("weights")[static_cast<std::size_t>(p)];
          const auto to = static_cast<std::size_t>(at->first * sizes.k + d);
          value[to] += weight * one.value, bound[to] += error * std::abs(weight) * one.size;
        }
    for (double& b : bound) b += least;
    return compare(w->result("z", buffers), value, bound, sizes.k, "(2 (I + 1) 2^-24 + 4 u) sum |w y v|");
  };
  return problem;
}

} // namespace inlay::kernels
