// `weight_only_gemm` on the command line, its problems and their judge.
#include "../flags.h"
#include "../kernels.h"
#include "../problem.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/weight_only/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

class WeightOnlyKernel final : public Kernel {
public:
  std::string name() const override { return "weight_only_gemm"; }
  std::string summary() const override {
    return "C[M,N] = A[M,K] x W[N,K]^T, weights of 8 bits with a scale for each group of k, products of 16 "
           "bits";
  }
  std::vector<FlagHelp> flags() const override {
    return {{"arch", "gfx942", "gfx942 or gfx950"},
            {"dtype", "bf16", "element type of A: f16, bf16"},
            {"weights", "i8", "element type of W: i8, fp8"},
            {"out", "bf16", "element type of C: bf16, f16, f32"},
            {"group", "64", "k that share a scale: 32, 64, 128"},
            {"tile-m", "0",
             "rows of C that a workgroup works on; 0: 128, or 64 where LDS has no room for two stages"},
            {"tile-n", "0", "columns of C that a workgroup works on; likewise"},
            {"m", "200", "rows of A and C"},
            {"n", "256", "rows of W, columns of C, a multiple of 4"},
            {"k", "256", "columns of A and W, a multiple of the group"}};
  }
  Artifact build(const Flags& given, const BuildOptions& options) const override {
    return kernels::build(weight_only_gemm_program(spec_of(given)), options);
  }
  Problem problem(const Flags& given, std::uint64_t seed) const override {
    const FlagReader read(name(), given, flags());
    constexpr std::int64_t most = 1 << 24;
    return weight_only_gemm_problem(spec_of(given), read.number("m", 1, most), read.number("n", 1, most),
                                    read.number("k", 1, most), seed);
  }

private:
  WeightOnlySpec spec_of(const Flags& given) const {
    const FlagReader read(name(), given, flags());
    WeightOnlySpec spec;
    spec.arch = read.text("arch");
    const codegen::Target& target = codegen::Target::named(spec.arch);
    spec.type = codegen::parse_element(read.text("dtype"));
    spec.weights = codegen::parse_element(read.text("weights"), target);
    spec.out = codegen::parse_element(read.text("out"));
    spec.group = static_cast<int>(read.number("group", 1, 1024));
    const int stages = 2 * (128 + 128) * spec.group * codegen::bits(spec.type) / 8,
              usual = stages <= target.lds_bytes ? 128 : 64;
    const auto tile = [&](const char* flag) {
      const auto given_one = static_cast<int>(read.number(flag, 0, 512));
      return given_one > 0 ? given_one : usual;
    };
    spec.tile_m = tile("tile-m"), spec.tile_n = tile("tile-n");
    return spec;
  }
};

} // namespace

Problem weight_only_gemm_problem(const WeightOnlySpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                 std::uint64_t seed) {
  const auto w =
      std::make_shared<Workload>(weight_only_gemm_program(spec), std::vector<std::int64_t>{m, n, k});
  w->random("a", seed);
  w->random("w", seed + 1, spec.weights == Element::i8 ? 127 : 16);
  w->random("s", seed + 2, 0.01, true);
  Problem problem = w->problem();
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  problem.text =
      fmt::format("C[{0},{1}] = A[{0},{2}] x scaled W[{1},{2}]^T, {3} x {4} in groups of {5} -> {6}", m, n, k,
                  codegen::to_string(spec.type), codegen::to_string(spec.weights), spec.group,
                  codegen::to_string(spec.out));
  problem.check = [w, n, k, spec](std::span<const Bytes> buffers) {
    const std::vector<double> reference = w->reference("c");
    std::vector<double> bound = w->reference("c", {"a", "w"});
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = (2 * static_cast<double>(k + 4) * std::ldexp(1, -24) + unit_roundoff(spec.type)) * bound[i] +
                 unit_roundoff(spec.out) * std::abs(reference[i]) +
                 (spec.out == Element::f16 ? std::ldexp(1, -25) : 0);
    return compare(w->result("c", buffers), reference, bound, n, "(2 (K + 4) 2^-24 + u) sum |a w s| + u |c|");
  };
  return problem;
}

std::unique_ptr<Kernel> weight_only_gemm_kernel() { return std::make_unique<WeightOnlyKernel>(); }

} // namespace inlay::kernels
