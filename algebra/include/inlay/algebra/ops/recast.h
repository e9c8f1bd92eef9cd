/// upcast, downcast, recast: the same bytes counted in larger or smaller elements.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

namespace inlay {

/// The layout in units of n elements. Per leaf: stride 0 stays; a stride that n divides is divided; the leaf
/// whose stride divides n shrinks by n/|d|. `upcast((8,4):(1,8), 4) = (2,4):(1,2)`. A leaf that is shorter than the unit
/// and goes on in another leaf lies inside one unit: `upcast((16,64):(1,16), 32) = (1,32):(0,1)`; a leaf of one element
/// has any stride. Errors: `divisibility` (neither divides the other); `shape_divisibility` (the unit does not divide the
/// shrinking leaf, where CuTe rounds up). Laws: recast; downcast after upcast is the identity where no leaf disappears.
[[nodiscard]] Layout upcast(const Layout& layout, Int n);
[[nodiscard]] SymLayout upcast(const SymLayout& layout, Sym n);
/// The layout in units n times smaller: leaves of stride +-1 grow by n, other strides are multiplied; of a single element
/// only when no longer leaf is contiguous. `downcast((2,4):(1,2), 4) = (8,4):(1,8)`. Errors: `downcast_needs_stride1`.
[[nodiscard]] Layout downcast(const Layout& layout, Int n);
[[nodiscard]] SymLayout downcast(const SymLayout& layout, Sym n);
/// From elements of `old_bits` to elements of `new_bits`: up, down, or both after reducing the ratio.
/// `recast((16,32):(1,16), 16, 8) = (32,32):(1,32)`.
[[nodiscard]] Layout recast(const Layout& layout, Int old_bits, Int new_bits);
[[nodiscard]] SymLayout recast(const SymLayout& layout, Int old_bits, Int new_bits);

} // namespace inlay
