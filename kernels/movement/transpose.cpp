// Data from one order to another: transposes through LDS, and an exchange of axes that rows do not take part in.
#include "../lds_swizzle.h"
#include "../page.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct TransposeAsked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  std::int64_t b = 1, m = 256, n = 256;
  int vector = 0, tile = 64;
  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
};

// A work-item has a block of `down` rows and a vector of columns, reads it by rows and writes it to LDS by columns.
// [transpose]
Program transpose_program(const TransposeAsked& s) {
  const int side = s.tile, threads = side == 64 ? 256 : 64, v = s.vector_length();
  if (side != 32 && side != 64)
    throw std::invalid_argument(fmt::format("transpose: --tile {}\n  hint   32 or 64", side));
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    throw std::invalid_argument(
        fmt::format("transpose: --dtype {}\n  hint   f16, bf16, f32", to_string(s.type)));
  if (v < 1 || v > 128 / codegen::bits(s.type) || (v & (v - 1)) != 0)
    throw std::invalid_argument(
        fmt::format("transpose: --vector {}\n  hint   1, 2, 4, of 16 bits also 8", s.vector));
  Program k("transpose", Target::named(s.arch), threads);
  const Sym B = k.size("b", {.most = 65535}), M = k.size("m", {.most = 1 << 20, .multiple = v}),
            N = k.size("n", {.most = 1 << 20, .multiple = v});
  const Tensor Y = k.output("y", s.type, {B, N, M}), X = k.input("x", s.type, {B, M, N});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0], c[2], c[1]}); });

  const int across = side / v, high = threads / across,
            down = std::max(32 / codegen::bits(s.type), std::min(v, side / high)),
            passes = std::max(1, side / (high * down));
  const auto layout = [&](bool by_rows) {
    const std::string values = by_rows
                                   ? fmt::format("({},{},{}):(1@1,1@0,{}@0)", v, down, passes, high * down)
                                   : fmt::format("({},{},{}):(1@0,1@1,{}@0)", down, v, passes, high * down);
    const std::size_t colon = values.find(':');
    return parse_layout(fmt::format("(({},{}),{}):(({}@1,{}@0),{})", across, high, values.substr(0, colon), v,
                                    down, values.substr(colon + 1)));
  };
  const Layout in = layout(true), written = layout(false), out = codegen::rows_tv(side, side, v, threads);
  const Tensor lds =
      k.lds("tile", s.type, {side, side},
            conflict_free_swizzle(k.target(), s.type, side, side,
                                  {{codegen::transposed(written), down, false}, {out, v, true}}));
  const Sym bn = k.workgroups(0, N, side), bm = k.workgroups(1, M, side), b = k.workgroups(2, B, 1);
  const Fragment x = k.load(k.tile(X, {1, side, side}, {b, bm, bn}).keep({1, 2}), in, v);
  const Fragment turned = k.map(
      written, {x}, [](const Exprs& a) { return a[0]; }, s.type);
  k.store(turned, k.whole(lds).keep({1, 0}), down);
  k.store(k.read(lds, out, v), k.tile(Y, {1, side, side}, {b, bn, bm}).keep({1, 2}), v);
  return k;
}
// [transpose end]

std::vector<Judged> transpose_reference(const TransposeAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "0"};
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.m; ++i)
        y.value.push_back(w.values("x")[static_cast<std::size_t>((b * s.m + i) * s.n + j)]);
  y.bound.assign(y.value.size(), 0);
  return {y};
}

// [B,S,H,D] to [B,H,S,D]: rows of D stay as they are.
struct Swapped {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  std::int64_t b = 2, s = 100, h = 8;
  int d = 128;
};

// [swap_axes]
Program swap_program(const Swapped& a) {
  constexpr int threads = 256;
  const int v = std::min(128 / codegen::bits(a.type), a.d & -a.d), lanes = a.d / v;
  if (lanes > threads || (lanes & (lanes - 1)) != 0)
    throw std::invalid_argument(
        fmt::format("swap_axes: --d {}\n  hint   a power of two from 1 to {}", a.d, 256 * v));
  const int rows = 2 * threads / lanes;
  Program k("swap_axes", Target::named(a.arch), threads);
  const Sym B = k.size("b", {.most = 65535}), S = k.size("s", {.most = 1 << 24}),
            H = k.size("h", {.most = 65535});
  const Tensor Y = k.output("y", a.type, {B, H, S, a.d}), X = k.input("x", a.type, {B, S, H, a.d});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0], c[2], c[1], c[3]}); });
  const Sym part = k.workgroups(0, S, rows), head = k.workgroups(1, H, 1), batch = k.workgroups(2, B, 1);
  const Fragment x = k.load(k.tile(X, {1, rows, 1, a.d}, {batch, part, head, 0}).keep({1, 3}),
                            codegen::rows_tv(rows, a.d, v, threads), v);
  k.store(x, k.tile(Y, {1, 1, rows, a.d}, {batch, head, part, 0}).keep({2, 3}), v);
  return k;
}
// [swap_axes end]

