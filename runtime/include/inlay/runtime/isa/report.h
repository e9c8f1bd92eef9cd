/// The static report of one kernel: what it reserves, what it is made of, and what its hot loop does per
/// trip.
///
///     KernelReport r = report(object, object.kernel(""));
///     r.resources.waves_per_simd                     // 1
///     r.hot->count(Kind::mfma), r.hot->issue_clocks  // 224, 1348
///     to_text(r)                                     // the page that `inlay inspect` prints
///
/// The *hot loop* is the innermost loop with the most matrix instructions (without any: with the most vector
/// and memory instructions). Its *trip* is the cheapest way from the header to a latch that keeps every
/// matrix instruction, so that mask and tail blocks which are branched over do not count. Everything about
/// the loop is per wave and trip.
///
/// Distances take the loop as a circle in steady state. The *cover* of a load runs to the first s_waitcnt
/// that forces it complete, by the rules of the counters: vmcnt counts vector memory in order, lgkmcnt counts
/// LDS in order and scalar loads in any order ("AMD Instinct MI300 ISA", "Data Dependency Resolution"). The
/// *first use* runs to the first reader of the loaded registers. Both in instructions, matrix instructions
/// and matrix clocks in between: what one wave has to hide the latency behind.
#pragma once

#include <inlay/machine/target.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/control_flow.h>
#include <inlay/runtime/isa/instruction_facts.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace inlay::runtime::isa {

/// The processor to decode a code object for; see machine::find_runner.
[[nodiscard]] Arch arch_of(const CodeObject& object);

/// What is wrong with a register that the instruction names: its waves do not have it. Of the unified file a wave has
/// `vgprs` rows (granule 8), v0 the first, a0 the one at `accum_offset`; a VGPR after a0 is the wave's (a kernel of ROCm/aiter
/// uses v160 to v255 with AGPRs from 160). SGPRs: `sgprs` (granule 16; GFX10 gives a wave all), s102 and above not asked
/// about. Source: LLVM "User Guide for AMDGPU Backend", compute_pgm_rsrc1 and compute_pgm_rsrc3 for GFX90A and GFX942.
/// v60 with 32 reserved: `v60 does not belong to the wave: 32 vector registers are reserved, AGPRs from 32`.
[[nodiscard]] std::optional<std::string> not_reserved(const Instruction& instruction,
                                                      const KernelDescriptor& descriptor);

/// Registers, LDS and how many waves fit.
struct Resources {
  unsigned workgroup = 0;                  ///< work-items: required, else the most it was compiled for
  unsigned vgprs_used = 0, agprs_used = 0; ///< highest register named in the code, plus 1
  unsigned sgprs_used = 0;
  unsigned vgprs_reserved = 0, accum_offset = 0, sgprs_reserved = 0; ///< by the descriptor
  unsigned lds_bytes = 0; ///< static, plus the dynamic part given to `report`
  unsigned scratch_bytes = 0;
  unsigned spilled_vgprs = 0, spilled_sgprs = 0;
  unsigned waves_per_simd = 0;
  std::string limited_by; ///< "vgprs", "sgprs", "lds" or "waves"
  std::size_t instructions = 0, code_bytes = 0;
};

/// Waves of one SIMD at a time: the least of the wave slots, the register files and the LDS. `sgprs`: as reserved, 16 to 112;
/// with 800 a SIMD only those that reserve 112 feel it (7 waves). Source: LLVM "User Guide for AMDGPU Backend",
/// GRANULATED_WAVEFRONT_SGPR_COUNT, and its occupancy for GFX9 (800 registers, granule 16).
/// `occupancy(264 registers, 36 KiB, 256 work-items, CDNA3)` is {1, "vgprs"}.
struct Occupancy {
  unsigned waves_per_simd = 0;
  std::string limited_by;
};
[[nodiscard]] Occupancy occupancy(unsigned vgprs, unsigned lds_bytes, unsigned workgroup, Arch arch,
                                  unsigned sgprs = 0);

