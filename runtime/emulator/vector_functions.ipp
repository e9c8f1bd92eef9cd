// The arithmetic of every lane-wise vector instruction. Included by vector_functions_*.cpp, each with other host
// flags and its own INLAY_TABLE; everything here has internal linkage.
//
// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide", chapter
// "Instructions", sections VOP1, VOP2, VOP3, VOP3P and VOPC. Where the text leaves something open, the choice is beside it.

#include "numerics/float_ops.h"
#include "numerics/formats.h"
#include "vector_functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#ifdef __AVX512F__
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace inlay::runtime::emulator {
namespace {

using numerics::narrow;
using numerics::widen;
using NumericFormat = numerics::Format;
using A = VectorArguments;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr unsigned lane_count = 64;

inline float f32(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 bits(float value) { return std::bit_cast<u32>(value); }
inline double f64(u64 value) { return std::bit_cast<double>(value); }
inline u64 bits(double value) { return std::bit_cast<u64>(value); }
inline float f16(u32 code) { return widen<NumericFormat::f16>(code & 0xffff); }
inline u32 to_f16(float value) { return narrow<NumericFormat::f16>(value); }
inline float bf16(u32 code) { return f32(code << 16); }
inline u32 to_bf16(float value) { return narrow<NumericFormat::bf16>(value); }

/// A double rounded to f16 once: through a float rounded to odd.
inline u32 to_f16(double value) {
  float cut = static_cast<float>(value);
  const double back = cut;
  if (back != value && value == value && !std::isinf(cut)) {
    u32 b = bits(cut);
    if ((b & 1U) == 0) {
      const bool away = (value > 0) == (back < value);
      b = away ? b | 1U : (b - 1U) | 1U;
      cut = f32(b);
    }
  }
  return narrow<NumericFormat::f16>(cut);
}

// ---- loops over the lanes ---------------------------------------------------------------------------------------
// Rows are either the same or disjoint, so lanes are independent.
#if defined(__clang__) // checks for overlap when it runs, and knows no such promise
#define INLAY_INDEPENDENT_LANES
#else
#define INLAY_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

template <class F>
inline void map1(A& a, F f) {
  const u32* x = a.s[0];
  u32* d = a.d;
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < lane_count; ++l) {
    d[l] = f(x[l]);
  }
}
template <class F>
inline void map2(A& a, F f) {
  const u32 *x = a.s[0], *y = a.s[1];
  u32* d = a.d;
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < lane_count; ++l) {
    d[l] = f(x[l], y[l]);
  }
}
template <class F>
inline void map3(A& a, F f) {
  const u32 *x = a.s[0], *y = a.s[1], *z = a.s[2];
  u32* d = a.d;
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < lane_count; ++l) {
    d[l] = f(x[l], y[l], z[l]);
  }
}
template <class F>
inline void float1(A& a, F f) {
  map1(a, [=](u32 x) { return bits(static_cast<float>(f(f32(x)))); });
}
template <class F>
inline void float2(A& a, F f) {
  map2(a, [=](u32 x, u32 y) { return bits(static_cast<float>(f(f32(x), f32(y)))); });
}
template <class F>
inline void float3(A& a, F f) {
  map3(a, [=](u32 x, u32 y, u32 z) { return bits(static_cast<float>(f(f32(x), f32(y), f32(z)))); });
}
template <class F>
inline void half1(A& a, F f) {
  map1(a, [=](u32 x) { return to_f16(f(f16(x))); });
}
template <class F>
inline void half2(A& a, F f) {
  map2(a, [=](u32 x, u32 y) { return to_f16(f(f16(x), f16(y))); });
}

inline u64 wide(const u32* row, unsigned l) { return row[l] | (u64{row[l + lane_count]} << 32); }
inline void put(u32* row, unsigned l, u64 value) {
  row[l] = static_cast<u32>(value);
  row[l + lane_count] = static_cast<u32>(value >> 32);
}
template <class F>
inline void double1(A& a, F f) {
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < lane_count; ++l) {
    put(a.d, l, bits(static_cast<double>(f(f64(wide(a.s[0], l))))));
  }
}
template <class F>
inline void double2(A& a, F f) {
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < lane_count; ++l) {
    put(a.d, l, bits(static_cast<double>(f(f64(wide(a.s[0], l)), f64(wide(a.s[1], l))))));
  }
}

/// d(lane) for results and sources of any width, written out where the combinations are rare.
template <class F>
inline void each(A& a, F f) {
  for (unsigned l = 0; l < lane_count; ++l) {
    f(a, l);
  }
}

template <class F>
inline void compare(A& a, F f) {
  u64 mask = 0;
  u8 flags[lane_count];
  for (unsigned l = 0; l < lane_count; ++l) {
    flags[l] = f(l) ? 1 : 0;
  }
  for (unsigned l = 0; l < lane_count; ++l) {
    mask |= u64{flags[l]} << l;
  }
  a.mask_out = mask;
}

// ---- float rules --------------------------------------------------------------------------------------------------

