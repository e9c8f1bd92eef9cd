/// Reports and comparisons of machine code as JSON: the same values that the text shows.
#pragma once

#include <inlay/runtime/isa/report.h>
#include <nlohmann/json.hpp>

namespace inlay::cli {

[[nodiscard]] nlohmann::ordered_json to_json(const runtime::isa::KernelReport& r);

/// How JSON names a kernel: `{"kernel": the linker's name, "demangled": that of C++}`, the second where they differ.
[[nodiscard]] nlohmann::ordered_json kernel_json(const std::string& symbol);

/// As `dump(2)`, for text that may hold bytes that are no UTF-8.
[[nodiscard]] std::string dump(const nlohmann::ordered_json& j);

} // namespace inlay::cli
