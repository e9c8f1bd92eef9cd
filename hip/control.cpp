// inlay_hip.h, and what the library does on its own at the end of a process.
#include "state.h"

#include <cstring>
#include <inlay_hip.h>

using namespace inlay::hip;

namespace {

/// Remembers why, for inlay_hip_error.
int refused(const char* call, int code, const std::string& text) {
  last_text() = std::string(call) + ": " + text;
  return code;
}

std::string another_processor(const std::string& there, const std::string& wanted) {
  return "the emulated processor of this process is " + there + ", not " + wanted +
         "\n  hint   one processor a process; " + wanted + " in a process of its own";
}

} // namespace

extern "C" {

int inlay_hip_open(const char* arch, const char* checks, unsigned seeds, unsigned threads, const char* dump) {
  State& s = State::get();
  {
    const std::lock_guard lock(s.api);
    s.asked = true;
    std::string processor;
    inlay::runtime::Checks parsed;
    try { // what is refused leaves the devices as they are
      processor = std::string(inlay::machine::to_string(inlay::runtime::isa::parse_arch(arch)));
      parsed = inlay::runtime::Checks::parse(checks);
    } catch (const std::exception& e) {
      return refused(__func__, invalid_value, e.what());
    }
    if (s.devices.size() > 1) return refused(__func__, illegal_state, "several devices are open already");
    if (s.shared && !s.devices.empty()) {
      if (s.options.arch != processor)
        return refused(__func__, illegal_state, another_processor(s.options.arch, processor));
      auto& options = s.devices.front()->emulator->options();
      options.checks = parsed;
      options.threads = threads;
      s.options.checks = checks;
      s.options.seeds = seeds;
      s.options.threads = threads;
      s.options.dump = dump == nullptr ? "" : dump;
      s.options.keep_report = true;
      (void)take_report();
      return success;
    }
    for (auto& [handle, function] : s.functions) s.old_functions.push_back(std::move(function));
    for (auto& [handle, module] : s.modules) {
      module->image = {};
      module->object.reset();
      s.old_modules.push_back(std::move(module));
    }
    s.execs.clear();
    s.graphs.clear();
    s.streams.clear();
    s.events.clear();
    s.standard.clear();
    s.by_name.clear();
    s.functions.clear();
    s.host_variables.clear();
    s.host_functions.clear();
    s.modules.clear();
    s.memory.clear();
    s.devices.clear();
    s.options = {};
    s.options.arch = processor;
    s.options.checks = checks;
    s.options.seeds = seeds;
    s.options.threads = threads;
    s.options.dump = dump == nullptr ? "" : dump;
    s.options.keep_report = true;
    current_device() = 0;
    (void)take_report();
  }
  return guarded(__func__, [] {});
}
int inlay_hip_share(const char* arch) {
  State& s = State::get();
  std::string wanted;
  {
    const std::lock_guard lock(s.api);
    s.asked = true;
    try {
      if (arch != nullptr) wanted = inlay::machine::Target::named(arch).name;
    } catch (const std::exception& e) {
      return refused(__func__, invalid_value, e.what());
    }
    if (s.devices.empty() && !wanted.empty()) s.options.arch = wanted;
  }
  return guarded(__func__, [&] {
    if (!wanted.empty() && s.options.arch != wanted)
      throw HipError(illegal_state, another_processor(s.options.arch, wanted));
    s.shared = true;
  });
}
int inlay_hip_asked() {
  State& s = State::get();
  const std::lock_guard lock(s.api);
  return s.asked ? 1 : 0;
}
const char* inlay_hip_report() {
  thread_local std::string text;
  text = take_report();
  return text.c_str();
}
const char* inlay_hip_error() { return last_text().c_str(); }
int inlay_hip_fail_on_finding(int yes) {
  return guarded(__func__, [&] { State::get().options.fail_on_finding = yes != 0; });
}
int inlay_hip_written(void* at, std::size_t bytes) {
  return guarded(__func__, [&] {
    check_range("writes", at, bytes);
    marker(at, bytes)();
  });
}
int inlay_hip_matrix(const char* arithmetic) {
  return guarded(__func__, [&] {
    for (auto& d : State::get().devices)
      d->emulator->options().matrix = inlay::runtime::parse_matrix_arithmetic(arithmetic);
  });
}
int inlay_hip_launch(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned lds, const void* segment, std::size_t bytes) {
  return guarded(__func__, [&] {
    Function& f = function_of(function);
    std::vector<std::uint8_t> whole(std::max<std::size_t>(bytes, f.kernel.kernarg_bytes));
    std::memcpy(whole.data(), segment, bytes);
    const inlay::runtime::LaunchGeometry geometry{{gx, gy, gz}, {bx, by, bz}, lds};
    Stream& stream = stream_of(nullptr);
    enqueue(stream, 0,
            [&f, geometry, whole, ordinal = stream.device] { launch(ordinal, f, geometry, whole); });
  });
}
const char* inlay_hip_kernel_name(void* module, unsigned n) {
  const char* out = nullptr;
  (void)guarded(__func__, [&] {
    const auto at = State::get().modules.find(module);
    if (at == State::get().modules.end()) throw HipError(invalid_handle, "this is no module");
    const auto kernels = at->second->code(State::get().options.arch).kernels();
    if (n < kernels.size()) out = kernels[n].name.c_str();
  });
  return out;
}

} // extern "C"

// Work that nobody waited for is done, so that what it finds is reported.
__attribute__((destructor)) static void finish() {
  if (State::get().devices.size() < 2) return;
  for (std::size_t i = 0; i < State::get().devices.size(); ++i)
    (void)guarded("exit", [&] { wait(static_cast<int>(i)); });
}
