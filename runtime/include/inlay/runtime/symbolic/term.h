/// Words of 32 bits as formulas: what a register holds when a kernel's arguments, workgroup and loop counters are symbols.
///
/// A term is an index into a pool; equal formulas are one index, so equality of terms is equality of numbers. The
/// formulas are the free ones: nothing here knows sizes or claims, and whoever has a domain (polynomials of a solver,
/// concrete numbers) folds a term into it with `visit`, child before parent.
///
///     Terms t;
///     const Term m = t.symbol("M");
///     const Term a = t.add(t.shl(m, t.constant(2)), t.constant(64));     // 4 M + 64 modulo 2^32
///     t.evaluate(a, {{m, 10}})                                           // 104
///
/// Arithmetic is the machine's: addition and multiplication modulo 2^32, or 2^64 for the *wide* terms that addresses are.
/// Sums are kept as linear combinations of atoms, in which additions, subtractions, shifts by constants and carry chains
/// cancel; everything else is an atom. A wide term is a linear combination of `zext(t)`, `sext(t)` and register pairs, and
/// the two halves of a carry chain join to the wide sum again:
///
///     join(lo + x, hi + carry(lo, x)) == join(lo, hi) + zext(x)
///
/// `Terms::unknown` is any word: what nothing is known of. It is equal to nothing, not even to itself.
///
/// Ensures: every simplification preserves the value under every assignment of the symbols (test: random terms against
/// plain machine arithmetic).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace inlay::runtime::symbolic {

/// Index into a pool; 0 is no term.
using Term = std::uint32_t;

/// What a term is. `c..`: children.
enum class TermKind : std::uint8_t {
  none,
  unknown,
  symbol,   ///< `name`
  linear,   ///< value + sum of coefficient * atom, modulo 2^32, or 2^64 when wide; a constant has no parts
  multiply, ///< c0 * c1
  multiply_high_unsigned,
  multiply_high_signed,
  bit_and,
  bit_or,
  bit_xor,
  shift_left, ///< c0 << (c1 & 31)
  shift_right,
  shift_right_signed,
  minimum_unsigned,
  minimum_signed,
  maximum_unsigned,
  maximum_signed,
  select,        ///< c0 ? c1 : c2
  equal,         ///< 0 or 1, as all that follow down to `any`
  less_unsigned, ///< c0 < c1
  less_signed,
  carry,          ///< of c0 + c1
  borrow,         ///< c0 < c1, of c0 - c1
  bit,            ///< bit `value` of c0
  all,            ///< every child is 1
  any,            ///< some child is 1
  invert,         ///< 1 - c0
  bits,           ///< 32 children, bit i is child i
  load,           ///< the 32-bit word of memory at wide address c0, which nothing writes meanwhile
  pair,           ///< wide: c0 low, c1 high
  zext,           ///< wide
  sext,           ///< wide
  product,        ///< wide: zext(c0) * zext(c1)
  product_signed, ///< wide: sext(c0) * sext(c1)
  wide_multiply,  ///< wide: c0 * c1, both wide
  wide_shift_left,
  wide_shift_right,
  wide_shift_right_signed, ///< wide: c0 wide, c1 narrow
  low,                     ///< low word of wide c0
  high,
  function, ///< word `value >> 32` of what instruction number `value & 0xffffffff` makes of the children, whatever that is
  datum,    ///< the word that whoever made it knows as number `value`
  sum       ///< c0, a linear term of more than `most_flat` parts, as one part of others; of `value` in all
};

/// coefficient * atom of a linear term.
struct TermPart {
  Term atom = 0;
  std::uint64_t coefficient = 0;
  friend bool operator==(const TermPart&, const TermPart&) = default;
};

