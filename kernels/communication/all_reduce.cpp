// y[i] = sum over devices d of x_d[i], or of x_d[rank,i]; y[d,i] = x_d[i]: one-shot all-reduce and reduce-scatter, all elements in the order
// of the devices, so that all devices have the same bits, in every launch; and all-gather, the parts beside one another.
#include "between_devices.h"

#include <fmt/format.h>
#include <numeric>

namespace inlay::kernels {
namespace {

constexpr int threads = 256;

} // namespace

void check_vector(Element type, int vector) {
  if ((vector & (vector - 1)) != 0 || vector > 128 / codegen::bits(type))
    throw std::invalid_argument(
        fmt::format("--vector {}\n  hint   1, 2, 4, of 16 bits also 8; 0 for 16 bytes", vector));
}

// [all_reduce]
Program reduce_program(const BetweenDevices& s, bool scatters) {
  check_vector(s.type, s.vector);
  Program k(scatters ? "reduce_scatter" : "all_reduce", Target::named(s.arch), threads);
  const int v = s.width(), tile = threads * v * s.vectors;
  const Sym N = k.size("n", {.most = s.most(), .multiple = v}), rank = k.devices(s.devices);
  const Tensor Y = k.output("y", s.type, {N});
  const std::vector<Tensor> X = scatters ? k.peers("x", s.type, {s.devices, N}) : k.peers("x", s.type, {N});
  const auto sum = [](const Exprs& x) { return std::accumulate(x.begin() + 1, x.end(), x[0]); };
  k.computes(Y, [&](const auto& c) {
    Exprs x;
    for (const Tensor& t : X) x.push_back(scatters ? k(t, {rank, c[0]}) : k(t, {c[0]}));
    return sum(x);
  });
  const Sym part = k.workgroups(0, N, tile);
  const Layout tv = codegen::line_tv(tile, v, threads);
  k.meet("signals"); // their inputs are there
  std::vector<Fragment> x;
  for (const Tensor& t : X)
    x.push_back(
        k.load(scatters ? k.tile(t, {1, tile}, {rank, part}).keep({1}) : k.tile(t, {tile}, {part}), tv, v));
  k.store(k.map(x, sum, s.type), k.tile(Y, {tile}, {part}), v);
  k.meet("signals"); // nobody reads mine any more
  return k;
}
// [all_reduce end]

// [all_gather]
Program gather_program(const BetweenDevices& s) {
  check_vector(s.type, s.vector);
  Program k("all_gather", Target::named(s.arch), threads);
  const int v = s.width(), tile = threads * v * s.vectors;
  const Sym N = k.size("n", {.most = s.most(), .multiple = v});
  k.devices(s.devices);
  const Tensor Y = k.output("y", s.type, {s.devices, N});
  const std::vector<Tensor> X = k.peers("x", s.type, {N});
  k.computes(Y, [&](const auto& c) { // of device c[0]
    Expr x = k(X[0], {c[1]});
    for (int d = 1; d < s.devices; ++d)
      x = select(k.number(c[0]), k.constant(d), k(X[static_cast<std::size_t>(d)], {c[1]}), x);
    return x;
  });
  const Sym part = k.workgroups(0, N, tile);
  const Layout tv = codegen::line_tv(tile, v, threads);
  k.meet("signals"); // their parts are there
  std::vector<Fragment> x;
  for (const Tensor& t : X) x.push_back(k.load(k.tile(t, {tile}, {part}), tv, v));
  for (int d = 0; d < s.devices; ++d)
    k.store(x[static_cast<std::size_t>(d)], k.tile(Y, {1, tile}, {d, part}).keep({1}), v);
  k.meet("signals"); // nobody reads mine any more
  return k;
}
// [all_gather end]

} // namespace inlay::kernels
