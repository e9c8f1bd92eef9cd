// `topk_gating` on the command line, its data and its judge.
#include "../page.h"
#include "gating.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

std::vector<Judged> gating_reference(const Gating& s, const Workload& w, const Results&) {
  Judged weights{"weights", {}, {}, "(12 + 4 distance + E) 2^-24 w"}, ids{"ids", {}, {}, "0"};
  const auto n = static_cast<std::size_t>(s.experts), chosen = static_cast<std::size_t>(s.k);
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.m); ++r) {
    const double* x = w.values("x").data() + r * n;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
    double sum = 0;
    for (std::size_t i = 0; i < (s.renormalise ? chosen : n); ++i) sum += std::exp(x[order[i]] - x[order[0]]);
    for (std::size_t d = 0; d < chosen; ++d) {
      const double far = x[order[0]] - x[order[n - 1]], value = std::exp(x[order[d]] - x[order[0]]) / sum;
      ids.value.push_back(static_cast<double>(order[d])), ids.bound.push_back(0);
      weights.value.push_back(value);
      weights.bound.push_back((12 + 8 * far + static_cast<double>(n)) * u32 * value);
    }
  }
  return {weights, ids};
}

} // namespace

std::unique_ptr<Kernel> topk_gating_kernel() {
  using Read = Reads<Gating>;
  Page<Gating> page{
      .summary = "the k largest logits of each token and their softmax, renormalised or over all experts",
      .options =
          {"topk_gating",
           {arch_option<Gating>(),
            {"dtype", Read::element(&Gating::type, "f16, bf16, f32"), "f32", "element type of the logits"},
            {"m", Read::number(&Gating::m, 1, 1 << 24), "64", "tokens"},
            {"experts", Read::number(&Gating::experts, 1, 1 << 16), "256", "experts: 64, 128, 256 or 512"},
            {"k", Read::number(&Gating::k, 1, 16), "8", "experts of a token"},
            {"renormalise", Read::yes(&Gating::renormalise), "yes",
             "weights are a softmax over the chosen experts; no: over all"},
            {"lanes", Read::number(&Gating::lanes, 0, 64), "auto",
             "lanes that have a token's logits: 4, 8, 16, 32 or 64; 0: 4 of 256 experts and more, else 8",
             "0"}}},
      .program = gating_program,
      .sizes = members(&Gating::m),
      .size_names = {"m"},
      .data =
          [](const Gating& s, Workload& w, std::uint64_t seed) { // the odd rows have equal logits
            w.random("x", seed, 4);
            std::vector<double> x = w.values("x");
            for (std::size_t i = 0; i < x.size(); ++i)
              if (i / static_cast<std::size_t>(s.experts) % 2 == 1) x[i] = std::round(2 * x[i]) / 2;
            w.set("x", x);
          },
      .reference = gating_reference,
      .text =
          [](const Gating& s) {
            return fmt::format("{} of {} experts for {} tokens, {}", s.k, s.experts, s.m, to_string(s.type));
          },
      .candidates =
          [](const Gating&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* lanes : {"4", "8", "16", "32", "64"})
              add_candidate(all, {{"lanes", lanes}}, fixed);
            return all;
          },
      .bound = [](const Gating& s) { // a lane sorts its elements, and lists are merged from lane to lane
        const double each = 24.0 * s.experts / s.lanes_used() + 60 * std::log2(s.lanes_used());
        return rounds(s.arch, up(s.m, 256 / s.lanes_used()), 4) * (1500 + each);
      }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
