/// `Sym`: an integer that depends on symbols, kept in a normal form in which equal polynomials are equal
/// values.
///
/// A `Sym` is a polynomial with integer coefficients over *atoms*. An atom is a symbol such as `M`, or an
/// operation that polynomials cannot express: floor division, mod, min, max, the bit operations, shifts,
/// select, and the comparisons that yield 0 or 1. The running example is the row offset of the second tile of
/// an (M,K) matrix:
///
///     SymContext ctx;
///     Sym m = ctx.symbol("m"), k = ctx.symbol("k");
///     Sym offset = 128 * k + floor_div(128 * m + 5, 128);      //  m + 128*k    (5 < 128: the division is
///     exact) offset == m + k * 128;                                   //  true
///
/// Why this representation: everything is interned in an explicit `SymContext` (polynomials, monomials and
/// atoms each once), so a `Sym` is two words that copy like an integer, equality is one comparison of
/// pointers, and a composition of symbolic layouts runs in microseconds without the heap once its polynomials
/// have been seen. A `Sym` must not outlive its context; two contexts never mix (an error); one context
/// belongs to one thread.
///
/// Facts are ranges of symbols, by default [1, oo), and substitutions: "16 divides N, N >= 16" is declared as
/// `N = 16 n, n >= 1` (`declare_multiple`), so that divisibility is a property of coefficients. Atoms carry
/// the interval and the residue class that follow from their operands.
#pragma once

#include <inlay/algebra/int.h>
#include <inlay/algebra/small_vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

class Sym;
class SymContext;
[[nodiscard]] std::optional<Sym> divide_exactly(Sym b, Sym a);
struct Obligation; // prover.h
using AtomId = std::uint32_t;

/// A power of an atom inside a product.
struct Factor {
  AtomId atom;
  std::uint32_t power;
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// A product of powers of atoms, sorted by atom, interned.
struct Monomial {
  SmallVector<Factor, 4> factors;
  std::uint32_t degree = 0;
  std::uint64_t hash = 0;
};

/// `coefficient * monomial`, coefficient never 0, monomial never 1.
struct Term {
  Int coefficient;
  const Monomial* monomial;
  [[nodiscard]] std::span<const Factor> factors() const { return monomial->factors.span(); }
  friend bool operator==(const Term&, const Term&) = default;
};

/// Bounds of a value, inclusive; nothing means unbounded.
struct Interval {
  std::optional<Int> lower;
  std::optional<Int> upper;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// value = residue (mod modulus); modulus 0 means that the value is exactly `residue`, modulus 1 says
/// nothing.
struct Residue {
  Int modulus = 1;
  Int residue = 0;
  friend bool operator==(const Residue&, const Residue&) = default;
};

namespace detail {
struct SymNode { // an interned polynomial that is not a constant
  SymContext* context = nullptr;
  Int constant = 0;
  SmallVector<Term, 4> terms; // leading term first
  std::uint64_t hash = 0;
};
} // namespace detail

class Sym {
public:
  Sym() = default; ///< trivial like `Int`; `Sym{}` is 0
  template <std::integral T>
  Sym(T value) : constant_(value), node_(nullptr) {}             // NOLINT: implicit
  constexpr Sym(Int value) : constant_(value), node_(nullptr) {} // NOLINT: implicit

  [[nodiscard]] bool is_constant() const { return node_ == nullptr; }
  /// The value, when it is the same for all symbols.
  [[nodiscard]] std::optional<Int> constant() const {
    return node_ ? std::nullopt : std::optional<Int>(constant_);
  }
  /// The summand without atoms.
  [[nodiscard]] Int constant_term() const { return node_ ? node_->constant : constant_; }
  /// The summands with atoms, in graded lexicographic order, leading term first.
  [[nodiscard]] std::span<const Term> terms() const {
    return node_ ? node_->terms.span() : std::span<const Term>();
  }
  /// Where the atoms live; null for a constant.
  [[nodiscard]] SymContext* context() const { return node_ ? node_->context : nullptr; }
  /// The atom that this is, when it is exactly one atom to the power one.
  [[nodiscard]] std::optional<AtomId> as_atom() const;

  friend Sym operator+(Sym a, Sym b);
  friend Sym operator-(Sym a, Sym b);
  friend Sym operator*(Sym a, Sym b);
  Sym operator-() const { return Sym(0) - *this; }
  Sym& operator+=(Sym b) { return *this = *this + b; }
  Sym& operator-=(Sym b) { return *this = *this - b; }
  Sym& operator*=(Sym b) { return *this = *this * b; }

  /// The same polynomial: equal for all values of the atoms. Use `eq` to ask about values.
  friend constexpr bool operator==(Sym a, Sym b) {
    return a.node_ == b.node_ && (a.node_ || a.constant_ == b.constant_);
  }
  /// A total order on normal forms, for containers; it says nothing about values (`le` does).
  friend std::strong_ordering operator<=>(Sym a, Sym b);
  [[nodiscard]] friend std::uint64_t stable_hash(Sym a) {
    return a.node_ ? a.node_->hash : stable_hash(a.constant_);
  }

private:
  friend class SymContext;
  friend std::optional<Sym> divide_exactly(Sym b, Sym a);
  explicit Sym(const detail::SymNode* node) : constant_(0), node_(node) {}
  Int constant_;
  const detail::SymNode* node_;
};

enum class AtomKind : std::uint8_t {
  symbol,
  floor_div,
  mod,
  min,
  max,
  bit_xor,
  bit_and,
  bit_or,
  shift_left,
  shift_right,
  select,
  less_equal,
  equal
};

/// What an atom is made of and what is known about its value.
struct SymAtom {
  AtomKind kind;
  std::string name;          ///< of a symbol, else empty
  std::vector<Sym> operands; ///< of an operation, else empty
  Interval interval;
  Residue residue;
};

/// Values of symbols, for evaluation.
class Assignment {
public:
  void set(AtomId symbol, Int value);
  /// Requires: `symbol` is a single symbol.
  void set(Sym symbol, Int value);
  [[nodiscard]] std::optional<Int> get(AtomId symbol) const;

private:
  std::vector<std::pair<AtomId, Int>>
      values_; ///< in the order of the symbols: a few of a context's thousands
};

class SymContext {
public:
  SymContext();
  ~SymContext();
  SymContext(const SymContext&) = delete;
  SymContext& operator=(const SymContext&) = delete;

