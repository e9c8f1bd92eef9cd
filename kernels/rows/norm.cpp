// rmsnorm: y[m,n] = h[m,n] rsqrt(mean_j h[m,j]^2 + epsilon) w[n],   h = x, or x + r
// layernorm: y[m,n] = c[m,n] rsqrt(mean_j c[m,j]^2 + epsilon) w[n] + b[n],   c[m,n] = h[m,n] - mean_j h[m,j]
// In 8 bits y / scale[m] with scale[m] = max_n |y[m,n]| / largest number of the type.
#include "row.h"

#include "../program_names.h"

#include <inlay/kernels/build.h>

#include <cmath>

namespace inlay::kernels {
namespace {

// [norm]
Program norm_program(const RowSpec& s, bool centre) {
  const std::string name = centre ? "layernorm" : "rmsnorm";
  check_rows(name, s);
  const int capacity = s.capacity(), v = s.vector_length();
  Program k(name, Target::named(s.arch), s.threads, s.where);
  const Sym M = k.size("m"), N = k.size("n", {.most = s.streamed ? 1 << 24 : capacity, .multiple = v});
  std::optional<Tensor> H, S, R, B;
  const Tensor Y =
      s.over_input() ? k.inout("x", s.type, {M, N}) : k.output("y", s.quantised.value_or(s.type), {M, N});
  if (s.residual) H = s.in_place ? k.inout("r", s.type, {M, N}) : k.output("h", s.type, {M, N});
  if (s.quantised) S = k.output("scale", Element::f32, {M, 1});
  const Tensor X = s.over_input() ? Y : k.input("x", s.type, {M, N});
  if (s.residual) R = s.in_place ? *H : k.input("r", s.type, {M, N});
  const Tensor W = k.input("w", s.type, {1, N});
  if (centre) B = k.input("b", s.type, {1, N});

  // What is computed.
  const double largest = s.quantised ? codegen::largest_finite(*s.quantised) : 1;
  const auto scale_of = [&](Expr most) { return max(most, k.constant(least_scaled)) * (1 / largest); };
  const auto h = [&](Sym r, Sym i) { return s.residual ? k(X, {r, i}) + k(*R, {r, i}) : k(X, {r, i}); };
  const auto centred = [&](Sym r, Sym i) {
    return centre ? h(r, i) - k.sum(N, [&](Sym j) { return h(r, j); }) / k.number(N) : h(r, i);
  };
  const auto normalised = [&](Sym r, Sym i) {
    const Expr squares = k.sum(N, [&](Sym j) { return centred(r, j) * centred(r, j); });
    const Expr y = centred(r, i) * rsqrt(squares / k.number(N) + s.epsilon) * k(W, {0, i});
    return centre ? y + k(*B, {0, i}) : y;
  };
  const auto scale = [&](Sym r) {
    return scale_of(k.fold(Monoid::max, N, [&](Sym j) { return magnitude(normalised(r, j)); }));
  };
  k.computes(Y, [&](const auto& c) {
    return s.quantised ? normalised(c[0], c[1]) / scale(c[0]) : normalised(c[0], c[1]);
  });
  if (H) k.computes(*H, [&](const auto& c) { return h(c[0], c[1]); });
  if (S) k.computes(*S, [&](const auto& c) { return scale(c[0]); });

  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, capacity, v, s.threads);
  const auto inverse = [&](const Fragment& squares) {
    return k.map({squares}, [&](const Exprs& a) { return rsqrt(a[0] * rcp(k.number(N)) + s.epsilon); });
  };
  const auto weighted = [&](const std::vector<Fragment>& of) {
    return k.map(of, [&](const Exprs& a) { return centre ? a[0] * a[1] * a[2] + a[3] : a[0] * a[1] * a[2]; });
  };
  if (s.streamed) {
    // The row once for each fold, and once for what is written.
    const auto trips = [&](const auto& body) { k.loop(N, capacity, {.distance = 0, .ring = 1}, body); };
    const auto part = [&](const Tensor& of, Sym at, Sym t) {
      return k.load(k.tile(of, {1, capacity}, {at, t}), tv, v);
    };
    const auto sum = [&](const auto& of) {
      const Fragment total = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
      trips([&](Sym t) {
        k.update(total, {k.fold(Monoid::sum, of(t), 1)}, [](const Exprs& a) { return a[0] + a[1]; });
      });
      return total;
    };
    std::optional<Fragment> mean;
    if (centre)
      mean = k.map({sum([&](Sym t) { return part(X, row, t); })},
                   [&](const Exprs& a) { return a[0] * rcp(k.number(N)); });
    const auto moved = [&](Sym t) {
      if (!centre) return part(X, row, t);
      return k.map({part(X, row, t), *mean}, [&, t](const Exprs& a) {
        return inside(capacity * t + k.position(1), N, a[0] - a[1], 0);
      });
    };
    const Fragment squares =
        sum([&](Sym t) { return k.map({moved(t)}, [](const Exprs& a) { return a[0] * a[0]; }); });
    const Fragment by = inverse(squares);
    trips([&](Sym t) {
      std::vector<Fragment> of = {moved(t), by, part(W, 0, t)};
      if (centre) of.push_back(part(*B, 0, t));
      k.store(weighted(of), k.tile(Y, {1, capacity}, {row, t}), v);
    });
    return k;
  }
  // How: the row stays in registers, each fold is over all of it.
  const auto load = [&](const Tensor& of, Sym at) {
    return k.load(k.tile(of, {1, capacity}, {at, 0}), tv, v);
  };
  const auto store = [&](const Fragment& f, const Tensor& to) {
    k.store(f, k.tile(to, {1, capacity}, {row, 0}), v);
  };
  const auto inside_row = [&](Expr e, double beyond) { return inside(k.position(1), N, e, beyond); };
  std::optional<Fragment> w, b;
  const auto load_weights = [&] {
    w = load(W, 0);
    if (B) b = load(*B, 0);
  };
  // Loaded ahead they cost registers through the folds: where these do not suffice, after them.
  const bool ahead = s.vectors * v <= 32;
  Fragment x = load(X, row);
  if (ahead) load_weights();
  if (s.residual) {
    x = k.map(
        {x, load(*R, row)}, [](const Exprs& a) { return a[0] + a[1]; }, s.type);
    store(x, *H);
  }
  if (centre)
    x = k.map({x, k.fold(Monoid::sum, x, 1)},
              [&](const Exprs& a) { return inside_row(a[0] - a[1] * rcp(k.number(N)), 0); });
  const Fragment squares = k.fold(Monoid::sum, k.map({x}, [](const Exprs& a) { return a[0] * a[0]; }), 1);
  const Fragment by = inverse(squares);
  if (!ahead) load_weights();
  const Fragment y = weighted(centre ? std::vector{x, by, *w, *b} : std::vector{x, by, *w});
  if (!s.quantised) {
    store(y, Y);
    return k;
  }
  const Fragment most = k.fold(
      Monoid::max, k.map({y}, [&](const Exprs& a) { return inside_row(magnitude(a[0]), -INFINITY); }), 1);
  const Fragment of_row = k.map({most}, [&](const Exprs& a) { return scale_of(a[0]); });
  k.store(of_row, k.tile(*S, {1, 1}, {row, 0}), 1);
  const Fragment by_scale = k.map({of_row}, [](const Exprs& a) { return rcp(a[0]); });
  store(k.map({y, by_scale}, [](const Exprs& a) { return a[0] * a[1]; }), Y);
  return k;
}
// [norm end]

} // namespace

Program rmsnorm_program(const RowSpec& s) { return norm_program(s, false); }
Program layernorm_program(const RowSpec& s) { return norm_program(s, true); }

Artifact build_rmsnorm(const RowSpec& spec, const BuildOptions& options) {
  return build(rmsnorm_program(spec), options);
}
Artifact build_layernorm(const RowSpec& spec, const BuildOptions& options) {
  return build(layernorm_program(spec), options);
}

} // namespace inlay::kernels
