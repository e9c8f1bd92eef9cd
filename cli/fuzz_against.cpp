#include "fuzz_against.h"

#include "eval.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/nearest.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <stdexcept>

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t all_values = 256;       // what `eval --jsonl` lists
constexpr std::int64_t samples = 64;           // of a larger function
constexpr std::int64_t most_evaluated = 65536; // of an answer that is only a text

enum class Takes { layout, layout_number, layout_maybe_number, layout_tile, two_layouts, layout_index };
struct Signature {
  const char* op;
  Takes takes;
};
constexpr Signature signatures[] = {
    {"coalesce", Takes::layout},
    {"flatten", Takes::layout},
    {"filter", Takes::layout},
    {"filter_zeros", Takes::layout},
    {"size", Takes::layout},
    {"cosize", Takes::layout},
    {"right_inverse", Takes::layout},
    {"left_inverse", Takes::layout},
    {"nullspace", Takes::layout},
    {"complement", Takes::layout_maybe_number},
    {"upcast", Takes::layout_number},
    {"downcast", Takes::layout_number},
    {"layout_call", Takes::layout_index},
    {"composition", Takes::layout_tile},
    {"logical_divide", Takes::layout_tile},
    {"zipped_divide", Takes::layout_tile},
    {"tiled_divide", Takes::layout_tile},
    {"flat_divide", Takes::layout_tile},
    {"logical_product", Takes::layout_tile},
    {"zipped_product", Takes::layout_tile},
    {"tiled_product", Takes::layout_tile},
    {"flat_product", Takes::layout_tile},
    {"blocked_product", Takes::two_layouts},
    {"raked_product", Takes::two_layouts},
    {"max_common_vector", Takes::two_layouts},
};

Value argument_of(const Json& j) {
  if (j.is_null()) return {};
  if (j.is_number_integer()) return Int(j.get<std::int64_t>());
  if (j.is_string()) return evaluate_expression(j.get<std::string>());
  if (!j.is_array())
    throw std::invalid_argument("an argument is a number, a text, null or an array: " + j.dump());
  List list;
  for (const Json& e : j) list.push_back(argument_of(e));
  return list;
}

Question with_json(std::string op, List arguments) {
  Question q{std::move(op), std::move(arguments), {}};
  q.json["op"] = q.op;
  q.json["args"] = Json::array();
  for (const Value& a : q.arguments) q.json["args"].push_back(to_json(a));
  return q;
}

/// Mostly a layout; at times an extent, or a tile by mode.
Value tile_of(const FuzzInput& input) {
  if (input.form == 5) return Int(1 + input.n.value() % 8);
  if (input.form < 6) return input.b;
  List list;
  const std::size_t rank = std::min(input.a.rank(), input.b.rank());
  for (std::size_t i = 0; i < rank; ++i) {
    const Layout mode = input.b.mode(i);
    if (input.form == 6)
      list.push_back(mode);
    else if (i % 2 == 0)
      list.push_back(mode.size());
    else
      list.push_back(Value());
  }
  return list;
}

/// Operations with several right answers: is this one of them?
bool satisfies_definition(const Question& q, const Layout& answer) {
  const Layout l = q.arguments.at(0).as_layout();
  if (q.op == "right_inverse") {
    for (Int i = 0; i < answer.size(); i += 1)
      if (answer(i) < 0 || answer(i) >= l.size() || l(answer(i)) != i) return false;
    return true;
  }
  if (q.op == "left_inverse") {
    for (Int i = 0; i < l.size(); i += 1)
      if (l(answer(l(i))) != l(i)) return false;
    return true;
  }
  return false;
}

/// The layout of a shape whose values are its indices, modes of extent 1 included, along which indices run on too.
Layout index_layout(const IntTuple& shape) {
  TupleBuilder<Int> strides;
  strides.profile(shape.profile().view());
  Int next = 1;
  for (const Int& extent : shape.leaves()) {
    strides.leaves().push_back(next);
    next *= extent;
  }
  return Layout::from(shape, std::move(strides).finish());
}

