/// The instructions that stand before the entry of a kernel whose arguments are preloaded.
#pragma once

#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>

#include <string>

namespace inlay::runtime::symbolic {

/// Firmware that preloads arguments enters such a kernel 256 bytes after its address; older firmware enters at the address and
/// preloads nothing, and what stands there has to load the same words into the same registers and to jump to the entry. Why it
/// does not: `an argument that is not loaded where firmware does not preload: s3`; "" where it does, and without preloading.
/// Source: LLVM, "User Guide for AMDGPU Backend", Preloaded Kernel Arguments.
[[nodiscard]] std::string wrong_without_preloading(const isa::Program& program, const Kernel& kernel);

} // namespace inlay::runtime::symbolic
