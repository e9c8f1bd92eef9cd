#include <inlay/machine/target.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/nearest.h>
#include <inlay/codegen/element.h>
#include <inlay/codegen/error.h>
#include <inlay/machine/formats.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

namespace inlay::codegen {
namespace {

using enum ElementKind;

constexpr ElementFacts number(Element element, std::string_view name) {
  const machine::Format& f = machine::format(name);
  return {element,         f.name,          f.bits, f.floating() ? floating : integer,
          f.exponent_bits, f.mantissa_bits, f.bias, static_cast<TopCodes>(f.top)};
}
static_assert(static_cast<int>(TopCodes::numbers) == static_cast<int>(machine::TopCodes::numbers));

constexpr ElementFacts table[] = {
    number(Element::f64, "f64"),
    number(Element::f32, "f32"),
    number(Element::xf32, "xf32"),
    number(Element::f16, "f16"),
    number(Element::bf16, "bf16"),
    number(Element::e4m3fnuz, "e4m3fnuz"),
    number(Element::e5m2fnuz, "e5m2fnuz"),
    number(Element::e4m3fn, "e4m3fn"),
    number(Element::e5m2, "e5m2"),
    number(Element::e2m3, "e2m3"),
    number(Element::e3m2, "e3m2"),
    number(Element::e2m1, "e2m1"),
    number(Element::e8m0, "e8m0"),
    number(Element::i64, "i64"),
    number(Element::i32, "i32"),
    number(Element::i16, "i16"),
    number(Element::i8, "i8"),
    number(Element::i4, "i4"),
    number(Element::i1, "i1"),
    {Element::global, "global", 64, pointer},
    {Element::lds, "lds", 32, pointer},
    {Element::buffer, "buffer", 128, pointer},
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].element != static_cast<Element>(i)) return false;
  return true;
}());

struct Alias {
  std::string_view name;
  Element element;
};
constexpr Alias aliases[] = {
    {"fp64", Element::f64},
    {"double", Element::f64},
    {"float64", Element::f64},
    {"fp32", Element::f32},
    {"float", Element::f32},
    {"float32", Element::f32},
    {"fp16", Element::f16},
    {"half", Element::f16},
    {"float16", Element::f16},
    {"bfloat16", Element::bf16},
    {"bfloat", Element::bf16},
    {"fp6", Element::e2m3},
    {"bf6", Element::e3m2},
    {"fp4", Element::e2m1},
    {"float8_e4m3fnuz", Element::e4m3fnuz},
    {"float8_e5m2fnuz", Element::e5m2fnuz},
    {"float8_e4m3fn", Element::e4m3fn},
    {"float8_e5m2", Element::e5m2},
    {"float6_e2m3fn", Element::e2m3},
    {"float6_e3m2fn", Element::e3m2},
    {"float4_e2m1fn", Element::e2m1},
    {"float8_e8m0fnu", Element::e8m0},
    {"f8e4m3fnuz", Element::e4m3fnuz},
    {"f8e5m2fnuz", Element::e5m2fnuz},
    {"f8e4m3fn", Element::e4m3fn},
    {"f8e5m2", Element::e5m2},
    {"f6e2m3fn", Element::e2m3},
    {"f6e3m2fn", Element::e3m2},
    {"f4e2m1fn", Element::e2m1},
    {"f8e8m0fnu", Element::e8m0},
    {"ue8m0", Element::e8m0},
    {"int64", Element::i64},
    {"int32", Element::i32},
    {"int", Element::i32},
    {"int16", Element::i16},
    {"int8", Element::i8},
    {"int4", Element::i4},
    {"bool", Element::i1},
};

const Element* find(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const ElementFacts& f : table)
    if (f.name == lower) return &f.element;
  for (const Alias& a : aliases)
    if (a.name == lower) return &a.element;
  return nullptr;
}