inline bool is_nan(float x) { return x != x; }
inline bool is_nan(double x) { return x != x; }
inline bool is_signalling(u32 b) { return (b & 0x7fffffffU) > 0x7f800000U && (b & 0x400000U) == 0; }
inline bool is_signalling16(u32 b) { return (b & 0x7fffU) > 0x7c00U && (b & 0x200U) == 0; }
inline bool is_signalling64(u64 b) {
  return (b & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL && (b & 0x8000000000000ULL) == 0;
}
inline bool ieee(const A& a) { return (a.mode & 0x200U) != 0; }

/// V_MIN_F32 and V_MAX_F32: a number beats a quiet NaN; with MODE.IEEE a signalling NaN is quieted and wins;
/// -0 is less than +0.
inline u32 min_f32(u32 x, u32 y, bool ieee_mode) {
  const float a = f32(x);
  const float b = f32(y);
  u32 r = a < b || (a == b && (x >> 31) != 0) ? x : y;
  r = is_nan(b) ? x : r;
  r = is_nan(a) ? y : r;
  r = ieee_mode && is_signalling(y) ? y | 0x400000U : r;
  r = ieee_mode && is_signalling(x) ? x | 0x400000U : r;
  return r;
}
inline u32 max_f32(u32 x, u32 y, bool ieee_mode) {
  const float a = f32(x);
  const float b = f32(y);
  u32 r = a > b || (a == b && (x >> 31) == 0) ? x : y;
  r = is_nan(b) ? x : r;
  r = is_nan(a) ? y : r;
  r = ieee_mode && is_signalling(y) ? y | 0x400000U : r;
  r = ieee_mode && is_signalling(x) ? x | 0x400000U : r;
  return r;
}
inline u32 min_f16(u32 x, u32 y, bool ieee_mode) {
  x &= 0xffff;
  y &= 0xffff;
  const float a = f16(x);
  const float b = f16(y);
  u32 r = a < b || (a == b && (x >> 15) != 0) ? x : y;
  r = is_nan(b) ? x : r;
  r = is_nan(a) ? y : r;
  r = ieee_mode && is_signalling16(y) ? y | 0x200U : r;
  r = ieee_mode && is_signalling16(x) ? x | 0x200U : r;
  return r;
}
inline u32 max_f16(u32 x, u32 y, bool ieee_mode) {
  x &= 0xffff;
  y &= 0xffff;
  const float a = f16(x);
  const float b = f16(y);
  u32 r = a > b || (a == b && (x >> 15) == 0) ? x : y;
  r = is_nan(b) ? x : r;
  r = is_nan(a) ? y : r;
  r = ieee_mode && is_signalling16(y) ? y | 0x200U : r;
  r = ieee_mode && is_signalling16(x) ? x | 0x200U : r;
  return r;
}
inline u64 min_f64(u64 x, u64 y, bool ieee_mode) {
  const double a = f64(x);
  const double b = f64(y);
  if (ieee_mode && is_signalling64(x)) return x | 0x8000000000000ULL;
  if (ieee_mode && is_signalling64(y)) return y | 0x8000000000000ULL;
  if (is_nan(a)) return y;
  if (is_nan(b)) return x;
  return a < b || (a == b && (x >> 63) != 0) ? x : y;
}
inline u64 max_f64(u64 x, u64 y, bool ieee_mode) {
  const double a = f64(x);
  const double b = f64(y);
  if (ieee_mode && is_signalling64(x)) return x | 0x8000000000000ULL;
  if (ieee_mode && is_signalling64(y)) return y | 0x8000000000000ULL;
  if (is_nan(a)) return y;
  if (is_nan(b)) return x;
  return a > b || (a == b && (x >> 63) == 0) ? x : y;
}
/// V_MED3: with a NaN among the three it is min3, otherwise the middle one.
inline u32 med3_f32(u32 x, u32 y, u32 z, bool m) {
  if (is_nan(f32(x)) || is_nan(f32(y)) || is_nan(f32(z))) {
    return min_f32(min_f32(x, y, m), z, m);
  }
  const u32 top = max_f32(max_f32(x, y, m), z, m);
  return f32(top) == f32(x) ? max_f32(y, z, m) : f32(top) == f32(y) ? max_f32(x, z, m) : max_f32(x, y, m);
}
inline u32 med3_f16(u32 x, u32 y, u32 z, bool m) {
  if (is_nan(f16(x)) || is_nan(f16(y)) || is_nan(f16(z))) {
    return min_f16(min_f16(x, y, m), z, m);
  }
  const u32 top = max_f16(max_f16(x, y, m), z, m);
  return f16(top) == f16(x) ? max_f16(y, z, m) : f16(top) == f16(y) ? max_f16(x, z, m) : max_f16(x, y, m);
}
/// V_MINIMUM3, V_MAXIMUM3 (CDNA4): IEEE 754-2019 minimum and maximum, a NaN wins.
inline u32 minimum_f32(u32 x, u32 y) {
  if (is_nan(f32(x))) return x | 0x400000U;
  if (is_nan(f32(y))) return y | 0x400000U;
  return min_f32(x, y, false);
}
inline u32 maximum_f32(u32 x, u32 y) {
  if (is_nan(f32(x))) return x | 0x400000U;
  if (is_nan(f32(y))) return y | 0x400000U;
  return max_f32(x, y, false);
}
inline u32 minimum_f16(u32 x, u32 y) {
  if (is_nan(f16(x))) return (x & 0xffff) | 0x200U;
  if (is_nan(f16(y))) return (y & 0xffff) | 0x200U;
  return min_f16(x, y, false);
}
inline u32 maximum_f16(u32 x, u32 y) {
  if (is_nan(f16(x))) return (x & 0xffff) | 0x200U;
  if (is_nan(f16(y))) return (y & 0xffff) | 0x200U;
  return max_f16(x, y, false);
}

template <class I, class F>
inline I saturating(F x) { // NaN gives 0, out of range the nearest end
  const F low = static_cast<F>(std::numeric_limits<I>::min());
  const F high = std::ldexp(static_cast<F>(1), std::numeric_limits<I>::digits);
  if (x != x) return 0;
  if (x <= low) return std::numeric_limits<I>::min();
  if (x >= high) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}
inline u32 f32_to_i32(float x) {
  const bool high = x >= 2147483648.0F;
  const bool low = x <= -2147483648.0F;
  const i32 r = static_cast<i32>(high || low || x != x ? 0.0F : x);
  return high ? 0x7fffffffU : low ? 0x80000000U : static_cast<u32>(r);
}
inline u32 f32_to_u32(float x) {
  const bool high = x >= 4294967296.0F;
  const bool low = !(x > 0.0F);
  const u32 r = static_cast<u32>(static_cast<i64>(high || low ? 0.0F : x));
  return high ? 0xffffffffU : r;
}

inline float fract_f32(float x) {
  const float r = x - std::floor(x);
  return r >= 1.0F ? 0x1.fffffep-1F : r;
}
inline double fract_f64(double x) {
  const double r = x - std::floor(x);
  return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}
inline u32 ldexp_f32(u32 x, u32 e) {
  const i32 n = static_cast<i32>(e);
  return bits(std::ldexp(f32(x), n > 400 ? 400 : n < -400 ? -400 : n));
}
inline int frexp_exponent(double x) {
  int e = 0;
  if (x == 0 || is_nan(x) || std::isinf(x)) return 0;
  static_cast<void>(std::frexp(x, &e));
  return e;
}
inline double frexp_mantissa(double x) {
  int e = 0;
  if (x == 0 || is_nan(x) || std::isinf(x)) return x;
  return std::frexp(x, &e);
}
inline float multiply_legacy(float x, float y) { return x == 0.0F || y == 0.0F ? 0.0F : x * y; }
/// sin and cos take turns, not radians; the ISA's valid range is +-256 turns, beyond which sin is 0 and cos 1.
inline float sine(float x) { return numerics::sin_turns(x); }
inline float cosine(float x) { return numerics::cos_turns(x); }
inline u32 snorm(float x) { return static_cast<u32>(numerics::to_snorm16(x)) & 0xffffU; }
inline u32 unorm(float x) { return numerics::to_unorm16(x); }
/// x y + z for polynomials: fused where that is one instruction, elsewhere it would be a call.
inline double multiply_add(double x, double y, double z) {
#ifdef __FMA__
  return __builtin_fma(x, y, z);
#else
  return x * y + z;
#endif
}
/// 2^x as a double polynomial on [-1/2, 1/2], fitted by Remez to a relative error of 2.1e-16; it vectorises, std::exp2 does
/// not. Equal to the rounded std::exp2 of every float, with and without fused multiply-adds (an exhaustive test says so).
inline float exp2_f32(float x) {
  float t = x < -200.0F ? -200.0F : x;
  t = t > 200.0F ? 200.0F : t;
  const double clipped = t;
  const double shifted = clipped + 0x1.8p52;
  const double r = clipped - (shifted - 0x1.8p52);
  double p = 0x1.e398741b041cdp-28;
  p = multiply_add(p, r, 0x1.b67408508b9d7p-24);
  p = multiply_add(p, r, 0x1.62c158505a85dp-20);
  p = multiply_add(p, r, 0x1.ffcb55f05fd0ep-17);
  p = multiply_add(p, r, 0x1.4309126030f90p-13);
  p = multiply_add(p, r, 0x1.5d87fe9cc2e7ap-10);
  p = multiply_add(p, r, 0x1.3b2ab6fbde1a1p-7);
  p = multiply_add(p, r, 0x1.c6b08d703d4a2p-5);
  p = multiply_add(p, r, 0x1.ebfbdff82c3b9p-3);
  p = multiply_add(p, r, 0x1.62e42fefa3a17p-1);
  p = multiply_add(p, r, 1.0);
  const u64 exponent = (bits(shifted) + 1023U) << 52;
  const float y = static_cast<float>(p * f64(exponent));
  return x != x ? x : y;
}
/// log2 x of what is no denormal: 2^e m with m in [sqrt(1/2), sqrt(2)), and log2 m = t P(t^2) with t = (m - 1)/(m + 1), P
/// fitted to a relative error of 1.2e-18. Equal to the rounded std::log2 of every float, as above.
inline float log2_f32(float x) {
  constexpr u32 root_of_half = 0x3f3504f3;
  const u32 shifted = bits(x) - root_of_half;
  const i32 exponent = static_cast<i32>(shifted) >> 23;
  const double m = f32((shifted & 0x7fffffU) + root_of_half);
  const double t = (m - 1.0) / (m + 1.0);
  const double u = t * t;
  double p = 0x1.b599440642b31p-3;
  p = multiply_add(p, u, 0x1.c46d6adf11754p-3);
  p = multiply_add(p, u, 0x1.0ca163cdd0fadp-2);
  p = multiply_add(p, u, 0x1.484afb68e1111p-2);
  p = multiply_add(p, u, 0x1.a61762d6c1ae3p-2);
  p = multiply_add(p, u, 0x1.2776c50ee380ep-1);
  p = multiply_add(p, u, 0x1.ec709dc3a047ep-1);
  p = multiply_add(p, u, 0x1.71547652b82fep+1);
  const float y = static_cast<float>(multiply_add(t, p, static_cast<double>(exponent)));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float otherwise = x == 0.0F ? -infinity : x < 0.0F ? std::numeric_limits<float>::quiet_NaN() : x;
  return x > 0.0F && x < infinity ? y : otherwise;
}
inline u32 class_mask(u64 magnitude, bool negative, u64 infinity, u64 quiet, u64 smallest_normal) {
  if (magnitude > infinity) return (magnitude & quiet) != 0 ? 2U : 1U;
  const unsigned kind = magnitude == infinity ? 0 : magnitude >= smallest_normal ? 1 : magnitude != 0 ? 2 : 3;
  return negative ? 4U << kind : 0x200U >> kind;
}
inline u32 class_f32(u32 x) {
  return class_mask(x & 0x7fffffffU, (x >> 31) != 0, 0x7f800000U, 0x400000U, 0x800000U);
}
inline u32 class_f16(u32 x) { return class_mask(x & 0x7fffU, (x & 0x8000U) != 0, 0x7c00U, 0x200U, 0x400U); }
inline u32 class_f64(u64 x) {
  return class_mask(x & 0x7fffffffffffffffULL, (x >> 63) != 0, 0x7ff0000000000000ULL, 0x8000000000000ULL,
                    0x10000000000000ULL);
}

// ---- division helpers: ISA text with the errata that IEEE quotients demand ---------------------------------------

inline int exponent_field(u32 x) { return static_cast<int>((x >> 23) & 0xff); }
inline int exponent_field64(u64 x) { return static_cast<int>((x >> 52) & 0x7ff); }

/// V_DIV_SCALE_F32: S0 is whichever of the denominator S1 and the numerator S2 is to be scaled.
inline u32 div_scale_f32(u32 s0, u32 s1, u32 s2, bool& vcc) {
  const float den = f32(s1);
  const float num = f32(s2);
  const float x = f32(s0);
  vcc = false;
  if (num == 0.0F || den == 0.0F) return 0x7fc00000U;
  const auto denormal = [](double v) { return v != 0 && std::fabs(v) < 0x1p-126; };
  if (exponent_field(s2) - exponent_field(s1) >= 96) { // the quotient would overflow
    vcc = true;
    return s0 == s1 ? bits(std::ldexp(x, 64)) : s0;
  }
  if (exponent_field(s1) == 0) return bits(std::ldexp(x, 64));
  const bool tiny_inverse = denormal(1.0 / static_cast<double>(den));
  const bool tiny_quotient = denormal(static_cast<double>(num) / static_cast<double>(den));
  if (tiny_inverse && tiny_quotient) {
    vcc = true;
    return s0 == s1 ? bits(std::ldexp(x, -64)) : s0;
  }
  if (tiny_inverse) return bits(std::ldexp(x, -64));
  if (tiny_quotient) {
    vcc = true;
    return s0 == s2 ? bits(std::ldexp(x, 64)) : s0;
  }
  if (exponent_field(s2) <= 23) return bits(std::ldexp(x, 64));
  return s0;
}
inline u64 div_scale_f64(u64 s0, u64 s1, u64 s2, bool& vcc) {
  const double den = f64(s1);
  const double num = f64(s2);
  const double x = f64(s0);
  vcc = false;
  if (num == 0.0 || den == 0.0) return 0x7ff8000000000000ULL;
  const auto denormal = [](double v) { return v != 0 && std::fabs(v) < 0x1p-1022; };
  if (exponent_field64(s2) - exponent_field64(s1) >= 768) {
    vcc = true;
    return s0 == s1 ? bits(std::ldexp(x, 128)) : s0;
  }
  if (exponent_field64(s1) == 0) return bits(std::ldexp(x, 128));
  const bool tiny_inverse = denormal(1.0 / den);
  const bool tiny_quotient = denormal(num / den);
  if (tiny_inverse && tiny_quotient) {
    vcc = true;
    return s0 == s1 ? bits(std::ldexp(x, -128)) : s0;
  }
  if (tiny_inverse) return bits(std::ldexp(x, -128));
  if (tiny_quotient) {
    vcc = true;
    return s0 == s2 ? bits(std::ldexp(x, 128)) : s0;
  }
  if (exponent_field64(s2) <= 53) return bits(std::ldexp(x, 128));
  return s0;
}
inline u32 div_fmas_f32(u32 x, u32 y, u32 z, bool vcc) {
  return bits(numerics::div_fmas(f32(x), f32(y), f32(z), vcc));
}
inline u64 div_fmas_f64(u64 x, u64 y, u64 z, bool vcc) {
  return bits(numerics::div_fmas(f64(x), f64(y), f64(z), vcc));
}
inline u32 div_fixup_f32(u32 s0, u32 s1, u32 s2) {
  const u32 sign = (s1 ^ s2) & 0x80000000U;
  const float q = f32(s0);
  const float den = f32(s1);
  const float num = f32(s2);
  if (is_nan(num)) return s2 | 0x400000U;
  if (is_nan(den)) return s1 | 0x400000U;
  if ((num == 0 && den == 0) || (std::isinf(num) && std::isinf(den))) return 0xffc00000U;
  if (den == 0 || std::isinf(num)) return sign | 0x7f800000U;
  if (std::isinf(den) || num == 0) return sign;
  if (exponent_field(s2) - exponent_field(s1) < -150) return sign;
  if (exponent_field(s1) == 255) return sign | 0x7f800000U;
  if (is_nan(q)) return sign | 0x7f800000U;
  return (s0 & 0x7fffffffU) | sign;
}
inline u64 div_fixup_f64(u64 s0, u64 s1, u64 s2) {
  const u64 sign = (s1 ^ s2) & 0x8000000000000000ULL;
  const double den = f64(s1);
  const double num = f64(s2);
  if (is_nan(num)) return s2 | 0x8000000000000ULL;
  if (is_nan(den)) return s1 | 0x8000000000000ULL;
  if ((num == 0 && den == 0) || (std::isinf(num) && std::isinf(den))) return 0xfff8000000000000ULL;
  if (den == 0 || std::isinf(num)) return sign | 0x7ff0000000000000ULL;
  if (std::isinf(den) || num == 0) return sign;
  if (exponent_field64(s2) - exponent_field64(s1) < -1075) return sign;
  if (is_nan(f64(s0))) return sign | 0x7ff0000000000000ULL;
  return (s0 & 0x7fffffffffffffffULL) | sign;
}
inline u32 div_fixup_f16(u32 s0, u32 s1, u32 s2) {
  const u32 sign = (s1 ^ s2) & 0x8000U;
  const float den = f16(s1);
  const float num = f16(s2);
  if (is_nan(num)) return (s2 & 0xffff) | 0x200U;
  if (is_nan(den)) return (s1 & 0xffff) | 0x200U;
  if ((num == 0 && den == 0) || (std::isinf(num) && std::isinf(den))) return 0xfe00U;
  if (den == 0 || std::isinf(num)) return sign | 0x7c00U;
  if (std::isinf(den) || num == 0) return sign;
  return (s0 & 0x7fffU) | sign;
}

// ---- integer rules ------------------------------------------------------------------------------------------------

inline i32 sext24(u32 x) { return static_cast<i32>(x << 8) >> 8; }
inline u32 clamp_i16(i32 x) { return static_cast<u32>(x < -32768 ? -32768 : x > 32767 ? 32767 : x) & 0xffff; }
inline u32 clamp_u16(i32 x) { return static_cast<u32>(x < 0 ? 0 : x > 65535 ? 65535 : x); }
inline u32 clamp_i32(i64 x) {
  return static_cast<u32>(static_cast<i32>(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x));
}
inline i32 s16(u32 x) { return static_cast<i16>(x & 0xffff); }
inline u32 byte_of(u32 x, unsigned i) { return (x >> (8 * i)) & 0xff; }
inline u32 difference(u32 x, u32 y) { return x > y ? x - y : y - x; }
inline u32 sad_u8(u32 x, u32 y, u32 z, bool masked) {
  for (unsigned i = 0; i < 4; ++i) {
    z += masked && byte_of(y, i) == 0 ? 0 : difference(byte_of(x, i), byte_of(y, i));
  }
  return z;
}
inline u32 perm_b32(u32 s0, u32 s1, u32 selector) {
  const u64 pool = (u64{s0} << 32) | s1;
  u32 out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 sel = byte_of(selector, i);
    u32 value = 0;
    if (sel >= 13) {
      value = 0xff;
    } else if (sel == 12) {
      value = 0;
    } else if (sel >= 8) { // sign of a 16-bit half
      value = ((pool >> (16 * (sel - 8) + 15)) & 1) != 0 ? 0xff : 0;
    } else {
      value = static_cast<u32>((pool >> (8 * sel)) & 0xff);
    }
    out |= value << (8 * i);
  }
  return out;
}
inline u32 reverse(u32 x) {
  x = ((x >> 1) & 0x55555555U) | ((x & 0x55555555U) << 1);
  x = ((x >> 2) & 0x33333333U) | ((x & 0x33333333U) << 2);
  x = ((x >> 4) & 0x0f0f0f0fU) | ((x & 0x0f0f0f0fU) << 4);
  return __builtin_bswap32(x);
}
inline u32 bfe_i32(u32 x, u32 offset, u32 width) {
  offset &= 31;
  width &= 31;
  if (width == 0) return 0;
  if (offset + width >= 32) return static_cast<u32>(static_cast<i32>(x) >> offset);
  return static_cast<u32>(static_cast<i32>(x << (32 - offset - width)) >> (32 - width));
}
inline u32 bfe_u32(u32 x, u32 offset, u32 width) { return (x >> (offset & 31)) & ((1U << (width & 31)) - 1); }

