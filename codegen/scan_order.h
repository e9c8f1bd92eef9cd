/// How a scan goes through a fragment. Private.
#pragma once

#include <inlay/codegen/program.h>

#include <vector>

namespace inlay::codegen {

/// Along an axis the values of a work-item are runs of `unit` neighbours; lanes follow one another by `unit`, waves by as much as all lanes
/// of a wave have, and runs by as much as all waves have.
struct ScanOrder {
  int unit = 1;
  std::vector<int> lanes; ///< bits of the lane that move along the axis, the nearest first
  int waves = 1;          ///< that follow one another along it
  std::vector<std::vector<int>>
      row; ///< [value of the result]: values of the fragment in the order of the axis
};
/// Absent where the layout is none like that.
[[nodiscard]] std::optional<ScanOrder> scan_order(const Fragment& from, std::size_t axis, int threads,
                                                  int wave_size);

} // namespace inlay::codegen
