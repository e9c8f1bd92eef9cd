// Formulas of elements, read.
#include "language.h"
#include "functions.h"

#include <inlay/algebra/nearest.h>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <stdexcept>

namespace inlay::kernels {
namespace {

using formula::Function, formula::functions;

constexpr int deepest = 100; ///< parentheses in parentheses
constexpr std::size_t most_nodes = 1000;

class Reader {
public:
  explicit Reader(const std::string& text) { f_.text = text; }

  Formulas whole() {
    do {
      const std::string name = word();
      if (name.empty()) fail("the name of an output");
      if (function(name) != nullptr) fail(fmt::format("another name: {} is a function", name));
      need("=");
      const int value = choice();
      const bool again = std::any_of(f_.assignments.begin(), f_.assignments.end(),
                                     [&](const auto& a) { return a.name == f_.name_of(name); });
      if (again && f_.name_of(name) >= 0) fail(fmt::format("a name that is written once; {} is again", name));
      f_.assignments.push_back({number_of(name), value});
      f_.outputs.push_back(name);
      kinds_.resize(f_.names.size(), false);
      kinds_[static_cast<std::size_t>(f_.name_of(name))] = node(value).integer;
    } while (take(";") && !at_end());
    if (!at_end()) fail("an operator, ';' or the end");
    return std::move(f_);
  }

private:
  [[noreturn]] void fail(const std::string& expected, const std::string& hint = "") const {
    throw std::invalid_argument(fmt::format(
        "expr: expected {} at position {}\n  text   {}\n         {}^\n  hint   {}", expected, at_, f_.text,
        std::string(std::min(at_, f_.text.size()), ' '),
        hint.empty() ? "y = silu(a) * b + c; also x >= 0 ? x : 0.1 * x, and " + formula_functions() : hint));
  }
  [[nodiscard]] static const Function* function(const std::string& name) {
    for (const Function& f : functions())
      if (f.name == name) return &f;
    return nullptr;
  }
  void skip() {
    while (at_ < f_.text.size() && std::string_view(" \t\n").find(f_.text[at_]) != std::string_view::npos)
      ++at_;
  }
  bool at_end() {
    skip();
    return at_ == f_.text.size();
  }
  bool take(const std::string& mark) {
    skip();
    if (f_.text.compare(at_, mark.size(), mark) != 0) return false;
    at_ += mark.size();
    return true;
  }
  void need(const std::string& mark) {
    if (!take(mark)) fail("'" + mark + "'");
  }
  std::string word() {
    skip();
    const std::size_t from = at_;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    while (at_ < f_.text.size() &&
           (letter(f_.text[at_]) || (at_ > from && f_.text[at_] >= '0' && f_.text[at_] <= '9')))
      ++at_;
    return f_.text.substr(from, at_ - from);
  }
  int number_of(const std::string& name) {
    if (const int known = f_.name_of(name); known >= 0) return known;
    f_.names.push_back(name);
    return static_cast<int>(f_.names.size()) - 1;
  }
  int add(FormulaNode node) {
    if (f_.nodes.size() >= most_nodes) fail(fmt::format("at most {} operations", most_nodes));
    f_.nodes.push_back(std::move(node));
    return static_cast<int>(f_.nodes.size()) - 1;
  }
  FormulaNode& node(int n) { return f_.nodes[static_cast<std::size_t>(n)]; }
  bool integer(int n) { return node(n).integer; }
  int call(const std::string& function, std::vector<int> arguments, bool integer = false) {
    return add({.kind = FormulaNode::Kind::call,
                .function = function,
                .arguments = std::move(arguments),
                .integer = integer});
  }
  /// A number that is written beside an integer, as one.
  int as_integer(int n, const std::string& why) {
    if (integer(n)) return n;
    double v = node(n).value;
    const bool negated = node(n).kind == FormulaNode::Kind::call && node(n).function == "neg" &&
                         node(node(n).arguments[0]).kind == FormulaNode::Kind::number;
    if (negated) v = -node(node(n).arguments[0]).value;
    if (!negated && node(n).kind != FormulaNode::Kind::number)
      fail(why, "int(a) of a name of i32 or i8, trunc(x) of a number; float(w) of an integer");
    if (v != std::floor(v) || v < -0x1p31 || v >= 0x1p32)
      fail("a whole number of 32 bits beside an integer", "-2147483648 to 4294967295, also 0xd2511f53");
    return add({.kind = FormulaNode::Kind::number, .value = v < 0 ? v + 0x1p32 : v, .integer = true});
  }
  /// + - * of two numbers or two integers.
  int arithmetic(const std::string& sign, const std::string& of_integers, int a, int b) {
    if (!integer(a) && !integer(b)) return call(sign, {a, b});
    if (of_integers.empty()) fail("numbers to divide", "float(w); of powers of two shr(w, n)");
    a = as_integer(a, "integers on both sides of " + sign),
    b = as_integer(b, "integers on both sides of " + sign);
    return call(of_integers, {a, b}, true);
  }
  /// Both branches of a choice are of one kind.
  void alike(int& yes, int& no) {
    if (!integer(yes) && !integer(no)) return;
    yes = as_integer(yes, "two integers, or two numbers"),
    no = as_integer(no, "two integers, or two numbers");
  }

