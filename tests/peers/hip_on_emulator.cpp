// A libamdhip64 behind which there is the emulator: programs that link HIP, or open it, run their kernels here, all sanitizers on,
// and the Python scripts beside this file ask what was found. Built as libamdhip64.so.7 with HIP's own names; memory that it gives
// out is the emulator's, and so host memory: a numpy array or a torch tensor over it is at once what the kernel reads.
//
// A kernel takes part three ways: once as it is, with all checks; then, when `peers_open` asks for seeds, from the same memory
// under `stress`, which must leave the same bits. Nothing here knows the programs under test.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/kernarg.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using namespace inlay::runtime;
using nlohmann::ordered_json;

/// hipError_t values that callers tell apart.
enum : int { success = 0, invalid_value = 1, out_of_memory = 2, launch_failure = 719 };

struct LoadedKernel {
  Function function{};
  Kernel kernel;
  Module module{};
};

struct State {
  std::unique_ptr<EmulatorDevice> device;
  std::string checks = "all";
  unsigned seeds = 0;
  std::map<DevicePointer, std::uint64_t> memory; ///< begin, bytes
  std::map<std::uint64_t, std::unique_ptr<CodeObject>> objects;
  std::map<const void*, std::unique_ptr<LoadedKernel>> kernels;
  std::string last_error, report, dump;
  std::vector<LoadedKernel*> order;
  ordered_json launches = ordered_json::array();
  unsigned dumped = 0;
};

State& state() {
  static State s;
  return s;
}

EmulatorDevice& device() {
  State& s = state();
  if (s.device == nullptr) throw DeviceError("hip", invalid_value, "peers_open was not called");
  return *s.device;
}

/// `body`, its exceptions as an error of HIP's and a text for `peers_error`.
template <class Body>
int guarded(Body&& body) {
  try {
    body();
    return success;
  } catch (const DeviceError& e) {
    state().last_error = e.what();
    return e.code() == 0 ? invalid_value : e.code();
  } catch (const ExecutionError& e) {
    state().last_error = e.what();
    return launch_failure;
  } catch (const std::exception& e) {
    state().last_error = e.what();
    return invalid_value;
  }
}

/// Bytes of the ELF file at `image`: HIP passes no length.
std::size_t elf_bytes(const std::uint8_t* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0)
    throw std::invalid_argument("hipModuleLoadData: only ELF code objects, no bundles");
  std::uint64_t section_headers = 0;
  std::uint16_t entry = 0, count = 0;
  std::memcpy(&section_headers, image + 0x28, 8);
  std::memcpy(&entry, image + 0x3a, 2);
  std::memcpy(&count, image + 0x3c, 2);
  return section_headers + std::size_t{entry} * count;
}

using Memory = std::map<DevicePointer, std::vector<std::uint8_t>>;

Memory contents() {
  Memory out;
  for (const auto& [begin, bytes] : state().memory) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(begin);
    out.emplace(begin, std::vector<std::uint8_t>(p, p + bytes));
  }
  return out;
}
void restore(const Memory& memory) {
  for (const auto& [begin, bytes] : memory)
    std::memcpy(reinterpret_cast<void*>(begin), bytes.data(), bytes.size());
}

ordered_json to_json(const Finding& f) {
  return {{"kind", std::string(to_string(f.kind))},
          {"text", to_string(f)},
          {"message", f.message},
          {"address", f.address},
          {"disassembly", f.disassembly},
          {"source", f.source ? isa::to_string(*f.source) : std::string()},
          {"count", f.count},
          {"note", f.note}};
}

