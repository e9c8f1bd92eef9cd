/// The other order of a loop, for the upper half of the waves. Private.
#pragma once

#include <inlay/codegen/code.h>

#include <vector>

namespace inlay::codegen {

/// Products between an access in one order and in the other, at most.
inline constexpr int most_products_apart = 4;

/// CodeRegion::staggered for a body with its waits and barriers: accesses to memory and LDS stand some products later or
/// earlier, those beside a wait or barrier as far as that lets them; what stood between the same two products stays together, and
/// no two accesses change places. Of the distances up to `most_products_apart` the one that leaves the fewest accesses of a kind behind
/// the same product in both orders; of equal ones the smallest, later before earlier (where fewer registers are alive longer).
/// Empty where none leaves fewer than the body itself.
[[nodiscard]] std::vector<int> staggered_order(const std::vector<Inst>& body);

} // namespace inlay::codegen