bool same(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

[[noreturn]] void unknown(std::string_view text, const std::string& hint) {
  throw CodegenError("unknown element type", "type   " + std::string(text), hint);
}

// `e4m3fnuz (CDNA3) or e4m3fn (CDNA4)`: what an 8-bit float is called where.
std::string by_target(Element fnuz, Element ocp) {
  return to_string(fnuz) + " (" + machine::with(&Target::fnuz_fp8).names() + ") or " + to_string(ocp) + " (" +
         machine::with(&Target::ocp_fp8).names() + ")";
}

std::string all_names() {
  std::string names;
  for (const ElementFacts& f : table)
    if (f.kind != pointer) names += (names.empty() ? "" : " ") + std::string(f.name);
  return names;
}

// The codes of a float without its sign: numbers up to `largest`, Inf and NaN where there are.
struct Codes {
  std::uint64_t sign;     // 0 for e8m0
  std::uint64_t largest;  // finite
  std::uint64_t infinity; // 0 where there is none
  std::uint64_t nan;      // 0 where there is none
};
Codes codes(const ElementFacts& f) {
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint64_t all = (std::uint64_t{1} << magnitude_bits) - 1;
  const std::uint64_t sign = f.element == Element::e8m0 ? 0 : all + 1;
  switch (f.top) {
  case TopCodes::infinity: {
    const std::uint64_t infinity = all >> f.mantissa_bits << f.mantissa_bits;
    return {sign, infinity - 1, infinity, infinity | std::uint64_t{1} << (f.mantissa_bits - 1)};
  }
  case TopCodes::one_nan: return {sign, all - 1, 0, all};
  case TopCodes::unsigned_zero: return {sign, all, 0, sign};
  case TopCodes::numbers: return {sign, all, 0, 0};
  }
  throw InternalError("unknown kind of top codes");
}

// Requires: the result is within 2^53 in magnitude.
double round_to_integer(double x, Rounding rounding) {
  if (rounding == Rounding::toward_zero) return std::trunc(x);
  const double below = std::floor(x), part = x - below; // exact
  if (part != 0.5) return part < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

std::uint64_t low_bits(std::uint64_t code, int n) {
  return n == 64 ? code : code & ((std::uint64_t{1} << n) - 1);
}

std::uint64_t encode_integer(const ElementFacts& f, double value, Rounding rounding) {
  if (std::isnan(value)) return 0;
  const double high = f.bits == 1 ? 1 : std::ldexp(1, f.bits - 1) - 1; // 2^63 for i64, where it saturates
  const double low = f.bits == 1 ? 0 : -std::ldexp(1, f.bits - 1);
  const double r = std::abs(value) >= 0x1p53 ? value : round_to_integer(value, rounding);
  if (r >= high && f.bits == 64) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return low_bits(static_cast<std::uint64_t>(static_cast<std::int64_t>(std::clamp(r, low, high))), f.bits);
}

double magnitude_of(const ElementFacts& f, std::uint64_t magnitude) {
  const auto field = static_cast<int>(magnitude >> f.mantissa_bits);
  const std::uint64_t fraction = low_bits(magnitude, f.mantissa_bits);
  if (f.element == Element::e8m0) return std::ldexp(1, field - f.bias);
  const std::uint64_t significand = field == 0 ? fraction : fraction | std::uint64_t{1} << f.mantissa_bits;
  return std::ldexp(static_cast<double>(significand), std::max(field, 1) - f.bias - f.mantissa_bits);
}

std::uint64_t encode_float(const ElementFacts& f, double value, Overflow overflow, Rounding rounding) {
  const Codes c = codes(f);
  if (c.sign == 0 && value < 0) return c.nan; // e8m0
  const std::uint64_t sign = std::signbit(value) ? c.sign : 0;
  const auto with_sign = [&](std::uint64_t magnitude) { // the types without -0 put their NaN there
    const bool only_one = f.top == TopCodes::unsigned_zero && (magnitude == 0 || magnitude == c.nan);
    return only_one ? magnitude : sign | magnitude;
  };
  if (std::isnan(value)) return with_sign(c.nan != 0 ? c.nan : c.largest);
  const bool saturates = c.nan == 0 || overflow == Overflow::saturate;
  const std::uint64_t beyond = saturates ? c.largest : c.infinity != 0 ? c.infinity : c.nan;
  if (std::isinf(value)) return with_sign(c.infinity != 0 && f.bits >= 16 ? c.infinity : beyond);
  const double magnitude = std::abs(value);
  if (f.element == Element::e8m0) {
    if (magnitude <= 0x1p-127) return 0;
    int exponent = 0;
    const double mantissa = std::frexp(magnitude, &exponent); // in [0.5, 1), so the field is exponent - 1
    const int field = exponent - 1 + f.bias;
    // Both neighbours have one digit, so a tie goes to the larger.
    const bool up = rounding == Rounding::nearest_even && mantissa >= 0.75;
    const auto code = static_cast<std::uint64_t>(field) + (up ? 1u : 0u);
    return code > c.largest ? beyond : code;
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int lowest = 1 - f.bias;
  const int at = magnitude == 0 ? lowest : std::max(exponent - 1, lowest); // of the leading bit
  // Scaling by a power of two is exact here: the result lies in [0, 2^(mantissa_bits + 1)).
  const double steps = round_to_integer(std::ldexp(magnitude, f.mantissa_bits - at), rounding);
  const std::uint64_t code = (static_cast<std::uint64_t>(at - lowest) << f.mantissa_bits) +
                             static_cast<std::uint64_t>(steps); // a carry runs on into the exponent
  if (code <= c.largest) return with_sign(code);
  return with_sign(rounding == Rounding::toward_zero ? c.largest : beyond);
}

} // namespace

std::span<const ElementFacts> elements() { return table; }
const ElementFacts& facts(Element element) { return table[static_cast<std::size_t>(element)]; }
int bits(Element element) { return facts(element).bits; }
bool is_floating(Element element) { return facts(element).kind == floating; }
bool is_integer(Element element) { return facts(element).kind == integer; }
bool is_pointer(Element element) { return facts(element).kind == pointer; }
std::string to_string(Element element) { return std::string(facts(element).name); }

Element parse_element(std::string_view text) {
  if (const Element* e = find(text)) return *e;
  if (same(text, "fp8")) unknown(text, by_target(Element::e4m3fnuz, Element::e4m3fn));
  if (same(text, "bf8")) unknown(text, by_target(Element::e5m2fnuz, Element::e5m2));
  std::vector<std::string> known;
  for (const ElementFacts& f : table)
    if (f.kind != pointer) known.emplace_back(f.name);
  for (const Alias& a : aliases) known.emplace_back(a.name);
  unknown(text, did_you_mean(text, known) + "one of " + all_names());
}

Element parse_element(std::string_view text, const Target& target) {
  if (same(text, "fp8")) return fp8(target);
  if (same(text, "bf8")) return bf8(target);
  return parse_element(text);
}

namespace {
void check_float8(const Target& target, std::string_view asked) {
  if (!target.has_fp8())
    throw CodegenError("the target has no floats of 8 bits",
                       "type   " + std::string(asked) + " on " + std::string(target.name),
                       machine::targets_where([](const Target& t) { return t.has_fp8(); }).names() +
                           " have them");
}
} // namespace

Element fp8(const Target& target) {
  check_float8(target, "fp8");
  return target.ocp_fp8 ? Element::e4m3fn : Element::e4m3fnuz;
}
Element bf8(const Target& target) {
  check_float8(target, "bf8");
  return target.ocp_fp8 ? Element::e5m2 : Element::e5m2fnuz;
}
bool is_float8(const Target& target, Element element) {
  return target.has_fp8() && (element == fp8(target) || element == bf8(target));
}
std::string float8_names(const Target& target) {
  return (target.has_fp8() ? to_string(fp8(target)) + " or " + to_string(bf8(target))
                           : "no float of 8 bits") +
         " on " + std::string(target.name);
}

double largest_finite(Element element) {
  const ElementFacts& f = facts(element);
  INLAY_CHECK(f.kind != pointer, "a number, not " + to_string(element));
  if (f.kind == floating) return magnitude_of(f, codes(f).largest);
  return f.bits == 1 ? 1 : std::ldexp(1, f.bits - 1) - 1;
}

double smallest_positive(Element element) {
  const ElementFacts& f = facts(element);
  INLAY_CHECK(f.kind != pointer, "a number, not " + to_string(element));
  if (f.kind == integer) return 1;
  return element == Element::e8m0 ? std::ldexp(1, -f.bias) : std::ldexp(1, 1 - f.bias - f.mantissa_bits);
}

double unit_roundoff(Element element) {
  const ElementFacts& f = facts(element);
  INLAY_CHECK(f.kind != pointer, "a number, not " + to_string(element));
  return f.kind == integer ? 0 : std::ldexp(1, -f.mantissa_bits - 1);
}

bool has_infinity(Element element) {
  return is_floating(element) && facts(element).top == TopCodes::infinity;
}
bool has_nan(Element element) { return is_floating(element) && facts(element).top != TopCodes::numbers; }

double decode(Element element, std::uint64_t code) {
  const ElementFacts& f = facts(element);
  INLAY_CHECK(f.kind != pointer, "a number, not " + to_string(element));
  code = low_bits(code, f.bits);
  if (f.kind == integer) {
    if (f.bits == 1) return static_cast<double>(code);
    const int unused = 64 - f.bits;
    return static_cast<double>(static_cast<std::int64_t>(code << unused) >> unused);
  }
  if (element == Element::f64) return std::bit_cast<double>(code);
  if (element == Element::xf32) {
    const bool nan = low_bits(code, 31) > 0x7f800000u; // stays one, whatever bits are dropped
    return nan ? std::numeric_limits<double>::quiet_NaN()
               : decode(Element::f32, code & ~std::uint64_t{0x1fff});
  }
  const Codes c = codes(f);
  const bool negative = (code & c.sign) != 0;
  const std::uint64_t magnitude = code & ~c.sign;
  const bool nan = f.top == TopCodes::unsigned_zero ? code == c.nan
                   : c.infinity != 0                ? magnitude > c.infinity
                                                    : c.nan != 0 && magnitude == c.nan;
  if (nan) return std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
  const double value = c.infinity != 0 && magnitude == c.infinity ? std::numeric_limits<double>::infinity()
                                                                  : magnitude_of(f, magnitude);
  return negative ? -value : value;
}

std::uint64_t encode(Element element, double value, Overflow overflow, Rounding rounding) {
  const ElementFacts& f = facts(element);
  INLAY_CHECK(f.kind != pointer, "a number, not " + to_string(element));
  if (f.kind == integer) return encode_integer(f, value, rounding);
  if (element == Element::f64)
    return std::bit_cast<std::uint64_t>(
        std::isnan(value) ? std::copysign(std::numeric_limits<double>::quiet_NaN(), value) : value);
  if (element == Element::xf32) { // 19 bits at the top of 32
    const ElementFacts high{Element::xf32, "xf32", 19, floating, 8, 10, 127, TopCodes::infinity};
    return encode_float(high, value, overflow, rounding) << 13;
  }
  return encode_float(f, value, overflow, rounding);
}

double rounded(Element element, double value, Overflow overflow, Rounding rounding) {
  return decode(element, encode(element, value, overflow, rounding));
}

bool holds(Element element, double value) {
  const double there = rounded(element, value), unit = unit_roundoff(element);
  if (!std::isfinite(value)) return there == value;
  if (unit == 0) return std::abs(there - value) <= 0.5; // whole numbers
  return std::isfinite(there) && std::abs(value) <= largest_finite(element) * (1 + unit);
}

// ---------------------------------------------------------------------------------------------- conversions

namespace {

constexpr Conversion plain(Element from, Element to, std::string_view instruction, std::string_view emitted,
                           int elements, TargetSet targets) {
  return {from,   to, instruction, emitted, elements, false, Rounding::nearest_even, Overflow::special,
          targets};
}
constexpr Conversion to_int(Element from, Element to, std::string_view instruction) {
  return {from,
          to,
          instruction,
          "llvm.fptosi.sat",
          1,
          false,
          Rounding::toward_zero,
          Overflow::saturate,
          machine::every_target};
}
// V_CVT_SCALEF32_*: value 2^-n on the way down, 2^n on the way up; n from the exponent of a float.
constexpr Conversion scaled(Element from, Element to, std::string_view instruction, std::string_view emitted,
                            int elements) {
  return {from,
          to,
          instruction,
          emitted,
          elements,
          true,
          Rounding::nearest_even,
          Overflow::special,
          machine::with(&Target::mx_formats)};
}

using enum Element;

// What converts 8 bits is one instruction with either encoding, by the processor.
constexpr TargetSet with_fnuz = machine::with(&Target::fnuz_fp8), with_ocp = machine::with(&Target::ocp_fp8);

constexpr Conversion conversion_table[] = {
    plain(f32, f64, "v_cvt_f64_f32", "fpext", 1, machine::every_target),
    plain(f64, f32, "v_cvt_f32_f64", "fptrunc", 1, machine::every_target),
    plain(f16, f32, "v_cvt_f32_f16", "fpext", 1, machine::every_target),
    plain(f32, f16, "v_cvt_f16_f32", "fptrunc", 1, machine::every_target),
    plain(bf16, f32, "", "fpext", 1, machine::every_target), // a shift by 16
    plain(f32, bf16, "v_cvt_pk_bf16_f32", "fptrunc", 2, machine::with(&Target::packs_bf16)),
    plain(f32, bf16, "", "fptrunc", 1,
          machine::without(&Target::packs_bf16)), // add half and the last kept bit, keep NaN, shift
    plain(f32, e4m3fnuz, "v_cvt_pk_fp8_f32", "llvm.amdgcn.cvt.pk.fp8.f32", 2, with_fnuz),
    plain(f32, e5m2fnuz, "v_cvt_pk_bf8_f32", "llvm.amdgcn.cvt.pk.bf8.f32", 2, with_fnuz),
    plain(f32, e4m3fn, "v_cvt_pk_fp8_f32", "llvm.amdgcn.cvt.pk.fp8.f32", 2, with_ocp),
    plain(f32, e5m2, "v_cvt_pk_bf8_f32", "llvm.amdgcn.cvt.pk.bf8.f32", 2, with_ocp),
    plain(e4m3fnuz, f32, "v_cvt_pk_f32_fp8", "llvm.amdgcn.cvt.pk.f32.fp8", 2, with_fnuz),
    plain(e5m2fnuz, f32, "v_cvt_pk_f32_bf8", "llvm.amdgcn.cvt.pk.f32.bf8", 2, with_fnuz),
    plain(e4m3fn, f32, "v_cvt_pk_f32_fp8", "llvm.amdgcn.cvt.pk.f32.fp8", 2, with_ocp),
    plain(e5m2, f32, "v_cvt_pk_f32_bf8", "llvm.amdgcn.cvt.pk.f32.bf8", 2, with_ocp),
    plain(i32, f32, "v_cvt_f32_i32", "sitofp", 1, machine::every_target),
    plain(i32, f64, "v_cvt_f64_i32", "sitofp", 1, machine::every_target),
    plain(i16, f16, "v_cvt_f16_i16", "sitofp", 1, machine::every_target),
    to_int(f32, i32, "v_cvt_i32_f32"),
    to_int(f64, i32, "v_cvt_i32_f64"),
    // The saturating intrinsic becomes a sequence over f32 here; `fptosi` selects the instruction, which saturates too.
    {f16, i16, "v_cvt_i16_f16", "fptosi", 1, false, Rounding::toward_zero, Overflow::saturate,
     machine::every_target},
    plain(i8, i32, "", "sext", 1, machine::every_target), // v_bfe_i32
    plain(i4, i32, "", "sext", 1, machine::every_target),
    plain(i16, i32, "", "sext", 1, machine::every_target),
    scaled(f32, e2m1, "v_cvt_scalef32_pk_fp4_f32", "llvm.amdgcn.cvt.scalef32.pk.fp4.f32", 2),
    scaled(f16, e2m1, "v_cvt_scalef32_pk_fp4_f16", "llvm.amdgcn.cvt.scalef32.pk.fp4.f16", 2),
    scaled(bf16, e2m1, "v_cvt_scalef32_pk_fp4_bf16", "llvm.amdgcn.cvt.scalef32.pk.fp4.bf16", 2),
    scaled(e2m1, f32, "v_cvt_scalef32_pk_f32_fp4", "llvm.amdgcn.cvt.scalef32.pk.f32.fp4", 2),
    scaled(e2m1, f16, "v_cvt_scalef32_pk_f16_fp4", "llvm.amdgcn.cvt.scalef32.pk.f16.fp4", 2),
    scaled(e2m1, bf16, "v_cvt_scalef32_pk_bf16_fp4", "llvm.amdgcn.cvt.scalef32.pk.bf16.fp4", 2),
    scaled(f32, e2m3, "v_cvt_scalef32_2xpk16_fp6_f32", "llvm.amdgcn.cvt.scalef32.2xpk16.fp6.f32", 32),
    scaled(f16, e2m3, "v_cvt_scalef32_pk32_fp6_f16", "llvm.amdgcn.cvt.scalef32.pk32.fp6.f16", 32),
    scaled(bf16, e2m3, "v_cvt_scalef32_pk32_fp6_bf16", "llvm.amdgcn.cvt.scalef32.pk32.fp6.bf16", 32),
    scaled(e2m3, f32, "v_cvt_scalef32_pk32_f32_fp6", "llvm.amdgcn.cvt.scalef32.pk32.f32.fp6", 32),
    scaled(e2m3, f16, "v_cvt_scalef32_pk32_f16_fp6", "llvm.amdgcn.cvt.scalef32.pk32.f16.fp6", 32),
    scaled(e2m3, bf16, "v_cvt_scalef32_pk32_bf16_fp6", "llvm.amdgcn.cvt.scalef32.pk32.bf16.fp6", 32),
    scaled(f32, e3m2, "v_cvt_scalef32_2xpk16_bf6_f32", "llvm.amdgcn.cvt.scalef32.2xpk16.bf6.f32", 32),
    scaled(f16, e3m2, "v_cvt_scalef32_pk32_bf6_f16", "llvm.amdgcn.cvt.scalef32.pk32.bf6.f16", 32),
    scaled(bf16, e3m2, "v_cvt_scalef32_pk32_bf6_bf16", "llvm.amdgcn.cvt.scalef32.pk32.bf6.bf16", 32),
    scaled(e3m2, f32, "v_cvt_scalef32_pk32_f32_bf6", "llvm.amdgcn.cvt.scalef32.pk32.f32.bf6", 32),
    scaled(e3m2, f16, "v_cvt_scalef32_pk32_f16_bf6", "llvm.amdgcn.cvt.scalef32.pk32.f16.bf6", 32),
    scaled(e3m2, bf16, "v_cvt_scalef32_pk32_bf16_bf6", "llvm.amdgcn.cvt.scalef32.pk32.bf16.bf6", 32),
    scaled(f32, e4m3fn, "v_cvt_scalef32_pk_fp8_f32", "llvm.amdgcn.cvt.scalef32.pk.fp8.f32", 2),
    scaled(f16, e4m3fn, "v_cvt_scalef32_pk_fp8_f16", "llvm.amdgcn.cvt.scalef32.pk.fp8.f16", 2),
    scaled(bf16, e4m3fn, "v_cvt_scalef32_pk_fp8_bf16", "llvm.amdgcn.cvt.scalef32.pk.fp8.bf16", 2),
    scaled(e4m3fn, f32, "v_cvt_scalef32_pk_f32_fp8", "llvm.amdgcn.cvt.scalef32.pk.f32.fp8", 2),
    scaled(e4m3fn, f16, "v_cvt_scalef32_pk_f16_fp8", "llvm.amdgcn.cvt.scalef32.pk.f16.fp8", 2),
    scaled(e4m3fn, bf16, "v_cvt_scalef32_pk_bf16_fp8", "llvm.amdgcn.cvt.scalef32.pk.bf16.fp8", 2),
    scaled(f32, e5m2, "v_cvt_scalef32_pk_bf8_f32", "llvm.amdgcn.cvt.scalef32.pk.bf8.f32", 2),
    scaled(f16, e5m2, "v_cvt_scalef32_pk_bf8_f16", "llvm.amdgcn.cvt.scalef32.pk.bf8.f16", 2),
    scaled(bf16, e5m2, "v_cvt_scalef32_pk_bf8_bf16", "llvm.amdgcn.cvt.scalef32.pk.bf8.bf16", 2),
    scaled(e5m2, f32, "v_cvt_scalef32_pk_f32_bf8", "llvm.amdgcn.cvt.scalef32.pk.f32.bf8", 2),
    scaled(e5m2, f16, "v_cvt_scalef32_pk_f16_bf8", "llvm.amdgcn.cvt.scalef32.pk.f16.bf8", 2),
    scaled(e5m2, bf16, "v_cvt_scalef32_pk_bf16_bf8", "llvm.amdgcn.cvt.scalef32.pk.bf16.bf8", 2),
};

} // namespace

std::span<const Conversion> conversions() { return conversion_table; }

const Conversion* conversion(const Target& target, Element from, Element to) {
  const Conversion* found = nullptr;
  for (const Conversion& c : conversion_table)
    if (c.from == from && c.to == to && c.targets.contains(target) &&
        (!found || (found->scaled && !c.scaled)))
      found = &c;
  return found;
}

std::uint64_t code_at(std::span<const std::byte> bytes, std::size_t index, Element element) {
  const auto size = static_cast<std::size_t>(bits(element));
  const std::size_t at = index * size;
  std::uint64_t code = 0; // little-endian, as the machine here
  std::memcpy(&code, bytes.data() + at / 8, (at % 8 + size + 7) / 8);
  return size < 64 ? code >> at % 8 & ((std::uint64_t{1} << size) - 1) : code;
}

void put_code(std::span<std::byte> bytes, std::size_t index, Element element, std::uint64_t code) {
  const auto size = static_cast<std::size_t>(bits(element));
  const std::size_t at = index * size, count = (at % 8 + size + 7) / 8;
  const std::uint64_t mask = size < 64 ? ((std::uint64_t{1} << size) - 1) << at % 8 : ~std::uint64_t{0};
  std::uint64_t all = 0;
  std::memcpy(&all, bytes.data() + at / 8, count);
  all = (all & ~mask) | (code << at % 8 & mask);
  std::memcpy(bytes.data() + at / 8, &all, count);
}

} // namespace inlay::codegen
