/// Constants of expressions, as their nodes hold them. Private.
#pragma once

#include <inlay/codegen/expression.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace inlay::codegen {

// A constant is exact, or it stands for all numbers within 2^-38 of it. Exact is what a program writes with up to 40 bits, as every number of
// f32 is, and sums and products of such, as long as 53 bits hold them: beyond that they are not put together. Others, such as 0.1, and
// quotients, roots and functions of numbers, are one number where they are the same after rounding to 40 bits, so that one that was reached on
// two ways is one; one that 24 bits hold is that one if it is reached up to a few units of the 40th: 0.75 ln 2 log2 e is 0.75.
inline double rounded(double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = 0;
  const double mantissa = std::frexp(v, &exponent),
               shorter = std::ldexp(std::round(std::ldexp(mantissa, 24)), -24);
  if (std::abs(mantissa - shorter) < 0x1p-38) return std::ldexp(shorter, exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 40)), exponent - 40);
}

inline int significant_bits(double v) {
  if (v == 0 || !std::isfinite(v)) return 0;
  int exponent = 0;
  return 53 -
         std::countr_zero(static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(v), &exponent), 53)));
}

// A constant, or the exponent of a power. Its node says by `tensor` that it is not exact, and is one for all that round to it.
struct Number {
  static constexpr int not_exact = 0; // ExprNode::tensor
  double value = 0;
  bool exact = true;

  static Number about(double v) {
    const double near = rounded(v);
    return significant_bits(near) <= 24 ? Number{near} : Number{v, false};
  }
  static Number written(double v) { return {v, significant_bits(v) <= 40}; } // with all its digits
  static Number of(const ExprNode& n) { return {n.value, n.tensor != not_exact}; }
  [[nodiscard]] ExprNode node() const {
    return {.fn = Fn::constant, .value = value, .tensor = exact ? -1 : not_exact};
  }
  [[nodiscard]] ExprNode power_of(int base) const {
    return {.fn = Fn::power, .value = value, .tensor = exact ? -1 : not_exact, .args = {base}};
  }
};

inline bool is_not_exact(const ExprNode& n) {
  return (n.fn == Fn::constant || n.fn == Fn::power) && n.tensor == Number::not_exact;
}

/// The value of the last binary digit.
inline double lowest_bit(double v) {
  int exponent = 0;
  (void)std::frexp(v, &exponent);
  return std::ldexp(1, exponent - significant_bits(v));
}

/// Whether nothing is lost at the ends of what f64 has.
inline bool in_range(double v) { return 0x1p-900 < std::fabs(v) && std::fabs(v) < 0x1p900; }

/// a + b or a b; nothing where both are exact and 53 bits do not hold it, where one that is not exact would swallow the other, or where it
/// leaves little more than what it is off by.
inline std::optional<Number> together(Number a, Number b, bool sum) {
  const double both = sum ? a.value + b.value : a.value * b.value;
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) return Number{both};
  if (a.value == 0 || b.value == 0) return sum ? Number{both, a.exact && b.exact} : Number{0};
  const bool opposite = sum && a.exact == b.exact && rounded(a.value) == rounded(-b.value);
  if (opposite && !a.exact) return Number{0};
  if (!(sum && both == 0) && !in_range(both)) return std::nullopt;
  if (a.exact && b.exact) {
    const double of_b = both - a.value, lost = sum ? (a.value - (both - of_b)) + (b.value - of_b)
                                                   : std::fma(a.value, b.value, -both);
    return lost == 0 ? std::optional(Number{both}) : std::nullopt;
  }
  const double x = std::fabs(a.value), y = std::fabs(b.value);
  if (sum && (std::min(x, y) < 0x1p-20 * std::max(x, y) || std::fabs(both) < 0x1p-14 * std::max(x, y)))
    return std::nullopt;
  if (sum && a.exact != b.exact && lowest_bit((a.exact ? a : b).value) < 0x1p-36 * std::fabs(both))
    return std::nullopt; // of the exact one no digit is lost
  return Number::about(both);
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
