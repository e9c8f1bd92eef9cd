/// Real arithmetic modulo the prime 2^61 - 31, in which values of a kernel are compared.
///
/// Every element of memory is a random number of the field; sums, products and quotients are the field's, everything else
/// (exp2, log2, square roots, absolute values) a random function of its argument. A comparison a >= b is a random number c for
/// the two, and `a >= b ? x : y` is c x + (1 - c) y: what holds for every c holds for 0 and 1. Two expressions that are equal in real
/// arithmetic get one number. Two that are not get one with probability below (degree) / 2^61, whatever they are, because
/// a polynomial has no more roots than its degree (Schwartz, JACM 27 (1980)). Rounding is the identity, as in codegen's
/// Expr. Maxima are sets of their elements, so that order and repetition do not matter.
#pragma once

#include "flat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace inlay::kernels::validate {

using Number = std::uint64_t;
/// Of 2^61 - 1 the powers of two would be 61 numbers, and 2^61 be 1; of this one they are (prime - 1) / 8.
constexpr Number prime = (std::uint64_t{1} << 61) - 31;

/// Of the same residue, and less than 2^61 + 31 (x / 2^61 + 1): 2^61 is 31.
constexpr unsigned __int128 folded(unsigned __int128 x) {
  return (x & ((std::uint64_t{1} << 61) - 1)) + 31 * (x >> 61);
}
constexpr Number reduce(unsigned __int128 x) {
  const auto y = static_cast<std::uint64_t>(folded(folded(x)));
  return y >= prime ? y - prime : y;
}
constexpr Number reduce(std::uint64_t x) {
  x = (x & ((std::uint64_t{1} << 61) - 1)) + 31 * (x >> 61);
  return x >= prime ? x - prime : x;
}
constexpr Number add(Number a, Number b) { return reduce(a + b); }
constexpr Number negate(Number a) { return a == 0 ? 0 : prime - a; }
constexpr Number subtract(Number a, Number b) { return add(a, negate(b)); }
constexpr Number multiply(Number a, Number b) { return reduce(static_cast<unsigned __int128>(a) * b); }
constexpr Number power(Number a, std::uint64_t n) {
  Number r = 1;
  for (; n != 0; n >>= 1, a = multiply(a, a))
    if ((n & 1) != 0) r = multiply(r, a);
  return r;
}
constexpr Number inverse(Number a) { return power(a, prime - 2); }

/// A random number for a pair of numbers.
constexpr Number random_of(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = a * 0x9e3779b97f4a7c15ULL + 0x7f4a7c15f39cc060ULL;
  for (const std::uint64_t x :
       {b, std::uint64_t{a ^ 0x5851f42d4c957f2dULL}, std::uint64_t{b + 0x14057b7ef767814fULL}}) {
    h ^= x + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    h ^= h >> 29;
  }
  return reduce(h);
}

enum class Function : std::uint8_t {
  exp2 = 1,
  log2,
  sqrt,
  rsqrt,
  absolute,
  condition,
  number,
  infinity,
  fresh,
  sine,
  cosine,
  at_least,
  truncated,
  ranked,
  top_value,
  top_place,
  top_beside,
  word,
  unsigned_word
};
constexpr Number apply(Function f, Number x) { return random_of(0x10000U + static_cast<unsigned>(f), x); }

/// An element beside its place, as `top` compares them: places are added, where they have no bit in common with those that are there.
constexpr Number at_place(Number ranked, std::uint32_t place) {
  return add(ranked, multiply(apply(Function::ranked, prime), place));
}
constexpr Number ranked_at(Number element, std::uint32_t place) {
  return at_place(apply(Function::ranked, element), place);
}

/// And with what stands beside it.
constexpr Number beside(Number ranked, Number other) {
  return add(ranked, multiply(apply(Function::top_beside, prime), other));
}

/// c ? x : y, of a condition's number.
constexpr Number choose(Number c, Number x, Number y) {
  return add(multiply(c, x), multiply(subtract(1, c), y));
}

