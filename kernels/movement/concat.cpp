// Y = [X Z]: Y[m,i] = X[m,i] for i < a, else Z[m,i-a].
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Beside : VectorsAsked {
  std::int64_t rows = 1000, a = 256, b = 512;
};

// [concat]
Program concat_program(const Beside& s) {
  constexpr int threads = 256;
  const int v = s.vector_length(), tile = threads * v;
  Program k("concat", Target::named(s.arch), threads);
  const Sym M = k.size("rows", {.most = 1 << 24}), NA = k.size("a", {.most = 1 << 24, .multiple = v}),
            NB = k.size("b", {.most = 1 << 24, .multiple = v}),
            N = k.size("columns", {.most = 1 << 25, .multiple = v});
  const Tensor Y = k.output("y", s.type, {M, N}), A = k.input("x", s.type, {M, NA}),
               B = k.input("z", s.type, {M, NB}),
               after = k.window("after", B, {{M, {{M, 0}}}, {N, {{N, 1}}}}, {0, Sym(0) - NA}),
               before = k.window("before", A, {{M, {{M, 0}}}, {N, {{N, 1}}}}, {0, 0});
  const auto joined = [&](Sym column, Expr x, Expr z) { // and not their sum: -0 + 0 is 0
    return choose(less_unsigned(integer(k.number(column)), integer(k.number(NA))), x, z);
  };
  k.computes(Y, [&](const auto& c) { return joined(c[1], k(before, {c[0], c[1]}), k(after, {c[0], c[1]})); });
  const Sym part = k.workgroups(0, N, tile), row = k.workgroups(1, M, 1);
  const Layout tv = codegen::rows_tv(1, tile, v, threads);
  const auto at = [&](const Tensor& t) { return k.tile(t, {1, tile}, {row, part}); };
  k.store(k.map(
              {k.load(at(before), tv, v), k.load(at(after), tv, v)},
              [&](const Exprs& x) { return joined(Sym(tile) * part + k.position(1), x[0], x[1]); }, s.type),
          at(Y), v);
  return k;
}
// [concat end]

std::vector<Judged> concat_reference(const Beside& s, const Workload& w, const Results&) {
  std::vector<double> y;
  for (std::int64_t m = 0; m < s.rows; ++m)
    for (std::int64_t i = 0; i < s.a + s.b; ++i)
      y.push_back(i < s.a ? w.values("x")[at(m * s.a + i)] : w.values("z")[at(m * s.b + i - s.a)]);
  return {exactly("y", y)};
}

} // namespace

std::unique_ptr<Kernel> concat_kernel() {
  using Read = Reads<Beside>;
  Page<Beside> page{
      .summary =
          "Y = [X Z], row by row: what comes after the axis along which they are joined counts as columns",
      .options = {"concat",
                  {arch_option<Beside>(),
                   {"dtype", Read::element(&Beside::type, "f16, bf16, f32"), "bf16", "element type"},
                   {"rows", Read::number(&Beside::rows, 1, 1 << 24), "1000", "rows"},
                   {"a", Read::number(&Beside::a, 1, 1 << 24), "256", "columns of X, a multiple of a vector"},
                   {"b", Read::number(&Beside::b, 1, 1 << 24), "512", "columns of Z, likewise"},
                   {"vector", Read::number(&Beside::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any rows, 0 is 16 bytes", "0"}}},
      .program = concat_program,
      .sizes =
          [](const Beside& s) {
            return std::vector{s.rows, s.a, s.b, s.a + s.b};
          },
      .size_names = {"rows", "a", "b"},
      .reference = concat_reference,
      .text =
          [](const Beside& s) {
            return fmt::format("Y[{0},{1}+{2}] = X[{0},{1}] beside Z[{0},{2}], {3}", s.rows, s.a, s.b,
                               to_string(s.type));
          },
      .candidates =
          [](const Beside& s, const Flags& fixed) {
            return only_candidate({{"vector", std::to_string(widest_vector(s.type, {s.a, s.b}))}}, fixed);
          },
      .bound =
          [](const Beside& s) {
            return rounds(s.arch, s.rows * up(s.a + s.b, 256 * s.vector_length()), 8) * 8000;
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
