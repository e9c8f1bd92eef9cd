/// The inverse of a lower triangular matrix in blocks of 16 x 16, as a formula over whatever can be multiplied and added. Private.
#pragma once

#include "gated_delta_chunk.h"

#include <array>
#include <memory>
#include <optional>

namespace inlay::kernels {

inline constexpr int delta_blocks = delta_chunk / delta_block;

// [inverse]
/// The formula of the inverse, over whatever can be multiplied and added. X is a block of 16 x 16: `below(i, j)` is -A there, `within(x, n)` what
/// of x lies in the lower left quarter of the blocks of 2n on the diagonal, `sum(xs, of)` the sum of products and of a block.
///
///     two neighbours of 1, 2, 4, .., 32:   [[P, 0], [R, Q]]^-1 = [[P^-1, 0], [-Q^-1 R P^-1, Q^-1]]
template <class X>
struct Inverse {
  std::array<std::array<X, delta_blocks>, delta_blocks> t; ///< [row][column], row >= column: (I + A)^-1 - I

  template <class Below, class Within, class Sum>
  Inverse(Below below, Within within, Sum sum) {
    for (std::size_t i = 0; i < delta_blocks; ++i) {
      const X x = below(i, i);
      t[i][i] = within(x, 1);
      for (const int n : {2, 4, 8}) {
        const X quarter = within(x, n), left = sum({{t[i][i], quarter}}, {quarter});
        t[i][i] = sum({{left, t[i][i]}}, {t[i][i], left});
      }
    }
    for (const std::size_t half : {std::size_t{1}, std::size_t{2}}) // blocks of a neighbour
      for (std::size_t first = 0; first < delta_blocks; first += 2 * half) merge(first, half, below, sum);
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

/// x in the lower left quarters, n x n, of the blocks of 2n on the diagonal, and 0 elsewhere.
[[nodiscard]] inline Expr in_quarter(int n, Sym row, Sym column, Expr x) {
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

} // namespace inlay::kernels