/// What a floating-point constant is: m 2^e exactly; an infinity is a number of its own.
inline Number of_double(double x) {
  if (std::isinf(x)) return x > 0 ? apply(Function::infinity, 1) : negate(apply(Function::infinity, 1));
  if (std::isnan(x)) return apply(Function::infinity, 2);
  int e = 0;
  const auto m = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &e), 53));
  e -= 53;
  Number v = m < 0 ? negate(static_cast<Number>(-m)) : static_cast<Number>(m);
  v = reduce(v);
  const Number two = e < 0 ? inverse(2) : 2;
  return multiply(v, power(two, static_cast<std::uint64_t>(e < 0 ? -e : e)));
}
constexpr Number of_integer(std::int64_t x) {
  return x < 0 ? negate(reduce(static_cast<std::uint64_t>(-x))) : reduce(static_cast<std::uint64_t>(x));
}

/// What a Code computes with: numbers of the field, or real numbers (the bits of a double) where sizes are numbers, too.
class Arithmetic {
public:
  virtual ~Arithmetic() = default;
  [[nodiscard]] virtual Number sum(Number a, Number b) = 0;
  [[nodiscard]] virtual Number difference(Number a, Number b) = 0;
  [[nodiscard]] virtual Number product(Number a, Number b) = 0;
  [[nodiscard]] virtual Number reciprocal(Number a) = 0;
  [[nodiscard]] virtual Number constant(double x) = 0;
  [[nodiscard]] virtual Number of(Function f, Number x) = 0;
  [[nodiscard]] virtual Number extreme(Number a, Number b, bool largest) = 0;
  /// a >= b, where numbers have an order and it is sure.
  [[nodiscard]] virtual std::optional<bool> at_least(Number a, Number b) = 0;
  /// a >= b ? yes : no. Two comparisons of the same numbers are the same.
  [[nodiscard]] virtual Number choice(Number a, Number b, Number yes, Number no) = 0;
  /// a < b ? 1 : 0, of integers in i32.
  [[nodiscard]] virtual Number less(Number a, Number b) = 0;
};

/// Real numbers with a bound of how far a machine may be off that rounds after each operation: a float each, in one word.
/// Data are small integers, so that what is only added and multiplied is exact; the bound grows where something is rounded.
class RealArithmetic final : public Arithmetic {
public:
  static double real(Number n) { return std::bit_cast<float>(static_cast<std::uint32_t>(n >> 32)); }
  static double error(Number n) { return std::bit_cast<float>(static_cast<std::uint32_t>(n)); }
  static Number number(double x, double error = 0) {
    return (Number{std::bit_cast<std::uint32_t>(static_cast<float>(x))} << 32) |
           std::bit_cast<std::uint32_t>(static_cast<float>(error));
  }
  /// How far x may be off because somebody takes numbers below 2^-126 for 0: v_exp_f32, v_rcp_f32 and their like always,
  /// the others by the mode of the wave. Twice that, because x may be rounded up to the first that is not taken so.
  static double flushed(double x) {
    return x != 0 && std::fabs(x) < std::ldexp(1.0, -125) ? std::ldexp(1.0, -126) : 0;
  }
  /// x, rounded to a number of so many bits, once more by whoever computes it differently.
  static Number rounded(double x, double error, int bits_of_mantissa = 22) {
    return number(x, std::isfinite(x) ? error + std::ldexp(std::fabs(x), -bits_of_mantissa) + flushed(x)
                                      : error);
  }
  /// |x| e, where e = 0 is exact whatever x is.
  static double times(double x, double e) { return e == 0 ? 0 : std::fabs(x) * e; }
  Number sum(Number a, Number b) override { return rounded(real(a) + real(b), error(a) + error(b)); }
  Number difference(Number a, Number b) override { return rounded(real(a) - real(b), error(a) + error(b)); }
  Number product(Number a, Number b) override {
    const double e =
        times(real(a), error(b)) + times(real(b), error(a)) + (error(a) == 0 ? 0 : error(a) * error(b));
    return rounded(real(a) * real(b), e);
  }
  Number reciprocal(Number a) override {
    return between(a, error(a) < std::fabs(real(a)), [](double v) { return 1 / v; });
  }
  Number constant(double x) override { return number(x, flushed(x)); }
  Number extreme(Number a, Number b, bool largest) override {
    return number(largest ? std::fmax(real(a), real(b)) : std::fmin(real(a), real(b)),
                  std::fmax(error(a), error(b)));
  }
  std::optional<bool> at_least(Number a, Number b) override {
    const double e = error(a) + error(b);
    const bool sure = e == 0 || std::fabs(real(a) - real(b)) > e;
    return sure ? std::optional(real(a) >= real(b)) : std::nullopt;
  }
  /// What is not sure may be anything.
  Number choice(Number a, Number b, Number yes, Number no) override {
    const auto which = at_least(a, b);
    return !which ? number(real(yes), INFINITY) : *which ? yes : no;
  }
  Number less(Number a, Number b) override { return choice(a, b, number(0), number(1)); }
  Number of(Function f, Number x) override {
    const bool positive = error(x) < real(x);
    switch (f) {
    case Function::exp2: return between(x, true, [](double v) { return std::exp2(v); });
    case Function::log2: return between(x, positive, [](double v) { return std::log2(v); });
    case Function::sqrt: return between(x, positive, [](double v) { return std::sqrt(v); });
    case Function::rsqrt: return between(x, positive, [](double v) { return 1 / std::sqrt(v); });
    default: return number(NAN);
    }
  }

private:
  /// A monotone function at both ends of what its argument may be; where that is no interval it may be anything.
  template <class F>
  static Number between(Number x, bool interval, F f) {
    const double v = real(x), e = error(x), at = f(v);
    if (e == 0) return rounded(at, 0, 20);
    if (!interval) return number(at, INFINITY);
    return rounded(at, std::fmax(std::fabs(f(v - e) - at), std::fabs(f(v + e) - at)), 20);
  }
};

