/// The claim of a certificate, read again by somebody who has never met the prover.
///
/// recheck() must not believe what a certificate says about itself. So the lines that state the claim (property,
/// arguments, domains, facts) are parsed here by a reader of their own, and what has to be shown is derived from them
/// (derive.h). Nothing of arithmetic/, questions/ and layers/ but smt.h is included in this derivation: a mistake there is not
/// repeated here. The language is the one of prove.h; what a reader does not know is refused, never skipped.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay::solver::independent {

using Number = __int128;

/// The claim cannot be read, evaluated or derived; the text says why.
struct Stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The claim was evaluated by its definition and does not hold.
struct False : Stuck {
  using Stuck::Stuck;
};

/// n, or Stuck for -2^127, which cannot be negated; no other operation gives it.
[[nodiscard]] Number negatable(Number n);
[[nodiscard]] Number plus(Number a, Number b);
[[nodiscard]] Number times(Number a, Number b);
[[nodiscard]] Number quotient(Number a, Number b); ///< rounds towards minus infinity
[[nodiscard]] std::string text(Number n);

struct Expression;
using Expr = std::shared_ptr<const Expression>;
/// op is "int", "name", an infix operator as written ("/" for "//"), "neg", "!", "min", "max" or "select".
struct Expression {
  std::string op;
  Number value = 0;
  std::string name;
  std::vector<Expr> args;
};

[[nodiscard]] Expr read_expression(std::string_view text);

struct Mode {
  Expr extent, stride;
};
struct Stage { // a layout when it has modes, a swizzle when it has bits, else an offset
  std::vector<std::vector<Mode>> modes;
  int bits = 0, base = 0, shift = 0;
  Expr offset;
};
struct Function {
  std::vector<Stage> outer;              // outermost first
  std::vector<std::vector<Mode>> layout; // or
  std::vector<std::string> coordinates;  // a formula
  std::vector<Expr> extents;             // of the top-level coordinates, both kinds
  Expr formula;
};
[[nodiscard]] Function read_function(std::string_view text, std::string_view domain);

/// Everything above the first query, line by line.
struct Statement {
  std::string property, method;
  bool by_mode = false;
  std::vector<std::string> arguments;
  std::vector<Function> functions;
  std::vector<Expr> terms, facts;
  std::map<std::string, Number> example;       // values at which the facts are said to hold
  std::map<std::string, std::string> settings; // arch, access, element-bytes, lines
  /// Errors: Stuck, where it has none of that name.
  [[nodiscard]] const std::string& setting(const char* key) const {
    const auto it = settings.find(key);
    if (it == settings.end()) throw Stuck(std::string("no ") + key);
    return it->second;
  }
  /// symbol, let, named, digits, through, core, residues, bounds; of pieces case, quotient and cut as well, a case's lines after it.
  std::vector<std::pair<std::string, std::string>> hints;
};
/// Errors: Stuck, with the line.
[[nodiscard]] Statement read_statement(std::string_view head);

/// Names in it that are not coordinates of a function.
void collect_names(const Expr& e, std::vector<std::string>& out);
[[nodiscard]] std::vector<std::string> symbols_of(const Statement& s);

/// One evaluation of the language for numbers and for polynomials: `A` has Value, number, add, multiply, divide, modulo,
/// bitwise, compare, truth.
template <class A>
class Evaluation {
public:
  using Value = typename A::Value;
  explicit Evaluation(A& algebra) : a_(algebra) {}

