/// Bodies of ops/composition.h: where the exact condition for A(B(c)) to be a layout is decided.
#pragma once

#include <inlay/algebra/bodies/coalesce.h>
#include <inlay/algebra/tile.h>

namespace inlay::body {

/// The part of A that one axis of B's values indexes, and how far B's leaves reach into each of its modes.
template <class S>
struct CompositionTarget {
  Axis axis{};
  Modes<S> modes;        // coalesced, the last one unbounded
  SmallVector<S, 8> sum; // per mode but the last: the largest sum of digits over the leaves so far
  std::size_t leaves = 0;
  // The last mode has one element along an axis of its own, as in (80,1):(1@0,1@1): no index of the mode before it makes
  // that coordinate more than 0, so indices run on along the one before, where a predicate wants to see 80, 81, ...
  bool ends_in_coordinate = false;

  // Written out so that `{}` does not first fill the inline arrays with zeros, a tenth of a composition's
  // time.
  constexpr CompositionTarget() {} // NOLINT
};

template <class S>
constexpr void set_target(CompositionTarget<S>& t, LayoutView<S> a, Axis axis) {
  t.axis = axis;
  t.modes = coalesced_modes<S>(a.leaves(), true);
  if (t.modes.empty()) t.modes.push_back(BasicLayout<S>().modes().front()); // ():() is the single element 1:0
  for ([[maybe_unused]] const BasicMode<S>& m : t.modes.span().subspan(1)) t.sum.push_back(S(0));
  const BasicMode<S>& end = a.leaves().empty() ? t.modes.back() : a.leaves().back();
  t.ends_in_coordinate = t.modes.size() > 1 && is_one(end.extent) && end.stride.is_basis() &&
                         t.modes[t.modes.size() - 2].stride.axis != end.stride.axis;
}

/// What is assumed about a leaf that symbols leave open: that it ends inside the mode, or that it divides.
enum class Assumption : std::uint8_t { inside, stride, extent };

/// A o (s:d) for one leaf of B. Walks the modes of A as a mixed radix system: a stride that is a multiple of
/// the mode's extent skips it; else the leaf must end inside the mode, or fill it evenly and go on.
/// Appends the modes of the result and returns how many there are.
template <class S>
constexpr std::size_t compose_leaf(const Operation& op, Modes<S>& out, CompositionTarget<S>& a, const S& s,
                                   const S& d, std::size_t leaf) {
  ++a.leaves;
  if (is_zero(d)) {
    out.push_back({s, BasicStride<S>(S(0))});
    return 1;
  }
  const std::size_t before = out.size();
  const std::size_t last = a.modes.size() - 1;
  const auto emit = [&](const S& extent, const S& scale, std::size_t k) {
    const S stride = scale * a.modes[k].stride.scale;
    out.push_back(
        {extent, is_zero(stride) ? BasicStride<S>(S(0)) : BasicStride<S>(stride, a.modes[k].stride.axis)});
  };
  S rest_s = s;
  S rest_d = d;
  for (std::size_t k = 0; k < last; ++k) {
    const S& extent = a.modes[k].extent;
    const auto where = [&] {
      return "right mode " + std::to_string(leaf) + " (" + to_string(s) + ":" + to_string(d) +
             ") at left mode " + std::to_string(k) + " (" + to_string(extent) + ":" +
             to_string(a.modes[k].stride.scale) + ") of the coalesced left: " + to_string(rest_s) +
             " elements " + to_string(rest_d) + " apart";
    };
    if (is_one(rest_s)) { // one element: any stride is right, this is the one CuTe writes
      rest_d = ceil_div(rest_d, extent);
      continue;
    }
    if (k + 1 == last && a.ends_in_coordinate) {
      emit(rest_s, rest_d, k);
      return out.size() - before;
    }
    const Truth skips = divides(extent, rest_d);
    if (skips == Truth::yes) {
      rest_d = exact_div(rest_d, extent);
      continue;
    }
    const S reach = (rest_s - S(1)) * rest_d;
    const bool backwards = is_negative(rest_d);
    const Truth inside = backwards ? Truth::no : le(S(reach + S(1)), extent);
    Assumption way = Assumption::inside;
    S share{}; // of the leaf in this mode, when it goes on
    if (inside != Truth::yes) {
      const Truth cuts = backwards ? Truth::no : divides(rest_d, extent);
      if (cuts != Truth::no) share = exact_div(extent, rest_d);
      const Truth fills = cuts == Truth::yes ? divides(share, rest_s) : cuts;
      if (fills == Truth::yes) {
        way = Assumption::extent;
      } else if (skips == Truth::no && inside == Truth::no && fills == Truth::no) {
        if (cuts == Truth::no) op.fail("stride_divisibility", "stride does not divide", where());
        if constexpr (std::same_as<S, Int>)
          if (!op.is_trial()) detail::throw_extent_cut(op, a.modes.span(), s, d, leaf, k, rest_s, rest_d);
        op.fail("shape_divisibility", "extent does not divide", where());
      } else if constexpr (std::same_as<S, Sym>) {
        // Open. A constant extent is most likely divided; a symbolic one is most likely larger than the leaf.
        const bool large = !extent.is_constant();
        if (large && inside == Truth::unknown) {
          op.oblige(ClaimKind::less_equal, reach + S(1), extent, where());
        } else if (skips == Truth::unknown && !rest_d.is_constant()) {
          way = Assumption::stride;
          op.oblige(ClaimKind::divides, extent, rest_d, where());
        } else if (fills == Truth::unknown) {
          way = Assumption::extent;
          if (cuts == Truth::unknown) op.oblige(ClaimKind::divides, rest_d, extent, where());
          op.require_divides(share, rest_s, "shape_divisibility", "extent does not divide", where);
        } else if (inside == Truth::unknown) {
          op.oblige(ClaimKind::less_equal, reach + S(1), extent, where());
        } else {
          way = Assumption::stride;
          op.oblige(ClaimKind::divides, extent, rest_d, where());
        }
      }
    }
    if (way == Assumption::stride) {
      rest_d = exact_div(rest_d, extent);
    } else if (way == Assumption::inside) {
      emit(rest_s, rest_d, k);
      a.sum[k] += reach;
      return out.size() - before;
    } else {
      emit(share, rest_d, k);
      a.sum[k] += extent - rest_d;
      rest_s = exact_div(rest_s, share);
      rest_d = S(1);
    }
  }
  if (out.size() == before || !is_one(rest_s)) emit(rest_s, rest_d, last);
  return out.size() - before;
}

/// The leaves are right one by one; their sums must not carry from one mode of A into the next.
template <class S>
constexpr void require_no_carry(const Operation& op, const CompositionTarget<S>& a) {
  if (a.leaves < 2) return;
  for (std::size_t k = 0; k < a.sum.size(); ++k)
    op.require_le(S(a.sum[k] + S(1)), a.modes[k].extent, "carry", "the modes of right carry into each other",
                  [&] {
                    return "left mode " + std::to_string(k) + " of the coalesced left has extent " +
                           to_string(a.modes[k].extent) + ", and together the modes of right reach " +
                           to_string(a.sum[k]) + " in it";
                  });
}

/// The mode of A that a basis stride of B points at.
template <class S>
[[nodiscard]] constexpr LayoutView<S> along(const Operation& op, LayoutView<S> a, Axis axis) {
  for (; !axis.empty(); axis = axis.inner()) {
    if (axis[0] >= a.rank()) op.fail("mode", "a basis stride of right names a mode that left does not have");
    a = a[axis[0]];
  }
  return a;
}

template <class S>
constexpr void compose_into(const Operation& op, LayoutBuilder<S>& out, LayoutView<S> a, LayoutView<S> b) {
  bool basis = false;
  for (const BasicMode<S>& m : b.leaves()) basis = basis || m.stride.is_basis();
  if (!basis) { // one target: all of a
    CompositionTarget<S> whole;
    set_target<S>(whole, a, Axis{});
    out.profile_with(b.profile(), b.leaves(), [&](const BasicMode<S>& m, std::size_t leaf) {
      out.run(compose_leaf<S>(op, out.leaves(), whole, m.extent, m.stride.scale, leaf));
    });
    require_no_carry(op, whole);
    return;
  }
  SmallVector<CompositionTarget<S>, 2> targets;
  out.profile_with(b.profile(), b.leaves(), [&](const BasicMode<S>& m, std::size_t leaf) {
    const bool zero = is_zero(m.stride.scale);
    std::size_t t = 0;
    while (t < targets.size() && !zero && targets[t].axis != m.stride.axis) ++t;
    if (t == targets.size()) {
      targets.push_back({});
      set_target<S>(targets[t], along<S>(op, a, m.stride.axis), m.stride.axis);
    }
    out.run(compose_leaf<S>(op, out.leaves(), targets[t], m.extent, m.stride.scale, leaf));
  });
  for (const CompositionTarget<S>& t : targets) require_no_carry(op, t);
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> composition(const Operation& op, LayoutView<S> a, LayoutView<S> b) {
  LayoutBuilder<S> out;
  compose_into<S>(op, out, a, b);
  return finish(std::move(out));
}

/// The entries of a tile one after the other, while its list structure is walked.
template <class S>
class TileCursor {
public:
  explicit TileCursor(const BasicTile<S>& tile)
      : kind_(tile.kinds().leaves().data()), part_(tile.parts().begin()) {}
  [[nodiscard]] TileKind kind() const { return *kind_; }
  [[nodiscard]] LayoutView<S> layout() const { return *part_; }
  void next() {
    ++kind_;
    ++part_;
  }

private:
  const TileKind* kind_;
  typename LayoutView<S>::Iterator part_;
};

/// Applies `single(out, mode, cursor)` to every entry of a tile; modes beyond the tile are kept or dropped.
template <class S, class Single>
void by_mode(const Operation& op, LayoutBuilder<S>& out, LayoutView<S> l, TupleView<TileKind> kinds,
             TileCursor<S>& cursor, bool keep_rest, const Single& single) {
  if (kinds.is_leaf()) {
    if (cursor.kind() == TileKind::keep) {
      out.append(l);
    } else {
      single(out, l, cursor);
    }
    cursor.next();
    return;
  }
  if (kinds.rank() > l.rank()) op.fail("rank", "the tile has more modes than the layout");
  const std::size_t at = out.open();
  auto entry = kinds.begin();
  std::size_t i = 0;
  std::size_t written = 0;
  for (LayoutView<S> mode : l) {
    if (i++ < kinds.rank()) {
      by_mode<S>(op, out, mode, *entry, cursor, keep_rest, single);
      ++entry;
      ++written;
    } else if (keep_rest) {
      out.append(mode);
      ++written;
    }
  }
  out.close(at, written);
}

template <class S>
[[nodiscard]] BasicLayout<S> composition(const Operation& op, LayoutView<S> a, const BasicTile<S>& tile) {
  LayoutBuilder<S> out;
  TileCursor<S> cursor(tile);
  by_mode<S>(op, out, a, tile.kinds(), cursor, false,
             [&](LayoutBuilder<S>& b, LayoutView<S> mode, const TileCursor<S>& entry) {
               compose_into<S>(op, b, mode, entry.layout());
             });
  return finish(std::move(out));
}

} // namespace inlay::body