template <unsigned width, bool is_signed>
inline i64 dot(u32 x, u32 y) {
  i64 sum = 0;
  for (unsigned i = 0; i < 32 / width; ++i) {
    const unsigned up = 32 - width - i * width;
    if constexpr (is_signed) {
      sum += i64{static_cast<i32>(x << up) >> (32 - width)} * (static_cast<i32>(y << up) >> (32 - width));
    } else {
      sum += static_cast<i64>(u64{(x << up) >> (32 - width)} * ((y << up) >> (32 - width)));
    }
  }
  return sum;
}
template <unsigned width>
inline u32 dot_signed(const A& a, u32 x, u32 y, u32 z) {
  const i64 sum = dot<width, true>(x, y) + static_cast<i32>(z);
  return a.clamp ? clamp_i32(sum) : static_cast<u32>(sum);
}
template <unsigned width>
inline u32 dot_unsigned(const A& a, u32 x, u32 y, u32 z) {
  const u64 sum = static_cast<u64>(dot<width, false>(x, y)) + z;
  return a.clamp && sum > 0xffffffffU ? 0xffffffffU : static_cast<u32>(sum);
}

// ---- packed operands ----------------------------------------------------------------------------------------------

struct Packed {
  unsigned lo[3], hi[3];
  u32 neg_lo[3], neg_hi[3];
  explicit Packed(const A& a) {
    for (unsigned i = 0; i < 3; ++i) {
      lo[i] = ((a.op_sel >> i) & 1U) * 16;
      hi[i] = ((a.op_sel_hi >> i) & 1U) * 16;
      neg_lo[i] = ((a.neg_lo >> i) & 1U) << 15;
      neg_hi[i] = ((a.neg_hi >> i) & 1U) << 15;
    }
  }
  [[nodiscard]] u32 low(unsigned i, u32 x) const { return (x >> lo[i]) & 0xffff; }
  [[nodiscard]] u32 high(unsigned i, u32 x) const { return (x >> hi[i]) & 0xffff; }
  [[nodiscard]] u32 low_f(unsigned i, u32 x) const { return low(i, x) ^ neg_lo[i]; }
  [[nodiscard]] u32 high_f(unsigned i, u32 x) const { return high(i, x) ^ neg_hi[i]; }
};
inline u32 clamp01_f16(u32 x) {
  const float v = f16(x);
  return v > 0.0F ? (v > 1.0F ? 0x3c00U : x & 0xffff) : 0U;
}
template <class F>
inline void packed2(A& a, F f) { // 16-bit integers
  const Packed p(a);
  map2(a, [&](u32 x, u32 y) {
    return (f(p.low(0, x), p.low(1, y)) & 0xffff) | (f(p.high(0, x), p.high(1, y)) << 16);
  });
}
template <class F>
inline void packed3(A& a, F f) {
  const Packed p(a);
  map3(a, [&](u32 x, u32 y, u32 z) {
    return (f(p.low(0, x), p.low(1, y), p.low(2, z)) & 0xffff) |
           (f(p.high(0, x), p.high(1, y), p.high(2, z)) << 16);
  });
}
template <class F>
inline void packed_half2(A& a, F f) {
  const Packed p(a);
  const bool clamp = a.clamp;
  map2(a, [&](u32 x, u32 y) {
    const u32 lo = f(p.low_f(0, x), p.low_f(1, y));
    const u32 hi = f(p.high_f(0, x), p.high_f(1, y));
    return clamp ? clamp01_f16(lo) | (clamp01_f16(hi) << 16) : (lo & 0xffff) | (hi << 16);
  });
}
template <class F>
inline void packed_half3(A& a, F f) {
  const Packed p(a);
  const bool clamp = a.clamp;
  map3(a, [&](u32 x, u32 y, u32 z) {
    const u32 lo = f(p.low_f(0, x), p.low_f(1, y), p.low_f(2, z));
    const u32 hi = f(p.high_f(0, x), p.high_f(1, y), p.high_f(2, z));
    return clamp ? clamp01_f16(lo) | (clamp01_f16(hi) << 16) : (lo & 0xffff) | (hi << 16);
  });
}
inline u32 fma_f16(u32 x, u32 y, u32 z) {
  return to_f16(
      std::fma(static_cast<double>(f16(x)), static_cast<double>(f16(y)), static_cast<double>(f16(z))));
}
/// V_PK_*_F32: two floats in a register pair, each half picked by op_sel (low result) and op_sel_hi (high result).
template <unsigned count, class F>
inline void packed_float(A& a, F f) {
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned select = half == 0 ? a.op_sel : a.op_sel_hi;
    const unsigned negate = half == 0 ? a.neg_lo : a.neg_hi;
    const u32* x = a.s[0] + (select & 1U) * lane_count;
    const u32* y = a.s[1] + ((select >> 1) & 1U) * lane_count;
    const u32* z = count == 3 ? a.s[2] + ((select >> 2) & 1U) * lane_count : x;
    const u32 nx = (negate & 1U) << 31;
    const u32 ny = ((negate >> 1) & 1U) << 31;
    const u32 nz = ((negate >> 2) & 1U) << 31;
    u32* d = a.d + half * lane_count;
    INLAY_INDEPENDENT_LANES
    for (unsigned l = 0; l < lane_count; ++l) {
      d[l] = bits(f(f32(x[l] ^ nx), f32(y[l] ^ ny), f32(z[l] ^ nz)));
    }
  }
}
/// V_FMA_MIX: op_sel_hi says which sources are f16, op_sel which half.
inline float mix(const A& a, unsigned i, u32 x) {
  const bool half = ((a.op_sel_hi >> i) & 1U) != 0;
  float v = half ? f16(((a.op_sel >> i) & 1U) != 0 ? x >> 16 : x) : f32(x);
  if (((a.neg_hi >> i) & 1U) != 0) v = std::fabs(v); // NEG_HI is ABS here
  return ((a.neg_lo >> i) & 1U) != 0 ? -v : v;
}
inline float mix_fma(const A& a, unsigned l) {
  const float r = std::fma(mix(a, 0, a.s[0][l]), mix(a, 1, a.s[1][l]), mix(a, 2, a.s[2][l]));
  return a.clamp ? (r > 0.0F ? (r > 1.0F ? 1.0F : r) : 0.0F) : r;
}

