// inlay fuzz: laws hold, false laws are caught and shrunk, foreign implementations are classified.
#include "foreign.h"
#include "fuzz_against.h"
#include "fuzz_engine.h"
#include "inlay_command.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/laws.h>
#include <inlay/algebra/print.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

namespace fuzz_test {

using namespace inlay;
using namespace inlay::cli;

namespace {

/// The command line itself as the other side, its answers put through a sed script.
std::string ourselves(const std::string& script = "") {
  const std::string eval = std::string(INLAY_BINARY) + " eval --jsonl";
  return script.empty() ? eval : eval + " | sed -u '" + script + "'";
}

nlohmann::json agreement_with(const std::string& op, const std::string& command, int expected_exit) {
  const Ran ran = inlay_command(
      {"fuzz", op, "--against", command, "--cases", "150", "--seed", "3", "--max-size", "24", "--json"});
  INFO(ran.out << ran.err);
  CHECK(ran.exit == expected_exit);
  return nlohmann::json::parse(ran.out)["agreement"];
}

} // namespace

TEST_CASE("every law holds on random inputs") {
  for (const laws::Law& law : laws::all) {
    std::string name = law.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    const Ran ran = inlay_command({"fuzz", name, "--cases", "500", "--seed", "11", "--json"});
    INFO(ran.out);
    CHECK(ran.exit == Exit::yes);
    const auto report = nlohmann::json::parse(ran.out).at(0);
    CHECK(report["verdict"] == "holds");
    CHECK(report["cases"] == 500);
    CHECK(report["refused"] < 500);
  }
}

TEST_CASE("another seed draws other inputs, the same seed the same") {
  const auto drawn = [](std::uint64_t seed) {
    std::set<std::string> seen;
    (void)fuzz(
        {FuzzLimits{}, 1000, seed, 0}, 1, false,
        [&](const FuzzInput& in) {
          seen.insert(to_string(in.a) + to_string(in.b) + to_string(in.n));
          return 0;
        },
        [](double, const FuzzReport&) {});
    return seen;
  };
  const std::set<std::string> one = drawn(1), two = drawn(2);
  std::size_t common = 0;
  for (const std::string& text : one) common += two.count(text);
  CHECK(common < one.size() / 10);
  CHECK(drawn(1) == one);
}

TEST_CASE("random layouts stay within the limits and vary") {
  const FuzzLimits limits{20, 3, 2};
  std::set<std::string> seen;
  std::set<std::size_t> ranks, depths;
  bool negative = false, zero = false;
  const FuzzReport report = fuzz(
      {limits, 3000, 5, 0}, 1, false,
      [&](const FuzzInput& input) {
        for (const Layout& l : {input.a, input.b}) {
          CHECK(l.size() <= 20);
          CHECK(l.rank() <= 3);
          CHECK(l.depth() <= 2);
          ranks.insert(l.rank());
          depths.insert(l.depth());
          for (const Mode& m : l.modes()) {
            negative = negative || m.stride.scale < 0;
            zero = zero || m.stride.scale == 0;
          }
          seen.insert(to_string(l));
        }
        CHECK(input.n >= 1);
        return 0;
      },
      [](double, const FuzzReport&) {});
  CHECK(report.cases == 3000);
  CHECK(seen.size() > 1000);
  CHECK(ranks == std::set<std::size_t>{1, 2, 3});
  CHECK(depths == std::set<std::size_t>{0, 1, 2});
  CHECK(negative);
  CHECK(zero);
}

TEST_CASE("a false law is caught, shrunk to the smallest input, and found again from the seed") {
  // "No layout has more than five elements": every smallest counterexample has six.
  const auto judge = [](const FuzzInput& input) { return input.a.size() > 5 ? 1 : 0; };
  const auto silent = [](double, const FuzzReport&) {};
  const FuzzReport report = fuzz({{}, 10000, 9, 0}, 1, true, judge, silent);
  REQUIRE(report.findings.count(1) == 1);
  const FuzzFinding& found = report.findings.at(1);
  CHECK(found.input.a.size() == 6);
  CHECK(found.input.b.size() == 1);
  CHECK(found.input.n == 1);
  CHECK(report.cases == found.number + 1);
  const FuzzReport again = fuzz({{}, 10000, 9, 0}, 1, true, judge, silent);
  CHECK(again.cases == report.cases);
  CHECK(to_string(again.findings.at(1).input.a) == to_string(found.input.a));
  CHECK(fuzz(
            {{}, 100000, 9, 0.0001}, 1, true, [](const FuzzInput&) { return 0; }, silent)
            .cases < 100000);
}

TEST_CASE("an input is replayed from its text") {
  const Ran ran = inlay_command({"fuzz", "composition", "--replay", "(6,2):(8,2); 3:2; 1"});
  CHECK(ran.exit == Exit::yes);
  CHECK(ran.out == "composition holds\n");
  CHECK(inlay_command({"fuzz", "composition", "--replay", "(6,2):(8,2); 5:3; 1"})
            .out.find("composition refused") == 0);
}

TEST_CASE("fuzzed against ourselves, every answer is the same") {
  for (const std::string& op : foreign_operations()) {
    INFO(op);
    const auto agreement = agreement_with(op, ourselves(), Exit::yes);
    std::uint64_t cases = 0;
    for (const auto& [name, entry] : agreement.items()) {
      CHECK((name == "same" || name == "both refuse"));
      cases += entry["cases"].get<std::uint64_t>();
    }
    CHECK(cases == 150);
  }
}

TEST_CASE("every kind of difference is told apart, shrunk and printed as a command") {
  // Another function: the second value is off by one.
  auto agreement = agreement_with(
      "coalesce", ourselves("s/\"values\":\\[\\(-*[0-9]*\\),\\([0-9]\\)/\"values\":[\\1,9\\2/"), Exit::no);
  REQUIRE(agreement.contains("wrong value"));
  CHECK(agreement["wrong value"]["smallest"]["command"].get<std::string>().find(
            "--replay '{\"op\":\"coalesce\"") != std::string::npos);
  // The same function, written differently.
  agreement = agreement_with("coalesce", ourselves("s/\"result\":\"/\"result\":\"()/"), Exit::yes);
  CHECK(agreement.contains("normal form only"));
  CHECK(!agreement.contains("wrong value"));
  CHECK(!agreement.contains("same"));
  // Refuses what has an answer, and answers what has none.
  agreement = agreement_with("coalesce", ourselves("s/\"result\"/\"error\"/"), Exit::no);
  CHECK(agreement.contains("wrong rejection"));
  CHECK(agreement["wrong rejection"]["cases"] == 150);
  agreement = agreement_with("left_inverse", ourselves("s/\"error\":.*/\"result\":\"1:0\"}/"), Exit::no);
  CHECK(agreement.contains("missed rejection"));
  // Another inverse is an answer too: the identity on one element is a right inverse, if a short one.
  agreement =
      agreement_with("right_inverse",
                     ourselves("s/\"result\":.*/\"result\":\"1:0\",\"size\":1,\"values\":[0]}/"), Exit::yes);
  CHECK(agreement.contains("other valid answer"));
  CHECK(!agreement.contains("wrong value"));
  // Not an answer at all.
  agreement = agreement_with("coalesce", "yes nonsense", Exit::no);
  CHECK(agreement["no answer"]["cases"] == 150);
  // Unknown there is not a fault, and no success either.
  agreement = agreement_with("coalesce", ourselves("s/\"result\":.*/\"error\":{\"code\":\"unsupported\"}}/"),
                             Exit::undecided);
  CHECK(agreement["unsupported there"]["cases"] == 150);
}

TEST_CASE("beyond the size of the left operand a difference is its own kind") {
  const std::string theirs =
      R"j({"result": "12:8", "size": 12, "values": [0,8,16,24,32,40,48,56,64,72,80,88]})j";
  const auto q = parse_question(R"j({"op": "composition", "args": ["(4,1):(8,0)", "12:1"]})j");
  REQUIRE(answer_here(q).value);
  CHECK(compare(q, answer_here(q), true, theirs) == outside);
  const auto inside = parse_question(R"j({"op": "composition", "args": ["(4,3):(8,1)", "12:1"]})j");
  CHECK(compare(inside, answer_here(inside), true, theirs) == wrong_value);
}

TEST_CASE("an answer is judged by all that it states, and by its text when it states no values") {
  const auto q = parse_question(R"j({"op": "coalesce", "args": ["(4,8):(1,4)"]})j");
  const OwnAnswer ours = answer_here(q); // 32:1
  const auto judged = [&](const std::string& answer) { return compare(q, ours, true, answer, 7); };
  CHECK(judged(R"j({"id":7,"result":"32:1"})j") == same);
  CHECK(judged(R"j({"result":"32:1","size":32})j") == same);
  CHECK(judged(R"j({"id":null,"result":"32:1"})j") == same);
  CHECK(judged(R"j({"id":7,"result":"(4,8):(1,4)","size":32})j") == normal_form); // evaluated here
  CHECK(judged(R"j({"id":7,"result":"32:17","size":32})j") == wrong_value);
  CHECK(judged(R"j({"id":7,"result":"32:17"})j") == wrong_value);
  CHECK(judged(R"j({"id":7,"result":"31:1"})j") == wrong_value);
  CHECK(judged(R"j({"id":7,"result":"32:1","size":33})j") == wrong_value);
  CHECK(judged(R"j({"id":7,"result":"Layout[32 by 1]","size":32})j") ==
        no_answer); // the size alone says nothing
  CHECK(judged(R"j({"id":7,"result":"Layout[32 by 1]","samples":[]})j") == no_answer);
  CHECK(judged(R"j({"id":7,"result":"Layout[32 by 1]","samples":[[3,3],[31,31]]})j") == normal_form);
  CHECK(judged(R"j({"id":7,"result":"Layout[32 by 1]","samples":[[3,4]]})j") == wrong_value);
  CHECK(judged(R"j({"id":7,"result":"Layout[32 by 1]","samples":[[99,99]]})j") == wrong_value);
  CHECK(judged(R"j({"id":6,"result":"32:1","size":32})j") == no_answer); // to another question
}

TEST_CASE("a missing command is an error, not an implementation that refuses everything", "[error]") {
  const Ran missing =
      inlay_command({"fuzz", "coalesce", "--against", "no-such-program-here", "--cases", "5"});
  CHECK(missing.exit == Exit::bad_input);
  CHECK(missing.err.find("does not find the command") != std::string::npos);
  const Ran broken = inlay_command({"fuzz", "coalesce", "--against", "exit 3", "--cases", "5"});
  CHECK(broken.exit == Exit::bad_input);
  CHECK(broken.err.find("status 3") != std::string::npos);
}

TEST_CASE("a process that ends has refused, one that hangs has not answered; both are started again") {
  Foreign ends("read line; exit 1");
  for (int i = 0; i < 3; ++i) CHECK(!ends.ask("{}").alive);
  CHECK(ends.ask("{}").line == "it ended");
  Foreign hangs("cat >/dev/null", std::chrono::milliseconds(50));
  CHECK(hangs.ask("{}").line == "it did not answer in time");
  Foreign echo("cat");
  CHECK(echo.ask("one").line == "one");
  CHECK(echo.ask("two").line == "two");
  const auto q = parse_question(R"({"op": "coalesce", "args": ["4:1"]})");
  CHECK(compare(q, answer_here(q), false, "it ended") == wrong_rejection);
  CHECK(compare(q, answer_here(q), false, "it did not answer in time") == no_answer);
}

TEST_CASE("bad requests to fuzz are one message and exit 2", "[error]") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"fuzz"},
                                             {"fuzz", "no-such-law"},
                                             {"fuzz", "no_such_op", "--against", "cat"},
                                             {"fuzz", "coalesce", "--replay", "4:1"},
                                             {"fuzz", "coalesce", "--replay", "4:1; (; 3"},
                                             {"fuzz", "coalesce", "--against", "cat", "--replay", "{"},
                                             {"fuzz", "coalesce", "--cases", "0"},
                                             {"fuzz", "coalesce", "--max-size", "1000000"}}) {
    const Ran ran = inlay_command(arguments);
    INFO(arguments.back());
    CHECK(ran.exit == Exit::bad_input);
    CHECK(ran.err.find("error: ") == 0);
  }
}

} // namespace fuzz_test
