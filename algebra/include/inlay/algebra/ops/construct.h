/// Layouts from shapes: compact ones in an order, ones like another, and the identity.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

namespace inlay {

/// The compact layout whose modes are counted by ascending `order`; a leaf of the order may own a whole
/// sub-shape, equal orders alias. `make_ordered_layout((2,3,4), (2,0,1)) = (2,3,4):(12,1,3)`. Errors:
/// `incongruent`. Law: ordered layout.
[[nodiscard]] Layout make_ordered_layout(const IntTuple& shape, const IntTuple& order);
[[nodiscard]] SymLayout make_ordered_layout(const BasicIntTuple<Sym>& shape, const IntTuple& order);

/// Compact, in the order of another layout's strides; its stride-0 leaves stay at 0 and take no room.
/// `make_layout_like((2,3,4):(0,7,3)) = (2,3,4):(0,4,1)`. Law: like.
[[nodiscard]] Layout make_layout_like(const Layout& layout);

/// A layout for a register fragment of a layout: mode 0 first and compact, the others in the order of their
/// strides. `make_fragment_like(((2,2),3,4):((0,8),64,1)) = ((2,2),3,4):((0,1),8,2)`.
[[nodiscard]] Layout make_fragment_like(const Layout& layout);

/// The layout whose values are its own coordinates. `make_identity_layout((4,(2,3))) =
/// (4,(2,3)):(1@0,(1@0@1,1@1@1))`; for an integer the plain `n:1`.
[[nodiscard]] Layout make_identity_layout(const IntTuple& shape);
[[nodiscard]] SymLayout make_identity_layout(const BasicIntTuple<Sym>& shape);

/// Compact strides starting at `start`, left-most or right-most fastest; extent 1 gets stride 0.
/// `compact_col_major((4,8), 2) = (2,8)`. A tuple as start: one per top-level mode.
[[nodiscard]] IntTuple compact_col_major(const IntTuple& shape, const IntTuple& start);
[[nodiscard]] IntTuple compact_row_major(const IntTuple& shape, const IntTuple& start);

} // namespace inlay