inline float fp8(const A& a, u32 code) {
  return a.ocp ? widen<NumericFormat::e4m3fn>(code & 0xff) : widen<NumericFormat::e4m3fnuz>(code & 0xff);
}
inline float bf8(const A& a, u32 code) {
  return a.ocp ? widen<NumericFormat::e5m2>(code & 0xff) : widen<NumericFormat::e5m2fnuz>(code & 0xff);
}
inline u32 to_8(const A& a, bool bf, float value, bool stochastic = false, u32 seed = 0) {
  const NumericFormat format = bf ? (a.ocp ? NumericFormat::e5m2 : NumericFormat::e5m2fnuz)
                                  : (a.ocp ? NumericFormat::e4m3fn : NumericFormat::e4m3fnuz);
  return narrow(format, value, stochastic ? numerics::Rounding::stochastic : numerics::Rounding::nearest_even,
                (a.mode >> 23) & 1U ? numerics::Overflow::saturate : numerics::Overflow::special, seed);
}

// ---- the instructions ---------------------------------------------------------------------------------------------

#define F1(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::f32, {Type::f32}, 0, [](A& a) { float1(a, [](float x) { return __VA_ARGS__; }); }      \
  }
#define F2(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::f32, {Type::f32, Type::f32}, 0,                                                        \
        [](A& a) { float2(a, [](float x, float y) { return __VA_ARGS__; }); }                                \
  }