/// A pool has grown beyond what it may.
struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A pool of terms. What code computes from trip to trip of a loop without an end may grow without one: sums of more than
/// 64 `most_parts` are unknown, and a pool of more bytes than `at_most` says throws TooLarge.
class Terms {
public:
  Terms();
  static constexpr Term unknown = 1;
  static constexpr std::size_t most_parts = 1024, most_flat = 32;
  void at_most(std::size_t bytes) { most_bytes_ = bytes; }
  [[nodiscard]] std::size_t bytes() const {
    return nodes_.size() * sizeof(Node) + children_.size() * sizeof(Term) + parts_.size() * sizeof(TermPart) +
           table_.size() * sizeof(Slot);
  }

  [[nodiscard]] Term constant(std::uint32_t value);
  [[nodiscard]] Term wide_constant(std::uint64_t value);
  /// The symbol of that name, the same term each time; at most `maximum` as an unsigned number.
  [[nodiscard]] Term symbol(std::string_view name, std::uint32_t maximum = 0xffffffffU);

  [[nodiscard]] Term add(Term a, Term b);
  [[nodiscard]] Term subtract(Term a, Term b);
  [[nodiscard]] Term multiply(Term a, Term b);
  [[nodiscard]] Term multiply_high(Term a, Term b, bool is_signed);
  [[nodiscard]] Term bit_and(Term a, Term b);
  [[nodiscard]] Term bit_or(Term a, Term b);
  [[nodiscard]] Term bit_xor(Term a, Term b);
  [[nodiscard]] Term bit_not(Term a);
  [[nodiscard]] Term shl(Term a, Term count);
  [[nodiscard]] Term shr(Term a, Term count);
  [[nodiscard]] Term ashr(Term a, Term count);
  [[nodiscard]] Term minimum(Term a, Term b, bool is_signed);
  [[nodiscard]] Term maximum(Term a, Term b, bool is_signed);
  [[nodiscard]] Term select(Term condition, Term a, Term b);

  /// Conditions are words that are 0 or 1.
  [[nodiscard]] Term equal(Term a, Term b);
  [[nodiscard]] Term less(Term a, Term b, bool is_signed);
  [[nodiscard]] Term carry(Term a, Term b);
  [[nodiscard]] Term borrow(Term a, Term b);
  [[nodiscard]] Term invert(Term condition);
  [[nodiscard]] Term both(Term a, Term b);
  [[nodiscard]] Term either(Term a, Term b);
  [[nodiscard]] Term differ(Term a, Term b); ///< exclusive or of two conditions
  [[nodiscard]] Term nonzero(Term a);
  /// Whether `a` being 1 makes `b` 1, as far as the forms show it.
  [[nodiscard]] bool implies(Term a, Term b) const;

  /// Masks: bit i of a word as a condition, and 32 conditions as a word.
  [[nodiscard]] Term bit(Term a, unsigned index);
  [[nodiscard]] Term bits(std::span<const Term> conditions);

  /// Wide terms.
  [[nodiscard]] Term join(Term low, Term high);
  [[nodiscard]] Term low(Term wide);
  [[nodiscard]] Term high(Term wide);
  [[nodiscard]] Term zext(Term a);
  [[nodiscard]] Term sext(Term a);
  [[nodiscard]] Term product(Term a, Term b, bool is_signed);
  [[nodiscard]] Term wide_shift(TermKind kind, Term wide, Term count);

  [[nodiscard]] Term load(Term address);
  /// A new word that nothing is known of but that it equals itself. Whoever makes it knows it by `number` (`raw`).
  [[nodiscard]] Term datum(std::uint64_t number);
  [[nodiscard]] Term function(std::uint32_t instruction, std::uint32_t word, std::span<const Term> arguments);

