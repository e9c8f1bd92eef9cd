// Y[t,d] = sum over j < k of weights[t,j] X[ids[t k + j], d]: the weighted sum of what the experts of a token gave.
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Combining : VectorsAsked {
  int k = 8, threads = 256;
  std::int64_t m = 64, n = 1024, rows = 512;
};

// [weighted_combine]
Program combine_program(const Combining& s) {
  const int v = s.vector_length(), tile = s.threads * v;
  Program k("weighted_combine", Target::named(s.arch), s.threads);
  const Sym M = k.size("m", {.most = 1 << 24}), N = k.size("n", {.most = 1 << 16, .multiple = v}),
            P = k.size("rows", {.most = 1 << 24});
  const Tensor Y = k.output("y", s.type, {M, N}), X = k.input("x", s.type, {P, N}),
               W = k.input("weights", Element::f32, {M, s.k}),
               ids = k.input("ids", Element::i32, {Sym(s.k) * M});
  k.computes(Y, [&](const auto& c) {
    Expr sum = k.constant(0);
    for (int j = 0; j < s.k; ++j)
      sum = sum + k(W, {c[0], j}) * k(X, {k.at(ids, Sym(s.k) * c[0] + Sym(j)), c[1]});
    return sum;
  });
  const Sym row = k.workgroups(0, M, 1), part = k.workgroups(1, N, tile);
  const Layout tv = codegen::rows_tv(1, tile, v, s.threads), of_row = codegen::without_axis(tv, 1);
  std::vector<Fragment> of;
  for (int j = 0; j < s.k; ++j) {
    of.push_back(k.load(k.tile(X, {1, tile}, {k.uniform(ids, Sym(s.k) * row + Sym(j)), part}), tv, v));
    of.push_back(k.load(k.tile(W, {1, 1}, {row, j}), of_row, 1));
  }
  const Fragment sum = k.map(of, [&](const Exprs& a) {
    Expr e = a[0] * a[1];
    for (std::size_t i = 2; i < a.size(); i += 2) e = e + a[i] * a[i + 1];
    return e;
  });
  k.store(sum, k.tile(Y, {1, tile}, {row, part}), v);
  return k;
}
// [weighted_combine end]

std::vector<Judged> combine_reference(const Combining& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(k + 1) 2^-24 sum |w x| + u |y|"};
  for (std::size_t t = 0; t < static_cast<std::size_t>(s.m); ++t)
    for (std::size_t c = 0; c < static_cast<std::size_t>(s.n); ++c) {
      double sum = 0, size = 0;
      for (std::size_t j = 0; j < static_cast<std::size_t>(s.k); ++j) {
        const std::size_t at = t * static_cast<std::size_t>(s.k) + j;
        const double id = w.values("ids")[at];
        if (id < 0 || id >= static_cast<double>(s.rows)) continue; // counts nothing
        const double term = w.values("weights")[at] *
                            w.values("x")[static_cast<std::size_t>(id) * static_cast<std::size_t>(s.n) + c];
        sum += term, size += std::abs(term);
      }
      y.value.push_back(sum), y.bound.push_back((s.k + 1) * u32 * size + rounding(s.type, sum));
    }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> weighted_combine_kernel() {
  using Read = Reads<Combining>;
  Page<Combining> page{
      .summary = "the weighted sum of the rows that a table names for each token; an id that is no row "
                 "counts nothing",
      .options = {"weighted_combine",
                  {arch_option<Combining>(),
                   {"dtype", Read::element(&Combining::type, "f16, bf16, f32"), "bf16",
                    "element type of X and Y"},
                   {"m", Read::number(&Combining::m, 1, 1 << 20), "64", "tokens"},
                   {"n", Read::number(&Combining::n, 1, 1 << 16), "1024", "columns, a multiple of a vector"},
                   {"rows", Read::number(&Combining::rows, 1, 1 << 24), "512", "rows of X"},
                   {"k", Read::number(&Combining::k, 1, 16), "8", "rows of a token"},
                   {"threads", Read::number(&Combining::threads, 64, 1024), "auto",
                    "work-items of a workgroup", "256"},
                   {"vector", Read::number(&Combining::vector, 0, 8), "auto",
                    "elements that one instruction moves; 0: 16 bytes", "0"}}},
      .program = combine_program,
      .sizes = members(&Combining::m, &Combining::n, &Combining::rows),
      .size_names = {"m", "n", "rows"},
      .data =
          [](const Combining& s, Workload& w, std::uint64_t seed) {
            random_inputs(w, seed);
            std::mt19937_64 random(seed);
            std::vector<double> ids;
            for (std::int64_t i = 0; i < s.m * s.k; ++i)
              ids.push_back(static_cast<double>(below(random, s.rows + 2) - 1));
            w.set("ids", ids);
          },
      .reference = combine_reference,
      .text =
          [](const Combining& s) {
            return fmt::format("Y[{},{}] of {} rows each of {}, {}", s.m, s.n, s.k, s.rows,
                               to_string(s.type));
          },
      .candidates =
          [](const Combining& s, const Flags& fixed) {
            return candidates_by_threads(s.type, s.n, {64, 128, 256}, fixed);
          },
      .bound =
          [](const Combining& s) {
            const int tile = s.threads * s.vector_length(), resident = resident_by_waves(s.threads);
            return rounds(s.arch, s.m * up(s.n, tile), resident) *
                   (2200.0 + static_cast<double>(s.k) * resident * tile);
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
