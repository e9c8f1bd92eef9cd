// Formulas of elements: reading, their definition in double, and the error of f32 carried on.
#include "lowered.h"

#include <inlay/algebra/nearest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

namespace inlay::kernels {
namespace {

struct Function {
  std::string name, form;
  std::size_t operands;
  double (*defined)(const std::vector<double>&);
  std::string_view kinds =
      ""; ///< of operands and result: n a number, w an integer, x any of the two, one and the same
};

// Integers are 0 to 2^32 - 1.
std::uint64_t word(double v) { return static_cast<std::uint64_t>(v); }
double modulo(std::uint64_t v) { return static_cast<double>(v % 0x100000000ULL); }
std::int64_t with_sign(double v) { return static_cast<std::int64_t>(v) - (v >= 0x1p31 ? 0x100000000 : 0); }
double without_sign(std::int64_t v) { return static_cast<double>(v < 0 ? v + 0x100000000 : v); }
double whole(double x) { return std::isnan(x) ? 0 : std::trunc(std::clamp(x, -0x1p31, 0x1p31 - 1)); }
double halves(double v, double w) { // bits 32 to 63 of the product, by halves
  const std::uint64_t a = word(v) >> 16, b = word(v) & 0xffff, c = word(w) >> 16, d = word(w) & 0xffff;
  const std::uint64_t middle = a * d + (b * d >> 16);
  return static_cast<double>(a * c + (middle >> 16) + ((middle & 0xffff) + b * c) / 0x10000);
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// Those that have a name; their definitions are the reference.
const std::vector<Function>& functions() {
  using X = const std::vector<double>&;
  static const std::vector<Function> all = {
      {"abs", "abs(x)", 1, [](X x) { return std::abs(x[0]); }},
      {"and", "and(v, w)", 2, [](X x) { return modulo(word(x[0]) & word(x[1])); }, "www"},
      {"bits", "bits(a)", 1,
       [](X x) { return static_cast<double>(std::bit_cast<std::uint32_t>(static_cast<float>(x[0]))); }, "nw"},
      {"choose", "choose(w, x, y)", 3, [](X x) { return x[0] != 0 ? x[1] : x[2]; }, "wxxx"},
      {"clamp", "clamp(x, low, high)", 3, [](X x) { return std::min(std::max(x[0], x[1]), x[2]); }},
      {"equal", "equal(v, w)", 2, [](X x) { return x[0] == x[1] ? 1.0 : 0.0; }, "www"},
      {"erf", "erf(x)", 1, [](X x) { return std::erf(x[0]); }},
      {"exp", "exp(x)", 1, [](X x) { return std::exp(x[0]); }},
      {"exp2", "exp2(x)", 1, [](X x) { return std::exp2(x[0]); }},
      {"float", "float(w)", 1, [](X x) { return static_cast<double>(with_sign(x[0])); }, "wn"},
      {"from_bits", "from_bits(w)", 1,
       [](X x) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(x[0]))); }, "wn"},
      {"gelu", "gelu(x)", 1, [](X x) { return x[0] / 2 * std::erfc(-x[0] / std::sqrt(2.0)); }},
      {"gelu_tanh", "gelu_tanh(x)", 1,
       [](X x) {
         return x[0] / 2 *
                (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x[0] + 0.044715 * std::pow(x[0], 3))));
       }},
      {"int", "int(a)", 1, [](X x) { return without_sign(static_cast<std::int64_t>(x[0])); }, "nw"},
      {"less", "less(v, w)", 2, [](X x) { return with_sign(x[0]) < with_sign(x[1]) ? 1.0 : 0.0; }, "www"},
      {"log", "log(x)", 1, [](X x) { return std::log(x[0]); }},
      {"log2", "log2(x)", 1, [](X x) { return std::log2(x[0]); }},
      {"max", "max(x, y)", 2, [](X x) { return std::max(x[0], x[1]); }},
      {"min", "min(x, y)", 2, [](X x) { return std::min(x[0], x[1]); }},
      {"mish", "mish(x)", 1, [](X x) { return x[0] * std::tanh(softplus(x[0])); }},
      {"mul_hi", "mul_hi(v, w)", 2, [](X x) { return halves(x[0], x[1]); }, "www"},
      {"not", "not(w)", 1, [](X x) { return 4294967295.0 - x[0]; }, "ww"},
      {"or", "or(v, w)", 2, [](X x) { return modulo(word(x[0]) | word(x[1])); }, "www"},
      {"popcount", "popcount(w)", 1, [](X x) { return static_cast<double>(std::popcount(word(x[0]))); },
       "ww"},
      {"rcp", "rcp(x)", 1, [](X x) { return 1 / x[0]; }},
      {"relu", "relu(x)", 1, [](X x) { return std::max(x[0], 0.0); }},
      {"round", "round(x)", 1,
       [](X x) {
         const double below = std::floor(x[0]), part = x[0] - below;
         return part == 0.5 ? 2 * std::round(x[0] / 2) : part < 0.5 ? below : below + 1;
       }},
      {"rsqrt", "rsqrt(x)", 1, [](X x) { return 1 / std::sqrt(x[0]); }},
      {"sar", "sar(w, n)", 2,
       [](X x) {
         const double by = std::ldexp(1, static_cast<int>(word(x[1]) % 32));
         return without_sign(
             static_cast<std::int64_t>(std::floor(static_cast<double>(with_sign(x[0])) / by)));
       },
       "www"},
      {"shl", "shl(w, n)", 2, [](X x) { return modulo(word(x[0]) << word(x[1]) % 32); }, "www"},
      {"shr", "shr(w, n)", 2,
       [](X x) { return std::floor(std::ldexp(x[0], -static_cast<int>(word(x[1]) % 32))); }, "www"},
      {"sigmoid", "sigmoid(x)", 1, [](X x) { return 1 / (1 + std::exp(-x[0])); }},
      {"silu", "silu(x)", 1, [](X x) { return x[0] / (1 + std::exp(-x[0])); }},
      {"softplus", "softplus(x)", 1, [](X x) { return softplus(x[0]); }},
      {"sqrt", "sqrt(x)", 1, [](X x) { return std::sqrt(x[0]); }},
      {"square", "square(x)", 1, [](X x) { return x[0] * x[0]; }},
      {"tanh", "tanh(x)", 1, [](X x) { return std::tanh(x[0]); }},
      {"trunc", "trunc(x)", 1, [](X x) { return without_sign(static_cast<std::int64_t>(whole(x[0]))); },
       "nw"},
      {"ufloat", "ufloat(w)", 1, [](X x) { return x[0]; }, "wn"},
      {"uless", "uless(v, w)", 2, [](X x) { return x[0] < x[1] ? 1.0 : 0.0; }, "www"},
      {"xor", "xor(v, w)", 2, [](X x) { return modulo(word(x[0]) ^ word(x[1])); }, "www"}};
  return all;
}

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

