// Softmax of rows with one wave a row: a fold within the wave, and what happens when the maximum forgets the end of the row.
#include "data.h"
#include "expect.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>

#include <algorithm>
#include <cmath>
#include <iostream>

using namespace inlay;
using codegen::Element, codegen::Fragment, codegen::Monoid, codegen::Tensor;

// [row softmax]
codegen::Program row_softmax(const codegen::Target& target, bool filled) {
  codegen::Program k("row_softmax", target, 64);
  const Sym M = k.size("m"), N = k.size("n", {.most = 512, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {M, N}), X = k.input("x", Element::f32, {M, N});
  k.computes(Y, [&](const auto& c) {
    const auto e = [&](Sym i) {
      return exp(k(X, {c[0], i}) - k.fold(Monoid::max, N, [&](Sym j) { return k(X, {c[0], j}); }));
    };
    return e(c[1]) / k.sum(N, e);
  });
  const Sym row = k.workgroups(0, M, 1);
  Fragment x = k.load(k.tile(X, {1, 512}, {row, 0}), codegen::rows_tv(1, 512, 4, 64), 4);
  if (filled) x = k.fill(x, 1, 0, N, -INFINITY);
  const Fragment e = k.map({x, k.fold(Monoid::max, x, 1)}, [](const auto& v) { return exp(v[0] - v[1]); });
  k.store(k.map({e, k.fold(Monoid::sum, e, 1)}, [](const auto& v) { return v[0] / v[1]; }),
          k.tile(Y, {1, 512}, {row, 0}), 4);
  return k;
}
// [row softmax end]

int main() {
  const codegen::Target& target = codegen::Target::named("MI355X");
  const kernels::Artifact artifact = kernels::build(row_softmax(target, true));
  const std::size_t m = 3, n = 300;
  const kernels::Bytes x = to_bytes(Element::f32, sample(m * n, 8));
  const auto device = kernels::open_device("emulator", artifact.arch);
  const auto after = kernels::run(*device, artifact, {kernels::Bytes(4 * m * n), x}, {3, 300});
  const auto y = from_bytes(Element::f32, after[0]), v = from_bytes(Element::f32, x);
  for (std::size_t r = 0; r < m; ++r) {
    const auto row = v.begin() + static_cast<std::ptrdiff_t>(r * n);
    const double top = *std::max_element(row, row + n);
    double sum = 0;
    for (std::size_t c = 0; c < n; ++c) sum += std::exp(v[r * n + c] - top);
    for (std::size_t c = 0; c < n; ++c)
      expect(std::abs(y[r * n + c] - std::exp(v[r * n + c] - top) / sum) < 1e-6, "the softmax");
  }
  try {
    (void)kernels::build(
        row_softmax(target, false)); // beyond the row the descriptor gives 0, which may be the largest
    expect(false, "a refusal");
  } catch (const kernels::ObligationError& e) {
    std::cout << e.what() << "\n";
  }
}
