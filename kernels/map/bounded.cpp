// The error of f32 arithmetic, carried on through formulas.
#include "functions.h"
#include "lowered.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace inlay::kernels {
namespace {

const double ulp = std::ldexp(1, -24), tiny = std::ldexp(1, -126), most = std::numeric_limits<float>::max();
using formula::functions, formula::modulo, formula::whole, formula::with_sign, formula::without_sign,
    formula::word;

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
  for (const formula::Function& f : functions())
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
static Bounded leading_zeros(Bounded a) { return of_words(word_function("leading_zeros", {a.value}), {a}); }
static Bounded trailing_zeros(Bounded a) { return of_words(word_function("trailing_zeros", {a.value}), {a}); }
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
