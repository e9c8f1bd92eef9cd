// Every golden vector, through the command line in process: equal text, or equal shape and values; or listed with a reason.
#include <catch2/catch.hpp>

#include <command.h>

#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

namespace golden_test {

using Json = nlohmann::json;
using namespace inlay;

namespace {

const std::filesystem::path folder = std::filesystem::path(INLAY_TESTS_DIR) / "golden";

struct Vector {
  std::string key; // file:line
  Json want;
  Json got;
};

std::vector<Vector> evaluated(const std::filesystem::path& file) {
  const bool dynamic = file.filename() == "appendix_dynamic.jsonl"; // there `_` marks compile-time integers
  std::ifstream in(file);
  std::string text;
  std::vector<Vector> vectors;
  for (std::string line; std::getline(in, line);) {
    if (dynamic) line = std::regex_replace(line, std::regex("_(?=-?[0-9])"), "");
    text += line + "\n";
    vectors.push_back(
        {file.filename().string() + ":" + std::to_string(vectors.size() + 1), Json::parse(line), {}});
  }
  std::istringstream input(text);
  std::ostringstream output;
  std::ostringstream errors;
  REQUIRE(cli::run({"eval", "--jsonl"}, input, output, errors) == cli::Exit::yes);
  std::istringstream lines(output.str());
  std::size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) vectors.at(i).got = Json::parse(line);
  REQUIRE(i == vectors.size());
  return vectors;
}

bool same_json(const Json& a, const Json& b) {
  if (a == b) return true;
  return a.is_string() && b.is_boolean() && a.get<std::string>() == (b.get<bool>() ? "true" : "false");
}

// An answer to an unsound vector must be the function that composition is.
bool answers_correctly(const Vector& v) {
  if (v.want["op"] != "composition" || !v.want["args"][1].is_string()) return false;
  const auto a = evaluate_expression(v.want["args"][0].get<std::string>()).as_layout();
  const auto b = evaluate_expression(v.want["args"][1].get<std::string>()).as_layout();
  const auto r = evaluate_expression(v.got["result"].get<std::string>()).as_layout();
  if (r.size() != b.size()) return false;
  for (Int i = 0; i < b.size(); i += 1)
    if (r(i) != a(b(i))) return false;
  return true;
}

// The shape of a layout, which says how its modes nest; offsets and names beside it as they are.
Json shapes(const Json& result) {
  if (result.is_array()) {
    Json parts = Json::array();
    for (const Json& part : result) parts.push_back(shapes(part));
    return parts;
  }
  if (!result.is_string()) return result;
  const std::string text = result.get<std::string>();
  const std::size_t outer = text.rfind(" o "), begin = outer == std::string::npos ? 0 : outer + 3;
  return text.substr(begin, text.find(':', begin) - begin);
}

enum class Agreement { no, values, yes }; // values: the same function, its modes nested otherwise

Agreement agreement(const Vector& v) {
  const Json& want = v.want;
  const Json& got = v.got;
  const bool refused = got.contains("error");
  const auto yes = [](bool agrees) { return agrees ? Agreement::yes : Agreement::no; };
  if (want.contains("unsound")) return yes(refused || answers_correctly(v));
  if (want.value("error", false)) return yes(refused || want.value("error_kind", "") == "structure");
  if (refused) return Agreement::no;
  bool values = want.contains("size");
  for (const char* field : {"size", "values", "samples"})
    if (want.contains(field)) values = values && got.contains(field) && want[field] == got[field];
  if (!want.contains("values") && !want.contains("samples"))
    return yes(same_json(want["result"], got["result"]));
  if (!values) return Agreement::no;
  const bool no_layout = want["result"].is_null(); // the vector has values only
  return no_layout || shapes(want["result"]) == shapes(got["result"]) ? Agreement::yes : Agreement::values;
}

} // namespace

