/// Rows of D elements, of which D need be no power of two: 64, 96, 128, 192, 256. Private.
#pragma once

#include "../places.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>

namespace inlay::kernels {

/// What of a row of D elements is a power of two.
[[nodiscard]] inline int power_of(int D) { return D & -D; }

/// Rows of D elements, 8 at once: as many work-items beside one another as a power of two allows, and the rest of a row by the same ones.
[[nodiscard]] inline Layout by_rows_of(int rows, int D, int threads) {
  const int across = power_of(D) / 8;
  const int down = threads / across;
  return parse_layout(fmt::format("(({0},{1}),(8,{2},{3})):((8@1,1@0),(1@1,{4}@1,{1}@0))", across, down,
                                  D / (8 * across), rows / down, 8 * across));
}

/// The place of a tile of rows: parts of the rows one after the other, each a power of two long.
[[nodiscard]] inline SymLayout in_parts(const codegen::MmaTiling& of_part, int rows, int D) {
  const SymLayout place = of_part.b_place(),
                  columns = by_strides({{of_part.k, 1}, {D / of_part.k, rows * of_part.k}});
  return concatenate(std::vector{place.mode(0), columns});
}

} // namespace inlay::kernels
