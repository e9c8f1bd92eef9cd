// Every code of every format against the formula of its definition in double, and narrowing against a search
// among all codes: the oracle knows nothing of bits being shifted.
#include "emulator/numerics/formats.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include <limits>
#include <random>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace numerics_formats_test {

using namespace inlay::runtime::numerics;

namespace {

struct Definition {
  const char* name;
  Format format;
  int exponent_bits, mantissa_bits, bias;
  enum Kind { ieee, fn, fnuz, plain } kind;
};

constexpr Definition definitions[] = {{"f16", Format::f16, 5, 10, 15, Definition::ieee},
                                      {"bf16", Format::bf16, 8, 7, 127, Definition::ieee},
                                      {"e4m3fnuz", Format::e4m3fnuz, 4, 3, 8, Definition::fnuz},
                                      {"e5m2fnuz", Format::e5m2fnuz, 5, 2, 16, Definition::fnuz},
                                      {"e4m3fn", Format::e4m3fn, 4, 3, 7, Definition::fn},
                                      {"e5m2", Format::e5m2, 5, 2, 15, Definition::ieee},
                                      {"e2m3", Format::e2m3, 2, 3, 1, Definition::plain},
                                      {"e3m2", Format::e3m2, 3, 2, 3, Definition::plain},
                                      {"e2m1", Format::e2m1, 2, 1, 1, Definition::plain}};

// The value of a magnitude by the textbook formula, ignoring special codes.
double formula(const Definition& d, std::uint32_t magnitude) {
  const auto mantissa = static_cast<double>(magnitude % (1u << d.mantissa_bits));
  const int exponent = static_cast<int>(magnitude >> d.mantissa_bits);
  return exponent == 0
             ? std::ldexp(mantissa, 1 - d.bias - d.mantissa_bits)
             : std::ldexp(mantissa + std::ldexp(1.0, d.mantissa_bits), exponent - d.bias - d.mantissa_bits);
}

double value_of(const Definition& d, std::uint32_t code) {
  const std::uint32_t sign = 1u << (d.exponent_bits + d.mantissa_bits);
  const std::uint32_t magnitude = code & (sign - 1);
  const double s = (code & sign) != 0 ? -1.0 : 1.0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (d.kind == Definition::ieee && magnitude >> d.mantissa_bits == (1u << d.exponent_bits) - 1) {
    return magnitude % (1u << d.mantissa_bits) != 0 ? nan : s * std::numeric_limits<double>::infinity();
  }
  if (d.kind == Definition::fn && magnitude == sign - 1) {
    return nan;
  }
  if (d.kind == Definition::fnuz && code == sign) {
    return nan;
  }
  return s * formula(d, magnitude);
}

std::uint32_t largest_code(const Definition& d) {
  std::uint32_t best = 0;
  for (std::uint32_t c = 0; c < 1u << (d.exponent_bits + d.mantissa_bits); ++c) {
    if (std::isfinite(value_of(d, c))) {
      best = c;
    }
  }
  return best;
}

// The magnitude code of |x| by enumeration: `values` holds formula(c) for c = 0..largest+1, where the last
// entry is the number that would come next if the format went on.
enum class Side { nearest, inward, outward };
std::uint32_t nearest(const std::vector<double>& values, double x, Side side) {
  const auto above = std::upper_bound(values.begin(), values.end(), x);
  if (above == values.end()) {
    return static_cast<std::uint32_t>(values.size() - 1);
  }
  const auto low = static_cast<std::uint32_t>(above - values.begin() - 1);
  if (side == Side::inward || values[low] == x) {
    return low;
  }
  if (side == Side::outward) {
    return low + 1;
  }
  const double to_low = x - values[low];
  const double to_high = values[low + 1] - x;
  return to_low < to_high ? low : to_high < to_low ? low + 1 : low + (low & 1u);
}

struct Oracle {
  explicit Oracle(const Definition& definition) : d(definition), largest(largest_code(definition)) {
    for (std::uint32_t c = 0; c <= largest + 1; ++c) {
      values.push_back(formula(d, c));
    }
    sign = 1u << (d.exponent_bits + d.mantissa_bits);
  }
  // What a too large finite number becomes.
  [[nodiscard]] std::uint32_t overflowed(bool saturate) const {
    return saturate || d.kind == Definition::plain ? largest
           : d.kind == Definition::fnuz            ? sign
                                                   : largest + 1;
  }
  [[nodiscard]] std::uint32_t code(float x, Rounding rounding, Overflow overflow) const {
    const std::uint32_t s = std::signbit(x) ? sign : 0;
    if (std::isinf(x)) {
      const bool keeps = d.format == Format::f16 || d.format == Format::bf16;
      const std::uint32_t c = overflowed(overflow == Overflow::saturate && !keeps);
      return c == sign ? sign : c | s;
    }
    const bool outward = rounding == (std::signbit(x) ? Rounding::downward : Rounding::upward);
    const Side side = rounding == Rounding::nearest_even ? Side::nearest
                      : outward                          ? Side::outward
                                                         : Side::inward;
    std::uint32_t c = nearest(values, std::fabs(static_cast<double>(x)), side);
    if (c > largest) {
      c = overflowed(overflow == Overflow::saturate || side == Side::inward);
    }
    return d.kind == Definition::fnuz && (c == 0 || c == sign) ? c : c | s;
  }
  Definition d;
  std::uint32_t largest;
  std::uint32_t sign = 0;
  std::vector<double> values;
};

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t to_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

void same(const Oracle& o, float x) {
  for (const auto rounding :
       {Rounding::nearest_even, Rounding::upward, Rounding::downward, Rounding::toward_zero}) {
    for (const auto overflow : {Overflow::special, Overflow::saturate}) {
      const std::uint32_t got = narrow(o.d.format, x, rounding, overflow);
      const std::uint32_t want = o.code(x, rounding, overflow);
      if (got != want) {
        CAPTURE(o.d.name, x, to_bits(x), got, want, static_cast<int>(rounding), static_cast<int>(overflow));
        REQUIRE(got == want);
      }
    }
  }
}

} // namespace

