// Routing of DeepSeek-V3 and its like: experts by a sigmoid and a bias, of the best groups alone.
#include "../page.h"
#include "chosen.h"
#include "gating.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

void check(const GroupedGating& s) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("grouped_gating: {}\n  hint   {}", what, hint));
  };
  if (16 % s.groups != 0) refuse(fmt::format("--groups {}", s.groups), "1, 2, 4, 8 or 16");
  if (s.experts % 32 != 0 || s.experts > 512 || s.members() < 2)
    refuse(fmt::format("--experts {} in --groups {}", s.experts, s.groups),
           "a multiple of 32 up to 512: 16 lanes have a token's logits, and a group has two experts");
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
  constexpr int lanes = 16, threads = 256, rows = threads / lanes;
  const int G = s.groups, S = s.members(), v = s.vector(), L = s.lanes();
  Program k("grouped_gating", Target::named(s.arch), threads);
  const Sym M = k.size("m", {.most = 1 << 22});
  const Tensor W = k.output("weights", Element::f32, {M, s.k, 1}),
               I = k.output("ids", Element::f32, {M, s.k, 1}), X = k.input("x", s.type, {M, G, S}),
               B = k.input("bias", Element::f32, {1, G, S});
  const Expr none = k.constant(-INFINITY), no_place = k.constant(INFINITY);
  const auto score = [](Expr x) { return rcp(exp(x * -1.0) + 1.0); };
  // x where (g, j) is not after the last group that was chosen.
  const auto in_chosen = [&](Expr x, Expr g, Expr j, Expr value, Expr place) {
    return select(g, value, select(value, g, select(place, j, x, none), x), none);
  };

  // Over all experts; a single group is no index.
  const auto best = [&](Monoid monoid, const std::function<Expr(Sym, Sym)>& of) {
    const auto of_group = [&](Sym j) { return k.fold(monoid, Sym(S), [&](Sym i) { return of(j, i); }); };
    return G == 1 ? of_group(Sym(0)) : k.fold(monoid, Sym(G), of_group);
  };
  const auto rank = [&](Sym r, Sym j, Sym i) {
    return max(score(k(X, {r, j, i})) + k(B, {0, j, i}), none); // NaN is as minus infinity
  };
  const auto group = [&](Sym r, Sym j) {
    const Expr first = k.fold(Monoid::max, Sym(S), [&](Sym i) { return rank(r, j, i); });
    const Expr at = k.fold(Monoid::min, Sym(S),
                           [&](Sym i) { return select(rank(r, j, i), first, k.number(i), no_place); });
    return first + k.fold(Monoid::max, Sym(S), [&](Sym i) { return without(k, rank(r, j, i), i, at); });
  };
  struct Chosen {
    std::vector<Expr> value, id;
  };
  const auto groups = [&](Sym r) {
    Chosen c;
    for (int d = 0; d < s.of_groups; ++d) {
      const auto left = [&](Sym j) {
        Expr x = group(r, j);
        for (const Expr& id : c.id) x = without(k, x, j, id);
        return x;
      };
      const Expr most = k.fold(Monoid::max, Sym(G), left);
      const Expr at =
          k.fold(Monoid::min, Sym(G), [&](Sym j) { return select(left(j), most, k.number(j), no_place); });
      c.value.push_back(most), c.id.push_back(at);
    }
    return c;
  };
  const auto chosen = [&](Sym r) {
    const Chosen g = groups(r);
    Chosen c;
    for (int d = 0; d < s.k; ++d) {
      const auto left = [&](Sym j, Sym i) {
        Expr x = rank(r, j, i);
        if (s.of_groups < G) x = in_chosen(x, group(r, j), k.number(j), g.value.back(), g.id.back());
        for (const Expr& id : c.id) x = without(k, x, Sym(S) * j + i, id);
        return x;
      };
      const Expr most = best(Monoid::max, left);
      const Expr id = best(Monoid::min, [&](Sym j, Sym i) {
        return select(left(j, i), most, k.number(Sym(S) * j + i), no_place);
      });
      c.value.push_back(most), c.id.push_back(id);
    }
    return c;
  };
  // The score of expert `id`, and minus infinity of the others.
  const auto of_expert = [&](Expr x, Sym i, Expr id) {
    return choose(equal(integer(k.number(i)), truncated(id)), x, none);
  };
  k.computes(W, [&](const auto& c) {
    Expr sum = k.constant(0);
    std::vector<Expr> weights;
    for (const Expr& id : chosen(c[0]).id) {
      weights.push_back(best(Monoid::max, [&](Sym j, Sym i) {
        return of_expert(score(k(X, {c[0], j, i})), Sym(S) * j + i, id);
      }));
      sum = sum + weights.back();
    }
    const Expr weight = pick(k, c[1], weights) * s.scale;
    return s.renormalise ? weight / sum : weight;
  });
  k.computes(I, [&](const auto& c) { return pick(k, c[1], chosen(c[0]).id); });

  const Sym row = k.workgroups(0, M, rows);
  const Layout tv = parse_layout(fmt::format("(({0},{1},{2}),({3},{4})):(({3}@2,1@1,1@0),(1@2,{5}@2))", L, G,
                                             rows, v, S / (L * v), L * v));
  const Sym number = Sym(S) * k.position(1) + k.position(2);
  const Fragment x = k.load(k.tile(X, {rows, G, S}, {row, 0, 0}), tv, v),
                 bias = k.load(k.tile(B, {1, G, S}, {0, 0, 0}), codegen::without_axis(tv, 0), std::min(v, 4));
  const Fragment scores = k.map({x}, [&](const Exprs&a) { return score(a[0]); }),
                 rank_of = k.map({scores, bias}, [&](const Exprs&a) { return max(a[0] + a[1], none); });
  Fragment open = rank_of;
  if (s.of_groups < G) {
    const Fragment first = k.fold(Monoid::max, rank_of, 2);
    const Fragment at =
        k.fold(Monoid::min,
               k.map({rank_of, first},
                     [&](const Exprs& a) { return select(a[0], a[1], k.number(k.position(2)), no_place); }),
               2);
    const Fragment second = k.fold(
        Monoid::max,
        k.map({rank_of, at}, [&](const Exprs& a) { return without(k, a[0], k.position(2), a[1]); }), 2);
    const Fragment of_group = k.map({first, second}, [](const Exprs& a) { return a[0] + a[1]; });
    Fragment left = of_group, value = of_group, place = of_group;
    for (int d = 0; d < s.of_groups; ++d) {
      value = k.fold(Monoid::max, left, 1);
      place =
          k.fold(Monoid::min,
                 k.map({left, value},
                       [&](const Exprs& a) { return select(a[0], a[1], k.number(k.position(1)), no_place); }),
                 1);
      if (d + 1 < s.of_groups)
        left = k.map({left, place}, [&](const Exprs& a) { return without(k, a[0], k.position(1), a[1]); });
    }
    open = k.map({rank_of, of_group, value, place},
                 [&](const Exprs& a) { return in_chosen(a[0], a[1], k.number(k.position(1)), a[2], a[3]); });
  }
  // A fold of folds: what stands between them says that each of the inner ones is whole.
  const auto over_all = [&](Monoid monoid, const Fragment& of) {
    const Fragment inner = k.map({k.fold(monoid, of, 2)}, [](const Exprs& a) { return a[0]; });
    return G == 1 ? inner : k.fold(monoid, inner, 1);
  };
  Fragment left = open;
  std::vector<Fragment> weights, ids;
  for (int d = 0; d < s.k; ++d) {
    const Fragment most = over_all(Monoid::max, left);
    const Fragment at =
        k.map({left, most}, [&](const Exprs& a) { return select(a[0], a[1], k.number(number), no_place); });
    ids.push_back(over_all(Monoid::min, at));
    weights.push_back(over_all(Monoid::max, k.map({scores, ids.back()}, [&](const Exprs& a) {
      return of_expert(a[0], number, a[1]);
    })));
    if (d + 1 < s.k)
      left = k.map({left, ids.back()}, [&](const Exprs& a) { return without(k, a[0], number, a[1]); });
  }
  // A work-item of a row has all of its results, which lie together.
  const Layout results = parse_layout(fmt::format("(({0},{1}),{2}):((0,1@0),1@1)", lanes, rows, s.k));
  const int together = std::gcd(s.k, 4);
  const auto all = [&](std::vector<Fragment> of) {
    of.push_back(k.zeros(Element::f32, results, {rows, s.k, 1}));
    return k.map(of, [&](const Exprs& a) { return pick(k, k.position(1), {a.begin(), a.end() - 1}); });
  };
  k.store(all(ids), k.tile(I, {rows, s.k, 1}, {row, 0, 0}), together);
  Fragment sum = weights[0];
  if (s.renormalise)
    for (int d = 1; d < s.k; ++d)
      sum = k.map({sum, weights[static_cast<std::size_t>(d)]}, [](const Exprs& a) { return a[0] + a[1]; });
  k.store(k.map({all(weights), sum},
                [&](const Exprs& a) { return s.renormalise ? a[0] * s.scale / a[1] : a[0] * s.scale; }),
          k.tile(W, {rows, s.k, 1}, {row, 0, 0}), together);
  return k;
}
// [grouped_gating end]

