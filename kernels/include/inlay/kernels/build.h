/// `build`: a Program becomes an Artifact. Claims, code, contract: everything is derived from the one description.
///
///     codegen::Program program = my_kernel(target);        // codegen/program.h: what it computes, how data moves
///     Artifact artifact = build(program);                  // throws ObligationError when a claim does not hold
///     artifact.contract.plan({{"m", 200}, {"n", 64}})      // checks the sizes, gives grid and arguments
#pragma once

#include <inlay/codegen/code.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

struct Source {
  codegen::Program program;
  codegen::Code code; ///< of `program`
};

/// Expands, schedules, derives and decides every claim, then emits machine code.
/// Errors: ObligationError for a claim that is refuted or not decided, with the operation, the line of the specification
/// and the counterexample; CodegenError for what the target cannot do.
[[nodiscard]] Artifact build(const codegen::Program& program, const BuildOptions& options = {});
/// The same, with program and code in the artifact.
[[nodiscard]] Artifact build(codegen::Program&& program, const BuildOptions& options = {});

/// The claims of some code, decided: what `build` does before it emits. Errors: ObligationError.
[[nodiscard]] ProofReport prove(const codegen::Code& code);

/// What the launch has to satisfy, from the program's declarations.
[[nodiscard]] LaunchContract contract_of(const codegen::Program& program);

} // namespace inlay::kernels