/// Does the right operand ask the left one for indices beyond its size? There the algebra lets the last mode run on, and
/// implementations differ without either being wrong inside. Asked of the layout of the same shape whose values are the
/// indices.
bool reaches_outside(const Question& q) {
  const bool divides = q.op.size() > 7 && q.op.compare(q.op.size() - 7, 7, "_divide") == 0;
  if (q.op != "composition" && !divides) return false;
  try {
    List arguments = q.arguments;
    const Layout indices = index_layout(arguments.at(0).as_layout().shape());
    arguments[0] = indices;
    const Layout asked = apply_operation(q.op, arguments).as_layout();
    for (Int i = 0; i < asked.size(); i += 1)
      if (asked(i) < 0 || asked(i) >= indices.size()) return true;
  } catch (const LayoutError&) { // refused for another reason
  }
  return false;
}

std::vector<std::int64_t> sampled_indices(std::int64_t size) {
  std::vector<std::int64_t> at;
  for (std::int64_t k = 0; k < samples; ++k) at.push_back(k * (size - 1) / (samples - 1));
  return at;
}

/// Is the text of an answer our function? nullopt: it is no text of a function.
std::optional<bool> text_says(const Json& result, const Value& ours) {
  if (!result.is_string()) return std::nullopt;
  try {
    const Value theirs = evaluate_expression(result.get<std::string>());
    const auto there = as_function(theirs), here = as_function(ours);
    if (!there) return std::nullopt;
    if (there->size() != here->size()) return false;
    const auto same_at = [&](Int i) { return to_json(value_of(theirs, i)) == to_json(value_of(ours, i)); };
    if (here->size() <= most_evaluated) {
      for (Int i = 0; i < here->size(); i += 1)
        if (!same_at(i)) return false;
      return true;
    }
    const auto at = sampled_indices(here->size().value());
    return std::all_of(at.begin(), at.end(), [&](std::int64_t i) { return same_at(Int(i)); });
  } catch (const std::exception&) { // not in our words
    return std::nullopt;
  }
}

/// Size, values, samples and text, as far as they came: all of them have to be right, and one of the last three has to be
/// there. An answer that only has the right size says nothing.
Agreement compare_functions(const Question& q, const Value& ours, const Json& theirs) {
  const bool same_text = theirs["result"] == Json(to_string(ours));
  const Int size = as_function(ours)->size();
  bool equal = !theirs.contains("size") || theirs["size"] == Json(size.value());
  bool compared = same_text;
  if (equal && theirs.contains("values")) {
    compared = true;
    equal = theirs["values"].is_array() && Int(theirs["values"].size()) == size;
    for (Int i = 0; equal && i < size; i += 1)
      equal = theirs["values"][static_cast<std::size_t>(i.value())] == to_json(value_of(ours, i));
  }
  if (equal && theirs.contains("samples")) {
    compared = compared || !theirs["samples"].empty();
    for (const Json& pair : theirs["samples"])
      equal = equal && pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
              pair[0].get<std::int64_t>() >= 0 && Int(pair[0].get<std::int64_t>()) < size &&
              pair[1] == to_json(value_of(ours, Int(pair[0].get<std::int64_t>())));
  }
  if (equal && !compared) {
    const auto says = text_says(theirs["result"], ours);
    if (!says) return no_answer;
    equal = *says;
  }
  if (equal) return same_text ? same : normal_form;
  try {
    if (theirs["result"].is_string() &&
        satisfies_definition(q, parse_layout(theirs["result"].get<std::string>())))
      return other_answer;
  } catch (const LayoutError&) { // not a layout, or defined on fewer indices
  }
  return reaches_outside(q) ? outside : wrong_value;
}

} // namespace

