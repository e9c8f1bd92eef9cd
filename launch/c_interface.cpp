// inlay_c.h over manifests, bundles and whatever libamdhip64 there is: a GPU's, or the one on the emulator.
#include "addresses.h"

#include <inlay/launch/bundle.h>
#include <inlay_c.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

using namespace inlay::launch;

namespace {

thread_local std::string message; // of this thread's last failure
thread_local std::string reason;  // of this thread's last inlay_kernel_form

/// What the device refused; inlay_status tells it from the caller's faults.
struct Refused : std::runtime_error {
  Refused(const std::string& text, inlay_status s) : std::runtime_error(text), status(s) {}
  inlay_status status;
};

template <class Body>
inlay_status guarded(Body&& body) {
  try {
    body();
    return INLAY_OK;
  } catch (const Refused& e) {
    message = e.what();
    return e.status;
  } catch (const std::exception& e) {
    message = e.what();
    return INLAY_INVALID;
  }
}

void need(const void* p, const char* what) {
  if (p == nullptr)
    throw LaunchError(std::string(what) + " is NULL", "inlay_c.h says what each function takes");
}

/// Of hipHostRegister, on the emulator alone: INLAY_HIP_LAUNCHES_ONLY of inlay_hip.h.
constexpr unsigned launches_only = 0x80000000U;

/// The functions of libamdhip64 that a launch needs, under HIP's names. Numbers are HIP's.
struct Hip {
  void* handle = nullptr;
  int (*hipInit)(unsigned) = nullptr;
  int (*hipSetDevice)(int) = nullptr;
  int (*hipGetDeviceCount)(int*) = nullptr;
  int (*hipMalloc)(void**, std::size_t) = nullptr;
  int (*hipFree)(void*) = nullptr;
  int (*hipMemcpy)(void*, const void*, std::size_t, int) = nullptr;
  int (*hipDeviceSynchronize)() = nullptr;
  int (*hipModuleLoadData)(void**, const void*) = nullptr;
  int (*hipModuleUnload)(void*) = nullptr;
  int (*hipModuleGetFunction)(void**, void*, const char*) = nullptr;
  int (*hipModuleLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               void*, void**, void**) = nullptr;
  const char* (*hipGetErrorString)(int) = nullptr;
  int (*hipHostRegister)(void*, std::size_t, unsigned) = nullptr;
  int (*hipHostUnregister)(void*) = nullptr;
  int (*share)(const char*) = nullptr;
  int (*asked)() = nullptr;
  int (*fail)(int) = nullptr;
  const char* (*error)() = nullptr;
};

Hip load(const std::vector<std::string>& names) {
  void* handle = nullptr;
  for (const auto& name : names)
    if (handle == nullptr) handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Refused(
        names.front() +
            " cannot be opened\n  hint   install ROCm, or set INLAY_HIP_LIBRARY; without a GPU: the device "
            "\"emulator\", whose library INLAY_EMULATOR_LIBRARY names where it is not installed",
        INLAY_DEVICE);
  Hip hip;
  hip.handle = handle;
  const auto resolve = [&](auto& function, const char* name, bool required = true) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr && required)
      throw Refused(names.front() + " has no " + name + "\n  hint   version 5, 6 or 7 of HIP", INLAY_DEVICE);
  };
#define INLAY_RESOLVE(name) resolve(hip.name, #name)
  INLAY_RESOLVE(hipInit);
  INLAY_RESOLVE(hipSetDevice);
  INLAY_RESOLVE(hipGetDeviceCount);
  INLAY_RESOLVE(hipMalloc);
  INLAY_RESOLVE(hipFree);
  INLAY_RESOLVE(hipMemcpy);
  INLAY_RESOLVE(hipDeviceSynchronize);
  INLAY_RESOLVE(hipModuleLoadData);
  INLAY_RESOLVE(hipModuleUnload);
  INLAY_RESOLVE(hipModuleGetFunction);
  INLAY_RESOLVE(hipModuleLaunchKernel);
  INLAY_RESOLVE(hipGetErrorString);
#undef INLAY_RESOLVE
  resolve(hip.hipHostRegister, "hipHostRegister", false);
  resolve(hip.hipHostUnregister, "hipHostUnregister", false);
  resolve(hip.share, "inlay_hip_share", false);
  resolve(hip.asked, "inlay_hip_asked", false);
  resolve(hip.fail, "inlay_hip_fail_on_finding", false);
  resolve(hip.error, "inlay_hip_error", false);
  return hip;
}

