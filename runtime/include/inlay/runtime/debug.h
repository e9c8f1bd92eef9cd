/// Looking into a launch on the emulator: breakpoints that report registers, and watched memory.
///
///     DebugOptions d;
///     d.breakpoints = {{.address = 0x1720}};
///     d.dump = {RegisterRange::parse("v[2:3]"), RegisterRange::parse("exec")};
///     d.on_break = [](const BreakHit& hit) { std::cout << hit.address << hit.registers[0].lanes[5]; };
///     EmulatorDevice device(arch, {.debug = d});
///
/// Nothing stops: a hit is reported and the wave goes on. A launch that is looked into runs on one thread, workgroups in
/// order, so that reports come in an order that repeats. Without breakpoints and watches nothing here is executed.
#pragma once

#include <inlay/runtime/device.h>
#include <inlay/runtime/isa/line_table.h>

#include <functional>

namespace inlay::runtime {

/// Which waves: an absent field means all of them. `workgroup` counts x fastest, `wave` within its workgroup.
struct WaveFilter {
  std::optional<std::uint32_t> workgroup, wave;
  [[nodiscard]] bool admits(std::uint64_t workgroup_in, std::uint32_t wave_in) const {
    return workgroup.value_or(workgroup_in) == workgroup_in && wave.value_or(wave_in) == wave_in;
  }
};

/// Registers under the name that assembly gives them. Names: `v3 v[0:3] a0 a[0:3] s4 s[4:7] ttmp8 vcc vcc_lo vcc_hi exec
/// exec_lo exec_hi flat_scratch xnack_mask m0 scc mode pc`.
struct RegisterRange {
  enum class File : std::uint8_t { vgpr, agpr, scalar, scalar64, scc, mode, pc };
  File file = File::vgpr;
  std::uint16_t first = 0; ///< scalar registers by their hardware encoding: 106 is vcc
  std::uint16_t count = 1;
  std::string name; ///< as given

  /// Errors: std::invalid_argument with the names there are.
  [[nodiscard]] static RegisterRange parse(std::string_view text);
};

/// One register's contents: 64 lanes for a vector register, otherwise one value in `value`.
struct RegisterValue {
  std::string name;
  std::uint64_t value = 0;
  unsigned bits = 32;               ///< 1, 32 or 64 of them mean something
  std::vector<std::uint32_t> lanes; ///< empty for scalars
};

/// Where a report comes from.
struct DebugSite {
  std::uint64_t address = 0; ///< of the instruction, as in the code object
  std::string disassembly;
  std::optional<isa::SourceLine> source;
  Extent3 workgroup{0, 0, 0};
  std::uint32_t wave = 0;
};

/// A wave is about to execute the instruction at a breakpoint.
struct BreakHit {
  DebugSite site;
  std::uint32_t hit = 1; ///< how often this wave has come here
  std::uint64_t exec = 0;
  std::vector<RegisterValue> registers; ///< what `dump` asks for, in its order
};

/// A lane has read or written watched bytes.
struct WatchHit {
  enum class Access : std::uint8_t { read, write, atomic };
  DebugSite site;
  Access access = Access::read;
  std::string watch;                       ///< `Watch::name` of what it touches
  std::uint32_t lane = 0;                  ///< 0 for scalar memory instructions
  std::uint64_t address = 0;               ///< first watched byte touched
  std::vector<std::uint8_t> before, after; ///< these bytes; the same for a read
};
/// `read`, `write` or `atomic`.
[[nodiscard]] std::string_view to_string(WatchHit::Access access);

struct Breakpoint {
  std::uint64_t address = 0; ///< of an instruction, as in the code object
  WaveFilter where = {};
};

/// `bytes` bytes of device memory, or of each workgroup's LDS.
struct Watch {
  bool lds = false;
  std::uint64_t address = 0, bytes = 4;
  WaveFilter where = {};
  std::string name = {};
};

struct DebugOptions {
  std::vector<Breakpoint> breakpoints = {};
  std::vector<RegisterRange> dump = {};
  std::vector<Watch> watches = {};
  std::uint32_t hits = 1;     ///< reports of each breakpoint and wave; 0: all
  std::uint32_t accesses = 0; ///< reports of each watch and wave; 0: all
  std::function<void(const BreakHit&)> on_break = {};
  std::function<void(const WatchHit&)> on_watch = {};
  [[nodiscard]] bool enabled() const { return !breakpoints.empty() || !watches.empty(); }
};

/// One paragraph each; a vector register is a table of 8 lanes a line.
///     break 0x1720  v_add_f32_e32 v2, s8, v2
///       in     vadd.s:15, workgroup 0,0,0, wave 0, hit 1
///       exec   0xffffffffffffffff
///       v2     0: 00000000 3f800000 ...
[[nodiscard]] std::string to_string(const BreakHit& hit);
///     write of arg1+0x8 at 0x1728  global_store_dword v1, v2, s[6:7]
///       in     workgroup 0,0,0, wave 0, lane 2
///       value  0x00000000 -> 0x40400000
[[nodiscard]] std::string to_string(const WatchHit& hit);

} // namespace inlay::runtime