TEST_CASE("golden vectors agree, or are listed deviations") {
  std::ifstream in(folder / "deviations.json");
  const Json listed = Json::parse(in);
  std::map<std::string, Json> deviation; // vector -> group
  for (const Json& group : listed) {
    CHECK(group["reason"].get<std::string>().size() > 20);
    for (const Json& key : group["vectors"]) CHECK(deviation.emplace(key.get<std::string>(), group).second);
  }
  std::size_t agreed = 0;
  std::size_t deviating = 0;
  std::set<std::string> operations;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files)
    for (const Vector& v : evaluated(file)) {
      operations.insert(v.want["op"].get<std::string>());
      const auto known = deviation.find(v.key);
      const Agreement how = agreement(v);
      const bool explained =
          known != deviation.end() &&
          how == (known->second.value("nesting", false) ? Agreement::values : Agreement::no);
      ++(how == Agreement::yes ? agreed : deviating);
      if (how == Agreement::yes && known != deviation.end())
        FAIL_CHECK(v.key << " agrees now; take it off the group " << known->second["group"]);
      if (how != Agreement::yes && !explained)
        FAIL_CHECK(v.key << (how == Agreement::values ? ": same values, other nesting" : ": other values")
                         << "\n  want " << v.want.dump().substr(0, 600) << "\n  got  "
                         << v.got.dump().substr(0, 600));
    }
  CHECK(operations.size() == 121);
  CHECK(agreed + deviating == 6460);
  CHECK(deviating == deviation.size());
  for (const std::string& name : operations) {
    bool found = false;
    for (const NamedOperation& op : named_operations()) found = found || name == op.name;
    CHECK(found);
  }
}

TEST_CASE("bad lines are answered one by one, in order") {
  std::istringstream in(
      "{\"id\": 1, \"op\": \"size\", \"args\": [\"(4,8):(1,4)\"]}\n"
      "not json\n"
      "{\"id\": 3, \"op\": \"sizes\", \"args\": [\"4:1\"]}\n"
      "{\"id\": 4, \"op\": \"size\", \"args\": [\"(4,8\"]}\n"
      "{\"id\": 5, \"op\": \"size\", \"args\": []}\n"
      "{\"id\": 6, \"op\": \"size\", \"args\": [1e400]}\n"
      "{\"id\": 7, \"op\": \"crd2idx\", \"args\": [99999999999999999999, 4]}\n"
      "[1,2]\n" +
      std::string(5000, '[') +
      "\n"
      "{\"id\": 10, \"op\": \"coalesce\", \"args\": [\"(2,2):(1,2)\"], \"samples\": [[3,0]]}\n");
  std::ostringstream out;
  std::ostringstream err;
  REQUIRE(cli::run({"eval", "--jsonl"}, in, out, err) == cli::Exit::yes);
  std::istringstream lines(out.str());
  std::vector<Json> got;
  for (std::string line; std::getline(lines, line);) got.push_back(Json::parse(line));
  REQUIRE(got.size() == 10);
  CHECK(got[0] == Json::parse(R"({"id": 1, "result": 32})"));
  const char* codes[] = {"",     "json", "unknown_operation", "syntax", "argument", "json", "json", "json",
                         "json", ""};
  for (std::size_t i = 1; i < 9; ++i) {
    INFO(i);
    CHECK(got[i]["error"]["code"] == codes[i]);
  }
  CHECK(got[9] ==
        Json::parse(R"({"id": 10, "result": "4:1", "size": 4, "values": [0,1,2,3], "samples": [[3,3]]})"));
}

TEST_CASE("eval prints the result of one expression, or one message") {
  const auto eval = [](std::vector<std::string> arguments) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    arguments.insert(arguments.begin(), "eval");
    const int status = cli::run(arguments, in, out, err);
    return std::to_string(status) + " " + out.str() + err.str();
  };
  CHECK(eval({"composition((6,2):(8,2), (4,3):(3,1))"}) == "0 ((2,2),3):((24,2),8)\n");
  CHECK(eval({"(4,8):(1,4)", "--at", "(1,2)"}) == "0 9\n");
  CHECK(eval({"Sw<3,4,3> o 0 o (8,64):(64,1)", "--at", "(2,1)"}) == "0 145\n");
  CHECK(eval({"make_identity_layout((4,(2,3)))", "--at", "5"}) == "0 (1,(1,0))\n");
  CHECK(eval({"coalesce((2,2):(1,2))", "--json"}) ==
        "0 {\"result\":\"4:1\",\"size\":4,\"values\":[0,1,2,3]}\n");
  CHECK(eval({"composition((6,2):(8,2), 5:3)"}) ==
        "2 error: composition: extent does not divide\n"
        "  left   (6,2):(8,2)        right  5:3\n"
        "  where  right mode 0: 5 is cut at 6/3 = 2 by left mode 0 (6:8), and 2 does not divide 5\n"
        "  hint   extents that divide and stay inside the 12 elements of left: 1, 2, 4\n");
  CHECK(eval({"coalesc(4:1)"}) == "2 error: expression: there is no operation 'coalesc'\n"
                                  "  hint   the nearest name is coalesce(layout [, profile])\n");
}

} // namespace golden_test
