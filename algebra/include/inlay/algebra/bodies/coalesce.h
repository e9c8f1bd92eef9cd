/// Bodies of ops/coalesce.h.
#pragma once

#include <inlay/algebra/bodies/operation.h>

namespace inlay::body {

/// s0:d0 followed by s1:d1 is one mode when d1 = s0 * d0 along the same axis (zero is a multiple on every
/// axis).
template <class S>
[[nodiscard]] constexpr bool mergeable(const BasicMode<S>& left, const BasicMode<S>& right) {
  if (left.stride.axis != right.stride.axis) return is_zero(left.stride.scale) && is_zero(right.stride.scale);
  return eq(S(left.extent * left.stride.scale), right.stride.scale) == Truth::yes;
}

/// The modes of the coalesced layout, left to right. With `unbounded` the function is kept for every index >=
/// 0, not only inside the size: a last mode of extent 1 then counts as 2, because indices run on along it.
template <class S>
[[nodiscard]] constexpr Modes<S> coalesced_modes(std::span<const BasicMode<S>> modes, bool unbounded) {
  Modes<S> out;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    BasicMode<S> m = modes[i];
    const bool last = i + 1 == modes.size();
    if (is_one(m.extent)) {
      if (!unbounded || !last) continue;
      m.extent = S(2);
    }
    if (!out.empty() && mergeable(out.back(), m)) {
      if (is_zero(out.back().stride.scale)) out.back().stride = BasicStride<S>(S(0));
      out.back().extent *= m.extent;
    } else {
      out.push_back(std::move(m));
    }
  }
  return out;
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> coalesce(LayoutView<S> l) {
  return unwrapped(coalesced_modes<S>(l.leaves(), false));
}

/// Applies `whole` to the parts that the integers of the profile stand for; modes beyond the profile stay as they are.
template <class S, class Whole>
constexpr void by_profile(const Operation& op, LayoutBuilder<S>& out, LayoutView<S> l, TupleView<Int> profile,
                          const Whole& whole) {
  if (profile.is_leaf()) {
    out.append(whole(l).view());
    return;
  }
  if (profile.rank() > l.rank()) op.fail("rank", "the profile has more modes than the layout");
  const std::size_t at = out.open();
  auto entry = profile.begin();
  std::size_t i = 0;
  for (LayoutView<S> mode : l) {
    if (i++ < profile.rank()) {
      by_profile<S>(op, out, mode, *entry, whole);
      ++entry;
    } else {
      out.append(mode);
    }
  }
  out.close(at, l.rank());
}
template <class S>
[[nodiscard]] constexpr BasicLayout<S> coalesce(const Operation& op, LayoutView<S> l,
                                                TupleView<Int> profile) {
  LayoutBuilder<S> out;
  by_profile<S>(op, out, l, profile, [](LayoutView<S> part) { return coalesce<S>(part); });
  return finish(std::move(out));
}

/// The leaves as one flat tuple; an integer stays an integer.
template <class T>
[[nodiscard]] constexpr Tuple<T> flatten(TupleView<T> t) {
  TupleBuilder<T> out;
  if (t.is_leaf()) {
    out.append(t);
  } else {
    const std::size_t at = out.open();
    for (const T& leaf : t.leaves()) out.leaf(leaf);
    out.close(at, t.leaves().size());
  }
  return std::move(out).finish();
}

template <class T>
[[nodiscard]] constexpr Tuple<T> unflatten(const Operation& op, TupleView<T> flat, ProfileView profile) {
  if (profile.leaf_count() != flat.leaves().size())
    op.fail("rank", "the profile has another number of leaves");
  TupleBuilder<T> out;
  out.profile(profile);
  for (const T& leaf : flat.leaves()) out.leaves().push_back(leaf);
  return std::move(out).finish();
}

/// Leaves of stride 0 get extent 1; where a profile is given only below its zeros.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> filter_zeros(LayoutView<S> l) {
  LayoutBuilder<S> out;
  out.profile(l.profile());
  for (BasicMode<S> m : l.leaves()) {
    if (is_zero(m.stride.scale)) m.extent = S(1);
    out.leaves().push_back(std::move(m));
  }
  return finish(std::move(out));
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> filter(LayoutView<S> l) {
  return coalesce<S>(filter_zeros<S>(l).view());
}
template <class S>
[[nodiscard]] constexpr BasicLayout<S> filter(const Operation& op, LayoutView<S> l, TupleView<Int> profile) {
  LayoutBuilder<S> out;
  by_profile<S>(op, out, l, profile, [](LayoutView<S> part) { return filter<S>(part); });
  return finish(std::move(out));
}

} // namespace inlay::body
