/// Products of groups of rows, each with a matrix of its own. Private.
#pragma once

#include "narrow.h"

namespace inlay::kernels {

/// C[p,n] = sum_k A[p,k] B[g,n,k], g the group of the block of p.
struct GroupedGemm {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, out = Element::bf16;
  Scales scales = Scales::none;
  std::int64_t m = 300, n = 128, k = 256, groups = 4;
  int tile_m = 64, tile_n = 64, waves_m = 2, waves_n = 2;
  bool transfer = false;
  [[nodiscard]] std::int64_t blocks() const { return up(m, tile_m); }
};

/// Errors: std::invalid_argument naming the option that is not supported.
[[nodiscard]] Program grouped_gemm_program(const GroupedGemm& s);

} // namespace inlay::kernels
