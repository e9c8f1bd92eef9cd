// ids[t,d] = the expert of the (d+1)-th largest x[t,:], the least number of equal ones first;
// weights[t,d] = exp(x[t,ids[t,d]] - max) / sum of the same over the chosen ones (renormalised), or over all.
#include "../refusal.h"
#include "chosen.h"
#include "gating.h"

namespace inlay::kernels {
namespace {

void check(const Gating& s) {
  const Refusal refuse{"topk_gating"};
  if (s.experts != 64 && s.experts != 128 && s.experts != 256 && s.experts != 512)
    refuse(fmt::format("--experts {}", s.experts),
           "64, 128, 256 or 512: 4 to 64 lanes have a token's logits");
  if (s.lanes != 0 && s.lanes != 4 && s.lanes != 8 && s.lanes != 16 && s.lanes != 32 && s.lanes != 64)
    refuse(fmt::format("--lanes {}", s.lanes), "4, 8, 16, 32 or 64");
  if (s.k > s.experts)
    refuse(fmt::format("--k {} of {} experts", s.k, s.experts), "at most as many as there are");
}

} // namespace

// The experts of a token, the largest logit first and of equal ones the least number, and their weights: softmax over the chosen ones
// (renormalised), or over all.
// [topk_gating]
Program gating_program(const Gating& s) {
  check(s);
  constexpr int threads = 64;
  const int N = s.experts, v = s.vector(), lanes = s.lanes_used(), rows = threads / lanes;
  Program k("topk_gating", Target::named(s.arch), threads);
  const Sym M = k.size("m", {.most = 1 << 24});
  const Tensor W = k.output("weights", Element::f32, {M, s.k}), I = k.output("ids", Element::f32, {M, s.k}),
               X = k.input("x", s.type, {M, N});
  const auto chosen = [&](Sym r) {
    return k.top(s.k, {Sym(N)}, [&](const auto& i) {
      return max(k(X, {r, i[0]}), k.constant(-INFINITY)); // NaN is as minus infinity
    });
  };
  k.computes(W, [&](const auto& c) {
    const auto of = chosen(c[0]);
    Expr sum = k.constant(0);
    std::vector<Expr> weights;
    for (const Expr& value : of.value) {
      weights.push_back(exp(value - of.value[0]));
      sum = sum + weights.back();
    }
    if (!s.renormalise) sum = k.sum(Sym(N), [&](Sym i) { return exp(k(X, {c[0], i}) - of.value[0]); });
    return pick(k, c[1], weights) / sum;
  });
  k.computes(I, [&](const auto& c) { return pick(k, c[1], chosen(c[0]).place); });

  const Sym row = k.workgroups(0, M, rows);
  const Layout tv = parse_layout(fmt::format("(({0},{1}),({2},{3})):(({2}@1,1@0),(1@1,{4}@1))", lanes, rows,
                                             v, N / (lanes * v), lanes * v));
  const Fragment x = k.load(k.tile(X, {rows, N}, {row, 0}), tv, v);
  const auto [value, ids, beside] = k.top(s.k, x, {1});
  const int together = std::gcd(s.k, 4);
  const auto all = [&](const std::vector<Fragment>& of) { return side_by_side(k, of, lanes, {rows, s.k}); };
  k.store(all(ids), k.tile(I, {rows, s.k}, {row, 0}), together);
  std::vector<Fragment> weights;
  for (const Fragment& one : value)
    weights.push_back(k.map({one, value[0]}, [](const Exprs& a) { return exp(a[0] - a[1]); }));
  Fragment sum = weights[0];
  if (s.renormalise)
    for (int d = 1; d < s.k; ++d)
      sum = k.map({sum, weights[static_cast<std::size_t>(d)]}, [](const Exprs& a) { return a[0] + a[1]; });
  else
    sum = k.fold(Monoid::sum, k.map({x, value[0]}, [](const Exprs& a) { return exp(a[0] - a[1]); }), 1);
  k.store(k.map({all(weights), sum}, [](const Exprs& a) { return a[0] / a[1]; }),
          k.tile(W, {rows, s.k}, {row, 0}), together);
  return k;
}
// [topk_gating end]

} // namespace inlay::kernels
