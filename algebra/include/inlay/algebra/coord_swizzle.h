/// `CoordSwizzle`: XORs a field of one coordinate onto another, before anything becomes an offset.
///
///     CS<B,r,[row],c,[col]>(x):  x_col ^ (((x_row >> r) mod 2^B) << c) takes the place of x_col; all else stays
///
/// The running example is `CS<3,0,[0],0,[1]>` on (row, chunk) of an LDS tile whose rows are 144 bytes apart: chunk
/// number XOR row number, for any row pitch. A swizzle of offsets (`Sw<B,M,S>`) can say that only where the pitch is a
/// power of two; `composition` is that case, checked on every coordinate. A path such as `[1,0]` names a leaf of the
/// coordinate. With the row another leaf than the column, or the two fields apart, the map is its own inverse and
/// permutes every block of 2^(c+B) columns. Law: coordinate swizzle is an involution. Source: FlyDSL, CoordSwizzle of
/// the Fly dialect.
#pragma once

#include <inlay/algebra/composed.h>
#include <inlay/algebra/coordinate.h>

namespace inlay {

class CoordSwizzle {
public:
  /// Errors: `swizzle` (negative numbers, more than 62 bits, no path, or one leaf whose two fields meet).
  CoordSwizzle(int bits, int row_base, Axis row, int column_base, Axis column);

  [[nodiscard]] int bits() const { return bits_; }
  [[nodiscard]] int row_base() const { return row_base_; }
  [[nodiscard]] int column_base() const { return column_base_; }
  [[nodiscard]] Axis row() const { return row_; }
  [[nodiscard]] Axis column() const { return column_; }

  /// `CS<2,0,[0],1,[1]>((3,5)) = (3,3)`: 5 ^ (3 << 1). Errors: `incongruent` when the coordinate has no such leaf.
  [[nodiscard]] IntTuple operator()(const IntTuple& coordinate) const;
  /// The same on symbols, as digits and an XOR.
  [[nodiscard]] BasicIntTuple<Sym> operator()(const BasicIntTuple<Sym>& coordinate) const;

  friend bool operator==(const CoordSwizzle&, const CoordSwizzle&) = default;
  friend auto operator<=>(const CoordSwizzle&, const CoordSwizzle&) = default;

private:
  template <class S>
  [[nodiscard]] BasicIntTuple<S> apply(const BasicIntTuple<S>& coordinate) const;
  int bits_, row_base_, column_base_;
  Axis row_, column_;
};

/// `CS<3,0,[0],4,[1,0]>`
[[nodiscard]] std::string to_string(const CoordSwizzle& swizzle);
/// Errors: `syntax`, `swizzle`.
[[nodiscard]] CoordSwizzle parse_coord_swizzle(std::string_view text);

/// Both coordinates in units of n, a power of two: upcast(CS, n)(x) n = CS(x n). Errors: `swizzle` (a base would fall
/// below zero).
[[nodiscard]] CoordSwizzle upcast(const CoordSwizzle& swizzle, Int n);
[[nodiscard]] CoordSwizzle downcast(const CoordSwizzle& swizzle, Int n);

/// a o CS as Sw o a, where row and column are leaves of a whose strides are powers of two.
/// `composition((8,8):(8,1), CS<3,0,[0],0,[1]>) = Sw<3,0,3> o 0 o (8,8):(8,1)`.
/// Errors: `swizzle` when no swizzle of offsets does the same at every coordinate; `limit` beyond 2^20 coordinates.
[[nodiscard]] ComposedLayout composition(const Layout& a, const CoordSwizzle& b);

} // namespace inlay
