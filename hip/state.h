/// Private: what the calls of libamdhip64 work on. Devices are emulators; memory that they give out is host memory; streams run
/// in order. With one device everything runs at once, in the calling thread; with several, each has a thread and its work is
/// done in the order in which it was enqueued, so that kernels of several devices may wait for one another.
///
/// Locks: `State::api` for everything here, held by a call, except while it waits for a device or runs the program's own functions;
/// `Device::mutex` while the emulator of that device is used; `State::stirring` and, in it, `Device::queue_mutex` for a moment.
#pragma once

#include "abi.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <inlay/machine/target.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/kernarg.h>
#include <inlay_hip.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace inlay::hip {

/// What a call answers, with a text for people.
struct HipError : std::runtime_error {
  HipError(int c, const std::string& text) : std::runtime_error(text), code(c) {}
  int code;
};

/// A module: an image, parsed for a device's processor when it is first needed.
struct Module {
  std::vector<std::uint8_t> image;
  std::string name; ///< for messages: a file, or what the program handed over
  std::optional<runtime::CodeObject> object;
  const runtime::CodeObject& code(const std::string& arch);
};

struct Function {
  Module* module = nullptr;
  runtime::Kernel kernel;
};

struct Device {
  std::unique_ptr<runtime::EmulatorDevice> emulator;
  std::mutex mutex;
  std::map<const Module*, runtime::Module> modules;
  std::map<const Function*, runtime::Function> functions;
  std::set<int> peers; ///< ordinals whose memory kernels here may access

  // The queue of a device among several.
  std::thread worker;
  std::mutex queue_mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  std::uint64_t enqueued = 0, done = 0;
  std::optional<HipError> failed; ///< what work in the queue ended with, for the next call that waits
  // Of a launch that waits for other devices, under State::stirring: State::stir when it began to look whether it can go on, and that of
  // its last look. 0: it does not wait.
  std::uint64_t looks_since = 0, looked_at = 0;

  runtime::Module load(Module& module);
  runtime::Function load(Function& function);
};

struct Memory {
  std::uint64_t bytes = 0;
  int device = 0;
  enum class Kind : std::uint8_t { device, host, managed, registered, image } kind = Kind::device;
  unsigned flags = 0;
};
/// Of a registration.
constexpr unsigned launches_only = INLAY_HIP_LAUNCHES_ONLY;

struct Node {
  int type = 5; ///< hipGraphNodeType
  std::function<void()> run;
  std::vector<Node*> after;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct GraphExec {
  std::vector<std::pair<const Node*, std::function<void()>>> steps; ///< in an order that the edges allow
};

struct Stream {
  int device = 0, priority = 0;
  unsigned flags = 0;
  Graph* capture = nullptr;
  bool joined = false; ///< to a capture that began on another stream
  std::unique_ptr<Graph> own;
};
struct Event {
  int device = 0;
  unsigned flags = 0;
  std::uint64_t asked = 0, reached = 0; ///< records, and how many of them have come
  std::chrono::steady_clock::time_point at;
  Graph* capture = nullptr; ///< recorded in a capture
  std::mutex mutex;
  std::condition_variable changed;
};

/// What INLAY_HIP_... of the environment, or inlay_hip_open, say.
struct Options {
  std::string arch{machine::usual_target}, checks = "all", report, dump;
  unsigned seeds = 0, threads = 0, devices = 1;
  std::uint64_t max_instructions = 0, first_seed = 1;
  bool fail_on_finding = false, keep_report = false, profile = false;
  std::string matrix = "sequential";
};

struct State {
  std::mutex api;
  Options options;
  std::vector<std::unique_ptr<Device>> devices;
  std::map<std::uint64_t, Memory> memory; ///< by first address
  std::map<void*, std::unique_ptr<Module>> modules;
  std::map<void*, std::unique_ptr<Function>> functions;
  std::map<std::pair<Module*, std::string>, Function*> by_name;
  std::map<void*, std::unique_ptr<Stream>> streams;
  std::map<void*, std::unique_ptr<Event>> events;
  std::map<void*, std::unique_ptr<Graph>> graphs;
  std::map<void*, std::unique_ptr<GraphExec>> execs;
  /// Of devices that were opened anew: a handle that a program still holds names nothing else.
  std::vector<std::unique_ptr<Module>> old_modules;
  std::vector<std::unique_ptr<Function>> old_functions;
  bool asked = false;             ///< by name, as an emulator: inlay_hip_open or inlay_hip_share
  bool shared = false;            ///< by inlay_hip_share
  std::map<int, Stream> standard; ///< the null stream of each device
  /// Of clang's host code: functions and variables by the address that stands for them.
  struct Symbol {
    Module* module = nullptr;
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::map<const void*, Symbol> host_functions, host_variables;

