#include "hip/library.h"
#include "image.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <inlay/runtime/hip.h>
#include <inlay/runtime/kernarg.h>
#include <iostream>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop
// The numbers that the library spells out are those of the installed headers.
namespace number = inlay::runtime::hip;
static_assert(number::no_device == static_cast<int>(hipErrorNoDevice));
static_assert(number::peer_access_already_enabled == static_cast<int>(hipErrorPeerAccessAlreadyEnabled));
static_assert(number::attribute_clock_rate == static_cast<int>(hipDeviceAttributeClockRate));
static_assert(number::attribute_capability_major ==
              static_cast<int>(hipDeviceAttributeComputeCapabilityMajor));
static_assert(number::attribute_capability_minor ==
              static_cast<int>(hipDeviceAttributeComputeCapabilityMinor));
static_assert(number::attribute_compute_units == static_cast<int>(hipDeviceAttributeMultiprocessorCount));
static_assert(number::attribute_lds_bytes == static_cast<int>(hipDeviceAttributeMaxSharedMemoryPerBlock));
static_assert(number::host_to_device == static_cast<int>(hipMemcpyHostToDevice));
static_assert(number::device_to_host == static_cast<int>(hipMemcpyDeviceToHost));
static_assert(number::device_to_device == static_cast<int>(hipMemcpyDeviceToDevice));
static_assert(number::stream_non_blocking == hipStreamNonBlocking);
static_assert(number::capture_thread_local == static_cast<int>(hipStreamCaptureModeThreadLocal));
#endif

using namespace inlay::runtime;

