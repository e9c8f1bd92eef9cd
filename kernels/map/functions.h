/// The functions that formulas have, and their definitions, which are the reference. Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::kernels::formula {

struct Function {
  std::string name, form;
  std::size_t operands;
  double (*defined)(const std::vector<double>&);
  std::string_view kinds =
      ""; ///< of operands and result: n a number, w an integer, x any of the two, one and the same
};

/// Those that have a name.
[[nodiscard]] const std::vector<Function>& functions();

/// @name Integers, which are 0 to 2^32 - 1
/// @{
[[nodiscard]] std::uint64_t word(double v);
[[nodiscard]] double modulo(std::uint64_t v);
[[nodiscard]] std::int64_t with_sign(double v);
[[nodiscard]] double without_sign(std::int64_t v);
/// x toward zero, within i32; 0 for NaN.
[[nodiscard]] double whole(double x);
/// @}

} // namespace inlay::kernels::formula