const char* to_string(Agreement agreement) {
  switch (agreement) {
  case same: return "same";
  case both_refuse: return "both refuse";
  case unsupported: return "unsupported there";
  case normal_form: return "normal form only";
  case outside: return "differs outside";
  case other_answer: return "other valid answer";
  case wrong_value: return "wrong value";
  case wrong_rejection: return "wrong rejection";
  case missed_rejection: return "missed rejection";
  case no_answer: return "no answer";
  }
  return "";
}

std::vector<std::string> foreign_operations() {
  std::vector<std::string> names;
  for (const Signature& s : signatures) names.emplace_back(s.op);
  return names;
}

Question question(const std::string& op, const FuzzInput& input) {
  for (const Signature& s : signatures) {
    if (op != s.op) continue;
    switch (s.takes) {
    case Takes::layout: return with_json(op, {input.a});
    case Takes::layout_maybe_number:
      if (input.form == 7) return with_json(op, {input.a});
      return with_json(op, {input.a, input.n});
    case Takes::layout_number: return with_json(op, {input.a, Int(1 + input.n.value() % 8)});
    case Takes::layout_index: return with_json(op, {input.a, floor_mod(input.n, input.a.size())});
    case Takes::layout_tile: return with_json(op, {input.a, tile_of(input)});
    case Takes::two_layouts: return with_json(op, {input.a, input.b});
    }
  }
  std::string names;
  std::vector<std::string> known;
  for (const Signature& s : signatures)
    known.emplace_back(s.op), names += (names.empty() ? "" : " ") + known.back();
  throw std::invalid_argument("fuzz: '" + op +
                              "' is no operation that can be fuzzed against another program\n  hint   " +
                              did_you_mean(op, known) + names);
}

Question parse_question(const std::string& line) {
  const Json j = Json::parse(line, nullptr, false);
  if (!j.is_object() || !j.contains("op") || !j["op"].is_string() || !j.contains("args") ||
      !j["args"].is_array())
    throw std::invalid_argument("fuzz: not a question: " + line +
                                "\n  hint   {\"op\": \"coalesce\", \"args\": [\"4:1\"]}");
  List arguments;
  for (const Json& a : j["args"]) arguments.push_back(argument_of(a));
  return with_json(j["op"].get<std::string>(), std::move(arguments));
}

OwnAnswer answer_here(const Question& q) {
  try {
    return {apply_operation(q.op, q.arguments), ""};
  } catch (const LayoutError& e) {
    return {std::nullopt, e.what()};
  }
}

std::string request(const Question& q, const OwnAnswer& ours, std::int64_t id) {
  Json j = {{"id", id}};
  j.update(q.json);
  if (ours.value)
    if (const auto f = as_function(*ours.value); f && f->size() > all_values) {
      j["samples"] = Json::array();
      for (const std::int64_t i : sampled_indices(f->size().value()))
        j["samples"].push_back({i, to_json(value_of(*ours.value, Int(i)))});
    }
  return j.dump();
}

Agreement compare(const Question& q, const OwnAnswer& ours, bool alive, const std::string& line,
                  std::optional<std::int64_t> id) {
  bool refused = false;
  Json theirs;
  if (!alive) {
    if (line != "it ended") return no_answer;
    refused = true; // an assertion that ends the process is a refusal
  } else {
    theirs = Json::parse(line, nullptr, false);
    if (!theirs.is_object() || (!theirs.contains("result") && !theirs.contains("error"))) return no_answer;
    // An answer to another question; an adapter may leave ids out.
    if (id && theirs.contains("id") && !theirs["id"].is_null() && theirs["id"] != Json(*id)) return no_answer;
    refused = theirs.contains("error");
    if (refused && theirs["error"].is_object() && theirs["error"].value("code", "") == "unsupported")
      return unsupported;
  }
  if (refused) return ours.value ? wrong_rejection : both_refuse;
  if (!ours.value) return missed_rejection;
  if (as_function(*ours.value)) return compare_functions(q, *ours.value, theirs);
  return theirs["result"] == to_json(*ours.value) ? same : wrong_value;
}

} // namespace inlay::cli
