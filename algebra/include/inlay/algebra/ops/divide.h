/// Divides: a layout seen as tiles.
///
///     logical_divide(A, T) = A o (T, T*)       T* = complement(T, shape of A)
///
/// Mode 0 is one tile, mode 1 runs over the tiles. With a by-mode tile each mode is divided on its own, modes
/// beyond the tile are kept; the variants differ only in how the pairs are regrouped:
///
///     A = (8,6):(1,8), tile <4,3>
///     logical   ((4,2),(3,2))      zipped   ((4,3),(2,2))      tiled   ((4,3),2,2)      flat   (4,3,2,2)
///
/// A tile that does not divide reaches beyond the last mode. For coordinates that is the idiom of predication: a last mode
/// of extent 1 along an axis of its own does not count, `logical_divide((80,1):(1@0,1@1), 7) = (7,12):(1@0,7@0)`, as
/// `logical_divide((80,1):(1,80), 7) = (7,12):(1,7)`; the coordinates 80 to 83 are those to mask.
///
/// Errors: those of complement and composition; `rank` (more entries than modes); `keep` (a kept mode in a
/// regrouping divide, unless it is already a pair). Laws: divide, zipped divide.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>
#include <inlay/algebra/tile.h>

namespace inlay {

/// `logical_divide((8,6):(1,8), <4,3>) = ((4,2),(3,2)):((1,4),(8,24))`.
[[nodiscard]] Layout logical_divide(const Layout& layout, const Tile& tile);
[[nodiscard]] SymLayout logical_divide(const SymLayout& layout, const SymTile& tile);
/// `zipped_divide((8,6):(1,8), <4,3>) = ((4,3),(2,2)):((1,8),(4,24))`.
[[nodiscard]] Layout zipped_divide(const Layout& layout, const Tile& tile);
[[nodiscard]] SymLayout zipped_divide(const SymLayout& layout, const SymTile& tile);
/// `tiled_divide((8,6):(1,8), <4,3>) = ((4,3),2,2):((1,8),4,24)`.
[[nodiscard]] Layout tiled_divide(const Layout& layout, const Tile& tile);
[[nodiscard]] SymLayout tiled_divide(const SymLayout& layout, const SymTile& tile);
/// `flat_divide((8,6):(1,8), <4,3>) = (4,3,2,2):(1,8,4,24)`.
[[nodiscard]] Layout flat_divide(const Layout& layout, const Tile& tile);
[[nodiscard]] SymLayout flat_divide(const SymLayout& layout, const SymTile& tile);

} // namespace inlay
