/// What a question is about: a function on a box of coordinates, kept in the form in which it was given.
///
///     ((2,2),3):((24,2),8)                 a layout; top-level modes are the coordinates
///     Sw<3,4,3> o 0 o (8,64):(64,1)        applied from right to left: layout, then + 0, then swizzle
///     (r, c) -> r * ld + (c ^ (r % 8))     a formula on a domain that is given beside it
///     i / 8 + i % 8                        a formula in the index
///
/// A layout to the left of an `o` is applied to what comes out on its right as CuTe does: the last mode runs
/// on beyond its extent. Coordinates are counted colexicographically, the first one fastest.
#pragma once

#include "arithmetic/context.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::solver {

/// An extent or stride: a number, or a formula in symbols. Numbers stay numbers so that concrete questions
/// cost no allocation per mode.
struct Leaf {
  Wide value = 0;
  FormulaRef formula; // null: `value`
};

struct FlatMode {
  Leaf extent, stride;
};

struct Step { // one function of a composition
  enum class Kind { layout, swizzle, offset } kind;
  std::vector<std::vector<FlatMode>> modes; // layout: leaf modes of every top-level mode
  int bits = 0, base = 0, shift = 0;        // swizzle
  Leaf offset;
};

struct Coordinate {
  std::string name;
  FormulaRef extent;
};

struct Parts {
  std::string text;
  std::vector<Step> outer; // outermost first; applied after the core, last one first
  // The core: a layout, or a formula with its domain.
  std::vector<std::vector<FlatMode>> modes;
  std::vector<Coordinate> domain;
  FormulaRef value;              // null: a layout
  std::set<std::string> written; // symbols of the operation it was computed by: a condition may name them

  [[nodiscard]] bool is_plain_layout() const { return outer.empty() && !value; }
  [[nodiscard]] std::set<std::string> symbols() const;
};

/// Reads any of the forms above. `domain` is the text of `--domain` ("" when absent), e.g. `(M, K)` or
/// `4096`.
[[nodiscard]] std::shared_ptr<const Parts> parse_subject(std::string_view text, std::string_view domain);

/// Is it a call of an operation of the algebra, `composition(...)`, which this parser leaves to the caller?
[[nodiscard]] bool is_algebra_call(std::string_view text);

/// x ^ ((x & mask) moved by shift): the definition of Sw<bits, base, shift>, CuTe's swizzle.hpp.
[[nodiscard]] Wide swizzle(Wide x, int bits, int base, int shift);

namespace naive {
/// The evaluator that every counterexample has to pass. It shares nothing with the layers: it counts
/// coordinates, multiplies and adds, by the definition.
using Environment = std::map<std::string, Wide>;
[[nodiscard]] std::vector<Wide> extents(const Parts& f, const Environment& env);
[[nodiscard]] Wide size(const Parts& f, const Environment& env);
[[nodiscard]] Wide at(const Parts& f, Wide index, const Environment& env);
[[nodiscard]] std::vector<Wide> coordinate(const Parts& f, Wide index, const Environment& env);
} // namespace naive

} // namespace inlay::solver
