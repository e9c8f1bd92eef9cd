// `flash_attention` on the command line, its problems and their judge.
#include "../flags.h"
#include "../kernels.h"
#include "../problem.h"

#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/build.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

class AttentionKernel final : public Kernel {
public:
  std::string name() const override { return "flash_attention"; }
  std::string summary() const override {
    return "softmax(Q K^T / sqrt(D)) V, forward with logarithms, f16 or bf16, causal or not, grouped heads";
  }
  std::vector<FlagHelp> flags() const override {
    return {{"arch", "gfx942", "gfx942 or gfx950"},
            {"dtype", "bf16", "element type: f16, bf16"},
            {"head-dim", "128", "64 or 128"},
            {"causal", "0", "1: row q sees columns 0 to q"},
            {"group", "1", "heads of Q that share one of K and V"},
            {"batch", "1", "sequences"},
            {"queries", "200", "rows of Q"},
            {"keys", "300", "rows of K and V"},
            {"heads", "2", "heads of Q, a multiple of the group"},
            {"tile-q", "128", "rows of Q that a workgroup works on, 16 or 32 for each of its waves"},
            {"tile-k", "64", "rows of K and V at a time, 32 or 64"},
            {"waves", "4", "1, 2, 4 or 8"}};
  }
  Artifact build(const Flags& given, const BuildOptions& options) const override {
    return kernels::build(flash_attention_program(spec_of(given)), options);
  }
  Problem problem(const Flags& given, std::uint64_t seed) const override {
    const FlagReader read(name(), given, flags());
    AttentionSizes sizes;
    sizes.batch = read.number("batch", 1, 1 << 20);
    sizes.queries = read.number("queries", 1, 1 << 24);
    sizes.keys = read.number("keys", 1, 1 << 24);
    sizes.heads = read.number("heads", 1, 1 << 20);
    return flash_attention_problem(spec_of(given), sizes, seed);
  }

private:
  AttentionSpec spec_of(const Flags& given) const {
    const FlagReader read(name(), given, flags());
    AttentionSpec spec;
    spec.arch = read.text("arch");
    spec.type = codegen::parse_element(read.text("dtype"));
    spec.head_dim = static_cast<int>(read.number("head-dim", 1, 1024));
    spec.causal = read.number("causal", 0, 1) == 1;
    spec.group = static_cast<int>(read.number("group", 1, 1024));
    spec.tile_q = static_cast<int>(read.number("tile-q", 1, 1024));
    spec.tile_k = static_cast<int>(read.number("tile-k", 1, 1024));
    spec.waves = static_cast<int>(read.number("waves", 1, 16));
    return spec;
  }
};

} // namespace

Problem flash_attention_problem(const AttentionSpec& spec, const AttentionSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(
      flash_attention_program(spec),
      std::vector<std::int64_t>{sizes.batch, sizes.queries, sizes.keys, sizes.heads});
  // Scores of a few units, so that a softmax is neither flat nor one column.
  w->random("q", seed, 3);
  w->random("k", seed + 1, 3);
  w->random("v", seed + 2);
  Problem problem = w->problem();
  problem.flops = 4.0 * static_cast<double>(sizes.batch * sizes.heads * sizes.queries * sizes.keys) *
                  static_cast<double>(spec.head_dim) / (spec.causal ? 2 : 1);
  problem.text = fmt::format("O[{0},{1},{3},{4}] = attention to K, V[{0},{2},{5},{4}]{6}, {7}", sizes.batch,
                             sizes.queries, sizes.keys, sizes.heads, spec.head_dim, sizes.heads / spec.group,
                             spec.causal ? ", causal" : "", codegen::to_string(spec.type));
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

std::unique_ptr<Kernel> flash_attention_kernel() { return std::make_unique<AttentionKernel>(); }

} // namespace inlay::kernels
