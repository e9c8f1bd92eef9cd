/// Bodies of ops/recast.h.
#pragma once

#include <inlay/algebra/bodies/operation.h>

namespace inlay::body {

/// Does e:d go on in another mode, d e apart along the same axis, so that both together are one run?
template <class S>
[[nodiscard]] constexpr bool goes_on(LayoutView<S> l, const BasicMode<S>& m) {
  const S next = m.extent * m.stride.scale;
  for (const BasicMode<S>& other : l.leaves())
    if (!is_one(other.extent) && other.stride.axis == m.stride.axis &&
        eq(other.stride.scale, next) == Truth::yes)
      return true;
  return false;
}

/// Counts in units of n elements. Stride 0 stays; otherwise n and the stride must divide one another. A single element
/// has no stride to divide.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> upcast(const Operation& op, LayoutView<S> l, const S& n) {
  LayoutBuilder<S> out;
  out.profile(l.profile());
  for (const BasicMode<S>& m : l.leaves()) {
    const S& d = m.stride.scale;
    if (is_zero(d)) {
      out.leaves().push_back(m);
      continue;
    }
    if (is_one(m.extent)) {
      const bool whole = divides(n, d) == Truth::yes;
      out.leaves().push_back(
          {m.extent, whole ? BasicStride<S>(exact_div(d, n), m.stride.axis) : BasicStride<S>(S(0))});
      continue;
    }
    const auto where = [&] { return "stride " + to_string(d) + " against " + to_string(n); };
    const S magnitude = abs(d);
    const bool shrinks = divides(n, d) == Truth::no || divides(magnitude, n) == Truth::yes;
    if (!shrinks) {
      op.require_divides(n, d, "divisibility", "neither stride nor unit divides the other",
                         where); // likelier when open
      out.leaves().push_back({m.extent, BasicStride<S>(exact_div(d, n), m.stride.axis)});
      continue;
    }
    // n elements reach over n / |d| steps of this mode, which become one.
    op.require_divides(magnitude, n, "divisibility", "neither stride nor unit divides the other", where);
    const S steps = exact_div(n, magnitude);
    // A mode shorter than the unit lies inside one when it goes on in another mode, which has to be divided in turn.
    if (divides(steps, m.extent) == Truth::no && divides(m.extent, steps) == Truth::yes && goes_on(l, m)) {
      out.leaves().push_back({S(1), BasicStride<S>(S(0))});
      continue;
    }
    op.require_divides(steps, m.extent, "shape_divisibility", "the unit does not divide the mode", [&] {
      return "mode " + to_string(m.extent) + ":" + to_string(d) + " in units of " + to_string(steps) +
             " steps";
    });
    const S sign = is_negative(d) ? S(-1) : S(1);
    out.leaves().push_back({exact_div(m.extent, steps), BasicStride<S>(sign, m.stride.axis)});
  }
  return finish(std::move(out));
}

/// Counts in units n times smaller. The contiguous mode grows by n, other strides too. A single element is contiguous only
/// when nothing else is.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> downcast(const Operation& op, LayoutView<S> l, const S& n) {
  bool contiguous = false, longer = false;
  for (const BasicMode<S>& m : l.leaves()) {
    contiguous = contiguous || is_one(m.stride.scale);
    longer = longer || (is_one(m.stride.scale) && !is_one(m.extent));
  }
  if (!contiguous && !is_one(n))
    op.fail("downcast_needs_stride1", "no mode is contiguous, so the smaller units have no place");
  LayoutBuilder<S> out;
  out.profile(l.profile());
  for (const BasicMode<S>& m : l.leaves()) {
    const S& d = m.stride.scale;
    if ((is_one(d) || is_one(S(-d))) && !(longer && is_one(m.extent))) {
      out.leaves().push_back({m.extent * n, m.stride});
    } else {
      out.leaves().push_back({m.extent, BasicStride<S>(d * n, m.stride.axis)});
    }
  }
  return finish(std::move(out));
}

} // namespace inlay::body
