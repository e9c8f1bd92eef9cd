/// Tiles of an operand on their way to LDS: through registers under a swizzle, or past them. Private.
#pragma once

#include "program_names.h"
#include <inlay/kernels/lds_swizzle.h>

namespace inlay::kernels {

/// Rows of `depth` elements of one type, `vector` of them 16 bytes, or fewer where only then the rows are shared out evenly.
struct Staged {
  using Where = std::source_location; ///< the kernel's line
  codegen::Element type;
  int depth, vector, threads;
  bool transfer;            ///< past the registers
  bool whole_lines = false; ///< of memory, where four lanes share a vector (codegen::transfer_place)
  int read_vector = 0;      ///< elements that are read from there at once; 0: `vector`

  [[nodiscard]] Tensor tile(Program& k, const std::string& name, int rows, const Layout& reads) const {
    if (transfer)
      return k.lds(
          name, type, {rows, depth},
          codegen::transfer_place(rows, depth, vector, k.target().lanes_per_transfer(), whole_lines));
    return k.lds(name, type, {rows, depth},
                 conflict_free_swizzle(k.target(), type, rows, depth,
                                       {{by_rows(rows), vector, false},
                                        {reads, read_vector > 0 ? read_vector : vector, true}}));
  }
  void copy(Program& k, const View& from, const Tensor& to, int rows, Where where = Where::current()) const {
    if (!transfer) return k.copy(from, to, by_rows(rows), vector, where);
    const int lanes = k.target().lanes_per_transfer();
    k.transfer(from, to, codegen::transfer_tv(rows, depth, vector, threads, lanes, whole_lines),
               vector / lanes, where);
  }
  [[nodiscard]] Layout by_rows(int rows) const { return rows_tv(rows, depth, vector, threads); }
};

} // namespace inlay::kernels
