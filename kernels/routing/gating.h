/// Routing of a mixture of experts: what can be asked of the two gatings, and their programs.
#pragma once

#include <inlay/codegen/program.h>

#include <algorithm>
#include <numeric>

namespace inlay::kernels {

using codegen::Element;

/// The k largest logits of each token, the least expert first of equal ones, and their softmax.
struct Gating {
  std::string arch{codegen::usual_target};
  Element type = Element::f32;
  int experts = 256, k = 8, lanes = 0; ///< lanes that have a token's logits; 0: `lanes_used`
  bool renormalise = true;
  std::int64_t m = 64;
  [[nodiscard]] int lanes_used() const { return lanes != 0 ? lanes : experts >= 256 ? 4 : 8; }
  /// Elements that one instruction moves.
  [[nodiscard]] int vector() const {
    return std::min(experts / std::max(lanes_used(), 16), 128 / codegen::bits(type));
  }
};

/// The k best experts of each token's best groups, by a sigmoid and a bias (DeepSeek-V3).
struct GroupedGating {
  std::string arch{codegen::usual_target};
  Element type = Element::f32;
  int experts = 256, groups = 8, of_groups = 4, k = 8;
  bool renormalise = true;
  double scale = 1;
  std::int64_t m = 64;
  [[nodiscard]] int members() const { return experts / groups; }
  /// Lanes that have a token's logits, a group's of them, and groups of a lane. Fewer lanes serve more tokens with the steps from lane to lane.
  [[nodiscard]] int row_lanes() const {
    const bool narrow = codegen::bits(type) == 16;
    if (groups > 8 || experts > 384 || (narrow && experts > 256 && groups > 1)) return 16;
    return narrow || experts > 256 ? 8 : 4;
  }
  [[nodiscard]] int lanes() const { return std::max(1, row_lanes() / groups); }
  [[nodiscard]] int lane_groups() const { return std::max(1, groups / row_lanes()); }
  /// Elements that one instruction moves.
  [[nodiscard]] int vector() const { return std::gcd(members() / lanes(), 128 / codegen::bits(type)); }
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program gating_program(const Gating& s);
[[nodiscard]] codegen::Program grouped_gating_program(const GroupedGating& s);

} // namespace inlay::kernels
