/// Attention of sequences of any lengths, forward: what can be asked for, and its program.
#pragma once

#include <inlay/codegen/program.h>

#include <optional>

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
/// In the order of the slots; a row that sees nothing (position(b,j) < 0 or ends(b) <= 0) has o = 0 and lse = unseen. One that sees keys whose
/// scores are all minus infinity has o = NaN and lse = minus infinity, without sinks. A score x = q k(i) / sqrt(D) may be changed, in this order:
///
///     soft_cap        cap tanh(x / cap)
///     alibi           x + slopes[h] (i - position)
///     bias            x + bias[row,h,i]
///     window          of keys more than window - 1 before the position: minus infinity
///     sinks           exp(sinks[h] - most) more in the sum of e(i), without a value
///
/// With a window nothing before the first key that a block sees need be in its tables: positions may count from any page.
struct Prefill {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16; ///< of Q, and of the products: f16, bf16, or the target's fp8
  std::optional<Element>
      cache{};        ///< of K and V: absent, the same; fp8, which is made `type` on its way to LDS
  bool causal = true; ///< of the data: every query sees up to its own position, or all keys of its sequence
  int head_dim = 128, group = 1, page = 16, tile_q = 64, tile_k = 64, waves = 4;
  int value_dim = 0; ///< of a value; 0: head_dim
  int window = 0;    ///< keys that a query sees, its own position's the last; 0: all
  double soft_cap = 0;
  bool alibi = false, bias = false, sinks = false;
  std::int64_t sequences = 4, queries = 100, kv_heads = 2, keys = 256, pages = 64;
  std::int64_t blocks = 0, rows = 0; ///< of a launch; 0: as many as the sequences have
  /// What lse is of a row that sees no key.
  static constexpr double unseen = -0x1p100;
  [[nodiscard]] std::int64_t heads() const { return kv_heads * group; }
  /// K and V of 8 bits have two scales, f32: of a product of Q and K, and of V.
  [[nodiscard]] Element of_cache() const { return cache.value_or(type); }
  [[nodiscard]] bool scaled() const { return codegen::bits(of_cache()) == 8; }
  [[nodiscard]] Element out() const { return codegen::bits(type) == 8 ? Element::bf16 : type; }
  [[nodiscard]] int values() const { return value_dim > 0 ? value_dim : head_dim; }
  /// Errors: std::invalid_argument naming the option.
  void check() const;
};

[[nodiscard]] codegen::Program varlen_attention_program(const Prefill& s);

} // namespace inlay::kernels
