#include "state.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace inlay::hip {

namespace {

std::string environment(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

template <class T>
T number(const char* name, T fallback) {
  const std::string text = environment(name, "");
  if (text.empty()) return fallback;
  char* end = nullptr;
  const auto v = std::strtoull(text.c_str(), &end, 10);
  if (*end != '\0') throw HipError(invalid_value, std::string(name) + "=" + text + " is no number");
  return static_cast<T>(v);
}

thread_local std::unique_lock<std::mutex>* held = nullptr;

void work(Device& d) {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(d.queue_mutex);
      d.changed.wait(lock, [&] { return !d.queue.empty(); });
      task = std::move(d.queue.front());
      d.queue.pop_front();
    }
    std::optional<HipError> failed;
    try {
      task();
    } catch (const HipError& e) {
      failed = e;
    } catch (const std::exception& e) {
      failed = HipError(unknown, e.what());
    }
    State::get().note_stir();
    const std::lock_guard lock(d.queue_mutex);
    if (failed && !d.failed) d.failed = failed;
    ++d.done;
    d.changed.notify_all();
  }
}

} // namespace

State& State::get() {
  static State& s = *new State; // never destroyed: calls come until the very end of the process
  return s;
}

const machine::Target& target() { return machine::Target::named(State::get().options.arch); }

void State::open() {
  if (!devices.empty()) return;
  Options& o = options;
  o.arch = std::string(machine::to_string(runtime::isa::parse_arch(environment("INLAY_HIP_ARCH", o.arch))));
  o.checks = environment("INLAY_HIP_CHECK", o.checks);
  o.matrix = environment("INLAY_HIP_MATRIX", o.matrix);
  o.report = environment("INLAY_HIP_REPORT", o.report);
  o.dump = environment("INLAY_HIP_DUMP", o.dump);
  o.profile = environment("INLAY_HIP_PROFILE", "") == "1";
  o.fail_on_finding = o.fail_on_finding || environment("INLAY_HIP_FAIL", "") == "1";
  o.seeds = number("INLAY_HIP_STRESS", o.seeds);
  o.first_seed = number("INLAY_HIP_SEED", o.first_seed);
  o.threads = number("INLAY_HIP_THREADS", o.threads);
  o.devices = std::max(1U, number("INLAY_HIP_DEVICES", o.devices));
  o.max_instructions = number("INLAY_HIP_MAX_INSTRUCTIONS", o.max_instructions);
  if (o.devices > 64) throw HipError(invalid_value, "INLAY_HIP_DEVICES: more than 64 devices");
  if (constexpr unsigned most = 1000; o.seeds > most)
    throw HipError(invalid_value, "INLAY_HIP_STRESS: more than " + std::to_string(most) + " launches");
  if (o.devices > 1 && o.seeds != 0)
    throw HipError(
        invalid_value,
        "INLAY_HIP_STRESS repeats single launches, and with several devices they wait for one another");
  for (unsigned i = 0; i < o.devices; ++i) {
    runtime::EmulatorOptions options_of_one;
    options_of_one.checks = runtime::Checks::parse(o.checks);
    options_of_one.threads = o.devices > 1 ? 1 : o.threads;
    options_of_one.matrix = runtime::parse_matrix_arithmetic(o.matrix);
    if (o.max_instructions != 0) options_of_one.max_wave_instructions = o.max_instructions;
    auto d = std::make_unique<Device>();
    d->emulator = std::make_unique<runtime::EmulatorDevice>(runtime::isa::parse_arch(o.arch),
                                                            std::move(options_of_one));
    devices.push_back(std::move(d));
    standard[static_cast<int>(i)].device = static_cast<int>(i);
  }
  if (devices.size() > 1)
    for (auto& d : devices) {
      d->emulator->options().others = [this, &device = *d](bool waits) {
        return others_may_act(device, waits);
      };
      d->worker = std::thread([&device = *d] { work(device); });
      d->worker.detach();
    }
}

void State::note_stir() {
  if (devices.size() == 1) return; // which runs everything at once: nothing waits for another
  const std::lock_guard lock(stirring);
  ++stir;
  stirred = std::chrono::steady_clock::now();
}

