/// `inlay validate KERNEL [options] [--code FILE]`: machine code against a kernel's program and instructions.
#pragma once

#include "kernel_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace inlay::cli {

struct ValidateKernel {
  std::string name, function, arch;
  std::string code;         ///< the file; empty: what `inlay build` makes with the same options
  std::uint64_t budget = 0; ///< steps; 0: as many as it takes
  bool json = false;
  kernels::BuildOptions build;
  AutoOptions automatic;
};

/// Whether the library has a kernel of this name.
[[nodiscard]] bool is_kernel(const std::string& name);

/// The form that FILE is held against is the one that the manifest beside it says it was made from; without one, what `build` takes for these
/// options. Errors: ArgumentError where that manifest says another kernel or option than is asked for, and where FILE is of another form: where it
/// is launched with other workgroups, LDS or arguments.
[[nodiscard]] int validate_kernel(Session& session, const ValidateKernel& o,
                                  const std::vector<std::string>& rest);

} // namespace inlay::cli
