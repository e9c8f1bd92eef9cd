/// `Expr`: what a kernel computes, as an expression over indices, in real arithmetic.
///
/// One kind of expression is used for three things, so that they can be compared:
///
///     the specification     C(m,n) = sum(k < K, A(m,k) * B(n,k))
///     a pointwise map       exp(x0 - x1)                     x0, x1: the operands of the map
///     what a place holds    A(128*bm + c3, 64*t + c5)        c3, c5: columns of a concrete table (provenance.h)
///
/// An index is a `Sym`; `A(ids[m],k)` is a load whose index comes through an index tensor, and is 0 where ids[m] is not
/// an index of A (rows of padding). `fold` combines a body over a bound index 0 <= k < extent with a named monoid, whose
/// laws (associative, commutative, empty element) are what makes the order of its elements free. A fold under way is
/// one over a part of its extent, `max(k < N over [0,64), x(k))`: a real number that an online softmax scales by.
///
/// Two expressions mean the same when their `normal` forms are the same node: sums and products are flattened and
/// sorted, products distributed over sums (up to 32 terms), the sum of a sum is a sum of sums, a - b = a + (-1) b, a / b = a b^-1, exp(x) = 2^(x log2 e), 2^(c a + b) = (2^a)^c 2^b,
/// positive factors taken out of max and min, factors without the index out of sums, bound indices numbered by depth.
/// `normal(exp(x - m)) == normal(exp2(x * 1.4426950408889634 - m * 1.4426950408889634))`. Rounding to an
/// element type is the identity here: the result's error bound is the judge of rounding, this of everything else.
/// What the form does not know stays different, which refuses a kernel and never accepts a wrong one.
///
/// Beside numbers there are integers of 32 bits, modulo 2^32, which are exact: `integer(ids) * 747796405 ^ 5`. An expression is one or the
/// other; `+ - *` of integers, `& | ^ ~ << >>`, `mul_hi`, comparisons (1 or 0) and `choose` are theirs. Their normal form folds
/// constants, and flattens and sorts what commutes; nothing is distributed, and nothing is drawn out of their sums. From one to the other:
///
///     integer(x)     of an i32 (or i8) operand or a size, exactly; of an i64 the nearest of 32 bits          to_number(w)           with a sign, as i32 is stored
///     truncated(x)   a number toward zero; saturates, 0 for NaN            to_number_unsigned(w)  0 to 2^32 - 1
///     float_bits(x)  the code of an input's element as f32                 from_bits(w)           the f32 with that code
///
/// `truncated` and `nearest` jump where their operand is rounded otherwise, as `select` does: their operand's rounding is not looked at.
///
/// Nodes are interned in an arena that lives as long as the Program. Law: expression normal forms agree with the
/// value (tests/codegen/expression_test.cpp evaluates both sides).
#pragma once

#include <inlay/algebra/sym.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace inlay::codegen {

class Expressions;

/// A commutative monoid and its empty element: of the reals sum 0, max -oo, min oo; of the numbers of i32 wrapping_sum 0, their sum modulo
/// 2^32 as i32 has it, signed_max -2^31, signed_min 2^31 - 1, and in the order of words without a sign unsigned_max 0, unsigned_min -1.
enum class Monoid : std::uint8_t {
  sum,
  max,
  min,
  wrapping_sum,
  signed_max,
  signed_min,
  unsigned_max,
  unsigned_min
};
/// Whether it is of the numbers of i32, and exact.
[[nodiscard]] constexpr bool is_of_i32(Monoid m) { return m >= Monoid::wrapping_sum; }
[[nodiscard]] const char* to_string(Monoid monoid);
/// Whether an element may be counted twice: a + a is not a, max(a, a) is.
[[nodiscard]] constexpr bool idempotent(Monoid m) { return m != Monoid::sum && m != Monoid::wrapping_sum; }
/// `0`, `-inf`, `inf`, `2147483647`.
[[nodiscard]] double empty_element(Monoid m);
/// That of integers: sum modulo 2^32, max and min with a sign.
[[nodiscard]] Monoid of_words(Monoid m);
/// Two elements joined.
[[nodiscard]] double combined(Monoid m, double a, double b);

