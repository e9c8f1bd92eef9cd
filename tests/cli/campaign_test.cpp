// `inlay campaign`: each unit once whatever the number of processes, lost ones again, findings said. `inlay audit`: what cannot be
// true of a table.
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace campaign_test {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("inlay_campaign_" + std::to_string(std::random_device{}()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
};

Ran campaign(const Folder& f, std::vector<std::string> more) {
  std::vector<std::string> all = {"campaign",         "check",    "--journal",
                                  f.path / "journal", "--binary", INLAY_BINARY};
  all.insert(all.end(), more.begin(), more.end());
  return inlay_command(all);
}

const std::string units = "prove bijective '(4,4,2):(1,8,4)'\n"
                          "# a comment\n"
                          "prove injective (3,2):(1,1)\n" // refuted: a finding
                          "eval coalesce((2,3):(1,2))\n"
                          "eval coalesce((2,3):(1,2)\n" // no layout
                          "version\n";

} // namespace

TEST_CASE("campaign: units, outcomes, nothing twice, lost ones again") {
  const Folder f;
  const std::string list = f.write("list", units);
  const Ran first = campaign(f, {"--list", list, "--json"});
  INFO(first.out << first.err);
  CHECK(first.exit == 1);
  const auto json = nlohmann::json::parse(first.out);
  CHECK(json["units"] == 5);
  CHECK(json["exits"]["0"] == 3);
  CHECK(json["exits"]["1"] == 1);
  CHECK(json["exits"]["2"] == 1);
  REQUIRE(json["findings"].size() == 2);
  CHECK(json["findings"][0]["command"] == "inlay prove injective '(3,2):(1,1)'");
  // Its output is kept.
  std::ifstream output(json["findings"][0]["output"].get<std::string>());
  CHECK_THAT(std::string(std::istreambuf_iterator<char>(output), {}), Contains("refuted"));
  // Again: everything is done.
  const auto before = fs::last_write_time(f.path / "journal" / "000000.done");
  CHECK(campaign(f, {"--list", list}).exit == 1);
  CHECK(fs::last_write_time(f.path / "journal" / "000000.done") == before);
  // A process that died with a unit: open until somebody says that nobody is at work.
  fs::remove(f.path / "journal" / "000000.done");
  std::ofstream(f.path / "journal" / "000000.taken") << "elsewhere 1 7\n";
  const Ran lost = campaign(f, {"--list", list});
  CHECK_THAT(lost.out, Contains("1 under way or lost"));
  const Ran again = campaign(f, {"--list", list, "--again"});
  CHECK_THAT(again.err, Contains("1 units"));
  CHECK_THAT(again.out, Contains("3 without a finding") && !Contains("lost"));
  // Another list is another campaign.
  const Ran other = campaign(f, {"--list", f.write("other", "version\n")});
  CHECK(other.exit == 2);
  CHECK_THAT(other.err, Contains("other units"));
}

TEST_CASE("campaign: two processes share the units, each once") {
  const Folder f;
  std::string many;
  for (int i = 0; i < 12; ++i) many += "eval size((2," + std::to_string(i + 1) + "):(1,2))\n";
  const std::string list = f.write("list", many);
  std::vector<pid_t> processes;
  for (int i = 0; i < 2; ++i) {
    const pid_t p = ::fork();
    if (p == 0) {
      ::setenv("OMPI_COMM_WORLD_RANK", i == 0 ? "0" : "1", 1);
      ::_exit(campaign(f, {"--list", list}).exit);
    }
    processes.push_back(p);
  }
  for (const pid_t p : processes) ::waitpid(p, nullptr, 0);
  const auto json = nlohmann::json::parse(campaign(f, {"--list", list, "--report", "--json"}).out);
  CHECK(json["exits"]["0"] == 12);
  CHECK(json["open"] == 0);
  CHECK(json["under_way"] == 0);
}

TEST_CASE("campaign: the first process ends with the others, so that no launcher ends them") {
  const Folder f;
  const std::string list = f.write("list", "version\n");
  fs::create_directories(f.path / "journal");
  const auto status = [&](const std::string& taken,
                          bool launched) { // of the first process, while another one has the unit
    std::ofstream(f.path / "journal" / "000000.taken") << taken;
    int out = 0;
    const pid_t p = ::fork();
    if (p == 0) {
      if (launched) ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
      ::_exit(campaign(f, {"--list", list}).exit);
    }
    ::waitpid(p, &out, 0);
    return WEXITSTATUS(out);
  };
  CHECK(status("another_machine 1 1\n", true) == 0);
  CHECK(status("another_machine 1 1\n", false) == 3);
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  const pid_t other = ::fork(); // has the unit for a while, and ends it
  if (other == 0) {
    ::usleep(300'000);
    std::ofstream(f.path / "journal" / "part") << "0\n";
    fs::rename(f.path / "journal" / "part", f.path / "journal" / "000000.done");
    ::_exit(0);
  }
  CHECK(status(std::string(host) + " " + std::to_string(other) + " 1\n", true) == 0);
  CHECK(fs::exists(f.path / "journal" / "000000.done")); // it has waited
  ::waitpid(other, nullptr, 0);
}

TEST_CASE("campaign: fuzz has seeds of its own, and bad input is one message") {
  const Folder f;
  const Ran r = inlay_command({"campaign", "fuzz", "--journal", f.path / "j", "--units", "3", "--seed", "7",
                               "--cases", "50", "--laws", "coalesce", "--binary", INLAY_BINARY});
  INFO(r.out << r.err);
  CHECK(r.exit == 0);
  CHECK_THAT(r.out, Contains("3 units, 3 without a finding"));
  std::ifstream in(f.path / "j" / "units");
  CHECK_THAT(std::string(std::istreambuf_iterator<char>(in), {}),
             Contains("--seed 7") && Contains("--seed 9"));
  CHECK(inlay_command({"campaign", "prove", "--journal", f.path / "k"}).exit == 2);
  CHECK(inlay_command({"campaign", "sing", "--journal", f.path / "k"}).exit == 2);
}

TEST_CASE("audit: what a row cannot be, once each; a journal is not judged again") {
  const Folder f;
  // 2 M N K / us: 4096^3 in 100 us are 1374.4 TFLOPS.
  const std::string table =
      f.write("table.csv", "cu_num,M,N,K,us,kernelName,tflops,dtype\n"
                           "256,4096,4096,4096,100,k,1374.39,torch.bfloat16\n"         // true
                           "256,4096,4096,4096,100,k,1000,torch.bfloat16\n"            // not its time
                           "304,4096,4096,4096,100,k,1374.39,torch.bfloat16\n"         // above 1307 of MI300X
                           "304,4096,4096,4096,100,\"k<1, 2>\",1374.39,torch.float8\n" // eight bits: below
                           "256,4096,4096,4096,0,k,0,torch.bfloat16\n"                 // no time
                           "256,0,4096,4096,1,k,0,torch.bfloat16\n"                    // no size
                           "256,4096,4096,4096,nan,k,0,torch.bfloat16\n"
                           "256,many,4096,4096,1,k,0,torch.bfloat16\n");
  const Ran r = inlay_command({"audit", table, "--json", "--journal", f.path / "journal"});
  INFO(r.out << r.err);
  CHECK(r.exit == 1);
  const auto json = nlohmann::json::parse(r.out);
  CHECK(json["rows"] == 8);
  CHECK(json["counts"] ==
        nlohmann::json{
            {"above the peak", 1}, {"disagrees with its time", 1}, {"has no time", 1}, {"unreadable", 3}});
  CHECK(json["findings"][0]["line"] == 3);
  CHECK(json["findings"][1]["line"] == 4);
  // The journal: rows keep their verdicts though the table has changed.
  f.write("table.csv",
          "cu_num,M,N,K,us,kernelName,tflops,dtype\n256,4096,4096,4096,1,k,1374.39,torch.bfloat16\n");
  CHECK(inlay_command({"audit", table, "--journal", f.path / "journal"}).exit == 0);
  CHECK(inlay_command({"audit", table}).exit == 1);
  // Kernels that are not there.
  const Ran code = inlay_command({"audit", table, "--code", f.path, "--json"});
  CHECK(nlohmann::json::parse(code.out)["counts"]["kernel is not there"] == 1);
  const auto of = [](const std::string& file) {
    return nlohmann::json::parse(inlay_command({"audit", file, "--json"}).out)["findings"];
  };
  CHECK(of(f.write("marked", "\xef\xbb\xbf"
                             "M,N,K,us,tflops,cu_num,dtype\n4096,4096,4096,1,137439,256,torch.bfloat16\n")) ==
        of(f.write("plain", "M,N,K,us,tflops,cu_num,dtype\n4096,4096,4096,1,137439,256,torch.bfloat16\n")));
  // Where neither the table nor --dtype names a type that we know, only what is above the peak of all of them: 2,517 TFLOPS for 16 bits, 10,066 for 4.
  const auto findings = [&](const char* type, const char* us, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "audit", f.write("open", fmt::format("M,N,K,us,cu_num,dtype\n4096,4096,4096,{},256,{}\n", us, type)),
        "--json", "--arch", "gfx950"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(inlay_command(words).out)["findings"];
  };
  CHECK(findings("", "30", {}).empty()); // 4,581
  CHECK(findings("packed", "30", {}).empty());
  CHECK(findings("", "30", {"--dtype", "bf16"}).size() == 1);
  CHECK(findings("torch.float4_e2m1fn_x2", "30", {"--dtype", "bf16"}).empty()); // the table says
  CHECK(findings("torch.bfloat16", "30", {}).size() == 1);
  CHECK(findings("", "13", {}).size() == 1); // 10,572
  CHECK(findings("", "14", {}).empty());     // 9,817
  // Several products in one launch: 16 of 4096^3 in 1600 us are 1374.4 TFLOPS, and one of them 85.9.
  CHECK(of(f.write("batched",
                   "B,M,N,K,us,tflops,cu_num,dtype\n16,4096,4096,4096,1600,1374.39,256,torch.bfloat16\n"))
            .empty());
  CHECK(of(f.write("batched",
                   "B,M,N,K,us,tflops,cu_num,dtype\n16,4096,4096,4096,1600,85.9,256,torch.bfloat16\n"))
            .size() == 1);
  CHECK_THAT(inlay_command({"audit", f.write("t", "a,b\n1,2\n")}).err, Contains("no column 'm'"));
  CHECK(inlay_command({"audit", f.path / "none"}).exit == 2);
}

TEST_CASE("audit: another row's kernel that the model gives fewer clocks") {
  const Folder f;
  // Two forms of one product, under two names.
  for (const auto& [name, tile] : {std::pair{"wide", "128x128x64"}, {"narrow", "16x64x64"}}) {
    const std::string folder = f.path / name;
    REQUIRE(inlay_command({"build", "gemm", "--arch", "gfx942", "--tile", tile, "--waves", "1x4",
                           "--n-multiple", "8", "--no-validate", "-o", folder})
                .exit == 0);
    std::ifstream in(folder + "/gemm.s");
    std::string text(std::istreambuf_iterator<char>(in), {});
    for (std::size_t at = 0; (at = text.find("gemm", at)) != std::string::npos; at += 4)
      text.replace(at, 4, name);
    fs::create_directories(f.path / "code");
    std::ofstream(f.path / "code" / (std::string(name) + ".s")) << text;
  }
  f.write("tiles.csv", "knl_name,tile_M,tile_N\nwide,128,128\nnarrow,16,64\n");
  const std::string recipe =
      f.write("launch", "# what both take\n"
                        "columns tiles.csv knl_name\n"
                        "kernel *\n"
                        "multiple {k} 8\n"
                        "grid {(n + tile_n - 1) / tile_n},{(m + tile_m - 1) / tile_m},1\n"
                        "block 256,1,1\n"
                        "arg zeros:{2*m*n}\n"
                        "arg zeros:{2*m*k}\n"
                        "arg zeros:{2*n*k}\n"
                        "arg i32:{m}\n"
                        "arg i32:{n}\n"
                        "arg i32:{k}\n");
  const std::string table = f.write("table.csv", "cu_num,M,N,K,us,kernelName\n"
                                                 "304,1,2048,1024,9,wide\n"   // one row in tiles of 128
                                                 "304,2,2048,1024,9,narrow\n" // its kernel is the shorter one
                                                 "304,1,2048,1020,9,wide\n"); // sizes that none takes
  const Ran r = inlay_command({"audit", table, "--code", f.path / "code", "--arch", "gfx942", "--launch",
                               recipe, "--journal", f.path / "journal", "--json"});
  INFO(r.out << r.err);
  CHECK(r.exit == 1);
  const auto json = nlohmann::json::parse(r.out);
  CHECK(json["counts"] == nlohmann::json{{"another kernel is shorter", 1}});
  CHECK(json["modelled"] == 4); // two kernels for each row's sizes, none for the last
  CHECK(json["findings"][0]["line"] == 2);
  CHECK_THAT(json["findings"][0]["message"].get<std::string>(), Contains("narrow of line 3"));
  // A wider margin than there is; and the journal, which keeps what was found.
  const std::vector<std::string> again = {"audit",  table,    "--code",   f.path / "code",
                                          "--arch", "gfx942", "--launch", recipe};
  const auto more = [&](std::vector<std::string> words) {
    std::vector<std::string> all = again;
    all.insert(all.end(), words.begin(), words.end());
    return inlay_command(all);
  };
  CHECK(more({"--shorter", "9"}).exit == 0);
  const Ran kept = more({"--journal", f.path / "journal"});
  CHECK(kept.exit == 1);
  CHECK_THAT(kept.out, Contains("; 0 launches modelled"));
  // What is wrong is said with its line.
  f.write("launch", "kernel *\ngrid {(n + tile_q - 1) / 64},1,1\nblock 256,1,1\n");
  CHECK_THAT(more({}).out, Contains("tile_q"));
  f.write("launch", "grid 1,1,1\n");
  const Ran before = more({});
  CHECK(before.exit == 2);
  CHECK_THAT(before.err, Contains("launch:1: 'grid' before a kernel"));
  CHECK(inlay_command({"audit", table, "--launch", recipe}).exit == 2);
}

} // namespace campaign_test
