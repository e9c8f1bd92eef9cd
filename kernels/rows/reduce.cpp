// Rows to numbers: sums, extrema and logarithms of sums, the place of the maximum, log_softmax, cross-entropy, and gradients of these.
#include "../least_number.h"
#include "page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

/// The program of a kernel, its sizes and its workgroup's row.
struct Rows {
  Program k;
  Sym M, N, number;
  Rows(const std::string& name, const RowSpec& s, Program::Where where = Program::Where::current())
      : k(name, Target::named(s.arch), s.threads, where) {
    check_rows(name, s);
    M = k.size("m");
    N = k.size("n", {.most = s.streamed ? 1 << 24 : s.capacity(), .multiple = s.vector_length()});
  }
  Row row(const RowSpec& s) { return {k, s, k.workgroups(0, M, 1), N}; }
};

// Of row r; of a streamed one as Row::exponentials has it.
Expr greatest(Program& k, const RowSpec& s, const Tensor& X, Sym r, Sym columns) {
  const Expr most = k.fold(Monoid::max, columns, [&](Sym i) { return k(X, {r, i}); });
  return s.streamed ? least_number(most) : most;
}

Expr magnitude(Expr e) { return max(e, e * -1.0); }

// Values of a row and what they may err by, as references need them.
struct Exponentials {
  double most = 0, sum = 0, logarithm = 0; ///< sum of exp(x - most), log of the sum of exp(x)
  double error = 0;                        ///< of the logarithm
};
Exponentials exponentials(const std::vector<double>& x, double additions) {
  Exponentials e{.most = *std::max_element(x.begin(), x.end())};
  double distance = 0; // weighted: exp(-d) errs by (4 + 4 d) units
  for (const double v : x) e.sum += std::exp(v - e.most), distance += (e.most - v) * std::exp(v - e.most);
  const double log = std::log(e.sum);
  e.logarithm = e.most + log;
  e.error = u32 * (additions + 8 + 4 * distance / e.sum + 6 * std::abs(log) + 2 * std::abs(e.logarithm));
  return e;
}

// Sums, means, extrema, ... of rows.
enum class Op { sum, mean, max, min, absmax, squares, norm, logsumexp };
struct ReduceAsked : RowAsked {
  Op op = Op::sum;
  Element out = Element::f32;
};

// [row_reduce]
Program row_reduce_program(const ReduceAsked& s) {
  Rows rows("row_reduce", s);
  Program& k = rows.k;
  const Sym N = rows.N;
  const Tensor Y = k.output("y", s.out, {rows.M, 1}), X = k.input("x", s.type, {rows.M, N});
  const bool squared = s.op == Op::squares || s.op == Op::norm;
  const Monoid monoid = s.op == Op::max || s.op == Op::absmax ? Monoid::max
                        : s.op == Op::min                     ? Monoid::min
                                                              : Monoid::sum;
  const auto term = [&](Expr x) { return squared ? x * x : s.op == Op::absmax ? magnitude(x) : x; };
  const auto result = [&](Expr e) {
    return s.op == Op::mean ? e * rcp(k.number(N)) : s.op == Op::norm ? sqrt(e) : e;
  };
  k.computes(Y, [&](const auto& c) {
    const auto x = [&](Sym i) { return k(X, {c[0], i}); };
    if (s.op != Op::logsumexp) return result(k.fold(monoid, N, [&](Sym i) { return term(x(i)); }));
    const Expr most = greatest(k, s, X, c[0], N);
    return most + log(k.sum(N, [&](Sym i) { return exp(x(i) - most); }));
  });
  Row row = rows.row(s);
  if (s.op == Op::logsumexp) {
    const auto [most, sum] = row.exponentials(X);
    row.store(k.map({most, sum}, [](const Exprs& a) { return a[0] + log(a[1]); }), Y);
  } else {
    const Fragment all = row.fold(monoid, {X}, {}, [&](const Exprs& a, Sym) { return term(a[0]); });
    row.store(k.map({all}, [&](const Exprs& a) { return result(a[0]); }), Y);
  }
  return std::move(rows.k);
}
// [row_reduce end]

std::vector<Judged> row_reduce_reference(const ReduceAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(D + 4) 2^-24 sum |terms| (of a norm, half of it by the norm) + u |y|"};
  const double d = additions(s, s.n);
  each_row(s.m, s.n, [&](std::size_t, const auto& of) {
    const std::vector<double> x = of(w.values("x"));
    double sum = 0, size = 0, squares = 0, most = -INFINITY, least = INFINITY, absolute = 0;
    for (const double v : x) {
      sum += v, size += std::abs(v), squares += v * v;
      most = std::max(most, v), least = std::min(least, v), absolute = std::max(absolute, std::abs(v));
    }
    const Exponentials e = exponentials(x, d);
    const double n = static_cast<double>(s.n), norm = std::sqrt(squares), by = (d + 4) * u32;
    const std::map<Op, std::pair<double, double>> all = {
        {Op::sum, {sum, by * size}},   {Op::mean, {sum / n, by * size / n}},
        {Op::max, {most, 0}},          {Op::min, {least, 0}},
        {Op::absmax, {absolute, 0}},   {Op::squares, {squares, by * squares}},
        {Op::norm, {norm, by * norm}}, {Op::logsumexp, {e.logarithm, e.error}}};
    const auto [value, error] = all.at(s.op);
    y.value.push_back(value), y.bound.push_back(error + rounding(s.out, value));
  });
  return {y};
}

