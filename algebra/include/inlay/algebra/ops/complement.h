/// complement: what a layout leaves out.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

namespace inlay {

/// The strictly increasing layout whose values, added to those of the layout, are all different, up to
/// `target`. When each stride is a multiple of what the smaller ones span, |complement| >= target / |layout|;
/// when that divides target too, (layout, complement) covers [0, target) once. Otherwise there are holes that
/// no layout fills: `complement((3,2):(3,12), 24) = 3:1`. Theorems: proofs/coq/Complement.v.
///
/// `complement(4:2, 24) = (2,3):(1,8)`: 0 2 4 6 shifted by 0, 1, 8, 9, 16, 17 is 0..23, each once.
///
/// Leaves of stride 0 are ignored. Default target: the cosize of the layout, which yields the holes alone.
/// Errors: `non_injective` (a stride lies below the span of the smaller ones), `negative_stride`. Law:
/// complement.
[[nodiscard]] Layout complement(const Layout& layout);
[[nodiscard]] SymLayout complement(const SymLayout& layout);
[[nodiscard]] Layout complement(const Layout& layout, Int target);
[[nodiscard]] SymLayout complement(const SymLayout& layout, Sym target);
/// A shape as target is divided leaf by leaf, each rounding up, and so may cover more than its size:
/// `complement(2:1, (3,4)) = 8:2` where `complement(2:1, 12) = 6:2`. Divides use this form.
[[nodiscard]] Layout complement(const Layout& layout, const IntTuple& target);
[[nodiscard]] SymLayout complement(const SymLayout& layout, const BasicIntTuple<Sym>& target);

} // namespace inlay
