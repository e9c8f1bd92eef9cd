/// What the cycle model adds to a comparison of machine code: figures for the criteria that addresses and time decide.
///
///     isa::Comparison c = isa::compare(ours, theirs);         // criteria 8, 14 and 15 undecided
///     judge(c, {our_time, our_plan, ...}, {their_time, ...}); // all decided; the loops' stretches have clocks
///
/// | criterion | figure |
/// |---|---|
/// | 6 cover | clocks in which a SIMD waits for vmcnt and lgkmcnt with an idle matrix pipe, per 1000 matrix clocks of the hot loop |
/// | 8 LDS bank phases | clocks of the LDS's memory that conflicts cost, per 1000 matrix clocks |
/// | 11 staggered copies | clocks that waves lose because they reach the LDS queue, the address unit or the issue slot together, per 1000 |
/// | 12 traffic | clocks of the LDS's memory, and bytes that leave L1, of the launch |
/// | 14 tile order | bytes that the XCDs' L2 caches fetch, of the launch, by what its workgroups share |
/// | 15 time | clocks of the launch |
///
/// For the launch's sums the two launches are taken to compute the same. A criterion of stalls fails only when the
/// difference is worth a hundredth of the pipe: less is the model's noise. The static verdicts of 6 and 11 are replaced, because
/// what a short cover or equal loops cost is what they were guesses of.
#pragma once

#include <inlay/runtime/isa/compare.h>
#include <inlay/runtime/timing/chip.h>
#include <inlay/runtime/timing/report.h>

namespace inlay::runtime::timing {

/// One side: the report of its launch and what the chip makes of it.
struct Modelled {
  const TimingReport& report;
  const Trace& trace;
  const ChipPlan& plan;
  const ChipTime& chip;
  const Sharing& sharing;
};

/// The numbers behind the criteria.
struct LaunchFigures {
  double wait_memory = 0, wait_lds = 0, queued = 0;              ///< per 1000 matrix clocks of the hot loop
  double conflicts = 0;                                          ///< per 1000 matrix clocks
  double lds_clocks = 0, l1_bytes = 0, l2_bytes = 0, clocks = 0; ///< of the launch
  double matrix_clocks = 0;                                      ///< of the launch, all SIMDs
};
[[nodiscard]] LaunchFigures figures(const Modelled& m);

/// Clocks from the header of a loop to the issue of each of its instructions, on average over the trips of the first wave
/// that makes two; by index of the instruction. Requires: `loop` is one of `m.report.loops`.
[[nodiscard]] std::map<std::uint32_t, double> issue_clocks_of_trip(const Modelled& m, const LoopTime& loop);

/// Requires: `c` compares the kernels of the two launches. Ensures: no criterion of 6, 8, 11, 12, 14, 15 is undecided.
void judge(isa::Comparison& c, const Modelled& candidate, const Modelled& anchor, double tolerance);

} // namespace inlay::runtime::timing
