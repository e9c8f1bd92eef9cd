/// From one compute unit to the chip: which workgroups run where, what they share, how long the launch takes.
///
/// Workgroup i goes to XCD i mod 8 and there to the next compute unit with room; a unit holds as many as registers, LDS and wave
/// slots allow. The launch ends when its last unit does, so the unit that is modelled is the one with most to do: where
/// workgroups differ (causal attention, sorted experts, early exits), work is counted in wave instructions of those that were
/// executed, the dispatch is played through with it, and the heaviest unit's workgroups are modelled in their order.
///
///     launch = dispatch + what the unit takes for all its workgroups + stores draining
///
/// A unit whose workgroups are all modelled needs no extrapolation: a last round that is not full counts as what it is. Of a
/// longer queue the first rounds and a last one that is as full as the real one are modelled, and the rounds between them take
/// what those modelled take for their work.
/// What the other units take from L2, MALL and HBM meanwhile is counted from the lines that their workgroups really ask for
/// (`Sharing`), run on the emulator without matrix arithmetic.
///
///     ChipPlan p = plan(parameters, 1024, 1);               // 1024 workgroups, one a unit: 304 units
///     p.rounds, p.last_round                                 // 4, 112: of the last round only 112 units work
///     dispatch(p, {})[0].workgroups                          // 0, 304, 608, 912
///
/// Sources: round-robin over XCDs: AMD, "CDNA 3 white paper" and ROCm documentation on compute partitioning; over shader engines and units within
/// an XCD: begin of all waves of XCD 0 in the thread traces of MI350X (docs/timing.md).
#pragma once

#include <inlay/runtime/timing/compute_unit.h>

#include <set>

namespace inlay::runtime::timing {

struct ChipPlan {
  std::uint64_t workgroups = 0;
  unsigned units = 0, xcds = 0, resident = 1;
  std::uint64_t rounds = 0;     ///< in which the units' places are filled
  std::uint64_t last_round = 0; ///< workgroups of the last one
  double active_units = 0;      ///< that work at the same time in the first round
  double dispatch = 0;          ///< clocks until the last of them has its first wave
  /// Workgroups that unit 0 gets, in order, as far as round-robin decides it: at most `most`.
  [[nodiscard]] std::vector<std::uint64_t> of_first_unit(std::size_t most) const;
  /// Workgroups that run in the first round on XCD `xcd`, at most `most`.
  [[nodiscard]] std::vector<std::uint64_t> first_round(unsigned xcd, std::size_t most) const;
};
/// Workgroups that a compute unit holds at a time, 1 at least: as many as registers, waves and LDS leave room for. LDS is counted by
/// workgroups, as those of fewer waves than a unit has SIMDs have it whole.
[[nodiscard]] unsigned resident_workgroups(unsigned vgprs, std::uint32_t lds_bytes, unsigned work_items,
                                           isa::Arch arch);
/// `waves`: of a workgroup.
[[nodiscard]] ChipPlan plan(const Parameters& p, std::uint64_t workgroups, unsigned resident,
                            unsigned waves = 1);

/// How often the units that run at the same time ask for the same lines, in the same stretch of their workgroups' work. What the
/// workgroups of one unit share is not in it: that unit's own caches show it.
struct Sharing {
  double l2 = 1;                        ///< requests of units for each line that an XCD fetches
  double mall = 1;                      ///< requests of units for each line that comes from HBM
  std::size_t workgroups = 0, xcds = 0; ///< looked at
  double bytes = 0,
         xcd_bytes =
             0; ///< loaded (each line once) and stored, of those looked at: all, and of the XCD with most
  std::map<std::uint64_t, std::uint64_t> work;    ///< wave instructions of every workgroup that was executed
  double requests = 0, fetched = 0, from_hbm = 0; ///< of lines: of units, of XCDs, and of HBM
  /// What they are in a launch that goes on as from `shorter` to this one, `steps` times as far.
  [[nodiscard]] Sharing continued(const Sharing& shorter, double steps) const;
};

/// Numbers, each once: a launch's lines are some millions, and a set of nodes takes longer than the emulator.
class NumberSet {
public:
  /// Numbers that lie near one another: of a block of 64, a bit each.
  struct Slot {
    std::uint64_t block = 0, numbers = 0;
  };
  /// Whether it is new.
  bool insert(std::uint64_t number);
  void insert(const NumberSet& others) { insert(others.slots_); }
  void insert(const std::vector<Slot>& others);
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Puts all that is in it after `to`, in as little room as there is, and empties it; its own room stays.
  void move_to(std::vector<Slot>& to);

private:
  /// Of a block, which is there from now on.
  Slot& slot_of(std::uint64_t block);
  void insert_all(std::uint64_t block, std::uint64_t numbers);

