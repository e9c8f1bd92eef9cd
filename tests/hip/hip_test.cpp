// `inlay run-with` over a HIP program with planted defects (program.cpp), and its reports.
#include "inlay_command.h"
#include "launch_reports.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <inlay/runtime/isa/assemble.h>
#include <nlohmann/json.hpp>

namespace hip_test {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("inlay-hip-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() {
    fs::create_directories(path);
    std::ifstream in(INLAY_TESTS_DIR "/hip/kernels.gfx942.s");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto code = inlay::runtime::isa::assemble_code_object(text, inlay::runtime::isa::Arch::gfx942,
                                                                "row sums/kernels.gfx942.s");
    std::ofstream(path / "kernels.hsaco", std::ios::binary)
        .write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Ran run_with(const Folder& f, const std::string& what, std::vector<std::string> options = {}) {
  std::vector<std::string> a = {"run-with", "--library", INLAY_HIP_FOLDER};
  a.insert(a.end(), options.begin(), options.end());
  a.insert(a.end(), {"--", INLAY_HIP_PROGRAM, f.file("kernels.hsaco"), what});
  return inlay_command(a);
}

/// The kinds of all findings that are no notes.
std::vector<std::string> kinds(const Ran& r) {
  std::vector<std::string> out;
  const auto report = Json::parse(r.out);
  for (const auto& l : report.at("launches"))
    for (const auto& x : l.at("findings"))
      if (!x.at("note").get<bool>()) out.push_back(x.at("kind"));
  return out;
}

} // namespace

TEST_CASE("run-with: a right program passes, its launches are counted", "[hip]") {
  const Folder f;
  const auto r = run_with(f, "clean", {"--stress", "2"});
  CHECK(r.exit == 0);
  CHECK(says(r.out, "1 launch"));
  CHECK(says(r.out, "no defect"));
  const auto j = run_with(f, "clean", {"--json"});
  REQUIRE(j.exit == 0);
  const auto report = Json::parse(j.out);
  CHECK(report.at("ok") == true);
  REQUIRE(report.at("launches").size() == 1);
  CHECK(report.at("launches")[0].at("kernel") == "add");
  CHECK(report.at("launches")[0].at("geometry") == "grid 2x1x1 block 64x1x1");
  CHECK(report.at("launches")[0].at("instructions") == 2 * 11);
}

TEST_CASE("run-with: a race and an overrun are found, at their argument and source line", "[hip]") {
  const Folder f;
  const auto race = run_with(f, "race", {"--json"});
  CHECK(race.exit == 1);
  CHECK(kinds(race) == std::vector<std::string>{"races"});
  const auto overrun = run_with(
      f, "overrun",
      {"--json", "--report", f.file("r.sarif"), "--report", f.file("r.xml"), "--report", f.file("r.txt")});
  CHECK(overrun.exit == 1);
  const auto report = Json::parse(overrun.out);
  REQUIRE(report.at("launches").size() == 2);
  const Json* bounds = nullptr;
  for (const auto& x : report.at("launches")[0].at("findings"))
    if (x.at("kind") == "bounds") bounds = &x;
  REQUIRE(bounds != nullptr);
  CHECK(says(bounds->at("message"), "writes 4 bytes at b + 0x200 of 512 bytes"));
  CHECK(bounds->at("line").at("file") == "kernels.gfx942.s");
  // Which line that is, the source says itself.
  std::ifstream in(INLAY_TESTS_DIR "/hip/kernels.gfx942.s");
  std::string line;
  for (int n = bounds->at("line").at("line"); n > 0; --n) std::getline(in, line);
  CHECK(says(line, "global_store_dword v1, v2, s[6:7]"));
  // SARIF: the same line, once.
  const auto sarif = Json::parse(read(f.file("r.sarif")));
  CHECK(sarif.at("version") == "2.1.0");
  std::size_t at_line = 0;
  for (const auto& result : sarif.at("runs")[0].at("results")) {
    if (result.at("ruleId") != "bounds") continue;
    ++at_line;
    const auto& place = result.at("locations")[0].at("physicalLocation");
    CHECK(place.at("artifactLocation").at("uri") == "row%20sums/kernels.gfx942.s");
    CHECK(place.at("region").at("startLine") == bounds->at("line").at("line"));
    CHECK(result.at("level") == "error");
  }
  CHECK(at_line == 1);
  const auto xml = read(f.file("r.xml"));
  CHECK(says(xml, "tests=\"2\" failures=\"1\""));
  CHECK(says(xml, "<failure type=\"bounds\""));
  CHECK(says(read(f.file("r.txt")), "bounds: writes 4 bytes at b + 0x200 of 512 bytes"));
}

TEST_CASE("SARIF: where a file is, of lines with absolute paths and without") {
  const Folder f;
  const fs::path repository = f.path / "my repo";
  fs::create_directories(repository / "src");
  fs::create_directories(f.path / "my repo 2");
  for (const char* file : {"my repo/src/a.hip", "my repo 2/b.hip"}) std::ofstream(f.path / file) << "\n";
  const auto uri = [](const std::string& path, const std::string& file) {
    inlay::cli::Launch line = {{"file", file}, {"line", 7}};
    if (!path.empty()) line["path"] = path;
    const inlay::cli::Launch launch = {
        {"kernel", "k"}, {"findings", {{{"kind", "bounds"}, {"message", "m"}, {"line", line}}}}};
    const auto sarif = Json::parse(inlay::cli::report_sarif({launch}));
    return sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        .get<std::string>();
  };
  const auto encoded = [](std::string text) { // spaces are all that is special here
    for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos;) text.replace(at, 1, "%20");
    return text;
  };
  const std::string root = f.path.string();
  ::setenv("GITHUB_WORKSPACE", repository.c_str(), 1);
  CHECK(uri(repository.string() + "/src/a.hip", "a.hip") == "src/a.hip");
  CHECK(uri(repository.string() + "/build/../src/a.hip", "a.hip") ==
        "a.hip"); // a folder that there is not: by its name
  fs::create_directories(repository / "build");
  CHECK(uri(repository.string() + "/build/../src/a.hip", "a.hip") == "src/a.hip");
  // Beside the repository, though its name begins alike.
  CHECK(uri(root + "/my repo 2/b.hip", "b.hip") == encoded("file://" + root + "/my repo 2/b.hip"));
  CHECK(uri("/no/such/folder/c.hip", "c.hip") == "c.hip"); // compiled elsewhere
  CHECK(uri("", "./src/d.hip") == "src/d.hip");
  ::setenv("GITHUB_WORKSPACE", (repository.string() + "/").c_str(), 1);
  CHECK(uri(repository.string() + "/src/a.hip", "a.hip") == "src/a.hip");
  ::setenv("GITHUB_WORKSPACE", "/", 1);
  CHECK(uri(root + "/my repo 2/b.hip", "b.hip") == encoded("file://" + root + "/my repo 2/b.hip"));
  ::unsetenv("GITHUB_WORKSPACE");
  const fs::path before = fs::current_path();
  fs::current_path(repository);
  CHECK(uri(fs::current_path().string() + "/src/a.hip", "a.hip") == "src/a.hip");
  fs::current_path(before);
}

