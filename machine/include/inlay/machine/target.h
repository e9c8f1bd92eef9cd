/// `Target`: what a GPU is, one row a processor. Nothing else in the project says these facts again.
///
/// Who reads them asks for the fact, never for the name: a processor with 160 KiB of LDS is one whose `lds_bytes` says so, and one that
/// has `v_permlane32_swap_b32` is one whose `swaps_lanes` says so. A new processor is a new row here.
///
///     const Target& t = Target::named("gfx942");
///     t.lds_bytes                                   // 65536
///     t.lanes_per_transfer()                        // 4: it moves 4 bytes a lane from memory to LDS, four lanes share 16
///     target(Arch::gfx950).lds_bytes                // 163840
///     with(&Target::packs_bf16).names()             // "gfx950"
///
/// Sources: ROCm documentation, "GPU hardware specifications" (units, registers, LDS, caches, clocks, rates); "AMD Instinct MI200 ISA
/// (CDNA2) Reference Guide", "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide", chapters on
/// vector memory, data share and matrix instructions; LLVM, "User Guide for AMDGPU Backend" (granules, occupancy, processor names, initial
/// registers, memory models) and its AMDGPU.td (granule of LDS, features). What has another source names it beside the number.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace inlay::machine {

/// The processors, in the order of `targets`. gfx942 = MI300X, MI325X (CDNA3); gfx950 = MI350X, MI355X (CDNA4); gfx90a = MI210, MI250X
/// (CDNA2).
enum class Arch : std::uint8_t { gfx942, gfx950, gfx90a };

/// A processor that no row describes. The message names those that there are.
struct UnknownTarget : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Wait states that software owes where targets differ; what all share is in runtime/emulator/hazards.cpp. Sources: the manuals' tables
/// "Manually Inserted Wait States" (CDNA3, CDNA4) and the distances that LLVM's GCNHazardRecognizer keeps; those of gfx90a are LLVM's alone.
struct WaitStates {
  int scalar_result; ///< from a vector instruction that writes an SGPR to a vector instruction that reads it
  int lane_read;     ///< from a vector instruction to v_readlane or v_readfirstlane of its result
  int lane_exec;     ///< from a vector instruction that writes EXEC to one of these or v_writelane
  int transcendental; ///< from a transcendental instruction to another vector instruction that reads its result
  int partial;        ///< from a vector instruction that writes a part of a register to one that reads it
  int wide_store; ///< from a store of more than 64 bits a lane to a vector instruction that overwrites its data
  int two_pass_sum; ///< from a matrix instruction of two passes to one that has its D as C
  int part_of_sum; ///< more than the passes, from a matrix instruction to one whose C is a part of its D; to an f64 one it is 1 everywhere
  int longer;      ///< more after a matrix instruction of four passes or more
  int longer_f64;  ///< more after an f64 16x16x4
};

struct Target {
  Arch arch;
  std::string_view name;    ///< `gfx942`, also LLVM's processor name
  std::string_view generic; ///< LLVM's generic processor whose code it runs; its own name where there is none
  std::string_view product; ///< `MI300X, MI325X`
  std::string_view chips;   ///< small letters, what else people call it
  std::string_view marketing_name; ///< of the product that the figures are of
  /// EF_AMDGPU_MACH in a code object's flags (LLVM "User Guide for AMDGPU Backend"), and that of `generic`.
  std::uint32_t elf_machine, generic_elf_machine;
  int version_major, version_minor; ///< as HIP reports it

