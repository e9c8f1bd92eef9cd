// inlay draw: what it prints and writes, in-process; the renderers have tests of their own.
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>
#ifdef INLAY_CLI_SOLVER
#include <inlay/solver/lds.h>
#endif

namespace draw_test {

using namespace inlay::cli;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}
std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("a layout is a table") {
  const Ran ran = inlay_command({"draw", "((2,2),3):((24,2),8)"});
  CHECK(ran.exit == Exit::yes);
  CHECK(ran.out == "((2,2),3):((24,2),8)   size 12, cosize 43\n"
                   "        0  1  2\n"
                   "     +---------\n"
                   "   0 |  0  8 16\n"
                   "   1 | 24 32 40\n"
                   "   2 |  2 10 18\n"
                   "   3 | 26 34 42\n");
}

TEST_CASE("an operation is drawn with its inputs") {
  const Ran ran = inlay_command({"draw", "composition((6,2):(8,2), 3:2)", "--json"});
  CHECK(ran.exit == Exit::yes);
  const auto json = nlohmann::json::parse(ran.out);
  REQUIRE(json["pictures"].size() == 3);
  CHECK(json["pictures"][0]["title"] == "(6,2):(8,2)");
  CHECK(json["pictures"][1]["title"] == "3:2");
  CHECK(json["pictures"][2]["title"] == "composition = 3:16");
  // Nested calls are inputs that are evaluated; what is no function is not drawn.
  const auto nested = nlohmann::json::parse(
      inlay_command({"draw", "logical_divide(coalesce((2,4):(1,2)), 4)", "--json"}).out);
  REQUIRE(nested["pictures"].size() == 2);
  CHECK(nested["pictures"][0]["title"] == "8:1");
}

TEST_CASE("a refused operation is drawn beside the error") {
  const Ran ran = inlay_command({"draw", "composition((6,2):(8,2), 5:3)"});
  CHECK(ran.exit == Exit::bad_input);
  CHECK(ran.out.find("(6,2):(8,2)   size 12") == 0);
  CHECK(ran.err.find("5 is cut at 6/3 = 2") != std::string::npos);
}

TEST_CASE("files are written in every format") {
  const std::string base =
      (std::filesystem::temp_directory_path() / ("inlay_draw_" + std::to_string(getpid()))).string();
  const Ran ran = inlay_command(
      {"draw", "(4,8):(8,1)", "--svg", base + ".svg", "--latex", base + ".tex", "--html", base + ".html"});
  CHECK(ran.exit == Exit::yes);
  CHECK(ran.out.empty());
  CHECK(count(read_file(base + ".svg"), "<rect x=") == 32);
  CHECK(count(read_file(base + ".tex"), "minimum width=") == 32);
  CHECK(count(read_file(base + ".html"), "<td ") == 32);
  for (const char* end : {".svg", ".tex", ".html"}) std::remove((base + end).c_str());
  CHECK(inlay_command({"draw", "4:1", "--svg", "-"}).out.find("<svg ") == 0);
  CHECK(inlay_command({"draw", "4:1", "--svg", "/nonexistent/a.svg"}).exit == Exit::bad_input);
}

TEST_CASE("thread-value layouts and matrix instructions") {
  const Ran tv = inlay_command({"draw", "((2,2),2):((1,4),2)", "--tv", "--tile", "(4,2)"});
  CHECK(tv.exit == Exit::yes);
  CHECK(tv.out.find("   3 | T1V1 T3V1\n") != std::string::npos);
  // Without a tile: as many in a row as can be read, or the extents of coordinates.
  const Ran rows = inlay_command({"draw", "(64,2):(1,64)", "--tv"});
  CHECK(rows.exit == Exit::yes);
  CHECK(rows.out.find("32 in a row; --tile (32,4) gives a tile its shape") != std::string::npos);
  CHECK(rows.out.find("   1 | T32V0 T33V0") != std::string::npos);
  CHECK(rows.out.find("   3 | T32V1 T33V1") != std::string::npos);
  const Ran coordinates = inlay_command({"draw", "((2,2),2):((1@0,1@1),2@0)", "--tv"});
  CHECK(coordinates.out.find("   3 | T1V1 T3V1\n") != std::string::npos);
  const Ran mfma = inlay_command({"draw", "--mfma", "32x32x8"});
  CHECK(mfma.exit == Exit::yes);
  CHECK(mfma.out.find("mfma 32x32x8 C and D") != std::string::npos);
  CHECK(inlay_command({"draw", "--mfma", "32x32"}).exit == Exit::bad_input);
  CHECK(inlay_command({"draw", "--mfma", "32x32xk"}).exit == Exit::bad_input);
  // fp8 lies in two halves of K where fp4 does not: a shape alone does not say which.
  const Ran several = inlay_command({"draw", "--mfma", "16x16x128"});
  CHECK(several.exit == Exit::bad_input);
  CHECK(several.err.find("v_mfma_f32_16x16x128_f8f6f4 cbsz:4 blgp:4") == std::string::npos);
  CHECK(several.err.find("((16,4),(16,2)):((1@0,16@1),(1@1,64@1))") != std::string::npos);
  CHECK(inlay_command({"draw", "--mfma", "v_mfma_f32_16x16x128_f8f6f4"}).exit == Exit::yes);
}

