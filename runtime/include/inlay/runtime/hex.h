/// Addresses in messages.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace inlay::runtime {

/// A number in hexadecimal digits, at least `digits` of them (at most 16): `hex(0x1a2, 4)` is "0x01a2".
[[nodiscard]] inline std::string hex(std::uint64_t value, int digits = 0) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

} // namespace inlay::runtime