/// Largest and smallest of several, as sets: the number of a set is that of the sum of a random number for each element.
class Extremes {
public:
  Number join(Number a, Number b, bool largest) {
    // The infinity that is the empty element drops out.
    const Number infinity = apply(Function::infinity, 1);
    const Number empty = largest ? negate(infinity) : infinity;
    if (a == empty || a == b) return b;
    if (b == empty) return a;
    if (a > b) std::swap(a, b);
    const auto [at, fresh] = joined_[largest ? 1 : 0].try_emplace({a, b});
    return fresh ? at->second = joined(a, b, largest) : at->second;
  }

private:
  using Set = std::vector<Number>; ///< sorted
  Number joined(Number a, Number b, bool largest) {
    auto& known = sets_[largest ? 1 : 0];
    const auto of = [&](Number x) {
      const auto at = known.find(x);
      return at != known.end() ? at->second : Set{x};
    };
    const Set x = of(a), y = of(b);
    Set all;
    all.reserve(x.size() + y.size());
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(all));
    if (all.size() == 1) return all[0];
    std::uint64_t sum = 0;
    for (const Number e : all) sum += random_of(0x5e7, e);
    const Number h = random_of(sum, largest ? 0x3141 : 0x2718);
    known.try_emplace(h, std::move(all));
    return h;
  }
  struct HashPair {
    std::size_t operator()(const std::array<Number, 2>& p) const { return random_of(p[0], p[1]); }
  };
  std::unordered_map<Number, Set> sets_[2];
  Flat<std::array<Number, 2>, Number, HashPair> joined_[2];
};

/// What a number has to be for a reciprocal, a logarithm, a root of it to be a number.
enum class Domain : std::uint8_t { not_zero, positive, not_negative };
/// `machine code takes the reciprocal of what its instructions do not: ...`
inline std::string unsaid_text(Domain domain, const std::string& other) {
  static constexpr const char* of[] = {"the reciprocal", "the logarithm or the reciprocal root",
                                       "the square root"};
  return std::string("machine code takes ") + of[static_cast<int>(domain)] + " of what " + other +
         " not: where it is outside of the domain, what is stored is no number";
}

