// Products of groups of rows, each with a matrix of its own: C[p,n] = sum_k A[p,k] B[g,n,k], g the group of the block of p.
#include "grouped.h"

#include "../page.h"
#include "../staged.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {

// [grouped_gemm]
Program grouped_gemm_program(const GroupedGemm& s) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("grouped_gemm: {}\n  hint   {}", what, hint));
  };
  const int waves = s.waves_m * s.waves_n;
  if (waves != 4 && waves != 8)
    refuse(fmt::format("--waves {}x{}", s.waves_m, s.waves_n), "4 or 8 altogether");
  for (const auto& [tile, along] : {std::pair(s.tile_m, s.waves_m), std::pair(s.tile_n, s.waves_n)})
    if ((tile != 64 && tile != 128 && tile != 256) || tile % (16 * along) != 0 || tile < 8 * waves)
      refuse(
          fmt::format("--tile-m {} --tile-n {} with --waves {}x{}", s.tile_m, s.tile_n, s.waves_m, s.waves_n),
          "64, 128 or 256 each, 16 for each wave beside another");
  if (s.transfer && s.scales == Scales::block)
    refuse("--direct-to-lds yes with --scales block",
           "no: scales of blocks are loaded by addresses of 64 bits");
  if (s.tile_m * s.tile_n > 256 * 64 * waves)
    refuse(
        fmt::format("--tile-m {} --tile-n {} with --waves {}x{}", s.tile_m, s.tile_n, s.waves_m, s.waves_n),
        "2x4: a work-item has 256 sums");
  if (s.out != Element::f32 && s.out != Element::f16 && s.out != Element::bf16)
    refuse(fmt::format("--out {}", to_string(s.out)), "f16, bf16 or f32");
  const Target& target = Target::named(s.arch);
  const ScaledProduct p =
      ScaledProduct::of("grouped_gemm", target, s.type, s.scales, s.waves_m, s.waves_n, s.tile_m, s.tile_n);
  const int depth = p.depth(), v = p.vector(), threads = p.tiling.threads();
  Program k("grouped_gemm", target, threads);
  const Sym M = k.size("m", {.most = 1 << 22}), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            K = k.size("k", {.most = 1 << 14, .multiple = p.multiple()}),
            G = k.size("groups", {.most = 1 << 12});
  const Tensor C = k.output("c", s.out, {M, N}), A = k.input("a", s.type, {M, K}),
               B = k.input("b", s.type, {G, N, K});
  std::optional<Tensor> SA, SB;
  if (s.scales != Scales::none) {
    SA = k.input("sa", p.scale(), {p.mx() ? p.of_channels(M) : M, p.of_k(K)}, p.place(k, {}, "m", "k"));
    SB = k.input("sb", p.scale(), {G, p.of_channels(N), p.of_k(K)}, p.place(k, {"groups"}, "n", "k"));
    p.ahead(k, *SB);
  }
  const Tensor of_blocks = k.input("groups_of_blocks", Element::i32, {ceil_div(M, Sym(s.tile_m))});
  k.computes(C, [&](const auto& c) {
    const codegen::Index g = k.at(of_blocks, floor_div(c[0], Sym(s.tile_m)));
    return p.sum(
        k, K,
        [&](Sym i) {
          return k(A, {c[0], i}) * k(B, {g, c[1], i});
        },
        [&](Sym b) {
          return k(*SA, {c[0], b}) * k(*SB, {g, p.channel(c[1]), b});
        });
  });

  const Sym bn = k.workgroups(0, N, p.tile_n), bm = k.workgroups(1, M, s.tile_m),
            g = k.uniform(of_blocks, bm);
  const Staged staged{s.type, depth, v, threads, s.transfer};
  const Tensor a = staged.tile(k, "lds_a", s.tile_m, p.tiling.a()),
               b = staged.tile(k, "lds_b", p.tile_n, p.tiling.b());
  const Fragment acc = p.zeros(k);
  const auto scales = [&](Sym t) {
    const codegen::View of_b = k.tile(*SB, {1, p.columns(), p.of_trip()}, {g, bn, t});
    return std::vector{k.load(k.tile(*SA, {s.tile_m, p.of_trip()}, {bm, t}), p.of_rows(), p.at_once()),
                       k.load(p.channels(of_b, 1, 2), p.of_columns(), p.at_once())};
  };
  k.loop(K, depth, p.pipeline(target, s.tile_m + p.tile_n), [&](Sym t) {
    staged.copy(k, k.tile(A, {s.tile_m, depth}, {bm, t}), a, s.tile_m);
    staged.copy(k, p.in_order(k.tile(B, {1, p.tile_n, depth}, {g, bn, t}).keep({1, 2}), 0), b, p.tile_n);
    const Fragment of_a = k.read(a, p.tiling.a(), v), of_b = k.read(b, p.tiling.b(), v);
    p.mma(k, acc, of_a, of_b, [&] { return scales(t); });
  });
  k.store(p.scaled(k, acc, [&] { return scales(0); }),
          p.in_order(k.tile(C, {s.tile_m, p.tile_n}, {bm, bn}), 1), 4);
  return k;
}
// [grouped_gemm end]

