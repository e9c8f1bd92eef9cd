/// Multi-head latent attention, decoding: what can be asked for, and its two programs.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::kernels {

using codegen::Element;

/// All heads of queries share one row of 576 numbers a token: it is the key, 512 of the latent and 64 of the rotary embedding, and its
/// first 512 are the value too. (The projections that make keys and values of heads from the latent are absorbed into q and o.)
///
///     o(s,j,h,:) = sum over i < length(s,j) of p(i) kv(i)[0:512],   p = softmax over i of scale q(s,j,h,:) kv(i)
///     length(s,j) = lengths(s) - (queries - 1) + j,   kv(i) = cache[table(s, i / page), i % page], 0 where the table names no page
///
/// A sequence has 1 to 4 queries, the last of its tokens: query j sees up to its own token. One that sees none gives 0. A cache of fp8
/// has a scale, which its numbers are multiplied by.
///
/// The waves of a workgroup read the cache once: they load its rows together into LDS, a tile ahead in registers, and each takes keys by
/// rows and values by columns from there. Of more than 16 heads, in trips of 32 positions, a wave has the scores of its 16 heads, and of its
/// columns the sums of values for all heads: weights and factors go through LDS.
///
/// `mla_decode` cuts every sequence into parts of `split` positions, always at the same places, the last one shorter; a workgroup has a
/// part and as many heads as it has rows, and stores the greatest score, the sum of powers and of values over it, of a part without a position minus infinity, 0
/// and 0. `mla_reduce` puts parts of any split together, in their order: what a sequence gives depends neither on the others nor on how many
/// there are.
///
///     parts [sequences, blocks, splits, group, 512], most, sums [sequences, blocks, splits, group]: f32, block j (heads / group) + n has heads
///     n group to (n + 1) group of query j
///
/// Example: `inlay run mla_decode --heads 128 --queries 2 --page 32`. Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.
struct Latent {
  static constexpr int latent = 512, rotary = 64, key = latent + rotary;
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, cache = Element::bf16;
  int heads = 16, queries = 1, page = 16, split = 256, waves = 0, distance = 1;
  double scale = 0.07216878364870322; ///< of the scores: 1 / sqrt(128 + 64), of heads that are not absorbed
  std::int64_t sequences = 3, keys = 512, pages = 64;
  [[nodiscard]] bool scaled() const { return cache != type; }
  /// Of a workgroup, with 16 rows each, which two share where there are no more heads: one alone has no registers for what it would carry.
  [[nodiscard]] int waves_used() const { return waves != 0 ? waves : heads > 32 ? 4 : 2; }
  [[nodiscard]] int sides() const { return heads > 16 ? 1 : 2; }
  /// A part is a multiple of this, and so is the longest sequence.
  [[nodiscard]] int step() const { return std::max(32, page); }
  [[nodiscard]] std::int64_t splits() const { return (keys + split - 1) / split; }
  /// Heads of a workgroup, and workgroups for the heads of all queries.
  [[nodiscard]] int group() const { return std::min(heads, 16 * waves_used() / sides()); }
  [[nodiscard]] int blocks() const { return queries * (heads / group()); }
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program mla_decode_program(const Latent& s);
[[nodiscard]] codegen::Program mla_reduce_program(const Latent& s);

} // namespace inlay::kernels
