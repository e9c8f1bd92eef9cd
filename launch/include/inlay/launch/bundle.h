/// Kernels for several processors with their manifests in one file: what a program ships. `inlay bundle` writes it.
///
///     Bundle b = Bundle::read("kernels.inlay");
///     const Bundle::Entry& e = b.find("gemm", "MI355X");
///     e.manifest.plan({{"m", 200}}), e.code
///
/// The file: the 16 bytes `INLAY BUNDLE 1\n\0`, 8 bytes of little-endian length, that much JSON
/// (`[{"manifest": {...}, "offset": N, "bytes": N}, ...]`), then the code objects; offsets count from the beginning of the file.
#pragma once

#include <inlay/launch/manifest.h>

namespace inlay::launch {

class Bundle {
public:
  struct Entry {
    Manifest manifest;
    std::vector<std::uint8_t> code;
    bool operator==(const Entry&) const = default;
  };

  /// Errors: LaunchError, when two entries have one kernel and processor.
  explicit Bundle(std::vector<Entry> entries);
  /// A bundle's bytes; `parse(b.bytes()) == b`. Errors: LaunchError.
  [[nodiscard]] static Bundle parse(const std::vector<std::uint8_t>& bytes,
                                    const std::string& whose = "bundle");
  /// A bundle, or a manifest with the code object beside it. Errors: as parse; std::runtime_error for files that cannot be read.
  [[nodiscard]] static Bundle read(const std::string& file);
  [[nodiscard]] std::vector<std::uint8_t> bytes() const;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Errors: LaunchError with the kernels and processors there are.
  [[nodiscard]] const Entry& find(const std::string& kernel, const std::string& arch) const;
  bool operator==(const Bundle&) const = default;

private:
  std::vector<Entry> entries_;
};

} // namespace inlay::launch
