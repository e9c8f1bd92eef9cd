// The options of a GEMM that say what is computed.
#include "asked.h"

namespace inlay::kernels {
namespace {

/// The type of A and B; those that begin with mx are floats of 8 or 6 bits with scales of 32 k.
ReadsGemm type_of_factors(bool pre) {
  return {pre ? "f16, bf16, fp8, bf8, i8, fp4, mxfp8, mxbf8"
              : "f16, bf16, f32, f64, xf32, fp8, bf8, i8, fp4, mxfp6, mxbf6, mxfp8, mxbf8",
          [](GemmAsked& asked, const std::string& text) -> std::string {
            const codegen::Target& target = codegen::Target::named(asked.arch);
            asked.block_scales = text.starts_with("mx");
            asked.in = codegen::parse_element(asked.block_scales ? text.substr(2) : text, target);
            return {};
          }};
}

ReadsGemm activation() {
  using Activation = GemmSpec::Activation;
  std::vector<std::pair<std::string, Activation>> words = {{"no", Activation::none}};
  for (const Activation a : {Activation::relu, Activation::silu, Activation::gelu, Activation::gelu_tanh})
    words.emplace_back(to_string(a), a);
  return ReadsGemm::one_of(&GemmAsked::activation, words);
}

} // namespace

std::vector<Option<GemmAsked>> options_of_values(bool pre) {
  return {
      arch_option<GemmAsked>(),
      {"dtype", type_of_factors(pre), "f16", "element type of A and B", "",
       std::string(pre ? "" : "of f64 all else is f64, too; xf32 is f32 whose products leave out 13 bits\n") +
           "fp4 and mx.. have e8m0 scales of 32 k: C = sum_k A[m,k] SA[m,k/32] B[n,k] SB[n,k/32]" +
           (pre ? "" : "\nmxfp6 is e2m3, mxbf6 e3m2: 4 in 3 bytes, the first in the lowest bits")},
      {"layout",
       ReadsGemm::one_of(&GemmAsked::stored, {{"nt", GemmSpec::Stored::nt},
                                              {"nn", GemmSpec::Stored::nn},
                                              {"tn", GemmSpec::Stored::tn},
                                              {"tt", GemmSpec::Stored::tt}}),
       "nt", "A as [M,K] (n) or [K,M] (t), B as [K,N] (n) or [N,K] (t), row-major", "",
       "not with scales of 32 k; rows along m or n are a multiple of 16 bytes long, and below 2 GiB "
       "altogether"},
      {"scales", ReadsGemm::yes(&GemmAsked::scales), "no",
       "C times sa[m] sb[n], f32 (per token and per channel)", "", "with scales, i8 gives f32, f16 or bf16"},
      {"bias", ReadsGemm::yes(&GemmAsked::bias), "no", "plus bias[n], f32"},
      {"row-bias", ReadsGemm::yes(&GemmAsked::row_bias), "no", "plus row_bias[m], f32"},
      {"alpha", ReadsGemm::yes(&GemmAsked::alpha), "no", "times alpha, f32: one number in memory", "",
       "with this or anything else that changes a sum, i8 gives f32, f16 or bf16"},
      {"beta",
       ReadsGemm::one_of(&GemmAsked::added,
                         {{"no", Added::none}, {"yes", Added::apart}, {"in-place", Added::in_place}}),
       "no", "plus beta C: D = alpha A B^T + beta C, C like D, beta f32; or what D holds", "",
       "yes: C is a matrix of its own, and the result is named D\n"
       "in-place: C is what D holds before the launch; with --beta yes they may not share memory\n"
       "Where beta is 0, nothing of C reaches D, NaN neither"},
      {"activation", activation(), "no", "act(alpha sa sb A B^T + beta C + bias + row_bias): of all that", "",
       "gelu is that of erf, gelu_tanh the one by tanh"},
      {"residual", ReadsGemm::yes(&GemmAsked::residual), "no",
       "plus residual[m,n] after the activation, of the type of the result", "",
       "before it, or without one, that is --beta yes"},
      {"amax", ReadsGemm::yes(&GemmAsked::amax), "no",
       "a result more: the greatest magnitude of each row in each tile", "",
       "f32 [m, ceil(n / tile's n)], of the result before it is rounded; the maximum of that is what an fp8 "
       "result is scaled by"}};
}

} // namespace inlay::kernels