const double ulp = std::ldexp(1, -24), tiny = std::ldexp(1, -126), most = std::numeric_limits<float>::max();
} // namespace

// Functions of Bounded are found by their operands, so they are in its namespace.

/// As f32 has it: beyond its range infinity, which is not uncertain.
static Bounded f32(double value, double error) {
  if (std::abs(value) > most) return {std::copysign(INFINITY, value), 0};
  return {value, error + tiny};
}
static Bounded of_words(double value, std::initializer_list<Bounded> from) {
  double error = 0;
  for (const Bounded& b : from) error = b.error == 0 ? error : INFINITY;
  return {value, error, true};
}
static double word_function(const std::string& name, const std::vector<double>& x) {
  for (const Function& f : functions())
    if (f.name == name) return f.defined(x);
  throw std::logic_error("no function " + name);
}
static Bounded words(const std::string& name, Bounded a, Bounded b) {
  return of_words(word_function(name, {a.value, b.value}), {a, b});
}
static Bounded operator+(Bounded a, Bounded b) {
  if (a.integer) return of_words(modulo(word(a.value) + word(b.value)), {a, b});
  const double v = a.value + b.value, e = a.error + b.error;
  return f32(v, e + ulp * (std::abs(v) + e));
}
static Bounded operator*(Bounded a, Bounded b) {
  if (a.integer) return of_words(modulo(word(a.value) * word(b.value)), {a, b});
  const double v = a.value * b.value,
               e = std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  return f32(v, e + ulp * (std::abs(v) + e));
}
static Bounded exact(double value) {
  return {value, static_cast<double>(static_cast<float>(value)) == value ? 0 : ulp * std::abs(value)};
}
static Bounded operator*(Bounded a, double b) { return a * exact(b); }
static Bounded operator+(Bounded a, double b) { return a + exact(b); }
static Bounded operator-(Bounded a, Bounded b) {
  if (a.integer) return of_words(modulo(word(a.value) + 0x100000000ULL - word(b.value)), {a, b});
  return a + Bounded{-b.value, b.error};
}
static Bounded operator-(double a, Bounded b) { return exact(a) - b; }
// The reciprocal is within 1 ulp, and is multiplied.
static Bounded operator/(Bounded a, Bounded b) {
  const double v = a.value / b.value, left = std::abs(b.value) - b.error;
  if (std::isinf(b.value)) return f32(v, 0);
  const double e = left > 0 ? (a.error + std::abs(v) * b.error) / left : INFINITY;
  return f32(v, e + 4 * ulp * (std::abs(v) + e));
}
static Bounded operator/(double a, Bounded b) { return exact(a) / b; }
// 2^(x log2 e): the product errs by 2 units, the power by 1 ulp.
static Bounded exp(Bounded a) {
  const double v = std::exp(a.value);
  return f32(v, v * (std::expm1(a.error + 2 * ulp * std::abs(a.value)) + 4 * ulp));
}
static Bounded exp2(Bounded a) {
  const double v = std::exp2(a.value);
  return f32(v, v * (std::expm1(a.error) + 4 * ulp));
}
static Bounded log_of(Bounded a, double v, double of_unit) {
  const double left = a.value - a.error;
  return f32(v, (left > 0 ? a.error / left * of_unit : INFINITY) + 4 * ulp * std::abs(v) + 2 * ulp);
}
static Bounded log(Bounded a) { return log_of(a, std::log(a.value), 1); }
static Bounded log2(Bounded a) { return log_of(a, std::log2(a.value), 1.4426950408889634); }
static Bounded sqrt(Bounded a) {
  const double v = std::sqrt(a.value);
  return f32(v, (a.error == 0 ? 0 : std::min(std::sqrt(2 * a.error), a.error / v)) + 3 * ulp * v);
}
static Bounded rsqrt(Bounded a) {
  const double v = 1 / std::sqrt(a.value), left = a.value - a.error;
  return f32(v, (left > 0 ? v * a.error / left : INFINITY) + 3 * ulp * v);
}
static Bounded max(Bounded a, Bounded b) { return {std::max(a.value, b.value), std::max(a.error, b.error)}; }
static Bounded min(Bounded a, Bounded b) { return {std::min(a.value, b.value), std::max(a.error, b.error)}; }
static Bounded select(Bounded a, Bounded b, Bounded yes, Bounded no) {
  const Bounded chosen = a.value >= b.value ? yes : no;
  const double unsure = a.error + b.error;
  if (unsure == 0 || std::abs(a.value - b.value) > unsure) return chosen;
  return {chosen.value, std::max(yes.error, no.error) + std::abs(yes.value - no.value)};
}

