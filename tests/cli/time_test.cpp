// `inlay time`, `run --time`, `compare --time`: what they answer, the same every time, and one message for what they cannot model.
#include "inlay_command.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace time_test {

namespace {

const std::string triton = INLAY_TESTS_DIR "/isa/triton/gemm_f16_128x128x64.gfx942.s";

/// Triton's GEMM on m x m x k.
std::vector<std::string> gemm(unsigned m, unsigned k, std::vector<std::string> more = {}) {
  const std::string bytes = "zeros:" + std::to_string(2U * m * std::max(m, k)), i = "i32:";
  std::vector<std::string> a = {
      "time",    triton, "--arch", "gfx942", "--grid", std::to_string(m / 128 * (m / 128)),
      "--block", "256",  "--lds",  "65536"};
  for (const std::string& v : {bytes, bytes, bytes, i + std::to_string(m), i + std::to_string(m),
                               i + std::to_string(k), i + std::to_string(k), i + std::to_string(k),
                               i + std::to_string(m), std::string("ptr:0"), std::string("ptr:0")}) {
    a.emplace_back("--arg");
    a.push_back(v);
  }
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

nlohmann::json timing(const std::vector<std::string>& arguments) {
  const Ran r = inlay_command(arguments);
  INFO(r.err);
  REQUIRE(r.exit == 0);
  return nlohmann::json::parse(r.out)["timing"];
}

std::string file(const std::string& name, const std::string& text) {
  std::ofstream(name) << text;
  return name;
}

/// A kernel `k` around a body, its only argument a buffer.
std::string assembly(const std::string& body, unsigned vgprs = 8, unsigned lds = 0, unsigned workgroup = 64) {
  return ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body + R"(
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_kernarg_size 8
.amdhsa_accum_offset 8
.amdhsa_next_free_sgpr 16
.amdhsa_next_free_vgpr )" +
         std::to_string(vgprs) + "\n.amdhsa_group_segment_fixed_size " + std::to_string(lds) + R"(
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: k, .symbol: k.kd, .kernarg_segment_size: 8, .kernarg_segment_align: 8, .group_segment_fixed_size: )" +
         std::to_string(lds) +
         R"(, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 16, .vgpr_count: 8, .max_flat_workgroup_size: )" +
         std::to_string(workgroup) +
         R"(, .args: [{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}]}
...
.end_amdgpu_metadata
)";
}

} // namespace

TEST_CASE("time says clocks, a trip's clocks, the bottleneck and what each clock was spent on") {
  const auto t = timing(gemm(256, 512, {"--json"}));
  CHECK(t["clocks"].get<double>() > 0);
  CHECK(t["clocks_per_trip"].get<double>() >= 1024); // 64 matrix instructions of 16 clocks
  CHECK(t["bottleneck"].is_string());
  double sum = 0;
  for (const auto& [cause, clocks] : t["spent"].items()) sum += clocks.get<double>();
  CHECK(sum == Approx(t["clocks"].get<double>()).epsilon(0.001));
  CHECK(t["spent"]["matrix"].get<double>() == Approx(8 * 1024).epsilon(0.01));
  CHECK(t["without"].size() == 11);
  CHECK(t["chip"]["workgroups"] == 4);
  CHECK(t["loops"][0]["trips"] == 7);
}

TEST_CASE("time answers the same every time") {
  CHECK(inlay_command(gemm(256, 256, {"--quick"})).out == inlay_command(gemm(256, 256, {"--quick"})).out);
}

TEST_CASE("a longer reduction takes longer, by the clocks of its trips") {
  const auto a = timing(gemm(128, 1024, {"--json", "--quick"})),
             b = timing(gemm(128, 2048, {"--json", "--quick"}));
  const double more = b["clocks"].get<double>() - a["clocks"].get<double>();
  CHECK(more == Approx(16 * a["clocks_per_trip"].get<double>()).epsilon(0.03));
}

