/// Enumeration: the definition itself, for functions whose size and values are numbers.
///
/// The limit is on the number of evaluations, not on time, and is stated in the verdict: up to 2^24 indices
/// by default (about a second). Beyond it enumeration does not answer.
#pragma once

#include "layers/subject.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inlay::solver {

/// A function under one assignment of its symbols, compiled to a short program for a stack machine.
class Evaluator {
public:
  Evaluator(const Parts& f, const naive::Environment& environment);
  [[nodiscard]] Wide size() const { return size_; }
  [[nodiscard]] Wide operator()(Wide index) const;
  [[nodiscard]] const std::vector<Wide>& extents() const { return extents_; }

private:
  enum class Jump { none, if_zero, always };
  struct Instruction {
    Op op;
    Wide value; // integer: the number; name: the coordinate; a jump: its target
    Jump jump;
  };
  struct Stage { // a layout when it has modes, else a swizzle when it has bits, else an offset
    std::vector<std::pair<Wide, Wide>> modes;
    Wide offset = 0;
    int bits = 0, base = 0, shift = 0;
  };
  void compile(const FormulaRef& f, const Parts& parts, const naive::Environment& environment);
  [[nodiscard]] Wide run(const std::vector<Wide>& coordinates) const;

  std::vector<Wide> extents_;
  Wide size_ = 1;
  std::vector<std::pair<Wide, Wide>> modes_;
  std::vector<Instruction> program_;
  std::vector<Stage> stages_; // innermost first
  std::string text_;
};

/// Two indices with one value, the second as small as possible; at most `limit` indices are looked at.
struct Collision {
  Wide first, second, value;
};
[[nodiscard]] std::optional<Collision> find_collision(const Evaluator& f, Wide limit);

} // namespace inlay::solver
