/// What all-reduce, reduce-scatter and all-gather are asked for, and their programs. Private.
#pragma once

#include "../program_names.h"

namespace inlay::kernels {

using codegen::Element;

struct BetweenDevices {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int devices = 4, vectors = 2, vector = 0, rank = 0; ///< of the device that is judged
  std::int64_t n = 4096;
  [[nodiscard]] int width() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
  [[nodiscard]] std::int64_t most() const { return (std::int64_t{1} << 28) / devices / width() * width(); }
};

/// y(i) = sum over devices d of x_d(i); where it scatters, of x_d(rank, i). Errors: std::invalid_argument naming the option.
[[nodiscard]] Program reduce_program(const BetweenDevices& s, bool scatters);
/// y(d, i) = x_d(i). Errors: std::invalid_argument naming the option.
[[nodiscard]] Program gather_program(const BetweenDevices& s);

} // namespace inlay::kernels
