// `grouped_gating` on the command line, its data and its judge.
#include "../page.h"
#include "gating.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

/// The order of numbers, the largest first and of equal ones the least place; `tried` are places that a launch chose, one after the
/// other. It decides between numbers closer than `error`, which rounding may exchange, and never between equal ones.
std::vector<std::size_t> order_of(const std::vector<double>& of, const std::vector<std::size_t>& tried,
                                  double error) {
  std::vector<double> key = of;
  for (std::size_t d = tried.size(); d-- > 0;)
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i] == of[tried[d]]) key[i] = of[i] + error * static_cast<double>(2 * (tried.size() - d));
  std::vector<std::size_t> order(of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] > key[b]; });
  return order;
}

std::vector<Judged> grouped_gating_reference(const GroupedGating& s, const Workload& w,
                                             const Results& result) {
  Judged weights{"weights", {}, {}, "(24 + 4 |x|) 2^-24 w"},
      ids{"ids", {}, {}, "0, between scores that are (16 + 4 |x|) 2^-24 apart"};
  const auto n = static_cast<std::size_t>(s.experts), chosen = static_cast<std::size_t>(s.k),
             groups = static_cast<std::size_t>(s.groups), members = n / groups;
  const std::vector<double> given = result("ids");
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.m); ++r) {
    const double* x = w.values("x").data() + r * n;
    std::vector<double> score(n), rank(n), of_group(groups);
    double far = 0;
    for (std::size_t i = 0; i < n; ++i) {
      score[i] = 1 / (1 + std::exp(-x[i])), rank[i] = score[i] + w.values("bias")[i];
      far = std::max({far, std::abs(x[i]), std::abs(rank[i])});
    }
    for (std::size_t j = 0; j < groups; ++j) {
      std::vector<double> of(rank.begin() + static_cast<std::ptrdiff_t>(j * members),
                             rank.begin() + static_cast<std::ptrdiff_t>((j + 1) * members));
      std::partial_sort(of.begin(), of.begin() + 2, of.end(), std::greater<>());
      of_group[j] = of[0] + of[1];
    }
    std::vector<std::size_t> tried, tried_groups;
    for (std::size_t d = 0; d < chosen; ++d)
      if (const double id = given[r * chosen + d]; id >= 0 && id < static_cast<double>(n)) {
        tried.push_back(static_cast<std::size_t>(id));
        if (const std::size_t j = tried.back() / members;
            std::find(tried_groups.begin(), tried_groups.end(), j) == tried_groups.end())
          tried_groups.push_back(j);
      }
    const double error = (16 + 4 * far) * u32;
    std::vector<std::size_t> best = order_of(of_group, tried_groups, 2 * error);
    best.resize(static_cast<std::size_t>(s.of_groups));
    for (std::size_t i = 0; i < n; ++i)
      if (std::find(best.begin(), best.end(), i / members) == best.end()) rank[i] = -INFINITY;
    const std::vector<std::size_t> order = order_of(rank, tried, error);
    double sum = 0;
    for (std::size_t d = 0; d < chosen; ++d) sum += score[order[d]];
    for (std::size_t d = 0; d < chosen; ++d) {
      const double value = score[order[d]] * s.scale / (s.renormalise ? sum : 1);
      ids.value.push_back(static_cast<double>(order[d])), ids.bound.push_back(0);
      weights.value.push_back(value);
      weights.bound.push_back((24 + 4 * far) * u32 * std::abs(value));
    }
  }
  return {weights, ids};
}

} // namespace

std::unique_ptr<Kernel> grouped_gating_kernel() {
  using Read = Reads<GroupedGating>;
  Page<GroupedGating> page{
      .summary = "the k best experts of each token's best groups, by a sigmoid and a bias, and their scores "
                 "(DeepSeek-V3)",
      .options = {"grouped_gating",
                  {arch_option<GroupedGating>(),
                   {"dtype", Read::element(&GroupedGating::type, "f16, bf16, f32"), "f32", "of the logits"},
                   {"m", Read::number(&GroupedGating::m, 1, 1 << 22), "64", "tokens"},
                   {"experts", Read::number(&GroupedGating::experts, 1, 1 << 16), "256",
                    "experts, a multiple of 32 up to 512"},
                   {"groups", Read::number(&GroupedGating::groups, 1, 16), "8",
                    "groups of experts: 1, 2, 4, 8 or 16"},
                   {"topk-group", Read::number(&GroupedGating::of_groups, 1, 16), "4",
                    "groups that experts are taken of; a group counts as much as its two best experts"},
                   {"k", Read::number(&GroupedGating::k, 1, 16), "8", "experts of a token"},
                   {"renormalise", Read::yes(&GroupedGating::renormalise), "yes",
                    "weights are scores over their sum; no: scores"},
                   {"scale", Read::real(&GroupedGating::scale), "1",
                    "factor of the weights (DeepSeek-V3: 2.5)"}}},
      .program = grouped_gating_program,
      .sizes = members(&GroupedGating::m),
      .size_names = {"m"},
      .data =
          [](const GroupedGating& s, Workload& w, std::uint64_t seed) { // the odd rows have equal logits
            w.random("x", seed, 4), w.random("bias", seed + 1, 0.25);
            std::vector<double> x = w.values("x"), bias = w.values("bias");
            for (std::size_t i = 0; i < x.size(); ++i)
              if (i / static_cast<std::size_t>(s.experts) % 2 == 1) x[i] = std::round(x[i]);
            for (double& b : bias) b = std::round(32 * b) / 32;
            w.set("x", x), w.set("bias", bias);
          },
      .reference = grouped_gating_reference,
      .text =
          [](const GroupedGating& s) {
            return fmt::format("{} of {} experts in {} of {} groups for {} tokens, {}", s.k, s.experts,
                               s.of_groups, s.groups, s.m, to_string(s.type));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
