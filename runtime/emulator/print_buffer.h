/// The host's end of what a kernel prints through `hidden_printf_buffer`: inlay's Program::print, and HIP's printf of clang's
/// `-mprintf-kind=buffered`.
///
/// The buffer begins with the bytes in use and the bytes in all, 4 bytes each; then come records: their bytes times four, with 2 for a
/// constant text and 1 for standard error; the number of a text, of 8 bytes, or the text itself, ended by a zero and filled up to 8;
/// arguments of 8 bytes.
///
/// Layout: LLVM, `AMDGPUEmitPrintf.cpp`; ROCm CLR, `device/rocm/rocprintf.cpp` and `device/devkernel.cpp`; those of ROCm 6 and 7.
#pragma once

#include "host_calls.h"

#include <span>

namespace inlay::runtime::emulator {

class PrintBuffer {
public:
  /// `texts`: CodeObject::prints. Errors: std::bad_alloc.
  PrintBuffer(MemoryMap& memory, std::span<const std::string> texts);
  ~PrintBuffer() { memory_.release(at_); }
  PrintBuffer(const PrintBuffer&) = delete;
  PrintBuffer& operator=(const PrintBuffer&) = delete;

  /// What the kernel's argument has to be.
  [[nodiscard]] std::uint64_t buffer() const { return at_; }
  enum class Until : std::uint8_t {
    now,    ///< a wave may be about to write a record: it and those behind it are left for later
    broken, ///< the launch has ended with an error: they are left out
    end
  };
  /// Prints what has been written since the last time, in the order in which it was. Errors: std::invalid_argument: no record.
  void print(const HostCalls::Print& print, Until until);

private:
  MemoryMap& memory_;
  std::uint64_t at_ = 0;
  std::uint32_t printed_ = 0;                                ///< bytes of records
  bool full_ = false;                                        ///< or was
  std::vector<std::pair<std::uint64_t, std::string>> texts_; ///< number, text
};

} // namespace inlay::runtime::emulator
