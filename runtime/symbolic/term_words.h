/// Words that the files of Terms share.
#pragma once

#include <inlay/runtime/symbolic/term.h>

namespace inlay::runtime::symbolic {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr u64 word_mask = 0xffffffffU;

inline bool is_condition(TermKind k) { return k >= TermKind::equal && k <= TermKind::invert; }

} // namespace inlay::runtime::symbolic