// A launch that waits does nothing but look. When all launches of all devices wait, each has looked after the last of them began to, so
// that nothing has changed since, and nothing is enqueued, the host alone could end it: by a call, or by what it writes without one.
bool State::others_may_act(Device& d, bool waits) {
  constexpr std::chrono::seconds patience(5);
  {
    const std::lock_guard lock(stirring);
    const bool begins = waits && d.looks_since == 0;
    if (begins || !waits) {
      ++stir;
      stirred = std::chrono::steady_clock::now();
    }
    d.looked_at = begins || !waits ? 0 : d.looks_since;
    d.looks_since = waits ? stir : 0;
    if (!waits) return true;
    const bool over = std::chrono::steady_clock::now() - stirred >= patience &&
                      std::all_of(devices.begin(), devices.end(), [&](const std::unique_ptr<Device>& e) {
                        const std::lock_guard queue(e->queue_mutex);
                        return e->enqueued == e->done || e->looked_at == stir;
                      });
    if (over) {
      d.looks_since = d.looked_at = 0;
      return false;
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

Device& State::device(int ordinal) {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size())
    throw HipError(invalid_device, "there is no device " + std::to_string(ordinal) + ", there are " +
                                       std::to_string(devices.size()) + " (INLAY_HIP_DEVICES)");
  return *devices[static_cast<std::size_t>(ordinal)];
}

int& current_device() {
  thread_local int d = 0;
  return d;
}
int& last_error() {
  thread_local int e = 0;
  return e;
}
std::string& last_text() {
  thread_local std::string t;
  return t;
}

std::unique_lock<std::mutex> api_lock() {
  return held == nullptr ? std::unique_lock(State::get().api) : std::unique_lock<std::mutex>();
}

void unlocked(const std::function<void()>& body) {
  std::unique_lock<std::mutex>* const mine = held;
  if (mine == nullptr) return body();
  mine->unlock();
  held = nullptr;
  struct Relock {
    std::unique_lock<std::mutex>* mine;
    ~Relock() {
      mine->lock();
      held = mine;
    }
  } const relock{mine};
  body();
}

int guarded_body(const char* call, const std::function<void()>& body) {
  std::unique_lock lock(State::get().api);
  struct Hold {
    explicit Hold(std::unique_lock<std::mutex>* l) { held = l; }
    ~Hold() { held = nullptr; }
  };
  const auto failed = [&](int code, const std::string& text) {
    last_text() = std::string(call) + ": " + text;
    if (code != not_ready) last_error() = code;
    return code;
  };
  try {
    const Hold hold(&lock);
    State::get().open();
    State::get().note_stir();
    body();
    return success;
  } catch (const HipError& e) {
    return failed(e.code, e.what());
  } catch (const runtime::DeviceError& e) {
    return failed(e.code() == 0 ? int{invalid_value} : e.code(), e.what());
  } catch (const runtime::CodeObjectError& e) {
    return failed(invalid_image, e.what());
  } catch (const std::exception& e) {
    return failed(invalid_value, e.what());
  }
}

// ---- streams and queues ------------------------------------------------------------------------------------------------

Stream& stream_of(void* handle) {
  State& s = State::get();
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    (void)s.device(current_device());
    return s.standard.at(current_device());
  }
  const auto at = s.streams.find(handle);
  if (at == s.streams.end()) throw HipError(invalid_handle, "this is no stream, or it was destroyed");
  return *at->second;
}

void enqueue(Stream& stream, int type, std::function<void()> task) {
  if (stream.capture != nullptr) {
    auto node = std::make_unique<Node>();
    node->type = type;
    node->run = std::move(task);
    if (!stream.capture->nodes.empty()) node->after.push_back(stream.capture->nodes.back().get());
    stream.capture->nodes.push_back(std::move(node));
    return;
  }
  State& s = State::get();
  if (s.devices.size() == 1) return task();
  Device& d = s.device(stream.device);
  s.note_stir();
  const std::lock_guard lock(d.queue_mutex);
  d.queue.push_back(std::move(task));
  ++d.enqueued;
  d.changed.notify_all();
}

void wait(int ordinal) {
  State& s = State::get();
  Device& d = s.device(ordinal);
  if (s.devices.size() == 1) return;
  std::optional<HipError> failed;
  unlocked([&] {
    std::unique_lock lock(d.queue_mutex);
    const std::uint64_t until = d.enqueued;
    d.changed.wait(lock, [&] { return d.done >= until; });
    failed.swap(d.failed);
  });
  if (failed) throw HipError(*failed);
}

void enqueue_and_wait(Stream& stream, int type, std::function<void()> task) {
  const bool captured = stream.capture != nullptr;
  enqueue(stream, type, std::move(task));
  if (!captured) wait(stream.device);
}

// ---- memory ------------------------------------------------------------------------------------------------------------

const std::pair<const std::uint64_t, Memory>* find_memory(std::uint64_t address) {
  const auto& memory = State::get().memory;
  const auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  const auto at = std::prev(after);
  return address - at->first < std::max<std::uint64_t>(1, at->second.bytes) ? &*at : nullptr;
}

namespace {

/// Whether the process has that memory, as far as its pages say: the first and the last byte are read by the kernel on our behalf.
bool is_mapped(std::uint64_t at, std::size_t bytes) {
  if (bytes == 0) return true;
  char byte = 0;
  for (const std::uint64_t where : {at, at + bytes - 1}) {
    const iovec here{&byte, 1}, there{reinterpret_cast<void*>(where), 1};
    if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == -1 && errno == EFAULT) return false;
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), begin = at / page * page;
  return ::msync(reinterpret_cast<void*>(begin), at + bytes - begin, MS_ASYNC) == 0 || errno != ENOMEM;
}

std::string nearest_buffer(std::uint64_t at) {
  const auto& memory = State::get().memory;
  const auto after = memory.upper_bound(at);
  if (after != memory.begin()) {
    const auto& [begin, m] = *std::prev(after);
    if (at - begin - m.bytes < 1U << 20)
      return ": byte " + std::to_string(at - begin) + " of a buffer of " + std::to_string(m.bytes);
  }
  if (after != memory.end() && after->first - at < 1U << 20)
    return ": " + std::to_string(after->first - at) + " bytes before a buffer of " +
           std::to_string(after->second.bytes);
  return "";
}

} // namespace

