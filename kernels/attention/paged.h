/// Decode attention over a cache of pages: what can be asked for, and its program.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::kernels {

using codegen::Element;

///     o(s,h,g,:) = sum over i < lengths(s) of p(i) v(i),   p = softmax over i of q(s,h,g,:) k(i) / sqrt(D)
///     k(i) = k[table(s, i / page), i % page, h, :], 0 where the table names no page; v likewise
///
/// With a window, i >= min(lengths(s), keys) - window too, and the parts are of the tiles that end with the sequence's last one.
///
/// One query a sequence; `group` heads of queries share a head of keys and values. A sequence of length 0 gives 0.
///
/// A workgroup has `split` positions of one sequence and head, and stores its part: the greatest score, the sum of powers and of values
/// over it. Who comes last puts the parts together, in their order: the cuts are the same whatever the length and the batch are.
/// A window that lies in one part has no others beside it: its workgroup stores the result, and there are no `parts`, `most`, `sums` and `arrived`.
struct PagedDecode {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, cache = Element::bf16;
  int head_dim = 128, group = 8, page = 16, tile_k = 32, distance = 1, split = 256;
  int window = 0;      ///< the last positions of a sequence that its query sees; 0: all
  double soft_cap = 0; ///< a score x becomes cap tanh(x / cap); 0: it stays x
  bool sinks = false;  ///< exp(sinks[h,g] - most) in the denominator: a score of each head that has no value
  std::int64_t sequences = 3, kv_heads = 2, keys = 512, pages = 64;
  /// A cache of 8 bits has two scales, one for all keys and one for all values.
  [[nodiscard]] bool scaled() const { return cache != type; }
  /// What a part is a multiple of: a tile is whole pages, or a part of one.
  [[nodiscard]] int step() const { return std::max(tile_k, page); }
  /// And the longest sequence; entries of the table that are loaded trips ahead are in it where parts are whole.
  [[nodiscard]] int of_keys() const { return distance > 1 ? split : step(); }
  /// What a part's values are stored as: in half the bytes where a type of 16 bits has the range of f32.
  [[nodiscard]] Element of_parts() const { return type == Element::bf16 ? type : Element::f32; }
  /// Parts of a window, which may begin anywhere in a tile, and positions of a part: as many in all of them.
  [[nodiscard]] int window_tiles() const { return (window + 2 * tile_k - 2) / tile_k; }
  [[nodiscard]] int parts() const {
    const int n = (window_tiles() * tile_k + split - 1) / split;
    return n <= 2 ? n : (n + 3) / 4 * 4; // as they are put together
  }
  /// One part is the result: nothing is stored of it and put together.
  [[nodiscard]] bool alone() const { return window > 0 && parts() == 1; }
  [[nodiscard]] int part() const {
    return window > 0 ? (window_tiles() + parts() - 1) / parts() * tile_k : split;
  }
  /// Errors: std::invalid_argument naming the option.
  void check() const;
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program paged_decode_program(const PagedDecode& s);

} // namespace inlay::kernels
