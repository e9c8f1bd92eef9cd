/// The floating-point operations of the vector ALU whose edges differ from the C library's, one lane at a
/// time.
///
/// Operations on f32 and f64 are templates over `float` and `double`; f16 values travel as codes or as the
/// `float`s they are (widen is exact), and `narrow_fma` brings an exact result back with one rounding. The
/// NaN, signed-zero and subnormal rules are those of the pseudo-code in the manuals;
/// docs/emulator_numerics.md says where that pseudo-code is silent or does not give what compiled programs
/// need, and what is done instead.
///
///     minimum_number(sNaN, 1.0f, true)      the quiet NaN: MODE.IEEE quiets and returns signalling NaNs
///     fract(-0x1p-30f) == 0x1.fffffep-1f    never 1
///     rcp(0x1p-127f) == inf                 V_RCP_F32 flushes subnormals whatever MODE says
///
/// Requires: the host rounds to nearest and does not flush.
/// Source: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide",
/// chapter 12 "Instructions", the V_* pages; chapter "Vector ALU operations" for MODE.
#pragma once

#include "emulator/numerics/formats.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace inlay::runtime::numerics {

// ---- bits
// -----------------------------------------------------------------------------------------------------------

/// A float type's word and field widths.
template <class F>
struct FloatBits {
  using Word = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int mantissa = std::numeric_limits<F>::digits - 1;
  static constexpr Word quiet = Word{1} << (mantissa - 1);
  static constexpr Word sign = Word{1} << (8 * sizeof(F) - 1);
  static constexpr Word exponent_mask = (sign - 1) >> mantissa;
};
template <class F>
[[nodiscard]] constexpr auto bits(F x) {
  return std::bit_cast<typename FloatBits<F>::Word>(x);
}
/// Biased exponent field, as `exponent()` in the manuals.
template <class F>
[[nodiscard]] constexpr int exponent_field(F x) {
  return static_cast<int>(bits(x) >> FloatBits<F>::mantissa & FloatBits<F>::exponent_mask);
}
template <class F>
[[nodiscard]] constexpr bool is_subnormal(F x) {
  return exponent_field(x) == 0 && x != 0;
}
template <class F>
[[nodiscard]] constexpr bool is_signaling(F x) {
  return x != x && (bits(x) & FloatBits<F>::quiet) == 0;
}
/// NaN made quiet; other values unchanged.
template <class F>
[[nodiscard]] constexpr F quiet(F x) {
  return x != x ? std::bit_cast<F>(bits(x) | FloatBits<F>::quiet) : x;
}
/// Subnormals to zero of their sign.
template <class F>
[[nodiscard]] constexpr F flush(F x) {
  return is_subnormal(x) ? std::bit_cast<F>(bits(x) & FloatBits<F>::sign) : x;
}

// ---- one rounding
// ---------------------------------------------------------------------------------------------------

/// x as float, rounded to odd: a later rounding to at most 22 bits gives what rounding x itself would.
[[nodiscard]] float odd_float(double x);
/// a + b as a double rounded to odd. Requires: both finite or the sum's special value is wanted.
[[nodiscard]] double odd_sum(double a, double b);
/// The f16 (or other narrow) code of a * b + c with one rounding, all three exact in float.
///     narrow_fma<Format::f16>(1.0f, 0x1p-11f, 1.0f) == 0x3c00
template <Format format>
[[nodiscard]] std::uint32_t narrow_fma(float a, float b, float c, Rounding rounding = Rounding::nearest_even,
                                       Overflow overflow = Overflow::special) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return narrow<format>(odd_float(odd_sum(product, static_cast<double>(c))), rounding, overflow);
}
/// a * b + c rounded once, of any of the four modes of MODE.FP_ROUND. `stochastic` is not among them.
[[nodiscard]] float fma_rounded(float a, float b, float c, Rounding rounding);

// ---- minimum and maximum
// --------------------------------------------------------------------------------------------

