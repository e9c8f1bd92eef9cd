/// Words of 32 bits as numbers of the field, in one form for both sides.
///
/// A word as an integer with a sign is a number of the field. What is added modulo 2^32 is a sum of such numbers, each with a factor modulo
/// 2^32, and is kept as that: order and brackets do not matter, how often each is added does. A greatest or a least is a set, of which order and
/// repetition do not matter; with a sign and without one are other sets. Equal forms get one number, others get one with
/// a chance of 2^-61 a pair.
///
///     i.sum(i.sum(x, y), z) == i.sum(z, i.sum(y, x)),   i.sum(x, x) != x,   i.extreme(x, x, Monoid::signed_max) == x
///
/// A formula of few parts is a sum of its monomials, so that x + 1 of a map and y are x + y + 1; where all of it lies in i32 it is the number
/// that the formula is.
#pragma once

#include "formulas.h"
#include "values.h"

#include <inlay/codegen/expression.h>

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace inlay::kernels::validate {

class Integers {
public:
  Integers(Formulas& formulas, Extremes& of_numbers) : formulas_(formulas), signed_(of_numbers) {}

  /// What one side calls things.
  struct Names {
    std::function<Sym(Sym)> fixed;        ///< a formula with what a path says put in
    std::function<Number(Sym)> number;    ///< what an integer with that formula is
    std::function<Number(Sym)> condition; ///< d >= 0
    std::function<void(Sym)> said;        ///< hears of monomials; may be empty
  };
  struct Part {
    Number of = 0;
    std::uint32_t times = 1;
  };
  /// The number of the word that is congruent to a formula.
  [[nodiscard]] Number of(Sym formula, const Names& names);
  /// `constant` and the parts, each so many times, modulo 2^32.
  [[nodiscard]] Number sum(std::span<const Part> parts, std::uint32_t constant, const Names& names);
  [[nodiscard]] Number sum(Number a, Number b, const Names& names) {
    const Part both[] = {{a, 1}, {b, 1}};
    return sum(both, 0, names);
  }
  /// Requires: `monoid` is signed_max, signed_min, unsigned_max or unsigned_min.
  [[nodiscard]] Number extreme(Number a, Number b, codegen::Monoid monoid);
  /// A formula of few parts that is congruent to the word; else a symbol for it.
  [[nodiscard]] Sym formula_of(Number word) const;
  /// More parts than a formula is made of.
  static constexpr std::size_t few = Formulas::few;

private:
  struct Sum {
    std::uint32_t constant = 0;
    std::vector<Part> parts; ///< sorted, none 0 times
  };
  [[nodiscard]] Sum parts_of(Number word, const Names& names);
  [[nodiscard]] Sum parts_of(Sym formula, const Names& names);
  [[nodiscard]] Number monomial(Sym m, const Names& names);
  [[nodiscard]] Number number_of(Sum sum, const Names& names);
  [[nodiscard]] Sym monomial_of(Number word) const;
  [[nodiscard]] bool in_i32(Sym s) const;
  static void add(Sum& to, const Sum& from, std::uint32_t times);
  static Sum merged(Sum s);

  Formulas& formulas_;
  Extremes& signed_;
  Extremes unsigned_;
  std::unordered_map<Number, Sum> sums_;
  std::unordered_map<Number, Sym> formula_;   ///< of monomials, and of numbers in range
  std::unordered_set<Number> of_unsigned_[2]; ///< results, of min and of max
};

} // namespace inlay::kernels::validate