static Bounded operator&(Bounded a, Bounded b) { return words("and", a, b); }
static Bounded operator|(Bounded a, Bounded b) { return words("or", a, b); }
static Bounded operator^(Bounded a, Bounded b) { return words("xor", a, b); }
static Bounded operator<<(Bounded a, Bounded b) { return words("shl", a, b); }
static Bounded operator>>(Bounded a, Bounded b) { return words("shr", a, b); }
static Bounded operator~(Bounded a) { return of_words(word_function("not", {a.value}), {a}); }
static Bounded shift_right_signed(Bounded a, Bounded b) { return words("sar", a, b); }
static Bounded mul_hi(Bounded a, Bounded b) { return words("mul_hi", a, b); }
static Bounded popcount(Bounded a) { return of_words(word_function("popcount", {a.value}), {a}); }
static Bounded less_signed(Bounded a, Bounded b) { return words("less", a, b); }
static Bounded less_unsigned(Bounded a, Bounded b) { return words("uless", a, b); }
static Bounded equal(Bounded a, Bounded b) { return words("equal", a, b); }
static Bounded integer(Bounded a) { return of_words(word_function("int", {a.value}), {a}); }
static Bounded float_bits(Bounded a) { return of_words(word_function("bits", {a.value}), {a}); }
static Bounded truncated(Bounded a) { // where all that it may be is one integer, that
  const bool sure = whole(a.value - a.error) == whole(a.value + a.error);
  return {without_sign(static_cast<std::int64_t>(whole(a.value))), sure ? 0 : INFINITY, true};
}
static Bounded to_number(Bounded a) {
  const auto v = static_cast<double>(with_sign(a.value));
  return {v, a.error + (exact(v).error)};
}
static Bounded to_number_unsigned(Bounded a) { return {a.value, a.error + exact(a.value).error}; }
static Bounded from_bits(Bounded a) { return {word_function("from_bits", {a.value}), a.error}; }
static Bounded nearest(Bounded a) {
  const auto to = [](double v) { return word_function("round", {v}); };
  const bool sure = to(a.value - a.error) == to(a.value + a.error);
  return {to(a.value), sure ? 0 : a.error + 1};
}
static Bounded choose(Bounded condition, Bounded yes, Bounded no) {
  const Bounded chosen = condition.value != 0 ? yes : no;
  if (condition.error == 0) return chosen;
  return {chosen.value, std::max(yes.error, no.error) + std::abs(yes.value - no.value), yes.integer};
}

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

