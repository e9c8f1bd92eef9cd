#include "values.h"

#include "exec_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace inlay::cli {

namespace {

constexpr std::string_view types[] = {"f64", "f32", "f16", "bf16", "i8",  "i16", "i32",
                                      "i64", "u8",  "u16", "u32",  "u64", "hex"};

template <class T>
T at(std::span<const std::uint8_t> bytes, std::size_t i) {
  T v;
  std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
  return v;
}

double half(std::uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const double fraction = h & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

nlohmann::ordered_json value(std::span<const std::uint8_t> b, const std::string& type, std::size_t i) {
  const auto real = [](double v) -> nlohmann::ordered_json {
    if (!std::isfinite(v)) return fmt::format("{}", v);
    return v;
  };
  if (type == "f64") return real(at<double>(b, i));
  if (type == "f32") return real(at<float>(b, i));
  if (type == "f16") return real(half(at<std::uint16_t>(b, i)));
  if (type == "bf16") {
    const std::uint32_t bits = std::uint32_t{at<std::uint16_t>(b, i)} << 16;
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return real(f);
  }
  if (type == "i8") return at<std::int8_t>(b, i);
  if (type == "i16") return at<std::int16_t>(b, i);
  if (type == "i32") return at<std::int32_t>(b, i);
  if (type == "i64") return at<std::int64_t>(b, i);
  if (type == "u8") return at<std::uint8_t>(b, i);
  if (type == "u16") return at<std::uint16_t>(b, i);
  if (type == "u32") return at<std::uint32_t>(b, i);
  if (type == "u64") return at<std::uint64_t>(b, i);
  return fmt::format("{:02x}", b[i]);
}

/// Types of a manifest that have no text of their own (fp8, fp4, ...) are shown as bytes.
std::string shown(const std::string& type) {
  return std::find(std::begin(types), std::end(types), type) == std::end(types) ? "hex" : type;
}

} // namespace

std::size_t value_bytes(const std::string& type) {
  if (std::find(std::begin(types), std::end(types), type) == std::end(types))
    refuse("--print " + type + ": no type", fmt::format("{}", fmt::join(types, ", ")));
  if (type == "hex") return 1;
  return static_cast<std::size_t>(type.ends_with("64")   ? 8
                                  : type.ends_with("32") ? 4
                                  : type.ends_with("16") ? 2
                                                         : 1);
}

nlohmann::ordered_json values_json(std::span<const std::uint8_t> bytes, const std::string& type,
                                   std::size_t most) {
  const std::string t = shown(type);
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < std::min(most, bytes.size() / value_bytes(t)); ++i)
    list.push_back(value(bytes, t, i));
  return list;
}

std::string values_text(std::span<const std::uint8_t> bytes, const std::string& type, std::size_t most,
                        std::uint64_t size) {
  const std::string t = shown(type);
  const std::uint64_t count = size / value_bytes(t);
  std::string out;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(most, count); ++i) {
    const auto v = value(bytes, t, i);
    out += (i == 0 ? "" : " ") + (v.is_number_float() ? fmt::format("{:g}", v.get<double>())
                                  : v.is_string()     ? v.get<std::string>()
                                                      : v.dump());
  }
  return out + (count > most ? " ..." : "") +
         fmt::format(" of {} {}", count, t == type ? t : type + " bytes");
}

} // namespace inlay::cli
