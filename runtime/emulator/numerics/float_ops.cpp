// Implementations of float_ops.h. Doubles carry exact or rounded-to-odd values, so that each result is
// rounded once.
#include "emulator/numerics/float_ops.h"

#include <algorithm>

namespace inlay::runtime::numerics {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

float toward_zero(float x) { return std::nextafterf(x, 0.0f); }

// The float next to d under a rounding mode; d is exact or odd, so that equality with a float means
// exactness.
float to_float(double d, Rounding rounding) {
  const auto near = static_cast<float>(d);
  const auto wide = static_cast<double>(near);
  if (!(std::fabs(d) < std::numeric_limits<double>::infinity()) || wide == d) {
    return near;
  }
  switch (rounding) {
  case Rounding::toward_zero: return std::fabs(wide) > std::fabs(d) ? toward_zero(near) : near;
  case Rounding::upward: return wide < d ? std::nextafterf(near, infinity) : near;
  case Rounding::downward: return wide > d ? std::nextafterf(near, -infinity) : near;
  default: return near;
  }
}

} // namespace

float odd_float(double x) {
  const float cut = to_float(x, Rounding::toward_zero);
  return static_cast<double>(cut) == x || x != x ? cut : std::bit_cast<float>(bits(cut) | 1u);
}

double odd_sum(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) {
    return sum;
  }
  const double back = sum - a;
  const double error = (a - (sum - back)) + (b - back);
  if (error == 0 || (bits(sum) & 1u) != 0) {
    return sum;
  }
  // Even and inexact: the odd neighbour on the side of what was lost. A zero sum is exact.
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits(sum) + 1 : bits(sum) - 1);
}

float fma_rounded(float a, float b, float c, Rounding rounding) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double sum = odd_sum(product, static_cast<double>(c));
  if (sum == 0 && rounding == Rounding::downward && product != 0) {
    return -0.0f; // x - x is -0 when rounding downward
  }
  return to_float(sum, rounding);
}

// ---- f16 minimum and maximum
// ----------------------------------------------------------------------------------------

namespace {

bool f16_nan(std::uint32_t x) { return (x & 0x7fffu) > 0x7c00u; }
bool f16_signaling(std::uint32_t x) { return f16_nan(x) && (x & 0x200u) == 0; }

// Whether a is the result rather than b; `order` tells for numbers.
template <class Order>
std::uint32_t f16_choose(std::uint32_t a, std::uint32_t b, bool ieee, Order order) {
  a &= 0xffffu;
  b &= 0xffffu;
  if (ieee && (f16_signaling(a) || f16_signaling(b))) {
    return (f16_signaling(a) ? a : b) | 0x200u;
  }
  if (f16_nan(a) || f16_nan(b)) {
    return f16_nan(a) ? b : a;
  }
  // Sign and magnitude to an order in which -0 is below +0.
  const auto key = [](std::uint32_t x) { return (x & 0x8000u) != 0 ? 0xffffu - x : x | 0x8000u; };
  return order(key(a), key(b)) ? a : b;
}

} // namespace

std::uint32_t f16_minimum_number(std::uint32_t a, std::uint32_t b, bool ieee) {
  return f16_choose(a, b, ieee, [](std::uint32_t x, std::uint32_t y) { return x < y; });
}

std::uint32_t f16_maximum_number(std::uint32_t a, std::uint32_t b, bool ieee) {
  return f16_choose(a, b, ieee, [](std::uint32_t x, std::uint32_t y) { return x > y; });
}

std::uint32_t f16_median(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool ieee) {
  if (f16_nan(a) || f16_nan(b) || f16_nan(c)) {
    return f16_minimum_number(f16_minimum_number(a, b, ieee), c, ieee);
  }
  const auto larger = [&](std::uint32_t x, std::uint32_t y) { return f16_maximum_number(x, y, ieee); };
  // Equality as numbers: +0 equals -0, as in the pseudo-code.
  const auto equal = [](std::uint32_t x, std::uint32_t y) { return x == y || ((x | y) & 0x7fffu) == 0; };
  const std::uint32_t top = larger(larger(a, b), c);
  return equal(top, a) ? larger(b, c) : equal(top, b) ? larger(a, c) : larger(a, b);
}

// ---- transcendental
// -------------------------------------------------------------------------------------------------

float rcp(float x) { return flush(1.0f / flush(x)); }

float rsq(float x) {
  const float y = flush(x);
  return y < 0 ? no_number : static_cast<float>(1.0 / std::sqrt(static_cast<double>(y)));
}

float sqrt_flushed(float x) {
  const float y = flush(x);
  return y < 0 ? no_number : std::sqrt(y);
}

float exp2_flushed(float x) { return flush(static_cast<float>(std::exp2(static_cast<double>(flush(x))))); }

float log2_flushed(float x) {
  const float y = flush(x);
  return y < 0 ? no_number : static_cast<float>(std::log2(static_cast<double>(y)));
}

