// HIP: modules, functions, launches; and what clang's host code calls.
#include "state.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <inlay/runtime/isa/report.h>

using namespace inlay::hip;
using inlay::runtime::LaunchGeometry;

#define CALL(...) return guarded(__func__, [&] { __VA_ARGS__; })

namespace {

template <class T>
T field(const std::uint8_t* p, std::size_t at) {
  T v;
  std::memcpy(&v, p + at, sizeof v);
  return v;
}

/// HIP passes no length: that of an ELF file, an offload bundle or a compressed one, by its own headers.
std::size_t image_bytes(const std::uint8_t* p) {
  if (std::memcmp(p, "\177ELF", 4) == 0) {
    std::uint64_t end = 64;
    const auto ph = field<std::uint64_t>(p, 0x20), sh = field<std::uint64_t>(p, 0x28);
    const auto ph_bytes = field<std::uint16_t>(p, 0x36), ph_count = field<std::uint16_t>(p, 0x38);
    const auto sh_bytes = field<std::uint16_t>(p, 0x3a), sh_count = field<std::uint16_t>(p, 0x3c);
    end = std::max(end, sh + std::uint64_t{sh_bytes} * sh_count);
    for (unsigned i = 0; i < ph_count; ++i) {
      const auto* h = p + ph + std::size_t{i} * ph_bytes;
      end = std::max(end, field<std::uint64_t>(h, 8) + field<std::uint64_t>(h, 32));
    }
    for (unsigned i = 0; i < sh_count; ++i) {
      const auto* h = p + sh + std::size_t{i} * sh_bytes;
      if (field<std::uint32_t>(h, 4) != 8) // SHT_NOBITS has no bytes
        end = std::max(end, field<std::uint64_t>(h, 24) + field<std::uint64_t>(h, 32));
    }
    return end;
  }
  if (std::memcmp(p, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0) {
    std::uint64_t end = 32;
    std::size_t at = 32;
    for (std::uint64_t n = field<std::uint64_t>(p, 24); n > 0; --n) {
      const auto offset = field<std::uint64_t>(p, at), bytes = field<std::uint64_t>(p, at + 8),
                 name = field<std::uint64_t>(p, at + 16);
      end = std::max(end, offset + bytes);
      at += 24 + name;
    }
    return std::max<std::uint64_t>(end, at);
  }
  if (std::memcmp(p, "CCOB", 4) ==
      0) { // clang "Compressed Offload Bundle": the file's length from version 2 on
    const auto version = field<std::uint16_t>(p, 4);
    if (version == 2) return field<std::uint32_t>(p, 8);
    if (version == 3) return field<std::uint64_t>(p, 8);
    throw HipError(invalid_image, "compressed bundles of version " + std::to_string(version) +
                                      " do not say how long they are");
  }
  throw HipError(invalid_image, "this is no code object, offload bundle or compressed bundle");
}

Module& load(const void* image, std::string name) {
  if (image == nullptr) throw HipError(invalid_value, "the image is NULL");
  const auto* p = static_cast<const std::uint8_t*>(image);
  return add_module({p, p + image_bytes(p)}, std::move(name));
}

void start(Function& f, const LaunchGeometry& g, void* stream_handle, void** values, void** extra) {
  Stream& stream = stream_of(stream_handle);
  enqueue(stream, 0, [&f, g, segment = segment_of(f, g, values, extra), ordinal = stream.device] {
    launch(ordinal, f, g, segment);
  });
}

/// Workgroups that a compute unit holds at a time.
int workgroups_of_unit(const Function& f, unsigned block, std::size_t lds) {
  const auto& d = f.kernel.descriptor;
  const auto arch = inlay::runtime::isa::parse_arch(State::get().options.arch);
  const auto o = inlay::runtime::isa::occupancy(
      std::max(8U, d.vgprs), d.lds_bytes + static_cast<unsigned>(lds), std::max(1U, block), arch, d.sgprs);
  return static_cast<int>(o.waves_per_simd * 4 / std::max(1U, (block + 63) / 64));
}
int occupancy(const char* call, int* out, const void* symbol, int block, std::size_t lds) {
  return guarded(call, [&] {
    *out = workgroups_of_unit(function_of_symbol(symbol), static_cast<unsigned>(std::max(1, block)), lds);
  });
}
/// All workgroups at once, as the emulator runs those that wait for one another: as many as the device holds.
void start_cooperative(Function& f, const LaunchGeometry& g, void* stream, void** values) {
  const auto held = static_cast<std::uint64_t>(target().compute_units) *
                    static_cast<std::uint64_t>(
                        workgroups_of_unit(f, static_cast<unsigned>(g.block.count()), g.dynamic_lds));
  if (g.grid.count() > held)
    throw HipError(cooperative_launch_too_large,
                   std::to_string(g.grid.count()) + " workgroups of " + f.kernel.name +
                       " wait for one another, and the device holds " + std::to_string(held) + " at a time");
  start(f, g, stream, values, nullptr);
}
int largest_block(const char* call, int* grid, int* block, const void* symbol, std::size_t lds, int limit) {
  return guarded(call, [&] {
    const Function& f = function_of_symbol(symbol);
    *block = static_cast<int>(f.kernel.max_flat_workgroup_size);
    if (limit > 0) *block = std::min(*block, limit);
    (void)lds;
    *grid = target().compute_units;
  });
}

int attribute(const Function& f, int which) {
  const auto& k = f.kernel;
  const int room = target().lds_bytes - static_cast<int>(k.descriptor.lds_bytes);
  switch (which) { // hipFunction_attribute
  case 0: return static_cast<int>(k.max_flat_workgroup_size);
  case 1: return static_cast<int>(k.descriptor.lds_bytes);
  case 3: return static_cast<int>(k.descriptor.scratch_bytes);
  case 4: return static_cast<int>(k.descriptor.vgprs);
  case 5:
  case 6: return 10 * target().version_major + target().version_minor;
  case 8: return std::max(0, room);
  default: return 0;
  }
}

/// What `<<<grid, block, lds, stream>>>` leaves for the stub that follows.
struct Configuration {
  Dim3 grid, block;
  std::size_t lds;
  void* stream;
};
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> c;
  return c;
}

LaunchGeometry geometry_of(Dim3 grid, Dim3 block, std::size_t lds) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<std::uint32_t>(lds)};
}

} // namespace

