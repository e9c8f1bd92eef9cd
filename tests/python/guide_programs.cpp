// The programs of the guide as C++ writes them, built: guide_programs DIRECTORY [all] writes NAME.TARGET.hsaco of each, for
// test_program.py to hold those of Python against. Attention, which takes seconds, is of one target and not causal without "all".
#pragma GCC diagnostic ignored "-Wreturn-type" // a main of another name has no return, and nobody calls it
#define main silu_mul_main
#include "../../examples/05_silu_mul.cpp"
#undef main
#define main row_softmax_main
#include "../../examples/06_row_softmax.cpp"
#undef main
#define main mfma_gemm_main
#include "../../examples/07_mfma_gemm.cpp"
#undef main
#define main gemv_main
#include "../../examples/08_gemv.cpp"
#undef main
#define main embedding_bag_main
#include "../../examples/09_embedding_bag.cpp"
#undef main
#include "../support/role_product.h"

#include <fstream>

int main(int count, char** words) {
  if (count < 2) return 2;
  const bool all = count > 2;
  const auto write = [&](const std::string& name, const std::string& target,
                         const kernels::Artifact& artifact) {
    std::ofstream file(std::string(words[1]) + "/" + name + "." + target + ".hsaco", std::ios::binary);
    file.write(reinterpret_cast<const char*>(artifact.hsaco.data()),
               static_cast<std::streamsize>(artifact.hsaco.size()));
  };
  for (const char* name : {"gfx942", "gfx950"}) {
    const codegen::Target& target = codegen::Target::named(name);
    write("silu_mul", name, kernels::build(silu_mul(target)));
    write("row_softmax", name, kernels::build(row_softmax(target, true)));
    write("mfma_gemm", name, kernels::build(gemm64(target)));
    write("gemv", name, kernels::build(gemv(target, true)));
    write("embedding_bag", name, kernels::build(embedding_bag(target, true)));
    write("roles", name, kernels::build(role_product::product(name)));
    write("vector_add", name, kernels::find_kernel("vector_add")->build({{"arch", name}}, {}));
    for (const char* causal : {"0", "1"}) {
      if (!all && (*causal == '1' || name == std::string("gfx950"))) continue;
      write(*causal == '1' ? "causal_attention" : "attention", name,
            kernels::find_kernel("flash_attention")
                ->build({{"arch", name},
                         {"dtype", "f16"},
                         {"head-dim", "64"},
                         {"waves", "4"},
                         {"tile-q", "64"},
                         {"tile-k", "64"},
                         {"causal", causal}},
                        {}));
    }
  }
}
