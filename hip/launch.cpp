// One launch: with all checks, again under stress, and what is said of it.
#include "state.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <inlay/launch/manifest.h>
#include <inlay/runtime/guarded_copies.h>
#include <inlay/runtime/isa/source_files.h>
#include <inlay/runtime/names.h>
#include <inlay/runtime/places.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace inlay::hip {

namespace {

using nlohmann::ordered_json;
using runtime::Finding;

using Contents = std::map<std::uint64_t, std::vector<std::uint8_t>>;

/// All its pages are mapped: host memory that a program registered, freed and forgot is not.
bool mapped(std::uint64_t begin, std::size_t bytes) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = begin / page * page, pages = (begin + bytes - first + page - 1) / page;
  std::vector<unsigned char> resident(pages);
  return ::mincore(reinterpret_cast<void*>(first), pages * page, resident.data()) == 0;
}

/// What a launch may change, tensors of `pytest --inlay` among it, which are registered for as long as a launch takes.
Contents contents() {
  Contents out;
  for (const auto& [begin, m] : State::get().memory) {
    if (m.kind == Memory::Kind::registered && !mapped(begin, m.bytes)) continue;
    const auto* p = reinterpret_cast<const std::uint8_t*>(begin);
    out.emplace(begin, std::vector<std::uint8_t>(p, p + m.bytes));
  }
  return out;
}
void restore(const Contents& memory) {
  for (const auto& [begin, bytes] : memory)
    if (!bytes.empty()) std::memcpy(reinterpret_cast<void*>(begin), bytes.data(), bytes.size());
}

struct Pointer {
  std::size_t argument = 0;
  std::uint64_t value = 0, begin = 0, bytes = 0;
};

/// Arguments that point into memory of ours.
std::vector<Pointer> pointers(const std::vector<runtime::KernelArgument>& arguments,
                              const std::vector<std::uint8_t>& segment) {
  std::vector<Pointer> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& a = arguments[i];
    if (a.size != 8 || a.offset + 8 > segment.size()) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, segment.data() + a.offset, 8);
    if (const auto* m = find_memory(value)) out.push_back({i, value, m->first, m->second.bytes});
  }
  return out;
}

/// Whether memory has the address of a byte of these ranges, which are in ascending order.
void find_addresses(const std::set<runtime::MemoryRange>& ranges, std::set<runtime::MemoryRange>& found) {
  if (ranges.empty()) return;
  const std::uint64_t least = ranges.begin()->first, most = ranges.rbegin()->second;
  for (const auto& [begin, m] : State::get().memory) {
    if (m.kind == Memory::Kind::registered && !mapped(begin, m.bytes)) continue;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(begin);
    for (std::uint64_t at = 0; at + 8 <= m.bytes; at += 4) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes + at, 8);
      if (value - least >= most - least) continue;
      const auto range = std::prev(ranges.upper_bound({value, ~std::uint64_t{0}}));
      if (value < range->second) found.insert(*range);
    }
  }
}

/// Arguments that a launch gets copies of, so that an overrun does not end in another array: of those of which only launches know, and not of
/// those that it can reach by another value or an address in memory, too, where it would see two of one.
std::vector<runtime::MemoryRange> crowded(const std::vector<runtime::KernelArgument>& arguments,
                                          const std::vector<std::uint8_t>& segment) {
  std::set<runtime::MemoryRange> pointed, otherwise;
  for (const auto& a : arguments)
    for (std::size_t at = a.offset; at + 8 <= std::min<std::size_t>(a.offset + a.size, segment.size());
         at += 4) {
      std::uint64_t value = 0;
      std::memcpy(&value, segment.data() + at, 8);
      const auto* m = find_memory(value);
      if (m == nullptr || m->second.kind != Memory::Kind::registered ||
          (m->second.flags & launches_only) == 0)
        continue;
      (a.pointer() ? pointed : otherwise).emplace(m->first, m->first + m->second.bytes);
    }
  std::vector<runtime::MemoryRange> all, arrays;
  for (const auto& [begin, m] : State::get().memory) all.emplace_back(begin, begin + m.bytes);
  std::ranges::set_difference(pointed, otherwise, std::back_inserter(arrays));
  if (arrays = runtime::without_gaps(arrays, all); arrays.empty()) return {};
  find_addresses(pointed, otherwise);
  std::erase_if(arrays, [&](const auto& array) { return otherwise.contains(array); });
  return arrays;
}

