/// Rotary position embedding: each pair of elements of a head is turned by an angle that its token's position names.
///
///     Y[t,h,0,i] = X[t,h,0,i] cos[p,i] - X[t,h,1,i] sin[p,i]
///     Y[t,h,1,i] = X[t,h,1,i] cos[p,i] + X[t,h,0,i] sin[p,i],    p = positions[t]
///
/// A head of D elements is two halves of D/2, as in GPT-NeoX and Llama; element i of one is paired with element i of the
/// other. X, Y [tokens, heads, D] row-major, the tables [positions, D/2], positions i32. An entry that is no row of the
/// tables gives 0.
///
///     RopeSpec spec;                                   // f16, heads of 128
///     Artifact kernel = build_rope(spec);              // (Y, X, positions, cos, sin, TOKENS, HEADS, ROWS)
///     Problem problem = rope_problem(spec, 7, 32, 4096, /*seed*/ 1);
///
/// Source: J. Su and others, "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, section 3.4.2.
#pragma once

#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

struct RopeSpec {
  explicit RopeSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element type = Element::f16; ///< of X, Y and the tables: f16, bf16, f32
  int head_dim = 128;          ///< 32, 64, 128, 256 or 512
  int threads = 256;           ///< work-items of a token's heads: 64, 128 or 256
  bool in_place = false;       ///< Y takes the place of X
  std::source_location where;

  [[nodiscard]] int vector_length() const { return 128 / codegen::bits(type); }
  /// Heads of a workgroup.
  [[nodiscard]] int heads() const { return threads * vector_length() / (head_dim / 2); }
};

/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] codegen::Program rope_program(const RopeSpec& spec);
[[nodiscard]] Artifact build_rope(const RopeSpec& spec, const BuildOptions& options = {});
/// Positions are drawn with repetition, the first and the last row of the tables among them. The bound is
/// 3 2^-24 (|x cos| + |x' sin|) + u |y|. Errors: std::invalid_argument for sizes that the specification does not cover.
[[nodiscard]] Problem rope_problem(const RopeSpec& spec, std::int64_t tokens, std::int64_t heads,
                                   std::int64_t rows, std::uint64_t seed);

} // namespace inlay::kernels
