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

/// What LLVM's code generation gets wrong, said otherwise; after `optimise`.
void mend(llvm::Module& module);
/// Whether v, or an element of it, is a product; of two f16 that were widened where `also_of_halves`. When it becomes f16, LLVM 22 takes
/// v_fma_mixlo_f16 with 0 as the addend, by which -0 becomes 0.
[[nodiscard]] bool is_product(const llvm::Value* v, bool also_of_halves);

/// Assembly. With `keep_order` LLVM's machine schedulers do not run.
[[nodiscard]] std::string generate(llvm::Module& module, llvm::TargetMachine& machine, bool keep_order);

} // namespace inlay::codegen
