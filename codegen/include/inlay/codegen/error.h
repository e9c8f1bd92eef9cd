/// Errors of the code generator: what the user asked for cannot be built.
#pragma once

#include <stdexcept>
#include <string>

namespace inlay::codegen {

/// A request that no kernel can satisfy: an atom that the architecture lacks, more LDS than there is, IR that
/// does not verify. The message names the operands and says what would be accepted.
class CodegenError : public std::invalid_argument {
public:
  /// `what`: one line; `detail`: the operands; `hint`: a way out. The last two may be empty.
  explicit CodegenError(const std::string& what, const std::string& detail = "", const std::string& hint = "")
      : std::invalid_argument(what + (detail.empty() ? "" : "\n  " + detail) +
                              (hint.empty() ? "" : "\n  hint   " + hint)) {}
};

} // namespace inlay::codegen
