/// What a table's kernels take, so that `inlay audit --launch` can model another row's kernel for a row's sizes.
#pragma once

#include "exec_arguments.h"

#include <inlay/kernels/artifact.h>
#include <inlay/runtime/code_object.h>

#include <map>
#include <string>
#include <vector>

namespace inlay::cli {

/// Text, a line a fact; numbers in braces are formulas of the sizes m, n, k and of the columns of the table and of `columns`:
///
///     columns FILE NAME                        a CSV with more columns for each kernel, whose name is in column NAME
///     kernel bf16gemm_*                        what follows is of kernels whose name begins so; * is any
///     multiple {k} {64}                        sizes that it takes: the first is a multiple of the second
///     grid {(n + tilen - 1) / tilen},{(m + tilem - 1) / tilem},1
///     block 256,1,1
///     arg zeros:{2*m*n}                        an argument each, as `inlay time --arg` has them
class AuditLaunch {
public:
  /// Errors: std::invalid_argument with file and line.
  explicit AuditLaunch(const std::string& file);

  using Values = std::map<std::string, std::int64_t>;
  /// What `columns` say of a kernel.
  [[nodiscard]] Values of_kernel(const std::string& name) const;
  [[nodiscard]] bool knows(const std::string& name) const { return find(name) != nullptr; }
  /// Whether the kernel takes these sizes. Requires: `knows(name)`.
  [[nodiscard]] bool takes(const std::string& name, const Values& values) const;

  struct Launch {
    runtime::LaunchGeometry geometry;
    std::vector<ArgumentSpec> arguments;
  };
  /// Errors: std::invalid_argument for a formula with a name that no column has, a launch that is none.
  [[nodiscard]] Launch of(const std::string& name, const Values& values) const;

private:
  struct Recipe {
    std::string prefix, grid, block;
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> multiples;
  };
  [[nodiscard]] const Recipe* find(const std::string& name) const;
  std::string file_;
  std::vector<Recipe> recipes_;
  std::map<std::string, Values> columns_;
};

/// A line of comma-separated values; quoted ones may hold commas, and quotes as two.
[[nodiscard]] std::vector<std::string> fields_of(const std::string& line);
/// Letters as small ones.
[[nodiscard]] std::string lower(std::string text);

} // namespace inlay::cli
