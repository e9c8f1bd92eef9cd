// `inlay campaign KIND`: many commands as units of work, shared out among any number of processes on any number of machines.
//
// A unit is one `inlay` command in a process of its own. Processes share a directory and nothing else: one that takes a unit makes
// its file `N.taken`, which only one can; its outcome is the file `N.done`, written whole. So a process that dies, with its machine
// or alone, costs the units that it had taken and not ended, a campaign goes on where it was by the same command, and any launcher
// will do: `mpirun -n 64 inlay campaign ...`, `srun inlay campaign ...`, a loop in a shell.
#include "command.h"
#include "progress.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

struct CampaignOptions {
  std::string kind, directory, list, binary;
  std::vector<std::string> laws;
  std::uint64_t units = 16, seed = 1, cases = 2000;
  bool json = false, again = false, report = false;
};

struct Unit {
  std::vector<std::string> arguments; ///< of `inlay`
};

/// Words of a line; 'single quotes' keep spaces.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  bool inside = false, quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      if (!inside) out.emplace_back();
      inside = true, quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      inside = false;
    } else {
      if (!inside) out.emplace_back();
      inside = true;
      out.back() += c;
    }
  }
  return out;
}

std::string line_of(const std::vector<std::string>& words) {
  std::string out = "inlay";
  for (const std::string& w : words)
    out += w.find_first_of(" ()*$;|&<>") == std::string::npos && !w.empty() ? " " + w : " '" + w + "'";
  return out;
}

/// The units of a campaign: the same list in every process.
std::vector<Unit> units_of(const CampaignOptions& o) {
  std::vector<Unit> out;
  if (o.kind == "fuzz") {
    const std::vector<std::string> laws = o.laws.empty() ? std::vector<std::string>{"all"} : o.laws;
    for (std::uint64_t i = 0; i < o.units; ++i)
      out.push_back({{"fuzz", laws[i % laws.size()], "--seed", std::to_string(o.seed + i / laws.size()),
                      "--cases", std::to_string(o.cases)}});
    return out;
  }
  if (o.list.empty())
    throw std::invalid_argument(
        fmt::format("campaign {}: no list of units\n  hint   --list FILE: a unit a line, what "
                    "follows `inlay {}`; # begins a comment",
                    o.kind, o.kind == "check" ? "" : o.kind));
  std::ifstream in(o.list);
  if (!in) throw std::runtime_error("cannot read '" + o.list + "'");
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (o.kind != "check") words.insert(words.begin(), o.kind);
    out.push_back({std::move(words)});
  }
  return out;
}

std::optional<std::string> number_given() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return value;
  return std::nullopt;
}
std::string number_of_process() { return number_given().value_or("0"); }

std::string this_host() {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  return host;
}

class Campaign {
public:
  Campaign(const CampaignOptions& o, std::vector<Unit> units) : o_(o), units_(std::move(units)) {
    fs::create_directories(o_.directory);
    // Another list in the same directory would be another campaign.
    std::string all = o_.kind + "\n";
    for (const Unit& u : units_) all += line_of(u.arguments) + "\n";
    const fs::path list = fs::path(o_.directory) / "units";
    if (fs::exists(list)) {
      std::ifstream in(list);
      const std::string before{std::istreambuf_iterator<char>(in), {}};
      if (before != all)
        throw std::invalid_argument(fmt::format(
            "campaign: '{}' holds other units\n  hint   another directory for them", o_.directory));
    } else {
      write_whole(list, all);
    }
  }

  [[nodiscard]] std::size_t size() const { return units_.size(); }

