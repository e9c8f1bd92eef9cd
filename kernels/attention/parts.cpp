// Parts of a softmax: the rule by which they are put together, and the loop that does it.
#include "parts.h"

#include "../least_number.h"
#include "../places.h"

#include <cmath>

namespace inlay::kernels {
namespace {

constexpr int most_at_once = 8; // parts

} // namespace

Expr over_part(Program& k, Monoid monoid, Sym keys, Sym begin, Sym end,
               const std::function<Expr(Sym)>& body) {
  const Sym i = k.symbols().symbol(monoid == Monoid::sum ? "_summed" : "_compared", {Int(0), std::nullopt});
  const std::pair<Sym, Sym> part[] = {{begin, end}};
  return k.expressions().partial_fold(monoid, i, keys, part, body(i));
}

Expr capped(Expr x, double cap) {
  if (cap == 0) return x;
  return x.arena->constant(cap) - x.arena->constant(2 * cap) / (exp(x * (2 / cap)) + x.arena->constant(1));
}

SoftmaxParts::Said SoftmaxParts::together(Program& k, const std::vector<Sym>& c, Sym length) const {
  const auto most_of = [&](Sym r) {
    const Expr of_part = k(most, {c[0], c[1], r, c[2]});
    return split ? inside(*split * r, length, of_part, minus_infinity) : of_part;
  };
  Expr greatest = k.fold(Monoid::max, count, most_of);
  if (!split) greatest = least_number(greatest);
  const auto weight = [&](Sym r) { return exp(most_of(r) - greatest); };
  return {greatest,
          k.sum(count,
                [&](Sym r) {
                  return weight(r) * k(sums, {c[0], c[1], r, c[2]});
                }),
          k.sum(count, [&](Sym r) {
            return weight(r) * k(values, {c[0], c[1], r, c[2], c[3]});
          })};
}

SoftmaxParts::Done SoftmaxParts::together(Program& k, Sym sequence, Sym block, Sym tile, int rows,
                                          int columns, const Layout& tv, Sym length) const {
  const int at_once = count.constant()
                          ? static_cast<int>(std::min(Int(most_at_once), *count.constant()).value())
                          : most_at_once;
  const Layout of_some = with_parts(tv, at_once), weights = without_axis(of_some, 1),
               weight = without_axis(tv, 1);
  const Fragment m = k.full(minus_infinity, weight, {rows, 1, 1}),
                 l = k.zeros(codegen::Element::f32, weight, {rows, 1, 1}),
                 o = k.zeros(codegen::Element::f32, tv, {rows, columns, 1});
  k.loop(count, at_once, {.distance = 0, .ring = 1}, [&](Sym t) {
    const auto row = [&](const Tensor& of) {
      return k.load(k.tile(of, {1, 1, at_once, rows}, {sequence, block, t, tile}).keep({3, 0, 2}), weights,
                    1);
    };
    const Sym r = at_once * t + k.position(2);
    const Fragment m1 = k.map({row(most)},
                              [&](const Exprs&v) {
                                return inside(r, count,
                                              split ? inside(*split * r, length, v[0], minus_infinity) : v[0],
                                              minus_infinity);
                              }),
                   l1 = row(sums),
                   o1 = k.load(k.tile(values, {1, 1, at_once, rows, columns}, {sequence, block, t, tile, 0})
                                   .keep({3, 4, 2}),
                               of_some, static_cast<int>(tv.mode(1).modes()[0].extent.value()));
    const Fragment greatest =
        k.map({m, k.fold(Monoid::max, m1, 2)}, [](const Exprs& v) { return max(v[0], v[1]); });
    // The first part counts where parts begin before the end; else any may.
    const auto number = [&](Expr x) { return split ? x : least_number(x); };
    const Fragment p = k.map({m1, greatest}, [&](const Exprs&v) { return exp(v[0] - number(v[1])); }),
                   again =
                       k.map({m, greatest}, [&](const Exprs&v) { return exp(number(v[0]) - number(v[1])); });
    const auto times = [](const Exprs& v) { return v[0] * v[1]; };
    const auto plus = [](const Exprs& v) { return v[0] * v[1] + v[2]; };
    k.update(l, {again, k.fold(Monoid::sum, k.map({p, l1}, times), 2)}, plus);
    k.update(o, {again, k.fold(Monoid::sum, k.map({p, o1}, times), 2)}, plus);
    k.update(m, {greatest}, [](const Exprs& v) { return v[1]; });
  });
  return {m, l, o};
}

SoftmaxTile online_softmax(Program& k, const Fragment& x, const Fragment& m, const Fragment& l,
                           std::source_location where) {
  const auto greatest = [](const Exprs& v) { return max(v[0], v[1]); };
  const auto power = [](const Exprs& v) { return exp(v[0] - least_number(v[1])); };
  const Fragment most = k.map({m, k.fold(Monoid::max, x, 1, where)}, greatest, codegen::Element::f32, where);
  const Fragment weights = k.map({x, most}, power, codegen::Element::f32, where),
                 again = k.map(
                     {m, most},
                     [&](const Exprs&v) {
                       return power({least_number(v[0]), v[1]});
                     },
                     codegen::Element::f32, where);
  k.update(
      l, {again, k.fold(Monoid::sum, weights, 1, where)}, [](const Exprs& v) { return v[0] * v[1] + v[2]; },
      where);
  return {most, weights, again};
}

SoftmaxTile online_softmax(Program& k, const Fragment& x, const Fragment& m, const Fragment& l,
                           const Fragment& o, std::source_location where) {
  const SoftmaxTile tile = online_softmax(k, x, m, l, where);
  k.update(
      o, {tile.again}, [](const Exprs& v) { return v[0] * v[1]; }, where);
  return tile;
}

} // namespace inlay::kernels
