// Reading and writing of decoded thread traces.
#include "raw_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace inlay::runtime::timing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw std::runtime_error(
        "cannot read " + file.string() +
        "\n  hint   a folder ui_output_agent_*_dispatch_* of rocprofv3 --att, with code.json in it");
  try {
    return Json::parse(in);
  } catch (const Json::exception& e) {
    throw std::runtime_error(file.string() + " is no JSON: " + e.what());
  }
}

/// Numbers of a row of a trace, at most `most`; anything else in it is the file's fault.
std::uint64_t number(const Json& row, std::size_t k, const fs::path& file, double most = 0x1p63) {
  if (!row.is_array() || k >= row.size() || !row[k].is_number() || !(row[k].get<double>() >= 0))
    throw std::runtime_error(file.string() + ": a row lacks number " + std::to_string(k) + ": " + row.dump());
  if (row[k].get<double>() >= most)
    throw std::runtime_error(file.string() + ": number " + std::to_string(k) +
                             " of a row is too large: " + row.dump());
  return row[k].get<std::uint64_t>();
}

/// A clock of a trace: traces are shorter than the two seconds that 32 bits count.
std::uint32_t clock(const Json& row, std::size_t k, const fs::path& file) {
  return static_cast<std::uint32_t>(number(row, k, file, 0x1p32));
}

bool is_wave(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with("se") && name.find("_wv") != name.npos && name.ends_with(".json");
}

TracedWave read_wave(const fs::path& file, std::size_t lines) {
  const Json j = read(file);
  if (!j.contains("wave") || !j["wave"].contains("instructions") || !j["wave"].contains("begin") ||
      !j["wave"].contains("end"))
    throw std::runtime_error(file.string() + " lacks wave.begin, wave.end or wave.instructions");
  TracedWave w;
  std::sscanf(file.filename().string().c_str(), "se%u_sm%u_sl%u", &w.engine, &w.simd, &w.slot);
  const Json life = Json::array({j["wave"]["begin"], j["wave"]["end"]});
  w.begin = clock(life, 0, file), w.end = clock(life, 1, file);
  if (w.end < w.begin || j["wave"]["instructions"].empty())
    throw std::runtime_error(file.string() + ": a wave that ends before it begins, or without instructions");
  for (const Json& row : j["wave"]["instructions"]) {
    const TracedInstruction i{clock(row, 0, file), clock(row, 2, file), clock(row, 3, file),
                              clock(row, 4, file)};
    if (i.line >= lines)
      throw std::runtime_error(file.string() + ": line " + std::to_string(i.line) + " of a code of " +
                               std::to_string(lines));
    w.instructions.push_back(i);
  }
  return w;
}

/// Which column of the viewer an instruction belongs to.
int category(isa::Kind kind, std::string_view mnemonic) {
  using isa::Kind;
  switch (kind) {
  case Kind::smem: return 1;
  case Kind::load:
  case Kind::store:
  case Kind::atomic:
  case Kind::load_to_lds: return mnemonic.starts_with("buffer") ? 3 : 4;
  case Kind::lds_read:
  case Kind::lds_write:
  case Kind::lds_other: return 5;
  case Kind::valu:
  case Kind::mfma: return 6;
  case Kind::branch: return 7;
  case Kind::wait:
  case Kind::nop:
  case Kind::barrier: return 9;
  default: return mnemonic == "s_endpgm" ? 11 : 2;
  }
}

