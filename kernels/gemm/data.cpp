// The data of a GEMM as a launch has them: preshuffled, with scales of blocks, with rows apart.
#include "data.h"

#include <algorithm>
#include <cmath>

namespace inlay::kernels {

std::int64_t preshuffled_offset(std::int64_t n, std::int64_t k, std::int64_t columns_of_b, Element type) {
  const std::int64_t v = 128 / codegen::bits(type);
  return n % 16 * v + n / 16 * (16 * columns_of_b) + k % v + k / v * (16 * v);
}

std::int64_t shuffled_scale_offset(std::int64_t row, std::int64_t block, std::int64_t k) {
  return row % 16 * 4 + row / 16 % 2 + row / 32 * k + block % 4 * 64 + block / 4 % 2 * 2 + block / 8 * 256;
}

Bytes preshuffle(const Bytes& b, std::int64_t rows, std::int64_t columns, Element type) {
  // The order is one of 16 bytes whatever they are.
  if (codegen::bits(type) < 8) return preshuffle(b, rows, columns * codegen::bits(type) / 8, Element::i8);
  Bytes shuffled(b.size());
  const auto element = b.size() / static_cast<std::size_t>(rows * columns);
  for (std::int64_t n = 0; n < rows; ++n)
    for (std::int64_t k = 0; k < columns; ++k)
      std::copy_n(b.data() + static_cast<std::size_t>(n * columns + k) * element, element,
                  shuffled.data() +
                      static_cast<std::size_t>(preshuffled_offset(n, k, columns, type)) * element);
  return shuffled;
}

Bytes spread(const Bytes& dense, std::int64_t rows, std::int64_t gap, std::byte between) {
  if (gap == 0 || rows == 0) return dense;
  const std::size_t row = dense.size() / static_cast<std::size_t>(rows),
                    pitch = row + static_cast<std::size_t>(gap);
  Bytes out(pitch * static_cast<std::size_t>(rows) - static_cast<std::size_t>(gap), between);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    std::copy_n(dense.data() + r * row, row, out.data() + r * pitch);
  return out;
}
Bytes dense(const Bytes& apart, std::int64_t rows, std::int64_t gap) {
  if (gap == 0) return apart;
  const std::size_t pitch = (apart.size() + static_cast<std::size_t>(gap)) / static_cast<std::size_t>(rows);
  Bytes out;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    out.insert(out.end(), apart.begin() + static_cast<std::ptrdiff_t>(r * pitch),
               apart.begin() + static_cast<std::ptrdiff_t>((r + 1) * pitch) - gap);
  return out;
}

BlockScales::BlockScales(std::int64_t rows, std::int64_t k, std::uint64_t seed)
    : values(rows, k / 32), shuffled(poison(static_cast<std::size_t>((rows + 31) / 32 * k))) {
  std::mt19937_64 random(seed);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t b = 0; b < k / 32; ++b) {
      values(r, b) = std::ldexp(1, static_cast<int>(random() >> 61) - 6);
      put_code(shuffled, static_cast<std::size_t>(shuffled_scale_offset(r, b, k)), Element::e8m0,
               codegen::encode(Element::e8m0, values(r, b)));
    }
}
void BlockScales::apply(Matrix& of, std::int64_t first) const {
  for (std::int64_t r = 0; values.size() > 0 && r < of.rows(); ++r)
    for (std::int64_t i = 0; i < of.cols(); ++i) of(r, i) *= values(first + r, i / 32);
}

} // namespace inlay::kernels
