// inlay eval: one expression, or one JSON object a line.
#include "eval.h"

#include "atom_names.h"
#include "command.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>
#include <inlay/algebra/sym_expression.h>

#include <algorithm>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace inlay::cli {

using Json = nlohmann::ordered_json;

Json to_json(const Value& v) {
  if (v.get<Free>()) return nullptr;
  if (const bool* b = v.get<bool>()) return *b;
  if (const Int* n = v.get<Int>()) return n->value();
  if (const List* list = v.get<List>()) {
    Json j = Json::array();
    for (const Value& e : *list) j.push_back(to_json(e));
    return j;
  }
  if (const Record* record = v.get<Record>()) {
    Json j = Json::object();
    for (const auto& [name, value] : *record) j[name] = to_json(value);
    return j;
  }
  return to_string(v);
}

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 22;
constexpr std::size_t deepest_json = 64;
constexpr int most_values = 256;

// Arguments: numbers and null as they are, strings as expressions, arrays as lists, objects as records.
Value from_json(const Json& j, std::size_t depth) {
  if (depth > deepest_json)
    throw LayoutError({"json", "eval", "the arguments are nested too deeply", {}, "", {}, ""});
  if (j.is_null()) return {};
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer() && !(j.is_number_unsigned() && j.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
    return Int(j.get<std::int64_t>());
  if (j.is_number())
    throw LayoutError({"json", "eval", "a number is no 64-bit integer", {}, j.dump(), {}, ""});
  if (j.is_string()) {
    const std::string text = j.get<std::string>();
    if (text == "A" || text == "B" || text == "C") return text;
    return evaluate_expression(text);
  }
  if (j.is_array()) {
    List list;
    for (const Json& e : j) list.push_back(from_json(e, depth + 1));
    return list;
  }
  Record record; // descriptions of atoms; a name is no expression
  for (const auto& [key, value] : j.items())
    record.emplace_back(key, key == "name" ? Value(value.dump()) : from_json(value, depth + 1));
  return record;
}

Json error_json(const LayoutError& e) { return {{"code", e.code()}, {"message", e.what()}}; }

// "result", and for functions "size", "values" while there are few, "samples" where asked for.
void describe(Json& out, const Value& result, const Json* samples) {
  out["result"] = to_json(result);
  const auto f = as_function(result);
  const NestedLayout* n = result.get<NestedLayout>();
  if (!f && !n) return;
  const Int size = n ? n->size() : f->size();
  out["size"] = size.value();
  if (size <= most_values) {
    Json values = Json::array();
    for (Int i = 0; i < size; i += 1) values.push_back(to_json(value_of(result, i)));
    out["values"] = std::move(values);
  }
  if (!samples || !samples->is_array()) return;
  Json at = Json::array();
  for (const Json& pair : *samples) {
    if (!pair.is_array() || pair.empty() || !pair[0].is_number_integer())
      throw LayoutError({"json", "eval", "samples are [index, value] pairs", {}, "", {}, ""});
    at.push_back({pair[0], to_json(value_of(result, Int(pair[0].get<std::int64_t>())))});
  }
  out["samples"] = std::move(at);
}

// A layout with formulas in it, and what has to hold of its symbols for it to be the operation's result.
struct Symbolic {
  std::string result;
  std::vector<std::string> needs;
};

std::string
plain_text(std::string text) { // the identity in front is how a composed value holds a plain layout
  constexpr std::string_view identity = "Sw<0,0,0> o 0 o ";
  return text.compare(0, identity.size(), identity) == 0 ? text.substr(identity.size()) : text;
}

// Nothing where the expression has no symbols. Errors: those of the symbolic reader, where the text is for it.
std::optional<Symbolic> evaluate_symbolic(const std::string& expression) {
  SymContext context;
  try {
    Symbolic out{plain_text(to_string(evaluate_sym_expression(context, expression))), {}};
    if (context.atom_count() == 0) return std::nullopt;
    for (const Obligation& o : context.take_obligations())
      if (std::string text = to_string(o.claim);
          std::find(out.needs.begin(), out.needs.end(), text) == out.needs.end())
        out.needs.push_back(std::move(text));
    return out;
  } catch (const LayoutError& e) {
    if (context.atom_count() == 0 || !is_sym_operation(expression) || e.code() == "unknown_operation")
      return std::nullopt;
    throw;
  }
}

// The text that an argument of a JSON line stands for.
std::string text_of(const Json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_null()) return "_";
  if (!j.is_array()) return j.dump();
  std::string out = "(";
  for (const Json& e : j) out += (out.size() > 1 ? "," : "") + text_of(e);
  return out + ")";
}

