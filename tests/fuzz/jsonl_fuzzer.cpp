// Any bytes at all as the input of `inlay eval --jsonl`: every line that is not blank gets one line of JSON, a result or
// an error with a code and a message. A layout that is answered can be asked again and comes back as it is.
#include <eval.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

std::vector<Json> answers(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream out;
  inlay::cli::evaluate_lines(in, out);
  std::istringstream lines(out.str());
  std::vector<Json> all;
  for (std::string line; std::getline(lines, line);) {
    all.push_back(Json::parse(line, nullptr, false));
    const Json& j = all.back();
    require(j.is_object() && j.contains("id"), "no answer", line);
    require(j.contains("result") != j.contains("error"), "neither a result nor an error", line);
    if (j.contains("error"))
      require(j["error"]["code"] != "" && j["error"]["message"] != "", "an empty message", line);
  }
  return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::size_t lines = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines += line.find_first_not_of(" \t\r") != std::string::npos;
  const std::vector<Json> all = answers(text);
  require(all.size() == lines, "another number of answers than of lines", text);
  for (const Json& j : all) {
    // What has values is a function; as text it is an expression.
    if (!j.contains("values") || !j["result"].is_string()) continue;
    const Json again = answers(Json{{"op", "make_layout"}, {"args", {j["result"]}}}.dump())[0];
    if (again.contains("values"))
      require(again["values"] == j["values"], "another function when read back", j.dump());
  }
  return 0;
}
