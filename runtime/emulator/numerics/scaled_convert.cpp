#include "emulator/numerics/scaled_convert.h"

#include "emulator/numerics/float_ops.h"

#include <algorithm>
#include <array>

namespace inlay::runtime::numerics {
namespace {

constexpr std::string_view prefix = "v_cvt_scalef32_";

constexpr std::array<std::string_view, 49> names = {
    "v_cvt_scalef32_pk_fp8_f32",       "v_cvt_scalef32_pk_bf8_f32",      "v_cvt_scalef32_sr_fp8_f32",
    "v_cvt_scalef32_sr_bf8_f32",       "v_cvt_scalef32_pk_f32_fp8",      "v_cvt_scalef32_pk_f32_bf8",
    "v_cvt_scalef32_f32_fp8",          "v_cvt_scalef32_f32_bf8",         "v_cvt_scalef32_pk_fp4_f32",
    "v_cvt_scalef32_sr_pk_fp4_f32",    "v_cvt_scalef32_pk_f32_fp4",      "v_cvt_scalef32_pk_fp8_f16",
    "v_cvt_scalef32_pk_bf8_f16",       "v_cvt_scalef32_sr_fp8_f16",      "v_cvt_scalef32_sr_bf8_f16",
    "v_cvt_scalef32_pk_fp8_bf16",      "v_cvt_scalef32_pk_bf8_bf16",     "v_cvt_scalef32_sr_fp8_bf16",
    "v_cvt_scalef32_sr_bf8_bf16",      "v_cvt_scalef32_pk_f16_fp8",      "v_cvt_scalef32_pk_f16_bf8",
    "v_cvt_scalef32_f16_fp8",          "v_cvt_scalef32_f16_bf8",         "v_cvt_scalef32_pk_fp4_f16",
    "v_cvt_scalef32_pk_fp4_bf16",      "v_cvt_scalef32_sr_pk_fp4_f16",   "v_cvt_scalef32_sr_pk_fp4_bf16",
    "v_cvt_scalef32_pk_f16_fp4",       "v_cvt_scalef32_pk_bf16_fp4",     "v_cvt_scalef32_2xpk16_fp6_f32",
    "v_cvt_scalef32_2xpk16_bf6_f32",   "v_cvt_scalef32_sr_pk32_fp6_f32", "v_cvt_scalef32_sr_pk32_bf6_f32",
    "v_cvt_scalef32_pk32_f32_fp6",     "v_cvt_scalef32_pk32_f32_bf6",    "v_cvt_scalef32_pk32_fp6_f16",
    "v_cvt_scalef32_pk32_bf6_f16",     "v_cvt_scalef32_pk32_fp6_bf16",   "v_cvt_scalef32_pk32_bf6_bf16",
    "v_cvt_scalef32_sr_pk32_fp6_f16",  "v_cvt_scalef32_sr_pk32_bf6_f16", "v_cvt_scalef32_sr_pk32_fp6_bf16",
    "v_cvt_scalef32_sr_pk32_bf6_bf16", "v_cvt_scalef32_pk32_f16_fp6",    "v_cvt_scalef32_pk32_f16_bf6",
    "v_cvt_scalef32_pk32_bf16_fp6",    "v_cvt_scalef32_pk32_bf16_bf6",   "v_cvt_scalef32_pk_bf16_fp8",
    "v_cvt_scalef32_pk_bf16_bf8"};

std::optional<ScaledType> type_of(std::string_view name) {
  constexpr std::pair<std::string_view, Format> formats[] = {
      {"f16", Format::f16},  {"bf16", Format::bf16}, {"fp8", Format::e4m3fn}, {"bf8", Format::e5m2},
      {"fp6", Format::e2m3}, {"bf6", Format::e3m2},  {"fp4", Format::e2m1}};
  if (name == "f32") {
    return ScaledType{.f32 = true};
  }
  for (const auto& [text, format] : formats) {
    if (name == text) {
      return ScaledType{.format = format};
    }
  }
  return std::nullopt;
}

// Bits of one lane's operand, `stride` words between registers.
std::uint32_t read(const std::uint32_t* from, int stride, int first, int width) {
  std::uint64_t word = from[first / 32 * stride];
  if (first % 32 + width > 32) {
    word |= std::uint64_t{from[(first / 32 + 1) * stride]} << 32u;
  }
  return static_cast<std::uint32_t>(word >> first % 32 & ((std::uint64_t{1} << width) - 1));
}

void write(std::uint32_t* to, int stride, int first, int width, std::uint32_t code) {
  for (int n = 0; n < width;) { // up to the end of each register
    const int at = first + n;
    const int part = std::min(width - n, 32 - at % 32);
    const auto mask = static_cast<std::uint32_t>(((std::uint64_t{1} << part) - 1) << at % 32);
    auto& word = to[at / 32 * stride];
    word = (word & ~mask) | (code >> n << at % 32 & mask);
    n += part;
  }
}

float value_of(const ScaledType& type, std::uint32_t code) {
  return type.f32 ? std::bit_cast<float>(code) : widen(type.format, code);
}

} // namespace

std::span<const std::string_view> scaled_conversion_names() { return names; }

std::optional<ScaledConversion> scaled_conversion(std::string_view name) {
  const auto all = scaled_conversion_names();
  if (std::find(all.begin(), all.end(), name) == all.end()) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  const auto take = [&](std::string_view word) {
    const bool has = name.starts_with(word);
    name.remove_prefix(has ? word.size() : 0);
    return has;
  };
  ScaledConversion c{};
  c.stochastic = take("sr_");
  c.interleaved = take("2xpk16_");
  c.count = c.interleaved || take("pk32_") ? 32 : take("pk_") ? 2 : 1;
  const std::size_t cut = name.find('_');
  const auto destination = type_of(name.substr(0, cut));
  const auto source = type_of(name.substr(cut + 1));
  if (!destination || !source) {
    return std::nullopt;
  }
  c.destination = *destination;
  c.source = *source;
  c.two_operands = c.count == 2 && c.source.f32 && !c.stochastic;
  return c;
}

std::uint32_t narrow_scaled(Format format, float x, std::uint32_t scale, Rounding rounding, Overflow overflow,
                            std::uint32_t seed) {
  const double quotient = scale == 255 ? std::numeric_limits<double>::quiet_NaN()
                                       : std::ldexp(static_cast<double>(x), 127 - static_cast<int>(scale));
  return narrow(format, odd_float(quotient), rounding, overflow, seed);
}

double widen_scaled(Format format, std::uint32_t code, std::uint32_t scale) {
  return scale == 255 ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(static_cast<double>(widen(format, code)), static_cast<int>(scale) - 127);
}

void convert_scaled(const ScaledConversion& c, const std::uint32_t* const* sources,
                    std::uint32_t* destination, int stride, unsigned op_sel, Overflow overflow) {
  const int last = c.sources() - 1;
  const std::uint32_t scale = *sources[last] >> 23u & 0xffu;
  std::uint32_t seed = c.stochastic ? *sources[last - 1] : 0;
  // Where in one register the elements of a small operand begin.
  const bool from_small = c.source.bits() < 16;
  int from = 0;
  if (from_small && c.count < 32) {
    from = c.count == 2 && c.source.bits() == 8 ? static_cast<int>(op_sel & 1u) * 16
                                                : static_cast<int>(op_sel & 3u) * 8;
  } else if (c.source.bits() == 16 && c.count == 1) {
    from = static_cast<int>(op_sel & 1u) * 16;
  }
  int to = 0;
  if (c.narrows() && c.count < 32) {
    to = c.count == 2 && c.destination.bits() == 8 ? static_cast<int>(op_sel >> 3u & 1u) * 16
                                                   : static_cast<int>(op_sel >> 2u & 3u) * 8;
  } else if (c.destination.bits() == 16 && c.count == 1) {
    to = static_cast<int>(op_sel >> 3u & 1u) * 16;
  }

  std::uint32_t codes[32];
  for (int e = 0; e < c.count; ++e) {
    const bool second = (c.interleaved || c.two_operands) && e % 2 == 1;
    const int place = c.interleaved ? e / 2 : c.two_operands ? 0 : e;
    const std::uint32_t code =
        read(sources[second ? 1 : 0], stride, from + place * c.source.bits(), c.source.bits());
    if (c.narrows()) {
      const auto rounding = c.stochastic ? Rounding::stochastic : Rounding::nearest_even;
      codes[e] =
          narrow_scaled(c.destination.format, value_of(c.source, code), scale, rounding, overflow, seed);
      seed = prng(seed);
    } else {
      const double value = widen_scaled(c.source.format, code, scale);
      codes[e] = c.destination.f32
                     ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                     : narrow(c.destination.format, odd_float(value), Rounding::nearest_even, overflow);
    }
  }
  for (int e = 0; e < c.count; ++e) {
    write(destination, stride, to + e * c.destination.bits(), c.destination.bits(), codes[e]);
  }
}

} // namespace inlay::runtime::numerics
