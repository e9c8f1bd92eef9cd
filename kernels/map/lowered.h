/// The functions of formulas, each written once in what a map has: + - * /, exp, log, sqrt, max, min, select.
///
/// erf is formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions, 1964: within 1.5e-7. tanh is 1 - 2 / (exp(2 x) + 1)
/// and softplus max(x, 0) + log(1 + exp(-|x|)): neither overflows.
#pragma once

#include "../program_names.h"
#include "language.h"

namespace inlay::kernels {

/// What a function makes of its operands. `constant(number)` is a number of type T, `approximated(x, by)` a number that differs from what
/// is meant by so much at most.
template <class T, class Constant, class Approximated>
[[nodiscard]] T lowered(const std::string& f, const std::vector<T>& x, const Constant& constant,
                        const Approximated& approximated) {
  const auto abs = [&](T a) { return max(a, a * -1.0); };
  const auto sigmoid = [&](T a) { return 1.0 / (exp(a * -1.0) + 1.0); };
  const auto tanh = [&](T a) { return 1.0 - 2.0 / (exp(a * 2.0) + 1.0); };
  const auto softplus = [&](T a) { return max(a, constant(0)) + log(exp(abs(a) * -1.0) + 1.0); };
  const auto erf = [&](T a) {
    const T t = 1.0 / (abs(a) * 0.3275911 + 1.0);
    T sum = t * 1.061405429;
    for (const double c : {-1.453152027, 1.421413741, -0.284496736, 0.254829592}) sum = (sum + c) * t;
    const T y = approximated(1.0 - sum * exp(a * a * -1.0), 1.5e-7);
    return select(a, constant(0), y, y * -1.0);
  };
  if (f == "+") return x[0] + x[1];
  if (f == "-") return x[0] - x[1];
  if (f == "*") return x[0] * x[1];
  if (f == "/") return x[0] / x[1];
  if (f == "neg") return x[0] * -1.0;
  if (f == "abs") return abs(x[0]);
  if (f == "and") return x[0] & x[1];
  if (f == "bits") return float_bits(x[0]);
  if (f == "choose") return choose(x[0], x[1], x[2]);
  if (f == "clamp") return min(max(x[0], x[1]), x[2]);
  if (f == "equal") return equal(x[0], x[1]);
  if (f == "erf") return erf(x[0]);
  if (f == "exp") return exp(x[0]);
  if (f == "exp2") return exp2(x[0]);
  if (f == "float") return to_number(x[0]);
  if (f == "from_bits") return from_bits(x[0]);
  if (f == "gelu") return x[0] * 0.5 * (erf(x[0] * 0.70710678118654752) + 1.0);
  if (f == "gelu_tanh")
    return x[0] * 0.5 * (tanh((x[0] + x[0] * x[0] * x[0] * 0.044715) * 0.79788456080286536) + 1.0);
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
  if (f == "mish") return x[0] * tanh(softplus(x[0]));
  if (f == "mul_hi") return mul_hi(x[0], x[1]);
  if (f == "not") return ~x[0];
  if (f == "or") return x[0] | x[1];
  if (f == "popcount") return popcount(x[0]);
  if (f == "rcp") return 1.0 / x[0];
  if (f == "relu") return max(x[0], constant(0));
  if (f == "round") return nearest(x[0]);
  if (f == "rsqrt") return rsqrt(x[0]);
  if (f == "sar") return shift_right_signed(x[0], x[1]);
  if (f == "select") return select(x[0], x[1], x[2], x[3]);
  if (f == "shl") return x[0] << x[1];
  if (f == "shr") return x[0] >> x[1];
  if (f == "sigmoid") return sigmoid(x[0]);
  if (f == "silu") return x[0] / (exp(x[0] * -1.0) + 1.0);
  if (f == "softplus") return softplus(x[0]);
  if (f == "sqrt") return sqrt(x[0]);
  if (f == "square") return x[0] * x[0];
  if (f == "trailing_zeros") return trailing_zeros(x[0]);
  if (f == "trunc") return truncated(x[0]);
  if (f == "ufloat") return to_number_unsigned(x[0]);
  if (f == "uless") return less_unsigned(x[0], x[1]);
  if (f == "xor") return x[0] ^ x[1];
  return tanh(x[0]); // of the list (language.cpp) what is left
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
