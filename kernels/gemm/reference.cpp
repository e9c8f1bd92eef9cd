// The GEMM's problems and their judge: Eigen in double precision, an error bound for every element.
#include "../data.h"

#include <inlay/kernels/gemm/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {

std::int64_t preshuffled_offset(std::int64_t n, std::int64_t k, std::int64_t columns_of_b) {
  return n % 16 * 8 + n / 16 * (16 * columns_of_b) + k % 8 + k / 8 % 4 * 128 + k / 32 * 512;
}

namespace {

Matrix preshuffle(const Matrix& b) {
  Matrix shuffled(b.rows(), b.cols());
  for (std::int64_t n = 0; n < b.rows(); ++n)
    for (std::int64_t k = 0; k < b.cols(); ++k) shuffled.data()[preshuffled_offset(n, k, b.cols())] = b(n, k);
  return shuffled;
}

} // namespace

Problem gemm_problem(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::uint64_t seed) {
  Problem problem;
  problem.launch = plan_gemm_launch(spec, m, n, k);
  const Matrix a = random_matrix(m, k, spec.in, seed), b = random_matrix(n, k, spec.in, seed + 1);
  const auto c_bytes = static_cast<std::size_t>(m * n * bytes_of(spec.out));
  problem.buffers = {{"C", poison(c_bytes), true},
                     {"A", to_bytes(a, spec.in), false},
                     {"B", to_bytes(spec.preshuffled_b ? preshuffle(b) : b, spec.in), false}};
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  problem.text = fmt::format("C[{0},{1}] = A[{0},{2}] x B[{1},{2}]^T, {3} x {3} -> {4}", m, n, k,
                             to_string(spec.in), to_string(spec.out));
  problem.check = [a, b, m, n, k, out = spec.out](std::span<const Bytes> buffers) {
    const Matrix reference = a * b.transpose();
    // Below the smallest normal number of f16, 2^-14, rounding errs by up to 2^-25 whatever the value.
    const double subnormal = out == DType::f16 ? std::ldexp(1, -25) : 0;
    const Matrix bound =
        (2.0 * static_cast<double>(k) * std::ldexp(1, -24) * (a.cwiseAbs() * b.cwiseAbs().transpose()) +
         unit_roundoff(out) * reference.cwiseAbs())
            .array() +
        subnormal;
    return compare(from_bytes(buffers[0], m, n, out), reference, bound, "2 K 2^-24 sum |a b| + u |c|");
  };
  return problem;
}

} // namespace inlay::kernels
