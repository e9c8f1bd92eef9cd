/// Arithmetic and predicates on tuples of integers.
///
/// A predicate is a partial order of shapes (A <= B): "congruent" is same parentheses, "weakly congruent" is B refines A,
/// "compatible" is B refines A with equal sizes. `4` and `(4)` are different everywhere.
#pragma once

#include <inlay/algebra/int_tuple.h>
#include <inlay/algebra/tile.h>

namespace inlay {

/// Same profile. `congruent((4,8), (1,2))`.
[[nodiscard]] bool congruent(const IntTuple& a, const IntTuple& b);
/// An integer of a may stand for anything, a tuple only for a tuple of the same rank. `weakly_congruent(4, (2,2))`.
[[nodiscard]] bool weakly_congruent(const IntTuple& a, const IntTuple& b);
/// Weakly congruent, and each integer of a is the size of what stands for it in b. `compatible(12, (3,4))`.
[[nodiscard]] bool compatible(const IntTuple& a, const IntTuple& b);
/// The tile divides the shape without rounding, mode by mode. False when the tile has more modes.
[[nodiscard]] bool evenly_divides(const IntTuple& shape, const Tile& tile);

/// Leaf-wise products and sums. `product_each((2,(3,4))) = (2,12)`, for an integer `(n)`; `elem_scale((3,1),(2,(2,2))) = (6,4)`.
[[nodiscard]] Int product(const IntTuple& a);
[[nodiscard]] IntTuple product_each(const IntTuple& a);
/// The size of what each integer of the guide stands for. `product_like((2,(3,4)), (1,1)) = (2,12)`. Errors: `incongruent`.
[[nodiscard]] IntTuple product_like(const IntTuple& a, const IntTuple& guide);
[[nodiscard]] Int sum(const IntTuple& a);
[[nodiscard]] Int max(const IntTuple& a);
[[nodiscard]] Int min(const IntTuple& a);
[[nodiscard]] Int gcd(const IntTuple& a);
[[nodiscard]] Int inner_product(const IntTuple& a, const IntTuple& b);
[[nodiscard]] IntTuple elem_scale(const IntTuple& a, const IntTuple& b);

/// Leaf by leaf on congruent tuples; an integer on the right goes with every leaf. Division rounds down. `add((1,(2,3)),
/// (4,(5,6))) = (5,(7,9))`, `mod((5,-1), 4) = (1,3)`. Errors: `incongruent` (FlyDSL copies what one side has in excess),
/// `division_by_zero`, `overflow`.
[[nodiscard]] IntTuple add(const IntTuple& a, const IntTuple& b);
[[nodiscard]] IntTuple sub(const IntTuple& a, const IntTuple& b);
[[nodiscard]] IntTuple mul(const IntTuple& a, const IntTuple& b);
[[nodiscard]] IntTuple div(const IntTuple& a, const IntTuple& b);
[[nodiscard]] IntTuple mod(const IntTuple& a, const IntTuple& b);

/// Rounding up. An integer divisor folds over a tuple: each leaf is divided by what the leaves before it left of the divisor.
/// `ceil_div((3,4), 2) = (2,4)`. Tuples divide mode by mode, a missing divisor is 1. Errors: `rank`.
[[nodiscard]] IntTuple ceil_div(const IntTuple& a, const IntTuple& b);
/// The same where at every step one side must divide the other. `shape_div((6,(3,4)), 36) = (1,(1,2))`. Errors: `divisibility`.
[[nodiscard]] IntTuple shape_div(const IntTuple& a, const IntTuple& b);
/// Leaf-wise to the next multiple. `round_up((5,6), (4,3)) = (8,6)`. Errors: `rank`.
[[nodiscard]] IntTuple round_up(const IntTuple& a, const IntTuple& b);

/// Lexicographic (left-most first), colexicographic (right-most first) and element-wise comparison; a shorter tuple with equal
/// entries is less.
[[nodiscard]] bool lex_less(const IntTuple& a, const IntTuple& b);
[[nodiscard]] bool colex_less(const IntTuple& a, const IntTuple& b);
[[nodiscard]] bool elem_less(const IntTuple& a, const IntTuple& b);

} // namespace inlay
