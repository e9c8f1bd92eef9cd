// Edge cases of the vector ALU's float operations: against the manuals' pseudo-code written out, against IEEE
// results of whole sequences that compilers emit, against definitions in wider arithmetic.
#include "emulator/numerics/float_ops.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace numerics_float_ops_test {

using namespace inlay::runtime::numerics;

namespace {

float f(std::uint32_t x) { return std::bit_cast<float>(x); }
double g(std::uint64_t x) { return std::bit_cast<double>(x); }

// Numbers around every boundary, infinities, both kinds of NaN.
template <class F>
std::vector<F> edges() {
  using L = std::numeric_limits<F>;
  std::vector<F> all;
  for (const F x : {F{0}, L::denorm_min(), L::min(), std::nextafter(L::min(), F{0}), F{0.5}, F{1},
                    std::nextafter(F{1}, F{0}), F{1.5}, F{2}, F{2.5}, F{3}, L::max(), L::infinity(),
                    L::quiet_NaN(), F{256}, F{257}, F{0.25}, F{0.75}}) {
    all.push_back(x);
    all.push_back(-x);
  }
  all.push_back(std::bit_cast<F>(bits(L::infinity()) + 1)); // signalling
  all.push_back(std::bit_cast<F>((bits(L::infinity()) | FloatBits<F>::sign) + 3));
  return all;
}

// The manual's V_MIN and V_MAX, line by line.
template <class F>
F manual_min(F a, F b, bool ieee) {
  if (ieee && is_signaling(a)) {
    return quiet(a);
  }
  if (ieee && is_signaling(b)) {
    return quiet(b);
  }
  if (std::isnan(a)) {
    return b;
  }
  if (std::isnan(b)) {
    return a;
  }
  if (a == 0 && !std::signbit(a) && b == 0 && std::signbit(b)) {
    return b;
  }
  if (a == 0 && std::signbit(a) && b == 0 && !std::signbit(b)) {
    return a;
  }
  return a < b ? a : b;
}
template <class F>
F manual_max(F a, F b, bool ieee) {
  if ((ieee && (is_signaling(a) || is_signaling(b))) || std::isnan(a) || std::isnan(b)) {
    return manual_min(a, b, ieee);
  }
  if (a == 0 && b == 0) {
    return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

template <class F>
void min_max() {
  for (const F a : edges<F>()) {
    for (const F b : edges<F>()) {
      for (const bool ieee : {false, true}) {
        CAPTURE(a, b, ieee);
        REQUIRE(bits(minimum_number(a, b, ieee)) == bits(manual_min(a, b, ieee)));
        REQUIRE(bits(maximum_number(a, b, ieee)) == bits(manual_max(a, b, ieee)));
        const bool nan = std::isnan(a) || std::isnan(b);
        REQUIRE(std::isnan(minimum(a, b)) == nan);
        REQUIRE(std::isnan(maximum(a, b)) == nan);
        REQUIRE(!is_signaling(minimum(a, b)));
        if (!nan) {
          REQUIRE(bits(minimum(a, b)) == bits(manual_min(a, b, false)));
          REQUIRE(bits(maximum(a, b)) == bits(manual_max(a, b, false)));
        }
        for (const F c : edges<F>()) {
          const F middle = median(a, b, c, ieee);
          if (nan || std::isnan(c)) {
            REQUIRE(bits(middle) == bits(manual_min(manual_min(a, b, ieee), c, ieee)));
          } else {
            std::array<F, 3> sorted = {a, b, c};
            std::sort(sorted.begin(), sorted.end());
            REQUIRE(middle == sorted[1]);
          }
        }
      }
    }
  }
}

// What LLVM's AMDGPU backend emits for an IEEE division of f32 and of f64.
float divide(float num, float den) {
  const auto scaled_den = div_scale(den, den, num);
  const auto scaled_num = div_scale(num, den, num);
  const float d = scaled_den.value, n = scaled_num.value;
  float r = rcp(d);
  const float e = std::fma(-d, r, 1.0f);
  r = std::fma(e, r, r);
  const float q = n * r;
  const float q2 = std::fma(std::fma(-d, q, n), r, q);
  return div_fixup(div_fmas(std::fma(-d, q2, n), r, q2, scaled_num.rescale), den, num);
}
double divide(double num, double den) {
  const auto scaled_den = div_scale(den, den, num);
  const auto scaled_num = div_scale(num, den, num);
  const double d = scaled_den.value, n = scaled_num.value;
  double r = rcp(d);
  r = std::fma(r, std::fma(-d, r, 1.0), r);
  r = std::fma(r, std::fma(-d, r, 1.0), r);
  const double q = n * r;
  return div_fixup(div_fmas(std::fma(-d, q, n), r, q, scaled_num.rescale), den, num);
}

template <class F>
void same_quotient(F a, F b) {
  const F want = a / b;
  const F got = divide(a, b);
  if (bits(got) != bits(want) && !(std::isnan(got) && std::isnan(want))) {
    CAPTURE(a, b, got, want);
    REQUIRE(bits(got) == bits(want));
  }
}

} // namespace

TEST_CASE("minimum, maximum and median follow the manual's NaN and zero rules", "[numerics]") {
  min_max<float>();
  min_max<double>();
  // f16: the codes of the same kinds of numbers, against the rule on widened values where no NaN is
  // signalling.
  std::vector<std::uint32_t> codes = {0,      1,      0x3ff,  0x400,  0x3800, 0x3c00,
                                      0x3c01, 0x7bff, 0x7c00, 0x7e00, 0x7c01, 0x7dff};
  for (std::size_t n = codes.size(); n-- > 0;) {
    codes.push_back(codes[n] | 0x8000u);
  }
  const auto signaling = [](std::uint32_t c) { return (c & 0x7fffu) > 0x7c00u && (c & 0x200u) == 0; };
  for (const auto a : codes) {
    for (const auto b : codes) {
      for (const bool ieee : {false, true}) {
        CAPTURE(a, b, ieee);
        if (ieee && (signaling(a) || signaling(b))) {
          CHECK(f16_minimum_number(a, b, ieee) == ((signaling(a) ? a : b) | 0x200u));
          CHECK(f16_maximum_number(a, b, ieee) == ((signaling(a) ? a : b) | 0x200u));
          continue;
        }
        const auto x = widen<Format::f16>(a), y = widen<Format::f16>(b);
        const auto low = std::isnan(x) ? b : std::isnan(y) ? a : narrow<Format::f16>(manual_min(x, y, false));
        const auto high = std::isnan(x)   ? b
                          : std::isnan(y) ? a
                                          : narrow<Format::f16>(manual_max(x, y, false));
        CHECK(f16_minimum_number(a, b, ieee) == low);
        CHECK(f16_maximum_number(a, b, ieee) == high);
        for (const auto c : codes) {
          if (!std::isnan(x) && !std::isnan(y) && !std::isnan(widen<Format::f16>(c))) {
            std::array<float, 3> sorted = {x, y, widen<Format::f16>(c)};
            std::sort(sorted.begin(), sorted.end());
            CHECK(widen<Format::f16>(f16_median(a, b, c, ieee)) == sorted[1]);
          }
        }
      }
    }
  }
}

TEST_CASE("the division sequences of compilers give IEEE quotients", "[numerics]") {
  for (const float a : edges<float>()) {
    for (const float b : edges<float>()) {
      same_quotient(a, b);
    }
  }
  for (const double a : edges<double>()) {
    for (const double b : edges<double>()) {
      same_quotient(a, b);
    }
  }
  CHECK(bits(div_fixup(1.0f, 0.0f, 0.0f)) == 0xffc00000u);
  CHECK(bits(div_fixup(1.0, HUGE_VAL, HUGE_VAL)) == 0xfff8000000000000u);
  std::mt19937_64 random(31);
  for (int n = 0; n < 2000000; ++n) {
    const std::uint64_t x = random();
    same_quotient(f(static_cast<std::uint32_t>(x)), f(static_cast<std::uint32_t>(x >> 32)));
  }
  // Quotients near and below the smallest normal, and near the largest number; subnormal operands.
  for (int n = 0; n < 2000000; ++n) {
    const std::uint64_t x = random();
    const auto a = static_cast<std::uint32_t>(x) & 0x807fffffu,
               b = static_cast<std::uint32_t>(x >> 32) & 0x807fffffu;
    const auto den = static_cast<std::uint32_t>(random() % 254);
    const int target = static_cast<int>(random() % 2 == 0 ? random() % 40 : 230 + random() % 30) - 14;
    const int num = std::min(254, std::max(0, target + static_cast<int>(den) - 127));
    same_quotient(f(a | static_cast<std::uint32_t>(num) << 23), f(b | den << 23));
  }
  for (int n = 0; n < 1000000; ++n) {
    same_quotient(g(random()), g(random()));
    const std::uint64_t a = random() & 0x800fffffffffffff, b = random() & 0x800fffffffffffff;
    const auto den = static_cast<int>(random() % 2046);
    const int target = static_cast<int>(random() % 2 == 0 ? random() % 80 : 2000 + random() % 60) - 50;
    const int num = std::min(2046, std::max(0, target + den - 1023));
    same_quotient(g(a | static_cast<std::uint64_t>(num) << 52), g(b | static_cast<std::uint64_t>(den) << 52));
  }
}

TEST_CASE("f16 multiply-add is rounded once, in every mode", "[numerics]") {
  std::mt19937 random(32);
  for (int n = 0; n < 300000; ++n) {
    const float a = widen<Format::f16>(static_cast<std::uint32_t>(random())),
                b = widen<Format::f16>(static_cast<std::uint32_t>(random()));
    float c = widen<Format::f16>(static_cast<std::uint32_t>(random()));
    if (n % 3 == 0) { // near cancellation
      c = widen<Format::f16>(narrow<Format::f16>(-a * b) + static_cast<std::uint32_t>(random() % 3));
    }
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) {
      continue;
    }
    // Exact: 2^-48 to 2^33 fit 113 bits.
    const __float128 exact =
        static_cast<__float128>(a) * static_cast<__float128>(b) + static_cast<__float128>(c);
    for (const auto rounding :
         {Rounding::nearest_even, Rounding::upward, Rounding::downward, Rounding::toward_zero}) {
      const std::uint32_t got = narrow_fma<Format::f16>(a, b, c, rounding);
      const float value = widen<Format::f16>(got);
      CAPTURE(a, b, c, got, static_cast<int>(rounding));
      // The neighbours on both sides must not be better placed.
      if (std::isfinite(value)) {
        const __float128 error = static_cast<__float128>(value) - exact;
        const auto next = [&](int step) { // the f16 above or below
          const auto ordered =
              (got & 0x8000u) != 0 ? -static_cast<int>(got & 0x7fffu) : static_cast<int>(got);
          const int other = ordered + step;
          return static_cast<__float128>(widen<Format::f16>(
              other < 0 ? 0x8000u | static_cast<std::uint32_t>(-other) : static_cast<std::uint32_t>(other)));
        };
        const auto magnitude = [](__float128 x) { return x < 0 ? -x : x; };
        switch (rounding) {
        case Rounding::upward: REQUIRE((error >= 0 && (next(-1) < exact || error == 0))); break;
        case Rounding::downward: REQUIRE((error <= 0 && (next(1) > exact || error == 0))); break;
        case Rounding::toward_zero:
          REQUIRE(magnitude(static_cast<__float128>(value)) <= magnitude(exact));
          break;
        default:
          REQUIRE(magnitude(error) <= magnitude(next(1) - exact));
          REQUIRE(magnitude(error) <= magnitude(next(-1) - exact));
          if (magnitude(error) == magnitude(next(1) - exact) ||
              magnitude(error) == magnitude(next(-1) - exact)) {
            REQUIRE((got & 1u) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("f32 multiply-add in the modes of MODE.FP_ROUND", "[numerics]") {
  std::mt19937 random(33);
  for (int n = 0; n < 400000; ++n) {
    const float a = f(static_cast<std::uint32_t>(random())), b = f(static_cast<std::uint32_t>(random()));
    float c = f(static_cast<std::uint32_t>(random()));
    if (n % 2 == 0) {
      c = std::isfinite(a * b)
              ? -a * b * (1 + static_cast<float>(static_cast<int>(random() % 5) - 2) * 0x1p-22f)
              : c;
    }
    const float near = std::fma(a, b, c);
    const float got = fma_rounded(a, b, c, Rounding::nearest_even);
    if (std::isnan(near)) {
      REQUIRE(std::isnan(got));
      continue;
    }
    CAPTURE(a, b, c, near, got);
    REQUIRE(bits(got) == bits(near));
    const float up = fma_rounded(a, b, c, Rounding::upward);
    const float down = fma_rounded(a, b, c, Rounding::downward);
    const float zero = fma_rounded(a, b, c, Rounding::toward_zero);
    REQUIRE(down <= up);
    REQUIRE((near == up || near == down));
    REQUIRE((up == down || std::nextafterf(down, INFINITY) == up));
    REQUIRE(zero == (std::signbit(near) ? up : down));
  }
  CHECK(std::signbit(fma_rounded(1.0f, 1.0f, -1.0f, Rounding::downward)));
  CHECK(!std::signbit(fma_rounded(1.0f, 1.0f, -1.0f, Rounding::nearest_even)));
  CHECK(fma_rounded(2.0f, std::numeric_limits<float>::max(), 0.0f, Rounding::toward_zero) ==
        std::numeric_limits<float>::max());
}

TEST_CASE("transcendental operations flush and keep their special values", "[numerics]") {
  const float tiny = f(1), sub = f(0x007fffff);
  CHECK(rcp(0x1p-127f) == INFINITY);
  CHECK(rcp(-sub) == -INFINITY);
  CHECK(bits(rcp(0x1.8p126f)) == 0); // the result would be subnormal
  CHECK(rcp(-0.0f) == -INFINITY);
  CHECK(rcp(3.0f) == 1.0f / 3.0f);
  CHECK(rsq(tiny) == INFINITY);
  CHECK(rsq(-0.0f) == -INFINITY);
  CHECK(std::isnan(rsq(-1.0f)));
  CHECK(rsq(4.0f) == 0.5f);
  CHECK(bits(sqrt_flushed(-sub)) == 0x80000000u);
  CHECK(std::isnan(sqrt_flushed(-2.0f)));
  CHECK(sqrt_flushed(2.25f) == 1.5f);
  CHECK(exp2_flushed(-INFINITY) == 0.0f);
  CHECK(exp2_flushed(128.0f) == INFINITY);
  CHECK(exp2_flushed(-126.5f) == 0.0f);
  CHECK(exp2_flushed(-126.0f) == 0x1p-126f);
  CHECK(exp2_flushed(tiny) == 1.0f);
  CHECK(exp2_flushed(10.0f) == 1024.0f);
  CHECK(log2_flushed(sub) == -INFINITY);
  CHECK(log2_flushed(0x1p-126f) == -126.0f);
  CHECK(std::isnan(log2_flushed(-1.0f)));
  CHECK(log2_flushed(8.0f) == 3.0f);
  CHECK(sin_turns(0.25f) == 1.0f);
  CHECK(sin_turns(0.5f) == 0.0f);
  CHECK(sin_turns(-0.75f) == 1.0f);
  CHECK(cos_turns(0.25f) == 0.0f);
  CHECK(cos_turns(1.0f) == 1.0f);
  CHECK(sin_turns(257.0f) == 0.0f);
  CHECK(cos_turns(257.125f) == 1.0f);
  CHECK(std::isnan(sin_turns(INFINITY)));
  std::mt19937 random(34);
  std::uniform_real_distribution<float> turns(-256.0f, 256.0f);
  for (int n = 0; n < 100000; ++n) {
    const float x = turns(random);
    const double angle = 6.283185307179586476925286766559 * std::remainder(static_cast<double>(x), 1.0);
    REQUIRE(std::fabs(static_cast<double>(sin_turns(x)) - std::sin(angle)) < 0x1p-24);
    REQUIRE(std::fabs(static_cast<double>(cos_turns(x)) - std::cos(angle)) < 0x1p-24);
    const float y = f(static_cast<std::uint32_t>(random()) & 0x7fffffffu);
    if (std::isnormal(y) && y < 0x1p120f) {
      REQUIRE(rcp(y) == static_cast<float>(1.0L / static_cast<long double>(y)));
      REQUIRE(std::fabs(static_cast<double>(rsq(y)) * std::sqrt(static_cast<double>(y)) - 1) < 0x1p-23);
    }
  }
}

TEST_CASE("fractions, integers, exponents", "[numerics]") {
  CHECK(fract(-0x1p-30f) == 0x1.fffffep-1f);
  CHECK(fract(-0.25f) == 0.75f);
  CHECK(std::isnan(fract(INFINITY)));
  CHECK(bits(fract(-0.0f)) == 0);
  CHECK(fract(-0x1p-70) == 0x1.fffffffffffffp-1);
  CHECK(narrow<Format::f16>(fract_f16(-0x1p-20f)) == 0x3bff);
  CHECK(bits(rndne(-0.4f)) == 0x80000000u);
  CHECK(rndne(2.5f) == 2.0f);
  CHECK(rndne(-3.5) == -4.0);
  CHECK(ldexp_any(1.0f, 2000000000) == INFINITY);
  CHECK(bits(ldexp_any(-1.0f, -2000000000)) == 0x80000000u);
  CHECK(ldexp_any(0x1.000002p0f, -127) == 0x1p-127f); // a tie goes to even, once
  CHECK(ldexp_any(f(1), 149) == 1.0f);
  CHECK(frexp_mantissa(f(1)) == 0.5f);
  CHECK(frexp_exponent(static_cast<double>(f(1))) == -148);
  CHECK(frexp_mantissa(-INFINITY) == -INFINITY);
  CHECK(frexp_exponent(HUGE_VAL) == 0);
  CHECK(frexp_exponent(0.0) == 0);
  CHECK(frexp_exponent(8.0) == 4);
  CHECK(to_integer<std::int32_t>(3e9) == 2147483647);
  CHECK(to_integer<std::int32_t>(-3e9) == std::numeric_limits<std::int32_t>::min());
  CHECK(to_integer<std::int32_t>(-1.9) == -1);
  CHECK(to_integer<std::uint32_t>(-1.0) == 0);
  CHECK(to_integer<std::uint32_t>(4294967295.5) == 4294967295u);
  CHECK(to_integer<std::int32_t>(NAN) == 0);
  CHECK(to_integer<std::int16_t>(40000.0) == 32767);
  CHECK(to_integer<std::uint16_t>(65535.9) == 65535);
  CHECK(round_half_up(-0.5f) == 0);
  CHECK(round_half_up(2.5f) == 3);
  CHECK(round_half_up(0x1.fffffep-2f) == 0); // the sum is not rounded to 1
  CHECK(floor_integer(-0.5f) == -1);
  CHECK(offset_i4(0xf) == -0.0625f);
  CHECK(offset_i4(8) == -0.5f);
  CHECK(offset_i4(7) == 0.4375f);
  CHECK(to_snorm16(-2.0f) == -32767);
  CHECK(to_unorm16(0.5f) == 32768);
  CHECK(to_unorm16(NAN) == 0);
  CHECK(prng(0x80000001u) == (2u ^ 197u));
  std::mt19937 random(35);
  for (int n = 0; n < 300000; ++n) {
    const float x = f(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(x)) {
      continue;
    }
    REQUIRE(fract(x) >= 0.0f);
    REQUIRE(fract(x) < 1.0f);
    REQUIRE(std::ldexp(static_cast<double>(frexp_mantissa(x)), frexp_exponent(static_cast<double>(x))) ==
            static_cast<double>(x));
    const double r = static_cast<double>(rndne(x));
    REQUIRE(std::fabs(r - static_cast<double>(x)) <= 0.5);
    if (std::fabs(r - static_cast<double>(x)) == 0.5) {
      REQUIRE(std::fmod(r, 2.0) == 0.0);
    }
  }
}

TEST_CASE("classes", "[numerics]") {
  CHECK(class_of(f(0x7f800001u)) == 1u << 0);
  CHECK(class_of(f(0xffc00000u)) == 1u << 1);
  CHECK(class_of(-INFINITY) == 1u << 2);
  CHECK(class_of(-1.0f) == 1u << 3);
  CHECK(class_of(f(0x80000001u)) == 1u << 4);
  CHECK(class_of(-0.0) == 1u << 5);
  CHECK(class_of(0.0f) == 1u << 6);
  CHECK(class_of(5e-324) == 1u << 7);
  CHECK(class_of(2.0) == 1u << 8);
  CHECK(class_of(INFINITY) == 1u << 9);
}

TEST_CASE("the segments of 2/pi add up to it, and follow the exponent", "[numerics]") {
  __float128 sum = 0;
  for (std::uint32_t s = 0; s < 2; ++s) {
    sum += static_cast<__float128>(trig_preop(1.0, s));
  }
  // 106 bits times pi/2: one, but for what the second and third word of pi/2 leave open.
  const __float128 half_pi = static_cast<__float128>(1.5707963267948966) +
                             static_cast<__float128>(6.123233995736766e-17) +
                             static_cast<__float128>(-1.4973849048591833e-33);
  const __float128 error = sum * half_pi - 1;
  CHECK(static_cast<double>(error < 0 ? -error : error) < 0x1p-104);
  // One exponent up moves the window by one bit: the bits are the same, one place lower in the number.
  const double low = trig_preop(std::ldexp(1.0, 1077 - 1023), 1);
  const double high = trig_preop(std::ldexp(1.0, 1078 - 1023), 1);
  CHECK(std::fmod(low, 0x1p-106) == 0.0);
  CHECK(std::fabs(low - high) < 0x1p-53);
  CHECK(trig_preop(std::ldexp(1.0, 1000), 31) == 0.0); // past the last bit
  CHECK(trig_preop(std::ldexp(1.0, 1968 - 1023), 0) > 0);
}

} // namespace numerics_float_ops_test
