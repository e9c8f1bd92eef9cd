// `block_scale_gemm` on the command line, its problems and their judge.
#include "../kernels.h"
#include "../options.h"
#include "../problem.h"

#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/build.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct ScaledAsked : BlockScaleSpec {
  std::int64_t m = 200, n = 256, k = 256;
};
using ReadsScaled = Reads<ScaledAsked>;

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

std::unique_ptr<Kernel> block_scale_gemm_kernel() {
  constexpr std::int64_t most = 1 << 24;
  return kernel_of<ScaledAsked>(
      {"C[M,N] = A[M,K] x B[N,K]^T, fp8 with scales of 1 x 128 and 128 x 128, B preshuffled",
       {"block_scale_gemm",
        {arch_option<ScaledAsked>(),
         {"out", ReadsScaled::element(&ScaledAsked::out, "bf16, f16, f32"), "bf16", "element type of C"},
         {"m", ReadsScaled::number(&ScaledAsked::m, 1, most), "200", "rows of A and C"},
         {"n", ReadsScaled::number(&ScaledAsked::n, 1, most), "256",
          "rows of B, columns of C, a multiple of 16"},
         {"k", ReadsScaled::number(&ScaledAsked::k, 1, most), "256", "columns of A and B, a multiple of 128"},
         {"tile-m", ReadsScaled::number(&ScaledAsked::tile_m, 1, 512), "auto",
          "rows of C that a workgroup works on", "128"}}},
       [](const ScaledAsked& asked, const BuildOptions& how) {
         return build(block_scale_gemm_program(asked), how);
       },
       [](const ScaledAsked& asked, std::uint64_t seed) {
         return block_scale_gemm_problem(asked, asked.m, asked.n, asked.k, seed);
       },
       {"m", "n", "k"},
       [](const ScaledAsked& asked) {
         return std::vector{asked.m, asked.n, asked.k};
       },
       [](const ScaledAsked& asked, const Flags& fixed) {
         std::vector<Flags> all;
         for (const int rows : {16, 32, 48, 64, 96, 128})
           if (rows < 2 * asked.m || rows <= 32) all.push_back({{"tile-m", std::to_string(rows)}});
         if (fixed.contains("tile-m")) all = {{{"tile-m", fixed.at("tile-m")}}};
         return all;
       },
       [](const ScaledAsked& asked) {
         if (asked.k % 128 != 0 || asked.n % 16 != 0)
           throw std::invalid_argument("no form takes these sizes");
         static_cast<void>(block_scale_gemm_program(asked)); // a form that it refuses is none
         // Products of 8 bits, bytes that come from L2, and memory's latency a trip of 128 k.
         const double rate = products_per_clock(asked.arch, machine::Operand::fp8), rows = asked.tile_m;
         const double trip = std::max({rows * 128 * 128 / rate, (rows + 128) * 128 / 57.6, 450.0});
         return rounds(asked.arch, up(asked.m, asked.tile_m) * up(asked.n, 128), asked.tile_m <= 64 ? 2 : 1) *
                (static_cast<double>(asked.k) / 128 * trip + 2500 + rows * 8);
       }});
}

} // namespace inlay::kernels
