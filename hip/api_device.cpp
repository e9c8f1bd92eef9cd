// HIP: devices, attributes, contexts, errors.
#include "state.h"

#include <cstring>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/report.h>

using namespace inlay::hip;

namespace {

std::string device_name() { return std::string(target().marketing_name) + " (inlay emulator)"; }

template <class Properties>
void common(Properties& p, int ordinal) {
  const inlay::machine::Target& t = target();
  std::memset(&p, 0, sizeof p);
  std::strncpy(p.name, device_name().c_str(), sizeof p.name - 1);
  std::strncpy(p.gcnArchName, (std::string(t.name) + ":sramecc+:xnack-").c_str(), sizeof p.gcnArchName - 1);
  p.totalGlobalMem = t.memory_bytes;
  p.sharedMemPerBlock = static_cast<std::size_t>(t.lds_bytes);
  p.regsPerBlock = 65536;
  p.warpSize = 64;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = 1024;
  for (int& d : p.maxThreadsDim) d = 1024;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.clockRate = t.clock_mhz * 1000;
  p.totalConstMem = 2147483647;
  p.major = t.version_major;
  p.minor = t.version_minor;
  p.multiProcessorCount = t.compute_units;
  p.canMapHostMemory = p.concurrentKernels = p.managedMemory = p.pageableMemoryAccess =
      p.concurrentManagedAccess = p.cooperativeLaunch = 1;
  p.pciBusID = ordinal;
  p.memoryClockRate = 1300000;
  p.memoryBusWidth = 8192;
  p.l2CacheSize = 4 << 20;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxSharedMemoryPerMultiProcessor = static_cast<std::size_t>(t.lds_bytes);
  p.clockInstructionRate = 100000;
  p.isLargeBar = 1;
  p.textureAlignment = p.texturePitchAlignment = 256;
  p.arch = 0x7ffff;
}

/// hipDeviceAttribute_t; the others are 0.
int attribute(int number, int ordinal) {
  const inlay::machine::Target& t = target();
  switch (number) {
  case 2: return 2; // AsyncEngineCount
  case 3:
  case 4:
  case 8:
  case 9:
  case 10:
  case 13:
  case 15:
  case 24:
  case 66:
  case 76:
  case 82: return 1;                 // abilities
  case 5: return t.clock_mhz * 1000; // ClockRate
  case 19: return 4 << 20;           // L2CacheSize
  case 23: return t.version_major;
  case 25: return 32; // MaxBlocksPerMultiProcessor
  case 26:
  case 27:
  case 28:
  case 55:
  case 56: return 1024;       // MaxBlockDim, MaxThreadsDim, MaxThreadsPerBlock
  case 29: return 2147483647; // MaxGridDimX
  case 30:
  case 31: return 65536;
  case 57: return 2048;       // MaxThreadsPerMultiProcessor
  case 58: return 2147483647; // MaxPitch
  case 59: return 8192;       // MemoryBusWidth
  case 60: return 1300000;    // MemoryClockRate
  case 61: return t.version_minor;
  case 63:
  case 10015: return t.compute_units; // MultiprocessorCount, PhysicalMultiProcessorCount
  case 67: return ordinal;            // PciBusId
  case 71:
  case 72: return 65536; // registers
  case 74:
  case 75:
  case 10002: return t.lds_bytes; // LDS of a block, of a compute unit
  case 84: return 2147483647;     // TotalConstantMemory
  case 85: return 2147483647;     // TotalGlobalMem, as far as an int goes
  case 87: return 64;             // WarpSize
  case 88:
  case 90: return 1;         // MemoryPools, HostRegister
  case 10000: return 100000; // ClockInstructionRate
  case 10011:
  case 10016: return 1;      // IsLargeBar, FineGrainSupport
  case 10017: return 100000; // WallClockRate
  default: return 0;
  }
}

struct Named {
  int code;
  const char *name, *text;
};
constexpr Named errors[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "initialization error"},
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {13, "hipErrorInvalidSymbol", "invalid device symbol"},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {215, "hipErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {301, "hipErrorFileNotFound", "file not found"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {401, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {600, "hipErrorNotReady", "device not ready"},
    {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {704, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {712, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {801, "hipErrorNotSupported", "operation not supported"},
    {903, "hipErrorStreamCaptureUnmatched", "the capture was not initiated in this stream"},
    {906, "hipErrorStreamCaptureImplicit", "operation not permitted when stream is capturing"},
    {999, "hipErrorUnknown", "unknown error"},
};
const Named& named(int code) {
  for (const Named& e : errors)
    if (e.code == code) return e;
  return errors[std::size(errors) - 1];
}

int primary_context(void** out, int ordinal) {
  return guarded("hipDevicePrimaryCtxRetain", [&] { *out = &State::get().device(ordinal); });
}
/// A context is its device.
int ordinal_of(void* context) {
  const auto& devices = State::get().devices;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].get() == context) return static_cast<int>(i);
  throw HipError(invalid_context, "this is no context");
}

} // namespace

#define CALL(...) return guarded(__func__, [&] { __VA_ARGS__; })

extern "C" {

int hipInit(unsigned) { CALL(); }
int hipDriverGetVersion(int* v) { return *v = 60443483, success; }
int hipRuntimeGetVersion(int* v) { return *v = 60443483, success; }
int hipGetDeviceCount(int* n) { CALL(*n = static_cast<int>(State::get().devices.size())); }
int hipGetDevice(int* n) { CALL(*n = current_device()); }
int hipSetDevice(int n) { CALL((void)State::get().device(n); current_device() = n); }
int hipSetValidDevices(int*, int) { return success; }
int hipDeviceGet(int* out, int ordinal) { CALL((void)State::get().device(ordinal); *out = ordinal); }
int hipDeviceComputeCapability(int* major, int* minor, int) {
  CALL(*major = target().version_major; *minor = target().version_minor);
}
int hipDeviceGetName(char* out, int bytes, int ordinal) {
  CALL((void)State::get().device(ordinal);
       std::strncpy(out, device_name().c_str(), static_cast<std::size_t>(bytes)); out[bytes - 1] = 0);
}
int hipDeviceGetUuid(char* out, int ordinal) {
  CALL((void)State::get().device(ordinal); std::memset(out, 0, 16); out[15] = static_cast<char>(ordinal));
}
int hipDeviceGetPCIBusId(char* out, int bytes, int ordinal) {
  CALL((void)State::get().device(ordinal);
       std::snprintf(out, static_cast<std::size_t>(bytes), "0000:%02x:00.0", ordinal));
}
int hipDeviceGetByPCIBusId(int* out, const char* id) {
  CALL(const int n = std::strlen(id) > 6 ? static_cast<int>(std::strtol(id + 5, nullptr, 16)) : -1;
       (void)State::get().device(n); *out = n);
}
int hipDeviceTotalMem(std::size_t* out, int ordinal) {
  CALL((void)State::get().device(ordinal); *out = target().memory_bytes);
}
int hipDeviceGetAttribute(int* out, int which, int ordinal) {
  CALL((void)State::get().device(ordinal); *out = attribute(which, ordinal));
}
int hipGetDevicePropertiesR0600(DeviceProperties6* p, int ordinal) {
  return guarded("hipGetDeviceProperties", [&] {
    (void)State::get().device(ordinal);
    common(*p, ordinal);
    p->regsPerMultiprocessor = 65536;
    p->sharedMemPerMultiprocessor = p->sharedMemPerBlockOptin = p->sharedMemPerBlock;
    p->unifiedAddressing = p->asyncEngineCount = p->streamPrioritiesSupported = p->hostNativeAtomicSupported =
        1;
    p->maxBlocksPerMultiProcessor = 32;
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    p->uuid[15] = static_cast<char>(ordinal);
  });
}
int hipGetDevicePropertiesR0000(DeviceProperties5* p, int ordinal) {
  return guarded("hipGetDeviceProperties", [&] {
    (void)State::get().device(ordinal);
    common(*p, ordinal);
    p->gcnArch =
        100 * target().version_major + 10 * target().version_minor +
        std::stoi(std::string(1, target().name.back()), nullptr, 16); // the last digit is hexadecimal
  });
}
int hipGetDeviceProperties(DeviceProperties5* p, int ordinal) {
  return hipGetDevicePropertiesR0000(p, ordinal);
}

int hipDeviceSynchronize() { CALL(wait(current_device())); }
int hipDeviceReset() { CALL(wait(current_device())); }
int hipSetDeviceFlags(unsigned) { return success; }
int hipGetDeviceFlags(unsigned* out) { return *out = 0, success; }
int hipDeviceSetCacheConfig(int) { return success; }
int hipDeviceGetCacheConfig(int* out) { return *out = 0, success; }
int hipDeviceSetSharedMemConfig(int) { return success; }
int hipDeviceGetSharedMemConfig(int* out) { return *out = 0, success; }
int hipDeviceGetLimit(std::size_t* out, int which) {
  CALL(if (which > 2) throw HipError(unsupported_limit, "limit " + std::to_string(which));
       *out = which == 0 ? 16384 : 0);
}
int hipDeviceSetLimit(int which, std::size_t bytes) {
  CALL(if (which != 0) throw HipError(unsupported_limit, "only the stack of kernels is here");
       State::get().device(current_device()).emulator->options().dynamic_stack =
           static_cast<std::uint32_t>(bytes));
}
int hipDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -1, success; }

int hipDeviceCanAccessPeer(int* out, int a, int b) {
  CALL((void)State::get().device(a); (void)State::get().device(b); *out = a != b ? 1 : 0);
}
int hipDeviceGetP2PAttribute(int* out, int, int a, int b) { return hipDeviceCanAccessPeer(out, a, b); }
int hipExtGetLinkTypeAndHopCount(int a, int b, std::uint32_t* type, std::uint32_t* hops) {
  CALL((void)State::get().device(a); (void)State::get().device(b); *type = 4; *hops = 1); // xGMI
}
int hipDeviceEnablePeerAccess(int other, unsigned) {
  CALL(State& s = State::get(); (void)s.device(other); Device& d = s.device(current_device());
       if (other == current_device()) throw HipError(invalid_device, "a device is no peer of its own");
       if (!d.peers.insert(other).second) throw HipError(peer_access_already_enabled,
                                                         "device " + std::to_string(other));
       const std::lock_guard lock(d.mutex);
       for (const auto& [begin, m]
            : s.memory) if (m.device == other && m.kind == Memory::Kind::device)
           d.emulator->share(begin, std::max<std::uint64_t>(1, m.bytes)));
}
int hipDeviceDisablePeerAccess(int other) {
  CALL(State& s = State::get(); Device& d = s.device(current_device());
       if (d.peers.erase(other) == 0) throw HipError(peer_access_not_enabled,
                                                     "device " + std::to_string(other));
       wait(current_device()); const std::lock_guard lock(d.mutex);
       for (const auto& [begin, m]
            : s.memory) if (m.device == other && m.kind == Memory::Kind::device) d.emulator->release(begin));
}

int hipDevicePrimaryCtxRetain(void** out, int ordinal) { return primary_context(out, ordinal); }
int hipDevicePrimaryCtxRelease(int) { return success; }
int hipDevicePrimaryCtxReset(int) { return success; }
int hipDevicePrimaryCtxSetFlags(int, unsigned) { return success; }
int hipDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  return *flags = 0, *active = 1, success;
}
int hipCtxCreate(void** out, unsigned, int ordinal) {
  CALL(*out = &State::get().device(ordinal); current_device() = ordinal);
}
int hipCtxDestroy(void*) { return success; }
int hipCtxGetCurrent(void** out) { CALL(*out = &State::get().device(current_device())); }
int hipCtxSetCurrent(void* context) { CALL(if (context != nullptr) current_device() = ordinal_of(context)); }
int hipCtxPushCurrent(void* context) { CALL(current_device() = ordinal_of(context)); }
int hipCtxPopCurrent(void** out) { CALL(if (out != nullptr)* out = &State::get().device(current_device())); }
int hipCtxGetDevice(int* out) { CALL(*out = current_device()); }
int hipCtxGetFlags(unsigned* out) { return *out = 0, success; }
int hipCtxGetApiVersion(void*, int* out) { return *out = 4, success; }
int hipCtxSynchronize() { CALL(wait(current_device())); }

int hipGetLastError() {
  const int e = last_error();
  last_error() = success;
  return e;
}
int hipExtGetLastError() { return hipGetLastError(); }
int hipPeekAtLastError() { return last_error(); }
const char* hipGetErrorName(int code) { return named(code).name; }
/// HIP's text, and after it what was wrong where that was this thread's last failure.
const char* hipGetErrorString(int code) {
  thread_local std::string text;
  text = named(code).text;
  if (code != success && !last_text().empty()) text += ": " + last_text();
  return text.c_str();
}
int hipDrvGetErrorName(int code, const char** out) { return *out = hipGetErrorName(code), success; }
int hipDrvGetErrorString(int code, const char** out) { return *out = hipGetErrorString(code), success; }
int hipProfilerStart() { return success; }
int hipProfilerStop() { return success; }

} // extern "C"
