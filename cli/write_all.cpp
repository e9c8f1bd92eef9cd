#include "write_all.h"

#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace inlay::cli {

namespace fs = std::filesystem;

void write_all(const fs::path& directory, const std::vector<std::pair<std::string, std::string>>& files) {
  fs::create_directories(directory);
  std::vector<std::pair<fs::path, fs::path>> moves;
  try {
    for (const auto& [name, text] : files) {
      const fs::path target = directory / name,
                     temporary = directory / fmt::format(".{}.{}", name, ::getpid());
      moves.emplace_back(temporary, target);
      std::ofstream stream(temporary, std::ios::binary);
      stream.write(text.data(), static_cast<std::streamsize>(text.size()));
      stream.close();
      if (!stream) throw std::runtime_error(fmt::format("cannot write '{}'", target.string()));
    }
    for (const auto& [temporary, target] : moves) fs::rename(temporary, target);
  } catch (...) {
    std::error_code ignored;
    for (const auto& [temporary, target] : moves) fs::remove(temporary, ignored);
    throw;
  }
}

void write_one(const fs::path& file, std::string contents) {
  write_all(file.has_parent_path() ? file.parent_path() : ".",
            {{file.filename().string(), std::move(contents)}});
}

} // namespace inlay::cli
