/// Formulas of elements as text: `y = silu(a) * b + c`, several of them separated by `;`.
///
///     formulas    name = expression [; name = expression ...]
///     expression  + - * / ^ and unary -, parentheses, numbers, names, functions, a >= b ? x : y (also > <= <)
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
  std::string function{}; ///< `+`, `neg`, `silu`, `select`
  std::vector<int> arguments{};
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

  /// Its number, -1 where there is none.
  [[nodiscard]] int name_of(const std::string& name) const;
  [[nodiscard]] bool reads(const std::string& name) const;
  [[nodiscard]] bool writes(const std::string& name) const;
};

/// Errors: std::invalid_argument, with the place in the text and what would do.
[[nodiscard]] Formulas parse_formulas(const std::string& text);
/// `abs(x), clamp(x, low, high), ...`: the functions there are.
[[nodiscard]] std::string formula_functions();

/// The values of all assignments, where `call` says what each function makes of its operands.
template <class T, class Constant, class Call>
[[nodiscard]] std::vector<T> evaluated(const Formulas& formulas, const std::vector<T>& inputs,
                                       const Constant& constant, const Call& call) {
  std::vector<T> now(formulas.names.size(), constant(0)), out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    now[static_cast<std::size_t>(formulas.name_of(formulas.inputs[i]))] = inputs[i];
  const std::function<T(int)> value = [&](int node) {
    const FormulaNode& n = formulas.nodes[static_cast<std::size_t>(node)];
    if (n.kind == FormulaNode::Kind::number) return constant(n.value);
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
};

/// The values of all assignments by definition, in double; `inputs` in their order.
[[nodiscard]] std::vector<double> defined(const Formulas& formulas, const std::vector<double>& inputs);
/// The same as f32 computes it, with a bound of the error of each operation carried on. The value is not the reference, the error is.
[[nodiscard]] std::vector<Bounded> carried(const Formulas& formulas, const std::vector<double>& inputs);

} // namespace inlay::kernels
