// `exec --devices`: arguments of each device, outputs, findings, and what is refused.
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace exec_devices_test {

namespace {

const std::string kernels = std::string(INLAY_TESTS_DIR) + "/isa/all_reduce.gfx942.s";

/// One-shot over `devices` with 100 elements; `more` follows.
std::vector<std::string> one_shot(unsigned devices, const std::vector<std::string>& more = {},
                                  const std::string& file = kernels, const std::string& peers = "peers:x",
                                  const std::string& out = "out:400") {
  std::vector<std::string> a = {
      "exec",     file,          "--kernel",         "one_shot", "--devices", std::to_string(devices),
      "--buffer", "x=zeros:400", "signals=zeros:32", "--arg",    peers,       "peers:signals",
      out,        "i32:{rank}",  "i32:{devices}",    "i32:100",  "i32:0",     "i32:256"};
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("exec --devices: outputs and findings of each device, as text and as JSON") {
  const auto text = inlay_command(one_shot(3));
  CHECK(text.exit == 0);
  CHECK(says(text.out, "on 3 devices, emulator gfx942"));
  CHECK(says(text.out, "out:400 of device 2"));
  const auto j = nlohmann::json::parse(inlay_command(one_shot(3, {"--json", "--stress"})).out);
  CHECK(j.at("ok") == true);
  CHECK(j.at("devices") == 3);
  CHECK(j.at("stats").at("workgroups") == 3);
  REQUIRE(j.at("outputs").size() == 3);
  for (unsigned r = 0; r < 3; ++r) CHECK(j.at("outputs").at(r).at("device") == r);

  // Signals that are stored at device scope.
  std::ifstream in(kernels);
  std::string narrow{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = narrow.find("off sc0 sc1"); at != std::string::npos; at = narrow.find("off sc0 sc1"))
    narrow.replace(at, 11, "off sc1");
  const auto file = std::filesystem::temp_directory_path() /
                    ("inlay-narrow-" + std::to_string(reinterpret_cast<std::uintptr_t>(&narrow)) + ".s");
  std::ofstream(file) << narrow;
  const auto found = inlay_command(one_shot(2, {"--json"}, file.string()));
  // In memory that no L2 keeps that is enough.
  const auto uncached = inlay_command(one_shot(2, {"--uncached", "signals"}, file.string()));
  std::filesystem::remove(file);
  CHECK(found.exit == 1);
  INFO(uncached.out);
  CHECK(uncached.exit == 0);
  bool scopes = false;
  const auto said = nlohmann::json::parse(found.out);
  for (const auto& f : said.at("findings"))
    scopes = scopes || (f.contains("device") && says(f.at("message"), "both have to be of system scope") &&
                        says(f.at("message"), "signals of device"));
  CHECK(scopes);
}

TEST_CASE(
    "exec --devices: a table of addresses is a structure or lies in memory, one address is an argument") {
  // y[i] = x[i] + s: x is the buffer of the other device.
  const std::string add = std::string(INLAY_TESTS_DIR) + "/isa/add_scalar.gfx942.s";
  const auto other = inlay_command({"exec", add, "--devices", "2", "--host-waits", "--buffer", "z=zeros:256",
                                    "--arg", "peer:z:1", "out:256", "f32:{rank}", "--json"});
  INFO(other.out << other.err);
  CHECK(other.exit == 0);
  const auto j = nlohmann::json::parse(other.out);
  CHECK(j.at("outputs").at(0).at("values").at(0) == 0);
  CHECK(j.at("outputs").at(1).at("values").at(0) == 1);
  // Nothing says that device 1 has begun when device 0 reads there.
  const auto early = inlay_command({"exec", add, "--devices", "2", "--buffer", "z=zeros:256", "--arg",
                                    "peer:z:1", "out:256", "f32:{rank}"});
  CHECK(early.exit == 1);
  CHECK(says(early.out, "nothing that it has read says that this launch has begun there"));
}

TEST_CASE("exec --devices: what is refused, by name") {
  const auto refused = [](const std::vector<std::string>& a, const std::string& why) {
    const auto r = inlay_command(a);
    INFO(r.out << r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, why));
  };
  refused(one_shot(2, {}, kernels, "peers:y"), "no buffer is 'y'");
  refused(one_shot(2, {}, kernels, "peers:"), "names no argument");
  refused(one_shot(2, {}, kernels, "peer:x:2"), "of 2 devices, counted from 0");
  refused(one_shot(2, {}, kernels, "peer:x"), "not peer:NAME:R");
  refused(one_shot(2, {}, kernels, "peers:x", "out:400:y.bin"), "several devices write to y.bin");
  refused(one_shot(9), "bytes"); // the structure has room for 8
  refused(one_shot(2, {"--buffer", "x=zeros:4"}), "'x' is there already");
  refused(one_shot(2, {"--buffer", "zeros:4"}), "not NAME=in:FILE");
  refused(one_shot(2, {"--buffer", "n=i32:4"}), "not NAME=in:FILE");
  refused(one_shot(2, {"--uncached", "nobody"}), "no buffer is 'nobody'");
  refused(one_shot(2, {"--trace", "wave=0"}), "one device");
  refused(one_shot(2, {"--watch", "arg2"}), "one device");
  refused(one_shot(2, {"--repeat", "3"}), "one device");
  refused(one_shot(2, {"--device", "hip:1"}), "--device hip");
  refused(one_shot(2, {"--device", "hip", "--uncached", "x"}), "--uncached");
  refused(one_shot(0), "--devices");
  refused({"time", kernels, "--kernel", "one_shot", "--arg", "peers:x", "peers:x", "out:400", "i32:0",
           "i32:1", "i32:1", "i32:0", "i32:1"},
          "one device");
}

TEST_CASE(
    "exec --devices: a manifest says how many launch it, with whose memory; narrower scopes are missed") {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("inlay-sums-" + std::to_string(reinterpret_cast<std::uintptr_t>(&kernels)));
  REQUIRE(inlay_command({"build", "all_reduce", "--devices", "3", "--dtype", "f32", "-o", folder.string()})
              .exit == 0);
  const std::string json = (folder / "all_reduce.json").string();
  for (int r = 0; r < 3; ++r) {
    std::vector<float> x(100);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(100 * r) + static_cast<float>(i);
    std::ofstream(folder / ("x" + std::to_string(r))).write(reinterpret_cast<const char*>(x.data()), 400);
  }
  const std::string x = "x=in:" + (folder / "x{rank}").string();
  const auto ran = inlay_command({"exec", json, "--size", "n=100", "--json", "--stress", "--buffer", x});
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit == 0);
  const auto said = nlohmann::json::parse(ran.out);
  CHECK(said.at("devices") == 3);
  CHECK(said.at("findings").empty());
  REQUIRE(said.at("outputs").size() == 3);
  for (const auto& y : said.at("outputs"))
    CHECK(y.at("values") == nlohmann::json({300, 303, 306, 309, 312, 315, 318, 321}));
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    std::vector<std::string> all = {"exec", json, "--size", "n=100"};
    all.insert(all.end(), more.begin(), more.end());
    const auto r = inlay_command(all);
    INFO(r.out << r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, why));
  };
  refused({"--devices", "2"}, "was built for 3");
  refused({"--size", "rank=1"}, "each of the 3 devices has its own");
  refused({"--buffer", "x=zeros:396"}, "400 bytes, by the manifest");
  std::ofstream(folder / "f8.npy") << std::string("\x93NUMPY\x01\x00\x76\x00", 10)
                                   << "{'descr': '<f8', 'fortran_order': False, 'shape': (50,), }"
                                   << std::string(118 - 58 - 1, ' ') << '\n'
                                   << std::string(400, '\0');
  refused({"--buffer", "x=in:" + (folder / "f8.npy").string()},
          "its elements are <f8, and those of 'x' are f32");
  refused({"--buffer", "X=zeros:400"}, "no memory 'X' that all devices see");
  refused({"--arg", "x_0=zeros:400"}, "'x_0' is memory of device 0, which all devices see");
  refused({"--arg", "rank=i32:0"}, "each of the 3 devices has its own 'rank'");
  refused({"--arg", "rank=i64:0"}, "each of the 3 devices has its own 'rank'");
  refused({"--arg", "rank=zeros:4"}, "each of the 3 devices has its own 'rank'");
  refused({"--arg", "y=peer:x:{rank}"}, "'y' would share memory with 'x'");
  CHECK(inlay_command({"exec", json, "--size", "n=100", "--arg", "rank=i32:{rank}"}).exit == 0);
  const auto time = inlay_command({"time", json, "--size", "n=100"});
  CHECK(time.exit == 2);
  CHECK(says(time.err, "3 devices run it together"));

  // The same code as assembly, and with one scope or place narrower.
  std::ifstream in(folder / "all_reduce.s");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto run = [&](const std::string& assembly) {
    const std::string file = (folder / "changed.s").string();
    std::ofstream(file) << assembly;
    std::vector<std::string> all = {"exec",
                                    file,
                                    "--devices",
                                    "3",
                                    "--block",
                                    "256",
                                    "--buffer",
                                    x,
                                    "signals=zeros:12",
                                    "--max-instructions",
                                    "100000",
                                    "--arg"};
    const auto manifest = nlohmann::json::parse(std::ifstream(json));
    for (const auto& a : manifest.at("arguments")) {
      const std::string name = a.at("name");
      all.push_back(name == "y"      ? "out:400"
                    : name == "n"    ? "i32:100"
                    : name == "rank" ? "i32:{rank}"
                                     : "peer:" + name.substr(0, name.size() - 2) + ":" + name.back());
    }
    return inlay_command(all);
  };
  const auto plain = run(text);
  INFO(plain.out << plain.err);
  CHECK(plain.exit == 0);
  std::map<std::string, std::pair<int, int>>
      narrower; // by mnemonic: how many, and how many of them are missed
  for (std::size_t at = text.find(" sc0 sc1"); at != std::string::npos; at = text.find(" sc0 sc1", at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 2;
    auto& [all, missed] = narrower[text.substr(line, text.find(' ', line) - line)];
    ++all;
    missed += run(text.substr(0, at) + " sc1" + text.substr(at + 8)).exit == 1;
  }
  // After the last loads of peers nothing is read: nothing is written back for it, and no cache cleared. Of the loads two are of what the
  // device itself set last.
  CHECK(narrower["buffer_wbl2"] == std::pair(2, 1));
  CHECK(narrower["buffer_inv"] == std::pair(2, 1));
  CHECK(narrower["global_store_dword"] == std::pair(2, 2));
  CHECK(narrower["global_load_dword"] == std::pair(4, 2));
  std::filesystem::remove_all(folder);
}

// Between the meetings each device reads what the other one stores: one that runs ahead must not hide it by the flag of the second
// meeting, which is at least what the first one waits for.
TEST_CASE("exec --devices: a sum in the place of what is summed is a race, of two devices as well") {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("inlay-in-place-" + std::to_string(reinterpret_cast<std::uintptr_t>(&kernels)));
  REQUIRE(inlay_command({"build", "all_reduce", "--devices", "2", "--dtype", "f32", "-o", folder.string()})
              .exit == 0);
  for (const bool in_place : {false, true}) {
    const auto r = inlay_command({"exec", (folder / "all_reduce.s").string(), "--devices", "2", "--grid", "2",
                                  "--block", "256", "--buffer", "x=zeros:12000", "signals=zeros:32", "--arg",
                                  in_place ? "peer:x:{rank}" : "out:12000", "peer:x:0", "peer:x:1",
                                  "peer:signals:0", "peer:signals:1", "i32:3000", "i32:{rank}"});
    CAPTURE(in_place, r.out, r.err);
    CHECK(r.exit == (in_place ? 1 : 0));
    CHECK(says(r.out + r.err, "race") == in_place);
  }
  std::filesystem::remove_all(folder);
}

} // namespace exec_devices_test