  // Whether launches of several devices wait for each other for ever: counted up with all that lets one of them go on.
  std::mutex stirring;
  std::uint64_t stir = 1;
  std::chrono::steady_clock::time_point stirred;
  /// A call began, work was enqueued or has ended.
  void note_stir();
  /// EmulatorOptions::others of the device.
  bool others_may_act(Device& d, bool waits);

  static State& get();
  /// Opens the devices when that has not been done. Errors: HipError.
  void open();
  Device& device(int ordinal);
};

/// Of the devices.
[[nodiscard]] const machine::Target& target();

/// The ordinal that this thread has chosen.
int& current_device();
/// The last error of this thread: hipGetLastError.
int& last_error();
/// Its text; kept for hipGetErrorString.
std::string& last_text();

/// State::api, where this thread does not hold it: for the threads of devices.
std::unique_lock<std::mutex> api_lock();
/// Lets go of State::api while `body` runs: what the program gave us, which may call HIP.
void unlocked(const std::function<void()>& body);

/// `body` under State::api with the devices open; its exceptions become an error, remembered for hipGetLastError.
int guarded_body(const char* call, const std::function<void()>& body);
template <class Body>
int guarded(const char* call, Body&& body) {
  return guarded_body(call, std::function<void()>(std::forward<Body>(body)));
}

/// The stream of a handle; the null stream of the current device for 0, 1 (legacy) and 2 (per thread). Errors: HipError.
Stream& stream_of(void* handle);
/// Runs `task` after what is on the stream, or makes it a node of the capture. `type`: of that node.
void enqueue(Stream& stream, int type, std::function<void()> task);
/// Everything on that device is done; what went wrong on it is thrown. Errors: HipError.
void wait(int ordinal);
/// A program waits for its memory copies: `enqueue` and `wait`, except in a capture.
void enqueue_and_wait(Stream& stream, int type, std::function<void()> task);

/// The memory that holds `address`; nullptr: none that was given out here.
const std::pair<const std::uint64_t, Memory>* find_memory(std::uint64_t address);
/// Refuses `bytes` from `address` on when they begin in memory of ours and end beyond it. `what` for the message.
void check_range(const char* what, const void* address, std::size_t bytes);
/// What says that the host wrote there: made by a call, done in the device's thread.
std::function<void()> marker(const void* address, std::size_t bytes);
std::uint64_t allocate(int ordinal, std::uint64_t bytes, Memory::Kind kind, unsigned flags);
void release(std::uint64_t address);
/// Host memory becomes accessible to all devices.
void register_host(std::uint64_t address, std::uint64_t bytes, unsigned flags);

Function& function_of(void* handle);
/// The function behind a host function's address, or a hipFunction_t. Errors: HipError.
Function& function_of_symbol(const void* symbol);
Function& function_named(Module& module, const std::string& name);
Module& add_module(std::vector<std::uint8_t> image, std::string name);
/// Where a variable lies on the current device. Errors: HipError.
std::pair<std::uint64_t, std::uint64_t> variable_of(const void* symbol);

/// The bytes of the argument segment from what a launch passes. Errors: HipError.
std::vector<std::uint8_t> segment_of(const Function& f, const runtime::LaunchGeometry& geometry,
                                     void** values, void** extra);
/// Launches, with checks, stress and report. Runs in the thread of the device.
void launch(int ordinal, Function& f, const runtime::LaunchGeometry& geometry,
            const std::vector<std::uint8_t>& segment);
/// Launches that are kept for inlay_hip_report, as JSON; taken.
std::string take_report();

} // namespace inlay::hip