namespace {

// sin(2 pi turns) for turns in [0, 1): by quadrants, so that multiples of a quarter are exact.
double sine(double turns) {
  const double quarters = turns * 4;
  const auto quadrant = static_cast<int>(quarters) & 3;
  const double part = (quarters - std::floor(quarters)) * 1.5707963267948966;
  switch (quadrant) {
  case 0: return std::sin(part);
  case 1: return std::cos(part);
  case 2: return -std::sin(part);
  default: return -std::cos(part);
  }
}

} // namespace

float sin_turns(float x) {
  const float y = flush(x);
  if (!std::isfinite(y)) {
    return no_number;
  }
  if (std::fabs(y) > 256 || y == 0) {
    return y == 0 ? y : 0.0f;
  }
  const double magnitude = std::fabs(static_cast<double>(y));
  const double s = sine(magnitude - std::floor(magnitude));
  return flush(static_cast<float>(y < 0 ? -s : s));
}

float cos_turns(float x) {
  const float y = flush(x);
  if (!std::isfinite(y)) {
    return no_number;
  }
  if (std::fabs(y) > 256) {
    return 1.0f;
  }
  const double shifted = std::fabs(static_cast<double>(y)) + 0.25;
  return flush(static_cast<float>(sine(shifted - std::floor(shifted))));
}

double rcp(double x) { return 1.0 / x; }
double rsq(double x) { return x < 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / std::sqrt(x); }

// ---- exponents and integers
// -----------------------------------------------------------------------------------------

namespace {

template <class F>
F fraction(F x, F below_one) {
  const F part = x - std::floor(x); // of an infinity NaN; a tiny negative x rounds to 1
  return part < 1 || part != part ? part : below_one;
}

template <class F>
F mantissa(F x) {
  if (!std::isfinite(x) || x == 0) {
    return quiet(x);
  }
  int exponent = 0;
  return std::frexp(x, &exponent);
}

} // namespace

float fract(float x) { return fraction(x, 0x1.fffffep-1f); }
double fract(double x) { return fraction(x, 0x1.fffffffffffffp-1); }

float fract_f16(float x) {
  // floor is exact in f16; the difference is rounded to f16 by the caller's narrow, unless that would give 1.
  const float part = x - std::floor(x);
  return part > 0x1.ffcp-1f ? 0x1.ffcp-1f : part;
}

float rndne(float x) { return __builtin_roundevenf(x); }
double rndne(double x) { return __builtin_roundeven(x); }

float ldexp_any(float x, std::int32_t n) {
  return static_cast<float>(std::ldexp(static_cast<double>(x), std::clamp(n, -600, 600)));
}
double ldexp_any(double x, std::int32_t n) { return std::ldexp(x, n); }

float frexp_mantissa(float x) { return mantissa(x); }
double frexp_mantissa(double x) { return mantissa(x); }

std::int32_t frexp_exponent(double x) {
  int exponent = 0;
  if (std::isfinite(x)) {
    std::frexp(x, &exponent);
  }
  return exponent;
}

std::int32_t round_half_up(float x) {
  return to_integer<std::int32_t>(std::floor(static_cast<double>(x) + 0.5));
}
std::int32_t floor_integer(float x) { return to_integer<std::int32_t>(std::floor(static_cast<double>(x))); }

float offset_i4(std::uint32_t x) {
  const auto value = static_cast<std::int32_t>(x << 28u) >> 28;
  return static_cast<float>(value) * 0.0625f;
}

std::int16_t to_snorm16(float x) {
  return x != x ? std::int16_t{0}
                : static_cast<std::int16_t>(rndne(std::clamp(static_cast<double>(x), -1.0, 1.0) * 32767));
}
std::uint16_t to_unorm16(float x) {
  return x != x ? std::uint16_t{0}
                : static_cast<std::uint16_t>(rndne(std::clamp(static_cast<double>(x), 0.0, 1.0) * 65535));
}

// ---- division
// -------------------------------------------------------------------------------------------------------

