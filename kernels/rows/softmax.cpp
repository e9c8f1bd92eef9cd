// y[m,n] = exp(x[m,n] - max_j x[m,j]) / sum_j exp(x[m,j] - max_j x[m,j]).
#include "../least_number.h"
#include "../with_data.h"
#include "kernel.h"

namespace inlay::kernels {

// [softmax]
Program softmax_program(const RowSpec& s) {
  check_rows("softmax", s);
  const int capacity = s.capacity(), v = s.vector_length();
  Program k("softmax", Target::named(s.arch), s.threads, s.where);
  const Sym M = k.size("m"), N = k.size("n", {.most = s.streamed ? 1 << 24 : capacity, .multiple = v});
  const Tensor Y = s.in_place ? k.inout("x", s.type, {M, N}) : k.output("y", s.type, {M, N}),
               X = s.in_place ? Y : k.input("x", s.type, {M, N});
  k.computes(Y, [&](const auto& c) {
    const Expr greatest = k.fold(Monoid::max, N,
                                 [&](Sym j) {
                                   return k(X, {c[0], j});
                                 }),
               most = s.streamed ? least_number(greatest) : greatest;
    const auto shifted = [&](Sym i) { return exp(k(X, {c[0], i}) - most); };
    return shifted(c[1]) / k.sum(N, shifted);
  });

  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, capacity, v, s.threads);
  if (s.streamed) {
    // Once for the maximum and the sum, which is scaled by the maximum so far; once more for what is written. The first parts may be
    // minus infinity all of them.
    const Layout of_row = without_axis(tv, 1);
    const Fragment m = k.full(-INFINITY, of_row, {1, 1}), l = k.zeros(Element::f32, of_row, {1, 1});
    k.loop(N, capacity, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment x =
          k.fill(k.load(k.tile(X, {1, capacity}, {row, t}), tv, v), 1, capacity * t, N, -INFINITY);
      const Fragment most =
          k.map({m, k.fold(Monoid::max, x, 1)}, [](const Exprs& a) { return max(a[0], a[1]); });
      const auto from_most = [](const Exprs& a) { return exp(a[0] - least_number(a[1])); };
      const Fragment scale = k.map({m, most}, [&](const Exprs& a) {
        return from_most({least_number(a[0]), a[1]});
      });
      k.update(l, {scale, k.fold(Monoid::sum, k.map({x, most}, from_most), 1)},
               [](const Exprs& a) { return a[0] * a[1] + a[2]; });
      k.update(m, {most}, [](const Exprs& a) { return a[1]; });
    });
    k.loop(N, capacity, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment x = k.load(k.tile(X, {1, capacity}, {row, t}), tv, v);
      k.store(k.map({x, m, l}, [](const Exprs& a) { return exp(a[0] - least_number(a[1])) / a[2]; }),
              k.tile(Y, {1, capacity}, {row, t}), v);
    });
    return k;
  }
  const Fragment x = k.fill(k.load(k.tile(X, {1, capacity}, {row, 0}), tv, v), 1, 0, N, -INFINITY);
  const Fragment e = k.map({x, k.fold(Monoid::max, x, 1)}, [](const Exprs& a) { return exp(a[0] - a[1]); });
  const Fragment y = k.map({e, k.fold(Monoid::sum, e, 1)}, [](const Exprs& a) { return a[0] / a[1]; });
  k.store(y, k.tile(Y, {1, capacity}, {row, 0}), v);
  return k;
}
// [softmax end]

Artifact build_softmax(const RowSpec& spec, const BuildOptions& options) {
  return build(softmax_program(spec), options);
}

Problem softmax_problem(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  const LaunchPlan plan = plan_with_data(softmax_program(spec), {m, n});
  // From -8 to 8, so that the largest and the smallest result differ by 2^23.
  const Matrix x = from_bytes(to_bytes(8 * random_matrix(m, n, spec.type, seed), spec.type), m, n, spec.type);
  Problem problem;
  problem.launch = plan;
  if (spec.in_place)
    problem.buffers = {{"X", to_bytes(x, spec.type), true}};
  else
    problem.buffers = {{"Y", poison(static_cast<std::size_t>(bytes_of(spec.type) * m * n)), true},
                       {"X", to_bytes(x, spec.type), false}};
  problem.flops = 5.0 * static_cast<double>(m * n);
  problem.text =
      fmt::format("Y[{0},{1}] = softmax of the rows of X[{0},{1}], {2}", m, n, to_string(spec.type));
  problem.check = [x, m, n, type = spec.type](std::span<const Bytes> buffers) {
    Matrix reference = x;
    for (auto row : reference.rowwise()) {
      row = (row.array() - row.maxCoeff()).exp().matrix();
      row /= row.sum();
    }
    Matrix distance = x;
    for (auto row : distance.rowwise()) row = (row.maxCoeff() - row.array()).matrix();
    const Matrix bound =
        (((4.0 + static_cast<double>(n) + 4.0 * distance.array()) * u32 + unit_roundoff(type)) *
             reference.array() +
         subnormal(type))
            .matrix();
    return compare(from_bytes(buffers[0], m, n, type), reference, bound,
                   "(4 + N + 4 |x - max|) 2^-24 y + u y");
  };
  return problem;
}

std::unique_ptr<Kernel> softmax_kernel() {
  return kernel_of_rows("softmax", "softmax of each row, in f32", "n", softmax_program, softmax_problem, true,
                        false);
}

} // namespace inlay::kernels
