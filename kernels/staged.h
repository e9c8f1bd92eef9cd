/// Tiles of an operand on their way to LDS: through registers under a swizzle, or past them. Private.
#pragma once

#include "lds_swizzle.h"
#include "program_names.h"

namespace inlay::kernels {

/// Rows of `depth` elements of one type, `vector` of them 16 bytes.
struct Staged {
  using Where = std::source_location; ///< the kernel's line
  codegen::Element type;
  int depth, vector, threads;
  bool transfer; ///< past the registers

  [[nodiscard]] Tensor tile(Program& k, const std::string& name, int rows, const Layout& reads) const {
    if (!transfer) return conflict_free_tile(k, name, type, rows, depth, vector, by_rows(rows), reads);
    return k.lds(name, type, {rows, depth},
                 codegen::transfer_place(rows, depth, vector, k.target().lanes_per_transfer()));
  }
  void copy(Program& k, const codegen::View& from, const Tensor& to, int rows,
            Where where = Where::current()) const {
    if (!transfer) return k.copy(from, to, by_rows(rows), vector, where);
    const int lanes = k.target().lanes_per_transfer();
    k.transfer(from, to, codegen::transfer_tv(rows, depth, vector, threads, lanes), vector / lanes, where);
  }
  [[nodiscard]] Layout by_rows(int rows) const { return codegen::rows_tv(rows, depth, vector, threads); }
};

} // namespace inlay::kernels