/// V_MIN_F32, V_MIN_F64: the number of a number and a NaN; -0 below +0; with `ieee` (MODE.IEEE) a signalling
/// NaN is returned quiet, the first operand's first.
template <class F>
[[nodiscard]] constexpr F minimum_number(F a, F b, bool ieee) {
  if (ieee && (is_signaling(a) || is_signaling(b))) {
    return quiet(is_signaling(a) ? a : b);
  }
  if (a != a || b != b) {
    return a != a ? b : a;
  }
  return a < b || (a == b && (bits(a) & FloatBits<F>::sign) != 0) ? a : b;
}
/// V_MAX_F32, V_MAX_F64, likewise.
template <class F>
[[nodiscard]] constexpr F maximum_number(F a, F b, bool ieee) {
  if (ieee && (is_signaling(a) || is_signaling(b))) {
    return quiet(is_signaling(a) ? a : b);
  }
  if (a != a || b != b) {
    return a != a ? b : a;
  }
  return a > b || (a == b && (bits(a) & FloatBits<F>::sign) == 0) ? a : b;
}
/// V_MED3_F32: the middle one; with a NaN, the minimum of three.
template <class F>
[[nodiscard]] constexpr F median(F a, F b, F c, bool ieee) {
  if (a != a || b != b || c != c) {
    return minimum_number(minimum_number(a, b, ieee), c, ieee);
  }
  const F top = maximum_number(maximum_number(a, b, ieee), c, ieee);
  if (top == a) {
    return maximum_number(b, c, ieee);
  }
  return top == b ? maximum_number(a, c, ieee) : maximum_number(a, b, ieee);
}
/// The step of V_MINIMUM3_*: IEEE 754-2019 minimum, NaN if either is, -0 below +0.
template <class F>
[[nodiscard]] constexpr F minimum(F a, F b) {
  return a != a ? quiet(a) : b != b ? quiet(b) : minimum_number(a, b, false);
}
/// The step of V_MAXIMUM3_*.
template <class F>
[[nodiscard]] constexpr F maximum(F a, F b) {
  return a != a ? quiet(a) : b != b ? quiet(b) : maximum_number(a, b, false);
}
/// The same operations on f16 codes; widening would have made signalling NaNs quiet.
///     f16_minimum_number(0x7d00, 0x3c00, true) == 0x7f00
[[nodiscard]] std::uint32_t f16_minimum_number(std::uint32_t a, std::uint32_t b, bool ieee);
[[nodiscard]] std::uint32_t f16_maximum_number(std::uint32_t a, std::uint32_t b, bool ieee);
[[nodiscard]] std::uint32_t f16_median(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool ieee);

// ---- transcendental
// -------------------------------------------------------------------------------------------------

/// V_RCP_F32, V_RSQ_F32, V_SQRT_F32, V_EXP_F32 (2^x), V_LOG_F32 (log2): subnormal inputs count as zero,
/// subnormal results become zero, whatever MODE says. Here they are the correctly rounded results (but for
/// double rounding of exp and log, below 2^-28 units); hardware is documented to within 1 unit in the last
/// place.
[[nodiscard]] float rcp(float x);
[[nodiscard]] float rsq(float x);
[[nodiscard]] float sqrt_flushed(float x);
[[nodiscard]] float exp2_flushed(float x);
[[nodiscard]] float log2_flushed(float x);
/// V_SIN_F32, V_COS_F32: of 2 pi x. Beyond |x| = 256 sine is 0 and cosine 1; of an infinity NaN.
[[nodiscard]] float sin_turns(float x);
[[nodiscard]] float cos_turns(float x);
/// The f64 forms; hardware gives about 2^-26 relative error, refined by the code around them. Exact here.
[[nodiscard]] double rcp(double x);
[[nodiscard]] double rsq(double x);

// ---- exponents and integers
// -----------------------------------------------------------------------------------------

/// V_FRACT_*: x - floor(x), never 1; NaN of an infinity.
[[nodiscard]] float fract(float x);
[[nodiscard]] double fract(double x);
/// f16 result of V_FRACT_F16 on a widened input.
[[nodiscard]] float fract_f16(float x);
/// V_RNDNE_*: to the nearest integer, ties to even; -0.4 gives -0.
[[nodiscard]] float rndne(float x);
[[nodiscard]] double rndne(double x);
/// V_LDEXP_*: x 2^n with one rounding, any n.
[[nodiscard]] float ldexp_any(float x, std::int32_t n);
[[nodiscard]] double ldexp_any(double x, std::int32_t n);
/// V_FREXP_MANT_*: the significand in [0.5, 1), sign kept; infinities and NaN pass. V_FREXP_EXP_*: its
/// exponent, 0 for zero, infinities and NaN. For f16 use these on the widened value.
[[nodiscard]] float frexp_mantissa(float x);
[[nodiscard]] double frexp_mantissa(double x);
[[nodiscard]] std::int32_t frexp_exponent(double x);