  int wave_size;               ///< lanes in a wave
  int max_workgroup_size;      ///< work-items in a workgroup
  int compute_units;           ///< of the device
  int simds;                   ///< SIMDs in a compute unit
  int max_waves_per_simd;      ///< wave slots
  int registers_per_simd_lane; ///< VGPRs and AGPRs together (the unified file)
  int register_granule;        ///< registers are allocated in multiples of this
  int scalar_registers;        ///< SGPRs of a SIMD; vcc and its like count too
  int scalar_granule;
  int lds_bytes;                ///< of a compute unit, and the most that one workgroup can have
  int lds_granule;              ///< LDS is handed out in blocks of so many bytes
  int lds_read_bytes_per_clock; ///< of a compute unit, free of conflicts
  int line_bytes;               ///< of the L2, and of the vector L1 but on gfx90a, whose L1 has half as much
  int segment_bytes;            ///< of a write to the L2
  int clock_mhz;                ///< peak
  std::uint64_t memory_bytes;   ///< HBM

  int max_memory_vector_bytes;        ///< per lane and instruction, registers to memory or LDS
  std::span<const int> lds_dma_bytes; ///< admissible bytes a lane of a transfer memory -> LDS
  std::uint32_t buffer_flags;         ///< word 3 of a raw buffer descriptor
  int preloaded_dwords; ///< of a kernel's first arguments that are in scalar registers when a wave begins: of 16 user SGPRs two are the
      ///< address of all arguments, and four the descriptor of scratch where that is not `architected_scratch`

  int lds_latency_clk;              ///< of a 16-byte read, from its issue to its data, with service
  int memory_latency_clk;           ///< of a load from HBM
  std::string_view latency_sources; ///< of both

  bool fnuz_fp8;         ///< instructions named fp8 and bf8 take e4m3fnuz and e5m2fnuz
  bool ocp_fp8;          ///< instructions named fp8 and bf8 take e4m3fn and e5m2
  bool mx_formats;       ///< has the f8f6f4 matrix instructions, with scales, and V_CVT_SCALEF32_*
  bool packs_bf16;       ///< has v_cvt_pk_bf16_f32
  bool bitop3;           ///< has v_bitop3_b32, any function of three bits
  bool wide_mfma_16bit;  ///< has 16x16x32 and 32x32x16 for f16 and bf16
  bool swaps_lanes;      ///< has v_permlane16_swap_b32 and v_permlane32_swap_b32
  bool transposes_lds;   ///< has ds_read_b64_tr_b16 and its like
  bool buffer_adds_bf16; ///< has buffer_atomic_pk_add_bf16
  bool adds_pairs; ///< has global_atomic_pk_add_bf16, flat_atomic_add_f32, flat_atomic_pk_add_*, ds_pk_add_*
  bool
      scopes; ///< accesses say how far they are seen: SC0, SC1 (the device) and NT. Without: GLC, SLC and SCC, and one L2 for the
  ///< device, which loads with GLC read and stores reach when vmcnt says so; buffer_wbinvl1_vol clears the L1
  bool
      architected_scratch; ///< hardware sets FLAT_SCRATCH, and scratch_* reach scratch. Without, buffer instructions do, by a descriptor in
                           ///< the first four user SGPRs and a wave's offset after the workgroup's numbers
  bool
      f32_products_apart; ///< f32 matrix instructions have a pipe of their own: shorter waits, no vector instructions beside them
  bool
      flushes_products; ///< matrix instructions of f16 and bf16 take subnormal A, B and C as zero and leave none in D (PyTorch,
                        ///< "Numerical accuracy", reduced precision on MI200)
  bool
      packed_beside_products; ///< v_pk_fma_f32 and its like are issued while a matrix instruction runs (AMD, "gfx950-gluon-tutorials",
  ///< kernels/attention: not on gfx950; on the others nothing that was measured says otherwise)
  bool published_matrix_sums; ///< the order in which matrix instructions add was measured and published
  WaitStates waits;

  /// The row of that name, or of the processor in a product, in any case: `named("MI300X").name` is "gfx942". Errors: UnknownTarget,
  /// naming those that there are.
  [[nodiscard]] static const Target& named(std::string_view name);
  [[nodiscard]] static std::span<const Target> all();

