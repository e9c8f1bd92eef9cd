/// LLVM's part of a build: the passes over the IR and code generation. Private; LLVM's types.
#pragma once

#include "llvm_module.h"

#include <llvm/Target/TargetMachine.h>

#include <string>

namespace inlay::codegen {

/// Whether a loop of the module is one operation of the IR (emit_asm.h).
[[nodiscard]] bool has_block(const llvm::Module& module);

/// The passes over the IR.
///
/// A module whose loop is a block has nothing left but addresses, waits and stores, in an order that is ours. Equal terms
/// become one and that is all: -O3 makes its code larger (256x256x64 on CDNA4 by 11 % of its instructions) because it moves
/// additions and tests to where they are used, and takes five times as long.
void optimise(llvm::Module& module, llvm::TargetMachine& machine, int level);

/// Assembly. With `keep_order` LLVM's machine schedulers do not run.
[[nodiscard]] std::string generate(llvm::Module& module, llvm::TargetMachine& machine, bool keep_order);

} // namespace inlay::codegen
