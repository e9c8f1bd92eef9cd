/// Sums that go on from workgroup to workgroup, for the tests of turns.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/codegen/target.h>

namespace inlay::running_sums {

/// carry(p, i) = sum over j < 8 (p + 1) of x(j, i): 8 rows by each workgroup, added to what the one before stored. `columns_too`:
/// workgroups beside one another take turns, too.
inline codegen::Program carried(const char* arch = "gfx942", bool columns_too = false) {
  using namespace codegen;
  Program k("carried", Target::named(arch), 128);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1000}), parts = ceil_div(n, Sym(8));
  const Tensor carry = k.output("carry", Element::f32, {parts, m}), x = k.input("x", Element::f32, {n, m});
  k.computes(carry, [&](const auto& c) {
    return k.sum(n, Sym(0), 8 * (c[0] + Sym(1)), [&](Sym j) { return k(x, {j, c[1]}); });
  });
  const Sym column = k.workgroups(0, m, 128), part = k.workgroups(1, n, 8);
  const Layout by_column = rows_tv(8, 128, 1, 128), one_row = without_axis(by_column, 0);
  const auto row_of = [&](Sym number) { return k.tile(carry, {1, 128}, {number, column}); };
  const Fragment own = k.fold(Monoid::sum, k.load(k.tile(x, {8, 128}, {part, column}), by_column, 1), 0);
  if (columns_too) k.await("columns", column);
  k.await("turn", part); // those before have stored their rows
  k.if_less(
      Sym(0), part,
      [&] {
        const Fragment before = k.load(row_of(part - Sym(1)), one_row, 1);
        k.store(k.map({own, before}, [](const auto& v) { return v[0] + v[1]; }), row_of(part), 1);
      },
      [&] { k.store(own, row_of(part), 1); });
  k.signal("turn");
  if (columns_too) k.signal("columns");
  return k;
}

} // namespace inlay::running_sums
