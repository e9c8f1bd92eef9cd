// The operands of a formula, read, and what is refused of them.
#include "operands.h"

namespace inlay::kernels {
namespace {

/// What is i32 where nothing is said.
bool is_whole(const Formulas& f, const std::string& name) {
  return f.integer(name) || among(f.integers, name);
}

} // namespace

void read_operands(MapAsked& asked, const std::string& text) {
  for (const std::string& name : asked.formulas.names)
    asked.operands[name] = {is_whole(asked.formulas, name) ? Element::i32 : asked.type, Shape::whole, false};
  const Refusal refuse{"map"};
  const std::string form = "a:f32,b:bf16:row,c:column,d:scalar: of names in --expr";
  const auto parts = [](const std::string& whole, char mark) {
    std::vector<std::string> out;
    for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
      to = whole.find(mark, from);
      std::string one = whole.substr(from, to == std::string::npos ? to : to - from);
      std::erase(one, ' ');
      out.push_back(std::move(one));
    }
    return out;
  };
  if (text.empty()) return;
  for (const std::string& one : parts(text, ',')) {
    const std::vector<std::string> words = parts(one, ':');
    const auto found = asked.operands.find(words[0]);
    if (found == asked.operands.end())
      refuse(
          fmt::format("--operands '{}': '{}' is no name of --expr '{}'", text, words[0], asked.formulas.text),
          form);
    if (words.size() < 2 || words.size() > 4) refuse(fmt::format("--operands '{}': '{}'", text, one), form);
    for (std::size_t i = 1; i < words.size(); ++i) {
      static const std::map<std::string, Shape> shapes = {
          {"whole", Shape::whole}, {"row", Shape::row}, {"column", Shape::column}, {"scalar", Shape::scalar}};
      if (const auto shape = shapes.find(words[i]); shape != shapes.end()) {
        found->second.shape = shape->second;
        continue;
      }
      if (words[i] == "positive") {
        found->second.positive = true;
        continue;
      }
      try {
        found->second.type = codegen::parse_element(words[i], Target::named(asked.arch));
      } catch (const std::invalid_argument&) {
        refuse(fmt::format("--operands '{}': '{}' is no type and no shape", text, words[i]),
               "f16, bf16, f32, i32, i8, fp8, bf8; whole, row, column, scalar; positive: of "
               "the data of `inlay run`");
      }
    }
  }
}

void check_map(const MapAsked& a) {
  const Refusal refuse{"map"};
  const Formulas& f = a.formulas;
  const Target& target = Target::named(a.arch);
  for (const char* size : {"rows", "columns", "count"})
    if (f.name_of(size) >= 0)
      refuse(fmt::format("'{}' is the name of a size", size), "another name in --expr");
  if (f.inputs.empty())
    refuse("--expr '" + f.text + "' reads nothing", "a formula of at least one operand: y = 2 * x");
  for (const auto& [name, o] : a.operands) {
    const bool floating = o.type == Element::f16 || o.type == Element::bf16 || o.type == Element::f32;
    const bool bytes = o.type == Element::i8 || codegen::is_float8(target, o.type);
    const std::string all = "f16, bf16, f32, i8, " + codegen::float8_names(target);
    if (f.reads(name) && !floating && !bytes && o.type != Element::i32)
      refuse(fmt::format("'{}' is read as {}", name, to_string(o.type)), "i32, " + all);
    if (among(f.integers, name) && o.type != Element::i32 && o.type != Element::i8)
      refuse(fmt::format("int({}) is of {}", name, to_string(o.type)),
             fmt::format("--operands {}:i32 or {}:i8; trunc({}) of a number", name, name, name));
    if (among(f.codes, name) && !floating)
      refuse(fmt::format("bits({}) is of {}", name, to_string(o.type)),
             "f32, f16 and bf16, whose code as f32 it is");
    if (f.writes(name) && f.integer(name) && o.type != Element::i32)
      refuse(fmt::format("'{}' is an integer, and is written as {}", name, to_string(o.type)),
             fmt::format("--operands {}:i32, or float(..)", name));
    if (f.writes(name) && !f.integer(name) && !floating && !bytes)
      refuse(fmt::format("'{}' is written as {}", name, to_string(o.type)),
             all + (o.type == Element::i32 ? "; i32 of integers: trunc(x), trunc(round(x))" : ""));
    if (f.writes(name) && o.shape != Shape::whole)
      refuse(fmt::format("the output '{}' is not whole", name),
             "rows, columns and scalars are inputs; sums of rows: inlay kernels");
  }
  const int v = a.vector_length();
  if ((v & (v - 1)) != 0) refuse(fmt::format("--vector {}", v), "1, 2, 4 or 8");
  if (a.vectors * v > 64)
    refuse(fmt::format("--vectors {}", a.vectors), "at most 64 elements of a work-item");
  if (a.threads % 64 != 0) refuse(fmt::format("--threads {}", a.threads), "64, 128, 256, 512 or 1024");
}

} // namespace inlay::kernels
