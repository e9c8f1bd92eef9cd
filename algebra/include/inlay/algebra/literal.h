/// Compile-time layouts: constexpr values by the same bodies, structural literals for template arguments, Hana for syntax.
///
///     constexpr Layout tile = literal::composition(literal::layout(20_c, 2_c), ...);      // bodies of ops/, at compile time
///     template <LayoutLiteral L> struct Kernel { ... };   Kernel<to_literal(tile)>       // a layout as a template argument
///
/// Layouts are values, so computing one at compile time costs what the constant evaluator takes; carrying it in types, as
/// CuTe does, was measured 9 to 20 times slower to compile. A precondition that does not hold is a compile error whose notes
/// show the call. Tuples of Hana integral constants are the literal syntax: `hana::make_tuple(4_c, hana::make_tuple(2_c, 3_c))`.
#pragma once

#include <inlay/algebra/bodies/divide.h>
#include <inlay/algebra/bodies/inverse.h>

#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/tuple.hpp>

namespace inlay {

/// A layout of up to eight plain modes as a structural value, usable as a template argument. Equal layouts are equal literals.
struct LayoutLiteral {
  std::uint8_t profile[24] = {};
  std::uint8_t profile_size = 0;
  std::uint8_t mode_count = 0;
  std::int64_t extent[8] = {};
  std::int64_t stride[8] = {};
  friend constexpr bool operator==(const LayoutLiteral&, const LayoutLiteral&) = default;
};

/// The literal of a layout. Requires: at most eight leaf modes and 24 profile bytes, no basis strides.
[[nodiscard]] constexpr LayoutLiteral to_literal(const Layout& layout) {
  LayoutLiteral l;
  const auto bytes = layout.profile().bytes();
  if (layout.modes().size() > 8) detail::throw_limit("modes of a literal", layout.modes().size(), 8);
  if (bytes.size() > 24) detail::throw_limit("nesting of a literal", bytes.size(), 24);
  for (const std::uint8_t b : bytes) l.profile[l.profile_size++] = b;
  for (const Mode& m : layout.modes()) {
    if (m.stride.is_basis()) detail::throw_basis_value();
    l.extent[l.mode_count] = m.extent.value();
    l.stride[l.mode_count++] = m.stride.scale.value();
  }
  return l;
}

/// The layout of a literal. Law: from_literal(to_literal(L)) = L.
[[nodiscard]] constexpr Layout from_literal(const LayoutLiteral& l) {
  LayoutBuilder<Int> b;
  b.profile(ProfileView(l.profile, l.profile + l.profile_size));
  for (std::size_t i = 0; i < l.mode_count; ++i)
    b.leaves().push_back({l.extent[i], Stride(Int(l.stride[i]))});
  return Layout(std::move(b).finish());
}

/// The operations as constant expressions, on layouts of up to eight leaf modes.
namespace literal {

namespace hana = boost::hana;

template <class T>
[[nodiscard]] constexpr IntTuple tuple(const T& t) {
  if constexpr (hana::Constant<T>::value) {
    return IntTuple(Int(T::value));
  } else if constexpr (std::integral<T>) {
    return IntTuple(Int(t));
  } else {
    TupleBuilder<Int> b;
    const std::size_t at = b.open();
    std::size_t rank = 0;
    hana::for_each(t, [&](const auto& e) {
      b.append(tuple(e).view());
      ++rank;
    });
    b.close(at, rank);
    return std::move(b).finish();
  }
}

/// `layout(hana::make_tuple(4_c, 8_c), hana::make_tuple(1_c, 4_c)) = (4,8):(1,4)`; without strides column-major.
template <class Shape, class Strides>
[[nodiscard]] constexpr Layout layout(const Shape& shape, const Strides& strides) {
  return Layout::from(tuple(shape), tuple(strides));
}
template <class Shape>
[[nodiscard]] constexpr Layout layout(const Shape& shape) {
  return Layout::col_major(tuple(shape));
}

[[nodiscard]] constexpr Layout coalesce(const Layout& l) { return body::coalesce<Int>(l.view()); }
[[nodiscard]] constexpr Layout composition(const Layout& a, const Layout& b) {
  return body::composition<Int>(Operation("composition"), a.view(), b.view());
}
[[nodiscard]] constexpr Layout complement(const Layout& l, Int target) {
  return body::complement<Int>(Operation("complement"), l.view(), std::span<const Int>(&target, 1));
}
[[nodiscard]] constexpr Layout right_inverse(const Layout& l) {
  return body::right_inverse<Int>(Operation("right_inverse"), l.view());
}
[[nodiscard]] constexpr Layout left_inverse(const Layout& l) {
  return body::left_inverse<Int>(Operation("left_inverse"), l.view());
}
[[nodiscard]] constexpr Layout logical_divide(const Layout& l, const Layout& tile) {
  LayoutBuilder<Int> out;
  body::divide_by_layout<Int>(Operation("logical_divide"), out, l.view(), tile.view());
  return body::finish(std::move(out));
}
[[nodiscard]] constexpr Layout logical_product(const Layout& l, const Layout& tile) {
  LayoutBuilder<Int> out;
  body::multiply_by_layout<Int>(Operation("logical_product"), out, l.view(), tile.view());
  return body::finish(std::move(out));
}

} // namespace literal
} // namespace inlay
