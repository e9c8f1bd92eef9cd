/// `BitMatrix`: a linear map over GF(2) from index bits to offset bits.
///
/// A layout whose extents are powers of two and whose weights share no bit is linear over bits: the offset is
/// the XOR of one column per index bit. So is every swizzle, and so are their compositions; inverses, images
/// and bank conflicts are then linear algebra on at most 64 words. The running example, `(4,8):(8,1)`:
///
///     index bits   0  1 | 2  3  4        columns   8 16 | 1 2 4
///
/// Source: "Linear Layouts", arXiv 2505.23819 (Triton), where the columns are called bases.
#pragma once

#include <inlay/algebra/composed.h>

#include <array>
#include <optional>
#include <string>

namespace inlay {

class BitMatrix {
public:
  /// No columns: the map of a single element.
  BitMatrix() = default;
  /// Column k is the image of index bit k. Requires: at most 63 columns.
  explicit BitMatrix(std::span<const std::uint64_t> columns);
  [[nodiscard]] static BitMatrix identity(std::size_t n);
  /// A swizzle on the lowest n bits.
  [[nodiscard]] static BitMatrix of(const Swizzle& swizzle, std::size_t n);
  /// A layout, when it is linear: extents powers of two, strides >= 0, no two weights sharing a bit. Nothing
  /// otherwise; that condition is exact for the sum of weights to equal their XOR on all indices.
  [[nodiscard]] static std::optional<BitMatrix> of(const Layout& layout);
  [[nodiscard]] static std::optional<BitMatrix> of(const ComposedLayout& layout);

  [[nodiscard]] std::size_t columns() const { return count_; }
  [[nodiscard]] std::uint64_t column(std::size_t k) const { return columns_[k]; }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;
  [[nodiscard]] std::size_t rank() const;
  [[nodiscard]] bool is_injective() const { return rank() == count_; }
  /// First `first`, then this. Requires: the images of `first` fit the columns of this.
  [[nodiscard]] BitMatrix after(const BitMatrix& first) const;
  /// The inverse of a map onto [0, 2^n); nothing when it is not one.
  [[nodiscard]] std::optional<BitMatrix> inverse() const;
  /// The layout with these columns, when there is one: runs of columns that double become modes, a sum of
  /// weights.
  [[nodiscard]] std::optional<Layout> layout() const;
  /// log2 of how many of the 2^n offsets differ in the given bits, for example the bits that select an LDS
  /// bank.
  [[nodiscard]] std::size_t rank_in(std::uint64_t mask) const;

  friend bool operator==(const BitMatrix&, const BitMatrix&) = default;

private:
  std::array<std::uint64_t, 64> columns_{};
  std::size_t count_ = 0;
};

/// `[8,16,1,2,4]`, the images of the index bits, as Triton prints bases.
[[nodiscard]] std::string to_string(const BitMatrix& matrix);
[[nodiscard]] BitMatrix parse_bit_matrix(std::string_view text);

} // namespace inlay
