/// A number that follows from the sizes of a launch: `(m + 127)/128`. Stands alone, so that a launcher needs no algebra.
///
///     Formula grid("(m + 127)/128");
///     grid({{"m", 200}})                       // 2
///
/// Grammar: + - * / % with floor division, parentheses, unary minus, min(a, b), max(a, b), names and decimal numbers, as in the
/// text of symbolic integers (inlay/algebra/sym.h), of which this is a part.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace inlay::launch {

/// A manifest, a bundle or a launch that is not as it has to be: one message with the values, and a line with a hint.
class LaunchError : public std::invalid_argument {
public:
  LaunchError(const std::string& problem, const std::string& hint)
      : std::invalid_argument(problem + "\n  hint   " + hint), problem_(problem), hint_(hint) {}
  /// The same error, with where it is before it.
  [[noreturn]] void within(const std::string& where) const {
    throw LaunchError(where + ": " + problem_, hint_);
  }

private:
  std::string problem_, hint_;
};

using Sizes = std::map<std::string, std::int64_t>;

class Formula {
public:
  Formula() : Formula("0") {}
  /// Errors: LaunchError for text that is no formula.
  explicit Formula(const std::string& text);
  /// Errors: LaunchError for a name without a value, a division by zero, a value beyond 64 bits.
  [[nodiscard]] std::int64_t operator()(const Sizes& sizes) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  /// In order of first use.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  bool operator==(const Formula& o) const { return text_ == o.text_; }

private:
  friend class FormulaReader;
  struct Node;
  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

} // namespace inlay::launch
