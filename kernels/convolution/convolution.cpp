// y[n,p,q,k] = sum over r, s, c of x[n, p stride + r dilation - pad, q stride + s dilation - pad, c] f[k,r,s,c], and with a third axis in 3-D:
// convolution as an implicit GEMM, the pixels of all images by the taps of their window, times the filters.
#include "convolution.h"

#include <inlay/kernels/lds_swizzle.h>

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Look;

void check(const Convolution& s, const Target& target) {
  const Refusal refuse{s.name()};
  if (s.type != codegen::Element::f16 && s.type != codegen::Element::bf16 &&
      !codegen::is_float8(target, s.type))
    refuse(fmt::format("--dtype {}", to_string(s.type)), "f16, bf16, " + codegen::float8_names(target));
  if (s.c % s.vector() != 0)
    refuse(fmt::format("--c {}", s.c),
           fmt::format("a multiple of {}: 16 bytes of a pixel are loaded at once", s.vector()));
  for (const Slide& a : s.axes())
    if (a.extent + 2 * a.pad <= a.span())
      refuse(fmt::format("{} taps, {} apart, do not fit into --{} {} with {} around it", a.taps, a.dilation,
                         a.in, a.extent, a.pad),
             "fewer taps, or more zeros around");
}

// The widest product; of fp8 the wider one of two takes 128 channels at a time.
const Atom& product(const Convolution& s, const Target& target) {
  return s.narrow() && (!target.ocp_fp8 || s.deep() % 128 != 0)
             ? Atom::mma_of(target, s.type, s.type, codegen::Element::f32, 16, 32)
             : Atom::mma_best(target, s.type, s.type, codegen::Element::f32, 16);
}

} // namespace

// [convolution]
Program convolution_program(const Convolution& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const int deep = s.deep(), v = s.vector();
  const MmaTiling mma = MmaTiling::of(product(s, target), 2, 2, s.tile_m, s.tile_n, deep, v);
  Program k(s.name(), target, mma.threads());
  // Offsets into X have 31 bits: of images as large as these there are as many as fit.
  const auto side = [](const Slide& a) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(a.extent, a.least))));
  };
  const std::vector<Slide> axes = s.axes();
  std::int64_t image = s.c * codegen::bits(s.type) / 8;
  for (const Slide& a : axes) image *= side(a) + 2 * a.pad;
  const Sym N = k.size("n", {.most = std::max<std::int64_t>(1, (INT32_MAX - 2 * image) / image)});
  std::vector<Sym> in{N}, out;
  for (const Slide& a : axes) in.push_back(k.size(a.in, {.most = side(a)}));
  for (const Slide& a : axes) out.push_back(k.size(a.out, {.most = 2 * side(a)}));
  const Sym M = k.size("pixels", {.most = 1 << 26}), K = k.size("k", {.most = 1 << 16, .multiple = 4});
  const Sym C = s.c, CP = s.channels(), RS = s.taps(), all = CP * RS;
  in.push_back(C);
  const Tensor Y = k.output("y", s.out, {M, K}), X = k.input("x", s.type, in),
               F = k.input("f", s.type, {K, RS, C}),
               scale = s.narrow() ? k.input("scale", codegen::Element::f32, {1, 1}) : Tensor{};
  // The digits of a pixel and of a tap, the innermost axis first.
  const int inner = static_cast<int>(axes.size());
  std::vector<Look> pixel, tap{{CP, inner + 1}};
  std::vector<Sym> origin(in.size(), Sym(0));
  for (int axis = inner; axis > 0; --axis) {
    const Slide& a = axes[static_cast<std::size_t>(axis - 1)];
    pixel.push_back({out[static_cast<std::size_t>(axis - 1)], axis, a.stride});
    tap.push_back({a.taps, axis, a.dilation});
    origin[static_cast<std::size_t>(axis)] = -a.pad;
  }
  pixel.push_back({N, 0});
  const Tensor taps = k.window("taps", X, {{M, pixel}, {all, tap}}, origin),
               filters = k.window("filters", F, {{K, {{K, 0}}}, {all, {{CP, 2}, {RS, 1}}}}, {0, 0, 0});
  k.computes(Y, [&](const auto& c) {
    const Expr sum = k.sum(all, [&](Sym i) { return k(taps, {c[0], i}) * k(filters, {c[1], i}); });
    return s.narrow() ? sum * k(scale, {Sym(0), Sym(0)}) : sum;
  });

  const Sym bn = k.workgroups(0, K, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  const Layout rows = codegen::rows_tv(s.tile_m, deep, v, mma.threads()),
               rows_f = codegen::rows_tv(s.tile_n, deep, v, mma.threads());
  const Tensor a = conflict_free_tile(k, "lds_taps", s.type, s.tile_m, deep, v, rows, mma.a()),
               b = conflict_free_tile(k, "lds_filters", s.type, s.tile_n, deep, v, rows_f, mma.b());
  const Fragment acc = k.zeros(codegen::Element::f32, mma.c(), {s.tile_m, s.tile_n});
  k.loop(all, deep, {.distance = 2, .ring = 2}, [&](Sym t) {
    k.copy(k.tile(taps, {s.tile_m, deep}, {bm, t}), a, rows, v);
    k.copy(k.tile(filters, {s.tile_n, deep}, {bn, t}), b, rows_f, v);
    const Fragment of_a = k.read(a, mma.a(), v), of_b = k.read(b, mma.b(), v);
    k.mma(acc, of_a, of_b, mma);
  });
  const codegen::View tile = k.tile(Y, {s.tile_m, s.tile_n}, {bm, bn});
  if (s.narrow()) {
    const Fragment by =
        k.load(k.tile(scale, {1, 1}, {0, 0}), codegen::without_axis(codegen::without_axis(mma.c(), 1), 0), 1);
    k.store(k.map({acc, by}, [](const Exprs& x) { return x[0] * x[1]; }), tile, 4);
  } else {
    k.store(acc, tile, 4);
  }
  return k;
}
// [convolution end]

} // namespace inlay::kernels
