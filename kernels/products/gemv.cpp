// Few rows times a matrix: Y[m,n] = sum_k X[m,k] W[n,k] for 1 to 8 rows of X, at the speed at which W comes from memory.
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct GemvAsked : VectorsAsked {
  Element out = Element::bf16;
  int m = 1, rows = 4, vectors = 2, distance = 1;
  std::int64_t n = 1024, k = 4096;
};

constexpr int gemv_waves = 4; ///< each has rows of W of its own

void check(const GemvAsked& s) {
  const Refusal refuse{"gemv"};
  if (s.rows % gemv_waves != 0) refuse(fmt::format("--rows {}", s.rows), "4, 8 or 16: a wave has whole rows");
  check_vectors(refuse, s);
  if (s.m * s.rows / gemv_waves * s.vectors * s.vector_length() > 256)
    refuse(fmt::format("--m {} with --rows {} and --vectors {}", s.m, s.rows, s.vectors),
           "fewer: a work-item has m * rows / 4 * vectors * elements sums, at most 256");
}

// Each work-item sums its own columns, and one fold after the loop joins those of a wave.
// [gemv]
Program gemv_program(const GemvAsked& s) {
  check(s);
  const int v = s.vector_length(), wide = 64 * v * s.vectors, threads = 64 * gemv_waves;
  Program k("gemv", Target::named(s.arch), threads);
  const Sym N = k.size("n", {.most = 1 << 22}), K = k.size("k", {.most = 1 << 20, .multiple = v});
  const Tensor Y = k.output("y", s.out, {s.m, N}), X = k.input("x", s.type, {s.m, K}),
               W = k.input("w", s.type, {N, K});
  k.computes(Y, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(X, {c[0], i}) * k(W, {c[1], i}); });
  });
  const Sym part = k.workgroups(0, N, s.rows);
  const Layout tv = codegen::rows_tv(s.rows, wide, v, threads), line = codegen::without_axis(tv, 0);
  std::vector<Fragment> sums;
  for (int i = 0; i < s.m; ++i) sums.push_back(k.zeros(Element::f32, tv, {s.rows, wide}));
  k.loop(K, wide, {.distance = s.distance, .ring = std::max(1, s.distance)}, [&](Sym t) {
    const Fragment w = k.load(k.tile(W, {s.rows, wide}, {part, t}), tv, v);
    for (int i = 0; i < s.m; ++i)
      k.update(sums[static_cast<std::size_t>(i)], {w, k.load(k.tile(X, {1, wide}, {i, t}), line, v)},
               [](const Exprs& a) { return a[0] + a[1] * a[2]; });
  });
  for (int i = 0; i < s.m; ++i)
    k.store(k.fold(Monoid::sum, sums[static_cast<std::size_t>(i)], 1),
            k.tile(Y, {1, s.rows}, {i, part}).keep({1, 0}), 1);
  return k;
}
// [gemv end]

std::vector<Judged> gemv_reference(const GemvAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(K / lanes + 8) 2^-24 sum |x w| + u |y|"};
  const auto k = static_cast<std::size_t>(s.k), n = static_cast<std::size_t>(s.n);
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.m); ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::size_t c = 0; c < k; ++c) {
        const double term = w.values("x")[i * k + c] * w.values("w")[j * k + c];
        sum += term, size += std::abs(term);
      }
      y.value.push_back(sum);
      y.bound.push_back((static_cast<double>(s.k) / 64 + s.vectors * s.vector_length() + 8) * u32 * size +
                        rounding(s.out, sum));
    }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> gemv_kernel() {
  using Read = Reads<GemvAsked>;
  Page<GemvAsked> page{
      .summary = "Y[M,N] = X[M,K] x W[N,K]^T for 1 to 8 rows: at the speed of memory",
      .options = {"gemv",
                  {arch_option<GemvAsked>(),
                   {"dtype", Read::element(&GemvAsked::type, "f16, bf16, f32"), "bf16",
                    "element type of X and W"},
                   {"out", Read::element(&GemvAsked::out, "f16, bf16, f32"), "bf16", "element type of Y"},
                   {"m", Read::number(&GemvAsked::m, 1, 8), "1", "rows of X; fixed when the kernel is built"},
                   {"n", Read::number(&GemvAsked::n, 1, 1 << 22), "1024", "rows of W"},
                   {"k", Read::number(&GemvAsked::k, 1, 1 << 20), "4096",
                    "columns of X and W, a multiple of a vector"},
                   {"rows", Read::number(&GemvAsked::rows, 4, 32), "auto",
                    "rows of W for a workgroup of four waves", "4"},
                   {"vectors", Read::number(&GemvAsked::vectors, 1, 8), "auto",
                    "vectors of a row that a work-item loads in an iteration", "2"},
                   {"distance", Read::number(&GemvAsked::distance, 0, 3), "auto",
                    "iterations that loads run ahead", "1"},
                   {"vector", Read::number(&GemvAsked::vector, 0, 8), "auto",
                    "elements that one instruction moves; 0: 16 bytes", "0"}}},
      .program = gemv_program,
      .sizes = members(&GemvAsked::n, &GemvAsked::k),
      .size_names = {"n", "k"},
      .reference = gemv_reference,
      .text =
          [](const GemvAsked& s) {
            return fmt::format("Y[{0},{1}] = X[{0},{2}] x W[{1},{2}]^T, {3} -> {4}", s.m, s.n, s.k,
                               to_string(s.type), to_string(s.out));
          },
      .candidates =
          [](const GemvAsked& s, const Flags& fixed) {
            const int v = widest_vector(s.type, {s.k});
            std::vector<Flags> all;
            for (const int rows : {4, 8})
              for (const int vectors : {1, 2, 4})
                for (const int distance : {1, 2}) {
                  add_candidate(all,
                                {{"rows", std::to_string(rows)},
                                 {"vectors", std::to_string(vectors)},
                                 {"distance", std::to_string(distance)},
                                 {"vector", std::to_string(v)}},
                                fixed);
                }
            return all;
          },
      .bound =
          [](const GemvAsked& s) {
            check(s);
            const double trips = static_cast<double>(up(s.k, 64 * s.vector_length() * s.vectors)),
                         trip =
                             s.rows * s.vectors * 64.0 * s.vector_length() * codegen::bits(s.type) / 8 / 6.6;
            return rounds(s.arch, up(s.n, s.rows), 8) *
                   (2500 + std::max(trips * 900 / (1 + s.distance), 8 * trips * trip));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
