/// What a softmax in parts subtracts. Private.
#pragma once

#include "program_names.h"

#include <limits>

namespace inlay::kernels {

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// max(x, -FLT_MAX): of a greatest element that may be minus infinity, what can be subtracted from minus infinity.
[[nodiscard]] inline Expr least_number(Expr x) {
  return max(x, x.arena->constant(std::numeric_limits<float>::lowest()));
}

} // namespace inlay::kernels
