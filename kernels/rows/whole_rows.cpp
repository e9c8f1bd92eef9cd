// What kernels share that read whole rows.
#include "whole_rows.h"

namespace inlay::kernels {

Exponentials exponentials(const std::vector<double>& x, double additions) {
  Exponentials e{.most = *std::max_element(x.begin(), x.end())};
  double distance = 0; // weighted: exp(-d) errs by (4 + 4 d) units
  for (const double v : x) e.sum += std::exp(v - e.most), distance += (e.most - v) * std::exp(v - e.most);
  const double log = std::log(e.sum);
  e.logarithm = e.most + log;
  e.error = u32 * (additions + 8 + 4 * distance / e.sum + 6 * std::abs(log) + 2 * std::abs(e.logarithm));
  return e;
}

std::unique_ptr<Kernel>
simple(const std::string& name, const std::string& summary, Program (*program)(const RowAsked&),
       std::function<void(const RowAsked&, Workload&, std::uint64_t)> data,
       std::function<std::vector<Judged>(const RowAsked&, const Workload&, const Results&)> reference) {
  return rows_page<RowAsked>({.summary = summary,
                              .options = {name, row_options<RowAsked>("n", true)},
                              .program = program,
                              .sizes = {},
                              .data = std::move(data),
                              .reference = std::move(reference),
                              .text = [=](const RowAsked& s) {
                                return fmt::format("{}, rows {} x {}, {}", name, s.m, s.n, to_string(s.type));
                              }});
}

} // namespace inlay::kernels
