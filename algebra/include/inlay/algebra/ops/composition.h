/// composition: a layout of a layout.
///
///     composition(A, B)(c) = A(B(c))    for every coordinate c of B
///
/// The result is compatible with B: same profile, each leaf replaced by an integer or a flat tuple. A is read
/// as a function on all of 0, 1, 2, ... (its last mode runs on), so B may reach beyond the size of A.
///
/// `A(B(c))` is a layout only if B's digits fit A's mixed radix system. What this library accepts *is* that
/// function, for every rank and any strides (proofs/coq/Composition.v); CuTe C++ accepts more and returns wrong
/// layouts, e.g. (4,6,8):(2,3,5) o 6:3 (docs/deviations.md). Refused with the rest are a few that happen to be
/// layouts, such as any two elements: (4,3):(2,5) o 2:6. For one leaf s:d of B, at a mode of extent c of
/// coalesced A, one of these must hold:
///
///     c divides d                       the mode is skipped: go on with d/c
///     (s-1) d < c                       the leaf ends inside the mode
///     d divides c, c/d divides s        the leaf fills the mode: c/d times, then on with s/(c/d) at stride 1
///
/// and over all leaves of B the digits that fall into one mode of A (but its last) must sum to less than its
/// extent.
///
///     composition((6,2):(8,2), (4,3):(3,1)) = ((2,2),3):((24,2),8)
///     composition((6,2):(8,2), 5:3)           refused: 5 is cut at 6/3 = 2, and 2 does not divide 5
///     composition(20:2, (5,4):(1,5))        = (5,4):(2,10)
///
/// Source: CuTe documentation, 02_layout_algebra; NVIDIA/cutlass issues 3177 and 2955 for the condition.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>
#include <inlay/algebra/tile.h>

namespace inlay {

/// A o B. Errors: `stride_divisibility`, `shape_divisibility`, `carry` (the leaves of B together overflow a
/// mode of A), `mode` (a basis stride of B names a mode that A lacks). Law: composition.
[[nodiscard]] Layout composition(const Layout& a, const Layout& b);
/// Symbolic: what stays open becomes an obligation, on the assumption that a leaf ends inside a mode of
/// symbolic extent and divides one of constant extent. `composition((m,n):(1,m), 96:1) = 96:1`, obliging 96
/// <= m.
[[nodiscard]] SymLayout composition(const SymLayout& a, const SymLayout& b);

/// Mode by mode: mode i of the result is A_i o tile_i, or A_i where the tile keeps it. Modes of A beyond the
/// tile are dropped. `composition((4,8):(1,4), <2,_>) = (2,8):(1,4)`. Errors: `rank` and those above. Law:
/// composition by mode.
[[nodiscard]] Layout composition(const Layout& a, const Tile& tile);
[[nodiscard]] SymLayout composition(const SymLayout& a, const SymTile& tile);

} // namespace inlay
