/// Errors of the generator at the line of the operation that they are about.
#pragma once

#include <inlay/codegen/error.h>

#include <source_location>
#include <string>

namespace inlay::codegen {

/// f(), whose errors are about the operation at `where()`: their messages end with `line   FILE:LINE`, which Python reads, unless they name
/// one.
template <class Where, class F>
decltype(auto) about(Where&& where, F&& f) {
  try {
    return f();
  } catch (const CodegenError& e) {
    const std::string message = e.what();
    if (message.find("line ") != std::string::npos) throw;
    const std::source_location at = where();
    throw CodegenError(message + "\n  line   " + at.file_name() + ":" + std::to_string(at.line()));
  }
}

} // namespace inlay::codegen