void write(const fs::path& file, const Json& j) {
  std::ofstream out(file, std::ios::binary);
  out << j.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

bool issues(Cause c) { return c <= Cause::control; }

/// The folder of one trace, in what rocprofv3 writes: decoded ones are folders ui_output_agent_*_dispatch_* of its output, raw ones files beside them or in a folder of the host's name.
/// What is decoded comes first; a folder without either is left for the reader to complain of.
std::string trace_in(const std::string& folder) {
  std::error_code error;
  if (fs::exists(fs::path(folder) / "code.json", error)) return folder;
  std::vector<std::string> decoded, raw;
  if (is_raw_trace(folder)) raw.push_back(folder);
  for (fs::recursive_directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (!i->is_directory()) continue;
    if (i.depth() == 1) i.disable_recursion_pending();
    const std::string name = i->path().string();
    if (fs::exists(i->path() / "code.json", error)) decoded.push_back(name);
    if (is_raw_trace(name)) raw.push_back(name);
  }
  std::vector<std::string>& found = decoded.empty() ? raw : decoded;
  if (found.empty()) return folder;
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return found.front();
  std::string names;
  for (const std::string& f : found) names += "\n  " + f;
  throw std::runtime_error(folder + " has " + std::to_string(found.size()) + " traces:" + names +
                           "\n  hint   name one of them");
}

/// Begin and end of all waves of the traced XCD, and the clock.
void read_launch(const fs::path& root, ThreadTrace& t) {
  const fs::path times = root / "realtime.json", waves = root / "occupancy.json";
  const Json real = read(times), occupancy = read(waves);
  const double frequency = real.value("/metadata/frequency"_json_pointer, 1e8);
  double first = std::numeric_limits<double>::infinity(), last = -first;
  std::size_t engines = 0, unaligned = 0;
  for (const auto& [engine, events] : occupancy.items()) {
    if (engine.empty() || engine.find_first_not_of("0123456789") != engine.npos || events.empty()) continue;
    ++engines;
    // Engines count from different clocks, which their first real time aligns.
    double begin = 0;
    if (real.contains("SE" + engine) && !real["SE" + engine].empty()) {
      const Json& marks = real["SE" + engine];
      begin = static_cast<double>(number(marks.front(), 0, times));
      const double clocks = static_cast<double>(number(marks.back(), 0, times)) - begin;
      const double real_clocks = static_cast<double>(number(marks.back(), 1, times)) -
                                 static_cast<double>(number(marks.front(), 1, times));
      if (real_clocks > 0 && clocks > 0 && frequency > 0) t.mhz = clocks / (real_clocks / frequency) / 1e6;
    } else {
      ++unaligned;
    }
    std::vector<std::uint32_t> begins;
    for (const Json& e : events) {
      const double at = static_cast<double>(clock(e, 0, waves)) - begin;
      if (number(e, 4, waves) != 0) {
        begins.push_back(clock(e, 0, waves)), ++t.all_waves;
        first = std::min(first, at);
      } else {
        last = std::max(last, at);
      }
    }
    std::sort(begins.begin(), begins.end());
    if (t.begins.empty()) t.begins = std::move(begins);
  }
  if (!(last > first))
    throw std::runtime_error(
        waves.string() + " has no begin of a wave with an end after it: the launch's clocks are not in it");
  if (engines > 1 && unaligned != 0)
    throw std::runtime_error(times.string() +
                             " has no real time of a shader engine, and engines count from different clocks");
  t.clocks = last - first;
}

} // namespace

ThreadTrace read_thread_trace(const std::string& given) {
  const std::string folder = trace_in(given);
  if (is_raw_trace(folder)) return read_raw_trace(folder);
  ThreadTrace t;
  t.folder = folder;
  const fs::path root(folder);
  const Json code = read(root / "code.json");
  if (!code.contains("code") || !code["code"].is_array())
    throw std::runtime_error((root / "code.json").string() + " lacks 'code'");
  for (const Json& row : code["code"]) {
    const std::uint64_t address = number(row, 5, root / "code.json");
    t.code.push_back({row[0].is_string() ? row[0].get<std::string>() : "", address});
    if (t.kernel.empty() && t.code.back().text.starts_with("; ")) t.kernel = t.code.back().text.substr(2);
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root))
    if (is_wave(entry.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& f : files) t.waves.push_back(read_wave(f, t.code.size()));
  if (t.waves.empty()) throw std::runtime_error(folder + " has no se*_wv*.json: no wave was traced");
  read_launch(root, t);
  return t;
}

