/// Pieces: a formula cut into boxes on each of which it is a layout, so that statements about its *image* can be
/// decided.
///
/// A block remap such as `select(i >= G/16*16, i, ...)` or a group order with a last, narrower group is no layout, but
/// its domain falls into finitely many boxes of digits on which it is `constant + sum stride_k digit_k`. The pieces are
/// found by looking at what stops the lowering:
///
///     x / d, d does not divide the extent E of x     cut x at d (E / d): full groups, and the rest
///     min, max, select, a comparison                 cut the digit that decides it at its threshold
///     (s + x) % d, s a number below d                cut x at d - s, where the sum wraps
///     several digits, one of few values              that digit value by value
///     a remainder of a symbol, M modulo d            cases M % d == 0 ... d - 1, as facts; symbols that are compared
///                                                    with each other likewise
///     G by X, both symbols                           G = X q + r, r < X: a quotient and a rest of their own
///
/// Every cut is a proved partition of the domain (0 <= threshold <= extent for all symbols), so the boxes of a case cover
/// it exactly. Then the map is injective when every box is dominated by itself (image.cpp) and no two boxes share a value:
///
///     apart(A, B)   the ranges of A and B do not meet; or both have a digit of one stride s, what is left of both
///                   together spans less than s, and what is left is apart
///
/// and a bijection onto [0, n) when it is also inside, by counting. A box may be empty for some values of the symbols;
/// what is said about it is proved for all of them.
#pragma once

#include "layers/lower.h"

#include <atomic>
#include <string>
#include <vector>

namespace inlay::solver {

struct Box {
  Poly constant;
  std::vector<FlatDigit> modes;
};

/// One case of the symbols: the conditions that make it, what the symbols are there, and the boxes of the function.
struct PieceCase {
  std::vector<std::string> conditions;
  Context context;
  std::vector<Box> boxes;
  /// How the boxes were cut, for whoever wants to do it again (certificates/derive_pieces.cpp): of the part that is next, "digits a | b"
  /// splits its digits, "at k t" cuts digit k, "each k" takes its values one by one, "empty k" has no digit k, "box" is done.
  std::vector<std::string> cuts;
  /// "q r = n / m" of quotients and rests that the conditions name.
  std::vector<std::string> quotients;
};

struct Pieces {
  std::vector<PieceCase> cases; ///< empty when the formula could not be cut
  std::string reason;           ///< what stopped it
};

/// `value` over coordinates in [0, extent). `facts` are the conditions of the question.
[[nodiscard]] Pieces cut_into_pieces(const std::set<std::string>& symbols,
                                     const std::vector<std::string>& facts,
                                     const std::vector<Coordinate>& domain, const FormulaRef& value,
                                     const std::atomic<bool>* cancel);

/// No value of the boxes occurs twice.
[[nodiscard]] bool injective(const PieceCase& c);
/// Every value is in [0, bound).
[[nodiscard]] bool within(const PieceCase& c, const Poly& bound);

} // namespace inlay::solver
