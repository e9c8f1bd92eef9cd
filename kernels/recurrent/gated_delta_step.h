/// A token of the gated delta rule: linear attention whose state S forgets, and corrects what it holds of a key,
///
///     S' = e^g S + k beta (v - (e^g S)^T k)^T,   o = S'^T q / sqrt(D),
///
/// for each sequence and head; q and k are divided by their length first. S is [B,H,D,E], in place.
/// Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule", ICLR 2025. Private.
#pragma once

#include "../program_names.h"

#include <algorithm>

namespace inlay::kernels {

using codegen::Element;

inline constexpr double delta_epsilon = 1e-6; ///< beside the squares of a query or a key

struct GatedDeltaStep {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, state = Element::f32;
  std::int64_t batch = 3, heads = 4;
  int group = 2, key = 128, value = 128, columns = 64, threads = 256;
  bool decay = true, normalise = true;
  [[nodiscard]] int vector() const { return std::min(8, 128 / codegen::bits(state)); }
  /// Lanes beside one another in a row of the state, of a wave.
  [[nodiscard]] int lanes() const { return columns / (threads / 64) / vector(); }
};

/// Errors: std::invalid_argument naming the option that is not supported.
[[nodiscard]] Program gated_delta_step_program(const GatedDeltaStep& s);

} // namespace inlay::kernels
