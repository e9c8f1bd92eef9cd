// Routing of a mixture of experts: which experts a token goes to and with which weights, and the weighted sum of what they gave.
#include "../page.h"
#include "chosen.h"
#include "gating.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>
#include <numeric>

namespace inlay::kernels {
namespace {

void check(const Gating& s) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("topk_gating: {}\n  hint   {}", what, hint));
  };
  if (s.experts != 64 && s.experts != 128 && s.experts != 256 && s.experts != 512)
    refuse(fmt::format("--experts {}", s.experts),
           "64, 128, 256 or 512: 8 to 64 lanes have a token's logits");
  if (s.lanes != 8 && s.lanes != 16 && s.lanes != 32 && s.lanes != 64)
    refuse(fmt::format("--lanes {}", s.lanes), "8, 16, 32 or 64");
  if (s.k > s.experts)
    refuse(fmt::format("--k {} of {} experts", s.k, s.experts), "at most as many as there are");
}

} // namespace

// The experts of a token, the largest logit first and of equal ones the least number, and their weights: softmax over the chosen ones
// (renormalised), or over all. One after the other: the largest of what is left, where it stands, and what is left without it.
// [topk_gating]
Program gating_program(const Gating& s) {
  check(s);
  // With 8 lanes a row a fold is three steps for eight rows of a wave at once; with 64 it is six, of an eighth of the elements.
  constexpr int threads = 256;
  const int N = s.experts, v = s.vector(), lanes = s.lanes, rows = threads / lanes;
  Program k("topk_gating", Target::named(s.arch), threads);
  const Sym M = k.size("m", {.most = 1 << 24});
  const Tensor W = k.output("weights", Element::f32, {M, s.k}), I = k.output("ids", Element::f32, {M, s.k}),
               X = k.input("x", s.type, {M, N});
  const Expr no_place = k.constant(INFINITY);
  struct Chosen {
    std::vector<Expr> value, id;
  };
  const auto chosen = [&](Sym r) {
    Chosen c;
    for (int d = 0; d < s.k; ++d) {
      const auto left = [&](Sym i) {
        Expr x = max(k(X, {r, i}), k.constant(-INFINITY)); // NaN is as minus infinity
        for (const Expr& id : c.id) x = without(k, x, i, id);
        return x;
      };
      const Expr most = k.fold(Monoid::max, Sym(N), left);
      const Expr id =
          k.fold(Monoid::min, Sym(N), [&](Sym i) { return select(left(i), most, k.number(i), no_place); });
      c.value.push_back(most), c.id.push_back(id);
    }
    return c;
  };
  k.computes(W, [&](const auto& c) {
    const Chosen of = chosen(c[0]);
    Expr sum = k.constant(0);
    std::vector<Expr> weights;
    for (const Expr& value : of.value) {
      weights.push_back(exp(value - of.value[0]));
      sum = sum + weights.back();
    }
    if (!s.renormalise) sum = k.sum(Sym(N), [&](Sym i) { return exp(k(X, {c[0], i}) - of.value[0]); });
    return pick(k, c[1], weights) / sum;
  });
  k.computes(I, [&](const auto& c) { return pick(k, c[1], chosen(c[0]).id); });

  const Sym row = k.workgroups(0, M, rows);
  const Layout tv = parse_layout(fmt::format("(({0},{1}),({2},{3})):(({2}@1,1@0),(1@1,{4}@1))", lanes, rows,
                                             v, N / (lanes * v), lanes * v));
  const Fragment x = k.load(k.tile(X, {rows, N}, {row, 0}), tv, v);
  Fragment left = k.map({x}, [&](const Exprs& a) { return max(a[0], k.constant(-INFINITY)); });
  std::vector<Fragment> value, ids;
  for (int d = 0; d < s.k; ++d) {
    value.push_back(k.fold(Monoid::max, left, 1));
    const Fragment at = k.map({left, value.back()}, [&](const Exprs& a) {
      return select(a[0], a[1], k.number(k.position(1)), no_place);
    });
    ids.push_back(k.fold(Monoid::min, at, 1));
    if (d + 1 < s.k)
      left = k.map({left, ids.back()}, [&](const Exprs& a) { return without(k, a[0], k.position(1), a[1]); });
  }
  // A work-item of a row has all of its results, which lie together.
  const Layout results = parse_layout(fmt::format("(({0},{1}),{2}):((0,1@0),1@1)", lanes, rows, s.k));
  const int together = std::gcd(s.k, 4);
  const auto all = [&](std::vector<Fragment> of) {
    of.push_back(k.zeros(Element::f32, results, {rows, s.k}));
    return k.map(of, [&](const Exprs& a) { return pick(k, k.position(1), {a.begin(), a.end() - 1}); });
  };
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

namespace {

std::vector<Judged> gating_reference(const Gating& s, const Workload& w, const Results&) {
  Judged weights{"weights", {}, {}, "(12 + 4 distance + E) 2^-24 w"}, ids{"ids", {}, {}, "0"};
  const auto n = static_cast<std::size_t>(s.experts), chosen = static_cast<std::size_t>(s.k);
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.m); ++r) {
    const double* x = w.values("x").data() + r * n;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
    double sum = 0;
    for (std::size_t i = 0; i < (s.renormalise ? chosen : n); ++i) sum += std::exp(x[order[i]] - x[order[0]]);
    for (std::size_t d = 0; d < chosen; ++d) {
      const double far = x[order[0]] - x[order[n - 1]], value = std::exp(x[order[d]] - x[order[0]]) / sum;
      ids.value.push_back(static_cast<double>(order[d])), ids.bound.push_back(0);
      weights.value.push_back(value);
      weights.bound.push_back((12 + 8 * far + static_cast<double>(n)) * u32 * value);
    }
  }
  return {weights, ids};
}

