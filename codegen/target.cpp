#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/target.h>
#include <inlay/machine/target.h>

#include <algorithm>

namespace inlay::codegen {
namespace {

constexpr auto targets = [] {
  std::array<Target, machine::targets.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const machine::Target& t = machine::targets[i];
    all[i] = {.name = t.name,
              .product = t.product,
              .wave_size = t.wave_size,
              .max_workgroup_size = t.max_workgroup_size,
              .compute_units = t.compute_units,
              .simds = t.simds,
              .max_waves_per_simd = t.max_waves_per_simd,
              .registers_per_simd_lane = t.registers_per_simd_lane,
              .register_granule = t.register_granule,
              .lds_bytes = t.lds_bytes,
              .max_memory_vector_bytes = t.max_memory_vector_bytes,
              .lds_dma_bytes = t.lds_dma_bytes,
              .buffer_flags = t.buffer_flags,
              .packs_bf16 = t.packs_bf16,
              .wide_mfma_16bit = t.wide_mfma_16bit,
              .swaps_lanes = t.swaps_lanes,
              .packed_beside_products = t.packed_beside_products,
              .ocp_fp8 = t.ocp_fp8};
  }
  return all;
}();

} // namespace

std::span<const Target> Target::all() { return targets; }

const Target& Target::named(std::string_view name) {
  for (const Target& t : targets)
    if (t.name == name) return t;
  std::string chip, there_are; // MI300X names its target
  for (const Target& t : targets) {
    if (t.product.find(name) != std::string_view::npos && name.size() > 3)
      chip = std::string(name) + " is " + std::string(t.name) + "; ";
    there_are +=
        (there_are.empty() ? "" : " or ") + std::string(t.name) + " (" + std::string(t.product) + ")";
  }
  throw CodegenError("unknown architecture", "arch   " + std::string(name), chip + there_are);
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
