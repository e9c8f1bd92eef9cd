/// Modelled clocks of a launch, without the problem's data: what choosing among forms and tuning compare.
///
///     Artifact kernel = build_gemm(spec);
///     model(kernel, {4096, 4096, 4096}).clocks                 // what `inlay run --time` says, to a few parts in a thousand
///
/// Operands are zeros. One unit is modelled in full for two rounds of its workgroups; which lines of memory the others share is
/// looked at with a short K where the kernel sums over one, since each trip shares what the first ones do.
#pragma once

#include <inlay/kernels/artifact.h>

namespace inlay::kernels {

struct Modelled {
  double clocks = 0;
  double trip = 0;       ///< of the hot loop
  unsigned resident = 1; ///< workgroups of a unit at a time
  unsigned vgprs = 0, agprs = 0, lds_bytes = 0, waves_per_simd = 0;
  std::string bound; ///< what the loop waits for most
};

/// Errors: std::invalid_argument for sizes that the launch contract refuses; those of the emulator.
[[nodiscard]] Modelled model(const Artifact& artifact, const std::vector<std::int64_t>& sizes);

} // namespace inlay::kernels
