// y[ids[t],:] = x[t,:], or += x[t,:] (the gradient of an embedding): rows that a table names, written.
#include "by_table.h"

#include <algorithm>
#include <bit>

namespace inlay::kernels {
namespace {

// [scatter_rows]
Program put_program(const ByTable& s) {
  const int v = s.vector_length(), tile = s.threads * v;
  Program k("scatter_rows", Target::named(s.arch), s.threads);
  const Sym T = k.size("tokens", {.most = 1 << 24}), V = k.size("rows", {.most = 1 << 24}),
            N = k.size("n", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.inout("y", s.type, {V, N}), X = k.input("x", s.type, {T, N}),
               ids = k.input("ids", Element::i32, {T});
  k.puts(Y, ids, [&](const auto& c) { return k(X, {c[0], c[1]}); });
  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, N, tile), row = k.uniform(ids, token);
  k.store(k.load(k.tile(X, {1, tile}, {token, part}), codegen::rows_tv(1, tile, v, s.threads), v),
          k.tile(Y, {1, tile}, {row, part}), v);
  return k;
}
// [scatter_rows end]

// [scatter_add]
Program scatter_program(const ByTable& s) {
  const int v = std::min(s.vector_length(), 4), tile = s.threads * v;
  // An atomic's offset has 32 bits: 2 GiB of sums, shared out between rows and columns by the columns that are asked for.
  const auto columns =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(s.n, 1024))));
  Program k("scatter_add", Target::named(s.arch), s.threads);
  const Sym T = k.size("tokens", {.most = 1 << 24}), V = k.size("rows", {.most = (1 << 29) / columns - 1}),
            N = k.size("n", {.most = columns, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {V, N}), X = k.input("x", s.type, {T, N}),
               ids = k.input("ids", Element::i32, {T});
  k.scatters(Y, ids, [&](const auto& c) { return k(X, {c[0], c[1]}); });
  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, N, tile);
  const Layout tv = codegen::rows_tv(1, tile, v, s.threads);
  const Fragment row = k.load(k.tile(ids, {1}, {token}), codegen::without_axis(tv, 1), 1);
  const Fragment x = k.load(k.tile(X, {1, tile}, {token, part}), tv, v);
  k.add(k.map({x}, [](const auto& a) { return a[0]; }), k.tile(Y, {1, tile}, {0, part}).through(0, row));
  return k;
}
// [scatter_add end]

// Each row once, in any order, the first and the last among them; some ids are no row.
void ids_once(const ByTable& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  std::mt19937_64 random(seed);
  std::vector<double> ids(static_cast<std::size_t>(s.rows));
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), random);
  ids.resize(static_cast<std::size_t>(s.tokens), -1);
  if (s.tokens > 2) ids[1] = -7, ids[2] = static_cast<double>(s.rows);
  w.set("ids", ids);
}

std::vector<Judged> put_reference(const ByTable& s, const Workload& w, const Results&) {
  Judged y{"y", w.values("y"), {}, "0"};
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    const double id = w.values("ids")[static_cast<std::size_t>(t)];
    if (id < 0 || id >= static_cast<double>(s.rows)) continue;
    for (std::int64_t c = 0; c < s.n; ++c)
      y.value[static_cast<std::size_t>(static_cast<std::int64_t>(id) * s.n + c)] =
          w.values("x")[static_cast<std::size_t>(t * s.n + c)];
  }
  y.bound.assign(y.value.size(), 0);
  return {y};
}

std::vector<Judged> scatter_reference(const ByTable& s, const Workload& w, const Results&) {
  const std::vector<double>& x = w.values("x");
  const auto n = static_cast<std::size_t>(s.n);
  Judged y{"y", std::vector<double>(static_cast<std::size_t>(s.rows) * n),
           std::vector<double>(static_cast<std::size_t>(s.rows) * n), "tokens 2^-24 sum |x|, in any order"};
  for (std::size_t t = 0; t < w.values("ids").size(); ++t) {
    const double id = w.values("ids")[t];
    if (id < 0 || id >= static_cast<double>(s.rows)) continue;
    for (std::size_t c = 0; c < n; ++c) {
      const std::size_t at = static_cast<std::size_t>(id) * n + c;
      y.value[at] += x[t * n + c];
      y.bound[at] += static_cast<double>(s.tokens) * u32 * std::abs(x[t * n + c]);
    }
  }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> scatter_rows_kernel() {
  return by_table_page(
      "scatter_rows",
      "Y[ids[t]] = X[t]: rows put where ids say, each id once; a row that no id names keeps what it "
      "held, an id that is no row is skipped",
      put_program, put_reference, ids_once);
}
std::unique_ptr<Kernel> scatter_add_kernel() {
  return by_table_page(
      "scatter_add",
      "Y[ids[t]] += X[t] in f32, by atomics: the gradient of an embedding; an id that is no row "
      "counts nowhere",
      scatter_program, scatter_reference);
}

} // namespace inlay::kernels
