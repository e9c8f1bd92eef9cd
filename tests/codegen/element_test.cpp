// The type table against its definitions: IEEE 754's formula, tables written by hand, nearest codes by search, and the
// emulator's numerics, which were written by another hand.
#include <catch2/catch.hpp>
#include <inlay/codegen/element.h>
#include <inlay/codegen/error.h>

#include "emulator/numerics/formats.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace element_test {

using namespace inlay::codegen;
namespace numerics = inlay::runtime::numerics;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Hand {
  Element element;
  numerics::Format format;
};
constexpr Hand narrow_floats[] = {
    {Element::f16, numerics::Format::f16},           {Element::bf16, numerics::Format::bf16},
    {Element::e4m3fnuz, numerics::Format::e4m3fnuz}, {Element::e5m2fnuz, numerics::Format::e5m2fnuz},
    {Element::e4m3fn, numerics::Format::e4m3fn},     {Element::e5m2, numerics::Format::e5m2},
    {Element::e2m3, numerics::Format::e2m3},         {Element::e3m2, numerics::Format::e3m2},
    {Element::e2m1, numerics::Format::e2m1},
};

// Equal as numbers with sign, any NaN being equal to any other.
bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// The number of a code, from the names of the formats alone: sign, exponent, mantissa; which codes are special is the
// text of the standards.
double by_definition(Element e, unsigned code) {
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  switch (e) {
  case Element::f16: exponent_bits = 5, mantissa_bits = 10, bias = 15; break;
  case Element::bf16: exponent_bits = 8, mantissa_bits = 7, bias = 127; break;
  case Element::e4m3fnuz: exponent_bits = 4, mantissa_bits = 3, bias = 8; break;
  case Element::e5m2fnuz: exponent_bits = 5, mantissa_bits = 2, bias = 16; break;
  case Element::e4m3fn: exponent_bits = 4, mantissa_bits = 3, bias = 7; break;
  case Element::e5m2: exponent_bits = 5, mantissa_bits = 2, bias = 15; break;
  case Element::e2m3: exponent_bits = 2, mantissa_bits = 3, bias = 1; break;
  case Element::e3m2: exponent_bits = 3, mantissa_bits = 2, bias = 3; break;
  case Element::e2m1: exponent_bits = 2, mantissa_bits = 1, bias = 1; break;
  default: FAIL("no narrow float");
  }
  if ((e == Element::e4m3fnuz || e == Element::e5m2fnuz) && code == 0x80) return NAN;
  if (e == Element::e4m3fn && (code & 0x7f) == 0x7f) return NAN;
  const double sign = (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
  if ((e == Element::f16 || e == Element::bf16 || e == Element::e5m2) && exponent == (1 << exponent_bits) - 1)
    return mantissa == 0 ? sign * infinity : NAN;
  if (exponent == 0) return sign * mantissa * std::pow(2.0, 1 - bias - mantissa_bits);
  return sign * (1 + mantissa * std::pow(2.0, -mantissa_bits)) * std::pow(2.0, exponent - bias);
}

unsigned count(Element e) { return 1u << bits(e); }

} // namespace

TEST_CASE("every element is printed and parsed back, and other names are understood") {
  for (const ElementFacts& f : elements()) {
    CHECK(parse_element(to_string(f.element)) == f.element);
    CHECK(&facts(f.element) == &f);
  }
  CHECK(parse_element("BFloat16") == Element::bf16);
  CHECK(parse_element("f8E4M3FNUZ") == Element::e4m3fnuz);
  CHECK(parse_element("float8_e4m3fn") == Element::e4m3fn);
  CHECK(parse_element("fp4") == Element::e2m1);
  CHECK(parse_element("int4") == Element::i4);
  CHECK(parse_element("fp8", Target::named("gfx942")) == Element::e4m3fnuz);
  CHECK(parse_element("FP8", Target::named("gfx950")) == Element::e4m3fn);
  CHECK(parse_element("bf8", Target::named("gfx942")) == Element::e5m2fnuz);
  CHECK(parse_element("bf8", Target::named("gfx950")) == Element::e5m2);
  CHECK(parse_element("f16", Target::named("gfx950")) == Element::f16);
  CHECK_THROWS_WITH(parse_element("fp8"), Catch::Contains("e4m3fnuz") && Catch::Contains("e4m3fn (gfx950)"));
  CHECK_THROWS_WITH(parse_element("f17"), Catch::Contains("f17") && Catch::Contains("bf16"));
  CHECK_THROWS_AS(parse_element(""), CodegenError);
}

