/// Looking on while the emulator executes: every wave instruction in the order in which its wave executed it, with the
/// addresses of its lanes where it touches memory. The cycle model is made of what an observer sees.
///
///     struct Count : LaunchObserver {
///       void executed(const ExecutedInstruction& e) override { ++waves[e.wave]; }
///     };
///     EmulatorDevice device(arch, {.observer = &count});
///
/// An observed launch runs on one thread, workgroup by workgroup, x fastest, so that an observer needs no locks and
/// what it sees does not depend on the host. The order between waves of a workgroup is that of their turns and means
/// nothing; the order within a wave is its program order.
#pragma once

#include <inlay/runtime/isa/program.h>

#include <array>

namespace inlay::runtime {

/// What one instruction asked of memory, lane by lane.
struct ObservedAccess {
  /// `crossbar`: ds_swizzle, ds_permute, ds_bpermute: through the LDS unit, without touching its memory.
  enum class Space : std::uint8_t { lds, crossbar, global, scratch, scalar };
  enum class Kind : std::uint8_t { load, store, atomic, to_lds };
  Space space = Space::global;
  Kind kind = Kind::load;
  std::uint64_t mask =
      0; ///< lanes that take part; of a scalar access lane 0. Lanes out of a buffer's range are not in it
  std::uint32_t bytes = 4;    ///< of one lane and one of its addresses
  bool two = false;           ///< ds_read2, ds_write2: `second` holds the other address of each lane
  std::uint32_t lds_base = 0; ///< of a load to LDS: lane l writes at lds_base + l * bytes
  std::array<std::uint64_t, 64> address{}, second{}; ///< in LDS: bytes from the workgroup's first
};

/// One wave instruction that has just been executed.
struct ExecutedInstruction {
  std::uint64_t workgroup = 0;                   ///< as a number, x fastest
  std::uint32_t wave = 0;                        ///< within the workgroup
  std::uint32_t index = 0;                       ///< in the decoded program
  std::uint32_t next = 0;                        ///< index of the one that follows in this wave
  std::uint64_t exec = 0;                        ///< lanes that were on
  const isa::Instruction* instruction = nullptr; ///< lives as long as the loaded module
  const ObservedAccess* access = nullptr;        ///< of memory instructions; of LDS: needs_lds
};

class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  /// The decoded program that the indices speak of, before the first instruction.
  virtual void begin(const isa::Program& program) { static_cast<void>(program); }
  /// Whether that workgroup is executed at all. A launch of which some are left out writes only their part of the result.
  [[nodiscard]] virtual bool wants(std::uint64_t workgroup) {
    static_cast<void>(workgroup);
    return true;
  }
  /// Whether the arithmetic of matrix instructions is done. Without it their results are unspecified, which is enough where
  /// only addresses and control flow are looked at and neither depends on them.
  [[nodiscard]] virtual bool needs_matrix_values() const { return true; }
  /// Whether instructions are executed on which neither an address nor the way through the code depends. Without it registers and
  /// memory hold other values where nothing that is executed looks at them; what is seen is the same.
  [[nodiscard]] virtual bool needs_results() const { return true; }
  /// Whether it looks at what a workgroup, which is executed, accesses in LDS. Without it `access` of such instructions is null.
  [[nodiscard]] virtual bool needs_lds(std::uint64_t workgroup) {
    static_cast<void>(workgroup);
    return true;
  }
  virtual void executed(const ExecutedInstruction& e) = 0;
};

} // namespace inlay::runtime
