/// The positions that a part of a paged sequence has, and which of them its query sees. Private.
#pragma once

#include "paged.h"
#include "parts.h"

namespace inlay::kernels {

/// Without a window parts begin at fixed places, and a part's positions are counted from its start: an axis of the table. With one, the
/// tiles of all parts end with the sequence's last one, or begin with its first, so that all of them are in the table, and positions are
/// those of the sequence: `begin` to `end` are seen.
struct PagedPart {
  Sym keys{}; ///< for which the table has pages
  Sym tile{}, begin{}, end{};

  static PagedPart of(const PagedDecode& s, Sym keys, Sym length) {
    if (s.window == 0) return {keys, Sym(0), Sym(0), length};
    const Sym end = min(keys, length), last = floor_div(end - 1, Sym(s.tile_k));
    return {keys, max(Sym(0), last - Sym(s.parts() * s.part() / s.tile_k - 1)), end - Sym(s.window), end};
  }
  /// The position of the sequence that is position i of part r.
  [[nodiscard]] Sym position(const PagedDecode& s, Sym r, Sym i) const {
    return s.tile_k * tile + s.part() * r + i;
  }
  /// x, if position `at` is seen.
  [[nodiscard]] Expr if_seen(Program& k, const PagedDecode& s, Sym at, Expr x, double otherwise) const {
    if (s.window == 0) return codegen::inside(at, end, x, otherwise);
    for (const Sym n : {at - begin, end - 1 - at})
      x = select(k.number(n), k.constant(0), x, k.constant(otherwise));
    return x;
  }
  /// `monoid` of body over part r.
  [[nodiscard]] Expr fold(Program& k, const PagedDecode& s, Monoid monoid, Sym r,
                          const std::function<Expr(Sym)>& body) const {
    return over_part(k, monoid, keys, position(s, r, 0), position(s, r, s.part()), body);
  }
};

} // namespace inlay::kernels