TEST_CASE("decoding is the formula of the standards for every code, and what the emulator reads") {
  for (const auto& [e, format] : narrow_floats)
    for (unsigned code = 0; code < count(e); ++code) {
      CAPTURE(to_string(e), code);
      REQUIRE(same(decode(e, code), by_definition(e, code)));
      REQUIRE(same(decode(e, code), static_cast<double>(numerics::widen(format, code))));
    }
  // OCP MX 1.0, tables 1 to 5; the manuals' tables of FNUZ.
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (unsigned code = 0; code < 8; ++code) {
    CHECK(decode(Element::e2m1, code) == e2m1[code]);
    CHECK(same(decode(Element::e2m1, code + 8), -e2m1[code]));
  }
  CHECK(largest_finite(Element::e2m3) == 7.5);
  CHECK(smallest_positive(Element::e2m3) == 0.125);
  CHECK(largest_finite(Element::e3m2) == 28);
  CHECK(smallest_positive(Element::e3m2) == 0.0625);
  CHECK(largest_finite(Element::e4m3fn) == 448);
  CHECK(largest_finite(Element::e5m2) == 57344);
  CHECK(largest_finite(Element::e4m3fnuz) == 240);
  CHECK(largest_finite(Element::e5m2fnuz) == 57344);
  CHECK(largest_finite(Element::f16) == 65504);
  CHECK(smallest_positive(Element::f16) == 0x1p-24);
  CHECK(largest_finite(Element::bf16) == 0x1.fep127);
  CHECK(largest_finite(Element::f32) == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(smallest_positive(Element::f32) == static_cast<double>(std::numeric_limits<float>::denorm_min()));
  CHECK(largest_finite(Element::f64) == std::numeric_limits<double>::max());
  CHECK(largest_finite(Element::xf32) == 0x1.ffcp127);
  for (unsigned code = 0; code < 255; ++code) {
    CHECK(decode(Element::e8m0, code) == std::pow(2.0, static_cast<int>(code) - 127));
    CHECK(decode(Element::e8m0, code) == static_cast<double>(numerics::e8m0(code)));
  }
  CHECK(std::isnan(decode(Element::e8m0, 255)));
}

TEST_CASE("f32, f64 and xf32 are the machine's, for codes at the edges and at random") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::uint64_t r = random();
    if (i % 4 == 1) r &= 0x007fffff807fffff; // subnormals
    if (i % 4 == 2) r |= 0x7ff000007f800000; // specials
    const float f = std::bit_cast<float>(static_cast<std::uint32_t>(r));
    REQUIRE(same(decode(Element::f32, r & 0xffffffff), static_cast<double>(f)));
    REQUIRE(same(decode(Element::f64, r), std::bit_cast<double>(r)));
    REQUIRE(same(decode(Element::xf32, r & 0xffffffff), static_cast<double>(numerics::xf32(f))));
    const double d =
        i % 2 == 0 ? std::bit_cast<double>(r) : static_cast<double>(f) * (1 + std::ldexp(1, -30 - i % 20));
    if (std::isnan(d)) continue;
    REQUIRE(encode(Element::f32, d) == std::bit_cast<std::uint32_t>(static_cast<float>(d)));
    REQUIRE(encode(Element::f64, d) == std::bit_cast<std::uint64_t>(d));
  }
  CHECK(encode(Element::xf32, 1 + 0x1p-11) == 0x3f800000); // a tie goes to the even one
  CHECK(encode(Element::xf32, 1 + 0x3p-11) == 0x3f804000);
}