namespace {

using GroupedAsked = GroupedGemm;

// Groups in any order, some twice, some not at all; -1 and one too many are none.
void grouped_data(const GroupedAsked& s, Workload& w, std::uint64_t seed) {
  const double size = s.type == Element::i8 ? 127 : 1;
  w.random("a", seed, size), w.random("b", seed + 1, size);
  random_scales(w, s.scales, "sa", 1 / size, seed + 2), random_scales(w, s.scales, "sb", 1 / size, seed + 3);
  std::mt19937_64 random(seed);
  std::vector<double> groups;
  for (std::int64_t b = 0; b < s.blocks(); ++b)
    groups.push_back(b == 2   ? -1
                     : b == 3 ? static_cast<double>(s.groups)
                              : static_cast<double>(random() % static_cast<std::uint64_t>(s.groups)));
  w.set("groups_of_blocks", groups);
}

std::vector<Judged> grouped_reference(const GroupedAsked& s, const Workload& w, const Results&) {
  const bool block = s.scales == Scales::block, mx = s.scales == Scales::mx;
  const std::int64_t each = block ? 128
                            : mx  ? 32
                                  : s.k,
                     wide = block || mx ? s.k / each : 1,
                     high = block ? up(s.n, 128)
                            : mx  ? up(s.n, 32) * 32
                                  : s.n;
  const auto at = [&](const char* of, std::int64_t n) { return w.values(of)[static_cast<std::size_t>(n)]; };
  Judged c{"c", {}, {}, "2 (K + 8) 2^-24 sum |s a b| + u |c|"};
  for (std::int64_t m = 0; m < s.m; ++m)
    for (std::int64_t n = 0; n < s.n; ++n) {
      const auto g = static_cast<std::int64_t>(at("groups_of_blocks", m / s.tile_m));
      double value = 0, size = 0;
      for (std::int64_t i = 0; g >= 0 && g < s.groups && i < s.k; ++i) {
        double x = at("a", m * s.k + i) * at("b", (g * s.n + n) * s.k + i);
        if (s.scales != Scales::none)
          x *= at("sa", m * wide + i / each) * at("sb", (g * high + (block ? n / 128 : n)) * wide + i / each);
        value += x, size += std::abs(x);
      }
      c.value.push_back(value);
      c.bound.push_back(2 * static_cast<double>(s.k + 8) * u32 * size + rounding(s.out, value));
    }
  return {c};
}

} // namespace

std::unique_ptr<Kernel> grouped_gemm_kernel() {
  using Read = Reads<GroupedAsked>;
  return page_of(Page<GroupedAsked>{
      .summary = "C[p,N] = A[p,K] x B[g,N,K]^T, blocks of rows with a matrix each, as a table says; bf16, "
                 "f16, fp8, i8, mxfp4",
      .options = {"grouped_gemm",
                  {arch_option<GroupedAsked>(),
                   {"dtype", Read::element(&GroupedAsked::type, "f16, bf16, fp8, i8, fp4"), "bf16",
                    "element type of A and B"},
                   scales_option<GroupedAsked>(&GroupedAsked::scales, &GroupedAsked::type),
                   {"out", Read::element(&GroupedAsked::out, "f16, bf16, f32"), "bf16", "element type of C"},
                   {"m", Read::number(&GroupedAsked::m, 1, 1 << 22), "300",
                    "rows of A, those of a group in whole blocks"},
                   {"n", Read::number(&GroupedAsked::n, 1, 1 << 20), "128",
                    "rows of each B, a multiple of 4"},
                   {"k", Read::number(&GroupedAsked::k, 1, 1 << 14), "256",
                    "columns of A and B, a multiple of 8; of 8 bits 16, of blocks 128, of fp4 256"},
                   {"groups", Read::number(&GroupedAsked::groups, 1, 1 << 12), "4", "matrices B"},
                   {"tile-m", Read::number(&GroupedAsked::tile_m, 1, 512), "64",
                    "rows of a block, which the table counts: 64, 128 or 256"},
                   {"tile-n", Read::number(&GroupedAsked::tile_n, 1, 512), "auto",
                    "columns of a workgroup: 64, 128 or 256; of blocks 128, of fp4 32 for each wave", "64"},
                   {"waves", Read::product("2x2", &GroupedAsked::waves_m, &GroupedAsked::waves_n), "auto",
                    "waves along M and N", "2x2"},
                   direct_to_lds_option<GroupedAsked>(&GroupedAsked::transfer)}},
      .program = grouped_gemm_program,
      .sizes =
          [](const GroupedAsked& s) {
            return std::vector{s.m, s.n, s.k, s.groups};
          },
      .size_names = {"m", "n", "k", "groups"},
      .data = grouped_data,
      .reference = grouped_reference,
      .text =
          [](const GroupedAsked& s) {
            return fmt::format("C[{0},{1}] = A[{0},{2}] x B[g,{1},{2}]^T, {3} groups, {4}, scales {5} -> {6}",
                               s.m, s.n, s.k, s.groups, to_string(s.type), to_string(s.scales),
                               to_string(s.out));
          },
      .candidates =
          [](const GroupedAsked&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* tile : {"64", "128", "256"})
              for (const char* waves : {"2x2", "2x4"})
                for (const char* transfer : {"yes", "no"})
                  add_candidate(all, {{"tile-n", tile}, {"waves", waves}, {"direct-to-lds", transfer}},
                                fixed);
            return all;
          },
      .bound =
          [](const GroupedAsked& s) {
            const double rate =
                             products_per_clock(s.arch, codegen::bits(s.type) <= 8 ? machine::Operand::fp8
                                                                                   : machine::Operand::f16),
                         trips = static_cast<double>(s.k) * codegen::bits(s.type) / 1024,
                         products = s.tile_m * s.tile_n * 1024.0 / codegen::bits(s.type) / rate,
                         moved = 128.0 * (s.tile_m + s.tile_n) / (s.transfer ? 64 : 48);
            return rounds(s.arch, s.blocks() * up(s.n, s.tile_n), s.waves_m * s.waves_n > 4 ? 1 : 2) *
                   (3000 + trips * (100 + std::max(products, moved)));
          }});
}

} // namespace inlay::kernels
