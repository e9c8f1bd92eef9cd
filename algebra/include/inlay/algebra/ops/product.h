/// Products: a layout repeated.
///
///     logical_product(A, B) = (A, A* o B)      A* = complement(A, |A| cosize(B))
///
/// Mode 0 is A, mode 1 runs over the copies in the order of B. Copies do not overlap as long as the values of B
/// stay inside A*, which is large enough unless A has holes of unequal size (complement.h). Errors: those of complement and composition
/// (the holes of A must divide B's extents). Law: product.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>
#include <inlay/algebra/tile.h>

namespace inlay {

/// `logical_product((2,2):(4,1), 6:1) = ((2,2),(2,3)):((4,1),(2,8))`. By mode: every mode is multiplied on
/// its own, so that copies of different modes generally overlap.
[[nodiscard]] Layout logical_product(const Layout& block, const Tile& tile);
[[nodiscard]] SymLayout logical_product(const SymLayout& block, const SymTile& tile);
/// The products regrouped as in divide.h.
[[nodiscard]] Layout zipped_product(const Layout& block, const Tile& tile);
[[nodiscard]] SymLayout zipped_product(const SymLayout& block, const SymTile& tile);
[[nodiscard]] Layout tiled_product(const Layout& block, const Tile& tile);
[[nodiscard]] SymLayout tiled_product(const SymLayout& block, const SymTile& tile);
[[nodiscard]] Layout flat_product(const Layout& block, const Tile& tile);
[[nodiscard]] SymLayout flat_product(const SymLayout& block, const SymTile& tile);

/// Copies of a block side by side: mode k is (A_k, copies along k). Ranks are padded with 1:0, top level
/// only. `blocked_product((2,5):(5,1), (3,4):(1,3)) = ((2,3),(5,4)):((5,10),(1,30))`. Law: blocked product.
[[nodiscard]] Layout blocked_product(const Layout& block, const Layout& tiler);
[[nodiscard]] SymLayout blocked_product(const SymLayout& block, const SymLayout& tiler);
/// Copies interleaved: mode k is (copies along k, A_k). `raked_product((2,5):(5,1), (3,4):(1,3)) =
/// ((3,2),(4,5)):((10,5),(30,1))`.
[[nodiscard]] Layout raked_product(const Layout& block, const Layout& tiler);
[[nodiscard]] SymLayout raked_product(const SymLayout& block, const SymLayout& tiler);

/// The block repeated until it has the mode sizes of `shape`, mode 0 first, or in the order given.
/// `tile_to_shape((2,4):(4,1), (4,8)) = ((2,2),(4,2)):((4,8),(1,16))`. Errors: `rank`; `tile_does_not_divide`
/// (CuTe's cutegen rounds up instead). Law: tile to shape.
[[nodiscard]] Layout tile_to_shape(const Layout& block, const IntTuple& shape);
[[nodiscard]] Layout tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple& order);
[[nodiscard]] SymLayout tile_to_shape(const SymLayout& block, const BasicIntTuple<Sym>& shape);
[[nodiscard]] SymLayout tile_to_shape(const SymLayout& block, const BasicIntTuple<Sym>& shape,
                                      const IntTuple& order);

} // namespace inlay
