/// Attention, forward: softmax(scale Q K^T) V without the scores ever being in memory.
///
///     S[q,k]         = scale * sum_d Q[b,q,h,d] K[b,k,h / group,d],   scale = 1 / sqrt(head_dim)
///     O[b,q,h,d]     = sum_k exp(S[q,k] - max_k S) V[b,k,h / group,d] / sum_k exp(S[q,k] - max_k S)
///     lse[b,h,q]     = max_k S + log(sum_k exp(S[q,k] - max_k S))
///
/// with k <= q only where `causal` (row 0 sees column 0, as in torch's scaled_dot_product_attention with is_causal), and q - window < k <= q
/// where there is a `window` (as in flash-attn with window_size = (window - 1, 0)). Q and O are [B,Sq,H,D], K and V [B,Sk,H/group,D], all
/// row-major, f16 or bf16; lse [B,H,Sq] is f32. B, Sq, Sk and H are arguments of the launch, any sequence lengths; with a window Sk is Sq,
/// no argument, since query i and key i are of one token. Tiles that no row sees are not read, whether after the diagonal or before the window.
///
///     AttentionSpec spec;                                     // bf16, head dimension 128
///     Artifact kernel = build(flash_attention_program(spec));
///
/// Each wave has 16 or more rows of Q in registers and goes through K and V tile by tile, carrying the maximum, the sum and the
/// output, which are scaled anew when the maximum grows. The products' operands are swapped, so that the scores come out of
/// the first product in the registers in which the second one wants them.
/// Source: Dao, "FlashAttention-2", arXiv 2307.08691, algorithm 1; Milakov and Gimelshein, "Online normalizer calculation for
/// softmax", arXiv 1805.02867.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

using codegen::Element;

struct AttentionSpec {
  explicit AttentionSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int head_dim = 128; ///< 64 or 128
  bool causal = false;
  int window = 0; ///< keys that a query sees, its own the last of them; 0 for all
  int group = 1;  ///< heads of Q that share one of K and V
  int tile_q = 128, tile_k = 64;
  int waves = 4;
  std::source_location where;
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program flash_attention_program(const AttentionSpec& spec);

struct AttentionSizes {
  std::int64_t batch = 1, queries = 1, keys = 1, heads = 1;
};
/// Seeded data; the reference is the specification, evaluated in double. The bound of O is that of probabilities rounded to the
/// type, (2 u + (Sk + 2 D + 64) 2^-24) sum p |v| + u |o|, of the logarithm (Sk + 2 D + 64) 2^-24 (1 + |lse|).
[[nodiscard]] Problem flash_attention_problem(const AttentionSpec& spec, const AttentionSizes& sizes,
                                              std::uint64_t seed);

} // namespace inlay::kernels
