// y[b,t,d] = act(bias[d] + sum_j w[d,j] x[b,t-width+1+j,d]), x = 0 before the first t: depthwise causal convolution over time, as in Mamba
// and gated delta nets.
#include "taps.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>
#include <numeric>

namespace inlay::kernels {
namespace {

struct Conv1dAsked : VectorsAsked {
  std::int64_t b = 2, t = 100, d = 512;
  int width = 4, rows = 16;
  bool bias = true, silu = true;
};

// [causal_conv1d]
Program conv1d_program(const Conv1dAsked& s) {
  constexpr int threads = 64;
  const int v = s.vector_length(), columns = 64 * v, rows = s.rows;
  Program k("causal_conv1d", Target::named(s.arch), threads);
  const Sym B = k.size("b", {.most = 65535}), T = k.size("t", {.most = 1 << 22}),
            D = k.size("d", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.output("y", s.type, {B, T, D}), X = k.input("x", s.type, {B, T, D}),
               W = k.input("w", s.type, {s.width, D}, by_taps(s.width, D)),
               bias = s.bias ? k.input("bias", s.type, {1, D}) : Tensor{},
               past = k.window("past", X, {{B, {{B, 0}}}, {T + Sym(s.width - 1), {{T, 1}}}, {D, {{D, 2}}}},
                               {0, 1 - s.width, 0});
  k.computes(Y, [&](const auto& c) {
    Expr sum = s.bias ? k(bias, {0, c[2]}) : k.constant(0);
    for (int j = 0; j < s.width; ++j) sum = sum + k(W, {j, c[2]}) * k(past, {c[0], c[1] + Sym(j), c[2]});
    return s.silu ? silu(sum) : sum;
  });
  const Sym part = k.workgroups(0, D, columns), from = k.workgroups(1, T, rows),
            batch = k.workgroups(2, B, 1);
  const Layout tv = codegen::rows_tv(1, columns, v, threads), one = codegen::without_axis(tv, 0);
  // A channel's taps lie together in memory: they are loaded so, and read by taps from LDS.
  const int w = s.width;
  const Layout as_stored = parse_layout(fmt::format("({0},({1},{2})):({2}@1,(1@0,1@1))", threads, w, v)),
               by_tap = parse_layout(fmt::format("({0},({2},{1})):({2}@1,(1@1,1@0))", threads, w, v));
  const Tensor lds = k.lds("lds_w", s.type, {w, columns});
  k.store(k.relayout(k.load(k.tile(W, {w, columns}, {0, part}), as_stored,
                            w == 3 ? 1 : std::gcd(w * v, 128 / codegen::bits(s.type))),
                     by_tap, s.type),
          k.whole(lds), v);
  std::vector<Fragment> of;
  for (int j = 0; j < w; ++j) of.push_back(k.load(k.tile(lds, {1, columns}, {j, 0}), one, v));
  if (s.bias) of.push_back(k.load(k.tile(bias, {1, columns}, {0, part}), one, v));
  const std::size_t taps = of.size();
  // Each row once, for all of its taps.
  std::vector<Fragment> x;
  for (int i = 0; i < rows + w - 1; ++i) {
    codegen::View row = k.tile(past, {1, 1, columns}, {batch, Sym(rows) * from + Sym(i), part}).keep({1, 2});
    x.push_back(k.load(row, tv, v));
  }
  for (int i = 0; i < rows; ++i) {
    std::vector<Fragment> row = of;
    row.insert(row.end(), x.begin() + i, x.begin() + i + w);
    const Fragment y = k.map(row, [&](const Exprs& a) {
      Expr sum = s.bias ? a[taps - 1] : k.constant(0);
      for (std::size_t j = 0; j < static_cast<std::size_t>(w); ++j) sum = sum + a[j] * a[taps + j];
      return s.silu ? silu(sum) : sum;
    });
    k.store(y, k.tile(Y, {1, 1, columns}, {batch, Sym(rows) * from + Sym(i), part}).keep({1, 2}), v);
  }
  return k;
}
// [causal_conv1d end]

std::vector<Judged> conv1d_reference(const Conv1dAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "8 2^-24 sum |w x| + u |y|, twice with silu"};
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t t = 0; t < s.t; ++t)
      for (std::int64_t d = 0; d < s.d; ++d) {
        double sum = s.bias ? w.values("bias")[static_cast<std::size_t>(d)] : 0, size = std::abs(sum);
        for (int j = 0; j < s.width; ++j) {
          const std::int64_t at = t - s.width + 1 + j;
          if (at < 0) continue;
          const double p = w.values("w")[static_cast<std::size_t>(j * s.d + d)] *
                           w.values("x")[static_cast<std::size_t>((b * s.t + at) * s.d + d)];
          sum += p, size += std::abs(p);
        }
        judge_taps(y, s.silu, s.type, sum, size);
      }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> causal_conv1d_kernel() {
  using Read = Reads<Conv1dAsked>;
  Page<Conv1dAsked> page{
      .summary = "Y[b,t,d] = act(bias[d] + sum_j W[d,j] X[b,t-width+1+j,d]), 0 before the first t",
      .options = {"causal_conv1d",
                  {arch_option<Conv1dAsked>(),
                   {"dtype", Read::element(&Conv1dAsked::type, "f16, bf16, f32"), "bf16", "element type"},
                   {"b", Read::number(&Conv1dAsked::b, 1, 65535), "2", "sequences"},
                   {"t", Read::number(&Conv1dAsked::t, 1, 1 << 22), "100", "their length"},
                   {"d", Read::number(&Conv1dAsked::d, 1, 1 << 16), "512",
                    "channels, a multiple of a vector"},
                   {"width", Read::number(&Conv1dAsked::width, 2, 4), "4", "taps"},
                   {"bias", Read::yes(&Conv1dAsked::bias), "yes", "a number for each channel is added"},
                   {"silu", Read::yes(&Conv1dAsked::silu), "yes", "x / (1 + exp(-x)) of the sum"},
                   {"vector", Read::number(&Conv1dAsked::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any D, 0 is 16 bytes", "0"},
                   {"rows", Read::number(&Conv1dAsked::rows, 1, 16), "auto",
                    "elements of t of a workgroup, which loads as many as there are taps more", "16"}}},
      .program = conv1d_program,
      .sizes = members(&Conv1dAsked::b, &Conv1dAsked::t, &Conv1dAsked::d),
      .size_names = {"b", "t", "d"},
      .reference = conv1d_reference,
      .text =
          [](const Conv1dAsked& s) {
            return fmt::format("Y[{0},{1},{2}] of X[{0},{1},{2}] and {3} taps, {4}{5}{6}", s.b, s.t, s.d,
                               s.width, to_string(s.type), s.bias ? ", bias" : "", s.silu ? ", silu" : "");
          },
      .candidates =
          [](const Conv1dAsked& s, const Flags& fixed) {
            std::vector<Flags> all;
            const std::string vector = std::to_string(widest_vector(s.type, {s.d}));
            for (const char* rows : {"16", "8", "4", "2", "1"})
              add_candidate(all, {{"vector", vector}, {"rows", rows}}, fixed);
            return all;
          },
      .bound =
          [](const Conv1dAsked& s) {
            const double moved = 2.0 * s.rows + s.width - 1, added = 24.0 * s.width * s.rows;
            return rounds(s.arch, s.b * up(s.t, s.rows) * up(s.d, 64 * s.vector_length()), 8) *
                   (1500 + s.vector_length() * (8 * moved + added));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
