// A kernel of one's own: y = x / (1 + exp(-x)) * g, proven, built, and run on the emulator.
#include "data.h"
#include "expect.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>

#include <cmath>
#include <iostream>

using namespace inlay;
using codegen::Element, codegen::Expr, codegen::Fragment, codegen::Tensor;

// [silu]
codegen::Program silu_mul(const codegen::Target& target) {
  codegen::Program k("silu_mul", target, 256);
  const Sym n = k.size("n", {.most = 1 << 28, .multiple = 8});
  const Tensor y = k.output("y", Element::f16, {n}), x = k.input("x", Element::f16, {n}),
               g = k.input("g", Element::f16, {n});
  const auto silu = [](Expr v, Expr w) { return v / (exp(v * -1.0) + 1.0) * w; };
  k.computes(y, [&](const auto& i) { return silu(k(x, {i[0]}), k(g, {i[0]})); });

  const Sym w = k.workgroups(0, n, 2048);
  const Layout tv = codegen::line_tv(2048, 8, 256); // 8 halves a work-item
  const Fragment a = k.load(k.tile(x, {2048}, {w}), tv, 8), b = k.load(k.tile(g, {2048}, {w}), tv, 8);
  k.store(k.map({a, b}, [&](const auto& v) { return silu(v[0], v[1]); }), k.tile(y, {2048}, {w}), 8);
  return k;
}
// [silu end]

int main() {
  const kernels::Artifact artifact = kernels::build(silu_mul(codegen::Target::named("MI300X")));
  std::cout << artifact.proofs.text();
  const std::size_t n = 5000;
  const kernels::Bytes x = to_bytes(Element::f16, sample(n, 4)), g = to_bytes(Element::f16, sample(n));
  const auto device = kernels::open_device("emulator", artifact.arch);
  const auto after = kernels::run(*device, artifact, {kernels::Bytes(2 * n), x, g}, {5000});
  const auto y = from_bytes(Element::f16, after[0]), xs = from_bytes(Element::f16, x),
             gs = from_bytes(Element::f16, g);
  for (std::size_t i = 0; i < n; ++i)
    expect(std::abs(y[i] - xs[i] / (1 + std::exp(-xs[i])) * gs[i]) < 4e-3, "element " + std::to_string(i));
  try {
    (void)artifact.contract.plan({5001}); // not a multiple of 8
    expect(false, "a refusal");
  } catch (const std::invalid_argument& e) {
    std::cout << e.what() << "\n";
  }
}
