/// Rows to 8 bits: what can be asked for, and the program. Private.
#pragma once

#include "../map/lowered.h"
#include "page.h"

#include <fmt/format.h>

namespace inlay::kernels {

/// With x the elements of X, or act(A) * B of its halves A and B, and a scale for each row or for each block of columns:
///
///     scale[m] = max(max_n |x[m,n]|, 2^-100) / largest number of the type,   y[m,n] = x[m,n] / scale[m]
struct QuantiseAsked : RowAsked {
  std::string gate;  ///< the activation of the first half of X, or nothing
  int block = 0;     ///< columns that share a scale; 0: all of a row
  bool amax = false; ///< the greatest magnitudes are a result, too
};

[[nodiscard]] inline std::string formula(const QuantiseAsked& s) {
  return s.gate.empty() ? "y = a" : "y = " + s.gate + "(a) * b";
}

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] Program quantise_program(const std::string& name, const QuantiseAsked& s);

} // namespace inlay::kernels
