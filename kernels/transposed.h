/// A tile that is transposed on its way to LDS: V of attention, operands of a GEMM that are stored along m or n. Private.
#pragma once

#include "program_names.h"
#include <inlay/kernels/lds_swizzle.h>

#include <inlay/codegen/mma_tiling.h>

namespace inlay::kernels {

/// Columns that a lane loads at once of what is to be transposed: 8, or what 16 bytes hold.
[[nodiscard]] inline int columns_at_once(codegen::Element type) {
  return std::min(8, 128 / codegen::bits(type));
}

/// A work-item loads `vector` columns of some rows, and writes what a column has of them at once, `piece`
/// elements.
struct TransposedTile {
  int piece = 0, vector = 8;
  Layout loaded, written; ///< (work-item, value) -> (row, column): as loads give it, and as it is stored
  Swizzle swizzle;        ///< of LDS, [columns, rows]

  /// What was loaded, to LDS.
  void store(Program& k, Fragment rows, const Tensor& lds,
             std::source_location where = std::source_location::current()) const {
    if (piece > 1 || rows.element != lds.element)
      rows = k.map(
          written, {rows}, [](const Exprs& x) { return x[0]; }, lds.element, where);
    k.store(rows, k.whole(lds).keep({1, 0}), piece, where);
  }
};
/// The largest piece of at most `most`, halved as often as needed, that the work-items share out and under which the writes and `read` meet
/// no bank twice; none where there is none.
[[nodiscard]] inline std::optional<TransposedTile> transposed_tile(const Target& target,
                                                                   codegen::Element type, int rows,
                                                                   int columns, int threads, int most,
                                                                   const Layout& read, int read_at_once = 8) {
  const int vector = columns_at_once(type);
  for (int piece = most; piece >= 1; piece /= 2) try {
      const Layout loaded = codegen::columns_tv(rows, columns, vector, threads, piece),
                   written = piece > 1 ? codegen::values_exchanged(loaded) : loaded;
      if (const auto swizzle =
              find_swizzle(target, type, columns, rows,
                           {{read, read_at_once, true}, {codegen::transposed(written), piece, false}}))
        return TransposedTile{piece, vector, loaded, written, *swizzle};
    } catch (const codegen::CodegenError&) { // they do not divide it
    }
  return std::nullopt;
}
/// The same, of a kernel that has no other way. Errors: std::invalid_argument where there is none, with what to ask for instead.
[[nodiscard]] inline TransposedTile transposed_tile(const Refusal& refuse, const std::string& hint,
                                                    const Target& target, codegen::Element type, int rows,
                                                    int columns, int threads, int most, const Layout& read) {
  if (const auto tile = transposed_tile(target, type, rows, columns, threads, most, read)) return *tile;
  refuse("no place in LDS without bank conflicts", hint);
}

} // namespace inlay::kernels
