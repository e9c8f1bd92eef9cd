#include "hip/library.h"

#include <inlay/machine/target.h>

#include <inlay/runtime/hip.h>

#include <array>
#include <unistd.h>
#include <unordered_map>

namespace inlay::runtime {

namespace {

using hip::Library;

void* handle(std::uint64_t v) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(v)); }
template <class T>
void* handle(T v) {
  return handle(static_cast<std::uint64_t>(v));
}
template <class T>
T number(void* p) {
  return static_cast<T>(reinterpret_cast<std::uintptr_t>(p));
}

/// HIP reports the processor's version as compute capability. (Earlier steppings of MI300 say 9.4, too; they were never sold.)
std::string arch_of(int major, int minor) {
  for (const machine::Target& t : machine::targets)
    if (t.version_major == major && t.version_minor == minor) return std::string(t.name);
  return "gfx" + std::to_string(major) + "." + std::to_string(minor);
}

std::string version_text(int v) {
  return "HIP " + std::to_string(v / 10000000) + "." + std::to_string(v / 100000 % 100) + "." +
         std::to_string(v % 100000);
}

DeviceInfo describe(const Library& l, int ordinal, int version) {
  DeviceInfo d;
  d.kind = "hip";
  std::array<char, 256> name{};
  if (l.hipDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, ordinal) == hip::success)
    d.name = name.data();
  const auto attribute = [&](int which) {
    int v = 0;
    return l.hipDeviceGetAttribute(&v, which, ordinal) == hip::success ? v : 0;
  };
  d.arch = arch_of(attribute(hip::attribute_capability_major), attribute(hip::attribute_capability_minor));
  d.compute_units = static_cast<std::uint32_t>(attribute(hip::attribute_compute_units));
  d.clock_mhz = static_cast<std::uint32_t>(attribute(hip::attribute_clock_rate) / 1000);
  d.lds_bytes = static_cast<std::uint32_t>(attribute(hip::attribute_lds_bytes));
  std::size_t bytes = 0;
  if (l.hipDeviceTotalMem(&bytes, ordinal) == hip::success) d.memory_bytes = bytes;
  d.runtime = version_text(version) + " (" + l.name + ")";
  return d;
}

std::shared_ptr<const Library> probe(const std::string& name, HipProbe& out) {
  auto library = hip::open_library(name, out.why_not);
  if (!library) return nullptr;
  out.library = library->name;
  (void)library->hipRuntimeGetVersion(&out.version);
  int count = 0;
  int code = library->hipInit(0);
  // HIP 5 answers hipErrorInvalidDevice to hipInit where there is no device; the count says it better.
  const int counted = library->hipGetDeviceCount(&count);
  if (counted != hip::success) code = counted;
  if (counted != hip::success || count <= 0) {
    out.why_not =
        "no AMD device: " + (code == hip::success ? std::string("HIP counts none") : library->text(code)) +
        " from " + version_text(out.version) + " (" + library->name + ")";
    if (access("/dev/kfd", F_OK) != 0)
      out.why_not += "; /dev/kfd is absent, so the amdgpu driver is not loaded";
    else if (access("/dev/kfd", R_OK | W_OK) != 0)
      out.why_not += "; /dev/kfd cannot be opened, is this user in the group render?";
    return nullptr;
  }
  for (int i = 0; i < count; ++i) out.devices.push_back(describe(*library, i, out.version));
  return library;
}

/// One GPU. Every call selects the device first, because HIP's current device belongs to the thread.
class HipDevice final : public Device {
public:
  HipDevice(std::shared_ptr<const Library> library, int ordinal, DeviceInfo info)
      : library_(std::move(library)), ordinal_(ordinal), info_(std::move(info)) {}

  DeviceInfo info() const override { return info_; }

  DevicePointer allocate(std::uint64_t bytes) override {
    void* p = nullptr;
    check("hipMalloc", at().hipMalloc(&p, bytes), std::to_string(bytes) + " bytes");
    return number<DevicePointer>(p);
  }
  /// Destructors call it: after a launch that failed HIP refuses everything with the error that was said already.
  void release(DevicePointer p) override { (void)at().hipFree(handle(p)); }

  void copy_in(DevicePointer to, std::span<const std::uint8_t> from, Stream s) override {
    transfer(handle(to), from.data(), from.size(), hip::host_to_device, s);
  }
  void copy_out(std::span<std::uint8_t> to, DevicePointer from, Stream s) override {
    transfer(to.data(), handle(from), to.size(), hip::device_to_host, s);
  }
  void copy(DevicePointer to, DevicePointer from, std::uint64_t bytes, Stream s) override {
    transfer(handle(to), handle(from), bytes, hip::device_to_device, s);
  }
  void fill(DevicePointer to, std::uint8_t value, std::uint64_t bytes, Stream s) override {
    if (s == Stream::standard)
      check("hipMemset", at().hipMemset(handle(to), value, bytes));
    else
      check("hipMemsetAsync", at().hipMemsetAsync(handle(to), value, bytes, handle(s)));
  }

  Module load(const CodeObject& object) override {
    if (object.relocatable())
      throw CodeObjectError("relocatable object cannot be loaded on a device",
                            "link it: ld.lld -shared in.o -o out.hsaco");
    void* m = nullptr;
    check("hipModuleLoadData", at().hipModuleLoadData(&m, object.bytes().data()),
          "code object for " + object.arch() + " on " + info_.arch);
    return number<Module>(m);
  }
  void release(Module m) override { check("hipModuleUnload", at().hipModuleUnload(handle(m))); }