// [argmax]
Program argmax_program(const RowAsked& s) {
  Rows rows("argmax", s);
  Program& k = rows.k;
  const Sym N = rows.N;
  const Tensor Y = k.output("y", Element::f32, {rows.M, 1}), I = k.output("index", Element::f32, {rows.M, 1}),
               X = k.input("x", s.type, {rows.M, N});
  const auto most = [&](Sym r) { return k.fold(Monoid::max, N, [&](Sym i) { return k(X, {r, i}); }); };
  const auto place = [&](Expr x, Expr largest, Sym i) {
    return select(x, largest, k.number(i), k.constant(INFINITY));
  };
  k.computes(Y, [&](const auto& c) { return most(c[0]); });
  k.computes(I, [&](const auto& c) {
    return k.fold(Monoid::min, N, [&](Sym i) { return place(k(X, {c[0], i}), most(c[0]), i); });
  });
  Row row = rows.row(s);
  const Fragment largest = row.fold(Monoid::max, {X}, {}, [](const Exprs& a, Sym) { return a[0]; });
  row.store(largest, Y);
  row.store(
      row.fold(Monoid::min, {X}, {largest}, [&](const Exprs& a, Sym i) { return place(a[0], a[1], i); }), I);
  return std::move(rows.k);
}
// [argmax end]

std::vector<Judged> argmax_reference(const RowAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "0"}, index{"index", {}, {}, "0"};
  each_row(s.m, s.n, [&](std::size_t, const auto& of) {
    const std::vector<double> x = of(w.values("x"));
    const auto most = std::max_element(x.begin(), x.end()); // the first one
    y.value.push_back(*most), y.bound.push_back(0);
    index.value.push_back(static_cast<double>(most - x.begin())), index.bound.push_back(0);
  });
  return {y, index};
}

// Few values, so that the largest of a row is there several times.
void with_ties(const RowAsked& s, Workload& w, std::uint64_t seed) {
  std::vector<double> x(static_cast<std::size_t>(s.m * s.n));
  std::mt19937_64 random(seed);
  for (double& v : x) v = std::floor(uniform(random) * 20) / 4;
  w.set("x", x);
}

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

// Gradients: of softmax, dx = y (g - sum g y), and of log_softmax, dx = g - exp(y) sum g.
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

// The gradient of a sum of losses, each by a weight: dx = g (exp(x - lse) - [i = target]).
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

using Read = Reads<RowAsked>;
std::unique_ptr<Kernel>
simple(const std::string& name, const std::string& summary, Program (*program)(const RowAsked&),
       std::function<void(const RowAsked&, Workload&, std::uint64_t)> data,
       std::function<std::vector<Judged>(const RowAsked&, const Workload&, const Results&)> reference) {
  return rows_page<RowAsked>({.summary = summary,
                              .options = {name, row_options<RowAsked>("n", true)},
                              .program = program,
                              .sizes = {},
                              .data = std::move(data),
                              .reference = std::move(reference),
                              .text = [=](const RowAsked& s) {
                                return fmt::format("{}, rows {} x {}, {}", name, s.m, s.n, to_string(s.type));
                              }});
}

void logits(const RowAsked&, Workload& w, std::uint64_t seed) { random_inputs(w, seed, 8); }

} // namespace

std::unique_ptr<Kernel> row_reduce_kernel() {
  using Reduce = Reads<ReduceAsked>;
  std::vector<Option<ReduceAsked>> options = row_options<ReduceAsked>("n", true);
  options.push_back({"op",
                     Reduce::one_of(&ReduceAsked::op, {{"sum", Op::sum},
                                                       {"mean", Op::mean},
                                                       {"max", Op::max},
                                                       {"min", Op::min},
                                                       {"absmax", Op::absmax},
                                                       {"squares", Op::squares},
                                                       {"norm", Op::norm},
                                                       {"logsumexp", Op::logsumexp}}),
                     "sum", "what a row becomes; squares: their sum, norm: its root"});
  options.push_back({"out", Reduce::element(&ReduceAsked::out, "f16, bf16, f32"), "f32", "type of Y"});
  return rows_page<ReduceAsked>(
      {.summary = "a number for each row: sum, mean, max, min, absmax, sum of squares, norm, logsumexp",
       .options = {"row_reduce", std::move(options)},
       .program = row_reduce_program,
       .sizes = {},
       .reference = row_reduce_reference,
       .text = [](const ReduceAsked& s) {
         return fmt::format("Y[{0},1] of the rows of X[{0},{1}], {2}", s.m, s.n, to_string(s.type));
       }});
}
std::unique_ptr<Kernel> argmax_kernel() {
  return simple("argmax", "the largest element of each row and its column, the first one where several are",
                argmax_program, with_ties, argmax_reference);
}
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
