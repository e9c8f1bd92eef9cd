// lse[m] = log(sum over n of exp(x[m,n])), loss[m] = lse[m] - x[m,targets[m]]; dx[m,n] = weight[m] (exp(x[m,n] - lse[m]) - [n = targets[m]]):
// cross-entropy of rows of logits, and its gradient.
#include "whole_rows.h"

namespace inlay::kernels {
namespace {

// [cross_entropy]
Program cross_entropy_program(const RowAsked& s) {
  Rows rows("cross_entropy", s);
  Program& k = rows.k;
  const Sym N = rows.N;
  const Tensor L = k.output("loss", Element::f32, {rows.M, 1}),
               E = k.output("lse", Element::f32, {rows.M, 1}), X = k.input("x", s.type, {rows.M, N}),
               T = k.input("targets", Element::i32, {rows.M});
  // 1 where 0 <= target < N, else 0: a row that is padding has no loss.
  const auto counts = [&](Expr target) {
    return select(target, k.constant(0), select(k.number(N - Sym(1)), target, k.constant(1), k.constant(0)),
                  k.constant(0));
  };
  const auto logarithm = [&](Sym r) {
    const Expr most = greatest(k, s, X, r, N);
    return most + log(k.sum(N, [&](Sym i) { return exp(k(X, {r, i}) - most); }));
  };
  k.computes(E, [&](const auto& c) { return logarithm(c[0]); });
  k.computes(L, [&](const auto& c) {
    return counts(k(T, {c[0]})) * logarithm(c[0]) - k(X, {c[0], k.at(T, c[0])});
  });
  Row row = rows.row(s);
  const Sym number = k.grid()[0].symbol;
  const Fragment target = k.load(k.tile(T, {1}, {number}), row.of_row(), 1),
                 picked = k.load(k.tile(X, {1, 1}, {number, 0}).through(1, target), row.of_row(), 1);
  const auto [most, sum] = row.exponentials(X);
  const Fragment lse = k.map({most, sum}, [](const Exprs& a) { return a[0] + log(a[1]); });
  row.store(lse, E);
  row.store(k.map({lse, target, picked}, [&](const Exprs& a) { return counts(a[1]) * a[0] - a[2]; }), L);
  return std::move(rows.k);
}
// [cross_entropy end]

// [cross_entropy_backward]
Program cross_entropy_backward_program(const RowAsked& s) {
  Rows rows("cross_entropy_backward", s);
  Program& k = rows.k;
  const Sym N = rows.N;
  const Tensor D = k.output("dx", s.type, {rows.M, N}), X = k.input("x", s.type, {rows.M, N}),
               E = k.input("lse", Element::f32, {rows.M, 1}),
               T = k.input("targets", Element::i32, {rows.M, 1}),
               G = k.input("weight", Element::f32, {rows.M, 1});
  const auto result = [&](Expr x, Expr lse, Expr target, Expr weight, Sym i) {
    const Expr here = k.number(i), zero = k.constant(0);
    const Expr counts = select(target, zero, select(k.number(N - Sym(1)), target, weight, zero), zero);
    return counts * (exp(x - lse) - select(here, target, select(target, here, k.constant(1), zero), zero));
  };
  k.computes(D, [&](const auto& c) {
    return result(k(X, {c[0], c[1]}), k(E, {c[0], Sym(0)}), k(T, {c[0], Sym(0)}), k(G, {c[0], Sym(0)}), c[1]);
  });
  Row row = rows.row(s);
  row.store(D, {X}, {row.load(E), row.load(T), row.load(G)},
            [&](const Exprs& a, Sym i) { return result(a[0], a[1], a[2], a[3], i); });
  return std::move(rows.k);
}
// [cross_entropy_backward end]

// Logits, and targets of which some are no column.
void entropy_data(const RowAsked& s, Workload& w, std::uint64_t seed) {
  w.random("x", seed, 6);
  std::mt19937_64 random(seed + 1);
  std::vector<double> targets;
  for (std::int64_t r = 0; r < s.m; ++r)
    targets.push_back(r == 1   ? -100
                      : r == 2 ? static_cast<double>(s.n)
                      : r == 3 ? static_cast<double>(s.n - 1)
                               : static_cast<double>(random() % static_cast<std::uint64_t>(s.n)));
  w.set("targets", targets);
}

std::vector<Judged> cross_entropy_reference(const RowAsked& s, const Workload& w, const Results&) {
  Judged loss{"loss", {}, {}, "the error of lse + 2 2^-24 (|lse| + |loss|)"},
      lse{"lse", {}, {}, "(D + 8 + 4 mean distance + 6 |log sum| + 2 |lse|) 2^-24"};
  each_row(s.m, s.n, [&](std::size_t r, const auto& of) {
    const std::vector<double> x = of(w.values("x"));
    const Exponentials e = exponentials(x, additions(s, s.n));
    const double target = w.values("targets")[r];
    const bool counts = target >= 0 && target < static_cast<double>(s.n);
    const double value = counts ? e.logarithm - x[static_cast<std::size_t>(target)] : 0;
    lse.value.push_back(e.logarithm), lse.bound.push_back(e.error);
    loss.value.push_back(value);
    loss.bound.push_back(counts ? e.error + 2 * u32 * (std::abs(e.logarithm) + std::abs(value)) : 0);
  });
  return {loss, lse};
}

void entropy_backward_data(const RowAsked& s, Workload& w, std::uint64_t seed) {
  entropy_data(s, w, seed);
  w.random("weight", seed + 2);
  std::vector<double> lse;
  each_row(s.m, s.n,
           [&](std::size_t, const auto& of) { lse.push_back(exponentials(of(w.values("x")), 0).logarithm); });
  w.set("lse", lse);
}

std::vector<Judged> cross_entropy_backward_reference(const RowAsked& s, const Workload& w, const Results&) {
  Judged dx{"dx", {}, {}, "(8 + 4 |x - lse|) 2^-24 |weight| exp(x - lse) + 3 2^-24 |dx| + u |dx|"};
  each_row(s.m, s.n, [&](std::size_t r, const auto& of) {
    const std::vector<double> x = of(w.values("x"));
    const double lse = w.values("lse")[r], target = w.values("targets")[r], weight = w.values("weight")[r];
    const bool counts = target >= 0 && target < static_cast<double>(s.n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double p = std::exp(x[i] - lse), hit = static_cast<double>(i) == target ? 1 : 0,
                   value = counts ? weight * (p - hit) : 0;
      dx.value.push_back(value);
      dx.bound.push_back((8 + 4 * std::abs(x[i] - lse)) * u32 * std::abs(weight) * p +
                         3 * u32 * std::abs(value) + rounding(s.type, value));
    }
  });
  return {dx};
}

} // namespace

std::unique_ptr<Kernel> cross_entropy_kernel() {
  return simple("cross_entropy",
                "loss and logsumexp of each row of logits; a target that is no column has loss 0",
                cross_entropy_program, entropy_data, cross_entropy_reference);
}
std::unique_ptr<Kernel> cross_entropy_backward_kernel() {
  return simple("cross_entropy_backward",
                "gradient of cross_entropy, each row by a weight; a target that is no column has gradient 0",
                cross_entropy_backward_program, entropy_backward_data, cross_entropy_backward_reference);
}

} // namespace inlay::kernels
