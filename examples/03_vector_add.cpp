// The smallest kernel: built, run on the emulator with every sanitizer on, checked.
#include "expect.h"

#include <inlay/kernels/launch.h>

#include <iostream>

using namespace inlay;

int main() {
  // [vector add]
  const auto kernel = kernels::find_kernel("vector_add");
  const kernels::Flags flags = {{"arch", "MI300X"}, {"n", "1000"}};
  const kernels::Artifact artifact = kernel->build(flags, {});
  const kernels::Problem problem = kernel->problem(flags, /*seed*/ 1);

  runtime::EmulatorOptions options;
  options.checks = runtime::Checks::all();
  runtime::EmulatorDevice device(runtime::isa::parse_arch("MI300X"), options);
  const kernels::Check check = problem.check(kernels::run(device, artifact, problem));
  std::cout << problem.text << ": largest error " << check.max_abs_error << ", "
            << device.last_launch().statistics.instructions << " instructions, "
            << device.last_launch().findings.size() << " findings\n";
  // [vector add end]
  expect(check.ok, "the sum");
  expect(device.last_launch().findings.empty(), "no findings");
}
