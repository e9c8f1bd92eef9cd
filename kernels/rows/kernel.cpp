// `softmax` and `rmsnorm` on the command line, their problems and their judges.
#include "../data.h"
#include "../flags.h"
#include "../kernels.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/rows/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

const double u32 = std::ldexp(1, -24);

// Below the smallest normal number of f16, rounding errs by up to 2^-25 whatever the value.
double subnormal(Element type) { return type == Element::f16 ? std::ldexp(1, -25) : 0; }

class RowKernel : public Kernel {
public:
  std::vector<FlagHelp> flags() const override {
    return {{"arch", "gfx942", "gfx942 or gfx950"},
            {"dtype", "f16", "element type: f16, bf16"},
            {"m", "64", "rows"},
            {"n", "1024", "columns, a multiple of 8"},
            {"threads", "256", "work-items of a row: 64, 128, 256, 512 or 1024"},
            {"vectors", "4", "vectors of 8 elements for each work-item, 1 to 16"}};
  }
  Problem problem(const Flags& given, std::uint64_t seed) const override {
    const FlagReader read(name(), given, flags());
    constexpr std::int64_t most = std::int64_t{1} << 24;
    return problem_of(spec_of(given), read.number("m", 1, most), read.number("n", 1, most), seed);
  }

protected:
  virtual Problem problem_of(const RowSpec& spec, std::int64_t m, std::int64_t n,
                             std::uint64_t seed) const = 0;
  RowSpec spec_of(const Flags& given) const {
    const FlagReader read(name(), given, flags());
    RowSpec spec;
    spec.arch = read.text("arch");
    spec.type = codegen::parse_element(read.text("dtype"));
    spec.threads = static_cast<int>(read.number("threads", 1, 1024));
    spec.vectors = static_cast<int>(read.number("vectors", 1, 16));
    return spec;
  }
};

class Softmax final : public RowKernel {
  std::string name() const override { return "softmax"; }
  std::string summary() const override { return "softmax of each row, f16 or bf16, in f32"; }
  Artifact build(const Flags& given, const BuildOptions& options) const override {
    return build_softmax(spec_of(given), options);
  }
  Problem problem_of(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) const override {
    return softmax_problem(spec, m, n, seed);
  }
};

class RmsNorm final : public RowKernel {
  std::string name() const override { return "rmsnorm"; }
  std::string summary() const override { return "RMS normalisation of each row, f16 or bf16, in f32"; }
  Artifact build(const Flags& given, const BuildOptions& options) const override {
    return build_rmsnorm(spec_of(given), options);
  }
  Problem problem_of(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) const override {
    return rmsnorm_problem(spec, m, n, seed);
  }
};

} // namespace

Problem softmax_problem(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  const LaunchPlan plan = contract_of(softmax_program(spec)).plan({m, n});
  // From -8 to 8, so that the largest and the smallest result differ by 2^23.
  const Matrix x = from_bytes(to_bytes(8 * random_matrix(m, n, spec.type, seed), spec.type), m, n, spec.type);
  Problem problem;
  problem.launch = plan;
  problem.buffers = {{"Y", poison(static_cast<std::size_t>(2 * m * n)), true},
                     {"X", to_bytes(x, spec.type), false}};
  problem.flops = 5.0 * static_cast<double>(m * n);
  problem.text =
      fmt::format("Y[{0},{1}] = softmax of the rows of X[{0},{1}], {2}", m, n, to_string(spec.type));
  problem.check = [x, m, n, type = spec.type](std::span<const Bytes> buffers) {
    Matrix reference = x;
    for (auto row : reference.rowwise()) {
      row = (row.array() - row.maxCoeff()).exp().matrix();
      row /= row.sum();
    }
    Matrix distance = x;
    for (auto row : distance.rowwise()) row = (row.maxCoeff() - row.array()).matrix();
    const Matrix bound =
        (((4.0 + static_cast<double>(n) + 4.0 * distance.array()) * u32 + unit_roundoff(type)) *
             reference.array() +
         subnormal(type))
            .matrix();
    return compare(from_bytes(buffers[0], m, n, type), reference, bound,
                   "(4 + N + 4 |x - max|) 2^-24 y + u y");
  };
  return problem;
}

Problem rmsnorm_problem(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  const LaunchPlan plan = contract_of(rmsnorm_program(spec)).plan({m, n});
  const Matrix x = random_matrix(m, n, spec.type, seed), w = random_matrix(1, n, spec.type, seed + 1);
  Problem problem;
  problem.launch = plan;
  problem.buffers = {{"Y", poison(static_cast<std::size_t>(2 * m * n)), true},
                     {"X", to_bytes(x, spec.type), false},
                     {"W", to_bytes(w, spec.type), false}};
  problem.flops = 4.0 * static_cast<double>(m * n);
  problem.text =
      fmt::format("Y[{0},{1}] = X[{0},{1}] / rms of its row * W[{1}], {2}", m, n, to_string(spec.type));
  problem.check = [x, w, m, n, type = spec.type, epsilon = spec.epsilon](std::span<const Bytes> buffers) {
    Matrix reference = x;
    for (auto row : reference.rowwise()) {
      row /= std::sqrt(row.squaredNorm() / static_cast<double>(n) + epsilon);
      row.array() *= w.row(0).array();
    }
    const Matrix bound =
        (((6.0 + static_cast<double>(n)) * u32 + unit_roundoff(type)) * reference.array().abs() +
         subnormal(type))
            .matrix();
    return compare(from_bytes(buffers[0], m, n, type), reference, bound, "(6 + N) 2^-24 |y| + u |y|");
  };
  return problem;
}

std::unique_ptr<Kernel> softmax_kernel() { return std::make_unique<Softmax>(); }
std::unique_ptr<Kernel> rmsnorm_kernel() { return std::make_unique<RmsNorm>(); }

} // namespace inlay::kernels
