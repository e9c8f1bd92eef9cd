/// The emulator: a `Device` that executes gfx942 and gfx950 machine code on the host, instruction by instruction.
///
/// A kernel's code is decoded once (isa/program.h), every instruction resolved to a function and its operands, and run
/// for each wave of each workgroup with the 64 lanes of a wave side by side in the host's vector registers. Device memory
/// is host memory: an address on the device is the address of the byte here, and every access is checked against the
/// allocations, so a kernel can fault but never harm the process.
///
///     EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
///     auto a = device.allocate(4096);
///     ...
///     device.launch(kernel, {.grid = {4}, .block = {256}}, arguments);
///     for (const Finding& f : device.last_launch().findings) std::cout << to_string(f);
///
/// Results do not depend on the number of threads: workgroups are independent, and a kernel whose atomics could tell
/// the order of workgroups runs on one thread, in order (x fastest). So does a launch on several devices (launch_on_devices).
///
/// What the sanitizers say is described at `FindingKind`; `stress` runs the kernel under conditions that hardware may
/// produce and a simple execution hides: results of memory instructions land only at the s_waitcnt that covers them,
/// waves take turns in random order, registers and LDS start as poison.
///
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", "AMD Instinct CDNA4 ISA Reference Guide"; LLVM "User Guide
/// for AMDGPU Backend", "Kernel Dispatch" and "Memory Model gfx942".
#pragma once

#include <inlay/runtime/debug.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/matrix_arithmetic.h>
#include <inlay/runtime/observer.h>

#include <atomic>
#include <functional>
#include <memory>

