/// Group normalisation: what can be asked for, and the program. Private.
#pragma once

#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {

struct GroupNormAsked : VectorsAsked {
  GroupNormAsked() { type = Element::f16; }
  std::int64_t b = 2, groups = 32, pixels = 1024;
  int channels = 4, threads = 256;
  bool streamed = false;
  double epsilon = 1e-5;
  /// Pixels of a trip.
  [[nodiscard]] int wide() const { return threads * vector_length(); }
};

/// Errors of both: std::invalid_argument naming the option.
void check_group_norm(const GroupNormAsked& s);
[[nodiscard]] Program group_norm_program(const GroupNormAsked& s);

} // namespace inlay::kernels