TEST_CASE("every code of every format has the value of its definition", "[numerics]") {
  for (const auto& d : definitions) {
    CAPTURE(d.name);
    const auto codes = std::uint32_t{1} << (1 + d.exponent_bits + d.mantissa_bits);
    CHECK(facts(d.format).bits() == 1 + d.exponent_bits + d.mantissa_bits);
    CHECK(facts(d.format).largest() == largest_code(d));
    for (std::uint32_t code = 0; code < codes; ++code) {
      const double want = value_of(d, code);
      const float got = widen(d.format, code);
      CAPTURE(code, want, got);
      if (std::isnan(want)) {
        REQUIRE(std::isnan(got));
        // Widening bf16 only moves bits; the others make a signalling NaN quiet.
        REQUIRE((d.format == Format::bf16 || (to_bits(got) & 0x400000u) != 0));
      } else {
        REQUIRE(static_cast<double>(got) == want);
        REQUIRE(std::signbit(got) == std::signbit(want));
      }
    }
  }
}

TEST_CASE("narrowing what was widened gives the code back", "[numerics]") {
  for (const auto& d : definitions) {
    CAPTURE(d.name);
    const auto codes = std::uint32_t{1} << (1 + d.exponent_bits + d.mantissa_bits);
    for (std::uint32_t code = 0; code < codes; ++code) {
      const float value = widen(d.format, code);
      CAPTURE(code);
      for (const auto rounding : {Rounding::nearest_even, Rounding::upward, Rounding::downward,
                                  Rounding::toward_zero, Rounding::stochastic}) {
        const std::uint32_t back = narrow(d.format, value, rounding, Overflow::special, 0xffffffffu);
        if (std::isnan(value)) {
          REQUIRE(std::isnan(widen(d.format, back)));
        } else {
          REQUIRE(back == code);
        }
      }
    }
  }
}

TEST_CASE("narrowing takes the neighbour that a search among all codes takes", "[numerics]") {
  for (const auto& d : definitions) {
    const Oracle o(d);
    // Every number, every midpoint of neighbours, and the floats on both sides of each.
    for (std::uint32_t c = 0; c <= o.largest; ++c) {
      for (const double x : {o.values[c], (o.values[c] + o.values[c + 1]) / 2}) {
        const auto f = static_cast<float>(x);
        for (const float near : {f, std::nextafterf(f, 0.0f), std::nextafterf(f, INFINITY)}) {
          same(o, near);
          same(o, -near);
        }
      }
    }
    for (const float x : {0.0f, -0.0f, INFINITY, -INFINITY, std::numeric_limits<float>::max(), from_bits(1),
                          from_bits(0x807fffff), from_bits(0x00800000)}) {
      same(o, x);
    }
    std::mt19937 random(7);
    std::uniform_real_distribution<float> log(
        static_cast<float>(2 - d.bias - d.mantissa_bits - 6),
        std::min(127.9f, static_cast<float>((1 << d.exponent_bits) - d.bias + 3)));
    for (int n = 0; n < 300000; ++n) {
      const float scaled = std::exp2(std::max(log(random), -149.0f));
      same(o, (random() & 1u) != 0 ? scaled : -scaled);
      const float any = from_bits(static_cast<std::uint32_t>(random()));
      if (!std::isnan(any)) {
        same(o, any);
      }
    }
  }
}

#ifdef __x86_64__
namespace {
__attribute__((target("f16c"))) std::uint32_t hardware_narrow(float x, bool toward_zero) {
  return toward_zero ? _cvtss_sh(x, _MM_FROUND_TO_ZERO) : _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}
__attribute__((target("f16c"))) float hardware_widen(std::uint32_t code) {
  return _cvtsh_ss(static_cast<unsigned short>(code));
}
} // namespace

