/// Arrays of the host for one launch, with gaps around them.
#pragma once

#include <inlay/runtime/emulator.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace inlay::runtime {

/// [begin, end) of memory.
using MemoryRange = std::pair<std::uint64_t, std::uint64_t>;

/// Memory of the host that a launch uses where it lies (EmulatorDevice::share) has no gaps around it: an access past the end of one array
/// may be one of the next. An allocation of the emulator has 64 KiB on each side, or its own size. These are copies with such gaps, of as
/// many arrays as are added: the launch gets their addresses, and its arrays are as it leaves them after `write_back`.
///
///     GuardedCopies copies(device);
///     copies.add({x, x + 4096});                 // device.share(x, 4096) was called before
///     launch(copies.address(x + 16));            // a finding there is of these 4096 bytes alone
///     copies.write_back();                       // what the launch changed, byte by byte
///
/// Until it is destroyed the array itself belongs to nobody. A copy begins at the same distance from a page as its array: alignment is the same.
class GuardedCopies {
public:
  explicit GuardedCopies(EmulatorDevice& device) : device_(device) {}
  ~GuardedCopies();
  GuardedCopies(const GuardedCopies&) = delete;
  GuardedCopies& operator=(const GuardedCopies&) = delete;

  /// Errors: DeviceError when the range is not what was shared; std::bad_alloc.
  void add(MemoryRange array);
  /// Where a launch finds what lies at this address: in a copy, or there.
  [[nodiscard]] std::uint64_t address(std::uint64_t at) const;
  void write_back();

private:
  struct Copy {
    MemoryRange array;
    std::uint64_t begin = 0; ///< of the copy
    void* mapping = nullptr;
    std::uint64_t mapped = 0;
  };
  EmulatorDevice& device_;
  std::vector<Copy> copies_;
};

/// Arrays whose copies would leave no two ranges nearer to each other than allocations are; small ones rather than large ones. `ranges`: all
/// that there are, `arrays` among them.
[[nodiscard]] std::vector<MemoryRange> without_gaps(std::vector<MemoryRange> arrays,
                                                    std::vector<MemoryRange> ranges);

} // namespace inlay::runtime