#define U1(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::b32, {Type::b32}, 0, [](A& a) { map1(a, [](u32 x) -> u32 { return __VA_ARGS__; }); }   \
  }
#define U2(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::b32, {Type::b32, Type::b32}, 0,                                                        \
        [](A& a) { map2(a, [](u32 x, u32 y) -> u32 { return __VA_ARGS__; }); }                               \
  }
#define U3(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::b32, {Type::b32, Type::b32, Type::b32}, 0,                                             \
        [](A& a) { map3(a, [](u32 x, u32 y, u32 z) -> u32 { return __VA_ARGS__; }); }                        \
  }
/// 16-bit integers: sources arrive zero-extended in the low half.
#define S2(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::b16, {Type::b16, Type::b16}, 0,                                                        \
        [](A& a) { map2(a, [](u32 x, u32 y) -> u32 { return (__VA_ARGS__)&0xffffU; }); }                     \
  }
#define H1(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::f16, {Type::f16}, 0, [](A& a) { half1(a, [](float x) { return __VA_ARGS__; }); }       \
  }
#define H2(NAME, ...)                                                                                        \
  {                                                                                                          \
    "v_" #NAME, Type::f16, {Type::f16, Type::f16}, 0,                                                        \
        [](A& a) { half2(a, [](float x, float y) { return __VA_ARGS__; }); }                                 \
  }
/// Anything else: result type, source types, flags, statement for lane l.
#define X(NAME, D, S0, S1, S2_, FLAGS, ...)                                                                  \
  {                                                                                                          \
    "v_" #NAME, Type::D, {Type::S0, Type::S1, Type::S2_}, FLAGS,                                             \
        [](A& arg) { each(arg, [](A& a, unsigned l) { __VA_ARGS__; }); }                                     \
  }
#define SX a.s[0][l]
#define SY a.s[1][l]
#define SZ a.s[2][l]
#define WX wide(a.s[0], l)
#define WY wide(a.s[1], l)
#define WZ wide(a.s[2], l)

#define COMPARE1(PREFIX, FLAGS, SUFFIX, TYPE, OP, GET, CONDITION)                                            \
  {                                                                                                          \
    "v_" PREFIX "_" OP "_" SUFFIX, Type::mask, {Type::TYPE, Type::TYPE}, FLAGS, [](A& a) {                   \
      compare(a, [&](unsigned l) {                                                                           \
        const auto x = GET(a, 0, l);                                                                         \
        const auto y = GET(a, 1, l);                                                                         \
        static_cast<void>(x);                                                                                \
        static_cast<void>(y);                                                                                \
        return CONDITION;                                                                                    \
      });                                                                                                    \
    }                                                                                                        \
  }
#define COMPARE(SUFFIX, TYPE, OP, GET, CONDITION)                                                            \
  COMPARE1("cmp", writes_mask, SUFFIX, TYPE, OP, GET, CONDITION),                                            \
      COMPARE1("cmpx", writes_mask | writes_exec, SUFFIX, TYPE, OP, GET, CONDITION)
