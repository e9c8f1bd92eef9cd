#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/target.h>

#include <algorithm>

namespace inlay::codegen {
namespace {

constexpr int lds_dma_gfx942[] = {1, 2, 4};
constexpr int lds_dma_gfx950[] = {1, 2, 4, 12, 16};
// Word 3 of a descriptor: DATA_FORMAT (bits 15-18) = 4, a 32-bit format; NUM_FORMAT (bits 12-14) = 7, float.
// Raw buffer accesses ignore both, but a DATA_FORMAT of 0 marks the descriptor as invalid.
constexpr std::uint32_t raw_buffer = (4u << 15) | (7u << 12);

constexpr Target targets[] = {
    {.name = "gfx942",
     .product = "MI300X, MI325X",
     .wave_size = 64,
     .max_workgroup_size = 1024,
     .compute_units = 304,
     .simds = 4,
     .max_waves_per_simd = 8,
     .registers_per_simd_lane = 512,
     .register_granule = 8,
     .lds_bytes = 64 * 1024,
     .max_memory_vector_bytes = 16,
     .lds_dma_bytes = lds_dma_gfx942,
     .buffer_flags = raw_buffer,
     .packs_bf16 = false,
     .wide_mfma_16bit = false,
     .swaps_lanes = false,
     .packed_beside_products = true,
     .ocp_fp8 = false},
    {.name = "gfx950",
     .product = "MI350X, MI355X",
     .wave_size = 64,
     .max_workgroup_size = 1024,
     .compute_units = 256,
     .simds = 4,
     .max_waves_per_simd = 8,
     .registers_per_simd_lane = 512,
     .register_granule = 8,
     .lds_bytes = 160 * 1024,
     .max_memory_vector_bytes = 16,
     .lds_dma_bytes = lds_dma_gfx950,
     .buffer_flags = raw_buffer,
     .packs_bf16 = true,
     .wide_mfma_16bit = true,
     .swaps_lanes = true,
     .packed_beside_products = false,
     .ocp_fp8 = true},
};

} // namespace

std::span<const Target> Target::all() { return targets; }

const Target& Target::named(std::string_view name) {
  for (const Target& t : targets)
    if (t.name == name) return t;
  std::string chip; // MI300X names its target
  for (const Target& t : targets)
    if (std::string(t.product).find(name) != std::string::npos && name.size() > 3)
      chip = std::string(name) + " is " + std::string(t.name) + "; ";
  throw CodegenError("unknown architecture", "arch   " + std::string(name),
                     chip + "gfx942 (MI300X, MI325X) or gfx950 (MI350X, MI355X)");
}

int Target::occupancy(int registers) const {
  INLAY_CHECK(registers >= 1 && registers <= registers_per_simd_lane, "registers of a wave");
  const int allocated = (registers + register_granule - 1) / register_granule * register_granule;
  return std::min(max_waves_per_simd, registers_per_simd_lane / allocated);
}

int Target::lanes_per_transfer() const {
  int widest = 0;
  for (const int bytes : lds_dma_bytes)
    if (16 % bytes == 0) widest = std::max(widest, bytes);
  return 16 / widest;
}

bool TargetSet::contains(const Target& target) const {
  for (std::size_t i = 0; i < std::size(targets); ++i)
    if (targets[i].name == target.name) return (members >> i & 1u) != 0;
  return false;
}

std::string TargetSet::names() const {
  std::string out;
  for (std::size_t i = 0; i < std::size(targets); ++i)
    if ((members >> i & 1u) != 0) out += (out.empty() ? "" : ", ") + std::string(targets[i].name);
  return out;
}

} // namespace inlay::codegen
