/// A kernel that was built, held against what was proven of it: for `build` and `run`, in each build as far as a budget goes.
#pragma once

#include "command.h"

#include <inlay/kernels/artifact.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace inlay::cli {

struct ValidateOptions {
  bool full = false; ///< until it is decided; what is not validated is an error
  bool none = false;
  /// Steps that it may take otherwise, a few microseconds each: the same verdict on every machine. Rows are decided within it, products seldom.
  std::uint64_t budget = 100'000;
};
/// `--validate`, `--no-validate` and `--budget`.
void add_validate_options(CLI::App& command, ValidateOptions& options);

/// What came of it; an error where it was refuted.
struct Validated {
  bool asked = false, validated = false; ///< otherwise undecided
  std::string missing;                   ///< the first reason
  std::uint64_t steps = 0;
  double milliseconds = 0;
};
/// Errors: std::invalid_argument, as for a claim that does not hold, when the machine code is refuted, or not validated with `full`.
[[nodiscard]] Validated validate_built(Session& session, const kernels::Artifact& artifact,
                                       const ValidateOptions& options);
/// `machine code validated in 120 ms`, or what is missing.
[[nodiscard]] std::string to_text(const Validated& v);
[[nodiscard]] nlohmann::ordered_json to_json(const Validated& v);

} // namespace inlay::cli