TEST_CASE("colour is for terminals and for who asks") {
  CHECK(inlay_command({"draw", "4:1"}).out.find('\x1b') == std::string::npos);
  CHECK(inlay_command({"draw", "4:1", "--colour", "always"}).out.find('\x1b') != std::string::npos);
  CHECK(inlay_command({"draw", "4:1", "--colour", "never"}).out.find('\x1b') == std::string::npos);
}

#ifdef INLAY_CLI_SOLVER
TEST_CASE("the pictures of the guide are what the command draws") {
  const std::string pictures = INLAY_TESTS_DIR "/../docs/pictures/";
  CHECK(inlay_command({"draw", "zipped_divide((8,6):(1,8), <4,3>)", "--svg", "-"}).out ==
        read_file(pictures + "zipped_divide.svg"));
  CHECK(inlay_command({"draw", "--mfma", "16x16x16", "--svg", "-"}).out == read_file(pictures + "mfma.svg"));
  CHECK(
      inlay_command({"draw", "Sw<3,4,3> o 0 o ((32,2)):((128,16))", "--banks", "ds_read_b128", "--svg", "-"})
          .out == read_file(pictures + "banks.svg"));
}
#endif

TEST_CASE("bad requests are one message and exit 2", "[error]") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"draw"},
                                             {"draw", "5"},
                                             {"draw", "(4,8"},
                                             {"draw", "(4096,4096):(1,4096)"},
                                             {"draw", "compositon(4:1, 4:1)"},
                                             {"draw", "size(4:1)"},
                                             {"draw", "zipped_divide()"},
                                             {"draw", "4:1", "--tv"},
                                             {"draw", "(4,2):(2,1)", "--tv", "--tile", "(2,2)"},
                                             {"draw", "4:1", "--colour", "blue"}}) {
    const Ran ran = inlay_command(arguments);
    INFO(arguments.back());
    CHECK(ran.exit == Exit::bad_input);
    CHECK(ran.err.find("error: ") == 0);
  }
}

#ifdef INLAY_CLI_SOLVER
TEST_CASE("bank occupancy agrees with the model that proofs use") {
  // Rows of 128 bytes, plain and swizzled, on every access of the table.
  for (const inlay::solver::LdsAccess& access : inlay::solver::lds_accesses()) {
    const std::string instruction =
        "ds_" + std::string(access.direction) + "_b" + std::to_string(8 * access.bytes);
    for (const bool swizzled : {false, true}) {
      const auto address = [&](unsigned lane) {
        const std::int64_t x = lane % 16 * 128 + lane / 16 * 32;
        return swizzled ? x ^ ((x >> 3) & 0x70) : x;
      };
      const Ran ran =
          inlay_command({"draw", std::string(swizzled ? "Sw<3,4,3> o 0 o " : "") + "((16,4)):((128,32))",
                         "--banks", instruction, "--arch", std::string(access.arch), "--json"});
      REQUIRE(ran.exit == Exit::yes);
      const auto pictures = nlohmann::json::parse(ran.out)["pictures"];
      CHECK(pictures.size() == (swizzled ? 2 : 1));
      const std::string caption = pictures.back()["caption"];
      const auto clocks = inlay::solver::lds_conflicts(access, address).clocks;
      INFO(instruction << " on " << access.arch << ": " << caption);
      CHECK(caption.find(": " + std::to_string(clocks) + " clocks") != std::string::npos);
    }
  }
}

TEST_CASE("banks need 64 lanes", "[error]") {
  CHECK(inlay_command({"draw", "32:16", "--banks", "ds_read_b128"}).exit == Exit::bad_input);
  CHECK(inlay_command({"draw", "64:16", "--banks", "ds_read_b7"}).exit == Exit::bad_input);
  CHECK(inlay_command({"draw", "64:-16", "--banks", "ds_read_b128"}).exit == Exit::bad_input);
  CHECK(inlay_command({"draw", "(64,2):(16,1024)", "--banks", "ds_read_b128"}).exit == Exit::yes);
}
#endif

} // namespace draw_test
