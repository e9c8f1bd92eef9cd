/// The number formats of registers and memory, one row each: what a code of so many bits stands for.
///
/// A float is a sign (but for e8m0), `exponent_bits` of exponent with `bias`, `mantissa_bits` of fraction, and what its top codes are;
/// subnormal where the exponent's field is 0. An integer is two's complement; i1 is 0 or 1.
///
///     format("e4m3fn").bias            // 7
///     format("f16").mantissa_bits      // 10
///
/// Sources: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0 (e4m3fn, e5m2); OCP Microscaling Formats 1.0 (e2m3, e3m2, e2m1,
/// e8m0); "AMD Instinct MI300 ISA (CDNA3)" and "AMD Instinct CDNA4 ISA" Reference Guides, data types and V_CVT_* (FNUZ, xf32).
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace inlay::machine {

/// What the codes with the largest exponent are.
enum class TopCodes : std::uint8_t {
  infinity,      ///< Inf and NaNs as in IEEE 754
  one_nan,       ///< numbers, except all-ones, which is NaN
  unsigned_zero, ///< numbers; NaN takes the code of -0
  numbers        ///< numbers, no NaN at all
};

struct Format {
  std::string_view name;
  int bits;
  int exponent_bits = 0, mantissa_bits = 0, bias = 0; ///< of floats
  TopCodes top = TopCodes::numbers;

  [[nodiscard]] constexpr bool floating() const { return exponent_bits != 0; }
};

inline constexpr std::array<Format, 19> formats{{
    {"f64", 64, 11, 52, 1023, TopCodes::infinity},
    {"f32", 32, 8, 23, 127, TopCodes::infinity},
    {"xf32", 32, 8, 10, 127,
     TopCodes::infinity}, // f32 in memory; the matrix instructions drop the low 13 bits
    {"f16", 16, 5, 10, 15, TopCodes::infinity},
    {"bf16", 16, 8, 7, 127, TopCodes::infinity},
    {"e4m3fnuz", 8, 4, 3, 8, TopCodes::unsigned_zero},
    {"e5m2fnuz", 8, 5, 2, 16, TopCodes::unsigned_zero},
    {"e4m3fn", 8, 4, 3, 7, TopCodes::one_nan},
    {"e5m2", 8, 5, 2, 15, TopCodes::infinity},
    {"e2m3", 6, 2, 3, 1, TopCodes::numbers},
    {"e3m2", 6, 3, 2, 3, TopCodes::numbers},
    {"e2m1", 4, 2, 1, 1, TopCodes::numbers},
    {"e8m0", 8, 8, 0, 127, TopCodes::one_nan}, // no sign, no 0: the scale of an MX block
    {"i64", 64},
    {"i32", 32},
    {"i16", 16},
    {"i8", 8},
    {"i4", 4},
    {"i1", 1},
}};

/// The row of that name. Requires: there is one (in a constant expression, or it does not compile).
[[nodiscard]] constexpr const Format& format(std::string_view name) {
  for (const Format& f : formats)
    if (f.name == name) return f;
  throw std::invalid_argument("no number format has that name");
}

} // namespace inlay::machine