TEST_CASE("encoding is the nearest code, ties to even, found by looking at all of them") {
  std::mt19937_64 random(2);
  for (const auto& [e, format] : narrow_floats) {
    std::vector<double> probes = {0.0, -0.0};
    for (unsigned code = 0; code < count(e); ++code) {
      const double x = decode(e, code);
      if (!std::isfinite(x)) continue;
      const double y = decode(e, code + 1); // the neighbour of larger magnitude, unless this is the last
      for (const double v : {x, (x + y) / 2, std::nextafter((x + y) / 2, x), std::nextafter((x + y) / 2, y)})
        if (std::abs(v) < 1e40) probes.push_back(v); // distances beyond are rounded
    }
    const double top = largest_finite(e);
    for (const double scale : {1.0, 1.01, 1.03, 1.0625, 1.125, 1.25, 2.0, 1e6}) {
      probes.push_back(top * scale);
      probes.push_back(-top * scale);
    }
    for (int i = 0; i < 2000; ++i)
      probes.push_back(
          std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63 + i % 40 - 20));
    const bool wide = bits(e) == 16; // a search over 65536 codes for each probe takes too long: a sample
    for (std::size_t i = 0; i < probes.size(); i += wide ? 1597 : 1) {
      const double v = probes[i];
      CAPTURE(to_string(e), v);
      double best = infinity;
      std::vector<unsigned> nearest;
      for (unsigned code = 0; code < count(e); ++code) {
        const double x = decode(e, code);
        if (!std::isfinite(x) || (std::signbit(x) != std::signbit(v) && x != 0)) continue;
        const double distance = std::abs(x - v);
        if (distance < best) best = distance, nearest.clear();
        if (distance == best) nearest.push_back(code);
      }
      const auto code = static_cast<unsigned>(encode(e, v, Overflow::saturate));
      REQUIRE(std::find(nearest.begin(), nearest.end(), code) != nearest.end());
      if (decode(e, nearest[0]) != decode(e, nearest.back())) REQUIRE(code % 2 == 0);
      REQUIRE(same(decode(e, static_cast<unsigned>(encode(e, v, Overflow::saturate, Rounding::toward_zero))),
                   [&] { // the largest magnitude that is not above v's
                     double found = std::copysign(0.0, v);
                     if (facts(e).top == TopCodes::unsigned_zero) found = 0;
                     for (unsigned c = 0; c < count(e); ++c) {
                       const double x = decode(e, c);
                       if (std::isfinite(x) && std::signbit(x) == std::signbit(v) &&
                           std::abs(x) <= std::abs(v) && std::abs(x) > std::abs(found))
                         found = x;
                     }
                     return found;
                   }()));
    }
    // And every probe as the emulator's numerics have it, where a float holds it.
    for (const double v : probes) {
      if (static_cast<double>(static_cast<float>(v)) != v) continue;
      CAPTURE(to_string(e), v);
      const auto f = static_cast<float>(v);
      REQUIRE(encode(e, v) == numerics::narrow(format, f));
      REQUIRE(encode(e, v, Overflow::saturate) ==
              numerics::narrow(format, f, numerics::Rounding::nearest_even, numerics::Overflow::saturate));
      REQUIRE(encode(e, v, Overflow::special, Rounding::toward_zero) ==
              numerics::narrow(format, f, numerics::Rounding::toward_zero));
    }
    for (const float v : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
      CAPTURE(to_string(e), v);
      CHECK(encode(e, static_cast<double>(v)) == numerics::narrow(format, v));
      CHECK(encode(e, static_cast<double>(v), Overflow::saturate) ==
            numerics::narrow(format, v, numerics::Rounding::nearest_even, numerics::Overflow::saturate));
    }
    CHECK(std::isnan(decode(e, encode(e, NAN))) == has_nan(e));
    CHECK(std::isinf(decode(e, encode(e, infinity))) == has_infinity(e));
  }
}

TEST_CASE("every code that is a number survives decode and encode") {
  for (const ElementFacts& f : elements()) {
    if (f.kind == ElementKind::pointer || f.bits > 16) continue;
    for (unsigned code = 0; code < count(f.element); ++code) {
      const double x = decode(f.element, code);
      if (std::isnan(x)) continue;
      CAPTURE(to_string(f.element), code);
      REQUIRE(encode(f.element, x) == code);
      REQUIRE(rounded(f.element, x) == x);
    }
  }
}

