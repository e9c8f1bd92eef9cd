// inlay_hip.h, and what the library does on its own at the end of a process.
#include "state.h"

#include <cstring>
#include <inlay_hip.h>

using namespace inlay::hip;

extern "C" {

int inlay_hip_open(const char* arch, const char* checks, unsigned seeds, unsigned threads, const char* dump) {
  State& s = State::get();
  {
    const std::lock_guard lock(s.api);
    if (s.devices.size() > 1) {
      last_text() = "inlay_hip_open: several devices are open already";
      return illegal_state;
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
    s.options.arch = arch;
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
