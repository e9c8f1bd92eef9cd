/// `TiledCopy`: a tile moved by many threads, one `CopyAtom` at a time.
///
///     TiledCopy c = TiledCopy::rows(CopyAtom::buffer_load(target, 128), Element::f16, 128, 64, 256);
///     c.tv                 // ((8,32),(8,4)):((8@1,1@0),(1@1,32@0)): 8 threads along a row, 32 rows at a
///     time c.instructions()     // 4 a thread
///
/// Errors are user errors, by name: a row that the vectors do not divide, threads that do not divide the
/// tile.
#pragma once

#include <inlay/codegen/atoms/copy.h>
#include <inlay/codegen/kernel_builder.h>
#include <inlay/codegen/tensor.h>

namespace inlay::codegen {

struct TiledCopy {
  CopyAtom atom;
  Element element;
  Layout tv; ///< (thread, (vector, instruction)) -> (row, column)

  [[nodiscard]] int vector() const { return atom.bits / bits(element); } ///< elements of one instruction
  [[nodiscard]] int instructions() const;                                ///< of one thread
  [[nodiscard]] Type type() const { return {element, vector()}; }

  /// Vectors along the rows of a rows x columns tile, adjacent threads side by side.
  [[nodiscard]] static TiledCopy rows(const CopyAtom& atom, Element element, int rows, int columns,
                                      int threads);
};

} // namespace inlay::codegen
