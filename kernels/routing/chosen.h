/// What column d of a result is: what the gatings' specifications and programs share. Private.
#pragma once

#include "../program_names.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>

namespace inlay::kernels {

/// of[column].
[[nodiscard]] inline Expr pick(Program& k, Sym column, const std::vector<Expr>& of) {
  Expr e = of[0];
  for (std::size_t d = 1; d < of.size(); ++d)
    e = select(k.number(column), k.constant(static_cast<double>(d)), of[d], e);
  return e;
}

/// Columns of a row one after the other, `of` each: every one of the `lanes` work-items of a row has all of its results, which lie together.
/// `shape`: rows, columns, and axes of 1.
[[nodiscard]] inline Fragment side_by_side(Program& k, std::vector<Fragment> of, int lanes,
                                           const std::vector<int>& shape,
                                           std::source_location where = std::source_location::current()) {
  const Layout results =
      parse_layout(fmt::format("(({0},{1}),{2}):((0,1@0),1@1)", lanes, shape[0], shape[1]));
  of.push_back(k.zeros(codegen::Element::f32, results, shape, where));
  return k.map(
      of,
      [&](const Exprs& a) {
        return pick(k, k.position(1), {a.begin(), a.end() - 1});
      },
      codegen::Element::f32, where);
}

} // namespace inlay::kernels
