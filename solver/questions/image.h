/// What the statements about an image share: injective, bijective, covers, disjoint.
#pragma once

#include "questions/statements.h"

namespace inlay::solver {

/// Outer swizzles and offsets are injective: A is injective iff what they are applied to is.
[[nodiscard]] Parts without_outer_bijections(const Parts& f);
/// Outer swizzles that permute [0, n): what is said of the values inside it and outside it is said of what they are applied to.
[[nodiscard]] Parts without_block_swizzles(Engine& e, const Parts& f, const Poly& n);
/// Domination: each weight of a digit or parity exceeds what the smaller ones reach together, and every digit has one.
[[nodiscard]] bool dominated(Engine& e, const Lowering& l, const Form& form);
/// "Sure" injectivity without a verdict: for injective, bijective and covers.
[[nodiscard]] bool surely_injective(Engine& e, const Parts& a);
/// A concrete instance.
[[nodiscard]] Check check_injective(const Engine& e, const Parts& a, const naive::Environment& env);
/// Two copies of the coordinates with one value, for a solver.
[[nodiscard]] std::optional<Verdict> ask_injective(Engine& e, const Parts& a);
/// Every case of the symbols holds; the trace says how many there are.
[[nodiscard]] bool by_pieces(Engine& e, const Pieces& pieces,
                             const std::function<bool(const PieceCase&)>& holds);

} // namespace inlay::solver
