// y = the sum of the rows of a table that a list names: each trip loads some ids, and the rows that these name.
#include "data.h"
#include "expect.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>

#include <cmath>
#include <iostream>

using namespace inlay;
using codegen::Element, codegen::Fragment, codegen::Monoid, codegen::Tensor;

// [embedding bag]
codegen::Program embedding_bag(const codegen::Target& target, bool masked) {
  constexpr int rows = 8, columns = 256;
  codegen::Program k("embedding_bag", target, 64);
  const Sym T = k.size("ids_in_bag", {.most = 1 << 10}), V = k.size("rows", {.most = 1 << 16}),
            D = k.size("columns", {.most = 1 << 10, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {1, D}), W = k.input("w", Element::f32, {V, D}),
               ids = k.input("ids", Element::i32, {T});
  k.computes(Y, [&](const auto& c) { return k.sum(T, [&](Sym p) { return k(W, {k.at(ids, p), c[1]}); }); });
  const Sym bd = k.workgroups(0, D, columns);
  const Layout tv = codegen::rows_tv(rows, columns, 4, 64);
  const Fragment sum = k.zeros(Element::f32, codegen::without_axis(tv, 0), {1, columns});
  k.loop(T, rows, {.distance = 2, .ring = 2}, [&](Sym t) {
    const Fragment named = k.load(k.tile(ids, {rows}, {t}), codegen::without_axis(tv, 1), 1);
    Fragment x = k.load(k.tile(W, {rows, columns}, {0, bd}).through(0, named), tv, 4);
    if (masked) x = k.fill(x, 0, rows * t, T, 0); // after the list's end an id is 0, and row 0 is not nothing
    k.update(sum, {k.fold(Monoid::sum, x, 0)}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(sum, k.tile(Y, {1, columns}, {0, bd}), 4);
  return k;
}
// [embedding bag end]

int main() {
  const codegen::Target& target = codegen::Target::named("MI300X");
  const kernels::Artifact artifact = kernels::build(embedding_bag(target, true));
  const std::size_t v = 7, d = 260;
  const kernels::Bytes w = to_bytes(Element::f32, sample(v * d));
  const std::vector<double> list = {3, 0, 6, 6, 1, -1, 7, 2, 5, 3, 3}; // -1 and 7 name no row
  const auto device = kernels::open_device("emulator", artifact.arch);
  const auto after = kernels::run(*device, artifact, {kernels::Bytes(4 * d), w, to_bytes(Element::i32, list)},
                                  {static_cast<std::int64_t>(list.size()), 7, 260});
  const auto y = from_bytes(Element::f32, after[0]), table = from_bytes(Element::f32, w);
  for (std::size_t i = 0; i < d; ++i) {
    double sum = 0;
    for (const double id : list)
      if (id >= 0 && id < 7) sum += table[static_cast<std::size_t>(id) * d + i];
    expect(std::abs(y[i] - sum) < 1e-5, "the sum of the rows");
  }
  try {
    (void)kernels::build(embedding_bag(target, false));
    expect(false, "a refusal");
  } catch (const kernels::ObligationError& e) {
    std::cout << e.what() << "\n";
  }
}