TEST_CASE("more workgroups than the chip holds take rounds") {
  const auto one = timing(gemm(2048, 128, {"--json", "--quick"})),
             two = timing(gemm(2304, 128, {"--json", "--quick"}));
  CHECK(one["chip"]["rounds"] == 1); // 256 workgroups on 304 compute units
  CHECK(two["chip"]["rounds"] == 2); // 324
  CHECK(two["chip"]["last_round"] == 20);
  CHECK(two["chip"]["clocks"].get<double>() > 1.5 * one["chip"]["clocks"].get<double>());
}

TEST_CASE("a number of the model can be replaced, and a file of all of them") {
  const auto slow = timing(gemm(128, 512, {"--json", "--quick", "--set", "issue:v_mfma=64"}));
  const auto usual = timing(gemm(128, 512, {"--json", "--quick"}));
  CHECK(slow["clocks"].get<double>() > 2 * usual["clocks"].get<double>());
  const Ran list = inlay_command({"time", "--list-parameters", "--arch", "gfx942", "--json"});
  REQUIRE(list.exit == 0);
  const std::string name = file("parameters_of_time_test.json", list.out);
  CHECK(timing(gemm(128, 512, {"--json", "--quick", "--parameters", name}))["clocks"] == usual["clocks"]);
  std::remove(name.c_str());
}

TEST_CASE("timelines are one file each, with the instructions") {
  REQUIRE(
      inlay_command(gemm(128, 512, {"--quick", "--svg", "time_test.svg", "--html", "time_test.html"})).exit ==
      0);
  const auto text = [](const char* name) {
    std::stringstream s;
    s << std::ifstream(name).rdbuf();
    std::remove(name);
    return s.str();
  };
  const std::string svg = text("time_test.svg"), html = text("time_test.html");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.find("v_mfma_f32_16x16x16_f16") != std::string::npos);
  CHECK(svg.find("SIMD 3 wg 0 wave 3") != std::string::npos);
  CHECK(html.find("v_mfma_f32_16x16x16_f16") != std::string::npos);
  CHECK(html.find("http") == std::string::npos); // nothing from elsewhere
}

TEST_CASE("run --time adds the model to the check of a kernel") {
  const Ran r = inlay_command({"run", "gemm", "--m", "128", "--n", "128", "--k", "256", "--time", "--json"});
  REQUIRE(r.exit == 0);
  const auto j = nlohmann::json::parse(r.out);
  CHECK(j["ok"] == true);
  CHECK(j["timing"]["clocks"].get<double>() > 0);
  CHECK(j["timing"]["spent"].contains("matrix"));
}

TEST_CASE("compare --time gates on clocks") {
  std::vector<std::string> a = {"compare", triton,   triton,         "--arch", "gfx942",
                                "--lds",   "65536",  "--anchor-lds", "65536",  "--time",
                                "--quick", "--gate", "--brief",      "--grid", "1"};
  for (const char* v : {"zeros:262144", "zeros:262144", "zeros:262144", "i32:128", "i32:128", "i32:512",
                        "i32:512", "i32:512", "i32:128", "ptr:0", "ptr:0"}) {
    a.emplace_back("--arg");
    a.emplace_back(v);
  }
  const Ran same = inlay_command(a);
  INFO(same.out << same.err);
  CHECK(same.exit == 0);
  CHECK(same.out.find("1.000 of the anchor's clocks") != std::string::npos);
  // No criterion is left to guess, and the loops stand side by side with their clocks.
  CHECK(same.out.find("15 time, modelled") != std::string::npos);
  std::vector<std::string> json = a;
  json.emplace_back("--json");
  const auto told = nlohmann::json::parse(inlay_command(json).out);
  CHECK(told["criteria"].size() == 15);
  for (const auto& k : told["criteria"]) CHECK(k["verdict"] != "undecided");
  json.erase(std::find(json.begin(), json.end(), "--brief"));
  const auto schedule = nlohmann::json::parse(inlay_command(json).out)["schedule"];
  double trip = 0;
  for (const auto& pair : schedule) {
    CHECK(pair["candidate"]["text"] == pair["anchor"]["text"]); // against itself
    trip += pair["candidate"]["clocks"].get<double>();
  }
  CHECK(trip == Approx(told["timing"]["candidate"]["clocks_per_trip"].get<double>()).epsilon(0.05));
  // The anchor with half the work: the candidate takes too many clocks.
  for (const char* v : {"zeros:262144", "zeros:262144", "zeros:262144", "i32:128", "i32:128", "i32:256",
                        "i32:512", "i32:512", "i32:128", "ptr:0", "ptr:0"}) {
    a.emplace_back("--anchor-arg");
    a.emplace_back(v);
  }
  const Ran slower = inlay_command(a);
  CHECK(slower.exit == 1);
  CHECK(slower.out.find("gate: FAILED") != std::string::npos);
  CHECK(slower.out.find("more clocks for the launch") != std::string::npos);
}