void write_thread_trace(const TimingReport& r, const isa::Program& program, const std::string& folder,
                        double mhz) {
  const fs::path root(folder);
  std::error_code error;
  fs::create_directories(root, error);
  if (error) throw std::runtime_error("cannot make " + folder + ": " + error.message());
  std::set<fs::path> before; // waves that are there: all have to be written over
  for (const auto& entry : fs::directory_iterator(root))
    if (is_wave(entry.path())) before.insert(entry.path());
  struct Sum {
    std::uint64_t hits = 0, latency = 0, stall = 0;
  };
  std::vector<Sum> sums(program.instructions.size());
  std::map<unsigned, unsigned> slots;
  Json names = Json::object(), events = Json::array();
  for (const WaveTimeline& w : r.unit.waves) {
    // A wait and the issue after it are one instruction; what passes between an issue and the next wait is idle.
    Json rows = Json::array();
    std::uint32_t waits_from = 0, waits_at = ~0U;
    for (const Segment& s : w.segments) {
      if (!issues(s.cause)) {
        if (s.cause == Cause::launch) continue;
        if (s.cause == Cause::barrier && !rows.empty() &&
            rows.back()[4].get<std::uint32_t>() == s.instruction + 1) {
          // Who waits at a barrier has issued it.
          rows.back()[2] = rows.back()[2].get<std::uint32_t>() + (s.end - s.begin);
          rows.back()[3] = s.end - rows.back()[0].get<std::uint32_t>();
          continue;
        }
        const bool own = rows.empty() || s.cause != Cause::arbitration ||
                         rows.back()[4].get<std::uint32_t>() != s.instruction + 1;
        if (own && (waits_at != s.instruction)) waits_from = s.begin, waits_at = s.instruction;
        continue;
      }
      const isa::Instruction& i = program.instructions[s.instruction];
      const std::uint32_t at = waits_at == s.instruction ? waits_from : s.begin;
      const std::uint32_t stall = s.begin - at;
      rows.push_back({at, category(isa::kind_of(i), i.mnemonic), stall, s.end - at, s.instruction + 1});
      Sum& sum = sums[s.instruction];
      ++sum.hits, sum.latency += s.end - at, sum.stall += stall;
      waits_at = ~0U;
    }
    const unsigned slot = slots[w.simd]++;
    const std::string name = "se0_sm" + std::to_string(w.simd) + "_sl" + std::to_string(slot) + "_wv0.json";
    before.erase(root / name);
    write(root / name, {{"duration", w.ended - w.launched},
                        {"name", "SE0"},
                        {"num_insts", rows.size()},
                        {"num_stitched", rows.size()},
                        {"wave",
                         {{"begin", w.launched},
                          {"end", w.ended},
                          {"cu", 1},
                          {"id", 0},
                          {"simd", w.simd},
                          {"slot", slot},
                          {"timeline", Json::array()},
                          {"waitcnt", Json::array()},
                          {"instructions", rows}}}});
    names["0"][std::to_string(w.simd)][std::to_string(slot)]["0"] = {name, w.launched, w.ended};
    events.push_back({w.launched, 1, w.simd, slot, 1, 1});
    events.push_back({w.ended, 1, w.simd, slot, 0, 1});
  }
  if (!before.empty())
    throw std::runtime_error(folder + " has waves of another trace, " + before.begin()->filename().string() +
                             "\n  hint   --export att:FOLDER with an empty folder");
  std::sort(events.begin(), events.end());
  Json code = Json::array();
  code.push_back({"; " + r.kernel, 0, 0, "", 1, program.instructions.front().address, 0, 0, 0, 0});
  for (std::size_t k = 0; k < program.instructions.size(); ++k) {
    const isa::Instruction& i = program.instructions[k];
    code.push_back({i.text, 0, k + 1, "", 1, i.address, sums[k].hits, sums[k].latency, sums[k].stall, 0});
  }
  write(root / "code.json",
        {{"code", code},
         {"header", "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"},
         {"version", "3.0.0"}});
  write(root / "occupancy.json",
        {{"0", events}, {"dispatches", {{"0", "0 / 0x0"}, {"1", r.kernel}}}, {"version", "3.0.0"}});
  const auto clocks = static_cast<std::uint64_t>(std::max<std::uint64_t>(1, r.clocks));
  write(root / "realtime.json",
        {{"SE0", {{0, 0}, {clocks, static_cast<std::uint64_t>(static_cast<double>(clocks) / mhz * 100)}}},
         {"metadata", {{"descriptor", "[gfx_clock, realtime_clock]"}, {"frequency", 100000000}}}});
  write(root / "filenames.json", {{"counter_names", Json::array()},
                                  {"gfxip", 9},
                                  {"gfxv", "vega"},
                                  {"global_begin_time", 0},
                                  {"version", "3.0.0"},
                                  {"wave_filenames", names}});
  write(root / "snapshots.json", Json::object());
}

std::string to_perfetto(const TimingReport& r, const isa::Program& program) {
  Json events = Json::array();
  std::size_t n = 0;
  for (const WaveTimeline& w : r.unit.waves) {
    ++n;
    events.push_back(
        {{"ph", "M"},
         {"name", "thread_name"},
         {"pid", w.simd},
         {"tid", n},
         {"args",
          {{"name", "workgroup " + std::to_string(w.workgroup) + ", wave " + std::to_string(w.wave)}}}});
    for (const Segment& s : w.segments)
      events.push_back({{"ph", "X"},
                        {"name", std::string(to_string(s.cause))},
                        {"cat", issues(s.cause) ? "issue" : "wait"},
                        {"pid", w.simd},
                        {"tid", n},
                        {"ts", s.begin},
                        {"dur", s.end - s.begin},
                        {"args", {{"instruction", program.instructions[s.instruction].text}}}});
  }
  for (unsigned simd = 0; simd < 4; ++simd)
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", simd},
                      {"tid", 0},
                      {"args", {{"name", "SIMD " + std::to_string(simd)}}}});
  return Json{{"displayTimeUnit", "ns"},
              {"otherData", {{"clock", "1 us is one clock of the compute unit"}}},
              {"traceEvents", events}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

} // namespace inlay::runtime::timing
