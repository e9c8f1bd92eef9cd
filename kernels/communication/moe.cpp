// y(m,:) = sum over entries j and devices d of w(m,j) x_d(ids(m,j,d),:): mixture of experts over devices, rows of all devices brought to the
// experts of this one, and results brought back, weighted. Each device reads what tables name of the others.
#include "../page.h"
#include "between_devices.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {

// Entry (m,j) of a row has a number for each device: its row there, or none. One device's row is taken, the others count nothing.
// [moe_devices]
Program moe_devices_program(const MoeDevices& s) {
  check_vector(s.type, s.vector);
  if (s.threads % 64 != 0)
    throw std::invalid_argument(
        fmt::format("--threads {}\n  hint   whole waves, 64, 128, 192, ..", s.threads));
  const int v = s.width(), tile = s.threads * v, each = s.of_row(), D = s.devices;
  Program k(s.name(), Target::named(s.arch), s.threads);
  const Sym M = k.size("m", {.most = 1 << 22}), N = k.size("n", {.most = 1 << 16, .multiple = v}),
            R = k.size("rows", {.most = 1 << 22});
  k.devices(D);
  const Tensor Y = k.output("y", s.type, {M, N});
  const std::vector<Tensor> X = k.peers("x", s.type, {R, N});
  const Tensor ids = k.input("ids", Element::i32, {Sym(each * D) * M});
  std::optional<Tensor> W;
  if (s.weighted) W = k.input("weights", Element::f32, {M, each});
  const auto entry = [&](Sym row, int j, int d) { return Sym(each * D) * row + Sym(j * D + d); };
  // Of each entry what its devices have, and its weight after it.
  const auto combined = [&](const Exprs& a) {
    std::optional<Expr> all;
    const std::size_t size = at(D) + (s.weighted ? 1 : 0);
    for (std::size_t entry_at = 0; entry_at < a.size(); entry_at += size) {
      Expr x = a[entry_at];
      for (std::size_t d = 1; d < at(D); ++d) x = x + a[entry_at + d];
      if (s.weighted) x = x * a[entry_at + size - 1];
      all = all ? *all + x : x;
    }
    return *all;
  };
  k.computes(Y, [&](const auto& c) {
    Exprs a;
    for (int j = 0; j < each; ++j) {
      for (int d = 0; d < D; ++d) a.push_back(k(X[at(d)], {k.at(ids, entry(c[0], j, d)), c[1]}));
      if (W) a.push_back(k(*W, {c[0], j}));
    }
    return combined(a);
  });
  const Sym row = k.workgroups(0, M, 1), part = k.workgroups(1, N, tile);
  const Layout tv = codegen::rows_tv(1, tile, v, s.threads), of_row = codegen::without_axis(tv, 1);
  k.meet("signals"); // their rows are there
  std::vector<Fragment> a;
  for (int j = 0; j < each; ++j) {
    for (int d = 0; d < D; ++d)
      a.push_back(k.load(k.tile(X[at(d)], {1, tile}, {k.uniform(ids, entry(row, j, d)), part}), tv, v));
    if (W) a.push_back(k.load(k.tile(*W, {1, 1}, {row, j}), of_row, 1));
  }
  k.store(k.map(a, combined, s.type), k.tile(Y, {1, tile}, {row, part}), v);
  k.meet("signals"); // nobody reads mine any more
  return k;
}
// [moe_devices end]

} // namespace inlay::kernels
