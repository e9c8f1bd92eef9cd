/// Where the sources of a code object lie.
#pragma once

#include <inlay/runtime/code_object.h>

#include <map>
#include <string>

namespace inlay::runtime::isa {

/// Of each name that SourceLine::file may have the path that the line tables give it, absolute where they know the folder. Names of several
/// files are left out. Source: DWARF 5, 6.2.4 "The Line Number Program Header".
[[nodiscard]] std::map<std::string, std::string> source_files(const CodeObject& object);

} // namespace inlay::runtime::isa
