#include "certificates/statement.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace inlay::solver::independent {

Number negatable(Number n) {
  constexpr Number greatest = ((Number{1} << 126) - 1) * 2 + 1;
  // The same limit as the prover's, stated again: the least number of 128 bits has no opposite, and every
  // sign change below relies on one.
  if (n < -greatest) throw Stuck("a number beyond 128 bits");
  return n;
}

Number plus(Number a, Number b) {
  Number r;
  if (__builtin_add_overflow(a, b, &r)) throw Stuck("a number beyond 128 bits");
  return negatable(r);
}

Number times(Number a, Number b) {
  Number r;
  if (__builtin_mul_overflow(a, b, &r)) throw Stuck("a number beyond 128 bits");
  return negatable(r);
}

// Rounded down, as the language has it; C++ rounds towards 0.
Number quotient(Number a, Number b) {
  if (b == 0) throw Stuck("a division by zero");
  Number q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::string text(Number n) {
  if (n < 0) return "-" + text(-n);
  if (n < 10) return std::string(1, static_cast<char>('0' + static_cast<int>(n)));
  return text(n / 10) + text(n % 10);
}

namespace {

// Loosest first; longer spellings before their prefixes. Bit operators bind tighter than comparisons (formula.h says so, too: two readers
// of one language).
constexpr std::array<std::array<const char*, 6>, 9> levels{{{"||"},
                                                            {"&&"},
                                                            {"<=", ">=", "==", "!=", "<", ">"},
                                                            {"|"},
                                                            {"^"},
                                                            {"&"},
                                                            {"<<", ">>"},
                                                            {"+", "-"},
                                                            {"*", "//", "/", "%"}}};

Expr node(std::string op, std::vector<Expr> args) {
  return std::make_shared<Expression>(Expression{std::move(op), 0, {}, std::move(args)});
}
Expr number(Number n) { return std::make_shared<Expression>(Expression{"int", n, {}, {}}); }

class Reader {
public:
  explicit Reader(std::string_view text) : text_(text) {}
  Expr all() {
    Expr e = infix(0);
    blanks();
    if (at_ != text_.size()) stuck();
    return e;
  }

private:
  [[noreturn]] void stuck() const {
    throw Stuck("cannot read '" + std::string(text_.substr(0, 120)) + "' at position " + std::to_string(at_));
  }
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool next(std::string_view word) {
    blanks();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  // The operator that stands here, whatever its level: the longest spelling.
  // The whole operator is read whatever level asks, so that a < is never taken out of a << by a level that knows no shifts.
  std::string here() {
    blanks();
    for (std::string_view two : {"||", "&&", "<=", ">=", "==", "!=", "<<", ">>", "//"})
      if (text_.substr(at_, 2) == two) return std::string(two);
    if (at_ < text_.size() && std::string_view("<>|^&+-*/%").find(text_[at_]) != std::string_view::npos)
      return std::string(1, text_[at_]);
    return {};
  }
  Expr infix(std::size_t level) {
    if (++depth_ > 4000) stuck();
    if (level == levels.size()) return prefix();
    Expr left = infix(level + 1);
    while (true) {
      std::string op = here();
      // Another level's operator ends this one; whoever is above it in the recursion takes it.
      bool mine = !op.empty() && std::any_of(levels[level].begin(), levels[level].end(),
                                             [&](const char* o) { return o && op == o; });
      if (!mine) break;
      at_ += op.size();
      Expr right = infix(level + 1);
      // Left to right, for - and / as well: a - b - c is (a - b) - c in every language whose formulas are
      // pasted here.
      left = node(op == "//" ? "/" : op, {left, right});
      if (level == 2) { // a < b < c is nobody's language
        std::string more = here();
        for (const char* o : levels[2])
          if (o && more == o) stuck();
      }
    }
    --depth_;
    return left;
  }
  Expr prefix() {
    --depth_;
    // A sign binds tighter than any infix operator, so that -a % b is (-a) % b here and in the prover's
    // reader.
    if (next("-")) return node("neg", {nested()});
    blanks();
    if (text_.substr(at_, 2) != "!=" && next("!")) return node("!", {nested()});
    return operand();
  }
  Expr nested() {
    if (++depth_ > 4000) stuck();
    return prefix();
  }
  Expr operand() {
    blanks();
    if (next("(")) {
      Expr e = infix(0);
      if (!next(")")) stuck();
      return e;
    }
    if (at_ >= text_.size()) stuck();
    auto c = static_cast<unsigned char>(text_[at_]);
    if (std::isdigit(c)) {
      Number n = 0;
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
        // Beyond 2^63, too, which the prover's reader refuses: a certificate's own numbers (products of
        // extents) may be larger.
        n = plus(times(n, 10), text_[at_] - '0');
      return number(n);
    }
    if (!std::isalpha(c) && c != '_') stuck();
    std::string name;
    for (; at_ < text_.size(); ++at_) {
      auto d = static_cast<unsigned char>(text_[at_]);
      // A prime is part of the names that a certificate gives to the prover's symbols (M'); the user's have
      // none.
      if (!std::isalnum(d) && d != '_' && d != '.' && d != '\'') break;
      name += text_[at_];
    }
    if (!next("(")) return std::make_shared<Expression>(Expression{"name", 0, name, {}});
    std::vector<Expr> args{infix(0)};
    while (next(",")) args.push_back(infix(0));
    if (!next(")")) stuck();
    if ((name == "min" || name == "max") && args.size() >= 2) {
      Expr e = args[0];
      for (std::size_t k = 1; k < args.size(); ++k) e = node(name, {e, args[k]});
      return e;
    }
    if (name == "select" && args.size() == 3) return node(name, args);
    if (name == "xor" && args.size() == 2) return node("^", args);
    if (name == "floordiv" && args.size() == 2) return node("/", args);
    if (name == "mod" && args.size() == 2) return node("%", args);
    if (name == "ceil_div" && args.size() == 2)
      // By its definition for b >= 1. For other b it is what the same text means to the prover, since both
      // expand it alike.
      return node("/", {node("-", {node("+", args), number(1)}), args[1]});
    stuck();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string_view strip(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Pieces between separators that stand outside all parentheses.
std::vector<std::string_view> pieces(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int open = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    open += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    // `)(` has as many of both, and would take a part of the text for what it is not.
    if (open < 0) throw Stuck("unbalanced parentheses in '" + std::string(text) + "'");
    if (open == 0 && text.substr(k, separator.size()) == separator) {
      out.push_back(strip(text.substr(begin, k - begin)));
      begin = k + separator.size();
      k = begin - 1;
    }
  }
  if (open != 0) throw Stuck("unbalanced parentheses in '" + std::string(text) + "'");
  out.push_back(strip(text.substr(begin)));
  return out;
}

// The items of a tuple; nothing when `text` is one formula. `((a,b))` is a tuple of one tuple, `(a)` a formula.
std::vector<std::string_view> items(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return {};
  int open = 0;
  for (std::size_t k = 0; k + 1 < text.size(); ++k) {
    open += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    if (open == 0) return {}; // (a)*(b)
  }
  std::vector<std::string_view> in = pieces(text.substr(1, text.size() - 2), ",");
  // Python writes a tuple of one as (4,).
  if (in.size() > 1 && in.back().empty()) in.pop_back();
  return in;
}

// Parentheses around one thing are none where the other side has none: ((4,)):1, 4:(n-1), (2*M+1):1.
void peel(std::string_view& shape, std::string_view& stride) {
  for (int depth = 0;; ++depth) {
    if (depth > 64) throw Stuck("a layout nested more than 64 deep");
    std::vector<std::string_view> a = items(shape), b = items(stride);
    if (a.size() == 1 && b.empty())
      shape = a[0];
    else if (b.size() == 1 && a.empty())
      stride = b[0];
    else
      return;
  }
}

// Modes side by side. Congruent or refused: a stride that belongs to no extent would otherwise be another layout than the one that was meant.
void zip(std::string_view shape, std::string_view stride, std::vector<Mode>& out, int depth) {
  if (depth > 64) throw Stuck("a layout nested more than 64 deep");
  peel(shape, stride);
  std::vector<std::string_view> a = items(shape), b = items(stride);
  if (a.empty() && b.empty()) {
    out.push_back({read_expression(shape), read_expression(stride)});
    return;
  }
  if (a.size() != b.size())
    throw Stuck("shape and stride are not congruent: " + std::string(shape) + " : " + std::string(stride));
  for (std::size_t k = 0; k < a.size(); ++k) zip(a[k], b[k], out, depth + 1);
}

std::vector<std::vector<Mode>> read_modes(std::string_view text) {
  std::vector<std::string_view> halves = pieces(text, ":");
  // Exactly one colon outside of parentheses: shape and stride are one each.
  if (halves.size() != 2) throw Stuck("no layout: " + std::string(text));
  peel(halves[0], halves[1]);
  std::vector<std::string_view> shape = items(halves[0]), stride = items(halves[1]);
  std::vector<std::vector<Mode>> out;
  if (shape.empty() && stride.empty()) {
    out.emplace_back();
    zip(halves[0], halves[1], out.back(), 0);
    return out;
  }
  if (shape.size() != stride.size()) throw Stuck("shape and stride are not congruent: " + std::string(text));
  for (std::size_t k = 0; k < shape.size(); ++k) {
    out.emplace_back();
    zip(shape[k], stride[k], out.back(), 0);
  }
  return out;
}

// Up to 60, so that every shift by sums of two of them fits a Number.
Number small(std::string_view text) {
  Expr e = read_expression(text);
  Number sign = 1;
  if (e->op == "neg") e = e->args[0], sign = -1;
  if (e->op != "int" || e->value > 60) throw Stuck("not a small number: " + std::string(text));
  return sign * e->value;
}

bool read_swizzle(std::string_view step, Stage& s) {
  if (step.substr(0, 3) != "Sw<" && step.substr(0, 2) != "S<" && step.substr(0, 8) != "Swizzle<")
    return false;
  if (step.back() != '>') throw Stuck("no swizzle: " + std::string(step));
  std::string_view inside = step.substr(step.find('<') + 1);
  std::vector<std::string_view> n = pieces(inside.substr(0, inside.size() - 1), ",");
  if (n.size() != 3) throw Stuck("no swizzle: " + std::string(step));
  s.bits = static_cast<int>(small(n[0])), s.base = static_cast<int>(small(n[1])),
  s.shift = static_cast<int>(small(n[2]));
  // The same conditions as the prover's parser has, stated once more: with overlapping fields a swizzle is no bijection, and all that is
  // said of outer swizzles is wrong.
  int distance = s.shift < 0 ? -s.shift : s.shift;
  if (s.bits < 0 || s.base < 0 || distance < s.bits || s.bits + s.base + distance > 62)
    throw Stuck("no swizzle: " + std::string(step));
  return true;
}

} // namespace

Expr read_expression(std::string_view text) { return Reader(strip(text)).all(); }

Function read_function(std::string_view text, std::string_view domain) {
  Function f;
  // With its blanks: `o` alone may be a symbol's name.
  std::vector<std::string_view> steps = pieces(strip(text), " o ");
  for (std::size_t k = 0; k + 1 < steps.size(); ++k) {
    std::string_view step = steps[k];
    Stage s;
    if (read_swizzle(step, s)) {
      if (s.bits == 0) continue; // the identity
    } else if (pieces(step, ":").size() == 2) {
      s.modes = read_modes(step);
    } else {
      s.offset = read_expression(step);
    }
    f.outer.push_back(s);
  }
  std::string_view core = steps.back();
  // A top-level mode is one coordinate, whatever modes it is made of.
  auto product = [](const std::vector<Mode>& modes) {
    Expr e = modes[0].extent;
    for (std::size_t k = 1; k < modes.size(); ++k) e = node("*", {e, modes[k].extent});
    return e;
  };
  if (domain.empty()) {
    f.layout = read_modes(core);
    for (const auto& group : f.layout) f.extents.push_back(product(group));
    return f;
  }
  std::size_t arrow = core.find("->");
  if (Stage last; arrow == std::string_view::npos && read_swizzle(core, last)) {
    // A swizzle alone is a function of the index.
    if (last.bits > 0) f.outer.push_back(last);
    f.coordinates = {"i"};
    f.formula = read_expression("i");
  } else if (arrow == std::string_view::npos) {
    // The index itself, where no coordinates are named. A symbol called i cannot be meant then.
    f.coordinates = {"i"};
    f.formula = read_expression(core);
  } else {
    std::string_view head = strip(core.substr(0, arrow));
    if (head.size() > 1 && head.front() == '(' && head.back() == ')') head = head.substr(1, head.size() - 2);
    for (std::string_view name : pieces(head, ",")) f.coordinates.emplace_back(name);
    f.formula = read_expression(core.substr(arrow + 2));
  }
  std::vector<std::string_view> extents = items(strip(domain));
  if (extents.empty()) extents = {strip(domain)};
  for (std::string_view e : extents) f.extents.push_back(read_expression(e));
  // One extent too few would leave a coordinate without a range, and a claim about all integers in its place.
  if (f.extents.size() != f.coordinates.size()) throw Stuck("the domain does not fit the coordinates");
  return f;
}

// Nothing is passed over but notes and claims, which are for people: a line that was skipped could be a condition. What is stated twice
// is refused, as another reader might take the other one.
Statement read_statement(std::string_view head) {
  Statement s;
  std::vector<std::string> domains;
  bool property = false;
  std::size_t begin = 0;
  while (begin < head.size()) {
    std::size_t end = std::min(head.find('\n', begin), head.size());
    std::string_view line = head.substr(begin, end - begin);
    begin = end + 1;
    if (line == "; inlay certificate 1") continue;
    // `; key value`, the value as it stands to the end of the line: it may hold blanks, colons and
    // semicolons.
    std::size_t space = line.find(' ', 2);
    if (line.substr(0, 2) != "; " || space == std::string_view::npos)
      throw Stuck("a line that is none of a certificate: " + std::string(line.substr(0, 80)));
    std::string key(line.substr(2, space - 2)), value(line.substr(space + 1));
    if (key == "property") {
      if (property) throw Stuck("two properties");
      property = true;
      // Part of the property, as it makes another claim of it.
      std::string mode = " --by-mode";
      s.by_mode = value.size() > mode.size() && value.substr(value.size() - mode.size()) == mode;
      s.property = s.by_mode ? value.substr(0, value.size() - mode.size()) : value;
    } else if (key == "method") {
      s.method = value;
    } else if (key == "argument") {
      s.arguments.push_back(value);
      domains.emplace_back();
      // Of the argument before it, and one at most.
    } else if (key == "domain" && !domains.empty() && domains.back().empty()) {
      domains.back() = value;
    } else if (key == "term") {
      s.terms.push_back(read_expression(value));
    } else if (key == "where") {
      s.facts.push_back(read_expression(value));
    } else if (key == "example") {
      std::size_t is = value.find(" = ");
      if (is == std::string::npos) throw Stuck("an example without a value");
      Expr n = read_expression(value.substr(is + 3));
      // A number as it is printed, not a formula: an example is to be plugged in, with nothing to work out.
      bool negative = n->op == "neg";
      if (negative) n = n->args[0];
      if (n->op != "int") throw Stuck("an example that is not a number");
      if (!s.example.emplace(value.substr(0, is), negative ? -n->value : n->value).second)
        throw Stuck("an example twice");
    } else if (key == "arch" || key == "access" || key == "element-bytes" || key == "lines") {
      // Whichever of two would be taken, a reader could have meant the other one.
      if (!s.settings.emplace(key, value).second) throw Stuck("the setting " + key + " twice");
    } else if (key == "symbol" || key == "let" || key == "digits" || key == "through" || key == "core" ||
               key == "named" || key == "case" || key == "quotient" || key == "cut" || key == "residues" ||
               key == "bounds") {
      s.hints.emplace_back(key, value);
    } else if (key != "note" && key != "claim") {
      throw Stuck("a line that is none of a certificate: " + std::string(line.substr(0, 80)));
    }
  }
  // Only now, as a domain stands in the line after its argument.
  for (std::size_t k = 0; k < s.arguments.size(); ++k)
    s.functions.push_back(read_function(s.arguments[k], domains[k]));
  // A claim with an argument too many would be about something else than what a reader sees.
  std::map<std::string, std::pair<std::size_t, std::size_t>> known{
      {"equal", {2, 0}},         {"injective", {1, 0}}, {"bijective", {1, 0}}, {"disjoint", {2, 0}},
      {"covers", {1, 1}},        {"within", {1, 1}},    {"aligned", {1, 1}},   {"inverse", {2, 0}},
      {"conflict-free", {1, 0}}, {"coalesced", {1, 0}}};
  auto it = known.find(s.property);
  if (it == known.end()) throw Stuck("no property: " + s.property);
  if (it->second != std::pair{s.functions.size(), s.terms.size()})
    throw Stuck("the wrong number of arguments for " + s.property);
  return s;
}

void collect_names(const Expr& e, std::vector<std::string>& out) {
  if (e->op == "name" && std::find(out.begin(), out.end(), e->name) == out.end()) out.push_back(e->name);
  for (const Expr& a : e->args) collect_names(a, out);
}

// A name that is a coordinate of one function may be a symbol elsewhere: in a condition it is always a symbol.
std::vector<std::string> symbols_of(const Statement& s) {
  std::vector<std::string> out;
  auto add_modes = [&](const std::vector<std::vector<Mode>>& groups) {
    for (const auto& g : groups)
      for (const Mode& m : g) collect_names(m.extent, out), collect_names(m.stride, out);
  };
  for (const Function& f : s.functions) {
    for (const Stage& stage : f.outer) {
      add_modes(stage.modes);
      if (stage.offset) collect_names(stage.offset, out);
    }
    add_modes(f.layout);
    for (const Expr& e : f.extents) collect_names(e, out);
    if (!f.formula) continue;
    std::vector<std::string> inside;
    collect_names(f.formula, inside);
    for (const std::string& n : inside)
      if (std::find(f.coordinates.begin(), f.coordinates.end(), n) == f.coordinates.end() &&
          std::find(out.begin(), out.end(), n) == out.end())
        out.push_back(n);
  }
  for (const Expr& e : s.terms) collect_names(e, out);
  for (const Expr& e : s.facts) collect_names(e, out);
  // Sorted, so that the derived queries are the same text whenever they are derived: the file's have to be
  // equal to them.
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace inlay::solver::independent
