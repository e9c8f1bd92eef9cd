// What the parsers of this folder share: a cursor over a text, errors with a position, and the grammar of
// formulas.
#pragma once

#include <inlay/algebra/coord_swizzle.h>
#include <inlay/algebra/layout.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/sym.h>
#include <inlay/algebra/value.h>

#include <string>
#include <string_view>

namespace inlay::detail {

inline constexpr std::size_t max_text = std::size_t{1} << 20;
inline constexpr std::size_t max_nesting = 64; // of parentheses in a formula; tuples are limited by max_depth

class TextReader {
public:
  TextReader(std::string_view text, const char* what);

  /// Skips blanks; '\0' at the end.
  [[nodiscard]] char peek();
  /// The character `offset` places after the next one.
  [[nodiscard]] char peek_at(std::size_t offset);
  [[nodiscard]] bool accept(char c);
  [[nodiscard]] bool accept(std::string_view token);
  void expect(char c);
  /// Fails unless everything has been read.
  void finish();
  [[nodiscard]] bool at_number();
  [[nodiscard]] bool at_name();
  /// A decimal number without sign.
  [[nodiscard]] Int number();
  [[nodiscard]] Int signed_number();
  [[nodiscard]] std::string_view name();
  [[nodiscard]] std::size_t position() const { return at_; }
  void rewind(std::size_t position) { at_ = position; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[noreturn]] void fail(const std::string& expected);
  [[noreturn]] void fail_at(std::size_t position, const std::string& summary);

private:
  void skip_blanks();
  std::string_view text_;
  const char* what_;
  std::size_t at_ = 0;
};

// Depth is bounded by max_depth, so the recursion is safe.
// Reads a tuple whose leaves are read by `leaf`. Iterative depth is bounded by max_depth, so recursion is
// safe.
template <class T, class Leaf>
void read_tuple(TextReader& in, TupleBuilder<T>& out, const Leaf& leaf, std::size_t depth = 0) {
  if (in.peek() != '(') {
    out.leaf(leaf());
    return;
  }
  if (depth >= max_depth) throw_limit("depth", depth + 1, max_depth);
  in.expect('(');
  const std::size_t at = out.open();
  std::size_t rank = 0;
  if (!in.accept(')')) {
    do {
      read_tuple(in, out, leaf, depth + 1);
      ++rank;
      if (out.leaf_count() > max_leaves) throw_limit("number of leaves", out.leaf_count(), max_leaves);
    } while (in.accept(','));
    in.expect(')');
  }
  out.close(at, rank);
}

/// `<3,0,[0],0,[1]>`, after `CS`.
[[nodiscard]] CoordSwizzle read_coord_swizzle(TextReader& in);
[[nodiscard]] Axis read_axis(TextReader& in);
[[nodiscard]] IntTuple read_int_tuple(TextReader& in);
[[nodiscard]] Layout read_layout(TextReader& in);
/// `:` and strides congruent to `shape`, after the shape has been read.
[[nodiscard]] Layout read_strides(TextReader& in, const IntTuple& shape, std::size_t start);

/// One of Triton's layouts (triton_layout.h).
[[nodiscard]] Value read_triton_layout(TextReader& in);

} // namespace inlay::detail
