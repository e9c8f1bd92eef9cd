// A 64 x 64 GEMM with matrix instructions: four waves, LDS, a double-buffered loop.
#include "data.h"
#include "expect.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>
#include <inlay/kernels/lds_swizzle.h>

#include <cmath>
#include <iostream>

using namespace inlay;
using codegen::Atom, codegen::Element, codegen::Fragment, codegen::Tensor, codegen::MmaTiling;

// [mfma gemm]
codegen::Program gemm64(const codegen::Target& target) {
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, Element::bf16, Element::bf16, Element::f32, 16),
                                      2, 2, 64, 64, 64, 8);
  codegen::Program k("gemm64", target, mma.threads());
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            K = k.size("k", {.most = 1 << 20, .multiple = 8});
  const Tensor C = k.output("c", Element::f32, {M, N}), A = k.input("a", Element::bf16, {M, K}),
               B = k.input("b", Element::bf16, {N, K});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
  });

  const Sym bn = k.workgroups(0, N, 64), bm = k.workgroups(1, M, 64);
  const Layout rows = codegen::rows_tv(64, 64, 8, mma.threads());
  const Tensor a = kernels::conflict_free_tile(k, "lds_a", Element::bf16, 64, 64, 8, rows, mma.a()),
               b = kernels::conflict_free_tile(k, "lds_b", Element::bf16, 64, 64, 8, rows, mma.b());
  const Fragment acc = k.zeros(Element::f32, mma.c(), {64, 64});
  k.loop(K, 64, {.distance = 2, .ring = 2}, [&](Sym t) {
    k.copy(k.tile(A, {64, 64}, {bm, t}), a, rows, 8);
    k.copy(k.tile(B, {64, 64}, {bn, t}), b, rows, 8);
    const Fragment of_a = k.read(a, mma.a(), 8), of_b = k.read(b, mma.b(), 8);
    k.mma(acc, of_a, of_b, mma);
  });
  k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 4);
  return k;
}
// [mfma gemm end]

int main() {
  const kernels::Artifact artifact = kernels::build(gemm64(codegen::Target::named("MI355X")));
  std::cout << artifact.program;
  const std::size_t m = 70, n = 68, depth = 200;
  const kernels::Bytes a = to_bytes(Element::bf16, sample(m * depth)),
                       b = to_bytes(Element::bf16, sample(n * depth, 2));
  const auto device = kernels::open_device("emulator", artifact.arch);
  const auto after = kernels::run(*device, artifact, {kernels::Bytes(4 * m * n), a, b}, {70, 68, 200});
  const auto c = from_bytes(Element::f32, after[0]), x = from_bytes(Element::bf16, a),
             y = from_bytes(Element::bf16, b);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t q = 0; q < depth; ++q) sum += x[i * depth + q] * y[j * depth + q];
      expect(std::abs(c[i * n + j] - sum) < 1e-3, "element " + std::to_string(i * n + j));
    }
}