  /// The symbol of that name, declared as an integer in [1, oo) when it is new. A defined name gives its
  /// value.
  Sym symbol(std::string_view name);
  /// Declares a symbol with its range. Errors: `redeclared` with another range; `name`.
  Sym symbol(std::string_view name, Interval range);
  /// Lets `name` stand for `value` from now on (facts by substitution). Errors: `redeclared`.
  Sym define(std::string_view name, Sym value);
  /// "divisor divides name, name >= lower": name = divisor * q for a fresh q, and returns it. Requires:
  /// divisor >= 1.
  Sym declare_multiple(std::string_view name, Int divisor, Int lower = 1);
  /// The meaning of a name, if it has one.
  [[nodiscard]] std::optional<Sym> find(std::string_view name) const;
  /// Narrows the range of a symbol. Errors: `empty_range`.
  void restrict(AtomId symbol, Interval range);

  [[nodiscard]] const SymAtom& atom(AtomId id) const;
  [[nodiscard]] std::size_t atom_count() const;
  /// The atom as a value.
  [[nodiscard]] Sym value(AtomId id);
  /// An operation as an atom, without any simplification; the free functions below simplify first.
  [[nodiscard]] Sym operation(AtomKind kind, std::span<const Sym> operands);
  /// coefficient * product of factors (any order), a way to rebuild terms.
  [[nodiscard]] Sym product(Int coefficient, std::span<const Factor> factors);

  /// What symbolic operations had to assume so far, in order; see prover.h.
  [[nodiscard]] std::span<const Obligation> obligations() const;
  void oblige(Obligation obligation);
  /// Hands out the obligations and starts an empty list.
  std::vector<Obligation> take_obligations();

private:
  friend Sym operator+(Sym a, Sym b);
  friend Sym operator-(Sym a, Sym b);
  friend Sym operator*(Sym a, Sym b);
  friend std::optional<Sym> divide_exactly(Sym b, Sym a);
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// @name Arithmetic that simplifies where the facts decide
/// `floor_div(128*m + 5, 128) = m`; `floor_mod(128*m + 5, 128) = 5`; `min(m, m + 1) = m`.
/// @{
[[nodiscard]] Sym floor_div(Sym a, Sym b);
[[nodiscard]] Sym floor_mod(Sym a, Sym b);
[[nodiscard]] Sym ceil_div(Sym a, Sym b);
[[nodiscard]] Sym abs(Sym a);
[[nodiscard]] Sym min(Sym a, Sym b);
[[nodiscard]] Sym max(Sym a, Sym b);
[[nodiscard]] Sym bit_xor(Sym a, Sym b);
[[nodiscard]] Sym bit_and(Sym a, Sym b);
[[nodiscard]] Sym bit_or(Sym a, Sym b);
[[nodiscard]] Sym shift_left(Sym a, Sym bits);
[[nodiscard]] Sym shift_right(Sym a, Sym bits);
[[nodiscard]] Sym select(Sym condition, Sym if_nonzero, Sym if_zero);
[[nodiscard]] Sym less_equal(Sym a, Sym b); ///< 1 when a <= b, else 0
[[nodiscard]] Sym equal(Sym a, Sym b);      ///< 1 when a = b, else 0
/// @}

/// b / a as a polynomial, when there is one. `divide_exactly(128*m*n + 64*m, 64*m) = 2*n + 1`.
std::optional<Sym> divide_exactly(Sym b, Sym a);

/// `yes`: for all values of the symbols; `no`: for none; `unknown`: not decided here (solver/ goes further).
[[nodiscard]] Truth eq(Sym a, Sym b);
[[nodiscard]] Truth le(Sym a, Sym b);
[[nodiscard]] Truth divides(Sym a, Sym b);
/// b / a given that a divides b, whether decided or obliged: exact where possible, else a floor division.
[[nodiscard]] inline Sym exact_div(Sym b, Sym a) { return floor_div(b, a); }

/// Bounds and residue class that follow from the facts.
[[nodiscard]] Interval interval(Sym a);
[[nodiscard]] Residue residue(Sym a);

/// The value when the symbols have these values. Errors: `unassigned` naming the symbol; `overflow`;
/// `division_by_zero`.
[[nodiscard]] Int evaluate(Sym a, const Assignment& values);
/// a with some atoms replaced, simplified again.
[[nodiscard]] Sym substitute(Sym a, std::span<const std::pair<AtomId, Sym>> replacements);
/// The symbols that a depends on, each once, in order of declaration.
[[nodiscard]] std::vector<AtomId> symbols(Sym a);

} // namespace inlay
