/// What becomes of the sums of a tile: scaled, with what is added, and stored; or stored in parts, which the last workgroup sums. Private.
#pragma once

#include "tensors.h"

namespace inlay::kernels::gemm {

/// The tile of the result that a workgroup has, with rows and columns in the order in which its products have them.
struct ResultTile {
  ResultTile(const GemmTensors& of, const MmaTiling& mma);
  [[nodiscard]] View in_rows(const View& view) const { return down ? view.reorder(0, *down) : view; }
  [[nodiscard]] View in_columns(const View& view, std::size_t mode) const {
    return across ? view.reorder(mode, *across) : view;
  }
  /// Of a matrix like the result; of parts beside one another, so many from `number` on.
  [[nodiscard]] View of(const Tensor& matrix) const;
  [[nodiscard]] View of_parts(const Tensor& matrix, int count, Sym number) const;

  Program& k;
  const GemmSpec& s;
  Sym bn{}, bm{}; ///< the tile's numbers along N and M
  std::optional<Layout> columns, down, across;
};

class Epilogue {
public:
  using Where = std::source_location; ///< the kernel's line

  Epilogue(const GemmTensors& of, const ResultTile& tile, const MmaTiling& mma);
  /// All that follows the sums, and the store; parts of them are added to what is there.
  void store(const Fragment& sum, Where where = Where::current()) const;
  /// split-K with fixup: part `part` of the sums is stored, and who comes last sums all of them, in their order, and stores them as above.
  void fixup(const Fragment& acc, Sym part, Where where = Where::current()) const;

private:
  void put(const Fragment& sum, Where where) const;
  [[nodiscard]] std::vector<Fragment> operands(const Fragment& sum, Where where) const;

  const GemmTensors& of_;
  const ResultTile& tile_;
  const MmaTiling& mma_;
  Program& k_;
  const GemmSpec& s_;
  bool swaps_;  ///< lanes exchange columns before they are stored
  Layout all_;  ///< of a lane's results
  int columns_; ///< adjacent ones of a lane, as products have them
};

} // namespace inlay::kernels::gemm
