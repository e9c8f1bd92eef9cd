/// A third hand for codes that are proved: as machine code on the emulator. Claims and tokens see the code; descriptors, addresses
/// and what LLVM makes of it are seen here alone.
#pragma once

#include "tokens.h"

namespace inlay::mutate {

/// Compiles the code once, and runs it for these sizes with all sanitizers. Gives the first element that is not what the
/// specification says, or what a sanitizer found; nothing when all is well.
[[nodiscard]] std::string emulated(const codegen::Code& code, const std::vector<Sizes>& sizes);

} // namespace inlay::mutate