TEST_CASE("compare --time of launch manifests takes sizes; a dry run of one holds no output") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "inlay-compare-sizes-test";
  REQUIRE(inlay_command({"build", "softmax", "--no-validate", "-o", folder.string()}).exit == 0);
  const std::string manifest = (folder / "softmax.json").string();
  const auto compare = [&](const std::vector<std::string>& more) {
    std::vector<std::string> a = {"compare", manifest, manifest, "--time", "--quick",
                                  "--json",  "--size", "m=64",   "n=1024"};
    a.insert(a.end(), more.begin(), more.end());
    return inlay_command(a);
  };
  const Ran same = compare({});
  INFO(same.err);
  REQUIRE(same.exit == 0);
  CHECK(nlohmann::json::parse(same.out)["timing"]["ratio"] == 1);
  const auto more = nlohmann::json::parse(compare({"--anchor-size", "m=64", "n=8192"}).out)["timing"];
  CHECK(more["ratio"].get<double>() < 0.9);
  CHECK(compare({"--anchor-size", "rows=64"}).exit == 2);
  // Of 16 GiB, which no machine that runs this need have.
  const Ran dry = inlay_command({"exec", manifest, "--dry-run", "--size", "m=1048576", "n=8192"});
  INFO(dry.err);
  CHECK(dry.exit == 0);
  CHECK(dry.out.find("(17179869184 bytes)") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("each launch of the model starts from the same memory") {
  // Waits for a zero and leaves a one: what split K kernels do with their counters.
  const std::string name = file("counter_of_time_test.s", assembly(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s3, s2, 2
  s_add_u32 s4, s4, s3
  s_addc_u32 s5, s5, 0
busy:
  s_load_dword s6, s[4:5], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 busy
  global_store_dword v0, v1, s[4:5])"));
  // Two launches: for the sample, and for what its neighbour shares with it.
  const std::vector<std::string> a = {"time", name,    "--arch",     "gfx942", "--grid",
                                      "2",    "--arg", "zeros:4096", "--json"};
  CHECK(timing(a)["clocks"].get<double>() > 0);
  std::remove(name.c_str());
}

TEST_CASE("a workgroup that waits for the first is modelled with what the first has left behind") {
  // As in split K whose parts differ: the longest workgroup stands for the launch, and begins when the first has cleared the result.
  const auto waiting_for = [](unsigned first) {
    return assembly("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mov_b32 v0, s2\nv_lshlrev_b32 v0, 2, "
                    "v0\nv_mov_b32 v1, 1\ns_waitcnt lgkmcnt(0)\n"
                    "s_cmp_le_u32 s2, " +
                    std::to_string(first) +
                    "\ns_cbranch_scc1 first\nbusy:\n"
                    "s_load_dword s6, s[4:5], " +
                    std::to_string(4 * first) + R"( glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 busy
  s_movk_i32 s3, 100
work:
  v_add_u32 v1, v1, v0
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 work
  s_endpgm
first:
  global_store_dword v0, v1, s[4:5])");
  };
  const std::string name = file("waiting_of_time_test.s", waiting_for(0));
  const auto t = timing({"time", name, "--arch", "gfx942", "--grid", "5", "--arg", "zeros:4096", "--json",
                         "--max-instructions", "100000"});
  CHECK(t["loops"][0]["trips"] == 100); // and not the first, which has no loop
  CHECK(t["instructions"] == 413);
  // On two compute units the workgroups of the unit that is modelled wait for one of the other.
  file(name, waiting_for(1));
  const auto u = timing({"time", name, "--arch", "gfx942", "--grid", "8", "--arg", "zeros:4096", "--json",
                         "--max-instructions", "100000", "--set", "compute_units=2", "--set", "xcds=1"});
  CHECK(u["instructions"] == 9 + 3 * 413); // workgroups 0, 2, 4, 6
  std::remove(name.c_str());
}

TEST_CASE("independent workgroups on units of their own take as long as one") {
  // 512 registers: one wave a SIMD, four workgroups of one wave a unit.
  const std::string name = file("independent_of_time_test.s", assembly(R"(
  s_movk_i32 s3, 100
loop:
  v_add_u32 v1, v1, v0
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 loop)",
                                                                       512));
  // From the first wave of the last unit to begin: units begin one after the other.
  const auto clocks = [&](const std::string& grid) {
    const auto chip = timing(
        {"time", name, "--arch", "gfx942", "--grid", grid, "--arg", "zeros:64", "--json", "--quick"})["chip"];
    CHECK(chip["exact"] == true);
    return chip["clocks"].get<double>() - chip["dispatch"].get<double>();
  };
  const double one = clocks("1");
  CHECK(clocks("304") == one); // a unit each
  CHECK(clocks("1216") > one); // four a unit, which are launched one after the other
  CHECK(clocks("1216") < 1.2 * one);
  CHECK(clocks("2432") == Approx(2 * clocks("1216")).epsilon(0.1)); // two rounds
  std::remove(name.c_str());
}

TEST_CASE("the unit that is modelled is chosen by --workgroups, how much of it by --sample") {
  // Two units with a workgroup at a time; each has 40 trips more than the one before it, so one unit gets 0, 2, 4, 6, the other 1, 3, 5, 7.
  const std::string name = file("chosen_of_time_test.s", assembly(R"(
  s_mul_i32 s3, s2, 40
  s_add_u32 s3, s3, 40
loop:
  v_add_u32 v1, v1, v0
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 loop)",
                                                                  512, 0, 256));
  const auto of = [&](const std::string& grid, const std::vector<std::string>& more) {
    std::vector<std::string> a = {"time",      name,     "--arch", "gfx942",
                                  "--grid",    grid,     "--arg",  "zeros:64",
                                  "--data-in", "l2",     "--set",  "compute_units=2",
                                  "--set",     "xcds=1", "--set",  "workgroup_launch_clk=0",
                                  "--quick",   "--json"};
    a.insert(a.end(), more.begin(), more.end());
    return timing(a);
  };
  const auto clocks = [](const nlohmann::json& t) { return t["chip"]["clocks"].get<double>(); };
  const auto alone = [&](const std::string& which) { return clocks(of("8", {"--workgroups", which})); };
  // Wave instructions by hand: 2, 4 a trip and the end, of 4 waves.
  const auto instructions = [](std::initializer_list<unsigned> ids) {
    unsigned n = 0;
    for (const unsigned i : ids) n += 4 * (3 + 4 * (40 + 40 * i));
    return n;
  };
  CHECK(of("8", {"--workgroups", "1,3,5,7"})["instructions"] == instructions({1, 3, 5, 7}));
  CHECK(of("8", {"--workgroups", "0-2"})["instructions"] == instructions({0, 1, 2}));
  // One after the other, they take as long as each by itself, in any order.
  const double odd = alone("1") + alone("3") + alone("5") + alone("7");
  CHECK(alone("1,3,5,7") == Approx(odd).epsilon(0.03));
  CHECK(alone("7,5,3,1") == Approx(odd).epsilon(0.03));
  CHECK(alone("0,2,4,6") < 0.9 * odd);
  // Left alone, `time` takes the unit with most to do.
  const auto whole = of("8", {});
  CHECK(whole["instructions"] == instructions({1, 3, 5, 7}));
  CHECK(clocks(whole) == alone("1,3,5,7"));
  CHECK(whole["chip"]["exact"] == true);
  // Of a longer queue a part, with the error stated.
  const auto all = of("60", {"--sample", "1000"}), part = of("60", {"--sample", "4"});
  CHECK(all["chip"]["exact"] == true);
  CHECK(part["chip"]["exact"] == false);
  CHECK(part["instructions"].get<double>() < 0.5 * all["instructions"].get<double>());
  CHECK(std::abs(clocks(part) - clocks(all)) <= part["chip"]["uncertainty"].get<double>());
  CHECK(clocks(part) == Approx(clocks(all)).epsilon(0.05));
  std::remove(name.c_str());
}

