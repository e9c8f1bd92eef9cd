// y[b,g,c,p] = (x[b,g,c,p] - mean) / sqrt(variance + epsilon) w[g,c] + bias[g,c], mean and variance over c and p: images, channels
// before pixels (NCHW).
#include "group_norm.h"

namespace inlay::kernels {

void check_group_norm(const GroupNormAsked& s) {
  const Refusal refuse{"group_norm"};
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse(fmt::format("--dtype {}", to_string(s.type)),
           "f16, bf16 or f32; the arithmetic is f32 in any case");
  if (s.threads != 64 && s.threads != 128 && s.threads != 256 && s.threads != 512 && s.threads != 1024)
    refuse(fmt::format("--threads {}", s.threads), "64, 128, 256, 512 or 1024");
  check_vectors(refuse, s);
  const int v = s.vector_length();
  if (s.channels * v > (s.threads == 1024 ? 64 : 128))
    refuse(fmt::format("--channels {} with --vector {}", s.channels, v),
           fmt::format("fewer elements a vector: a work-item has channels * vector elements, at most {}",
                       s.threads == 1024 ? 64 : 128));
}

// A workgroup has a group of an image: its channels side by side, pixels in parts. The mean is one reading of it, the variance another,
// of (x - mean)^2, and what is stored a third; not streamed, all three are of the same registers.
// [group_norm]
Program group_norm_program(const GroupNormAsked& s) {
  check_group_norm(s);
  const int v = s.vector_length(), wide = s.wide(), C = s.channels;
  Program k("group_norm", Target::named(s.arch), s.threads);
  const Sym B = k.size("b", {.most = 65535}), G = k.size("groups", {.most = 1 << 16}),
            P = k.size("pixels", {.most = s.streamed ? 1 << 20 : wide, .multiple = v});
  const Tensor Y = k.output("y", s.type, {B, G, C, P}), X = k.input("x", s.type, {B, G, C, P}),
               W = k.input("w", s.type, {G, C, 1}), Bias = k.input("bias", s.type, {G, C, 1});
  const auto sum = [&](const std::function<Expr(Sym, Sym)>& of) {
    return k.sum(P, [&](Sym i) { return k.sum(Sym(C), [&](Sym c) { return of(c, i); }); });
  };
  const auto part = [&](Expr e) { return e * rcp(k.number(Sym(C) * P)); };
  k.computes(Y, [&](const auto& at) {
    const auto x = [&](Sym c, Sym i) { return k(X, {at[0], at[1], c, i}); };
    const auto moved = [&](Sym c, Sym i) { return x(c, i) - part(sum(x)); };
    const Expr variance = part(sum([&](Sym c, Sym i) { return moved(c, i) * moved(c, i); }));
    return moved(at[2], at[3]) * rsqrt(variance + s.epsilon) * k(W, {at[1], at[2], 0}) +
           k(Bias, {at[1], at[2], 0});
  });

  const Sym group = k.workgroups(0, G, 1), image = k.workgroups(1, B, 1);
  const Layout tv = codegen::rows_tv(C, wide, v, s.threads), of_channel = codegen::without_axis(tv, 1),
               of_group = codegen::without_axis(of_channel, 0);
  const auto tile = [&](const Tensor& of, Sym t) {
    return k.tile(of, {1, 1, C, wide}, {image, group, 0, t}).keep({2, 3});
  };
  std::optional<Fragment> kept;
  const auto load = [&](Sym t) {
    if (s.streamed) return k.load(tile(X, t), tv, v);
    if (!kept) kept = k.load(tile(X, t), tv, v);
    return *kept;
  };
  const auto trips = [&](const std::function<void(Sym)>& body) {
    if (!s.streamed) return body(Sym(0));
    k.loop(P, wide, {.distance = 0, .ring = 1}, body);
  };
  const auto mean = [&](const std::function<Fragment(Sym)>& of) {
    std::optional<Fragment> all;
    if (s.streamed) all = k.zeros(Element::f32, of_group, {1, 1});
    trips([&](Sym t) {
      // What stands between the folds says that each of the inner ones is whole.
      const Fragment of_pixel = k.map({k.fold(Monoid::sum, of(t), 0)}, [](const Exprs&a) { return a[0]; }),
                     one = k.fold(Monoid::sum, of_pixel, 1);
      if (s.streamed)
        k.update(*all, {one}, [](const Exprs& a) { return a[0] + a[1]; });
      else
        all = one;
    });
    return k.map({*all}, [&](const Exprs& a) { return part(a[0]); });
  };
  const Fragment m = mean(load);
  const auto moved = [&](Sym t) {
    return k.map({load(t), m}, [&, t](const Exprs& a) {
      return inside((s.streamed ? wide * t : Sym(0)) + k.position(1), P, a[0] - a[1], 0);
    });
  };
  const Fragment variance =
      mean([&](Sym t) { return k.map({moved(t)}, [](const Exprs& a) { return a[0] * a[0]; }); });
  const Fragment by = k.map({variance}, [&](const Exprs& a) { return rsqrt(a[0] + s.epsilon); });
  const auto weight = [&](const Tensor& of) {
    return k.load(k.tile(of, {1, C, 1}, {group, 0, 0}).keep({1, 2}), of_channel, 1);
  };
  const Fragment w = weight(W), b = weight(Bias);
  trips([&](Sym t) {
    k.store(k.map({moved(t), by, w, b}, [](const Exprs& a) { return a[0] * a[1] * a[2] + a[3]; }), tile(Y, t),
            v);
  });
  return k;
}
// [group_norm end]

} // namespace inlay::kernels
