// `inlay tune`: the order is that of the modelled clocks, which `run --time` says as well; what cannot be built is named.
#include "inlay_command.h"

#include <inlay/kernels/choose.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace tune_test {

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
    // Both of the time with its launch: 304 compute units of 2048 operations a clock.
    const auto load = c["load"];
    CHECK(load["peak_percent"].get<double>() ==
          Approx(100 * load["tflops"].get<double>() / (304 * 2048e-6 * load["clock_mhz"].get<double>())));
  }
}

TEST_CASE("tune: what a kernel proposes, and the table for people") {
  const Ran r = inlay_command(
      {"tune", "gemm", "--m", "64", "--n", "64", "--k", "64", "--transfer", "no", "--top", "3"});
  INFO(r.err);
  REQUIRE(r.exit == 0);
  CHECK_THAT(r.out, Contains("us  TFLOP/s  of peak   VGPR + AGPR") && Contains("--tile ") &&
                        !Contains("--transfer") && Contains("the first one's result is right"));
  CHECK(std::count(r.out.begin(), r.out.end(), '\n') == 10);
}

TEST_CASE(
    "tune: auto's own form is one of those compared, and what is found is what auto takes from then on") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("inlay_tune." + std::to_string(::getpid()));
  ::setenv("INLAY_CACHE_DIR", folder.c_str(), 1);
  inlay::kernels::forget();
  // The first one by bounds takes more clocks than the one that auto takes.
  const std::vector<std::string> problem = {"gemm", "--arch", "gfx950", "--dtype", "fp8", "--m",
                                            "100",  "--n",    "512",    "--k",     "512"};
  const auto chosen = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "build");
    words.insert(words.end(), {"--no-validate", "--json", "-o", (folder / "out").string()});
    const Ran r = inlay_command(words);
    INFO(r.err);
    REQUIRE(r.exit == 0);
    return nlohmann::json::parse(r.out)["choice"];
  };
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), problem.begin(), problem.end());
    return more;
  };
  const auto before = chosen(problem);
  const auto one = tuned(with({"--most", "1"}));
  REQUIRE(one["candidates"].size() == 2);
  CHECK(one["candidates"][1]["bound"] < one["candidates"][0]["bound"]);
  CHECK(one["candidates"][0]["options"] == before["options"]);
  CHECK(one["candidates"][0]["clocks"] == before["clocks"]);
  const auto after = chosen(problem);
  CHECK(after["options"] == before["options"]);
  CHECK(after["why"].get<std::string>().ends_with(", tuned"));
  // What is found among more is kept, and a look at fewer does not lose it. Values to vary are not auto's.
  const std::vector<std::string> row = {"gemm", "--m", "1", "--n", "1280", "--k", "8192"};
  const auto of_row = [&](std::vector<std::string> more) {
    more.insert(more.begin(), row.begin(), row.end());
    return tuned(more);
  };
  const double own = chosen(row)["clocks"];
  const double best = of_row({"--most", "12"})["candidates"][0]["clocks"];
  CHECK(best < own);
  CHECK(chosen(row)["clocks"] == best);
  CHECK(of_row({"--most", "1"})["candidates"][0]["clocks"] == best);
  (void)of_row({"--vary", "waves=1x4|1x2"});
  CHECK(chosen(row)["clocks"] == best);
  ::unsetenv("INLAY_CACHE_DIR");
  inlay::kernels::forget();
  std::filesystem::remove_all(folder);
}

TEST_CASE("tune: what all shown forms share is said once") {
  const Ran r = inlay_command({"tune", "gemm", "--m", "64", "--n", "64", "--k", "64", "--vary",
                               "tile=32x32x64|16x64x64", "--vary", "waves=1x2|1x4", "--vary", "stages=0|0"});
  INFO(r.out << r.err);
  REQUIRE(r.exit == 0);
  CHECK_THAT(r.out, Contains("\n  all of them --stages 0\n"));
  const auto count = [&](const std::string& text) {
    std::size_t n = 0;
    for (std::size_t at = r.out.find(text); at != std::string::npos; at = r.out.find(text, at + 1)) ++n;
    return n;
  };
  CHECK(count("--stages") == 2); // and of what is refused
  CHECK(count("--tile 32x32x64 --waves 1x2\n") == 2);
  CHECK(count("--tile 16x64x64 --waves 1x4\n") == 2);
  const Ran why = inlay_command({"build", "softmax", "--m", "16", "--n", "512", "--why", "--no-validate",
                                 "-o", std::filesystem::temp_directory_path() / "inlay_tune.why"});
  INFO(why.out << why.err);
  REQUIRE(why.exit == 0);
  const std::size_t shared = why.out.find("all of them --");
  REQUIRE(shared != std::string::npos);
  CHECK(why.out.find("--stream", 0) > shared); // in no row
  std::filesystem::remove_all(std::filesystem::temp_directory_path() / "inlay_tune.why");
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
        {{"gemm", "--vary", "tile="}, "NAME=VALUE|VALUE"},
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

} // namespace tune_test
