/// Private: numbers and structures of HIP's binary interface, as its callers pass them. Nothing of ROCm's headers is included; where
/// those are installed, tests/hip/headers_test.cpp holds these against them.
///
/// Source: github.com/ROCm/HIP, include/hip/hip_runtime_api.h and driver_types.h, commit c5e11fc (6.3), and Debian's libamdhip64-dev
/// 5.2.3 for what was before version 6.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inlay::hip {

/// hipError_t values that this library returns.
enum Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  invalid_configuration = 9,
  invalid_symbol = 13,
  invalid_device_pointer = 17,
  invalid_memcpy_direction = 21,
  invalid_device_function = 98,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  unsupported_limit = 215,
  file_not_found = 301,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  peer_access_already_enabled = 704,
  peer_access_not_enabled = 705,
  launch_failure = 719,
  cooperative_launch_too_large = 720,
  not_supported = 801,
  capture_unmatched = 903,
  capture_implicit = 906,
  unknown = 999,
};

struct Dim3 {
  std::uint32_t x, y, z;
};

/// hipDeviceArch_t: 32 bits of abilities.
using ArchBits = std::uint32_t;

/// hipDeviceProp_tR0600: versions 6 and later.
struct DeviceProperties6 {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int textures[40];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
      unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize,
      maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess,
      computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch,
      cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported,
      timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers,
      reserved[63], hipReserved[32];
  char gcnArchName[256];
  std::size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  ArchBits arch;
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  int cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim,
      cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem, isLargeBar,
      asicRevision;
};

/// hipDeviceProp_t before version 6, hipDeviceProp_tR0000 since.
struct DeviceProperties5 {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate,
      memoryClockRate, memoryBusWidth;
  std::size_t totalConstMem;
  int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode,
      clockInstructionRate;
  ArchBits arch;
  int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard, canMapHostMemory, gcnArch;
  char gcnArchName[256];
  int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch, textures[6];
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  std::size_t memPitch, textureAlignment, texturePitchAlignment;
  int kernelExecTimeoutEnabled, ECCEnabled, tccDriver, cooperativeMultiDeviceUnmatchedFunc,
      cooperativeMultiDeviceUnmatchedGridDim, cooperativeMultiDeviceUnmatchedBlockDim,
      cooperativeMultiDeviceUnmatchedSharedMem, isLargeBar, asicRevision, managedMemory,
      directManagedMemAccessFromHost, concurrentManagedAccess, pageableMemoryAccess,
      pageableMemoryAccessUsesHostPageTables;
};

/// hipFuncAttributes
struct FunctionAttributes {
  int binaryVersion, cacheModeCA;
  std::size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  std::size_t sharedSizeBytes;
};

/// hipPointerAttribute_t of version 6; `type`: 0 unregistered, 1 host, 2 device, 3 managed.
struct PointerAttributes {
  int type, device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

/// hipKernelNodeParams, hipMemsetParams, hipHostNodeParams
struct KernelNode {
  Dim3 blockDim;
  void** extra;
  void* func;
  Dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct MemsetNode {
  void* dst;
  unsigned elementSize;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;
};
struct HostNode {
  void (*fn)(void*);
  void* userData;
};

/// hipLaunchConfig_t of hipLaunchKernelExC, and HIP_LAUNCH_CONFIG of hipDrvLaunchKernelEx.
struct LaunchConfig {
  Dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  void *stream, *attributes;
  unsigned attributeCount;
};
struct DriverLaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void *stream, *attributes;
  unsigned attributeCount;
};

/// What `__hipRegisterFatBinary` is given: clang's wrapper around an offload bundle.
struct FatBinary {
  std::uint32_t magic, version;
  const void* binary;
  void* unused;
};
inline constexpr std::uint32_t fat_binary_magic = 0x48495046; // "HIPF"

/// Markers of the `extra` argument of a launch.
inline constexpr std::uintptr_t launch_buffer = 1, launch_buffer_size = 2, launch_end = 3;

} // namespace inlay::hip