namespace inlay::runtime {

/// What a sanitizer can find. Each finding names the instruction that is wrong, or the one that first sees the wrong.
enum class FindingKind : std::uint8_t {
  bounds, ///< access outside every allocation, outside the workgroup's LDS, or outside the lane's scratch
  uninit, ///< a bit that nothing has written decides an address, a branch or EXEC, or is stored to global memory
  races, ///< two waves touch one LDS word, one writes, neither a barrier nor a polled flag between; two waves, or workgroups, store
  ///< to one global byte; two lanes of one instruction store different values to one place of LDS or global memory
  waits, ///< a result is used, or LDS data passes a barrier, or a read of LDS is overtaken, before an s_waitcnt covers it
  barrier, ///< waves of a workgroup meet at different barriers, or some ended while others wait
  align,   ///< address not aligned as the instruction demands
  hazard   ///< a note: software must insert wait states here by the manual; hardware may interlock
};

/// `bounds`, `uninit`, ...
[[nodiscard]] std::string_view to_string(FindingKind kind);

/// Which sanitizers are on.
struct Checks {
  bool bounds = true, uninit = false, races = false, waits = false, barrier = true, align = false,
       hazard = false;
  [[nodiscard]] static Checks all() { return {true, true, true, true, true, true, true}; }
  [[nodiscard]] static Checks none() { return {false, false, false, false, false, false, false}; }
  /// `races,bounds,uninit,waits`; `all`, `none`. Errors: std::invalid_argument with the names there are.
  [[nodiscard]] static Checks parse(std::string_view text);
  [[nodiscard]] bool any() const { return bounds || uninit || races || waits || barrier || align || hazard; }
};

/// One thing a sanitizer found; the same instruction and kind is reported once, with the number of times.
struct Finding {
  FindingKind kind{};
  std::string kernel;
  std::uint64_t address = 0; ///< of the instruction, as in the code object
  std::string disassembly;
  std::optional<isa::SourceLine> source; ///< when the code object has debug information
  Extent3 workgroup{0, 0, 0};
  std::uint32_t wave = 0;                   ///< within the workgroup
  std::uint32_t lane = 0;                   ///< first lane concerned
  std::optional<std::uint32_t> device = {}; ///< of a launch on several
  std::uint64_t memory_address = 0;
  std::string message;
  std::uint64_t count = 1;
  bool note =
      false; ///< worth knowing and no defect: wait states, equal values stored twice, a relaxed atomic read
};

/// `waits: v2 is read before ... covers it` with site, wave and lane; one finding a paragraph.
[[nodiscard]] std::string to_string(const Finding& finding);

/// What a launch executed.
struct LaunchStatistics {
  std::uint64_t instructions = 0; ///< wave instructions
  std::uint64_t scalar = 0, vector = 0, matrix = 0, lds = 0, memory = 0, scalar_memory = 0, branches = 0,
                waits = 0, other = 0;
  std::uint64_t multiply_adds = 0;                 ///< of matrix instructions
  std::uint64_t bytes_read = 0, bytes_written = 0; ///< global memory, as lanes asked for it
  std::uint64_t lds_bytes = 0;
  std::uint64_t lds_cycles = 0;          ///< by the phase groups of the bank model
  std::uint64_t lds_conflict_cycles = 0; ///< of these, beyond one a phase
  std::uint64_t waves = 0, workgroups = 0;
  double seconds = 0;
  void add(const LaunchStatistics& other_launch);
};

/// One LDS instruction whose lanes want different words of one bank, and what would help.
struct LdsConflict {
  std::uint64_t address = 0;
  std::string disassembly;
  std::optional<isa::SourceLine> source;
  std::uint64_t accesses = 0;     ///< with a conflict
  std::uint64_t extra_clocks = 0; ///< of all of them
  unsigned ways = 0;              ///< words that one bank has to give at the worst place of the worst access
  std::vector<std::string> remedies; ///< `16 bytes more a row of 256: none left`, found by trying
};
/// One a line, two with its remedies.
[[nodiscard]] std::string to_string(const LdsConflict& conflict);

/// One instruction that reads or writes scratch.
struct ScratchUse {
  std::uint64_t address = 0;
  std::string disassembly;
  std::optional<isa::SourceLine> source;
  std::uint64_t accesses = 0; ///< of waves
  unsigned bytes = 0;         ///< of each lane, of one access
  bool store = false;
};
[[nodiscard]] std::string to_string(const ScratchUse& use);

/// How true the emulator's result of an instruction is to the hardware's.
enum class Fidelity : std::uint8_t {
  exact,  ///< every bit is defined by IEEE 754 or by a manual, or was measured
  ulp,    ///< within one unit in the last place: the hardware's tables are not published
  assumed ///< documents leave it open; what is assumed is said
};
[[nodiscard]] std::string_view to_string(Fidelity fidelity);

/// One mnemonic that a launch executed.
struct InstructionFidelity {
  std::string mnemonic;
  Fidelity fidelity = Fidelity::exact;
  std::string why; ///< of what is not exact
  std::uint64_t count = 0;
};
/// That of one instruction: of `v_exp_f32` ulp.
[[nodiscard]] InstructionFidelity fidelity_of(const isa::Instruction& instruction, isa::Arch arch,
                                              MatrixArithmetic matrix);

struct LaunchResult {
  LaunchStatistics statistics;
  std::vector<Finding> findings;
  std::vector<LdsConflict> conflicts;        ///< the most expensive first; with EmulatorOptions::bank_model
  std::vector<ScratchUse> scratch;           ///< the most frequent first; with EmulatorOptions::bank_model
  std::vector<InstructionFidelity> fidelity; ///< the least exact first; with EmulatorOptions::fidelity
};

/// Prints executed instructions of one wave, with the values of one lane.
struct TraceOptions {
  bool enabled = false;
  std::uint32_t workgroup = 0, wave = 0, lane = 0;
  std::function<void(std::string_view)> line = {};
};

struct EmulatorOptions {
  unsigned threads = 0; ///< 0: as many as the machine has
  Checks checks = {};
  /// Instructions a wave executes before the next one has its turn. Small turns are closer to hardware, where waves advance
  /// together (some hand-tuned kernels count on it); large ones are a little faster.
  unsigned turn = 8;
  bool stress = false;
  /// Several devices: in each device's stream other launches come before and after this one, and the host waits for none of them. False:
  /// the host waits for all devices before and after the launch.
  bool streams = true;
  MatrixArithmetic matrix = MatrixArithmetic::sequential;
  bool bank_model = false; ///< count LDS cycles and conflicts, and accesses to scratch
  bool fidelity = false;   ///< say how exact the executed instructions are
  std::uint64_t seed = 1;  ///< of the stress schedule
  /// Bytes a lane of a kernel that recurses, calls through pointers or has arrays of variable length (metadata
  /// `.uses_dynamic_stack`), beside those it declares: the compiler cannot know how many it needs.
  std::uint32_t dynamic_stack = 16384;
  std::uint64_t max_wave_instructions = 20'000'000'000; ///< watchdog: of one launch
  /// The launch ends in an ExecutionError with this many findings that are no notes, the same one each time it is made; 0: never.
  std::uint64_t max_findings = 0;
  /// Called with each finding as soon as it is made, its count 1, by the thread that made it, one at a time.
  std::function<void(const Finding&)> on_finding = {};
  /// Once true the launch ends in an ExecutionError, its findings kept. Not owned; a signal handler may set it.
  const std::atomic<bool>* interrupt = nullptr;
  /// Takes what the kernel prints (printf of HIP, device_print of Triton); without it stdout and stderr do. Under stress, and while an
  /// observer looks on, nothing is printed: the launch has been made before, or will be.
  std::function<void(std::string_view text, bool to_stderr)> print = {};
  TraceOptions trace = {};
  DebugOptions debug = {};
  LaunchObserver* observer = nullptr; ///< sees every instruction; not owned
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {}; ///< called after each workgroup
  /// Whether others than this launch, of another emulator or the host, may still change memory. Asked with true each time all of its
  /// waves were seen to wait for words that none of them changes; it is not continued until they do not, which is said with false (the
  /// answer does not count). Answers: true, look again, after a pause that is the callee's; false, nobody will: a deadlock. Without it
  /// there are no others.
  std::function<bool(bool waits)> others = {};
};

/// Execution that cannot go on: an instruction that is not known, a memory fault, an endless kernel. The message has
/// kernel, address, disassembly, workgroup, wave and lane.
struct ExecutionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The emulator behind the `Device` interface. Streams run at once and in order; capture records launches and copies.
class EmulatorDevice : public Device {
public:
  explicit EmulatorDevice(isa::Arch arch, EmulatorOptions options = {});
  ~EmulatorDevice() override;

