/// The functions of formulas, each written once in what a map has: + - * /, exp, log, sqrt, max, min, select, and codegen/functions.h.
#pragma once

#include "../program_names.h"
#include "language.h"

#include <inlay/codegen/functions.h>

namespace inlay::kernels {

/// What a function makes of its operands. `constant(number)` is a number of type T, `approximated(x, by)` a number that differs from what
/// is meant by so much at most.
template <class T, class Constant, class Approximated>
[[nodiscard]] T lowered(const std::string& f, const std::vector<T>& x, const Constant& constant,
                        const Approximated& approximated) {
  namespace functions = codegen::functions;
  if (f == "+") return x[0] + x[1];
  if (f == "-") return x[0] - x[1];
  if (f == "*") return x[0] * x[1];
  if (f == "/") return x[0] / x[1];
  if (f == "neg") return x[0] * -1.0;
  if (f == "abs") return functions::abs(x[0]);
  if (f == "and") return x[0] & x[1];
  if (f == "bits") return float_bits(x[0]);
  if (f == "choose") return choose(x[0], x[1], x[2]);
  if (f == "clamp") return min(max(x[0], x[1]), x[2]);
  if (f == "equal") return equal(x[0], x[1]);
  if (f == "erf") return functions::erf(x[0], constant, approximated);
  if (f == "exp") return exp(x[0]);
  if (f == "exp2") return exp2(x[0]);
  if (f == "float") return to_number(x[0]);
  if (f == "from_bits") return from_bits(x[0]);
  if (f == "gelu") return functions::gelu(x[0], constant, approximated);
  if (f == "gelu_tanh") return functions::gelu_tanh(x[0]);
  if (f == "iadd") return x[0] + x[1];
  if (f == "imul") return x[0] * x[1];
  if (f == "int") return integer(x[0]);
  if (f == "isub") return x[0] - x[1];
  if (f == "leading_zeros") return leading_zeros(x[0]);
  if (f == "less") return less_signed(x[0], x[1]);
  if (f == "log") return log(x[0]);
  if (f == "log2") return log2(x[0]);
  if (f == "max") return max(x[0], x[1]);
  if (f == "min") return min(x[0], x[1]);
  if (f == "mish") return functions::mish(x[0], constant);
  if (f == "mul_hi") return mul_hi(x[0], x[1]);
  if (f == "not") return ~x[0];
  if (f == "or") return x[0] | x[1];
  if (f == "popcount") return popcount(x[0]);
  if (f == "rcp") return 1.0 / x[0];
  if (f == "relu") return functions::relu(x[0], constant);
  if (f == "round") return nearest(x[0]);
  if (f == "rsqrt") return rsqrt(x[0]);
  if (f == "sar") return shift_right_signed(x[0], x[1]);
  if (f == "select") return select(x[0], x[1], x[2], x[3]);
  if (f == "shl") return x[0] << x[1];
  if (f == "shr") return x[0] >> x[1];
  if (f == "sigmoid") return functions::sigmoid(x[0]);
  if (f == "silu") return functions::silu(x[0]);
  if (f == "softplus") return functions::softplus(x[0], constant);
  if (f == "sqrt") return sqrt(x[0]);
  if (f == "square") return x[0] * x[0];
  if (f == "trailing_zeros") return trailing_zeros(x[0]);
  if (f == "trunc") return truncated(x[0]);
  if (f == "ufloat") return to_number_unsigned(x[0]);
  if (f == "uless") return less_unsigned(x[0], x[1]);
  if (f == "xor") return x[0] ^ x[1];
  return functions::tanh(x[0]); // of the list (language.cpp) what is left
}

/// The values of all assignments, from those of the inputs.
template <class T, class Constant, class Approximated>
[[nodiscard]] std::vector<T> lowered(const Formulas& formulas, const std::vector<T>& inputs,
                                     const Constant& constant, const Approximated& approximated) {
  return evaluated<T>(formulas, inputs, constant, [&](const std::string& f, const std::vector<T>& x) {
    return lowered(f, x, constant, approximated);
  });
}

/// The same as expressions of a program.
[[nodiscard]] inline std::vector<Expr> expressions_of(Program& k, const Formulas& formulas,
                                                      const Exprs& inputs) {
  return lowered<Expr>(
      formulas, inputs,
      [&](double value, bool integer = false) {
        return integer ? k.integer(static_cast<std::int64_t>(value)) : k.constant(value);
      },
      [](Expr e, double) { return e; });
}

} // namespace inlay::kernels