/// The field does not see where a quotient is no number: (a^2 - b^2) / (a - b) and a + b have one number, and at a = b one value.
/// So what machine code divides by, and takes roots and logarithms of, is written down (machine_takes) and held against what the
/// other side does (`unsaid`).
class FieldArithmetic : public Arithmetic {
public:
  explicit FieldArithmetic(Extremes& extremes) : extremes_(extremes) {}
  Number sum(Number a, Number b) override { return add(a, b); }
  Number difference(Number a, Number b) override { return subtract(a, b); }
  Number product(Number a, Number b) override { return multiply(a, b); }
  Number reciprocal(Number a) final {
    says(Domain::not_zero, a);
    if (const auto s = roots_.find(a); s != roots_.end()) says(Domain::positive, s->second);
    return inverse_of(a);
  }
  /// 1 / a, of which nothing is written down.
  [[nodiscard]] virtual Number inverse_of(Number a) const { return inverse(a); }
  Number constant(double x) override {
    const Number n = of_double(x);
    if (!std::isnan(x)) constants_.try_emplace(n, x);
    return n;
  }
  /// Of constants that have been seen.
  std::optional<bool> at_least(Number a, Number b) override {
    const auto x = constants_.find(a), y = constants_.find(b);
    if (x == constants_.end() || y == constants_.end()) return std::nullopt;
    return x->second >= y->second;
  }
  /// 1 where a >= b, else 0. Of a choice of constants, (c ? x : y) >= b, it is c ? x >= b : y >= b.
  Number comparison(Number a, Number b) {
    if (const auto which = at_least(a, b)) return *which ? 1 : 0;
    if (const auto c = choices_.find(a); c != choices_.end() && constants_.contains(b)) {
      const auto [condition, yes, no] = c->second;
      return choose(condition, comparison(yes, b), comparison(no, b));
    }
    if (const auto c = choices_.find(b); c != choices_.end() && constants_.contains(a)) {
      const auto [condition, yes, no] = c->second;
      return choose(condition, comparison(a, yes), comparison(a, no));
    }
    return random_of(apply(Function::at_least, a), b);
  }
  Number choice(Number a, Number b, Number yes, Number no) override {
    return chosen(comparison(a, b), yes, no);
  }
  /// Of a number c, c < b is b >= c + 1, as b > c is of LLVM's constants.
  Number less(Number a, Number b) override {
    if (const auto c = constants_.find(a); c != constants_.end() && c->second < 0x7fffffff)
      return comparison(b, constant(c->second + 1));
    return subtract(1, comparison(a, b));
  }
  /// condition ? yes : no, remembered where both are constants or such choices.
  Number chosen(Number condition, Number yes, Number no) {
    const Number n = choose(condition, yes, no);
    const auto known = [&](Number x) { return constants_.contains(x) || choices_.contains(x); };
    if (condition > 1 && yes != no && known(yes) && known(no))
      choices_.try_emplace(n, std::array{condition, yes, no});
    return n;
  }
  Number of(Function f, Number x) override {
    const Number root = apply(Function::sqrt, x);
    switch (f) {
    case Function::rsqrt: says(Domain::positive, x), says(Domain::not_zero, root); return inverse(root);
    case Function::log2: says(Domain::positive, x); break;
    case Function::sqrt: says(Domain::not_negative, x), roots_.try_emplace(root, x); break;
    case Function::exp2: powers_.insert(apply(f, x)); break;
    default: break;
    }
    return apply(f, x);
  }
  Number extreme(Number a, Number b, bool largest) override { return extremes_.join(a, b, largest); }

