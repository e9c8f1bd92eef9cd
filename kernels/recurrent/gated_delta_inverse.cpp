// T = (I + A)^-1 with A[i,j] = beta[i] e^(gates[i] - gates[j]) sum_d keys[i,d] keys[j,d] for j < i, else 0: of the 64 tokens of a chunk.
#include "block_inverse.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

// [gated_delta_inverse]
Program gated_delta_inverse_program(const Asked& s) {
  check_chunk("gated_delta_inverse", s);
  const Target& target = Target::named(s.arch);
  constexpr int n16 = delta_block, blocks = delta_blocks;
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
    Expr sum = k.constant(0);
    for (std::size_t i = 0; i < blocks; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const Expr x = all.t[i][j](c[4], c[5]);
        sum = sum + where_equal(c[3], blocks * i + j, i == j ? x + one(c[4], c[5]) : x);
      }
    return sum;
  });

  const Sym h = k.workgroups(0, z.heads, 1), b = k.workgroups(1, z.batch, 1),
            n = k.workgroups(2, z.tokens, delta_chunk);
  // A block as a first operand, and turned as a second one: results lie as operands do.
  struct Block {
    Lazy plain, turned;
  };
  const MmaTiling of_keys = tiling_of(target, s.type, 1, 1, n16, n16, D);
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

} // namespace inlay::kernels
