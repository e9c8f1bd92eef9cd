/// From one compute unit to the chip: which workgroups run where, what they share, how long the launch takes.
///
/// Workgroup i goes to XCD i mod 8 and there to the next compute unit with room; a unit holds as many as registers, LDS and wave
/// slots allow. One unit is simulated in full for a sample of its workgroups; the launch is then
///
///     launch overhead + first round + (rounds - 1) x steady round + stores draining,  rounds = ceil(workgroups / (units x resident))
///
/// where the steady round is the time that more workgroups of the sample add. What the other units take from L2, MALL and HBM
/// meanwhile is counted from the lines that their workgroups really ask for (`Sharing`), run on the emulator without matrix
/// arithmetic.
///
///     ChipPlan p = plan(parameters, 1024, 1);               // 1024 workgroups, one a unit: 304 units
///     p.rounds, p.last_round                                 // 4, 112: of the last round only 112 units work
///
/// Sources: round-robin over XCDs: AMD, "CDNA 3 white paper" and ROCm documentation on compute partitioning.
#pragma once

#include <inlay/runtime/timing/compute_unit.h>

#include <set>
#include <unordered_set>

namespace inlay::runtime::timing {

struct ChipPlan {
  std::uint64_t workgroups = 0;
  unsigned units = 0, xcds = 0, resident = 1;
  std::uint64_t rounds = 0;     ///< in which the units' places are filled
  std::uint64_t last_round = 0; ///< workgroups of the last one
  double active_units = 0;      ///< that work at the same time in the first round
  /// Workgroups that unit 0 gets, in order, as far as round-robin decides it: at most `most`.
  [[nodiscard]] std::vector<std::uint64_t> of_first_unit(std::size_t most) const;
  /// Workgroups that run in the first round on XCD `xcd`, at most `most`.
  [[nodiscard]] std::vector<std::uint64_t> first_round(unsigned xcd, std::size_t most) const;
};
[[nodiscard]] ChipPlan plan(const Parameters& p, std::uint64_t workgroups, unsigned resident);

/// How often the units that run at the same time ask for the same lines, in the same stretch of their workgroups' work. What the
/// workgroups of one unit share is not in it: that unit's own caches show it.
struct Sharing {
  double l2 = 1;                        ///< requests of units for each line that an XCD fetches
  double mall = 1;                      ///< requests of units for each line that comes from HBM
  std::size_t workgroups = 0, xcds = 0; ///< looked at
  double mean_work = 0, most_work = 0;  ///< wave instructions of a workgroup among them
  std::uint64_t longest = 0;            ///< the one with the most
};

/// Observes workgroups of a round, only for their lines; others are executed as TraceRecorder does. Stretches are of `window` memory instructions of a wave.
class SharingRecorder : public LaunchObserver {
public:
  SharingRecorder(std::vector<std::uint64_t> workgroups, unsigned xcds, unsigned units, unsigned window = 64);
  void begin(const isa::Program& program) override;
  [[nodiscard]] bool wants(std::uint64_t workgroup) override;
  [[nodiscard]] bool needs_matrix_values() const override { return false; }
  void executed(const ExecutedInstruction& e) override;
  /// Requires: the launch is over. A launch without loads shares nothing: 1, 1.
  [[nodiscard]] Sharing result();

private:
  void flush();

  std::set<std::uint64_t> wanted_, xcds_seen_;
  bool all_before_ = false;
  unsigned xcds_, units_, window_;
  std::uint64_t group_ = ~std::uint64_t{0};
  std::vector<std::uint32_t> counts_; ///< memory instructions of each wave so far
  std::uint64_t work_ = 0, all_work_ = 0, most_work_ = 0, longest_ = 0;
  std::vector<std::unordered_set<std::uint64_t>> mine_;                ///< by window
  std::vector<std::vector<std::unordered_set<std::uint64_t>>> by_xcd_; ///< by window, XCD
  std::vector<std::unordered_set<std::uint64_t>> all_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::unordered_set<std::uint64_t>>
      by_unit_; ///< by window, unit
  std::size_t groups_ = 0;
};

struct ChipTime {
  double clocks = 0;            ///< of the launch, launch overhead left out
  double first = 0, steady = 0; ///< clocks of the first round and of each that follows
  double drain = 0;             ///< clocks after the last wave until its stores are done
  double uncertainty = 0;       ///< clocks, either way: what the spread of the sample does over all rounds
  double uneven = 1;            ///< clocks over those of a launch whose workgroups are all like the sample's
  double tail = 0; ///< clocks of the last round in which a part of the units has no work, over its share
  [[nodiscard]] double microseconds(double mhz, double launch_us) const { return clocks / mhz + launch_us; }
};

/// `sample`: the unit's result with the workgroups of `plan.of_first_unit`, of `work` wave instructions each; 0: not known. With
/// one round in the sample, `steady` is `first`. Where others have more or less to do (causal attention), rounds take as much
/// longer as the mean has more instructions, and the launch ends with the longest; a tenth of what that changes is uncertain.
[[nodiscard]] ChipTime extrapolate(const ChipPlan& plan, const UnitResult& sample, double work = 0,
                                   const Sharing& others = {});

} // namespace inlay::runtime::timing
