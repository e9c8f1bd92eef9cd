/// `emit_ir`: `Code` as LLVM IR, in its order.
///
///     IrModule module = emit_ir(apply(graph, default_schedule(graph)));
///     Emitted e = emit(module, target);
///
/// Each instruction of the code becomes the intrinsic or the operations that LLVM selects to it; registers are SSA values
/// named by (register, iteration); a loop is unrolled by its ring, so that stages of LDS are constants, and is left in
/// any trip. Where LLVM may reorder, waits are its own: it counts them from the same dependences; where the order is exact they
/// are the code's, and LLVM adds what it misses. A loop with more registers than LLVM's allocator handles without copies and
/// spills becomes one operation, a block of assembly (LoopForm). Each instruction carries the line of the
/// specification (`llvm-dwarfdump --debug-line`, `inlay inspect --source`).
#pragma once

#include <inlay/codegen/code.h>
#include <inlay/codegen/emit.h>

namespace inlay::codegen {

/// How a loop whose order is exact is written.
enum class LoopForm : std::uint8_t {
  automatic, ///< as a block when IR would leave LLVM too few registers
  ir,        ///< as LLVM IR in its order: LLVM allocates registers
  block      ///< as one block of assembly: registers are ours
};
/// `auto`, `ir`, `asm`. Errors: CodegenError naming what there is.
[[nodiscard]] LoopForm parse_loop_form(const std::string& name);

/// Errors: CodegenError for what the target lacks, and for a loop that cannot be a block where that was asked for.
[[nodiscard]] IrModule emit_ir(const Code& code, LoopForm form = LoopForm::automatic);

/// Whether a map rounds to bf16 by an addition, without a test for NaN in each element: such an addition keeps each NaN whose
/// lower half is empty, and a sum or product has no other NaN than that of an operand, or 0x7fc00000. So where bytes, integers and
/// bf16 meet numbers that all elements share (a scale), those numbers' NaN are shortened once. `few`: also where they are not
/// one, but few beside all results of the operation.
[[nodiscard]] bool rounds_by_addition(const Inst& inst, const std::vector<Register>& registers,
                                      const Target& target, bool few = false);

} // namespace inlay::codegen
