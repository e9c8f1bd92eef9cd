#include "resources.h"

#include <inlay/runtime/isa/report.h>

#include <algorithm>
#include <fmt/format.h>

namespace inlay::cli {

Resources resources_of(const kernels::Artifact& artifact) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()}, artifact.arch);
  const runtime::Kernel& kernel = object.kernel(artifact.kernel);
  const auto& d = kernel.descriptor;
  const auto waves = runtime::isa::occupancy(std::max<std::uint32_t>(d.vgprs, 1), d.lds_bytes,
                                             kernel.max_flat_workgroup_size,
                                             runtime::isa::parse_arch(artifact.arch), d.sgprs)
                         .waves_per_simd;
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

nlohmann::ordered_json resources_json(const Resources& r) {
  return {{"vgpr", r.vgpr},
          {"agpr", r.agpr},
          {"sgpr", r.sgpr},
          {"lds_bytes", r.lds_bytes},
          {"scratch_bytes", r.scratch_bytes},
          {"waves_per_simd", r.waves_per_simd}};
}

} // namespace inlay::cli
