// `moe_stage1` and `moe_stage2` on the command line.
#include "../kernels.h"
#include "narrow.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/machine/target.h>

namespace inlay::kernels {
namespace {

struct MoeAsked : MoeSpec, MoeSizes {};
using ReadsMoe = Reads<MoeAsked>;

/// One of the two products.
std::unique_ptr<Kernel> product(bool second) {
  std::vector<Option<MoeAsked>> rows = {
      arch_option<MoeAsked>(),
      {"dtype", ReadsMoe::element(&MoeAsked::type, "f16, bf16, fp8, i8, fp4"), "bf16",
       "element type; fp4, of MX, where the target multiplies it"},
      scales_option<MoeAsked>(&MoeSpec::scales, &MoeSpec::type),
      {"group", ReadsMoe::number(&MoeAsked::group, 0, 1024), "0",
       "k that share a scale of weights of 4 bits, 8 in a word of i32: 32, 64 or 128; 0: weights of the same "
       "type"},
      {"tokens", ReadsMoe::number(&MoeAsked::tokens, 1, 1 << 14), "100", "rows of X"},
      {"k", ReadsMoe::number(&MoeAsked::k, 1, 1 << 20), "256",
       "columns of the model, a multiple of 8; of 8 bits 16, of blocks 128, of fp4 256"},
      {"inter", ReadsMoe::number(&MoeAsked::inter, 1, 1 << 20), "128",
       "columns between the two products, a multiple of 8; summed over as those of the model"},
      {"experts", ReadsMoe::number(&MoeAsked::experts, 1, 1 << 12), "4", "experts"},
      {"tile-m", ReadsMoe::number(&MoeAsked::tile_m, 1, 1024), "64", "sorted rows of one expert: a block"}};
  if (second)
    rows.insert(rows.begin() + 3, {"out", ReadsMoe::element(&MoeAsked::out, "f32, f16, bf16"), "f32",
                                   "type of the sums, which atomics add: f32, f16, bf16 where " +
                                       machine::with(&machine::Target::buffer_adds_bf16).names()});
  return kernel_of<MoeAsked>(
      {second ? "down projection, weighted by the routing, rows added up by token; bf16, f16, fp8, i8, mxfp4"
              : "rows gathered by token, gate and up projection, SwiGLU; bf16, f16, fp8, i8, mxfp4",
       {second ? "moe_stage2" : "moe_stage1", std::move(rows)},
       [=](const MoeAsked& asked, const BuildOptions& how) {
         return build(second ? moe_stage2_program(asked) : moe_stage1_program(asked), how);
       },
       [=](const MoeAsked& asked, std::uint64_t seed) {
         MoeSizes sizes = asked;
         // Two experts for each token, and less than a block of padding for each expert.
         const std::int64_t most = 2 * sizes.tokens + sizes.experts * (asked.tile_m - 1);
         sizes.rows = second ? (most + asked.tile_m - 1) / asked.tile_m * asked.tile_m : most;
         return second ? moe_stage2_problem(asked, sizes, seed) : moe_stage1_problem(asked, sizes, seed);
       }});
}

} // namespace

std::string to_string(Scales scales) {
  switch (scales) {
  case Scales::row: return "row";
  case Scales::block: return "block";
  case Scales::mx: return "mx";
  case Scales::none: break;
  }
  return "no";
}

std::unique_ptr<Kernel> moe_stage1_kernel() { return product(false); }
std::unique_ptr<Kernel> moe_stage2_kernel() { return product(true); }

} // namespace inlay::kernels
