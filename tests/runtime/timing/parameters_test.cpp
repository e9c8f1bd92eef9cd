// The numbers of the model as data: sources, replacement, and files that are not what they should be.
#include <catch2/catch.hpp>
#include <inlay/runtime/timing/parameters.h>

namespace parameters_test {

using namespace inlay::runtime;
using namespace inlay::runtime::timing;

TEST_CASE("every number of the model says where it is from") {
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const Parameters p = Parameters::of(arch);
    for (const auto& [name, v] : p.all()) {
      INFO(name);
      CHECK_FALSE(v.source.empty());
    }
    for (const auto& r : p.issue_rules()) CHECK_FALSE(r.clocks.source.empty());
  }
}

TEST_CASE("the two processors have the same names") {
  const auto a = Parameters::of(isa::Arch::gfx942), b = Parameters::of(isa::Arch::gfx950);
  for (const auto& [name, v] : a.all()) CHECK(b.all().contains(name));
  CHECK(a.all().size() == b.all().size());
}

TEST_CASE("a set survives being written and read") {
  const auto p =
      Parameters::of(isa::Arch::gfx950).with("lds_fifo_entries", 16).with("issue:ds_write_b128", 24);
  const auto q = Parameters::parse(p.to_json(), "text");
  CHECK(q["lds_fifo_entries"] == 16);
  CHECK(q.issue_clocks("ds_write_b128") == 24);
  CHECK(q.issue_clocks("ds_write_b64") == 12);
  CHECK(q.to_json() == p.to_json());
  CHECK(Parameters::of(isa::Arch::gfx950)["lds_fifo_entries"] == 8);
}

TEST_CASE("damaged parameters are one message") {
  const std::string good = Parameters::of(isa::Arch::gfx942).to_json();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string s = good;
    const auto at = s.find(from);
    REQUIRE(at != std::string::npos);
    return s.replace(at, from.size(), to);
  };
  CHECK_THROWS_WITH(Parameters::parse("{", "f"), Catch::Contains("f: is no JSON"));
  CHECK_THROWS_WITH(Parameters::parse("[]", "f"), Catch::Contains("lacks 'arch'"));
  CHECK_THROWS_WITH(Parameters::parse(with("\"barrier_clk\"", "\"barier_clk\""), "f"),
                    Catch::Contains("no parameter 'barier_clk'"));
  CHECK_THROWS_WITH(Parameters::parse(with("\"status\": \"assumed\"", "\"status\": \"guessed\""), "f"),
                    Catch::Contains("'guessed'"));
  CHECK_THROWS_WITH(Parameters::parse(with("gfx942", "gfx908"), "f"), Catch::Contains("gfx908"));
  const auto p = Parameters::of(isa::Arch::gfx942);
  CHECK_THROWS_WITH(p["lds_fifo"], Catch::Contains("lds_fifo_entries"));
  CHECK_THROWS(p.with("lds_fifo_entries", 0));
  CHECK_THROWS(p.with("hbm_latency_clk", -1));
}

} // namespace parameters_test
