/// The last step of every build: IR to machine code, at the level that kernels are shipped with.
#pragma once

#include <inlay/codegen/emit.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

/// Compiles `module` for `artifact.arch` with -O3; fills its IR, assembly (when asked for), code object and the
/// times of these steps.
/// Errors: CodegenError, as `codegen::emit`.
void compile_into(Artifact& artifact, const codegen::IrModule& module, const BuildOptions& options);

} // namespace inlay::kernels
