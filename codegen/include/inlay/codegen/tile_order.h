/// `TileOrder`: which tile a workgroup works on, and so what workgroups that run side by side find in a cache.
///
/// The hardware counts workgroups along the grid, x first, and hands number n to XCD n mod 8. In that order the eight
/// L2 caches hold eighth parts of the same tiles, and what runs at one time is a few long rows of tiles. Two changes of the
/// numbers help:
///
/// * **stretches**  XCD i works on the i-th eighth of the order and not on each eighth tile of it;
/// * **groups**     G rows of tiles (or columns) go together, column by column: G rows of A and as many columns of B as the
///                  others leave room for are what a round of workgroups asks for, not one row and all columns.
///
///     parse_tile_order("linear")         x first, as the hardware counts
///     parse_tile_order("rows:8")         8 rows together; the last rows, where 8 does not divide them, too
///     parse_tile_order("columns:4")      the same along y
///     parse_tile_order("xcd"), ("xcd+rows:8")   in stretches, one row after the other or 8 together
///
/// In a program it is formulas over the workgroup's numbers (`TileMap`), which the kernel computes once, before anything
/// else. `unproved` decides for all sizes of the grid whether they share the tiles out: for every tile it names the
/// workgroup that the tile belongs to, and evaluates the formulas there. A map from a finite set onto one as large is
/// one-to-one, so nothing else is needed.
///
/// Sources: AMD, "CDNA 3 white paper" (workgroups go to XCDs in turn); grouped orders: Triton's matrix multiplication
/// tutorial ("L2 cache optimizations").
#pragma once

#include <inlay/algebra/prover.h>

#include <optional>
#include <string>
#include <vector>

namespace inlay::codegen {

struct TileOrder {
  bool stretches = false; ///< an XCD has a stretch of the order
  bool columns = false;   ///< groups are columns of tiles
  int group = 1;          ///< rows or columns that go together
  [[nodiscard]] bool linear() const { return !stretches && !columns && group == 1; }
  friend bool operator==(const TileOrder&, const TileOrder&) = default;
};
/// Law: parse_tile_order(to_string(o)) == o. Errors: CodegenError naming what there is.
[[nodiscard]] TileOrder parse_tile_order(const std::string& text);
[[nodiscard]] std::string to_string(const TileOrder& order);

/// The order as formulas: each definition may use what stands before it, and its symbol's range holds.
struct TileMap {
  struct Definition {
    Sym symbol{}, value{};
  };
  TileOrder order;
  Sym id_x{}, id_y{};                 ///< what the hardware gives the workgroup
  Sym tiles_x{}, tiles_y{};           ///< extents of the grid
  Sym tiles{}, number{}, place{};     ///< in all; of the workgroup, as the hardware counts; in the order
  std::vector<Definition> counts;     ///< tiles_x, tiles_y, tiles
  std::vector<Definition> numbering;  ///< number, of id_x and id_y
  std::vector<Definition> stretching; ///< place, of number
  std::vector<Definition> tiling;     ///< the tile's numbers along x and y, the last two, of place

  /// All of them, in order.
  [[nodiscard]] std::vector<Definition> definitions() const;
};

/// For a grid of ceil_div tiles along x and y, whose numbers are `tile_x`, `tile_y`.
/// Errors: CodegenError when there may be more than 2^31 - 1 workgroups.
[[nodiscard]] TileMap tile_map(const TileOrder& order, SymContext& symbols, Sym tiles_x, Sym tiles_y,
                               Sym tile_x, Sym tile_y);

/// What does not hold, for some size of the grid; nothing when each tile is exactly one workgroup's. The grid is that of
/// `tile_map`.
[[nodiscard]] std::optional<std::string> unproved(const TileMap& map, SymContext& symbols, Prover& prover,
                                                  Sym tiles_x, Sym tiles_y, Sym tile_x, Sym tile_y);

} // namespace inlay::codegen
