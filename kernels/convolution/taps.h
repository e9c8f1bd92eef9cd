/// Taps of a depthwise convolution over time. Private.
#pragma once

#include "../page.h"
#include "../places.h"

#include <inlay/codegen/functions.h>

namespace inlay::kernels {

/// [D,width] in memory, looked at as [width,D].
[[nodiscard]] inline SymLayout by_taps(int width, Sym channels) {
  return by_strides({{width, 1}, {channels, width}});
}

/// What a sum of taps is to be: x / (1 + e^-x) of it, whose slope is at most 1.1, or itself.
inline void judge_taps(Judged& y, bool silu, Element type, double sum, double size) {
  const double value = silu ? sum / (1 + std::exp(-sum)) : sum;
  y.value.push_back(value);
  y.bound.push_back((silu ? 2 : 1) * 8 * u32 * size + 8 * u32 * std::abs(value) + rounding(type, value));
}

} // namespace inlay::kernels
