/// Machine words as integer formulas, and what is known of them.
///
/// The formula of a word is a polynomial that is congruent to it modulo 2^32 (wide: 2^64); sums, differences, products and
/// left shifts need no more. Where the machine looks at the number itself (comparison, right shift, widening, minimum) the
/// formula is that number only if it lies in the word's range under the facts: that is decided first, and what cannot be
/// decided has no formula.
///
///     Formulas f(program, terms, {});
///     f.of(t)            // 2*k*_row + 64, when t holds that
///     f.condition(c)     // d such that c is 1 exactly when d >= 0
///
/// A comparison as unsigned of a number that may be negative with one that is not, and fits 31 bits, holds both ends: 0 <= x and x < y.
///
/// A program with an order of tiles computes the numbers of its tile by quotients. Each word that has the form of one of
/// the order's definitions is that definition's symbol, so that an address is the one of the code again:
///
///     8 strip + (id_x + tiles_x id_y - 8 tiles_x strip) - rows wg_x = wg_y
#pragma once

#include "flat.h"
#include "steps.h"

#include <inlay/algebra/sym.h>
#include <inlay/codegen/program.h>
#include <inlay/runtime/symbolic/quotient.h>
#include <inlay/solver/prover.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace inlay::kernels::validate {

using Word = runtime::symbolic::Term; ///< a machine word's formula; `Term` is algebra's
using runtime::symbolic::TermKind;
using runtime::symbolic::TermPart;
using runtime::symbolic::Terms;

class Formulas {
public:
  Formulas(const codegen::Program& program, Terms& terms);
  /// Quotients of words by words are read from the sequences that divide.
  void divide_by(runtime::symbolic::Quotients quotients) { quotients_.emplace(std::move(quotients)); }

  [[nodiscard]] std::optional<Sym> of(Word word);
  /// The word as the unsigned number that it is.
  [[nodiscard]] std::optional<Sym> number(Word word);
  /// The same where these hold.
  [[nodiscard]] std::optional<Sym> number(Word word, const std::vector<Sym>& at_least_0);
  [[nodiscard]] std::optional<Sym> signed_number(Word word) { return as_signed(of(word)); }
  /// Those that lie in the range of a word.
  [[nodiscard]] std::optional<Sym> as_signed(std::optional<Sym> s) {
    return in_range(s, -0x80000000LL, 0x7fffffffLL);
  }
  [[nodiscard]] std::optional<Sym> as_unsigned(std::optional<Sym> s) { return in_range(s, 0, 0xffffffffLL); }
  /// The word that bits, shifts, or the high half of a product (multiply_high_unsigned) make of two words that have these formulas.
  /// What is no polynomial is a symbol that is named by the operation and by what it is made of: the same operation of the same
  /// words is the same word, and nothing else is known of it but that it is one.
  [[nodiscard]] std::optional<Sym> operation(TermKind kind, Sym a, Sym b);
  /// Congruent modulo 2^32, with coefficients in [-2^31, 2^31).
  [[nodiscard]] static Sym reduced(Sym s);
  /// Conjunction of conditions d >= 0 in normal form; nothing when there is none. An empty one always holds.
  struct Condition {
    std::vector<Sym> all; ///< sorted
    bool never = false;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  [[nodiscard]] std::optional<Condition> condition(Word condition, bool value = true) {
    return this->condition(condition, value, contract_);
  }
  /// The same where `known` holds: x != y is x < y or x > y only when one of them cannot be.
  [[nodiscard]] std::optional<Condition> condition(Word condition, bool value,
                                                   const std::vector<std::string>& known);
  /// Each d of which d >= 0 may follow where the condition holds: of x != y both x < y and x > y, when neither is excluded.
  [[nodiscard]] std::vector<Sym> either(Word condition, bool value, const std::vector<std::string>& known);
  /// d >= 0 divided by what its coefficients have in common.
  [[nodiscard]] static Sym normal(Sym d);
  /// Adds d >= 0: drops what the ranges of the symbols decide.
  static void require(Condition& c, Sym d);

  /// The same with sizes as multiples of what they are multiples of, so that 8 n - 8 j >= 1 is n - j >= 1.
  [[nodiscard]] Condition canonical(const Condition& c) const;
  [[nodiscard]] Sym canonical(Sym s) const {
    if (const auto at = canonical_.find(s); at != canonical_.end()) return at->second;
    const Sym other = by_tables(multiples_.empty() ? s : substitute(s, multiples_));
    canonical_.try_emplace(s, other);
    return other;
  }

  /// The least and the largest of sums without what all of them have as a factor, so that 32 min(4, q) / 16 is 2 min(4, q).
  [[nodiscard]] static Sym without_factors(Sym s);