TEST_CASE("f16 agrees with the processor's own conversions, NaN included", "[numerics]") {
  if (!__builtin_cpu_supports("f16c")) {
    WARN("this processor has no F16C");
    return;
  }
  std::mt19937 random(11);
  for (int n = 0; n < 4000000; ++n) {
    const float x = from_bits(static_cast<std::uint32_t>(random()));
    const std::uint32_t near = hardware_narrow(x, false);
    const std::uint32_t low = hardware_narrow(x, true);
    if (narrow<Format::f16>(x) != near || narrow<Format::f16>(x, Rounding::toward_zero) != low) {
      CAPTURE(to_bits(x), near, low);
      REQUIRE(narrow<Format::f16>(x) == near);
      REQUIRE(narrow<Format::f16>(x, Rounding::toward_zero) == low);
    }
  }
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    REQUIRE(to_bits(widen<Format::f16>(code)) == to_bits(hardware_widen(code)));
  }
}
#endif

TEST_CASE("NaN narrows to NaN, or to the largest number where there is none", "[numerics]") {
  for (const auto& d : definitions) {
    CAPTURE(d.name);
    for (const std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff800001u}) {
      for (const auto rounding : {Rounding::nearest_even, Rounding::toward_zero, Rounding::stochastic}) {
        for (const auto overflow : {Overflow::special, Overflow::saturate}) {
          const std::uint32_t code = narrow(d.format, from_bits(bits), rounding, overflow, 0xffffffffu);
          if (d.kind == Definition::plain) {
            CHECK(std::fabs(widen(d.format, code)) == widen(d.format, largest_code(d)));
          } else {
            CHECK(std::isnan(widen(d.format, code)));
          }
        }
      }
    }
  }
  CHECK(narrow<Format::f16>(from_bits(0x7f802000u)) == 0x7e01);
  CHECK(narrow<Format::bf16>(from_bits(0xff810000u)) == 0xffc1);
}

TEST_CASE(
    "stochastic rounding goes up for the fraction of the seeds that the value lies above its lower neighbour",
    "[numerics]") {
  for (const auto& d : definitions) {
    const Oracle o(d);
    CAPTURE(d.name);
    std::mt19937 random(3);
    for (int n = 0; n < 200; ++n) {
      const auto low = static_cast<std::uint32_t>(random() % o.largest);
      const double fraction = static_cast<double>(random() % 1024) / 1024;
      const auto x = static_cast<float>(o.values[low] + fraction * (o.values[low + 1] - o.values[low]));
      const double exact = (static_cast<double>(x) - o.values[low]) / (o.values[low + 1] - o.values[low]);
      // The seed's top bits act as a number in [0, 1): up exactly when it is at least 1 - fraction.
      const int steps = 4096;
      int up = 0;
      for (int s = 0; s < steps; ++s) {
        const auto seed = static_cast<std::uint32_t>(s) << 20 | 0xfffffu;
        const std::uint32_t code = narrow(d.format, x, Rounding::stochastic, Overflow::special, seed);
        REQUIRE((code == low || code == low + 1));
        up += code == low + 1 ? 1 : 0;
      }
      CHECK(std::fabs(up - exact * steps) <= 1.0);
    }
  }
  // Far below the smallest step the chance is that of the value, not of a capped shift.
  CHECK(narrow<Format::e4m3fn>(0x1p-30f, Rounding::stochastic, Overflow::special, 0xffff0000u) == 0);
  CHECK(narrow<Format::e4m3fn>(0x1p-30f, Rounding::stochastic, Overflow::special, 0xffffffffu) == 1);
  // The field that the manual names for V_CVT_SR_FP8_F32: S1[31:12] is added below the three kept bits.
  CHECK(narrow<Format::e4m3fn>(1.0f + 0x1p-23f, Rounding::stochastic, Overflow::special, 0xfffff000u) ==
        0x39);
  CHECK(narrow<Format::e4m3fn>(1.0f + 0x1p-23f, Rounding::stochastic, Overflow::special, 0xffffefffu) ==
        0x38);
}

TEST_CASE("E8M0 and xf32", "[numerics]") {
  for (std::uint32_t code = 0; code < 255; ++code) {
    REQUIRE(static_cast<double>(e8m0(code)) == std::ldexp(1.0, static_cast<int>(code) - 127));
  }
  CHECK(std::isnan(e8m0(255)));
  std::mt19937 random(5);
  for (int n = 0; n < 100000; ++n) {
    const float x = from_bits(static_cast<std::uint32_t>(random()));
    const float cut = xf32(x);
    if (std::isnan(x)) {
      REQUIRE(std::isnan(cut));
    } else if (std::isfinite(x) && std::fabs(x) >= 0x1p-126f) {
      int exponent = 0;
      const double fraction = std::frexp(static_cast<double>(x), &exponent);
      REQUIRE(static_cast<double>(cut) == std::ldexp(std::trunc(std::ldexp(fraction, 11)), exponent - 11));
    }
  }
}

static_assert(widen<Format::e4m3fn>(0x38) == 1.0f && widen<Format::e4m3fnuz>(0x38) == 0.5f);
static_assert(narrow<Format::e2m1>(2.5f) == 0x4 && narrow<Format::f16>(65520.0f) == 0x7c00);

} // namespace numerics_formats_test
