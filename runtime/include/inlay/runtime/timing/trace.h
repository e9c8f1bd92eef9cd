/// What a kernel executed, in the form that the cycle model reads: one stream of steps a wave, with what each memory
/// instruction asks of LDS and of which cache lines.
///
/// The streams are those of the emulator, so loop counts, divergence, addresses and bank conflicts are those of the real
/// run; only *when* each step happens is left to the model.
///
///     TraceRecorder recorder(arch, {0});           // workgroup 0
///     EmulatorDevice device(arch, {.observer = &recorder});
///     device.launch(...);
///     Trace t = recorder.take();
///     t.workgroups[0].waves[0].steps.size()                     // wave instructions of its first wave
///
/// A step is 8 bytes; what memory instructions ask for is kept once for every distinct request of a wave's LDS and once an
/// execution for cache lines.
#pragma once

#include <inlay/runtime/isa/control_flow.h>
#include <inlay/runtime/isa/instruction_facts.h>
#include <inlay/runtime/observer.h>

#include <memory>
#include <unordered_map>

namespace inlay::runtime::timing {

/// What one executed memory instruction asks for.
struct Request {
  ObservedAccess::Space space = ObservedAccess::Space::global;
  ObservedAccess::Kind kind = ObservedAccess::Kind::load;
  bool misaligned =
      false; ///< an LDS access of 8 or more bytes at an address that is no multiple of 4 dwords or 2
  std::uint8_t bytes = 4;          ///< of one lane
  std::uint8_t lanes = 0;          ///< that take part
  std::uint16_t lds_clocks = 0;    ///< of the LDS's memory, by the phase groups, conflicts included
  std::uint16_t lds_conflicts = 0; ///< of these, beyond one a phase
  std::uint32_t first_line = 0;    ///< in Trace::lines
  std::uint16_t lines = 0;         ///< distinct lines of 128 bytes; of scalar accesses 64
  [[nodiscard]] unsigned total_bytes() const { return unsigned{bytes} * lanes; }
};

struct Step {
  std::uint32_t instruction = 0; ///< index in Trace::program
  std::uint32_t request = 0;     ///< index in Trace::requests plus 1; 0: touches no memory
};

struct WaveStream {
  std::vector<Step> steps;
};

struct WorkgroupTrace {
  std::uint64_t id = 0; ///< x fastest
  std::vector<WaveStream> waves;
};

struct Trace {
  isa::Arch arch{};
  isa::Program program; ///< a copy: the trace outlives the device
  std::vector<Request> requests;
  std::vector<std::uint64_t>
      lines; ///< addresses over 128, of scalar accesses over 64, from the page of the first on
  std::vector<WorkgroupTrace> workgroups;

  [[nodiscard]] std::uint64_t steps() const;
  [[nodiscard]] double steps_each() const; ///< of a workgroup, on average
};

/// Whether workgroups can see what others of the launch have written: by atomics, or by loads that go past the caches. One that can may
/// wait for another (split K, whose first part clears what the others add to).
[[nodiscard]] bool sees_other_workgroups(const isa::Program& program);

/// Records the workgroups asked for. The others are not executed, except where those asked for may wait for them: then all
/// with smaller numbers are.
class TraceRecorder : public LaunchObserver {
public:
  /// `limit`: steps after which recording stops with std::runtime_error, so that an endless or huge kernel ends in a message.
  TraceRecorder(isa::Arch arch, std::vector<std::uint64_t> workgroups, std::uint64_t limit = 400'000'000);
  /// The trace so far; the recorder is empty afterwards.
  [[nodiscard]] Trace take();

  void begin(const isa::Program& program) override;
  [[nodiscard]] bool wants(std::uint64_t workgroup) override;
  [[nodiscard]] bool needs_matrix_values() const override { return matrix_values; }
  [[nodiscard]] bool needs_results() const override { return false; }
  void executed(const ExecutedInstruction& e) override;

  bool matrix_values = true; ///< see LaunchObserver::needs_matrix_values

private:
  std::uint32_t request_of(const ObservedAccess& a);

  std::vector<std::uint64_t> wanted_;
  bool all_before_ = false;
  std::uint64_t limit_, recorded_ = 0;
  Trace trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_; ///< LDS requests by their numbers
};

/// Clocks of the LDS's memory for one access of a wave, and how many of them are conflicts: the bank model of the emulator.
struct LdsClocks {
  std::uint32_t clocks = 0, conflicts = 0;
};
[[nodiscard]] LdsClocks lds_clocks(isa::Arch arch, const ObservedAccess& a);

} // namespace inlay::runtime::timing
