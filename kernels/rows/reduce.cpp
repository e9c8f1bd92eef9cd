// y[m] = sum over n of x[m,n], and mean, extrema, norms and logarithms of sums likewise; ids[m] = least n with x[m,n] = max over n of x[m,n]:
// rows to numbers.
#include "whole_rows.h"

namespace inlay::kernels {
namespace {

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

} // namespace inlay::kernels
