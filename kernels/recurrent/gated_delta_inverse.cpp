// The inverse of I + A, where A is products of the keys of a chunk below the diagonal.
#include "gated_delta_page.h"

#include <array>

namespace inlay::kernels {

using Asked = GatedDeltaChunk;
using codegen::Atom;
using codegen::MmaTiling;

namespace {

constexpr int blocks = delta_chunk / delta_block;

// [inverse]
/// The formula of the inverse, over whatever can be multiplied and added. X is a block: its own product, sum and negation.
///
///     D = (I + A)^-1 - I of a block of 16 on the diagonal: (I - A)(I + A^2)(I + A^4)(I + A^8) = I + D, as A^16 = 0
///     two neighbours of 16, then of 32:  [[P, 0], [R, Q]]^-1 = [[P^-1, 0], [-Q^-1 R P^-1, Q^-1]]
template <class X>
struct Inverse {
  std::array<std::array<X, blocks>, blocks> t; ///< [row][column], row >= column: (I + A)^-1 - I

  template <class A, class Product, class Sum>
  Inverse(A a, Product product, Sum sum) {
    for (std::size_t i = 0; i < blocks; ++i) {
      const X x = a(i, i);
      X power = product(x, x);                                       // A^2, A^4, A^8
      t[i][i] = sum({{-1, x}, {1, power}, {-1, product(x, power)}}); // A to its third power
      for (int n = 0; n < 2; ++n) {
        power = product(power, power);
        t[i][i] = sum({{1, t[i][i]}, {1, power}, {1, product(t[i][i], power)}});
      }
    }
    for (const std::size_t half : {std::size_t{1}, std::size_t{2}}) // blocks of a neighbour
      for (std::size_t first = 0; first < blocks; first += 2 * half) merge(first, half, a, product, sum);
  }

private:
  template <class A, class Product, class Sum>
  void merge(std::size_t first, std::size_t half, A a, Product product, Sum sum) {
    const std::size_t middle = first + half, end = middle + half;
    for (std::size_t i = middle; i < end; ++i) {
      std::vector<X> left; // row i of Q^-1 R
      for (std::size_t j = first; j < middle; ++j) {
        std::vector<std::pair<int, X>> terms{{1, a(i, j)}};
        for (std::size_t m = middle; m <= i; ++m) terms.emplace_back(1, product(t[i][m], a(m, j)));
        left.push_back(sum(terms));
      }
      for (std::size_t j = first; j < middle; ++j) { // times P^-1
        std::vector<std::pair<int, X>> terms{{-1, left[j - first]}};
        for (std::size_t m = j; m < middle; ++m) terms.emplace_back(-1, product(left[m - first], t[m][j]));
        t[i][j] = sum(terms);
      }
    }
  }
};
// [inverse end]

} // namespace

// [gated_delta_inverse]
Program gated_delta_inverse_program(const Asked& s) {
  check_chunk("gated_delta_inverse", s);
  const Target& target = Target::named(s.arch);
  constexpr int n16 = delta_block;
  const int D = s.key;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, Element::f32, Element::f32, Element::f32, 16), 1,
                                      1, n16, n16, n16, 4);
  Program k("gated_delta_inverse", target, mma.threads());
  const DeltaSizes z = DeltaSizes::of(k, s.group);
  const Sym group(s.group);
  const Tensor T = k.output("inverse", s.type, {z.chunks, z.batch, z.heads, blocks * blocks, n16, n16}),
               K = k.input("keys", s.type, {z.chunks, z.batch, floor_div(z.heads, group), blocks, n16, D}),
               gates = k.input("gates", Element::f32, {z.chunks, z.batch, z.heads, blocks, n16}),
               betas = k.input("betas", Element::f32, {z.chunks, z.batch, z.heads, blocks, n16});
  const auto one = [&](Sym i, Sym j) { // where i = j
    return inside(j, i + Sym(1), k.constant(1), 0) - inside(j, i, k.constant(1), 0);
  };
  k.computes(T, [&](const auto& c) {
    using Said = std::function<Expr(Sym, Sym)>;
    const Inverse<Said> all(
        [&](std::size_t i, std::size_t j) -> Said {
          return [&, i, j](Sym row, Sym column) {
            const auto of = [&](const Tensor& x, std::size_t block, Sym at) {
              return k(x, {c[0], c[1], c[2], Sym(block), at});
            };
            const auto key = [&](std::size_t block, Sym at, Sym d) {
              return k(K, {c[0], c[1], floor_div(c[2], group), Sym(block), at, d});
            };
            const Expr x = k.sum(D, [&](Sym d) { return key(i, row, d) * key(j, column, d); }) *
                           of(betas, i, row) * exp(of(gates, i, row) - of(gates, j, column));
            return i == j ? inside(column, row, x, 0) : x;
          };
        },
        [&](const Said& x, const Said& y) -> Said {
          return [&, x, y](Sym i, Sym j) { return k.sum(n16, [&](Sym m) { return x(i, m) * y(m, j); }); };
        },
        [](const std::vector<std::pair<int, Said>>& terms) -> Said {
          return [terms](Sym i, Sym j) {
            Expr sum = terms[0].second(i, j) * static_cast<double>(terms[0].first);
            for (std::size_t n = 1; n < terms.size(); ++n)
              sum = sum + terms[n].second(i, j) * static_cast<double>(terms[n].first);
            return sum;
          };
        });
    const auto at = [](Sym i, std::size_t n, Expr x) { // where i is n
      return inside(i, Sym(n + 1), inside(Sym(n) - 1, i, x, 0), 0);
    };
    Expr sum = k.constant(0);
    for (std::size_t i = 0; i < blocks; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const Expr x = all.t[i][j](c[4], c[5]);
        sum = sum + at(c[3], blocks * i + j, i == j ? x + one(c[4], c[5]) : x);
      }
    return sum;
  });

  const Sym h = k.workgroups(0, z.heads, 1), b = k.workgroups(1, z.batch, 1),
            n = k.workgroups(2, z.tokens, delta_chunk);
  // A block as a first operand, and turned as a second one: results lie as operands do.
  struct Block {
    Fragment plain, turned;
  };
  const MmaTiling of_keys =
      MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), 1, 1, n16, n16, D, 8);
  std::array<Fragment, blocks> rows, columns;
  for (std::size_t i = 0; i < blocks; ++i) {
    const codegen::View keys =
        k.tile(K, {1, 1, 1, 1, n16, D}, {n, b, floor_div(h, group), i, 0, 0}).keep({4, 5});
    rows[i] = k.load(keys, of_keys.a(), 8), columns[i] = k.load(keys, of_keys.b(), 8);
  }
  const auto numbers = [&](const Tensor& of, std::size_t i,
                           std::size_t axis) { // along rows, or along columns
    const codegen::View tile = k.tile(of, {1, 1, 1, 1, n16}, {n, b, h, i, 0});
    return k.load(axis == 0 ? tile.keep({4, 3}) : tile.keep({3, 4}),
                  codegen::without_axis(of_keys.c(), 1 - axis), axis == 0 ? 1 : 4);
  };
  // A(i,j), or with its axes exchanged.
  const auto scores = [&](std::size_t i, std::size_t j, bool turned) {
    const Fragment product = k.zeros(Element::f32, of_keys.c(), {n16, n16});
    k.mma(product, rows[turned ? j : i], columns[turned ? i : j], of_keys);
    const std::size_t row = turned ? 1 : 0;
    return k.relayout(
        k.map({product, numbers(betas, i, row), numbers(gates, i, row), numbers(gates, j, 1 - row)},
              [&](const Exprs& v) {
                const Expr x = v[0] * v[1] * exp(v[2] - v[3]);
                return i == j ? inside(k.position(static_cast<int>(1 - row)),
                                       k.position(static_cast<int>(row)), x, 0)
                              : x;
              }),
        turned ? mma.b() : mma.a(), Element::f32);
  };
  std::array<std::array<Block, blocks>, blocks> a;
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::size_t j = 0; j <= i; ++j) a[i][j] = {scores(i, j, false), scores(i, j, true)};
  const Inverse<Block> inverse([&](std::size_t i, std::size_t j) { return a[i][j]; },
                               [&](const Block& x, const Block& y) {
                                 const auto times = [&](const Fragment& left, const Fragment& right) {
                                   const Fragment out = k.zeros(Element::f32, mma.c(), {n16, n16});
                                   k.mma(out, left, right, mma);
                                   return k.relayout(out, mma.a(), Element::f32);
                                 };
                                 return Block{times(x.plain, y.turned), times(y.turned, x.plain)};
                               },
                               [&](const std::vector<std::pair<int, Block>>& terms) {
                                 const auto add = [&](Fragment Block::*of) {
                                   std::vector<Fragment> from;
                                   for (const auto& [by, x] : terms) from.push_back(x.*of);
                                   return k.map(from, [&](const Exprs& v) {
                                     Expr sum = v[0] * static_cast<double>(terms[0].first);
                                     for (std::size_t m = 1; m < v.size(); ++m)
                                       sum = sum + v[m] * static_cast<double>(terms[m].first);
                                     return sum;
                                   });
                                 };
                                 return Block{add(&Block::plain), add(&Block::turned)};
                               });
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::size_t j = 0; j < blocks; ++j) {
      Fragment x;
      if (j > i) {
        x = k.zeros(s.type, mma.a(), {n16, n16});
      } else {
        x = k.map(
            {inverse.t[i][j].plain},
            [&](const Exprs& v) { return i == j ? v[0] + one(k.position(0), k.position(1)) : v[0]; }, s.type);
      }
      k.store(x, k.tile(T, {1, 1, 1, 1, n16, n16}, {n, b, h, blocks * i + j, 0, 0}).keep({4, 5}), 4);
    }
  return k;
}
// [gated_delta_inverse end]

