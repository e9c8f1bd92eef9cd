/// Constants of expressions, as their nodes hold them. Private.
#pragma once

#include <inlay/codegen/expression.h>

#include <cmath>
#include <cstdint>
#include <optional>

namespace inlay::codegen {

// Constants are compared after rounding to 40 bits, so that one that was reached on two ways is one; one that 24 bits hold
// is that one if it is reached up to a few units of the 40th: 0.75 ln 2 log2 e is 0.75.
inline double rounded(double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = 0;
  const double mantissa = std::frexp(v, &exponent),
               shorter = std::ldexp(std::round(std::ldexp(mantissa, 24)), -24);
  if (std::abs(mantissa - shorter) < 0x1p-38) return std::ldexp(shorter, exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 40)), exponent - 40);
}

inline constexpr double two_32 = 4294967296.0;

inline bool is_fold_of_i32(const ExprNode& n) { return n.fn == Fn::fold && is_of_i32(n.monoid); }

// A number that is an integer of 32 bits, with a sign or without, as one without.
inline std::optional<double> as_word(double v) {
  if (v != std::floor(v) || v < -two_32 / 2 || v >= two_32) return std::nullopt;
  return v < 0 ? v + two_32 : v;
}
inline std::uint32_t word_of(double v) { return v >= 0 && v < two_32 ? static_cast<std::uint32_t>(v) : 0; }

} // namespace inlay::codegen
