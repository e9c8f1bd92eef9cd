/// Where matrices lie in memory, but for the usual row-major place, and where parts of a sum lie in registers. Private.
#pragma once

#include "program_names.h"

#include <inlay/algebra/ops/select.h>

namespace inlay::kernels {

/// An extent and its distance, or some of these as one axis, the first one fastest.
struct Strided {
  Strided(Sym extent, Sym distance) : layout(extent, BasicStride<Sym>(distance)) {}
  Strided(std::initializer_list<Strided> parts);
  SymLayout layout;
};

/// Axes in the order of a tensor's: by_strides({{m, n + pad}, {n, 1}}) = (m,n):(n+pad,1), and
/// by_strides({{m, n}, {{4, 1}, {n / 4, 4 * m}}}) = (m,(4,n/4)):(n,(1,4*m)).
[[nodiscard]] inline SymLayout by_strides(const std::vector<Strided>& axes) {
  std::vector<SymLayout> of;
  for (const Strided& axis : axes) of.push_back(axis.layout);
  return concatenate(of);
}
inline Strided::Strided(std::initializer_list<Strided> parts) : layout(by_strides(parts)) {}

/// by_rows({S, 1, D}) = (S,1,D):(D,D,1): said in full, so that an axis of one has a distance too.
[[nodiscard]] inline SymLayout by_rows(const std::vector<Sym>& shape) {
  std::vector<Strided> axes;
  Sym distance(1);
  for (std::size_t axis = shape.size(); axis-- > 0; distance = distance * shape[axis])
    axes.emplace(axes.begin(), shape[axis], distance);
  return by_strides(axes);
}

/// One column after the other: (rows,columns):(1,rows).
[[nodiscard]] inline SymLayout by_columns(Sym rows, Sym columns) {
  return by_strides({{rows, Sym(1)}, {columns, rows}});
}

/// Of what (work-item, value) -> (row, column) has, so many parts along a third axis, one after the other.
[[nodiscard]] inline Layout with_parts(const Layout& tv, int parts) {
  const Layout halves[] = {tv.mode(0), append(tv.mode(1), Layout(parts, Stride(Int(1), Axis{2})))};
  return concatenate(halves);
}

} // namespace inlay::kernels
