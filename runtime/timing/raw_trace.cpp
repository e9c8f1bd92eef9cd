// Raw thread traces, by AMD's decoder. Its interface is that of rocprof_trace_decoder.h 0.1.6: a call for each shader engine, which asks back for the bytes and for the text of
// instructions and hands over waves, begins and ends, and pairs of clocks.
#include "raw_trace.h"

#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/isa/report.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>

namespace inlay::runtime::timing {
namespace {

namespace fs = std::filesystem;

struct Pc {
  std::uint64_t address, code_object;
};
struct RawOccupancy {
  Pc pc;
  std::uint64_t time;
  std::uint8_t reserved, cu, simd, slot;
  std::uint32_t flags; ///< bit 0: begins
};
struct RawInstruction {
  std::uint32_t category_and_stall; ///< 8 and 24 bits
  std::int32_t duration;
  std::int64_t time;
  Pc pc;
};
struct RawWave {
  std::uint8_t cu, simd, slot, contexts;
  std::uint32_t reserved[3];
  std::int64_t begin, end;
  std::uint64_t states, instructions;
  const void* state;
  const RawInstruction* instruction;
};
struct RawTime {
  std::int64_t shader;
  std::uint64_t real, reserved;
};
enum Record : int { occupancy = 1, wave = 3, realtime = 7, frequency = 8 };
enum Status : int { success = 0, failed = 1, too_small = 2, bad_address = 3 };

using Bytes = std::uint64_t (*)(std::uint8_t**, std::uint64_t*, void*);
using Records = int (*)(int, void*, std::uint64_t, void*);
using Text = int (*)(char*, std::uint64_t*, std::uint64_t*, Pc, void*);
using Parse = int (*)(Bytes, Records, Text, void*);

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The number between the last `after` and what follows it, of a file's name.
std::optional<unsigned> number_after(const std::string& name, std::string_view after) {
  const auto at = name.rfind(after);
  unsigned value = 0;
  if (at == name.npos || std::sscanf(name.c_str() + at + after.size(), "%u", &value) != 1) return {};
  return value;
}

Parse open_decoder(const std::string& folder) {
  std::vector<std::string> names = {"librocprof-trace-decoder.so",
                                    "/opt/rocm/lib/librocprof-trace-decoder.so"};
  if (const char* chosen = std::getenv("INLAY_TRACE_DECODER"); chosen != nullptr && *chosen != '\0')
    names = {chosen};
  for (const std::string& name : names)
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr)
      if (void* parse = dlsym(handle, "rocprof_trace_decoder_parse_data"); parse != nullptr)
        return reinterpret_cast<Parse>(parse);
  throw std::runtime_error(folder + " has a raw trace, and " + names.front() +
                           " cannot be opened to decode it\n  hint   it comes with ROCm 7.13 and later; "
                           "INLAY_TRACE_DECODER=FILE names another place");
}

/// What one call of the decoder works on.
struct Engine {
  std::vector<std::uint8_t> bytes;
  bool given = false;
  const std::map<std::uint64_t, std::map<std::uint64_t, const isa::Instruction*>>* code = nullptr;
  std::vector<RawOccupancy> events;
  std::vector<std::pair<RawWave, std::vector<RawInstruction>>> waves;
  std::vector<RawTime> times;
  double frequency = 1e8;

  /// A pc without a code object is looked for in the only one that there is.
  [[nodiscard]] const isa::Instruction* at(Pc pc) const {
    const auto object = pc.code_object == 0 && code->size() == 1 ? code->begin() : code->find(pc.code_object);
    if (object == code->end()) return nullptr;
    const auto found = object->second.find(pc.address);
    return found == object->second.end() ? nullptr : found->second;
  }
};

std::uint64_t give_bytes(std::uint8_t** buffer, std::uint64_t* size, void* user) {
  auto& e = *static_cast<Engine*>(user);
  if (e.given) return 0;
  e.given = true;
  *buffer = e.bytes.data();
  return *size = e.bytes.size();
}

int give_text(char* text, std::uint64_t* next, std::uint64_t* size, Pc pc, void* user) {
  const isa::Instruction* i = static_cast<const Engine*>(user)->at(pc);
  if (i == nullptr) return bad_address;
  const std::uint64_t room = *size;
  *next = i->size;
  *size = i->text.size();
  if (room < i->text.size()) return too_small;
  std::memcpy(text, i->text.data(), i->text.size());
  return success;
}

int take_records(int type, void* records, std::uint64_t n, void* user) {
  auto& e = *static_cast<Engine*>(user);
  if (type == occupancy) {
    const auto* r = static_cast<const RawOccupancy*>(records);
    e.events.insert(e.events.end(), r, r + n);
  } else if (type == wave) {
    for (const RawWave& w : std::span(static_cast<const RawWave*>(records), n))
      e.waves.push_back({w, {w.instruction, w.instruction + w.instructions}});
  } else if (type == realtime) {
    const auto* r = static_cast<const RawTime*>(records);
    e.times.insert(e.times.end(), r, r + n);
  } else if (type == frequency && n > 0) {
    e.frequency = static_cast<double>(*static_cast<const std::uint64_t*>(records));
  }
  return success;
}

} // namespace

bool is_raw_trace(const std::string& folder) {
  std::error_code error;
  if (fs::exists(fs::path(folder) / "code.json", error)) return false;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".att") return true;
  return false;
}

