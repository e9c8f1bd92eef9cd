/// Test data and comparison for the kernels' problems: 16-bit and 32-bit floats as bytes, rounded and widened by Eigen,
/// other types by the table of element types.
#pragma once

#include <inlay/codegen/element.h>
#include <inlay/kernels/artifact.h>

#include <Eigen/Core>

#include <cstdint>
#include <random>
#include <string>

namespace inlay::kernels {

using codegen::Element;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// rows x columns values, uniform in [-1, 1) and already rounded to `type`; integers and types below a byte: uniform over
/// the codes of the type.
[[nodiscard]] Matrix random_matrix(std::int64_t rows, std::int64_t columns, Element type, std::uint64_t seed);
/// The next number of [-1, 1): the same on every machine, unlike std::uniform_real_distribution.
[[nodiscard]] double uniform(std::mt19937_64& random);
/// As the kernel reads it: row-major elements of `type`, rounded to nearest even.
[[nodiscard]] Bytes to_bytes(const Matrix& values, Element type);
[[nodiscard]] Matrix from_bytes(std::span<const std::byte> bytes, std::int64_t rows, std::int64_t columns,
                                Element type);
using codegen::unit_roundoff;
/// Bytes of an element of memory. Requires: whole ones.
[[nodiscard]] inline int bytes_of(Element type) { return codegen::bits(type) / 8; }
/// Bytes of so many elements; of 4-bit ones two share a byte, the even one in its low half.
[[nodiscard]] inline std::int64_t bytes_of(Element type, std::int64_t elements) {
  return (elements * codegen::bits(type) + 7) / 8;
}
using codegen::code_at;
using codegen::put_code;
/// A buffer that is unlike any result: every element is a NaN.
[[nodiscard]] Bytes poison(std::size_t bytes);
/// Element by element, `result` against `reference` within `bound`; NaN is never within a bound. `row`, `column`: of the
/// first element, where these are a part of something larger.
[[nodiscard]] Check compare(const Matrix& result, const Matrix& reference, const Matrix& bound,
                            const std::string& formula, std::int64_t row = 0, std::int64_t column = 0);
/// What two parts of one result say together; the first message counts.
[[nodiscard]] Check both(const Check& a, const Check& b);

} // namespace inlay::kernels
