/// Functions that are formulas of what a map has: + - * /, exp, log, max, select, nearest. Claims and validation know them already.
///
///     k.map({x}, [](const Exprs& v) { return silu(v[0]); })
///
/// erf is formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions, 1964: within 1.5e-7, which a specification that says
/// `erf` has, too. tanh is 1 - 2 / (exp(2 x) + 1) and softplus max(x, 0) + log(1 + exp(-|x|)): neither overflows. In f32 tanh is
/// within 3e-7 and erf within 6e-7, also near 0, where that is no small part of their value.
#pragma once

#include <inlay/codegen/expression.h>

namespace inlay::codegen {

/// The same for any type of numbers T that has these operations, as one that carries bounds of errors. `constant(number)` is a number of
/// type T, `approximated(x, by)` a number that differs from what is meant by so much at most.
namespace functions {

template <class T>
[[nodiscard]] T abs(T a) {
  return max(a, a * -1.0);
}
template <class T>
[[nodiscard]] T sigmoid(T a) {
  return 1.0 / (exp(a * -1.0) + 1.0);
}
template <class T>
[[nodiscard]] T silu(T a) {
  return a / (exp(a * -1.0) + 1.0);
}
template <class T>
[[nodiscard]] T tanh(T a) {
  return 1.0 - 2.0 / (exp(a * 2.0) + 1.0);
}
template <class T, class Constant>
[[nodiscard]] T relu(T a, const Constant& constant) {
  return max(a, constant(0));
}
template <class T, class Constant>
[[nodiscard]] T softplus(T a, const Constant& constant) {
  return max(a, constant(0)) + log(exp(functions::abs(a) * -1.0) + 1.0);
}
template <class T, class Constant>
[[nodiscard]] T mish(T a, const Constant& constant) {
  return a * functions::tanh(functions::softplus(a, constant));
}
template <class T, class Constant, class Approximated>
[[nodiscard]] T erf(T a, const Constant& constant, const Approximated& approximated) {
  const T t = 1.0 / (functions::abs(a) * 0.3275911 + 1.0);
  T sum = t * 1.061405429;
  for (const double c : {-1.453152027, 1.421413741, -0.284496736, 0.254829592}) sum = (sum + c) * t;
  const T y = approximated(1.0 - sum * exp(a * a * -1.0), 1.5e-7);
  return select(a, constant(0), y, y * -1.0);
}
template <class T, class Constant, class Approximated>
[[nodiscard]] T gelu(T a, const Constant& constant, const Approximated& approximated) {
  return a * 0.5 * (functions::erf(a * 0.70710678118654752, constant, approximated) + 1.0);
}
template <class T>
[[nodiscard]] T gelu_tanh(T a) {
  return a * 0.5 * (functions::tanh((a + a * a * a * 0.044715) * 0.79788456080286536) + 1.0);
}

} // namespace functions

/// @name Of expressions
/// @{
[[nodiscard]] Expr abs(Expr x);
[[nodiscard]] Expr erf(Expr x);
/// The greatest whole number that is not above x: `nearest(x)`, or one less where that is above. It jumps where x is rounded otherwise.
[[nodiscard]] Expr floor(Expr x);
[[nodiscard]] Expr gelu(Expr x);      ///< by erf
[[nodiscard]] Expr gelu_tanh(Expr x); ///< by tanh
[[nodiscard]] Expr mish(Expr x);
[[nodiscard]] Expr relu(Expr x);
[[nodiscard]] Expr sigmoid(Expr x);
[[nodiscard]] Expr silu(Expr x);
[[nodiscard]] Expr softplus(Expr x);
[[nodiscard]] Expr tanh(Expr x);
/// @}

} // namespace inlay::codegen
