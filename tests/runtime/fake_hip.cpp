// A libamdhip64 that records: one line a call, device memory on the heap, failures on demand. Built as a
// shared object with HIP's own exported names, so that the library under test opens it the way it opens the
// real one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct State {
  std::string log;
  int devices = 2, capability_minor = 4;
  std::string failing;
  int failure = 0;
  bool capturing = false;
  std::map<void*, std::string> functions;
  std::uintptr_t next = 0x100;
};
State& state() {
  static State s;
  return s;
}

void* fresh() { return reinterpret_cast<void*>(state().next += 0x10); }

int did(const char* call, const std::string& detail = {}) {
  auto& s = state();
  s.log += std::string(call) + (detail.empty() ? "" : " " + detail) + "\n";
  return s.failing == call ? s.failure : 0;
}
std::string n(std::uint64_t v) { return std::to_string(v); }
std::string kind(int k) { return k == 1 ? "h2d" : k == 2 ? "d2h" : k == 3 ? "d2d" : "?"; }
std::string on(void* stream) { return stream == nullptr ? " on 0" : " on stream"; }

} // namespace

extern "C" {

const char* fake_hip_log() { return state().log.c_str(); }
void fake_hip_reset(int devices, int capability_minor, const char* failing, int failure) {
  state() = State{};
  state().devices = devices;
  state().capability_minor = capability_minor;
  state().failing = failing;
  state().failure = failure;
}

int hipInit(unsigned) { return 0; }
int hipGetDeviceCount(int* count) {
  *count = state().devices;
  return state().devices == 0 ? 100 : 0;
}
int hipSetDevice(int d) { return d < state().devices ? 0 : 101; }
int hipDeviceGetName(char* name, int size, int d) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake Instinct %d", d);
  return 0;
}
int hipDeviceGetAttribute(int* v, int which, int) {
  switch (which) {
  case 5: *v = 2100000; break;
  case 23: *v = 9; break;
  case 61: *v = state().capability_minor; break;
  case 63: *v = 304; break;
  case 74: *v = 65536; break;
  default: return 1;
  }
  return 0;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = std::size_t{192} << 30;
  return 0;
}
int hipRuntimeGetVersion(int* v) {
  *v = 60443483;
  return 0;
}
int hipMalloc(void** p, std::size_t bytes) {
  const int code = did("hipMalloc", n(bytes));
  if (code == 0) *p = std::malloc(bytes);
  return code;
}
int hipFree(void* p) {
  std::free(p);
  return did("hipFree");
}
int hipMemcpy(void* to, const void* from, std::size_t bytes, int k) {
  std::memcpy(to, from, bytes);
  return did("hipMemcpy", kind(k) + " " + n(bytes));
}
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int k, void* stream) {
  if (!state().capturing) std::memcpy(to, from, bytes);
  return did("hipMemcpyAsync", kind(k) + " " + n(bytes) + on(stream));
}
int hipMemset(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  return did("hipMemset", n(bytes));
}
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  if (!state().capturing) std::memset(to, value, bytes);
  return did("hipMemsetAsync", n(bytes) + on(stream));
}
int hipModuleLoadData(void** m, const void* image) {
  *m = fresh();
  return did("hipModuleLoadData", std::memcmp(image, "\177ELF", 4) == 0 ? "elf" : "?");
}
int hipModuleUnload(void*) { return did("hipModuleUnload"); }
int hipModuleGetFunction(void** f, void*, const char* name) {
  *f = fresh();
  state().functions[*f] = name;
  return did("hipModuleGetFunction", name);
}
// What the C interface asks for the processor's name: anywhere after the first 256 bytes.
int hipGetDevicePropertiesR0600(void* properties, int) {
  std::memcpy(static_cast<char*>(properties) + 1160, "gfx942:sramecc+:xnack-", 23);
  return 0;
}
int hipModuleLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, void* stream, void** params, void** extra) {
  std::string d = state().functions[f];
  for (const unsigned v : {gx, gy, gz, bx, by, bz, lds}) d += " " + n(v);
  d += on(stream);
  if (params != nullptr && extra == nullptr) // the C interface: how many there are, only the kernel knows
    return did("hipModuleLaunchKernel", d + " first " + n(*static_cast<const std::uint64_t*>(params[0])));
  if (params != nullptr || extra[0] != reinterpret_cast<void*>(1) || extra[2] != reinterpret_cast<void*>(2) ||
      extra[4] != reinterpret_cast<void*>(3))
    return did("hipModuleLaunchKernel", "bad extra");
  const auto* bytes = static_cast<const std::uint8_t*>(extra[1]);
  d += " args";
  for (std::size_t i = 0; i < *static_cast<const std::size_t*>(extra[3]); ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, " %02x", bytes[i]);
    d += hex;
  }
  return did("hipModuleLaunchKernel", d);
}
int hipStreamCreateWithFlags(void** s, unsigned flags) {
  *s = fresh();
  return did("hipStreamCreateWithFlags", n(flags));
}
int hipStreamDestroy(void*) { return did("hipStreamDestroy"); }
int hipStreamSynchronize(void* s) { return did("hipStreamSynchronize", on(s)); }
int hipStreamWaitEvent(void* s, void*, unsigned) { return did("hipStreamWaitEvent", on(s)); }
int hipStreamBeginCapture(void* s, int mode) {
  state().capturing = true;
  return did("hipStreamBeginCapture", n(static_cast<unsigned>(mode)) + on(s));
}
int hipStreamEndCapture(void*, void** graph) {
  if (!state().capturing) return did("hipStreamEndCapture"), 903;
  state().capturing = false;
  *graph = fresh();
  return did("hipStreamEndCapture");
}
int hipDeviceSynchronize() { return did("hipDeviceSynchronize"); }
int hipEventCreateWithFlags(void** e, unsigned) {
  *e = fresh();
  return did("hipEventCreateWithFlags");
}
int hipEventDestroy(void*) { return did("hipEventDestroy"); }
int hipEventRecord(void*, void* s) { return did("hipEventRecord", on(s)); }
int hipEventSynchronize(void*) { return did("hipEventSynchronize"); }
int hipEventElapsedTime(float* ms, void*, void*) {
  *ms = 1.5F;
  return did("hipEventElapsedTime");
}
int hipGraphInstantiate(void** exec, void*, void**, char*, std::size_t) {
  *exec = fresh();
  return did("hipGraphInstantiate");
}
int hipGraphLaunch(void*, void* s) { return did("hipGraphLaunch", on(s)); }
int hipGraphExecDestroy(void*) { return did("hipGraphExecDestroy"); }
int hipGraphDestroy(void*) { return did("hipGraphDestroy"); }
int hipDeviceCanAccessPeer(int* can, int d, int other) {
  *can = d != other;
  return did("hipDeviceCanAccessPeer", n(static_cast<unsigned>(d)) + " " + n(static_cast<unsigned>(other)));
}
int hipDeviceEnablePeerAccess(int other, unsigned) {
  return did("hipDeviceEnablePeerAccess", n(static_cast<unsigned>(other)));
}
const char* hipGetErrorName(int code) {
  return code == 2 ? "hipErrorOutOfMemory" : code == 100 ? "hipErrorNoDevice" : "hipErrorUnknown";
}
const char* hipGetErrorString(int code) {
  return code == 2 ? "out of memory" : code == 100 ? "no ROCm-capable device is detected" : "unknown error";
}

} // extern "C"
