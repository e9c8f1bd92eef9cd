/// Inverses of layouts and what follows from them: null space, common vectors, alignment.
///
/// Each says what it inverts: a layout need not be injective or onto, and an inverse is then partial.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

namespace inlay {

/// The layout R with L(R(i)) = i for i < |R|, as long as a chain of exact strides 1, s1, s1*s2, ... goes in
/// L; modes of L that do not continue the chain are skipped. Never fails: `right_inverse(4:2) = 1:0`.
/// `right_inverse((4,8):(8,1)) = (8,4):(4,1)`. Law: right inverse.
[[nodiscard]] Layout right_inverse(const Layout& layout);
[[nodiscard]] SymLayout right_inverse(const SymLayout& layout);

/// The layout R with R(L(i)) = i on the image of L up to modes of stride 0: L(R(L(i))) = L(i) for every i <
/// |L|. `left_inverse(4:2) = (2,4):(0,1)`. Errors: `left_inverse_divisibility` (sorted strides must divide
/// each other), `non_injective` (modes overlap; CuTe C++ accepts such input and is wrong), `negative_stride`.
/// Law: left inverse.
[[nodiscard]] Layout left_inverse(const Layout& layout);
[[nodiscard]] SymLayout left_inverse(const SymLayout& layout);

/// The coordinates that stride-0 leaves range over, as a layout into the domain: L(i + nullspace(j)) = L(i).
/// `nullspace((2,(3,4)):(0,(1,0))) = (2,4):(1,6)`; `1:0` when no stride is 0. Law: nullspace.
[[nodiscard]] Layout nullspace(const Layout& layout);
[[nodiscard]] SymLayout nullspace(const SymLayout& layout);

/// How many elements lie contiguously in a and in b in the same order, and where they are in the domain of b.
/// `max_common_vector((8,16):(1,8), (8,16):(1,64)) = 8`. Errors: those of composition. Law: common vector.
[[nodiscard]] Int max_common_vector(const Layout& a, const Layout& b);
[[nodiscard]] Layout max_common_layout(const Layout& a, const Layout& b);

/// The largest n for which the layout is n contiguous elements repeated at multiples of n; at most the
/// contiguous run. `max_alignment((8,16):(1,6)) = 2`.
[[nodiscard]] Int max_alignment(const Layout& layout);

/// n elements of a shape spread over its leaves, left-most first, as a layout into its index space; at most
/// n. `domain_distribute((3,16), 4) = 4:3`.
[[nodiscard]] Layout domain_distribute(const IntTuple& shape, Int n);

} // namespace inlay
