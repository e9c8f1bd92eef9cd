/// The leaves of a layout: `Axis`, `BasicStride`, `BasicMode`.
///
/// A stride is a scale along an axis. The empty axis is the plain offset, so `8` is 8 steps in memory; the
/// axis `1` is the second entry of a coordinate, so `8@1` is 8 steps along that entry; axis (1,0) is the
/// first entry inside the second. Text follows CuTe and names the innermost index first: the unit vector of
/// axis (1,0) prints as `1@0@1`.
#pragma once

#include <inlay/algebra/int.h>

#include <functional>

namespace inlay {

namespace detail {
[[noreturn]] void throw_axis(std::string_view what, std::size_t value, std::size_t limit);
}

/// A path into a coordinate, outermost index first, packed in eight bytes: up to 8 levels, indices up to 254.
class Axis {
public:
  /// Trivial, so that arrays of modes cost nothing to make; `Axis{}` is empty.
  Axis() = default;
  constexpr Axis(std::initializer_list<std::size_t> path) : bits_(0) {
    for (const std::size_t index : path) *this = child(index);
  }

  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const {
    std::size_t n = 0;
    for (std::uint64_t b = bits_; b != 0; b >>= 8) ++n;
    return n;
  }
  /// Index number `level`, 0 the outermost.
  [[nodiscard]] constexpr std::size_t operator[](std::size_t level) const {
    return ((bits_ >> (8 * level)) & 255) - 1;
  }
  /// The axis one level further in.
  [[nodiscard]] constexpr Axis child(std::size_t index) const {
    const std::size_t n = size();
    if (n >= 8) detail::throw_axis("levels of a basis stride", n + 1, 8);
    if (index >= 255) detail::throw_axis("index of a basis stride", index, 254);
    Axis a = *this;
    a.bits_ |= std::uint64_t{index + 1} << (8 * n);
    return a;
  }
  /// The axis without its outermost index. Requires: not empty.
  [[nodiscard]] constexpr Axis inner() const {
    Axis a{};
    a.bits_ = bits_ >> 8;
    return a;
  }

  friend constexpr bool operator==(Axis, Axis) = default;
  friend constexpr auto operator<=>(Axis, Axis) = default;
  [[nodiscard]] friend constexpr std::uint64_t stable_hash(Axis a) { return a.bits_; }

private:
  std::uint64_t bits_; // byte k is index k plus 1
};

/// `scale` steps along `axis`.
template <class S>
struct BasicStride {
  S scale;
  Axis axis;

  BasicStride() = default;
  constexpr BasicStride(S s, Axis a = {})
      : scale(std::move(s)), axis(a) {} // NOLINT: an integer is a plain stride
  template <std::integral T>
  constexpr BasicStride(T s, Axis a = {}) : scale(s), axis(a) {} // NOLINT: likewise
  [[nodiscard]] constexpr bool is_basis() const { return !axis.empty(); }

  friend bool operator==(const BasicStride&, const BasicStride&) = default;
  friend auto operator<=>(const BasicStride&, const BasicStride&) = default;
  [[nodiscard]] friend constexpr std::uint64_t stable_hash(const BasicStride& s) {
    return detail::mix(stable_hash(s.axis), stable_hash(s.scale));
  }
};

/// One leaf mode of a layout: `extent` coordinates, `stride` apart.
template <class S>
struct BasicMode {
  S extent;
  BasicStride<S> stride;

  friend bool operator==(const BasicMode&, const BasicMode&) = default;
  friend auto operator<=>(const BasicMode&, const BasicMode&) = default;
  [[nodiscard]] friend constexpr std::uint64_t stable_hash(const BasicMode& m) {
    return detail::mix(stable_hash(m.extent), stable_hash(m.stride));
  }
};

using Stride = BasicStride<Int>;
using Mode = BasicMode<Int>;

} // namespace inlay
