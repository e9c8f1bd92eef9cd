/// Where a tile lies in LDS that is written and read one element at a time, without bank conflicts. Private.
#pragma once

#include <inlay/codegen/view.h>

#include <optional>

namespace inlay::codegen {

/// A swizzle on element numbers, and a padding of rows in elements.
struct LdsPlace {
  Swizzle swizzle;
  int padding = 0;
  /// Where given, row r lies where (r / low) % high and the two other digits of r are exchanged: (low, high, rest) is (low, rest, high).
  int low = 1, high = 1;
};

/// For a tile of two axes (or of one: columns 1) that `write` puts there and `read` takes from there; the row-major place itself where
/// that is free of conflicts, nothing where none of them is. It is a candidate: that it has no conflict is a claim of the kernel
/// (solver/lds.h has the model that decides).
///
/// Elements of at most a dword: 32 lanes that follow one another share 32 banks, and 64 lanes of a read 64 banks on CDNA4
/// (`banks_of_read`).
[[nodiscard]] std::optional<LdsPlace> place_without_conflicts(int element_bits, int rows, int columns,
                                                              const Layout& write, const Layout& read,
                                                              int banks_of_read);

} // namespace inlay::codegen