  [[nodiscard]] EmulatorOptions& options();
  /// Statistics and findings of the last launch; `findings` also of launches that ended in an ExecutionError.
  [[nodiscard]] const LaunchResult& last_launch() const;
  /// `bytes` of device memory whose contents the uninit check regards as never written.
  [[nodiscard]] DevicePointer allocate(std::uint64_t bytes) override;
  /// Memory of somebody else, of the host or of another device, that kernels here may access from now on: all of it counts as
  /// written. `release` ends that and leaves the memory alone. Errors: DeviceError when it overlaps what is known already.
  void share(DevicePointer begin, std::uint64_t bytes);
  /// From now on `pointer`, the start of an allocation, is memory of that device of a launch on several: what its stream did before and
  /// does after the launch does it there. `uncached`: no L2 keeps it (hipDeviceMallocUncached), so that device scope is enough between
  /// devices and nothing has to be written back. Errors: DeviceError when it is no start of an allocation.
  void place(DevicePointer pointer, std::uint32_t device, bool uncached = false);
  /// One launch on each of `arguments.size()` devices of this processor, at the same time, peers whose memory is all this one's: device
  /// r gets arguments[r]. Their workgroups are resident together, of each device as many as it holds, and take turns, in random order
  /// under `stress`; statistics and findings are of all of them. The races check asks for what LLVM's memory model asks for: between
  /// devices release and acquire are of system scope (docs/emulator.md, "Several devices").
  /// Errors: ArgumentError for none or more than 64; DeviceError for a processor without scopes (gfx90a), for a code object with
  /// variables, of which each device has its own, and where an observer, a trace or breakpoints look on.
  void launch_on_devices(Function kernel, const LaunchGeometry& geometry,
                         std::span<const std::vector<std::uint8_t>> arguments);
  /// Where a variable of a loaded module lies, and its bytes. Errors: DeviceError when there is none of that name.
  [[nodiscard]] std::pair<DevicePointer, std::uint64_t> symbol(Module module, std::string_view name) const;
  /// Of an allocation, from its first byte on: where anything may be other than zero, [begin, end) ascending. Memory that nobody
  /// has touched costs nothing, so that allocations may be larger than the host's memory.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> touched(DevicePointer pointer) const;

  [[nodiscard]] DeviceInfo info() const override;
  void release(DevicePointer pointer) override;
  void copy_in(DevicePointer to, std::span<const std::uint8_t> from,
               Stream stream = Stream::standard) override;
  void copy_out(std::span<std::uint8_t> to, DevicePointer from, Stream stream = Stream::standard) override;
  void copy(DevicePointer to, DevicePointer from, std::uint64_t bytes,
            Stream stream = Stream::standard) override;
  void fill(DevicePointer to, std::uint8_t value, std::uint64_t bytes,
            Stream stream = Stream::standard) override;
  [[nodiscard]] Module load(const CodeObject& object) override;
  void release(Module module) override;
  [[nodiscard]] Function function(Module module, std::string_view kernel) override;
  void launch(Function kernel, const LaunchGeometry& geometry, std::span<const std::uint8_t> arguments,
              Stream stream = Stream::standard) override;
  [[nodiscard]] Stream create_stream() override;
  void release(Stream stream) override;
  void synchronize(Stream stream) override;
  void synchronize() override;
  [[nodiscard]] Event create_event() override;
  void release(Event event) override;
  void record(Event event, Stream stream = Stream::standard) override;
  void synchronize(Event event) override;
  void wait(Stream stream, Event event) override;
  [[nodiscard]] double milliseconds(Event begin, Event end) override;
  void begin_capture(Stream stream) override;
  [[nodiscard]] Graph end_capture(Stream stream) override;
  void replay(Graph graph, Stream stream = Stream::standard) override;
  void release(Graph graph) override;
  [[nodiscard]] bool can_access_peer(int other) override;
  void enable_peer(int other) override;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One instruction of an architecture and whether the emulator executes it.
struct InstructionSupport {
  std::string mnemonic;
  isa::Format format = isa::Format::unknown;
  bool emulated = false;
};

/// Every instruction of `arch` by format and name, found by decoding each opcode of each encoding; what
/// docs/emulator_instructions.md lists.
[[nodiscard]] std::vector<InstructionSupport> instruction_support(isa::Arch arch);
/// Whether `instruction` can be executed on `arch`.
[[nodiscard]] bool is_emulated(const isa::Instruction& instruction, isa::Arch arch);

} // namespace inlay::runtime
