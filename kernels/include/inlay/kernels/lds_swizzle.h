/// The smallest swizzle under which a tile in LDS is written and read without bank conflicts.
#pragma once

#include <inlay/algebra/swizzle.h>
#include <inlay/codegen/element.h>
#include <inlay/codegen/program.h>

#include <optional>
#include <vector>

namespace inlay::kernels {

/// One way to touch the tile: (thread, value) -> coordinate, `vector` values at a time.
struct LdsUse {
  Layout tv;
  int vector;
  bool read;
};

/// Fewest bits, then smallest shift, of Sw<bits, log2 of the widest vector, shift> on element numbers of a row-major tile,
/// such that no phase of any wave of any use meets a bank twice (solver/lds.h has the model). The claim itself is derived
/// and proven again with the kernel; this only finds a candidate.
[[nodiscard]] std::optional<Swizzle> find_swizzle(const codegen::Target& target, codegen::Element element,
                                                  int rows, int columns, const std::vector<LdsUse>& uses);
/// The same. Errors: std::invalid_argument when there is none.
[[nodiscard]] Swizzle conflict_free_swizzle(const codegen::Target& target, codegen::Element element, int rows,
                                            int columns, const std::vector<LdsUse>& uses);

/// A row-major tile in LDS under such a swizzle, for one write and one read of `vector` adjacent elements each.
[[nodiscard]] codegen::Tensor conflict_free_tile(codegen::Program& program, const std::string& name,
                                                 codegen::Element element, int rows, int columns, int vector,
                                                 const Layout& write, const Layout& read);

} // namespace inlay::kernels