  /// Takes a unit that nobody has. False: it is taken.
  [[nodiscard]] bool take(std::size_t i) const {
    if (fs::exists(file(i, "done"))) return false;
    const int made = ::open(file(i, "taken").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (made < 0) return false;
    const std::string who = fmt::format("{} {} {}\n", this_host(), ::getpid(), number_of_process());
    if (::write(made, who.data(), who.size()) < 0) { // who has it is a help to people alone
    }
    ::close(made);
    return true;
  }

  /// Runs a unit in a process of its own and leaves its outcome.
  void run(std::size_t i) const {
    const fs::path output = file(i, "out");
    const pid_t process = ::fork();
    if (process == 0) {
      const int to = ::open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
      ::dup2(to, STDOUT_FILENO), ::dup2(to, STDERR_FILENO);
      std::vector<char*> arguments = {const_cast<char*>(o_.binary.c_str())};
      for (const std::string& a : units_[i].arguments) arguments.push_back(const_cast<char*>(a.c_str()));
      arguments.push_back(nullptr);
      ::execv(o_.binary.c_str(), arguments.data());
      ::_exit(127);
    }
    int status = 0;
    while (process > 0 && ::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    const int exit = process < 0 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    write_whole(file(i, "done"), fmt::format("{}\n", exit));
    std::error_code gone;
    fs::remove(file(i, "taken"), gone);
  }

  /// Units that somebody took and did not end: their processes are gone, says who asks.
  std::size_t free_lost() const {
    std::size_t lost = 0;
    for (std::size_t i = 0; i < size(); ++i)
      if (!fs::exists(file(i, "done")) && fs::remove(file(i, "taken"))) ++lost;
    return lost;
  }

  [[nodiscard]] std::optional<int> outcome(std::size_t i) const {
    std::ifstream in(file(i, "done"));
    int exit = 0;
    if (!(in >> exit)) return {};
    return exit;
  }
  [[nodiscard]] bool taken(std::size_t i) const { return fs::exists(file(i, "taken")); }
  /// Waits for the units that living processes of this machine have under way. True: another machine has some, too, if it still works.
  [[nodiscard]] bool wait_for_others() const {
    bool elsewhere = false;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (outcome(i)) continue;
      std::ifstream in(file(i, "taken"));
      std::string host;
      pid_t process = 0;
      if (!(in >> host >> process) || process == ::getpid()) continue;
      while (host == this_host() && !outcome(i) && ::kill(process, 0) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      elsewhere = elsewhere || host != this_host();
    }
    return elsewhere;
  }
  [[nodiscard]] std::string command(std::size_t i) const { return line_of(units_[i].arguments); }
  [[nodiscard]] std::string output(std::size_t i) const { return file(i, "out"); }

private:
  [[nodiscard]] fs::path file(std::size_t i, const char* what) const {
    return fs::path(o_.directory) / fmt::format("{:06}.{}", i, what);
  }
  static void write_whole(const fs::path& path, const std::string& text) {
    const fs::path part = path.string() + fmt::format(".{}.part", ::getpid());
    std::ofstream out(part);
    out << text;
    out.close();
    if (!out) throw std::runtime_error("cannot write '" + path.string() + "'");
    fs::rename(part, path);
  }

  CampaignOptions o_;
  std::vector<Unit> units_;
};

int report(Session& session, const CampaignOptions& o, const Campaign& c) {
  std::map<int, std::size_t> exits;
  std::size_t open = 0, under_way = 0;
  std::vector<std::size_t> findings;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const auto exit = c.outcome(i);
    if (!exit) {
      ++(c.taken(i) ? under_way : open);
      continue;
    }
    ++exits[*exit];
    if (*exit != Exit::yes && *exit != Exit::undecided) findings.push_back(i);
  }
  if (o.json) {
    nlohmann::ordered_json out = {
        {"kind", o.kind}, {"units", c.size()}, {"open", open}, {"under_way", under_way}};
    out["exits"] = nlohmann::ordered_json::object();
    for (const auto& [exit, count] : exits) out["exits"][std::to_string(exit)] = count;
    out["findings"] = nlohmann::ordered_json::array();
    for (const std::size_t i : findings)
      out["findings"].push_back(
          {{"unit", i}, {"exit", *c.outcome(i)}, {"command", c.command(i)}, {"output", c.output(i)}});
    session.out << out.dump(2) << "\n";
  } else {
    session.out << fmt::format("campaign {}: {} units", o.kind, c.size());
    for (const auto& [exit, count] : exits)
      session.out << fmt::format(", {} {}", count,
                                 exit == 0   ? std::string("without a finding")
                                 : exit == 1 ? std::string("with a finding")
                                 : exit == 3 ? std::string("undecided")
                                             : fmt::format("ended with {}", exit));
    if (under_way > 0) session.out << fmt::format(", {} under way or lost", under_way);
    if (open > 0) session.out << fmt::format(", {} open", open);
    session.out << "\n";
    for (const std::size_t i : findings)
      session.out << fmt::format("  unit {}: exit {}: {}\n    {}\n", i, *c.outcome(i), c.command(i),
                                 c.output(i));
  }
  const bool all = open + under_way == 0 && !exits.contains(Exit::undecided);
  return !findings.empty() ? Exit::no : all ? Exit::yes : Exit::undecided;
}

int campaign(Session& session, const CampaignOptions& o) {
  const Campaign c(o, units_of(o));
  if (o.again)
    if (const std::size_t lost = c.free_lost(); lost > 0)
      session.err << fmt::format("campaign: {} units that were begun and not ended are free again\n", lost);
  if (o.report) return report(session, o, c);
  ProgressBar bar(session, "campaign " + o.kind);
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (!c.take(i)) continue;
    bar.show(static_cast<double>(i) / static_cast<double>(c.size()),
             fmt::format("unit {} of {}", i, c.size()));
    c.run(i);
  }
  bar.erase();
  // The first process says what there is. mpirun ends all others with one whose status is not 0, so it waits for those of its machine, and
  // leaves the status to --report while those of others are at work.
  if (number_of_process() != "0") return Exit::yes;
  const bool elsewhere = number_given() && c.wait_for_others();
  const int status = report(session, o, c);
  return elsewhere ? Exit::yes : status;
}

} // namespace

void add_campaign(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand(
      "campaign", "Many commands as units of work, on many processes and machines, with a journal");
  auto o = std::make_shared<CampaignOptions>();
  c->add_option("KIND", o->kind, "fuzz, prove, tune, validate; check: lines are whole commands")
      ->required()
      ->check(CLI::IsMember({"fuzz", "prove", "tune", "validate", "check"}));
  c->add_option("--journal", o->directory,
                "Directory that all processes share: who has which unit, outcomes, outputs")
      ->required();
  c->add_option("--list", o->list, "prove, tune, validate, check: a unit a line");
  c->add_option("--laws", o->laws, "fuzz: laws in turn; all of them where none is named");
  c->add_option("--units", o->units, "fuzz: how many (16)")->check(at_least(1));
  c->add_option("--seed", o->seed, "fuzz: of the first unit (1)");
  c->add_option("--cases", o->cases, "fuzz: inputs of a unit (2000)")->check(at_least(1));
  c->add_flag("--again", o->again,
              "Units that a process took and did not end are free; when no process is at work");
  c->add_flag("--report", o->report, "Only say what there is");
  c->add_option("--binary", o->binary, "The inlay that units run; this one");
  c->add_flag("--json", o->json, "As JSON");
  c->callback([=, &session] {
    if (o->binary.empty()) {
      std::error_code absent;
      o->binary = fs::read_symlink("/proc/self/exe", absent);
    }
    session.exit = campaign(session, *o);
  });
}

} // namespace inlay::cli