  std::vector<Slot> slots_; ///< a power of two of them, at most half of them taken
  std::size_t blocks_ = 0, size_ = 0;
};

/// Observes workgroups of a round, only for their lines; others are executed as TraceRecorder does. Of `counted`, which need not run in the same round, only the
/// work is noted. Stretches are of `window` memory instructions of a wave.
class SharingRecorder : public LaunchObserver {
public:
  SharingRecorder(std::vector<std::uint64_t> workgroups, unsigned xcds, unsigned units,
                  const std::vector<std::uint64_t>& counted = {}, unsigned window = 64);
  void begin(const isa::Program& program) override;
  [[nodiscard]] bool wants(std::uint64_t workgroup) override;
  [[nodiscard]] bool needs_matrix_values() const override { return false; }
  [[nodiscard]] bool needs_results() const override { return false; }
  [[nodiscard]] bool needs_lds(std::uint64_t) override { return false; }
  void executed(const ExecutedInstruction& e) override;
  /// Requires: the launch is over. A launch without loads shares nothing: 1, 1.
  [[nodiscard]] Sharing result();

private:
  /// Of one stretch: the lines of each unit, those of its workgroups one after the other. Where units have no XCD of their own, of each pair of
  /// both.
  using Window = std::vector<std::vector<NumberSet::Slot>>;
  /// Puts aside what the workgroup that has run asked for: its sets are at hand while it runs, all of them at once would be memory to wait for.
  void put_aside();

