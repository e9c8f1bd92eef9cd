/// Formulas of elements as text: `y = silu(a) * b + c`, several of them separated by `;`.
///
///     formulas    name = expression [; name = expression ...]
///     expression  + - * / ^ and unary -, parentheses, numbers, names, functions, a >= b ? x : y (also > <= <)
///
/// A number is f32. Beside numbers there are integers modulo 2^32, which are exact: `int(a)` of a name, `trunc(x)` of any number, `0x1f`, and
/// what + - * and functions make of integers: `y = xor(int(a) * 747796405 + 1, 5)`. A number written beside an integer is one.
///
/// A name on the left is an output; one that was read before it is written is an input, too, and in a later formula it stands for its new
/// value, before that is rounded: `m = 0.9 * m + 0.1 * g; p = p - 0.01 * m` is a step with momentum.
///
///     const Formulas f = parse_formulas("y = silu(a) * b + c");
///     f.inputs                                      // a, b, c
///     f.outputs                                     // y
///
/// Every function is written out once, for any type of numbers that adds, multiplies and so on: for expressions of a program
/// (codegen/expression.h), and for numbers in double with a bound of what f32 arithmetic errs (`Bounded`). Beside it stands its definition
/// by <cmath>, which is the reference.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace inlay::kernels {

struct FormulaNode {
  enum class Kind { number, name, call } kind = Kind::number;
  double value = 0;
  int name = -1;          ///< of Formulas::names
  std::string function{}; ///< `+`, `neg`, `silu`, `select`; of integers `iadd`, `isub`, `imul`
  std::vector<int> arguments{};
  bool integer = false;
};

struct Formulas {
  std::string text;
  std::vector<std::string> names;
  std::vector<FormulaNode> nodes; ///< operands before what they are operands of
  struct Assignment {
    int name = -1, value = -1; ///< a name, a node
  };
  std::vector<Assignment> assignments;
  std::vector<std::string> inputs,
      outputs; ///< in the order in which they occur; those that are both are in both
  std::vector<std::string> integers, codes, numbers; ///< inputs in int(a), in bits(a), and elsewhere

  /// Its number, -1 where there is none.
  [[nodiscard]] int name_of(const std::string& name) const;
  [[nodiscard]] bool reads(const std::string& name) const;
  [[nodiscard]] bool writes(const std::string& name) const;
  /// Whether an output is an integer.
  [[nodiscard]] bool integer(const std::string& output) const;
};

/// Errors: std::invalid_argument, with the place in the text and what would do.
[[nodiscard]] Formulas parse_formulas(const std::string& text);
/// `abs(x), clamp(x, low, high), ...`: the functions there are.
[[nodiscard]] std::string formula_functions();

/// The values of all assignments, where `constant(value, integer)` is a number and `call` says what each function makes of its operands.
template <class T, class Constant, class Call>
[[nodiscard]] std::vector<T> evaluated(const Formulas& formulas, const std::vector<T>& inputs,
                                       const Constant& constant, const Call& call) {
  std::vector<T> now(formulas.names.size(), constant(0, false)), out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    now[static_cast<std::size_t>(formulas.name_of(formulas.inputs[i]))] = inputs[i];
  const std::function<T(int)> value = [&](int node) {
    const FormulaNode& n = formulas.nodes[static_cast<std::size_t>(node)];
    if (n.kind == FormulaNode::Kind::number) return constant(n.value, n.integer);
    if (n.kind == FormulaNode::Kind::name) return now[static_cast<std::size_t>(n.name)];
    std::vector<T> operands;
    for (const int a : n.arguments) operands.push_back(value(a));
    return call(n.function, operands);
  };
  for (const Formulas::Assignment& a : formulas.assignments) {
    out.push_back(value(a.value));
    now[static_cast<std::size_t>(a.name)] = out.back();
  }
  return out;
}

/// A number and how far f32 arithmetic may be from it.
struct Bounded {
  double value = 0, error = 0;
  bool integer = false; ///< the value is in [0, 2^32), and is it (error 0) or may be any
};

/// The values of all assignments by definition, in double, integers as 0 to 2^32 - 1; `inputs` in their order.
[[nodiscard]] std::vector<double> defined(const Formulas& formulas, const std::vector<double>& inputs);
/// The same as f32 computes it, with a bound of the error of each operation carried on. The value is not the reference, the error is.
[[nodiscard]] std::vector<Bounded> carried(const Formulas& formulas, const std::vector<double>& inputs);

} // namespace inlay::kernels