namespace {

struct Fake {
  void* handle = dlopen(INLAY_FAKE_HIP, RTLD_NOW);
  void reset(int devices = 2, int minor = 4, const char* failing = "", int code = 0) const {
    reinterpret_cast<void (*)(int, int, const char*, int)>(dlsym(handle, "fake_hip_reset"))(devices, minor,
                                                                                            failing, code);
  }
  [[nodiscard]] std::string log() const {
    return reinterpret_cast<const char* (*)()>(dlsym(handle, "fake_hip_log"))();
  }
};

image::KernelImage kernel() {
  image::KernelImage k;
  k.name = "axpy";
  k.metadata = {
      {".kernarg_segment_size", 16},
      {".args", {image::argument(0, 8, "global_buffer", "x"), image::argument(8, 4, "by_value", "n")}}};
  return k;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("devices are described by attributes") {
  const Fake fake;
  fake.reset();
  const auto p = probe_hip(INLAY_FAKE_HIP);
  REQUIRE(p.devices.size() == 2);
  CHECK(p.version == 60443483);
  const DeviceInfo& d = p.devices[1];
  CHECK(d.kind == "hip");
  CHECK(d.name == "Fake Instinct 1");
  CHECK(d.arch == "gfx942");
  CHECK(d.compute_units == 304);
  CHECK(d.clock_mhz == 2100);
  CHECK(d.lds_bytes == 65536);
  CHECK(d.memory_bytes == std::uint64_t{192} << 30);
  CHECK(says(d.runtime, "HIP 6.4.43483"));
  fake.reset(1, 5);
  CHECK(probe_hip(INLAY_FAKE_HIP).devices.at(0).arch == "gfx950");
}

TEST_CASE("a kernel from file to result: every call, in order, with its arguments") {
  const Fake fake;
  fake.reset();
  auto device = open_hip(0, INLAY_FAKE_HIP);
  const auto object = CodeObject::parse(image::build({kernel()}));
  const std::vector<std::uint8_t> in = {1, 2, 3, 4};
  std::vector<std::uint8_t> out(4);
  {
    const Buffer a(*device, 4), b(*device, 4);
    device->copy_in(a.address(), in);
    device->copy(b.address(), a.address(), 4);
    const Stream s = device->create_stream();
    const Module m = device->load(object);
    const Function f = device->function(m, "axpy");
    LaunchGeometry g;
    g.grid = {4, 2, 1}, g.block = {64, 1, 1}, g.dynamic_lds = 512;
    const auto args =
        pack_arguments(object.kernel(""), std::vector{Argument::pointer(0x1122), Argument::i32(-2)}, g);
    const Event begin = device->create_event(), end = device->create_event();
    device->record(begin, s);
    device->launch(f, g, args, s);
    device->record(end, s);
    device->wait(s, end);
    device->synchronize(end);
    CHECK(device->milliseconds(begin, end) == 1.5);
    device->copy_out(out, b.address());
    device->synchronize(s);
    device->release(begin), device->release(end), device->release(m), device->release(s);
    device->synchronize();
  }
  CHECK(out == in);
  CHECK(
      fake.log() ==
      "hipMalloc 4\nhipMalloc 4\nhipMemcpy h2d 4\nhipMemcpy d2d 4\nhipStreamCreateWithFlags 1\n"
      "hipModuleLoadData elf\nhipModuleGetFunction axpy\nhipEventCreateWithFlags\nhipEventCreateWithFlags\n"
      "hipEventRecord  on stream\n"
      "hipModuleLaunchKernel axpy 4 2 1 64 1 1 512 on stream args 22 11 00 00 00 00 00 00 fe ff ff ff 00 00 "
      "00 00\n"
      "hipEventRecord  on stream\nhipStreamWaitEvent  on stream\nhipEventSynchronize\nhipEventElapsedTime\n"
      "hipMemcpy d2h 4\nhipStreamSynchronize  on stream\nhipEventDestroy\nhipEventDestroy\nhipModuleUnload\n"
      "hipStreamDestroy\nhipDeviceSynchronize\nhipFree\nhipFree\n");
}

TEST_CASE("graphs are captured and replayed, streams copy asynchronously") {
  const Fake fake;
  fake.reset();
  auto device = open_hip(0, INLAY_FAKE_HIP);
  const Stream s = device->create_stream();
  std::vector<std::uint8_t> host(8, 7);
  const Buffer a(*device, 8);
  device->begin_capture(s);
  device->copy_in(a.address(), host, s);
  device->fill(a.address(), 1, 8, s);
  const Graph g = device->end_capture(s);
  device->replay(g, s);
  device->release(g);
  device->release(s);
  CHECK(says(fake.log(),
             "hipStreamBeginCapture 1 on stream\nhipMemcpyAsync h2d 8 on stream\nhipMemsetAsync 8 on stream\n"
             "hipStreamEndCapture\nhipGraphInstantiate\nhipGraphDestroy\nhipGraphLaunch  on stream\n"
             "hipGraphExecDestroy\nhipStreamDestroy\n"));
  CHECK_THROWS_AS(device->end_capture(s), DeviceError);
}

TEST_CASE("every copy and fill: in order on the device's own stream, asynchronous on another") {
  const Fake fake;
  fake.reset();
  auto device = open_hip(0, INLAY_FAKE_HIP);
  const Buffer a(*device, 8), b(*device, 8);
  std::vector<std::uint8_t> host = {1, 2, 3, 4, 5, 6, 7, 8}, back(8);
  const Stream s = device->create_stream();
  device->copy_in(a.address(), host, s);
  device->copy(b.address(), a.address(), 8, s);
  device->copy_out(back, b.address(), s);
  CHECK(back == host);
  device->fill(a.address(), 9, 8);
  device->copy_out(back, a.address());
  CHECK(back == std::vector<std::uint8_t>(8, 9));
  CHECK(
      says(fake.log(),
           "hipMemcpyAsync h2d 8 on stream\nhipMemcpyAsync d2d 8 on stream\nhipMemcpyAsync d2h 8 on stream\n"
           "hipMemset 8\nhipMemcpy d2h 8\n"));
  device->release(s);
}

TEST_CASE("peers: a permission given twice is fine") {
  const Fake fake;
  fake.reset(2, 4, "hipDeviceEnablePeerAccess", 704);
  auto device = open_hip(0, INLAY_FAKE_HIP);
  CHECK(device->can_access_peer(1));
  CHECK_FALSE(device->can_access_peer(0));
  CHECK_NOTHROW(device->enable_peer(1));
  fake.reset(2, 4, "hipDeviceEnablePeerAccess", 217);
  CHECK_THROWS_AS(device->enable_peer(1), DeviceError);
}

TEST_CASE("what HIP refuses says the call, the code, its text and the geometry") {
  const Fake fake;
  fake.reset(2, 4, "hipMalloc", 2);
  auto device = open_hip(0, INLAY_FAKE_HIP);
  try {
    (void)device->allocate(1 << 20);
    FAIL("accepted");
  } catch (const DeviceError& e) {
    CHECK(e.call() == "hipMalloc");
    CHECK(e.code() == 2);
    CHECK(std::string(e.what()) == "hipMalloc: hipErrorOutOfMemory: out of memory (1048576 bytes)");
  }
  fake.reset(2, 4, "hipModuleLaunchKernel", 1);
  const auto object = CodeObject::parse(image::build({kernel()}));
  const auto f = device->function(device->load(object), "axpy");
  LaunchGeometry g;
  g.grid = {3, 1, 1}, g.block = {64, 1, 1};
  CHECK_THROWS_WITH(device->launch(f, g, std::vector<std::uint8_t>(16)),
                    Catch::Contains("kernel axpy, grid 3x1x1 block 64x1x1"));
}

TEST_CASE("without a device, without a library, with a library that is no HIP") {
  const Fake fake;
  fake.reset(0);
  CHECK(says(probe_hip(INLAY_FAKE_HIP).why_not,
             "no AMD device: hipErrorNoDevice: no ROCm-capable device is detected"));
  CHECK_THROWS_AS(open_hip(0, INLAY_FAKE_HIP), DeviceError);
  fake.reset(1);
  CHECK_THROWS_WITH(open_hip(3, INLAY_FAKE_HIP), Catch::Contains("no device 3, there are 1"));
  CHECK(says(probe_hip("libno-such-hip.so.9").why_not, "no HIP library"));
  CHECK(says(probe_hip("libz.so.1").why_not + probe_hip("libc.so.6").why_not, "has no hipInit"));
}

TEST_CASE("which library was opened", "[.child]") { std::cout << "opened " << probe_hip().library << "\n"; }

TEST_CASE("libamdhip64 of ROCm 5, 6 and 7 are found by their sonames, the newest first") {
  // A process of its own, because the search path is read when it starts. Files that are no libraries hide the installed
  // ones of the same name.
  namespace fs = std::filesystem;
  const fs::path directory = fs::temp_directory_path() /
                             ("inlay-hip-" + std::to_string(reinterpret_cast<std::uintptr_t>(&directory)));
  const std::vector<std::string> names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5"};
  for (const std::string& present : names) {
    fs::create_directories(directory);
    bool hidden = true;
    for (const std::string& name : names) {
      hidden = hidden && name != present;
      if (hidden) {
        std::ofstream(directory / name) << "not a library";
      } else { // this one, and the older ones too: they must not be taken
        fs::create_symlink(fs::absolute(INLAY_FAKE_HIP), directory / name);
      }
    }
    const std::string command = "env -u INLAY_HIP_LIBRARY LD_LIBRARY_PATH='" + directory.string() + "' '" +
                                fs::read_symlink("/proc/self/exe").string() +
                                "' 'which library was opened' 2>&1";
    std::string out;
    FILE* child = popen(command.c_str(), "r");
    REQUIRE(child != nullptr);
    for (char line[256]; std::fgets(line, sizeof line, child) != nullptr;) out += line;
    pclose(child);
    CAPTURE(present, out);
    CHECK(says(out, "opened " + present + "\n"));
    fs::remove_all(directory);
  }
}

TEST_CASE("the installed HIP library opens and reports what is there") {
  const auto p = probe_hip();
  if (p.library.empty()) {
    WARN("libamdhip64 is not installed: " << p.why_not);
    return;
  }
  CHECK(p.version / 10000000 >= 5);
  if (p.devices.empty())
    CHECK(says(p.why_not, "no AMD device"));
  else
    CHECK(p.devices[0].compute_units > 0);
}