void check_range(const char* what, const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const auto* m = find_memory(at);
  if (m == nullptr) {
    if (!is_mapped(at, bytes))
      throw HipError(invalid_value, std::string(what) + ": " + std::to_string(bytes) +
                                        " bytes that are neither of a buffer nor of the host" +
                                        nearest_buffer(at));
    return;
  }
  if (bytes <= m->second.bytes - (at - m->first)) return;
  throw HipError(invalid_value,
                 std::string(what) + ": " + std::to_string(bytes) + " bytes from byte " +
                     std::to_string(at - m->first) + " of a buffer of " + std::to_string(m->second.bytes) +
                     " end " + std::to_string(bytes - (m->second.bytes - (at - m->first))) + " beyond it");
}

std::function<void()> marker(const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const auto* m = find_memory(at);
  if (m == nullptr || bytes == 0 ||
      m->second.kind != Memory::Kind::device) // others count as written all the time
    return [] {};
  const std::uint64_t count = std::min<std::uint64_t>(bytes, m->second.bytes - (at - m->first));
  return [&d = State::get().device(m->second.device), at, count] {
    const std::lock_guard lock(d.mutex);
    d.emulator->copy(at, at, count);
  };
}

namespace {

// Devices of which kernels may touch that memory.
template <class Do>
void each_that_sees(int owner, Memory::Kind kind, Do&& act) {
  State& s = State::get();
  for (std::size_t i = 0; i < s.devices.size(); ++i) {
    const int other = static_cast<int>(i);
    if (other == owner) continue;
    Device& d = *s.devices[i];
    if (kind == Memory::Kind::device && !d.peers.contains(owner)) continue;
    const std::lock_guard lock(d.mutex);
    act(d);
  }
}

} // namespace

std::uint64_t allocate(int ordinal, std::uint64_t bytes, Memory::Kind kind, unsigned flags) {
  State& s = State::get();
  Device& d = s.device(ordinal);
  std::uint64_t p = 0;
  {
    const std::lock_guard lock(d.mutex);
    // Zero bytes are an address of their own, as HIP does not give; nobody may read there.
    p = d.emulator->allocate(std::max<std::uint64_t>(1, bytes));
    // What the host writes on its own, without a call, counts as written from the start.
    if (kind != Memory::Kind::device) d.emulator->fill(p, 0, std::max<std::uint64_t>(1, bytes));
  }
  s.memory[p] = {bytes, ordinal, kind, flags};
  each_that_sees(ordinal, kind,
                 [&](Device& other) { other.emulator->share(p, std::max<std::uint64_t>(1, bytes)); });
  return p;
}

