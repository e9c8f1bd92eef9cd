#include "compile.h"

#include <utility>

namespace inlay::kernels {

void compile_into(Artifact& artifact, const codegen::IrModule& module, const BuildOptions& options) {
  codegen::Emitted emitted = codegen::emit(module, codegen::Target::named(artifact.arch),
                                           {.level = 3, .assembly = options.assembly});
  artifact.ir = std::move(emitted.ir);
  artifact.assembly = std::move(emitted.assembly);
  artifact.hsaco = std::move(emitted.hsaco);
  artifact.times.opt = emitted.timings.opt;
  artifact.times.codegen = emitted.timings.codegen;
  artifact.times.link = emitted.timings.link;
}

} // namespace inlay::kernels
