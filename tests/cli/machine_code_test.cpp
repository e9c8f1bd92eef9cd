#include "inlay_command.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

namespace machine_code_test {

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

namespace {

/// What stands between the tags of each `<tr ...data-k...>` of a page, cell by cell, with what is escaped put back.
std::vector<std::vector<std::string>> rows_of(const std::string& html) {
  std::vector<std::vector<std::string>> out;
  static const std::regex row("<tr ([^>]*)>(.*)</tr>"), cell("<td>(.*?)</td>"),
      link("  <a href=\"#([^\"]*)\".*</a>"), id("id=\"([^\"]*)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), row), end; at != end; ++at) {
    const std::string attributes = (*at)[1], body = (*at)[2];
    if (!says(attributes, "data-k=")) continue;
    std::smatch found;
    std::regex_search(attributes, found, id);
    std::vector<std::string> one = {found[1], says(attributes, "hot") ? "hot" : ""};
    for (std::sregex_iterator c(body.begin(), body.end(), cell); c != end; ++c) {
      std::string text = (*c)[1], to;
      if (std::regex_search(text, found, link)) to = found[1], text = text.substr(0, text.find("  <a"));
      for (const auto& [from, into] :
           {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})
        for (std::size_t p = 0; (p = text.find(from, p)) != std::string::npos; ++p)
          text.replace(p, std::string(from).size(), into);
      one.push_back(text);
      if (one.size() == 5) one.push_back(to);
    }
    out.push_back(one);
  }
  return out;
}

} // namespace

TEST_CASE("inspect and compare: the page has each instruction, and its branches lead to instructions") {
  const std::string file = triton("gemm_f16_128x128x64.gfx942.s"),
                    other = triton("softmax_f16_8192.gfx942.s"),
                    page =
                        (std::filesystem::temp_directory_path() /
                         ("inlay-page-" + std::to_string(reinterpret_cast<std::uintptr_t>(&file)) + ".html"))
                            .string();
  const auto text = inlay_command({"inspect", file, "--html", page});
  REQUIRE(text.exit == 0);
  CHECK(text.out == inlay_command({"inspect", file}).out);
  std::string html = read(page);
  const auto j =
      nlohmann::json::parse(inlay_command({"inspect", file, "--json", "--disassemble"}).out)["kernels"][0];
  const auto rows = rows_of(html);
  REQUIRE(rows.size() == j["disassembly"].size());
  std::size_t hot = 0, branches = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& of = j["disassembly"][i];
    REQUIRE(rows[i].size() == 6);
    CHECK(std::stoull(rows[i][2], nullptr, 16) == of["address"].get<std::uint64_t>());
    CHECK(rows[i][3] == of["kind"]);
    CHECK(rows[i][4] == of["text"]);
    hot += rows[i][1] == "hot" ? 1 : 0;
    if (rows[i][5].empty()) continue;
    ++branches;
    CHECK(std::count_if(rows.begin(), rows.end(), [&](const auto& r) { return r[0] == rows[i][5]; }) == 1);
  }
  CHECK(hot == j["hot_loop"]["instructions"].get<std::size_t>());
  CHECK(branches == j["counts"]["branch"].get<std::size_t>());
  CHECK(!says(html, "http")); // all of it is in the file
  CHECK(says(html, "prefers-color-scheme:dark"));
  REQUIRE(inlay_command({"compare", file, other, "--html", page}).exit == 0);
  html = read(page);
  const auto count = [](const std::string& f) {
    return nlohmann::json::parse(inlay_command({"inspect", f, "--json"}).out)["kernels"][0]["instructions"]
        .get<std::size_t>();
  };
  CHECK(rows_of(html).size() == count(file) + count(other));
  // A reader that jumps from part to part tells them apart.
  REQUIRE(inlay_command({"compare", file, file, "--html", page}).exit == 0);
  html = read(page);
  CHECK(says(html, ", 1 of 2</h2>"));
  CHECK(says(html, ", 2 of 2</h2>"));
  CHECK(says(html, ", 2 of 2\"><table>"));
  CHECK(inlay_command({"inspect", file, "--html", page + "/p.html"}).exit == 2);
  std::filesystem::remove(page);
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

} // namespace machine_code_test
