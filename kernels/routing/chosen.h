/// What is left after a choice, and what column d of a result is: what the gatings' specifications and programs share. Private.
#pragma once

#include "../program_names.h"

#include <cmath>

namespace inlay::kernels {

/// x, and minus infinity at the place that was chosen.
[[nodiscard]] inline Expr without(Program& k, Expr x, Sym place, Expr chosen) {
  return choose(equal(integer(k.number(place)), truncated(chosen)), k.constant(-INFINITY), x);
}
/// of[column].
[[nodiscard]] inline Expr pick(Program& k, Sym column, const std::vector<Expr>& of) {
  Expr e = of[0];
  for (std::size_t d = 1; d < of.size(); ++d)
    e = select(k.number(column), k.constant(static_cast<double>(d)), of[d], e);
  return e;
}

} // namespace inlay::kernels
