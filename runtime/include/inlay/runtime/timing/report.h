/// From simulated clocks to answers: per phase and loop trip, by cause, at which instruction, against analytic bounds, and what
/// would help most.
///
///     TimingReport r = analyse(trace, kernel.address, Parameters::of(trace.arch), options);
///     r.hot()->clocks_per_trip, r.bottlenecks[0].limit, r.bottlenecks[0].saved
///     to_text(r)                                 // the page that `inlay time` prints
///
/// Everything here follows from UnitResult and the trace; nothing is estimated a second time, except the bounds, which are
/// the sums that a person would do by hand and stand beside the simulated clocks as a check on both.
#pragma once

#include <inlay/runtime/timing/compute_unit.h>

namespace inlay::runtime::timing {

/// Clocks below which a trip of a loop cannot take, because one thing is as busy as it can be.
struct Bound {
  std::string name; ///< matrix, issue, lds, lds_ports, address_unit, l2, hbm, latency
  double clocks = 0;
};

/// A loop as it ran on the unit. `header` is the index of its first instruction.
struct LoopTime {
  std::uint32_t header = 0;
  std::uint64_t address = 0;
  double trips = 0;           ///< of one wave, on average
  double clocks_per_trip = 0; ///< of one wave, first and last trips left out where there are more than four
  double longest = 0, shortest = 0;   ///< trips among those
  double matrix_clocks = 0;           ///< that the trips of all waves of one SIMD need of its pipe
  double steps = 0;                   ///< instructions of a trip
  unsigned depth = 0;                 ///< loops around it
  std::size_t copy_of = 0;            ///< 1 + index of an earlier loop with the same instructions; 0: none
  std::vector<Bound> bounds;          ///< greatest first
  std::array<double, causes> spent{}; ///< of a trip's clocks, by cause
  [[nodiscard]] double efficiency() const {
    return clocks_per_trip > 0 ? matrix_clocks / clocks_per_trip : 0;
  }
};

/// What taking one limit away is worth.
struct Bottleneck {
  Limit limit = Limit::none;
  double clocks = 0; ///< with it away
  double saved = 0;
};

/// Where waves wait: clocks of an average wave at one instruction for one cause.
struct Stall {
  std::uint32_t instruction = 0;
  Cause cause = Cause::launch;
  double clocks = 0;
  double times = 0; ///< a wave waited there
};

struct TimingReport {
  isa::Arch arch{};
  std::string kernel;
  std::uint64_t clocks = 0;
  std::uint64_t steps = 0;
  unsigned resident = 1;
  std::size_t workgroups = 0, waves = 0;
  double prologue = 0, loop = 0, epilogue = 0; ///< of an average wave; the hot loop
  std::array<double, causes> spent{};          ///< of an average SIMD, summing to `clocks`
  std::vector<LoopTime> loops;                 ///< hottest first
  std::vector<Bottleneck> bottlenecks;         ///< the greatest gain first
  std::vector<Stall> stalls;                   ///< the longest first
  UnitResult unit;
  [[nodiscard]] const LoopTime* hot() const { return loops.empty() ? nullptr : &loops.front(); }
  /// The limit whose absence saves most, `none` when none saves a hundredth.
  [[nodiscard]] Limit bottleneck() const;
};

/// Simulates, and again without each limit when `bottlenecks`. Requires: `entry` is the address of an instruction.
[[nodiscard]] TimingReport analyse(const Trace& trace, std::uint64_t entry, const Parameters& parameters,
                                   const UnitOptions& options, bool bottlenecks = true);

/// The page for people. `program` gives the text of instructions.
[[nodiscard]] std::string to_text(const TimingReport& r, const isa::Program& program);
/// `bottleneck` is null when it was not looked for.
/// `{"clocks", "clocks_per_trip", "bottleneck", "spent": {cause: clocks}, "loops", "phases", "without", "stalls", ...}`
[[nodiscard]] std::string to_json(const TimingReport& r, const isa::Program& program);

/// One lane a wave, coloured by cause, the instruction under the pointer; `svg` for a page, `html` zoomable, both in one file
/// without anything from elsewhere. Clocks [begin, end).
[[nodiscard]] std::string timeline_svg(const TimingReport& r, const isa::Program& program,
                                       std::uint32_t begin, std::uint32_t end);
[[nodiscard]] std::string timeline_html(const TimingReport& r, const isa::Program& program,
                                        std::uint32_t begin, std::uint32_t end);

} // namespace inlay::runtime::timing
