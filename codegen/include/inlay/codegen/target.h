/// `Target`: what the code generator must know about a GPU, as data.
///
/// Two architectures are described, gfx942 (MI300X, MI325X) and gfx950 (MI350X, MI355X). Nothing in the code
/// generator or the kernels asks "is this gfx950?": they ask for the fact, so that a new architecture is a
/// new row of this table.
///
///     const Target& t = Target::named("gfx942");
///     t.lds_bytes                      // 65536
///     t.lanes_per_transfer()           // 4: gfx942 moves 4 bytes a lane from memory to LDS, four lanes share 16
///
/// Sources: ROCm documentation, "GPU hardware specifications"; "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide",
/// chapters on vector memory, data share and matrix instructions; LLVM "User Guide for AMDGPU Backend"; AMD, "gfx950-gluon-tutorials",
/// kernels/attention (packed f32 beside matrix instructions: not on gfx950; on gfx942 nothing that was measured says otherwise).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::codegen {

struct Target {
  std::string_view name;              ///< `gfx942`, also LLVM's processor name
  std::string_view product;           ///< `MI300X, MI325X`
  int wave_size;                      ///< lanes in a wave
  int max_workgroup_size;             ///< work-items in a workgroup
  int compute_units;                  ///< of the device
  int simds;                          ///< SIMDs in a compute unit
  int max_waves_per_simd;             ///< wave slots
  int registers_per_simd_lane;        ///< VGPRs and AGPRs together (the unified file)
  int register_granule;               ///< registers are allocated in multiples of this
  int lds_bytes;                      ///< of a compute unit, and the most that one workgroup can have
  int max_memory_vector_bytes;        ///< per lane and instruction, registers to memory or LDS
  std::span<const int> lds_dma_bytes; ///< admissible bytes a lane of a transfer memory -> LDS
  std::uint32_t buffer_flags;         ///< word 3 of a raw buffer descriptor
  bool packs_bf16;                    ///< has v_cvt_pk_bf16_f32
  bool wide_mfma_16bit;               ///< has 16x16x32 and 32x32x16 for f16 and bf16
  bool swaps_lanes;                   ///< has v_permlane16_swap_b32 and v_permlane32_swap_b32
  bool packed_beside_products; ///< v_pk_fma_f32 and its like are issued while a matrix instruction runs
  bool ocp_fp8;                ///< instructions named fp8 and bf8 take e4m3fn and e5m2, not the FNUZ types

  /// The description of `gfx942` or `gfx950`. Errors: CodegenError naming the architectures there are.
  [[nodiscard]] static const Target& named(std::string_view name);
  /// All of them.
  [[nodiscard]] static std::span<const Target> all();

  /// Waves that a SIMD can hold when each uses that many registers: `occupancy(128) = 4`.
  /// Requires: 1 <= registers <= registers_per_simd_lane.
  [[nodiscard]] int occupancy(int registers) const;
  /// Lanes that share 16 bytes of a transfer memory -> LDS: 16 / (the widest that divides it), 1 or 4.
  [[nodiscard]] int lanes_per_transfer() const;
  /// Dwords of a kernel's first arguments that are in scalar registers when a wave begins: of 16 user SGPRs two are the address of all
  /// arguments. Source: LLVM, "User Guide for AMDGPU Backend", preloaded kernel arguments.
  static constexpr int preloaded_dwords = 14;
};

/// The targets that a row of a table is true of. `TargetSet{3}.contains(gfx950)`, `TargetSet{1}.names()` is "gfx942".
struct TargetSet {
  std::uint8_t members = 0; ///< bit i is Target::all()[i]

  [[nodiscard]] bool contains(const Target& target) const;
  [[nodiscard]] std::string names() const; ///< `gfx942, gfx950`
  friend constexpr bool operator==(TargetSet, TargetSet) = default;
};

} // namespace inlay::codegen