  /// Machine code takes a reciprocal, a logarithm or a root of x.
  void machine_takes(Domain domain, Number x) { taken_.emplace_back(domain, x); }
  /// How many of them there are, and only the first so many again.
  [[nodiscard]] std::size_t taken() const { return taken_.size(); }
  void take_back(std::size_t from) { taken_.resize(from); }
  /// Whether all that has been taken one of since then is what the other side takes one of, so far.
  [[nodiscard]] bool said_since(std::size_t from) const {
    return std::all_of(taken_.begin() + static_cast<std::ptrdiff_t>(from), taken_.end(),
                       [&](const auto& t) { return holds(t.first, t.second); });
  }
  /// What it takes one of, and the other side does not; numbers that are always in the domain left out.
  [[nodiscard]] std::vector<std::pair<Domain, Number>> unsaid() const {
    std::vector<std::pair<Domain, Number>> out;
    for (const auto& [domain, x] : taken_)
      if (!holds(domain, x)) out.emplace_back(domain, x);
    return out;
  }

private:
  void says(Domain domain, Number x) { said_[static_cast<std::size_t>(domain)].insert(x); }
  [[nodiscard]] bool said(Domain domain, Number x) const {
    return said_[static_cast<std::size_t>(domain)].contains(x);
  }
  [[nodiscard]] bool holds(Domain domain, Number x) const {
    std::optional<double> number;
    if (const auto c = constants_.find(x); c != constants_.end()) number = c->second;
    if (const auto c = constants_.find(negate(x)); c != constants_.end()) number = -c->second;
    if (const Number infinity = apply(Function::infinity, 1); x == infinity || x == negate(infinity))
      number = x == infinity ? 1 : -1;
    if (number)
      return domain == Domain::not_zero   ? *number != 0
             : domain == Domain::positive ? *number > 0
                                          : *number >= 0;
    if (powers_.contains(x) || said(Domain::positive, x)) return true;
    const auto root = roots_.find(x);
    const bool of_positive = root != roots_.end() && said(Domain::positive, root->second);
    switch (domain) {
    case Domain::not_zero: return said(Domain::not_zero, x) || of_positive;
    case Domain::positive: return of_positive || (said(Domain::not_negative, x) && said(Domain::not_zero, x));
    case Domain::not_negative: return root != roots_.end() || said(Domain::not_negative, x);
    }
    return false;
  }

  Extremes& extremes_;
  std::unordered_map<Number, double> constants_;
  std::unordered_map<Number, std::array<Number, 3>> choices_; ///< of constants -> condition, yes, no
  std::unordered_map<Number, Number> roots_;                  ///< a square root -> of what
  std::unordered_set<Number> powers_;                         ///< of 2
  std::unordered_set<Number> said_[3];                        ///< by domain
  std::vector<std::pair<Domain, Number>> taken_;
};

/// The field with two infinities that absorb what is finite, as every element of memory is taken to be: rows that are padded with
/// -oo. An infinity times what has no known sign stays a product like others.
class ExtendedArithmetic final : public FieldArithmetic {
public:
  using FieldArithmetic::FieldArithmetic;
  Number constant(double x) override {
    const Number n = FieldArithmetic::constant(x);
    if (x != 0 && !std::isnan(x)) negative_.try_emplace(n, x < 0);
    return n;
  }
  Number sum(Number a, Number b) override {
    if (is_infinite(a)) return is_infinite(b) && a != b ? apply(Function::infinity, 2) : a;
    return is_infinite(b) ? b : FieldArithmetic::sum(a, b);
  }
  Number difference(Number a, Number b) override { return sum(a, negate(b)); }
  Number product(Number a, Number b) override {
    if (is_infinite(b)) std::swap(a, b);
    if (!is_infinite(a)) return FieldArithmetic::product(a, b);
    const auto sign = negative_.find(b);
    if (sign == negative_.end()) return FieldArithmetic::product(a, b);
    return sign->second ? negate(a) : a;
  }
  [[nodiscard]] Number inverse_of(Number a) const override {
    return is_infinite(a) ? 0 : FieldArithmetic::inverse_of(a);
  }
  Number of(Function f, Number x) override {
    if (f == Function::exp2 && is_infinite(x)) return x == apply(Function::infinity, 1) ? x : 0;
    return FieldArithmetic::of(f, x);
  }

private:
  static bool is_infinite(Number a) {
    const Number infinity = apply(Function::infinity, 1);
    return a == infinity || a == negate(infinity);
  }
  std::unordered_map<Number, bool> negative_; ///< of the constants that have been seen
};

} // namespace inlay::kernels::validate
