#include "arithmetic/formula.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <cctype>

namespace inlay::solver {

FormulaRef integer(Wide value) {
  return std::make_shared<const Formula>(Formula{Op::integer, value, {}, {}});
}
FormulaRef variable(std::string name) {
  return std::make_shared<const Formula>(Formula{Op::name, 0, std::move(name), {}});
}
FormulaRef make(Op op, std::vector<FormulaRef> args) {
  return std::make_shared<const Formula>(Formula{op, 0, {}, std::move(args)});
}
// The enumerators from lt on are the ones that give 0 or 1 (formula.h): an operator that is added belongs
// before or after that line.
bool is_condition(Op op) { return op >= Op::lt; }

namespace {

struct Infix {
  const char* text;
  Op op;
  int level; // higher binds tighter
};
// Longest spelling first where one is a prefix of another.
constexpr Infix infixes[] = {
    {"||", Op::logical_or, 1}, {"&&", Op::logical_and, 2}, {"<<", Op::shl, 7},   {">>", Op::shr, 7},
    {"<=", Op::le, 3},         {">=", Op::ge, 3},          {"==", Op::eq, 3},    {"!=", Op::ne, 3},
    {"<", Op::lt, 3},          {">", Op::gt, 3},           {"|", Op::bit_or, 4}, {"^", Op::bit_xor, 5},
    {"&", Op::bit_and, 6},     {"+", Op::add, 8},          {"-", Op::sub, 8},    {"*", Op::mul, 9},
    {"//", Op::div, 9},        {"/", Op::div, 9},          {"%", Op::mod, 9},
};
constexpr int comparison = 3, tightest = 9;

class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  FormulaRef whole() {
    // With the limits on depth and operators this bounds every walk over a formula: time and stack are the
    // text's, whoever wrote it.
    if (text_.size() > 20000) fail("the formula is longer than 20000 characters");
    FormulaRef f = level(1);
    skip();
    if (at_ != text_.size()) fail("unexpected '" + std::string(1, text_[at_]) + "'");
    return f;
  }

private:
  [[noreturn]] void fail(const std::string& what) const {
    throw QuestionError(
        "formula: " + what + "\n  in     " + std::string(text_.substr(0, 200)) + "\n  at     character " +
        std::to_string(at_ + 1) +
        "\n  hint   operators are + - * / % << >> & ^ | and comparisons; functions min max select ceil_div");
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  const Infix* infix(int lowest) {
    skip();
    for (const Infix& i : infixes) {
      std::string_view t = i.text;
      // The first spelling that fits decides, whatever level asks: else the level of < would take half of a
      // <<.
      if (text_.substr(at_, t.size()) == t) return i.level == lowest ? &i : nullptr;
    }
    return nullptr;
  }
  // One level of precedence, left-associative. The limits on depth and on operators bound the recursion of everybody who walks a
  // formula: a chain a + b + c + ... is as deep as it is long.
  FormulaRef level(int lowest) {
    if (lowest > tightest) return unary();
    FormulaRef left = level(lowest + 1);
    while (const Infix* i = infix(lowest)) {
      at_ += std::string_view(i->text).size();
      if (++operators_ > 2000) fail("more than 2000 operators");
      FormulaRef right = level(lowest + 1);
      left = make(i->op, {left, right});
      // a <= b < c means one thing in Python and another in C: refused.
      if (lowest == comparison && infix(comparison)) fail("write a <= b && b < c");
    }
    return left;
  }
  FormulaRef unary() {
    // Signs and parentheses nest here, and each of the walks over a formula recurses as deep.
    if (++depth_ > 200) fail("nested more than 200 deep");
    FormulaRef f;
    if (take("-")) {
      // -3 is a number and not an operation on one, so that bounds written with it are literals.
      FormulaRef inner = unary();
      f = inner->op == Op::integer ? integer(-inner->value) : make(Op::neg, {inner});
      // `!=` where a value should be is a mistake, and not the negation of `= ...`.
    } else if (text_.substr(at_, 2) != "!=" && take("!")) {
      f = make(Op::logical_not, {unary()});
    } else {
      f = primary();
    }
    --depth_;
    return f;
  }
  FormulaRef primary() {
    skip();
    if (at_ == text_.size()) fail("it ends where a value should be");
    char c = text_[at_];
    if (take("(")) {
      FormulaRef f = level(1);
      if (!take(")")) fail("a ')' is missing");
      return f;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      Wide value = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
        value = value * 10 + (text_[at_++] - '0');
        // Layouts are made of 64-bit numbers; what is computed from them may take 128 bits and is checked.
        if (value > INT64_MAX) fail("a number is beyond 2^63 - 1");
      }
      return integer(value);
    }
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      std::string name;
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
        name += text_[at_++];
      // A name before a parenthesis is a function; there is no implied product M(N+1).
      if (!take("(")) return variable(name);
      std::vector<FormulaRef> args{level(1)};
      while (take(",")) args.push_back(level(1));
      if (!take(")")) fail("a ')' is missing after the arguments of " + name);
      return call(name, std::move(args));
    }
    fail("unexpected '" + std::string(1, c) + "'");
  }
  FormulaRef call(const std::string& name, std::vector<FormulaRef> args) {
    auto need = [&](std::size_t n) {
      if (args.size() != n)
        fail(name + " takes " + std::to_string(n) + " arguments, not " + std::to_string(args.size()));
    };
    if (name == "min" || name == "max") {
      if (args.size() < 2) need(2);
      // min of many becomes a chain of min of two, as deep as it is long, and counts as that many operators.
      if ((operators_ += static_cast<int>(args.size()) - 1) > 2000) fail("more than 2000 operators");
      FormulaRef f = args[0];
      for (std::size_t k = 1; k < args.size(); ++k) f = make(name == "min" ? Op::min : Op::max, {f, args[k]});
      return f;
    }
    if (name == "select") {
      need(3);
      return make(Op::select, std::move(args));
    }
    if (name == "ceil_div") { // ceil(a / b) = (a + b - 1) / b for b >= 1
      need(2);
      return make(Op::div, {make(Op::sub, {make(Op::add, {args[0], args[1]}), integer(1)}), args[1]});
    }
    if (name == "xor") {
      need(2);
      return make(Op::bit_xor, std::move(args));
    }
    // Words for / and %, for expressions that come from languages in which those round towards 0.
    if (name == "floordiv" || name == "mod") {
      need(2);
      return make(name == "mod" ? Op::mod : Op::div, std::move(args));
    }
    fail("unknown function '" + name + "'");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int operators_ = 0;
};

const char* spelling(Op op) {
  for (const Infix& i : infixes)
    // The checker reads both, C++ readers of a certificate only the one.
    if (i.op == op && std::string_view(i.text) != "//") return i.text;
  return "?";
}

} // namespace

