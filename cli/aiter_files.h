/// A kernel as AITER keeps its own: a `.co`, a row of a table (`knl_name`, `co_name`, numbers) in a folder of the processor, and,
/// because AITER's host functions pass arguments as structures, the structure of this kernel's.
#pragma once

#include <inlay/launch/manifest.h>
#include <inlay/runtime/code_object.h>

#include <string>
#include <utility>
#include <vector>

namespace inlay::cli {

/// Name and contents of `hsa/gfx942/gemm/gemm.co`, `.csv` and `.h`. `code` is the manifest's code object. Requires:
/// `manifest.check_code(code)`. Errors: std::invalid_argument for a code object without metadata, and for a launch of several devices.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
aiter_files(const launch::Manifest& manifest, const std::vector<std::uint8_t>& code);

} // namespace inlay::cli
