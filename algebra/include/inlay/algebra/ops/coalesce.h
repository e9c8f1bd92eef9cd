/// coalesce, flatten, filter: other ways to write the same function.
///
/// Each function exists for `Layout` (throws on a violated precondition) and for `SymLayout` (records
/// obligations in the context, throws on a definite no). Source: C. Cecka, "CuTe Layout Representation and
/// Algebra", arXiv 2603.02298, section on coalesce; CuTe documentation, 02_layout_algebra.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

namespace inlay {

/// The shortest flat layout with the same value at every index of [0, size): modes of extent 1 are dropped
/// and `s0:d0, s1:s0*d0` become `s0*s1:d0`. The result is canonical: equal functions of equal size coalesce
/// to equal layouts. `coalesce((2,(1,6)):(1,(6,2))) = 12:1`. Law: coalesce.
[[nodiscard]] Layout coalesce(const Layout& layout);
[[nodiscard]] SymLayout coalesce(const SymLayout& layout);

/// Coalesces mode by mode: where the profile has a tuple its entries are modes, where it has an integer (of
/// any value) the mode is coalesced whole; modes beyond the profile stay. `coalesce((2,(1,6)):(1,(6,2)),
/// (1,1)) = (2,6):(1,2)`. Errors: `rank` (more modes in the profile than in the layout). Law: coalesce by
/// mode.
[[nodiscard]] Layout coalesce(const Layout& layout, const IntTuple& profile);
[[nodiscard]] SymLayout coalesce(const SymLayout& layout, const IntTuple& profile);

/// The leaves as one flat tuple, order and values unchanged. `flatten(((2,2),3):((24,2),8)) =
/// (2,2,3):(24,2,8)`.
[[nodiscard]] Layout flatten(const Layout& layout);
[[nodiscard]] SymLayout flatten(const SymLayout& layout);
[[nodiscard]] IntTuple flatten(const IntTuple& tuple);

/// Gives a layout the nesting of a profile with as many leaves: the inverse of `flatten`. Errors: `rank`.
[[nodiscard]] Layout unflatten(const Layout& layout, const IntTuple& profile);
[[nodiscard]] SymLayout unflatten(const SymLayout& layout, const IntTuple& profile);

/// Leaves of stride 0 get extent 1, so each value is kept once where the rest is injective. Changes the size.
/// `filter_zeros((2,3):(0,1)) = (1,3):(0,1)`.
[[nodiscard]] Layout filter_zeros(const Layout& layout);
[[nodiscard]] SymLayout filter_zeros(const SymLayout& layout);
/// Sets the extent to 1 where the profile, weakly congruent to the layout, has a 0.
[[nodiscard]] Layout filter_zeros(const Layout& layout, const IntTuple& profile);

/// coalesce(filter_zeros(layout)), whole or by mode. `filter((2,3):(0,1)) = 3:1`. Law: filter.
[[nodiscard]] Layout filter(const Layout& layout);
[[nodiscard]] SymLayout filter(const SymLayout& layout);
[[nodiscard]] Layout filter(const Layout& layout, const IntTuple& profile);
[[nodiscard]] SymLayout filter(const SymLayout& layout, const IntTuple& profile);

} // namespace inlay