std::vector<Judged> swap_reference(const Swapped& a, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "0"};
  for (std::int64_t b = 0; b < a.b; ++b)
    for (std::int64_t h = 0; h < a.h; ++h)
      for (std::int64_t i = 0; i < a.s; ++i)
        for (std::int64_t d = 0; d < a.d; ++d)
          y.value.push_back(w.values("x")[static_cast<std::size_t>(((b * a.s + i) * a.h + h) * a.d + d)]);
  y.bound.assign(y.value.size(), 0);
  return {y};
}

} // namespace

std::unique_ptr<Kernel> transpose_kernel() {
  using Read = Reads<TransposeAsked>;
  Page<TransposeAsked> page{
      .summary = "Y[b,n,m] = X[b,m,n], tiles of 64 x 64 or 32 x 32 through LDS",
      .options = {"transpose",
                  {arch_option<TransposeAsked>(),
                   {"dtype", Read::element(&TransposeAsked::type, "f16, bf16, f32"), "bf16", "element type"},
                   {"b", Read::number(&TransposeAsked::b, 1, 65535), "1", "matrices"},
                   {"m", Read::number(&TransposeAsked::m, 1, 1 << 20), "256",
                    "rows of X, a multiple of a vector"},
                   {"n", Read::number(&TransposeAsked::n, 1, 1 << 20), "256",
                    "columns of X, a multiple of a vector"},
                   {"vector", Read::number(&TransposeAsked::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any matrix, 0 is 16 bytes", "0"},
                   {"tile", Read::number(&TransposeAsked::tile, 1, 64), "auto",
                    "rows and columns of a workgroup: 64, or 32 where there are few", "64"}}},
      .program = transpose_program,
      .sizes =
          [](const TransposeAsked& s) {
            return std::vector{s.b, s.m, s.n};
          },
      .size_names = {"b", "m", "n"},
      .reference = transpose_reference,
      .text =
          [](const TransposeAsked& s) {
            return fmt::format("Y[{0},{2},{1}] = X[{0},{1},{2}] transposed, {3}", s.b, s.m, s.n,
                               to_string(s.type));
          },
      .candidates =
          [](const TransposeAsked& s, const Flags& fixed) {
            std::vector<Flags> all;
            const std::string vector = std::to_string(widest_vector(s.type, {s.m, s.n}));
            for (const char* tile : {"64", "32"})
              add_candidate(all, {{"vector", vector}, {"tile", tile}}, fixed);
            return all;
          },
      .bound =
          [](const TransposeAsked& s) {
            const std::int64_t tiles = s.b * up(s.m, s.tile) * up(s.n, s.tile);
            return s.tile == 64 ? rounds(s.arch, tiles, 4) * 2400 : rounds(s.arch, tiles, 8) * 1600;
          }};
  return page_of(std::move(page));
}

std::unique_ptr<Kernel> swap_axes_kernel() {
  using Read = Reads<Swapped>;
  Page<Swapped> page{
      .summary = "Y[b,h,s,d] = X[b,s,h,d]: heads before tokens, or back",
      .options = {"swap_axes",
                  {arch_option<Swapped>(),
                   {"dtype", Read::element(&Swapped::type, "f16, bf16, f32"), "bf16", "element type"},
                   {"b", Read::number(&Swapped::b, 1, 65535), "2", "batches"},
                   {"s", Read::number(&Swapped::s, 1, 1 << 24), "100", "tokens"},
                   {"h", Read::number(&Swapped::h, 1, 65535), "8", "heads"},
                   {"d", Read::number(&Swapped::d, 1, 2048), "128", "elements of a head, a power of two"}}},
      .program = swap_program,
      .sizes =
          [](const Swapped& a) {
            return std::vector{a.b, a.s, a.h};
          },
      .size_names = {"b", "s", "h"},
      .reference = swap_reference,
      .text =
          [](const Swapped& a) {
            return fmt::format("Y[{0},{2},{1},{3}] = X[{0},{1},{2},{3}], {4}", a.b, a.s, a.h, a.d,
                               to_string(a.type));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
