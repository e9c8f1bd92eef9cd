/// Real arithmetic modulo the prime 2^61 - 1, in which values of a kernel are compared.
///
/// Every element of memory is a random number of the field; sums, products and quotients are the field's, everything else
/// (exp2, log2, square roots, absolute values) a random function of its argument. Two expressions that are equal in real
/// arithmetic get one number. Two that are not get one with probability below (degree) / 2^61, whatever they are, because
/// a polynomial has no more roots than its degree (Schwartz, JACM 27 (1980)). Rounding is the identity, as in codegen's
/// Expr. Maxima are sets of their elements, so that order and repetition do not matter.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace inlay::kernels::validate {

using Number = std::uint64_t;
constexpr Number prime = (std::uint64_t{1} << 61) - 1;

constexpr Number reduce(std::uint64_t x) {
  x = (x & prime) + (x >> 61);
  return x >= prime ? x - prime : x;
}
constexpr Number add(Number a, Number b) { return reduce(a + b); }
constexpr Number negate(Number a) { return a == 0 ? 0 : prime - a; }
constexpr Number subtract(Number a, Number b) { return add(a, negate(b)); }
constexpr Number multiply(Number a, Number b) {
  const unsigned __int128 x = static_cast<unsigned __int128>(a) * b;
  return reduce((static_cast<std::uint64_t>(x) & prime) + static_cast<std::uint64_t>(x >> 61));
}
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
  cosine
};
constexpr Number apply(Function f, Number x) { return random_of(0x10000U + static_cast<unsigned>(f), x); }

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
};

class RealArithmetic final : public Arithmetic {
public:
  static double real(Number n) { return std::bit_cast<double>(n); }
  static Number number(double x) { return std::bit_cast<Number>(x); }
  Number sum(Number a, Number b) override { return number(real(a) + real(b)); }
  Number difference(Number a, Number b) override { return number(real(a) - real(b)); }
  Number product(Number a, Number b) override { return number(real(a) * real(b)); }
  Number reciprocal(Number a) override { return number(1 / real(a)); }
  Number constant(double x) override { return number(x); }
  Number extreme(Number a, Number b, bool largest) override {
    return number(largest ? std::fmax(real(a), real(b)) : std::fmin(real(a), real(b)));
  }
  Number of(Function f, Number x) override {
    const double v = real(x);
    switch (f) {
    case Function::exp2: return number(std::exp2(v));
    case Function::log2: return number(std::log2(v));
    case Function::sqrt: return number(std::sqrt(v));
    case Function::rsqrt: return number(1 / std::sqrt(v));
    default: return number(NAN);
    }
  }
};

/// Largest and smallest of several, as sets.
class Extremes {
public:
  Number join(Number a, Number b, bool largest) {
    // The infinity that is the empty element drops out.
    const Number infinity = apply(Function::infinity, 1);
    const Number empty = largest ? negate(infinity) : infinity;
    if (a == empty) return b;
    if (b == empty) return a;
    auto& known = sets_[largest ? 1 : 0];
    std::vector<Number> all;
    for (const Number x : {a, b}) {
      if (const auto at = known.find(x); at != known.end())
        all.insert(all.end(), at->second.begin(), at->second.end());
      else
        all.push_back(x);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() == 1) return all[0];
    Number h = largest ? 0x3141 : 0x2718;
    for (const Number x : all) h = random_of(h, x);
    known.emplace(h, std::move(all));
    return h;
  }

private:
  std::map<Number, std::vector<Number>> sets_[2];
};

class FieldArithmetic final : public Arithmetic {
public:
  explicit FieldArithmetic(Extremes& extremes) : extremes_(extremes) {}
  Number sum(Number a, Number b) override { return add(a, b); }
  Number difference(Number a, Number b) override { return subtract(a, b); }
  Number product(Number a, Number b) override { return multiply(a, b); }
  Number reciprocal(Number a) override { return inverse(a); }
  Number constant(double x) override { return of_double(x); }
  Number of(Function f, Number x) override { return apply(f, x); }
  Number extreme(Number a, Number b, bool largest) override { return extremes_.join(a, b, largest); }

private:
  Extremes& extremes_;
};

} // namespace inlay::kernels::validate
