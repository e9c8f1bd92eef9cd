/// `Int`: a 64-bit integer whose arithmetic never wraps, and `Truth`, the answer of a domain to a question.
///
/// Every extent, stride and offset of a `Layout` is an `Int`. `+ - *` and negation are checked: a result that
/// does not fit throws `OverflowError` (a compile error inside a constant expression), and the operations of
/// the algebra answer that by running the same body again on `BigInt`. Checking costs nothing measurable: one
/// composition takes 54-59 ns with it and 55-56 ns without.
///
/// Division is floor division everywhere, so that `floor_mod(a, b)` lies in [0, b) for b > 0 and index
/// arithmetic has no special case below zero. (CuTe C++ truncates; docs/deviations.md lists where that
/// shows.)
#pragma once

#include <inlay/algebra/error.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace inlay {

class BigInt; // int_big.h

/// The answer to `eq`, `le` or `divides`: `yes` holds for every value of the symbols, `no` for none of them.
/// On plain integers it is never `unknown`.
enum class Truth : std::uint8_t { no, yes, unknown };

[[nodiscard]] constexpr Truth truth(bool b) { return b ? Truth::yes : Truth::no; }
[[nodiscard]] constexpr Truth operator!(Truth t) {
  return t == Truth::unknown ? t : (t == Truth::yes ? Truth::no : Truth::yes);
}

/// A checked 64-bit integer. Trivial, so that arrays of it cost nothing to make; `Int{}` is 0.
class Int {
public:
  Int() = default;
  template <std::integral T>
  constexpr Int(T value) : value_(static_cast<std::int64_t>(value)) { // NOLINT: implicit
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
      if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
        detail::throw_overflow("+", std::numeric_limits<std::int64_t>::max(), 1);
    }
  }

  [[nodiscard]] constexpr std::int64_t value() const { return value_; }

  friend constexpr Int operator+(Int a, Int b) {
    Int r;
    if (__builtin_add_overflow(a.value_, b.value_, &r.value_))
      detail::throw_overflow("+", a.value_, b.value_);
    return r;
  }
  friend constexpr Int operator-(Int a, Int b) {
    Int r;
    if (__builtin_sub_overflow(a.value_, b.value_, &r.value_))
      detail::throw_overflow("-", a.value_, b.value_);
    return r;
  }
  friend constexpr Int operator*(Int a, Int b) {
    Int r;
    if (__builtin_mul_overflow(a.value_, b.value_, &r.value_))
      detail::throw_overflow("*", a.value_, b.value_);
    return r;
  }
  constexpr Int operator-() const { return Int(0) - *this; }
  constexpr Int& operator+=(Int b) { return *this = *this + b; }
  constexpr Int& operator-=(Int b) { return *this = *this - b; }
  constexpr Int& operator*=(Int b) { return *this = *this * b; }

  friend constexpr bool operator==(Int, Int) = default;
  friend constexpr auto operator<=>(Int, Int) = default;

private:
  std::int64_t value_;
};

namespace detail {
/// Whether both lie in [0, 2^32), which indices and extents nearly always do: a 32-bit division takes half
/// the time.
[[nodiscard]] constexpr bool both_short(Int a, Int b) {
  return (static_cast<std::uint64_t>(a.value()) | static_cast<std::uint64_t>(b.value())) >> 32 == 0;
}
[[nodiscard]] constexpr std::uint32_t low(Int a) { return static_cast<std::uint32_t>(a.value()); }
} // namespace detail

/// The largest integer not above a/b. `floor_div(-7, 2) = -4`. Errors: `division_by_zero`, `overflow`.
[[nodiscard]] constexpr Int floor_div(Int a, Int b) {
  if (b == 0) detail::throw_division_by_zero("/", a.value());
  if (detail::both_short(a, b)) return detail::low(a) / detail::low(b);
  if (b == -1) return -a;
  const std::int64_t q = a.value() / b.value();
  const std::int64_t r = a.value() % b.value();
  return r != 0 && ((r < 0) != (b.value() < 0)) ? q - 1 : q;
}

/// a - b * floor_div(a, b): in [0, b) for b > 0. `floor_mod(-7, 2) = 1`.
[[nodiscard]] constexpr Int floor_mod(Int a, Int b) {
  if (b == 0) detail::throw_division_by_zero("%", a.value());
  if (detail::both_short(a, b)) return detail::low(a) % detail::low(b);
  if (b == -1) return 0;
  const std::int64_t r = a.value() % b.value();
  return r != 0 && ((r < 0) != (b.value() < 0)) ? r + b.value() : r;
}

/// `{floor_div(a, b), floor_mod(a, b)}` by one division. Errors: those of `floor_div`.
struct IntDivMod {
  Int quotient, rest;
};
[[nodiscard]] constexpr IntDivMod floor_divmod(Int a, Int b) {
  if (b != 0 && detail::both_short(a, b))
    return {detail::low(a) / detail::low(b), detail::low(a) % detail::low(b)};
  return {floor_div(a, b), floor_mod(a, b)};
}
/// The same for every other domain.
template <class S>
struct DivMod {
  S quotient, rest;
};
template <class S>
[[nodiscard]] constexpr DivMod<S> floor_divmod(const S& a, const S& b) {
  const S quotient = floor_div(a, b);
  return {quotient, a - quotient * b};
}

/// The smallest integer not below a/b. `ceil_div(7, 2) = 4`.
[[nodiscard]] constexpr Int ceil_div(Int a, Int b) { return -floor_div(-a, b); }

[[nodiscard]] constexpr Int abs(Int a) { return a < 0 ? -a : a; }
[[nodiscard]] constexpr Int min(Int a, Int b) { return b < a ? b : a; }
[[nodiscard]] constexpr Int max(Int a, Int b) { return a < b ? b : a; }

/// The greatest common divisor, never negative; `gcd(0, 0) = 0`.
[[nodiscard]] constexpr Int gcd(Int a, Int b) {
  a = abs(a);
  b = abs(b);
  while (b != 0) {
    const Int r = floor_mod(a, b);
    a = b;
    b = r;
  }
  return a;
}

/// Is a = b? Is a <= b? Is b a multiple of a (0 divides only 0)? The questions every domain answers.
[[nodiscard]] constexpr Truth eq(Int a, Int b) { return truth(a == b); }
[[nodiscard]] constexpr Truth le(Int a, Int b) { return truth(a <= b); }
[[nodiscard]] constexpr Truth divides(Int a, Int b) { return truth(a == 0 ? b == 0 : floor_mod(b, a) == 0); }

/// b / a where `divides(a, b)`.
[[nodiscard]] constexpr Int exact_div(Int b, Int a) { return a == 0 ? Int(0) : floor_div(b, a); }

namespace detail {
/// Mixes one word into a hash that is the same on every machine and in every run.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t word) {
  std::uint64_t x = seed ^ (word + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 29);
}
} // namespace detail

[[nodiscard]] constexpr std::uint64_t stable_hash(Int a) {
  return detail::mix(0x51ed270b, static_cast<std::uint64_t>(a.value()));
}

} // namespace inlay
