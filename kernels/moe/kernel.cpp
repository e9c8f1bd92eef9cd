// `moe_stage1` and `moe_stage2` on the command line: options, a routing of tokens to experts, and the judges.
#include "../kernels.h"
#include "../options.h"
#include "../problem.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/machine/target.h>

#include <cmath>
#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

struct Asked : MoeSpec, MoeSizes {};
using Read = Reads<Asked>;

/// One of the two products.
std::unique_ptr<Kernel> product(bool second) {
  std::vector<Option<Asked>> rows = {
      arch_option<Asked>(),
      {"dtype", Read::element(&Asked::type, "f16, bf16"), "bf16", "element type"},
      {"tokens", Read::number(&Asked::tokens, 1, 1 << 14), "100", "rows of X"},
      {"k", Read::number(&Asked::k, 1, 1 << 20), "256", "columns of the model, a multiple of 8"},
      {"inter", Read::number(&Asked::inter, 1, 1 << 20), "128",
       "columns between the two products, a multiple of 8"},
      {"experts", Read::number(&Asked::experts, 1, 1 << 12), "4", "experts"},
      {"tile-m", Read::number(&Asked::tile_m, 1, 1024), "64", "sorted rows of one expert: a block"}};
  if (second)
    rows.insert(rows.begin() + 2, {"out", Read::element(&Asked::out, "f32, f16, bf16"), "f32",
                                   "type of the sums, which atomics add: f32, f16, bf16 where " +
                                       machine::with(&machine::Target::buffer_adds_bf16).names()});
  return kernel_of<Asked>(
      {second ? "down projection, weighted by the routing, rows added up by token"
              : "rows gathered by token, gate and up projection, SwiGLU, bf16 or f16",
       {second ? "moe_stage2" : "moe_stage1", std::move(rows)},
       [=](const Asked& asked, const BuildOptions& how) {
         return build(second ? moe_stage2_program(asked) : moe_stage1_program(asked), how);
       },
       [=](const Asked& asked, std::uint64_t seed) {
         MoeSizes sizes = asked;
         // Two experts for each token, and less than a block of padding for each expert.
         const std::int64_t most = 2 * sizes.tokens + sizes.experts * (asked.tile_m - 1);
         sizes.rows = second ? (most + asked.tile_m - 1) / asked.tile_m * asked.tile_m : most;
         return second ? moe_stage2_problem(asked, sizes, seed) : moe_stage1_problem(asked, sizes, seed);
       }});
}

// Two different experts for each token where there are two, positions sorted by expert, each expert's last block padded
// with an id that is no token.
void route(Workload& w, const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
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
  // Up to the last token; after it, whatever the buffers held before: here tokens and experts that there are.
  std::size_t used = ids.size();
  while (used > 0 && ids[used - 1] == static_cast<double>(sizes.tokens)) --used;
  w.set("rows_in_use", {static_cast<double>(used)});
  ids.resize(static_cast<std::size_t>(sizes.rows), 0);
  experts.resize(static_cast<std::size_t>(w.extents("experts_of_blocks")[0]), 0);
  w.set("ids", std::move(ids));
  w.set("experts_of_blocks", std::move(experts));
}

} // namespace

Problem moe_stage1_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(
      moe_stage1_program(spec),
      std::vector<std::int64_t>{sizes.tokens, sizes.k, sizes.inter, sizes.experts, sizes.rows});
  w->random("x", seed);
  w->random("w", seed + 1);
  route(*w, spec, sizes, seed + 2);

  Problem problem = w->problem();
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

Problem moe_stage2_problem(const MoeSpec& spec, const MoeSizes& sizes, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(
      moe_stage2_program(spec),
      std::vector<std::int64_t>{sizes.tokens, sizes.k, sizes.inter, sizes.experts, sizes.rows});
  w->random("y", seed);
  w->random("v", seed + 1);
  w->random("weights", seed + 3);
  route(*w, spec, sizes, seed + 2);

  Problem problem = w->problem();
  problem.flops =
      2.0 * static_cast<double>(sizes.rows) * static_cast<double>(sizes.k) * static_cast<double>(sizes.inter);
  problem.text = fmt::format(
      "Z[{0},{2}] += weights (Y V) at the tokens of {1} rows, {3} columns of Y, {4} experts, {5} -> {6}",
      sizes.tokens, sizes.rows, sizes.k, sizes.inter, sizes.experts, codegen::to_string(spec.type),
      codegen::to_string(spec.out));
  problem.check = [w, inter = static_cast<double>(sizes.inter), columns = sizes.k,
                   out = spec.out](std::span<const Bytes> buffers) {
    const std::vector<double> reference = w->reference("z"),
                              size = w->reference("z", {"y", "v", "weights"}, {});
    // Two experts: each part is rounded to the type of the sums, and so is each of them.
    const double u = 4 * unit_roundoff(out), least = out == Element::f16 ? 4 * std::ldexp(1, -25) : 0;
    std::vector<double> bound(reference.size());
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = (2 * (inter + 1) * std::ldexp(1, -24) + u) * size[i] + least;
    return compare(w->result("z", buffers), reference, bound, columns, "(2 (I + 1) 2^-24 + 4 u) sum |w y v|");
  };
  return problem;
}

std::unique_ptr<Kernel> moe_stage1_kernel() { return product(false); }
std::unique_ptr<Kernel> moe_stage2_kernel() { return product(true); }

} // namespace inlay::kernels
