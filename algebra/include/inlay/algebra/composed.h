/// `ComposedLayout`: outer o offset o inner, the layout of swizzled memory.
///
///     C(c) = outer(offset + inner(c))         outer: a swizzle or a layout
///
/// The running example is a swizzled LDS tile, `Sw<3,4,3> o 0 o (8,64):(64,1)`: the inner layout says where
/// the element of a coordinate would be, the swizzle moves it. Shape, rank, size and all operations that
/// reorganise coordinates (divides, products, by-mode operations, slicing) concern the inner layout alone,
/// because (outer o inner) o T = outer o (inner o T); `with_inner` is that rule. There are no strides to ask
/// for, and the cosize of the inner layout may understate the range, so neither is offered.
#pragma once

#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/swizzle.h>
#include <inlay/algebra/tile.h>

#include <variant>

namespace inlay {

template <class S>
class BasicComposedLayout {
public:
  using Outer = std::variant<Swizzle, BasicLayout<S>>;

  BasicComposedLayout() = default;
  BasicComposedLayout(Outer outer, S offset, BasicLayout<S> inner)
      : outer_(std::move(outer)), offset_(std::move(offset)), inner_(std::move(inner)) {}

  [[nodiscard]] const Outer& outer() const { return outer_; }
  /// The swizzle, or null when the outer part is a layout.
  [[nodiscard]] const Swizzle* swizzle() const { return std::get_if<Swizzle>(&outer_); }
  [[nodiscard]] const S& offset() const { return offset_; }
  [[nodiscard]] const BasicLayout<S>& inner() const { return inner_; }
  [[nodiscard]] S size() const { return inner_.size(); }
  [[nodiscard]] std::size_t rank() const { return inner_.rank(); }
  [[nodiscard]] BasicIntTuple<S> shape() const { return inner_.shape(); }
  /// An identity swizzle without offset: the inner layout says everything.
  [[nodiscard]] bool is_plain() const { return swizzle() && swizzle()->is_identity() && offset_ == S(0); }

  [[nodiscard]] S operator()(const S& i) const { return apply(offset_ + inner_(i)); }
  [[nodiscard]] S operator()(const BasicIntTuple<S>& c) const { return apply(offset_ + inner_(c)); }

  /// The same outer part over another inner layout.
  [[nodiscard]] BasicComposedLayout with_inner(BasicLayout<S> inner) const {
    return {outer_, offset_, std::move(inner)};
  }

  friend bool operator==(const BasicComposedLayout&, const BasicComposedLayout&) = default;

private:
  [[nodiscard]] S apply(const S& x) const {
    return std::visit([&](const auto& f) -> S { return f(x); }, outer_);
  }
  Outer outer_;
  S offset_ = S(0);
  BasicLayout<S> inner_;
};

using ComposedLayout = BasicComposedLayout<Int>;
using SymComposedLayout = BasicComposedLayout<Sym>;

/// `Sw<3,4,3> o 0 o (8,64):(64,1)`
[[nodiscard]] std::string to_string(const ComposedLayout& layout);
[[nodiscard]] std::string to_string(const SymComposedLayout& layout);
std::ostream& operator<<(std::ostream& out, const ComposedLayout& layout);
/// Errors: `syntax` and those of the parts. A plain layout is accepted as `Sw<0,0,0> o 0 o` it.
[[nodiscard]] ComposedLayout parse_composed_layout(std::string_view text);
/// The same with formulas in the layout and the offset.
[[nodiscard]] SymComposedLayout parse_sym_composed_layout(SymContext& context, std::string_view text);

/// (outer o offset o inner) o B = outer o offset o (inner o B). Law: composed composition.
[[nodiscard]] ComposedLayout composition(const ComposedLayout& a, const Layout& b);
[[nodiscard]] ComposedLayout composition(const ComposedLayout& a, const Tile& tile);
/// a o Sw as Sw' o a, where a carries the masks of Sw to masks of Sw'. Checked on every index of a (or on the
/// basis where all is linear over bits). Errors: `swizzle` (a does not carry it to a swizzle).
[[nodiscard]] ComposedLayout composition(const Layout& a, const Swizzle& b);
/// a o (Sw o inner) = Sw' o (a o inner), the same at every coordinate of b; beyond its size a goes on as its last mode
/// does: composition(4:1, Sw<1,0,2> o 0 o 8:1) = Sw<1,0,2> o 0 o 8:1. Errors: `offset` (b has an offset), `swizzle`
/// and those of the plain composition.
[[nodiscard]] ComposedLayout composition(const Layout& a, const ComposedLayout& b);

/// right_inverse(inner) o Sw on the indices that Sw keeps inside it: layout(r(i)) = i for every i of r, and r(i) is
/// an index of the layout. right_inverse(Sw<1,3,-1> o 0 o 16:1) = 8:1, for the layout sends 8 to 24.
/// Errors: `offset`, `swizzle` and those of the plain inverse and composition.
[[nodiscard]] ComposedLayout right_inverse(const ComposedLayout& layout);
/// left_inverse(inner) o Sw, as large as the largest value: l(layout(i)) = i for every i of the layout.
/// left_inverse(Sw<1,3,-1> o 0 o 16:1) = Sw<1,3,-1> o 0 o 32:1. Errors: `offset`, `swizzle` and those of the plain
/// inverse.
[[nodiscard]] ComposedLayout left_inverse(const ComposedLayout& layout);

/// All three parts in larger or smaller units. Errors: `offset` (the offset does not divide) and those of the
/// parts.
[[nodiscard]] ComposedLayout upcast(const ComposedLayout& layout, Int n);
[[nodiscard]] ComposedLayout downcast(const ComposedLayout& layout, Int n);

/// Contiguous elements in common: of the inner layouts, cut at the first bit that a swizzle moves unless both
/// sides have the same swizzle and offset.
[[nodiscard]] Int max_common_vector(const ComposedLayout& a, const ComposedLayout& b);

/// The free part with the fixed part in the offset. Law: slice.
[[nodiscard]] ComposedLayout slice(const Coordinate& coordinate, const ComposedLayout& layout);

} // namespace inlay
