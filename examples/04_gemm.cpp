// A GEMM from its specification: proofs, machine code, a ragged problem on the emulator, and a broken layout that
// never becomes a kernel.
#include "expect.h"
#include "launch.h"

#include <inlay/kernels/gemm/spec.h>
#include <inlay/runtime/emulator.h>

#include <iostream>

using namespace inlay;

int main() {
  // [gemm]
  kernels::GemmSpec spec; // gfx942, f16, tiles of 128 x 128 x 64
  spec.in = spec.out = kernels::DType::bf16;
  const kernels::Artifact gemm = kernels::build_gemm(spec);
  std::cout << gemm.proofs.proved() << " claims proved before there was code\n";

  runtime::EmulatorDevice device(runtime::isa::Arch::gfx942);
  const kernels::Problem problem = kernels::gemm_problem(spec, 129, 257, 72, /*seed*/ 1);
  const kernels::Check check = problem.check(launch(device, gemm, problem));
  std::cout << problem.text << ": largest error " << check.max_abs_error << ", within " << check.bound
            << "\n";
  // [gemm end]
  expect(check.ok, "the product");

  // [broken]
  // Swizzled where it is written and not where it is read: the build stops with the counterexample.
  kernels::GemmSpec broken;
  broken.fault = kernels::GemmFault::swizzle_on_write_only;
  try {
    (void)kernels::build_gemm(broken);
    expect(false, "a refusal");
  } catch (const kernels::ObligationError& e) {
    std::cout << e.what() << "\n";
  }
  // [broken end]
}
