/// What a kernel occupies, as `run` and `build` report it.
#pragma once

#include <nlohmann/json.hpp>

#include <inlay/kernels/artifact.h>

#include <cstdint>
#include <string>

namespace inlay::cli {

struct Resources {
  std::uint32_t vgpr, agpr, sgpr, lds_bytes, scratch_bytes, waves_per_simd;
};

[[nodiscard]] Resources resources_of(const kernels::Artifact& artifact);
/// `VGPR 128 + AGPR 0, SGPR 40, LDS 65536 bytes, scratch 0 bytes, 1 wave a SIMD`.
[[nodiscard]] std::string resources_text(const Resources& resources);
/// The same as data.
[[nodiscard]] nlohmann::ordered_json resources_json(const Resources& resources);

} // namespace inlay::cli