// The sum of rows of experts, weighted: Y[t,d] = sum over j < k of weights[t,j] X[ids[t k + j], d].
struct Combining {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int k = 8, threads = 256, vector = 0;
  std::int64_t m = 64, n = 1024, rows = 512;
  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
};

// [weighted_combine]
Program combine_program(const Combining& s) {
  const int v = s.vector_length(), tile = s.threads * v;
  Program k("weighted_combine", Target::named(s.arch), s.threads);
  const Sym M = k.size("m", {.most = 1 << 24}), N = k.size("n", {.most = 1 << 16, .multiple = v}),
            P = k.size("rows", {.most = 1 << 24});
  const Tensor Y = k.output("y", s.type, {M, N}), X = k.input("x", s.type, {P, N}),
               W = k.input("weights", Element::f32, {M, s.k}),
               ids = k.input("ids", Element::i32, {Sym(s.k) * M});
  k.computes(Y, [&](const auto& c) {
    Expr sum = k.constant(0);
    for (int j = 0; j < s.k; ++j)
      sum = sum + k(W, {c[0], j}) * k(X, {k.at(ids, Sym(s.k) * c[0] + Sym(j)), c[1]});
    return sum;
  });
  const Sym row = k.workgroups(0, M, 1), part = k.workgroups(1, N, tile);
  const Layout tv = codegen::rows_tv(1, tile, v, s.threads), of_row = codegen::without_axis(tv, 1);
  std::vector<Fragment> of;
  for (int j = 0; j < s.k; ++j) {
    of.push_back(k.load(k.tile(X, {1, tile}, {k.uniform(ids, Sym(s.k) * row + Sym(j)), part}), tv, v));
    of.push_back(k.load(k.tile(W, {1, 1}, {row, j}), of_row, 1));
  }
  const Fragment sum = k.map(of, [&](const Exprs& a) {
    Expr e = a[0] * a[1];
    for (std::size_t i = 2; i < a.size(); i += 2) e = e + a[i] * a[i + 1];
    return e;
  });
  k.store(sum, k.tile(Y, {1, tile}, {row, part}), v);
  return k;
}
// [weighted_combine end]