/// A distance within the circular trip.
struct Distance {
  std::size_t instructions = 0, matrix = 0, clocks = 0;
  friend auto operator<=>(const Distance&, const Distance&) = default;
};

/// Least and median of the distances of a kind of load; `loads` 0 when there is none.
struct Cover {
  std::size_t loads = 0; ///< that have such a distance: a load nobody waits for has none
  Distance least, median;
};

/// How often each of something occurs, in order of name.
using Tally = std::map<std::string, unsigned>;

struct LoopReport {
  std::uint64_t begin = 0, end = 0; ///< addresses: header, and past the last instruction of the trip
  std::vector<std::size_t> trip;    ///< indices into the program's instructions
  std::size_t copies = 1; ///< loops with the same multiset of instructions: staggered copies of one loop
  std::array<unsigned, 17> counts{};                        ///< by Kind
  Tally matrix;                                             ///< matrix opcodes
  Tally lds_reads, lds_writes, loads_to_lds, loads, stores; ///< widths: b32, b128, trb64, ...
  unsigned matrix_clocks = 0, issue_clocks = 0, valu_clocks = 0;
  std::uint64_t work = 0; ///< multiplications and additions of one wave
  unsigned vm_outstanding = 0, lgkm_outstanding = 0;
  Cover load_to_lds_cover, load_cover, load_use, lds_cover, lds_use;
  std::vector<WaitCounts> waits;
  double accumulators_in_agprs = 0, sources_in_agprs = 0; ///< fraction of the matrix instructions
  unsigned accvgpr_moves = 0, scratch_accesses = 0, divergent_branches = 0;
  unsigned scratch_bits = 0; ///< that those move, a lane
  std::uint64_t memory_bytes = 0, lds_read_bytes = 0, lds_write_bytes = 0;
  unsigned longest_memory_run = 0; ///< memory and LDS instructions without another in between
  std::string interleave;          ///< letters with run lengths, repeats folded: `(w B M s L M R M5 J)x6`

  [[nodiscard]] unsigned count(Kind k) const { return counts[static_cast<std::size_t>(k)]; }
  [[nodiscard]] std::size_t total() const { return trip.size(); }
  /// Below 1, one wave a SIMD can keep the matrix pipe busy. 0 without matrix instructions.
  [[nodiscard]] double issue_per_matrix() const;
  [[nodiscard]] double matrix_per_other() const;
  /// Bytes a clock and compute unit at full matrix rate, one wave on each SIMD.
  [[nodiscard]] double memory_bytes_per_clock() const;
  [[nodiscard]] double lds_bytes_per_clock() const;
};

/// An instruction that names a register its waves do not have.
struct NotReserved {
  std::uint64_t address = 0;
  std::string text, why;
};

struct KernelReport {
  std::string name;
  Arch arch{};
  Resources resources;
  std::array<unsigned, 17> counts{}; ///< of all the code, by Kind
  std::size_t loops = 0, matrix_loops = 0;
  bool leaves_program = false;           ///< calls or indirect jumps: the report is about what was seen
  std::vector<NotReserved> not_reserved; ///< in the order of the code
  std::optional<LoopReport> hot;
  Program program;
};

/// The report. `dynamic_lds` is added to the LDS that the kernel declares.
[[nodiscard]] KernelReport report(const CodeObject& object, const Kernel& kernel, unsigned dynamic_lds = 0);

/// `v14 v8 v18,l0`: what each wait waits for, repeats folded.
[[nodiscard]] std::string waits_text(std::span<const WaitCounts> waits);

/// Run lengths and whole repeats folded: `aabaab` -> `(a2 b)x2`.
[[nodiscard]] std::string fold(std::string_view letters);

/// The page for people.
[[nodiscard]] std::string to_text(const KernelReport& r);

/// The instructions of the trip, one a line, with address, letter, matrix clocks so far and text; in front of each what
/// `before` says.
[[nodiscard]] std::string loop_text(const KernelReport& r,
                                    const std::function<std::string(const Instruction&)>& before = {});

} // namespace inlay::runtime::isa