  Value expression(const Expr& e, const std::map<std::string, Value>& names) {
    if constexpr (requires { A::whole(e, names); }) return A::whole(e, names); // texts stay as they are
    if (e->op == "int") return a_.number(e->value);
    if (e->op == "name") {
      auto it = names.find(e->name);
      if (it == names.end()) throw Stuck("nothing is known about " + e->name);
      return it->second;
    }
    if (e->op == "select") return expression(e->args[a_.truth(expression(e->args[0], names)) ? 1 : 2], names);
    std::vector<Value> v;
    for (const Expr& x : e->args) v.push_back(expression(x, names));
    if (e->op == "+") return a_.add(v[0], v[1]);
    if (e->op == "-") return a_.add(v[0], a_.multiply(a_.number(-1), v[1]));
    if (e->op == "neg") return a_.multiply(a_.number(-1), v[0]);
    if (e->op == "*") return a_.multiply(v[0], v[1]);
    if (e->op == "/") return a_.divide(v[0], v[1]);
    if (e->op == "%") return a_.modulo(v[0], v[1]);
    if (e->op == "<<") return a_.multiply(v[0], a_.power(v[1]));
    if (e->op == ">>") return a_.divide(v[0], a_.power(v[1]));
    if (e->op == "&" || e->op == "|" || e->op == "^") return a_.bitwise(e->op[0], v[0], v[1]);
    if constexpr (requires { a_.choice(false, v[0], v[1]); })
      if (e->op == "min" || e->op == "max")
        if (auto chosen = a_.choice(e->op == "min", v[0], v[1])) return *chosen;
    if (e->op == "min") return a_.compare("<=", v[0], v[1]) ? v[0] : v[1];
    if (e->op == "max") return a_.compare("<=", v[0], v[1]) ? v[1] : v[0];
    if (e->op == "!") return a_.number(a_.truth(v[0]) ? 0 : 1);
    if (e->op == "&&") return a_.number(a_.truth(v[0]) && a_.truth(v[1]) ? 1 : 0);
    if (e->op == "||") return a_.number(a_.truth(v[0]) || a_.truth(v[1]) ? 1 : 0);
    return a_.number(a_.compare(e->op, v[0], v[1]) ? 1 : 0);
  }

  Value flat(const std::vector<Mode>& modes, Value x, const std::map<std::string, Value>& symbols) {
    Value sum = a_.number(0);
    for (std::size_t k = 0; k < modes.size(); ++k) {
      Value stride = expression(modes[k].stride, symbols);
      if (k + 1 == modes.size()) return a_.add(sum, a_.multiply(x, stride));
      Value extent = expression(modes[k].extent, symbols);
      sum = a_.add(sum, a_.multiply(a_.modulo(x, extent), stride));
      x = a_.divide(x, extent);
    }
    return sum;
  }

  Value stages(const std::vector<Stage>& outer, Value x, const std::map<std::string, Value>& symbols) {
    for (std::size_t k = outer.size(); k-- > 0;) {
      const Stage& s = outer[k];
      if (!s.modes.empty()) {
        std::vector<Mode> all;
        for (const auto& group : s.modes) all.insert(all.end(), group.begin(), group.end());
        x = flat(all, x, symbols);
      } else if (s.offset) {
        x = a_.add(x, expression(s.offset, symbols));
      } else if (s.bits > 0) {
        // bits [from, from + bits) are xored onto [to, to + bits)
        int from = s.base + (s.shift > 0 ? s.shift : 0), to = s.base + (s.shift < 0 ? -s.shift : 0);
        Value field = a_.modulo(a_.divide(x, a_.number(Number{1} << from)), a_.number(Number{1} << s.bits));
        x = a_.bitwise('^', x, a_.multiply(field, a_.number(Number{1} << to)));
      }
    }
    return x;
  }

  Value at(const Function& f, const std::vector<Value>& coordinates,
           const std::map<std::string, Value>& symbols) {
    Value x = a_.number(0);
    if (f.formula) {
      std::map<std::string, Value> names = symbols;
      for (std::size_t k = 0; k < coordinates.size(); ++k) names[f.coordinates[k]] = coordinates[k];
      x = expression(f.formula, names);
    } else {
      for (std::size_t k = 0; k < f.layout.size(); ++k)
        x = a_.add(x, flat(f.layout[k], coordinates[k], symbols));
    }
    return stages(f.outer, x, symbols);
  }

  Value at_index(const Function& f, Value index, const std::map<std::string, Value>& symbols) {
    if (!f.formula) {
      std::vector<Mode> all;
      for (const auto& group : f.layout) all.insert(all.end(), group.begin(), group.end());
      return stages(f.outer, flat(all, index, symbols), symbols);
    }
    std::vector<Value> coordinates;
    for (std::size_t k = 0; k < f.extents.size(); ++k) {
      if (k + 1 == f.extents.size()) {
        coordinates.push_back(index);
        break;
      }
      Value e = expression(f.extents[k], symbols);
      coordinates.push_back(a_.modulo(index, e));
      index = a_.divide(index, e);
    }
    return at(f, coordinates, symbols);
  }

private:
  A& a_;
};

} // namespace inlay::solver::independent
