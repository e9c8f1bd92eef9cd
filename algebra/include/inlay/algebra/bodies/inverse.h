/// Bodies of ops/inverse.h.
#pragma once

#include <inlay/algebra/bodies/complement.h>
#include <inlay/algebra/bodies/composition.h>

namespace inlay::body {

/// The modes of the coalesced layout, and beside each the index at which it starts in the domain.
template <class S>
struct Domain {
  Modes<S> modes;
  SmallVector<S, 8> start;
};
template <class S>
[[nodiscard]] constexpr Domain<S> domain(std::span<const BasicMode<S>> layout) {
  Domain<S> d{coalesced_modes<S>(layout, false), {}};
  S next = 1;
  for (const BasicMode<S>& m : d.modes) {
    d.start.push_back(next);
    next *= m.extent;
  }
  return d;
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> right_inverse(const Operation& op, LayoutView<S> l) {
  require_plain<S>(op, l.leaves());
  const Domain<S> d = domain<S>(l.leaves());
  Modes<S> out;
  S current = 1;
  for (bool found = true;
       found;) { // the mode whose stride is exactly what is covered so far, until there is none
    found = false;
    for (std::size_t k = 0; k < d.modes.size() && !found; ++k) {
      if (eq(d.modes[k].stride.scale, current) != Truth::yes) continue;
      out.push_back({d.modes[k].extent, BasicStride<S>(d.start[k])});
      current *= d.modes[k].extent;
      found = true;
    }
  }
  return unwrapped(coalesced_modes<S>(out.span(), false));
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> left_inverse(const Operation& op, LayoutView<S> l) {
  require_plain<S>(op, l.leaves());
  Domain<S> d = domain<S>(l.leaves());
  if (d.modes.size() == 1) { // n:0 maps everything to 0 and n:-1 is its own inverse; both keep their form
    const S& stride = d.modes[0].stride.scale;
    if (is_zero(stride) || eq(stride, S(-1)) == Truth::yes) return unwrapped(d.modes);
  }
  sort_by_stride(d.modes, &d.start);
  Modes<S> out;
  S covered = 1; // values below this are decoded
  S decoded = 0; // the domain index that one step of the current digit stands for
  S last = 1;
  S previous_end = 1; // one past the largest value of the modes so far
  for (std::size_t k = 0; k < d.modes.size(); ++k) {
    const S& stride = d.modes[k].stride.scale;
    if (is_zero(stride)) continue;
    const auto where = [&] {
      return "mode " + to_string(d.modes[k].extent) + ":" + to_string(stride) + " after a stride of " +
             to_string(covered);
    };
    if (is_negative(stride)) op.fail("negative_stride", "a left inverse needs positive strides", where());
    op.require_divides(covered, stride, "left_inverse_divisibility", "strides do not divide each other",
                       where);
    op.require_le(previous_end, stride, "non_injective",
                  "the layout is not injective, so it has no left inverse", where);
    out.push_back({exact_div(stride, covered), BasicStride<S>(decoded)});
    covered = stride;
    decoded = d.start[k];
    last = d.modes[k].extent;
    previous_end = last * stride;
  }
  out.push_back({last, BasicStride<S>(decoded)});
  return unwrapped(coalesced_modes<S>(out.span(), false));
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> nullspace(LayoutView<S> l) {
  Modes<S> out;
  S next = 1;
  for (const BasicMode<S>& m : l.leaves()) {
    if (is_zero(m.stride.scale)) out.push_back({m.extent, BasicStride<S>(next)});
    next *= m.extent;
  }
  return unwrapped(out);
}

/// The first mode of coalesce(a o right_inverse(b)), and the right inverse of b it is taken from.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> common_run(const Operation& op, LayoutView<S> a,
                                                  const BasicLayout<S>& inverse) {
  const BasicLayout<S> both = composition<S>(op, a, inverse.view());
  const BasicLayout<S> simple = coalesce<S>(both.view());
  const BasicMode<S>& first = simple.modes().front();
  if (!is_one(first.stride.scale) || first.stride.is_basis()) return {};
  return BasicLayout<S>(first.extent, first.stride);
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> max_common_layout(const Operation& op, LayoutView<S> a,
                                                         LayoutView<S> b) {
  const BasicLayout<S> inverse = right_inverse<S>(op, b);
  const BasicLayout<S> run = common_run<S>(op, a, inverse);
  if (is_one(run.size())) return {};
  return composition<S>(op, inverse.view(), run.view());
}

template <class S>
[[nodiscard]] constexpr S max_common_vector(const Operation& op, LayoutView<S> a, LayoutView<S> b) {
  return common_run<S>(op, a, right_inverse<S>(op, b)).size();
}

} // namespace inlay::body
