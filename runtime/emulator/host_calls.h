/// The host's end of what a kernel asks for through `hidden_hostcall_buffer`: printf, also that of assert.
///
/// A wave takes a packet from the free stack, writes a service and eight words a lane into it, pushes it onto the ready stack, and
/// polls its control word, asleep between two looks. So whatever is ready is answered at each s_sleep.
///
/// Layout: ROCm device libraries, `ockl/src/hostcall_impl.cl` and `services.cl`; ROCm CLR, `device/devhostcall.hpp` and
/// `devhcmessages.cpp`; those of ROCm 5 to 7.
#pragma once

#include "memory_map.h"

#include <functional>
#include <string>
#include <string_view>

namespace inlay::runtime::emulator {

/// printf of a format and its arguments as a kernel sends them: words of 64 bits, the text of the format first, each text ended by a
/// zero and filled up to a word. What asks for more arguments than there are ends the text, as in ROCm.
///
///     {"%d of %s\n", 3, "five"} -> "3 of five\n"
[[nodiscard]] std::string printed(const std::vector<std::uint64_t>& words);

class HostCalls {
public:
  using Print = std::function<void(std::string_view text, bool to_stderr)>;
  /// `waves`: so many at most have a request at a time. Errors: std::bad_alloc.
  HostCalls(MemoryMap& memory, std::uint64_t waves, Print print);
  ~HostCalls() { memory_.release(at_); }
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;

  /// What the kernel's argument has to be.
  [[nodiscard]] std::uint64_t buffer() const { return at_; }
  /// Answers what is ready, in the order in which it came. Whether there was anything.
  /// Errors: std::invalid_argument: a service that nobody offers here.
  bool answer();

private:
  struct Buffer;
  struct Header;
  void answer_lane(std::uint32_t service, std::uint64_t* slot);

  MemoryMap& memory_;
  Print print_;
  std::uint64_t at_ = 0;
  std::mutex mutex_;
  std::vector<std::vector<std::uint64_t>> messages_; ///< by number: what came of each so far
  std::vector<std::uint64_t> free_;                  ///< numbers of no message
};

} // namespace inlay::runtime::emulator
