// `block_scale_gemm` on the command line, its problems and their judge.
#include "../flags.h"
#include "../kernels.h"
#include "../problem.h"

#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/build.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

class BlockScaleKernel final : public Kernel {
public:
  std::string name() const override { return "block_scale_gemm"; }
  std::string summary() const override {
    return "C[M,N] = A[M,K] x B[N,K]^T, fp8 with scales of 1 x 128 and 128 x 128, B preshuffled";
  }
  std::vector<FlagHelp> flags() const override {
    return {{"arch", "gfx942", "gfx942 or gfx950"},
            {"out", "bf16", "element type of C: bf16, f16, f32"},
            {"m", "200", "rows of A and C"},
            {"n", "256", "rows of B, columns of C, a multiple of 16"},
            {"k", "256", "columns of A and B, a multiple of 128"},
            {"tile-m", "128", "rows of C that a workgroup works on"}};
  }
  Artifact build(const Flags& given, const BuildOptions& options) const override {
    return kernels::build(block_scale_gemm_program(spec_of(given)), options);
  }
  Problem problem(const Flags& given, std::uint64_t seed) const override {
    const FlagReader read(name(), given, flags());
    constexpr std::int64_t most = 1 << 24;
    return block_scale_gemm_problem(spec_of(given), read.number("m", 1, most), read.number("n", 1, most),
                                    read.number("k", 1, most), seed);
  }

private:
  BlockScaleSpec spec_of(const Flags& given) const {
    const FlagReader read(name(), given, flags());
    BlockScaleSpec spec;
    spec.arch = read.text("arch");
    spec.out = codegen::parse_element(read.text("out"));
    spec.tile_m = static_cast<int>(read.number("tile-m", 1, 512));
    return spec;
  }
};

} // namespace

Problem block_scale_gemm_problem(const BlockScaleSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                 std::uint64_t seed) {
  const auto w =
      std::make_shared<Workload>(block_scale_gemm_program(spec), std::vector<std::int64_t>{m, n, k});
  w->random("a", seed);
  w->random("b", seed + 1);
  w->random("sa", seed + 2, 1, true);
  w->random("sb", seed + 3, 1, true);
  Problem problem = w->problem();
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  problem.text = fmt::format("C[{0},{1}] = scaled A[{0},{2}] x B[{1},{2}]^T, {3} x {3} -> {4}", m, n, k,
                             codegen::to_string(spec.in()), codegen::to_string(spec.out));
  problem.check = [w, n, k, out = spec.out](std::span<const Bytes> buffers) {
    const std::vector<double> reference = w->reference("c");
    std::vector<double> bound = w->reference("c", {"a", "b"});
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = 2 * static_cast<double>(k + 4) * std::ldexp(1, -24) * bound[i] +
                 unit_roundoff(out) * std::abs(reference[i]) + (out == Element::f16 ? std::ldexp(1, -25) : 0);
    return compare(w->result("c", buffers), reference, bound, n, "2 (K + 4) 2^-24 sum |s a b| + u |c|");
  };
  return problem;
}

std::unique_ptr<Kernel> block_scale_gemm_kernel() { return std::make_unique<BlockScaleKernel>(); }

} // namespace inlay::kernels
