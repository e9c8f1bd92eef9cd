/// `emit_ir`: `Code` as LLVM IR, in its order.
///
///     IrModule module = emit_ir(apply(graph, default_schedule(graph)));
///     Emitted e = emit(module, target);
///
/// Each instruction of the code becomes the intrinsic or the operations that LLVM selects to it; registers are SSA values
/// named by (register, iteration); a loop is unrolled by its ring, so that stages of LDS are constants, and is left in
/// any trip. Waits are LLVM's: it counts them from the same dependences. Each instruction carries the line of the
/// specification (`llvm-dwarfdump --debug-line`, `inlay inspect --source`).
#pragma once

#include <inlay/codegen/code.h>
#include <inlay/codegen/emit.h>

namespace inlay::codegen {

/// Errors: CodegenError for what the target lacks.
[[nodiscard]] IrModule emit_ir(const Code& code);

} // namespace inlay::codegen
