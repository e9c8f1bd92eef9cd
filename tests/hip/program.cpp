// A small HIP program: what it calls, and in which order, is what a user's would. `program MODULE.hsaco WHAT`; exit 0 when all that it
// computed is right. Linked against libamdhip64, of which it knows the C interface alone.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <inlay_hip.h>
#include <string>
#include <vector>

extern "C" {
int hipInit(unsigned);
int hipGetDeviceCount(int*);
int hipSetDevice(int);
int hipDeviceGetAttribute(int*, int, int);
int hipDeviceSynchronize();
int hipGetLastError();
const char* hipGetErrorName(int);
const char* hipGetErrorString(int);
int hipMalloc(void**, std::size_t);
int hipFree(void*);
int hipHostMalloc(void**, std::size_t, unsigned);
int hipHostFree(void*);
int hipMemcpy(void*, const void*, std::size_t, int);
int hipMemcpyAsync(void*, const void*, std::size_t, int, void*);
int hipMemset(void*, int, std::size_t);
int hipHostRegister(void*, std::size_t, unsigned);
int hipModuleLoad(void**, const char*);
int hipModuleGetFunction(void**, void*, const char*);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void**, void**);
int hipModuleLaunchCooperativeKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, void*, void**);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int*, void*, int, std::size_t);
int hipStreamCreate(void**);
int hipStreamDestroy(void*);
int hipStreamSynchronize(void*);
int hipStreamBeginCapture(void*, int);
int hipStreamEndCapture(void*, void**);
int hipStreamWaitEvent(void*, void*, unsigned);
int hipEventCreate(void**);
int hipEventDestroy(void*);
int hipEventRecord(void*, void*);
int hipEventSynchronize(void*);
int hipEventElapsedTime(float*, void*, void*);
int hipGraphInstantiate(void**, void*, void**, char*, std::size_t);
int hipGraphLaunch(void*, void*);
int hipGraphGetNodes(void*, void**, std::size_t*);
int hipGraphExecDestroy(void*);
int hipGraphDestroy(void*);
int hipDeviceCanAccessPeer(int*, int, int);
int hipDeviceEnablePeerAccess(int, unsigned);
int hipIpcGetMemHandle(void*, void*);
}