TEST_CASE("run-with: a captured graph of two streams replays", "[hip]") {
  const Folder f;
  const auto r = run_with(f, "graph", {"--json"});
  CHECK(r.exit == 0);
  CHECK(Json::parse(r.out).at("launches").size() == 6);
}

TEST_CASE("run-with: two devices, one waits for the other's memory; without peer access that is outside of "
          "every buffer",
          "[hip]") {
  const Folder f;
  const auto r = run_with(f, "peers", {"--devices", "2", "--json"});
  CHECK(r.exit == 0);
  CHECK(Json::parse(r.out).at("launches").size() == 2);
  const auto s = run_with(f, "strangers", {"--devices", "2", "--json", "--max-instructions", "100000"});
  CHECK(s.exit != 0);
  const auto found = kinds(s);
  CHECK(std::find(found.begin(), found.end(), "bounds") != found.end());
  const auto one = run_with(f, "peers");
  CHECK(one.exit == 4); // the program says that it wants two
  CHECK(run_with(f, "peers", {"--devices", "2", "--stress", "1"}).exit == 2);
}

TEST_CASE("run-with: launches on two devices wait for each other, whichever begins first; one that waits for "
          "what nobody does is a deadlock",
          "[hip]") {
  // One-shot all-reduce of clang's; the second of two that both take themselves for device 0 never comes.
  const auto one_shot = [](const std::string& rank, const std::string& devices) {
    return inlay_command({"run-with",
                          "--library",
                          INLAY_HIP_FOLDER,
                          "--devices",
                          devices,
                          "--json",
                          "--",
                          INLAY_PROGRAM,
                          "exec",
                          INLAY_TESTS_DIR "/isa/all_reduce.gfx942.s",
                          "--kernel",
                          "one_shot",
                          "--device",
                          "hip",
                          "--devices",
                          devices,
                          "--buffer",
                          "x=zeros:400",
                          "signals=zeros:32",
                          "--arg",
                          "peers:x",
                          "peers:signals",
                          "out:400",
                          "i32:" + rank,
                          "i32:{devices}",
                          "i32:100",
                          "i32:0",
                          "i32:256"});
  };
  for (const char* devices : {"2", "2", "4"}) {
    const auto r = one_shot("{rank}", devices);
    INFO(r.out << r.err);
    CHECK(r.exit == 0);
  }
  const auto stuck = one_shot("0", "2");
  INFO(stuck.out << stuck.err);
  CHECK(stuck.exit != 0);
  CHECK(says(stuck.out, "waits for words of memory that nobody changes any more"));
}

