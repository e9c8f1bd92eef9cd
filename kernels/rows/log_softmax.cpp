// y[m,n] = x[m,n] - log(sum over j of exp(x[m,j])); of softmax dx = y (dy - sum dy y), of log_softmax dx = dy - exp(y) sum dy: log_softmax, and
// the gradients of both.
#include "whole_rows.h"

namespace inlay::kernels {
namespace {

// [log_softmax]
Program log_softmax_program(const RowAsked& s) {
  Rows rows("log_softmax", s);
  Program& k = rows.k;
  const Sym N = rows.N;
  const Tensor Y = k.output("y", s.type, {rows.M, N}), X = k.input("x", s.type, {rows.M, N});
  k.computes(Y, [&](const auto& c) {
    const auto shifted = [&](Sym i) { return k(X, {c[0], i}) - greatest(k, s, X, c[0], N); };
    return shifted(c[1]) - log(k.sum(N, [&](Sym i) { return exp(shifted(i)); }));
  });
  Row row = rows.row(s);
  const auto [most, sum] = row.exponentials(X);
  const Fragment logarithm = k.map({sum}, [](const Exprs& a) { return log(a[0]); });
  row.store(Y, {X}, {most, logarithm}, [](const Exprs& a, Sym) { return a[0] - a[1] - a[2]; });
  return std::move(rows.k);
}
// [log_softmax end]

std::vector<Judged> log_softmax_reference(const RowAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(D + 8 + 4 mean distance + 6 |log sum| + 2 |lse|) 2^-24 + 3 2^-24 |y| + u |y|"};
  each_row(s.m, s.n, [&](std::size_t, const auto& of) {
    const std::vector<double> x = of(w.values("x"));
    const Exponentials e = exponentials(x, additions(s, s.n));
    for (const double v : x) {
      y.value.push_back(v - e.logarithm);
      y.bound.push_back(e.error + 3 * u32 * std::abs(v - e.logarithm) + rounding(s.type, v - e.logarithm));
    }
  });
  return {y};
}

// [softmax_backward]
Program softmax_backward_program(const RowAsked& s, bool of_logarithm) {
  Rows rows(of_logarithm ? "log_softmax_backward" : "softmax_backward", s);
  Program& k = rows.k;
  const Sym N = rows.N;
  const Tensor D = k.output("dx", s.type, {rows.M, N}), G = k.input("dy", s.type, {rows.M, N}),
               Y = k.input("y", s.type, {rows.M, N});
  const auto term = [&](Expr g, Expr y) { return of_logarithm ? g : g * y; };
  const auto result = [&](Expr g, Expr y, Expr sum) {
    return of_logarithm ? g - exp(y) * sum : y * (g - sum);
  };
  k.computes(D, [&](const auto& c) {
    const Expr sum = k.sum(N, [&](Sym i) { return term(k(G, {c[0], i}), k(Y, {c[0], i})); });
    return result(k(G, {c[0], c[1]}), k(Y, {c[0], c[1]}), sum);
  });
  Row row = rows.row(s);
  const Fragment sum =
      row.fold(Monoid::sum, {G, Y}, {}, [&](const Exprs& a, Sym) { return term(a[0], a[1]); });
  row.store(D, {G, Y}, {sum}, [&](const Exprs& a, Sym) { return result(a[0], a[1], a[2]); });
  return std::move(rows.k);
}
// [softmax_backward end]

std::vector<Judged> softmax_backward_reference(const RowAsked& s, const Workload& w, bool of_logarithm) {
  Judged dx{"dx", {}, {}, "(D + 6) 2^-24 factor sum |terms| + 4 2^-24 |dx| + u |dx|"};
  each_row(s.m, s.n, [&](std::size_t, const auto& of) {
    const std::vector<double> g = of(w.values("dy")), y = of(w.values("y"));
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double term = of_logarithm ? g[i] : g[i] * y[i];
      sum += term, size += std::abs(term);
    }
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double factor = of_logarithm ? std::exp(y[i]) : y[i],
                   value = of_logarithm ? g[i] - factor * sum : factor * (g[i] - sum);
      dx.value.push_back(value);
      dx.bound.push_back((additions(s, s.n) + 6 + 4 * std::abs(y[i])) * u32 * std::abs(factor) * size +
                         4 * u32 * (std::abs(value) + std::abs(factor * g[i])) + rounding(s.type, value));
    }
  });
  return {dx};
}

void logits(const RowAsked&, Workload& w, std::uint64_t seed) { random_inputs(w, seed, 8); }

} // namespace

std::unique_ptr<Kernel> log_softmax_kernel() {
  return simple("log_softmax", "logarithm of the softmax of each row", log_softmax_program, logits,
                log_softmax_reference);
}
std::unique_ptr<Kernel> softmax_backward_kernel() {
  return simple(
      "softmax_backward", "gradient of softmax, from its result and the gradient of that",
      [](const RowAsked& s) { return softmax_backward_program(s, false); }, {},
      [](const RowAsked& s, const Workload& w, const Results&) {
        return softmax_backward_reference(s, w, false);
      });
}
std::unique_ptr<Kernel> log_softmax_backward_kernel() {
  return simple(
      "log_softmax_backward", "gradient of log_softmax, from its result and the gradient of that",
      [](const RowAsked& s) { return softmax_backward_program(s, true); }, {},
      [](const RowAsked& s, const Workload& w, const Results&) {
        return softmax_backward_reference(s, w, true);
      });
}

} // namespace inlay::kernels