namespace {

/// The order of numbers, the largest first and of equal ones the least place; `tried` are places that a launch chose, one after the
/// other. It decides between numbers closer than `error`, which rounding may exchange, and never between equal ones.
std::vector<std::size_t> order_of(const std::vector<double>& of, const std::vector<std::size_t>& tried,
                                  double error) {
  std::vector<double> key = of;
  for (std::size_t d = tried.size(); d-- > 0;)
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i] == of[tried[d]]) key[i] = of[i] + error * static_cast<double>(2 * (tried.size() - d));
  std::vector<std::size_t> order(of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] > key[b]; });
  return order;
}

std::vector<Judged> grouped_gating_reference(const GroupedGating& s, const Workload& w,
                                             const Results& result) {
  Judged weights{"weights", {}, {}, "(24 + 4 |x|) 2^-24 w"},
      ids{"ids", {}, {}, "0, between scores that are (16 + 4 |x|) 2^-24 apart"};
  const auto n = static_cast<std::size_t>(s.experts), chosen = static_cast<std::size_t>(s.k),
             groups = static_cast<std::size_t>(s.groups), members = n / groups;
  const std::vector<double> given = result("ids");
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.m); ++r) {
    const double* x = w.values("x").data() + r * n;
    std::vector<double> score(n), rank(n), of_group(groups);
    double far = 0;
    for (std::size_t i = 0; i < n; ++i) {
      score[i] = 1 / (1 + std::exp(-x[i])), rank[i] = score[i] + w.values("bias")[i];
      far = std::max({far, std::abs(x[i]), std::abs(rank[i])});
    }
    for (std::size_t j = 0; j < groups; ++j) {
      std::vector<double> of(rank.begin() + static_cast<std::ptrdiff_t>(j * members),
                             rank.begin() + static_cast<std::ptrdiff_t>((j + 1) * members));
      std::partial_sort(of.begin(), of.begin() + 2, of.end(), std::greater<>());
      of_group[j] = of[0] + of[1];
    }
    std::vector<std::size_t> tried, tried_groups;
    for (std::size_t d = 0; d < chosen; ++d)
      if (const double id = given[r * chosen + d]; id >= 0 && id < static_cast<double>(n)) {
        tried.push_back(static_cast<std::size_t>(id));
        if (const std::size_t j = tried.back() / members;
            std::find(tried_groups.begin(), tried_groups.end(), j) == tried_groups.end())
          tried_groups.push_back(j);
      }
    const double error = (16 + 4 * far) * u32;
    std::vector<std::size_t> best = order_of(of_group, tried_groups, 2 * error);
    best.resize(static_cast<std::size_t>(s.of_groups));
    for (std::size_t i = 0; i < n; ++i)
      if (std::find(best.begin(), best.end(), i / members) == best.end()) rank[i] = -INFINITY;
    const std::vector<std::size_t> order = order_of(rank, tried, error);
    double sum = 0;
    for (std::size_t d = 0; d < chosen; ++d) sum += score[order[d]];
    for (std::size_t d = 0; d < chosen; ++d) {
      const double value = score[order[d]] * s.scale / (s.renormalise ? sum : 1);
      ids.value.push_back(static_cast<double>(order[d])), ids.bound.push_back(0);
      weights.value.push_back(value);
      weights.bound.push_back((24 + 4 * far) * u32 * std::abs(value));
    }
  }
  return {weights, ids};
}

} // namespace

