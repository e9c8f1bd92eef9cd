/// GEMMs whose loop the modulo scheduler orders: their code, and what is asked of all of them.
#pragma once

#include "specified.h"

#include <inlay/kernels/gemm/spec.h>

#include <memory>

namespace ordered_loops {

using namespace inlay;
using namespace inlay::codegen;

inline Code code_of(const kernels::GemmSpec& spec) {
  static std::vector<std::unique_ptr<Program>> programs; // the code names its own
  const Program& p = *programs.emplace_back(std::make_unique<Program>(kernels::gemm_program(spec)));
  const Graph graph = expand(p);
  return apply(graph, schedule_with(Scheduler::modulo, graph));
}
inline CodeRegion& loop_of(Code& code) {
  return *std::find_if(code.regions.begin(), code.regions.end(),
                       [](const CodeRegion& r) { return r.is_loop; });
}

/// Right on the emulator, with no finding of a sanitizer, and the same bits under hostile schedules.
inline void check_silent(const kernels::GemmSpec& spec, const std::vector<std::vector<std::int64_t>>& all) {
  const kernels::Artifact kernel = kernels::build_gemm(spec);
  for (const std::vector<std::int64_t>& sizes : all) {
    INFO("m " << sizes[0] << " n " << sizes[1] << " k " << sizes[2]);
    const kernels::Problem problem = kernels::gemm_problem(spec, sizes[0], sizes[1], sizes[2], 3);
    std::vector<kernels::Bytes> buffers;
    for (const auto& b : problem.buffers) buffers.push_back(b.data);
    const auto device = kernels::open_device("emulator", spec.arch);
    auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
    options.checks = runtime::Checks::all();
    const std::vector<kernels::Bytes> after = kernels::run(*device, kernel, problem);
    CHECK(problem.check(after).ok);
    options.stress = true;
    for (const std::uint64_t seed : {1, 2}) {
      options.seed = seed;
      CHECK(kernels::run(*device, kernel, buffers, sizes)[0] == after[0]);
    }
  }
}

} // namespace ordered_loops
