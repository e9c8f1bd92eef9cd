/// Loads that stand after a loop and wait for nothing in it (scales, a bias). Private.
///
/// After the last product they would be waited for at once, as long as memory takes. In the loop's last trip, one after each of its
/// first products, they are under way beside these.
#pragma once

#include <inlay/codegen/code.h>

namespace inlay::codegen {

/// Nodes of the region after a loop: loads of tensors that the program only reads, before anything that orders memory or LDS.
/// Nothing where the region is a loop, or runs under other guards.
[[nodiscard]] std::vector<int> early_loads(const Region& loop, const Region& behind, const Program& program);
/// VGPRs that they take: what they load, and at most so many addresses.
[[nodiscard]] int early_registers(const std::vector<int>& early, const Region& behind,
                                  const std::vector<Register>& registers, const Program& program);

} // namespace inlay::codegen
