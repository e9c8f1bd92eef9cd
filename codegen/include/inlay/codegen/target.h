/// What the code generator and kernels know of a processor: the machine's row (`inlay/machine/target.h`), under this name too.
///
///     const codegen::Target& t = codegen::Target::named("MI355X");
///     t.lds_bytes                                   // 163840
#pragma once

#include <inlay/machine/target.h>

namespace inlay::codegen {

using machine::Target;
using machine::TargetSet;
using machine::usual_target;

} // namespace inlay::codegen
