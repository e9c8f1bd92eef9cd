// What a GEMM's specification gives: an artifact, sizes of a launch, facts for the choice of a form.
#include "parts.h"

#include <inlay/kernels/build.h>

namespace inlay::kernels {

using namespace gemm;

GemmFacts gemm_facts(const GemmSpec& spec) {
  const Target& target = Target::named(spec.arch);
  check(spec, target);
  const bool shared = spec.transfer && target.lanes_per_transfer() == 4;
  return {tiling(spec, target).clocks(), stages(spec, target),
          spec.tile_k * bits(spec.in) < 1024 || (shared && !whole_lines(spec, target))};
}

std::string to_string(GemmSpec::Activation activation) {
  using Activation = GemmSpec::Activation;
  switch (activation) {
  case Activation::relu: return "relu";
  case Activation::silu: return "silu";
  case Activation::gelu: return "gelu";
  case Activation::gelu_tanh: return "gelu_tanh";
  case Activation::none: break;
  }
  return "none";
}

Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options) {
  return build(gemm_program(spec), options);
}

std::vector<std::int64_t> gemm_sizes(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                     const GemmPads& pads) {
  std::vector<std::int64_t> out = {m, n, k};
  for (const auto& [there, pad] : {std::pair(spec.padded.a, pads.a), std::pair(spec.padded.b, pads.b),
                                   std::pair(spec.padded.c, pads.c), std::pair(spec.padded.d, pads.d)})
    if (there) out.push_back(pad);
  return out;
}

LaunchPlan plan_gemm_launch(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                            const GemmPads& pads) {
  return contract_of(gemm_program(spec)).plan(gemm_sizes(spec, m, n, k, pads));
}

} // namespace inlay::kernels
