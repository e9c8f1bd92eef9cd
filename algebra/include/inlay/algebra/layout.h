/// `Layout`: a function from coordinates to offsets, written `shape:stride`.
///
/// The running example is `((2,2),3):((24,2),8)`. Its shape says which coordinates there are: `((i,j),k)`
/// with i, j < 2 and k < 3, or, counting colexicographically (left-most fastest), the integers 0..11. Its
/// strides say where they go:
///
///     L((i,j),k) = 24 i + 2 j + 8 k            L(0), L(1), ... = 0 24 2 26 8 32 10 34 16 40 18 42
///
/// Shape and stride are congruent by construction, because a layout *is* one tuple of modes `{extent,
/// stride}`: one `Profile` and one inline array (eight modes, heap beyond). The same template is a layout of
/// checked integers
/// (`Layout`), of big integers and of symbolic polynomials (`SymLayout`), and the operations in ops/ are one
/// body for all.
///
/// A stride leaf may be a *basis* stride `3@1`: three steps along axis 1 of a coordinate. Layouts with basis
/// strides map to coordinates instead of offsets; they are coordinate tensors and thread-value maps, not
/// another class.
///
/// Conventions: extents are >= 1; strides are any integer; an index beyond the size runs on along the last
/// mode, and division rounds down (so `(4,3):(1,10)` at 13 is 31). Values are immutable and regular: `==`
/// compares profile and modes, not functions (solver/prove.h decides equality of functions); `<=>` and
/// `stable_hash` agree with it.
#pragma once

#include <inlay/algebra/int_tuple.h>
#include <inlay/algebra/stride.h>

namespace inlay {

class Sym;

template <class S>
using LayoutView = TupleView<BasicMode<S>>;

namespace detail {
[[noreturn]] void throw_extent(Int extent);
[[noreturn]] void throw_incongruent(const IntTuple& shape, const Tuple<BasicStride<Int>>& stride);
[[noreturn]] void throw_incongruent();
[[noreturn]] void throw_mode_index(std::size_t i, std::size_t rank);
[[noreturn]] void throw_basis_value();

/// The offset of index i: for every mode but the last take i mod extent and go on with the quotient.
template <class S>
[[nodiscard]] constexpr S value_at(std::span<const BasicMode<S>> modes, S i) {
  S sum = 0;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    if (!modes[k].stride.axis.empty()) throw_basis_value();
    if (k + 1 == modes.size()) {
      sum += i * modes[k].stride.scale;
    } else {
      const auto [quotient, rest] = floor_divmod(i, modes[k].extent);
      sum += rest * modes[k].stride.scale;
      i = quotient;
    }
  }
  return sum;
}

/// The offset of a congruent coordinate: the sum of its entries times the strides.
template <class S>
[[nodiscard]] constexpr S dot(std::span<const BasicMode<S>> modes, const S* entry) {
  S sum = 0;
  for (const BasicMode<S>& m : modes) {
    if (!m.stride.axis.empty()) throw_basis_value();
    sum += *entry++ * m.stride.scale;
  }
  return sum;
}

/// The offset of a coordinate that is congruent to the layout, or an integer wherever the layout has a tuple.
template <class S>
[[nodiscard]] constexpr S value_at(LayoutView<S> layout, TupleView<S> coordinate) {
  if (coordinate.is_leaf()) return value_at<S>(layout.leaves(), coordinate.leaf());
  if (layout.is_leaf() || layout.rank() != coordinate.rank()) throw_incongruent();
  S sum = 0;
  auto mode = layout.begin();
  for (TupleView<S> c : coordinate) {
    sum += value_at<S>(*mode, c);
    ++mode;
  }
  return sum;
}
} // namespace detail

template <class S>
class BasicLayout {
public:
  using Mode = BasicMode<S>;
  using Stride = BasicStride<S>;

  /// `1:0`, the layout of a single element.
  constexpr BasicLayout() : modes_(Mode{S(1), Stride{S(0), {}}}) {}
  constexpr BasicLayout(S extent, Stride stride) : modes_(Mode{std::move(extent), std::move(stride)}) {
    check();
  }
  constexpr explicit BasicLayout(Tuple<Mode> modes) : modes_(std::move(modes)) { check(); }
  constexpr explicit BasicLayout(LayoutView<S> view) : modes_(view) {}

  /// The same without a look at the extents. Requires: they are at least 1 (results of operations are by
  /// construction).
  [[nodiscard]] static constexpr BasicLayout from_modes(Tuple<Mode>&& modes) {
    return BasicLayout(std::move(modes), Unchecked{});
  }
  /// The layout with this shape and these strides. Errors: `incongruent`; `extent` (an extent below 1).
  [[nodiscard]] static constexpr BasicLayout from(const BasicIntTuple<S>& shape,
                                                  const Tuple<Stride>& stride) {
    if (shape.profile() != stride.profile()) {
      if constexpr (std::same_as<S, Int>) detail::throw_incongruent(shape, stride);
      detail::throw_incongruent();
    }
    return zip(shape, [&](std::size_t i) { return stride.leaves()[i]; });
  }
  [[nodiscard]] static constexpr BasicLayout from(const BasicIntTuple<S>& shape,
                                                  const BasicIntTuple<S>& stride) {
    if (shape.profile() != stride.profile()) detail::throw_incongruent();
    return zip(shape, [&](std::size_t i) { return Stride{stride.leaves()[i], {}}; });
  }
  /// The compact layout, left-most mode fastest; extent 1 gets stride 0. `col_major((4,8)) = (4,8):(1,4)`.
  [[nodiscard]] static constexpr BasicLayout col_major(const BasicIntTuple<S>& shape) {
    S next = 1;
    return zip(shape, [&](std::size_t i) { return compact_stride(shape.leaves()[i], next); });
  }
  /// The compact layout, right-most mode fastest. `row_major((4,8)) = (4,8):(8,1)`.
  [[nodiscard]] static constexpr BasicLayout row_major(const BasicIntTuple<S>& shape) {
    SmallVector<Stride, 8> strides;
    strides.resize(shape.leaves().size());
    S next = 1;
    for (std::size_t i = strides.size(); i-- > 0;) strides[i] = compact_stride(shape.leaves()[i], next);
    return zip(shape, [&](std::size_t i) { return strides[i]; });
  }

