/// Machine code as one self-contained page: the report beside the instructions, dark or light as the reader's system is, all of it
/// by keyboard. `inspect --html` and `compare --html` write it.
#pragma once

#include <inlay/runtime/isa/report.h>

#include <functional>
#include <span>
#include <string>

namespace inlay::cli {

/// A report, as text, and the code that it is about.
struct CodePart {
  const runtime::isa::KernelReport* report = nullptr;
  std::string text; ///< in front of the code
  std::function<std::string(const runtime::isa::Instruction&)>
      source; ///< lines before an instruction, or nothing
};

/// `introduction` is text of its own, before all parts; may be empty.
[[nodiscard]] std::string code_page(const std::string& title, const std::string& introduction,
                                    std::span<const CodePart> parts);

} // namespace inlay::cli
