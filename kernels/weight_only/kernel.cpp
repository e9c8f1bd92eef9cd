// `weight_only_gemm` on the command line, its problems and their judge.
#include "../kernels.h"
#include "../options.h"
#include "packed.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/weight_only/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct WeightAsked : WeightOnlySpec {
  std::int64_t m = 200, n = 256, k = 256;
};
using ReadsWeight = Reads<WeightAsked>;

/// Whether LDS has room for two stages of the operands of such a tile.
bool has_room(const WeightAsked& asked, int rows, int columns) {
  return 2 * (rows + columns) * asked.group * codegen::bits(asked.type) / 8 <=
         codegen::Target::named(asked.arch).lds_bytes;
}

/// A tile's rows or columns: 128, or 64 where LDS has no room for two stages, where nobody says otherwise.
ReadsWeight tile(int WeightAsked::*member) {
  return {"0 to 512", [=](WeightAsked& asked, const std::string& text) -> std::string {
            const auto value = number_in(text, 0, 512);
            if (!value) return "is not a number from 0 to 512";
            asked.*member = *value > 0 ? static_cast<int>(*value) : has_room(asked, 128, 128) ? 128 : 64;
            return {};
          }};
}

} // namespace

Problem weight_only_gemm_problem(const WeightOnlySpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                 std::uint64_t seed) {
  const auto w =
      std::make_shared<Workload>(weight_only_gemm_program(spec), std::vector<std::int64_t>{m, n, k});
  w->random("a", seed);
  const bool packed = spec.weights == Element::i32;
  if (packed)
    random_words(*w, "w", seed + 1);
  else
    w->random("w", seed + 1, spec.weights == Element::i8 ? 127 : 16);
  w->random("s", seed + 2, packed ? 0.1 : 0.01, true);
  Problem problem = w->problem();
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  problem.text =
      fmt::format("C[{0},{1}] = A[{0},{2}] x scaled W[{1},{2}]^T, {3} x {4} in groups of {5} -> {6}", m, n, k,
                  codegen::to_string(spec.type), packed ? "i4" : codegen::to_string(spec.weights), spec.group,
                  codegen::to_string(spec.out));
  problem.check = [w, m, n, k, spec, packed](std::span<const Bytes> buffers) {
    const auto at = [&](const char* of, std::int64_t i) {
      return w->values(of)[static_cast<std::size_t>(i)];
    };
    const double u = unit_roundoff(spec.type), sums = 2 * static_cast<double>(k + 4) * std::ldexp(1, -24);
    std::vector<double> reference, bound;
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0, size = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          const double stored = at("w", column * k + i), weight = packed ? weight_of(stored, i) : stored,
                       x = at("a", row * k + i) * weight *
                           at("s", column * (k / spec.group) + i / spec.group);
          sum += x, size += std::abs(x);
        }
        reference.push_back(sum);
        bound.push_back((sums + u) * size + unit_roundoff(spec.out) * std::abs(sum) +
                        (spec.out == Element::f16 ? std::ldexp(1, -25) : 0));
      }
    return compare(w->result("c", buffers), reference, bound, n, "(2 (K + 4) 2^-24 + u) sum |a w s| + u |c|");
  };
  return problem;
}

std::unique_ptr<Kernel> weight_only_gemm_kernel() {
  constexpr std::int64_t most = 1 << 24;
  return kernel_of<WeightAsked>(
      {"C[M,N] = A[M,K] x W[N,K]^T, weights of 8 or 4 bits with a scale for each group of k, products of 16 "
       "bits",
       {"weight_only_gemm",
        {arch_option<WeightAsked>(),
         {"dtype", ReadsWeight::element(&WeightAsked::type, "f16, bf16"), "bf16", "element type of A"},
         {"weights",
          ReadsWeight::parsed(&WeightAsked::weights, "i4, i8, fp8",
                              [](const WeightAsked& asked, const std::string& text) {
                                return text == "i4" ? Element::i32
                                                    : codegen::parse_element(text, Target::named(asked.arch));
                              }),
          "i8", "element type of W; i4: 8 in a word of i32, the first one in its lowest bits"},
         {"out", ReadsWeight::element(&WeightAsked::out, "bf16, f16, f32"), "bf16", "element type of C"},
         {"group", ReadsWeight::number(&WeightAsked::group, 1, 1024), "64",
          "k that share a scale: 32, 64, 128"},
         {"tile-m", tile(&WeightAsked::tile_m), "auto", "rows of C that a workgroup works on", "0",
          "0: 128, or 64 where LDS has no room for two stages"},
         {"tile-n", tile(&WeightAsked::tile_n), "auto", "columns of C that a workgroup works on; likewise",
          "0"},
         {"m", ReadsWeight::number(&WeightAsked::m, 1, most), "200", "rows of A and C"},
         {"n", ReadsWeight::number(&WeightAsked::n, 1, most), "256",
          "rows of W, columns of C, a multiple of 4"},
         {"k", ReadsWeight::number(&WeightAsked::k, 1, most), "256",
          "columns of A and W, a multiple of the group"}}},
       [](const WeightAsked& asked, const BuildOptions& how) {
         return build(weight_only_gemm_program(asked), how);
       },
       [](const WeightAsked& asked, std::uint64_t seed) {
         return weight_only_gemm_problem(asked, asked.m, asked.n, asked.k, seed);
       },
       {"m", "n", "k"},
       [](const WeightAsked& asked) {
         return std::vector{asked.m, asked.n, asked.k};
       },
       [](const WeightAsked& asked, const Flags& fixed) {
         std::vector<Flags> all;
         const auto values = [&](const char* name, std::vector<std::string> otherwise) {
           return fixed.contains(name) ? std::vector{fixed.at(name)} : std::move(otherwise);
         };
         for (const std::string& rows : values("tile-m", {"32", "64", "96", "128", "192", "256"}))
           for (const std::string& columns : values("tile-n", {"32", "64", "96", "128", "192", "256"}))
             if (fixed.contains("tile-m") || std::stoll(rows) < 2 * asked.m || std::stoll(rows) <= 64)
               all.push_back({{"tile-m", rows}, {"tile-n", columns}});
         return all;
       },
       [](const WeightAsked& asked) {
         if (asked.k % asked.group != 0 || asked.n % 4 != 0)
           throw std::invalid_argument("no form takes these sizes");
         if (asked.tile_m * asked.tile_n >= 256 * 256)
           throw std::invalid_argument("its sums take all registers of a lane");
         if (!has_room(asked, asked.tile_m, asked.tile_n))
           throw std::invalid_argument("LDS has no room for two stages of its tiles");
         // Products of 16 bits; what comes to LDS and goes through registers besides, of weights more than twice as much: they are
         // widened. Neither hides the other's clocks, nor do two workgroups. At least memory's latency.
         const double rate = products_per_clock(asked.arch, machine::Operand::f16), rows = asked.tile_m,
                      columns = asked.tile_n;
         const double of_group = asked.group / 64.0;
         const double trip = rows * columns * asked.group / rate + (1.5 * rows + 3.5 * columns) * of_group;
         const auto of_unit = static_cast<double>(up(up(asked.m, asked.tile_m) * up(asked.n, asked.tile_n),
                                                     codegen::Target::named(asked.arch).compute_units));
         return static_cast<double>(asked.k) / asked.group * std::max(of_unit * trip, 500.0) +
                of_unit * (2500 + rows * columns / 16);
       }});
}

} // namespace inlay::kernels