  // a >= b ? x : y
  int choice() {
    if (++depth_ > deepest) fail("fewer parentheses in one another");
    int a = sum();
    const auto then = [&](bool swapped, bool exchanged) {
      int b = sum();
      need("?");
      int yes = choice();
      need(":");
      int no = choice();
      if (swapped) std::swap(a, b);
      if (exchanged) std::swap(yes, no);
      alike(yes, no);
      if (integer(a) || integer(b)) { // with their signs
        alike(a, b);
        a = call("choose", {call("less", {a, b}, true), no, yes}, integer(yes));
      } else {
        a = call("select", {a, b, yes, no}, integer(yes));
      }
    };
    // a > b is not b >= a, and so on.
    if (take(">="))
      then(false, false);
    else if (take("<="))
      then(true, false);
    else if (take(">"))
      then(true, true);
    else if (take("<"))
      then(false, true);
    --depth_;
    return a;
  }
  int sum() {
    int a = product();
    while (true) {
      if (take("+"))
        a = arithmetic("+", "iadd", a, product());
      else if (take("-"))
        a = arithmetic("-", "isub", a, product());
      else
        return a;
    }
  }
  int product() {
    int a = negated();
    while (true) {
      if (take("*"))
        a = arithmetic("*", "imul", a, negated());
      else if (take("/"))
        a = arithmetic("/", "", a, negated());
      else
        return a;
    }
  }
  int negated() {
    if (!take("-")) return power();
    if (++depth_ > deepest) fail("fewer signs in one another");
    int a = negated();
    a = integer(a) ? arithmetic("-", "isub", add({.kind = FormulaNode::Kind::number}), a) : call("neg", {a});
    --depth_;
    return a;
  }
  int power() {
    const int a = operand();
    if (!take("^")) return a;
    if (integer(a)) fail("a number before ^", "xor(v, w) of integers; w * w");
    const bool below = take("-");
    const double n = number("an exponent: 0.5, or a whole number from 1 to 8");
    int out = a;
    if (n == 0.5) {
      out = call("sqrt", {a});
    } else {
      if (!(n >= 1 && n <= 8 && n == std::floor(n)))
        fail("an exponent: 0.5, or a whole number from 1 to 8", "other powers: exp2(y * log2(x)) for x > 0");
      for (int i = 1; i < static_cast<int>(n); ++i) out = call("*", {out, a});
    }
    return below ? call("rcp", {out}) : out;
  }
  double number(const std::string& expected) {
    skip();
    double value = 0;
    const char *begin = f_.text.data() + at_, *end = f_.text.data() + f_.text.size();
    const auto [rest, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || begin == end || ((*begin < '0' || *begin > '9') && *begin != '.'))
      fail(expected);
    if (value != 0 &&
        (value > std::numeric_limits<float>::max() || value < std::numeric_limits<float>::min()))
      fail("a number of f32", "the arithmetic is f32: 1.2e-38 to 3.4e38");
    at_ += static_cast<std::size_t>(rest - begin);
    return value;
  }
  int operand() {
    skip();
    if (f_.text.compare(at_, 2, "0x") == 0) {
      std::uint32_t v = 0;
      const auto [rest, error] =
          std::from_chars(f_.text.data() + at_ + 2, f_.text.data() + f_.text.size(), v, 16);
      if (error != std::errc()) fail("an integer of 32 bits");
      at_ = static_cast<std::size_t>(rest - f_.text.data());
      return add({.kind = FormulaNode::Kind::number, .value = static_cast<double>(v), .integer = true});
    }
    if (take("(")) {
      const int inner = choice();
      need(")");
      return inner;
    }
    const std::size_t from = at_;
    const std::string name = word();
    if (name.empty())
      return add({.kind = FormulaNode::Kind::number, .value = number("a number, a name or '('")});
    const Function* f = function(name);
    if (!take("(")) {
      if (f != nullptr) fail("'('", f->form);
      if (f_.name_of(name) < 0 || (!f_.writes(name) && !f_.reads(name))) f_.inputs.push_back(name);
      const int number = number_of(name);
      kinds_.resize(f_.names.size(), false);
      const bool input = !f_.writes(name);
      if (input) f_.numbers.push_back(name); // unless int(..) or bits(..) is around it
      return add({.kind = FormulaNode::Kind::name,
                  .name = number,
                  .integer = !input && kinds_[static_cast<std::size_t>(number)]});
    }
    if (f == nullptr) {
      std::vector<std::string> known;
      for (const Function& g : functions()) known.push_back(g.name);
      at_ = from;
      fail("a function", did_you_mean(name, known) + formula_functions());
    }
    std::vector<int> arguments;
    do arguments.push_back(choice());
    while (take(","));
    need(")");
    if (arguments.size() != f->operands) {
      at_ = from;
      fail(fmt::format("{} operands, and these are {}", f->operands, arguments.size()), f->form);
    }
    return call_of(*f, std::move(arguments), from);
  }
  int call_of(const Function& f, std::vector<int> arguments, std::size_t from) {
    if (f.kinds.empty()) {
      for (const int a : arguments)
        if (integer(a))
          at_ = from, fail("numbers, and there is an integer", f.form + ": float(w) of an integer");
      return call(f.name, std::move(arguments));
    }
    if (f.name == "choose") alike(arguments[1], arguments[2]);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (f.kinds[i] == 'w') arguments[i] = as_integer(arguments[i], "integers in " + f.form);
      if (f.kinds[i] == 'n' && integer(arguments[i]))
        at_ = from, fail("a number, and this is an integer", f.form + ": float(w) of an integer");
    }
    if (f.name == "int" || f.name == "bits") {
      const FormulaNode& a = node(arguments[0]);
      const std::string name =
          a.kind == FormulaNode::Kind::name ? f_.names[static_cast<std::size_t>(a.name)] : "";
      if (name.empty() || f_.writes(name)) {
        at_ = from;
        fail("a name as it is read", f.name == "int" ? "trunc(x) of a number that is computed"
                                                     : "bits(a) of a name that is read, as f32");
      }
      f_.numbers.pop_back();
      (f.name == "int" ? f_.integers : f_.codes).push_back(name);
    }
    const char result = f.kinds.back();
    const bool of_integers = result == 'w' || (result == 'x' && integer(arguments[1]));
    return call(f.name, std::move(arguments), of_integers);
  }

  std::vector<bool> kinds_; ///< whether a name that was written is an integer
  Formulas f_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

} // namespace

int Formulas::name_of(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}
bool Formulas::reads(const std::string& name) const {
  return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
}
bool Formulas::writes(const std::string& name) const {
  return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
}

bool Formulas::integer(const std::string& output) const {
  return std::any_of(assignments.begin(), assignments.end(), [&](const Assignment& a) {
    return a.name == name_of(output) && nodes[static_cast<std::size_t>(a.value)].integer;
  });
}

Formulas parse_formulas(const std::string& text) { return Reader(text).whole(); }

} // namespace inlay::kernels