extern "C" {

using Size = std::size_t;

int hipModuleLoad(void** out, const char* file) {
  return guarded(__func__, [&] {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw HipError(file_not_found, std::string("cannot read ") + file);
    *out = &add_module({std::istreambuf_iterator<char>(in), {}}, file);
    (void)static_cast<Module*>(*out)->code(State::get().options.arch);
  });
}
int hipModuleLoadData(void** out, const void* image) {
  return guarded(__func__, [&] {
    Module& m = load(image, "the image");
    *out = &m;
    (void)m.code(State::get().options.arch);
  });
}
int hipModuleLoadDataEx(void** out, const void* image, unsigned, int*, void**) {
  return hipModuleLoadData(out, image);
}
int hipModuleUnload(void* module) { // its functions may be asked about later
  CALL(if (!State::get().modules.contains(module)) throw HipError(invalid_handle, "this is no module"));
}
int hipModuleGetFunction(void** out, void* module, const char* name) {
  return guarded(__func__, [&] {
    const auto at = State::get().modules.find(module);
    if (at == State::get().modules.end()) throw HipError(invalid_handle, "this is no module");
    *out = &function_named(*at->second, name);
  });
}
int hipModuleGetGlobal(void** out, Size* bytes, void* module, const char* name) {
  return guarded(__func__, [&] {
    State& s = State::get();
    const auto at = s.modules.find(module);
    if (at == s.modules.end()) throw HipError(invalid_handle, "this is no module");
    Device& d = s.device(current_device());
    const std::lock_guard lock(d.mutex);
    const auto found = d.emulator->symbol(d.load(*at->second), name);
    s.memory.try_emplace(found.first, Memory{found.second, current_device(), Memory::Kind::image, 0});
    if (out != nullptr) *out = reinterpret_cast<void*>(found.first);
    if (bytes != nullptr) *bytes = found.second;
  });
}
int hipModuleLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, void* stream, void** values, void** extra) {
  CALL(start(function_of(f), {{gx, gy, gz}, {bx, by, bz}, lds}, stream, values, extra));
}
/// Counts work-items where the others count workgroups.
int hipExtModuleLaunchKernel(void* f, std::uint32_t ix, std::uint32_t iy, std::uint32_t iz, std::uint32_t bx,
                             std::uint32_t by, std::uint32_t bz, Size lds, void* stream, void** values,
                             void** extra, void* begin, void* end, std::uint32_t) {
  return guarded(__func__, [&] {
    if (bx == 0 || by == 0 || bz == 0 || ix % bx != 0 || iy % by != 0 || iz % bz != 0)
      throw HipError(invalid_configuration, "the work-items are not whole workgroups");
    if (begin != nullptr || end != nullptr)
      throw HipError(not_supported, "events of a launch; hipEventRecord before and after it");
    start(function_of(f), {{ix / bx, iy / by, iz / bz}, {bx, by, bz}, static_cast<std::uint32_t>(lds)},
          stream, values, extra);
  });
}
int hipHccModuleLaunchKernel(void* f, std::uint32_t ix, std::uint32_t iy, std::uint32_t iz, std::uint32_t bx,
                             std::uint32_t by, std::uint32_t bz, Size lds, void* stream, void** values,
                             void** extra, void* begin, void* end) {
  return hipExtModuleLaunchKernel(f, ix, iy, iz, bx, by, bz, lds, stream, values, extra, begin, end, 0);
}
int hipDrvLaunchKernelEx(const DriverLaunchConfig* c, void* f, void** values, void** extra) {
  CALL(start(function_of(f),
             {{c->gridDimX, c->gridDimY, c->gridDimZ},
              {c->blockDimX, c->blockDimY, c->blockDimZ},
              c->sharedMemBytes},
             c->stream, values, extra));
}
int hipModuleLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned lds, void* stream, void** values) {
  CALL(start_cooperative(function_of(f), {{gx, gy, gz}, {bx, by, bz}, lds}, stream, values));
}
int hipFuncGetAttribute(int* out, int which, void* f) { CALL(*out = attribute(function_of(f), which)); }
int hipFuncGetAttributes(FunctionAttributes* out, const void* symbol) {
  return guarded(__func__, [&] {
    const Function& f = function_of_symbol(symbol);
    *out = {};
    out->binaryVersion = out->ptxVersion = attribute(f, 6);
    out->localSizeBytes = f.kernel.descriptor.scratch_bytes;
    out->maxDynamicSharedSizeBytes = attribute(f, 8);
    out->maxThreadsPerBlock = attribute(f, 0);
    out->numRegs = attribute(f, 4);
    out->sharedSizeBytes = f.kernel.descriptor.lds_bytes;
  });
}
int hipFuncSetAttribute(const void*, int, int) { return success; }
int hipFuncSetCacheConfig(const void*, int) { return success; }
int hipFuncSetSharedMemConfig(const void*, int) { return success; }
int hipGetFuncBySymbol(void** out, const void* symbol) { CALL(*out = &function_of_symbol(symbol)); }
const char* hipKernelNameRef(void* f) {
  const auto& functions = State::get().functions;
  const auto at = functions.find(f);
  return at == functions.end() ? nullptr : at->second->kernel.name.c_str();
}
const char* hipKernelNameRefByPtr(const void* symbol, void*) {
  void* f = nullptr;
  return hipGetFuncBySymbol(&f, symbol) == success ? hipKernelNameRef(f) : nullptr;
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* out, void* f, int block, Size lds) {
  return occupancy(__func__, out, f, block, lds);
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, void* f, int block, Size lds,
                                                                unsigned) {
  return occupancy(__func__, out, f, block, lds);
}
int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* f, int block, Size lds) {
  return occupancy(__func__, out, f, block, lds);
}
int hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* f, int block, Size lds,
                                                          unsigned) {
  return occupancy(__func__, out, f, block, lds);
}
int hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* f, Size lds, int limit) {
  return largest_block(__func__, grid, block, f, lds, limit);
}
int hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, void* f, Size lds, int limit) {
  return largest_block(__func__, grid, block, f, lds, limit);
}
int hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, void* f, Size lds, int limit,
                                                     unsigned) {
  return largest_block(__func__, grid, block, f, lds, limit);
}