  /// `is_chip("mi300a")` of gfx942.
  [[nodiscard]] constexpr bool is_chip(std::string_view small_letters) const {
    for (std::size_t at = 0; at < chips.size();) {
      const std::size_t end = std::min(chips.find(' ', at), chips.size());
      if (chips.substr(at, end - at) == small_letters) return true;
      at = end + 1;
    }
    return false;
  }
  /// Waves that a SIMD can hold when each uses that many registers: `occupancy(128) = 4`; 0 where not even one fits.
  [[nodiscard]] constexpr int occupancy(int registers) const {
    const int allocated =
        std::max(register_granule, (registers + register_granule - 1) / register_granule * register_granule);
    return std::min(max_waves_per_simd, registers_per_simd_lane / allocated);
  }
  /// Multiplies and converts floats of 8 bits.
  [[nodiscard]] constexpr bool has_fp8() const { return fnuz_fp8 || ocp_fp8; }
  /// Moves that many bytes a lane from memory to LDS in one instruction.
  [[nodiscard]] constexpr bool moves_to_lds(int bytes) const {
    return std::find(lds_dma_bytes.begin(), lds_dma_bytes.end(), bytes) != lds_dma_bytes.end();
  }
  /// Lanes that share 16 bytes of a transfer memory -> LDS: 16 / (the widest that divides it), 1 or 4.
  [[nodiscard]] constexpr int lanes_per_transfer() const {
    int widest = 1;
    for (const int bytes : lds_dma_bytes)
      if (16 % bytes == 0) widest = std::max(widest, bytes);
    return 16 / widest;
  }
};

inline constexpr std::array<int, 3> dword_transfers{1, 2, 4};
inline constexpr std::array<int, 5> wide_transfers{1, 2, 4, 12, 16};
/// Word 3 of a descriptor: DATA_FORMAT (bits 15-18) = 4, a 32-bit format; NUM_FORMAT (bits 12-14) = 7, float. Raw buffer accesses ignore
/// both, but a DATA_FORMAT of 0 marks the descriptor as invalid.
inline constexpr std::uint32_t raw_buffer = (4u << 15) | (7u << 12);

