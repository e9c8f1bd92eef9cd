/// Order of machine code in every schedule: what a wave may rely on when it touches LDS or a register that memory fills.
///
/// All waves of one workgroup are executed with symbols (machine words as terms: sizes, pointers and workgroup ids stay
/// open, lanes and waves are enumerated), along every path that the conditions leave open. Along a wave
///
///   - a wait c <= m covers an access when at least m later ones of the same in-order queue stand between, or m = 0;
///     scalar loads and flat accesses only at 0; loads to LDS count on vmcnt alone, and so do stores; a counter that is at
///     its maximum stalls the issue, so LDS has executed what is that far back, but only a wait says that a register is filled;
///   - an access that is issued after s barriers of its wave and covered after c of them may happen in any of the
///     intervals s..c between barriers.
///
/// Two accesses of different waves to a common LDS byte, one of them a write and not both atomic, are ordered exactly when
/// their intervals do not meet: c < s' or c' < s. In one wave, LDS instructions are in order among themselves; a load to
/// LDS and an LDS instruction need a wait between. A register that memory fills is neither read nor written before a wait
/// covers it. All waves execute the same number of barriers. No access goes past the workgroup's LDS. (CDNA3 ISA, chapters "Manually Inserted Wait States" and
/// "Data Dependency Resolution"; LLVM "User Guide for AMDGPU Backend", the memory model of CDNA3.)
///
/// Loops: trips are executed until the state at the loop's head repeats up to registers that grow by a constant; these
/// become base + step * u for any u, the loop is executed once more from there, and if it comes back to a state of the same
/// form, everything that was shown holds for every number of trips. Otherwise the loop is reported as undecided.
///
///     OrderReport r = check_order(object, object.kernel("gemm"), {.block = {256}});
///     r.verdict                                        // validated, refuted, undecided
///     r.findings[0].message                            // "ds_read_b128 ... of wave 1 may read LDS bytes 0..15 before ..."
///
/// What it does not look at: order of global memory between waves or workgroups, and values.
#pragma once

#include <inlay/runtime/code_object.h>
#include <inlay/runtime/device.h>
#include <inlay/runtime/symbolic/term.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace inlay::runtime::symbolic {

struct OrderOptions {
  Extent3 block{0, 0, 0}; ///< zeros: what the kernel requires, or its largest workgroup along x
  std::uint32_t dynamic_lds = 0;
  unsigned trips = 8;                           ///< of a loop, before its invariant is looked for
  unsigned max_paths = 4000;                    ///< ends and cuts of paths
  std::uint64_t max_instructions = 20'000'000;  ///< wave instructions in all
  std::size_t max_bytes = std::size_t{1} << 30; ///< of formulas; beyond it the verdict is undecided
  bool first = false;                           ///< stop at the first violation that is certain
  /// Arguments to whose memory nobody writes: what all waves read of one place is one number.
  std::vector<std::string> read_only{};
  /// Nobody but the kernel itself is known not to write there: its stores and atomics have to be by other pointer arguments
  /// (taken as other allocations, in which they stay), or the verdict is undecided as soon as `read_only` says anything.
  bool check_stores = false;
  /// The whole argument segment as a launch packs it, when all arguments are numbers (kernarg.h): then it is the order of
  /// launches with these.
  std::vector<std::uint8_t> arguments{};
  /// Steps of about a microsecond, the same on every machine: undecided beyond it; 0: as many as it takes.
  std::uint64_t budget = 0;
  std::function<void(std::uint64_t)> progress{}; ///< hears of the steps that were taken since
};

enum class OrderKind : std::uint8_t {
  race,    ///< two waves, one LDS byte, no order
  own,     ///< one wave: a load to LDS and an LDS instruction, no wait between
  wait,    ///< a register is read or written while memory is about to fill it
  barrier, ///< waves execute different numbers of barriers
  bounds, ///< LDS past the workgroup's; not asked where the launch has none, as its size is then the launcher's
  hazard ///< a note: wait states that the manual asks for; hardware may interlock
};
[[nodiscard]] std::string_view to_string(OrderKind kind);

/// One violation, at the first place where it shows.
struct OrderFinding {
  OrderKind kind{};
  std::uint64_t address = 0, other_address = 0; ///< of the instructions
  std::string text, other_text;
  std::uint32_t wave = 0, other_wave = 0, lane = 0, other_lane = 0;
  std::uint32_t byte = 0; ///< of LDS
  /// Whether a launch shows it is not certain: it hangs on lanes that sizes may switch off, on what memory holds, on the
  /// state that a loop's invariant allows, or no numbers were found under which the path is taken.
  bool conditional = false;
  std::string message;
  std::vector<std::pair<Term, bool>> path; ///< conditions under which this path is taken
  std::map<Term, std::uint64_t> witness;   ///< numbers for their symbols, unless `conditional`
};

/// An address of one lane.
struct LaneAddress {
  Term guard = 0;   ///< condition under which the lane takes part; 0: it does not
  Term address = 0; ///< wide: the byte address; LDS: a word
  Term lds = 0;     ///< loads to LDS: the LDS place, a word
  Term offset = 0;  ///< buffer instructions: what the range check sees, wide
  Term records = 0; ///< buffer instructions: num_records, a word
};

/// Conditions decided on the way to an instruction.
using PathConditions = std::vector<std::pair<Term, bool>>;

/// What one wave's execution of a memory instruction accesses. A scalar access is lane 0's.
struct AccessRecord {
  std::size_t instruction = 0; ///< index in the program
  std::uint32_t wave = 0;
  unsigned bytes = 0; ///< of a lane, at most
  bool write = false, atomic = false, lds = false, to_lds = false;
  /// How often this wave has executed the instruction before: `visit` and, for each period of a loop that `first` counts,
  /// `second` more.
  std::uint32_t visit = 0;
  std::vector<std::pair<Term, std::uint32_t>> visit_steps;
  std::vector<LaneAddress> lanes;    ///< 64
  std::vector<PathConditions> paths; ///< all on which it is executed so
  bool merged = false;               ///< more were met: the last holds only what the rest have in common
};

enum class Verdict : std::uint8_t { validated, refuted, undecided };
[[nodiscard]] std::string_view to_string(Verdict verdict);

struct OrderReport {
  Verdict verdict = Verdict::undecided;
  std::vector<OrderFinding> findings;       ///< without notes
  std::vector<OrderFinding> notes;          ///< hazards
  std::vector<std::string> undecided;       ///< what is missing, one reason a line
  unsigned waves = 0, paths = 0, loops = 0; ///< loops: invariants found
  std::uint64_t instructions = 0, lds_accesses = 0, pairs = 0, steps = 0;
  std::size_t global_sites = 0, lds_sites = 0;
  bool rounds_to_nearest = false; ///< floats of 32 bits, from beginning to end
  std::shared_ptr<Terms> terms;
  std::vector<AccessRecord> accesses; ///< when asked for
};

/// Checks one kernel. Errors: std::invalid_argument for a block that the kernel does not allow, IsaError.
[[nodiscard]] OrderReport check_order(const CodeObject& object, const Kernel& kernel,
                                      const OrderOptions& options, bool record_addresses = false);

/// The block that is used when none is given.
[[nodiscard]] Extent3 default_block(const Kernel& kernel);

} // namespace inlay::runtime::symbolic