/// HIP's way to its own functions.
int hipGetProcAddress(const char* name, void** out, int, std::uint64_t, int* status) {
  return guarded(__func__, [&] {
    Dl_info self{};
    void* handle = nullptr;
    if (dladdr(reinterpret_cast<const void*>(&hipGetProcAddress), &self) != 0)
      handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    std::string symbol = name;
    if (symbol == "hipGetDeviceProperties")
      symbol = "hipGetDevicePropertiesR0600"; // what version 6 means by that name
    *out = handle == nullptr ? nullptr : dlsym(handle, symbol.c_str());
    if (status != nullptr) *status = *out == nullptr ? 1 : 0;
    if (*out == nullptr) throw HipError(not_found, std::string(name) + " is no call of this library");
  });
}

// ---- host code by clang ------------------------------------------------------------------------------------------------

int hipLaunchKernel(const void* f, Dim3 grid, Dim3 block, void** values, Size lds, void* stream) {
  CALL(start(function_of_symbol(f), geometry_of(grid, block, lds), stream, values, nullptr));
}
int hipLaunchCooperativeKernel(const void* f, Dim3 grid, Dim3 block, void** values, unsigned lds,
                               void* stream) {
  CALL(start_cooperative(function_of_symbol(f), geometry_of(grid, block, lds), stream, values));
}
int hipLaunchKernelExC(const LaunchConfig* c, const void* f, void** values) {
  CALL(start(function_of_symbol(f), geometry_of(c->gridDim, c->blockDim, c->dynamicSmemBytes), c->stream,
             values, nullptr));
}
int hipExtLaunchKernel(const void* f, Dim3 grid, Dim3 block, void** values, Size lds, void* stream,
                       void* begin, void* end, int) {
  CALL(if (begin != nullptr || end != nullptr) throw HipError(
           not_supported, "events of a launch; hipEventRecord before and after it");
       start(function_of_symbol(f), geometry_of(grid, block, lds), stream, values, nullptr));
}
int __hipPushCallConfiguration(Dim3 grid, Dim3 block, Size lds, void* stream) {
  configurations().push_back({grid, block, lds, stream});
  return success;
}
int __hipPopCallConfiguration(Dim3* grid, Dim3* block, Size* lds, void** stream) {
  auto& all = configurations();
  if (all.empty()) return 52; // hipErrorMissingConfiguration
  *grid = all.back().grid;
  *block = all.back().block;
  *lds = all.back().lds;
  *stream = all.back().stream;
  all.pop_back();
  return success;
}

/// Called before main; the devices are opened by the first call that needs them.
void** __hipRegisterFatBinary(const void* data) {
  const auto* fat = static_cast<const FatBinary*>(data);
  const std::lock_guard lock(State::get().api);
  try {
    if (fat->magic != fat_binary_magic || fat->version != 1)
      throw HipError(invalid_image, "this is no fat binary of clang");
    auto* module = &load(fat->binary, "the program's own kernels");
    return reinterpret_cast<void**>(module);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "inlay: __hipRegisterFatBinary: %s\n", e.what());
    return nullptr;
  }
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterFunction(void** module, const void* host, char*, const char* name, unsigned, void*, void*,
                           void*, void*, int*) {
  const std::lock_guard lock(State::get().api);
  if (module != nullptr) State::get().host_functions[host] = {reinterpret_cast<Module*>(module), name, 0};
}
void __hipRegisterVar(void** module, void* host, char*, char* name, int, Size bytes, int, int) {
  const std::lock_guard lock(State::get().api);
  if (module != nullptr) State::get().host_variables[host] = {reinterpret_cast<Module*>(module), name, bytes};
}

} // extern "C"
