/// Thread traces of hardware beside the model: the decoded traces that rocprofv3 writes (`ui_output_agent_*`), read, compared with a modelled launch, and written from
/// one.
///
/// A trace has the code (`code.json`), the instructions of every wave on one compute unit of some shader engines with the clock at which each began,
/// how long it stalled and how long it took (`se*_sm*_sl*_wv*.json`), begin and end of all waves of an XCD (`occupancy.json`) and the relation of clocks to
/// real time (`realtime.json`). Stalls are at the instruction that waits, as in the model.
///
///     ThreadTrace m = read_thread_trace("ui_output_agent_1_dispatch_2");
///     AgainstTrace a = compare_with_trace(report, trace, chip, m);
///     a.launch_measured, a.launch_modelled                          // clocks
///     write_thread_trace(report, trace.program, "folder", 2100)     // the modelled unit as such a trace
///
/// Ensures: what is written and read again compares equal to the model, instruction by instruction.
#pragma once

#include <inlay/runtime/timing/chip.h>
#include <inlay/runtime/timing/report.h>

namespace inlay::runtime::timing {

struct TracedInstruction {
  std::uint32_t at = 0, stall = 0, duration = 0; ///< clocks; the stall is part of the duration
  std::uint32_t line = 0;                        ///< index in ThreadTrace::code
};

struct TracedWave {
  unsigned engine = 0, simd = 0, slot = 0;
  std::uint32_t begin = 0, end = 0;
  std::vector<TracedInstruction> instructions;
};

struct TracedCode {
  std::string text; ///< a line that begins with ';' names a kernel
  std::uint64_t address = 0;
};

struct ThreadTrace {
  std::string folder, kernel;
  std::vector<TracedCode> code;
  std::vector<TracedWave> waves;
  double clocks = 0; ///< from the first begin to the last end of a wave
  double mhz = 0;    ///< 0: not told
  std::size_t all_waves = 0;
  std::vector<std::uint32_t> begins; ///< of all waves of the first engine, in order
};

/// `folder`: of one trace, decoded or raw, or what rocprofv3 wrote with one trace in it. Errors: std::runtime_error naming the file and what it lacks.
[[nodiscard]] ThreadTrace read_thread_trace(const std::string& folder);

/// Clocks of an average wave at one instruction, waits included.
struct InstructionClocks {
  std::uint64_t offset = 0; ///< bytes from the kernel's first instruction
  std::string text, kind;   ///< kind: matrix, vector, scalar, lds, memory, wait, barrier, branch, other
  double measured = 0, modelled = 0;
};
struct TripClocks {
  std::uint64_t offset = 0; ///< of the loop's first instruction
  double trips = 0, measured = 0, modelled = 0;
};
struct WaveClocks {
  std::string wave;
  double clocks = 0;
};

struct AgainstTrace {
  double launch_measured = 0, launch_modelled = 0, mhz = 0;
  std::vector<InstructionClocks> instructions; ///< by offset
  std::vector<InstructionClocks> kinds;        ///< summed by kind; offset is 0
  std::vector<TripClocks> loops;
  std::vector<WaveClocks> measured_waves, modelled_waves;
  double misplaced =
      0; ///< share of the measured clocks that the model has at other instructions, totals made equal
  double kinds_off = 0; ///< the same between kinds
  double rank = 0;      ///< Spearman's, of clocks by instruction
};

/// Requires: the trace is of the program that was modelled. Errors: std::runtime_error at the first instruction that differs.
[[nodiscard]] AgainstTrace compare_with_trace(const TimingReport& r, const Trace& t, const ChipTime& chip,
                                              const ThreadTrace& m);

[[nodiscard]] std::string to_text(const AgainstTrace& a);
[[nodiscard]] std::string to_json(const AgainstTrace& a);
/// A page with two lanes a wave, measured above modelled, and the table of instructions.
[[nodiscard]] std::string to_html(const AgainstTrace& a, const TimingReport& r, const Trace& t,
                                  const ThreadTrace& m);

/// One number as traces show it.
struct TracedNumber {
  std::string parameter, what;
  double before = 0, after = 0;
  std::size_t seen = 0; ///< times; too few change nothing
};

/// The numbers of the model that traces show by themselves, without a modelled launch: what most instructions cost and most pairs of instructions are apart, the latency of
/// scalar loads, the rate at which waves begin. Each is the commonest value of at least `least`; numbers not seen so often keep theirs. Memory latencies are not among them: where data
/// was, a trace does not tell.
/// Ensures: from traces of the model (`write_thread_trace`) come the numbers that it ran with.
[[nodiscard]] Parameters calibrate_from_traces(const Parameters& from, const std::vector<ThreadTrace>& traces,
                                               std::vector<TracedNumber>& fitted, std::size_t least = 8);

/// The modelled unit as a decoded trace that ROCprof Compute Viewer opens. Makes `folder`. Errors: std::runtime_error.
void write_thread_trace(const TimingReport& r, const isa::Program& program, const std::string& folder,
                        double mhz);
/// As a trace for Perfetto and chrome://tracing: one thread a wave, clocks as microseconds.
[[nodiscard]] std::string to_perfetto(const TimingReport& r, const isa::Program& program);

} // namespace inlay::runtime::timing
