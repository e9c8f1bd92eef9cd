// Y[b,n,m] = X[b,m,n]: transposes through LDS.
#include "../page.h"
#include <inlay/kernels/lds_swizzle.h>

#include <inlay/algebra/parse.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct TransposeAsked : VectorsAsked {
  std::int64_t b = 1, m = 256, n = 256;
  int tile = 64;
};

// A work-item has a block of `down` rows and a vector of columns, reads it by rows and writes it to LDS by columns.
// [transpose]
Program transpose_program(const TransposeAsked& s) {
  const int side = s.tile, threads = side == 64 ? 256 : 64, v = s.vector_length();
  const Refusal refuse{"transpose"};
  if (side != 32 && side != 64) refuse(fmt::format("--tile {}", side), "32 or 64");
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse(fmt::format("--dtype {}", to_string(s.type)), "f16, bf16, f32");
  check_vectors(refuse, s);
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
  std::vector<double> y;
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.m; ++i) y.push_back(w.values("x")[at((b * s.m + i) * s.n + j)]);
  return {exactly("y", y)};
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
      .sizes = members(&TransposeAsked::b, &TransposeAsked::m, &TransposeAsked::n),
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

} // namespace inlay::kernels