constexpr int no_device = 100,
              invalid_device = 101; // hipErrorNoDevice, hipErrorInvalidDevice (hip_runtime_api.h)

/// The name of a device's processor out of hipDeviceProp_t, whose `gcnArchName` lies elsewhere in every version: the whole of the
/// structure is searched for it.
std::string arch_of(const Hip& hip, int ordinal) {
  for (const char* symbol : {"hipGetDevicePropertiesR0600", "hipGetDeviceProperties"}) {
    const auto get = reinterpret_cast<int (*)(void*, int)>(dlsym(hip.handle, symbol));
    if (get == nullptr) continue;
    std::string properties(8192, '\0');
    if (get(properties.data(), ordinal) != 0) continue;
    // The marketing name comes first; what begins with "gfx" after it is the processor.
    const auto at = properties.find("gfx", 256);
    if (at == std::string::npos) continue;
    const std::string whole = properties.c_str() + at;
    return whole.substr(0, whole.find(':'));
  }
  throw Refused("HIP does not say which processor device " + std::to_string(ordinal) + " is", INLAY_DEVICE);
}

std::string beside_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&inlay_abi), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string file = info.dli_fname;
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

} // namespace

struct inlay_package {
  Bundle bundle;
};

struct inlay_device {
  Hip hip;
  int ordinal = 0;
  std::string arch;
  bool emulator = false;

  void check(int code, const char* call) const {
    if (code == 0) return;
    const char* text = emulator && hip.error != nullptr ? hip.error() : hip.hipGetErrorString(code);
    std::string what = text == nullptr ? std::to_string(code) : text;
    const std::string function = std::string(call) + ": "; // the emulator's text begins with it
    if (!what.starts_with(function)) what.insert(0, function);
    const bool launch =
        std::string_view(call) == "hipModuleLaunchKernel" || std::string_view(call) == "hipDeviceSynchronize";
    throw Refused(what, emulator && launch && code == 719 ? INLAY_FINDING : INLAY_DEVICE);
  }
  void use() const { check(hip.hipSetDevice(ordinal), "hipSetDevice"); }
};

/// What a launch of some sizes needs besides its buffers: the next one of the same sizes, which most are, takes it as it is.
struct Prepared {
  std::vector<std::int64_t> asked;
  Forms::Plan plan;
  std::vector<std::int64_t> bytes;               ///< of each argument of the form that is a buffer
  std::vector<std::vector<std::uint8_t>> values; ///< of the others
};

/// Buffer `i` as the form has it that is launched for these sizes; nullptr: another form's.
struct OfForm {
  Forms::Plan plan;
  const Argument* argument = nullptr;
};

struct Loaded {
  void* module = nullptr;
  void* function = nullptr;
};

struct inlay_kernel {
  inlay_device* device;
  Forms forms;
  std::vector<std::size_t> buffers; ///< numbers of arguments of the contract
  std::vector<Loaded> loaded = {};  ///< of each form

  inlay_kernel(inlay_device* on, const Forms& of) : device(on), forms(of) {
    for (std::size_t i = 0; i < forms.arguments().size(); ++i)
      if (forms.arguments()[i].kind == Argument::Kind::buffer) buffers.push_back(i);
  }
  inlay_kernel(const inlay_kernel&) = delete;
  inlay_kernel& operator=(const inlay_kernel&) = delete;
  ~inlay_kernel() {
    for (const Loaded& l : loaded) (void)device->hip.hipModuleUnload(l.module);
  }

  [[nodiscard]] const std::string& name() const { return forms.general().kernel; }
  [[nodiscard]] Sizes sizes(const std::int64_t* values, std::size_t count) const {
    const auto& all = forms.sizes();
    if (count != all.size() && count != 0)
      throw LaunchError(name() + ": " + std::to_string(count) + " sizes were given",
                        "the kernel has " + std::to_string(all.size()));
    Sizes out;
    for (std::size_t i = 0; i < count; ++i) out[all[i].name] = values[i];
    return out;
  }

  [[nodiscard]] OfForm buffer(std::size_t i, const std::int64_t* values, std::size_t count) const {
    if (i >= buffers.size())
      throw LaunchError(name() + ": there is no buffer " + std::to_string(i),
                        "the kernel has " + std::to_string(buffers.size()));
    OfForm out{forms.plan(sizes(values, count)), nullptr};
    const auto& places = forms.places(out.plan.form);
    if (const auto own = std::find(places.begin(), places.end(), buffers[i]); own != places.end())
      out.argument =
          &forms.forms()[out.plan.form].manifest.arguments[static_cast<std::size_t>(own - places.begin())];
    return out;
  }

