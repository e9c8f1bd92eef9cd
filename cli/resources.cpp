#include "resources.h"

#include <inlay/codegen/target.h>
#include <inlay/runtime/code_object.h>

#include <algorithm>
#include <fmt/format.h>

namespace inlay::cli {

Resources resources_of(const kernels::Artifact& artifact) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()}, artifact.arch);
  const runtime::Kernel& kernel = object.kernel(artifact.kernel);
  const codegen::Target& target = codegen::Target::named(artifact.arch);
  const std::uint32_t registers = std::max<std::uint32_t>(kernel.descriptor.vgprs, 1);
  // Waves that fit by registers, and by LDS when every workgroup brings its waves to the four SIMDs evenly.
  auto waves = static_cast<std::uint32_t>(target.occupancy(static_cast<int>(registers)));
  if (kernel.descriptor.lds_bytes > 0) {
    const std::uint32_t workgroups =
        static_cast<std::uint32_t>(target.lds_bytes) / kernel.descriptor.lds_bytes;
    const std::uint32_t waves_of_one = (kernel.max_flat_workgroup_size + 63) / 64;
    waves = std::min(waves, std::max<std::uint32_t>(1, workgroups * waves_of_one /
                                                           static_cast<std::uint32_t>(target.simds)));
  }
  const std::uint32_t agprs = kernel.declared_agprs;
  return {kernel.declared_vgprs - std::min(agprs, kernel.declared_vgprs),
          agprs,
          kernel.declared_sgprs,
          kernel.descriptor.lds_bytes,
          kernel.descriptor.scratch_bytes,
          waves};
}

std::string resources_text(const Resources& r) {
  return fmt::format("VGPR {} + AGPR {}, SGPR {}, LDS {} bytes, scratch {} bytes, {} wave{} a SIMD", r.vgpr,
                     r.agpr, r.sgpr, r.lds_bytes, r.scratch_bytes, r.waves_per_simd,
                     r.waves_per_simd == 1 ? "" : "s");
}

} // namespace inlay::cli