std::vector<Judged> combine_reference(const Combining& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(k + 1) 2^-24 sum |w x| + u |y|"};
  for (std::size_t t = 0; t < static_cast<std::size_t>(s.m); ++t)
    for (std::size_t c = 0; c < static_cast<std::size_t>(s.n); ++c) {
      double sum = 0, size = 0;
      for (std::size_t j = 0; j < static_cast<std::size_t>(s.k); ++j) {
        const std::size_t at = t * static_cast<std::size_t>(s.k) + j;
        const double id = w.values("ids")[at];
        if (id < 0 || id >= static_cast<double>(s.rows)) continue; // counts nothing
        const double term = w.values("weights")[at] *
                            w.values("x")[static_cast<std::size_t>(id) * static_cast<std::size_t>(s.n) + c];
        sum += term, size += std::abs(term);
      }
      y.value.push_back(sum), y.bound.push_back((s.k + 1) * u32 * size + rounding(s.type, sum));
    }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> topk_gating_kernel() {
  using Read = Reads<Gating>;
  Page<Gating> page{
      .summary = "the k largest logits of each token and their softmax, renormalised or over all experts",
      .options =
          {"topk_gating",
           {arch_option<Gating>(),
            {"dtype", Read::element(&Gating::type, "f16, bf16, f32"), "f32", "element type of the logits"},
            {"m", Read::number(&Gating::m, 1, 1 << 24), "64", "tokens"},
            {"experts", Read::number(&Gating::experts, 1, 1 << 16), "256", "experts: 64, 128, 256 or 512"},
            {"k", Read::number(&Gating::k, 1, 16), "8", "experts of a token"},
            {"renormalise", Read::yes(&Gating::renormalise), "yes",
             "weights are a softmax over the chosen experts; no: over all"},
            {"lanes", Read::number(&Gating::lanes, 8, 64), "auto",
             "lanes that have a token's logits: 8, 16, 32 or 64", "8"}}},
      .program = gating_program,
      .sizes = [](const Gating& s) { return std::vector{s.m}; },
      .size_names = {"m"},
      .data =
          [](const Gating& s, Workload& w, std::uint64_t seed) { // the odd rows have equal logits
            w.random("x", seed, 4);
            std::vector<double> x = w.values("x");
            for (std::size_t i = 0; i < x.size(); ++i)
              if (i / static_cast<std::size_t>(s.experts) % 2 == 1) x[i] = std::round(2 * x[i]) / 2;
            w.set("x", x);
          },
      .reference = gating_reference,
      .text =
          [](const Gating& s) {
            return fmt::format("{} of {} experts for {} tokens, {}", s.k, s.experts, s.m, to_string(s.type));
          },
      .candidates =
          [](const Gating&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* lanes : {"8", "16", "32", "64"}) add_candidate(all, {{"lanes", lanes}}, fixed);
            return all;
          },
      .bound = [](const Gating& s) { // each choice looks at a lane's elements three times, and folds twice
        const double each = 16.0 * s.experts / s.lanes + 60 * std::log2(s.lanes) + 100;
        return rounds(s.arch, up(s.m, 256 / s.lanes), 4) * (1500 + s.k * each);
      }};
  return page_of(std::move(page));
}

std::unique_ptr<Kernel> weighted_combine_kernel() {
  using Read = Reads<Combining>;
  Page<Combining> page{
      .summary = "the weighted sum of the rows that a table names for each token; an id that is no row "
                 "counts nothing",
      .options = {"weighted_combine",
                  {arch_option<Combining>(),
                   {"dtype", Read::element(&Combining::type, "f16, bf16, f32"), "bf16",
                    "element type of X and Y"},
                   {"m", Read::number(&Combining::m, 1, 1 << 20), "64", "tokens"},
                   {"n", Read::number(&Combining::n, 1, 1 << 16), "1024", "columns, a multiple of a vector"},
                   {"rows", Read::number(&Combining::rows, 1, 1 << 24), "512", "rows of X"},
                   {"k", Read::number(&Combining::k, 1, 16), "8", "rows of a token"},
                   {"threads", Read::number(&Combining::threads, 64, 1024), "auto",
                    "work-items of a workgroup", "256"},
                   {"vector", Read::number(&Combining::vector, 0, 8), "auto",
                    "elements that one instruction moves; 0: 16 bytes", "0"}}},
      .program = combine_program,
      .sizes =
          [](const Combining& s) {
            return std::vector{s.m, s.n, s.rows};
          },
      .size_names = {"m", "n", "rows"},
      .data =
          [](const Combining& s, Workload& w, std::uint64_t seed) {
            random_inputs(w, seed);
            std::mt19937_64 random(seed);
            std::vector<double> ids;
            for (std::int64_t i = 0; i < s.m * s.k; ++i)
              ids.push_back(static_cast<double>(
                  static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.rows + 2)) - 1));
            w.set("ids", ids);
          },
      .reference = combine_reference,
      .text =
          [](const Combining& s) {
            return fmt::format("Y[{},{}] of {} rows each of {}, {}", s.m, s.n, s.k, s.rows,
                               to_string(s.type));
          },
      .candidates =
          [](const Combining& s, const Flags& fixed) {
            return candidates_by_threads(s.type, s.n, {64, 128, 256}, fixed);
          },
      .bound =
          [](const Combining& s) {
            const int tile = s.threads * s.vector_length(), resident = resident_by_waves(s.threads);
            return rounds(s.arch, s.m * up(s.n, tile), resident) *
                   (2200.0 + static_cast<double>(s.k) * resident * tile);
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
