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
  /// Lanes that have a token's logits, and a group's of them.
  [[nodiscard]] int row_lanes() const { return groups > 8 || experts > 256 ? 16 : 8; }
  [[nodiscard]] int lanes() const { return row_lanes() / groups; }
  /// Elements that one instruction moves.
  [[nodiscard]] int vector() const { return std::gcd(members() / lanes(), 128 / codegen::bits(type)); }
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program gating_program(const Gating& s);
[[nodiscard]] codegen::Program grouped_gating_program(const GroupedGating& s);

} // namespace inlay::kernels
