// The emulator as a Device: memory, loaded code, launches at once, capture as a list of actions.
#include "debug.h"
#include "print_buffer.h"
#include <inlay/machine/target.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/kernarg.h>
#include <inlay/runtime/names.h>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <thread>
#include <tuple>

namespace inlay::runtime {

using namespace emulator;

std::string_view to_string(FindingKind kind) {
  static constexpr std::string_view names[] = {"bounds",  "uninit", "races", "waits",
                                               "barrier", "align",  "hazard"};
  return names[static_cast<std::size_t>(kind)];
}

Checks Checks::parse(std::string_view text) {
  Checks c = none();
  bool* const fields[] = {&c.bounds, &c.uninit, &c.races, &c.waits, &c.barrier, &c.align, &c.hazard};
  std::istringstream in{std::string(text)};
  for (std::string name; std::getline(in, name, ',');) {
    if (name == "all") {
      c = all();
      continue;
    }
    if (name == "none" || name.empty()) continue;
    bool known = false;
    for (std::size_t i = 0; i < 7; ++i) {
      if (name == to_string(static_cast<FindingKind>(i))) {
        *fields[i] = true;
        known = true;
      }
    }
    if (!known) {
      throw std::invalid_argument(
          "checks: '" + name +
          "' is no sanitizer\n  hint   bounds, uninit, races, waits, barrier, align, hazard, all, none");
    }
  }
  return c;
}

MatrixArithmetic parse_matrix_arithmetic(std::string_view text) {
  if (text == "sequential") return MatrixArithmetic::sequential;
  if (text == "cdna3") return MatrixArithmetic::cdna3;
  throw std::invalid_argument("matrix: '" + std::string(text) +
                              "' is no arithmetic of matrix instructions\n  hint   sequential, cdna3");
}

std::string to_string(const Finding& f) {
  char head[96];
  std::snprintf(head, sizeof head, "\n  at     0x%llx  ", static_cast<unsigned long long>(f.address));
  std::string out =
      std::string(to_string(f.kind)) + (f.note && f.kind != FindingKind::hazard ? " (note): " : ": ") +
      f.message + head + f.disassembly + (f.source ? "\n  source " + isa::to_string(*f.source) : "") +
      "\n  in     " + demangled(f.kernel) + (f.device ? ", device " + std::to_string(*f.device) : "") +
      ", workgroup " + std::to_string(f.workgroup.x) + "," + std::to_string(f.workgroup.y) + "," +
      std::to_string(f.workgroup.z) + ", wave " + std::to_string(f.wave) + ", lane " + std::to_string(f.lane);
  if (f.count > 1) out += "\n  times  " + std::to_string(f.count);
  return out + "\n";
}

void LaunchStatistics::add(const LaunchStatistics& o) {
  instructions += o.instructions;
  scalar += o.scalar;
  vector += o.vector;
  matrix += o.matrix;
  lds += o.lds;
  memory += o.memory;
  scalar_memory += o.scalar_memory;
  branches += o.branches;
  waits += o.waits;
  other += o.other;
  multiply_adds += o.multiply_adds;
  bytes_read += o.bytes_read;
  bytes_written += o.bytes_written;
  lds_bytes += o.lds_bytes;
  lds_cycles += o.lds_cycles;
  lds_conflict_cycles += o.lds_conflict_cycles;
  waves += o.waves;
  workgroups += o.workgroups;
  seconds += o.seconds;
}

namespace {

/// A loaded code object: its image in device memory and the decoded executable sections.
struct LoadedModule {
  explicit LoadedModule(const CodeObject& o) : object(o) {}
  CodeObject object;
  u64 image = 0;
  std::optional<isa::LineTable> lines;          ///< read with the first launch
  std::map<std::size_t, isa::Program> programs; ///< by section
  /// By section, registers reserved, accumulation offset and matrix arithmetic.
  std::map<std::tuple<std::size_t, unsigned, unsigned, unsigned, MatrixArithmetic>,
           std::unique_ptr<PreparedProgram>>
      prepared;
};

void run_not_reserved(Wave& w, const Operation& op) {
  const auto why = isa::not_reserved(*op.instruction, w.group->launch->kernel->descriptor);
  fail(w, why.value_or("a register that does not belong to the wave"));
}

// Whoever reaches an instruction with a register of somebody else stops there.
void stop_at_registers_not_reserved(PreparedProgram& program, const KernelDescriptor& descriptor) {
  for (Operation& op : program.operations) {
    if (!isa::not_reserved(*op.instruction, descriptor)) continue;
    op.execute = run_not_reserved;
    op.reads.clear();
    op.writes.clear();
  }
}

/// Where a launch's text goes.
HostCalls::Print printer(const EmulatorOptions& options) {
  if (options.stress || options.observer != nullptr) return [](std::string_view, bool) {};
  if (options.print) return options.print;
  return [](std::string_view text, bool to_stderr) {
    std::FILE* const to = to_stderr ? stderr : stdout;
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
  };
}

/// Whether there is something that kernels may write: a symbol of a writable segment.
bool has_variables(const CodeObject& object) {
  const auto is_in = [](const Symbol& v, const Segment& s) {
    return s.writable && v.address >= s.address && v.address < s.address + s.memory_bytes;
  };
  return std::any_of(object.symbols().begin(), object.symbols().end(), [&](const Symbol& v) {
    // clang names each HIP translation unit by a byte that nobody reads.
    return !v.function && v.size != 0 && v.section != Symbol::npos && !v.name.starts_with("__hip_cuid_") &&
           std::any_of(object.segments().begin(), object.segments().end(),
                       [&](const Segment& s) { return is_in(v, s); });
  });
}

struct LoadedFunction {
  LoadedModule* module = nullptr;
  const Kernel* kernel = nullptr;
};

} // namespace

struct EmulatorDevice::State {
  isa::Arch arch;
  EmulatorOptions options;
  MemoryMap memory;
  LaunchResult last;
  std::map<u64, std::unique_ptr<LoadedModule>> modules;
  std::map<u64, LoadedFunction> functions;
  std::map<u64, std::chrono::steady_clock::time_point> events;
  std::map<u64, std::vector<std::function<void()>>> graphs;
  std::map<u64, std::vector<std::function<void()>>> capturing; ///< by stream
  std::set<u64> streams;
  u64 next = 1;

