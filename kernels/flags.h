/// Reading a kernel's named options: known names only, numbers checked, nothing silently ignored.
#pragma once

#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

class FlagReader {
public:
  /// Errors: std::invalid_argument for a name that `known` does not list, with those it does.
  FlagReader(std::string kernel, const Flags& flags, const std::vector<FlagHelp>& known);
  /// The text given, or the fallback of the list.
  [[nodiscard]] std::string text(const std::string& name) const;
  /// Errors: std::invalid_argument when it is neither yes nor no.
  [[nodiscard]] bool yes(const std::string& name) const;
  /// Errors: std::invalid_argument when it is not a number in [lower, upper].
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t lower, std::int64_t upper) const;

private:
  std::string kernel_;
  Flags values_;
};

} // namespace inlay::kernels