/// To an integer: cut toward zero, saturate, NaN gives 0. V_CVT_I32_F32/F64, V_CVT_U32_F32/F64,
/// V_CVT_I16/U16_F16.
///     to_integer<std::int32_t>(3e9) == 2147483647      to_integer<std::uint32_t>(-1.0) == 0
template <class I>
[[nodiscard]] I to_integer(double x) {
  if (x != x) {
    return 0;
  }
  constexpr auto low = static_cast<double>(std::numeric_limits<I>::min());
  constexpr auto high = static_cast<double>(std::numeric_limits<I>::max());
  return x <= low    ? std::numeric_limits<I>::min()
         : x >= high ? std::numeric_limits<I>::max()
                     : static_cast<I>(x);
}
/// V_CVT_RPI_I32_F32: floor(x + 0.5), the sum not rounded. V_CVT_FLR_I32_F32: floor(x).
[[nodiscard]] std::int32_t round_half_up(float x);
[[nodiscard]] std::int32_t floor_integer(float x);
/// V_CVT_OFF_F32_I4: the low four bits as a signed number of sixteenths.
///     offset_i4(0xf) == -0.0625f
[[nodiscard]] float offset_i4(std::uint32_t x);
/// V_CVT_PKNORM_I16/U16_F32: x 32767 (65535) to the nearest, clamped to [-1, 1] ([0, 1]) first; NaN gives 0.
[[nodiscard]] std::int16_t to_snorm16(float x);
[[nodiscard]] std::uint16_t to_unorm16(float x);
/// V_PRNG_B32: one step of the linear feedback register that stochastic conversions of several elements use.
[[nodiscard]] constexpr std::uint32_t prng(std::uint32_t x) {
  return x << 1u ^ ((x >> 31u) != 0 ? 197u : 0u);
}
/// V_CMP_CLASS_*: bit 0 sNaN, 1 qNaN, 2 -inf, 3 -normal, 4 -subnormal, 5 -0, 6 +0, 7 +subnormal, 8 +normal, 9
/// +inf.
template <class F>
[[nodiscard]] constexpr std::uint32_t class_of(F x) {
  const bool negative = (bits(x) & FloatBits<F>::sign) != 0;
  if (x != x) {
    return is_signaling(x) ? 1u << 0 : 1u << 1;
  }
  if (exponent_field(x) == static_cast<int>(FloatBits<F>::exponent_mask)) {
    return negative ? 1u << 2 : 1u << 9;
  }
  if (x == 0) {
    return negative ? 1u << 5 : 1u << 6;
  }
  if (is_subnormal(x)) {
    return negative ? 1u << 4 : 1u << 7;
  }
  return negative ? 1u << 3 : 1u << 8;
}

// ---- division
// -------------------------------------------------------------------------------------------------------

/// V_DIV_SCALE_*: `value` scaled by a power of two so that the quotient numerator / denominator can be
/// refined without leaving the range, and the bit of VCC that says V_DIV_FMAS must undo it. `value` is one of
/// the two. Where the manuals' text and a correct quotient disagree, the quotient wins: see
/// docs/emulator_numerics.md.
template <class F>
struct Scaled {
  F value;
  bool rescale;
};
[[nodiscard]] Scaled<float> div_scale(float value, float denominator, float numerator);
[[nodiscard]] Scaled<double> div_scale(double value, double denominator, double numerator);
/// V_DIV_FMAS_*: fma(a, b, c), where `rescale` times 2^64 (f64: 2^128) or its inverse with one rounding: the
/// scale that brings c, the almost finished quotient, back.
[[nodiscard]] float div_fmas(float a, float b, float c, bool rescale);
[[nodiscard]] double div_fmas(double a, double b, double c, bool rescale);
/// V_DIV_FIXUP_*: the quotient with the special cases of numerator / denominator put in.
[[nodiscard]] float div_fixup(float quotient, float denominator, float numerator);
[[nodiscard]] double div_fixup(double quotient, double denominator, double numerator);
/// On widened f16 values; the result is exact in f16.
[[nodiscard]] float div_fixup_f16(float quotient, float denominator, float numerator);
/// V_TRIG_PREOP_F64: segment `segment` (53 bits) of 2/pi, positioned for the exponent of x.
[[nodiscard]] double trig_preop(double x, std::uint32_t segment);

} // namespace inlay::runtime::numerics
