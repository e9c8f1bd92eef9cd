// D[m,n] = act(alpha sa[m] sb[n] sum_k A[m,k] B[n,k] + beta C[m,n] + bias[n] + row_bias[m]) + residual[m,n], what there is of it, and
// amax[m,t] = max over the columns n of tile t of |D[m,n]|: the tensors of a GEMM, and its specification.
#include "tensors.h"

#include "../map/lowered.h"

#include <algorithm>
#include <numeric>

namespace inlay::kernels::gemm {

GemmTensors::GemmTensors(Program& program, const GemmSpec& spec)
    : k(program), s(spec), multiple_n(std::lcm(s.multiple_n, s.preshuffled_b                 ? 16
                                                             : s.gather                      ? 4
                                                             : s.adds() && bits(s.out) == 16 ? 2
                                                                                             : 1)) {
  const int v = vector_of(s.in);
  const bool pre = s.preshuffled_b, mx = is_mx(s);
  // Blocks of 32 rows are counted in 32 bits.
  const std::int64_t most_rows = mx ? std::int64_t{1} << 30 : INT32_MAX;
  M = k.size("m", {.most = s.turned_a() ? longest_turned(s) : most_rows, .multiple = s.turned_a() ? v : 1});
  N = k.size("n",
             {.most = longest_columns(s), .multiple = s.turned_b() ? std::lcm(multiple_n, v) : multiple_n});
  K = k.size("k", {.most = longest_k(s),
                   .multiple = mx                             ? 256
                               : pre                          ? 4 * v
                               : s.turned_a() && s.turned_b() ? 1
                                                              : v});
  const auto pad = [&](bool there, const std::string& name, std::int64_t most, int multiple) {
    return there ? std::optional(k.size(name, {.least = 0, .most = half_of(most), .multiple = multiple}))
                 : std::nullopt;
  };
  const std::int64_t row_of_a = longest_row(std::max(s.tile_m, s.tile_n), s.in),
                     row_of_d = longest_row(s.tile_m, s.out);
  const auto pad_a = pad(s.padded.a, "pad_a", row_of_a, v), pad_b = pad(s.padded.b, "pad_b", row_of_a, v),
             pad_c = pad(s.padded.c, "pad_c", row_of_d, multiple_n),
             pad_d = pad(s.padded.d, "pad_d", row_of_d, multiple_n);
  const bool in_place = s.added == GemmSpec::Added::in_place;
  const std::string result = s.adds_c() ? "d" : "c";
  C = in_place ? k.inout(result, s.out, {M, N}, apart(M, N, pad_d))
               : k.output(result, s.out, {M, N}, apart(M, N, pad_d));
  A = k.input("a", s.in, {M, K}, s.turned_a() ? by_columns(M, K) : apart(M, K, pad_a));
  B = k.input("b", s.in, {N, K},
              pre            ? preshuffled_layout(N, K, v)
              : s.turned_b() ? by_columns(N, K)
                             : apart(N, K, pad_b));
  // One scale for 32 elements of K, in whole blocks of 32 rows.
  const auto block_scales = [&](const std::string& name, Sym rows) {
    return k.input(name, Element::e8m0, {32 * ceil_div(rows, 32), floor_div(K, 32)},
                   shuffled_scales(rows, K));
  };
  if (mx) SA = block_scales("sa", M), SB = block_scales("sb", N);
  const Element weight = weight_of(s);
  if (s.scales) SA = k.input("sa", weight, {M, 1}), SB = k.input("sb", weight, {1, N});
  if (s.bias) bias = k.input("bias", weight, {1, N});
  if (s.row_bias) row_bias = k.input("row_bias", weight, {M, 1});
  if (s.alpha) alpha = k.input("alpha", weight, {1, 1});
  if (s.adds_c()) {
    beta = k.input("beta", weight, {1, 1});
    added = in_place ? C : k.input("c", s.out, {M, N}, apart(M, N, pad_c));
  }
  if (s.residual) residual = k.input("residual", s.out, {M, N});
  if (s.amax) amax = k.output("amax", Element::f32, {M, ceil_div(N, Sym(s.tile_n))});
  if (s.gather)
    parts = ceil_div(K, s.split), P = k.output("parts", sum_of(s), {M, N, parts}, side_by_side(M, N, parts));
}

Sym GemmTensors::length(Sym number) const { return min(K - Sym(s.split) * number, Sym(s.split)); }

Expr GemmTensors::product(Sym m, Sym n, Sym i) const {
  const auto element = [&](const Tensor& of, const std::optional<Tensor>& scale, Sym row) {
    return is_mx(s) ? k(of, {row, i}) * k(*scale, {row, floor_div(i, 32)}) : k(of, {row, i});
  };
  return element(A, SA, m) * element(B, SB, n);
}

Expr GemmTensors::finished(const Exprs& x) const {
  Expr y = x[0];
  std::size_t next = 1;
  if (s.scales) y = y * (x[1] * x[2]), next = 3;
  if (s.alpha) y = y * x[next++];
  if (s.adds_c()) {
    const Expr by = x[next], c = x[next + 1];
    y = select(k.constant(0), max(by, by * -1.0), y, y + by * c), next += 2;
  }
  if (s.bias) y = y + x[next++];
  if (s.row_bias) y = y + x[next++];
  if (s.activation != GemmSpec::Activation::none)
    y = expressions_of(k, parse_formulas("y = " + to_string(s.activation) + "(x)"), {y})[0];
  return s.residual ? y + x[next] : y;
}

Expr GemmTensors::value(const std::vector<Sym>& c) const {
  const Expr sum = s.gather ? k.sum(parts,
                                    [&](Sym part) {
                                      return k(*P, {c[0], c[1], part});
                                    })
                            : k.sum(K, [&](Sym i) { return product(c[0], c[1], i); });
  Exprs of = {sum};
  if (s.scales) of.push_back(k(*SA, {c[0], Sym(0)})), of.push_back(k(*SB, {Sym(0), c[1]}));
  if (s.alpha) of.push_back(k(*alpha, {Sym(0), Sym(0)}));
  if (s.adds_c()) of.push_back(k(*beta, {Sym(0), Sym(0)})), of.push_back(k(*added, {c[0], c[1]}));
  if (s.bias) of.push_back(k(*bias, {Sym(0), c[1]}));
  if (s.row_bias) of.push_back(k(*row_bias, {c[0], Sym(0)}));
  if (s.residual) of.push_back(k(*residual, {c[0], c[1]}));
  return finished(of);
}

void GemmTensors::specify() const {
  if (P)
    k.computes(*P, [&](const auto& c) {
      const Sym begin = Sym(s.split) * c[2];
      return k.sum(K, begin, begin + length(c[2]), [&](Sym i) { return product(c[0], c[1], i); });
    });
  k.computes(C, [&](const auto& c) { return value(c); });
  if (amax)
    k.computes(*amax, [&](const auto& c) {
      const Sym n = k.symbols().symbol("_compared", {Int(0), std::nullopt});
      const std::pair<Sym, Sym> tile[] = {{s.tile_n * c[1], s.tile_n * (c[1] + Sym(1))}};
      return k.expressions().partial_fold(Monoid::max, n, N, tile, magnitude(value({c[0], n})));
    });
}

} // namespace inlay::kernels::gemm
