/// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace inlay::cli {

/// All files or none, by name and contents: they are written beside their place and renamed when every one of them is whole.
/// Errors: std::runtime_error.
void write_all(const std::filesystem::path& directory,
               const std::vector<std::pair<std::string, std::string>>& files);

/// One file, in the same way.
void write_one(const std::filesystem::path& file, std::string contents);

} // namespace inlay::cli
