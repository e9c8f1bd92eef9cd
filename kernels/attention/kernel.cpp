// `flash_attention` on the command line, its problems and their judge.
#include "../kernels.h"
#include "../options.h"
#include "../problem.h"

#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/runtime/timing/parameters.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct FlashAsked : AttentionSpec, AttentionSizes {};
using ReadsFlash = Reads<FlashAsked>;

// Of the program: with a window keys are as many as queries.
std::vector<std::int64_t> sizes_of(const AttentionSpec& spec, const AttentionSizes& sizes) {
  if (spec.window == 0) return {sizes.batch, sizes.queries, sizes.keys, sizes.heads};
  if (sizes.queries != sizes.keys)
    throw std::invalid_argument(fmt::format(
        "flash_attention: --window {} with --queries {} and --keys {}\n  hint   as many keys as queries: "
        "query i and key i are of one token",
        spec.window, sizes.queries, sizes.keys));
  return {sizes.batch, sizes.queries, sizes.heads};
}

// Keys that a row of Q sees, on average.
double seen(const AttentionSpec& spec, const AttentionSizes& sizes) {
  const auto keys = static_cast<double>(sizes.keys),
             window = std::min(static_cast<double>(spec.window), keys);
  if (spec.window > 0) return window * (1 - (window - 1) / (2 * keys));
  return spec.causal ? keys / 2 : keys;
}

} // namespace

Problem flash_attention_problem(const AttentionSpec& spec, const AttentionSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(flash_attention_program(spec), sizes_of(spec, sizes));
  // Scores of a few units, so that a softmax is neither flat nor one column.
  w->random("q", seed, 3);
  w->random("k", seed + 1, 3);
  w->random("v", seed + 2);
  Problem problem = w->problem();
  problem.flops = 4.0 * static_cast<double>(sizes.batch * sizes.heads * sizes.queries) * seen(spec, sizes) *
                  static_cast<double>(spec.head_dim);
  problem.text = fmt::format("O[{0},{1},{3},{4}] = attention to K, V[{0},{2},{5},{4}]{6}, {7}", sizes.batch,
                             sizes.queries, sizes.keys, sizes.heads, spec.head_dim, sizes.heads / spec.group,
                             spec.window > 0 ? fmt::format(", of a window of {}", spec.window)
                             : spec.causal   ? ", causal"
                                             : "",
                             codegen::to_string(spec.type));
  problem.check = [w, sizes, d = spec.head_dim, type = spec.type](std::span<const Bytes> buffers) {
    // Scores err by f32 arithmetic on sums of D products, each of at most 9 in absolute value here.
    const double unit = std::ldexp(1, -24),
                 score =
                     2 * static_cast<double>(d) * unit * 9 * std::sqrt(static_cast<double>(d)) + 16 * unit,
                 sum = (static_cast<double>(sizes.keys) + 64) * unit;
    const std::vector<double> o = w->reference("o"), lse = w->reference("lse");
    std::vector<double> of_o = w->reference("o", {"v"}), of_lse(lse.size());
    for (std::size_t i = 0; i < o.size(); ++i)
      of_o[i] = (unit_roundoff(type) + 4 * score + 2 * sum) * of_o[i] + unit_roundoff(type) * std::abs(o[i]) +
                (type == Element::f16 ? std::ldexp(1, -24) : 0);
    for (std::size_t i = 0; i < lse.size(); ++i)
      of_lse[i] = 2 * score + 2 * sum + 4 * unit * std::abs(lse[i]);
    const std::string formula = "(u + 4 s + 2 (Sk + 64) 2^-24) sum p |v| + u |o|, s: error of a score";
    Check check =
        both(compare(w->result("o", buffers), o, of_o, d, formula),
             compare(w->result("lse", buffers), lse, of_lse, sizes.queries, "2 s + 2 (Sk + 64) 2^-24"));
    return check;
  };
  return problem;
}

