/// The laws of the algebra, each written once.
///
/// A law takes two layouts and a number and says whether it holds there, by the definition: it enumerates. It
/// is used by a fixed zoo, by random inputs that shrink, by all small layouts, and by `inlay fuzz` (which is
/// why this file names no test framework). An operation may refuse an input; then the law says so and nothing
/// has been tested.
#pragma once

#include <inlay/algebra/laws/functions.h>
#include <inlay/algebra/laws/inverses.h>
#include <inlay/algebra/laws/tilings.h>

namespace inlay::laws {

inline const Law all[] = {
    {"evaluation", "L(c) = sum c_k d_k, and an index is its colexicographic coordinate", evaluation, false},
    {"text", "parse(print(L)) = L", text, false},
    {"coalesce", "coalesce(L)(i) = L(i) on [0, size), idempotent, flat", coalesced, false},
    {"canonical", "equal functions of equal size have equal coalesced layouts, and only those", canonical,
     true},
    {"coalesce by mode", "each mode keeps its function", coalesced_by_mode, false},
    {"filter", "filter(L) has the image of L and no stride 0", filtered, false},
    {"composition", "composition(A, B)(c) = A(B(c)) for every coordinate of B", composed, true},
    {"composition by mode", "mode i of the result is A_i o B_i", composed_by_mode, true},
    {"complement", "increasing, disjoint from L, covers the target; tight on a divisible chain", complemented,
     false},
    {"right inverse", "L(R(i)) = i on [0, |R|); whole when L is a bijection", right_inverted, false},
    {"left inverse", "L(R(L(i))) = L(i), and R(L(i)) = i without strides 0", left_inverted, false},
    {"nullspace", "L(nullspace(j)) = 0", null_space, false},
    {"divide", "mode 0 is A o T; no offset is lost where T divides A", divided, true},
    {"zipped divide", "zipped, tiled and flat divide regroup the logical divide", zipped_divided, false},
    {"product",
     "mode 0 is A, copies inside its complement do not overlap; blocked and raked hold the same offsets",
     multiplied, true},
    {"tile to shape", "a compact block tiles onto [0, size)", tiled_to_shape, false},
    {"recast", "upcast maps to the units that the elements lie in", recasted, false},
    {"slice", "slice(c, L)(x) + offset = L(c with _ replaced by x)", sliced, false},
    {"like", "make_layout_like keeps the order of strides", ordered_like, false},
};

} // namespace inlay::laws