/// What a node does.
enum class Fn : std::uint8_t {
  constant,  ///< `value`
  number,    ///< the integer `sym` as a real number: a size
  parameter, ///< operand number `tensor` of a map
  load,      ///< element `index` of tensor number `tensor`
  add,
  sub,
  mul,
  div,
  power, ///< args[0] ^ value
  exp,
  exp2,
  log,
  log2,
  max,
  min,
  inside, ///< `index[0] < index[1] ? args[0] : value`
  select, ///< `args[0] >= args[1] ? args[2] : args[3]`
  fold, ///< `monoid` of args[0] over 0 <= sym < index[0], or of that over [index[1], index[2]), [index[3], ...
  nearest,   ///< args[0] to the nearest whole number, ties to the even one
  to_number, ///< of an integer, as i32
  to_number_unsigned,
  from_bits, ///< the f32 whose code an integer is
  choose,    ///< `args[0] != 0 ? args[1] : args[2]` of an integer, and of two integers or two numbers
  // integers
  integer,    ///< `value`, in [0, 2^32)
  word,       ///< args[0], a whole number, modulo 2^32
  truncated,  ///< args[0] toward zero, within i32; 0 for NaN
  float_bits, ///< the code of args[0] as f32
  word_add,
  word_sub,
  word_mul,
  word_mul_hi, ///< bits 32 to 63 of the product, unsigned
  word_and,
  word_or,
  word_xor,
  word_shl, ///< by the low five bits of args[1], likewise the other shifts
  word_shr, ///< zeros come in
  word_sar, ///< copies of the sign come in
  popcount,
  leading_zeros, ///< 32 of 0, likewise the other end
  trailing_zeros,
  word_less, ///< 1 or 0, unsigned
  word_less_signed,
  word_equal
};

/// How a function of integers is written, `iadd` for word_add; empty for the others.
[[nodiscard]] std::string_view integer_function(Fn fn);

/// An index of a load: a formula, or the element of an index tensor at that formula.
struct Index {
  Sym at{};
  int through = -1; ///< the index tensor
  Index(Sym s) : at(s) {}
  Index(std::int64_t n) : at(n) {}
  Index(int n) : at(n) {}
  Index(Sym s, int tensor) : at(s), through(tensor) {}
  friend bool operator==(const Index&, const Index&) = default;
};

struct ExprNode {
  Fn fn = Fn::constant;
  Monoid monoid = Monoid::sum;
  double value = 0;
  int tensor = -1;
  Sym sym{};
  std::vector<Sym> index{};
  std::vector<int> args{};
  std::vector<int> through{}; ///< load: the index tensor of each axis or -1; empty when there is none
  friend bool operator==(const ExprNode&, const ExprNode&) = default;
};

/// A node of an arena. Copies like an integer.
struct Expr {
  Expressions* arena = nullptr;
  int id = -1;
  [[nodiscard]] const ExprNode& node() const;
  explicit operator bool() const { return arena != nullptr; }
  friend bool operator==(const Expr& a, const Expr& b) { return a.id == b.id && a.arena == b.arena; }
};

/// The greatest of many elements, one after the other, and where each stands: numbers.
struct TopOf {
  std::vector<Expr> value, place;
};

class Expressions {
public:
  Expressions() = default;
  Expressions(const Expressions&) = delete;
  Expressions& operator=(const Expressions&) = delete;