FormulaRef parse_formula(std::string_view text) { return Parser(text).whole(); }

// With all parentheses: the text is read again by other parsers (the checker's, a case's), whose precedences need not be trusted.
std::string to_string(const FormulaRef& f) {
  switch (f->op) {
  case Op::integer: return to_string(f->value);
  case Op::name: return f->name;
  case Op::neg: return "-(" + to_string(f->args[0]) + ")";
  case Op::logical_not: return "!(" + to_string(f->args[0]) + ")";
  case Op::min:
  case Op::max:
    return std::string(f->op == Op::min ? "min(" : "max(") + to_string(f->args[0]) + ", " +
           to_string(f->args[1]) + ")";
  case Op::select:
    return "select(" + to_string(f->args[0]) + ", " + to_string(f->args[1]) + ", " + to_string(f->args[2]) +
           ")";
  default: return "(" + to_string(f->args[0]) + " " + spelling(f->op) + " " + to_string(f->args[1]) + ")";
  }
}

std::set<std::string> names_of(const FormulaRef& f) {
  std::set<std::string> out;
  if (f->op == Op::name) out.insert(f->name);
  for (const FormulaRef& a : f->args) out.merge(names_of(a));
  return out;
}

// What does not mention the name is shared, not copied: expanding a layout replaces in the same large formula many times.
FormulaRef replace(const FormulaRef& f, const std::string& name, const FormulaRef& by) {
  if (f->op == Op::name) return f->name == name ? by : f;
  if (f->args.empty()) return f;
  std::vector<FormulaRef> args;
  bool changed = false;
  for (const FormulaRef& a : f->args) {
    args.push_back(replace(a, name, by));
    changed |= args.back() != a;
  }
  return changed ? make(f->op, std::move(args)) : f;
}

