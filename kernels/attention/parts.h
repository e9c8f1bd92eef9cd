/// A softmax over a long axis in parts, which are put together in their order. Private.
#pragma once

#include "../places.h"

#include <functional>
#include <optional>

namespace inlay::kernels {

/// What is stored of every part r of `split` positions, [sequence, block, part, row] and for values a column: m(r) the greatest score, l(r) the
/// sum of powers of e, each by m(r) less, and o(r) that of the values. m(r) is a number: least_number of the greatest score. With m = max m(r),
///
///     all = sum over r of exp(m(r) - m) l(r),   value = sum over r of exp(m(r) - m) o(r)
///
/// Which parts count: with a `split` those that begin before the end, else those whose m(r) is not minus infinity.
struct SoftmaxParts {
  Tensor most, sums, values;
  Sym count{}; ///< where it is a number: 2 or a multiple of 4
  std::optional<Sym> split;
  /// The same as expressions, of [sequence, block, row, column]; `length` is where the positions of the sequence end.
  struct Said {
    Expr most, all, value;
  };
  [[nodiscard]] Said together(Program& k, const std::vector<Sym>& c, Sym length) const;
  /// And as operations: of `rows` rows of a block, each work-item with some of their columns, as `tv` says.
  struct Done {
    Fragment most, all, value;
  };
  [[nodiscard]] Done together(Program& k, Sym sequence, Sym block, Sym tile, int rows, int columns,
                              const Layout& tv, Sym length) const;
};

/// `monoid` of body(i) over begin <= i < end, of positions 0 to `keys` as the specification has them all: one part.
[[nodiscard]] Expr over_part(Program& k, Monoid monoid, Sym keys, Sym begin, Sym end,
                             const std::function<Expr(Sym)>& body);

/// cap tanh(x / cap); x where the cap is 0.
[[nodiscard]] Expr capped(Expr x, double cap);

/// One tile of a softmax that is summed tile by tile: of scores x, with m the greatest so far, l and o the sums so far,
///
///     most = max(m, max x),   weights = exp(x - most),   again = exp(m - most),   l = l again + sum weights,   o = o again
///
/// The caller adds the weighted values to o, and then makes m what `most` is; without an o it multiplies that too. `where`: the kernel's line.
/// Scores of whole tiles may be minus infinity: what is subtracted is least_number(most), and from least_number(m). Where all scores are, o and
/// l are 0.
struct SoftmaxTile {
  Fragment most, weights, again;
};
[[nodiscard]] SoftmaxTile online_softmax(Program& k, const Fragment& x, const Fragment& m, const Fragment& l,
                                         std::source_location where = std::source_location::current());
[[nodiscard]] SoftmaxTile online_softmax(Program& k, const Fragment& x, const Fragment& m, const Fragment& l,
                                         const Fragment& o,
                                         std::source_location where = std::source_location::current());

} // namespace inlay::kernels
