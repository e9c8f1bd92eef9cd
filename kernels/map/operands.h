/// Any formula of elements: what can be asked for, and the program. Private.
#pragma once

#include "../page.h"
#include "lowered.h"

#include <fmt/format.h>

namespace inlay::kernels {

enum class Shape { whole, row, column, scalar }; ///< (M,N), (1,N), (M,1), (1,1)

struct Operand {
  Element type = Element::f16;
  Shape shape = Shape::whole;
  [[nodiscard]] bool has_rows() const { return shape == Shape::whole || shape == Shape::column; }
  [[nodiscard]] bool has_columns() const { return shape == Shape::whole || shape == Shape::row; }
  bool positive = false; ///< what `inlay run` puts in: in (0, 4], for roots and logarithms
};

struct MapAsked {
  std::string arch{codegen::usual_target};
  Element type = Element::f16;
  Formulas formulas;
  std::map<std::string, Operand> operands; ///< of every name
  std::int64_t m = 1, n = 1 << 20;
  int threads = 256, vectors = 2, vector = 0;

  /// Without rows and columns a matrix is a line.
  [[nodiscard]] bool flat() const {
    return std::all_of(operands.begin(), operands.end(), [](const auto& o) {
      return o.second.shape == Shape::whole || o.second.shape == Shape::scalar;
    });
  }
  /// Elements of 32 bits alone: a line of them may end inside a vector.
  [[nodiscard]] bool whole_words() const {
    return flat() && std::all_of(operands.begin(), operands.end(),
                                 [](const auto& o) { return codegen::bits(o.second.type) == 32; });
  }
  /// 16 bytes of the widest operand.
  [[nodiscard]] int vector_length() const {
    int widest = 16;
    for (const auto& [name, o] : operands) widest = std::max(widest, codegen::bits(o.type));
    return vector > 0 ? vector : 128 / widest;
  }
  [[nodiscard]] int tile() const { return threads * vectors * vector_length(); }
};
inline constexpr std::int64_t line = (std::int64_t{1} << 29) - 1; ///< elements: 2 GiB of f32

[[nodiscard]] inline bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
/// `--operands`: `b:f32:row,y:f32`, each a name with its type, its shape, or both; into `asked`. Errors: std::invalid_argument.
void read_operands(MapAsked& asked, const std::string& text);
/// Errors of both: std::invalid_argument naming the option, or the name in the formula.
void check_map(const MapAsked& a);
[[nodiscard]] Program map_program(const MapAsked& a);

} // namespace inlay::kernels