  Function function(Module module, std::string_view kernel) override {
    const std::string name(kernel);
    void* f = nullptr;
    check("hipModuleGetFunction", at().hipModuleGetFunction(&f, handle(module), name.c_str()),
          "kernel " + name);
    names_[f] = name;
    return number<Function>(f);
  }

  void launch(Function kernel, const LaunchGeometry& g, std::span<const std::uint8_t> arguments,
              Stream s) override {
    // HIP copies the argument bytes before it returns.
    std::size_t bytes = arguments.size();
    void* extra[] = {handle(hip::launch_buffer_pointer), const_cast<std::uint8_t*>(arguments.data()),
                     handle(hip::launch_buffer_size), &bytes, handle(hip::launch_end)};
    check("hipModuleLaunchKernel",
          at().hipModuleLaunchKernel(handle(kernel), g.grid.x, g.grid.y, g.grid.z, g.block.x, g.block.y,
                                     g.block.z, g.dynamic_lds, handle(s), nullptr, extra),
          "kernel " + names_[handle(kernel)] + ", " + to_string(g));
  }

  Stream create_stream() override {
    void* s = nullptr;
    check("hipStreamCreateWithFlags", at().hipStreamCreateWithFlags(&s, hip::stream_non_blocking));
    return number<Stream>(s);
  }
  void release(Stream s) override { check("hipStreamDestroy", at().hipStreamDestroy(handle(s))); }
  void synchronize(Stream s) override { check("hipStreamSynchronize", at().hipStreamSynchronize(handle(s))); }
  void synchronize() override { check("hipDeviceSynchronize", at().hipDeviceSynchronize()); }

  Event create_event() override {
    void* e = nullptr;
    check("hipEventCreateWithFlags", at().hipEventCreateWithFlags(&e, 0));
    return number<Event>(e);
  }
  void release(Event e) override { check("hipEventDestroy", at().hipEventDestroy(handle(e))); }
  void record(Event e, Stream s) override {
    check("hipEventRecord", at().hipEventRecord(handle(e), handle(s)));
  }
  void synchronize(Event e) override { check("hipEventSynchronize", at().hipEventSynchronize(handle(e))); }
  void wait(Stream s, Event e) override {
    check("hipStreamWaitEvent", at().hipStreamWaitEvent(handle(s), handle(e), 0));
  }
  double milliseconds(Event begin, Event end) override {
    float ms = 0;
    check("hipEventElapsedTime", at().hipEventElapsedTime(&ms, handle(begin), handle(end)));
    return static_cast<double>(ms);
  }

  void begin_capture(Stream s) override {
    check("hipStreamBeginCapture", at().hipStreamBeginCapture(handle(s), hip::capture_thread_local));
  }
  Graph end_capture(Stream s) override {
    void *graph = nullptr, *executable = nullptr;
    check("hipStreamEndCapture", at().hipStreamEndCapture(handle(s), &graph));
    const int code = at().hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
    (void)at().hipGraphDestroy(graph); // the executable has its own copy
    check("hipGraphInstantiate", code);
    return number<Graph>(executable);
  }
  void replay(Graph g, Stream s) override {
    check("hipGraphLaunch", at().hipGraphLaunch(handle(g), handle(s)));
  }
  void release(Graph g) override { check("hipGraphExecDestroy", at().hipGraphExecDestroy(handle(g))); }

  bool can_access_peer(int other) override {
    int can = 0;
    check("hipDeviceCanAccessPeer", at().hipDeviceCanAccessPeer(&can, ordinal_, other),
          "device " + std::to_string(other));
    return can != 0;
  }
  void enable_peer(int other) override {
    const int code = at().hipDeviceEnablePeerAccess(other, 0);
    if (code != hip::peer_access_already_enabled)
      check("hipDeviceEnablePeerAccess", code, "device " + std::to_string(other));
  }

private:
  const Library& at() const {
    check("hipSetDevice", library_->hipSetDevice(ordinal_), "device " + std::to_string(ordinal_));
    return *library_;
  }
  void check(const char* call, int code, const std::string& context = {}) const {
    if (code != hip::success) throw DeviceError(call, code, library_->text(code), context);
  }
  void transfer(void* to, const void* from, std::size_t bytes, int kind, Stream s) {
    const std::string context = std::to_string(bytes) + " bytes";
    if (s == Stream::standard)
      check("hipMemcpy", at().hipMemcpy(to, from, bytes, kind), context);
    else
      check("hipMemcpyAsync", at().hipMemcpyAsync(to, from, bytes, kind, handle(s)), context);
  }

  std::shared_ptr<const Library> library_;
  int ordinal_;
  DeviceInfo info_;
  std::unordered_map<void*, std::string> names_; // of kernels, for messages
};

} // namespace

HipProbe probe_hip(const std::string& library) {
  HipProbe result;
  (void)probe(library, result);
  return result;
}

std::unique_ptr<Device> open_hip(int ordinal, const std::string& library) {
  HipProbe found;
  auto opened = probe(library, found);
  if (!opened) throw DeviceError("open HIP", hip::no_device, found.why_not);
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= found.devices.size())
    throw DeviceError("open HIP", hip::no_device,
                      "no device " + std::to_string(ordinal) + ", there are " +
                          std::to_string(found.devices.size()));
  return std::make_unique<HipDevice>(std::move(opened), ordinal,
                                     found.devices[static_cast<std::size_t>(ordinal)]);
}

} // namespace inlay::runtime
