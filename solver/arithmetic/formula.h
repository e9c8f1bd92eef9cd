/// Formulas in the index, in coordinates and in symbols: `(r % 8) * 16 ^ c`, `min(m, M - 1) * ld`.
///
/// A formula is kept as it was written. Three readers use it and share nothing else: the lowering to digits
/// (lower.h), the writer of SMT-LIB (smt.h) and the naive evaluator here, which replays every counterexample.
///
/// Syntax: integers, names, `+ - * / % << >> & ^ |`, comparisons, `&& || !`, `min max select ceil_div`. `/`
/// (also
/// `//`) rounds towards minus infinity and `%` is what is left, as everywhere in inlay. Bit operators bind
/// tighter than comparisons, as in Python and unlike C; `select(c, a, b)` is a where c is not 0.
#pragma once

#include "arithmetic/poly.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace inlay::solver {

enum class Op {
  integer,
  name,
  add,
  sub,
  mul,
  div,
  mod,
  neg,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  min,
  max,
  select,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
  logical_not,
};

struct Formula;
using FormulaRef = std::shared_ptr<const Formula>;

struct Formula {
  Op op;
  Wide value = 0;   // integer
  std::string name; // name
  std::vector<FormulaRef> args;
};

[[nodiscard]] FormulaRef integer(Wide value);
[[nodiscard]] FormulaRef variable(std::string name);
[[nodiscard]] FormulaRef make(Op op, std::vector<FormulaRef> args);

/// Throws QuestionError with the position for malformed text, nesting beyond 200 and numbers beyond 2^63.
[[nodiscard]] FormulaRef parse_formula(std::string_view text);

/// The text again; parse_formula(to_string(f)) is f.
[[nodiscard]] std::string to_string(const FormulaRef& f);

/// Names in it, sorted.
[[nodiscard]] std::set<std::string> names_of(const FormulaRef& f);

/// Every occurrence of `name` replaced.
[[nodiscard]] FormulaRef replace(const FormulaRef& f, const std::string& name, const FormulaRef& by);

/// The value, by the definition of each operator; comparisons are 0 or 1. Throws QuestionError where the
/// formula divides by zero or shifts by a negative amount, Overflow beyond 128 bits.
[[nodiscard]] Wide evaluate(const FormulaRef& f, const std::function<Wide(const std::string&)>& lookup);

/// Is the operator a comparison or a logical connective?
[[nodiscard]] bool is_condition(Op op);

} // namespace inlay::solver