Json evaluate_line(const std::string& line) {
  Json out = {{"id", nullptr}};
  try {
    if (line.size() > longest_line)
      throw LayoutError({"json", "eval", "the line is longer than 4 MiB", {}, "", {}, ""});
    std::size_t depth = 0;
    bool too_deep = false;
    const Json in = Json::parse(
        line,
        [&](int, Json::parse_event_t event, Json&) {
          if (event == Json::parse_event_t::array_start || event == Json::parse_event_t::object_start)
            ++depth;
          if (event == Json::parse_event_t::array_end || event == Json::parse_event_t::object_end) --depth;
          too_deep = too_deep || depth > 2 * deepest_json;
          return !too_deep;
        },
        false);
    if (too_deep) throw LayoutError({"json", "eval", "the line is nested too deeply", {}, "", {}, ""});
    if (in.is_discarded() || !in.is_object())
      throw LayoutError({"json", "eval", "the line is not a JSON object", {}, "", {}, ""});
    if (in.contains("id") && (in["id"].is_number_integer() || in["id"].is_string())) out["id"] = in["id"];
    if (!in.contains("op") || !in["op"].is_string() || !in.contains("args") || !in["args"].is_array())
      throw LayoutError({"json", "eval", R"(a line is {"op": name, "args": [...]})", {}, "", {}, ""});
    const std::string op = in["op"].get<std::string>();
    try {
      List arguments;
      for (const Json& a : in["args"]) arguments.push_back(from_json(a, 0));
      const Value result = apply_operation(op, arguments);
      describe(out, result, in.contains("samples") ? &in["samples"] : nullptr);
    } catch (const LayoutError&) { // on numbers everything is exact: symbols come second
      std::string expression = op + "(";
      for (const Json& a : in["args"]) expression += (&a == &in["args"][0] ? "" : ", ") + text_of(a);
      const auto symbolic = evaluate_symbolic(expression + ")");
      if (!symbolic) throw;
      out["result"] = symbolic->result;
      out["needs"] = symbolic->needs;
    }
  } catch (const LayoutError& e) {
    return {{"id", out["id"]}, {"error", error_json(e)}};
  }
  return out;
}

std::string dump(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

int eval(Session& s, const std::string& expression, const std::string& at, bool json, bool lines) {
  if (lines) {
    evaluate_lines(s.in, s.out);
    return Exit::yes;
  }
  if (expression.empty())
    throw LayoutError(
        {"argument",
         "eval",
         "there is nothing to evaluate",
         {},
         "",
         {},
         "inlay eval 'composition((6,2):(8,2), 3:2)', or --jsonl; inlay eval --help lists the operations"});
  Value result;
  try {
    result = evaluate_expression(expression, atom_names());
  } catch (const LayoutError&) {
    const auto symbolic = at.empty() ? evaluate_symbolic(expression) : std::nullopt;
    if (!symbolic) throw;
    if (json) {
      s.out << dump(Json{{"result", symbolic->result}, {"needs", symbolic->needs}}) << "\n";
    } else {
      s.out << symbolic->result << "\n";
      for (const std::string& n : symbolic->needs) s.out << "  needs  " << n << "\n";
    }
    return Exit::yes;
  }
  if (!at.empty()) result = value_of(result, evaluate_expression(at));
  if (json) {
    Json out = Json::object();
    describe(out, result, nullptr);
    s.out << dump(out) << "\n";
  } else {
    s.out << to_string(result) << "\n";
  }
  return Exit::yes;
}

} // namespace

void evaluate_lines(std::istream& in, std::ostream& out) {
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) out << dump(evaluate_line(line)) << "\n";
}

void add_eval(CLI::App& app, Session& s) {
  struct Options {
    std::string expression, at;
    bool json = false, lines = false;
  };
  auto* c = app.add_subcommand("eval", "Evaluate one expression of the algebra, or JSON lines");
  auto o = std::make_shared<Options>();
  c->add_option("expression", o->expression, "for example composition((6,2):(8,2), 3:2)");
  c->footer([] {
    std::string list =
        "An expression is a number, a tuple (4,8), a layout (4,8):(8,1), a swizzle Sw<3,4,3> (also "
        "Swizzle<3,4,3>),\n"
        "a composition Sw<3,4,3> o 0 o (8,64):(64,1), one of Triton's layouts (#ttg.blocked<{...}>, or a "
        "tensor's\n"
        "type, tensor<64x64xf16, #ttg.blocked<{...}>>), a matrix instruction by name ("
        "v_mfma_f32_32x32x8_f16,\n"
        "SM80_16x8x16_F32F16F16F32_TN), or an operation of these. Operations that return layouts take "
        "symbols as well:\n"
        "logical_divide((128*m,64):(64,1), <128,64>) is followed by the conditions that it needs.\n"
        "\n"
        "Arguments have CuTe's names. layout, lhs, rhs, block: (8,64):(64,1), plain or composed. shape, "
        "coord,\n"
        "order: (8,64). tiler: <8,64> or <(8,8):(8,1),_>, one entry a mode. cotarget: the size or shape to\n"
        "complete to. layout_tv: (thread, value) -> index in the tile. copy_atom: how many elements one "
        "copy\n"
        "moves. thr_layout, val_layout: where the threads, and the values of one, lie in the tile, "
        "(32,8):(8,1)\n"
        "and (1,8):(0,1). thr_idx: which thread. mma_atom: an instruction by name. atom_layout_mnk: atoms "
        "along\n"
        "M, N, K, (2,2):(2,1). permutation_mnk: a tiler of M, N, K, <_,_,_> for none. operand: A, B or C.\n"
        "\n"
        "Operations:";
    for (const NamedOperation& op : named_operations()) list += std::string("\n  ") + op.name + op.signature;
    return list;
  });
  c->add_option("--at", o->at, "Apply the result to a coordinate, for example (1,2)");
  c->add_flag("--json", o->json, "Result as JSON");
  c->add_flag("--jsonl", o->lines,
              "Read {\"op\", \"args\"} objects from standard input, one a line, and answer each");
  c->callback([=, &s] { s.exit = eval(s, o->expression, o->at, o->json, o->lines); });
}

} // namespace inlay::cli