  [[nodiscard]] std::shared_ptr<const Prepared> prepared(const std::int64_t* values, std::size_t count) {
    const std::lock_guard lock(mutex); // launches of several threads
    if (last && std::equal(last->asked.begin(), last->asked.end(), values, values + count)) return last;
    auto out = std::make_shared<Prepared>();
    out->asked.assign(values, values + count);
    out->plan = forms.plan(sizes(values, count));
    const Manifest& manifest = forms.forms()[out->plan.form].manifest;
    const LaunchPlan& launch = out->plan.launch;
    out->bytes.resize(manifest.arguments.size());
    out->values.resize(manifest.arguments.size());
    for (std::size_t i = 0; i < manifest.arguments.size() && !launch.nothing(); ++i) {
      if (manifest.arguments[i].kind != Argument::Kind::buffer)
        out->values[i] = manifest.bytes_of(i, launch.sizes);
      else
        out->bytes[i] = manifest.arguments[i].bytes(launch.sizes);
    }
    return last = std::move(out);
  }

private:
  std::mutex mutex;
  std::shared_ptr<const Prepared> last;
};

extern "C" {

int inlay_abi(void) { return INLAY_ABI; }
const char* inlay_error(void) { return message.c_str(); }

inlay_status inlay_package_load(const char* file, inlay_package** out) {
  return guarded([&] {
    need(file, "file");
    need(out, "out");
    *out = new inlay_package{Bundle::read(file)};
  });
}
void inlay_package_free(inlay_package* package) { delete package; }
size_t inlay_package_count(const inlay_package* package) {
  return package == nullptr ? 0 : package->bundle.entries().size();
}
const char* inlay_package_kernel(const inlay_package* package, size_t i) {
  return i < inlay_package_count(package) ? package->bundle.entries()[i].kernel().c_str() : nullptr;
}
const char* inlay_package_arch(const inlay_package* package, size_t i) {
  return i < inlay_package_count(package) ? package->bundle.entries()[i].arch().c_str() : nullptr;
}

inlay_status inlay_device_open(const char* kind, int ordinal, inlay_device** out) {
  return guarded([&] {
    need(kind, "kind");
    need(out, "out");
    const std::string text = kind;
    const bool emulator = text == "emulator" || text.starts_with("emulator:");
    if (!emulator && text != "hip")
      throw LaunchError("device '" + text + "': there is none", "hip, emulator or emulator:MI355X");
    std::vector<std::string> names;
    if (const auto chosen = environment(emulator ? "INLAY_EMULATOR_LIBRARY" : "INLAY_HIP_LIBRARY");
        !chosen.empty())
      names = {chosen};
    else if (emulator)
      names = {beside_this_library() + "inlay/libamdhip64.so"};
    else
      names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    auto device = std::make_unique<inlay_device>();
    device->hip = load(names);
    device->emulator = device->hip.share != nullptr && device->hip.asked != nullptr;
    device->ordinal = ordinal;
    if (emulator && !device->emulator)
      throw LaunchError(names.front() + " is a HIP library of a GPU",
                        "INLAY_EMULATOR_LIBRARY names that of inlay");
    // A process has one library of that name, and the emulator's is that once it is there.
    if (!emulator && device->emulator && environment("INLAY_HIP_LIBRARY").empty() && device->hip.asked() != 0)
      throw Refused(
          "device 'hip': this process has opened the emulator, and its libamdhip64 is no GPU's\n  hint   "
          "\"emulator\"; the GPU in a process of its own",
          INLAY_DEVICE);
    if (emulator && device->hip.share(text == "emulator" ? nullptr : text.c_str() + 9) != 0) {
      std::string why = device->hip.error(); // begins with the function, which the caller has not called
      if (const std::string function = "inlay_hip_share: "; why.starts_with(function))
        why.erase(0, function.size());
      throw Refused("device '" + text + "': " + why, INLAY_DEVICE);
    }
    if (device->hip.fail != nullptr) device->check(device->hip.fail(1), "inlay_hip_fail_on_finding");
    const int begun = device->hip.hipInit(0);
    int count = 0;
    // HIP 5 answers hipErrorInvalidDevice to hipInit where there is no device.
    const int counted = device->hip.hipGetDeviceCount(&count);
    if (!emulator && (begun == invalid_device || counted == no_device || (counted == 0 && count == 0)))
      throw Refused("HIP finds no AMD GPU here\n  hint   inlay devices says why; the emulator is the device "
                    "\"emulator\"",
                    INLAY_DEVICE);
    device->check(begun, "hipInit");
    device->check(counted, "hipGetDeviceCount");
    if (ordinal < 0 || ordinal >= count)
      throw Refused("there is no device " + std::to_string(ordinal) + ", there are " + std::to_string(count),
                    INLAY_DEVICE);
    device->use();
    device->arch = arch_of(device->hip, ordinal);
    *out = device.release();
  });
}
void inlay_device_free(inlay_device* device) { delete device; }
const char* inlay_device_arch(const inlay_device* device) {
  return device == nullptr ? "" : device->arch.c_str();
}

inlay_status inlay_malloc(inlay_device* device, size_t bytes, void** out) {
  return guarded([&] {
    need(device, "device");
    need(out, "out");
    device->use();
    device->check(device->hip.hipMalloc(out, bytes), "hipMalloc");
  });
}
inlay_status inlay_free(inlay_device* device, void* memory) {
  return guarded([&] {
    need(device, "device");
    device->use();
    device->check(device->hip.hipFree(memory), "hipFree");
  });
}
inlay_status inlay_copy_in(inlay_device* device, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    need(device, "device");
    device->use();
    device->check(device->hip.hipMemcpy(to, from, bytes, 1), "hipMemcpy");
  });
}
inlay_status inlay_copy_out(inlay_device* device, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    need(device, "device");
    device->use();
    device->check(device->hip.hipMemcpy(to, from, bytes, 2), "hipMemcpy");
  });
}
inlay_status inlay_synchronize(inlay_device* device) {
  return guarded([&] {
    need(device, "device");
    device->use();
    device->check(device->hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
  });
}

inlay_status inlay_register(inlay_device* device, void* begin, size_t bytes) {
  return guarded([&] {
    need(device, "device");
    need(begin, "begin");
    if (!device->emulator || device->hip.hipHostRegister == nullptr)
      throw Refused("memory of the host on a GPU\n  hint   inlay_malloc, inlay_copy_in", INLAY_DEVICE);
    device->use();
    device->check(device->hip.hipHostRegister(begin, bytes, launches_only), "hipHostRegister");
  });
}
inlay_status inlay_unregister(inlay_device* device, void* begin) {
  return guarded([&] {
    need(device, "device");
    if (!device->emulator || device->hip.hipHostUnregister == nullptr)
      throw Refused("no memory of the host is registered on a GPU", INLAY_DEVICE);
    device->use();
    device->check(device->hip.hipHostUnregister(begin), "hipHostUnregister");
  });
}

inlay_status inlay_kernel_open(inlay_device* device, const inlay_package* package, const char* name,
                               inlay_kernel** out) {
  return guarded([&] {
    need(device, "device");
    need(package, "package");
    need(out, "out");
    const Bundle::Entry& entry = package->bundle.find(name == nullptr ? "" : name, device->arch);
    auto kernel = std::make_unique<inlay_kernel>(device, entry.forms);
    device->use();
    for (std::size_t f = 0; f < entry.code.size(); ++f) {
      const auto& code = entry.code[f];
      entry.forms.forms()[f].manifest.check_code(code);
      Loaded one;
      device->check(device->hip.hipModuleLoadData(&one.module, code.data()), "hipModuleLoadData");
      kernel->loaded.push_back(one);
      device->check(device->hip.hipModuleGetFunction(&kernel->loaded.back().function, one.module,
                                                     entry.kernel().c_str()),
                    "hipModuleGetFunction");
    }
    *out = kernel.release();
  });
}
void inlay_kernel_free(inlay_kernel* kernel) { delete kernel; }
size_t inlay_kernel_buffers(const inlay_kernel* kernel) {
  return kernel == nullptr ? 0 : kernel->buffers.size();
}
size_t inlay_kernel_sizes(const inlay_kernel* kernel) {
  return kernel == nullptr ? 0 : kernel->forms.sizes().size();
}
const char* inlay_kernel_buffer_name(const inlay_kernel* kernel, size_t i) {
  return i < inlay_kernel_buffers(kernel) ? kernel->forms.arguments()[kernel->buffers[i]].name.c_str()
                                          : nullptr;
}
const char* inlay_kernel_buffer_type(const inlay_kernel* kernel, size_t i) {
  return i < inlay_kernel_buffers(kernel) ? kernel->forms.arguments()[kernel->buffers[i]].type.c_str()
                                          : nullptr;
}
int inlay_kernel_buffer_output(const inlay_kernel* kernel, size_t i) {
  return i < inlay_kernel_buffers(kernel) && kernel->forms.arguments()[kernel->buffers[i]].output ? 1 : 0;
}
const char* inlay_kernel_size_name(const inlay_kernel* kernel, size_t i) {
  return i < inlay_kernel_sizes(kernel) ? kernel->forms.sizes()[i].name.c_str() : nullptr;
}
inlay_status inlay_kernel_buffer_bytes(const inlay_kernel* kernel, size_t i, const int64_t* sizes,
                                       size_t size_count, size_t* out) {
  return guarded([&] {
    need(kernel, "kernel");
    need(out, "out");
    if (size_count != 0) need(sizes, "sizes");
    const OfForm buffer = kernel->buffer(i, sizes, size_count);
    const std::int64_t bytes =
        buffer.argument == nullptr
            ? 0
            : std::max<std::int64_t>(1, buffer.argument->bytes(buffer.plan.launch.sizes));
    *out = static_cast<std::size_t>(bytes);
  });
}
inlay_status inlay_kernel_buffer_shape(const inlay_kernel* kernel, size_t i, const int64_t* sizes,
                                       size_t size_count, int64_t* extents, size_t room, size_t* dimensions) {
  return guarded([&] {
    need(kernel, "kernel");
    need(dimensions, "dimensions");
    if (size_count != 0) need(sizes, "sizes");
    if (room != 0) need(extents, "extents");
    const OfForm buffer = kernel->buffer(i, sizes, size_count);
    *dimensions = buffer.argument == nullptr ? 0 : buffer.argument->shape.size();
    for (std::size_t d = 0; d < std::min(room, *dimensions); ++d)
      extents[d] = buffer.argument->shape[d](buffer.plan.launch.sizes);
  });
}
size_t inlay_kernel_forms(const inlay_kernel* kernel) {
  return kernel == nullptr ? 0 : kernel->forms.forms().size();
}
inlay_status inlay_kernel_form(const inlay_kernel* kernel, const int64_t* sizes, size_t size_count,
                               size_t* form, const char** why) {
  return guarded([&] {
    need(kernel, "kernel");
    if (size_count != 0) need(sizes, "sizes");
    const Forms::Plan p = kernel->forms.plan(kernel->sizes(sizes, size_count));
    if (form != nullptr) *form = p.form;
    if (why == nullptr) return;
    reason = kernel->forms.why(p.row);
    *why = reason.c_str();
  });
}
inlay_status inlay_launch(inlay_kernel* kernel, void* const* buffers, size_t buffer_count,
                          const int64_t* sizes, size_t size_count, void* stream) {
  return guarded([&] {
    need(kernel, "kernel");
    if (buffer_count != kernel->buffers.size())
      throw LaunchError(kernel->name() + ": " + std::to_string(buffer_count) + " buffers were given",
                        "the kernel has " + std::to_string(kernel->buffers.size()));
    if (buffer_count != 0) need(buffers, "buffers");
    if (size_count != 0) need(sizes, "sizes");
    const auto prepared = kernel->prepared(sizes, size_count);
    const LaunchPlan& p = prepared->plan.launch;
    if (p.nothing()) return;
    const std::size_t form = prepared->plan.form;
    const Manifest& m = kernel->forms.forms()[form].manifest;
    const std::vector<std::size_t>& places = kernel->forms.places(form);
    std::vector<std::uint64_t> addresses(m.arguments.size(), 0);
    std::vector<void*> values(m.arguments.size());
    for (std::size_t i = 0; i < m.arguments.size(); ++i) {
      if (m.arguments[i].kind == Argument::Kind::buffer) {
        const auto at = std::lower_bound(kernel->buffers.begin(), kernel->buffers.end(), places[i]);
        addresses[i] = reinterpret_cast<std::uint64_t>(buffers[at - kernel->buffers.begin()]);
        values[i] = &addresses[i];
      } else { // HIP copies them
        values[i] = const_cast<std::uint8_t*>(prepared->values[i].data());
      }
    }
    check_addresses(m, addresses, prepared->bytes);
    const auto& hip = kernel->device->hip;
    kernel->device->use();
    kernel->device->check(hip.hipModuleLaunchKernel(kernel->loaded[form].function, p.grid[0], p.grid[1],
                                                    p.grid[2], m.block[0], m.block[1], m.block[2], m.lds,
                                                    stream, values.data(), nullptr),
                          "hipModuleLaunchKernel");
  });
}

} // extern "C"