  Expr make(ExprNode node);
  Expr constant(double value);
  Expr number(Sym value);
  /// An integer modulo 2^32. Requires: -2^31 <= value < 2^32. Errors: CodegenError.
  Expr integer(std::int64_t value);
  Expr parameter(int index);
  Expr load(int tensor, std::vector<Sym> index, std::vector<int> through = {});
  /// `fold(Monoid::sum, k, K, A(m,k) * B(n,k))`. Requires: `k` is a single symbol. Of integers a sum is an integer, modulo 2^32:
  /// `integer(fold(Monoid::wrapping_sum, k, K, to_number(body)))`; likewise max and min are those of words with a sign.
  Expr fold(Monoid monoid, Sym k, Sym extent, Expr body);
  /// The same over a part of the extent: disjoint intervals [first, second).
  Expr partial_fold(Monoid monoid, Sym k, Sym extent, std::span<const std::pair<Sym, Sym>> intervals,
                    Expr body);
  /// The `count` greatest of body over 0 <= i < extent for each (i, extent) of `along`, of equal ones that of the least place first. Over
  /// two indices (j, G), (i, S) the place is S j + i. As folds: the greatest of what is left, the least place where it stands, and what is
  /// left without that place,
  ///
  ///     value_d = max(i, left_d(i)),  place_d = min(i, i is no place before d and left_d(i) >= value_d ? i : inf),
  ///     left_0 = body,  left_(d+1)(i) = i = place_d ? -inf : left_d(i)
  ///
  /// so that the places are different ones, of minus infinities too. Along an extent of 1 there is no index: it is 0 in `body`.
  /// Requires: at most as many as there are.
  TopOf top(int count, std::span<const std::pair<Sym, Sym>> along, Expr body);
  /// body at a place that `top` gives of those indices: max(i, i = place ? body(i) : -inf).
  Expr at_place(Expr place, std::span<const std::pair<Sym, Sym>> along, Expr body);
  /// With every node for which `rewrite` gives another expression replaced by it, from the operands up.
  Expr rewrite(Expr e, const std::function<std::optional<Expr>(const ExprNode&)>& rewrite);

  [[nodiscard]] const ExprNode& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  /// The normal form: same node exactly when the rules above show both equal.
  Expr normal(Expr e);
  /// With some symbols replaced in indices and numbers.
  Expr substitute(Expr e, std::span<const std::pair<AtomId, Sym>> replacements);
  /// With parameters replaced by expressions.
  Expr apply(Expr map, std::span<const Expr> operands);
  /// The symbols that occur in indices, numbers and extents; that of a fold where its body names it.
  [[nodiscard]] std::vector<AtomId> symbols(Expr e) const;
  /// The same without those that a fold around them binds: of sum(i < n, x(i, j)) n and j.
  [[nodiscard]] std::set<AtomId> free_symbols(Expr e) const;
  /// The operands that a map takes: of x2 + 1 it is 2 alone.
  [[nodiscard]] std::set<int> parameters(Expr map) const;

private:
  Expr sorted(Fn fn, std::vector<int> args);
  std::optional<Expr> of_integers(const ExprNode& n);
  Expr product(double factor, Expr e);
  std::optional<Expr> distributed(const std::vector<int>& factors);
  [[nodiscard]] int depth(int id) const;
  std::vector<ExprNode> nodes_;
  std::unordered_map<std::uint64_t, std::vector<int>> table_;
  std::unordered_map<int, int> normal_;
};

[[nodiscard]] Expr operator+(Expr a, Expr b);
[[nodiscard]] Expr operator-(Expr a, Expr b);
[[nodiscard]] Expr operator*(Expr a, Expr b);
[[nodiscard]] Expr operator/(Expr a, Expr b);
[[nodiscard]] Expr operator+(Expr a, double b);
[[nodiscard]] Expr operator-(Expr a, double b);
[[nodiscard]] Expr operator*(Expr a, double b);
[[nodiscard]] Expr operator/(Expr a, double b);
[[nodiscard]] Expr operator+(double a, Expr b);
[[nodiscard]] Expr operator-(double a, Expr b);
[[nodiscard]] Expr operator*(double a, Expr b);
[[nodiscard]] Expr operator/(double a, Expr b);
[[nodiscard]] Expr exp(Expr a);
[[nodiscard]] Expr exp2(Expr a);
[[nodiscard]] Expr log(Expr a);
[[nodiscard]] Expr log2(Expr a);
[[nodiscard]] Expr max(Expr a, Expr b);
[[nodiscard]] Expr min(Expr a, Expr b);
[[nodiscard]] Expr rcp(Expr a);
[[nodiscard]] Expr sqrt(Expr a);
[[nodiscard]] Expr rsqrt(Expr a);
/// `e` where index < bound, else `beyond`: how the empty element of a fold takes the place of what is outside.
[[nodiscard]] Expr inside(Sym index, Sym bound, Expr e, double beyond);

