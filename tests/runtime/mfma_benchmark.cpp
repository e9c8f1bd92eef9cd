// Multiply-adds a second of one core, for the instructions that kernels live on and each set of kernels the
// processor has.
#include "emulator/mfma_kernels.h"

#include <benchmark/benchmark.h>
#include <random>
#include <string>
#include <vector>

using namespace inlay::runtime;

namespace {

void run(benchmark::State& state, const detail::MatrixKernels& kernels, const MatrixOp& op,
         numerics::MatrixArithmetic arithmetic) {
  std::mt19937 random(1);
  const MatrixRegisters r = registers_of(op);
  std::vector<std::uint32_t> a(static_cast<std::size_t>(r.a * 64)), b(static_cast<std::size_t>(r.b * 64)),
      d(static_cast<std::size_t>(r.d * 64));
  const std::vector<std::uint32_t> index(64, 0x4e8d4e8du);
  for (auto* registers : {&a, &b}) {
    // Numbers between 1 and 2 where f32 has their exponents: products below its normal numbers take the host 150 clocks each.
    const bool brain = op.a == Element::bf16,
               wide = op.a == Element::f32 || op.a == Element::xf32 || op.a == Element::f64;
    for (auto& word : *registers) {
      const auto bits = static_cast<std::uint32_t>(random());
      word = brain  ? 0x3f803f80u | (bits & 0x007f007fu)
             : wide ? 0x3f800000u | (bits & 0x007fffffu)
                    : bits & 0x3fff3fffu;
    }
  }
  const MatrixForm form = form_of(op, {}); // once for an instruction, however often it is executed
  for (auto _ : state) {
    detail::mfma_on(kernels, op, form,
                    {.a = a.data(), .b = b.data(), .c = d.data(), .d = d.data(), .index = index.data()}, {},
                    {.arithmetic = arithmetic});
    benchmark::ClobberMemory();
  }
  state.counters["MAC/s"] = benchmark::Counter(static_cast<double>(state.iterations() * multiply_adds(op)),
                                               benchmark::Counter::kIsRate);
}

} // namespace

int main(int argc, char** argv) {
  for (const auto* kernels : {detail::matrix_kernels_avx512(), detail::matrix_kernels_avx2()}) {
    for (const auto& op : matrix_ops()) {
      if (kernels != nullptr) {
        benchmark::RegisterBenchmark((std::string(kernels->name) + "/" + std::string(op.name)).c_str(),
                                     [&op, kernels](benchmark::State& state) {
                                       run(state, *kernels, op, numerics::MatrixArithmetic::sequential);
                                     });
      }
    }
  }
  for (const char* name : {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x32_fp8_fp8"}) {
    benchmark::RegisterBenchmark((std::string("cdna3/") + name).c_str(), [name](benchmark::State& state) {
      run(state, detail::matrix_kernels(), *find_matrix_op(name), numerics::MatrixArithmetic::cdna3);
    });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
