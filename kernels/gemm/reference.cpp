// The judge of a GEMM: Eigen in double precision, an error bound for every element.
#include "data.h"

#include <algorithm>
#include <cmath>

namespace inlay::kernels {
namespace {

/// Rows [first, first + count) of a row-major matrix.
Matrix rows_of(const Bytes& matrix, std::int64_t first, std::int64_t count, std::int64_t columns,
               Element type) {
  const auto row = static_cast<std::size_t>(bytes_of(type, columns));
  return from_bytes(
      std::span(matrix).subspan(static_cast<std::size_t>(first) * row, static_cast<std::size_t>(count) * row),
      count, columns, type);
}

/// left right^T; of f64 in 64 bits of mantissa, so that it errs by less than a thousandth of what the kernel may.
Matrix product(const Matrix& left, const Matrix& right, Element type) {
  if (type != Element::f64) return left * right.transpose();
  return (left.cast<long double>() * right.cast<long double>().transpose()).cast<double>();
}

} // namespace

Check GemmJudge::operator()(std::span<const Bytes> buffers) const {
  const Bytes of_d = dense(buffers[0], m, gap_of_d);
  Check stray;
  stray.message = "something was stored between the rows of the result";
  if (spread(of_d, m, gap_of_d, between) != buffers[0]) return stray;
  // Below the smallest normal number of f16, 2^-14, rounding errs by up to 2^-25 whatever the value.
  const double subnormal = out == Element::f16       ? std::max(parts, 1.0) * std::ldexp(1, -25)
                           : codegen::bits(out) == 8 ? codegen::smallest_positive(out) / 2
                                                     : 0;
  Matrix most = Matrix::Zero(m, tiles), off = most; // of rows in tiles, and what it may be off by
  constexpr std::int64_t block = 512;
  Check check;
  check.ok = true;
  for (std::int64_t i = 0; i < m; i += block) {
    const std::int64_t rows = std::min(block, m - i);
    Matrix left = rows_of(a, i, rows, k, in);
    block_a.apply(left, i);
    const Matrix result = rows_of(of_d, i, rows, n, out);
    for (std::int64_t j = 0; j < n; j += block) {
      const std::int64_t columns = std::min(block, n - j);
      Matrix right = rows_of(b, j, columns, k, in);
      block_b.apply(right, j);
      const Matrix scale = sa.middleRows(i, rows) * sb.middleRows(j, columns).transpose(),
                   sum = product(left, right, in),
                   of_bias = Matrix::Ones(rows, 1) * bias.middleRows(j, columns).transpose(),
                   of_rows = row_bias.middleRows(i, rows) * Matrix::Ones(1, columns),
                   of_c = added.size() > 0 ? Matrix(beta * added.block(i, j, rows, columns))
                                           : Matrix(Matrix::Zero(rows, columns)),
                   of_residual = residual.size() > 0 ? Matrix(residual.block(i, j, rows, columns))
                                                     : Matrix(Matrix::Zero(rows, columns));
      Matrix reference = sum.cwiseProduct(scale) + of_bias + of_rows + of_c;
      // Sums of i8 products are exact in i32 up to K = 2^17: nothing may differ but by what comes after them.
      // Of f64 what follows the sum is rounded here, too.
      const double unit = std::ldexp(1, in == Element::f64 ? -53 : -24),
                   rounding = codegen::is_integer(in) ? 0 : unit,
                   behind = operations * unit * (in == Element::f64 ? 2 : 1);
      Matrix within = (2.0 * static_cast<double>(k) * rounding + sums * std::ldexp(1, -24) +
                       (parts > 0 ? parts * unit_roundoff(out) : 0)) *
                          (left.cwiseAbs() * right.cwiseAbs().transpose()).cwiseProduct(scale.cwiseAbs()) +
                      behind * (sum.cwiseProduct(scale).cwiseAbs() + of_bias.cwiseAbs() + of_rows.cwiseAbs() +
                                of_c.cwiseAbs() + of_residual.cwiseAbs());
      for (Eigen::Index e = 0; activated && e < reference.size(); ++e) { // whose slope is at most 1.2
        double& y = reference.data()[e];
        within.data()[e] = (1.2 * within.data()[e] + carried(act, {y})[0].error) * (1 + unit_roundoff(out));
        y = defined(act, {y})[0];
      }
      reference += of_residual;
      for (Eigen::Index r = 0; amax && r < rows; ++r)
        for (Eigen::Index at = 0; at < columns; ++at) {
          double &x = most(i + r, (j + at) / tile_n), &e = off(i + r, (j + at) / tile_n);
          x = std::max(x, std::abs(reference(r, at)));
          e = std::max(e, within(r, at) + std::ldexp(1, -24) * std::abs(reference(r, at)));
        }
      const Matrix bound =
          (within + (codegen::is_integer(out) ? 0 : unit_roundoff(out)) * reference.cwiseAbs()).array() +
          subnormal;
      const Check part = compare(
          result.middleCols(j, columns), reference, bound,
          codegen::is_integer(out) ? "0"
          : in == Element::f64     ? "|s| 2 K 2^-53 sum |a b| + 2^-49 (|s sum| + |bias| + |beta c|) + u |d|"
          : activated
              ? "1.2 (|s| 2 K 2^-24 sum |a b| + 2^-20 (|s sum| + ..)) + errors of the activation + u |d|"
          : parts > 0        ? "(2 K 2^-24 + 2 parts u) |s| sum |a b| + 2^-22 |s sum| + u |c|"
          : added.size() > 0 ? "|s| 2 K 2^-24 sum |a b| + 2^-21 (|s sum| + |bias| + |beta c|) + u |d|"
          : operations > 0   ? "|s| 2 K 2^-24 sum |a b| + 2^-22 (|s sum| + |bias|) + u |c|"
                             : "2 K 2^-24 sum |a b| + u |c|",
          i, j);
      check.bound = part.bound;
      check = both(check, part);
    }
  }
  if (amax)
    check = both(check, compare(from_bytes(buffers[amax_at], m, tiles, Element::f32), most, off,
                                "of amax: the greatest of its elements' bounds before they are rounded"));
  return check;
}

} // namespace inlay::kernels