#define COMPARE_INTEGER(SUFFIX, TYPE, GET)                                                                   \
  COMPARE(SUFFIX, TYPE, "f", GET, false), COMPARE(SUFFIX, TYPE, "lt", GET, x < y),                           \
      COMPARE(SUFFIX, TYPE, "eq", GET, x == y), COMPARE(SUFFIX, TYPE, "le", GET, x <= y),                    \
      COMPARE(SUFFIX, TYPE, "gt", GET, x > y), COMPARE(SUFFIX, TYPE, "ne", GET, x != y),                     \
      COMPARE(SUFFIX, TYPE, "ge", GET, x >= y), COMPARE(SUFFIX, TYPE, "t", GET, true)
#define COMPARE_FLOAT(SUFFIX, TYPE, GET)                                                                     \
  COMPARE(SUFFIX, TYPE, "f", GET, false), COMPARE(SUFFIX, TYPE, "lt", GET, x < y),                           \
      COMPARE(SUFFIX, TYPE, "eq", GET, x == y), COMPARE(SUFFIX, TYPE, "le", GET, x <= y),                    \
      COMPARE(SUFFIX, TYPE, "gt", GET, x > y), COMPARE(SUFFIX, TYPE, "lg", GET, x<y || x> y),                \
      COMPARE(SUFFIX, TYPE, "ge", GET, x >= y), COMPARE(SUFFIX, TYPE, "o", GET, x == x && y == y),           \
      COMPARE(SUFFIX, TYPE, "u", GET, x != x || y != y), COMPARE(SUFFIX, TYPE, "nge", GET, !(x >= y)),       \
      COMPARE(SUFFIX, TYPE, "nlg", GET, !(x < y || x > y)), COMPARE(SUFFIX, TYPE, "ngt", GET, !(x > y)),     \
      COMPARE(SUFFIX, TYPE, "nle", GET, !(x <= y)), COMPARE(SUFFIX, TYPE, "neq", GET, !(x == y)),            \
      COMPARE(SUFFIX, TYPE, "nlt", GET, !(x < y)), COMPARE(SUFFIX, TYPE, "tru", GET, true)

inline float get_f32(const A& a, unsigned i, unsigned l) { return f32(a.s[i][l]); }
inline float get_f16(const A& a, unsigned i, unsigned l) { return f16(a.s[i][l]); }
inline double get_f64(const A& a, unsigned i, unsigned l) { return f64(wide(a.s[i], l)); }
inline u32 get_u32(const A& a, unsigned i, unsigned l) { return a.s[i][l]; }
inline i32 get_i32(const A& a, unsigned i, unsigned l) { return static_cast<i32>(a.s[i][l]); }
inline u64 get_u64(const A& a, unsigned i, unsigned l) { return wide(a.s[i], l); }
inline i64 get_i64(const A& a, unsigned i, unsigned l) { return static_cast<i64>(wide(a.s[i], l)); }
inline u32 get_u16(const A& a, unsigned i, unsigned l) { return a.s[i][l] & 0xffff; }
inline i32 get_i16(const A& a, unsigned i, unsigned l) { return s16(a.s[i][l]); }

/// Carry chains: a, b and the carry in give a sum and a lane mask of carries.
template <bool subtract, bool reversed, bool uses_carry>
void carry_chain(A& a) {
  u64 out = 0;
  for (unsigned l = 0; l < lane_count; ++l) {
    const u64 x = reversed ? a.s[1][l] : a.s[0][l];
    const u64 y = (reversed ? a.s[0][l] : a.s[1][l]) + (uses_carry ? (a.mask_in >> l) & 1U : 0U);
    const u64 r = subtract ? x - y : x + y;
    const u64 carry = subtract ? static_cast<u64>(y > x) : r >> 32;
    out |= carry << l;
    a.d[l] = a.clamp && carry != 0 ? (subtract ? 0U : 0xffffffffU) : static_cast<u32>(r);
  }
  a.mask_out = out;
}

const VectorEntry table[] = {
#include "vector_table.ipp"
};

void flush_f32(u32* to, const u32* from, unsigned count) {
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < count; ++l) {
    to[l] = (from[l] & 0x7f800000U) == 0 ? from[l] & 0x80000000U : from[l];
  }
}
void merge(u32* to, const u32* from, u64 mask) {
  u32 keep[lane_count];
  for (unsigned half = 0; half < 2; ++half) {
    const u32 bits_of_half = static_cast<u32>(mask >> (32 * half));
    for (unsigned l = 0; l < 32; ++l) {
      keep[32 * half + l] = 0U - ((bits_of_half >> l) & 1U);
    }
  }
  INLAY_INDEPENDENT_LANES
  for (unsigned l = 0; l < lane_count; ++l) {
    to[l] = (from[l] & keep[l]) | (to[l] & ~keep[l]);
  }
}
void broadcast(u32* to, u32 value) {
  for (unsigned l = 0; l < lane_count; ++l) {
    to[l] = value;
  }
}
#ifdef __SSE2__
/// Four words of each of four lanes, turned so that each row gets a word of the four lanes; or back.
inline void turn(__m128i v[4]) {
  const __m128i a = _mm_unpacklo_epi32(v[0], v[1]), b = _mm_unpackhi_epi32(v[0], v[1]);
  const __m128i c = _mm_unpacklo_epi32(v[2], v[3]), d = _mm_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm_unpacklo_epi64(a, c);
  v[1] = _mm_unpackhi_epi64(a, c);
  v[2] = _mm_unpacklo_epi64(b, d);
  v[3] = _mm_unpackhi_epi64(b, d);
}
#endif

#ifdef __AVX512F__
/// The same of sixteen lanes, of which quarter q of v[k] has lane 4 * q + k: each row gets them in order; or back.
inline void turn(__m512i v[4]) {
  const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
  const __m512i c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm512_unpacklo_epi64(a, c);
  v[1] = _mm512_unpackhi_epi64(a, c);
  v[2] = _mm512_unpacklo_epi64(b, d);
  v[3] = _mm512_unpackhi_epi64(b, d);
}
#endif

template <unsigned words_each, class Offset>
void gather_words(u32* rows, const u8* base, const Offset* address) {
  const u64 begin = reinterpret_cast<u64>(base); // a number: addresses of flat memory count from a null base
#ifdef __AVX512F__
  if constexpr (words_each == 4) {
    for (unsigned l = 0; l < lane_count; l += 16) {
      __m512i v[4];
      for (unsigned k = 0; k < 4; ++k) {
        const auto quarter = [&](unsigned q) {
          return _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin + address[l + 4 * q + k]));
        };
        const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
        const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
        v[k] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
      }
      turn(v);
      for (unsigned k = 0; k < 4; ++k) _mm512_storeu_si512(rows + l + k * lane_count, v[k]);
    }
    return;
  }
