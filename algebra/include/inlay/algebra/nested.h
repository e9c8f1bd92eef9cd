/// `NestedLayout`: maps one after the other over a layout, of numbers or of coordinates.
///
///     N(c) = m_1(o_1 + m_2(o_2 + ... m_k(o_k + inner(c))))         m: a swizzle, a coordinate swizzle or a layout
///
/// The running example is a tile of LDS whose chunks are exchanged before they become an address,
/// `(8,8):(9,1) o (0,0) o CS<3,0,[0],0,[1]> o (0,0) o (8,8):(1@0,1@1)`: the inner layout says which coordinate, the coordinate
/// swizzle exchanges columns, the layout of pitch 9 makes an offset of it, for which no swizzle of offsets exists. What one map
/// or offset of integers says is a `ComposedLayout`, which more operations know; `nested` returns that where it can. As there,
/// operations that reorganise coordinates concern the inner layout alone. FlyDSL prints a composed layout inside another one in
/// brackets, `32:2 o 5 o [32:1 o 7 o (4,8):(1,4)]`; composition is associative, so there are none here, and they may be read.
#pragma once

#include <inlay/algebra/composed.h>
#include <inlay/algebra/coord_swizzle.h>

#include <variant>
#include <vector>

namespace inlay {

class NestedLayout {
public:
  using Map = std::variant<Swizzle, CoordSwizzle, Layout>;
  /// The map, and what is added before it: a number or a coordinate.
  struct Step {
    Map map;
    IntTuple offset;
    friend bool operator==(const Step&, const Step&) = default;
  };

  NestedLayout() = default;
  /// Outermost step first.
  NestedLayout(std::vector<Step> steps, Layout inner) : steps_(std::move(steps)), inner_(std::move(inner)) {}

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Layout& inner() const { return inner_; }
  [[nodiscard]] Int size() const { return inner_.size(); }
  [[nodiscard]] std::size_t rank() const { return inner_.rank(); }
  [[nodiscard]] IntTuple shape() const { return inner_.shape(); }

  /// A number or a coordinate. An offset and a value go together when they are congruent up to zeros that are missing at the
  /// end: a layout along the first axes only gives shorter coordinates. Errors: `incongruent`.
  [[nodiscard]] IntTuple operator()(const IntTuple& coordinate) const;

  [[nodiscard]] NestedLayout with_inner(Layout inner) const { return {steps_, std::move(inner)}; }
  friend bool operator==(const NestedLayout&, const NestedLayout&) = default;

private:
  std::vector<Step> steps_;
  Layout inner_;
};

/// `Sw<3,0,3> o 0 o (8,8):(8,1) o (0,0) o (8,8):(1@0,1@1)`
[[nodiscard]] std::string to_string(const NestedLayout& layout);

/// The free part with the fixed part in the offset next to the inner layout: slice((1,_), 32:2 o 5 o 32:1 o 7 o (4,8):(1,4)) =
/// 32:2 o 5 o 32:1 o 8 o 8:4. Law: slice.
[[nodiscard]] NestedLayout slice(const Coordinate& coordinate, const NestedLayout& layout);

} // namespace inlay
