// How the tiles of a GEMM lie in registers, LDS and memory.
#include "parts.h"

#include <inlay/algebra/parse.h>
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
    return parse_layout(fmt::format("(4,4,{}):(4,1,16)", s.tile_n / 16));
  }
  if (bits(s.out) != 16 || (s.mfma == 16 && mma.repeat_n() % 2 != 0)) return {};
  if (s.preshuffled_b) {
    constexpr int bytes_a_clock = 64; // of the address unit: half of a line takes the time of a whole one
    const int loaded = (s.tile_m + 2 * s.tile_n) * s.tile_k * bits(s.in) / 8;
    if (s.tile_n < 64 * s.waves_n || loaded > bytes_a_clock * mma.clocks()) return {};
  }
  if (s.mfma == 32) return parse_layout(fmt::format("(4,2,2,2,{}):(1,8,4,16,32)", s.tile_n / 32));
  // column = i + 4 h + 8 g + 32 wave + ..: i of the instruction's lane group g, h the block of two
  return parse_layout(
      fmt::format("(4,4,{0},2,{1}):(1,8,32,4,{2})", s.waves_n, s.tile_n / (32 * s.waves_n), 32 * s.waves_n));
}

std::optional<Layout> scaled_order(const GemmSpec& s, int waves, int tile) {
  if (!is_mx(s) || waves == 1) return {};
  return parse_layout(fmt::format("(16,{0},2,{1}):(1,32,16,{2})", waves, tile / (32 * waves), 32 * waves));
}

int adjacent_columns(const GemmSpec& s, bool ordered) {
  if (s.in == Element::f64) return ordered ? 2 : 1;
  return ordered ? 8 : 4;
}

Layout results(const GemmSpec& s, const MmaTiling& mma, bool reordered) {
  const Layout c = mma.c();
  if (!reordered || s.mfma != 16 || s.in == Element::f64) return c;
  // (4, repeat_m, repeat_n) as (4, 2, repeat_m, repeat_n / 2)
  const Layout values = c.mode(1);
  const Mode columns = values.modes()[2];
  const Layout of[] = {values.mode(0), Layout(Int(2), columns.stride), values.mode(1),
                       Layout(floor_div(columns.extent, Int(2)),
                              Stride(columns.stride.scale * Int(2), columns.stride.axis))},
               halves[] = {c.mode(0), concatenate(of)};
  return concatenate(halves);
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

TransposedTile turned_tile(const GemmSpec& s, const Target& target, int rows, const Layout& read) {
  const int threads = 64 * s.waves_m * s.waves_n;
  if (const auto tile = transposed_tile(target, s.in, s.tile_k, rows, threads, columns_at_once(s.in), read,
                                        vector_of(s.in)))
    return *tile;
  refuse("tile", fmt::format("{} x {}", rows, s.tile_k),
         "64, 128 or 256 rows: no place in LDS without conflicts");
}

} // namespace inlay::kernels::gemm

namespace inlay::kernels {

SymLayout preshuffled_layout(Sym n, Sym k, int vector) {
  return by_strides({{{16, vector}, {floor_div(n, 16), 16 * k}},
                     {{vector, 1}, {4, 16 * vector}, {floor_div(k, 4 * vector), 64 * vector}}});
}

SymLayout shuffled_scales(Sym rows, Sym k) {
  return by_strides(
      {{{16, 4}, {2, 1}, {ceil_div(rows, 32), k}}, {{4, 64}, {2, 2}, {floor_div(k, 256), 256}}});
}

} // namespace inlay::kernels