namespace {

// The constants of the f32 and f64 columns of the manual, and a type in which their quotients neither
// overflow nor vanish.
template <class F>
struct Division;
template <>
struct Division<float> {
  using Wide = double;
  static constexpr int scale = 64, near_largest = 96, tiny_numerator = 23, vanishes = -150;
};
template <>
struct Division<double> {
  using Wide = double;
  static constexpr int scale = 128, near_largest = 768, tiny_numerator = 53, vanishes = -1075;
};

template <class F>
Scaled<F> scaled(F value, F denominator, F numerator) {
  using D = Division<F>;
  using Wide = typename D::Wide;
  const auto by = [&](int exponent) { return static_cast<F>(std::ldexp(value, exponent)); };
  if (numerator == 0 || denominator == 0) {
    return {std::numeric_limits<F>::quiet_NaN(), false};
  }
  const bool is_denominator = value == denominator;
  if (exponent_field(numerator) - exponent_field(denominator) >= D::near_largest) {
    return {is_denominator ? by(D::scale) : value, true};
  }
  if (is_subnormal(denominator)) {
    return {by(D::scale), false};
  }
  // Quotients that vanish altogether are V_DIV_FIXUP's business: "== DENORM" is false of zero.
  const auto small = [](Wide x) {
    return x != 0 && std::fabs(x) < static_cast<Wide>(std::numeric_limits<F>::min());
  };
  const bool small_inverse = small(Wide{1} / static_cast<Wide>(denominator));
  const bool small_quotient = small(static_cast<Wide>(numerator) / static_cast<Wide>(denominator));
  if (small_inverse && small_quotient) {
    return {is_denominator ? by(-D::scale) : value, true};
  }
  if (small_inverse) {
    return {by(-D::scale), false};
  }
  if (small_quotient) {
    return {value == numerator ? by(D::scale) : value, true};
  }
  if (exponent_field(numerator) <= D::tiny_numerator) {
    return {by(D::scale), false};
  }
  return {value, false};
}

template <class F>
F fixed_up(F quotient, F denominator, F numerator) {
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto with_sign = [&](F x) { return negative ? -x : x; };
  constexpr F huge = std::numeric_limits<F>::infinity();
  if (numerator != numerator) {
    return quiet(numerator);
  }
  if (denominator != denominator) {
    return quiet(denominator);
  }
  const bool infinite = std::isinf(denominator);
  if ((denominator == 0 && numerator == 0) || (infinite && std::isinf(numerator))) {
    return -std::numeric_limits<F>::quiet_NaN(); // 0xffc00000, 0xfff8000000000000
  }
  if (denominator == 0 || std::isinf(numerator)) {
    return with_sign(huge);
  }
  if (infinite || numerator == 0) {
    return with_sign(F{0});
  }
  if (exponent_field(numerator) - exponent_field(denominator) < Division<F>::vanishes) {
    return with_sign(F{0});
  }
  return with_sign(quotient != quotient ? huge : std::fabs(quotient));
}

} // namespace

Scaled<float> div_scale(float value, float denominator, float numerator) {
  return scaled(value, denominator, numerator);
}
Scaled<double> div_scale(double value, double denominator, double numerator) {
  return scaled(value, denominator, numerator);
}

float div_fmas(float a, float b, float c, bool rescale) {
  if (!rescale) {
    return std::fma(a, b, c);
  }
  const double sum = odd_sum(static_cast<double>(a) * static_cast<double>(b), static_cast<double>(c));
  return static_cast<float>(std::ldexp(sum, exponent_field(c) > 127 ? 64 : -64));
}

double div_fmas(double a, double b, double c, bool rescale) {
  if (!rescale) {
    return std::fma(a, b, c);
  }
  const int scale = exponent_field(c) > 1023 ? 128 : -128;
#ifdef __SIZEOF_FLOAT128__
  // 113 bits: the quotient and its correction, which is some 2^-50 of it, fit exactly.
  const auto sum = static_cast<__float128>(a) * static_cast<__float128>(b) + static_cast<__float128>(c);
  return static_cast<double>(sum * static_cast<__float128>(std::ldexp(1.0, scale)));
#else
  return std::ldexp(std::fma(a, b, c), scale);
#endif
}

float div_fixup(float quotient, float denominator, float numerator) {
  return fixed_up(quotient, denominator, numerator);
}
double div_fixup(double quotient, double denominator, double numerator) {
  return fixed_up(quotient, denominator, numerator);
}

float div_fixup_f16(float quotient, float denominator, float numerator) {
  // The f16 page has neither the underflow nor the NaN case: what is not special is the quotient with the
  // right sign.
  const bool special =
      !std::isfinite(numerator) || !std::isfinite(denominator) || numerator == 0 || denominator == 0;
  const float magnitude = std::fabs(quotient);
  return special                                                ? fixed_up(1.0f, denominator, numerator)
         : std::signbit(denominator) != std::signbit(numerator) ? -magnitude
                                                                : magnitude;
}

// ---- 2/pi
// -----------------------------------------------------------------------------------------------------------

namespace {

// The first 1216 bits of 2/pi after the point, most significant first.
constexpr std::uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
constexpr int two_over_pi_bits = 1201; // what the unit holds; beyond it are zeros

} // namespace

double trig_preop(double x, std::uint32_t segment) {
  const int exponent = exponent_field(x);
  const int shift = static_cast<int>(segment & 31u) * 53 + std::max(exponent - 1077, 0);
  std::uint64_t result = 0;
  for (int n = shift; n < shift + 53; ++n) {
    const std::uint64_t bit = n < two_over_pi_bits ? two_over_pi[n / 64] >> (63 - n % 64) & 1u : 0u;
    result = result << 1u | bit;
  }
  const int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  return std::ldexp(static_cast<double>(result), scale);
}

} // namespace inlay::runtime::numerics
