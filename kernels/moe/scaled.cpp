// Products of 8-bit operands and of mxfp4 with their scales.
#include "narrow.h"

#include "../problem.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {

ScaledProduct ScaledProduct::of(const std::string& kernel, const Target& target, Element type, Scales by,
                                int waves_m, int waves_n, int tile_m, int tile_n) {
  const Refusal refuse{kernel};
  if (type == Element::e2m1 || by == Scales::mx) {
    if (type != Element::e2m1 || by != Scales::mx)
      refuse(fmt::format("--dtype {} with --scales {}", to_string(type), to_string(by)), "fp4 with mx");
    if (!target.ocp_fp8)
      refuse("--dtype fp4 on " + std::string(target.name), machine::with(&machine::Target::ocp_fp8).names());
    if (tile_m % (2 * 16) != 0) refuse(fmt::format("--tile-m {}", tile_m), "a multiple of 32");
    ScaledProduct out{.by = by, .tiling = {}, .tile_m = tile_m, .tile_n = 2 * 16 * waves_m * waves_n};
    out.tiling = MmaTiling::of(Atom::mma_scaled(target, type, type, 16), 1, waves_m * waves_n, tile_m,
                               out.tile_n, 1024 / codegen::bits(type), 128 / codegen::bits(type));
    return out;
  }
  const bool wide = type == Element::f16 || type == Element::bf16, whole = type == Element::i8;
  if (!wide && !whole && !codegen::is_float8(target, type))
    refuse(fmt::format("--dtype {}", to_string(type)), "f16, bf16, i8, " + codegen::float8_names(target));
  if (wide != (by == Scales::none))
    refuse(fmt::format("--dtype {} with --scales {}", to_string(type), to_string(by)),
           wide ? "no: scales are of types of 8 bits" : "row or block: 8 bits need them");
  if (whole && by == Scales::block)
    refuse("--dtype i8 with --scales block", "row: the sums of i8 are whole numbers");
  // The narrower product where sums of a block wait beside the others, and where the target has no wider one.
  const Element sum = whole ? Element::i32 : Element::f32;
  const Atom& product = wide || whole || (target.ocp_fp8 && by == Scales::row)
                            ? Atom::mma_best(target, type, type, sum, 16)
                            : Atom::mma_of(target, type, type, sum, 16, 32);
  // A workgroup's channels share a scale.
  if (by == Scales::block) tile_n = block;
  ScaledProduct out{.by = by, .tiling = {}, .tile_m = tile_m, .tile_n = tile_n};
  out.tiling = MmaTiling::of(product, waves_m, waves_n, tile_m, tile_n, 1024 / codegen::bits(type),
                             128 / codegen::bits(type));
  return out;
}

Expr ScaledProduct::sum(Program& k, Sym extent, const std::function<Expr(Sym)>& product,
                        const std::function<Expr(Sym)>& scale) const {
  if (by != Scales::block && !mx()) {
    const Expr all = k.sum(extent, product);
    return by == Scales::none ? all : all * scale(0);
  }
  return k.sum(extent, [&](Sym i) { return product(i) * scale(floor_div(i, Sym(mx() ? micro : block))); });
}

std::optional<SymLayout> ScaledProduct::place(Program& p, const std::vector<std::string>& matrices,
                                              const std::string& n, const std::string& k) const {
  if (!mx()) return {};
  std::string shape, strides, before = fmt::format("{}*(({}+31)/32)", k, n); // bytes of a matrix
  for (auto m = matrices.rbegin(); m != matrices.rend(); ++m) {
    shape = *m + "," + shape, strides = before + "," + strides;
    before = *m + "*" + before;
  }
  return parse_sym_layout(
      p.symbols(),
      fmt::format("({}(16,2,({}+31)/32),(4,2,{}/256)):({}(4,1,{}),(64,2,256))", shape, n, k, strides, k));
}

codegen::View ScaledProduct::in_order(const codegen::View& view, std::size_t mode) const {
  if (!mx()) return view;
  const int waves = tiling.waves_n;
  return view.reorder(
      mode, parse_layout(fmt::format("(16,{},2,{}):(1,32,16,{})", waves, tile_n / (32 * waves), 32 * waves)));
}

void ScaledProduct::mma(Program& k, const Fragment& acc, const Fragment& a, const Fragment& b,
                        const std::function<std::vector<Fragment>()>& scales, Where where) const {
  if (mx()) {
    const std::vector<Fragment> of = scales();
    return k.mma(acc, a, of[0], b, of[1], tiling, where);
  }
  if (by != Scales::block) return k.mma(acc, a, b, tiling, where);
  const Fragment scale = k.map(
                     scales(), [](const Exprs&v) { return v[0] * v[1]; }, Element::f32, where),
                 part = zeros(k, where);
  k.mma(part, a, b, tiling, where);
  k.update(
      acc, {part, scale}, [](const Exprs& v) { return v[0] + v[1] * v[2]; }, where);
}

Fragment ScaledProduct::scaled(Program& k, const Fragment& acc,
                               const std::function<std::vector<Fragment>()>& scales, Where where) const {
  if (by != Scales::row) return acc;
  const std::vector<Fragment> of = scales();
  return k.map(
      {acc, of[0], of[1]}, [](const Exprs& v) { return v[0] * (v[1] * v[2]); }, Element::f32, where);
}

void random_scales(Workload& w, Scales by, const std::string& name, double most, std::uint64_t seed) {
  if (by == Scales::none) return;
  if (by != Scales::mx) return w.random(name, seed, most, true);
  std::mt19937_64 random(seed);
  std::size_t count = 1;
  for (const std::int64_t extent : w.extents(name)) count *= static_cast<std::size_t>(extent);
  std::vector<double> scales(count);
  for (double& x : scales) x = std::ldexp(1, -static_cast<int>(random() % 4) - 2);
  w.set(name, scales);
}

} // namespace inlay::kernels
