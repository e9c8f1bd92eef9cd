/// Coordinates: integers and tuples that name an element, and the maps between the ways to write one.
///
/// An element of the shape `(4,(2,3))` has a colexicographic index (13), a hierarchical coordinate
/// ((1,(1,1))), and anything between, because an integer may stand for a whole mode: (1,3). `idx2crd` and
/// `crd2idx` go back and forth; both run on along the last mode instead of wrapping, so that
/// `crd2idx(idx2crd(i, S), S) = i` for every i. A `Coordinate` may have `_` in place of an integer: all of
/// that mode; slicing (ops/select.h) keeps exactly those.
#pragma once

#include <inlay/algebra/layout.h>

#include <string>

namespace inlay {

/// A leaf of a coordinate: an integer, or `_` when `free`.
struct CoordinateLeaf {
  Int value = 0;
  bool free = false;
  friend bool operator==(const CoordinateLeaf&, const CoordinateLeaf&) = default;
};
using Coordinate = Tuple<CoordinateLeaf>;

[[nodiscard]] Coordinate to_coordinate(const IntTuple& tuple);
/// `(1,(_,3))`
[[nodiscard]] std::string to_string(const Coordinate& coordinate);
[[nodiscard]] Coordinate parse_coordinate(std::string_view text);

/// The offset of a coordinate under a stride: sum of coordinate times stride, an integer against a tuple
/// split colexicographically. `crd2idx(5, (4,3), (1,10)) = 11`. Errors: `incongruent`.
[[nodiscard]] Int crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride);
/// The colexicographic index of a coordinate; an integer is its own index. `crd2idx((1,2), (4,3)) = 9`.
[[nodiscard]] Int crd2idx(const IntTuple& coordinate, const IntTuple& shape);
/// The coordinate of an index, as nested as the shape. `idx2crd(9, (2,(2,2))) = (1,(0,2))`: the last entry is
/// not reduced. A tuple is taken mode by mode.
[[nodiscard]] IntTuple idx2crd(const IntTuple& index, const IntTuple& shape);
/// The coordinate at which `shape:stride` has the offset `index`, for compact strides: leaf by leaf (index /
/// d) mod s. A stride of 0 contributes 0. Law: for compact shape:stride, crd2idx(idx2crd(i, S, D), S, D) = i
/// on [0, size).
[[nodiscard]] IntTuple idx2crd(const IntTuple& index, const IntTuple& shape, const IntTuple& stride);
/// The same element in another shape of equal size. `crd2crd((1,2), (4,3), 12) = 9`.
[[nodiscard]] IntTuple crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to);

/// The hierarchical coordinate at which a compact layout has the offset i; its flat form; its index.
[[nodiscard]] IntTuple get_hier_coord(const Layout& layout, const IntTuple& offset);
[[nodiscard]] IntTuple get_flat_coord(const Layout& layout, const IntTuple& offset);
[[nodiscard]] Int get_1d_coord(const Layout& layout, const IntTuple& offset);

/// The value of a layout whose strides may be basis strides: a coordinate, padded with zeros where nothing is
/// added.
/// `((4,5):(1@0,1@1))(6) = (2,1)`. A layout without basis strides gives its offset.
[[nodiscard]] IntTuple value_at(const Layout& layout, const IntTuple& coordinate);
/// Zeros as the values of the layout are nested: 0 without basis strides. `coprofile((4,5):(1@0,1@1)) = (0,0)`.
[[nodiscard]] IntTuple coprofile(const Layout& layout);
/// The extents that hold every value: 1 + sum (extent - 1) |stride|, along each axis of the values.
/// `coshape((4,5):(1@0,2@1)) = (4,9)`; without basis strides it is the cosize.
[[nodiscard]] IntTuple coshape(const Layout& layout);

} // namespace inlay
