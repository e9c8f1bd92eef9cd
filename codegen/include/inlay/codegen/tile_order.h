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
/// `Shares`: how much of a tile's sum a workgroup works on, where a fixed number of them shares out all of it ("stream-K"). A
/// grid of one workgroup a tile leaves most of the device idle in its last round: 320 tiles on 304 compute units take as long as
/// 608. Here each of `workers` workgroups has whole tiles first, as many as all of them have, in rounds that are side by side in
/// the order of tiles; and the trips along K of the tiles that are left are one line of steps, tile after tile, of which each
/// workgroup has as many:
///
///     rounds  =  tiles div workers;  tile w + workers i in round i of workgroup w
///     step x of the rest  =  trip x mod trips of tile workers rounds + x div trips
///     each    =  ceil(steps / workers), and workgroup w has  start = w each  <=  x  <  stop = min(start + each, steps)
///     of a tile it has what that and the tile's own steps have in common: trips  begin <= i < begin + count
///
/// 5 tiles of 4 trips by 2 workgroups: tiles 0 and 2 for the first and 1 and 3 for the other one, and two trips of tile 4 each. That
/// the shares of all workgroups are the trips of all tiles, each once, is decided by `unproved` for all sizes, by cases in digits:
/// where a workgroup begins and ends in its first and last tile.
///
/// Sources: AMD, "CDNA 3 white paper" (workgroups go to XCDs in turn); grouped orders: Triton's matrix multiplication
/// tutorial ("L2 cache optimizations"); shares: Osama, Merrill, Cecka, Garland, Owens, "Stream-K: Work-Centric Parallel
/// Decomposition for Dense Matrix-Matrix Multiplication on the GPU", PPoPP 2023, section 4.
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
  Sym id_x{}, id_y{};             ///< what the hardware gives the workgroup; not used where there are shares
  Sym tiles_x{}, tiles_y{};       ///< extents of the grid
  Sym tiles{}, number{}, place{}; ///< in all; of the workgroup, as the hardware counts; in the order
  std::vector<Definition> counts; ///< tiles_x, tiles_y, tiles
  std::vector<Definition> numbering;  ///< number, of id_x and id_y
  std::vector<Definition> stretching; ///< place, of number
  std::vector<Definition> tiling;     ///< the tile's numbers along x and y, the last two, of place

  /// All of them, in order.
  [[nodiscard]] std::vector<Definition> definitions() const;
};

/// For a grid of ceil_div tiles along x and y, whose numbers are `tile_x`, `tile_y`. `number`: of the tile, where it is not the
/// workgroup's (`Shares::number`).
/// Errors: CodegenError when there may be more than 2^31 - 1 workgroups.
[[nodiscard]] TileMap tile_map(const TileOrder& order, SymContext& symbols, Sym tiles_x, Sym tiles_y,
                               Sym tile_x, Sym tile_y, std::optional<Sym> number = {});

/// What does not hold, for some size of the grid; nothing when each tile is exactly one workgroup's. The grid is that of
/// `tile_map`.
[[nodiscard]] std::optional<std::string> unproved(const TileMap& map, SymContext& symbols, Prover& prover,
                                                  Sym tiles_x, Sym tiles_y, Sym tile_x, Sym tile_y,
                                                  std::optional<Sym> number = {});

/// A launch as the caches see it: a grid of tiles, of which `resident` are worked on at a time.
struct TileGrid {
  std::int64_t tiles_x = 1, tiles_y = 1;
  std::int64_t column_bytes = 1,
               row_bytes = 1; ///< of a trip: what the tiles of a column share (rows of B), and those of a row
  int resident = 304;
};
/// Bytes that the L2 caches fetch for a trip of all workgroups that run at a time, the mean of at most four rounds of the launch: in each
/// XCD, the columns and rows that its workgroups (each eighth) work on, each once. 32 x 32 tiles, 304 at a time, in linear order:
/// an XCD has 4 columns and 10 rows. Requires: at least one tile.
[[nodiscard]] double footprint(const TileOrder& order, const TileGrid& grid);
/// The order with the smallest footprint, the simplest of those within a hundredth of it.
[[nodiscard]] TileOrder smallest_footprint(const TileGrid& grid);

/// The trips of all tiles, shared out; see above.
struct Shares {
  /// As many trips of all tiles a launch may have, so that all numbers fit 32 bits.
  static constexpr std::int64_t most_steps = std::int64_t{1} << 30;
  int workers = 1;
  Sym extent{};                          ///< that is summed over
  int tile = 1;                          ///< of it, a trip
  Sym worker{};                          ///< what the hardware gives the workgroup
  Sym trips{};                           ///< of a tile
  Sym turns{};                           ///< as many tiles the workgroup has something of
  Sym turn{};                            ///< of them, 0 <= turn < turns
  Sym number{};                          ///< of that tile, in the order of tiles
  Sym begin{}, count{};                  ///< the workgroup's trips of it; count is at least 1
  std::vector<TileMap::Definition> once; ///< for the workgroup; `turns` is the last one
  std::vector<TileMap::Definition> each; ///< for each turn; `count` is the last one

  /// A tile has one trip, so that each is one workgroup's.
  [[nodiscard]] bool whole_tiles() const { return le(extent, Sym(tile)) == Truth::yes; }
};

/// `tiles`: how many there are (`TileMap::tiles`). Errors: CodegenError for a number of workgroups that is none.
[[nodiscard]] Shares shares(int workers, SymContext& symbols, Sym tiles, Sym extent, int tile);

/// What does not hold, for some sizes; nothing when each trip of each tile is in exactly one share, and each share in its tile.
/// Requires: at most `most_steps` trips of all tiles.
[[nodiscard]] std::optional<std::string> unproved(const Shares& shares, SymContext& symbols, Prover& prover,
                                                  Sym tiles);

} // namespace inlay::codegen
