/// Kernels from assembly, recorded and simulated.
#pragma once

#include "../emulator_support.h"

#include <inlay/runtime/timing/report.h>

namespace timing_test {

using namespace emulator_test;
using namespace inlay::runtime::timing;

struct Setup {
  isa::Arch arch = isa::Arch::gfx942;
  std::uint32_t block = 64;
  std::vector<std::uint64_t> workgroups = {0};
  std::uint32_t grid = 1;
  unsigned lds = 16384;
  std::size_t bytes = 1 << 20; ///< of the buffer whose address is the only argument
};

/// The trace of a kernel around `body`; s[0:1] point to the arguments, the first of which is a buffer of zeros.
inline Trace record(const std::string& body, const Setup& s = {}) {
  TraceRecorder recorder(s.arch, s.workgroups);
  EmulatorDevice device(s.arch, {.checks = Checks::none(), .observer = &recorder});
  const DevicePointer buffer = device.allocate(s.bytes);
  run(device, kernel(body, s.arch, {.lds = s.lds, .vgprs = 256, .accum_offset = 128}),
      {.grid = {s.grid}, .block = {s.block}}, Arguments().pointer(buffer).bytes());
  return recorder.take();
}

/// The built-in numbers without what surrounds a kernel: launch, fetch.
inline Parameters bare(isa::Arch arch = isa::Arch::gfx942) {
  return Parameters::of(arch)
      .with("icache_miss_clk", 0)
      .with("wave_launch_clk", 0)
      .with("first_issue_clk", 0)
      .with("workgroup_launch_clk", 0)
      .with("branch_taken_clk", 4)
      .with("branch_next_fetch_clk", 0);
}

inline std::uint64_t clocks(const Trace& t, const Parameters& p, const UnitOptions& o = {}) {
  return simulate(t, p, o).clocks;
}

inline std::string times(unsigned n, const std::string& text) {
  std::string out;
  for (unsigned i = 0; i < n; ++i) out += text + "\n";
  return out;
}

} // namespace timing_test