/// The code object, the buffers and an `inlay exec` command line that repeats this launch.
void dump(const LoadedKernel& k, const LaunchGeometry& geometry, std::span<const std::uint8_t> segment) {
  State& s = state();
  if (s.dump.empty()) return;
  const std::string stem = s.dump + "/" + std::to_string(s.dumped++);
  const CodeObject& object = *s.objects.at(static_cast<std::uint64_t>(k.module));
  const auto write = [](const std::string& name, const void* data, std::size_t bytes) {
    std::ofstream(name, std::ios::binary)
        .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  write(stem + ".hsaco", object.bytes().data(), object.bytes().size());
  std::string line = "inlay exec " + stem + ".hsaco --kernel " + k.kernel.name + " --grid " +
                     std::to_string(geometry.grid.x) + "," + std::to_string(geometry.grid.y) + "," +
                     std::to_string(geometry.grid.z) + " --block " + std::to_string(geometry.block.x) + "," +
                     std::to_string(geometry.block.y) + "," + std::to_string(geometry.block.z);
  if (geometry.dynamic_lds != 0) line += " --lds " + std::to_string(geometry.dynamic_lds);
  unsigned n = 0;
  for (const KernelArgument& a : visible_arguments(k.kernel)) {
    std::uint64_t value = 0;
    if (a.size == 8) std::memcpy(&value, segment.data() + a.offset, 8);
    const auto at = s.memory.upper_bound(value);
    const bool inside =
        a.size == 8 && at != s.memory.begin() && value - std::prev(at)->first < std::prev(at)->second;
    if (inside) {
      const std::string file = stem + "." + std::to_string(n++) + ".bin";
      write(file, reinterpret_cast<const void*>(value), std::prev(at)->first + std::prev(at)->second - value);
      line += " --arg inout:" + file + ":" + file + ".out";
    } else {
      line += " --arg bytes:";
      for (std::uint32_t i = 0; i < a.size; ++i) {
        char hex[3];
        std::snprintf(hex, sizeof hex, "%02x", segment[a.offset + i]);
        line += hex;
      }
    }
  }
  std::ofstream(stem + ".sh") << line << "\n";
}

void launch(LoadedKernel& k, const LaunchGeometry& geometry, std::span<const std::uint8_t> segment) {
  State& s = state();
  EmulatorDevice& d = device();
  dump(k, geometry, segment);
  const Memory before = s.seeds != 0 ? contents() : Memory{};
  ordered_json entry = {{"kernel", k.kernel.name}, {"geometry", to_string(geometry)}};
  std::string failure;
  const auto collect = [&] {
    entry["instructions"] = d.last_launch().statistics.instructions;
    entry["multiply_adds"] = d.last_launch().statistics.multiply_adds;
    entry["seconds"] = d.last_launch().statistics.seconds;
    entry["findings"] = ordered_json::array();
    for (const Finding& f : d.last_launch().findings) entry["findings"].push_back(to_json(f));
  };
  try {
    d.launch(k.function, geometry, segment);
  } catch (const ExecutionError& e) {
    failure = e.what();
  }
  collect();
  std::string difference;
  if (s.seeds != 0 && failure.empty()) {
    const Memory after = contents();
    d.options().stress = true;
    for (unsigned seed = 1; seed <= s.seeds && difference.empty(); ++seed) {
      restore(before);
      d.options().seed = seed;
      try {
        d.launch(k.function, geometry, segment);
      } catch (const std::exception& e) {
        difference = "seed " + std::to_string(seed) + ": " + e.what();
      }
      for (const auto& [begin, bytes] : after) {
        const auto* p = reinterpret_cast<const std::uint8_t*>(begin);
        const auto at = std::mismatch(bytes.begin(), bytes.end(), p);
        if (at.first != bytes.end() && difference.empty())
          difference = "seed " + std::to_string(seed) + ": byte " + std::to_string(at.first - bytes.begin()) +
                       " of a buffer of " + std::to_string(bytes.size()) + " differs";
      }
    }
    d.options().stress = false;
    restore(after);
  }
  entry["stress"] = difference;
  entry["error"] = failure;
  s.launches.push_back(std::move(entry));
  if (!failure.empty()) throw ExecutionError(failure);
}

std::uint64_t module_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

} // namespace

