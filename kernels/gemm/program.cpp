// The GEMM: what it computes, and how its data moves. Nothing else about it is written anywhere.
#include "../lds_swizzle.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::Fragment;
using codegen::MmaTiling;
using codegen::Program;
using codegen::rows_tv;
using codegen::Target;
using codegen::Tensor;

/// The longest row of which a tile of that many rows has byte offsets below 2^31, and at most 2^21.
std::int64_t longest_row(int rows, Element element) {
  return std::min(std::int64_t{1} << 21,
                  ((std::int64_t{1} << 31) / (rows * bits(element) / 8) - 32) / 32 * 32);
}

[[noreturn]] void refuse(const std::string& field, const std::string& value, const std::string& hint) {
  throw std::invalid_argument(fmt::format("gemm: {} = {} is not supported\n  hint   {}", field, value, hint));
}

void check(const GemmSpec& s, const Target& target) {
  if (s.in != Element::f16 && s.in != Element::bf16)
    refuse("in", to_string(s.in), "f16 or bf16; the accumulation is f32 in any case");
  if (s.out != Element::f32 && s.out != s.in)
    refuse("out", to_string(s.out), fmt::format("f32 or the type of A and B, {}", to_string(s.in)));
  if (s.mfma != 16 && s.mfma != 32) refuse("mfma", std::to_string(s.mfma), "16 or 32 rows");
  const int waves = s.waves_m * s.waves_n;
  if (s.waves_m < 1 || s.waves_n < 1 || waves > 16 || !std::has_single_bit(static_cast<unsigned>(waves)))
    refuse("waves", fmt::format("{} x {}", s.waves_m, s.waves_n), "1, 2, 4, 8 or 16 waves altogether");
  if (s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128 && s.tile_k != 256)
    refuse("tile_k", std::to_string(s.tile_k), "32, 64, 128 or 256");
  if (s.preshuffled_b && s.mfma != 16)
    refuse("mfma", std::to_string(s.mfma), "16 rows when B is preshuffled: its blocks are 16 rows of 32 k");
  const int rows_at_once = 64 * waves / (s.tile_k / 8);
  for (const auto& [name, tile, along] :
       {std::tuple{"tile_m", s.tile_m, s.waves_m}, std::tuple{"tile_n", s.tile_n, s.waves_n}}) {
    if (tile < 1 || tile > 512 || tile % (along * s.mfma) != 0)
      refuse(
          name, std::to_string(tile),
          fmt::format("a multiple of {} ({} waves of {} rows), at most 512", along * s.mfma, along, s.mfma));
    const bool by_rows = !(s.preshuffled_b && name[5] == 'n');
    if (by_rows && (rows_at_once < 1 || tile % rows_at_once != 0))
      refuse(name, std::to_string(tile),
             fmt::format("a multiple of {}, the rows that {} work-items load at once",
                         std::max(rows_at_once, 1), 64 * waves));
  }
  const int lds = 2 * (s.tile_m + (s.preshuffled_b ? 0 : s.tile_n)) * s.tile_k * 2;
  if (lds > target.lds_bytes)
    refuse("tile", fmt::format("{} x {} x {}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("two stages take {} bytes of LDS and {} has {}; halve tile_k or a tile", lds, s.arch,
                       target.lds_bytes));
  if (const int accumulators = s.tile_m / s.waves_m * (s.tile_n / s.waves_n) / 64; accumulators > 256)
    refuse("tile", fmt::format("{} x {}", s.tile_m, s.tile_n),
           fmt::format("a lane would hold {} accumulators, at most 256; more waves or a smaller tile",
                       accumulators));
}

} // namespace

SymLayout preshuffled_layout(Sym n, Sym k) {
  // ((16,N/16),(8,4,K/32)):((8,16*K),(1,128,512))
  const auto mode = [](Sym extent, Sym stride) { return BasicMode<Sym>{extent, BasicStride<Sym>(stride)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), rows = b.open();
  b.leaf(mode(16, 8)), b.leaf(mode(floor_div(n, 16), 16 * k));
  b.close(rows, 2);
  const std::size_t columns = b.open();
  b.leaf(mode(8, 1)), b.leaf(mode(4, 128)), b.leaf(mode(floor_div(k, 32), 512));
  b.close(columns, 3);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

// [gemm]
Program gemm_program(const GemmSpec& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, s.in, s.in, Element::f32, s.mfma), s.waves_m,
                                      s.waves_n, s.tile_m, s.tile_n, s.tile_k, 8);
  const bool pre = s.preshuffled_b;

  Program k(pre ? "preshuffle_gemm" : "gemm", target, mma.threads(), s.where);
  const Sym M = k.size("m"),
            N = k.size("n", {.most = longest_row(s.tile_m, s.out), .multiple = pre ? 16 : 1}),
            K = k.size("k",
                       {.most = longest_row(std::max(s.tile_m, s.tile_n), s.in), .multiple = pre ? 32 : 8});
  const Tensor C = k.output("c", s.out, {M, N}), A = k.input("a", s.in, {M, K}),
               B = pre ? k.input("b", s.in, {N, K}, preshuffled_layout(N, K)) : k.input("b", s.in, {N, K});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
  });

  const Sym bn = k.workgroups(0, N, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  const Layout by_rows_a = rows_tv(s.tile_m, s.tile_k, 8, mma.threads());
  const Tensor a = k.lds(
      "lds_a", s.in, {s.tile_m, s.tile_k},
      conflict_free_swizzle(target, s.in, s.tile_m, s.tile_k, {{by_rows_a, 8, false}, {mma.a(), 8, true}}));
  const Fragment acc = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
  if (pre) {
    k.loop(K, s.tile_k, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(A, {s.tile_m, s.tile_k}, {bm, t}), a, by_rows_a, 8);
      const Fragment of_a = k.read(a, mma.a(), 8),
                     of_b = k.load(k.tile(B, {s.tile_n, s.tile_k}, {bn, t}), mma.b(), 8);
      k.mma(acc, of_a, of_b, mma);
    });
  } else {
    const Layout by_rows_b = rows_tv(s.tile_n, s.tile_k, 8, mma.threads());
    const Tensor b = k.lds(
        "lds_b", s.in, {s.tile_n, s.tile_k},
        conflict_free_swizzle(target, s.in, s.tile_n, s.tile_k, {{by_rows_b, 8, false}, {mma.b(), 8, true}}));
    k.loop(K, s.tile_k, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(A, {s.tile_m, s.tile_k}, {bm, t}), a, by_rows_a, 8);
      k.copy(k.tile(B, {s.tile_n, s.tile_k}, {bn, t}), b, by_rows_b, 8);
      const Fragment of_a = k.read(a, mma.a(), 8), of_b = k.read(b, mma.b(), 8);
      k.mma(acc, of_a, of_b, mma);
    });
  }
  k.store(acc, k.tile(C, {s.tile_m, s.tile_n}, {bm, bn}), 4);
  return k;
}
// [gemm end]

Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options) {
  return build(gemm_program(spec), options);
}

LaunchPlan plan_gemm_launch(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k) {
  return contract_of(gemm_program(spec)).plan({m, n, k});
}

} // namespace inlay::kernels
