/// `--name value` options of a kernel, for the commands that take a kernel's name: `build`, `run`, `bench`, `validate`.
#pragma once

#include "command.h"

#include <inlay/kernels/artifact.h>

namespace inlay::cli {

/// Lets `command` take what it does not know and keeps it as the kernel's options; `read_flags` reads them.
/// `--m 256`, `--m=256`. Errors: CLI-like std::invalid_argument for a stray word or an option without a value.
[[nodiscard]] kernels::Flags read_flags(const std::vector<std::string>& rest);

/// `--scheduler` and `--loops`.
void add_order_options(CLI::App& command, kernels::BuildOptions& options);

/// The table of a kernel's options, for messages and `inlay kernels`.
[[nodiscard]] std::string flags_text(const kernels::Kernel& kernel);

} // namespace inlay::cli
