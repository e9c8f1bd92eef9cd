// `grouped_gemm` on the command line, its data and its judge.
#include "../page.h"
#include "grouped.h"

#include <fmt/format.h>

namespace inlay::kernels {
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
                              : static_cast<double>(below(random, s.groups)));
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
      .sizes = members(&GroupedAsked::m, &GroupedAsked::n, &GroupedAsked::k, &GroupedAsked::groups),
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