inline constexpr std::array<Target, 3> targets{{
    {.arch = Arch::gfx942,
     .name = "gfx942",
     .generic = "gfx9-4-generic",
     .product = "MI300X, MI325X",
     .chips = "mi300x mi300a mi300 mi325x",
     .marketing_name = "AMD Instinct MI300X",
     .elf_machine = 0x4c,
     .generic_elf_machine = 0x5f,
     .version_major = 9,
     .version_minor = 4,
     .wave_size = 64,
     .max_workgroup_size = 1024,
     .compute_units = 304,
     .simds = 4,
     .max_waves_per_simd = 8,
     .registers_per_simd_lane = 512,
     .register_granule = 8,
     .scalar_registers = 800,
     .scalar_granule = 16,
     .lds_bytes = 64 * 1024,
     .lds_granule = 512,
     .lds_read_bytes_per_clock = 128,
     .line_bytes = 128,
     .segment_bytes = 64,
     .clock_mhz = 2100,
     .memory_bytes = std::uint64_t{192} << 30,
     .max_memory_vector_bytes = 16,
     .lds_dma_bytes = dword_transfers,
     .buffer_flags = raw_buffer,
     .preloaded_dwords = 14,
     .lds_latency_clk = 48,
     .memory_latency_clk = 622,
     .latency_sources = "gcnasm microbenchmarks on MI308X: b128 48 clk with service, HBM 622",
     .fnuz_fp8 = true,
     .ocp_fp8 = false,
     .mx_formats = false,
     .packs_bf16 = false,
     .bitop3 = false,
     .wide_mfma_16bit = false,
     .swaps_lanes = false,
     .transposes_lds = false,
     .buffer_adds_bf16 = false,
     .adds_pairs = true,
     .scopes = true,
     .architected_scratch = true,
     .f32_products_apart = true,
     .flushes_products = false,
     .packed_beside_products = true,
     .published_matrix_sums = true,
     .waits = {.scalar_result = 2,
               .lane_read = 1,
               .lane_exec = 4,
               .transcendental = 1,
               .partial = 1,
               .wide_store = 2,
               .two_pass_sum = 2,
               .part_of_sum = 1,
               .longer = 0,
               .longer_f64 = 0}},
    {.arch = Arch::gfx950,
     .name = "gfx950",
     .generic = "gfx9-4-generic",
     .product = "MI350X, MI355X",
     .chips = "mi350x mi355x mi350",
     .marketing_name = "AMD Instinct MI355X",
     .elf_machine = 0x4f,
     .generic_elf_machine = 0x5f,
     .version_major = 9,
     .version_minor = 5,
     .wave_size = 64,
     .max_workgroup_size = 1024,
     .compute_units = 256,
     .simds = 4,
     .max_waves_per_simd = 8,
     .registers_per_simd_lane = 512,
     .register_granule = 8,
     .scalar_registers = 800,
     .scalar_granule = 16,
     .lds_bytes = 160 * 1024,
     .lds_granule = 1280,
     .lds_read_bytes_per_clock = 256,
     .line_bytes = 128,
     .segment_bytes = 64,
     .clock_mhz = 2400,
     .memory_bytes = std::uint64_t{288} << 30,
     .max_memory_vector_bytes = 16,
     .lds_dma_bytes = wide_transfers,
     .buffer_flags = raw_buffer,
     .preloaded_dwords = 14,
     .lds_latency_clk = 60,
     .memory_latency_clk = 700,
     .latency_sources =
         "thread traces of MI350X: 32 to 60 clk with service; memory fitted to gfx950-gluon-tutorials",
     .fnuz_fp8 = false,
     .ocp_fp8 = true,
     .mx_formats = true,
     .packs_bf16 = true,
     .bitop3 = true,
     .wide_mfma_16bit = true,
     .swaps_lanes = true,
     .transposes_lds = true,
     .buffer_adds_bf16 = true,
     .adds_pairs = true,
     .scopes = true,
     .architected_scratch = true,
     .f32_products_apart = true,
     .flushes_products = false,
     .packed_beside_products = false,
     .published_matrix_sums = false,
     .waits = {.scalar_result = 2,
               .lane_read = 1,
               .lane_exec = 4,
               .transcendental = 1,
               .partial = 1,
               .wide_store = 2,
               .two_pass_sum = 2,
               .part_of_sum = 1,
               .longer = 1,
               .longer_f64 = 8}},
    // Figures of one of the two dies of an MI250X, which programs see as a device each; an MI210 is a die with 104 units.
    {.arch = Arch::gfx90a,
     .name = "gfx90a",
     .generic = "gfx90a",
     .product = "MI210, MI250X",
     .chips = "mi250x mi250 mi210 mi200",
     .marketing_name = "AMD Instinct MI250X",
     .elf_machine = 0x3f,
     .generic_elf_machine = 0x3f,
     .version_major = 9,
     .version_minor = 0,
     .wave_size = 64,
     .max_workgroup_size = 1024,
     .compute_units = 110,
     .simds = 4,
     .max_waves_per_simd = 8,
     .registers_per_simd_lane = 512,
     .register_granule = 8,
     .scalar_registers = 800,
     .scalar_granule = 16,
     .lds_bytes = 64 * 1024,
     .lds_granule = 512,
     .lds_read_bytes_per_clock = 128,
     .line_bytes = 128,
     .segment_bytes = 64,
     .clock_mhz = 1700,
     .memory_bytes = std::uint64_t{64} << 30,
     .max_memory_vector_bytes = 16,
     .lds_dma_bytes = dword_transfers,
     .buffer_flags = raw_buffer,
     .preloaded_dwords = 10,
     .lds_latency_clk = 48,
     .memory_latency_clk = 622,
     .latency_sources = "no published measurement in clocks: as MI308X (gcnasm)",
     .fnuz_fp8 = false,
     .ocp_fp8 = false,
     .mx_formats = false,
     .packs_bf16 = false,
     .bitop3 = false,
     .wide_mfma_16bit = false,
     .swaps_lanes = false,
     .transposes_lds = false,
     .buffer_adds_bf16 = false,
     .adds_pairs = false,
     .scopes = false,
     .architected_scratch = false,
     .f32_products_apart = false,
     .flushes_products = true,
     .packed_beside_products = true,
     .published_matrix_sums = false,
     .waits = {.scalar_result = 0,
               .lane_read = 0,
               .lane_exec = 0,
               .transcendental = 0,
               .partial = 0,
               .wide_store = 1,
               .two_pass_sum = 0,
               .part_of_sum = 0,
               .longer = 0,
               .longer_f64 = 0}},
}};
static_assert([] {
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i].arch != static_cast<Arch>(i)) return false;
  return true;
}());