  /// With x - q floor(x / q), and each quotient that is left, as a symbol of its own that is known to lie in its range: of a
  /// place in an image, 128 w (x / q) + 128 (x - q (x / q)), it is 128 w D + 128 R. What holds of all such D and R holds of s.
  [[nodiscard]] Sym digits(Sym s);
  /// The range of a sum in which quotients by numbers are the fractions that they are, less what is cut off: of
  /// 421 x + floor((-3072173 x + 5) / 8388608), which grows with x, it is at least 0 where x is.
  [[nodiscard]] static Interval range_of_fractions(Sym s);
  /// By the ranges of its symbols.
  [[nodiscard]] static bool never_negative(Sym s);
  /// The most that s is where these hold: of x, and n - 1 - x at least 0, it is what it is of n - 1, if it grows with x.
  [[nodiscard]] std::optional<Int> most(Sym s, const std::vector<Sym>& at_least_0);
  /// With one quotient for all that are the same at each value of a symbol of few: of p below 18 it is p / 3, where a compiler
  /// has 171 p / 512.
  [[nodiscard]] Sym by_tables(Sym s) const;
  /// A condition d >= 0 on a symbol of few values as one on the symbol: 8 - (p + 2) / 2 is at least 0 where 15 - p is.
  [[nodiscard]] Sym as_bound(Sym d) const;

  /// Quotients of quotients by numbers as one: (x / a + c) / b is (x + a c) / (a b), as compilers and `of` have it.
  [[nodiscard]] static Sym one_quotient(Sym s);
  /// With x / d in place of floor(A x / D), D a power of two, as compilers divide by a constant: A d = D + e with e >= 0, and
  /// 0 <= e x < D for every x in its interval. Proof: with x = q d + r it is q + r / d + e x / (d D), and r / d <= 1 - 1 / d.
  /// The quotient may be the last of two, (floor(X / a) + Y) / b = floor((X + a Y) / (a b)).
  ///
  ///     (n + (-1431655765 n + 1431655829) / 4294967296 + 127) / 128     // is (n + 191) / 192 of 0 <= n < 2^31
  ///
  /// Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994), theorem 4.2.
  [[nodiscard]] static Sym by_division(Sym s);
  /// What stands for it in formulas of the code, in those with sizes as multiples, and in those of words.
  [[nodiscard]] std::vector<Sym> forms_of(Sym s) const {
    std::vector<Sym> out;
    for (const Sym& form : {s, canonical(s), one_quotient(s), canonical(one_quotient(s))})
      if (std::find(out.begin(), out.end(), form) == out.end()) out.push_back(form);
    return out;
  }

  /// Without what holds in every launch, of the conditions that `of` names, or of all.
  [[nodiscard]] Condition asked(const Condition& c, const std::function<bool(Sym)>& of = nullptr);
  /// In normal form, without what holds in every launch: what the sizes decide may be seen with them or with their parts alone.
  [[nodiscard]] Condition left_open(const Condition& c) { return asked(canonical(asked(c))); }
  [[nodiscard]] static bool has_quotient(Sym s);
  /// Whether a least or a largest of several is in it.
  [[nodiscard]] static bool has_extreme(Sym s);

  /// Facts of the launch contract as conditions, in the prover's syntax.
  [[nodiscard]] const std::vector<std::string>& contract() const { return contract_; }
  /// `known` and the conditions of a path that have a formula, each under those before it, in the prover's syntax.
  [[nodiscard]] const std::vector<std::string>& facts(const std::vector<std::string>& known,
                                                      const std::vector<std::pair<Word, bool>>& path);
  Steps* steps = nullptr; ///< of questions to the prover
  /// A launch that the contract allows: what is not so in it the prover is not asked.
  void launch(Assignment numbers);
  [[nodiscard]] Truth decide(bool equality, Sym a, Sym b, const std::vector<std::string>& facts);
  /// d >= 0 in the prover's syntax.
  [[nodiscard]] std::string fact(Sym d);

