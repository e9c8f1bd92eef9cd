/// Body of ops/complement.h.
#pragma once

#include <inlay/algebra/bodies/coalesce.h>

namespace inlay::body {

/// Orders modes by stride, smallest first; where symbols leave the order open, the given order is kept.
template <class S>
constexpr void sort_by_stride(Modes<S>& modes, SmallVector<S, 8>* companion = nullptr) {
  const auto below = [](const S& a, const S& b) { return le(a, b) == Truth::yes && le(b, a) != Truth::yes; };
  for (std::size_t i = 1; i < modes.size(); ++i)
    for (std::size_t j = i; j > 0 && below(modes[j].stride.scale, modes[j - 1].stride.scale); --j) {
      std::swap(modes[j], modes[j - 1]);
      if (companion) std::swap((*companion)[j], (*companion)[j - 1]);
    }
}

/// The product of ceil_div over the leaves, dividing each by what the leaves before it have not used up.
template <class S>
[[nodiscard]] constexpr S folding_ceil_div_size(std::span<const S> leaves, S divisor) {
  S total = ceil_div(leaves.front(), divisor);
  S used = leaves.front();
  for (const S& leaf : leaves.subspan(1)) {
    divisor = ceil_div(divisor, used);
    total *= ceil_div(leaf, divisor);
    used = leaf;
  }
  return total;
}

template <class S>
constexpr void require_plain(const Operation& op, std::span<const BasicMode<S>> modes) {
  for (const BasicMode<S>& m : modes)
    if (m.stride.is_basis()) op.fail("basis", "basis strides have no order");
}

/// cotarget: the leaves of the shape to be covered; empty stands for the cosize of the layout.
template <class S>
[[nodiscard]] constexpr Modes<S> complement_modes(const Operation& op, std::span<const BasicMode<S>> layout,
                                                  std::span<const S> cotarget) {
  require_plain<S>(op, layout);
  Modes<S> modes;
  for (const BasicMode<S>& m : layout)
    if (!is_zero(m.stride.scale)) modes.push_back(m);
  modes = coalesced_modes<S>(modes.span(), false);
  sort_by_stride(modes);
  Modes<S> out;
  S current = 1;
  for (const BasicMode<S>& m : modes) {
    const S& d = m.stride.scale;
    const auto where = [&] {
      return "mode " + to_string(m.extent) + ":" + to_string(d) + " starts below " + to_string(current) +
             ", where the modes of smaller stride end";
    };
    if (is_negative(d)) op.fail("negative_stride", "a complement needs positive strides", where());
    op.require_le(current, d, "non_injective", "the layout is not injective in the way a complement needs",
                  where);
    // A mode that may have one element only changes where the rest starts, unless nothing lies before it anyway.
    if (eq(d, current) != Truth::yes)
      op.require_le(S(2), m.extent, "single_element", "a mode may have a single element",
                    [&] { return "mode " + to_string(m.extent) + ":" + to_string(d); });
    out.push_back({floor_div(d, current), BasicStride<S>(current)});
    current = m.extent * d;
  }
  S rest;
  if (cotarget.empty()) {
    rest = S(1);
  } else {
    rest = folding_ceil_div_size<S>(cotarget, current);
  }
  out.push_back({rest, BasicStride<S>(current)});
  return coalesced_modes<S>(out.span(), false);
}

template <class S>
[[nodiscard]] constexpr BasicLayout<S> complement(const Operation& op, LayoutView<S> l,
                                                  std::span<const S> cotarget) {
  return unwrapped(complement_modes<S>(op, l.leaves(), cotarget));
}

} // namespace inlay::body
