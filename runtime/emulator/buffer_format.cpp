#include "emulator/buffer_format.h"

#include "emulator/numerics/formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace inlay::runtime::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using numerics::Format;

enum Number : unsigned { unorm, snorm, uscaled, sscaled, uint, sint, reserved, floating };

constexpr std::uint8_t widths[16][4] = {{},
                                        {8},
                                        {16},
                                        {8, 8},
                                        {32},
                                        {16, 16},
                                        {11, 11, 10},
                                        {10, 11, 11},
                                        {2, 10, 10, 10},
                                        {10, 10, 10, 2},
                                        {8, 8, 8, 8},
                                        {32, 32},
                                        {16, 16, 16, 16},
                                        {32, 32, 32},
                                        {32, 32, 32, 32},
                                        {}};

u64 field(const std::uint8_t* element, unsigned at, unsigned width) {
  u64 bits = 0;
  for (unsigned b = 0; b < width; ++b) bits |= u64{element[(at + b) / 8] >> ((at + b) % 8) & 1U} << b;
  return bits;
}
i64 sign_extended(u64 bits, unsigned width) { return static_cast<i64>(bits << (64 - width)) >> (64 - width); }

/// Unsigned floats with five exponent bits: an f16 without sign and without its lowest mantissa bits.
float read_float(u32 bits, unsigned width) {
  if (width == 32) return std::bit_cast<float>(bits);
  return numerics::widen<Format::f16>(width == 16 ? bits : bits << (15 - width));
}
u32 write_float(float value, unsigned width) {
  if (width == 32) return std::bit_cast<u32>(value);
  if (width == 16) return numerics::narrow<Format::f16>(value);
  if (std::isnan(value)) return (1U << width) - 1;
  if (!(value > 0)) return 0;
  // Rounded once at the last kept bit: the step there is 2^(exponent - mantissa bits), at least that of subnormals.
  const int mantissa = static_cast<int>(width) - 5;
  const double x = static_cast<double>(value);
  const u32 infinity = 31U << mantissa;
  if (std::isinf(value)) return infinity;
  const int exponent = std::max(std::ilogb(x), -14);
  const auto steps = static_cast<u64>(std::nearbyint(std::ldexp(x, mantissa - exponent)));
  // A code is the exponent field above the steps, whose leading one it swallows.
  const u64 code = (static_cast<u64>(exponent + 14) << mantissa) + steps;
  return static_cast<u32>(std::min<u64>(code, infinity));
}

/// The register's value as the number it stands for.
float as_float(u32 value, bool half) {
  return half ? numerics::widen<Format::f16>(value & 0xffffU) : std::bit_cast<float>(value);
}
u32 from_float(float value, bool half) {
  return half ? numerics::narrow<Format::f16>(value) : std::bit_cast<u32>(value);
}

u64 rounded(double value, double low, double high) {
  return std::isnan(value) ? 0
                           : static_cast<u64>(static_cast<i64>(std::nearbyint(std::clamp(value, low, high))));
}

u32 to_register(u64 bits, unsigned width, unsigned number, bool half) {
  if (number == uint || number == sint) {
    const u64 value = number == sint ? static_cast<u64>(sign_extended(bits, width)) : bits;
    return static_cast<u32>(half ? value & 0xffffU : value);
  }
  if (width == 32)
    return half ? from_float(std::bit_cast<float>(static_cast<u32>(bits)), true) : static_cast<u32>(bits);
  const double top = static_cast<double>((u64{1} << width) - 1);
  const double signed_top = static_cast<double>((u64{1} << (width - 1)) - 1);
  switch (number) {
  case unorm: return from_float(static_cast<float>(static_cast<double>(bits) / top), half);
  case snorm:
    return from_float(
        static_cast<float>(std::max(static_cast<double>(sign_extended(bits, width)) / signed_top, -1.0)),
        half);
  case uscaled: return from_float(static_cast<float>(bits), half);
  case sscaled: return from_float(static_cast<float>(sign_extended(bits, width)), half);
  default: return from_float(read_float(static_cast<u32>(bits), width), half);
  }
}

u64 from_register(u32 value, unsigned width, unsigned number, bool half) {
  const i64 low = -(i64{1} << (width - 1));
  const i64 high = (i64{1} << (width - 1)) - 1;
  if (number == uint) {
    return std::min<u64>(half ? value & 0xffffU : value, (u64{1} << width) - 1);
  }
  if (number == sint) {
    const i64 x = half ? static_cast<std::int16_t>(value) : static_cast<i32>(value);
    return static_cast<u64>(std::clamp(x, low, high));
  }
  if (width == 32) return half ? std::bit_cast<u32>(as_float(value, true)) : value;
  const double x = static_cast<double>(as_float(value, half));
  const double top = static_cast<double>((u64{1} << width) - 1);
  switch (number) {
  case unorm: return rounded(x * top, 0, top);
  case snorm:
    return rounded(x * static_cast<double>(high), -static_cast<double>(high), static_cast<double>(high));
  case uscaled: return rounded(x, 0, top);
  case sscaled: return rounded(x, static_cast<double>(low), static_cast<double>(high));
  default: return write_float(static_cast<float>(x), width);
  }
}

} // namespace

unsigned BufferFormat::components() const {
  return static_cast<unsigned>(std::count_if(std::begin(widths[data & 15U]), std::end(widths[data & 15U]),
                                             [](std::uint8_t width) { return width != 0; }));
}

unsigned BufferFormat::bytes() const {
  unsigned bits = 0;
  for (const std::uint8_t width : widths[data & 15U]) bits += width;
  return bits / 8;
}

bool BufferFormat::exists() const {
  const std::uint8_t* w = widths[data & 15U];
  const bool small = w[0] == 8 || w[0] == 2 || w[3] == 2;
  return components() != 0 && number != reserved && !(number == floating && small);
}

BufferComponents read_components(BufferFormat format, const std::uint8_t* element, bool half) {
  BufferComponents out{};
  unsigned at = 0;
  for (unsigned c = 0; c < format.components(); ++c) {
    const unsigned width = widths[format.data][c];
    out[c] = to_register(field(element, at, width), width, format.number, half);
    at += width;
  }
  return out;
}

void write_components(BufferFormat format, const BufferComponents& values, bool half, std::uint8_t* element) {
  std::memset(element, 0, format.bytes());
  unsigned at = 0;
  for (unsigned c = 0; c < format.components(); ++c) {
    const unsigned width = widths[format.data][c];
    const u64 bits = from_register(values[c], width, format.number, half);
    for (unsigned b = 0; b < width; ++b) {
      element[(at + b) / 8] =
          static_cast<std::uint8_t>(element[(at + b) / 8] | (bits >> b & 1U) << ((at + b) % 8));
    }
    at += width;
  }
}

} // namespace inlay::runtime::emulator