  /// What an element of memory holds as a 32-bit number without a sign, by the number that stands for the element's value.
  [[nodiscard]] Sym element(std::uint64_t value) const;
  /// Whether a word is a sum of more elements of memory than a formula is made of.
  [[nodiscard]] bool is_long_sum(Word word) const;
  static constexpr std::size_t few = 8;
  /// Whether it has such a symbol.
  [[nodiscard]] static bool has_element(Sym s);
  /// The larger of it as a number with a sign and 0: what a kernel bounds something by.
  [[nodiscard]] Sym bound(std::uint64_t value) const;
  /// The element's value that a word is, for words of memory, numbers that were truncated, and long sums.
  std::function<std::optional<std::uint64_t>(Word)> value_of_datum;
  /// A symbol of the machine that is none of the program's: the periods of a loop.
  void name(Word symbol, Sym meaning) { named_[symbol] = meaning; }
  [[nodiscard]] const std::string& missing() const { return missing_; }
  void forget_missing() { missing_.clear(); }
  [[nodiscard]] SymContext& context() const { return program_.symbols(); }

private:
  /// The condition itself, or that it is x + 1 == 0.
  Word carried(Word condition);
  /// Of words that may be elements of memory: a symbol for them.
  Sym word_of(TermKind kind, const std::vector<Sym>& operands);
  Sym exclusive_or(Sym a, Sym b);
  /// x - y of an equality, as a number.
  std::optional<Sym> difference(Word x, Word y);
  /// Keeps the values by which the prover has refuted a question.
  void keep(const solver::Witness& w, Sym question, const std::vector<std::string>& facts);
  /// With the parts of the sizes that it has.
  [[nodiscard]] Assignment with_parts(Assignment numbers) const;
  /// Whether it is not so in one of the launches in which these facts hold.
  [[nodiscard]] bool fails(bool equality, Sym a, Sym b, const std::vector<std::string>& facts) const;
  /// The number that a word is, divided and rounded down; a quotient's quotient is one.
  std::optional<Sym> quotient(Word word, Sym divisor);
  std::optional<Sym> in_range(std::optional<Sym> s, std::int64_t low, std::int64_t high);
  std::optional<Sym> compute(Word word);
  /// The larger of a word as a number with a sign and 0; of an element of memory by a name.
  std::optional<Sym> at_least_0(Word word);
  std::optional<Sym> polynomial(Word word);
  /// A product of more than 32 bits by its two words, modulo 2^64: x y of words and what else there is of 2^32, where the low one is that of
  /// x y and the high one has its high word in it: (x + 2^32 z) y is x y + 2^32 (z y).
  std::optional<Sym> long_product(Word low, Word high);
  [[nodiscard]] std::vector<std::string> about(const std::string& question,
                                               const std::vector<std::string>& facts);
  /// And what the parts of sizes that s has are: what a path says of k, when s has _part_k with k = 8 _part_k.
  [[nodiscard]] std::vector<std::string> with_facts_of_parts(Sym s, std::vector<std::string> facts);
  bool not_negative(Sym s, const std::vector<std::string>& facts);
  bool at_most_0(Sym s, const std::vector<std::string>& facts);
  void order_tiles(const codegen::TileMap& map);
  [[nodiscard]] Sym settled(Sym s) const;

  const codegen::Program& program_;
  Terms& t_;
  std::map<std::string, Sym> symbols_;
  std::map<Word, Sym> named_;
  std::unordered_map<Word, std::optional<Sym>> done_;
  std::map<std::tuple<Sym, std::int64_t, std::int64_t>, bool> ranges_;
  std::map<std::string, Truth> answers_;
  std::unordered_map<std::string, std::vector<std::vector<std::string>>> proved_; ///< from which facts
  std::unordered_map<std::string, std::vector<std::string>> names_of_;            ///< of facts
  std::map<std::pair<std::vector<std::string>, std::vector<std::pair<Word, bool>>>, std::vector<std::string>>
      facts_;
  std::vector<std::string> contract_;
  std::vector<std::pair<AtomId, Sym>> multiples_;
  std::optional<runtime::symbolic::Quotients> quotients_;
  std::vector<std::pair<AtomId, Sym>> rules_; ///< what the program's order of tiles says of these atoms
  std::map<Sym, Interval> ranges_of_;         ///< and in which range these are
  std::vector<Assignment> launches_;
  std::deque<Assignment>
      found_; ///< by the prover, where something was not so: the next question of a path is mostly not so there, too
  std::map<Sym, bool> always_; ///< of conditions: whether the contract says so
  std::string missing_;
  std::unordered_map<std::string, Sym> facts_by_text_;
  struct HashSym {
    std::size_t operator()(Sym s) const { return HashNumber()(stable_hash(s)); }
  };
  mutable Flat<Sym, Sym, HashSym> canonical_, bounds_;  ///< of what it was asked
  mutable std::map<AtomId, std::optional<Sym>> tabled_; ///< of a quotient: which stands for it
  mutable std::map<std::pair<AtomId, std::vector<Int>>, Sym>
      by_table_;                              ///< of a symbol and what it is at each value
  std::map<std::pair<Sym, Sym>, Sym> digits_; ///< of a quotient (divisor: 0) or remainder
  std::map<Sym, std::vector<Sym>> exclusive_; ///< of words that are an exclusive or: of which
};

} // namespace inlay::kernels::validate