  u8* bytes(const char* call, DevicePointer at, std::uint64_t count, bool write) {
    if (count == 0) return nullptr;
    Allocation* a = memory.find(at, count);
    if (a == nullptr) {
      throw DeviceError(call, 1,
                        "invalid value: no allocation contains these " + std::to_string(count) + " bytes");
    }
    if (write && count == a->end - a->begin) {
      a->written.clear(); // all of it: nothing is left to ask about
    } else if (write) {
      a->mark_written(at, count);
    }
    return reinterpret_cast<u8*>(at);
  }
  /// Does `action` now, or records it when the stream is being captured.
  void enqueue(Stream stream, std::function<void()> action) {
    if (const auto at = capturing.find(static_cast<u64>(stream)); at != capturing.end()) {
      at->second.push_back(std::move(action));
    } else {
      action();
    }
  }
  /// On as many devices as there are arguments.
  void run(const LoadedFunction& f, const LaunchGeometry& geometry,
           const std::vector<std::span<const u8>>& arguments);
};

void EmulatorDevice::State::run(const LoadedFunction& f, const LaunchGeometry& geometry,
                                const std::vector<std::span<const u8>>& arguments) {
  last = {};
  const Kernel& kernel = *f.kernel;
  check_geometry(kernel, geometry, static_cast<u32>(machine::target(arch).lds_bytes));
  // The hardware does not start a workgroup that does not fit a compute unit.
  const auto items = static_cast<unsigned>(geometry.block.count()), waves = (items + 63) / 64;
  const unsigned room = 4 * isa::occupancy(kernel.descriptor.vgprs, 0, items, arch).waves_per_simd;
  if (waves > room)
    throw ArgumentError("launch of kernel " + kernel.name + ": " + std::to_string(waves) + " waves of " +
                        std::to_string(kernel.descriptor.vgprs) +
                        " registers do not fit a compute unit, which holds " + std::to_string(room) +
                        " of them\n  hint   a smaller --block, or fewer registers");
  if (kernel.descriptor.scratch_bytes > 1U << 18) {
    throw DeviceError("launch", 2, "the kernel asks for more than 256 KiB of scratch a lane", kernel.name);
  }
  if (kernel.kernarg_bytes > 1U << 20) {
    throw DeviceError("launch", 2, "the kernel declares more than 1 MiB of arguments", kernel.name);
  }
  LoadedModule& module = *f.module;
  auto program = module.programs.find(kernel.section);
  if (program == module.programs.end()) {
    const Section& section = module.object.sections()[kernel.section];
    std::vector<isa::Symbol> symbols;
    for (const Symbol& s : module.object.symbols()) {
      if (s.function && s.section == kernel.section) symbols.push_back({s.name, s.address, s.size});
    }
    program =
        module.programs
            .emplace(kernel.section, isa::decode(section.bytes, section.address, arch, std::move(symbols)))
            .first;
  }
  const unsigned accum = kernel.descriptor.accum_offset == 0 ? 256 : kernel.descriptor.accum_offset;
  auto& prepared = module.prepared[{kernel.section, kernel.descriptor.vgprs, kernel.descriptor.sgprs, accum,
                                    options.matrix}];
  if (prepared == nullptr) {
    prepared = prepare(program->second, module.image, accum, options.matrix);
    stop_at_registers_not_reserved(*prepared, kernel.descriptor);
  }

  Launch launch;
  launch.code = prepared.get();
  launch.kernel = &kernel;
  launch.arch = arch;
  launch.geometry = geometry;
  launch.options = &options;
  if (!module.lines) module.lines = isa::LineTable::read(module.object);
  launch.lines = &*module.lines;
  launch.memory = &memory;
  launch.lds_bytes = kernel.descriptor.lds_bytes + geometry.dynamic_lds;
  launch.scratch_bytes =
      kernel.descriptor.scratch_bytes + (kernel.descriptor.dynamic_stack ? options.dynamic_stack : 0);
  const u64 entry = kernel.address + (kernel.descriptor.preload_length != 0 ? 256 : 0);
  const auto index = program->second.index_of(entry);
  if (!index) throw DeviceError("launch", 1, "the kernel's entry is no instruction", kernel.name);
  launch.entry = static_cast<u32>(*index);

  // The argument segment and the dispatch packet live in device memory for the length of the launch.
  struct Release {
    MemoryMap& memory;
    std::vector<u64> all;
    ~Release() {
      for (const u64 a : all) memory.release(a);
    }
  } release{memory, {}};
  const auto place = [&](u64 bytes) { return release.all.emplace_back(memory.allocate(bytes, false)); };
  launch.devices = static_cast<u32>(arguments.size());
  launch.ends.resize(launch.devices);
  std::optional<HostCalls> host_calls;
  std::deque<PrintBuffer> prints; // of each device
  for (const std::span<const u8> segment : arguments) {
    const u64 kernarg_bytes = (std::max<u64>(kernel.kernarg_bytes, segment.size()) + 63) / 64 * 64 + 64;
    const u64 kernarg = place(kernarg_bytes);
    if (!segment.empty()) std::memcpy(reinterpret_cast<void*>(kernarg), segment.data(), segment.size());
    for (const KernelArgument& a : kernel.arguments)
      if (a.kind == "hidden_hostcall_buffer" && a.size == 8 && u64{a.offset} + 8 <= kernarg_bytes) {
        if (!host_calls)
          launch.host_calls =
              &host_calls.emplace(memory, waves * geometry.grid.count() * launch.devices, printer(options));
        const u64 at = host_calls->buffer();
        std::memcpy(reinterpret_cast<u8*>(kernarg) + a.offset, &at, 8);
      } else if (a.kind == "hidden_printf_buffer" && a.size == 8 && u64{a.offset} + 8 <= kernarg_bytes) {
        const u64 at = prints.emplace_back(memory, module.object.prints()).buffer();
        std::memcpy(reinterpret_cast<u8*>(kernarg) + a.offset, &at, 8);
      }
    launch.segments.emplace_back(kernarg, place(64));
  }
  struct Packet {
    u16 header, setup, block[3], reserved;
    u32 grid[3], scratch, lds;
    u64 object, kernarg, reserved2, signal;
  } packet{};
  packet.setup = 3;
  const Extent3& b = geometry.block;
  const Extent3& g = geometry.grid;
  packet.block[0] = static_cast<u16>(b.x);
  packet.block[1] = static_cast<u16>(b.y);
  packet.block[2] = static_cast<u16>(b.z);
  packet.grid[0] = g.x * b.x;
  packet.grid[1] = g.y * b.y;
  packet.grid[2] = g.z * b.z;
  packet.scratch = launch.scratch_bytes;
  packet.lds = launch.lds_bytes;
  for (const auto& [kernarg, at] : launch.segments) {
    packet.kernarg = kernarg;
    std::memcpy(reinterpret_cast<void*>(at), &packet, sizeof packet);
  }
  check_debug(launch);
  memory.forget_accesses();
  // What was printed is there to be seen while the launch runs, and whatever it ends with.
  const auto print = [&](PrintBuffer::Until until) {
    for (PrintBuffer& p : prints) p.print(printer(options), until);
  };
  if (!prints.empty()) launch.print = [&] { print(PrintBuffer::Until::now); };
  try {
    run_launch(launch, last);
  } catch (...) {
    print(PrintBuffer::Until::broken);
    throw;
  }
  print(PrintBuffer::Until::end);
}

EmulatorDevice::EmulatorDevice(isa::Arch arch, EmulatorOptions options) : state_(std::make_unique<State>()) {
  state_->arch = arch;
  state_->options = std::move(options);
}
EmulatorDevice::~EmulatorDevice() = default;

EmulatorOptions& EmulatorDevice::options() { return state_->options; }
const LaunchResult& EmulatorDevice::last_launch() const { return state_->last; }

DeviceInfo EmulatorDevice::info() const {
  DeviceInfo i;
  i.kind = "emulator";
  i.name = "inlay emulator";
  i.arch = std::string(isa::to_string(state_->arch));
  i.compute_units = std::max(1U, std::thread::hardware_concurrency());
  i.lds_bytes = static_cast<u32>(machine::target(state_->arch).lds_bytes);
  i.memory_bytes = state_->memory.bytes();
  i.runtime = "instruction-level emulator";
  return i;
}

DevicePointer EmulatorDevice::allocate(std::uint64_t bytes) {
  try {
    return state_->memory.allocate(bytes, state_->options.checks.uninit);
  } catch (const std::bad_alloc&) {
    throw DeviceError("allocate", 2, "out of memory", std::to_string(bytes) + " bytes");
  }
}
void EmulatorDevice::share(DevicePointer begin, std::uint64_t bytes) {
  if (!state_->memory.adopt(begin, bytes))
    throw DeviceError("share", 1, "invalid value: this memory overlaps an allocation",
                      std::to_string(bytes) + " bytes");
}
std::pair<DevicePointer, std::uint64_t> EmulatorDevice::symbol(Module module, std::string_view name) const {
  const auto at = state_->modules.find(static_cast<u64>(module));
  if (at == state_->modules.end()) throw DeviceError("symbol", 400, "invalid resource handle");
  for (const Symbol& s : at->second->object.symbols())
    if (s.name == name && s.section != Symbol::npos) return {at->second->image + s.address, s.size};
  throw DeviceError("symbol", 500, "the code object has no variable of that name", std::string(name));
}
void EmulatorDevice::release(DevicePointer pointer) {
  if (pointer != 0 && !state_->memory.release(pointer)) {
    throw DeviceError("release", 1, "invalid value: this address is not the start of an allocation");
  }
}
void EmulatorDevice::copy_in(DevicePointer to, std::span<const std::uint8_t> from, Stream stream) {
  if (from.empty()) return;
  u8* p = state_->bytes("copy_in", to, from.size(), true);
  state_->enqueue(stream, [p, from] { std::memcpy(p, from.data(), from.size()); });
}
void EmulatorDevice::copy_out(std::span<std::uint8_t> to, DevicePointer from, Stream stream) {
  if (to.empty()) return;
  const u8* p = state_->bytes("copy_out", from, to.size(), false);
  state_->enqueue(stream, [p, to] { std::memcpy(to.data(), p, to.size()); });
}
void EmulatorDevice::copy(DevicePointer to, DevicePointer from, std::uint64_t bytes, Stream stream) {
  if (bytes == 0) return;
  const u8* p = state_->bytes("copy", from, bytes, false);
  u8* q = state_->bytes("copy", to, bytes, true);
  state_->enqueue(stream, [p, q, bytes] { std::memmove(q, p, bytes); });
}
void EmulatorDevice::fill(DevicePointer to, std::uint8_t value, std::uint64_t bytes, Stream stream) {
  if (bytes == 0) return;
  u8* p = state_->bytes("fill", to, bytes, true);
  // Zeros of a large allocation are pages that nobody has touched.
  const Allocation* const home = state_->memory.find(to, bytes);
  if (value == 0 && bytes >= u64{1} << 20 && to == home->begin && to + bytes == home->end &&
      home->mapping != nullptr) {
    state_->enqueue(stream, [p, bytes] {
      if (madvise(p, (bytes + 4095) / 4096 * 4096, MADV_DONTNEED) != 0) std::memset(p, 0, bytes);
    });
    return;
  }
  state_->enqueue(stream, [p, value, bytes] { std::memset(p, value, bytes); });
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> EmulatorDevice::touched(DevicePointer pointer) const {
  const Allocation* const home = state_->memory.find(pointer);
  if (home == nullptr || home->begin != pointer)
    throw DeviceError("touched", 1, "invalid value: this address is not the start of an allocation");
  return home->touched();
}

Module EmulatorDevice::load(const CodeObject& object) {
  if (object.relocatable()) {
    throw CodeObjectError("this is an assembler's output, not a linked code object",
                          "link it with ld.lld -shared");
  }
  const machine::Target& own = machine::target(state_->arch);
  const bool fits = object.arch() == own.name || object.arch() == own.generic;
  if (!fits) {
    throw DeviceError("load", 209, "no kernel image is available for this device",
                      "the code object is for " + object.arch() + ", the device is " +
                          std::string(isa::to_string(state_->arch)));
  }
  auto module = std::make_unique<LoadedModule>(object);
  u64 end = 0;
  for (const Segment& s : object.segments()) end = std::max(end, s.address + s.memory_bytes);
  if (end > u64{1} << 28) throw DeviceError("load", 2, "the code object's image is larger than 256 MiB");
  // The image starts on a page so that addresses keep their alignment.
  module->image = state_->memory.allocate(end + 4096, false);
  const u64 base = (module->image + 4095) / 4096 * 4096;
  for (const Segment& s : object.segments()) {
    if (!s.bytes.empty())
      std::memcpy(reinterpret_cast<void*>(base + s.address), s.bytes.data(), s.bytes.size());
  }
  try {
    for (const CodeObject::Patch& p : object.relocate(base))
      std::memcpy(reinterpret_cast<void*>(base + p.address), &p.value, p.bytes);
  } catch (...) {
    state_->memory.release(module->image);
    throw;
  }
  const u64 handle = state_->next++;
  module->image = base;
  state_->modules.emplace(handle, std::move(module));
  return static_cast<Module>(handle);
}
void EmulatorDevice::release(Module module) {
  const auto at = state_->modules.find(static_cast<u64>(module));
  if (at == state_->modules.end()) throw DeviceError("release", 400, "invalid resource handle");
  std::erase_if(state_->functions, [&](const auto& f) { return f.second.module == at->second.get(); });
  if (Allocation* a = state_->memory.find(at->second->image)) state_->memory.release(a->begin);
  state_->modules.erase(at);
}
Function EmulatorDevice::function(Module module, std::string_view kernel) {
  const auto at = state_->modules.find(static_cast<u64>(module));
  if (at == state_->modules.end()) throw DeviceError("function", 400, "invalid resource handle");
  const Kernel& k = at->second->object.kernel(kernel);
  const u64 handle = state_->next++;
  state_->functions.emplace(handle, LoadedFunction{at->second.get(), &k});
  return static_cast<Function>(handle);
}
void EmulatorDevice::launch(Function kernel, const LaunchGeometry& geometry,
                            std::span<const std::uint8_t> arguments, Stream stream) {
  const auto at = state_->functions.find(static_cast<u64>(kernel));
  if (at == state_->functions.end()) throw DeviceError("launch", 400, "invalid resource handle");
  State* state = state_.get();
  state->enqueue(
      stream, [state, f = at->second, geometry, bytes = std::vector<u8>(arguments.begin(), arguments.end())] {
        state->run(f, geometry, {std::span<const u8>(bytes)});
      });
}
void EmulatorDevice::place(DevicePointer pointer, std::uint32_t device, bool uncached) {
  Allocation* const home = state_->memory.find(pointer);
  if (home == nullptr || home->begin != pointer)
    throw DeviceError("place", 1, "invalid value: this address is not the start of an allocation");
  home->device = static_cast<i32>(device);
  home->uncached = uncached;
}
void EmulatorDevice::launch_on_devices(Function kernel, const LaunchGeometry& geometry,
                                       std::span<const std::vector<std::uint8_t>> arguments) {
  const auto at = state_->functions.find(static_cast<u64>(kernel));
  if (at == state_->functions.end()) throw DeviceError("launch", 400, "invalid resource handle");
  const auto refuse = [&](const std::string& why) {
    throw DeviceError("launch", 801, "not supported on several devices: " + why, at->second.kernel->name);
  };
  if (arguments.empty() || arguments.size() > 64)
    throw ArgumentError("launch on " + std::to_string(arguments.size()) + " devices\n  hint   1 to 64");
  const EmulatorOptions& o = state_->options;
  if (arguments.size() > 1) {
    if (!machine::target(state_->arch).scopes)
      refuse("nothing in a store of " + std::string(isa::to_string(state_->arch)) +
             " says whether it is of system scope");
    if (o.observer != nullptr || o.trace.enabled || o.debug.enabled())
      refuse("looking into a launch, as a trace, a breakpoint or a watch does");
    if (has_variables(at->second.module->object))
      refuse("the code object has variables, and each device has its own of them");
  }
  state_->run(at->second, geometry, {arguments.begin(), arguments.end()});
}

Stream EmulatorDevice::create_stream() {
  const u64 handle = state_->next++;
  state_->streams.insert(handle);
  return static_cast<Stream>(handle);
}
void EmulatorDevice::release(Stream stream) {
  if (state_->streams.erase(static_cast<u64>(stream)) == 0)
    throw DeviceError("release", 400, "invalid resource handle");
}
void EmulatorDevice::synchronize(Stream) {}
void EmulatorDevice::synchronize() {}

Event EmulatorDevice::create_event() {
  const u64 handle = state_->next++;
  state_->events.emplace(handle, std::chrono::steady_clock::time_point{});
  return static_cast<Event>(handle);
}
void EmulatorDevice::release(Event event) {
  if (state_->events.erase(static_cast<u64>(event)) == 0)
    throw DeviceError("release", 400, "invalid resource handle");
}
void EmulatorDevice::record(Event event, Stream stream) {
  const auto at = state_->events.find(static_cast<u64>(event));
  if (at == state_->events.end()) throw DeviceError("record", 400, "invalid resource handle");
  state_->enqueue(stream, [point = &at->second] { *point = std::chrono::steady_clock::now(); });
}
void EmulatorDevice::synchronize(Event) {}
void EmulatorDevice::wait(Stream, Event) {}
double EmulatorDevice::milliseconds(Event begin, Event end) {
  const auto a = state_->events.find(static_cast<u64>(begin));
  const auto b = state_->events.find(static_cast<u64>(end));
  if (a == state_->events.end() || b == state_->events.end())
    throw DeviceError("milliseconds", 400, "invalid resource handle");
  return std::chrono::duration<double, std::milli>(b->second - a->second).count();
}

void EmulatorDevice::begin_capture(Stream stream) { state_->capturing[static_cast<u64>(stream)].clear(); }
Graph EmulatorDevice::end_capture(Stream stream) {
  const auto at = state_->capturing.find(static_cast<u64>(stream));
  if (at == state_->capturing.end())
    throw DeviceError("end_capture", 901, "the stream is not being captured");
  const u64 handle = state_->next++;
  state_->graphs.emplace(handle, std::move(at->second));
  state_->capturing.erase(at);
  return static_cast<Graph>(handle);
}
void EmulatorDevice::replay(Graph graph, Stream) {
  const auto at = state_->graphs.find(static_cast<u64>(graph));
  if (at == state_->graphs.end()) throw DeviceError("replay", 400, "invalid resource handle");
  for (const auto& action : at->second) action();
}
void EmulatorDevice::release(Graph graph) {
  if (state_->graphs.erase(static_cast<u64>(graph)) == 0)
    throw DeviceError("release", 400, "invalid resource handle");
}
bool EmulatorDevice::can_access_peer(int) { return false; }
void EmulatorDevice::enable_peer(int other) {
  throw DeviceError("enable_peer", 217, "the emulator has no peer device " + std::to_string(other));
}

} // namespace inlay::runtime
