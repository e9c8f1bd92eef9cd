/// An index expression at numbers for its sizes, in any arithmetic of values.h.
#pragma once

#include "values.h"

#include <inlay/codegen/expression.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace inlay::kernels::validate {

/// What a function makes of its operands (y: of two): e^x is 2^(x log2 e). Nothing for what is none (elements, folds, choices) and for
/// powers but -1, 1/2 and -1/2.
[[nodiscard]] std::optional<Number> function_number(codegen::Fn function, double exponent, Number x, Number y,
                                                    Arithmetic& arithmetic);
/// A constant as machine code has it: of f32.
[[nodiscard]] inline Number constant_of_f32(Arithmetic& arithmetic, double value) {
  return arithmetic.constant(static_cast<float>(value));
}

/// With the functions and constants above.
///
///     ExpressionValues c(value, {i, j}, arithmetic, elements);
///     c.at({3, 5})
///
/// Requires: sizes are numbers in the expression's indices and bounds. What has no value in the field (`select`) is
/// `missing()`, and `at` gives nothing.
class ExpressionValues {
public:
  struct Elements {
    /// The element of a tensor; nothing outside of it.
    std::function<std::optional<Number>(int tensor, std::span<const std::int64_t> at)> value;
    /// The same of a table of indices.
    std::function<std::optional<std::int64_t>(int tensor, std::int64_t at)> index;
  };
  ExpressionValues(codegen::Expr value, std::span<const Sym> coordinate, Arithmetic& arithmetic,
                   Elements elements);

  [[nodiscard]] std::optional<Number> at(std::span<const std::int64_t> coordinate);
  [[nodiscard]] const std::string& missing() const { return missing_; }

private:
  /// constant + sum of factor * slot, or a formula that is none.
  struct Place {
    std::int64_t constant = 0;
    std::vector<std::pair<int, std::int64_t>> parts;
    std::optional<Sym> other;
  };
  struct Node {
    codegen::Fn fn = codegen::Fn::constant;
    codegen::Monoid monoid = codegen::Monoid::sum;
    double value = 0;
    int tensor = -1, slot = -1;
    std::vector<int> args, through;
    std::vector<Place> index;
    std::vector<int> free; ///< slots that it depends on, sorted
    bool kept = false;     ///< a fold that depends on fewer slots than are there
    std::map<std::vector<std::int64_t>, Number> known;
  };
  int compile(codegen::Expr e, int in_scope);
  Place place(Sym s, std::vector<int>& free);
  [[nodiscard]] std::int64_t number(const Place& p) const;
  std::optional<Number> run(int node);
  std::optional<Number> fold(Node& n);

  Arithmetic& a_;
  Elements elements_;
  std::vector<Node> nodes_;
  std::map<std::pair<int, int>, int> compiled_; ///< (expression, symbols in scope)
  std::map<AtomId, int> slots_;
  std::vector<AtomId> atoms_; ///< by slot
  std::vector<std::int64_t> now_;
  int root_ = -1;
  std::string missing_;
};

} // namespace inlay::kernels::validate