namespace {

void need(int code, const char* what) {
  if (code == 0) return;
  std::printf("%s: %s (%s)\n", what, hipGetErrorName(code), hipGetErrorString(code));
  std::exit(3);
}
#define NEED(call) need(call, #call)

void expect(bool yes, const char* what) {
  if (yes) return;
  std::printf("wrong: %s\n", what);
  std::exit(4);
}

void* module_ = nullptr;

void* function(const char* name) {
  void* f = nullptr;
  NEED(hipModuleGetFunction(&f, module_, name));
  return f;
}

int launch(const char* name, unsigned grid, unsigned block, void* a, void* b, std::uint32_t n,
           void* stream = nullptr) {
  void* values[] = {&a, &b, &n};
  return hipModuleLaunchKernel(function(name), grid, 1, 1, block, 1, 1, 0, stream, values, nullptr);
}

template <class T = void>
T* device_memory(std::size_t bytes) {
  void* p = nullptr;
  NEED(hipMalloc(&p, bytes));
  return static_cast<T*>(p);
}

/// b = a + 5 on `grid` workgroups of 64, whose buffers hold `count` numbers.
void add(unsigned grid, std::size_t count) {
  std::vector<std::uint32_t> x(count), y(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<std::uint32_t>(i);
  void *a = device_memory(4 * count), *b = device_memory(4 * count);
  NEED(hipMemcpy(a, x.data(), 4 * count, 1));
  NEED(launch("add", grid, 64, a, b, 5));
  NEED(hipDeviceSynchronize());
  NEED(hipMemcpy(y.data(), b, 4 * count, 2));
  for (std::size_t i = 0; i < count; ++i) expect(y[i] == i + 5, "b = a + 5");
  NEED(hipFree(a));
  NEED(hipFree(b));
}

void graph() {
  void *stream = nullptr, *other = nullptr, *fork = nullptr, *join = nullptr, *g = nullptr, *e = nullptr;
  NEED(hipStreamCreate(&stream));
  NEED(hipStreamCreate(&other));
  NEED(hipEventCreate(&fork));
  NEED(hipEventCreate(&join));
  void *a = device_memory(256), *b = device_memory(256), *c = device_memory(256);
  NEED(hipMemset(a, 0, 256));
  NEED(hipStreamBeginCapture(stream, 0));
  NEED(launch("add", 1, 64, a, b, 1, stream)); // b = a + 1
  NEED(hipEventRecord(fork, stream));
  NEED(hipStreamWaitEvent(other, fork, 0));
  NEED(launch("add", 1, 64, b, c, 10, other)); // c = b + 10, on another stream of the capture
  NEED(hipEventRecord(join, other));
  NEED(hipStreamWaitEvent(stream, join, 0));
  NEED(hipMemcpyAsync(a, c, 256, 3, stream)); // a = c
  NEED(hipStreamEndCapture(stream, &g));
  std::size_t nodes = 0;
  NEED(hipGraphGetNodes(g, nullptr, &nodes));
  expect(nodes >= 3, "nodes of the graph");
  std::uint32_t before[64];
  NEED(hipMemcpy(before, a, 256, 2));
  expect(before[0] == 0, "a capture runs nothing");
  NEED(hipEventDestroy(fork)); // a graph outlives the events of its capture
  NEED(hipEventDestroy(join));
  NEED(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) NEED(hipGraphLaunch(e, stream));
  NEED(hipStreamSynchronize(stream));
  std::uint32_t after[64];
  NEED(hipMemcpy(after, a, 256, 2));
  for (const std::uint32_t v : after) expect(v == 33, "three replays of + 11");
  NEED(hipGraphExecDestroy(e));
  NEED(hipGraphDestroy(g));
  float milliseconds = -1;
  NEED(hipEventCreate(&fork));
  NEED(hipEventCreate(&join));
  NEED(hipEventRecord(fork, stream));
  NEED(hipEventRecord(join, stream));
  NEED(hipEventSynchronize(join));
  NEED(hipEventElapsedTime(&milliseconds, fork, join));
  expect(milliseconds >= 0, "time between events");
  expect(hipStreamDestroy(stream) == 0 && hipStreamSynchronize(stream) == 400, "a stream that was destroyed");
}

/// Device 0 waits for a flag in the memory of device 1, which is set by a kernel there, launched after it.
void peers(bool access) {
  int count = 0, can = 0;
  NEED(hipGetDeviceCount(&count));
  expect(count == 2, "two devices");
  NEED(hipDeviceCanAccessPeer(&can, 0, 1));
  expect(can == 1, "peers can be accessed");
  NEED(hipSetDevice(1));
  auto* flag = device_memory<std::uint32_t>(4);
  NEED(hipMemset(flag, 0, 4));
  NEED(hipSetDevice(0));
  if (access) NEED(hipDeviceEnablePeerAccess(1, 0));
  if (access) expect(hipDeviceEnablePeerAccess(1, 0) == 704, "enabled twice");
  auto* out = device_memory<std::uint32_t>(4);
  NEED(launch("await", 1, 64, flag, out, 0)); // returns at once
  NEED(hipSetDevice(1));
  NEED(launch("signal", 1, 64, nullptr, flag, 7));
  NEED(hipDeviceSynchronize());
  NEED(hipSetDevice(0));
  NEED(hipDeviceSynchronize());
  std::uint32_t got = 0;
  NEED(hipMemcpy(&got, out, 4, 2));
  expect(got == 7, "what device 1 signalled");
}

void host_errors() {
  auto* a = device_memory<char>(64);
  char bytes[128] = {};
  expect(hipMemcpy(a, bytes, 65, 1) == 1, "a copy beyond a buffer");
  expect(std::strstr(hipGetErrorString(1), "65 bytes from byte 0 of a buffer of 64 end 1 beyond it") !=
             nullptr,
         "its text");
  expect(hipGetLastError() == 1 && hipGetLastError() == 0, "the last error is taken");
  expect(hipMemcpy(bytes, a + 60, 5, 2) == 1, "a copy from beyond a buffer");
  // A page and more: what comes after it is nobody's.
  char* page = nullptr;
  expect(hipMalloc(reinterpret_cast<void**>(&page), 4096) == 0, "a page");
  expect(hipMemcpy(bytes, page + 4096, 4, 2) == 1, "a copy that begins at the end of a buffer");
  expect(std::strstr(hipGetErrorString(1), "byte 4096 of a buffer of 4096") != nullptr, "which says where");
  expect(hipMemcpy(page + 4096, bytes, 4, 4) == 1 && hipMemcpy(page - 4, bytes, 4, 1) == 1, "one before it");
  expect(hipFree(page) == 0 && hipMemcpy(bytes, page, 4, 2) == 1, "a copy from memory that was given back");
  NEED(hipFree(a));
  expect(hipFree(a) == 1, "freed twice");
  void* f = nullptr;
  expect(hipModuleGetFunction(&f, module_, "none") == 500, "a kernel that there is not");
  expect(hipSetDevice(9) == 101, "a device that there is not");
  expect(hipIpcGetMemHandle(nullptr, nullptr) == 801, "a call that is not supported");
  int warp = 0, units = 0;
  NEED(hipDeviceGetAttribute(&warp, 87, 0));
  NEED(hipDeviceGetAttribute(&units, 63, 0));
  expect(warp == 64 && units == 304, "attributes of an MI300X");
  // Memory of the host that kernels read: what it writes there needs no call.
  void* h = nullptr;
  NEED(hipHostMalloc(&h, 256, 0));
  std::memset(h, 0, 256);
  void* b = device_memory(256);
  NEED(launch("add", 1, 64, h, b, 3));
  std::uint32_t got[64];
  NEED(hipMemcpy(got, b, 256, 2));
  expect(got[63] == 3, "host memory in a kernel");
  NEED(hipHostFree(h));
}

/// Arrays that are neighbours, as numpy and torch have them. Outputs that are right are printed.
void neighbours(const std::string& what) {
  alignas(64) static std::uint32_t memory[512];
  std::uint32_t *const b = memory, *const a = memory + 128, *const c = memory + 400;
  NEED(hipHostRegister(b, 512, INLAY_HIP_LAUNCHES_ONLY));
  NEED(hipHostRegister(a, 768, INLAY_HIP_LAUNCHES_ONLY));
  NEED(hipHostRegister(c, 64, INLAY_HIP_LAUNCHES_ONLY));
  for (unsigned i = 0; i < 192; ++i) a[i] = i;
  if (what == "through") { // a is an argument, and its address is in b, too; c's is there alone
    const std::uint64_t table[] = {reinterpret_cast<std::uint64_t>(a), reinterpret_cast<std::uint64_t>(c)};
    std::memcpy(b, table, sizeof table);
    NEED(launch("through", 1, 64, a, b, 7));
    expect(c[0] == 64, "an addition for each lane, once");
    for (unsigned i = 0; i < 64; ++i)
      expect(a[i] == 7 && b[4 + i] == 7, "what a store through the table left");
  } else {
    (void)launch("add", what == "neighbours" ? 3 : 2, 64, a, b, 5);
    for (unsigned i = 0; i < 128; ++i) expect(b[i] == i + 5, "sums");
    for (unsigned i = 0; i < 192; ++i) expect(a[i] == i, "an input");
  }
}

/// Workgroups that wait until all of them have begun: as many as the device holds, and one more.
void cooperative() {
  int can = 0, units = 0, each = 0;
  NEED(hipDeviceGetAttribute(&can, 10, 0));
  NEED(hipDeviceGetAttribute(&units, 63, 0));
  NEED(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&each, function("meet"), 1024, 0));
  expect(can == 1 && each == 2, "cooperative launches of two workgroups of 16 waves a unit");
  const auto most = static_cast<unsigned>(units * each);
  auto *count = device_memory<std::uint32_t>(4), *seen = device_memory<std::uint32_t>(4 * most);
  const auto meet = [&](unsigned grid, unsigned block) {
    void *a = count, *b = seen;
    std::uint32_t n = grid;
    void* values[] = {&a, &b, &n};
    NEED(hipMemset(count, 0, 4));
    return hipModuleLaunchCooperativeKernel(function("meet"), grid, 1, 1, block, 1, 1, 0, nullptr, values);
  };
  for (const unsigned grid : {1U, 5U, most}) {
    NEED(meet(grid, 1024));
    NEED(hipDeviceSynchronize());
    std::vector<std::uint32_t> got(grid);
    NEED(hipMemcpy(got.data(), seen, 4 * grid, 2));
    for (const std::uint32_t v : got) expect(v == grid, "all have come");
  }
  expect(meet(most + 1, 1024) == 720, "one more than the device holds");
  expect(std::strstr(hipGetErrorString(720), "609 workgroups of meet wait for one another, and the device "
                                             "holds 608 at a time") != nullptr,
         "its text");
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string what = argv[2];
  NEED(hipInit(0));
  NEED(hipModuleLoad(&module_, argv[1]));
  if (what == "clean") add(2, 128);
  if (what == "overrun") (void)launch("add", 3, 64, device_memory(768), device_memory(512), 5), add(1, 64);
  if (what == "refused") (void)launch("add", 1, 0, device_memory(256), device_memory(256), 5), add(1, 64);
  if (what == "race") NEED(launch("race", 1, 128, device_memory(4), device_memory(256), 0));
  if (what == "graph") graph();
  if (what == "peers") peers(true);
  if (what == "strangers") peers(false);
  if (what == "cooperative") cooperative();
  if (what == "errors") host_errors();
  if (what == "neighbours" || what == "apart" || what == "through") neighbours(what);
  if (what == "exit7") return 7;
  return 0;
}
