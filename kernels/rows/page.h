/// A kernel of rows as a page (kernels/page.h): sizes, forms and clocks are those of rows.
#pragma once

#include "../page.h"
#include "row.h"

namespace inlay::kernels {

template <std::derived_from<RowAsked> Asked>
[[nodiscard]] std::unique_ptr<Kernel> rows_page(Page<Asked> page, bool folds = true) {
  if (!page.sizes) page.sizes = [](const Asked& a) { return std::vector{a.m, a.n}; };
  page.size_names = {"m", "n"};
  page.candidates = [=](const Asked& a, const Flags& fixed) { return row_forms(a, fixed, folds); };
  page.bound = [=](const Asked& a) { return row_clocks(a, folds); };
  return page_of(std::move(page));
}

/// The rows of a problem, one after the other: `f(row, of)`, where `of(values)` is the row's part of a tensor of m x n.
template <class F>
void each_row(std::int64_t m, std::int64_t n, F f) {
  for (std::int64_t r = 0; r < m; ++r)
    f(static_cast<std::size_t>(r), [=](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + r * n, all.begin() + (r + 1) * n);
    });
}

} // namespace inlay::kernels
