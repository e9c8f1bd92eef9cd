/// Where matrices lie in memory, but for the usual row-major place. Private.
#pragma once

#include "program_names.h"

namespace inlay::kernels {

/// Extents, each with its distance, the first one first: by_strides({{m, n + pad}, {n, 1}}) = (m,n):(n+pad,1).
[[nodiscard]] inline SymLayout by_strides(const std::vector<std::pair<Sym, Sym>>& axes) {
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open();
  for (const auto& [extent, distance] : axes) b.leaf(BasicMode<Sym>{extent, BasicStride<Sym>(distance)});
  b.close(all, axes.size());
  return SymLayout(std::move(b).finish());
}

/// One column after the other: (rows,columns):(1,rows).
[[nodiscard]] inline SymLayout by_columns(Sym rows, Sym columns) {
  return by_strides({{rows, Sym(1)}, {columns, rows}});
}

} // namespace inlay::kernels
