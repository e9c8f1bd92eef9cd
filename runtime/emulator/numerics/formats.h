/// The number formats of CDNA3 and CDNA4 below 32 bits, as pure functions between codes and `float`.
///
/// A format is five facts: exponent bits, mantissa bits, bias, and what its top codes mean. Every value of
/// every format here is exactly a `float`, so widening is exact and narrowing is the only place where
/// rounding happens.
///
/// | format   | E M bias | top codes                           | largest | where         |
/// |----------|----------|-------------------------------------|---------|---------------|
/// | f16      | 5 10 15  | Inf, NaN                            | 65504   | both          |
/// | bf16     | 8 7 127  | Inf, NaN                            | 3.39e38 | both          |
/// | e4m3fnuz | 4 3 8    | 0x80 is the only NaN, no Inf, no -0 | 240     | fp8 of CDNA3  |
/// | e5m2fnuz | 5 2 16   | 0x80 is the only NaN, no Inf, no -0 | 57344   | bf8 of CDNA3  |
/// | e4m3fn   | 4 3 7    | 0x7f and 0xff are NaN, no Inf       | 448     | fp8 of CDNA4  |
/// | e5m2     | 5 2 15   | Inf, NaN                            | 57344   | bf8 of CDNA4  |
/// | e2m3     | 2 3 1    | all codes are numbers               | 7.5     | fp6 of CDNA4  |
/// | e3m2     | 3 2 3    | all codes are numbers               | 28      | bf6 of CDNA4  |
/// | e2m1     | 2 1 1    | all codes are numbers               | 6       | fp4 of CDNA4  |
///
/// The same opcodes mean FNUZ on CDNA3 and OCP on CDNA4: the byte 0x40 is 1 on one and 2 on the other.
///
///     widen(Format::e4m3fn, 0x38) == 1.0f        widen(Format::e4m3fnuz, 0x38) == 0.5f
///     narrow(Format::e2m1, 2.5f) == 0x4          (2, the even one of the neighbours 2 and 3)
///
/// The functions use integer arithmetic and floats that are never subnormal (bf16 and e8m0 excepted, which
/// only move bits), so that they do not depend on the flush mode of the host.
///
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide",
/// chapter on data types and the V_CVT_* pages; OCP Microscaling Formats (MX) v1.0 for fp6, fp4 and E8M0; OCP
/// 8-bit floating point v1.0 for e4m3fn and e5m2. What they leave open is listed in
/// docs/emulator_numerics.md.
#pragma once

#include <inlay/machine/formats.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace inlay::runtime::numerics {

enum class Format : std::uint8_t { f16, bf16, e4m3fnuz, e5m2fnuz, e4m3fn, e5m2, e2m3, e3m2, e2m1 };

using Top = machine::TopCodes;

struct FormatFacts {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Top top;

  [[nodiscard]] constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  [[nodiscard]] constexpr std::uint32_t sign_bit() const {
    return std::uint32_t{1} << (exponent_bits + mantissa_bits);
  }
  /// Code of Inf where there is one, of the first NaN otherwise; one past the largest number for `numbers`.
  [[nodiscard]] constexpr std::uint32_t first_special() const {
    const std::uint32_t ones = (std::uint32_t{1} << exponent_bits) - 1;
    switch (top) {
    case Top::infinity: return ones << mantissa_bits;
    case Top::one_nan: return sign_bit() - 1;
    default: return sign_bit();
    }
  }
  /// Code of the largest finite number.
  [[nodiscard]] constexpr std::uint32_t largest() const { return first_special() - 1; }
};

inline constexpr auto format_facts = [] {
  constexpr std::array names{"f16", "bf16", "e4m3fnuz", "e5m2fnuz", "e4m3fn", "e5m2", "e2m3", "e3m2", "e2m1"};
  std::array<FormatFacts, names.size()> all{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const machine::Format& f = machine::format(names[i]);
    all[i] = {f.exponent_bits, f.mantissa_bits, f.bias, f.top};
  }
  return all;
}();
/// The row of `machine::formats`.
[[nodiscard]] constexpr const FormatFacts& facts(Format format) {
  return format_facts[static_cast<std::size_t>(format)];
}

/// How a number between two codes is placed.
///
/// * `nearest_even`: the nearer one, ties to the even code.
/// * `toward_zero`: the smaller magnitude; overflow gives the largest number.
/// * `upward`, `downward`: the larger and the smaller number; overflow as IEEE 754 has it. With the two above,
///   the four settings of MODE.FP_ROUND.
/// * `stochastic`: the seed's top bits are added below the kept bits, then the rest is dropped. A number a
///   fraction f above its lower neighbour goes up for a fraction f of the seeds: V_CVT_SR_FP8_F32 adds S1[31:12]
///   to the mantissa, V_CVT_SR_BF8_F32 S1[31:11], the width of what is dropped.
enum class Rounding : std::uint8_t { nearest_even, upward, downward, toward_zero, stochastic };

