/// A product by roles, for the tests of what becomes of it.
#pragma once

#include <inlay/codegen/atoms.h>
#include <inlay/codegen/program.h>
#include <inlay/codegen/target.h>

namespace inlay::role_product {

/// C = A B^T, 64 x 64 tiles: two waves load, two multiply.
inline codegen::Program product(const char* arch = "gfx942", codegen::Pipeline pipeline = {}) {
  using namespace codegen;
  const Target& target = Target::named(arch);
  const MmaTiling mma = MmaTiling::of(Atom::mma_of(target, Element::f16, Element::f16, Element::f32, 16, 16),
                                      2, 1, 64, 64, 64, 8);
  Program k("product", target, 256);
  const Sym m = k.size("m", {.most = 1 << 16}), n = k.size("n", {.most = 1 << 16}),
            d = k.size("k", {.most = 1 << 16, .multiple = 8});
  const Tensor C = k.output("c", Element::f32, {m, n}), A = k.input("a", Element::f16, {m, d}),
               B = k.input("b", Element::f16, {n, d});
  k.computes(C, [&](const auto& c) {
    return k.sum(d, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
  });
  const Sym bn = k.workgroups(0, n, 64), bm = k.workgroups(1, m, 64);
  const Tensor a = k.lds("lds_a", Element::f16, {64, 64}, Swizzle(3, 3, 3)),
               b = k.lds("lds_b", Element::f16, {64, 64}, Swizzle(3, 3, 3));
  // [roles]
  const Layout by_rows = rows_tv(64, 64, 8, 128);
  Fragment acc;
  k.roles({{"producer", 2, {}}, {"consumer", 2, [&] { acc = k.zeros(Element::f32, mma.c(), {64, 64}); }}});
  k.loop(d, 64, pipeline, [&](Sym t) {
    k.roles({{"producer", 2,
              [&] {
                k.copy(k.tile(A, {64, 64}, {bm, t}), a, by_rows, 8);
                k.copy(k.tile(B, {64, 64}, {bn, t}), b, by_rows, 8);
              }},
             {"consumer", 2, [&] {
                const Fragment of_a = k.read(a, mma.a(), 8), of_b = k.read(b, mma.b(), 8);
                k.mma(acc, of_a, of_b, mma);
              }}});
  });
  k.roles({{"producer", 2, {}}, {"consumer", 2, [&] { k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 1); }}});
  // [roles end]
  return k;
}

} // namespace inlay::role_product
