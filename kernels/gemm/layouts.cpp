// How the tiles of a GEMM lie in registers, LDS and memory.
#include "parts.h"

#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace inlay::kernels::gemm {

std::optional<Layout> column_order(const GemmSpec& s, const MmaTiling& mma) {
  if (s.amax) return {};       // the mask of its maximum counts columns as they are
  if (is_mx(s)) return {};     // the order of its scales keeps rows where they are
  if (s.turned_b()) return {}; // loads of 8 columns at once, too
  if (s.in ==
      Element::f64) { // column = 4 g + i of value i of lane group g, which the instruction has at g + 4 i
    TupleBuilder<Mode> of;
    const std::size_t all = of.open();
    of.leaf({4, Stride(4)}), of.leaf({4, Stride(1)}), of.leaf({s.tile_n / 16, Stride(16)});
    of.close(all, 3);
    return Layout(std::move(of).finish());
  }
  if (bits(s.out) != 16 || (s.mfma == 16 && mma.repeat_n() % 2 != 0)) return {};
  if (s.preshuffled_b) {
    constexpr int bytes_a_clock = 64; // of the address unit: half of a line takes the time of a whole one
    const int loaded = (s.tile_m + 2 * s.tile_n) * s.tile_k * bits(s.in) / 8;
    if (s.tile_n < 64 * s.waves_n || loaded > bytes_a_clock * mma.clocks()) return {};
  }
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  if (s.mfma == 16) {
    // column = i + 4 h + 8 g + 32 wave + ..: i of the instruction's lane group g, h the block of two
    const int w = s.waves_n;
    b.leaf({4, Stride(1)}), b.leaf({4, Stride(8)}), b.leaf({w, Stride(32)}), b.leaf({2, Stride(4)});
    b.leaf({s.tile_n / (32 * w), Stride(32 * w)});
  } else {
    b.leaf({4, Stride(1)}), b.leaf({2, Stride(8)}), b.leaf({2, Stride(4)}), b.leaf({2, Stride(16)});
    b.leaf({s.tile_n / 32, Stride(32)});
  }
  b.close(at, 5);
  return Layout(std::move(b).finish());
}

std::optional<Layout> scaled_order(const GemmSpec& s, int waves, int tile) {
  if (!is_mx(s) || waves == 1) return {};
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  b.leaf({16, Stride(1)}), b.leaf({waves, Stride(32)}), b.leaf({2, Stride(16)});
  b.leaf({tile / (32 * waves), Stride(32 * waves)});
  b.close(at, 4);
  return Layout(std::move(b).finish());
}

int adjacent_columns(const GemmSpec& s, bool ordered) {
  if (s.in == Element::f64) return ordered ? 2 : 1;
  return ordered ? 8 : 4;
}

Layout results(const GemmSpec& s, const MmaTiling& mma, bool reordered) {
  const Layout c = mma.c();
  if (!reordered || s.mfma != 16 || s.in == Element::f64) return c;
  // (4, repeat_m, repeat_n) as (4, 2, repeat_m, repeat_n / 2)
  const Layout threads = c.mode(0), values = c.mode(1);
  const auto of = values.modes();
  TupleBuilder<Mode> b;
  const std::size_t all = b.open(), left = b.open();
  for (const Mode& m : threads.modes()) b.leaf(m);
  b.close(left, threads.modes().size());
  const std::size_t right = b.open();
  b.leaf(of[0]), b.leaf({2, of[2].stride}), b.leaf(of[1]);
  b.leaf({floor_div(of[2].extent, Int(2)), Stride(of[2].stride.scale * Int(2), of[2].stride.axis)});
  b.close(right, 4);
  b.close(all, 2);
  return Layout(std::move(b).finish());
}

bool exchanges_columns(const GemmSpec& s, const Target& target, const MmaTiling& mma) {
  return target.swaps_lanes && !s.amax && std::has_single_bit(static_cast<unsigned>(s.tile_m * s.tile_n)) &&
         !s.weighted() && bits(s.out) == 16 && s.mfma == 16 && mma.repeat_n() % 2 == 0 &&
         (is_mx(s) || s.waves_n == 1) && !s.adds();
}

SymLayout side_by_side(Sym m, Sym n, Sym parts) {
  return by_strides({{m, n * parts}, {n, Sym(1)}, {parts, n}});
}

std::optional<SymLayout> apart(Sym rows, Sym columns, const std::optional<Sym>& pad) {
  if (!pad) return {};
  return by_strides({{rows, columns + *pad}, {columns, Sym(1)}});
}

Layout results_of_parts(const Layout& c, int parts) {
  if (parts == 1) return c;
  TupleBuilder<Mode> b;
  const std::size_t all = b.open();
  for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t at = b.open();
    const Layout of = c.mode(half);
    const auto modes = of.modes();
    for (const Mode& m : modes) b.leaf(m);
    if (half == 1) b.leaf({parts, Stride(Int(1), Axis{2})});
    b.close(at, modes.size() + half);
  }
  b.close(all, 2);
  return Layout(std::move(b).finish());
}

TransposedTile turned_tile(const GemmSpec& s, const Target& target, int rows, const Layout& read) {
  const int threads = 64 * s.waves_m * s.waves_n;
  if (const auto tile = transposed_tile(target, s.in, s.tile_k, rows, threads, columns_at_once(s.in), read,
                                        vector_of(s.in)))
    return *tile;
  refuse("tile", fmt::format("{} x {}", rows, s.tile_k),
         "64, 128 or 256 rows: no place in LDS without conflicts");
}

} // namespace inlay::kernels::gemm