#endif
#ifdef __SSE2__
  if constexpr (words_each == 1) { // a store for four lanes, which are what a store for each is slow by
    const auto word = [&](unsigned l) {
      return _mm_loadu_si32(reinterpret_cast<const void*>(begin + address[l]));
    };
    for (unsigned l = 0; l < lane_count; l += 4) {
      const __m128i low = _mm_unpacklo_epi32(word(l), word(l + 1));
      const __m128i high = _mm_unpacklo_epi32(word(l + 2), word(l + 3));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + l), _mm_unpacklo_epi64(low, high));
    }
    return;
  }
  if constexpr (words_each == 2) {
    for (unsigned l = 0; l < lane_count; l += 4) {
      __m128i v[4];
      for (unsigned k = 0; k < 4; ++k)
        v[k] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(begin + address[l + k]));
      const __m128i a = _mm_unpacklo_epi32(v[0], v[1]), b = _mm_unpacklo_epi32(v[2], v[3]);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + l), _mm_unpacklo_epi64(a, b));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + l + lane_count), _mm_unpackhi_epi64(a, b));
    }
    return;
  }
  if constexpr (words_each == 4) {
    for (unsigned l = 0; l < lane_count; l += 4) {
      __m128i v[4];
      for (unsigned k = 0; k < 4; ++k)
        v[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin + address[l + k]));
      turn(v);
      for (unsigned k = 0; k < 4; ++k)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + l + k * lane_count), v[k]);
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lane_count; ++l) {
    u32 value[words_each];
    __builtin_memcpy(value, reinterpret_cast<const u8*>(begin + address[l]), sizeof value);
    for (unsigned k = 0; k < words_each; ++k) {
      rows[l + k * lane_count] = value[k];
    }
  }
}
template <class Offset>
void gather(u32* rows, const u8* base, const Offset* address, unsigned count) {
  switch (count) {
  case 1: gather_words<1>(rows, base, address); break;
  case 2: gather_words<2>(rows, base, address); break;
  case 3: gather_words<3>(rows, base, address); break;
  default: gather_words<4>(rows, base, address); break;
  }
}

template <unsigned words_each, class Offset>
void scatter_words(u8* base, const Offset* address, const u32* rows, u64 mask) {
  const u64 begin = reinterpret_cast<u64>(base);
  const auto put_lane = [&](unsigned l) {
    u32 value[words_each];
    for (unsigned k = 0; k < words_each; ++k) {
      value[k] = rows[l + k * lane_count];
    }
    __builtin_memcpy(reinterpret_cast<u8*>(begin + address[l]), value, sizeof value);
  };
#ifdef __AVX512F__
  if constexpr (words_each == 4) {
    if (mask == ~u64{0}) { // in order of the lanes, as below: of two at one address the later one remains
      for (unsigned l = 0; l < lane_count; l += 16) {
        __m512i v[4];
        for (unsigned k = 0; k < 4; ++k) v[k] = _mm512_loadu_si512(rows + l + k * lane_count);
        turn(v);
        const auto put = [&]<int q>() {
          for (unsigned k = 0; k < 4; ++k)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(begin + address[l + 4 * q + k]),
                             _mm512_extracti32x4_epi32(v[k], q));
        };
        put.template operator()<0>();
        put.template operator()<1>();
        put.template operator()<2>();
        put.template operator()<3>();
      }
      return;
    }
  }
#endif
#ifdef __SSE2__
  if constexpr (words_each == 2) {
    if (mask == ~u64{0}) {
      for (unsigned l = 0; l < lane_count; l += 4) {
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + l));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + l + lane_count));
        const __m128i v[2] = {_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)};
        for (unsigned k = 0; k < 4; ++k) {
          const __m128i pair = k % 2 == 0 ? v[k / 2] : _mm_unpackhi_epi64(v[k / 2], v[k / 2]);
          _mm_storel_epi64(reinterpret_cast<__m128i*>(begin + address[l + k]), pair);
        }
      }
      return;
    }
  }
  if constexpr (words_each == 4) {
    if (mask == ~u64{0}) { // in order of the lanes, as below: of two at one address the later one remains
      for (unsigned l = 0; l < lane_count; l += 4) {
        __m128i v[4];
        for (unsigned k = 0; k < 4; ++k)
          v[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + l + k * lane_count));
        turn(v);
        for (unsigned k = 0; k < 4; ++k)
          _mm_storeu_si128(reinterpret_cast<__m128i*>(begin + address[l + k]), v[k]);
      }
      return;
    }
  }
#endif
  if (mask == ~u64{0}) {
    for (unsigned l = 0; l < lane_count; ++l) put_lane(l);
    return;
  }
  for (; mask != 0; mask &= mask - 1) put_lane(static_cast<unsigned>(std::countr_zero(mask)));
}
template <class Offset>
void scatter(u8* base, const Offset* address, const u32* rows, unsigned count, u64 mask) {
  switch (count) {
  case 1: scatter_words<1>(base, address, rows, mask); break;
  case 2: scatter_words<2>(base, address, rows, mask); break;
  case 3: scatter_words<3>(base, address, rows, mask); break;
  default: scatter_words<4>(base, address, rows, mask); break;
  }
}

void offsets_of(LaneOffsets& to, const u32* row, u32 add, u64 mask, unsigned bytes) {
#ifdef __AVX512F__
  // Written out, not a loop: gcc 12 unrolls loops too late to keep the four in registers, which costs 2 to 4 ns of 26.
  const auto each = [](auto part) {
    part(0);
    part(1);
    part(2);
    part(3);
  };
  __m512i at[4];
  const __m512i all_lanes = _mm512_set1_epi32(static_cast<int>(add));
  if (row == nullptr) {
    each([&](unsigned k) { at[k] = all_lanes; });
  } else {
    each([&](unsigned k) { at[k] = _mm512_add_epi32(all_lanes, _mm512_loadu_si512(row + 16 * k)); });
  }
  if (mask != ~u64{0}) {
    const unsigned some = static_cast<unsigned>(std::countr_zero(mask));
    const __m512i active = _mm512_set1_epi32(static_cast<int>((row == nullptr ? 0 : row[some]) + add));
    each([&](unsigned k) {
      at[k] = _mm512_mask_mov_epi32(active, static_cast<__mmask16>(mask >> (16 * k)), at[k]);
    });
  }
  // Most often the lanes lie equally far apart: then the ends are the first and the last one, and need not be looked for.
  const __m128i begins = _mm512_castsi512_si128(at[0]);
  const u32 begin = static_cast<u32>(_mm_cvtsi128_si32(begins));
  const u32 step = static_cast<u32>(_mm_extract_epi32(begins, 1)) - begin;
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i expected = _mm512_add_epi32(_mm512_broadcastd_epi32(begins),
                                      _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(step))));
  const __m512i further = _mm512_set1_epi32(static_cast<int>(16 * step));
  __mmask16 breaks = 0;
  each([&](unsigned k) {
    _mm512_storeu_si512(to.at + 16 * k, at[k]);
    breaks |= _mm512_cmpneq_epi32_mask(at[k], expected);
    expected = _mm512_add_epi32(expected, further);
  });
  const u64 end = begin + u64{step} * (lane_count - 1);
  if (breaks == 0 && end <= ~u32{0}) {
    to.rising = step == bytes && mask == ~u64{0};
    to.all = begin | step;
    to.low = begin;
    to.high = static_cast<u32>(end);
    return;
  }
  to.rising = false;
  to.all =
      _mm512_reduce_or_epi32(_mm512_or_si512(_mm512_or_si512(at[0], at[1]), _mm512_or_si512(at[2], at[3])));
  to.low = _mm512_reduce_min_epu32(
      _mm512_min_epu32(_mm512_min_epu32(at[0], at[1]), _mm512_min_epu32(at[2], at[3])));
  to.high = _mm512_reduce_max_epu32(
      _mm512_max_epu32(_mm512_max_epu32(at[0], at[1]), _mm512_max_epu32(at[2], at[3])));
