// Kernels of rows on the command line: options of their specification, sizes and forms.
#include "kernel.h"

namespace inlay::kernels {

using ReadsRows = Reads<RowAsked>;

std::unique_ptr<Kernel> kernel_of_rows(const std::string& name, const std::string& summary,
                                       const std::string& length, codegen::Program (*program)(const RowSpec&),
                                       Problem (*problem)(const RowSpec&, std::int64_t, std::int64_t,
                                                          std::uint64_t),
                                       bool folds, bool normalises) {
  std::vector<Option<RowAsked>> rows = row_options<RowAsked>(length, folds);
  if (folds)
    rows.push_back(
        {"in-place", ReadsRows::yes(&RowAsked::in_place), "no", "Y takes the place of X, and H that of R"});
  if (normalises) {
    rows.push_back(
        {"epsilon", ReadsRows::real(&RowAsked::epsilon), "1e-5", "added to the mean of the squares"});
    rows.push_back({"residual", ReadsRows::yes(&RowAsked::residual), "no",
                    "h = x + r is stored, and is what is normalised"});
    rows.push_back(
        {"quant",
         ReadsRows::parsed(&RowAsked::quantised, "no, i8, fp8",
                           [](const RowAsked& asked, const std::string& text) -> std::optional<Element> {
                             if (text == "no") return {};
                             return codegen::parse_element(text, codegen::Target::named(asked.arch));
                           }),
         "no", "Y in that type, with a scale for each row"});
  }
  const auto candidates = [=](const RowAsked& asked, const Flags& fixed) {
    return row_forms(asked, fixed, folds);
  };
  const auto bound = [=](const RowAsked& asked) {
    return row_clocks(asked, folds, asked.quantised || asked.residual ? 3 : 2);
  };
  return kernel_of<RowAsked>(
      {summary,
       {name, std::move(rows)},
       [=](const RowAsked& asked, const BuildOptions& how) { return build(program(asked), how); },
       [=](const RowAsked& asked, std::uint64_t seed) { return problem(asked, asked.m, asked.n, seed); },
       {"m", length},
       [](const RowAsked& asked) {
         return std::vector{asked.m, asked.n};
       },
       candidates,
       bound});
}

} // namespace inlay::kernels
