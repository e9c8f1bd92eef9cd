/// `--name value` options of a kernel, for the commands that take a kernel's name: `build`, `run`, `bench`, `validate`.
#pragma once

#include "command.h"

#include <inlay/kernels/choose.h>

#include <nlohmann/json_fwd.hpp>

namespace inlay::cli {

/// Lets `command` take what it does not know and keeps it as the kernel's options; `read_flags` reads them.
/// `--m 256`, `--m=256`. Errors: CLI-like std::invalid_argument for a stray word or an option without a value.
[[nodiscard]] kernels::Flags read_flags(const std::vector<std::string>& rest);

/// `--auto` and `--why`: whether options that change only speed are chosen for the sizes, and whether the ranking is shown.
struct AutoOptions {
  std::string choose = "yes";
  bool why = false;
};
void add_auto_options(CLI::App& command, AutoOptions& options);

/// Flags of a kernel with what was chosen in the place of `auto`. Nothing is chosen with `--auto no`, or where the kernel has
/// nothing to choose.
struct Chosen {
  kernels::Flags flags;
  kernels::Choice choice;
  [[nodiscard]] bool any() const { return choice.from != kernels::Choice::From::nothing; }
};
[[nodiscard]] Chosen chosen(const kernels::Kernel& kernel, const kernels::Flags& flags,
                            const AutoOptions& options, const kernels::BuildOptions& build);
/// How a form is chosen among others: side by side, without validation.
[[nodiscard]] kernels::ChooseOptions choose_options(const kernels::BuildOptions& build);
/// Whether the flags name every size of a launch.
[[nodiscard]] bool names_sizes(const kernels::Kernel& kernel, const kernels::Flags& flags);
/// Rows of options for people: what all of several rows share is said once, `shared`, and the rest in each; one row says all itself.
struct Rows {
  std::string shared; ///< `--mfma 16 --stages 0`, or nothing
  std::vector<std::string> each;
};
[[nodiscard]] Rows rows_of(const std::vector<kernels::Flags>& all);
/// The ranking, a line each; nothing where it came from the cache.
[[nodiscard]] std::string ranking_text(const kernels::Choice& choice);
[[nodiscard]] nlohmann::ordered_json choice_json(const kernels::Choice& choice);

/// `--scheduler` and `--loops`.
void add_order_options(CLI::App& command, kernels::BuildOptions& options);

/// `KERNEL`, and its options at the end of `--help`. Requires: `name` lives as long as the command.
void add_kernel(CLI::App& command, std::string& name);

/// A kernel's options, two lines each: default and help; what it may be, and the rest.
[[nodiscard]] std::string flags_text(const kernels::Kernel& kernel);

} // namespace inlay::cli
