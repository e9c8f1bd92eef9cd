/// Kernels for several processors with their manifests in one file: what a program ships. `inlay bundle` writes it.
///
///     Bundle b = Bundle::read("kernels.inlay");
///     const Bundle::Entry& e = b.find("gemm", "MI355X");
///     const Forms::Plan p = e.forms.plan({{"m", 200}});             // of several forms the one that is for these sizes
///     p.launch.grid, e.code[p.form]
///
/// The file: the 16 bytes `INLAY BUNDLE 1\n\0`, 8 bytes of little-endian length, that much JSON, then the code objects; offsets count from
/// the beginning of the file. Of a kernel the JSON has `{"manifest": {...}, "offset": N, "bytes": N}`, of one with several forms
/// `{"forms": [{"options": .., "manifest": {...}, "offset": N, "bytes": N}, ...], "table": {...}}` (docs/cli.md).
#pragma once

#include <inlay/launch/forms.h>

namespace inlay::launch {

class Bundle {
public:
  struct Entry {
    using Code = std::vector<std::uint8_t>;
    Forms forms;
    std::vector<Code> code; ///< of each form
    Entry(Manifest one, Code object) : forms(std::move(one)), code{std::move(object)} {}
    /// Errors: LaunchError, when there are not as many code objects as forms.
    Entry(Forms several, std::vector<Code> objects);
    [[nodiscard]] const std::string& kernel() const { return forms.general().kernel; }
    [[nodiscard]] const std::string& arch() const { return forms.general().arch; }
    bool operator==(const Entry&) const = default;
  };

  /// Errors: LaunchError, when two entries have one kernel and processor.
  explicit Bundle(std::vector<Entry> entries);
  /// Whether a file that begins so is a bundle.
  [[nodiscard]] static bool is_bundle(std::string_view bytes);
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
