// Numbers as a kernel's buffers hold them, and back.
#pragma once

#include <inlay/codegen/element.h>
#include <inlay/kernels/artifact.h>

#include <vector>

inline inlay::kernels::Bytes to_bytes(inlay::codegen::Element element, const std::vector<double>& values) {
  const int size = inlay::codegen::bits(element) / 8;
  inlay::kernels::Bytes out;
  for (const double v : values) {
    const std::uint64_t code = inlay::codegen::encode(element, v);
    for (int b = 0; b < size; ++b) out.push_back(static_cast<std::byte>(code >> (8 * b)));
  }
  return out;
}

inline std::vector<double> from_bytes(inlay::codegen::Element element, const inlay::kernels::Bytes& bytes) {
  const std::size_t size = static_cast<std::size_t>(inlay::codegen::bits(element) / 8);
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    std::uint64_t code = 0;
    for (std::size_t b = 0; b < size; ++b) code |= std::to_integer<std::uint64_t>(bytes[i + b]) << (8 * b);
    out.push_back(inlay::codegen::decode(element, code));
  }
  return out;
}

// Numbers in [-1, 1) that repeat from run to run.
inline std::vector<double> sample(std::size_t count, double scale = 1) {
  std::vector<double> out;
  std::uint32_t x = 12345;
  for (std::size_t i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    out.push_back(scale * (static_cast<double>(x >> 8) / (1 << 23) - 1));
  }
  return out;
}
