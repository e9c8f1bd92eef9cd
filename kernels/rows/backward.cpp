// dx = r (g - [mean of g] - c r^2 mean of g c), with g = w dy, c = x - mean and r = 1 / sqrt(mean of c^2 + epsilon); of rmsnorm the mean is 0
// and what stands in brackets is not there: gradients of the normalisations y = c r w [+ b], with respect to what is normalised.
#include "page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

// [norm_backward]
Program norm_backward_program(const RowAsked& s, bool centre) {
  const std::string name = centre ? "layernorm_backward" : "rmsnorm_backward";
  check_rows(name, s);
  Program k(name, Target::named(s.arch), s.threads, s.where);
  const Sym M = k.size("m"),
            N = k.size("n", {.most = s.streamed ? 1 << 24 : s.capacity(), .multiple = s.vector_length()});
  const Tensor D = k.output("dx", s.type, {M, N}), G = k.input("dy", s.type, {M, N}),
               X = k.input("x", s.type, {M, N}), W = k.input("w", s.type, {1, N});
  const auto part = [&](Expr sum) { return sum * rcp(k.number(N)); };
  const auto gradient = [&](Expr r, Expr g, Expr of_g, Expr c, Expr of_gc) {
    const Expr along = c * (r * r * of_gc);
    return centre ? r * (g - of_g - along) : r * (g - along);
  };
  k.computes(D, [&](const auto& at) {
    const auto x = [&](Sym i) { return k(X, {at[0], i}); };
    const auto g = [&](Sym i) { return k(G, {at[0], i}) * k(W, {0, i}); };
    const auto c = [&](Sym i) { return centre ? x(i) - part(k.sum(N, x)) : x(i); };
    const Expr r = rsqrt(part(k.sum(N, [&](Sym i) { return c(i) * c(i); })) + s.epsilon);
    return gradient(r, g(at[1]), part(k.sum(N, g)), c(at[1]),
                    part(k.sum(N, [&](Sym i) { return g(i) * c(i); })));
  });

  Row row(k, s, k.workgroups(0, M, 1), N);
  const auto mean = [&](const std::vector<RowOf>& of, const std::vector<Fragment>& with, const auto& body) {
    return k.map({row.fold(Monoid::sum, of, with, body)}, [&](const Exprs& a) { return part(a[0]); });
  };
  const Fragment zero = k.zeros(Element::f32, row.of_row(), {1, 1});
  const Fragment m = centre ? mean({X}, {}, [](const Exprs& a, Sym) { return a[0]; }) : zero;
  const auto moved = [&](Expr x, Expr by) { return centre ? x - by : x; };
  const Fragment variance = mean({X}, {m}, [&](const Exprs& a, Sym) {
    const Expr c = moved(a[0], a[1]);
    return c * c;
  });
  const Fragment r = k.map({variance}, [&](const Exprs& a) { return rsqrt(a[0] + s.epsilon); });
  const Fragment of_g = centre ? mean({G, W}, {}, [](const Exprs& a, Sym) { return a[0] * a[1]; }) : zero;
  const Fragment of_gc =
      mean({G, W, X}, {m}, [&](const Exprs& a, Sym) { return a[0] * a[1] * moved(a[2], a[3]); });
  row.store(D, {G, W, X}, {m, r, of_g, of_gc},
            [&](const Exprs& a, Sym) { return gradient(a[4], a[0] * a[1], a[5], moved(a[2], a[3]), a[6]); });
  return k;
}
// [norm_backward end]

std::vector<Judged> norm_backward_reference(const RowAsked& s, const Workload& w, bool centre) {
  Judged dx{"dx", {}, {}, "errors of the mean, of r and of both means of gradients, carried, + u |dx|"};
  const double d = additions(s, s.n) * u32, n = static_cast<double>(s.n);
  each_row(s.m, s.n, [&](std::size_t, const auto& of) {
    const std::vector<double> x = of(w.values("x")), dy = of(w.values("dy"));
    const std::vector<double>& weight = w.values("w");
    double mean = 0, size = 0;
    for (const double v : x) mean += v / n, size += std::abs(v) / n;
    if (!centre) mean = 0;
    double variance = 0, of_g = 0, of_gc = 0, size_g = 0, size_gc = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double c = x[i] - mean, g = dy[i] * weight[i];
      variance += c * c / n, of_g += g / n, of_gc += g * c / n;
      size_g += std::abs(g) / n, size_gc += std::abs(g * c) / n;
    }
    const double r = 1 / std::sqrt(variance + s.epsilon), e_mean = centre ? (d + 3 * u32) * size : 0,
                 of_r = d + 8 * u32 + 2 * e_mean * r, c2 = of_gc * r * r,
                 e_c2 = (d + 6 * u32) * size_gc * r * r + size_g * e_mean * r * r + 2 * of_r * std::abs(c2),
                 e_g = centre ? (d + 4 * u32) * size_g : 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double c = x[i] - mean, g = dy[i] * weight[i], value = r * (g - (centre ? of_g : 0) - c * c2);
      dx.value.push_back(value);
      dx.bound.push_back(1.01 * r *
                             ((std::abs(g) + std::abs(of_g) + std::abs(c * c2)) * (of_r + 6 * u32) + e_g +
                              std::abs(c) * e_c2 + std::abs(c2) * e_mean) +
                         rounding(s.type, value));
    }
  });
  return {dx};
}

std::unique_ptr<Kernel> norm_backward(const std::string& of, bool centre) {
  using Read = Reads<RowAsked>;
  std::vector<Option<RowAsked>> options = row_options<RowAsked>("n", true);
  options.push_back({"epsilon", Read::real(&RowAsked::epsilon), "1e-5", "added to the mean of the squares"});
  return rows_page<RowAsked>(
      {.summary = "gradient of " + of + " with respect to its input",
       .options = {of + "_backward", std::move(options)},
       .program = [=](const RowAsked& s) { return norm_backward_program(s, centre); },
       .sizes = {},
       .reference = [=](const RowAsked& s, const Workload& w,
                        const Results&) { return norm_backward_reference(s, w, centre); },
       .text =
           [=](const RowAsked& s) {
             return fmt::format("dX[{0},{1}] of {2}, {3}", s.m, s.n, of, to_string(s.type));
           }});
}

} // namespace

std::unique_ptr<Kernel> rmsnorm_backward_kernel() { return norm_backward("rmsnorm", false); }
std::unique_ptr<Kernel> layernorm_backward_kernel() { return norm_backward("layernorm", true); }

} // namespace inlay::kernels
