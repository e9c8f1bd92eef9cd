// y[m,d] = g / (1 + exp(-g)) u with g = x[m,0,d] and u = x[m,1,d], the halves of a row.
#include "../with_data.h"
#include "kernel.h"

#include <inlay/codegen/functions.h>

namespace inlay::kernels {

// [silu_and_mul]
Program silu_and_mul_program(const RowSpec& s) {
  check_rows("silu_and_mul", s);
  const int tile = s.capacity(), v = s.vector_length();
  Program k("silu_and_mul", Target::named(s.arch), s.threads, s.where);
  const Sym M = k.size("m"), D = k.size("d", {.most = 1 << 24, .multiple = v});
  const Tensor Y = k.output("y", s.type, {M, D}), X = k.input("x", s.type, {M, 2, D});
  const auto gated = [](Expr gate, Expr up) { return silu(gate) * up; };
  k.computes(Y, [&](const auto& c) { return gated(k(X, {c[0], 0, c[1]}), k(X, {c[0], 1, c[1]})); });

  const Sym columns = k.workgroups(0, D, tile), row = k.workgroups(1, M, 1);
  const Layout tv = rows_tv(1, tile, v, s.threads);
  const auto half = [&](int which) {
    return k.load(k.tile(X, {1, 1, tile}, {row, which, columns}).keep({0, 2}), tv, v);
  };
  k.store(k.map({half(0), half(1)}, [&](const Exprs& x) { return gated(x[0], x[1]); }),
          k.tile(Y, {1, tile}, {row, columns}), v);
  return k;
}
// [silu_and_mul end]

Artifact build_silu_and_mul(const RowSpec& spec, const BuildOptions& options) {
  return build(silu_and_mul_program(spec), options);
}

Problem silu_and_mul_problem(const RowSpec& spec, std::int64_t m, std::int64_t d, std::uint64_t seed) {
  Problem problem;
  problem.launch = plan_with_data(silu_and_mul_program(spec), {m, d});
  const Element type = spec.type;
  const Matrix x = from_bytes(to_bytes(8 * random_matrix(m, 2 * d, type, seed), type), m, 2 * d, type);
  problem.buffers = {{"Y", poison(static_cast<std::size_t>(bytes_of(type) * m * d)), true},
                     {"X", to_bytes(x, type), false}};
  problem.flops = 5.0 * static_cast<double>(m * d);
  problem.text = fmt::format("Y[{0},{1}] = silu(X[{0},:{1}]) * X[{0},{1}:], {2}", m, d, to_string(type));
  problem.check = [x, m, d, type](std::span<const Bytes> buffers) {
    const Eigen::ArrayXXd gate = x.leftCols(d).array(), up = x.rightCols(d).array();
    const Matrix y = (gate / (1 + (-gate).exp()) * up).matrix();
    const Matrix bound =
        (((8 + 4 * gate.abs()) * u32 + unit_roundoff(type)) * y.array().abs() + subnormal(type)).matrix();
    return compare(from_bytes(buffers[0], m, d, type), y, bound, "(8 + 4 |x|) 2^-24 |y| + u |y|");
  };
  return problem;
}

std::unique_ptr<Kernel> silu_and_mul_kernel() {
  return kernel_of_rows("silu_and_mul", "silu of half a row times the other half, in f32", "d",
                        silu_and_mul_program, silu_and_mul_problem, false, false);
}

} // namespace inlay::kernels
