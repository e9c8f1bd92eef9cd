// Structures and numbers of hip/abi.h against HIP's own headers, where those are installed.
#include "abi.h"

#include <catch2/catch.hpp>

// Of HIP 6 and 7 (hipDeviceProp_tR0600), as their own headers have them.
TEST_CASE("structures have the sizes and places of HIP's") {
  using P = inlay::hip::DeviceProperties6;
  CHECK(sizeof(P) == 1472);
  CHECK(offsetof(P, totalGlobalMem) == 288);
  CHECK(offsetof(P, warpSize) == 308);
  CHECK(offsetof(P, multiProcessorCount) == 388);
  CHECK(offsetof(P, surfaceAlignment) == 568);
  CHECK(offsetof(P, maxThreadsPerMultiProcessor) == 624);
  CHECK(offsetof(P, cooperativeLaunch) == 688);
  CHECK(offsetof(P, sharedMemPerBlockOptin) == 696);
  CHECK(offsetof(P, gcnArchName) == 1160);
  CHECK(offsetof(P, asicRevision) == 1468);
}

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop

namespace hip = inlay::hip;

TEST_CASE("HIP's headers: structures have the same sizes and places") {
#if HIP_VERSION_MAJOR >= 6
  using Ours = hip::DeviceProperties6;
  CHECK(offsetof(Ours, sharedMemPerBlockOptin) == offsetof(hipDeviceProp_t, sharedMemPerBlockOptin));
#else
  using Ours = hip::DeviceProperties5;
#endif
  CHECK(sizeof(Ours) == sizeof(hipDeviceProp_t));
  CHECK(offsetof(Ours, totalGlobalMem) == offsetof(hipDeviceProp_t, totalGlobalMem));
  CHECK(offsetof(Ours, warpSize) == offsetof(hipDeviceProp_t, warpSize));
  CHECK(offsetof(Ours, multiProcessorCount) == offsetof(hipDeviceProp_t, multiProcessorCount));
  CHECK(offsetof(Ours, gcnArchName) == offsetof(hipDeviceProp_t, gcnArchName));
  CHECK(offsetof(Ours, asicRevision) == offsetof(hipDeviceProp_t, asicRevision));
  CHECK(offsetof(Ours, arch) == offsetof(hipDeviceProp_t, arch));
  CHECK(sizeof(hip::FunctionAttributes) == sizeof(hipFuncAttributes));
  CHECK(sizeof(hip::KernelNode) == sizeof(hipKernelNodeParams));
  CHECK(sizeof(hip::MemsetNode) == sizeof(hipMemsetParams));
}

TEST_CASE("HIP's headers: numbers") {
  CHECK(hip::not_supported == hipErrorNotSupported);
  CHECK(hip::no_binary_for_gpu == hipErrorNoBinaryForGpu);
  CHECK(hip::launch_failure == hipErrorLaunchFailure);
  CHECK(87 == hipDeviceAttributeWarpSize);
  CHECK(63 == hipDeviceAttributeMultiprocessorCount);
  CHECK(74 == hipDeviceAttributeMaxSharedMemoryPerBlock);
}
#else
TEST_CASE("HIP's headers are not installed: structures are not compared") { SUCCEED(); }
#endif
