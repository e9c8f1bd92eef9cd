// Y[t,:] = X[ids[t],:]: rows that a table names, read (embedding).
#include "by_table.h"

namespace inlay::kernels {
namespace {

// [gather_rows]
Program gather_program(const ByTable& s) {
  const int v = s.vector_length(), tile = s.threads * v;
  Program k("gather_rows", Target::named(s.arch), s.threads);
  const Sym T = k.size("tokens", {.most = 1 << 24}), V = k.size("rows", {.most = 1 << 24}),
            N = k.size("n", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.output("y", s.type, {T, N}), X = k.input("x", s.type, {V, N}),
               ids = k.input("ids", Element::i32, {T});
  k.computes(Y, [&](const auto& c) { return k(X, {k.at(ids, c[0]), c[1]}); });
  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, N, tile), row = k.uniform(ids, token);
  k.store(k.load(k.tile(X, {1, tile}, {row, part}), codegen::rows_tv(1, tile, v, s.threads), v),
          k.tile(Y, {1, tile}, {token, part}), v);
  return k;
}
// [gather_rows end]

std::vector<Judged> gather_reference(const ByTable& s, const Workload& w, const Results&) {
  std::vector<double> y;
  for (const double id : w.values("ids"))
    for (std::int64_t c = 0; c < s.n; ++c)
      y.push_back(id < 0 || id >= static_cast<double>(s.rows)
                      ? 0
                      : w.values("x")[at(static_cast<std::int64_t>(id) * s.n + c)]);
  return {exactly("y", y)};
}

} // namespace

std::unique_ptr<Kernel> gather_rows_kernel() {
  return by_table_page("gather_rows", "Y[t] = X[ids[t]]: embedding; an id that is no row gives zeros",
                       gather_program, gather_reference);
}

} // namespace inlay::kernels