extern "C" {

// ---- what the scripts call ------------------------------------------------------------------------------------------

/// A device of that architecture ("gfx942", "gfx950"), empty memory. `seeds`: runs under stress after each launch.
int peers_open(const char* arch, const char* checks, unsigned seeds, unsigned threads, const char* dump_to) {
  return guarded([&] {
    State& s = state();
    EmulatorOptions options;
    options.checks = Checks::parse(checks);
    options.threads = threads;
    s.kernels.clear();
    s.objects.clear();
    s.memory.clear();
    s.launches = ordered_json::array();
    s.seeds = seeds;
    s.dump = dump_to == nullptr ? "" : dump_to;
    s.device = std::make_unique<EmulatorDevice>(isa::parse_arch(arch), std::move(options));
  });
}
/// What was launched since the last call, as JSON.
const char* peers_report() {
  state().report = state().launches.dump();
  state().launches = ordered_json::array();
  return state().report.c_str();
}
const char* peers_error() { return state().last_error.c_str(); }
/// The host wrote these bytes without telling anybody: they count as written.
int peers_written(void* at, std::size_t bytes) {
  return guarded([&] {
    const auto p = reinterpret_cast<DevicePointer>(at);
    device().copy(p, p, bytes);
  });
}
int peers_matrix(const char* arithmetic) {
  return guarded([&] { device().options().matrix = parse_matrix_arithmetic(arithmetic); });
}
/// A launch with the whole argument segment given.
int peers_launch(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                 unsigned lds, const void* segment, std::size_t bytes) {
  return guarded([&] {
    LoadedKernel& k = *state().kernels.at(function);
    std::vector<std::uint8_t> b(std::max<std::size_t>(bytes, k.kernel.kernarg_bytes));
    std::memcpy(b.data(), segment, bytes);
    launch(k, {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_lds = lds}, b);
  });
}
/// Kernel number `n` of a module, or nullptr.
const char* peers_kernel_name(void* module, unsigned n) {
  const auto& kernels = state().objects.at(module_of(module))->kernels();
  return n < kernels.size() ? kernels[n].name.c_str() : nullptr;
}

// ---- HIP --------------------------------------------------------------------------------------------------------------

int hipInit(unsigned) { return success; }
int hipGetDeviceCount(int* n) { return *n = 1, success; }
int hipGetDevice(int* n) { return *n = 0, success; }
int hipSetDevice(int) { return success; }
int hipDeviceSynchronize() { return success; }
int hipGetLastError() { return success; }
const char* hipGetErrorName(int code) { return code == success ? "hipSuccess" : state().last_error.c_str(); }
const char* hipGetErrorString(int) { return state().last_error.c_str(); }

int hipMalloc(void** out, std::size_t bytes) {
  return guarded([&] {
    const DevicePointer p = device().allocate(bytes);
    state().memory.emplace(p, bytes);
    *out = reinterpret_cast<void*>(p);
  });
}
int hipFree(void* at) {
  return guarded([&] {
    device().release(reinterpret_cast<DevicePointer>(at));
    state().memory.erase(reinterpret_cast<DevicePointer>(at));
  });
}
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  std::memmove(to, from, bytes);
  (void)peers_written(to, bytes); // fails where `to` is the host's: nothing to note there
  return success;
}
int hipMemsetD32Async(void* to, int value, std::size_t count, void*) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(static_cast<char*>(to) + 4 * i, &value, 4);
  return peers_written(to, 4 * count);
}
int hipMemsetD16Async(void* to, unsigned short value, std::size_t count, void*) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(static_cast<char*>(to) + 2 * i, &value, 2);
  return peers_written(to, 2 * count);
}
int hipHostRegister(void*, std::size_t, unsigned) { return success; }
int hipHostUnregister(void*) { return success; }
int hipHostGetDevicePointer(void** out, void* host, unsigned) { return *out = host, success; }

int hipStreamCreate(void** out) { return *out = &state(), success; }
int hipStreamDestroy(void*) { return success; }
int hipStreamSynchronize(void*) { return success; }
int hipStreamWaitEvent(void*, void*, unsigned) { return success; }
int hipEventCreateWithFlags(void** out, unsigned) { return *out = &state(), success; }
int hipEventDestroy(void*) { return success; }
int hipEventRecord(void*, void*) { return success; }
int hipEventSynchronize(void*) { return success; }

int hipModuleLoadData(void** out, const void* image) {
  return guarded([&] {
    const auto* p = static_cast<const std::uint8_t*>(image);
    auto object = std::make_unique<CodeObject>(CodeObject::parse({p, p + elf_bytes(p)}));
    const Module module = device().load(*object);
    state().objects.emplace(static_cast<std::uint64_t>(module), std::move(object));
    *out = reinterpret_cast<void*>(module);
  });
}
int hipModuleUnload(void*) { return success; } // its functions may be asked about later
int hipModuleGetFunction(void** out, void* module, const char* name) {
  return guarded([&] {
    auto k = std::make_unique<LoadedKernel>();
    k->module = static_cast<Module>(module_of(module));
    k->kernel = state().objects.at(module_of(module))->kernel(name);
    k->function = device().function(k->module, name);
    *out = k.get();
    state().kernels.emplace(k.get(), std::move(k));
  });
}
int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, void*, void** values, void**) {
  return guarded([&] {
    LoadedKernel& k = *state().kernels.at(function);
    const LaunchGeometry geometry{.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_lds = lds};
    std::vector<Argument> arguments;
    for (const KernelArgument& a : visible_arguments(k.kernel)) {
      const auto* p = static_cast<const std::uint8_t*>(values[arguments.size()]);
      arguments.push_back({"argument " + std::to_string(arguments.size()), {p, p + a.size}, a.pointer()});
    }
    launch(k, geometry, pack_arguments(k.kernel, arguments, geometry));
  });
}

} // extern "C"