void release(std::uint64_t address) {
  State& s = State::get();
  const auto at = s.memory.find(address);
  if (at == s.memory.end()) {
    const auto* inside = find_memory(address);
    throw HipError(invalid_value, inside == nullptr
                                      ? "this address was not given out, or was freed before"
                                      : "this address is byte " + std::to_string(address - inside->first) +
                                            " of a buffer, not its beginning");
  }
  const Memory m = at->second;
  wait(m.device); // as hipFree does
  each_that_sees(m.device, m.kind, [&](Device& other) { other.emulator->release(address); });
  Device& d = s.device(m.device);
  const std::lock_guard lock(d.mutex);
  d.emulator->release(address);
  s.memory.erase(address);
}

void register_host(std::uint64_t address, std::uint64_t bytes, unsigned flags) {
  State& s = State::get();
  if (const auto* m = find_memory(address); m != nullptr)
    throw HipError(712, "this memory is registered already, or was given out by HIP");
  for (auto& d : s.devices) {
    const std::lock_guard lock(d->mutex);
    d->emulator->share(address, bytes);
  }
  s.memory[address] = {bytes, 0, Memory::Kind::registered, flags};
}

// ---- modules -----------------------------------------------------------------------------------------------------------

const runtime::CodeObject& Module::code(const std::string& arch) {
  if (!object) {
    try {
      object = runtime::CodeObject::parse(image, arch);
    } catch (const runtime::CodeObjectError& e) {
      throw HipError(no_binary_for_gpu, name + ": " + e.what());
    }
  }
  return *object;
}

runtime::Module Device::load(Module& module) {
  const auto [at, fresh] = modules.try_emplace(&module);
  if (fresh) {
    try {
      at->second = emulator->load(module.code(State::get().options.arch));
    } catch (...) {
      modules.erase(at);
      throw;
    }
  }
  return at->second;
}

runtime::Function Device::load(Function& function) {
  const auto at = functions.find(&function);
  if (at != functions.end()) return at->second;
  const runtime::Function f = emulator->function(load(*function.module), function.kernel.name);
  functions.emplace(&function, f);
  return f;
}

Module& add_module(std::vector<std::uint8_t> image, std::string name) {
  auto m = std::make_unique<Module>();
  m->image = std::move(image);
  m->name = std::move(name);
  Module& out = *m;
  State::get().modules.emplace(m.get(), std::move(m));
  return out;
}

Function& function_named(Module& module, const std::string& name) {
  State& s = State::get();
  if (const auto at = s.by_name.find({&module, name}); at != s.by_name.end()) return *at->second;
  auto f = std::make_unique<Function>();
  f->module = &module;
  try {
    f->kernel = module.code(s.options.arch).kernel(name);
  } catch (const runtime::CodeObjectError& e) {
    throw HipError(not_found, e.what());
  }
  Function& out = *f;
  s.functions.emplace(f.get(), std::move(f));
  s.by_name.emplace(std::pair{&module, name}, &out);
  return out;
}

Function& function_of(void* handle) {
  State& s = State::get();
  const auto at = s.functions.find(handle);
  if (at == s.functions.end()) throw HipError(invalid_handle, "this is no function of a module");
  return *at->second;
}

Function& function_of_symbol(const void* symbol) {
  State& s = State::get();
  if (const auto at = s.host_functions.find(symbol); at != s.host_functions.end())
    return function_named(*at->second.module, at->second.name);
  if (const auto at = s.functions.find(const_cast<void*>(symbol)); at != s.functions.end())
    return *at->second;
  throw HipError(invalid_device_function, "no kernel is registered for this host function");
}

std::pair<std::uint64_t, std::uint64_t> variable_of(const void* symbol) {
  State& s = State::get();
  const auto at = s.host_variables.find(symbol);
  if (at == s.host_variables.end())
    throw HipError(invalid_symbol, "no device variable is registered for this address");
  Device& d = s.device(current_device());
  const std::lock_guard lock(d.mutex);
  const auto found = d.emulator->symbol(d.load(*at->second.module), at->second.name);
  s.memory.try_emplace(found.first, Memory{found.second, current_device(), Memory::Kind::image, 0});
  return found;
}

} // namespace inlay::hip
