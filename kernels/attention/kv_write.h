/// Keys and values of new tokens into a paged cache: what can be asked for, and its program.
#pragma once

#include <inlay/codegen/program.h>

#include <algorithm>

namespace inlay::kernels {

using codegen::Element;

///     k_cache[slot_mapping[t], h] = turned(k[t, h]) / scales[0],   v_cache[slot_mapping[t], h] = v[t, h] / scales[1]
///
/// `turned` is rope's rotation by the angles of positions[t]. A cache [slots, heads, D] is one of [pages, slots of a page, heads, D]:
/// slot = page * slots of a page + offset. A negative slot, or one past the cache, is skipped, and a slot that no token has keeps what
/// it held. No two tokens have one slot. A cache of the tokens' type has no scales; one of 8 bits holds the nearest of its numbers.
struct KvWrite {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, cache = Element::bf16;
  bool rope = true;
  std::int64_t tokens = 64, heads = 8, slots = 4096, rows = 8192;
  int head_dim = 128, threads = 64;
  [[nodiscard]] int vector_length() const { return std::min(128 / codegen::bits(type), head_dim / 2); }
  [[nodiscard]] int heads_of_workgroup() const { return threads * vector_length() / (head_dim / 2); }
  [[nodiscard]] bool scaled() const { return cache != type; }
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program kv_write_program(const KvWrite& s);

} // namespace inlay::kernels