/// The arguments of a launch on copies.
std::vector<std::uint8_t> pointing(std::vector<std::uint8_t> segment,
                                   const std::vector<runtime::KernelArgument>& arguments,
                                   const runtime::GuardedCopies& copies) {
  for (const auto& a : arguments) {
    if (!a.pointer() || a.offset + 8 > segment.size()) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, segment.data() + a.offset, 8);
    value = copies.address(value);
    std::memcpy(segment.data() + a.offset, &value, 8);
  }
  return segment;
}

ordered_json to_json(const Finding& f, const std::map<std::string, std::string>& paths) {
  ordered_json j = {{"kind", std::string(to_string(f.kind))},
                    {"text", to_string(f)},
                    {"message", f.message},
                    {"address", f.address},
                    {"disassembly", f.disassembly},
                    {"source", f.source ? runtime::isa::to_string(*f.source) : std::string()},
                    {"workgroup", {f.workgroup.x, f.workgroup.y, f.workgroup.z}},
                    {"wave", f.wave},
                    {"lane", f.lane},
                    {"count", f.count},
                    {"note", f.note}};
  if (f.source)
    j["line"] = {{"file", f.source->file}, {"line", f.source->line}, {"column", f.source->column}};
  if (f.source && paths.contains(f.source->file)) j["line"]["path"] = paths.at(f.source->file);
  return j;
}

void write(const std::string& name, const void* data, std::size_t bytes) {
  std::ofstream out(name, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!out) throw HipError(unknown, "cannot write " + name);
}

/// The code object, the buffers and a manifest: `inlay exec FILE.json` repeats this launch. Its name.
std::string dump(const Function& k, const runtime::LaunchGeometry& g,
                 const std::vector<std::uint8_t>& segment, const std::vector<Pointer>& points) {
  const State& s = State::get();
  if (s.options.dump.empty()) return "";
  std::filesystem::create_directories(s.options.dump);
  static unsigned next = 0; // under State::api
  std::string stem;
  for (bool taken = true; taken;) {
    stem = std::to_string(::getpid()) + "." + std::to_string(next++);
    taken = std::filesystem::exists(s.options.dump + "/" + stem + ".json");
  }
  const std::string path = s.options.dump + "/" + stem;
  const runtime::CodeObject& object = *k.module->object;
  write(path + ".hsaco", object.bytes().data(), object.bytes().size());
  launch::Manifest m;
  m.kernel = k.kernel.name;
  m.arch = s.options.arch;
  m.code = stem + ".hsaco";
  m.grid = {launch::Formula(std::to_string(g.grid.x)), launch::Formula(std::to_string(g.grid.y)),
            launch::Formula(std::to_string(g.grid.z))};
  m.block = {g.block.x, g.block.y, g.block.z};
  m.lds = g.dynamic_lds;
  const auto arguments = runtime::declared_arguments(k.kernel);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    launch::Argument a;
    a.name = arguments[i].label();
    const auto p =
        std::find_if(points.begin(), points.end(), [&](const Pointer& q) { return q.argument == i; });
    if (p != points.end()) {
      a.kind = launch::Argument::Kind::buffer;
      a.output = true;
      a.bytes = launch::Formula(std::to_string(p->bytes));
      // Arguments into one buffer share its file, and the launch its memory.
      a.file = stem + "." +
               std::to_string(std::find_if(points.begin(), points.end(),
                                           [&](const Pointer& q) { return q.begin == p->begin; }) -
                              points.begin()) +
               ".bin";
      a.file_offset = p->value - p->begin;
      write(s.options.dump + "/" + a.file, reinterpret_cast<const void*>(p->begin), p->bytes);
    } else {
      const auto begin = segment.begin() + arguments[i].offset;
      a.value = {begin, begin + arguments[i].size};
    }
    m.arguments.push_back(std::move(a));
  }
  const std::string text = m.text();
  write(path + ".json", text.data(), text.size());
  return path + ".json";
}

