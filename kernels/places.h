/// Where matrices lie in memory, but for the usual row-major place. Private.
#pragma once

#include "program_names.h"

namespace inlay::kernels {

/// One column after the other: (rows,columns):(1,rows).
[[nodiscard]] inline SymLayout by_columns(Sym rows, Sym columns) {
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open();
  b.leaf(BasicMode<Sym>{rows, BasicStride<Sym>(Sym(1))});
  b.leaf(BasicMode<Sym>{columns, BasicStride<Sym>(rows)});
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

} // namespace inlay::kernels