/// What is built for and executed where nobody says which.
inline constexpr std::string_view usual_target = targets[0].name;

[[nodiscard]] constexpr const Target& target(Arch arch) { return targets[static_cast<std::size_t>(arch)]; }
[[nodiscard]] constexpr std::string_view to_string(Arch arch) { return target(arch).name; }

/// The row of that name, nullptr where there is none.
[[nodiscard]] constexpr const Target* find_target(std::string_view name) {
  for (const Target& t : targets)
    if (t.name == name) return &t;
  return nullptr;
}
/// The row that `text` names as people do, nullptr where there is none: a processor or a chip, in any case (`mi300a`, `GFX950`).
[[nodiscard]] const Target* find_chip(std::string_view text);
/// The row whose code object says `processor`: by its name, or the first of those that run code of that generic processor; nullptr where
/// there is none. `gfx9-4-generic` is taken as code for gfx942.
[[nodiscard]] constexpr const Target* find_runner(std::string_view processor) {
  if (const Target* t = find_target(processor)) return t;
  for (const Target& t : targets)
    if (t.generic == processor) return &t;
  return nullptr;
}
/// All names, for messages: `names(" or ")` is "gfx942 or gfx950 or gfx90a".
[[nodiscard]] std::string names(std::string_view between);

/// The targets that a row of a table is true of. `with(&Target::packs_bf16).names()` is "gfx950".
struct TargetSet {
  std::uint8_t members = 0; ///< bit i is targets[i]

  [[nodiscard]] constexpr bool contains(Arch arch) const {
    return (members >> static_cast<unsigned>(arch) & 1u) != 0;
  }
  [[nodiscard]] constexpr bool contains(const Target& target) const { return contains(target.arch); }
  [[nodiscard]] std::string names() const; ///< `gfx942, gfx950, gfx90a`
  friend constexpr bool operator==(TargetSet, TargetSet) = default;
};
static_assert(targets.size() <= 8, "TargetSet has a bit for each");

/// Those for which `holds(target)`.
[[nodiscard]] constexpr TargetSet targets_where(auto holds) {
  unsigned members = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (holds(targets[i])) members |= 1u << i;
  return {static_cast<std::uint8_t>(members)};
}
[[nodiscard]] constexpr TargetSet with(bool Target::*feature) {
  return targets_where([feature](const Target& t) { return t.*feature; });
}
[[nodiscard]] constexpr TargetSet without(bool Target::*feature) {
  return targets_where([feature](const Target& t) { return !(t.*feature); });
}
/// Those that move that many bytes a lane from memory to LDS in one instruction.
[[nodiscard]] constexpr TargetSet moving_to_lds(int bytes) {
  return targets_where([bytes](const Target& t) { return t.moves_to_lds(bytes); });
}
inline constexpr TargetSet every_target = targets_where([](const Target&) { return true; });

} // namespace inlay::machine