ThreadTrace read_raw_trace(const std::string& folder) {
  const Parse parse = open_decoder(folder);
  std::map<unsigned, fs::path> engines;
  std::set<unsigned> dispatches;
  std::map<std::uint64_t, CodeObject> objects;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (const auto id = number_after(name, "code_object_id_"); id && name.ends_with(".out")) {
      objects.emplace(*id, CodeObject::read(entry.path().string()));
    } else if (const auto engine = number_after(name, "shader_engine_"); engine && name.ends_with(".att")) {
      engines[*engine] = entry.path();
      dispatches.insert(number_after(name, "_").value_or(0));
    }
  }
  if (engines.empty())
    throw std::runtime_error(folder + ": its *.att are not named *_shader_engine_ENGINE_DISPATCH.att");
  if (dispatches.size() > 1)
    throw std::runtime_error(
        folder + " has traces of " + std::to_string(dispatches.size()) +
        " dispatches\n  hint   move the *.att of one to a folder of its own, with *_code_object_id_*.out");
  if (objects.empty())
    throw std::runtime_error(folder + " has no *_code_object_id_*.out: the code is not there");

  // Instructions by code object and address, and the kernel that each belongs to.
  std::vector<isa::Program> programs;
  std::vector<const Kernel*> kernels;
  std::map<std::uint64_t, std::map<std::uint64_t, const isa::Instruction*>> code;
  std::map<const isa::Instruction*, std::size_t> kernel_of;
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (const auto& [id, object] : objects)
    for (const Kernel& k : object.kernels())
      order.emplace_back(id, static_cast<std::size_t>(&k - object.kernels().data()));
  programs.reserve(order.size());
  for (const auto& [id, k] : order) {
    const CodeObject& object = objects.at(id);
    kernels.push_back(&object.kernels()[k]);
    programs.push_back(
        isa::decode(object.code(*kernels.back()), kernels.back()->address, isa::arch_of(object)));
    for (const isa::Instruction& i : programs.back().instructions)
      code[id][i.address] = &i, kernel_of[&i] = programs.size() - 1;
  }

  std::map<unsigned, Engine> decoded;
  std::vector<std::uint64_t> executed(programs.size(), 0);
  for (const auto& [engine, file] : engines) {
    Engine& e = decoded[engine];
    e.bytes = bytes_of(file);
    e.code = &code;
    if (const int status = parse(give_bytes, take_records, give_text, &e); status != success)
      throw std::runtime_error(file.string() + ": the decoder says " + std::to_string(status));
    for (const auto& [w, instructions] : e.waves)
      for (const RawInstruction& i : instructions)
        if (const isa::Instruction* found = e.at(i.pc); found != nullptr) ++executed[kernel_of.at(found)];
  }
  // Of several kernels the one that executed most.
  const auto most =
      static_cast<std::size_t>(std::max_element(executed.begin(), executed.end()) - executed.begin());
  if (executed.empty() || executed[most] == 0)
    throw std::runtime_error(folder + ": no traced instruction is of a kernel in its code objects");

  ThreadTrace t;
  t.folder = folder;
  t.kernel = kernels[most]->name;
  t.code.push_back({"; " + t.kernel, programs[most].begin});
  std::map<const isa::Instruction*, std::uint32_t> line;
  for (const isa::Instruction& i : programs[most].instructions) {
    line[&i] = static_cast<std::uint32_t>(t.code.size());
    t.code.push_back({i.text, i.address});
  }
  double first = std::numeric_limits<double>::infinity(), last = -first;
  for (const auto& [engine, e] : decoded) {
    // Clocks of an engine count from its first event; engines are aligned by their first real time.
    std::int64_t from = std::numeric_limits<std::int64_t>::max();
    for (const RawOccupancy& o : e.events) from = std::min(from, static_cast<std::int64_t>(o.time));
    for (const auto& [w, instructions] : e.waves) from = std::min(from, w.begin);
    const auto since = [&](std::int64_t time) {
      return static_cast<std::uint32_t>(std::max<std::int64_t>(0, time - from));
    };
    const std::int64_t real = e.times.empty() ? from : e.times.front().shader;
    if (e.times.size() > 1 && e.times.back().real > e.times.front().real)
      t.mhz = static_cast<double>(e.times.back().shader - e.times.front().shader) /
              (static_cast<double>(e.times.back().real - e.times.front().real) / e.frequency) / 1e6;
    std::vector<std::uint32_t> begins;
    for (const RawOccupancy& o : e.events) {
      const auto time = static_cast<std::int64_t>(o.time);
      if ((o.flags & 1U) != 0) {
        begins.push_back(since(time)), ++t.all_waves;
        first = std::min(first, static_cast<double>(time - real));
      } else {
        last = std::max(last, static_cast<double>(time - real));
      }
    }
    std::sort(begins.begin(), begins.end());
    if (t.begins.empty()) t.begins = std::move(begins);
    for (const auto& [w, instructions] : e.waves) {
      TracedWave traced{.engine = engine,
                        .simd = w.simd,
                        .slot = w.slot,
                        .begin = since(w.begin),
                        .end = since(w.end),
                        .instructions = {}};
      for (const RawInstruction& i : instructions)
        if (const auto found = line.find(e.at(i.pc)); found != line.end())
          traced.instructions.push_back({since(i.time), i.category_and_stall >> 8,
                                         static_cast<std::uint32_t>(std::max(0, i.duration)), found->second});
      if (!traced.instructions.empty()) t.waves.push_back(std::move(traced));
    }
  }
  if (t.waves.empty()) throw std::runtime_error(folder + ": no wave of " + t.kernel + " was traced");
  if (!(last > first))
    throw std::runtime_error(
        folder + " has no begin of a wave with an end after it: the launch's clocks are not in it");
  t.clocks = last - first;
  return t;
}

} // namespace inlay::runtime::timing