#else
  if (row == nullptr) {
    for (unsigned l = 0; l < lane_count; ++l) to.at[l] = add;
  } else {
    for (unsigned l = 0; l < lane_count; ++l) to.at[l] = row[l] + add;
  }
  if (mask != ~u64{0}) {
    const u32 some = to.at[std::countr_zero(mask)];
    for (unsigned l = 0; l < lane_count; ++l) to.at[l] = ((mask >> l) & 1U) != 0 ? to.at[l] : some;
  }
  const u32 first = to.at[0];
  u32 low = first, high = first, all = first, breaks = 0;
  for (unsigned l = 0; l < lane_count; ++l) {
    const u32 at = to.at[l];
    low = std::min(low, at);
    high = std::max(high, at);
    all |= at;
    breaks |= at ^ (first + l * bytes);
  }
  to.low = low;
  to.high = high;
  to.all = all;
  to.rising = breaks == 0 && mask == ~u64{0} && high - low == (lane_count - 1) * bytes && low == first;
#endif
}

void apart(u32* offset, u32 step) {
  for (unsigned l = 0; l < lane_count; ++l) offset[l] += l * step;
}

template <unsigned words_each>
u32 any_word(const u8* base, const u32* offset) {
  u32 any[words_each] = {};
  for (unsigned l = 0; l < lane_count; ++l) {
    u32 value[words_each];
    __builtin_memcpy(value, base + offset[l], sizeof value);
    for (unsigned k = 0; k < words_each; ++k) any[k] |= value[k];
  }
  u32 all = 0;
  for (unsigned k = 0; k < words_each; ++k) all |= any[k];
  return all;
}
u32 any_near(const u8* base, const LaneOffsets& at, unsigned words) {
  if (at.rising) {
    u32 all = 0;
    for (unsigned n = 0; n < words * lane_count; ++n) {
      u32 value = 0;
      __builtin_memcpy(&value, base + at.low + u64{4} * n, sizeof value);
      all |= value;
    }
    return all;
  }
  switch (words) {
  case 1: return any_word<1>(base, at.at);
  case 2: return any_word<2>(base, at.at);
  case 3: return any_word<3>(base, at.at);
  default: return any_word<4>(base, at.at);
  }
}
u64 pages_of(const LaneOffsets& at) {
  const u32 first = at.low / 256;
  if (at.high / 256 - first < 32) { // twice as many lanes of 32 bits fit into a host register
    u32 set = 0;
    for (unsigned l = 0; l < lane_count; ++l) set |= 1U << (at.at[l] / 256 - first);
    return set;
  }
  u64 set = 0;
  for (unsigned l = 0; l < lane_count; ++l) set |= u64{1} << (at.at[l] / 256 - first);
  return set;
}
template <class T>
void gather_elements(u32* row, const u8* base, const u32* offset) {
  const auto element = [&](unsigned l) {
    T value = 0;
    __builtin_memcpy(&value, base + offset[l], sizeof value);
    return value;
  };
#ifdef __AVX512F__
  for (unsigned l = 0; l < lane_count; l += 8) { // as with words: one store for many lanes
    __m128i v = _mm_setzero_si128();
    const auto put = [&]<int... k>(std::integer_sequence<int, k...>) {
      if constexpr (sizeof(T) == 2) {
        ((v = _mm_insert_epi16(v, element(l + k), k)), ...);
      } else {
        ((v = _mm_insert_epi8(v, element(l + k), k)), ...);
      }
    };
    put(std::make_integer_sequence<int, 8>{});
    __m256i wide;
    if constexpr (sizeof(T) == 2) {
      wide = std::is_signed_v<T> ? _mm256_cvtepi16_epi32(v) : _mm256_cvtepu16_epi32(v);
    } else {
      wide = std::is_signed_v<T> ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + l), wide);
  }
#else
  for (unsigned l = 0; l < lane_count; ++l) row[l] = static_cast<u32>(static_cast<i32>(element(l)));
#endif
}
void gather_small(u32* row, const u8* base, const u32* offset, unsigned bytes, bool is_signed) {
  if (bytes == 1) {
    is_signed ? gather_elements<i8>(row, base, offset) : gather_elements<u8>(row, base, offset);
  } else {
    is_signed ? gather_elements<i16>(row, base, offset) : gather_elements<u16>(row, base, offset);
  }
}
template <class T>
void scatter_elements(u8* base, const u32* offset, const u32* row, u64 mask) {
  const auto put_lane = [&](unsigned l) {
    const T value = static_cast<T>(row[l]);
    __builtin_memcpy(base + offset[l], &value, sizeof value);
  };
  if (mask == ~u64{0}) {
    for (unsigned l = 0; l < lane_count; ++l) put_lane(l);
    return;
  }
  for (; mask != 0; mask &= mask - 1) put_lane(static_cast<unsigned>(std::countr_zero(mask)));
}
void scatter_small(u8* base, const u32* offset, const u32* row, unsigned bytes, u64 mask) {
  bytes == 1 ? scatter_elements<u8>(base, offset, row, mask) : scatter_elements<u16>(base, offset, row, mask);
}
void pick(u32* to, const u32* from, const u32* index) {
#ifdef __AVX512F__
  __m512i part[4];
  for (unsigned k = 0; k < 4; ++k) part[k] = _mm512_loadu_si512(from + 16 * k);
  for (unsigned l = 0; l < lane_count; l += 16) {
    const __m512i at = _mm512_loadu_si512(index + l); // the low five bits name a lane of two registers
    const __m512i low = _mm512_permutex2var_epi32(part[0], at, part[1]);
    const __m512i high = _mm512_permutex2var_epi32(part[2], at, part[3]);
    const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    _mm512_storeu_si512(to + l, _mm512_mask_blend_epi32(upper, low, high));
  }
#else
  for (unsigned l = 0; l < lane_count; ++l) to[l] = from[index[l] % lane_count];
#endif
}
bool ascending(const u32* offset, unsigned bytes) {
  u32 back = 0;
  for (unsigned l = 0; l + 1 < lane_count; ++l)
    back |= offset[l + 1] < offset[l] || offset[l + 1] - offset[l] < bytes ? 1U : 0U;
  return back == 0;
}
bool follows(const u32* offset, const u32* pattern) {
  u32 others = 0;
  for (unsigned l = 0; l < lane_count; ++l) others |= (offset[l] - offset[0]) ^ pattern[l];
  return others == 0;
}
bool uniform(const u32* row, u64 mask) {
  const u32 value = row[std::countr_zero(mask)];
  u32 others = 0;
  if (mask == ~u64{0}) {
    for (unsigned l = 0; l < lane_count; ++l) others |= row[l] ^ value;
    return others == 0;
  }
  for (unsigned l = 0; l < lane_count; ++l) others |= ((mask >> l) & 1U) != 0 ? row[l] ^ value : 0U;
  return others == 0;
}

} // namespace

const RowFunctions& INLAY_ROWS() {
  static constexpr RowFunctions functions{flush_f32,  merge,       broadcast,    gather<u64>,   scatter<u64>,
                                          offsets_of, gather<u32>, scatter<u32>, any_near,      pages_of,
                                          ascending,  follows,     gather_small, scatter_small, pick,
                                          uniform,    apart};
  return functions;
}

std::span<const VectorEntry> INLAY_TABLE() { return table; }

} // namespace inlay::runtime::emulator
