/// Decode attention over a cache of pages: what can be asked for, and its program.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::kernels {

using codegen::Element;

///     o(s,h,g,:) = sum over i < lengths(s) of p(i) v(i),   p = softmax over i of q(s,h,g,:) k(i) / sqrt(D)
///     k(i) = k[table(s, i / page), i % page, h, :], 0 where the table names no page; v likewise
///
/// One query a sequence; `group` heads of queries share a head of keys and values. A sequence of length 0 gives 0.
///
/// A workgroup has `split` positions of one sequence and head, and stores its part: the greatest score, the sum of powers and of values
/// over it. Who comes last puts the parts together, in their order: the cuts are the same whatever the length and the batch are.
struct PagedDecode {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, cache = Element::bf16;
  int head_dim = 128, group = 8, page = 16, tile_k = 32, distance = 1, split = 256;
  double soft_cap = 0; ///< a score x becomes cap tanh(x / cap); 0: it stays x
  bool sinks = false;  ///< exp(sinks[h,g] - most) in the denominator: a score of each head that has no value
  std::int64_t sequences = 3, kv_heads = 2, keys = 512, pages = 64;
  /// A cache of 8 bits has two scales, one for all keys and one for all values.
  [[nodiscard]] bool scaled() const { return cache != type; }
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program paged_decode_program(const PagedDecode& s);

} // namespace inlay::kernels
