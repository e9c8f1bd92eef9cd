#include <inlay/codegen/small_numbers.h>

#include <inlay/codegen/error.h>

#include <cmath>

namespace inlay::codegen {
namespace {

const ElementFacts& fields_of(Element element, const char* function) {
  if (element != Element::e2m1 && element != Element::e2m3 && element != Element::e3m2)
    throw CodegenError(std::string(function) + ": " + to_string(element) + " is none of 4 or 6 bits", "",
                       "e2m1, e2m3, e3m2 or i4; a map takes elements of 8 bits and more as they are");
  return facts(element);
}
void check_kind(Expr e, bool integer, const char* function) {
  if (is_integer(e) != integer)
    throw CodegenError(std::string(function) + ": it takes " + (integer ? "an integer" : "a number"), "",
                       integer ? "integer(word) >> shift" : "to_number(word)");
}

} // namespace

Expr from_code(Element element, Expr code) {
  check_kind(code, true, "from_code");
  if (element == Element::i4) return to_number(shift_right_signed(code << 28, code.arena->integer(28)));
  const ElementFacts& of = fields_of(element, "from_code");
  const int exponent = of.exponent_bits, mantissa = of.mantissa_bits;
  // In units of the least number, all of them are whole.
  const Expr m = code & ((1 << mantissa) - 1), e = (code >> mantissa) & ((1 << exponent) - 1);
  const Expr size = choose(e, (m | (1 << mantissa)) << (e - 1), m);
  const Expr sign = (code >> (exponent + mantissa)) & 1;
  return to_number(choose(sign, code.arena->integer(0) - size, size)) * std::ldexp(1, 1 - of.bias - mantissa);
}

Expr to_code(Element element, Expr x) {
  check_kind(x, false, "to_code");
  Expressions& make = *x.arena;
  if (element == Element::i4)
    return truncated(nearest(max(min(x, make.constant(7)), make.constant(-8)))) & 15;
  const ElementFacts& of = fields_of(element, "to_code");
  const int exponent = of.exponent_bits, mantissa = of.mantissa_bits;
  const Expr size = min(max(x, 0 - x), make.constant(largest_finite(element)));
  // Of each exponent the codes follow one another, and those of the next one them: a tie goes to the even code either way.
  const auto steps = [&](int e) { return nearest(size * std::ldexp(1, of.bias + mantissa - e)); };
  Expr code = steps(1);
  for (int e = 2; e < 1 << exponent; ++e)
    code = select(size, make.constant(std::ldexp(1, e - of.bias)), steps(e) + ((e - 1) << mantissa), code);
  const Expr sign = select(x, make.constant(0), make.constant(0), make.constant(1 << (exponent + mantissa)));
  return truncated(code + sign);
}

} // namespace inlay::codegen
