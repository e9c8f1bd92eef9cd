// Y[t,h,0,i] = X[t,h,0,i] cos[p,i] - X[t,h,1,i] sin[p,i], Y[t,h,1,i] = X[t,h,1,i] cos[p,i] + X[t,h,0,i] sin[p,i], p = positions[t].
#include "../program_names.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/rope/spec.h>

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Index;

void check(const RopeSpec& s) {
  const Refusal refuse{"rope"};
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse("type", to_string(s.type), "f16, bf16 or f32; the arithmetic is f32 in any case");
  if (s.head_dim < 32 || s.head_dim > 512 || !std::has_single_bit(static_cast<unsigned>(s.head_dim)))
    refuse("head_dim", std::to_string(s.head_dim), "32, 64, 128, 256 or 512");
  if (s.threads != 64 && s.threads != 128 && s.threads != 256)
    refuse("threads", std::to_string(s.threads), "64, 128 or 256");
}

} // namespace

// [rope]
Program rope_program(const RopeSpec& s) {
  check(s);
  const int half = s.head_dim / 2, heads = s.heads(), v = s.vector_length();
  Program k("rope", Target::named(s.arch), s.threads, s.where);
  const Sym T = k.size("tokens", {.most = 1 << 22}), H = k.size("heads", {.most = 1 << 10}),
            P = k.size("rows", {.most = 1 << 22});
  const Tensor Y = s.in_place ? k.inout("x", s.type, {T, H, 2, half})
                              : k.output("y", s.type, {T, H, 2, half}),
               X = s.in_place ? Y : k.input("x", s.type, {T, H, 2, half}),
               positions = k.input("positions", Element::i32, {T}), cos = k.input("cos", s.type, {P, half}),
               sin = k.input("sin", s.type, {P, half});
  k.computes(Y, [&](const auto& c) {
    const Index at = k.at(positions, c[0]);
    const Sym other = Sym(1) - c[2]; // of the two halves; the first has its product with the sine subtracted
    return k(X, {c[0], c[1], c[2], c[3]}) * k(cos, {at, c[3]}) +
           k.number(Sym(2) * c[2] - Sym(1)) * k(X, {c[0], c[1], other, c[3]}) * k(sin, {at, c[3]});
  });

  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, H, heads),
            row = k.uniform(positions, token);
  const Layout tv = codegen::rows_tv(heads, half, v, s.threads), of_table = codegen::without_axis(tv, 0);
  const auto tile = [&](const Tensor& of, int which) {
    return k.tile(of, {1, heads, 1, half}, {token, part, which, 0}).keep({1, 3});
  };
  const auto load = [&](const Tensor& of) { return k.load(k.tile(of, {1, half}, {row, 0}), of_table, v); };
  const Fragment low = k.load(tile(X, 0), tv, v), high = k.load(tile(X, 1), tv, v), c = load(cos),
                 n = load(sin);
  k.store(k.map({low, c, high, n}, [](const Exprs& a) { return a[0] * a[1] - a[2] * a[3]; }), tile(Y, 0), v);
  k.store(k.map({high, c, low, n}, [](const Exprs& a) { return a[0] * a[1] + a[2] * a[3]; }), tile(Y, 1), v);
  return k;
}
// [rope end]

Artifact build_rope(const RopeSpec& spec, const BuildOptions& options) {
  return build(rope_program(spec), options);
}

} // namespace inlay::kernels