TEST_CASE("what takes power: bytes of HBM, a shared line once, and products rather than busy pipes") {
  // Each of 256 workgroups reads the same 4 KiB and writes 4 KiB of its own.
  const std::string copy = file("power_of_time_test.s", assembly(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 4, v0
  s_lshl_b32 s6, s2, 12
  s_waitcnt lgkmcnt(0)
  global_load_dwordx4 v[4:7], v1, s[4:5]
  global_load_dwordx4 v[4:7], v1, s[4:5] offset:1024
  global_load_dwordx4 v[4:7], v1, s[4:5] offset:2048
  global_load_dwordx4 v[4:7], v1, s[4:5] offset:3072
  s_waitcnt vmcnt(0)
  v_add_u32 v1, s6, v1
  v_add_u32 v1, 0x10000, v1
  global_store_dwordx4 v1, v[4:7], s[4:5]
  global_store_dwordx4 v1, v[4:7], s[4:5] offset:1024
  global_store_dwordx4 v1, v[4:7], s[4:5] offset:2048
  global_store_dwordx4 v1, v[4:7], s[4:5] offset:3072)"));
  const auto chip = [&](const std::string& name, const std::string& grid, const std::string& where) {
    return timing({"time", name, "--arch", "gfx950", "--grid", grid, "--arg", "zeros:2097152", "--json",
                   "--quick", "--data-in", where})["chip"];
  };
  const auto bytes = [&](const std::string& where) {
    const auto c = chip(copy, "256", where);
    return c["load"]["activity"]["memory"].get<double>() * 8e12 * c["clocks"].get<double>() / 2400e6;
  };
  CHECK(bytes("hbm") == Approx(257 * 4096).epsilon(0.001));
  CHECK(bytes("mall") == 0);
  std::remove(copy.c_str());

  // Both keep the pipe for 16 clocks; the one of 8 bits makes half of the products that gfx950 can.
  const auto matrix = [&](const std::string& instruction) {
    std::string body;
    for (int i = 0; i < 200; ++i) body += "  " + instruction + "\n";
    const std::string name = file("products_of_time_test.s", assembly(body));
    const auto c = chip(name, "1", "hbm");
    std::remove(name.c_str());
    CHECK(c["load"]["activity"]["matrix"].get<double>() < 1.0 / 1000); // of 1024 SIMDs one works
    return c["load"]["activity"]["matrix"].get<double>() * c["clocks"].get<double>() * 1024 / 200;
  };
  CHECK(matrix("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[4:7], v[0:3]") == Approx(16));
  CHECK(matrix("v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[0:3]") == Approx(8));
}

TEST_CASE("what cannot be modelled is one message") {
  const auto bad = [](std::vector<std::string> a, const std::string& expected) {
    const Ran r = inlay_command(a);
    INFO(r.out << r.err);
    CHECK(r.exit == 2);
    CHECK(r.out.empty());
    CHECK(r.err.find(expected) != std::string::npos);
  };
  bad({"time"}, "no FILE");
  bad({"time", "nosuch.hsaco"}, "nosuch.hsaco");
  bad(gemm(128, 128, {"--set", "lds_fifo=3"}), "lds_fifo_entries");
  bad(gemm(128, 128, {"--set", "lds_fifo_entries"}), "NAME=NUMBER");
  bad(gemm(128, 128, {"--set", "lds_fifo_entries=0"}), "no possible value");
  bad(gemm(128, 128, {"--parameters", "nosuch.json"}), "nosuch.json");
  bad(gemm(128, 128, {"--svg", "/nosuch/x.svg"}), "/nosuch/x.svg");
  bad(gemm(128, 128, {"--svg", "x.svg", "--timeline", "9:3"}), "START:END");
  bad(gemm(128, 128, {"--arg", "i32:1"}), "12 were given");
  bad(gemm(128, 128, {"--max-instructions", "100"}), "more than 100");
  bad({"time", triton, "--arch", "gfx942", "--block", "2048", "--lds", "65536"}, "2048");
  bad({"run", "gemm", "--time", "--device", "hip"}, "--device is hip");
  // A kernel that no compute unit runs: an instruction that is none, more waves than their registers leave room for, too much LDS.
  const std::string name = "bad_of_time_test.s";
  const auto broken = [&](const std::string& text, const std::string& block, const std::string& expected) {
    file(name, text);
    bad({"time", name, "--arch", "gfx942", "--block", block, "--arg", "zeros:64"}, expected);
  };
  broken(assembly(".long 0xd3ffffff"), "64", "no instruction of gfx942");
  broken(assembly("v_frobnicate v0, v1"), "64", "v_frobnicate");
  broken(assembly("s_nop 0", 512, 0, 1024), "1024", "16 waves of 512 registers do not fit");
  bad({"exec", name, "--arch", "gfx942", "--block", "1024", "--arg", "ptr:0"},
      "16 waves of 512 registers do not fit");
  broken(assembly("s_nop 0", 8, 70000), "64", "70000 bytes of LDS");
  std::remove(name.c_str());
}

TEST_CASE("calibrate gives back what the model runs with, and writes it") {
  const Ran same = inlay_command({"calibrate", "--arch", "gfx950"});
  CHECK(same.exit == 0);
  CHECK(same.out.find("\n  0 of ") != std::string::npos);
  const std::string name = "calibrate_of_time_test.json";
  const Ran other = inlay_command({"calibrate", "--set", "lds_latency_clk=64", "--json", "-o", name});
  INFO(other.err);
  REQUIRE(other.exit == 0);
  CHECK(nlohmann::json::parse(other.out)["parameters"]["parameters"]["lds_latency_clk"]["value"] == 64);
  CHECK(timing(gemm(128, 512, {"--json", "--quick", "--parameters", name}))["clocks"] ==
        timing(gemm(128, 512, {"--json", "--quick", "--set", "lds_latency_clk=64"}))["clocks"]);
  std::remove(name.c_str());
}

TEST_CASE("calibrate without a GPU says so") {
  const Ran r = inlay_command({"calibrate", "--device", "hip"});
  if (r.exit == 0) return; // there is one
  CHECK(r.exit == 2);
  CHECK(r.err.find("HIP") != std::string::npos);
  CHECK(inlay_command({"calibrate", "--device", "hip", "--set", "barrier_clk=3"}).exit == 2);
}

TEST_CASE("time takes several arguments after one --arg, as exec does, and the file among them") {
  const auto each = timing(gemm(256, 64, {"--json", "--quick"}));
  std::vector<std::string> together;
  bool listed = false;
  for (const std::string& word : gemm(256, 64, {"--json", "--quick"})) {
    if (word == "--arg" && listed) continue;
    listed = listed || word == "--arg";
    together.push_back(word);
  }
  CHECK(timing(together)["clocks"] == each["clocks"]);
  CHECK(timing(together)["spent"] == each["spent"]);
  together.erase(together.begin() + 1); // the file: after the last argument, where it might be one
  together.insert(together.end() - 2, triton);
  CHECK(timing(together)["clocks"] == each["clocks"]);
}

} // namespace time_test