/// Clocks of a launch by what a unit's trip keeps busy: matrix pipes and the exponentials between the two products, reads of K and V out of
/// LDS by every wave, and their way from memory, where the tiles of one head on an XCD share them. The longest of these hides most of the others.
double clocks_of(const FlashAsked& asked) {
  const codegen::Target& target = codegen::Target::named(asked.arch);
  const auto p = runtime::timing::Parameters::of(runtime::isa::parse_arch(asked.arch));
  const double q = asked.tile_q, k = asked.tile_k, d = asked.head_dim, waves = asked.waves;
  const double simds = std::min(waves, 4.0), units = target.compute_units,
               tiles = static_cast<double>(up(asked.queries, asked.tile_q)),
               groups = tiles * static_cast<double>(asked.batch * asked.heads);
  const double of_kv = 4 * k * d; // bytes of a tile of K and one of V
  // Two waves a SIMD where registers allow, and two tiles of each in LDS.
  const double rows = q / waves, by_registers = rows >= 32 && k >= 64 ? 4 : 8;
  const double places =
      std::clamp(std::min(by_registers / waves, std::floor(target.lds_bytes / (2 * of_kv))), 1.0, 4.0);
  const double work = 2 * q * k * d / products_per_clock(asked.arch, machine::Operand::f16) * 4 / simds +
                      q * k / 64 / simds * 44;
  const double hbm = p["hbm_tbytes"] * p["hbm_efficiency"] * 1e6 / p["clock_mhz"];
  const double trips = asked.window > 0
                           ? (seen(asked, asked) + q) / k
                           : static_cast<double>(up(asked.keys, asked.tile_k)) / (asked.causal ? 2 : 1);
  const auto of_round = [&](double here, double workgroups) {
    const double together = std::max(work, here * work * simds / 4), reads = here * waves * of_kv / 128;
    const double busy = together + (here * waves > 4 ? 350 : 650) + 0.4 * reads;
    const double memory = workgroups * of_kv / std::max(1.0, tiles / p["xcds"]) / hbm;
    return trips * (std::max(busy, memory) + 0.3 * std::min(busy, memory)) + 4000;
  };
  const double full = std::floor((groups - 1) / (units * places)), rest = groups - full * units * places;
  return full * of_round(places, units * places) + of_round(std::ceil(rest / units), rest);
}

std::unique_ptr<Kernel> flash_attention_kernel() {
  return kernel_of<FlashAsked>(
      {"softmax(Q K^T / sqrt(D)) V, forward with logarithms, f16 or bf16, causal, of a sliding window or "
       "not, grouped heads",
       {"flash_attention",
        {arch_option<FlashAsked>(),
         {"dtype", ReadsFlash::element(&FlashAsked::type, "f16, bf16"), "bf16", "element type"},
         {"head-dim", ReadsFlash::one_of(&FlashAsked::head_dim, {{"64", 64}, {"128", 128}}), "128",
          "elements of a head"},
         {"causal", ReadsFlash::yes(&FlashAsked::causal), "no", "row q sees columns 0 to q"},
         {"window", ReadsFlash::number(&FlashAsked::window, 0, 1 << 16), "0",
          "N: row q sees columns q - N + 1 to q, and tiles that lie outside are not read; 0 for none"},
         {"group", ReadsFlash::number(&FlashAsked::group, 1, 1024), "1",
          "heads of Q that share one of K and V"},
         {"batch", ReadsFlash::number(&FlashAsked::batch, 1, 1 << 16), "1", "sequences"},
         {"queries", ReadsFlash::number(&FlashAsked::queries, 1, 1 << 17), "200",
          "rows of Q; with a window at most 65536"},
         {"keys", ReadsFlash::number(&FlashAsked::keys, 1, 1 << 16), "300", "rows of K and V"},
         {"heads", ReadsFlash::number(&FlashAsked::heads, 1, 64), "2", "heads of Q, a multiple of the group"},
         {"tile-q", ReadsFlash::number(&FlashAsked::tile_q, 1, 1024), "auto",
          "rows of Q that a workgroup works on, 16 or 32 for each of its waves", "128"},
         {"tile-k", ReadsFlash::number(&FlashAsked::tile_k, 1, 1024), "auto",
          "rows of K and V at a time, 32 or 64", "64"},
         {"waves", ReadsFlash::number(&FlashAsked::waves, 1, 16), "auto",
          "waves of a workgroup: 1, 2, 4 or 8", "4"}}},
       [](const FlashAsked& asked, const BuildOptions& how) {
         return build(flash_attention_program(asked), how);
       },
       [](const FlashAsked& asked, std::uint64_t seed) {
         return flash_attention_problem(asked, asked, seed);
       },
       {"batch", "queries", "keys", "heads"},
       [](const FlashAsked& asked) { return sizes_of(asked, asked); },
       [](const FlashAsked& asked, const Flags& fixed) {
         std::vector<Flags> all;
         const auto values = [&](const char* name, std::vector<std::string> otherwise) {
           return fixed.contains(name) ? std::vector{fixed.at(name)} : std::move(otherwise);
         };
         for (const std::string& waves : values("waves", {"1", "2", "4", "8"}))
           for (const int rows : {16, 32})
             for (const std::string& tile_q :
                  values("tile-q", {std::to_string(rows * std::atoi(waves.c_str()))}))
               for (const std::string& tile_k : values("tile-k", {"32", "64"}))
                 if ((rows == 16 || !fixed.contains("tile-q")) &&
                     (asked.window == 0 || (std::atoi(tile_q.c_str()) <= asked.window &&
                                            std::atoi(tile_q.c_str()) % std::atoi(tile_k.c_str()) == 0)))
                   all.push_back({{"waves", waves}, {"tile-q", tile_q}, {"tile-k", tile_k}});
         return all;
       },
       [](const FlashAsked& asked) { return clocks_of(asked); }});
}

} // namespace inlay::kernels
