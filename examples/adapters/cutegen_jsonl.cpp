// CUTLASS's cutegen behind the JSON lines of `inlay eval --jsonl`, so that `inlay fuzz --against` can judge
// it.
//
//     g++ -std=c++20 -O1 -isystem /path/to/cutlass/cutlass_compiler/cutegen/include cutegen_jsonl.cpp -o
//     cutegen_jsonl inlay fuzz composition --against ./cutegen_jsonl
//
// cutegen's preconditions are asserts and exceptions. The asserts are on here, and each ends the process: the
// fuzzer starts a new one and counts the input as refused.
#include <cutegen/cutegen_base_dynamic.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

namespace {

namespace cg = cutegen;
using nlohmann::json;

template <class T>
T read(const std::string& text) {
  auto value = cg::from_string<T>(text);
  if (!value) throw std::invalid_argument("cannot read " + text);
  return std::move(*value);
}

cg::layout layout(const json& value) { return read<cg::layout>(value.get<std::string>()); }

/// `[1,[2,null]]` as `(1,(2,_))`.
std::string text(const json& value) {
  if (value.is_null()) return "_";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string out = "(";
  for (const json& entry : value) out += (out.size() > 1 ? "," : "") + text(entry);
  return out + ")";
}

/// A number; an error value of cutegen prints as something else.
std::int64_t number(const std::string& text) {
  if (text.find_first_not_of("-0123456789") != std::string::npos)
    throw std::invalid_argument("not an integer: " + text);
  return std::stoll(text);
}

json describe(const cg::layout& result) {
  const std::int64_t size = number(cg::to_string(cg::size(result.shape())));
  json reply = {{"result", cg::to_string(result)}, {"size", size}};
  if (size > 0 && size <= 256) {
    reply["values"] = json::array();
    for (std::int64_t i = 0; i < size; ++i) reply["values"].push_back(number(cg::to_string(result(i))));
  }
  return reply;
}

json evaluate(const std::string& op, const json& args) {
  if (op == "coalesce" && args.size() == 1) return describe(cg::coalesce(layout(args[0])));
  if (op == "filter" && args.size() == 1) return describe(cg::filter(layout(args[0])));
  if (op == "right_inverse") return describe(cg::right_inverse(layout(args[0])));
  if (op == "left_inverse") return describe(cg::left_inverse(layout(args[0])));
  if (op == "complement" && args.size() == 1) return describe(cg::complement(layout(args[0])));
  if (op == "complement" && args[1].is_number())
    return describe(cg::complement(layout(args[0]), args[1].get<std::int64_t>()));
  const bool one_layout = args.size() == 2 && args[1].is_string();
  if (op == "composition" && one_layout) return describe(cg::composition(layout(args[0]), layout(args[1])));
  if (op == "logical_divide" && one_layout)
    return describe(cg::logical_divide(layout(args[0]), layout(args[1])));
  if (op == "logical_product" && one_layout)
    return describe(cg::logical_product(layout(args[0]), layout(args[1])));
  if (op == "layout_call")
    return {{"result", number(cg::to_string(layout(args[0])(read<cg::coord>(text(args[1])))))}};
  return {{"error", {{"code", "unsupported"}, {"message", op}}}};
}

} // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    json reply;
    try {
      reply = evaluate(request.at("op"), request.at("args"));
    } catch (const std::exception& e) {
      reply = {{"error", {{"code", "refused"}, {"message", e.what()}}}};
    }
    reply["id"] = request.value("id", json());
    std::cout << reply.dump() << std::endl;
  }
}