// The definition, and the judge of every counterexample. `select`, && and || look at what they need only: n != 0 && i % n == 0 has
// a value for n = 0.
Wide evaluate(const FormulaRef& f, const std::function<Wide(const std::string&)>& lookup) {
  auto arg = [&](std::size_t k) { return evaluate(f->args[k], lookup); };
  auto divisor = [&] {
    Wide d = arg(1);
    if (d == 0)
      throw QuestionError(
          "formula: division by zero\n  in     " + to_string(f) +
          "\n  hint   state that the divisor is not zero with --where, or guard it with max(1, ...)");
    return d;
  };
  auto amount = [&] {
    Wide s = arg(1);
    if (s < 0) throw QuestionError("formula: shift by a negative amount\n  in     " + to_string(f));
    return s;
  };
  switch (f->op) {
  case Op::integer: return f->value;
  case Op::name: return lookup(f->name);
  case Op::add: return add(arg(0), arg(1));
  case Op::sub: return subtract(arg(0), arg(1));
  case Op::mul: return multiply(arg(0), arg(1));
  case Op::div: {
    Wide d = divisor();
    return floor_div(arg(0), d);
  }
  case Op::mod: {
    Wide d = divisor();
    return floor_mod(arg(0), d);
  }
  case Op::neg: return multiply(arg(0), -1);
  // Two's complement of as many bits as it takes, so that negative numbers have all bits above theirs set: -1
  // & 7 is 7. Of 128 bits the same, but for the one pattern that is no value.
  case Op::bit_and: return within_128_bits(arg(0) & arg(1));
  case Op::bit_or: return within_128_bits(arg(0) | arg(1));
  case Op::bit_xor: return within_128_bits(arg(0) ^ arg(1));
  case Op::shl: {
    Wide s = amount();
    // 1 << 127 is outside of Wide; 100 leaves room for what is shifted, and a larger shift of anything but 0 is as good as too large.
    if (s > 100) throw Overflow("a shift by more than 100 bits");
    return multiply(arg(0), Wide{1} << static_cast<int>(s));
  }
  case Op::shr: {
    Wide s = amount();
    Wide v = arg(0);
    // |v| < 2^127, so that 127 places and more leave the sign alone; C++ leaves 128 and more undefined.
    return s > 126 ? (v < 0 ? Wide{-1} : Wide{0}) : v >> static_cast<int>(s);
  }
  // Unlike select both sides are needed: min(1 / n, 5) has no value at n = 0.
  case Op::min: return std::min(arg(0), arg(1));
  case Op::max: return std::max(arg(0), arg(1));
  case Op::select: return arg(0) != 0 ? arg(1) : arg(2);
  case Op::lt: return arg(0) < arg(1);
  case Op::le: return arg(0) <= arg(1);
  case Op::gt: return arg(0) > arg(1);
  case Op::ge: return arg(0) >= arg(1);
  case Op::eq: return arg(0) == arg(1);
  case Op::ne: return arg(0) != arg(1);
  case Op::logical_and: return arg(0) != 0 && arg(1) != 0;
  case Op::logical_or: return arg(0) != 0 || arg(1) != 0;
  case Op::logical_not: return arg(0) == 0;
  }
  return 0;
}

} // namespace inlay::solver