/// What a finite number too large for the format becomes.
///
/// `special` is MODE.FP16_OVFL = 0: Inf where the format has one, else NaN. `saturate` is FP16_OVFL = 1: the
/// largest number of that sign; an infinite input then stays infinite in f16 and bf16 and saturates in the
/// 8-bit formats. Formats without Inf and NaN (fp6, fp4) always saturate.
enum class Overflow : std::uint8_t { special, saturate };

/// The number that `code` stands for; exact. Bits above the format's width are ignored.
///     widen<Format::f16>(0x3c00) == 1.0f      widen<Format::e5m2fnuz>(0x7f) == 57344.0f
template <Format format>
[[nodiscard, gnu::always_inline]] constexpr float widen(std::uint32_t code) {
  constexpr FormatFacts f = facts(format);
  constexpr std::uint32_t sign_bit = f.sign_bit();
  constexpr std::uint32_t special = f.first_special();
  constexpr int to_top = 32 - f.bits();
  constexpr int shift = 23 - f.mantissa_bits;
  const std::uint32_t sign = (code & sign_bit) << to_top;
  const std::uint32_t magnitude = code & (sign_bit - 1);
  if constexpr (format == Format::bf16) {
    return __builtin_bit_cast(float, code << 16);
  } else {
    constexpr std::uint32_t implicit = std::uint32_t{1} << f.mantissa_bits;
    // The smallest subnormal, 2^(1 - bias - M): a normal float in all these formats.
    constexpr auto step_bits = static_cast<std::uint32_t>(128 - f.bias - f.mantissa_bits) << 23;
    constexpr float step = __builtin_bit_cast(float, step_bits);
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * step;
    std::uint32_t bits = (magnitude << shift) + (static_cast<std::uint32_t>(127 - f.bias) << 23);
    bits = magnitude < implicit ? __builtin_bit_cast(std::uint32_t, small) : bits;
    if constexpr (f.top == Top::infinity) {
      // A NaN keeps its payload and becomes quiet, as in V_CVT_F32_F16 and in the conversion of x86.
      bits = magnitude >= special ? 0x7f800000u | (magnitude << shift & 0x7fffffu) : bits;
      bits = magnitude > special ? bits | 0x400000u : bits;
    } else if constexpr (f.top == Top::one_nan) {
      bits = magnitude == special ? 0x7fc00000u : bits;
    } else if constexpr (f.top == Top::unsigned_zero) {
      const bool nan = magnitude == 0 && sign != 0;
      return __builtin_bit_cast(float, nan ? 0x7fc00000u : bits | sign);
    }
    return __builtin_bit_cast(float, bits | sign);
  }
}

