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
  /// Prints what is there: Program::print's lines in the order of their workgroups, and those of a workgroup and all others in the order
  /// in which they were written. `broken_off`: a wave may have been about to write a record; it and those behind it are left out.
  /// Errors: std::invalid_argument: no record, and not broken off.
  void drain(const HostCalls::Print& print, bool broken_off);

private:
  MemoryMap& memory_;
  std::uint64_t at_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> texts_; ///< number, text
};

} // namespace inlay::runtime::emulator
