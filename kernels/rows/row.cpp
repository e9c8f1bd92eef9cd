// A workgroup's row as folds and stores see it.
#include "row.h"

#include "../least_number.h"

#include <cmath>

namespace inlay::kernels {

Row::Row(codegen::Program& k, const RowSpec& spec, Sym number, Sym columns)
    : k_(k), number_(number), columns_(columns), capacity_(spec.capacity()), vector_(spec.vector_length()),
      streamed_(spec.streamed), tv_(codegen::rows_tv(1, capacity_, vector_, spec.threads)) {}

codegen::View Row::part_of(const RowOf& of, Sym part) const {
  const Sym row = of.tensor.shape[0] == Sym(1) ? Sym(0) : number_;
  if (of.half < 0) return k_.tile(of.tensor, {1, capacity_}, {row, part});
  return k_.tile(of.tensor, {1, 1, capacity_}, {row, of.half, part}).keep({0, 2});
}

std::vector<Fragment> Row::loaded(const std::vector<RowOf>& of, const std::vector<Fragment>& with, Sym part) {
  std::vector<Fragment> out;
  for (const RowOf& o : of) {
    const std::pair key(o.tensor.id, o.half);
    if (const auto kept = kept_.find(key); kept != kept_.end()) {
      out.push_back(kept->second);
      continue;
    }
    out.push_back(k_.load(part_of(o, part), tv_, std::min(vector_, 128 / codegen::bits(o.tensor.element))));
    if (!streamed_) kept_.emplace(key, out.back());
  }
  out.insert(out.end(), with.begin(), with.end());
  return out;
}

Fragment Row::fold(Monoid monoid, const std::vector<RowOf>& of, const std::vector<Fragment>& with,
                   const Body& body, Where where) {
  const double beyond = codegen::empty_element(monoid);
  const auto part = [&](Sym t) {
    const Sym column = streamed_ ? capacity_ * t + k_.position(1) : k_.position(1);
    const Fragment x = k_.map(
        loaded(of, with, t),
        [&](const Exprs& a) { return inside(column, columns_, body(a, column), beyond); }, Element::f32,
        where);
    return k_.fold(monoid, x, 1, where);
  };
  if (!streamed_) return part(Sym(0));
  const Fragment all = k_.full(beyond, of_row(), {1, 1}, where);
  k_.loop(
      columns_, capacity_, {.distance = 0, .ring = 1},
      [&](Sym t) {
        k_.update(
            all, {part(t)},
            [&](const Exprs& a) {
              return monoid == Monoid::sum   ? a[0] + a[1]
                     : monoid == Monoid::max ? max(a[0], a[1])
                                             : min(a[0], a[1]);
            },
            where);
      },
      where);
  return all;
}

void Row::store(const Tensor& to, const std::vector<RowOf>& of, const std::vector<Fragment>& with,
                const Body& body, Where where) {
  const int most = std::min(vector_, 128 / codegen::bits(to.element));
  const auto part = [&](Sym t) {
    const Sym column = streamed_ ? capacity_ * t + k_.position(1) : k_.position(1);
    k_.store(k_.map(
                 loaded(of, with, t), [&](const Exprs& a) { return body(a, column); }, Element::f32, where),
             part_of(to, t), most, where);
  };
  if (!streamed_) return part(Sym(0));
  k_.loop(columns_, capacity_, {.distance = 0, .ring = 1}, part, where);
}

Fragment Row::load(const Tensor& of, Where where) {
  return k_.load(k_.tile(of, {1, 1}, {number_, 0}), of_row(), 1, where);
}
void Row::store(const Fragment& value, const Tensor& to, Where where) {
  k_.store(value, k_.tile(to, {1, 1}, {number_, 0}), 1, where);
}

std::pair<Fragment, Fragment> Row::exponentials(const Tensor& of) {
  const auto from = [](const Exprs& a) { return exp(a[0] - a[1]); };
  const auto number = [](const Exprs& a) { return least_number(a[0]); };
  if (!streamed_) {
    const Fragment most = fold(Monoid::max, {of}, {}, [](const Exprs& a, Sym) { return a[0]; });
    return {most, fold(Monoid::sum, {of}, {most}, [&](const Exprs& a, Sym) { return from(a); })};
  }
  // The sum is scaled by the maximum so far, and the first parts may be minus infinity all of them.
  const Fragment m = k_.full(-INFINITY, of_row(), {1, 1}), l = k_.zeros(Element::f32, of_row(), {1, 1});
  k_.loop(columns_, capacity_, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment x = k_.fill(loaded({of}, {}, t)[0], 1, capacity_ * t, columns_, -INFINITY);
    const Fragment most = k_.map(
        {m, k_.fold(Monoid::max, x, 1)}, [](const Exprs& a) { return max(a[0], a[1]); }, Element::f32);
    const Fragment least = k_.map({most}, number, Element::f32),
                   scale = k_.map(
                       {m, least},
                       [&](const Exprs&a) {
                         return from({number(a), a[1]});
                       },
                       Element::f32),
                   sum = k_.fold(Monoid::sum, k_.map({x, least}, from, Element::f32), 1);
    k_.update(l, {scale, sum}, [](const Exprs& a) { return a[0] * a[1] + a[2]; });
    k_.update(m, {most}, [](const Exprs& a) { return a[1]; });
  });
  return {k_.map({m}, number, Element::f32), l};
}

} // namespace inlay::kernels
