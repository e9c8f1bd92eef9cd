// A GEMM from its specification: proofs, machine code, a ragged problem on the emulator, and a broken layout that
// never becomes a kernel.
#include "expect.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/launch.h>

#include <iostream>

using namespace inlay;

int main() {
  // [gemm]
  kernels::GemmSpec spec; // f16, tiles of 128 x 128 x 64
  spec.in = spec.out = kernels::Element::bf16;
  const kernels::Artifact gemm = kernels::build_gemm(spec);
  std::cout << gemm.proofs.proved() << " claims proved before there was code\n";

  runtime::EmulatorDevice device(runtime::isa::parse_arch(spec.arch));
  const kernels::Problem problem = kernels::gemm_problem(spec, 129, 257, 72, /*seed*/ 1);
  const kernels::Check check = problem.check(kernels::run(device, gemm, problem));
  std::cout << problem.text << ": largest error " << check.max_abs_error << ", within " << check.bound
            << "\n";
  // [gemm end]
  expect(check.ok, "the product");

  // [broken]
  // The tile of B moved by one row: the program says something else than its specification, and is no kernel.
  codegen::Program broken = kernels::gemm_program(spec);
  for (codegen::Op& op : broken.mutable_body())
    if (auto* loop = std::get_if<codegen::LoopOp>(&op.what))
      std::get<codegen::CopyOp>(loop->body[1].what).from->origin[0] += Sym(1);
  try {
    (void)kernels::build(broken);
    expect(false, "a refusal");
  } catch (const kernels::ObligationError& e) {
    std::cout << e.what() << "\n";
  }
  // [broken end]
}
