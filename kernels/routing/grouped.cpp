// score = 1 / (1 + exp(-x)), rank = score + bias; of the groups whose two best ranks have the greatest sums, the k best experts:
// weights[t,d] = scale score[t,ids[t,d]] / sum over d of score[t,ids[t,d]] (renormalised), or without the sum.
#include "../least_number.h"
#include "../refusal.h"
#include "chosen.h"
#include "gating.h"

namespace inlay::kernels {
namespace {

void check(const GroupedGating& s) {
  const Refusal refuse{"grouped_gating"};
  if (16 % s.groups != 0) refuse(fmt::format("--groups {}", s.groups), "1, 2, 4, 8 or 16");
  if (s.experts % 32 != 0 || s.experts > 512 || s.members() < 2)
    refuse(fmt::format("--experts {} in --groups {}", s.experts, s.groups),
           "a multiple of 32 up to 512: 4, 8 or 16 lanes have a token's logits, and a group has two experts");
  if (s.of_groups > s.groups)
    refuse(fmt::format("--topk-group {} of {} groups", s.of_groups, s.groups),
           "at most as many as there are");
  if (s.k > s.of_groups * s.members())
    refuse(fmt::format("--k {} of {} experts in {} groups", s.k, s.of_groups * s.members(), s.of_groups),
           "at most as many as the chosen groups have");
}

} // namespace

// A score is s = 1 / (1 + exp(-x)), an expert's rank is by s + bias. A group counts as much as its two best; the best groups are chosen,
// and of their experts the k best, of equal ones the least number first. Weights are the scores, without the bias, over their sum.
// [grouped_gating]
Program grouped_gating_program(const GroupedGating& s) {
  check(s);
  constexpr int threads = 64;
  const int lanes = s.row_lanes(), rows = threads / lanes;
  const int G = s.groups, S = s.members(), v = s.vector(), L = s.lanes(), P = s.lane_groups();
  Program k("grouped_gating", Target::named(s.arch), threads);
  const Sym M = k.size("m", {.most = 1 << 22});
  const Tensor W = k.output("weights", Element::f32, {M, s.k, 1}),
               I = k.output("ids", Element::f32, {M, s.k, 1}), X = k.input("x", s.type, {M, G, S}),
               B = k.input("bias", Element::f32, {1, G, S});
  const Expr none = k.constant(-INFINITY);
  const auto score = [](Expr x) { return rcp(exp(x * -1.0) + 1.0); };
  // No bound where (g, j) is not after the last group that was chosen, else minus infinity.
  const auto bound = [&](Expr g, Expr j, Expr value, Expr place) {
    const Expr all = k.constant(INFINITY);
    return select(g, value, select(value, g, select(place, j, all, none), all), none);
  };
  // NaN is as minus infinity.
  const auto rank_of = [&](Expr x, Expr bias) { return max(score(x) + bias, none); };

  const auto rank = [&](Sym r, Sym j, Sym i) { return rank_of(k(X, {r, j, i}), k(B, {0, j, i})); };
  const auto group = [&](Sym r, Sym j) {
    const auto two = k.top(2, {Sym(S)}, [&](const auto& i) { return rank(r, j, i[0]); });
    return two.value[0] + two.value[1];
  };
  const auto chosen = [&](Sym r) {
    const auto groups = k.top(s.of_groups, {Sym(G)}, [&](const auto& j) { return group(r, j[0]); });
    return k.top(s.k, {Sym(G), Sym(S)}, [&](const auto& i) {
      const Expr x = rank(r, i[0], i[1]);
      if (s.of_groups == G) return x;
      return select(bound(group(r, i[0]), k.number(i[0]), groups.value.back(), groups.place.back()),
                    k.constant(0), x, none);
    });
  };
  k.computes(W, [&](const auto& c) {
    Expr sum = k.constant(0);
    std::vector<Expr> weights;
    for (const Expr& id : chosen(c[0]).place) {
      weights.push_back(score(least_number(k.at_place(id, {Sym(G), Sym(S)}, [&](const auto& i) {
        return k(X, {c[0], i[0], i[1]});
      }))));
      sum = sum + weights.back();
    }
    const Expr weight = pick(k, c[1], weights) * s.scale;
    return s.renormalise ? weight / sum : weight;
  });
  k.computes(I, [&](const auto& c) { return pick(k, c[1], chosen(c[0]).place); });

  const Sym row = k.workgroups(0, M, rows);
  const Layout tv =
      parse_layout(fmt::format("(({0},{1},{2}),({3},{4},{6})):(({3}@2,{6}@1,1@0),(1@2,{5}@2,1@1))", L, G / P,
                               rows, v, S / (L * v), L * v, P));
  const Fragment x = k.load(k.tile(X, {rows, G, S}, {row, 0, 0}), tv, v),
                 bias = k.load(k.tile(B, {1, G, S}, {0, 0, 0}), codegen::without_axis(tv, 0), std::min(v, 4));
  Fragment open = k.map({x, bias}, [&](const Exprs& a) { return rank_of(a[0], a[1]); });
  if (s.of_groups < G) {
    const auto two = k.top(2, open, {2});
    const Fragment of_group = k.map({two.value[0], two.value[1]}, [](const Exprs& a) { return a[0] + a[1]; });
    const auto groups = k.top(s.of_groups, of_group, {1});
    const Fragment most = k.map({of_group, groups.value.back(), groups.place.back()}, [&](const Exprs& a) {
      return bound(a[0], k.number(k.position(1)), a[1], a[2]);
    });
    open = k.map({open, most}, [&](const Exprs& a) { return select(a[1], k.constant(0), a[0], none); });
  }
  // The logits of the chosen: beside their ranks, or where an expert has that number.
  std::vector<Fragment> ids, chosen_x;
  if (codegen::bits(s.type) == 16) {
    const Program::Top best = k.top(s.k, open, x, {1, 2});
    ids = best.place, chosen_x = best.beside;
  } else {
    ids = k.top(s.k, open, {1, 2}).place;
    // A fold of folds: what stands between them says that each of the inner ones is whole.
    for (const Fragment& id : ids) {
      const Fragment at = k.map({x, id}, [&](const Exprs& a) {
        const Expr number = k.number(Sym(S) * k.position(1) + k.position(2));
        return choose(equal(integer(number), truncated(a[1])), a[0], none);
      });
      const Fragment inner = k.map({k.fold(Monoid::max, at, 2)}, [](const Exprs& a) { return a[0]; });
      chosen_x.push_back(G == 1 ? inner : k.fold(Monoid::max, inner, 1));
    }
  }
  std::vector<Fragment> weights;
  for (const Fragment& of : chosen_x)
    weights.push_back(k.map({of}, [&](const Exprs& a) { return score(least_number(a[0])); }));
  const int together = std::gcd(s.k, 4);
  const auto all = [&](const std::vector<Fragment>& of) {
    return side_by_side(k, of, lanes, {rows, s.k, 1});
  };
  k.store(all(ids), k.tile(I, {rows, s.k, 1}, {row, 0, 0}), together);
  Fragment sum = weights[0];
  if (s.renormalise)
    for (int d = 1; d < s.k; ++d)
      sum = k.map({sum, weights[static_cast<std::size_t>(d)]}, [](const Exprs& a) { return a[0] + a[1]; });
  std::vector<Fragment> of = {all(weights)};
  if (s.renormalise) of.push_back(sum);
  k.store(k.map(of, [&](const Exprs& a) { return s.renormalise ? a[0] * s.scale / a[1] : a[0] * s.scale; }),
          k.tile(W, {rows, s.k, 1}, {row, 0, 0}), together);
  return k;
}
// [grouped_gating end]

} // namespace inlay::kernels
