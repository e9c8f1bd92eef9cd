// The GEMM's problems and their judge: Eigen in double precision, an error bound for every element.
#include "../data.h"

#include <inlay/kernels/gemm/spec.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {

std::int64_t preshuffled_offset(std::int64_t n, std::int64_t k, std::int64_t columns_of_b, Element type) {
  const std::int64_t v = 16 / bytes_of(type);
  return n % 16 * v + n / 16 * (16 * columns_of_b) + k % v + k / v * (16 * v);
}

namespace {

Bytes preshuffle(const Bytes& b, std::int64_t rows, std::int64_t columns, Element type) {
  Bytes shuffled(b.size());
  const auto element = b.size() / static_cast<std::size_t>(rows * columns);
  for (std::int64_t n = 0; n < rows; ++n)
    for (std::int64_t k = 0; k < columns; ++k)
      std::copy_n(b.data() + static_cast<std::size_t>(n * columns + k) * element, element,
                  shuffled.data() +
                      static_cast<std::size_t>(preshuffled_offset(n, k, columns, type)) * element);
  return shuffled;
}

/// Rows [first, first + count) of a row-major matrix.
Matrix rows_of(const Bytes& matrix, std::int64_t first, std::int64_t count, std::int64_t columns,
               Element type) {
  const auto row = static_cast<std::size_t>(columns * bytes_of(type));
  return from_bytes(
      std::span(matrix).subspan(static_cast<std::size_t>(first) * row, static_cast<std::size_t>(count) * row),
      count, columns, type);
}

} // namespace

Problem gemm_problem(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::uint64_t seed) {
  Problem problem;
  problem.launch = plan_gemm_launch(spec, m, n, k);
  Bytes a = to_bytes(random_matrix(m, k, spec.in, seed), spec.in);
  Bytes b = to_bytes(random_matrix(n, k, spec.in, seed + 1), spec.in);
  const auto c_bytes = static_cast<std::size_t>(m * n * bytes_of(spec.out));
  problem.buffers = {{"C", spec.split > 0 ? Bytes(c_bytes) : poison(c_bytes), true},
                     {"A", a, false},
                     {"B", spec.preshuffled_b ? preshuffle(b, n, k, spec.in) : b, false}};
  // Scales of rows and columns and a bias, as vectors.
  const auto vector = [&](bool there, std::int64_t length, std::uint64_t offset, double otherwise) {
    return there ? random_matrix(length, 1, Element::f32, seed + offset)
                 : Matrix(Matrix::Constant(length, 1, otherwise));
  };
  Matrix sa = vector(spec.scales, m, 2, 1), sb = vector(spec.scales, n, 3, 1),
         bias = vector(spec.bias, n, 4, 0);
  if (spec.scales) {
    problem.buffers.push_back({"SA", to_bytes(sa, Element::f32), false});
    problem.buffers.push_back({"SB", to_bytes(sb, Element::f32), false});
  }
  if (spec.bias) problem.buffers.push_back({"bias", to_bytes(bias, Element::f32), false});
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  problem.text = fmt::format("C[{0},{1}] = {5}A[{0},{2}] x B[{1},{2}]^T{6}, {3} x {3} -> {4}", m, n, k,
                             to_string(spec.in), to_string(spec.out), spec.scales ? "sa sb " : "",
                             spec.bias ? " + bias" : "");
  // By blocks, so that a large problem does not need its operands and reference in double precision at once.
  // Parts that are added in 16 bits: each is rounded, and so is each sum.
  const double parts =
      spec.split > 0 && codegen::bits(spec.out) == 16 ? 2 * std::ceil(double(k) / spec.split) : 0;
  problem.check = [a = std::move(a), b = std::move(b), sa, sb, bias, scaled = spec.scales, m, n, k, parts,
                   in = spec.in, out = spec.out](std::span<const Bytes> buffers) {
    // Below the smallest normal number of f16, 2^-14, rounding errs by up to 2^-25 whatever the value.
    const double subnormal = out == Element::f16 ? std::max(parts, 1.0) * std::ldexp(1, -25) : 0;
    constexpr std::int64_t block = 512;
    Check check;
    check.ok = true;
    for (std::int64_t i = 0; i < m; i += block) {
      const std::int64_t rows = std::min(block, m - i);
      const Matrix left = rows_of(a, i, rows, k, in), result = rows_of(buffers[0], i, rows, n, out);
      for (std::int64_t j = 0; j < n; j += block) {
        const std::int64_t columns = std::min(block, n - j);
        const Matrix right = rows_of(b, j, columns, k, in);
        const Matrix scale = sa.middleRows(i, rows) * sb.middleRows(j, columns).transpose(),
                     sum = left * right.transpose(),
                     added = Matrix::Ones(rows, 1) * bias.middleRows(j, columns).transpose();
        const Matrix reference = sum.cwiseProduct(scale) + added;
        // Sums of i8 products are exact in i32 up to K = 2^17: nothing may differ but by what comes behind them, at most four
        // roundings (to f32, two products, a sum).
        const double rounding = codegen::is_integer(in) ? 0 : std::ldexp(1, -24),
                     behind = scaled ? 4 * std::ldexp(1, -24) : 0;
        const Matrix bound =
            ((2.0 * static_cast<double>(k) * rounding + (parts > 0 ? parts * unit_roundoff(out) : 0)) *
                 (left.cwiseAbs() * right.cwiseAbs().transpose()).cwiseProduct(scale.cwiseAbs()) +
             behind * (sum.cwiseProduct(scale).cwiseAbs() + added.cwiseAbs()) +
             (codegen::is_integer(out) ? 0 : unit_roundoff(out)) * reference.cwiseAbs())
                .array() +
            subnormal;
        const Check part =
            compare(result.middleCols(j, columns), reference, bound,
                    codegen::is_integer(out) ? "0"
                    : parts > 0              ? "(2 K 2^-24 + 2 parts u) |s| sum |a b| + 2^-22 |s sum| + u |c|"
                    : scaled                 ? "|s| 2 K 2^-24 sum |a b| + 2^-22 (|s sum| + |bias|) + u |c|"
                                             : "2 K 2^-24 sum |a b| + u |c|",
                    i, j);
        check.bound = part.bound;
        check = both(check, part);
      }
    }
    return check;
  };
  return problem;
}

} // namespace inlay::kernels
