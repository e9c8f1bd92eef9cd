// `gated_delta_step` on the command line, its data and its judge.
#include "../page.h"
#include "gated_delta_step.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using StepAsked = GatedDeltaStep;

void step_data(const StepAsked& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("beta", seed + 20, 1, true);
  if (!s.normalise) w.random("k", seed + 21, 0.2), w.random("q", seed + 22, 0.2);
  if (!s.decay) return;
  std::vector<double> g = w.values("g"); // of [-1, 1): forgets up to 0.9 of the state, or nothing
  for (double& x : g) x = std::min(0.0, 2 * x);
  w.set("g", g);
}

// S' = e^g S + k beta (v - (e^g S)^T k)^T and o = S'^T q / sqrt(D), column by column.
std::vector<Judged> step_reference(const StepAsked& s, const Workload& w, const Results&) {
  const auto at = [&](const char* of, std::int64_t n) { return w.values(of)[static_cast<std::size_t>(n)]; };
  const std::int64_t D = s.key, E = s.value;
  const double sums = (static_cast<double>(D) + 16) * u32;
  Judged o{"o",
           std::vector<double>(w.values("v").size()),
           {},
           "2 (D + 16) 2^-24 sum |s' q| + sum |q| error of s' + u |o|"},
      state{"state",
            std::vector<double>(w.values("state").size()),
            {},
            "2 (D + 16) 2^-24 (|e^g s| + |k| beta (|v| + sum |e^g s k|)) + u |s'|"};
  o.bound = o.value, state.bound = state.value;
  for (std::int64_t row = 0; row < s.batch * s.heads; ++row) {
    const std::int64_t of_key = row / s.group * D; // heads of a group follow one another
    const auto unit = [&](const char* of) {
      std::vector<double> x;
      double squares = 0;
      for (std::int64_t d = 0; d < D; ++d) x.push_back(at(of, of_key + d)), squares += x.back() * x.back();
      for (double& e : x) e *= s.normalise ? 1 / std::sqrt(squares + delta_epsilon) : 1;
      return x;
    };
    const std::vector<double> key = unit("k"), query = unit("q");
    const double keep = s.decay ? std::exp(at("g", row)) : 1, beta = at("beta", row);
    for (std::int64_t e = 0; e < E; ++e) {
      const double value = at("v", row * E + e);
      double held = 0, size = std::abs(value), out = 0, within = 0;
      for (std::int64_t d = 0; d < D; ++d) {
        const double one = keep * at("state", (row * D + d) * E + e) * key[static_cast<std::size_t>(d)];
        held += one, size += std::abs(one);
      }
      for (std::int64_t d = 0; d < D; ++d) {
        const auto n = static_cast<std::size_t>((row * D + d) * E + e), i = static_cast<std::size_t>(d);
        const double before = keep * w.values("state")[n], now = before + key[i] * beta * (value - held),
                     error = 2 * sums * (std::abs(before) + std::abs(key[i]) * beta * size);
        state.value[n] = now, state.bound[n] = error + rounding(s.state, now);
        out += now * query[i], within += std::abs(query[i]) * (error + 2 * sums * std::abs(now));
      }
      const auto n = static_cast<std::size_t>(row * E + e);
      o.value[n] = out / std::sqrt(D), o.bound[n] = within / std::sqrt(D) + rounding(s.type, o.value[n]);
    }
  }
  return {o, state};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_step_kernel() {
  using Read = Reads<StepAsked>;
  return page_of(Page<StepAsked>{
      .summary = "S = e^g S + k beta (v - (e^g S)^T k)^T and o = S^T q / sqrt(D): a token of the gated delta "
                 "rule (Qwen3-Next), the state in place",
      .options =
          {"gated_delta_step",
           {arch_option<StepAsked>(),
            {"dtype", Read::element(&StepAsked::type, "f16, bf16, f32"), "bf16",
             "element type of Q, K, V and O"},
            {"state", Read::element(&StepAsked::state, "f16, bf16, f32"), "f32", "element type of the state"},
            {"batch", Read::number(&StepAsked::batch, 1, 65535), "3", "sequences, each with a state"},
            {"heads", Read::number(&StepAsked::heads, 1, 1 << 10), "4",
             "heads of V, a multiple of the group"},
            {"group", Read::number(&StepAsked::group, 1, 64), "2", "heads of V that share one of Q and K"},
            {"key", Read::number(&StepAsked::key, 1, 1024), "128", "elements of a key: 32, 64, 128 or 256"},
            {"value", Read::number(&StepAsked::value, 1, 1024), "128",
             "elements of a value: 32, 64, 128 or 256"},
            {"decay", Read::yes(&StepAsked::decay), "yes",
             "the state is multiplied by e^g first; g is at most 0"},
            {"normalise", Read::yes(&StepAsked::normalise), "yes", "q and k are divided by their length"},
            {"columns", Read::number(&StepAsked::columns, 1, 1024), "auto", "values of a workgroup", "64"},
            {"threads", Read::number(&StepAsked::threads, 64, 256), "auto", "work-items of a workgroup",
             "256"}}},
      .program = gated_delta_step_program,
      .sizes =
          [](const StepAsked& s) {
            if (s.heads % s.group != 0)
              throw std::invalid_argument(
                  fmt::format("gated_delta_step: --heads {} is no multiple of --group {}", s.heads, s.group));
            return std::vector{s.batch, s.heads};
          },
      .size_names = {"batch", "heads"},
      .data = step_data,
      .reference = step_reference,
      .text =
          [](const StepAsked& s) {
            return fmt::format(
                "O[{0},{1},{3}] and the states [{0},{1},{2},{3}] after a token, {4}, state {5}", s.batch,
                s.heads, s.key, s.value, to_string(s.type), to_string(s.state));
          },
      .candidates =
          [](const StepAsked&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const int columns : {32, 64, 128})
              for (const int threads : {64, 128, 256})
                add_candidate(
                    all, {{"columns", std::to_string(columns)}, {"threads", std::to_string(threads)}}, fixed);
            return all;
          },
      .bound =
          [](const StepAsked& s) {
            const double moved = 2.0 * s.key * s.columns * codegen::bits(s.state) / 8;
            return rounds(s.arch, s.batch * s.heads * up(s.value, s.columns),
                          resident_by_waves(s.threads) / 2) *
                   (3000 + resident_by_waves(s.threads) / 2 * moved / 6.6);
          }});
}

} // namespace inlay::kernels
