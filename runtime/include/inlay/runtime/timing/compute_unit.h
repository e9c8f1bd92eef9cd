/// One compute unit, clock by clock where something happens, over the executed streams of a kernel's workgroups.
///
/// What is modelled (every number is a parameter, parameters.h):
///
///   issue     4 SIMDs, each offered one slot in 4 clocks; in a slot at most one instruction a wave and one a kind (vector or
///             matrix; LDS or vector memory, which share a port; scalar; branch), from the wave of highest s_setprio, then the
///             oldest. s_nop, s_waitcnt, s_barrier take the wave's slot and no unit.
///   matrix    one pipe a SIMD: busy 4 clocks a pass; other vector instructions run in its shadow, after a delay, unless the
///             matrix instruction or they exclude it. D is forwarded to SrcC; other readers wait passes + n slots.
///   LDS       a queue a SIMD pair, shared by reads and writes; one memory of banks for all (phases and conflicts of each
///             access from its real addresses); a read and a write port a pair; loads to LDS write when their data arrives,
///             before ds_write.
///   memory    a queue and an address unit a compute unit; L1 by real lines; L2, MALL and HBM by latency and the bandwidth that is
///             this unit's share; in flight at most as many bytes as L1 has room for; loads return in order.
///   waves     launch interval, instruction fetch on a taken branch into code that nobody has touched, barriers.
///
/// Each clock of each wave has one cause. Waiting is attributed at the instruction that waits.
///
///     UnitResult r = simulate(trace, Parameters::of(trace.arch), {});
///     r.clocks                                          // until the last wave has ended
///
/// Ensures: the result depends on the arguments only, not on the host or its threads. For a single wave of vector and scalar
/// instructions that touches no memory, the clocks are the sum of issue clocks (law: "single wave equals the hand count").
///
/// Sources: see the parameters; ROCm Compute Profiler documentation "Pipeline descriptions"; AMD CDNA3 ISA guide.
#pragma once

#include <inlay/runtime/timing/parameters.h>
#include <inlay/runtime/timing/trace.h>

namespace inlay::runtime::timing {

/// What a wave spends a clock on. Up to `control`: something is issued; after it: it waits.
enum class Cause : std::uint8_t {
  matrix,       ///< a matrix instruction is issued, or waits while the pipe works on another
  vector,       ///< other vector instructions
  scalar,       ///< scalar instructions and scalar loads
  lds,          ///< issue of LDS instructions, with the transfer of what they write
  memory,       ///< issue of vector memory instructions
  control,      ///< branches, s_waitcnt and s_barrier themselves, s_nop, s_sleep
  dependency,   ///< a register is not ready: result of a matrix or vector instruction
  coissue,      ///< a vector instruction may not run beside the matrix pipe's work
  lds_queue,    ///< the LDS's queue or its write port is full
  address_unit, ///< the queue of the address unit is full
  vmcnt,        ///< s_waitcnt: vector memory
  lgkmcnt,      ///< s_waitcnt: LDS and scalar loads
  barrier,      ///< other waves have not come yet
  arbitration,  ///< another wave has the slot
  fetch,        ///< instructions have not come
  launch,       ///< the wave has not been launched
  idle          ///< no wave is left
};
inline constexpr std::size_t causes = 17;
[[nodiscard]] std::string_view to_string(Cause cause);

/// Limits that can be taken away, one at a time, to see what holds a kernel back.
enum class Limit : std::uint8_t {
  none,
  bank_conflicts,   ///< every LDS access takes one clock a phase
  lds,              ///< LDS serves at once: no queue, no ports, no conflicts; its latency stays
  lds_latency,      ///< LDS answers at once, at the same rate
  address_unit,     ///< no queue, no clocks by width or line
  memory_latency,   ///< caches and memory answer like L1
  memory_bandwidth, ///< caches and memory are as wide as needed
  barriers,         ///< a barrier lets everybody through
  issue,            ///< instructions other than matrix instructions take no slot
  matrix,           ///< matrix instructions take one slot of the pipe
  dependencies,     ///< results are ready at once
  launch            ///< waves start at once
};
inline constexpr std::size_t limits = 12;
[[nodiscard]] std::string_view to_string(Limit limit);

struct UnitOptions {
  unsigned resident = 1; ///< workgroups that fit at a time; the others follow as these end
  Limit without = Limit::none;
  double active_units = 1; ///< compute units that share MALL and HBM with this one
  double l2_sharers = 1;   ///< units of an XCD that ask for a line together: one of them fetches it from MALL
  double mall_sharers = 1; ///< units of the chip that do: one of them fetches it from HBM
  bool keep_segments = true;             ///< what timelines and `spent` need
  std::vector<std::uint32_t> marks = {}; ///< instructions of which every issue is noted
  enum class Start : std::uint8_t {
    hbm,
    mall,
    l2
  } data_in = Start::hbm; ///< where data is before its first use
  /// Of what is not there: the part that L2 holds all the same, and MALL.
  double l2_share = 0, mall_share = 0;
};

/// Stretch of a wave's life. Segments follow each other without gaps.
struct Segment {
  std::uint32_t begin = 0, end = 0; ///< clocks
  std::uint32_t instruction = 0;    ///< that is issued, or waits
  Cause cause = Cause::launch;
};

struct Mark {
  std::uint32_t instruction = 0, clock = 0;
};

struct WaveTimeline {
  std::uint32_t workgroup = 0; ///< index in the trace
  std::uint32_t wave = 0, simd = 0;
  std::uint32_t launched = 0, ended = 0;
  std::vector<Segment> segments;
  std::vector<Mark> marks;
};

struct UnitResult {
  std::uint64_t clocks = 0;
  std::uint64_t drained = 0; ///< until what was stored has left the unit's share of memory; at least `clocks`
  std::uint64_t steps = 0;   ///< wave instructions
  std::vector<WaveTimeline> waves;
  std::array<std::vector<std::pair<std::uint32_t, std::uint32_t>>, 4> matrix_busy; ///< of each SIMD, in order
  std::array<std::uint64_t, 4> matrix_clocks{};
  std::uint64_t lds_clocks = 0, lds_conflict_clocks = 0; ///< of the LDS's memory
  std::uint64_t address_clocks = 0;                      ///< of the address unit
  std::uint64_t lines = 0, l1_hits = 0, l2_hits = 0, mall_hits = 0, hbm_lines = 0;
  std::uint64_t stored_bytes = 0;

  /// Clocks of an average SIMD by cause, summing to `clocks`: matrix while its pipe works; otherwise what its waves do, an
  /// issue before any waiting, waits in equal parts. Requires: segments were kept.
  [[nodiscard]] std::array<double, causes> spent() const;
  /// The same between two clocks.
  [[nodiscard]] std::array<double, causes> spent(std::uint32_t begin, std::uint32_t end) const;
};

/// Requires: every workgroup of `trace` fits a compute unit. Errors: std::runtime_error when waves wait for a barrier that
/// nobody comes to, or after 4 billion clocks.
[[nodiscard]] UnitResult simulate(const Trace& trace, const Parameters& parameters,
                                  const UnitOptions& options);

} // namespace inlay::runtime::timing
