// Softmax and RMS normalisation of rows, one workgroup a row.
#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/rows/spec.h>

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Expr;
using codegen::Fragment;
using codegen::Monoid;
using codegen::Program;
using codegen::rows_tv;
using codegen::Target;
using codegen::Tensor;
using Exprs = std::vector<Expr>;

void check(const std::string& kernel, const RowSpec& s) {
  const auto refuse = [&](const std::string& field, const std::string& value, const std::string& hint) {
    throw std::invalid_argument(
        fmt::format("{}: {} = {} is not supported\n  hint   {}", kernel, field, value, hint));
  };
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse("type", to_string(s.type), "f16 or bf16; the arithmetic is f32 in any case");
  if (s.threads < 64 || s.threads > 1024 || !std::has_single_bit(static_cast<unsigned>(s.threads)))
    refuse("threads", std::to_string(s.threads), "64, 128, 256, 512 or 1024");
  if (s.vectors < 1 || s.vectors > 16) refuse("vectors", std::to_string(s.vectors), "1 to 16");
  if (!(s.epsilon >= 0) || std::isinf(s.epsilon))
    refuse("epsilon", std::to_string(s.epsilon), "a number that is not negative");
}

} // namespace

// [softmax]
Program softmax_program(const RowSpec& s) {
  check("softmax", s);
  const int capacity = s.capacity();
  Program k("softmax", Target::named(s.arch), s.threads, s.where);
  const Sym M = k.size("m"), N = k.size("n", {.most = capacity, .multiple = 8});
  const Tensor Y = k.output("y", s.type, {M, N}), X = k.input("x", s.type, {M, N});
  k.computes(Y, [&](const auto& c) {
    const auto shifted = [&](Sym i) {
      return exp(k(X, {c[0], i}) - k.fold(Monoid::max, N, [&](Sym j) { return k(X, {c[0], j}); }));
    };
    return shifted(c[1]) / k.sum(N, shifted);
  });

  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, capacity, 8, s.threads);
  const Fragment x = k.fill(k.load(k.tile(X, {1, capacity}, {row, 0}), tv, 8), 1, 0, N, -INFINITY);
  const Fragment e = k.map({x, k.fold(Monoid::max, x, 1)}, [](const Exprs& v) { return exp(v[0] - v[1]); });
  const Fragment y = k.map({e, k.fold(Monoid::sum, e, 1)}, [](const Exprs& v) { return v[0] / v[1]; });
  k.store(y, k.tile(Y, {1, capacity}, {row, 0}), 8);
  return k;
}
// [softmax end]

Program rmsnorm_program(const RowSpec& s) {
  check("rmsnorm", s);
  const int capacity = s.capacity();
  Program k("rmsnorm", Target::named(s.arch), s.threads, s.where);
  const Sym M = k.size("m"), N = k.size("n", {.most = capacity, .multiple = 8});
  const Tensor Y = k.output("y", s.type, {M, N}), X = k.input("x", s.type, {M, N}),
               W = k.input("w", s.type, {1, N});
  k.computes(Y, [&](const auto& c) {
    const Expr squares = k.sum(N, [&](Sym j) { return k(X, {c[0], j}) * k(X, {c[0], j}); });
    return k(X, {c[0], c[1]}) * rsqrt(squares / k.number(N) + s.epsilon) * k(W, {0, c[1]});
  });

  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, capacity, 8, s.threads);
  const Fragment x = k.load(k.tile(X, {1, capacity}, {row, 0}), tv, 8),
                 w = k.load(k.tile(W, {1, capacity}, {0, 0}), tv, 8);
  const Fragment squares = k.fold(Monoid::sum, k.map({x}, [](const Exprs& v) { return v[0] * v[0]; }), 1);
  const Fragment scale =
      k.map({squares}, [&](const Exprs& v) { return rsqrt(v[0] * rcp(k.number(N)) + s.epsilon); });
  const Fragment y = k.map({x, scale, w}, [](const Exprs& v) { return v[0] * v[1] * v[2]; });
  k.store(y, k.tile(Y, {1, capacity}, {row, 0}), 8);
  return k;
}

Artifact build_softmax(const RowSpec& spec, const BuildOptions& options) {
  return build(softmax_program(spec), options);
}
Artifact build_rmsnorm(const RowSpec& spec, const BuildOptions& options) {
  return build(rmsnorm_program(spec), options);
}

} // namespace inlay::kernels
