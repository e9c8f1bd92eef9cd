// `moe_stage1` on the command line: its options, a routing of tokens to experts, and the judge.
#include "../flags.h"
#include "../kernels.h"
#include "../problem.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/moe/spec.h>

#include <cmath>
#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

class MoeKernel final : public Kernel {
public:
  std::string name() const override { return "moe_stage1"; }
  std::string summary() const override {
    return "rows gathered by token, gate and up projection, SwiGLU, bf16 or f16";
  }
  std::vector<FlagHelp> flags() const override {
    return {{"arch", "gfx942", "gfx942 or gfx950"},
            {"dtype", "bf16", "element type: f16, bf16"},
            {"tokens", "100", "rows of X"},
            {"k", "256", "columns of X, a multiple of 8"},
            {"inter", "128", "columns of the result, a multiple of 8"},
            {"experts", "4", "experts"},
            {"tile-m", "64", "sorted rows of one expert: a block"}};
  }
  Artifact build(const Flags& given, const BuildOptions& options) const override {
    return kernels::build(moe_stage1_program(spec_of(given)), options);
  }
  Problem problem(const Flags& given, std::uint64_t seed) const override {
    const FlagReader read(name(), given, flags());
    const MoeSpec spec = spec_of(given);
    MoeSizes sizes;
    sizes.tokens = read.number("tokens", 1, 1 << 16);
    sizes.k = read.number("k", 1, 1 << 20);
    sizes.inter = read.number("inter", 1, 1 << 20);
    sizes.experts = read.number("experts", 1, 1 << 12);
    // Two experts for each token, and less than a block of padding for each expert.
    sizes.rows = 2 * sizes.tokens + sizes.experts * (spec.tile_m - 1);
    return moe_stage1_problem(spec, sizes, seed);
  }

private:
  MoeSpec spec_of(const Flags& given) const {
    const FlagReader read(name(), given, flags());
    MoeSpec spec;
    spec.arch = read.text("arch");
    spec.type = codegen::parse_element(read.text("dtype"));
    spec.tile_m = static_cast<int>(read.number("tile-m", 1, 1024));
    return spec;
  }
};

} // namespace

Problem moe_stage1_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(
      moe_stage1_program(spec),
      std::vector<std::int64_t>{sizes.tokens, sizes.k, sizes.inter, sizes.experts, sizes.rows});
  w->random("x", seed);
  w->random("w", seed + 1);
  // Two different experts for each token where there are two, positions sorted by expert, each expert's last block padded
  // with an id that is no token. Blocks that remain name no expert.
  std::mt19937_64 random(seed + 2);
  std::vector<std::vector<std::int64_t>> of(static_cast<std::size_t>(sizes.experts));
  for (std::int64_t t = 0; t < sizes.tokens; ++t) {
    const std::uint64_t first = random() % of.size(),
                        step = of.size() > 1 ? 1 + random() % (of.size() - 1) : 0;
    of[first].push_back(t);
    if (step > 0) of[(first + step) % of.size()].push_back(t);
  }
  std::vector<double> ids, experts;
  for (std::size_t e = 0; e < of.size(); ++e)
    for (std::size_t at = 0; at < of[e].size(); at += static_cast<std::size_t>(spec.tile_m)) {
      experts.push_back(static_cast<double>(e));
      for (std::size_t i = at; i < at + static_cast<std::size_t>(spec.tile_m); ++i)
        ids.push_back(static_cast<double>(i < of[e].size() ? of[e][i] : sizes.tokens));
    }
  ids.resize(static_cast<std::size_t>(sizes.rows), static_cast<double>(sizes.tokens));
  experts.resize(static_cast<std::size_t>(w->extents("experts_of_blocks")[0]),
                 static_cast<double>(sizes.experts));
  w->set("ids", std::move(ids));
  w->set("experts_of_blocks", std::move(experts));

  Problem problem;
  problem.launch = w->plan();
  problem.buffers = w->buffers();
  problem.flops =
      4.0 * static_cast<double>(sizes.rows) * static_cast<double>(sizes.k) * static_cast<double>(sizes.inter);
  problem.text = fmt::format("Y[{0},{2}] = silu(X Wgate) * (X Wup), {1} columns of X, {3} experts, {4}",
                             sizes.rows, sizes.k, sizes.inter, sizes.experts, codegen::to_string(spec.type));
  problem.check = [w, k = static_cast<double>(sizes.k), inter = sizes.inter, type = spec.type,
                   tile_m = spec.tile_m](std::span<const Bytes> buffers) {
    const std::vector<double> reference = w->reference("y");
    // silu has a slope of at most 1.1, and |silu(g)| <= |g|.
    codegen::Program& p = w->program();
    const std::vector<Sym>& c = p.specifications()[0].coordinate;
    const auto projection = [&](int which) {
      return w->reference("y", {"x", "w"}, p.sum(p.sizes()[1].symbol, [&](Sym i) {
        return p(w->tensor("x"), {p.at(w->tensor("ids"), c[0]), i}) *
               p(w->tensor("w"),
                 {p.at(w->tensor("experts_of_blocks"), floor_div(c[0], Sym(tile_m))), which, c[1], i});
      }));
    };
    const std::vector<double> gate = projection(0), up = projection(1);
    std::vector<double> bound(reference.size());
    const double error = 2 * k * std::ldexp(1, -24);
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const double g = gate[i], u = up[i];
      bound[i] = 2.2 * error * g * u + (unit_roundoff(type) + std::ldexp(16, -24)) * std::abs(reference[i]) +
                 (type == Element::f16 ? std::ldexp(1, -25) : 0);
    }
    return compare(w->result("y", buffers), reference, bound, inter,
                   "4.4 K 2^-24 sum |x wg| sum |x wu| + (u + 2^-20) |y|");
  };
  return problem;
}

std::unique_ptr<Kernel> moe_stage1_kernel() { return std::make_unique<MoeKernel>(); }

} // namespace inlay::kernels
