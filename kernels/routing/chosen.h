/// What is left after a choice, and what column d of a result is: what the gatings' specifications and programs share. Private.
#pragma once

#include "../program_names.h"

#include <inlay/algebra/parse.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {

/// x, and minus infinity at the place that was chosen.
[[nodiscard]] inline Expr without(Program& k, Expr x, Sym place, Expr chosen) {
  return choose(equal(integer(k.number(place)), truncated(chosen)), k.constant(-INFINITY), x);
}
/// of[column].
[[nodiscard]] inline Expr pick(Program& k, Sym column, const std::vector<Expr>& of) {
  Expr e = of[0];
  for (std::size_t d = 1; d < of.size(); ++d)
    e = select(k.number(column), k.constant(static_cast<double>(d)), of[d], e);
  return e;
}

/// What was chosen, one after the other, and where it stood.
struct Chosen {
  std::vector<Expr> value, id;
};

/// The largest of what x(place..) is, and of equal ones that with the least number(place..): one after the other the largest of what is left,
/// where it stands, and what is left without it. `fold(monoid, of)` is that of of(place..) over all places.
template <class Fold, class X, class Number>
[[nodiscard]] Chosen largest(Program& k, int count, Fold fold, X x, Number number) {
  Chosen c;
  for (int d = 0; d < count; ++d) {
    const auto left = [&](auto... place) {
      Expr e = x(place...);
      for (const Expr& id : c.id) e = without(k, e, number(place...), id);
      return e;
    };
    const Expr most = fold(Monoid::max, left);
    const Expr id = fold(Monoid::min, [&](auto... place) {
      return select(left(place...), most, k.number(number(place...)), k.constant(INFINITY));
    });
    c.value.push_back(most), c.id.push_back(id);
  }
  return c;
}
/// The same as operations: of the elements of `left`, which `number` counts; `each` is given every one of the largest, and where it stands.
template <class Fold, class Each>
void largest(Program& k, int count, Fragment left, Sym number, Fold fold, Each each,
             std::source_location where = std::source_location::current()) {
  for (int d = 0; d < count; ++d) {
    const Fragment most = fold(Monoid::max, left);
    const Fragment at = k.map(
        {left, most},
        [&](const Exprs& a) { return select(a[0], a[1], k.number(number), k.constant(INFINITY)); },
        codegen::Element::f32, where);
    const Fragment id = fold(Monoid::min, at);
    each(most, id);
    if (d + 1 < count)
      left = k.map(
          {left, id}, [&](const Exprs& a) { return without(k, a[0], number, a[1]); }, codegen::Element::f32,
          where);
  }
}

/// Columns of a row one after the other, `of` each: every one of the `lanes` work-items of a row has all of its results, which lie together.
/// `shape`: rows, columns, and axes of 1.
[[nodiscard]] inline Fragment side_by_side(Program& k, std::vector<Fragment> of, int lanes,
                                           const std::vector<int>& shape,
                                           std::source_location where = std::source_location::current()) {
  const Layout results =
      parse_layout(fmt::format("(({0},{1}),{2}):((0,1@0),1@1)", lanes, shape[0], shape[1]));
  of.push_back(k.zeros(codegen::Element::f32, results, shape, where));
  return k.map(
      of,
      [&](const Exprs& a) {
        return pick(k, k.position(1), {a.begin(), a.end() - 1});
      },
      codegen::Element::f32, where);
}

} // namespace inlay::kernels