TEST_CASE("run-with: a cooperative launch, whose workgroups wait for all of them", "[hip]") {
  const Folder f;
  const auto r = run_with(f, "cooperative");
  INFO(r.out << r.err);
  CHECK(r.exit == 0);
  CHECK(says(r.out, "3 launches"));
}

TEST_CASE("run-with: errors of host code, exit status of the program, of the command line", "[hip]") {
  const Folder f;
  CHECK(run_with(f, "errors").exit == 0);
  CHECK(run_with(f, "exit7").exit == 7);
  CHECK(says(run_with(f, "exit7").out, "no kernel was launched"));
  const auto refused = run_with(f, "refused"); // the program does not look
  CHECK(refused.exit == 1);
  CHECK(says(refused.out, "launch of kernel add"));
  CHECK(run_with(f, "race", {"--fail"}).exit == 3); // the launch fails, and the program says so
  CHECK(inlay_command({"run-with", "--library", INLAY_HIP_FOLDER, "--", "/no/such/program"}).exit == 127);
  CHECK(inlay_command({"run-with"}).exit == 2);
  CHECK(run_with(f, "clean", {"--arch", "gfx908"}).exit == 2);
  CHECK(run_with(f, "clean", {"--check", "rases"}).exit == 2);
  CHECK(inlay_command({"run-with", "--library", f.file("none"), "--", "true"}).exit == 2);
}

TEST_CASE("run-with --keep: each launch can be repeated by exec; --time models it", "[hip]") {
  const Folder f;
  const auto r = run_with(f, "overrun", {"--keep", f.file("kept"), "--json"});
  const auto launches = Json::parse(r.out).at("launches");
  REQUIRE(launches.size() == 2);
  const auto again = inlay_command({"exec", launches[0].at("manifest"), "--json"});
  CHECK(again.exit == 1);
  const auto findings = Json::parse(again.out).at("findings");
  // What the buffers held counts as written there; the overrun is the same.
  REQUIRE(findings.size() == 1);
  bool same = false;
  for (const auto& x : launches[0].at("findings"))
    same = same || x.at("message") == findings[0].at("message");
  CHECK(same);
  CHECK(findings[0].at("kind") == "bounds");
  const auto right = inlay_command({"exec", launches[1].at("manifest"), "--print", "u32", "--json"});
  CHECK(right.exit == 0);
  CHECK(Json::parse(right.out).at("outputs")[1].at("values") == Json({5, 6, 7, 8, 9, 10, 11, 12}));
  const auto timed = run_with(f, "clean", {"--time", "--json"});
  REQUIRE(timed.exit == 0);
  CHECK(Json::parse(timed.out).at("launches")[0].at("timing").at("clocks").get<double>() > 100);
}

TEST_CASE("run-with: an overrun of one registered array that ends in another of the launch", "[hip]") {
  const Folder f;
  const auto overrun = run_with(f, "neighbours", {"--json"});
  CHECK(kinds(overrun) == std::vector<std::string>{"bounds"});
  CHECK(says(overrun.out, "writes 4 bytes at b + 0x200 of 512 bytes"));
  CHECK(!says(overrun.out, "wrong:"));
  const auto stressed = run_with(f, "apart", {"--json", "--stress", "2"});
  CHECK(stressed.exit == 0);
  CHECK(kinds(stressed).empty());
  // Of an array whose address is in memory, too, the launch gets no copy: it would see two of one.
  const auto through = run_with(f, "through", {"--json"});
  CHECK(kinds(through).empty());
  CHECK(through.exit == 0);
  CHECK(run_with(f, "through", {"--json", "--check", "none"}).exit == 0);
}

} // namespace hip_test
