// `inlay run-with -- COMMAND`: an unchanged program with libamdhip64 on the emulator, and what its launches show.
#include "launch_input.h"
#include "launch_reports.h"
#include "time_kernel.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <inlay/machine/target.h>
#include <inlay/runtime/emulator.h>
#include <map>
#include <memory>
#include <ostream>
#include <sys/wait.h>
#include <unistd.h>

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

struct RunWithOptions {
  std::vector<std::string> command, reports;
  std::string arch{machine::usual_target}, checks = "all", matrix = "sequential", keep, library;
  unsigned stress = 0, threads = 0, devices = 1;
  std::uint64_t seed = 1, max_instructions = 0;
  bool time = false, preload = false, json = false, fail = false;
};

/// Where libamdhip64 lies: as asked, INLAY_HIP_FOLDER, beside an installed binary, beside one of a build tree.
fs::path library_folder(const std::string& asked) {
  if (!asked.empty()) {
    if (!fs::exists(fs::path(asked) / "libamdhip64.so"))
      refuse("--library " + asked + ": there is no libamdhip64.so", "the folder that it lies in");
    return fs::absolute(asked);
  }
  if (const char* folder = std::getenv("INLAY_HIP_FOLDER"); folder != nullptr && *folder != '\0')
    return library_folder(folder);
  std::error_code none;
  const fs::path self = fs::read_symlink("/proc/self/exe", none).parent_path();
  std::string tried;
  for (const char* beside : {"../lib/inlay", "../lib/x86_64-linux-gnu/inlay", "../lib64/inlay"}) {
    const fs::path folder = (self / beside).lexically_normal();
    if (fs::exists(folder / "libamdhip64.so")) return folder;
    tried += (tried.empty() ? "" : ", ") + folder.string();
  }
  refuse("run-with: libamdhip64.so was not found in " + tried, "--library FOLDER, or INLAY_HIP_FOLDER");
}

/// The folder of sitecustomize.py, by which a Python that is started finds the emulator for torch, Triton and FlyDSL; empty where the
/// Python package is not there.
fs::path python_folder(const fs::path& library) {
  for (const char* beside : {"../../_site", "../../python/inlay/_site"}) {
    const fs::path folder = (library / beside).lexically_normal();
    if (fs::exists(folder / "sitecustomize.py")) return folder;
  }
  return {};
}

/// A folder that goes away again.
struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "inlay-run-with-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    path = name;
  }
  ~Scratch() {
    std::error_code none;
    fs::remove_all(path, none);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path;
};

void put_first(const char* name, const std::string& value, const char* separator) {
  const char* now = std::getenv(name);
  setenv(name, (value + (now == nullptr || *now == '\0' ? "" : separator + std::string(now))).c_str(), 1);
}

