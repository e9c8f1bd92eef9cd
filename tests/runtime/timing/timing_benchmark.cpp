// How many wave instructions a second the cycle model simulates, and what recording them costs on top of running them.
#include <benchmark/benchmark.h>
#include <cstring>
#include <fstream>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/timing/compute_unit.h>
#include <sstream>

using namespace inlay::runtime;
using namespace inlay::runtime::timing;

namespace {

/// Triton's 128x128x64 GEMM with K = 4096, one workgroup.
Trace record() {
  std::stringstream text;
  text << std::ifstream(std::string(INLAY_TESTS_DIR) + "/isa/triton/gemm_f16_128x128x64.gfx942.s").rdbuf();
  const CodeObject object = CodeObject::parse(isa::assemble_code_object(text.str(), isa::Arch::gfx942));
  TraceRecorder recorder(isa::Arch::gfx942, {0});
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none(), .observer = &recorder});
  const std::uint64_t buffer = device.allocate(1U << 21);
  const std::uint64_t pointers[3] = {buffer, buffer, buffer};
  const std::int32_t sizes[6] = {128, 128, 4096, 4096, 4096, 128};
  std::vector<std::uint8_t> arguments(64);
  std::memcpy(arguments.data(), pointers, sizeof pointers);
  std::memcpy(arguments.data() + sizeof pointers, sizes, sizeof sizes);
  const Module module = device.load(object);
  device.launch(device.function(module, ""), {.grid = {1}, .block = {256}, .dynamic_lds = 65536}, arguments);
  return recorder.take();
}

void simulated(benchmark::State& state) {
  const Trace trace = record();
  const Parameters p = Parameters::of(isa::Arch::gfx942);
  const UnitOptions options{.keep_segments = state.range(0) != 0};
  std::uint64_t steps = 0;
  for (auto _ : state) steps += simulate(trace, p, options).steps;
  state.counters["wave instructions"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
}
BENCHMARK(simulated)->Arg(0)->Arg(1)->ArgName("segments")->Unit(benchmark::kMillisecond);

void recorded(benchmark::State& state) {
  std::uint64_t steps = 0;
  for (auto _ : state) steps += record().steps();
  state.counters["wave instructions"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
}
BENCHMARK(recorded)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