std::string program_name() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(in)), {});
  for (char& c : all)
    if (c == '\0') c = ' ';
  while (!all.empty() && all.back() == ' ') all.pop_back();
  return all.substr(0, 300);
}

/// One line, whole or not at all, whoever else writes to the file.
void append(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const std::string whole = line + "\n";
  for (std::size_t at = 0; at < whole.size();) {
    const auto n = ::write(fd, whole.data() + at, whole.size() - at);
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  ::close(fd);
}

ordered_json& kept() {
  static ordered_json& launches = *new ordered_json(ordered_json::array());
  return launches;
}

/// The same launch from the same memory under hostile schedules: what differs, or nothing.
std::string stress(runtime::EmulatorDevice& d, runtime::Function f, const runtime::LaunchGeometry& geometry,
                   const std::vector<std::uint8_t>& segment, const Contents& before) {
  const Options& o = State::get().options;
  const Contents after = contents();
  std::string difference;
  d.options().stress = true;
  for (std::uint64_t seed = o.first_seed; seed < o.first_seed + o.seeds && difference.empty(); ++seed) {
    restore(before);
    d.options().seed = seed;
    try {
      d.launch(f, geometry, segment);
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
  return difference;
}

} // namespace

std::vector<std::uint8_t> segment_of(const Function& f, const runtime::LaunchGeometry& geometry,
                                     void** values, void** extra) {
  const auto declared = runtime::declared_arguments(f.kernel);
  std::vector<runtime::Argument> arguments;
  const auto add = [&](const std::uint8_t* p, const runtime::KernelArgument& a) {
    arguments.push_back({"argument " + std::to_string(arguments.size()), {p, p + a.size}, a.pointer()});
  };
  const std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0;
  for (void** e = values != nullptr ? nullptr : extra;
       e != nullptr && reinterpret_cast<std::uintptr_t>(*e) != launch_end; e += 2) {
    const auto what = reinterpret_cast<std::uintptr_t>(e[0]);
    if (what == launch_buffer) {
      buffer = static_cast<const std::uint8_t*>(e[1]);
    } else if (what == launch_buffer_size) {
      bytes = *static_cast<const std::size_t*>(e[1]);
    } else {
      throw HipError(invalid_value, "`extra` has a marker that is not known");
    }
  }
  if (values != nullptr) {
    for (const auto& a : declared) {
      if (values[arguments.size()] == nullptr)
        throw HipError(invalid_value,
                       "argument " + std::to_string(arguments.size()) + " of " + f.kernel.name + " is NULL");
      add(static_cast<const std::uint8_t*>(values[arguments.size()]), a);
    }
    return runtime::pack_arguments(f.kernel, arguments, geometry);
  }
  if (buffer == nullptr) {
    if (!declared.empty())
      throw HipError(invalid_value, f.kernel.name + " takes " + std::to_string(declared.size()) +
                                        " arguments, none were given");
    return runtime::pack_arguments(f.kernel, arguments, geometry);
  }
  // The whole segment from the caller; hidden arguments that lie beyond it are the runtime's.
  std::vector<std::uint8_t> whole(buffer, buffer + bytes);
  whole.resize(std::max<std::size_t>(bytes, f.kernel.kernarg_bytes));
  if (!f.kernel.has_metadata) return whole;
  std::size_t own = bytes;
  for (const auto& a : f.kernel.arguments)
    if (a.hidden()) own = std::min<std::size_t>(own, a.offset);
  for (const auto& a : declared) {
    if (a.offset + a.size > whole.size())
      throw HipError(invalid_value, f.kernel.name + ": the buffer of arguments is too short");
    add(whole.data() + a.offset, a);
  }
  auto packed = runtime::pack_arguments(f.kernel, arguments, geometry);
  packed.resize(std::max(packed.size(), whole.size()));
  std::copy(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(own), packed.begin());
  return packed;
}

void launch(int ordinal, Function& f, const runtime::LaunchGeometry& geometry,
            const std::vector<std::uint8_t>& segment) {
  State& s = State::get();
  Device& device = s.device(ordinal);
  const Options& o = s.options;
  std::vector<Pointer> points;
  std::vector<runtime::ArgumentRange> ranges;
  ordered_json entry = {{"kernel", f.kernel.name}};
  if (std::string text = runtime::demangled(f.kernel.name); text != f.kernel.name)
    entry["demangled"] = std::move(text);
  entry.update({{"arch", o.arch}, {"device", ordinal}, {"geometry", to_string(geometry)}});
  Contents before;
  std::vector<runtime::MemoryRange> near;
  const auto declared = runtime::declared_arguments(f.kernel);
  {
    const auto lock = api_lock();
    points = pointers(declared, segment);
    if (s.devices.size() == 1 && device.emulator->options().checks.bounds) near = crowded(declared, segment);
    ranges = runtime::argument_ranges(f.kernel, segment, [](std::uint64_t at) {
      const auto* m = find_memory(at);
      return m == nullptr ? std::pair<std::uint64_t, std::uint64_t>() : std::pair{m->first, m->second.bytes};
    });
    for (auto& r : ranges)
      if (const auto& m = *find_memory(r.begin); m.second.kind == Memory::Kind::device &&
                                                 m.second.device != ordinal &&
                                                 !device.peers.contains(m.second.device))
        r.name += " (of device " + std::to_string(m.second.device) + ", without peer access)";
    if (const auto file = dump(f, geometry, segment, points); !file.empty()) entry["manifest"] = file;
    if (o.seeds != 0) before = contents();
  }
  std::string failure, difference;
  bool refused = false;
  {
    const std::lock_guard lock(device.mutex);
    runtime::EmulatorDevice& d = *device.emulator;
    const runtime::Function loaded = device.load(f);
    entry["findings"] = ordered_json::array();
    {
      runtime::GuardedCopies copies(d);
      for (const auto& array : near) copies.add(array);
      for (auto& r : ranges) r.begin = copies.address(r.begin), r.pointer = copies.address(r.pointer);
      try {
        d.launch(loaded, geometry, pointing(segment, declared, copies));
      } catch (const runtime::ExecutionError& e) {
        failure = e.what();
      } catch (const runtime::ArgumentError& e) {
        failure = e.what();
        refused = true;
      }
      copies.write_back();
    }
    const runtime::LaunchResult none;
    const auto& ran = refused ? none : d.last_launch();
    entry["instructions"] = ran.statistics.instructions;
    entry["multiply_adds"] = ran.statistics.multiply_adds;
    entry["seconds"] = ran.statistics.seconds;
    bool defect = false;
    const auto findings = runtime::with_places(ran.findings, ranges);
    std::map<std::string, std::string> paths;
    if (!findings.empty()) paths = runtime::isa::source_files(*f.module->object);
    for (const Finding& finding : findings) {
      entry["findings"].push_back(to_json(finding, paths));
      defect = defect || !finding.note;
    }
    if (defect && o.fail_on_finding && failure.empty())
      for (const Finding& finding : findings)
        if (!finding.note && failure.empty()) failure = to_string(finding);
    if (o.seeds != 0 && failure.empty()) difference = stress(d, loaded, geometry, segment, before);
  }
  entry["stress"] = difference;
  entry["error"] = failure;
  {
    static std::mutex& one = *new std::mutex;
    const std::lock_guard lock(one);
    if (o.keep_report) kept().push_back(entry);
    if (!o.report.empty()) {
      static const std::string& name = *new std::string(program_name());
      entry["program"] = name;
      entry["process"] = ::getpid();
      append(o.report, entry.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    }
  }
  if (!failure.empty()) throw HipError(refused ? invalid_configuration : launch_failure, failure);
}

std::string take_report() {
  std::string text = kept().dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  kept() = ordered_json::array();
  return text;
}

} // namespace inlay::hip