TEST_CASE("the unit of rounding is half the gap above 1") {
  for (const ElementFacts& f : elements()) {
    if (f.kind == ElementKind::pointer) continue;
    if (f.kind == ElementKind::integer) {
      CHECK(unit_roundoff(f.element) == 0);
      continue;
    }
    CAPTURE(to_string(f.element));
    const std::uint64_t step = f.element == Element::xf32 ? 0x2000 : 1;
    const std::uint64_t one = encode(f.element, 1);
    CHECK(unit_roundoff(f.element) == (decode(f.element, one + step) - 1) / 2);
  }
}

TEST_CASE("integers are two's complement, round to even or toward zero, and saturate") {
  CHECK(decode(Element::i8, 0xff) == -1);
  CHECK(decode(Element::i4, 0x8) == -8);
  CHECK(decode(Element::i4, 0x17) == 7); // bits above are ignored
  CHECK(decode(Element::i1, 1) == 1);
  CHECK(encode(Element::i4, -9) == 0x8);
  CHECK(encode(Element::i8, 200) == 0x7f);
  CHECK(encode(Element::i8, 2.5) == 2);
  CHECK(encode(Element::i8, 3.5) == 4);
  CHECK(encode(Element::i8, -2.5) == 0xfe);
  CHECK(encode(Element::i8, -2.9, Overflow::special, Rounding::toward_zero) == 0xfe);
  CHECK(encode(Element::i1, 7) == 1);
  CHECK(encode(Element::i32, NAN) == 0);
  CHECK(encode(Element::i32, -infinity) == 0x80000000);
  CHECK(encode(Element::i64, 1e300) == 0x7fffffffffffffff);
  CHECK(encode(Element::i64, -0x1p63) == 0x8000000000000000);
  CHECK(decode(Element::i64, 0x8000000000000000) == -0x1p63);
  CHECK(largest_finite(Element::i16) == 32767);
}

TEST_CASE("e8m0 holds powers of two") {
  CHECK(encode(Element::e8m0, 1) == 127);
  CHECK(encode(Element::e8m0, 0) == 0);
  CHECK(encode(Element::e8m0, 0x1p-140) == 0);
  CHECK(encode(Element::e8m0, 2.9) == 128);
  CHECK(encode(Element::e8m0, 3) == 129); // a tie: the larger
  CHECK(encode(Element::e8m0, 1.5) == 128);
  CHECK(encode(Element::e8m0, 3.1) == 129);
  CHECK(encode(Element::e8m0, 3.9, Overflow::special, Rounding::toward_zero) == 128);
  CHECK(encode(Element::e8m0, -1) == 255);
  CHECK(encode(Element::e8m0, NAN) == 255);
  CHECK(encode(Element::e8m0, 1e300) == 255);
  CHECK(encode(Element::e8m0, 1e300, Overflow::saturate) == 254);
}

TEST_CASE("what a target converts") {
  const Target &gfx942 = Target::named("gfx942"), &gfx950 = Target::named("gfx950");
  CHECK(conversion(gfx950, Element::f32, Element::bf16)->instruction == "v_cvt_pk_bf16_f32");
  CHECK_FALSE(conversion(gfx942, Element::f32, Element::bf16)->hardware());
  CHECK(conversion(gfx942, Element::f32, Element::e4m3fn) == nullptr);
  CHECK(conversion(gfx942, Element::f32, Element::e4m3fnuz)->elements == 2);
  CHECK_FALSE(conversion(gfx950, Element::f32, Element::e4m3fn)->scaled); // there is a scaled one too
  CHECK(conversion(gfx950, Element::bf16, Element::e4m3fn)->scaled);
  CHECK(conversion(gfx942, Element::f32, Element::e2m1) == nullptr);
  // At most one with and one without a scale, for each pair and target.
  for (const Target& target : Target::all())
    for (const Conversion& c : conversions()) {
      int equal = 0;
      for (const Conversion& d : conversions())
        equal += d.from == c.from && d.to == c.to && d.scaled == c.scaled && d.targets.contains(target) &&
                 c.targets.contains(target);
      CAPTURE(std::string(c.instruction), to_string(c.from), to_string(c.to));
      CHECK(equal == (c.targets.contains(target) ? 1 : 0));
    }
}

} // namespace element_test
