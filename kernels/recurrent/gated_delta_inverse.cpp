// The inverse of I + A, where A is products of the keys of a chunk below the diagonal.
#include "gated_delta_page.h"

#include <array>
#include <memory>

namespace inlay::kernels {

using Asked = GatedDeltaChunk;
using codegen::Atom;
using codegen::MmaTiling;

namespace {

constexpr int blocks = delta_chunk / delta_block;

// [inverse]
/// The formula of the inverse, over whatever can be multiplied and added. X is a block of 16 x 16: `below(i, j)` is -A there, `within(x, n)` what
/// of x lies in the lower left quarter of the blocks of 2n on the diagonal, `sum(xs, of)` the sum of products and of a block.
///
///     two neighbours of 1, 2, 4, .., 32:   [[P, 0], [R, Q]]^-1 = [[P^-1, 0], [-Q^-1 R P^-1, Q^-1]]
template <class X>
struct Inverse {
  std::array<std::array<X, blocks>, blocks> t; ///< [row][column], row >= column: (I + A)^-1 - I

  template <class Below, class Within, class Sum>
  Inverse(Below below, Within within, Sum sum) {
    for (std::size_t i = 0; i < blocks; ++i) {
      const X x = below(i, i);
      t[i][i] = within(x, 1);
      for (const int n : {2, 4, 8}) {
        const X quarter = within(x, n), left = sum({{t[i][i], quarter}}, {quarter});
        t[i][i] = sum({{left, t[i][i]}}, {t[i][i], left});
      }
    }
    for (const std::size_t half : {std::size_t{1}, std::size_t{2}}) // blocks of a neighbour
      for (std::size_t first = 0; first < blocks; first += 2 * half) merge(first, half, below, sum);
  }

private:
  template <class Below, class Sum>
  void merge(std::size_t first, std::size_t half, Below below, Sum sum) {
    const std::size_t middle = first + half, end = middle + half;
    for (std::size_t i = middle; i < end; ++i) {
      std::vector<X> left; // row i of -Q^-1 R
      for (std::size_t j = first; j < middle; ++j) {
        std::vector<std::pair<X, X>> products;
        for (std::size_t m = middle; m <= i; ++m) products.emplace_back(t[i][m], below(m, j));
        left.push_back(sum(products, {below(i, j)}));
      }
      for (std::size_t j = first; j < middle; ++j) { // times P^-1
        std::vector<std::pair<X, X>> products;
        for (std::size_t m = j; m < middle; ++m) products.emplace_back(left[m - first], t[m][j]);
        t[i][j] = sum(products, {left[j - first]});
      }
    }
  }
};
// [inverse end]

} // namespace

// [gated_delta_inverse]
namespace {

/// x in the lower left quarters, n x n, of the blocks of 2n on the diagonal, and 0 elsewhere.
Expr in_quarter(int n, Sym row, Sym column, Expr x) {
  if (2 * n < delta_block) {
    const Sym next = Sym(2 * n) * floor_div(column, Sym(2 * n)) + Sym(2 * n); // after the block of the column
    x = inside(row, next, inside(next - Sym(n + 1), row, x, 0), 0);
    return inside(floor_mod(column, Sym(2 * n)), Sym(n), x, 0);
  }
  return inside(Sym(n - 1), row, inside(column, Sym(n), x, 0), 0);
}

/// A fragment that is made where it is first asked for.
class Lazy {
public:
  Lazy() = default;
  explicit Lazy(std::function<Fragment()> make) : made_(std::make_shared<Made>(Made{std::move(make), {}})) {}
  Fragment operator()() const {
    if (!made_->is) made_->is = made_->make();
    return *made_->is;
  }

private:
  struct Made {
    std::function<Fragment()> make;
    std::optional<Fragment> is;
  };
  std::shared_ptr<Made> made_;
};

} // namespace

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
            return k.sum(D, [&](Sym d) { return key(i, row, d) * key(j, column, d); }) *
                   (of(betas, i, row) * -1.0) * exp(of(gates, i, row) - of(gates, j, column));
          };
        },
        [&](const Said& x, int n) -> Said {
          return [x, n](Sym i, Sym j) { return in_quarter(n, i, j, x(i, j)); };
        },
        [&](const std::vector<std::pair<Said, Said>>& products, const std::vector<Said>& of) -> Said {
          return [&k, products, of](Sym i, Sym j) {
            Expr sum = k.constant(0);
            for (const Said& x : of) sum = sum + x(i, j);
            for (const auto& [x, y] : products)
              sum = sum + k.sum(delta_block, [&](Sym m) { return x(i, m) * y(m, j); });
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
    Lazy plain, turned;
  };
  const MmaTiling of_keys =
      MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), 1, 1, n16, n16, D, 8);
  std::array<Fragment, blocks> keys; // rows of a first operand, and columns of a second one
  for (std::size_t i = 0; i < blocks; ++i)
    keys[i] = k.load(k.tile(K, {1, 1, 1, 1, n16, D}, {n, b, floor_div(h, group), i, 0, 0}).keep({4, 5}),
                     of_keys.a(), 8);
  const auto numbers = [&](const Tensor& of, std::size_t i,
                           std::size_t axis) { // along rows, or along columns
    const codegen::View tile = k.tile(of, {1, 1, 1, 1, n16}, {n, b, h, i, 0});
    return k.load(axis == 0 ? tile.keep({4, 3}) : tile.keep({3, 4}),
                  codegen::without_axis(of_keys.c(), 1 - axis), axis == 0 ? 1 : 4);
  };
  // -A(i,j), or with its axes exchanged.
  const auto scores = [&](std::size_t i, std::size_t j, bool turned) {
    const Fragment product = k.zeros(Element::f32, of_keys.c(), {n16, n16});
    k.mma(product, keys[turned ? j : i], keys[turned ? i : j], of_keys);
    const std::size_t row = turned ? 1 : 0;
    return k.relayout(
        k.map({product, numbers(betas, i, row), numbers(gates, i, row), numbers(gates, j, 1 - row)},
              [&](const Exprs& v) { return v[0] * (v[1] * -1.0) * exp(v[2] - v[3]); }),
        mma.a(), Element::f32);
  };
  const auto both = [](const std::function<Fragment(bool)>& make) {
    return Block{Lazy([make] { return make(false); }), Lazy([make] { return make(true); })};
  };
  // All at first: their keys are then wanted no more.
  std::array<std::array<Block, blocks>, blocks> a;
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      a[i][j] = both([&, i, j](bool turned) { return scores(i, j, turned); });
      (void)a[i][j].plain(), (void)a[i][j].turned();
    }
  const auto of = [](const Block& x, bool turned) { return turned ? x.turned() : x.plain(); };
  const Inverse<Block> inverse(
      [&](std::size_t i, std::size_t j) { return a[i][j]; },
      [&](const Block& x, int size) {
        return both([&, x, size](bool turned) {
          return k.map({of(x, turned)}, [&](const Exprs& v) {
            return in_quarter(size, k.position(turned ? 1 : 0), k.position(turned ? 0 : 1), v[0]);
          });
        });
      },
      [&](const std::vector<std::pair<Block, Block>>& products, const std::vector<Block>& more) {
        return both([&, products, more](bool turned) {
          std::vector<Fragment> terms;
          for (const Block& x : more) terms.push_back(of(x, turned));
          for (const auto& [x, y] : products) {
            const Fragment out = k.zeros(Element::f32, mma.c(), {n16, n16});
            k.mma(out, turned ? y.turned() : x.plain(), turned ? x.plain() : y.turned(), mma);
            terms.push_back(k.relayout(out, mma.a(), Element::f32));
          }
          return k.map(terms, [](const Exprs& v) {
            Expr sum = v[0];
            for (std::size_t m = 1; m < v.size(); ++m) sum = sum + v[m];
            return sum;
          });
        });
      });
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::size_t j = 0; j < blocks; ++j) {
      Fragment x;
      if (j > i)
        x = k.zeros(s.type, mma.a(), {n16, n16});
      else
        x = k.map(
            {inverse.t[i][j].plain()},
            [&](const Exprs& v) { return i == j ? v[0] + one(k.position(0), k.position(1)) : v[0]; }, s.type);
      k.store(x, k.tile(T, {1, 1, 1, 1, n16, n16}, {n, b, h, blocks * i + j, 0, 0}).keep({4, 5}), 4);
    }
  return k;
}
// [gated_delta_inverse end]

namespace {

// Row by row: T(i) = e(i) - sum over m < i of A(i,m) T(m). Sums along all ways from i to j bound errors: of |A|, and of |A| but for one
// step, which is the error of A.
std::vector<Judged> inverse_reference(const Asked& s, const Workload& w, const Results&) {
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
  page.reference = inverse_reference;
  page.bound = [](const Asked& s) { return rounds(s.arch, s.batch * s.heads * s.chunks(), 4) * 14000; };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
