/// The up-projection of a gated feed-forward layer: what can be asked for, and the program. Private.
#pragma once

#include "../map/lowered.h"
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {

struct DualAsked {
  std::string arch{codegen::usual_target}, act = "silu";
  Element type = Element::bf16, out = Element::bf16;
  std::int64_t m = 128, n = 128, k = 256;
  int tile_m = 128, tile_n = 64, tile_k = 64, waves_m = 2, waves_n = 2;
  bool transfer = false;
  [[nodiscard]] int threads() const { return 64 * waves_m * waves_n; }
  [[nodiscard]] int stage_bytes() const { return (tile_m + 2 * tile_n) * tile_k * codegen::bits(type) / 8; }
};

[[nodiscard]] inline Formulas formula(const DualAsked& s) {
  return parse_formulas("y = " + s.act + "(a) * b");
}

/// Errors of both: std::invalid_argument naming the option.
void check_dual(const DualAsked& s, const Target& target);
[[nodiscard]] Program dual_program(const DualAsked& s);

} // namespace inlay::kernels
