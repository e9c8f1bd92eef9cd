/// `BigInt`: integers without a bound, for the second run of an operation whose 64-bit run overflowed.
///
/// It wraps `boost::multiprecision::cpp_int` behind the same names as `Int`, so that one body serves both.
/// Including Boost.Multiprecision costs 1.8 s per translation unit: only the .cpp files that instantiate the
/// big run include this.
#pragma once

#include <inlay/algebra/int.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <string>

namespace inlay {

class BigInt {
public:
  using Rep =
      boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;
  BigInt() = default;
  BigInt(int value) : value_(value) {} // NOLINT: implicit
  explicit BigInt(Int value) : value_(value.value()) {}
  explicit BigInt(Rep value) : value_(std::move(value)) {}

  [[nodiscard]] const Rep& value() const { return value_; }

  friend BigInt operator+(const BigInt& a, const BigInt& b) { return BigInt(Rep(a.value_ + b.value_)); }
  friend BigInt operator-(const BigInt& a, const BigInt& b) { return BigInt(Rep(a.value_ - b.value_)); }
  friend BigInt operator*(const BigInt& a, const BigInt& b) { return BigInt(Rep(a.value_ * b.value_)); }
  BigInt operator-() const { return BigInt(Rep(-value_)); }
  BigInt& operator+=(const BigInt& b) { return *this = *this + b; }
  BigInt& operator-=(const BigInt& b) { return *this = *this - b; }
  BigInt& operator*=(const BigInt& b) { return *this = *this * b; }
  friend bool operator==(const BigInt& a, const BigInt& b) { return a.value_ == b.value_; }
  friend std::strong_ordering operator<=>(const BigInt& a, const BigInt& b) {
    return a.value_.compare(b.value_) <=> 0;
  }

private:
  Rep value_ = 0;
};

[[nodiscard]] inline BigInt floor_div(const BigInt& a, const BigInt& b) {
  if (b == 0) detail::throw_division_by_zero("/", 1);
  BigInt::Rep q;
  BigInt::Rep r;
  boost::multiprecision::divide_qr(a.value(), b.value(), q, r);
  if (r != 0 && (r < 0) != (b.value() < 0)) --q;
  return BigInt(std::move(q));
}
[[nodiscard]] inline BigInt floor_mod(const BigInt& a, const BigInt& b) { return a - b * floor_div(a, b); }
[[nodiscard]] inline BigInt ceil_div(const BigInt& a, const BigInt& b) { return -floor_div(-a, b); }
[[nodiscard]] inline BigInt abs(const BigInt& a) { return a < 0 ? -a : a; }
[[nodiscard]] inline BigInt min(const BigInt& a, const BigInt& b) { return b < a ? b : a; }
[[nodiscard]] inline BigInt max(const BigInt& a, const BigInt& b) { return a < b ? b : a; }
[[nodiscard]] inline BigInt gcd(const BigInt& a, const BigInt& b) {
  return BigInt(BigInt::Rep(boost::multiprecision::gcd(a.value(), b.value())));
}
[[nodiscard]] inline Truth eq(const BigInt& a, const BigInt& b) { return truth(a == b); }
[[nodiscard]] inline Truth le(const BigInt& a, const BigInt& b) { return truth(a <= b); }
[[nodiscard]] inline Truth divides(const BigInt& a, const BigInt& b) {
  return truth(a == 0 ? b == 0 : floor_mod(b, a) == 0);
}
[[nodiscard]] inline BigInt exact_div(const BigInt& b, const BigInt& a) {
  return a == 0 ? a : floor_div(b, a);
}

/// The 64-bit value, or nothing when it does not fit.
[[nodiscard]] inline std::optional<Int> narrow(const BigInt& a) {
  if (a.value() < std::numeric_limits<std::int64_t>::min() ||
      a.value() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return Int(static_cast<std::int64_t>(a.value()));
}

[[nodiscard]] inline std::string to_string(const BigInt& a) { return a.value().str(); }

} // namespace inlay