std::string formula_functions() {
  std::string all;
  for (const Function& f : functions()) all += (all.empty() ? "" : ", ") + f.form;
  return all;
}

std::vector<double> defined(const Formulas& formulas, const std::vector<double>& inputs) {
  return evaluated<double>(
      formulas, inputs, [](double v, bool) { return v; },
      [](const std::string& f, const std::vector<double>& x) {
        if (f == "+") return x[0] + x[1];
        if (f == "-") return x[0] - x[1];
        if (f == "*") return x[0] * x[1];
        if (f == "/") return x[0] / x[1];
        if (f == "iadd") return modulo(word(x[0]) + word(x[1]));
        if (f == "isub") return modulo(word(x[0]) + 0x100000000ULL - word(x[1]));
        if (f == "imul") return modulo(word(x[0]) * word(x[1]));
        if (f == "neg") return -x[0];
        if (f == "select") return x[0] >= x[1] ? x[2] : x[3];
        for (const Function& one : functions())
          if (one.name == f) return one.defined(x);
        throw std::logic_error("no function " + f);
      });
}

std::vector<Bounded> carried(const Formulas& formulas, const std::vector<double>& inputs) {
  std::vector<Bounded> exactly;
  for (const double v : inputs) exactly.push_back({v, 0});
  const auto constant = [](double v, bool integer = false) {
    return integer ? Bounded{v, 0, true} : exact(v);
  };
  return lowered<Bounded>(formulas, exactly, constant, [](Bounded x, double by) {
    return Bounded{x.value, x.error + by, false};
  });
}

} // namespace inlay::kernels
