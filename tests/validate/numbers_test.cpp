// Numbers refute no kernel as it is: many workgroups each, over sizes, pointers, data and garbage, without the symbols.
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/validate/code.h>

#include <catch2/catch.hpp>

namespace numbers_test {

using namespace inlay;
using namespace inlay::kernels::validate;

TEST_CASE("numbers refute no kernel as it is", "[.][slow]") {
  using Flags = kernels::Flags;
  const std::vector<std::pair<const char*, Flags>> all{
      {"gemm", {}},
      {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}}},
      {"gemm", {{"tile", "64x32x32"}, {"waves", "2x1"}, {"mfma", "32"}, {"out", "f32"}}},
      {"gemm", {{"tile", "32x64x32"}, {"waves", "1x2"}, {"dtype", "bf16"}}},
      {"gemm", {{"tile", "64x64x64"}, {"dtype", "bf16"}, {"arch", "gfx950"}}},
      {"gemm", {{"tile", "64x64x64"}, {"arch", "gfx950"}, {"transfer", "yes"}}},
      {"gemm", {{"dtype", "fp8"}}},
      {"gemm", {{"dtype", "bf8"}, {"arch", "gfx950"}}},
      {"gemm", {{"dtype", "i8"}, {"scales", "yes"}, {"bias", "yes"}, {"tile", "32x32x64"}, {"waves", "1x1"}}},
      {"gemm", {{"dtype", "fp4"}, {"arch", "gfx950"}, {"tile", "32x32x256"}, {"waves", "1x1"}}},
      {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"split", "64"}, {"out", "f32"}}},
      {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"split", "64"}, {"out", "f16"}, {"arch", "gfx950"}}},
      {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"tile-order", "xcd+rows:2"}}},
      {"preshuffle_gemm", {}},
      {"preshuffle_gemm", {{"arch", "gfx950"}, {"dtype", "fp4"}}},
      {"softmax", {}},
      {"softmax", {{"threads", "128"}, {"vectors", "1"}, {"dtype", "bf16"}}},
      {"softmax", {{"threads", "128"}, {"dtype", "f32"}, {"arch", "gfx950"}}},
      {"rmsnorm", {{"threads", "128"}, {"vectors", "1"}, {"arch", "gfx950"}}},
      {"rmsnorm", {{"quant", "fp8"}, {"threads", "128"}, {"vectors", "1"}}},
      {"rmsnorm", {{"quant", "i8"}, {"threads", "128"}, {"vectors", "1"}}},
      {"rmsnorm", {{"dtype", "f32"}, {"residual", "yes"}}},
      {"layernorm", {{"dtype", "bf16"}, {"arch", "gfx950"}}},
      {"layernorm", {{"quant", "fp8"}, {"threads", "128"}, {"vectors", "1"}}},
      {"silu_and_mul", {{"dtype", "bf16"}}},
      {"silu_and_mul", {{"vector", "1"}, {"threads", "128"}}},
      {"vector_add", {}},
      {"rope", {}},
      {"moe_stage1", {}},
      {"moe_stage2", {{"arch", "gfx950"}, {"out", "bf16"}}},
      {"block_scale_gemm", {{"arch", "gfx950"}}},
      {"weight_only_gemm", {}},
      {"weight_only_gemm", {{"arch", "gfx950"}}},
      {"flash_attention", {{"waves", "1"}, {"tile-q", "32"}, {"tile-k", "32"}, {"head-dim", "64"}}},
      {"flash_attention", {{"causal", "1"}, {"group", "2"}, {"head-dim", "64"}}},
      {"flash_attention", {{"dtype", "f16"}, {"waves", "2"}, {"tile-q", "64"}, {"arch", "gfx950"}}},
  };
  for (const auto& [name, flags] : all) {
    const kernels::Artifact a = kernels::find_kernel(name)->build(flags, {});
    const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    const auto object = runtime::CodeObject::parse({p, p + a.hsaco.size()});
    CodeOptions o;
    o.symbols = o.order = false;
    o.first_runs = o.refuter_runs = o.guard_sizes = 24;
    const CodeReport r = validate_code(object, object.kernel(a.kernel), a.source->code, o);
    std::string text(name);
    for (const auto& [flag, value] : flags) text += " --" + flag + " " + value;
    for (const auto& f : r.refuted) {
      text += "\n  refuted '" + f.text + "': " + f.message + " for";
      for (const auto& [n, v] : f.sizes) text += " " + n + " = " + std::to_string(v);
    }
    for (const auto& u : r.undecided) text += "\n  " + u;
    INFO(text);
    CHECK(r.refuted.empty());
    CHECK(r.undecided == std::vector<std::string>{"symbols were not asked"});
    CHECK(r.verdict == runtime::symbolic::Verdict::undecided);
  }
}

} // namespace numbers_test