/// `a >= b ? yes : no`. What monoids of pairs are made of: the least index of a row's maximum is the minimum over i of
/// `select(x(i), max(x), i, oo)`. Rounding is not looked at: compare what has not been rounded.
[[nodiscard]] Expr select(Expr a, Expr b, Expr yes, Expr no);

/// @name Integers modulo 2^32
/// Numbers that are constants become integers beside one: `w * 5`. Errors: CodegenError for an integer beside another number, which
/// names both kinds, and for a constant that is no integer of 32 bits.
/// @{
[[nodiscard]] bool is_integer(Expr e);
/// Of an operand (or element) of i32 or i8, of a size or an index (`k.number(c[0])`), or a constant: the same integer.
[[nodiscard]] Expr integer(Expr a);
[[nodiscard]] Expr truncated(Expr a);
[[nodiscard]] Expr float_bits(Expr a);
[[nodiscard]] Expr to_number(Expr a);
[[nodiscard]] Expr to_number_unsigned(Expr a);
[[nodiscard]] Expr from_bits(Expr a);
[[nodiscard]] Expr operator&(Expr a, Expr b);
[[nodiscard]] Expr operator|(Expr a, Expr b);
[[nodiscard]] Expr operator^(Expr a, Expr b);
[[nodiscard]] Expr operator<<(Expr a, Expr b);
[[nodiscard]] Expr operator>>(Expr a, Expr b); ///< zeros come in
[[nodiscard]] Expr operator&(Expr a, std::int64_t b);
[[nodiscard]] Expr operator|(Expr a, std::int64_t b);
[[nodiscard]] Expr operator^(Expr a, std::int64_t b);
[[nodiscard]] Expr operator<<(Expr a, std::int64_t b);
[[nodiscard]] Expr operator>>(Expr a, std::int64_t b);
[[nodiscard]] Expr operator~(Expr a);
[[nodiscard]] Expr shift_right_signed(Expr a, Expr b);
[[nodiscard]] Expr mul_hi(Expr a, Expr b);
[[nodiscard]] Expr popcount(Expr a);
[[nodiscard]] Expr leading_zeros(Expr a); ///< 32 where there is no one
[[nodiscard]] Expr trailing_zeros(Expr a);
[[nodiscard]] Expr less_unsigned(Expr a, Expr b); ///< 1 or 0
[[nodiscard]] Expr less_signed(Expr a, Expr b);
[[nodiscard]] Expr equal(Expr a, Expr b);
[[nodiscard]] Expr choose(Expr condition, Expr yes, Expr no); ///< condition != 0 ? yes : no
/// @}
/// The nearest whole number, ties to the even one.
[[nodiscard]] Expr nearest(Expr a);

/// What a function makes of its operands' values; integers are numbers in [0, 2^32), as many as it has; NaN for nodes that are no function (loads, folds).
[[nodiscard]] double function_value(const ExprNode& node, std::span<const double> operands);

/// `sum(k < K, a(m,k) * b(n,k))`, with `name(t)` for tensor t.
[[nodiscard]] std::string to_string(Expr e, const std::function<std::string(int)>& name);

/// The expression that a text is, the inverse of `to_string`: `+ - * /`, `x ^ 3`, numbers and `inf`, `exp exp2 log log2 sqrt rsqrt
/// rcp round`, `max(x, y)`, `min(x, y)`, those of integers (`integer_function`; `7u` and `0x1f` are integers), folds `sum(k < K, ...)`, `max(k < K, ...)`, `min(k < K, ...)`, `(i < n ? x : 0)`, `(x >= y ? a : b)`,
/// elements `a(i, 2*j + 1)`, `a(ids[i], k)`, and names of `symbols` as numbers. Indices and bounds are formulas as `parse_sym` reads
/// them, with floor division. `tensor(name)` is its number, negative when there is none. The name that a fold binds is
/// declared in `symbols`.
/// Errors: CodegenError with the text, the position and what was expected.
[[nodiscard]] Expr parse_expression(Expressions& arena, SymContext& symbols, std::string_view text,
                                    const std::function<int(std::string_view)>& tensor);

} // namespace inlay::codegen
