/// How a kernel says what it does not take: the value, and what to write instead. Private.
#pragma once

#include <string>

namespace inlay::kernels {

///     const Refusal refuse{"gemv"};
///     refuse("--rows 3", "4, 8 or 16");          // gemv: --rows 3, hint 4, 8 or 16
///     refuse("vector", "3", "1, 2 or 4");        // gemv: vector = 3 is not supported, hint 1, 2 or 4
struct Refusal {
  std::string kernel;

  /// Throw std::invalid_argument, always.
  [[noreturn]] void operator()(const std::string& what, const std::string& hint) const;
  [[noreturn]] void operator()(const std::string& field, const std::string& value,
                               const std::string& hint) const;
};

} // namespace inlay::kernels