  [[nodiscard]] constexpr const Profile& profile() const { return modes_.profile(); }
  [[nodiscard]] constexpr bool is_leaf() const { return modes_.is_leaf(); }
  [[nodiscard]] constexpr std::size_t rank() const { return modes_.rank(); }
  [[nodiscard]] constexpr std::size_t depth() const { return modes_.depth(); }
  [[nodiscard]] constexpr LayoutView<S> view() const { return modes_.view(); }
  constexpr operator LayoutView<S>() const { return view(); } // NOLINT: a layout is a view of itself
  /// The leaf modes in order, whatever the nesting.
  [[nodiscard]] constexpr std::span<const Mode> modes() const { return modes_.leaves(); }
  /// Top-level mode i as a layout of its own; mode 0 of an unnested layout is itself. Errors: `mode`.
  [[nodiscard]] constexpr BasicLayout mode(std::size_t i) const {
    if (i >= rank()) detail::throw_mode_index(i, rank());
    return BasicLayout(view()[i]);
  }
  [[nodiscard]] constexpr BasicIntTuple<S> shape() const {
    TupleBuilder<S> b;
    b.profile(profile().view());
    for (const Mode& m : modes()) b.leaves().push_back(m.extent);
    return std::move(b).finish();
  }
  [[nodiscard]] constexpr Tuple<Stride> stride() const {
    TupleBuilder<Stride> b;
    b.profile(profile().view());
    for (const Mode& m : modes()) b.leaves().push_back(m.stride);
    return std::move(b).finish();
  }

  /// The number of coordinates: the product of the extents.
  [[nodiscard]] constexpr S size() const {
    S n = 1;
    for (const Mode& m : modes()) n *= m.extent;
    return n;
  }
  /// 1 + sum (extent - 1) * |stride|: one more than the largest offset when no stride is negative.
  [[nodiscard]] constexpr S cosize() const {
    S n = 1;
    for (const Mode& m : modes()) {
      if (m.stride.is_basis()) detail::throw_basis_value();
      n += (m.extent - S(1)) * abs(m.stride.scale);
    }
    return n;
  }
  [[nodiscard]] constexpr bool has_basis_strides() const {
    return std::any_of(modes().begin(), modes().end(), [](const Mode& m) { return m.stride.is_basis(); });
  }

  /// The offset of the colexicographic index i. `((2,2),3):((24,2),8)` at 5 is 32. Errors: `basis_value`
  /// (coordinate.h has `coordinate_at` for layouts with basis strides).
  [[nodiscard]] constexpr S operator()(const S& i) const { return detail::value_at<S>(modes(), i); }
  /// The offset of a coordinate; an integer may stand for a whole mode. `L(((1,0),2)) = L((1,2)) = 40`.
  [[nodiscard]] constexpr S operator()(const BasicIntTuple<S>& coordinate) const {
    if (coordinate.is_leaf()) return detail::value_at<S>(modes(), coordinate.leaf());
    if (coordinate.profile() == profile()) return detail::dot<S>(modes(), coordinate.leaves().data());
    return detail::value_at<S>(view(), coordinate.view());
  }

  friend bool operator==(const BasicLayout&, const BasicLayout&) = default;
  friend auto operator<=>(const BasicLayout&, const BasicLayout&) = default;
  [[nodiscard]] friend constexpr std::uint64_t stable_hash(const BasicLayout& l) {
    return stable_hash(l.modes_);
  }

private:
  struct Unchecked {};
  constexpr BasicLayout(Tuple<Mode>&& modes, Unchecked) : modes_(std::move(modes)) {}
  static constexpr Stride compact_stride(const S& extent, S& next) {
    if (eq(extent, S(1)) == Truth::yes) return {S(0), {}};
    Stride s{next, {}};
    next *= extent;
    return s;
  }
  template <class StrideOf>
  static constexpr BasicLayout zip(const BasicIntTuple<S>& shape, StrideOf stride_of) {
    TupleBuilder<Mode> b;
    b.profile(shape.profile().view());
    for (std::size_t i = 0; i < shape.leaves().size(); ++i)
      b.leaves().push_back(Mode{shape.leaves()[i], stride_of(i)});
    return BasicLayout(std::move(b).finish());
  }
  constexpr void check() const {
    for (const Mode& m : modes())
      if (le(S(1), m.extent) == Truth::no) {
        if constexpr (std::same_as<S, Int>) detail::throw_extent(m.extent);
        detail::throw_extent(0);
      }
  }

  Tuple<Mode> modes_;
};

using Layout = BasicLayout<Int>;
using BigLayout = BasicLayout<BigInt>;
using SymLayout = BasicLayout<Sym>;

} // namespace inlay

template <class S>
struct std::hash<inlay::BasicLayout<S>> {
  std::size_t operator()(const inlay::BasicLayout<S>& l) const { return stable_hash(l); }
};
