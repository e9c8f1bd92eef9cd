/// The next largest, and what column d of a result is: what the gatings' specifications and programs share. Private.
#pragma once

#include "../program_names.h"

#include <cmath>

namespace inlay::kernels {

/// x at place i where it comes after (value, place) in the order of the largest first, of equal ones the least place first; else -inf.
[[nodiscard]] inline Expr after(Program& k, Expr x, Expr i, Expr value, Expr place) {
  const Expr none = k.constant(-INFINITY);
  return select(x, value, select(value, x, select(i, place + 1.0, x, none), none), x);
}
/// of[column].
[[nodiscard]] inline Expr pick(Program& k, Sym column, const std::vector<Expr>& of) {
  Expr e = of[0];
  for (std::size_t d = 1; d < of.size(); ++d)
    e = select(k.number(column), k.constant(static_cast<double>(d)), of[d], e);
  return e;
}

} // namespace inlay::kernels
