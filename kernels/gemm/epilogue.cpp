// What becomes of the sums of a tile: D[m,n] = finished(sum[m,n]), and amax; or sum[m,n] = sum over r of parts[m,n,r] first.
#include "epilogue.h"

#include <cmath>
#include <numeric>

namespace inlay::kernels::gemm {

ResultTile::ResultTile(const GemmTensors& of, const MmaTiling& mma)
    : k(of.k), s(of.s), columns(column_order(s, mma)), down(scaled_order(s, s.waves_m, s.tile_m)),
      across(is_mx(s) ? scaled_order(s, s.waves_n, s.tile_n) : columns) {
  bn = k.workgroups(0, of.N, s.tile_n), bm = k.workgroups(1, of.M, s.tile_m);
  k.order_tiles(s.order);
}
View ResultTile::of(const Tensor& matrix) const {
  return in_columns(in_rows(k.tile(matrix, {s.tile_m, s.tile_n}, {bm, bn})), 1);
}
View ResultTile::of_parts(const Tensor& matrix, int count, Sym number) const {
  return in_columns(in_rows(k.tile(matrix, {s.tile_m, s.tile_n, count}, {bm, bn, number})), 1);
}

Epilogue::Epilogue(const GemmTensors& of, const ResultTile& tile, const MmaTiling& mma)
    : of_(of), tile_(tile), mma_(mma), k_(of.k), s_(of.s),
      swaps_(!tile.columns && exchanges_columns(s_, k_.target(), mma)),
      all_(results(s_, mma, tile.columns.has_value())),
      columns_(adjacent_columns(s_, tile.columns.has_value())) {}

void Epilogue::put(const Fragment& sum, Where where) const {
  if (s_.adds()) return k_.add(sum, tile_.of(of_.C), where);
  // Rows that are apart by any number are aligned as n and that are.
  const int widest = adjacent_columns(s_, tile_.columns.has_value() || swaps_);
  k_.store(swaps_ ? k_.relayout(sum, mma_.c_by_eights(), s_.out, codegen::Nan::kept, where) : sum,
           tile_.of(of_.C), s_.padded.d && bits(s_.out) != 32 ? std::gcd(of_.multiple_n, widest) : widest,
           where);
}

std::vector<Fragment> Epilogue::operands(const Fragment& sum, Where where) const {
  const Layout row = without_axis(mma_.c(), 1), column = without_axis(mma_.c(), 0);
  const auto of_columns = [&](const Tensor& from) {
    const int at_once = s_.preshuffled_b ? 4 : 1; // N is a multiple of 16 then
    return k_.load(tile_.in_columns(k_.tile(from, {1, s_.tile_n}, {0, tile_.bn}), 1), column, at_once, where);
  };
  const auto of_rows = [&](const Tensor& from) {
    return k_.load(tile_.in_rows(k_.tile(from, {s_.tile_m, 1}, {tile_.bm, 0})), row, 1, where);
  };
  const auto of_all = [&](const Tensor& from) {
    return k_.load(tile_.of(from), all_, std::gcd(of_.multiple_n, columns_), where);
  };
  const auto number = [&](const Tensor& from) {
    return k_.load(k_.tile(from, {1, 1}, {0, 0}), without_axis(row, 0), 1, where);
  };
  std::vector<Fragment> of = {sum};
  if (s_.scales) of.push_back(of_rows(*of_.SA)), of.push_back(of_columns(*of_.SB));
  if (s_.alpha) of.push_back(number(*of_.alpha));
  if (s_.adds_c()) of.push_back(number(*of_.beta)), of.push_back(of_all(*of_.added));
  if (s_.bias) of.push_back(of_columns(*of_.bias));
  if (s_.row_bias) of.push_back(of_rows(*of_.row_bias));
  if (s_.residual) of.push_back(of_all(*of_.residual));
  return of;
}

void Epilogue::store(const Fragment& sum, Where where) const {
  if (!s_.weighted() && !tile_.columns && !swaps_ && !of_.amax) return put(sum, where);
  const std::vector<Fragment> of = operands(sum, where);
  const auto of_sum = [&](const Exprs& x) { return of_.finished(x); };
  if (!of_.amax) return put(k_.map(all_, of, of_sum, s_.out, where), where);
  const Fragment exact = k_.map(all_, of, of_sum, Element::f32, where);
  put(exact, where);
  const Fragment sizes = k_.map(
      {exact},
      [&](const Exprs& x) {
        return inside(s_.tile_n * tile_.bn + k_.position(1), of_.N, magnitude(x[0]), -INFINITY);
      },
      Element::f32, where);
  k_.store(k_.fold(Monoid::max, sizes, 1, where), k_.tile(*of_.amax, {s_.tile_m, 1}, {tile_.bm, tile_.bn}), 1,
           where);
}

void Epilogue::fixup(const Fragment& acc, Sym part, Where where) const {
  const int together = s_.in == Element::f64 ? columns_ : 4;
  const auto plus = [](const Exprs& x) { return x[0] + x[1]; };
  k_.store(acc, tile_.of_parts(*of_.P, 1, part), together, where);
  const Sym number = k_.ticket("arrived", part, where);
  const auto add_parts = [&](const Fragment& sum, Sym t) {
    if (s_.in == Element::i8 || s_.in == Element::f64) { // a fold would be one of f32
      std::vector<Fragment> some;
      for (int e = 0; e < s_.at_once; ++e)
        some.push_back(
            k_.load(tile_.of_parts(*of_.P, 1, Sym(s_.at_once) * t + Sym(e)), mma_.c(), together, where));
      for (const Fragment& one : some) k_.update(sum, {one}, plus, where);
      return;
    }
    const Layout of_some = s_.at_once > 1 ? with_parts(mma_.c(), s_.at_once) : mma_.c();
    const Fragment some = k_.load(tile_.of_parts(*of_.P, s_.at_once, t), of_some, 4, where);
    k_.update(sum, {k_.fold(Monoid::sum, some, 2, where)}, plus, where);
  };
  const auto all = [&] { // of the last one
    const Fragment sum = k_.zeros(mma_.mma().c_element, mma_.c(), {s_.tile_m, s_.tile_n}, where);
    k_.loop(
        of_.parts, s_.at_once, {.distance = 0, .ring = 1}, [&](Sym t) { add_parts(sum, t); }, where);
    store(sum, where);
  };
  k_.if_less(of_.parts - Sym(2), number, all, {}, where);
}

} // namespace inlay::kernels::gemm