/// The command's exit status; 128 and the number for a signal, as shells say it.
int run_program(const RunWithOptions& o, const fs::path& library, const std::string& report,
                const std::string& dump) {
  std::vector<char*> words;
  for (const std::string& w : o.command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    put_first("LD_LIBRARY_PATH", library.string(), ":");
    if (const fs::path site = python_folder(library); !site.empty())
      put_first("PYTHONPATH", site.string(), ":");
    if (o.preload) put_first("LD_PRELOAD", (library / "libamdhip64.so").string(), ":");
    setenv("TRITON_LIBHIP_PATH", (library / "libamdhip64.so").c_str(), 1);
    setenv("INLAY_HIP_LIBRARY", (library / "libamdhip64.so").c_str(), 1);
    setenv("INLAY_HIP_ARCH", o.arch.c_str(), 1);
    setenv("INLAY_HIP_CHECK", o.checks.c_str(), 1);
    setenv("INLAY_HIP_MATRIX", o.matrix.c_str(), 1);
    setenv("INLAY_HIP_REPORT", report.c_str(), 1);
    setenv("INLAY_HIP_DUMP", dump.c_str(), 1);
    setenv("INLAY_HIP_STRESS", std::to_string(o.stress).c_str(), 1);
    setenv("INLAY_HIP_SEED", std::to_string(o.seed).c_str(), 1);
    setenv("INLAY_HIP_THREADS", std::to_string(o.threads).c_str(), 1);
    setenv("INLAY_HIP_DEVICES", std::to_string(o.devices).c_str(), 1);
    setenv("INLAY_HIP_MAX_INSTRUCTIONS", std::to_string(o.max_instructions).c_str(), 1);
    setenv("INLAY_HIP_FAIL", o.fail ? "1" : "0", 1);
    execvp(words[0], words.data());
    std::fprintf(stderr, "error: cannot run '%s'\n", words[0]);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error("lost the process");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<Launch> read_launches(const std::string& file) {
  std::vector<Launch> out;
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    auto j = Launch::parse(line, nullptr, false);
    if (j.is_object()) out.push_back(std::move(j)); // a process that was killed may leave half a line
  }
  return out;
}

/// Models the first launch of each kernel and geometry; the others have its clocks.
void time_launches(Session& session, std::vector<Launch>& launches) {
  std::map<std::string, Launch> known;
  for (Launch& l : launches) {
    const std::string key = l.value("kernel", "") + l.value("geometry", "");
    const auto [at, fresh] = known.try_emplace(key);
    if (fresh && l.contains("manifest")) {
      LaunchOptions first;
      first.file = l.at("manifest").get<std::string>();
      try {
        const LaunchInput in = read_launch(session, first);
        const TimeResult t = time_code_object({}, in.object, in.arch, in.kernel(), in.geometry, in.specs);
        at->second = {{"clocks", t.chip.clocks},
                      {"uncertainty", t.chip.uncertainty},
                      {"microseconds",
                       t.chip.microseconds(t.parameters["clock_mhz"], t.parameters["kernel_launch_us"])},
                      {"bottleneck",
                       t.report.bottlenecks.empty() ? "" : std::string(to_string(t.report.bottleneck()))}};
      } catch (const std::exception& e) {
        at->second = {{"error", e.what()}};
      }
    }
    if (!at->second.is_null()) l["timing"] = at->second;
  }
}

int run_with(Session& session, RunWithOptions o) {
  if (!o.command.empty() && o.command.front() == "--") o.command.erase(o.command.begin());
  if (o.command.empty()) refuse("run-with: no command", "inlay run-with -- python3 train.py");
  (void)runtime::isa::parse_arch(o.arch);
  (void)runtime::Checks::parse(o.checks);
  (void)runtime::parse_matrix_arithmetic(o.matrix);
  if (o.devices > 1 && o.stress != 0)
    refuse("--stress repeats single launches, and with several devices they wait for one another",
           "--devices 1");
  const fs::path library = library_folder(o.library);
  const Scratch scratch;
  const std::string report = (scratch.path / "launches.jsonl").string();
  std::string dump = o.keep;
  if (!dump.empty()) fs::create_directories(dump), dump = fs::absolute(dump).string();
  if (dump.empty() && o.time) dump = (scratch.path / "launches").string();
  session.out.flush();
  session.err.flush();
  const int status = run_program(o, library, report, dump);
  auto launches = read_launches(report);
  if (o.time) time_launches(session, launches);
  if (o.keep.empty())
    for (Launch& l : launches) l.erase("manifest");
  std::string command;
  for (const auto& w : o.command) command += (command.empty() ? "" : " ") + w;
  for (const std::string& file : o.reports)
    write_text(session, file, report_for(file, launches, command, status));
  std::size_t defects = 0;
  for (const Launch& l : launches) defects += defects_of(l);
  if (o.json)
    session.out << report_json(launches, command, status);
  else
    session.out << "\n" << report_text(launches);
  return status != 0 ? status : defects != 0 ? Exit::no : Exit::yes;
}

} // namespace

void add_run_with(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand(
      "run-with",
      "Run a HIP program, unchanged and without a GPU: every launch on the emulator, with all checks");
  auto o = std::make_shared<RunWithOptions>();
  c->add_option("COMMAND", o->command, "The program and its arguments, after --");
  c->add_option("--arch", o->arch, "The processor of the devices: " + machine::names(" or "));
  c->add_option("--check", o->checks,
                "Sanitizers: bounds,uninit,races,waits,barrier,align,hazard; all (default) or none");
  c->add_option("--stress", o->stress,
                "Repeats each launch under so many hostile schedules and demands the same bits")
      ->check(CLI::Range(0, 1000));
  c->add_option("--seed", o->seed, "Seed of the first hostile schedule");
  c->add_option("--matrix", o->matrix,
                "Sums of matrix instructions: sequential (default), or cdna3, as measured on MI300X");
  c->add_option("--devices", o->devices, "How many devices there are; more than one work side by side")
      ->check(CLI::Range(1, 64));
  c->add_option("--threads", o->threads, "Of the emulator; 0: all");
  c->add_option("--max-instructions", o->max_instructions,
                "Gives up a launch after so many wave instructions");
  c->add_flag("--fail", o->fail, "Launches with a defect fail, so that the program notices");
  c->add_flag("--time", o->time, "Also models the clocks of one launch of each kernel and geometry");
  c->add_option("--report", o->reports,
                "Writes a report: .xml is JUnit, .sarif SARIF, .json JSON, others text. Several times")
      ->allow_extra_args(false);
  c->add_option(
      "--keep", o->keep,
      "Keeps code object, buffers and manifest of each launch in this folder: inlay exec N.json repeats one");
  c->add_option("--library", o->library, "The folder of libamdhip64.so");
  c->add_flag("--preload", o->preload, "Also by LD_PRELOAD: for programs that name ROCm's folder themselves");
  c->add_flag("--json", o->json, "The report as JSON");
  c->callback([=, &session] { session.exit = run_with(session, *o); });
}

} // namespace inlay::cli
