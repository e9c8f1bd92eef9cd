/// How commands take a kernel: a code object (HSACO, relocatable object, offload bundle) or assembly text, from a file or
/// from standard input. Assembly is assembled, and linked, in process for the processor in its .amdgcn_target.
#pragma once

#include "command.h"

#include <inlay/runtime/code_object.h>

namespace inlay::cli {

/// The code object in FILE (`-`: standard input). `arch` chooses from a bundle, and is what assembly without
/// .amdgcn_target is for. Errors: std::runtime_error, CodeObjectError, IsaError.
[[nodiscard]] runtime::CodeObject read_code_object(Session& session, const std::string& file,
                                                   const std::string& arch);

} // namespace inlay::cli
