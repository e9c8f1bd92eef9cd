#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace {

std::string triton(const std::string& name) { return std::string(INLAY_TESTS_DIR) + "/isa/triton/" + name; }

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("inspect: text and JSON are the same values, from a file and from standard input") {
  const std::string file = triton("gemm_f16_128x128x64.gfx942.s");
  const auto text = inlay_command({"inspect", file});
  REQUIRE(text.exit == 0);
  CHECK(says(text.out, "134 VGPR + 64 AGPR + 21 SGPR used"));
  CHECK(says(text.out, "16x16x16_f16:64"));
  CHECK(says(text.out, "issue/MFMA 0.672"));
  const auto json = inlay_command({"inspect", "-", "--json"}, read(file));
  REQUIRE(json.exit == 0);
  const auto j = nlohmann::json::parse(json.out);
  const auto& k = j.at("kernels").at(0);
  CHECK(k.at("kernel") == "matmul");
  CHECK(k.at("resources").at("vgpr") == 134);
  CHECK(k.at("resources").at("scratch_bytes") == 0);
  CHECK(k.at("hot_loop").at("mfma") == nlohmann::json{{"16x16x16_f16", 64}});
  CHECK(k.at("hot_loop").at("issue_clocks") == 688);
  CHECK(k.at("arguments").at("list").size() == 11);
  const auto loop = inlay_command({"inspect", file, "--loop"});
  CHECK(says(loop.out, "v_mfma_f32_16x16x16_f16"));
  CHECK(says(inlay_command({"inspect", file, "--disassemble"}).out, "s_endpgm"));
  // Dynamic LDS lowers the occupancy: 2 waves by registers, one workgroup of 64 KiB.
  CHECK(nlohmann::json::parse(inlay_command({"inspect", file, "--json", "--lds", "65536"})
                                  .out)["kernels"][0]["resources"]["waves_per_simd"] == 1);
}

TEST_CASE("inspect: bad input is one message and exit 2") {
  for (const std::string& bad : {std::string("not a kernel"), std::string(), std::string("\177ELF"),
                                 std::string(200, '\0'), std::string("__CLANG_OFFLOAD_BUNDLE__")}) {
    const auto r = inlay_command({"inspect", "-"}, bad);
    CHECK(r.exit == 2);
    CHECK(says(r.err, "error: "));
    CHECK(r.out.empty());
  }
  CHECK(inlay_command({"inspect", "no-such-file.hsaco"}).exit == 2);
  CHECK(inlay_command({"inspect"}).exit == 2);
  const auto none = inlay_command({"inspect", triton("softmax_f16_8192.gfx942.s"), "--kernel", "gemm"});
  CHECK(none.exit == 2);
  CHECK(says(none.err, "there are: "));
  CHECK(inlay_command({"inspect", triton("softmax_f16_8192.gfx942.s"), "--arch", "gfx950"}).exit == 2);
  const auto syntax =
      inlay_command({"inspect", "-"}, ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n v_no_such_thing v0\n");
  CHECK(syntax.exit == 2);
  CHECK(says(syntax.err, "line 2"));
}

TEST_CASE("compare: a kernel passes the gate against itself, a worse one does not") {
  const std::string i8 = triton("gemm_i8_128x128x128.gfx942.s"), f16 = triton("gemm_f16_128x128x64.gfx942.s");
  CHECK(inlay_command({"compare", i8, i8, "--gate"}).exit == 0);
  const auto worse = inlay_command({"compare", f16, i8, "--gate"}); // half the work per matrix clock
  CHECK(worse.exit == 1);
  CHECK(says(worse.out, " 1 work per MFMA clock"));
  CHECK(says(worse.out, "gate: FAILED"));
  CHECK(inlay_command({"compare", f16, i8}).exit == 0); // without the gate it only tells
  const auto j = nlohmann::json::parse(inlay_command({"compare", f16, i8, "--json"}).out);
  CHECK(j.at("passes") == false);
  CHECK(j.at("criteria").size() == 15);
  CHECK(j.at("criteria").at(0).at("verdict") == "fail");
  CHECK(j.at("reports").size() == 2);
  CHECK(inlay_command({"compare", f16}).exit == 2);
  CHECK(inlay_command({"compare", f16, "no-such-file"}).exit == 2);
}

TEST_CASE("devices: the emulator is always there") {
  const auto text = inlay_command({"devices"});
  CHECK(text.exit == 0);
  CHECK(says(text.out, "emulator  gfx942"));
  CHECK(says(text.out, "emulator  gfx950"));
  const auto j = nlohmann::json::parse(inlay_command({"devices", "--json"}).out);
  CHECK(j.at("devices").size() >= 2);
  CHECK(j.at("devices").at(1).at("lds_bytes") == 163840);
  CHECK((j.at("devices").size() > 2 || !j.at("hip").at("why_not").get<std::string>().empty()));
}
