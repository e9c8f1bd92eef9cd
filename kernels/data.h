/// Test data and comparison for the kernels' problems: 16-bit and 32-bit floats as bytes, rounded and widened by Eigen.
#pragma once

#include <inlay/kernels/artifact.h>

#include <Eigen/Core>

#include <cstdint>
#include <string>

namespace inlay::kernels {

enum class DType : std::uint8_t;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// rows x columns values, uniform in [-1, 1), already rounded to `type`.
[[nodiscard]] Matrix random_matrix(std::int64_t rows, std::int64_t columns, DType type, std::uint64_t seed);
/// As the kernel reads it: row-major elements of `type`, rounded to nearest even.
[[nodiscard]] Bytes to_bytes(const Matrix& values, DType type);
[[nodiscard]] Matrix from_bytes(std::span<const std::byte> bytes, std::int64_t rows, std::int64_t columns,
                                DType type);
/// Half the distance from 1 to the next number of that type: 2^-11, 2^-8, 2^-24.
[[nodiscard]] double unit_roundoff(DType type);
/// A buffer that is unlike any result: every element is a NaN.
[[nodiscard]] Bytes poison(std::size_t bytes);
/// Element by element, `result` against `reference` within `bound`; NaN is never within a bound. `row`, `column`: of the
/// first element, where these are a part of something larger.
[[nodiscard]] Check compare(const Matrix& result, const Matrix& reference, const Matrix& bound,
                            const std::string& formula, std::int64_t row = 0, std::int64_t column = 0);
/// What two parts of one result say together; the first message counts.
[[nodiscard]] Check both(const Check& a, const Check& b);

} // namespace inlay::kernels
