/// Private: libamdhip64 as a table of functions.
///
/// Handles are void* and enumerators int, as in the library's C interface; the numbers used are checked
/// against HIP's own headers in tests/runtime/hip_test.cpp where those are installed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace inlay::runtime::hip {

/// Numbers of HIP's interface, the same in 5, 6 and 7.
enum Number : int {
  success = 0,
  no_device = 100,
  peer_access_already_enabled = 704,
  attribute_clock_rate = 5, // kHz
  attribute_capability_major = 23,
  attribute_capability_minor = 61,
  attribute_compute_units = 63,
  attribute_lds_bytes = 74,
  host_to_device = 1,
  device_to_host = 2,
  device_to_device = 3,
  stream_non_blocking = 1,
  capture_thread_local = 1,
};

/// Markers of the `extra` argument of hipModuleLaunchKernel.
inline constexpr std::size_t launch_buffer_pointer = 1, launch_buffer_size = 2, launch_end = 3;

#define INLAY_HIP_FUNCTIONS(F)                                                                               \
  F(hipInit, unsigned)                                                                                       \
  F(hipGetDeviceCount, int*)                                                                                 \
  F(hipSetDevice, int)                                                                                       \
  F(hipDeviceGetName, char*, int, int)                                                                       \
  F(hipDeviceGetAttribute, int*, int, int)                                                                   \
  F(hipDeviceTotalMem, std::size_t*, int)                                                                    \
  F(hipRuntimeGetVersion, int*)                                                                              \
  F(hipMalloc, void**, std::size_t)                                                                          \
  F(hipFree, void*)                                                                                          \
  F(hipMemcpy, void*, const void*, std::size_t, int)                                                         \
  F(hipMemcpyAsync, void*, const void*, std::size_t, int, void*)                                             \
  F(hipMemset, void*, int, std::size_t)                                                                      \
  F(hipMemsetAsync, void*, int, std::size_t, void*)                                                          \
  F(hipModuleLoadData, void**, const void*)                                                                  \
  F(hipModuleUnload, void*)                                                                                  \
  F(hipModuleGetFunction, void**, void*, const char*)                                                        \
  F(hipModuleLaunchKernel, void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,      \
    void*, void**, void**)                                                                                   \
  F(hipStreamCreateWithFlags, void**, unsigned)                                                              \
  F(hipStreamDestroy, void*)                                                                                 \
  F(hipStreamSynchronize, void*)                                                                             \
  F(hipStreamWaitEvent, void*, void*, unsigned)                                                              \
  F(hipStreamBeginCapture, void*, int)                                                                       \
  F(hipStreamEndCapture, void*, void**)                                                                      \
  F(hipDeviceSynchronize)                                                                                    \
  F(hipEventCreateWithFlags, void**, unsigned)                                                               \
  F(hipEventDestroy, void*)                                                                                  \
  F(hipEventRecord, void*, void*)                                                                            \
  F(hipEventSynchronize, void*)                                                                              \
  F(hipEventElapsedTime, float*, void*, void*)                                                               \
  F(hipGraphInstantiate, void**, void*, void**, char*, std::size_t)                                          \
  F(hipGraphLaunch, void*, void*)                                                                            \
  F(hipGraphExecDestroy, void*)                                                                              \
  F(hipGraphDestroy, void*)                                                                                  \
  F(hipDeviceCanAccessPeer, int*, int, int)                                                                  \
  F(hipDeviceEnablePeerAccess, int, unsigned)

/// The opened library. Stays open for the life of the process: HIP does not survive being closed.
struct Library {
  std::string name;
#define INLAY_HIP_MEMBER(function, ...) int (*function)(__VA_ARGS__) = nullptr;
  INLAY_HIP_FUNCTIONS(INLAY_HIP_MEMBER)
#undef INLAY_HIP_MEMBER
  const char* (*hipGetErrorName)(int) = nullptr;
  const char* (*hipGetErrorString)(int) = nullptr;

  /// "hipErrorNoDevice: no ROCm-capable device is detected"
  [[nodiscard]] std::string text(int code) const;
};

/// Opens the library. On failure returns nullptr and says why.
[[nodiscard]] std::shared_ptr<const Library> open_library(const std::string& name, std::string& why_not);

} // namespace inlay::runtime::hip