std::unique_ptr<Kernel> grouped_gating_kernel() {
  using Read = Reads<GroupedGating>;
  Page<GroupedGating> page{
      .summary = "the k best experts of each token's best groups, by a sigmoid and a bias, and their scores "
                 "(DeepSeek-V3)",
      .options = {"grouped_gating",
                  {arch_option<GroupedGating>(),
                   {"dtype", Read::element(&GroupedGating::type, "f16, bf16, f32"), "f32", "of the logits"},
                   {"m", Read::number(&GroupedGating::m, 1, 1 << 22), "64", "tokens"},
                   {"experts", Read::number(&GroupedGating::experts, 1, 1 << 16), "256",
                    "experts, a multiple of 32 up to 512"},
                   {"groups", Read::number(&GroupedGating::groups, 1, 16), "8",
                    "groups of experts: 1, 2, 4, 8 or 16"},
                   {"topk-group", Read::number(&GroupedGating::of_groups, 1, 16), "4",
                    "groups that experts are taken of; a group counts as much as its two best experts"},
                   {"k", Read::number(&GroupedGating::k, 1, 16), "8", "experts of a token"},
                   {"renormalise", Read::yes(&GroupedGating::renormalise), "yes",
                    "weights are scores over their sum; no: scores"},
                   {"scale", Read::real(&GroupedGating::scale), "1",
                    "factor of the weights (DeepSeek-V3: 2.5)"}}},
      .program = grouped_gating_program,
      .sizes = [](const GroupedGating& s) { return std::vector{s.m}; },
      .size_names = {"m"},
      .data =
          [](const GroupedGating& s, Workload& w, std::uint64_t seed) { // the odd rows have equal logits
            w.random("x", seed, 4), w.random("bias", seed + 1, 0.25);
            std::vector<double> x = w.values("x"), bias = w.values("bias");
            for (std::size_t i = 0; i < x.size(); ++i)
              if (i / static_cast<std::size_t>(s.experts) % 2 == 1) x[i] = std::round(x[i]);
            for (double& b : bias) b = std::round(32 * b) / 32;
            w.set("x", x), w.set("bias", bias);
          },
      .reference = grouped_gating_reference,
      .text =
          [](const GroupedGating& s) {
            return fmt::format("{} of {} experts in {} of {} groups for {} tokens, {}", s.k, s.experts,
                               s.of_groups, s.groups, s.m, to_string(s.type));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