namespace {

// Row by row: T(i) = e(i) - sum over m < i of A(i,m) T(m). Sums along all ways from i to j bound errors: of |A|, and of |A| but for one
// step, which is the error of A.
std::vector<Judged> reference(const Asked& s, const Workload& w, const Results&) {
  constexpr std::size_t C = delta_chunk;
  const auto D = static_cast<std::size_t>(s.key);
  Judged out{"inverse",
             {},
             {},
             "256 2^-24 M + M E M + u |t|, M = (I - |A|)^-1, E = (D + 16 + 4 (|a| + |a'|)) 2^-24 beta e^(a - "
             "a') sum |k k'|"};
  for (std::int64_t row = 0; row < s.chunks() * s.batch * s.heads; ++row) {
    const auto of = [&](const char* x, std::size_t i) {
      return w.values(x)[static_cast<std::size_t>(row) * C + i];
    };
    std::vector<double> t(C * C), most(C * C), error(C * C);
    for (std::size_t i = 0; i < C; ++i) {
      for (std::size_t m = 0; m < i; ++m) {
        double sum = 0, size = 0;
        for (std::size_t d = 0; d < D; ++d) {
          const std::size_t from = static_cast<std::size_t>(row / s.group) * C;
          const double x = w.values("keys")[(from + i) * D + d] * w.values("keys")[(from + m) * D + d];
          sum += x, size += std::abs(x);
        }
        const double gate = of("gates", i), before = of("gates", m),
                     by = of("betas", i) * std::exp(gate - before), a = by * sum,
                     e = by * size * (static_cast<double>(D) + 16 + 4 * (std::abs(gate) + std::abs(before))) *
                         u32;
        for (std::size_t j = 0; j <= m; ++j) {
          t[i * C + j] -= a * t[m * C + j], most[i * C + j] += std::abs(a) * most[m * C + j];
          error[i * C + j] += std::abs(a) * error[m * C + j] + e * most[m * C + j];
        }
      }
      t[i * C + i] = most[i * C + i] = 1;
    }
    for (std::size_t n = 0; n < C * C; ++n) { // block by block
      const std::size_t block = n / 256, i = block / 4 * 16 + n / 16 % 16, j = block % 4 * 16 + n % 16;
      const double x = t[i * C + j];
      out.value.push_back(x);
      out.bound.push_back(
          i > j ? 256 * u32 * most[i * C + j] + 1.01 * (error[i * C + j] + rounding(s.type, x)) : 0);
    }
  }
  return {out};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_inverse_kernel() {
  Page<Asked> page = chunk_page(
      "gated_delta_inverse",
      "T = (I + A)^-1 with A[i,j] = beta[i] e^(gates[i] - gates[j]) sum_d keys[i,d] keys[j,d] for j < i, "
      "else 0, "
      "of the 64 tokens of every chunk, in blocks of 16 x 16: a stage of the gated delta rule in chunks",
      {"dtype", "batch", "tokens", "heads", "group", "key"}, gated_delta_inverse_program, [](const Asked& s) {
        return fmt::format("T[{},{},{},64,64] of keys of {}, {}", s.chunks(), s.batch, s.heads, s.key,
                           to_string(s.type));
      });
  page.data = [](const Asked& s, Workload& w, std::uint64_t seed) {
    random_inputs(w, seed);
    w.random("keys", seed + 1, 0.2), w.random("betas", seed + 20, 1, true);
    w.set("gates", falling_gates(s.chunks() * s.batch * s.heads, seed));
  };
  page.reference = reference;
  page.bound = [](const Asked& s) { return rounds(s.arch, s.batch * s.heads * s.chunks(), 4) * 14000; };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
