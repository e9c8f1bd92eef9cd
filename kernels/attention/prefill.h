/// Attention of sequences of any lengths, forward: what can be asked for, and its program.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::kernels {

using codegen::Element;

/// The rows of Q of all sequences stand in one tensor [rows, heads, D], keys and values in pages that a table names (pages of 1: rows of
/// any tensor). A workgroup has a block of `tile_q` slots, of one sequence, and one head. Tables say which:
///
///     row(b,j)                row of slot j of block b in Q, -1 where there is none: it counts as zeros
///     position(b,j)           of that query in its sequence: it sees keys 0 to position(b,j)
///     table(b,n), ends(b)     page n of the block's sequence, and how many keys its rows see at most
///
///     o[b,j,h,:] = sum over i < ends(b), i <= position(b,j) of e(i) v(i) / sum of e(i),   e(i) = exp(q k(i) / sqrt(D) - most)
///     lse[b,j,h] = most + log(sum of e(i))
///
/// In the order of the slots; a block that sees nothing has o = 0 and lse = unseen.
struct Prefill {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  bool causal = true; ///< of the data: every query sees up to its own position, or all keys of its sequence
  int head_dim = 128, group = 1, page = 16, tile_q = 64, tile_k = 64, waves = 4;
  std::int64_t sequences = 4, queries = 100, kv_heads = 2, keys = 256, pages = 64;
  /// The score of a key after a query's position: e to its power is 0, and it is a number.
  static constexpr double unseen = -0x1p100;
  [[nodiscard]] std::int64_t heads() const { return kv_heads * group; }
  /// Errors: std::invalid_argument naming the option.
  void check() const;
};

[[nodiscard]] codegen::Program varlen_attention_program(const Prefill& s);

} // namespace inlay::kernels
