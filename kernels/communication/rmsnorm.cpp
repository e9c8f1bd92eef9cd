// h[m,n] = sum over devices d of x_d[m,n] + r[m,n],   y[m,n] = h[m,n] rsqrt(mean_j h[m,j]^2 + epsilon) w[n]: what follows each block of a
// model whose weights are split over devices, in one launch.
#include "../page.h"
#include "../rows/row.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct SummedAsked : RowAsked {
  int devices = 4;
};

// [all_reduce_rmsnorm]
Program summed_program(const SummedAsked& s) {
  check_rows("all_reduce_rmsnorm", s);
  const int capacity = s.capacity(), v = s.vector_length();
  Program k("all_reduce_rmsnorm", Target::named(s.arch), s.threads);
  const Sym M = k.size("m"), N = k.size("n", {.most = capacity, .multiple = v});
  (void)k.devices(s.devices);
  const Tensor Y = k.output("y", s.type, {M, N}), H = k.output("h", s.type, {M, N});
  const std::vector<Tensor> X = k.peers("x", s.type, {M, N});
  const Tensor R = k.input("r", s.type, {M, N}), W = k.input("w", s.type, {1, N});
  const auto sum = [](const Exprs& x) { return std::accumulate(x.begin() + 1, x.end(), x[0]); };
  const auto h = [&](Sym r, Sym i) {
    Exprs x;
    for (const Tensor& t : X) x.push_back(k(t, {r, i}));
    x.push_back(k(R, {r, i}));
    return sum(x);
  };
  k.computes(H, [&](const auto& c) { return h(c[0], c[1]); });
  k.computes(Y, [&](const auto& c) {
    const Expr squares = k.sum(N, [&](Sym j) { return h(c[0], j) * h(c[0], j); });
    return h(c[0], c[1]) * rsqrt(squares / k.number(N) + s.epsilon) * k(W, {0, c[1]});
  });

  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = codegen::rows_tv(1, capacity, v, s.threads);
  const auto load = [&](const Tensor& of, Sym at) {
    return k.load(k.tile(of, {1, capacity}, {at, 0}), tv, v);
  };
  k.meet("signals"); // their inputs are there
  std::vector<Fragment> x;
  for (const Tensor& t : X) x.push_back(load(t, row));
  x.push_back(load(R, row));
  const Fragment all = k.map(x, sum, s.type);
  k.store(all, k.tile(H, {1, capacity}, {row, 0}), v);
  const Fragment squares = k.fold(Monoid::sum, k.map({all}, [](const Exprs& a) { return a[0] * a[0]; }), 1);
  const Fragment by =
      k.map({squares}, [&](const Exprs& a) { return rsqrt(a[0] * rcp(k.number(N)) + s.epsilon); });
  k.store(k.map({all, by, load(W, 0)}, [](const Exprs& a) { return a[0] * a[1] * a[2]; }),
          k.tile(Y, {1, capacity}, {row, 0}), v);
  k.meet("signals"); // nobody reads mine any more
  return k;
}
// [all_reduce_rmsnorm end]

// What is normalised is h as it was stored.
std::vector<Judged> summed_reference(const SummedAsked& s, const Workload& w, const Results& result) {
  Judged h{"h", {}, {}, "(devices + 1) 2^-24 sum |x| + u |h|"}, y{"y", {}, {}, "(8 + D) 2^-24 |y| + u |y|"};
  const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n);
  const std::vector<double> stored = result("h");
  for (std::size_t r = 0; r < m; ++r) {
    double squares = 0;
    for (std::size_t i = r * n; i < (r + 1) * n; ++i) {
      double sum = w.values("r")[i], size = std::abs(sum);
      for (int d = 0; d < s.devices; ++d) {
        const double x = w.values("x_" + std::to_string(d))[i];
        sum += x, size += std::abs(x);
      }
      h.value.push_back(sum);
      h.bound.push_back((s.devices + 1) * u32 * size + rounding(s.type, sum));
      squares += stored[i] * stored[i];
    }
    const double by = 1 / std::sqrt(squares / static_cast<double>(n) + s.epsilon);
    for (std::size_t i = 0; i < n; ++i) {
      y.value.push_back(stored[r * n + i] * by * w.values("w")[i]);
      y.bound.push_back((8 + additions(s, s.n)) * u32 * std::abs(y.value.back()) +
                        rounding(s.type, y.value.back()));
    }
  }
  return {h, y};
}

} // namespace

std::unique_ptr<Kernel> all_reduce_rmsnorm_kernel() {
  using Read = Reads<SummedAsked>;
  std::vector<Option<SummedAsked>> rows = row_options<SummedAsked>("n", false);
  rows.push_back(
      {"devices", Read::number(&SummedAsked::devices, 2, 8), "4", "devices; fixed when the kernel is built"});
  rows.push_back({"epsilon", Read::real(&SummedAsked::epsilon), "1e-5", "added to the mean of squares"});
  return page_of(Page<SummedAsked>{
      .summary = "H = sum of X_d[M,N] over devices d + R, Y = H / rms(H) * W, the same bits on all devices",
      .options = {"all_reduce_rmsnorm", std::move(rows)},
      .program = summed_program,
      .sizes =
          [](const SummedAsked& s) {
            return std::vector<std::int64_t>{s.m, s.n, 0};
          },
      .size_names = {"m", "n"},
      .reference = summed_reference,
      .text =
          [](const SummedAsked& s) {
            return fmt::format(
                "H[{0},{1}] = sum of X_d over {2} devices + R, Y = RMS normalisation of its rows * W, {3}",
                s.m, s.n, s.devices, to_string(s.type));
          },
      // One, by its bound: the cycle model knows no launch of several devices.
      .candidates =
          [](const SummedAsked& s, const Flags& fixed) {
            const auto clocks = [&](const Flags& form) {
              SummedAsked one = s;
              one.threads = std::stoi(form.at("threads")), one.vectors = std::stoi(form.at("vectors"));
              one.vector = std::stoi(form.at("vector"));
              return row_clocks(one, true, s.devices + 2);
            };
            std::vector<Flags> whole;
            for (Flags& form : row_forms(s, fixed, true))
              if (form["stream"] == "no") form.erase("stream"), whole.push_back(std::move(form));
            if (whole.empty()) return whole;
            return std::vector{
                *std::min_element(whole.begin(), whole.end(),
                                  [&](const Flags& a, const Flags& b) { return clocks(a) < clocks(b); })};
          },
      .bound = [](const SummedAsked&) { return 1.0; }});
}

} // namespace inlay::kernels
