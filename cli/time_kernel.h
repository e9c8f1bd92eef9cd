/// What `time`, `run --time`, `bench` and `compare --time` share: options, the measurement, its text.
#pragma once

#include "command.h"
#include "exec_arguments.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/device.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/timing/chip.h>
#include <inlay/runtime/timing/report.h>
#include <nlohmann/json_fwd.hpp>

namespace inlay::cli {

struct TimeOptions {
  unsigned sample = 0;
  double clock = 0;
  std::string parameters, workgroups, data_in = "hbm", svg, html, timeline, against, exported;
  std::vector<std::string> set;
  bool quick = false, neighbours = true;
  std::uint64_t max_instructions = 60'000'000;
};
void add_time_options(CLI::App& command, TimeOptions& o);

/// Wave instructions that looking at other workgroups may take.
inline constexpr std::uint64_t neighbour_budget = 100'000'000;

/// Wave instructions of the rounds that are modelled in full, when --sample does not say how many.
inline constexpr std::uint64_t sample_budget = 600'000;

/// The same for all rounds of a unit, when they cost no more than this.
inline constexpr std::uint64_t whole_budget = 200'000;

struct TimeResult {
  runtime::timing::Parameters parameters;
  runtime::timing::Trace trace;
  runtime::timing::TimingReport report;
  runtime::timing::ChipPlan plan;
  runtime::timing::ChipTime chip;
  runtime::timing::Sharing sharing;
  std::vector<std::uint64_t> modelled; ///< workgroups of the unit that were
  double mean_work = 0, most_work = 0; ///< wave instructions of a workgroup
  double l2_share = 0, mall_share = 0; ///< of the inputs, with --data-in auto
  runtime::timing::Activity activity;
  double pipes_busy = 0;             ///< share of the launch's clocks, of all SIMDs' matrix pipes
  double flops = 0;                  ///< multiplications and additions of matrix instructions, of the launch
  runtime::timing::ChipTime at_load; ///< the clocks at that clock: memory keeps its own
  runtime::timing::LoadClock load;   ///< the clock that the times are for: of --clock, or under load
  unsigned resident = 1;
  double seconds = 0;
  /// Wave instructions that the emulator executed for it and those that the model went through, each time, with processor time.
  struct Effort {
    std::uint64_t executed = 0, simulated = 0;
    double seconds = 0;
  } effort;
  bool turns = false; ///< workgroups wait for one another, which is not modelled
  /// Accesses to scratch in the modelled workgroups, what the kernel reserves of it, and the clocks with and without them.
  struct Scratch {
    std::uint64_t accesses = 0;
    std::uint32_t bytes = 0, spilled_vgprs = 0, spilled_sgprs = 0;
    std::string text; ///< of the three
    std::uint64_t clocks = 0, without = 0;
    std::vector<runtime::ScratchUse> instructions; ///< as `conflicts`
  } scratch;
  std::vector<runtime::LdsConflict>
      conflicts; ///< of the last launch that was looked at, where there was a code object
};

/// The parameters for `arch` with what the options change. Errors: std::invalid_argument, std::runtime_error.
[[nodiscard]] runtime::timing::Parameters timing_parameters(const TimeOptions& o, runtime::isa::Arch arch);

/// Models one launch. `launch` launches it on an emulator with the observer given; it is called once or twice.
[[nodiscard]] TimeResult time_launch(const TimeOptions& o, runtime::isa::Arch arch,
                                     const runtime::Kernel& kernel, const runtime::LaunchGeometry& geometry,
                                     const std::function<void(runtime::LaunchObserver&)>& launch);

/// The same on an emulator of its own, for a kernel of any code object.
[[nodiscard]] TimeResult time_code_object(const TimeOptions& o, const runtime::CodeObject& object,
                                          runtime::isa::Arch arch, const runtime::Kernel& kernel,
                                          const runtime::LaunchGeometry& geometry,
                                          const std::vector<ArgumentSpec>& specs);

[[nodiscard]] std::string time_text(const TimeResult& t, const TimeOptions& o);
[[nodiscard]] nlohmann::ordered_json time_json(const TimeResult& t);
/// Under the clock of `load`, with the launch overhead.
[[nodiscard]] double microseconds(const TimeResult& t);
[[nodiscard]] double tflops(const TimeResult& t); ///< 0 without matrix instructions
/// Writes --svg, --html and --export, when asked for.
void write_timelines(Session& session, const TimeResult& t, const TimeOptions& o);

} // namespace inlay::cli
