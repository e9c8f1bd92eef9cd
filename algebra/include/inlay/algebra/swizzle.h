/// `Swizzle`: exchanges elements inside a block by XOR-ing one field of address bits onto another.
///
///     Sw<B,M,S>(x) = x ^ ((x & Y) >> S)        Y: B bits at M + max(S,0), the source;  Z: B bits at M -
///     min(S,0), the target
///
/// The running example is `Sw<3,4,3>`: in rows of 128 bytes the 16-byte chunk number (bits 4..6) is XOR-ed
/// with the row number (bits 7..9), so that a column of chunks falls into different LDS banks. With |S| >= B
/// the fields do not meet, and the map is its own inverse and permutes every aligned block of 2^(B+M+|S|). A
/// negative S shifts left. `Sw<0,M,S>` is the identity. Law: swizzle is an involution. Source: CuTe,
/// swizzle.hpp as documented in its layout tutorial.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

#include <string>
#include <string_view>

namespace inlay {

class Swizzle {
public:
  /// The identity.
  constexpr Swizzle() = default;
  /// Sw<bits,base,shift>. Errors: `swizzle` (negative bits or base, |shift| < bits, more than 62 address
  /// bits).
  constexpr Swizzle(int bits, int base, int shift) : bits_(bits), base_(base), shift_(shift) {
    const int reach = shift < 0 ? -shift : shift;
    if (bits < 0 || base < 0 || reach < bits || bits > 62 || base > 62 || reach > 62 ||
        bits + base + reach > 62)
      refuse(bits, base, shift);
  }
  /// The swizzle with source mask Y and target mask Z: equally many adjacent bits each.
  /// `Swizzle::from_masks(0x380, 0x70) = Sw<3,4,3>`. Errors: `swizzle`.
  [[nodiscard]] static Swizzle from_masks(std::uint64_t source, std::uint64_t target);

  [[nodiscard]] constexpr int bits() const { return bits_; }
  [[nodiscard]] constexpr int base() const { return base_; }
  [[nodiscard]] constexpr int shift() const { return shift_; }
  [[nodiscard]] constexpr bool is_identity() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint64_t source_mask() const {
    return field() << (base_ + (shift_ > 0 ? shift_ : 0));
  }
  [[nodiscard]] constexpr std::uint64_t target_mask() const {
    return field() << (base_ - (shift_ < 0 ? shift_ : 0));
  }

  [[nodiscard]] constexpr Int operator()(Int x) const {
    const auto bits = static_cast<std::uint64_t>(x.value());
    const std::uint64_t moved =
        shift_ >= 0 ? (bits & source_mask()) >> shift_ : (bits & source_mask()) << -shift_;
    return static_cast<std::int64_t>(bits ^ moved);
  }
  /// The same on a symbolic offset, as digits and an XOR.
  [[nodiscard]] Sym operator()(Sym x) const;

  friend constexpr bool operator==(const Swizzle&, const Swizzle&) = default;
  friend constexpr auto operator<=>(const Swizzle&, const Swizzle&) = default;

private:
  [[noreturn]] static void refuse(int bits, int base, int shift);
  [[nodiscard]] constexpr std::uint64_t field() const { return (std::uint64_t{1} << bits_) - 1; }
  int bits_ = 0;
  int base_ = 0;
  int shift_ = 0;
};

[[nodiscard]] std::string to_string(const Swizzle& swizzle);
/// `Sw<3,4,3>`; blanks allowed. Errors: `syntax`, `swizzle`.
[[nodiscard]] Swizzle parse_swizzle(std::string_view text);

namespace detail {
/// log2 of the unit of a recast; `swizzle` is for the message. Errors: `swizzle` (not a power of two).
[[nodiscard]] int log2_of_unit(Int n, const std::string& swizzle);
} // namespace detail

/// The same exchange in units of n elements, n a power of two: the base moves down by log2 n, and when it
/// would fall below zero the lowest bits are lost inside a unit. `upcast(Sw<3,4,3>, 2) = Sw<3,3,3>`. Errors:
/// `swizzle` (n is no power of two; a shift to the left that takes a unit apart, which CuTe gives a swizzle for).
[[nodiscard]] Swizzle upcast(const Swizzle& swizzle, Int n);
/// In units n times smaller. `downcast(Sw<3,3,3>, 2) = Sw<3,4,3>`.
[[nodiscard]] Swizzle downcast(const Swizzle& swizzle, Int n);
/// First b, then a, when that is again one swizzle: equal shifts, adjacent fields. Errors: `swizzle`.
[[nodiscard]] Swizzle composition(const Swizzle& a, const Swizzle& b);

} // namespace inlay
