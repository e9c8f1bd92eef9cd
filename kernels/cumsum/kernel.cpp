// Running sums on the command line, their problems and their judge.
#include "../data.h"
#include "../kernels.h"
#include "../options.h"
#include "../with_data.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/cumsum/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct CumsumAsked : CumsumSpec {
  std::int64_t n = 1024, m = 1024;
};
using ReadsCumsum = Reads<CumsumAsked>;

} // namespace

Problem cumsum_problem(const CumsumSpec& spec, std::int64_t n, std::int64_t m, std::uint64_t seed) {
  const Element type = spec.type;
  const LaunchPlan plan = plan_with_data(cumsum_program(spec), {n, m});
  const Matrix x = random_matrix(n, m, type, seed);
  const auto groups = static_cast<std::size_t>((m + spec.columns() - 1) / spec.columns());
  Problem problem;
  problem.launch = plan;
  problem.buffers = {
      {"Y", poison(static_cast<std::size_t>(bytes_of(type) * n * m)), true},
      {"CARRY", poison(static_cast<std::size_t>(4 * ((n + spec.rows - 1) / spec.rows) * m)), false},
      {"X", to_bytes(x, type), false},
      {"TURN", Bytes(4 * groups), false}};
  problem.flops = static_cast<double>(n * m);
  problem.text = fmt::format("Y[{0},{1}] = running sums of X[{0},{1}], {2}", n, m, to_string(type));
  problem.check = [=](std::span<const Bytes> buffers) {
    Matrix y = x, bound(n, m);
    Matrix size = x.cwiseAbs();
    for (Eigen::Index i = 0; i < n; ++i) {
      if (i > 0) y.row(i) += y.row(i - 1), size.row(i) += size.row(i - 1);
      bound.row(i) = std::ldexp(static_cast<double>(i + 1), -24) * size.row(i) +
                     unit_roundoff(type) * y.row(i).cwiseAbs();
    }
    return compare(from_bytes(buffers[0], n, m, type), y, bound, "(n + 1) 2^-24 sum |x| + u |y|");
  };
  return problem;
}

std::unique_ptr<Kernel> cumsum_kernel() {
  return kernel_of<CumsumAsked>(
      {"running sums down the columns of a matrix: each workgroup goes on from what the one before stored",
       {"cumsum",
        {arch_option<CumsumAsked>(),
         {"dtype", ReadsCumsum::element(&CumsumAsked::type, "f16, bf16, f32"), "f16", "element type"},
         {"n", ReadsCumsum::number(&CumsumAsked::n, 1, 1 << 20), "1024", "rows"},
         {"m", ReadsCumsum::number(&CumsumAsked::m, 1, 1 << 20), "1024",
          "columns, a multiple of a vector's elements"},
         {"rows", ReadsCumsum::number(&CumsumAsked::rows, 0, 1 << 16), "16", "rows of a workgroup, 1 to 32"},
         {"threads", ReadsCumsum::number(&CumsumAsked::threads, 1, 1024), "auto",
          "work-items: 64, 128 or 256", "64"},
         {"vector", ReadsCumsum::number(&CumsumAsked::vector, 0, 64), "auto",
          "elements that one instruction moves; 0: 16 bytes", "0"}}},
       [](const CumsumAsked& asked, const BuildOptions& how) { return build_cumsum(asked, how); },
       [](const CumsumAsked& asked, std::uint64_t seed) {
         return cumsum_problem(asked, asked.n, asked.m, seed);
       },
       {"n", "m"},
       [](const CumsumAsked& asked) {
         return std::vector{asked.n, asked.m};
       },
       // One: the cycle model counts no waits for a turn, and the narrowest workgroups have the shortest.
       [](const CumsumAsked& asked, const Flags& fixed) {
         return candidates_by_threads(asked.type, asked.m, {64}, fixed);
       },
       [](const CumsumAsked&) { return 1.0; }});
}

} // namespace inlay::kernels