  // ---- looking at terms
  [[nodiscard]] TermKind kind(Term t) const { return nodes_[t].kind; }
  [[nodiscard]] bool is_wide(Term t) const { return nodes_[t].wide; }
  [[nodiscard]] std::span<const Term> children(Term t) const;
  [[nodiscard]] std::span<const TermPart> parts(Term t) const;
  [[nodiscard]] std::uint64_t raw(Term t) const {
    return nodes_[t].value;
  } ///< constant of a linear term, number of a bit
  [[nodiscard]] const std::string& name(Term t) const { return names_[nodes_[t].value]; }
  /// The number that a constant is.
  [[nodiscard]] std::optional<std::uint64_t> value(Term t) const;
  [[nodiscard]] bool is_constant(Term t) const {
    return nodes_[t].kind == TermKind::linear && nodes_[t].count == 0;
  }
  /// The term without its additive constant, and that constant.
  [[nodiscard]] std::pair<Term, std::uint64_t> split(Term t);
  /// Whether the sum of a linear term, by the bounds of its atoms, stays below 2^32 (wide: 2^64).
  [[nodiscard]] bool cannot_wrap(Term t) const { return nodes_[t].exact; }
  /// An upper bound as an unsigned number.
  [[nodiscard]] std::uint64_t bound(Term t) const;
  /// The bits that may be 1.
  [[nodiscard]] std::uint64_t maybe(Term t) const { return nodes_[t].maybe; }
  /// As deep as `depth`, and not much longer than `most_text` characters, names aside: "..." stands for the rest.
  [[nodiscard]] std::string text(Term t, unsigned depth = 8) const;
  static constexpr std::size_t most_text = 2000;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// The value under an assignment of symbols. Nothing when the term has a part that has no value: unknown, a load,
  /// a function of an instruction, a symbol that is not assigned, unless `other` supplies it.
  using Assignment = std::map<Term, std::uint64_t>;
  using Other = std::function<std::optional<std::uint64_t>(Term, std::span<const std::uint64_t> children)>;
  [[nodiscard]] std::optional<std::uint64_t> evaluate(Term t, const Assignment& symbols,
                                                      const Other& other = {}) const;
  /// The symbols in a term.
  [[nodiscard]] std::vector<Term> symbols(Term t) const;
  /// Whether `what` occurs in `t`.
  [[nodiscard]] bool mentions(Term t, Term what) const;

private:
  struct Node {
    TermKind kind = TermKind::none;
    bool wide = false;
    bool vague = false;                 // a mask of which some bits are unknown
    bool exact = false;                 // a sum that cannot wrap
    std::uint32_t first = 0, count = 0; // into children_ or parts_
    std::uint64_t value = 0;
    std::uint64_t bound = 0;
    std::uint64_t maybe = 0; // bits that may be 1
  };
  Term make(TermKind kind, std::span<const Term> children, std::uint64_t value = 0, bool wide = false);
  Term linear(std::vector<TermPart> parts, std::uint64_t constant, bool wide);
  Term without_carry(Term sum, Term x);
  Term join_product(Term low, Term high);
  Term join_sum(Term low, Term high);
  void gather(Term t, std::uint64_t factor, std::vector<TermPart>& parts, std::uint64_t& constant) const;
  Term combine(Term a, std::uint64_t fa, Term b, std::uint64_t fb, bool wide);
  Term list(TermKind kind, Term a, Term b);
  Term bitwise(TermKind kind, Term a, Term b);
  [[nodiscard]] std::string text(Term t, unsigned depth, std::size_t& room) const;
  void describe(Node& n) const;
  void grow();
  Term intern(Node n, std::span<const Term> children, std::span<const TermPart> parts);

  std::vector<Node> nodes_;
  std::vector<Term> children_;
  std::vector<TermPart> parts_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> maxima_;
  std::unordered_map<std::string, std::uint32_t> name_index_;
  struct Slot {
    std::uint32_t hash = 0;
    Term term = 0;
  };
  std::vector<Slot> table_; // open addressing, a power of two
  std::size_t interned_ = 0;
  std::size_t most_bytes_ = std::size_t{1} << 30;
  struct Recent {
    std::uint32_t value = 0;
    Term term = 0;
  };
  std::vector<Recent> recent_ = std::vector<Recent>(4096); // constants that were asked for
};

} // namespace inlay::runtime::symbolic
