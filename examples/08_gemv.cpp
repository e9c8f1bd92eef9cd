// y = A x: each work-item sums its own columns in registers, and one fold after the loop joins them.
#include "data.h"
#include "expect.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>

#include <cmath>
#include <iostream>

using namespace inlay;
using codegen::Element, codegen::Fragment, codegen::Monoid, codegen::Tensor;

// [gemv]
codegen::Program gemv(const codegen::Target& target, bool folded) {
  constexpr int threads = 256, vector = 8, wide = threads * vector;
  codegen::Program k("gemv", target, threads);
  const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20, .multiple = vector});
  const Tensor Y = k.output("y", Element::f32, {M, 1}), A = k.input("a", Element::bf16, {M, N}),
               X = k.input("x", Element::bf16, {1, N});
  k.computes(Y, [&](const auto& c) {
    return k.sum(N, [&](Sym i) { return k(A, {c[0], i}) * k(X, {0, i}); });
  });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = codegen::rows_tv(1, wide, vector, threads);
  const Fragment sums = k.zeros(Element::f32, tv, {1, wide});
  k.loop(N, wide, {.distance = 2, .ring = 2}, [&](Sym t) {
    const Fragment a = k.load(k.tile(A, {1, wide}, {row, t}), tv, vector),
                   x = k.load(k.tile(X, {1, wide}, {0, t}), tv, vector);
    k.update(sums, {a, x}, [](const auto& v) { return v[0] + v[1] * v[2]; });
  });
  k.store(folded ? k.fold(Monoid::sum, sums, 1) : k.fold(Monoid::max, sums, 1), k.tile(Y, {1, 1}, {row, 0}),
          1);
  return k;
}
// [gemv end]

int main() {
  const codegen::Target& target = codegen::Target::named("MI300X");
  const kernels::Artifact artifact = kernels::build(gemv(target, true));
  const auto device = kernels::open_device("emulator", artifact.arch);
  for (const std::size_t n : {8, 2048, 5000}) {
    const std::size_t m = 3;
    const kernels::Bytes a = to_bytes(Element::bf16, sample(m * n)), x = to_bytes(Element::bf16, sample(n));
    const auto after =
        kernels::run(*device, artifact, {kernels::Bytes(4 * m), a, x}, {3, static_cast<std::int64_t>(n)});
    const auto y = from_bytes(Element::f32, after[0]), av = from_bytes(Element::bf16, a),
               xv = from_bytes(Element::bf16, x);
    for (std::size_t r = 0; r < m; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += av[r * n + i] * xv[i];
      expect(std::abs(y[r] - sum) < 1e-3, "the product");
    }
  }
  try {
    (void)kernels::build(gemv(target, false)); // the largest of the parts is no sum of them
    expect(false, "a refusal");
  } catch (const kernels::ObligationError& e) {
    std::cout << e.what() << "\n";
  }
}
