/// Source lines of machine code, from the DWARF section .debug_line of a code object.
///
///     LineTable lines = LineTable::read(object);
///     lines.at(0x1720)        // {"softmax.py", 31, 12}
///     to_string(*lines.at(0x1720))   // "softmax.py:31:12"
///
/// Debug information is a help, never a condition: a code object without it, or with one that cannot be read, has an
/// empty table; so has a relocatable object, whose addresses are not final.
///
/// Source: DWARF Debugging Information Format, versions 2 to 5, section 6.2 "Line Number Information".
#pragma once

#include <inlay/runtime/code_object.h>

#include <optional>

namespace inlay::runtime::isa {

/// One place in a source file; line and column count from 1, column 0 is unknown.
struct SourceLine {
  std::string file;
  std::uint32_t line = 0, column = 0;
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

/// `gemm.s:12:3`, or `gemm.s:12` without a column.
[[nodiscard]] std::string to_string(const SourceLine& source);

class LineTable {
public:
  /// The table of a linked code object.
  [[nodiscard]] static LineTable read(const CodeObject& object);
  /// What the instruction at `address` was made from; nothing where the table has no row for it (DWARF's line 0 included).
  [[nodiscard]] std::optional<SourceLine> at(std::uint64_t address) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

private:
  struct Row {
    std::uint64_t address = 0;
    std::uint32_t file = 0, line = 0, column = 0; ///< line 0: no source from here on
  };
  std::vector<Row> rows_; ///< by address; a row holds up to the next one
  std::vector<std::string> files_;
};

} // namespace inlay::runtime::isa
