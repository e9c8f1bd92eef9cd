// `inlay tune`: the order is that of the modelled clocks, which `run --time` says as well; what cannot be built is named.
#include "inlay_command.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

using Catch::Matchers::Contains;

namespace {

nlohmann::json tuned(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tune");
  arguments.push_back("--json");
  const Ran r = inlay_command(arguments);
  INFO(r.err);
  REQUIRE(r.exit == 0);
  return nlohmann::json::parse(r.out);
}

} // namespace

TEST_CASE("tune: candidates by their clocks, each what a launch of it takes by `run --time`") {
  const auto told = tuned({"gemm", "--m", "128", "--n", "128", "--k", "128", "--vary",
                           "tile=64x64x64|128x128x64|96x96x20", "--vary", "transfer=no|yes"});
  const auto& candidates = told["candidates"];
  REQUIRE(candidates.size() == 4);
  CHECK(told["refused"].size() == 2);
  CHECK_THAT(told["refused"][0]["why"].get<std::string>(), Contains("tile_k = 20"));
  CHECK(std::is_sorted(candidates.begin(), candidates.end(),
                       [](const auto& a, const auto& b) { return a["clocks"] < b["clocks"]; }));
  for (const auto& c : candidates) {
    std::vector<std::string> run = {"run", "gemm",   "--m",     "128",    "--n",    "128", "--k",
                                    "128", "--time", "--quick", "--json", "--auto", "no"};
    for (const auto& [name, value] : c["options"].items())
      run.insert(run.end(), {"--" + name, value.get<std::string>()});
    const Ran r = inlay_command(run);
    INFO(r.err);
    REQUIRE(r.exit == 0);
    const auto timing = nlohmann::json::parse(r.out)["timing"];
    CHECK(timing["chip"]["clocks"].get<double>() == Approx(c["clocks"].get<double>()));
    for (const char* name : {"clock_mhz", "microseconds", "tflops", "peak_percent"}) {
      INFO(name);
      CHECK(timing["chip"]["load"][name].get<double>() == Approx(c["load"][name].get<double>()));
    }
  }
}

TEST_CASE("tune: what a kernel proposes, and the table for people") {
  const Ran r = inlay_command(
      {"tune", "gemm", "--m", "64", "--n", "64", "--k", "64", "--transfer", "no", "--top", "3"});
  INFO(r.err);
  REQUIRE(r.exit == 0);
  CHECK_THAT(r.out, Contains("us  TFLOP/s  of peak   VGPR + AGPR") && Contains("--tile ") &&
                        !Contains("--transfer") && Contains("the first one's result is right"));
  CHECK(std::count(r.out.begin(), r.out.end(), '\n') == 8);
}

TEST_CASE("tune: microseconds of a kernel without products, which has no TFLOP/s") {
  const Ran r = inlay_command({"tune", "rmsnorm", "--m", "64", "--n", "512", "--top", "1"});
  INFO(r.out << r.err);
  REQUIRE(r.exit == 0);
  std::istringstream line(r.out.substr(r.out.find("waves a SIMD\n") + 13));
  double clocks = 0, us = 0;
  std::string tflops, peak;
  line >> clocks >> us >> tflops >> peak;
  CHECK((us > clocks / 2100 && tflops == "-" && peak == "-"));
}

TEST_CASE("tune: bad input is one message and exit 2", "[error]") {
  for (const auto& [arguments, message] :
       {std::pair<std::vector<std::string>, const char*>{{"gemm", "--vary", "tile"}, "NAME=VALUE|VALUE"},
        {{"gemm", "--vary", "tile=64x64x64"}, "NAME=VALUE|VALUE"},
        {{"gemm", "--tile", "64x64x64", "--vary", "tile=64x64x64|128x128x64"}, "fixed and varied"},
        {{"gemm", "--vary", "m=1|2", "--vary", "m=3|4"}, "varied twice"},
        {{"gemm", "--vary", "tile=1x1x1|2x2x2"}, "none of 2 can be built"},
        {{"vector_add"}, "nothing to vary"},
        {{"gem"}, "gem"}}) {
    std::vector<std::string> all = {"tune"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ran r = inlay_command(all);
    INFO(r.out << r.err);
    CHECK(r.exit == 2);
    CHECK_THAT(r.err, Contains(message));
    CHECK(r.out.empty());
  }
}
