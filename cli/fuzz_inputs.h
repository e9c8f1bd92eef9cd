/// Random inputs for `inlay fuzz`: layouts within limits, that shrink towards few modes and small numbers.
///
/// RapidCheck generates and shrinks plain data (`RawInput`: leaves as numbers); a pure function makes layouts
/// of it. Layouts that are merely random hardly ever fit together, so a stride is often the span of the modes
/// before it (compact), a small multiple of that, or, in the second operand, a prefix product of the first
/// operand's extents.
#pragma once

#include <inlay/algebra/layout.h>

#include <rapidcheck.h>

#include <tuple>
#include <vector>

namespace inlay::cli {

struct FuzzLimits {
  int max_size = 64; ///< elements of a layout
  int max_rank = 4;  ///< top-level modes
  int max_depth = 2; ///< 1 is flat
};

/// A leaf before it is one: extent, how its stride is chosen, a number for that choice, and how deep it is
/// nested.
struct RawLeaf {
  int extent = 1, choice = 0, number = 0, level = 0;
};
struct RawLayout {
  std::vector<RawLeaf> leaves;
  bool wrapped = false; ///< a lone mode as `(4)` rather than `4`
};
struct RawInput {
  RawLayout a, b;
  int n = 1;    ///< at least 1
  int form = 0; ///< which of the forms of an operand: a layout, a number, a tiler by mode
};

/// The layouts and the number of an input.
struct FuzzInput {
  Layout a, b;
  Int n = 1;
  int form = 0;
};

[[nodiscard]] rc::Gen<RawInput> raw_input(const FuzzLimits& limits);
[[nodiscard]] FuzzInput build(const RawInput& raw, const FuzzLimits& limits);

} // namespace inlay::cli
