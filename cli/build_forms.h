/// `inlay build KERNEL --for m=1..16384 ..`: several forms of a kernel behind one launch contract, in one file.
#pragma once

#include "built.h"
#include "command.h"

#include <inlay/kernels/artifact.h>

#include <optional>
#include <string>
#include <vector>

namespace inlay::cli {

struct FormsOptions {
  std::vector<std::string> ranges; ///< as on the command line
  std::string from;                ///< a file with a form a line; empty or `auto`: the kernel's own
  std::optional<std::size_t> most, points;
  /// Whether anything but ranges is given.
  [[nodiscard]] bool set() const { return !from.empty() || most || points; }
};
/// `--for`, `--forms`, `--most` and `--points`.
void add_forms_options(CLI::App& command, FormsOptions& options);

/// Chooses, builds, proves and validates the forms and writes the file; the exit status.
[[nodiscard]] int build_forms(Session& session, const kernels::Kernel& kernel, const kernels::Flags& flags,
                              const FormsOptions& forms, const std::string& output,
                              const kernels::BuildOptions& options, const ValidateOptions& validate,
                              bool json);

} // namespace inlay::cli