/// The code nearest to `value` under `rounding`; see Rounding, Overflow.
///
/// NaN stays NaN (quiet; f16, bf16 and e5m2 keep the sign, f16 and bf16 the top of the payload); in formats
/// without NaN it becomes the largest number of its sign. The FNUZ formats have no -0.
///     narrow<Format::f16>(65520.0f) == 0x7c00
///     narrow<Format::e4m3fn>(1e9f, Rounding::nearest_even, Overflow::saturate) == 0x7e
template <Format format>
[[nodiscard, gnu::always_inline]] constexpr std::uint32_t
narrow(float value, Rounding rounding = Rounding::nearest_even, Overflow overflow = Overflow::special,
       std::uint32_t seed = 0) {
  constexpr FormatFacts f = facts(format);
  constexpr std::uint32_t sign_bit = f.sign_bit();
  constexpr std::uint32_t first_special = f.first_special();
  constexpr std::uint32_t largest = f.largest();
  constexpr int sign_shift = f.bits() - 1;
  constexpr std::int32_t drop = 23 - f.mantissa_bits;
  constexpr std::int32_t lowest = 1 - f.bias; // exponent of the smallest normal number
  constexpr bool keeps_infinity = format == Format::f16 || format == Format::bf16;
  constexpr std::uint32_t nan = f.top == Top::infinity        ? sign_bit - 1
                                : f.top == Top::one_nan       ? first_special
                                : f.top == Top::unsigned_zero ? sign_bit
                                                              : largest;
  constexpr std::uint32_t special = f.top == Top::infinity ? first_special : nan;

  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = bits >> 31 << sign_shift;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // A float subnormal has the exponent of the smallest normal and no implicit bit: only bf16 can see it.
  const auto field = static_cast<std::int32_t>(magnitude >> 23);
  const std::int32_t exponent = (field == 0 ? 1 : field) - 127;
  const std::uint32_t fraction = (magnitude & 0x7fffffu) | (field == 0 ? 0u : 0x800000u);
  const std::int32_t below = exponent < lowest ? lowest - exponent : 0;
  const std::int32_t above = exponent < lowest ? 0 : exponent - lowest;
  // At most 31 bits take part in the rounding, so that its sum fits 32; what lies lower is dropped before.
  const std::int32_t excess = drop + below > 31 ? drop + below - 31 : 0;
  const std::uint32_t significand = excess > 31 ? 0u : fraction >> (excess & 31);
  const auto shift = static_cast<std::uint32_t>(drop + below - excess);
  const std::uint32_t half = (std::uint32_t{1} << (shift - 1)) - 1 + ((significand >> shift) & 1u);
  const bool outward =
      (rounding == Rounding::upward && sign == 0) || (rounding == Rounding::downward && sign != 0);
  // What was dropped before still counts when rounding outward.
  const std::uint32_t lost = excess > 0 && fraction != 0 ? std::uint32_t{1} : std::uint32_t{0};
  const std::uint32_t bump = rounding == Rounding::nearest_even ? half
                             : rounding == Rounding::stochastic ? seed >> (32 - shift)
                             : outward                          ? (std::uint32_t{1} << shift) - 1 + lost
                                                                : 0u;
  const std::uint32_t kept = (significand + bump) >> shift;
  std::uint32_t code = (static_cast<std::uint32_t>(above) << f.mantissa_bits) + kept;

  const bool inward = rounding == Rounding::toward_zero ||
                      ((rounding == Rounding::upward || rounding == Rounding::downward) && !outward);
  const bool clamps = f.top == Top::numbers || overflow == Overflow::saturate || inward;
  const std::uint32_t too_large = clamps ? largest : special;
  code = code > largest ? too_large : code;
  if constexpr (f.top != Top::numbers) {
    const bool stays = keeps_infinity || overflow == Overflow::special;
    const std::uint32_t infinite = stays ? special : largest;
    code = magnitude == 0x7f800000u ? infinite : code;
  }
  constexpr std::uint32_t quiet = std::uint32_t{1} << (f.mantissa_bits - 1);
  const std::uint32_t payload = first_special | ((magnitude & 0x7fffffu) >> drop) | quiet;
  code = magnitude > 0x7f800000u ? (keeps_infinity ? payload : nan) : code;
  if constexpr (f.top == Top::unsigned_zero) {
    return code == 0 || code == nan ? code : code | sign;
  }
  return code | sign;
}

/// `widen` and `narrow` with the format chosen at run time.
[[nodiscard]] constexpr float widen(Format format, std::uint32_t code);
[[nodiscard]] constexpr std::uint32_t narrow(Format format, float value,
                                             Rounding rounding = Rounding::nearest_even,
                                             Overflow overflow = Overflow::special, std::uint32_t seed = 0);

/// Calls `body` with the format as a template argument: `dispatch(f, [&]<Format F>() { ... })`.
template <class Body>
constexpr auto dispatch(Format format, Body&& body) {
  switch (format) {
  case Format::bf16: return body.template operator()<Format::bf16>();
  case Format::e4m3fnuz: return body.template operator()<Format::e4m3fnuz>();
  case Format::e5m2fnuz: return body.template operator()<Format::e5m2fnuz>();
  case Format::e4m3fn: return body.template operator()<Format::e4m3fn>();
  case Format::e5m2: return body.template operator()<Format::e5m2>();
  case Format::e2m3: return body.template operator()<Format::e2m3>();
  case Format::e3m2: return body.template operator()<Format::e3m2>();
  case Format::e2m1: return body.template operator()<Format::e2m1>();
  default: return body.template operator()<Format::f16>();
  }
}

constexpr float widen(Format format, std::uint32_t code) {
  return dispatch(format, [&]<Format F>() { return widen<F>(code); });
}
constexpr std::uint32_t narrow(Format format, float value, Rounding rounding, Overflow overflow,
                               std::uint32_t seed) {
  return dispatch(format, [&]<Format F>() { return narrow<F>(value, rounding, overflow, seed); });
}

/// E8M0, the scale of a block: 2^(code - 127), and NaN for 0xff (OCP MX v1.0, section 5.4.1).
///     e8m0(127) == 1.0f      e8m0(0) == 0x1p-127f
[[nodiscard]] constexpr float e8m0(std::uint32_t code) {
  code &= 0xffu;
  return __builtin_bit_cast(float, code == 0xffu ? 0x7fc00000u : code == 0 ? 0x00400000u : code << 23);
}

/// xf32: a float cut to 10 mantissa bits, as the V_MFMA_*_XF32 read their inputs; a NaN stays one.
///     xf32(1.0f + 0x1p-11f) == 1.0f
[[nodiscard]] constexpr float xf32(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return __builtin_bit_cast(float, (nan ? bits | 0x400000u : bits) & 0xffffe000u);
}

} // namespace inlay::runtime::numerics