  std::set<std::uint64_t> wanted_, executed_, xcds_seen_;
  bool all_before_ = false;
  unsigned xcds_, units_, window_;
  std::uint64_t group_ = ~std::uint64_t{0};
  std::vector<std::uint32_t> counts_; ///< memory instructions of each wave so far
  std::map<std::uint64_t, std::uint64_t> work_;
  double stored_ = 0;
  std::vector<double> xcd_stored_;
  std::uint64_t* count_ = nullptr; ///< of the workgroup that runs
  bool looked_at_ = false;
  std::vector<NumberSet> running_; ///< of the workgroup that runs, a stretch each
  std::vector<Window> windows_;
  std::size_t groups_ = 0;
};

/// Work of workgroups, in wave instructions, from those that were executed; between two of them as the nearer one.
class Work {
public:
  Work() = default;
  Work(std::map<std::uint64_t, std::uint64_t> known, std::uint64_t workgroups);
  [[nodiscard]] double of(std::uint64_t workgroup) const; ///< 1 when nothing is known
  [[nodiscard]] bool even() const {
    return even_;
  } ///< none has a fiftieth more than another, as far as known
  [[nodiscard]] bool complete() const { return complete_; }
  /// What a workgroup that was not executed may be off by, as a share: how much neighbours among the executed differ.
  [[nodiscard]] double doubt() const { return doubt_; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double most() const { return most_; }

private:
  std::map<std::uint64_t, std::uint64_t> known_;
  bool even_ = true, complete_ = false;
  double doubt_ = 0, mean_ = 0, most_ = 0;
};

/// What one unit gets, in order.
struct UnitQueue {
  std::vector<std::uint64_t> workgroups;
  double work = 0, longest = 0; ///< the sum, and of one workgroup
};

/// Plays the dispatch through: the first round goes over the units of an XCD in turn, later workgroups to the unit that has room
/// first, of several that have it at the same time to the next one in turn; those that share a unit share its time.
/// Ensures: every workgroup is in one queue; with even work unit u has u, u + units, ...
[[nodiscard]] std::vector<UnitQueue> dispatch(const ChipPlan& plan, const Work& work);

/// Queues worth modelling: the one with most work, the one with the longest workgroup, and the first; no two alike, at most three.
[[nodiscard]] std::vector<UnitQueue> heaviest(const ChipPlan& plan, const Work& work);

/// At most about `most` of the queue's workgroups: whole rounds from its beginning and a last one as full as the real one; the whole queue if that is enough.
[[nodiscard]] std::vector<std::uint64_t> sample_of(const UnitQueue& queue, unsigned resident,
                                                   std::size_t most);

/// How much of what a launch touches a cache still holds when the same launch comes again: all below three quarters of its bytes, nothing above five quarters, where lines
/// have left before their turn comes, and in between a part.
[[nodiscard]] double held(double footprint, double cache_bytes);

/// What takes power in a launch, as shares of what the chip could do in its clocks: products of matrix instructions made, slots of vector instructions taken, bytes of HBM moved.
struct Activity {
  double matrix = 0, vector = 0, memory = 0;
};

/// Products a clock of a matrix instruction, as a share of the most that the target makes of elements of its type; 0 for other instructions. The pipe is busy with an instruction of
/// half the rate as long, but half of its multipliers are: a target keeps the instructions of the one before it, of fewer products in the same clocks.
[[nodiscard]] double share_of_products(const isa::Instruction& i, isa::Arch arch);

/// The clock of a chip under load: power has a limit, so the clock falls by `load_clock_matrix`, `load_clock_vector` and `load_clock_memory` of the peak times the shares of `activity`,
/// to not less than 0.3 of the peak.
struct LoadClock {
  double mhz = 0, uncertainty = 0;
};
[[nodiscard]] LoadClock load_clock(const Parameters& p, const Activity& activity);

/// The numbers at a clock of the compute units of `mhz`. MALL and HBM have clocks of their own: below `memory_latency_mhz`, at which their latencies were read, what a request spends
/// beyond L2 is fewer clocks of the units. What it is above is not known: there the clocks stay.
[[nodiscard]] Parameters at_clock(const Parameters& p, double mhz, const std::string& why);

struct ChipTime {
  double clocks = 0;            ///< of the launch, launch overhead left out
  double first = 0, steady = 0; ///< clocks of the first round and of each that follows
  double drain = 0;             ///< clocks after the last wave until its stores are done
  double dispatch = 0;          ///< clocks until the last unit has its first wave
  double uncertainty =
      0; ///< clocks, either way: what the spread of the sample does over the rounds not modelled, and work not known
  double uneven = 1; ///< work of the modelled unit over that of an average one
  double tail = 0;   ///< clocks of the last round in which a part of the units has no work, over its share
  std::size_t modelled = 0, of_unit = 0; ///< workgroups of the unit: modelled in full, and all
  [[nodiscard]] bool exact() const { return modelled == of_unit; } ///< nothing is extrapolated
  [[nodiscard]] double microseconds(double mhz, double launch_us) const { return clocks / mhz + launch_us; }
};

/// `sample`: the unit's result with the workgroups `ids`, which `sample_of` took from `queue`.
[[nodiscard]] ChipTime extrapolate(const ChipPlan& plan, const UnitQueue& queue,
                                   const std::vector<std::uint64_t>& ids, const UnitResult& sample,
                                   const Work& work = {});

} // namespace inlay::runtime::timing
