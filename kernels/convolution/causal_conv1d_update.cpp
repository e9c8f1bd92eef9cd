// y[b,d] = act(bias[d] + sum_j w[d,j] token[b,j,d]), the last token x[b,d] and those before it the state, which moves on: the next token of
// a depthwise causal convolution.
#include "taps.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Conv1dStepAsked : VectorsAsked {
  std::int64_t b = 5, d = 512;
  int width = 4, rows = 4;
  bool bias = true, silu = true;
};

// [causal_conv1d_update]
Program conv1d_step_program(const Conv1dStepAsked& s) {
  constexpr int threads = 64;
  const int v = s.vector_length(), columns = 64 * v, past = s.width - 1;
  Program k("causal_conv1d_update", Target::named(s.arch), threads);
  const Sym B = k.size("b", {.most = 1 << 20}), D = k.size("d", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.output("y", s.type, {B, D}), S = k.inout("state", s.type, {B, past, D}),
               X = k.input("x", s.type, {B, D}), W = k.input("w", s.type, {s.width, D}, by_taps(s.width, D)),
               bias = s.bias ? k.input("bias", s.type, {1, D}) : Tensor{};
  k.computes(Y, [&](const auto& c) {
    Expr sum = k(W, {past, c[1]}) * k(X, {c[0], c[1]});
    for (int j = 0; j < past; ++j) sum = sum + k(W, {j, c[1]}) * k(S, {c[0], j, c[1]});
    if (s.bias) sum = sum + k(bias, {0, c[1]});
    return s.silu ? silu(sum) : sum;
  });
  k.computes(S, [&](const auto& c) {
    const Expr last = inside(Sym(past - 2), c[1], k(X, {c[0], c[2]}), 0);
    return past == 1 ? last : inside(c[1], Sym(past - 1), k(S, {c[0], c[1] + Sym(1), c[2]}), 0) + last;
  });

  const Sym part = k.workgroups(0, D, columns), from = k.workgroups(1, B, s.rows);
  const Layout tv = codegen::rows_tv(s.rows, columns, v, threads), one = codegen::without_axis(tv, 0);
  const auto state = [&](int j) { return k.tile(S, {s.rows, 1, columns}, {from, j, part}).keep({0, 2}); };
  std::vector<Fragment> of; // the last tokens and this one, then their taps
  for (int j = 0; j < past; ++j) of.push_back(k.load(state(j), tv, v));
  of.push_back(k.load(k.tile(X, {s.rows, columns}, {from, part}), tv, v));
  for (int j = 0; j < s.width; ++j) of.push_back(k.load(k.tile(W, {1, columns}, {j, part}), one, 1));
  if (s.bias) of.push_back(k.load(k.tile(bias, {1, columns}, {0, part}), one, v));
  const auto width = static_cast<std::size_t>(s.width);
  const Fragment y = k.map(of, [&](const Exprs& a) {
    Expr sum = s.bias ? a[2 * width] : k.constant(0);
    for (std::size_t j = 0; j < width; ++j) sum = sum + a[j] * a[width + j];
    return s.silu ? silu(sum) : sum;
  });
  k.store(y, k.tile(Y, {s.rows, columns}, {from, part}), v);
  for (int j = 0; j < past; ++j) k.store(of[static_cast<std::size_t>(j) + 1], state(j), v);
  return k;
}
// [causal_conv1d_update end]

std::vector<Judged> conv1d_step_reference(const Conv1dStepAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "8 2^-24 sum |w x| + u |y|, twice with silu"}, state{"state", {}, {}, "0"};
  const std::int64_t past = s.width - 1;
  const auto token = [&](std::int64_t b, std::int64_t j, std::int64_t d) { // 0 is the first one of the state
    return j < past ? w.values("state")[static_cast<std::size_t>((b * past + j) * s.d + d)]
                    : w.values("x")[static_cast<std::size_t>(b * s.d + d)];
  };
  for (std::int64_t b = 0; b < s.b; ++b) {
    for (std::int64_t d = 0; d < s.d; ++d) {
      double sum = s.bias ? w.values("bias")[static_cast<std::size_t>(d)] : 0, size = std::abs(sum);
      for (std::int64_t j = 0; j <= past; ++j) {
        const double term = w.values("w")[static_cast<std::size_t>(j * s.d + d)] * token(b, j, d);
        sum += term, size += std::abs(term);
      }
      judge_taps(y, s.silu, s.type, sum, size);
    }
    for (std::int64_t j = 0; j < past; ++j)
      for (std::int64_t d = 0; d < s.d; ++d) state.value.push_back(token(b, j + 1, d));
  }
  state.bound.assign(state.value.size(), 0);
  return {y, state};
}

} // namespace

std::unique_ptr<Kernel> causal_conv1d_update_kernel() {
  using Read = Reads<Conv1dStepAsked>;
  return page_of(Page<Conv1dStepAsked>{
      .summary = "Y[b,d] = act(bias[d] + sum_j W[d,j] token[b,j,d]) of the state's tokens and X, which the "
                 "state takes in",
      .options =
          {"causal_conv1d_update",
           {arch_option<Conv1dStepAsked>(),
            {"dtype", Read::element(&Conv1dStepAsked::type, "f16, bf16, f32"), "bf16", "element type"},
            {"b", Read::number(&Conv1dStepAsked::b, 1, 1 << 20), "5",
             "sequences, each with a state of width - 1 tokens"},
            {"d", Read::number(&Conv1dStepAsked::d, 1, 1 << 16), "512", "channels, a multiple of a vector"},
            {"width", Read::number(&Conv1dStepAsked::width, 2, 4), "4", "taps"},
            {"bias", Read::yes(&Conv1dStepAsked::bias), "yes", "a number for each channel is added"},
            {"silu", Read::yes(&Conv1dStepAsked::silu), "yes", "x / (1 + exp(-x)) of the sum"},
            {"rows", Read::number(&Conv1dStepAsked::rows, 1, 32), "auto", "sequences of a workgroup", "4"},
            {"vector", Read::number(&Conv1dStepAsked::vector, 0, 8), "auto",
             "elements that one instruction moves: 1 takes any D, 0 is 16 bytes", "0"}}},
      .program = conv1d_step_program,
      .sizes = members(&Conv1dStepAsked::b, &Conv1dStepAsked::d),
      .size_names = {"b", "d"},
      .reference = conv1d_step_reference,
      .text =
          [](const Conv1dStepAsked& s) {
            return fmt::format("Y[{0},{1}] and the states [{0},{2},{1}] of {3} taps, {4}{5}{6}", s.b, s.d,
                               s.width - 1, s.width, to_string(s.type), s.bias ? ", bias" : "",
                               s.silu ? ", silu" : "");
          },
      .candidates =
          [](const Conv1dStepAsked& s, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* rows : {"1", "2", "4", "8"})
              add_candidate(all, {{"rows", rows}, {"vector", std::to_string(widest_vector(s.type, {s.d}))}},
                            fixed);
            return all;
          },
      .bound =
          [](const Conv1dStepAsked& s) {
            const std::int64_t tile = 64 * s.vector_length();
            return rounds(s.arch, up(s.b, s.rows) * up(s.d, tile), 16) *
                   (2500 +
                    16 * static_cast<double>(2 * s.width * s.rows * tile) * codegen::bits(s.type) / 8 / 6.6);
          }});
}

} // namespace inlay::kernels
